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

ATTRIBUTE = "alwaysinline"
"""LLVM's attribute of functions that are inlined whatever their size."""


_HEAD = re.compile(r"^(define [^\n]*)\{$", re.MULTILINE)


def marked(kernels: Mapping[str, str], callers: str) -> list[str]:
    """The texts of the kernels, with those marked that are to be inlined.

    Args:
        kernels: the text of each kernel by its name: one definition or more, and globals.
        callers: the text of all that calls them.
    """
    budget = TOTAL
    texts: list[str] = []
    for name, text in kernels.items():
        lines = text.count("\n") * callers.count(f"@{name}(")
        if 0 < lines <= min(LINES, budget) and f"\n{text}".count("\ndefine ") == 1:
            text = _HEAD.sub(rf"\g<1>{ATTRIBUTE} {{", text, count=1)
            budget -= lines
        texts.append(text)
    return texts
