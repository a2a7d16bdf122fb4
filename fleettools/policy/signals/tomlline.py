"""Our line in an agent's TOML settings: a `notify` of its own where there is none, and never another's rewritten."""

import msgspec

from fleettools.errors import BadInput


def notified(text: str, words: list[str]) -> str:
    """The settings with `notify` set to our command; raises BadInput when it names another program already."""
    line = _line(words)
    if line in text:
        return text
    found = _notify(text)
    if found is not None:
        told = " ".join(map(str, found)) if isinstance(found, list) else str(found)
        raise BadInput(
            f"its `notify` runs {told!r} already", f"let that program also run {' '.join(words)} with its argument"
        )
    return line + text


def unnotified(text: str, words: list[str]) -> str:
    """The settings without our line."""
    return text.replace(_line(words), "", 1)


def is_notified(text: str, words: list[str]) -> bool:
    """Whether our line is there."""
    return _line(words) in text


def _line(words: list[str]) -> str:
    return f"notify = {msgspec.json.encode(words).decode()}\n"


def _notify(text: str) -> object:
    import tomllib

    try:
        return tomllib.loads(text).get("notify")
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"it is no TOML: {error}", "mend it") from None
