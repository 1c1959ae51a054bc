"""Expansion of ``select_and_scatter``, the derivative of pooling, into a scatter at the positions that the windows select.

It is linear in its source: the cotangent of a maximum over a window goes to the selected element. As the selected
positions and a scatter, it has the derivatives of a scatter, to any order, which second derivatives of pooling need.

The op's own region selects the positions: a reduction over each window of pairs (element, position) keeps a
pair as long as ``select(its element, the next element)`` holds, as the specification says. So ties, NaN and padding are
treated as in the op itself::

    %0 = "stablehlo.select_and_scatter"(%x, %s, %init) (select, add)
    // becomes
    %p:2 = "stablehlo.reduce_window"(%x, %iota, %zero, %none) (keep the pair where select(...))
    %0 = core.scatter add of %s into a tensor of %init, at %p#1
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_array, int_attr
from wengert.ir.construction import copy_region
from wengert.ir.tensor_types import element, i32, i64, shape, size, tensor
from wengert.ir.traversal import ops_of
from wengert.transforms.core.kinds import combiner_kinds
from wengert.transforms.rewriter import Rewriter

_PLACES = ScatterDimensionNumbersAttr(dimensions(()), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))
_WINDOW = ("window_dimensions", "window_strides", "padding")
_NONE = -1
"""The position of padding, and of the initial value of a window. A scatter drops it."""


def expand_selections(module: ModuleOp) -> None:
    """Expands every select_and_scatter, in place."""
    rewriter = Rewriter("expand-selections")
    for op in ops_of(module, hlo.SelectAndScatterOp):
        rewriter.move_to(op)
        rewriter.replace(op, [_scattered(rewriter, op)])


def _scattered(b: OpBuilder, op: hlo.SelectAndScatterOp) -> Value:
    places = b.reshape(selected_positions(b, op), [size(op.source), 1])
    start = b.broadcast_in_dim(op.init_value, [], [size(op.operand)])
    source = b.reshape(op.source, [size(op.source)])
    if adds(op):
        scattered = b.scatter(Kind.add, start, places, source, _PLACES)
    else:  # a scatter by the op's own region, which has derivatives too
        numbers = {"scatter_dimension_numbers": _PLACES}
        (scattered,) = b.create(hlo.ScatterOp, [start, places, source], [tensor(shape(start), element(op.result))], numbers, [copy_region(op.scatter)])
    return b.reshape(scattered, shape(op.operand))


def adds(op: hlo.SelectAndScatterOp) -> bool:
    """Whether what is scattered is added up, in the operand's type."""
    return combiner_kinds(op.scatter.block, 1) == [Kind.add] and element(op.source) == element(op.operand)


def selected_positions(b: OpBuilder, op: hlo.SelectAndScatterOp) -> Value:
    """The flat position of the element that each window selects, or _NONE for a window in the padding."""
    x, count = op.operand, size(op.operand)
    index = i32 if count < 2**31 else i64
    positions = b.reshape(b.iota(0, tensor([count], index)), shape(x))
    properties: dict[str, Attribute] = {name: op.properties[name] for name in _WINDOW if name in op.properties}
    properties.setdefault("window_dimensions", int_array([1] * len(shape(x))))
    initial = [b.scalar(0, element(x)), b.scalar(_NONE, index)]
    types = [tensor(shape(op.source), kind) for kind in (element(x), index)]
    return b.create(hlo.ReduceWindowOp, [x, positions, *initial], types, properties, [_selection_region(b, op.select.block, element(x), index)])[1]


def _selection_region(b: OpBuilder, select: Block, scalar: Attribute, index: Attribute) -> Region:
    """The region that selects from two pairs (element, position): the first if ``select`` holds, or if the second is padding."""
    kinds: Sequence[Attribute] = [tensor((), scalar), tensor((), index)] * 2
    block = Block(arg_types=kinds)
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    x, at, y, y_at = block.args
    names: dict[SSAValue, SSAValue] = dict(zip(select.args, (x, y), strict=True))
    for op in select.ops:
        if not isinstance(op, hlo.ReturnOp):
            block.add_op(op.clone(names))
    returned = select.last_op
    assert returned is not None
    holds = names.get(returned.operands[0], returned.operands[0])
    none = inner.scalar(_NONE, index)
    stays = inner.or_(inner.and_(inner.compare("NE", at, none), holds), inner.compare("EQ", y_at, none))
    block.add_op(hlo.ReturnOp.create(operands=[inner.select(stays, x, y), inner.select(stays, at, y_at)]))
    return Region([block])
