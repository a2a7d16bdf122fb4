"""Colours as a terminal holds them."""

import pytest

from fleettools.screens.sgr import Ink, hue, is_red, is_warm, lines_of, pieces, several_hues, squeezed

RED, GREEN = (205, 0, 0), (0, 205, 0)
INKS = {
    "plain": ("x", Ink()),
    "a named colour": ("\x1b[31mx", Ink(RED)),
    "a bright one": ("\x1b[91mx", Ink((255, 0, 0))),
    "one of 256": ("\x1b[38;5;211mx", Ink((255, 135, 175))),
    "a grey": ("\x1b[38;5;246mx", Ink((148, 148, 148))),
    "of three numbers": ("\x1b[38;2;255;34;34mx", Ink((255, 34, 34))),
    "with colons": ("\x1b[38:2:255:0:0mx", Ink((255, 0, 0))),
    "with colons and a colour space": ("\x1b[38:2::255:0:0mx", Ink((255, 0, 0))),
    "an index with colons": ("\x1b[38:5:1mx", Ink(RED)),
    "of an underline, which is no foreground": ("\x1b[58;5;31mx", Ink()),
    "of an underline in three numbers": ("\x1b[58;2;255;0;0mx", Ink()),
    "of an underline with colons, and red": ("\x1b[58:2::0:0:9;31mx", Ink(RED)),
    "a curly underline": ("\x1b[4:3mx", Ink()),
    "a ground": ("\x1b[41mx", Ink(None, RED)),
    "a ground with a 2 in it": ("\x1b[48;5;2mx", Ink(None, GREEN)),
    "faint": ("\x1b[2mx", Ink(faint=True)),
    "no more faint": ("\x1b[2;22mx", Ink()),
    "in reverse": ("\x1b[7mx", Ink(reverse=True)),
    "taken back": ("\x1b[31;2m\x1b[mx", Ink()),
    "taken back and given": ("\x1b[41;31m\x1b[0;32mx", Ink(GREEN)),
    "the terminal's own": ("\x1b[31m\x1b[39mx", Ink()),
    "cut off": ("\x1b[38mx", Ink()),
    "cut off after its kind": ("\x1b[38;5mx", Ink()),
}


@pytest.mark.parametrize(("line", "ink"), INKS.values(), ids=INKS.keys())
def test_the_ink_of_a_piece(line: str, ink: Ink) -> None:
    assert pieces([line], 0) == [("x", ink)]


def test_ink_runs_over_line_ends_until_it_is_taken_back() -> None:
    raw = ["\x1b[31mred", "still", "\x1b[42mon green\x1b[0m", "plain"]
    assert [pieces(raw, row)[-1][1] for row in range(4)] == [Ink(RED), Ink(RED), Ink(RED, GREEN), Ink()]


@pytest.mark.parametrize(
    ("colour", "warm", "red"),
    [((255, 0, 0), True, True), ((255, 215, 0), True, False), ((243, 139, 168), True, True),
     ((0, 205, 0), False, False), ((148, 148, 148), False, False), ((153, 153, 255), False, False),
     (None, False, False)],
)  # fmt: skip
def test_what_is_a_colour_of_failures(colour: tuple[int, int, int] | None, warm: bool, red: bool) -> None:
    assert (is_warm(colour), is_red(colour), hue(colour) == "warm") == (warm, red, warm)


@pytest.mark.parametrize(
    ("text", "several"),
    [("a b", False), ("\x1b[31ma\x1b[39m", False), ("\x1b[31ma\x1b[39m b", True), ("\x1b[31ma\x1b[91mb", False),
     ("\x1b[31m  \x1b[39mb", False)],
)  # fmt: skip
def test_whether_colours_tell_anything_apart(text: str, several: bool) -> None:
    assert several_hues(text) is several


def test_text_is_blind_to_colours_spaces_and_the_shape_of_signs() -> None:
    assert lines_of("\x1b[1ma\xa0b\x1b[0m  \n\n✳\ufe0f c\n\n") == ["a b", "", "✳ c"]
    assert squeezed("You’ve hit\n your  limit…") == "you'vehityourlimit..."
