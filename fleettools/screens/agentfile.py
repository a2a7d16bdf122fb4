"""What a person writes of an agent: what is wrong with it, its time budget, and a look made of a few patterns."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from fleettools.errors import Fault
from fleettools.screens import patterns
from fleettools.screens.agentdata import ITEM_KINDS, ComposerLook, Prompt
from fleettools.screens.look import Look
from fleettools.screens.patterns import compiled


def drawn(
    name: str, prompt: str, busy: str | None, error: str | None, composer: str | None, place: str = "look"
) -> Look:
    """The look of an agent that no file describes, from a few places over one line, each with a time budget.

    A composer that looks as a prompt does is one only while nothing stands below it. `place`: where they were written.
    """

    def own(key: str, pattern: str) -> str:
        return patterns.marked(f"{place}.{key}", pattern)

    items = {"error": [own("error", f"(?:{error.lstrip('^')})")]} if error else {}
    if busy:
        items["busy"] = [own("busy", f".*(?:{busy.lstrip('^')})")]
    typed = ComposerLook()
    if composer:
        line = composer.lstrip("^").rstrip("$").rstrip(" ")
        typed = ComposerLook(
            frames=["line"], line=own("composer", f"(?:{line})(?: (.*))?$"),
            last=composer.lstrip("^") == prompt.lstrip("^"),
        )  # fmt: skip
    asked = Prompt(head=own("prompt", f"(?:{prompt.lstrip('^')})(.*\\S.*)"), more="(?!)")
    return Look(
        name=name, prompts=[asked], composer=typed, items=items,
        busy=[own("busy", busy)] if busy else [], capabilities=["bareReplies"], bracketed_paste=False,
    )  # fmt: skip


# Where regular expressions stand in an agent file.
_LISTS = ("busy", "questions", "banner", "cleared", "title", "menus", "floats")
_IN_PROMPTS = ("head", "more", "above", "unless")
_IN_COMPOSER = ("line", "below", "unless")


def faults(look: Look) -> list[Fault]:
    """What the types cannot say of an agent file: kinds that there are not, regular expressions that cannot be."""
    found = [
        Fault(f"items.{kind}", "no kind of item", f"one of {', '.join(ITEM_KINDS)}")
        for kind in look.items
        if kind not in ITEM_KINDS
    ]
    for place, pattern in _places(msgspec.to_builtins(look)):
        if wrong := patterns.fault(pattern):
            found.append(Fault(place, wrong, "mend the regular expression, or put \\ before the character"))
        elif place == "composer.line" and not compiled(pattern).groups:
            found.append(Fault(place, f"no group in {pattern!r}", "write (...) around the text"))
        elif place.startswith("items.") and compiled(pattern).groups:
            found.append(Fault(place, f"a group in {pattern!r}", "write (?:...) for a group that is not looked at"))
    return found


def budgeted(data: dict[str, Any], file: str) -> dict[str, Any]:
    """The data of a person's own agent file with a time budget on each of its regular expressions."""
    made: dict[str, Any] = msgspec.to_builtins(data)
    for place, pattern in _places(data):
        holder: Any = made
        *path, last = re.findall(r"\w+", place)
        for step in path:
            holder = holder[int(step) if step.isdigit() else step]
        holder[int(last) if last.isdigit() else last] = patterns.marked(f"{file} {place}", pattern)
    return made


def _places(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each regular expression in the data of an agent file, behind its place."""
    lists = {key: data.get(key) or [] for key in _LISTS}
    lists |= {f"items.{kind}": listed for kind, listed in (data.get("items") or {}).items()}
    for key, listed in lists.items():
        yield from ((f"{key}[{i}]", pattern) for i, pattern in enumerate(listed))
    for i, prompt in enumerate(data.get("prompts") or []):
        yield from ((f"prompts[{i}].{key}", prompt[key]) for key in _IN_PROMPTS if prompt.get(key))
    composer = data.get("composer") or {}
    yield from ((f"composer.{key}", composer[key]) for key in _IN_COMPOSER if composer.get(key))
