"""Typing rules of contractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation

from wengert.dialects.quant import quantized
from wengert.dialects.stablehlo import contraction as ops
from wengert.dialects.stablehlo.attributes import ConvDimensionNumbersAttr, DimensionNumbers, DotDimensionNumbersAttr, Precision, PrecisionAttr
from wengert.dialects.stablehlo.einsum import EinsumLabels
from wengert.dialects.stablehlo.typing.checks import (
    Shape,
    Tensor,
    as_tensor,
    element_class,
    expect_dimensions,
    expect_result,
    fail,
    int_property,
    operand,
    same_element,
    same_extent,
    tensors,
)
from wengert.dialects.stablehlo.typing.quantized import product_result
from wengert.dialects.stablehlo.typing.windows import windows
from wengert.ir.attributes import bools
from wengert.ir.element_classes import COMPLEX, FLOAT
from wengert.ir.tensor_types import DYNAMIC, i1
from wengert.ir.verification.typing_rules import typing_rule


def check_precision(op: Operation) -> None:
    """precision_config is absent, empty, or has an entry for each operand (one stands for both); an algorithm leaves it no choice."""
    config = op.properties.get("precision_config")
    if config is None:
        return
    entries = cast("ArrayAttr[Attribute]", config).data if isinstance(config, ArrayAttr) else None
    if entries is None or len(entries) > 2 or not all(isinstance(entry, PrecisionAttr) for entry in entries):
        fail(f"precision_config must hold a #stablehlo<precision ...> for each of the two operands, found {config}")
    if "algorithm" in op.properties and any(cast(PrecisionAttr, entry).data is not Precision.DEFAULT for entry in entries):
        fail(f"precision_config must be DEFAULT where there is an algorithm, found {config}")


def result_element(op: Operation, lhs: Tensor, rhs: Tensor, summed: Shape = (), kept: Mapping[int, int] | None = None) -> Attribute:
    """The result's element type: any (it says in what the products are summed), but one that does not drop a part of them.

    ``summed`` and ``kept`` say of the dimensions of rhs which are summed over, and which dimensions of the result the others are.
    """
    product = product_result(op, lhs, rhs, summed, kept or {})
    if product is not None:
        return product
    result = as_tensor("result", op.results[0].type)
    for part, what in ((COMPLEX, "imaginary"), (FLOAT, "fractional")):
        if any(element_class(t.element_type) == part for t in (lhs, rhs)):
            if not element_class(result.element_type) & (part | COMPLEX):
                fail(f"result type {result} cannot hold the {what} part of products of {lhs.element_type} and {rhs.element_type}")
            break
    return result.element_type


def check_pairs(numbers: DimensionNumbers, lhs: Tensor, rhs: Tensor) -> list[Shape]:
    """The batching dimensions of both sides, then the contracting ones: as many, different from each other, and of the same extents."""
    x, y = lhs.get_shape(), rhs.get_shape()
    paired: list[Shape] = []
    for kind in ("batching", "contracting"):
        left, right = numbers.dims(f"lhs_{kind}_dimensions"), numbers.dims(f"rhs_{kind}_dimensions")
        if len(left) != len(right):
            fail(f"there must be as many lhs as rhs {kind} dimensions, found {list(left)} and {list(right)}")
        paired += (left, right)
    left_batch, right_batch, left_sum, right_sum = paired
    expect_dimensions("the batching and contracting dimensions of lhs", left_batch + left_sum, len(x), "the rank of lhs")
    expect_dimensions("the batching and contracting dimensions of rhs", right_batch + right_sum, len(y), "the rank of rhs")
    for kind, pairs in (("batching", zip(left_batch, right_batch, strict=True)), ("contracting", zip(left_sum, right_sum, strict=True))):
        for i, j in pairs:
            if not same_extent(x[i], y[j]):
                fail(f"{kind} dimensions {i} of lhs and {j} of rhs must have the same extent, found {lhs} and {rhs}")
    return paired


@typing_rule(ops.DotGeneralOp)
def check_dot_general(op: ops.DotGeneralOp) -> None:
    """Result dimensions: batch, free of lhs, free of rhs."""
    lhs, rhs = operand(op, 0, "lhs"), operand(op, 1, "rhs")
    left_batch, right_batch, left_sum, right_sum = check_pairs(cast(DotDimensionNumbersAttr, op.properties["dot_dimension_numbers"]), lhs, rhs)
    x, y = lhs.get_shape(), rhs.get_shape()
    check_precision(op)
    free_x = [n for d, n in enumerate(x) if d not in left_batch and d not in left_sum]
    free_y = [n for d, n in enumerate(y) if d not in right_batch and d not in right_sum]
    free = [d for d in range(len(y)) if d not in right_batch and d not in right_sum]
    kept = {d: i for i, d in enumerate(right_batch)} | {d: len(left_batch) + len(free_x) + i for i, d in enumerate(free)}
    expect_result(op, [x[d] for d in left_batch] + free_x + free_y, result_element(op, lhs, rhs, right_sum, kept))


@typing_rule(ops.DotOp)
def check_dot(op: ops.DotOp) -> None:
    """Vectors and matrices: what is left of lhs, then what is left of rhs."""
    lhs, rhs = operand(op, 0, "lhs"), operand(op, 1, "rhs")
    x, y = lhs.get_shape(), rhs.get_shape()
    if len(x) not in (1, 2) or len(y) not in (1, 2):
        fail(f"lhs and rhs must be vectors or matrices, found {lhs} and {rhs}")
    if not same_extent(x[-1], y[0]):
        fail(f"the last dimension of lhs and the first one of rhs must have the same extent, found {lhs} and {rhs}")
    check_precision(op)
    expect_result(op, [*x[:-1], *y[1:]], result_element(op, lhs, rhs, (0,), {1: len(x) - 1}))


@typing_rule(ops.EinsumOp, ops.UnaryEinsumOp)
def check_einsum(op: Operation) -> None:
    """The extents of the labels that the result has; a label stands for one extent."""
    operands = tensors((v.type for v in op.operands), "operand")
    try:
        labels = EinsumLabels.of(cast(StringAttr, op.properties["einsum_config"]).data, [len(x.get_shape()) for x in operands])
    except ValueError as error:
        fail(str(error))
    extents: dict[str, int] = {}
    for i, (x, names) in enumerate(zip(operands, labels.operands, strict=True)):
        for name, n in zip(names, x.get_shape(), strict=True):
            if not same_extent(extents.setdefault(name, n), n):
                fail(f"dimensions of the label '{name}' must have the same extent, found {extents[name]} and {n} in operand #{i}, {x}")
            if extents[name] == DYNAMIC:
                extents[name] = n
    expect_result(op, [extents[name] for name in labels.result], result_element(op, operands[0], operands[-1]))


def check_roles(numbers: ConvDimensionNumbersAttr, rank: int) -> None:
    """Every dimension of input, kernel and output has one role."""
    for name, (first, second, spatial) in zip(("input", "kernel", "output"), numbers.roles, strict=True):
        if len(spatial) != rank - 2:
            fail(f"dimension_numbers must name {rank - 2} spatial dimensions of the {name}, two less than the rank {rank} of lhs, found {len(spatial)}")
        expect_dimensions(f"the dimension_numbers of the {name}", (first, second, *spatial), rank, "the rank of lhs")


def check_groups(op: Operation, batch: int, in_features: int, kernel_in: int, kernel_out: int) -> tuple[int, int]:
    """feature_group_count and batch_group_count, which divide what they split."""
    features, batches = int_property(op, "feature_group_count"), int_property(op, "batch_group_count")
    for name, count in (("feature_group_count", features), ("batch_group_count", batches)):
        if count <= 0:
            fail(f"{name} must be positive, found {count}")
    if features > 1 and batches > 1:
        fail(f"feature_group_count and batch_group_count must not both be greater than 1, found {features} and {batches}")
    for name, count, what, n in (
        ("batch_group_count", batches, "batch of lhs", batch),
        ("feature_group_count", features, "input features of lhs", in_features),
        ("batch_group_count", batches, "output features of the kernel", kernel_out),
        ("feature_group_count", features, "output features of the kernel", kernel_out),
    ):
        if n != DYNAMIC and n % count:
            fail(f"{name} = {count} must divide the extent {n} of the {what}")
    if DYNAMIC not in (in_features, kernel_in) and in_features // features != kernel_in:
        fail(f"the kernel must have {in_features // features} input features ({in_features} of lhs in {features} groups), found {kernel_in}")
    return features, batches


@typing_rule(ops.ConvolutionOp)
def check_convolution(op: ops.ConvolutionOp) -> None:
    """Result: batch / batch_group_count, the kernel's output features, and one position per window."""
    lhs, rhs = operand(op, 0, "lhs"), operand(op, 1, "rhs")
    expect_result(op, convolved_shape(op, lhs, rhs), convolved_element(op, lhs, rhs))


