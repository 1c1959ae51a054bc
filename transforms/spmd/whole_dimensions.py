"""Keeps dimensions whole that Shardy's passes cannot split: along which an op does not compute each block from the same block of its operands.

They make what each device runs of a program op by op. Along dimensions that a ``reverse``, a convolution, a factorisation or an index goes across, that gives
other values, or no program (jaxlib 0.10). So operands and results of such ops are constrained: other dimensions stay open to what propagation finds for them.

Before and after, with the mesh ``@m``::

    %1 = stablehlo.reverse %0, dims = [1]        %a = sdy.sharding_constraint %0 <@m, [{?}, {}]>
                                                 %b = stablehlo.reverse %a, dims = [1]
                                                 %1 = sdy.sharding_constraint %b <@m, [{?}, {}]>
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects import sdy
from wengert.dialects import stablehlo as hlo
from wengert.dialects.core import Kind
from wengert.dialects.facts import facts_of
from wengert.dialects.sdy_shardings import as_attribute
from wengert.ir.attributes import int_of, ints
from wengert.ir.construction import insert_before
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import rank, shape
from wengert.ir.traversal import all_ops
from wengert.transforms.core.kinds import combiner_kinds
from wengert.transforms.core.recognisers.shardings import IDENTITIES

Free = Sequence[Collection[int]]
"""The dimensions that may be split, for each operand and result."""


def keep_whole(module: ModuleOp, mesh: str) -> None:
    """Constrains the operands and results of ops that Shardy's passes cannot split along all dimensions, in place."""
    for op in list(all_ops(module)):
        values = [*op.operands, *op.results]
        if isinstance(op, _LEFT_ALONE) or not any(isinstance(x.type, TensorType) and rank(x) for x in values):
            continue
        free = _free(op)
        if free is None:
            continue
        for index, (x, dims) in enumerate(zip(values, free, strict=True)):
            if not isinstance(x.type, TensorType) or all(d in dims for d in range(rank(x))):
                continue
            sharding = _sharding(mesh, rank(x), dims)
            if index < len(op.operands):
                op.operands[index] = _constrained(op, x, sharding, op)
            else:
                _constrain_result(op, x, sharding)


def _sharding(mesh: str, count: int, free: Collection[int]) -> Attribute:
    split = ", ".join("{?}" if d in free else "{}" for d in range(count))
    return as_attribute("sdy.sharding", f"@{mesh}, [{split}]")


def _constrained(op: Operation, x: SSAValue, sharding: Attribute, anchor: Operation) -> SSAValue:
    new = sdy.ShardingConstraintOp.create(operands=[x], result_types=[x.type], properties={"sharding": sharding}, location=op.location)
    insert_before(anchor, new)
    return new.result


def _constrain_result(op: Operation, y: SSAValue, sharding: Attribute) -> None:
    uses, anchor = list(y.uses), op.next_op
    assert anchor is not None
    new = _constrained(op, y, sharding, anchor)
    for use in uses:
        use.operation.operands[use.index] = new


_LEFT_ALONE = (
    *(FuncOp, ReturnOp, CallOp, hlo.ReturnOp, hlo.WhileOp, hlo.CaseOp, hlo.IfOp, hlo.OptimizationBarrierOp),
    *(hlo.ConstantOp, hlo.IotaOp, hlo.BroadcastInDimOp, hlo.TransposeOp, hlo.DotGeneralOp),
    *(sdy.MeshOp, sdy.ReturnOp, sdy.ManualComputationOp, *sdy.IDENTITIES),
)
"""Ops that are right however they are split, and what holds others."""


def _free(op: Operation) -> Free | None:
    """The dimensions of operands and results that may be split; None for all of them."""
    if facts_of(type(op)).elementwise or (isinstance(op, hlo.CustomCallOp) and op.call_target_name.data in IDENTITIES):
        return None
    rule = _RULES.get(type(op))
    if rule is None:
        return [()] * (len(op.operands) + len(op.results))
    return rule(op)


def _but(across: Callable[[Any], Collection[int]]) -> Callable[[Any], Free]:
    """The rule of an op that goes across some dimensions, which all its values of the rank of the first have in common."""

    def rule(op: Operation) -> Free:
        first, closed = op.operands[0], across(op)
        return [[d for d in range(rank(first)) if d not in closed] if rank(x) == rank(first) else () for x in (*op.operands, *op.results)]

    return rule


