"""Unrolls short innermost loops: interleaved elements become one value for each phase of them.

Slices with a step, interior padding, and stacks of two along the last dimension treat the phases of an index differently:
``2 i`` is one thing and ``2 i + 1`` another. As two lanes of a register they waste the other six, and each
has its own guard. Here the loop over i becomes the innermost one, and the body is written once for each phase, with the guards
decided::

    nest [2000]: store at d0 (0 <= d0 mod 2 < 1 ? x[d0 floordiv 2] : 0)
    ->  nest [1000]: store x[d0] at 2 d0, 0 at 2 d0 + 1

Where the loop's iterations are no multiple of the phases, the last ones are a nest of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.kernel import STORE, LoadOp, NestOp, WithinOp, YieldOp, at_attr, nest, string
from wengert.dialects.kernel.element_formats import element_format
from wengert.dialects.kernel.positions import Position, constant, dimensions, index, substitute
from wengert.ir.attributes import int_array
from wengert.ir.construction import append
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.traversal import ops_in, result_of
from wengert.transforms.analysis.loops import MOST_PHASES, Loops, accesses
from wengert.transforms.kernel.blocks import kernel_blocks
from wengert.transforms.kernel.remap import remapped_body, unrolled
from wengert.transforms.schedule.target import NOMINAL

_FEWEST_ITERATIONS = 32
"""The loop that becomes the innermost one has at least so many iterations."""
_MOST_OPS = 96
"""A body that would become longer is left as it is."""


@dataclass(frozen=True)
class UnrollPhasesPass(ModulePass):
    """Unrolls short innermost loops over the phases of an index, such as its even and odd values, and decides their guards."""

    name = "unroll-phases"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            unroll_phases(block)


def unroll_phases(block: Block) -> None:
    """Replaces the nests of a block whose innermost loop runs over few phases, in place."""
    for op in ops_in(block):
        if isinstance(op, NestOp) and _has_phases(op) and _is_plain(op):
            rest = _uneven_rest(op)
            loops = Loops(op.extents if rest is None else rest.shortened(), accesses(ops_in(op.body.block)[:-1], op.writes))
            loops.collapse()
            if _pays(op, loops) and may_rewrite("unroll-phases", op):
                _Phases(op, loops, rest).replace()


def _has_phases(op: NestOp) -> bool:
    """Whether a nest of many iterations has a short innermost loop, or divides an index; a quick test before the thorough one."""
    if prod(op.extents) < 2 * _FEWEST_ITERATIONS:
        return False
    return op.extents[-1] <= MOST_PHASES or any(not at.is_affine() for at in accesses(ops_in(op.body.block)[:-1], op.writes))


def _is_plain(op: NestOp) -> bool:
    """Whether a nest only stores, into results of its own, and reads at no computed position."""
    inside = ops_in(op.body.block)
    if len(inside) * 2 > _MOST_OPS or not op.extents or any(tie >= 0 for tie in op.tied):
        return False
    if any(write.kind != STORE or write.base is not None for write in op.writes):
        return False
    return not any(isinstance(inner, LoadOp) and inner.base is not None for inner in inside)


def _pays(op: NestOp, loops: Loops) -> bool:
    """Whether the innermost loop has few phases, each of many iterations, which would not fill a register or have guards of their own."""
    inside, extents, last = ops_in(op.body.block)[:-1], loops.extents, len(loops.extents) - 1
    if last < 1 or not 1 < extents[last] <= MOST_PHASES or extents[last - 1] < _FEWEST_ITERATIONS or len(inside) * extents[last] > _MOST_OPS:
        return False
    loads = [inner for inner in inside if isinstance(inner, LoadOp)]
    if any(abs(loops[at].coefficient(last - 1)) > MOST_PHASES for at in (*[load.at.data for load in loads], *[write.at for write in op.writes])):
        return False
    widths = [element_format(value.type).size for value in (*[load.result for load in loads], *[write.value for write in op.writes])]
    divided = any(last in dimensions(atom.expression) for at in loops.positions for atom, _ in at.terms if not isinstance(atom, int))
    guarded = any(last in dimensions(loops[at]) for inner in inside if isinstance(inner, LoadOp | WithinOp) and inner.where for at, _, _ in inner.where.data)
    return divided or guarded or extents[last] * max(widths) < NOMINAL.vector_bytes


class _Rest(NamedTuple):
    """The last few iterations of loop ``d``."""

    op: NestOp
    d: int
    iterations: int

    def shortened(self) -> list[int]:
        """The extents without them."""
        return [n - self.iterations if d == self.d else n for d, n in enumerate(self.op.extents)]

    def nest(self, into: Sequence[SSAValue]) -> NestOp:
        """These iterations, which write what is left of the results."""
        op, start = self.op, self.op.extents[self.d] - self.iterations
        extents = [self.iterations if d == self.d else n for d, n in enumerate(op.extents)]
        values = {d: index(d).shifted(start if d == self.d else 0) for d in range(len(extents))}
        body = remapped_body(op, lambda at: substitute(at, values, extents))
        return nest(list(op.inputs), into, [value.type for value in op.outputs], extents, list(range(len(into))), body)


def _uneven_rest(op: NestOp) -> _Rest | None:
    """The iterations left over of the innermost loop if its index is divided by a number of phases that does not divide their number."""
    d = len(op.extents) - 1
    for at in accesses(ops_in(op.body.block)[:-1], op.writes):
        for atom, _ in at.terms:
            if not isinstance(atom, int) and atom.divisor <= MOST_PHASES and atom.expression.terms in (((d, 1),), ((d, -1),)):
                count = op.extents[d] % atom.divisor
                return _Rest(op, d, count) if count else None
    return None


class _Phases:
    """A nest whose innermost loop is unrolled."""

    def __init__(self, op: NestOp, loops: Loops, rest: _Rest | None):
        self.op, self.loops, self.rest = op, loops, rest
        self.extents = loops.extents[:-1]
        self.body = Block(arg_types=[value.type for value in op.inputs])
        self.arguments = dict(zip(op.body.block.args, self.body.args, strict=True))

    def replace(self) -> None:
        """Replaces the nest by the unrolled one."""
        op, outer = self.op, self.op.parent
        assert outer is not None
        phases = [self._phase(phase) for phase in range(self.loops.extents[-1])]
        parts = [(values[write.value], self._at(write.at, phase), write.target) for write in op.writes for phase, values in enumerate(phases)]
        places: list[Attribute] = [at_attr(at) for _, at, _ in parts]
        kinds: list[Attribute] = [string(STORE)] * len(parts)
        properties: dict[str, Attribute] = {"at": ArrayAttr(places), "kinds": ArrayAttr(kinds), "targets": int_array([target for _, _, target in parts])}
        self.body.add_op(YieldOp.create(operands=[value for value, _, _ in parts], properties=properties))
        for inner in reversed(list(self.body.ops)):
            if not isinstance(inner, YieldOp) and not result_of(inner).uses.get_length():
                inner.detach()
                inner.erase()
        unrolled = nest(list(op.inputs), [], [value.type for value in op.outputs], self.extents, [-1] * len(op.outputs), self.body)
        unrolled.location = op.location
        outer.insert_op_before(unrolled, op)
        if self.rest is not None:
            unrolled = self.rest.nest(unrolled.outputs)
            unrolled.location = op.location
            outer.insert_op_before(unrolled, op)
        for old, new in zip(op.outputs, unrolled.outputs, strict=True):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()

    def _phase(self, phase: int) -> dict[SSAValue, SSAValue]:
        """Appends the body of one phase; the values in it that stand for those of the nest's body."""
        values: dict[SSAValue, SSAValue] = {**self.arguments}
        unrolled(self.op, lambda at: self._at(at, phase), self.extents, values, self._add)
        return values

    def _add(self, op: Operation) -> SSAValue:
        append(self.body, op)
        return result_of(op)

    def _at(self, at: Position, phase: int) -> Position:
        last = len(self.extents)
        return substitute(self.loops[at], {last: constant(phase)}, self.loops.extents)
