"""Damaged files are refused with a diagnostic that names a byte: never a crash, a hang, or memory for what is not there."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pytest
from mutant_checks import limited

from wengert.dialects.bytecode.files import read_module, write_module
from wengert.ir.bytecode.output import Output
from wengert.ir.bytecode.sections import Section, write_section
from wengert.ir.bytecode.strings import write_strings
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.runtime.bytecode import read_module as read_program
from wengert.runtime.bytecode import write

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.mlir"))


def sources() -> list[bytes]:
    """Programs in several versions and as artifacts."""
    modules = [parse_module(path.read_text(), path.name) for path in EXAMPLES]
    files = [write_module(module, version=version) for module in modules for version in (1, 4, 6)]
    return files + [write(module, portable=target) for module in modules for target in ("1.17.0",)]


def damaged(data: bytes, choose: random.Random) -> bytes:
    """The bytes with a few of them changed, left out, put in, or cut off."""
    changed = bytearray(data)
    for _ in range(choose.choice((1, 1, 1, 2, 5))):
        if len(changed) < 6:
            break
        kind, at = choose.randrange(7), choose.randrange(4, len(changed))
        if kind == 0:
            changed[at] = choose.randrange(256)
        elif kind == 1:
            changed[at] ^= 1 << choose.randrange(8)
        elif kind == 2:
            del changed[at : at + choose.randrange(1, 9)]
        elif kind == 3:
            changed[at:at] = choose.randbytes(choose.randrange(1, 5))
        elif kind == 4 and choose.random() < 0.3:
            del changed[at:]
        elif kind == 5:
            changed[at] = choose.choice((0, 1, 2, 4, 8, 128, 254, 255))
        else:
            other, size = choose.randrange(len(changed)), choose.randrange(1, 30)
            changed[at : at + size] = changed[other : other + size]
    return bytes(changed)


def is_refused(data: bytes) -> bool:
    """Whether a file is refused, by a diagnostic that was foreseen; one that is not prints."""
    error: DiagnosticError | None = None
    try:
        module = read_program(data, "m.mlirbc")
    except DiagnosticError as refused:
        error = refused
    else:
        print_module(module)
        print_module(module, generic=True, locations=True)
    assert error is None or (error.__cause__ is None and error.diagnostic.message)
    return error is not None


@pytest.mark.parametrize("part", range(8))
def test_damaged_files(part: int) -> None:
    choose, files = random.Random(part), sources()
    refused = 0
    for _ in range(600):
        data = damaged(choose.choice(files), choose)
        with limited(10):
            refused += is_refused(data)
    assert refused > 300


def test_every_beginning_of_a_file_is_refused() -> None:
    data = sources()[2]
    for size in range(len(data)):
        with pytest.raises(DiagnosticError, match=r"at byte \d+"):
            read_module(data[:size])


def file_of(*sections: tuple[Section, bytes]) -> bytes:
    """A file of these sections."""
    output = Output()
    output.put(b"ML\xefR")
    output.varint(6)
    output.text("test")
    for kind, contents in sections:
        write_section(output, kind, contents)
    return bytes(output.data)


def small(entries: list[bytes], operations: bytes = b"\x03") -> bytes:
    """A file with these builtin attributes."""
    contents, places = Output(), Output()
    places.varint(len(entries))
    places.varint(0)
    if entries:
        places.varint(0)
        places.varint(len(entries))
    for entry in entries:
        contents.put(entry)
        places.flagged(len(entry), True)
    dialects = Output()
    for number in (1, 0 << 1, 1, 0, 1):  # one dialect, its name; one op: of dialect 0, one name
        dialects.varint(number)
    dialects.varint(1 << 1)
    strings = write_strings(["builtin", "module"])
    return file_of(
        (Section.STRINGS, strings),
        (Section.DIALECTS, bytes(dialects.data)),
        (Section.ENTRIES, bytes(contents.data)),
        (Section.OFFSETS, bytes(places.data)),
        (Section.IR, operations),
    )


def coded(*numbers: int) -> bytes:
    """Integers of variable length."""
    output = Output()
    for number in numbers:
        output.varint(number)
    return bytes(output.data)


LOCATION_AND_OP = coded(1 << 1) + coded(0) + b"\x00" + coded(0)
"""A block of one op, of name 0 and without anything, at location 0."""


def test_an_attribute_that_is_part_of_itself() -> None:
    with pytest.raises(DiagnosticError, match="nest deeper than 128 levels are not supported"):
        read_module(small([coded(14, 0, 0)], LOCATION_AND_OP))


def test_an_attribute_of_too_many_parts() -> None:
    entries = [coded(15), *(coded(0, 2, at, at) for at in range(60))]
    with pytest.raises(DiagnosticError, match="more than 1048576 parts"):
        read_module(small(entries, coded(1 << 1) + coded(0) + b"\x00" + coded(60)))


def test_numbers_of_what_is_not_there_take_no_memory() -> None:
    huge = Output()
    huge.varint(1 << 60)
    tracemalloc.start()
    for section in (Section.STRINGS, Section.DIALECTS, Section.OFFSETS, Section.IR):
        sections = {
            Section.STRINGS: write_strings([]),
            Section.DIALECTS: coded(0, 0),
            Section.ENTRIES: b"",
            Section.OFFSETS: coded(0, 0),
            Section.IR: coded(0),
            section: bytes(huge.data),
        }
        with pytest.raises(DiagnosticError, match="at byte"):
            read_module(file_of(*sections.items()))
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "this is not MLIR bytecode"),
        (b"ML\xefR", "1 more byte expected, 0 left, at byte 4"),
        (b"ML\xefR\x0f", "bytecode version 7 is not supported, only those up to 6, at byte 4"),
        (b"ML\xefR\x0dno end", "this string has no end, at byte 5"),
        (b"ML\xefR\x0d\0", "it has no section of strings, at byte 6"),
        (b"ML\xefR\x0d\0\x33\x01", "there is no section of kind 51, at byte 6"),
        (file_of((Section.STRINGS, b"\x01"), (Section.STRINGS, b"\x01")), "two sections of strings"),
    ],
)
def test_what_is_said(data: bytes, said: str) -> None:
    with pytest.raises(DiagnosticError) as refused:
        read_module(data, "f.mlirbc")
    assert said in refused.value.render()
    assert refused.value.render().startswith("f.mlirbc: error: ")


def test_ops_and_attributes_that_nobody_knows() -> None:
    module = parse_module('"foreign.op"() {a = #foreign.thing<1>} : () -> !foreign.type')
    assert print_module(read_module(write_module(module))) == print_module(module)
    wrong = write_module(module, version=4).replace(b"foreign\0", b"builtin\0", 1)
    with pytest.raises(DiagnosticError, match=r"unknown operation 'builtin\.op'.*at byte"):
        read_module(wrong)
