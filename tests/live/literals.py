"""The strings in a release: those of its JavaScript, plain or inside a Bun binary, of its Rust binary, of its Python.

A place where a value is filled in is `{}`, whatever the release calls the value, so that two releases can be compared.
"""

import ast
import mmap
import re
import struct
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

HOLE = "{}"
_MARK = re.compile(r"""["'`/]""")
_MARK_IN_HOLE = re.compile(r"""["'`/{}]""")
_STRING = re.compile(r"""(["'])((?:(?!\1)[^\\\n]|\\.)*)\1""", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
_BEFORE_REGEX = re.compile(r"(?:^|[(,=:\[!&|?{};+\-*%~^<>\n]|\b(?:return|typeof|case|in|of|do|else|void|delete))\s*$")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|\r?\n()|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def javascript(source: str) -> Iterator[tuple[int, str]]:
    """Where the string and template literals of a JavaScript text end, and their values, an inner template first."""
    templates: list[tuple[list[str], int]] = []  # pieces of each template that is open, and the braces open around it
    braces, at = 0, 0
    while found := (_MARK_IN_HOLE if templates else _MARK).search(source, at):
        mark, start, at = found.group(), found.start(), found.end()
        if mark in "\"'":
            string = _STRING.match(source, start)
            if string:
                at = string.end()
                yield at, _unescaped(string[2])
        elif mark == "/":
            skipped = _COMMENT.match(source, start)
            if not skipped and _BEFORE_REGEX.search(source[max(start - 12, 0) : start]):
                skipped = _REGEX.match(source, start)
            at = skipped.end() if skipped else at
        elif mark == "`" or (mark == "}" and not braces):
            if mark == "`":
                templates.append(([], braces))
            piece = _TEMPLATE.match(source, at)
            assert piece is not None
            templates[-1][0].append(_unescaped(piece.group()))
            braces, at = 0, piece.end() + 2
            if not source.startswith("${", piece.end()):
                pieces, braces = templates.pop()
                at = piece.end() + 1
                yield at, HOLE.join(pieces)
        else:
            braces += 1 if mark == "{" else -1


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        number = int(code, 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "?"
    return _PLAIN.get(found[5], found[5]) if found[5] else ""


def python(source: str) -> Iterator[str]:
    """The values of the string literals of a Python text, without its docstrings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    inner = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    inner |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and id(node) not in inner:
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield re.sub(r"\{\w*\}|%[sd]", HOLE, node.value)


BUN = b"// @bun"


def bun(binary: bytes | mmap.mmap) -> Iterator[str]:
    """The JavaScript texts that a Bun binary holds: each begins with a mark and ends with a zero."""
    at = 0
    while (start := binary.find(BUN, at)) >= 0:
        at = binary.find(b"\0", start)
        at = len(binary) if at < 0 else at
        yield binary[start:at].decode("utf-8", "replace")


class Elf:
    """The sections of a 64-bit little-endian ELF file."""

    def __init__(self, binary: bytes | mmap.mmap) -> None:
        self.binary = binary
        self.sections: dict[str, tuple[int, int, int]] = {}  # name: address, offset, size
        (offset,) = struct.unpack_from("<Q", binary, 0x28)
        size, count, names = struct.unpack_from("<HHH", binary, 0x3A)
        heads = [struct.unpack_from("<IIQQQQ", binary, offset + size * row) for row in range(count)]
        for name, _, _, address, start, length in heads:
            at = heads[names][4] + name
            self.sections[binary[at : binary.find(b"\0", at)].decode()] = (address, start, length)

    def section(self, name: str) -> tuple[int, bytes]:
        """A section's address and bytes; nothing at 0 without such a one."""
        address, start, length = self.sections.get(name, (0, 0, 0))
        return address, self.binary[start : start + length]


_LEA = re.compile(rb"\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]", re.DOTALL)  # lea, relative to the place that it stands at
_TEXT = rb"(?:[\n\t -~]|[\xc2-\xf4][\x80-\xbf]{1,3})"
_RUN = re.compile(_TEXT + rb"{12,}")
_ONLY_TEXT = re.compile(_TEXT + rb"+")
_SEAM = re.compile(r"(?<=[.?!…])(?=[A-Z])|(?<=[a-z0-9)`])(?=[A-Z][a-z]+[ ’'])")
LONGEST = 2000  # of the strings in a table


def rust(binary: bytes | mmap.mmap) -> Iterator[str]:
    """The strings of a Rust program.

    They stand one after the other without anything between. One begins where the code or a table points to, and where
    a sentence ends or a capital follows a small letter. What `format!` and its like fill in is a row of pieces, each
    with its length before it, and marks for values.
    """
    elf = Elf(binary)
    address, data = elf.section(".rodata")
    starts = _pointed_to(elf, address, len(data))
    formats: dict[int, int] = {}  # start: end
    for start in starts:
        text, end = _format(data, start)
        if len(text) > len(HOLE):
            formats[start] = end
            yield text
    for run in _RUN.finditer(data):
        cuts = starts[bisect_right(starts, run.start()) : bisect_left(starts, run.end())]
        for start, end in zip([run.start(), *cuts], [*cuts, run.end()], strict=True):
            before = starts[bisect_right(starts, start) - 1] if starts else 0  # what begins there may hold this piece
            if not before <= start < formats.get(before, 0):
                yield from _SEAM.split(data[start:end].decode("utf-8", "replace"))


def _pointed_to(elf: Elf, address: int, length: int) -> list[int]:
    """Where in a section of an address and length code and tables point to, in order; the ends of what tables hold."""
    found: set[int] = set()
    _, table = elf.section(".data.rel.ro")
    words = [word for (word,) in struct.iter_unpack("<Q", table[: len(table) // 8 * 8])]
    for pointer, size in pairwise(words):
        if 0 <= pointer - address < length:
            found.add(pointer - address)
            if size <= LONGEST:
                found.add(pointer - address + size)
    base, code = elf.section(".text")
    unpack = struct.Struct("<i").unpack_from
    for lea in _LEA.finditer(code, 0, max(len(code) - 4, 0)):
        at = lea.end()
        target = base + at + 4 + unpack(code, at)[0] - address
        if 0 <= target < length:
            found.add(target)
    return sorted(found)


def _format(data: bytes, at: int) -> tuple[str, int]:
    """The text of a format at a place and where it ends; an empty one when it is none."""
    text, begun = "", at
    stop = data.find(b"\0", at, at + LONGEST)
    if stop < 0 or (at + 1 + data[at] != stop and data.find(b"\xc0", at, stop) < 0):
        return "", at
    while at <= stop:
        length = data[at]
        if length == 0:
            return text, at + 1
        if length == 0xC0:
            text, at = text + HOLE, at + 1
        elif length < 0x80 and _ONLY_TEXT.fullmatch(data, at + 1, at + 1 + length):
            text, at = text + data[at + 1 : at + 1 + length].decode("utf-8", "replace"), at + 1 + length
        else:
            break
    return "", begun


SCRIPTS = {".js", ".mjs", ".cjs"}
REACH = 400  # characters between a string and a mark that it stands by


def of_file(file: Path, marks: re.Pattern[str] | None = None) -> Iterator[tuple[str, bool]]:
    """The strings of a script, a Python module, or a program that Bun or Rust has made.

    With each, whether it stands by one of the marks; every string does where there are none to look for.
    """
    if file.suffix in SCRIPTS:
        yield from _beside(file.read_text(errors="replace"), marks)
    elif file.suffix == ".py":
        yield from ((text, True) for text in python(file.read_text(errors="replace")))
    else:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as binary:
            if ".bun" in Elf(binary).sections:
                for source in bun(binary):
                    yield from _beside(source, marks)
            else:
                yield from ((text, True) for text in rust(binary))


def _beside(source: str, marks: re.Pattern[str] | None) -> Iterator[tuple[str, bool]]:
    places = [found.start() for found in marks.finditer(source)] if marks else []
    for end, text in javascript(source):
        near = bisect_left(places, end - len(text) - REACH)
        yield text, marks is None or (near < len(places) and places[near] <= end + REACH)
