"""Splits long sums at computed positions into partial ones: a histogram, a segment sum over few segments, whose updates may all meet in one element.

Updates of single elements take less time than asking whose they are, so that threads cannot share them as they are. Here the loop over them is cut into
parts, each of which updates an array of its own, and a second nest adds these to the array::

    r = nest [100000] into(%a): add x[d0] at i[d0]
    ->
    p = nest [8, 12500] into(neutral): add x[d0 * 12500 + d1] at i[d0 * 12500 + d1] + d0 * 100
    r = nest [8, 100] into(%a): add p[d0 * 100 + d1] at d1

Parts are so few that filling and adding up their arrays is little beside the updates. As with other reductions (:mod:`.split_reductions`) their number
follows from shapes, and strict programs, for which this would be another order, do not do it. Stores, of which the last one stays, are left as they are.
"""

from __future__ import annotations

from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Block, SSAValue

from wengert.dialects.core import Kind
from wengert.dialects.kernel import STORE, ConstantOp, LoadOp, NestOp, Write, at_attr, nest, yielded
from wengert.dialects.kernel.element_formats import element_format
from wengert.dialects.kernel.positions import combine, index
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.tensor_types import dtype_of, element, shape, size, tensor
from wengert.transforms.analysis.loops import Loops
from wengert.transforms.core.kinds import neutral
from wengert.transforms.kernel.remap import remapped_body
from wengert.transforms.schedule.chunks import wanted_chunks
from wengert.transforms.schedule.computed_positions import updated_apart, updates, window_unit
from wengert.transforms.schedule.parallel import OWNED_NS
from wengert.transforms.schedule.placement import Placement
from wengert.transforms.schedule.target import NOMINAL
from wengert.transforms.schedule.work import nest_ns

_ELEMENT_NS = 0.3
"""Filling an element of a part's array, and adding it up."""
_SHARE = 0.05
"""The parts may take so much of the whole."""
_MOST_PARTS = 16
_LEAST_PARTS = 4
"""Fewer gain little."""
_KINDS = {"add": Kind.add, "mul": Kind.mul, "max": Kind.max, "min": Kind.min}


def split_updates(op: NestOp) -> None:
    """Replaces a nest that combines at computed positions by two and one that fills the parts' arrays, if that can be done and pays."""
    if len(op.writes) != 1 or (write := op.writes[0]).base is None or write.kind not in _KINDS or op.tied != (0,) or 0 in op.extents:
        return
    format = element_format(write.value.type)
    if format.kind not in "fiu" or format.narrow:
        return
    loops = Loops.of(op)
    loops.collapse()
    placement = Placement(op, loops)
    if (count := _parts(placement, write)) and may_rewrite("split-update", op):
        loops.cut(0, loops.extents[0] // count)
        _replace(op, write, loops, count)


def _parts(placement: Placement, write: Write) -> int:
    """The number of parts that pay; 0 if none do, or if threads share the nest as it is."""
    op, extents = placement.op, placement.extents
    nanoseconds = nest_ns(placement, NOMINAL)
    if wanted_chunks(nanoseconds) < 2 or not extents or not updates(placement, write) or placement.loops.is_divided(0):
        return 0
    positions = prod(extents[: placement.depth[cast("SSAValue", write.base)] + 1])
    if 0 in updated_apart(placement, write) or (window_unit(placement) and nanoseconds >= OWNED_NS * positions):
        return 0
    most = min(wanted_chunks(nanoseconds), _MOST_PARTS, int(_SHARE * nanoseconds / (_ELEMENT_NS * size(op.outputs[0]))))
    return next((count for count in range(most, _LEAST_PARTS - 1, -1) if extents[0] % count == 0), 0)


def _replace(op: NestOp, write: Write, loops: Loops, count: int) -> None:
    """The three nests, in place of the one."""
    elements, kind = size(op.outputs[0]), element(op.outputs[0])
    parts = tensor((count, *shape(op.outputs[0])), kind)
    place = combine(loops[write.at].offset, [*loops[write.at].terms, (0, elements)])
    filled = nest([], [], [parts], [count * elements], [-1], _constant(write.kind, kind))
    updated = nest(list(op.inputs), [filled.outputs[0]], [parts], loops.extents, [0], remapped_body(op, loops.__getitem__, places=[place]))
    total = nest([updated.outputs[0]], list(op.into), [op.outputs[0].type], [count, elements], [0], _sum(parts, kind, write.kind, elements))
    outer = op.parent
    assert outer is not None
    for made in (filled, updated, total):
        made.location = op.location
        outer.insert_op_before(made, op)
    op.outputs[0].replace_all_uses_with(total.outputs[0])
    op.detach()
    op.erase()


def _constant(kind: str, element_type: Attribute) -> Block:
    """The body of a nest that fills an array with what changes nothing: not even the sign of a zero."""
    dtype = dtype_of(element_type)
    value = dtype.type(-0.0) if kind == "add" and dtype.kind == "f" else neutral(_KINDS[kind], element_type)
    scalar: Any = tensor((), element_type)
    constant = ConstantOp.create(result_types=[element_type], properties={"value": DenseIntOrFPElementsAttr(scalar, BytesAttr(value.tobytes()))})
    body = Block()
    body.add_ops([constant, yielded([Write(constant.result, index(0), STORE, 0)])])
    return body


def _sum(parts: Attribute, element_type: Attribute, kind: str, elements: int) -> Block:
    """The body of a nest that combines the parts, the first one first, with what is there."""
    body = Block(arg_types=[parts])
    load = LoadOp.create(operands=[body.args[0]], properties={"at": at_attr(combine(0, [(0, elements), (1, 1)]))}, result_types=[element_type])
    body.add_ops([load, yielded([Write(load.result, index(1), kind, 0)])])
    return body
