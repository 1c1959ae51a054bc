"""Rows within a budget of memory: reverse mode that computes values again (:mod:`wengert.transforms.checkpoint`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from wengert.lab.strategies.plan import Blocks, Plan
from wengert.runtime.program import Program


def checkpointed(program: Program, blocks: Blocks, wrt: Sequence[int], of: Sequence[int], budget: int) -> Iterator[Plan]:
    """VJPs one by one, within so many bytes of arena."""
    yield Plan("vjps checkpointed", f"VJPs within {budget} bytes one by one", blocks, partial(program.vjp, wrt, of, memory=budget), "reverse", 0)
