"""A screen as its agent drew it: composer, prompts, the block after the last prompt, and that block's items."""

import re
from collections.abc import Iterable
from itertools import compress, repeat

from fleettools.screens import apart, bars, composer, overlays, tail
from fleettools.screens.agentdata import Prompt
from fleettools.screens.items import BARE, WORDS, Asked, Item, parse
from fleettools.screens.lazy import Lazy
from fleettools.screens.look import Look
from fleettools.screens.patterns import compiled
from fleettools.screens.sgr import Ink, carried, hue, is_red, is_warm, lines_of, pieces, several_hues, squeezed

MODELS = frozenset({"reply", "tool", "busy", "retry", "error"})  # items that no local command is answered with
MARGIN = 8  # how much shorter a line may look than it is, for its wide letters
_LAST_WORDS = 3  # lines of an item that are looked at for its colour


class Screen:
    """A pane's text read with an agent's look."""

    def __init__(self, text: str, look: Look) -> None:
        self.text = bars.parted(text) if look.bars else text
        self.look = look
        self.coloured = "\x1b[" in text
        self._read(tail.begins(self.text, look))
        if self.skipped and not self.prompts:
            self._read(0)

    def _read(self, at: int) -> None:
        """Read the rows from an offset of the text on."""
        self._at, self.skipped = at, self.text.count("\n", 0, at)
        self._raw: list[str] | None = None
        self._inked: dict[int, list[tuple[str, Ink]]] = {}
        self.lines = self._lines(self.text[at:])
        self.frame = composer.find(self.lines, self.look.composer)
        self.cover = overlays.find(self.lines, self.frame, self.look)
        if self.cover and self.cover.kind == "dialog":
            self.frame = None  # the field of a dialog, if anything
        self.end = self._end()
        self.failure: Item | None = None
        self.earned_row: int | None = None  # of the first thing that the model did, once evidence has looked for it
        self.margin: int | None = None
        self.asked = self._all_asked()
        commanded = "/" in [asked.text[:1] for asked in self.asked]
        self.prompts = self._real(self.asked) if commanded else self.asked
        self.start = self.prompts[-1].after if self.prompts else 0  # the first row of the block

    def _lines(self, text: str) -> list[str]:
        return _without_bar(lines_of(text), self.look.scrollbar) if self.look.scrollbar else lines_of(text)

    def _all_asked(self) -> list[Asked]:
        """What a person has typed, as the agent draws it, from above."""
        if self.look.bars:
            return self._bars()
        asked = apart.prompts(self.lines[: self.end], self.look) if self.look.apart else self._prompts()
        if self.look.aligned and asked:
            self.margin = min(_indent(self.lines[each.row]) for each in asked)
            asked = [each for each in asked if _indent(self.lines[each.row]) == self.margin]
        return asked

    def _end(self) -> int:
        """The row below the turn's last: that of what lies over it, else of the composer."""
        end = self.cover.top if self.cover else self.frame.top if self.frame else len(self.lines)
        return overlays.above_hints(self.lines, end, len(self.lines[self.frame.top])) if self.frame else end

    @property
    def raw(self) -> list[str]:
        """The physical lines with their colours; the first also with the ink that reaches it from above."""
        if self._raw is None:
            self._raw = (carried(self.text, self._at) + self.text[self._at :]).split("\n")
        return self._raw

    @property
    def footer(self) -> list[str]:
        """The composer's own lines and those below it."""
        return self.lines[self.frame.top :] if self.frame else []

    @Lazy
    def prompt(self) -> str:
        """The squeezed words of the last prompt, "" when none is on the screen."""
        return squeezed(self.prompts[-1].text) if self.prompts else ""

    @property
    def ordinal(self) -> int:
        """The last prompt's place among equal ones on the screen, from 1; 0 without a prompt."""
        if not self.prompts:
            return 0
        first, words = self.prompts[-1].text[:1], self.prompt
        return 1 + sum(each.text[:1] == first and squeezed(each.text) == words for each in self.prompts[:-1])

    @Lazy
    def window(self) -> overlays.Window | None:
        """The window that floats over the turns."""
        if not self.look.floats:
            return None
        return overlays.floating(self.lines, range(self.prompts[-1].row if self.prompts else 0, self.end), self.look)

    @Lazy
    def items(self) -> list[Item]:
        """The items of the block, up to the first local command below its end."""
        commands = [asked for asked in self.asked if asked.row >= self.start] if self.asked is not self.prompts else []
        if not commands:
            return self._without_commands(self._parse(self.start, self.end))
        edges = [self.start, *(edge for asked in commands for edge in (asked.row, asked.after)), self.end]
        found: list[Item] = []
        for first, after in zip(edges[::2], edges[1::2], strict=True):
            part = self._parse(first, after)
            if first > self.start and (not found or self._is_over(found)):
                break  # whatever stands below a command between two turns is that command's
            found += part if first == self.start else part[bool(part and part[0].kind == "own") :]
        return self._without_commands(found)

    @Lazy
    def telling(self) -> list[Item]:
        """The items of the block that say something, in order."""
        return [item for item in self.items if item.kind not in BARE]

    @Lazy
    def fresh(self) -> bool:
        """Whether the agent's banner is in view and no prompt follows it."""
        return not self.prompts and any(self.look.greeting.search(line) for line in self.lines[: self.end])

    @property
    def anew(self) -> str:
        """The line with which a person began a conversation anew, "" when a turn follows it or there is none."""
        last = self.asked[-1] if self.asked else None
        if last and last.row >= self.start and last.text.split(maxsplit=1)[0] in self.look.clears:
            below = self._parse(last.after, self.end)
            return "" if any(item.kind in MODELS for item in below) else self.lines[last.row]
        rows = self.lines[self.start :] if self.look.cleared else []
        return next((line for line in rows if self.look.new_start.search(line)), "")

    @property
    def marked_above(self) -> bool:
        """Whether a turn before the last one shows the agent's mark of its end."""
        lines = self._lines(self.text) if self.skipped else self.lines
        end = self.prompts[-1].row + self.skipped if self.prompts else 0
        above = parse(lines, 0, end, self.look, self.margin)
        return any(item.kind in ("done", "end") for item in above)

    def _parse(self, start: int, end: int) -> list[Item]:
        failed = self.failure
        if failed is None or not start <= failed.row < end:
            return parse(self.lines, start, end, self.look, self.margin)
        above, below = (start, failed.row), (failed.row + 1, end)
        return [
            *parse(self.lines, *above, self.look, self.margin),
            failed,
            *parse(self.lines, *below, self.look, self.margin),
        ]

    def _is_over(self, items: list[Item]) -> bool:
        """Whether a turn has visibly ended with these items."""
        kinds = [item.kind for item in items if item.kind != "notice"]
        return not kinds or kinds[-1] in ("done", "end", "stop", "error", "own")

    def _without_commands(self, items: list[Item]) -> list[Item]:
        """The items less those of local commands that are no prompts, and less what follows one below an end."""
        at = (
            next((at for at, item in enumerate(items) if item.kind == "local"), -1)
            if "local" in self.look.items
            else -1
        )
        if at < 0:
            return items
        if self._is_over(items[:at]):
            return items[:at]
        return self._without_commands(items[:at] + items[at + 1 :])

    def _bars(self) -> list[Asked]:
        raw = self.raw if self.coloured else None
        found = bars.read(self.lines, raw, self.end, self.frame is not None, self.look)
        self.failure = found.failure
        return found.prompts

    def _real(self, asked: list[Asked]) -> list[Asked]:
        """The prompts that are no local commands; one that no file names is a prompt when work stands below it."""
        ends = [*(each.row for each in asked[1:]), self.end]
        found = []
        for each, end in zip(asked, ends, strict=True):
            local = self.look.is_local(each.text)
            if local is None:
                below = self._parse(each.after, end)
                local = not any(self._works(item) or self._fails(item) for item in below)
            if not local:
                found.append(each)
        return found

    def _works(self, item: Item) -> bool:
        """Whether an item shows that the model was asked."""
        return item.kind in MODELS or item.kind in ("done", "end") or (item.kind == "plain" and self.look.bare_replies)

    def _fails(self, item: Item) -> bool:
        return item.kind == "own" and (self.look.begins(item.opening) or self.burns(item))

    def _prompts(self) -> list[Asked]:
        """Every prompt of a person's on the screen, from the top."""
        found: list[Asked] = []
        for prompt in self.look.prompts:
            head = compiled(prompt.head).match
            after = 0
            for row in self._rows(prompt):
                if row < after or not (match := head(self.lines[row])) or not self._below(prompt.above, row):
                    continue
                text, after = self._asked(prompt, match, row)
                if text and (prompt.unless is None or not compiled(prompt.unless).search(text)):
                    found.append(Asked(text, row, after))
        return sorted(found, key=lambda asked: asked.row) if len(self.look.prompts) > 1 else found

    def _rows(self, prompt: Prompt) -> list[int]:
        """The rows above the composer where one may begin."""
        if prompt.starts:
            begins: Iterable[object] = map(str.startswith, self.lines, repeat(tuple(prompt.starts)))
        else:
            begins = map(compiled(prompt.head).match, self.lines)
        return list(compress(range(self.end), begins))

    def _asked(self, prompt: Prompt, match: re.Match[str], row: int) -> tuple[str, int]:
        """The text of the prompt that begins in a row, and the row after it."""
        texts = [match[1] or ""] if match.re.groups else []
        more = compiled(prompt.more).match
        row += 1
        while prompt.skip and row < self.end and not self.lines[row]:
            row += 1
        while row < self.end and len(texts) < prompt.limit and (further := more(self.lines[row])):
            texts.append(further[1] or "")
            row += 1
        return "\n".join(texts).strip(), row

    def _below(self, above: str | None, row: int) -> bool:
        if above is None:
            return True
        pattern = compiled(above)
        while row > 0 and self.lines[row - 1]:
            row -= 1
            if pattern.match(self.lines[row]):
                return True
        return False

    def warm(self, item: Item) -> bool:
        """Whether the item's first words are in a colour of failures, or on one; True where colours say nothing."""
        if not self.coloured:
            return True
        ink = self._ink(item)
        if "warm" in (hue(ink.colour), hue(ink.ground)) or self._glyph_burns(item):
            return True
        # One that marks neither prompts nor replies marks its failures by their colour alone.
        return not self.colourful and not (self.look.apart and ink.colour is None)

    def burns(self, item: Item) -> bool:
        """Whether an item's glyph and all its words are in a colour of failures while the screen uses others, too.

        Where replies carry no mark, only red is such a colour: what a reply quotes may be yellow.
        """
        if not self.coloured or not self.colourful:
            return False
        burning = is_red if item.kind == "plain" and self.look.bare_replies else is_warm
        inks = [
            burning(ink.colour)
            for row in range(item.row, item.row + min(len(item.lines), _LAST_WORDS))
            for piece, ink in self._pieces(row)
            if any(map(str.isalnum, piece))
        ]
        glyph = self.lines[item.row][: item.column].strip()
        return bool(inks) and all(inks) and (not glyph or self._glyph_burns(item))

    def _glyph_burns(self, item: Item) -> bool:
        return item.kind == "own" or next(
            (is_warm(ink.colour) for piece, ink in self._pieces(item.row) if piece.strip()), False
        )

    def _pieces(self, row: int) -> list[tuple[str, Ink]]:
        if row not in self._inked:
            self._inked[row] = pieces(self.raw, row)
        return self._inked[row]

    def _ink(self, item: Item) -> Ink:
        at = 0
        for piece, ink in self._pieces(item.row):
            at += len(piece)
            if at > item.column and WORDS.search(piece[max(len(piece) - (at - item.column), 0) :]):
                return ink
        return Ink()

    @Lazy
    def colourful(self) -> bool:
        """Whether at least two colours are on the screen: one alone, or none, tells nothing apart."""
        return several_hues(self.text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _without_bar(lines: list[str], glyphs: str) -> list[str]:
    """The lines without the scrollbar that runs down their last column."""
    ends = [len(line) for line in lines if line[-1:] in glyphs and len(line) > MARGIN]
    if len(ends) < 3:
        return lines
    last = max(ends) - MARGIN
    return [line[:-1].rstrip() if line[-1:] in glyphs and len(line) >= last else line for line in lines]
