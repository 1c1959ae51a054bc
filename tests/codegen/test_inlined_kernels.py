"""Which kernels become part of the entry, where they cost LLVM less than as functions of their own."""

from __future__ import annotations

import pytest

from wengert.transforms.codegen.cpu.inline import ATTRIBUTE, LINES, REPEATED, TOTAL, marked


def kernel(name: str, lines: int) -> str:
    """A kernel of so many lines."""
    return f"define internal void @{name}(ptr %p) nounwind {{\n" + "fence seq_cst\n" * (lines - 3) + "ret void\n}\n"


def entry(calls: int, *, loop: bool = False) -> str:
    """An entry with so many calls of @kernel0, after a loop or inside of one."""
    called = "call void @kernel0(ptr %p)\n" * calls
    return f"br label %loop1\nloop1:\n{called if loop else ''}br label %loop1.latch\nloop1.latch:\nbr label %loop1\n{'' if loop else called}"


@pytest.mark.parametrize(("lines", "calls", "loop", "joins"), [
    (LINES, 1, False, True),
    (LINES + 1, 1, False, False),
    (REPEATED, 2, False, True),
    (REPEATED + 1, 2, False, False),
    (REPEATED // 2, 3, False, True),
    (REPEATED, 3, False, False),
    (REPEATED + 1, 2, True, True),
    (LINES // 2 + 1, 2, True, False),
    (10, 0, False, False),
])  # fmt: skip
def test_what_joins(lines: int, calls: int, loop: bool, joins: bool) -> None:
    (text,) = marked({"kernel0": kernel("kernel0", lines)}, entry(calls, loop=loop))
    assert (ATTRIBUTE in text) == joins
    assert text.replace(f"{ATTRIBUTE} ", "") == kernel("kernel0", lines)


def test_the_entry_stays_small() -> None:
    kernels = {f"kernel{n}": kernel(f"kernel{n}", LINES) for n in range(2 * TOTAL // LINES)}
    texts = marked(kernels, "".join(f"call void @{name}(ptr %p)\n" for name in kernels))
    assert sum(ATTRIBUTE in text for text in texts) == TOTAL // LINES
