"""Laws of contractions: transposes are absorbed into dimension numbers and reversals into windows, sums are taken before."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.attributes import DotDimensionNumbersAttr, dimensions
from wengert.ir.attributes import bool_array, bools, ints
from wengert.ir.tensor_types import element, rank, shape
from wengert.transforms.optimize.matching import made_by, used_once
from wengert.transforms.optimize.rewrites import Assumption, Rewritten, rewrite

Sides = tuple[tuple[int, ...], tuple[int, ...]]


def _numbers(op: stablehlo.DotGeneralOp) -> tuple[Sides, Sides]:
    """Batching and contracting dimensions, each of lhs and rhs."""
    n = op.dot_dimension_numbers
    batching = n.dims("lhs_batching_dimensions"), n.dims("rhs_batching_dimensions")
    return batching, (n.dims("lhs_contracting_dimensions"), n.dims("rhs_contracting_dimensions"))


def _dot(b: OpBuilder, like: stablehlo.DotGeneralOp, x: SSAValue, y: SSAValue, batching: Sides, contracting: Sides, result: SSAValue) -> SSAValue:
    numbers = DotDimensionNumbersAttr(*(dimensions(d) for d in (*batching, *contracting)))
    return b.one(stablehlo.DotGeneralOp, (x, y), result.type, **{**like.properties, "dot_dimension_numbers": numbers})


@rewrite(stablehlo.DotGeneralOp, given=[stablehlo.TransposeOp])
def dot_of_transpose(b: OpBuilder, op: stablehlo.DotGeneralOp) -> Rewritten:
    """dot(transpose(x), y) = dot(x, y) with other dimension numbers, where x's free dimensions keep their order"""
    batching, contracting = _numbers(op)
    operands: list[SSAValue] = [op.lhs, op.rhs]
    new_batching, new_contracting = list(batching), list(contracting)
    for side in range(2):
        inner = made_by(operands[side], stablehlo.TransposeOp)
        if inner is None:
            continue
        permutation = ints(inner.permutation)
        free = [p for d, p in enumerate(permutation) if d not in (*batching[side], *contracting[side])]
        if free != sorted(free):
            continue
        operands[side] = inner.operand
        new_batching[side] = tuple(permutation[d] for d in batching[side])
        new_contracting[side] = tuple(permutation[d] for d in contracting[side])
    if operands[0] is op.lhs and operands[1] is op.rhs:
        return None
    return _dot(b, op, operands[0], operands[1], _sides(new_batching), _sides(new_contracting), op.result)


def _sides(pair: Sequence[tuple[int, ...]]) -> Sides:
    return pair[0], pair[1]


@rewrite(stablehlo.ConvolutionOp, given=[stablehlo.ReverseOp])
def convolution_of_reverse(b: OpBuilder, op: stablehlo.ConvolutionOp) -> Rewritten:
    """convolution(x, reverse(w)) = convolution(x, w) with the window read from the other end, where w is reversed along positions alone"""
    reverse = made_by(op.rhs, stablehlo.ReverseOp)
    if reverse is None:
        return None
    reversed_dimensions, (_, _, spatial) = ints(reverse.dimensions), op.dimension_numbers.roles[1]
    if not set(reversed_dimensions) <= set(spatial):
        return None
    before = [False] * len(spatial) if op.window_reversal is None else bools(op.window_reversal)
    reversal = bool_array([bool(flip) != (d in reversed_dimensions) for flip, d in zip(before, spatial, strict=True)])
    return b.one(stablehlo.ConvolutionOp, (op.lhs, reverse.operand), op.result.type, **{**op.properties, "window_reversal": reversal})


@rewrite(stablehlo.TransposeOp, given=[stablehlo.DotGeneralOp])
def transpose_of_dot(b: OpBuilder, op: stablehlo.TransposeOp) -> Rewritten:
    """transpose(dot(x, y)) = dot(y, x), where the free dimensions of x and y change places"""
    dot = made_by(op.operand, stablehlo.DotGeneralOp)
    if dot is None or not used_once(op.operand) or "algorithm" in dot.properties:
        return None
    batching, contracting = _numbers(dot)
    batch = len(batching[0])
    x_free = rank(dot.lhs) - batch - len(contracting[0])
    y_free = rank(dot.rhs) - batch - len(contracting[1])
    swapped = [*range(batch), *range(batch + x_free, batch + x_free + y_free), *range(batch, batch + x_free)]
    if list(ints(op.permutation)) != swapped or not _same_precision(dot):
        return None
    return _dot(b, dot, dot.rhs, dot.lhs, (batching[1], batching[0]), (contracting[1], contracting[0]), op.result)


def _same_precision(dot: stablehlo.DotGeneralOp) -> bool:
    return dot.precision_config is None or (len(dot.precision_config.data) != 1 and len(set(dot.precision_config.data)) <= 1)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]


@rewrite(core.ReduceOp, needs=[Assumption.UNORDERED], given=[stablehlo.DotGeneralOp, stablehlo.NegateOp])
def sum_of_dot(b: OpBuilder, op: core.ReduceOp) -> Rewritten:
    """sum(dot(x, y)) = dot(sum(x), sum(y)) over free dimensions, which takes them out of the product; over batching ones it is a contraction.
    So for a product that is negated in between."""
    negated = made_by(op.operand, stablehlo.NegateOp)
    product = op.operand if negated is None else negated.operand
    dot = made_by(product, stablehlo.DotGeneralOp)
    if dot is None or op.kind.data is not core.Kind.add or not (used_once(product) and used_once(op.operand)) or "algorithm" in dot.properties:
        return None
    if not element(dot.lhs) == element(dot.rhs) == element(dot.result):  # a sum in an operand's type might round more
        return None
    if all(shape(op.operand)[d] == 1 for d in ints(op.dimensions)):  # nothing is saved, and adding the initial zero is for the smaller result
        return None
    batching, contracting = _numbers(dot)
    summed, place = set(ints(op.dimensions)), len(batching[0])
    batched = [n not in summed for n in range(place)]
    operands: list[SSAValue] = []
    new_batching, new_contracting = list[tuple[int, ...]](), list[tuple[int, ...]]()
    for side, x in enumerate((dot.lhs, dot.rhs)):
        free = [d for d in range(rank(x)) if d not in (*batching[side], *contracting[side])]
        gone = [d for n, d in enumerate(free) if place + n in summed]
        left = [d for d in range(rank(x)) if d not in gone]
        operands.append(b.reduce_sum(x, gone))
        new_batching.append(tuple(left.index(d) for d, stays in zip(batching[side], batched, strict=True) if stays))
        ended = [d for d, stays in zip(batching[side], batched, strict=True) if not stays]
        new_contracting.append(tuple(left.index(d) for d in (*ended, *contracting[side])))
        place += len(free)
    smaller = _dot(b, dot, operands[0], operands[1], _sides(new_batching), _sides(new_contracting), op.result)
    return smaller if negated is None else b.negate(smaller)
