"""The pass ``sorts-to-networks``: sort by any comparator, and top_k, as stages of comparisons on whole tensors.

A CPU sorts a line after the other, by merging, in code of its own. Where all kernels are made from nests there is no such code; there each stage of a sorting
network (:mod:`.network`) becomes one nest, whose iterations are all independent. The comparator's ops are applied to whole tensors.

Before and after::

    %y = stablehlo.sort(%x) dimension = 1 ({f})     %y, %p = core.for 55 times carried(%keys = %x, %positions = iota) {
                                                      ... f of every element and its partner ...
                                                    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import rank, shape
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.rewrites.reduce_regions import elementwise
from wengert.transforms.core.closing import free_values
from wengert.transforms.fuse.sorting.network import Values, lines_of, moved_along, sorted_lines
from wengert.transforms.fuse.sorting.selection import top_k
from wengert.transforms.optimize.dce import dce
from wengert.transforms.rewriter import Rewriter


@dataclass(frozen=True)
class SortsToNetworksPass(ModulePass):
    """Writes sort and top_k as sorting networks on whole tensors."""

    name = "sorts-to-networks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        b, sorts = Rewriter(self.name), ops_of(op, hlo.SortOp, chlo.TopKOp)
        for sort in sorts:
            b.move_to(sort)
            b.replace(sort, _sorted(b, op, sort) if isinstance(sort, hlo.SortOp) else top_k(b, sort))
        if sorts:
            dce(op)  # results that nobody reads

    def changes(self, module: ModuleOp) -> bool:
        return bool(ops_of(module, hlo.SortOp, chlo.TopKOp))


def _sorted(b: OpBuilder, module: ModuleOp, op: hlo.SortOp) -> Values:
    extents = shape(op.inputs[0])
    dim = rank(op.inputs[0]) - 1 if op.dimension is None else int_of(op.dimension) % max(len(extents), 1)
    if 0 in extents or not extents or extents[dim] == 1:
        return list(op.inputs)
    lines = [prod(extents[:dim]), extents[dim], prod(extents[dim + 1 :])]
    inputs = [b.reshape(x, lines) for x in op.inputs]
    order = _Comparator.of(module, op.comparator.block)
    ordered = sorted_lines(b, lines_of(b, [inputs[number] for number in order.keys]), order)
    keys = dict(zip(order.keys, ordered.keys, strict=True))
    results = [keys[number] if number in keys else moved_along(b, x, ordered.positions) for number, x in enumerate(inputs)]
    return [b.reshape(x, extents) for x in results]


class _Comparator(Struct, frozen=True):
    """The order of a comparator region, of which ``keys`` are the operands that it looks at."""

    module: ModuleOp
    block: Block
    keys: Sequence[int]
    captured: Values

    @staticmethod
    def of(module: ModuleOp, block: Block) -> _Comparator:
        """The order of the block of a comparator, whose arguments are the sides of each operand by turns."""
        parent = block.parent
        assert parent is not None
        keys = [n for n in range(len(block.args) // 2) if any(side.first_use is not None for side in block.args[2 * n : 2 * n + 2])]
        return _Comparator(module, block, keys or [0], free_values([parent]))

    def goes_first(self, b: OpBuilder, behind: Values, ahead: Values, captured: Values) -> Value:
        """The comparator's result."""
        sides = dict(zip(self.keys, zip(behind, ahead, strict=True), strict=True))
        nobody_reads = behind[0], ahead[0]
        operands = [side for number in range(len(self.block.args) // 2) for side in sides.get(number, nobody_reads)]
        return elementwise(b, self.module, self.block, operands, captured=dict(zip(self.captured, captured, strict=True)))[0]
