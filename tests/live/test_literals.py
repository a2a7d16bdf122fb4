"""The strings of made-up releases: JavaScript with templates, a Bun binary, Python, a Rust program's read-only data."""

import re
import struct
from pathlib import Path

import pytest
from live import literals

SCRIPTS = {
    "plain": ("""a("You're out", 'it\\'s "so"')""", ["You're out", 'it\'s "so"']),
    "escapes": (r'"a\u2019b \xb7 c\n\u{1f600}"', ["a’b · c\n😀"]),
    "template": ("`You've hit your ${x}${g(1)}.`", ["You've hit your {}{}."]),
    "nested": ("`a ${b?`c ${d}`:{e:'f'}} g`", ["c {}", "f", "a {} g"]),
    "brace in a hole": ("`x ${(()=>{return{a:1}})()} y`;'z'", ["x {} y", "z"]),
    "comments": ("// don't\n'a' /* it's */ + 'b'", ["a", "b"]),
    "regular expression": ("""x=/["'`/]/g;y('a');z=1/2;w("b")""", ["a", "b"]),
    "class in one": ("""return/[/"]+/.test(q)?'a':"b\"""", ["a", "b"]),
    "dollar": ("`$5 ${x} $`", ["$5 {} $"]),
    "never closed": ("'a' + `b ${c", ["a"]),
}


@pytest.mark.parametrize(("source", "texts"), SCRIPTS.values(), ids=SCRIPTS)
def test_the_literals_of_a_script(source: str, texts: list[str]) -> None:
    assert [text for _, text in literals.javascript(source)] == texts


def test_a_variables_name_makes_no_difference() -> None:
    one, other = literals.javascript("`resets ${Qa}`"), literals.javascript("`resets ${b.c(d)}`")
    assert [text for _, text in one] == [text for _, text in other]


def test_the_strings_of_a_python_module_without_its_docstrings() -> None:
    source = '"""About it."""\nx = f"Retrying in {n:.1f} seconds..."\ny = "The %s is {name} down" + \'so\'\n'
    assert sorted(literals.python(source)) == ["Retrying in {} seconds...", "The {} is {} down", "so"]


def test_a_bun_binary_holds_its_scripts_between_a_mark_and_a_zero() -> None:
    binary = b"\x7fELF\0\0// @bun\nx='a'\0junk'\0// @bun\ny='\xe2\x80\x99'\0"
    assert [[text for _, text in literals.javascript(source)] for source in literals.bun(binary)] == [["a"], ["’"]]


def elf(sections: dict[str, tuple[int, bytes]]) -> bytes:
    """A 64-bit ELF file with nothing but these sections, each with its address."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in [*sections, ".shstrtab"])
    body, heads = b"", [bytes(64)]
    for name, (address, data) in [*sections.items(), (".shstrtab", (0, names))]:
        at = names.index(name.encode() + b"\0")
        heads.append(struct.pack("<IIQQQQ", at, 1, 0, address, 64 + len(body), len(data)).ljust(64, b"\0"))
        body += data
    head = b"\x7fELF".ljust(0x28, b"\0") + struct.pack("<Q", 64 + len(body))
    head = head.ljust(0x3A, b"\0") + struct.pack("<HHH", 64, len(heads), len(heads) - 1)
    return head.ljust(64, b"\0") + body + b"".join(heads)


def lea(at: int, target: int) -> bytes:
    return b"\x48\x8d\x05" + struct.pack("<i", target - at - 7)


def test_the_strings_of_a_rust_program_stand_without_anything_between() -> None:
    first, second, third = (
        b"budget reached for now",
        b"stream disconnected before",
        b"At capacity. Try again later.Then more",
    )
    piece = b"\x10Reconnecting... \xc0\x01/\xc0\0"
    data = first + second + third + b"\0" + piece
    rodata, text, table = 0x1000, 0x5000, 0x9000
    code = lea(text, rodata + len(first)) + lea(text + 7, rodata + len(data) - len(piece))
    held = struct.pack("<QQ", rodata + len(first) + len(second), len(third))
    binary = elf({".rodata": (rodata, data), ".text": (text, code), ".data.rel.ro": (table, held)})
    found = list(literals.rust(binary))
    assert found == [
        "Reconnecting... {}/{}",
        first.decode(),
        second.decode(),
        "At capacity. Try again later.",
        "Then more",
    ]


def test_a_string_stands_by_a_mark_or_it_does_not(tmp_path: Path) -> None:
    script = tmp_path / "a.js"
    script.write_text("f('near',{error:\"rate_limit\"});" + " " * 1000 + "g('far')")
    found = dict(literals.of_file(script, re.compile("error:")))
    assert (found["near"], found["far"]) == (True, False)
    assert dict(literals.of_file(script))["far"] is True
    program = tmp_path / "program"
    program.write_bytes(elf({".bun": (0, b"// @bun\nx('inside')\0")}))
    assert list(literals.of_file(program)) == [("inside", True)]
