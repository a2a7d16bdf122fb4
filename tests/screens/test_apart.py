"""Prompts of an agent that draws them as it draws replies: their order tells."""

import pytest

from fleettools.screens.apart import prompts
from fleettools.screens.look import Look

LOOK = Look(
    name="plain",
    banner=["^ plain v1"],
    items={"tool": [r" \$ "], "error": [" Error: "], "stop": [" Operation aborted"]},
)

# A passage stands between two blank rows; a line of one is parted from the next by one.
TABLE = [
    ("after the banner", " plain v1\n\n\n one\n\n\n Hi.\n\n\n two\n\n\n Ho.", ["one", "two"]),
    ("a prompt of several lines", " plain v1\n\n\n one\n more\n\n last\n\n\n Hi.", ["one\nmore\n\nlast"]),
    ("after a failure", " plain v1\n\n\n one\n\n\n Error: 529\n\n Error: 529\n\n\n two\n\n\n Ho.", ["one", "two"]),
    (
        "after a stop in a reply",
        " plain v1\n\n\n one\n\n\n Hi\n\n Operation aborted\n\n\n two\n\n\n Ho.",
        ["one", "two"],
    ),
    ("around a tool", " plain v1\n\n\n one\n\n\n I look.\n\n\n $ ls\n\n\n Seen.\n\n\n two\n\n\n Ho.", ["one", "two"]),
    ("around a tool that prints errors", " plain v1\n\n\n one\n\n\n $ ls\n\n a:1\n Error: 2 bad\n\n\n Seen.", ["one"]),
    ("a turn that is cut off above", " end of it.\n\n\n two\n\n\n Ho.", ["two"]),
    ("cut off above a failure", " Hi.\n\n\n two\n\n\n Error: 529", ["two"]),
    ("nothing but a reply", " end of it.", []),
]


@pytest.mark.parametrize(("name", "text", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_every_other_passage_is_a_prompt(name: str, text: str, expected: list[str]) -> None:
    assert [asked.text for asked in prompts(text.split("\n"), LOOK)] == expected
