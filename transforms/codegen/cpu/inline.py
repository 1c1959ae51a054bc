"""Marks the kernels that become part of the entry: small ones that are called from one place, and smaller ones called from a few.

LLVM's code generator runs some 150 passes over every function, which takes longer than the code of a small kernel, so a program
of many small kernels compiles faster as one function. The limits keep the entry from growing to where register allocation takes longer
than all that is saved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

LINES = 250
"""A kernel that would add more lines to the entry stays a function."""
TOTAL = 3000
"""No more lines than this join the entry."""
REPEATED = 40
"""A kernel that is called several times, and in no loop, stays a function if its copies would be more lines than this: they would cost LLVM more than a
function does, and the calls themselves take no time to speak of."""

ATTRIBUTE = "alwaysinline"
"""LLVM's attribute of functions that are inlined whatever their size."""


_HEAD = re.compile(r"^(define [^\n]*)\{$", re.MULTILINE)
_LOOPS = re.compile(r"^(?:loop|while)\d+(\.latch)?:$|@(\w+)\(", re.MULTILINE)
"""The beginning of a loop, its end, or a call."""


def marked(kernels: Mapping[str, str], callers: str) -> list[str]:
    """The texts of the kernels, with those marked that are to be inlined.

    Args:
        kernels: the text of each kernel by its name: one definition or more, and globals.
        callers: the text of all that calls them.
    """
    budget, looping = TOTAL, _called_in_loops(callers)
    texts: list[str] = []
    for name, text in kernels.items():
        calls, lines = callers.count(f"@{name}("), text.count("\n")
        cheap = name in looping or lines * (calls - 1) <= REPEATED
        if cheap and 0 < lines * calls <= min(LINES, budget) and f"\n{text}".count("\ndefine ") == 1:
            text = _HEAD.sub(rf"\g<1>{ATTRIBUTE} {{", text, count=1)
            budget -= lines * calls
        texts.append(text)
    return texts


def _called_in_loops(callers: str) -> set[str]:
    """The functions that are called inside of loops."""
    depth, names = 0, set[str]()
    for match in _LOOPS.finditer(callers):
        if match[2] is None:
            depth += 1 if match[1] is None else -1
        elif depth:
            names.add(match[2])
    return names
