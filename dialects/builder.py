"""The builder that passes and derivative rules write with: one method per op, result types inferred.

Methods take and return SSA values. Shapes are static. Elementwise methods need operands of equal type (there is no
implicit broadcasting in StableHLO); :meth:`OpBuilder.full` and :meth:`OpBuilder.full_like` make constants of a shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects import chlo, core, stablehlo
from wengert.dialects.stablehlo import attributes as sa
from wengert.ir import elements
from wengert.ir.attributes import bool_attr, int_array, int_attr
from wengert.ir.builder import BlockBuilder
from wengert.ir.tensor_types import element, i1, is_complex, is_float, is_unsigned, real_element, shape, tensor, type_of

Value = SSAValue


def precision(value: str) -> ArrayAttr[Attribute]:
    """A precision_config for both operands of a contraction."""
    return ArrayAttr([sa.PrecisionAttr(sa.Precision(value))] * 2)


class OpBuilder(BlockBuilder):
    """Appends StableHLO, CHLO and core ops to a block."""

    # -- general

    def one(self, cls: type[Operation], operands: Sequence[Value], result: Attribute, **properties: Attribute) -> Value:
        """The only result of an op of this class."""
        return self.create(cls, operands, (result,), properties)[0]

    def like(self, cls: type[Operation], *operands: Value) -> Value:
        """The result of an op without properties whose result has the first operand's type."""
        return self.create(cls, operands, (operands[0].type,))[0]

    # -- constants

    def constant(self, array: np.ndarray[Any, np.dtype[Any]]) -> Value:
        """A constant with the array's dtype, shape and elements."""
        value = elements.from_numpy(array)
        return self.one(stablehlo.ConstantOp, (), tensor(np.shape(array), value.type.get_element_type()), value=value)

    def scalar(self, value: float | complex, element_type: Attribute) -> Value:
        """A rank-0 constant of this element type."""
        type = tensor((), element_type)
        return self.one(stablehlo.ConstantOp, (), type, value=elements.splat(value, type))

    def full(self, value: float | complex, type: TensorType[Any]) -> Value:
        """A splat constant of any shape."""
        return self.one(stablehlo.ConstantOp, (), type, value=elements.splat(value, type))

    def full_like(self, x: Value, value: float | complex) -> Value:
        """A splat constant of x's type."""
        return self.full(value, type_of(x))

    def zeros(self, type: TensorType[Any]) -> Value:
        """Zeros of a type."""
        return self.full(0, type)

    def iota(self, dimension: int, type: TensorType[Any]) -> Value:
        """Each element is its index along the dimension."""
        return self.one(stablehlo.IotaOp, (), type, iota_dimension=int_attr(dimension))

    # -- elementwise

    def abs(self, x: Value) -> Value:
        return self.one(stablehlo.AbsOp, (x,), tensor(shape(x), real_element(element(x))))

    def add(self, x: Value, y: Value) -> Value:
        return self.like(stablehlo.AddOp, x, y)

    def and_(self, x: Value, y: Value) -> Value:
        return self.like(stablehlo.AndOp, x, y)

    def atan2(self, y: Value, x: Value) -> Value:
        return self.like(stablehlo.Atan2Op, y, x)

    def cbrt(self, x: Value) -> Value:
        return self.like(stablehlo.CbrtOp, x)

    def ceil(self, x: Value) -> Value:
        return self.like(stablehlo.CeilOp, x)

    def cosine(self, x: Value) -> Value:
        return self.like(stablehlo.CosineOp, x)

    def divide(self, x: Value, y: Value) -> Value:
        return self.like(stablehlo.DivideOp, x, y)

    def exponential(self, x: Value) -> Value:
        return self.like(stablehlo.ExponentialOp, x)

    def exponential_minus_one(self, x: Value) -> Value:
        return self.like(stablehlo.ExponentialMinusOneOp, x)

    def floor(self, x: Value) -> Value:
        return self.like(stablehlo.FloorOp, x)

    def log(self, x: Value) -> Value:
        return self.like(stablehlo.LogOp, x)

    def log_plus_one(self, x: Value) -> Value:
        return self.like(stablehlo.LogPlusOneOp, x)

    def logistic(self, x: Value) -> Value:
        return self.like(stablehlo.LogisticOp, x)

    def maximum(self, x: Value, y: Value) -> Value:
        return self.like(stablehlo.MaximumOp, x, y)

    def minimum(self, x: Value, y: Value) -> Value:
        return self.like(stablehlo.MinimumOp, x, y)

    def multiply(self, x: Value, y: Value) -> Value:
        return self.like(stablehlo.MultiplyOp, x, y)

    def negate(self, x: Value) -> Value:
        return self.like(stablehlo.NegateOp, x)

    def not_(self, x: Value) -> Value:
        return self.like(stablehlo.NotOp, x)

    def or_(self, x: Value, y: Value) -> Value:
        return self.like(stablehlo.OrOp, x, y)

    def power(self, x: Value, y: Value) -> Value:
        return self.like(stablehlo.PowerOp, x, y)

    def remainder(self, x: Value, y: Value) -> Value:
        return self.like(stablehlo.RemainderOp, x, y)

    def round_nearest_even(self, x: Value) -> Value:
        return self.like(stablehlo.RoundNearestEvenOp, x)

    def rsqrt(self, x: Value) -> Value:
        return self.like(stablehlo.RsqrtOp, x)

    def sign(self, x: Value) -> Value:
        return self.like(stablehlo.SignOp, x)

    def sine(self, x: Value) -> Value:
        return self.like(stablehlo.SineOp, x)

    def sqrt(self, x: Value) -> Value:
        return self.like(stablehlo.SqrtOp, x)

    def square(self, x: Value) -> Value:
        return self.like(chlo.SquareOp, x)

    def subtract(self, x: Value, y: Value) -> Value:
        return self.like(stablehlo.SubtractOp, x, y)

    def tan(self, x: Value) -> Value:
        return self.like(stablehlo.TanOp, x)

    def tanh(self, x: Value) -> Value:
        return self.like(stablehlo.TanhOp, x)

    def xor(self, x: Value, y: Value) -> Value:
        return self.like(stablehlo.XorOp, x, y)

    def compare(self, direction: str, x: Value, y: Value, order: str | None = None) -> Value:
        """A boolean tensor; the order is FLOAT, SIGNED or UNSIGNED by the operands' type unless given."""
        element_type = element(x)
        if order is None:
            order = (
                "FLOAT" if is_float(element_type) or is_complex(element_type) else "UNSIGNED" if is_unsigned(element_type) or element_type == i1 else "SIGNED"
            )
        return self.one(
            stablehlo.CompareOp,
            (x, y),
            tensor(shape(x), i1),
            comparison_direction=sa.ComparisonDirectionAttr(sa.ComparisonDirection(direction)),
            compare_type=sa.ComparisonTypeAttr(sa.ComparisonType(order)),
        )

    def select(self, pred: Value, on_true: Value, on_false: Value) -> Value:
        return self.one(stablehlo.SelectOp, (pred, on_true, on_false), on_true.type)

    def clamp(self, low: Value, x: Value, high: Value) -> Value:
        return self.one(stablehlo.ClampOp, (low, x, high), x.type)

    def convert(self, x: Value, element_type: Attribute) -> Value:
        """x with another element type; x itself where it already has it."""
        return x if element(x) == element_type else self.one(stablehlo.ConvertOp, (x,), tensor(shape(x), element_type))

    def real(self, z: Value) -> Value:
        return self.one(stablehlo.RealOp, (z,), tensor(shape(z), real_element(element(z))))

    def imag(self, z: Value) -> Value:
        return self.one(stablehlo.ImagOp, (z,), tensor(shape(z), real_element(element(z))))

    def complex(self, re: Value, im: Value) -> Value:
        from xdsl.dialects.builtin import ComplexType

        return self.one(stablehlo.ComplexOp, (re, im), tensor(shape(re), ComplexType(element(re))))  # pyright: ignore[reportArgumentType]

    def conj(self, z: Value) -> Value:
        return self.like(chlo.ConjOp, z)

    # -- shape

    def broadcast_in_dim(self, x: Value, dims: Sequence[int], result: Sequence[int]) -> Value:
        """x with its dimension i placed at dims[i] of the result shape."""
        if tuple(dims) == tuple(range(len(result))) and shape(x) == tuple(result):
            return x
        return self.one(stablehlo.BroadcastInDimOp, (x,), tensor(result, element(x)), broadcast_dimensions=int_array(dims))

    def reshape(self, x: Value, result: Sequence[int]) -> Value:
        return x if shape(x) == tuple(result) else self.one(stablehlo.ReshapeOp, (x,), tensor(result, element(x)))

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        if tuple(permutation) == tuple(range(len(permutation))):
            return x
        extents = shape(x)
        return self.one(stablehlo.TransposeOp, (x,), tensor([extents[p] for p in permutation], element(x)), permutation=int_array(permutation))

    def slice(self, x: Value, start: Sequence[int], limit: Sequence[int], strides: Sequence[int] | None = None) -> Value:
        strides = [1] * len(start) if strides is None else strides
        result = [max(0, -(-(hi - lo) // step)) for lo, hi, step in zip(start, limit, strides, strict=True)]
        if 0 in result:  # what is empty may have been computed to begin behind the end, which the specification excludes
            start = [min(lo, n) for lo, n in zip(start, shape(x), strict=True)]
            limit = [max(lo, min(hi, n)) for lo, hi, n in zip(start, limit, shape(x), strict=True)]
        properties = {"start_indices": int_array(start), "limit_indices": int_array(limit), "strides": int_array(strides)}
        return self.one(stablehlo.SliceOp, (x,), tensor(result, element(x)), **properties)

    def pad(self, x: Value, padding_value: Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int] | None = None) -> Value:
        interior = [0] * len(low) if interior is None else interior
        result = [lo + n + max(n - 1, 0) * mid + hi for n, lo, hi, mid in zip(shape(x), low, high, interior, strict=True)]
        properties = {"edge_padding_low": int_array(low), "edge_padding_high": int_array(high), "interior_padding": int_array(interior)}
        return self.one(stablehlo.PadOp, (x, padding_value), tensor(result, element(x)), **properties)

    def concatenate(self, parts: Sequence[Value], dimension: int) -> Value:
        result = list(shape(parts[0]))
        result[dimension] = sum(shape(part)[dimension] for part in parts)
        return self.one(stablehlo.ConcatenateOp, parts, tensor(result, element(parts[0])), dimension=int_attr(dimension))

    def reverse(self, x: Value, dims: Sequence[int]) -> Value:
        return self.one(stablehlo.ReverseOp, (x,), x.type, dimensions=int_array(dims))

    # -- contractions

    def dot_general(
        self,
        x: Value,
        y: Value,
        contracting: tuple[Sequence[int], Sequence[int]],
        batching: tuple[Sequence[int], Sequence[int]] = ((), ()),
        result_element: Attribute | None = None,
        precision_config: Attribute | None = None,
    ) -> Value:
        """The contraction; result dimensions are batch, free of x, free of y."""
        numbers = sa.DotDimensionNumbersAttr(*(sa.dimensions(d) for d in (*batching, *contracting)))
        free_x = [n for d, n in enumerate(shape(x)) if d not in (*batching[0], *contracting[0])]
        free_y = [n for d, n in enumerate(shape(y)) if d not in (*batching[1], *contracting[1])]
        result = [shape(x)[d] for d in batching[0]] + free_x + free_y
        properties: dict[str, Attribute] = {"dot_dimension_numbers": numbers}
        if precision_config is not None:
            properties["precision_config"] = precision_config
        return self.one(stablehlo.DotGeneralOp, (x, y), tensor(result, result_element or element(x)), **properties)

    def convolution(self, x: Value, w: Value, strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int = 1) -> Value:
        """The cross-correlation of ``x: [n, c, ...]`` with ``w: [m, c / groups, ...]``; as many zeros on both sides of a dimension as padding says."""
        numbers = zip(shape(x)[2:], shape(w)[2:], strides, padding, dilation, strict=True)
        extents = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in numbers]
        spatial = range(2, len(shape(x)))
        properties: dict[str, Attribute] = {
            "window_strides": int_array(strides),
            "padding": elements.from_numpy(np.array([[p, p] for p in padding], np.int64).reshape(-1, 2)),
            "rhs_dilation": int_array(dilation),
            "dimension_numbers": sa.ConvDimensionNumbersAttr.of((0, 1, spatial), (1, 0, spatial), (0, 1, spatial)),
            "feature_group_count": int_attr(groups),
            "batch_group_count": int_attr(1),
        }
        return self.one(stablehlo.ConvolutionOp, (x, w), tensor((shape(x)[0], shape(w)[0], *extents), element(x)), **properties)

    # -- reductions

    def reduce(self, kind: core.Kind, x: Value, dims: Sequence[int]) -> Value:
        """core.reduce: combines all elements along the dimensions, which disappear; x itself where there are none."""
        if not dims:
            return x
        result = [n for d, n in enumerate(shape(x)) if d not in set(dims)]
        return self.one(core.ReduceOp, (x,), tensor(result, element(x)), kind=core.KindAttr(kind), dimensions=int_array(sorted(dims)))

    def reduce_sum(self, x: Value, dims: Sequence[int]) -> Value:
        return self.reduce(core.Kind.add, x, dims)

    def argreduce(self, extreme: core.Extreme, x: Value, dim: int, index_element: Attribute) -> tuple[Value, Value]:
        """core.argreduce: the extreme element along a dimension and its lowest position."""
        result = [n for d, n in enumerate(shape(x)) if d != dim]
        types = (tensor(result, element(x)), tensor(result, index_element))
        value, index = self.create(core.ArgReduceOp, (x,), types, {"extreme": core.ExtremeAttr(extreme), "dimension": int_attr(dim)})
        return value, index

    def cumulative(self, kind: core.Kind, x: Value, dim: int, reverse: bool = False) -> Value:
        """core.cumulative: the running combination along a dimension."""
        return self.one(core.CumulativeOp, (x,), x.type, kind=core.KindAttr(kind), dimension=int_attr(dim), reverse=bool_attr(reverse))

    def window_reduce(
        self,
        kind: core.Kind,
        x: Value,
        window: Sequence[int],
        strides: Sequence[int],
        base: Sequence[int],
        dilations: Sequence[int],
        padding: Sequence[tuple[int, int]],
    ) -> Value:
        """core.window_reduce: combines the elements of every window; padding is (low, high) per dimension."""
        result: list[int] = []
        for n, w, s, bd, wd, (lo, hi) in zip(shape(x), window, strides, base, dilations, padding, strict=True):
            extent = lo + (0 if n == 0 else (n - 1) * bd + 1) + hi
            reach = 0 if w == 0 else (w - 1) * wd + 1
            result.append(0 if extent == 0 or reach > extent else (extent - reach) // s + 1)
        properties: dict[str, Attribute] = {
            "kind": core.KindAttr(kind),
            "window_dimensions": int_array(window),
            "window_strides": int_array(strides),
            "base_dilations": int_array(base),
            "window_dilations": int_array(dilations),
            "padding": int_array([edge for pair in padding for edge in pair]),
        }
        return self.one(core.WindowReduceOp, (x,), tensor(result, element(x)), **properties)

    # -- indexing

    def dynamic_slice(self, x: Value, starts: Sequence[Value], sizes: Sequence[int]) -> Value:
        return self.one(stablehlo.DynamicSliceOp, (x, *starts), tensor(sizes, element(x)), slice_sizes=int_array(sizes))

    def dynamic_update_slice(self, x: Value, update: Value, starts: Sequence[Value]) -> Value:
        return self.one(stablehlo.DynamicUpdateSliceOp, (x, update, *starts), x.type)

    def gather(
        self, x: Value, starts: Value, numbers: sa.GatherDimensionNumbersAttr, sizes: Sequence[int], result: Sequence[int], sorted: bool = False
    ) -> Value:
        properties: dict[str, Attribute] = {"dimension_numbers": numbers, "slice_sizes": int_array(sizes), "indices_are_sorted": bool_attr(sorted)}
        return self.one(stablehlo.GatherOp, (x, starts), tensor(result, element(x)), **properties)

    def scatter(
        self, kind: core.Kind, x: Value, indices: Value, updates: Value, numbers: sa.ScatterDimensionNumbersAttr, sorted: bool = False, unique: bool = False
    ) -> Value:
        """core.scatter: updates combined into x at computed positions."""
        properties: dict[str, Attribute] = {
            "kind": core.KindAttr(kind),
            "scatter_dimension_numbers": numbers,
            "indices_are_sorted": bool_attr(sorted),
            "unique_indices": bool_attr(unique),
        }
        return self.one(core.ScatterOp, (x, indices, updates), x.type, **properties)
