"""Rows that estimate: forward mode along random directions (:mod:`wengert.transforms.ad.jacobians.forward_gradient`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from wengert.lab.strategies.plan import Blocks, Plan
from wengert.runtime.derived.requests import positions_text
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program, static_program
from wengert.transforms.ad.jacobians.forward_gradient import relative_error
from wengert.transforms.pipelines import OPTIMIZE


def estimated(program: Program, blocks: Blocks, wrt: Sequence[int], of: Sequence[int], samples: int) -> Iterator[Plan]:
    """The mean over one direction, and over so many. Raises InputError for no direction."""
    if samples < 1:
        raise InputError(f"an estimate needs a direction, found estimates={samples}")
    for count in dict.fromkeys((1, samples)):
        off = relative_error(blocks.columns, count)
        passes = f"forward-gradient{{samples={count} wrt={positions_text(wrt)} of={positions_text(of)}}}"
        how = f"{count} random direction{'s' if count > 1 else ''}, off by {off:.2g} of the norm"
        yield Plan(f"forward x{count} random", how, blocks, partial(_made, program, passes), "forward", None, count, passes, off)


def _made(program: Program, passes: str) -> Program:
    return static_program(program.optimized_module, program.name).apply(f"{passes},{OPTIMIZE}")