def _sliced(op: hlo.SliceOp) -> Collection[int]:
    bounds = zip(ints(op.start_indices), ints(op.limit_indices), ints(op.strides), shape(op.operand), strict=True)
    return [d for d, (start, limit, stride, n) in enumerate(bounds) if (start, limit, stride) != (0, n, 1)]


def _padded(op: hlo.PadOp) -> Collection[int]:
    return [d for d, at in enumerate(zip(ints(op.edge_padding_low), ints(op.edge_padding_high), ints(op.interior_padding), strict=True)) if any(at)]


def _differing(x: SSAValue, y: SSAValue) -> Collection[int]:
    return [d for d, (m, n) in enumerate(zip(shape(x), shape(y), strict=True)) if m != n]


def _windowed(op: Any) -> Collection[int]:
    count = len(ints(op.window_dimensions))
    sizes = [ints(op.window_dimensions), *(ints(a) for name in ("window_strides", "base_dilations", "window_dilations") if (a := op.properties.get(name)))]
    edges = to_numpy(op.padding).tolist() if op.padding is not None else [[0, 0]] * count
    return [d for d in range(count) if any(size[d] != 1 for size in sizes) or any(edges[d])]


def _last(x: SSAValue, count: int) -> Collection[int]:
    return range(rank(x) - count, rank(x))


def _reshape(op: hlo.ReshapeOp) -> Free:
    """Dimensions that stay as they are, and the outermost of several that become one, or one that becomes several: blocks of them are blocks of the others."""
    free: tuple[list[int], list[int]] = ([], [])
    before, after = shape(op.operand), shape(op.result)
    i = j = 0
    while i < len(before) and j < len(after):
        first, m, n = (i, j), before[i], after[j]
        i, j = i + 1, j + 1
        while m != n:
            if m < n:
                m, i = m * before[i], i + 1
            else:
                n, j = n * after[j], j + 1
        if i - first[0] == 1 or j - first[1] == 1:
            free[0].append(first[0])
            free[1].append(first[1])
    return free


def _reduced(op: hlo.ReduceOp) -> Free:
    """Blocks are reduced, and then their results over the devices: that is right for one op, of which each device may begin with the initial value."""
    kinds = combiner_kinds(op.body.block, 1) if len(op.operands) == 2 else None
    repeats = kinds is not None and (kinds[0] in _REPEATABLE or (kinds[0] is Kind.add and _is_zero(op.operands[1])))
    closed = () if repeats else ints(op.dimensions)
    given = [[d for d in range(rank(x)) if d not in closed] for x in op.operands]
    return [*given, *(range(rank(y)) for y in op.results)]


_REPEATABLE = (Kind.max, Kind.min, Kind.and_, Kind.or_)


def _is_zero(x: SSAValue) -> bool:
    return isinstance(x.owner, hlo.ConstantOp) and not to_numpy(x.owner.value).any()


def _convolution(op: hlo.ConvolutionOp) -> Free:
    numbers = op.dimension_numbers
    if int_of(op.feature_group_count) != 1 or int_of(op.batch_group_count) != 1:
        return [(), (), ()]
    return [
        (int_of(numbers.input_batch_dimension), int_of(numbers.input_feature_dimension)),
        (int_of(numbers.kernel_input_feature_dimension), int_of(numbers.kernel_output_feature_dimension)),
        (int_of(numbers.output_batch_dimension), int_of(numbers.output_feature_dimension)),
    ]


_RULES: dict[type[Operation], Callable[[Any], Free]] = {
    hlo.ReduceOp: _reduced,
    hlo.ReshapeOp: _reshape,
    hlo.ConvolutionOp: _convolution,
    hlo.ReverseOp: _but(lambda op: ints(op.dimensions)),
    hlo.SliceOp: _but(_sliced),
    hlo.PadOp: _but(_padded),
    hlo.ConcatenateOp: _but(lambda op: [int_of(op.dimension)]),
    hlo.DynamicSliceOp: _but(lambda op: _differing(op.operands[0], op.results[0])),
    hlo.DynamicUpdateSliceOp: _but(lambda op: _differing(op.operands[0], op.operands[1])),
    hlo.SortOp: _but(lambda op: [int_of(op.dimension) % rank(op.operands[0]) if op.dimension is not None else rank(op.operands[0]) - 1]),
    hlo.ReduceWindowOp: _but(_windowed),
    hlo.FftOp: _but(lambda op: _last(op.operands[0], len(ints(op.fft_length)))),
    hlo.CholeskyOp: _but(lambda op: _last(op.operands[0], 2)),
    hlo.TriangularSolveOp: _but(lambda op: _last(op.operands[0], 2)),
}
