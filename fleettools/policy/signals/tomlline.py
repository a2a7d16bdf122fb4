"""Our line in an agent's TOML settings: a `notify` of its own where there is none, and never another's rewritten."""

import re

import msgspec

from fleettools.errors import BadInput


def notified(text: str, words: list[str]) -> str:
    """The settings with `notify` set to our command; raises BadInput when it names another program already."""
    line = _line(words)
    if line in text:
        return text
    if is_notified(text, words):
        return _ours(words).sub(lambda _: line, text, count=1)
    found = _notify(text)
    if found is not None:
        told = " ".join(map(str, found)) if isinstance(found, list) else str(found)
        raise BadInput(
            f"its `notify` runs {told!r} already", f"let that program also run {' '.join(words)} with its argument"
        )
    return line + text


def unnotified(text: str, words: list[str]) -> str:
    """The settings without our line."""
    return _ours(words).sub("", text, count=1)


def is_notified(text: str, words: list[str]) -> bool:
    """Whether our line is there, wherever it says that our program is."""
    return _ours(words).search(text) is not None


def _ours(words: list[str]) -> re.Pattern[str]:
    """Our line with whatever path to our program."""
    program, rest = words[0].rpartition("/")[2], msgspec.json.encode(words[1:]).decode()[1:]
    return re.compile(rf'^notify = \["(?:[^"\\\n]*/)?{re.escape(program)}",{re.escape(rest)}\n', re.M)


def _line(words: list[str]) -> str:
    return f"notify = {msgspec.json.encode(words).decode()}\n"


def _notify(text: str) -> object:
    import tomllib

    try:
        return tomllib.loads(text).get("notify")
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"it is no TOML: {error}", "mend it") from None
