"""Splits long reductions: every part of the loop has a sum of its own, and a second nest adds the sums.

A write that combines all iterations of a long nest into few elements (a loss, the gradient of a bias) would keep it from running on several
threads, and a sum of n numbers one after the other has an error that grows with n: of ten million numbers in f32, three digits are
left. Here the range of a loop is cut into as many parts as the work is worth, or as the error asks for (the square root of the
iterations); the loop over parts goes around all others, and a result that is combined across them gets a leading dimension::

    r = nest [100000]: add x[d0] at 0                      r' = nest [16, 6250]: add x[d0 * 6250 + d1] at d0
                                                   ->      r  = nest [16]:       add r'[d0] at 0

Where no number of parts divides the range (a prime number of rows), the parts have one length, and the iterations left over, fewer than
a part has, are a third nest that continues the results, if all of them are combined across the parts.

Sums at computed positions are split in a way of their own (:mod:`.split_updates`).

The number of parts follows from the shapes, so that results do not depend on the number of threads. (On two-level summation and its error:
Blanchard, Higham and Mary, "A class of fast and accurate summation algorithms", SIAM J. Sci. Comput. 42, 2020.) It is a reassociation, which strict
programs do not allow; and sums of 16-bit floats, which would be rounded in between, are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.kernel import STORE, LoadOp, NestOp, Write, YieldOp, at_attr, nest, string
from wengert.dialects.kernel.element_formats import element_format
from wengert.dialects.kernel.positions import Position, combine, dimensions, index, substitute
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.tensor_types import element, shape, size, tensor
from wengert.ir.traversal import ops_in
from wengert.transforms.analysis.loops import Loops
from wengert.transforms.kernel.blocks import kernel_blocks
from wengert.transforms.kernel.remap import remapped_body
from wengert.transforms.kernel.split_updates import split_updates
from wengert.transforms.schedule.chunks import wanted_chunks
from wengert.transforms.schedule.order import choose_order
from wengert.transforms.schedule.parallel import FEW_ITERATIONS, best_divisor, block_length
from wengert.transforms.schedule.placement import Placement
from wengert.transforms.schedule.target import NOMINAL
from wengert.transforms.schedule.work import may_be_shared, nest_ns

_LANES = NOMINAL.vector_bytes // 4
_COMBINING_NS = 0.2
"""Adding one element of a part's sums to another's."""
_SHARE = 0.05
"""Adding up the parts may take so much of the whole."""
_LEFT_OVER = 16
"""Parts are so many iterations at least where some are left over, so that these are few."""
_LONG_SUM = 4096
"""More iterations than this are not added up one after the other."""


@dataclass(frozen=True)
class SplitReductionsPass(ModulePass):
    """Splits long reductions into partial ones that can run in parallel and a nest that combines them (a reassociation)."""

    name = "split-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            split_reductions(block)


def split_reductions(block: Block) -> None:
    """Replaces the nests of a block that combine across many iterations by two each, in place."""
    for op in ops_in(block):
        if isinstance(op, NestOp) and (prod(op.extents) > _LONG_SUM * _LANES or may_be_shared(op)):
            if any(write.base is not None for write in op.writes):
                split_updates(op)
            else:
                _Parts.split(op)


class _Parts:
    """A nest with a loop over parts around its loops, and the iterations left over."""

    def __init__(self, op: NestOp, loops: Loops, d: int, count: int):
        self.op = op
        self.writes = op.writes
        length = loops.extents[d] // count
        self.count, left = divmod(loops.extents[d], length)  # a few more parts than asked for, where they do not divide the range
        self.loops = loops
        self.crossing = [w for w in self.writes if w.kind != STORE and d not in dimensions(self.loops[w.at])]
        self.rest = self._left_over(d, left) if left else None
        self.loops.cut(d, length)

    def _left_over(self, d: int, count: int) -> tuple[list[int], Block]:
        """The extents and the body of a nest over the last iterations of a loop."""
        extents = [count if n == d else extent for n, extent in enumerate(self.loops.extents)]
        values = {n: index(n).shifted(self.loops.extents[d] - count if n == d else 0) for n in range(len(extents))}
        return extents, remapped_body(self.op, lambda at: substitute(self.loops[at], values, extents))

    @staticmethod
    def split(op: NestOp) -> None:
        """Splits the reductions of a nest if that can be done and pays."""
        combined = [write for write in op.writes if write.kind != STORE]
        plain = all(write.base is None for write in op.writes) and all(tie < 0 for tie in op.tied)
        if not combined or not plain or 0 in op.extents or any(element_format(write.value.type).narrow for write in combined):
            return
        placement = _placed(op)
        loops, extents = placement.loops, placement.extents
        nanoseconds = nest_ns(placement, NOMINAL)
        exact = _exact_parts(combined, loops, extents)
        chunks = max(wanted_chunks(nanoseconds), exact)
        if chunks < 2 or not extents:
            return

        def block(write: Write, d: int) -> int | None:
            return block_length(loops[write.at], d, extents, size(op.outputs[write.target]))

        def parts(d: int) -> int:
            """The number of parts to cut the range of a loop into; 0 if it cannot be cut, or need not be."""
            crossing = [write for write in combined if d not in dimensions(loops[write.at])]
            if loops.is_divided(d) or not all(block(write, d) for write in combined if write not in crossing):
                return 0
            elements = sum(size(op.outputs[target]) for target in {write.target for write in crossing})
            most = min(chunks, int(_SHARE * nanoseconds / (_COMBINING_NS * max(elements, 1))))
            # what is left over continues results; one that each iteration has for itself (the sum of a row) would have nothing to continue
            uneven = min(most, extents[d] // _LEFT_OVER) if len(crossing) == len(combined) else 0
            return best_divisor(extents[d], most) or uneven

        if not exact and len(extents) > 1 and extents[0] >= min(FEW_ITERATIONS, chunks) and all(block(write, 0) for write in combined):
            return
        enough = min(FEW_ITERATIONS, chunks)
        counts = [parts(d) for d in range(len(extents))]
        d = next((d for d, count in enumerate(counts) if count >= enough), max(range(len(extents)), key=lambda d: counts[d]))
        if counts[d] > 1 and any(d not in dimensions(loops[write.at]) for write in combined) and may_rewrite("split-reduction", op):
            _Parts(op, loops, d, counts[d]).replace()

    def replace(self) -> None:
        """Replaces the nest by two."""
        op, outer = self.op, self.op.parent
        assert outer is not None
        kinds: list[Attribute] = [value.type for value in op.outputs]
        for write in self.crossing:
            kinds[write.target] = tensor((self.count, *shape(op.outputs[write.target])), element(op.outputs[write.target]))
        parts = nest(list(op.inputs), [], kinds, self.loops.extents, [-1] * len(kinds), self._body())
        parts.location = op.location
        outer.insert_op_before(parts, op)
        results: list[SSAValue] = list(parts.outputs)
        for write in {write.target: write for write in self.crossing}.values():
            combined = total(parts.outputs[write.target], op.outputs[write.target], write.kind, self.count)
            combined.location = op.location
            outer.insert_op_before(combined, op)
            results[write.target] = combined.outputs[0]
        if self.rest is not None:
            extents, body = self.rest
            left = nest(list(op.inputs), results, [value.type for value in op.outputs], extents, list(range(len(results))), body)
            left.location = op.location
            outer.insert_op_before(left, op)
            results = list(left.outputs)
        for old, new in zip(op.outputs, results, strict=True):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()

    def _body(self) -> Block:
        return remapped_body(self.op, self.loops.__getitem__, places=[self._place(write) for write in self.writes])

    def _place(self, write: Write) -> Position:
        at = self.loops[write.at]
        if write not in self.crossing:
            return at
        return combine(at.offset, [*at.terms, (0, size(self.op.outputs[write.target]))])


def _placed(op: NestOp) -> Placement:
    """The nest with its loops collapsed and in the order in which they will run."""
    loops = Loops.of(op)
    loops.collapse()
    order, _ = choose_order(Placement(op, loops), strict=False, in_place=lambda: False)
    if order:
        loops.reorder(order)
    return Placement(op, loops)


def _exact_parts(combined: Sequence[Write], loops: Loops, extents: Sequence[int]) -> int:
    """The number of parts that makes the longest sum of floats a sum of short ones; 0 if it is short enough."""
    sums = [write for write in combined if write.kind == "add" and element_format(write.value.type).kind in "fc"]
    lengths = [prod(extents[d] for d in range(len(extents)) if d not in dimensions(loops[write.at])) // _LANES for write in sums]
    longest = max(lengths, default=0)
    return isqrt(longest) if longest > _LONG_SUM else 0


def total(parts: SSAValue, like: SSAValue, kind: str, count: int) -> NestOp:
    """The nest that combines the sums of so many parts, in order."""
    type, elements = element(like), size(like)
    body = Block(arg_types=[parts.type])
    load = LoadOp.create(operands=[body.args[0]], properties={"at": at_attr(combine(0, [(0, elements), (1, 1)]))}, result_types=[type])
    places = cast("Sequence[Attribute]", [at_attr(index(1))])
    last = YieldOp.create(operands=[load.result], properties={"at": ArrayAttr(places), "kinds": ArrayAttr([string(kind)])})
    body.add_ops([load, last])
    return nest([parts], [], [like.type], [count, elements], [-1], body)
