"""Derivatives of sorting ops: tangents are permuted like the elements."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Region

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, dimensions
from wengert.ir.attributes import bool_attr, int_attr, int_of
from wengert.ir.tensor_types import element, i32, index_element, shape, tensor
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.rule import STEPS, LinearMap, Tangent, derivative


def take_along(b: OpBuilder, x: Value, indices: Value, dim: int) -> Value:
    """The elements of x at these positions along a dimension; all other dimensions are batch dimensions."""
    rank = len(shape(x))
    batch = [d for d in range(rank) if d != dim]
    starts = b.reshape(indices, [*shape(indices), 1])
    numbers = GatherDimensionNumbersAttr(dimensions(()), dimensions((dim,)), dimensions(batch), dimensions(batch), dimensions((dim,)), int_attr(rank))
    return b.gather(x, starts, numbers, [1] * rank, shape(indices))


@derivative(chlo.TopKOp)
def top_k(b: OpBuilder, op: chlo.TopKOp) -> LinearMap:
    # d values = dx at the selected positions
    last = len(shape(op.operand)) - 1

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        x_dot = tangents[0]
        assert x_dot is not None
        return [take_along(lb, x_dot, op.indices, last), None]

    return apply


def sort(sweep: ForwardSweep, op: hlo.SortOp) -> None:
    """d sorted = dx at the original positions of the elements, which are sorted along as another operand."""
    inputs = [sweep.primal(x) for x in op.inputs]
    dim = len(shape(inputs[0])) - 1 if op.dimension is None else int_of(op.dimension) % max(len(shape(inputs[0])), 1)
    index_type = index_element(shape(inputs[0])[dim] if shape(inputs[0]) else 1)
    positions_type = tensor(shape(inputs[0]), index_type)
    region = Region()
    op.comparator.clone_into(region, value_mapper=dict(sweep.primals))
    block: Block = region.block
    for _ in range(2):
        block.insert_arg(tensor((), index_type), len(block.args))
    types = [*(r.type for r in op.results), positions_type]
    *primals, permutation = sweep.b.create(hlo.SortOp, [*inputs, sweep.b.iota(dim, positions_type)], types, op.properties, [region])
    x_dots = [sweep.tangent(x) for x in op.inputs]
    sweep.set(op.results, primals, [None if x_dot is None else take_along(sweep.lb, x_dot, permutation, dim) for x_dot in x_dots])


STEPS[hlo.SortOp] = sort


def _sorted(b: OpBuilder, *inputs: Value, descending: bool = False, dim: int = 0) -> Sequence[Value]:
    """Sorts inputs by the first one, for the cases."""
    block = Block(arg_types=[tensor((), element(x)) for x in inputs for _ in range(2)])
    inner = OpBuilder(block)
    block.add_op(hlo.ReturnOp.create(operands=[inner.compare("GT" if descending else "LT", block.args[0], block.args[1])]))
    properties = {"dimension": int_attr(dim), "is_stable": bool_attr(True)}
    return b.create(hlo.SortOp, inputs, [x.type for x in inputs], properties, [Region([block])])


CASES = [
    Case("take along", lambda b, x, i: take_along(b, x, i, 1), (Arg((2, 4)), Arg((2, 3), values=(0, 3, 3, 2, 1, 2), dtype="int32"))),
    Case("top k", lambda b, x: b.create(chlo.TopKOp, (x,), (tensor((2, 2), element(x)), tensor((2, 2), i32)), {"k": int_attr(2)})[0], (Arg((2, 5)),)),
    Case("sort", lambda b, x: _sorted(b, b.sine(x), dim=1), (Arg((2, 5)),)),
    Case(
        "sort by key",
        lambda b, x, y, i: _sorted(b, x, b.sine(y), i, descending=True)[:2],
        (Arg((5, 2)), Arg((5, 2)), Arg((5, 2), values=tuple(range(10)), dtype="int32")),
    ),
]