def convolved_element(op: Operation, lhs: Tensor, rhs: Tensor) -> Attribute:
    """The result's element type of a convolution."""
    _, (features, kernel_out, spatial), (_, out_feature, _) = cast(ConvDimensionNumbersAttr, op.properties["dimension_numbers"]).roles
    return result_element(op, lhs, rhs, (features, *spatial), {kernel_out: out_feature})


def convolved_shape(op: Operation, lhs: Tensor, rhs: Tensor, padding: Sequence[tuple[int, int]] | None = None) -> list[int]:
    """The result's shape, after checking everything; ``padding`` is given where the op does not hold it as a property."""
    x, kernel = lhs.get_shape(), rhs.get_shape()
    if len(x) != len(kernel) or len(x) < 2:
        fail(f"lhs and rhs must have the same rank of at least 2, found {lhs} and {rhs}")
    if quantized(rhs) is None:
        same_element("lhs", lhs, "rhs", rhs)
    numbers = cast(ConvDimensionNumbersAttr, op.properties["dimension_numbers"])
    check_roles(numbers, len(x))
    (batch, feature, spatial), (kernel_in, kernel_out, kernel_spatial), (out_batch, out_feature, out_spatial) = numbers.roles
    _, batches = check_groups(op, x[batch], x[feature], kernel[kernel_in], kernel[kernel_out])
    check_reversal(op, len(spatial))
    check_precision(op)
    sizes = tuple(kernel[d] for d in kernel_spatial)
    counts = windows(op, sizes, base="lhs_dilation", window="rhs_dilation", padding=padding).output(tuple(x[d] for d in spatial))
    result = [0] * len(x)
    result[out_batch] = DYNAMIC if x[batch] == DYNAMIC else x[batch] // batches
    result[out_feature] = kernel[kernel_out]
    for d, n in zip(out_spatial, counts, strict=True):
        result[d] = n
    return result


def check_reversal(op: Operation, spatial: int) -> None:
    """window_reversal has a boolean for each spatial dimension."""
    reversal = cast("Any", op.properties.get("window_reversal"))
    if reversal is not None and (reversal.elt_type != i1 or len(bools(reversal)) != spatial):
        fail(f"window_reversal must hold a boolean for each of the {spatial} spatial dimensions, found {reversal}")
