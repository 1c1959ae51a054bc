"""The row for a gradient whose kept values are on disk between the forward and the reverse part, with the bytes that are moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.strategies.plan import Blocks, Plan
from wengert.lab.tables import size
from wengert.runtime.program import Program
from wengert.transforms.offload.plan import moved_bytes

POLICY = "offload-disk"
MOST = 2000
"""Derivatives of more ops have no row: each plan for them is taken down to buffers."""


def offloaded(program: Program, blocks: Blocks, wrt: Sequence[int], of: Sequence[int]) -> Iterator[Plan]:
    """The row, where there is something to take away."""
    try:
        if len(list(program.vjp(wrt, of).optimized_module.walk())) > MOST:
            return
        moved = moved_bytes(program.vjp(wrt, of, residuals=POLICY).module)
    except DiagnosticError:
        return
    if moved:
        how = f"VJP, kept values on disk, {size(2 * moved)} moved"
        yield Plan(f"vjps {POLICY}", how, blocks, partial(program.vjp, wrt, of, residuals=POLICY), "reverse", 0)
