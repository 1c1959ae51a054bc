"""Typing rules of reductions, sorts and map: ops that apply a region to scalars."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.dialects.stablehlo import reduction as ops
from wengert.dialects.stablehlo.bounds import bounded, bounds_of
from wengert.dialects.stablehlo.typing.checks import (
    Tensor,
    common_bounds,
    expect_dimensions,
    expect_result,
    expect_scalar,
    extents,
    fail,
    int_list,
    int_property,
    operand,
    same_element,
    same_shape,
    tensors,
)
from wengert.dialects.stablehlo.typing.regions import body, check_predicate, check_reducer, expect_results, expect_types
from wengert.dialects.stablehlo.typing.windows import windows
from wengert.ir.tensor_types import tensor
from wengert.ir.verification.typing_rules import typing_rule


def same_shapes(types: list[Tensor], role: str) -> tuple[int, ...]:
    """The common shape of at least one tensor."""
    if not types:
        fail(f"there must be at least one {role}")
    shape = types[0].get_shape()
    for i, type in enumerate(types[1:], 1):
        if not same_shape(shape, type.get_shape()):
            fail(f"{role} #{i} must have the shape {extents(shape)} of {role} #0, found {type}")
    return shape


def inputs_and_inits(op: Operation) -> tuple[list[Tensor], list[Tensor]]:
    """The inputs, of one shape, and as many scalar initial values."""
    if len(op.operands) % 2:
        fail(f"there must be as many initial values as inputs, found {len(op.operands)} operands")
    n = len(op.operands) // 2
    inputs = tensors((v.type for v in op.operands[:n]), "input")
    same_shapes(inputs, "input")
    return inputs, [expect_scalar(f"initial value #{i}", v.type) for i, v in enumerate(op.operands[n:])]


@typing_rule(ops.ReduceOp)
def check_reduce(op: ops.ReduceOp) -> None:
    """The inputs' shape without the dimensions; elements of the accumulators."""
    inputs, inits = inputs_and_inits(op)
    shape = inputs[0].get_shape()
    dims = int_list(op, "dimensions")
    expect_dimensions("dimensions", dims, len(shape), "the inputs' rank")
    accumulators = check_reducer(op.regions[0], "body", inputs, inits)
    kept = [d for d in range(len(shape)) if d not in dims]
    bounds = common_bounds(*inputs)
    most = bounds and [bounds[d] for d in kept]
    results = [bounded([shape[d] for d in kept], a.element_type, most) for a in accumulators]
    expect_results(op, results, "inferred from the inputs, dimensions and body")


@typing_rule(ops.ReduceWindowOp)
def check_reduce_window(op: ops.ReduceWindowOp) -> None:
    """One position per window; elements of the accumulators."""
    inputs, inits = inputs_and_inits(op)
    shape = inputs[0].get_shape()
    sizes = int_list(op, "window_dimensions", len(shape), meaning="the inputs' rank")
    accumulators = check_reducer(op.regions[0], "body", inputs, inits)
    bounds, along = common_bounds(*inputs), windows(op, sizes)
    results = [bounded(along.output(shape), a.element_type, bounds and along.output(bounds)) for a in accumulators]
    expect_results(op, results, "inferred from the inputs, windows and body")


@typing_rule(ops.SelectAndScatterOp)
def check_select_and_scatter(op: ops.SelectAndScatterOp) -> None:
    """The operand's shape; source has one element per window."""
    x, source = operand(op, 0, "operand"), operand(op, 1, "source")
    shape = x.get_shape()
    init = expect_scalar("init_value", op.operands[2].type)
    same_element("operand", x, "source", source)
    sizes = int_list(op, "window_dimensions")
    if len(sizes) != len(shape):
        fail(f"window_dimensions must have {len(shape)} entries (the rank of the operand), found {len(sizes)}")
    output = windows(op, sizes, base=None, window=None).output(shape)
    if not same_shape(source.get_shape(), output):
        fail(f"source must have the shape {extents(output)}, one element for each window, found {source}")
    scalar = tensor((), x.element_type)
    check_predicate(op.regions[0], "select", (scalar, scalar), "of the operand's elements")
    (accumulator,) = check_reducer(op.regions[1], "scatter", [source], [init])
    expect_result(op, shape, accumulator.element_type, bounds=bounds_of(x))


@typing_rule(ops.SortOp)
def check_sort(op: ops.SortOp) -> None:
    """Results have the inputs' types."""
    inputs = tensors((v.type for v in op.operands), "input")
    rank = len(same_shapes(inputs, "input"))
    dimension = int_property(op, "dimension") if "dimension" in op.properties else -1
    if not -rank <= dimension < rank:
        fail(f"dimension must be in the range [{-rank}, {rank}) given by the inputs' rank, found {dimension}")
    pairs = [tensor((), x.element_type) for x in inputs for _ in range(2)]
    check_predicate(op.regions[0], "comparator", pairs, "(two elements of each input by turns)")
    expect_results(op, inputs, "of the input")


@typing_rule(ops.MapOp)
def check_map(op: ops.MapOp) -> None:
    """The inputs' shape; elements of what the computation returns."""
    inputs = tensors((v.type for v in op.operands), "input")
    shape = same_shapes(inputs, "input")
    if (dims := int_list(op, "dimensions")) != tuple(range(len(shape))):
        fail(f"dimensions must list all dimensions {list(range(len(shape)))} of the inputs in order, found {list(dims)}")
    block, returned = body(op.regions[0], "computation")
    scalars = [tensor((), x.element_type) for x in inputs]
    expect_types("argument of the computation region", block.arg_types, scalars, "of the inputs' elements", exact=True)
    if len(returned) != 1:
        fail(f"the computation region must return one value, found {len(returned)}")
    expect_result(op, shape, expect_scalar("value returned by the computation region", returned[0]).element_type)
