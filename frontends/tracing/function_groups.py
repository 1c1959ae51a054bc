"""Private functions that one op names together: what any of them uses from outside, all of them take, before arguments of their own."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import LocationAttr, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from wengert.frontends.tracing.context import BlockTrace, Captures, active_trace, tracing
from wengert.frontends.tracing.function import Body
from wengert.frontends.tracing.operands import value_of
from wengert.frontends.tracing.signatures import ArraySpec
from wengert.frontends.tracing.source_lines import location_here
from wengert.frontends.tracing.tracer import TracedArray


class FunctionGroup:
    """The functions of an op that is about to be made; they join the module when all are written, as each may add to what the others take."""

    def __init__(self) -> None:
        self._captures = Captures(0)
        self._blocks: list[tuple[str, Block, LocationAttr]] = []

    def write(self, body: Body, name: str, specs: Sequence[ArraySpec]) -> SymbolRefAttr:
        """Writes a function of ``(what is captured, specs)``; its symbol."""
        outside = active_trace()
        location = location_here()
        symbol = outside.module.fresh_name(name)
        block = self._captures.block([], [spec.type for spec in specs])
        trace = BlockTrace(outside.module, block, outside, self._captures)
        own = block.args[len(block.args) - len(specs) :] if specs else ()
        with tracing(trace):
            results = [value_of(leaf) for leaf in body([TracedArray(arg, trace, spec.weak) for arg, spec in zip(own, specs, strict=True)])]
        block.add_op(ReturnOp(*results))
        self._blocks.append((symbol, block, location))
        return SymbolRefAttr(symbol)

    def finish(self) -> list[SSAValue]:
        """Adds the functions to the module; the values that they take first, in the block outside."""
        module = active_trace().module
        for symbol, block, location in self._blocks:
            end = block.last_op
            assert end is not None
            types = ([arg.type for arg in block.args], [value.type for value in end.operands])
            function = FuncOp(symbol, types, Region([block]), StringAttr("private"))
            function.location = location
            module.add(function)
        return list(self._captures.outer)
