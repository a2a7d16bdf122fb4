"""Phrases of an agent file: what a screen's words are compared with, blind to case, white space and wrapping."""

import re
from typing import Literal, NamedTuple

from fleettools.records import Cause
from fleettools.screens.sgr import squeezed

GAP = 20  # so many letters at most does a `*` stand for: it does not lead from one sentence into the next

Kind = Literal["exhausted", "backend_error"]

MARKS = ("", ".", "·", "∙", "•", "|", "(", "!", "-", "–", "—")  # what may follow a message's first words
_CODE = re.compile(r"(?<![\w.-])\d{3}(?![\w-]|\.\d)")


class Rule(NamedTuple):
    """One wording: what it means, the phrase as it stands in the file, and its squeezed parts between the `*`."""

    kind: Kind
    cause: Cause
    phrase: str
    first: str
    rest: tuple[str, ...]

    def within(self, words: str) -> bool:
        """Whether the squeezed words hold the phrase."""
        return self.first in words and (not self.rest or holds((self.first, *self.rest), words))


def rules_of(kind: Kind, wordings: dict[Cause, list[str]]) -> list[Rule]:
    """The rules of phrases by cause, in their order."""
    made = []
    for cause, phrases in wordings.items():
        for phrase in phrases:
            first, *rest = parts_of(phrase)
            made.append(Rule(kind, cause, phrase, first, tuple(rest)))
    return made


def said(text: str) -> str:
    """The squeezed words of a text, followed by each number of three digits that stands alone in it."""
    codes = dict.fromkeys(_CODE.findall(text))
    return "".join((squeezed(text), *(f"\0{code}\0" for code in codes)))


def parts_of(phrase: str) -> tuple[str, ...]:
    """The squeezed parts of a phrase between its `*`; a bare number as `said` marks it."""
    if phrase.isdigit():
        return (f"\0{phrase}\0",)
    return tuple(squeezed(part) for part in phrase.split("*"))


def past(parts: tuple[str, ...], words: str) -> int:
    """Where the parts of a phrase end that the words begin with, or -1."""
    first, *rest = parts
    at = len(first)
    for part in rest:
        at = words.find(part, at, at + GAP + len(part))
        if at < 0:
            return -1
        at += len(part)
    return at


def holds(parts: tuple[str, ...], words: str) -> bool:
    """Whether the words hold the parts of a phrase, in their order and close by one another."""
    first, *rest = parts
    start = words.find(first)
    while start >= 0:
        at = start + len(first)
        for part in rest:
            at = words.find(part, at, at + GAP + len(part))
            if at < 0:
                break
            at += len(part)
        else:
            return True
        start = words.find(first, start + 1)
    return False
