"""Typing rules of CHLO's ragged contraction and of its scan."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation

from wengert.dialects.chlo import ops
from wengert.dialects.chlo.attributes import ChloPrecisionAttr, RaggedDotDimensionNumbersAttr
from wengert.dialects.chlo.scan import ScanOp
from wengert.dialects.stablehlo.attributes import PrecisionAttr
from wengert.dialects.stablehlo.typing.checks import (
    Shape,
    Tensor,
    expect_elements,
    expect_in_range,
    expect_result,
    expect_unique,
    extents,
    fail,
    int_property,
    operand,
    same_extent,
    same_shape,
    tensors,
)
from wengert.dialects.stablehlo.typing.contraction import check_pairs, result_element
from wengert.dialects.stablehlo.typing.regions import body, expect_results, expect_types
from wengert.ir.element_classes import INTEGER
from wengert.ir.tensor_types import DYNAMIC, tensor
from wengert.ir.verification.typing_rules import typing_rule

Dims = tuple[int, ...]


def check_precision(op: Operation) -> None:
    """precision_config is absent, empty, or has an entry for each operand; StableHLO's spelling of an entry is taken as well."""
    config = op.properties.get("precision_config")
    entries = cast("ArrayAttr[Attribute]", config).data if config is not None else ()
    if len(entries) not in (0, 2) or not all(isinstance(entry, PrecisionAttr | ChloPrecisionAttr) for entry in entries):
        fail(f"precision_config must hold a #chlo<precision ...> for each of the two operands, found {config}")


def group_prefix(numbers: RaggedDotDimensionNumbersAttr, rank: int) -> Dims:
    """The dimensions of lhs that group_sizes may have before its groups: batch dimensions, then those of the ragged dimension's kind before it."""
    batch, summed, (ragged,) = numbers.dims("lhs_batching_dimensions"), numbers.dims("lhs_contracting_dimensions"), numbers.dims("lhs_ragged_dimensions")
    if ragged in batch:
        return batch[: batch.index(ragged)]
    if ragged in summed:
        return batch + summed[: summed.index(ragged)]
    return batch + tuple(d for d in range(ragged) if d not in batch and d not in summed)


def check_groups(numbers: RaggedDotDimensionNumbersAttr, x: Shape, y: Shape, sizes: Tensor) -> None:
    """One ragged dimension of lhs, a group dimension of rhs where it is neither batch nor summed, and sizes of groups for each."""
    ragged, group = numbers.dims("lhs_ragged_dimensions"), numbers.dims("rhs_group_dimensions")
    if len(ragged) != 1:
        fail(f"lhs_ragged_dimensions must name one dimension, found {list(ragged)}")
    expect_in_range("lhs_ragged_dimensions", ragged, len(x), "the rank of lhs")
    expect_in_range("rhs_group_dimensions", group, len(y), "the rank of rhs")
    for kind in ("batching", "contracting"):
        expect_unique(f"rhs_group_dimensions and rhs_{kind}_dimensions together", group + numbers.dims(f"rhs_{kind}_dimensions"))
    shape: Shape = sizes.get_shape()
    if len(shape) == 0:
        fail(f"group_sizes must be a list of integers for each row of groups, found {sizes}")
    prefix = tuple(x[d] for d in group_prefix(numbers, len(x)))
    if len(shape) > 1 and not same_shape(shape[:-1], prefix):
        fail(f"group_sizes must have one dimension, or the extents {extents(prefix)} before that of the groups, found {sizes}")
    if ragged[0] in numbers.dims("lhs_batching_dimensions") + numbers.dims("lhs_contracting_dimensions"):
        if group:
            fail(f"rhs_group_dimensions must be empty where the ragged dimension is a batching or contracting one, found {list(group)}")
    elif len(group) != 1:
        fail(f"rhs_group_dimensions must name one dimension, found {list(group)}")
    elif not same_extent(y[group[0]], shape[-1]):
        fail(f"the group dimension {group[0]} of rhs must have the extent {shape[-1]}, the number of groups in group_sizes, found {y[group[0]]}")


@typing_rule(ops.RaggedDotOp)
def check_ragged_dot(op: ops.RaggedDotOp) -> None:
    """Groups in front, if the ragged dimension is summed; then batch, free of lhs, free of rhs."""
    lhs, rhs, sizes = operand(op, 0, "lhs"), operand(op, 1, "rhs"), operand(op, 2, "group_sizes")
    expect_elements("group_sizes", sizes, INTEGER)
    numbers = cast(RaggedDotDimensionNumbersAttr, op.properties["ragged_dot_dimension_numbers"])
    x, y = lhs.get_shape(), rhs.get_shape()
    left_batch, right_batch, left_sum, right_sum = check_pairs(numbers, lhs, rhs)
    check_groups(numbers, x, y, sizes)
    check_precision(op)
    gone = right_batch + right_sum + numbers.dims("rhs_group_dimensions")
    result = [sizes.get_shape()[-1]] if numbers.dims("lhs_ragged_dimensions")[0] in left_sum else []
    result += [x[d] for d in left_batch]
    result += [n for d, n in enumerate(x) if d not in left_batch + left_sum]
    result += [n for d, n in enumerate(y) if d not in gone]
    expect_result(op, result, result_element(op, lhs, rhs))


@typing_rule(ScanOp)
def check_scan(op: ScanOp) -> None:
    """Checks that the results are what the body returns, the outputs with the scanned dimension put in."""
    inputs, inits = tensors((v.type for v in op.inputs), "input"), tensors((v.type for v in op.inits), "init")
    dimension = int_property(op, "dimension")
    if not inputs and not op.outputs:
        fail("there must be an input or an output")
    extent = int_property(op, "scan_dim_size") if op.scan_dim_size is not None else DYNAMIC
    for i, x in enumerate(inputs):
        expect_in_range("dimension", (dimension,), len(x.get_shape()), f"the rank of input #{i}")
        n = x.get_shape()[dimension]
        if not same_extent(n, extent):
            fail(f"input #{i} must have the extent {extent} in dimension {dimension}, found {x}")
        extent = n if extent == DYNAMIC else extent
    block, returned = body(op.regions[0], "body")
    sliced = [tensor([n for d, n in enumerate(x.get_shape()) if d != dimension], x.element_type) for x in inputs]
    expect_types("argument of the body region", block.arg_types, [*sliced, *inits], "of slices of the inputs, then of the inits")
    count = len(returned) - len(inits)
    if count < 0:
        fail(f"the body region must return at least {len(inits)} values, one for each init, found {len(returned)}")
    results: list[Tensor] = []
    for i, y in enumerate(tensors(returned, "value returned by the body region")):
        if i < count and not 0 <= dimension <= len(y.get_shape()):
            fail(f"dimension must be in the range [0, {len(y.get_shape())}] given by the rank of returned value #{i}, found {dimension}")
        shape = y.get_shape()
        results.append(y if i >= count else tensor([*shape[:dimension], extent, *shape[dimension:]], y.element_type))
    expect_types("carried value returned by the body region", returned[count:], inits, "of the inits")
    if len(op.outputs) != count:
        fail(f"the op must have {count} outputs, as many as the body region returns besides {len(inits)} carried values, found {len(op.outputs)}")
    expect_results(op, results, "inferred from the body")
