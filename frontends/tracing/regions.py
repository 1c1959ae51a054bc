"""Closed regions: the bodies of loops and the branches of conditionals, written block by block.

All blocks of one op share their captures, which are operands of the op: what one of them uses from outside, all are given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Attribute, Block, Region, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.frontends.tracing.context import BlockTrace, Captures, active_trace, tracing
from wengert.frontends.tracing.operands import value_of
from wengert.frontends.tracing.signatures import ArraySpec
from wengert.frontends.tracing.tracer import TracedArray


class RegionGroup:
    """The regions of an op that is about to be made; their arguments are ``first``, what they capture, and what else each takes."""

    def __init__(self, first: Sequence[Attribute] = ()):
        self._first = list(first)
        self._captures = Captures(len(self._first))

    @property
    def captures(self) -> list[SSAValue]:
        """The values of the block outside that the regions use, once they are written."""
        return list(self._captures.outer)

    def write(self, specs: Sequence[ArraySpec], body: Callable[[list[TracedArray], list[TracedArray]], list[Any]]) -> Region:
        """A region from what ``body`` makes of its first and its last arguments; the values that it returns end the block."""
        outside = active_trace()
        block: Block = self._captures.block(self._first, [spec.type for spec in specs])
        trace = BlockTrace(outside.module, block, outside, self._captures)
        last = block.args[len(block.args) - len(specs) :] if specs else ()
        first = block.args[: len(self._first)]
        with tracing(trace):
            given = [TracedArray(arg, trace, spec.weak) for arg, spec in zip(last, specs, strict=True)]
            results = [value_of(leaf) for leaf in body([TracedArray(arg, trace) for arg in first], given)]
        block.add_op(hlo.ReturnOp.create(operands=results, location=trace.builder.location))
        return Region([block])
