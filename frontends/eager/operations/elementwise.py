"""Elementwise operations: arithmetic with broadcasting, functions of one variable, comparisons and selections.

Kinks follow PyTorch: the derivatives of ``abs`` and ``relu`` at 0 are 0, a tie of ``maximum`` gives half to each side, and ``clamp``
passes what lies on its bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import Operation as IROp

from wengert.dialects import ad, chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import ShapeError
from wengert.eager.operations import kernels
from wengert.eager.operations.promotion import BOOL, INT64, result_dtype
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, register
from wengert.frontends import kinks
from wengert.ir.tensor_types import element, element_of, i1, is_differentiable, shape, type_of

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

OPERATIONS: dict[str, Operation] = {}
Number = bool | int | float


# -- writing ops


def broadcast(b: OpBuilder, x: Value, extents: Sequence[int]) -> Value:
    """x brought to a shape, its dimensions aligned with the last ones; extents of 1 are repeated."""
    have = shape(x)
    if have == tuple(extents):
        return x
    first = len(extents) - len(have)
    kept = [d for d, n in enumerate(have) if n == extents[first + d]]
    narrow = b.reshape(x, [have[d] for d in kept])
    return b.broadcast_in_dim(narrow, [first + d for d in kept], extents)


def common(b: OpBuilder, operands: Sequence[Value], dtype: Any) -> list[Value]:
    """The operands in one dtype (their own if None) and in the shape that they broadcast to."""
    extents = np.broadcast_shapes(*(shape(x) for x in operands))
    element_type = None if dtype is None else element_of(dtype)
    return [broadcast(b, x if element_type is None else b.convert(x, element_type), extents) for x in operands]


def _of_one(cls: type[IROp]) -> Callable[[OpBuilder, Sequence[Value], Any], list[Value]]:
    return lambda b, operands, _: [b.like(cls, operands[0])]


def _of_two(write: Callable[[OpBuilder, Value, Value], Value]) -> Callable[[OpBuilder, Sequence[Value], Any], list[Value]]:
    return lambda b, operands, dtype: [write(b, *common(b, operands, dtype))]


# -- functions of one variable


def _function(name: str, cls: type[IROp], kernel: Callable[..., Any], node: str = "", keeps_result: bool = False) -> Operation:
    return register(OPERATIONS, name, f"{node or name.capitalize()}Backward0", _of_one(cls), kernel=kernel, keeps_result=keeps_result)


def _composed(name: str, write: Callable[[OpBuilder, Value], Value], kernel: Callable[..., Any], node: str = "", keeps_result: bool = False) -> Operation:
    return register(OPERATIONS, name, f"{node or name.capitalize()}Backward0", lambda b, x, _: [write(b, x[0])], kernel=kernel, keeps_result=keeps_result)


def _relu(b: OpBuilder, x: Value) -> Value:
    # not max(x, 0), which would pass half of a gradient at 0; NaN stays
    zero = b.full_like(x, 0)
    return b.select(b.compare("LE", x, zero), zero, x)


def _rounded(cls: type[IROp]) -> Callable[[OpBuilder, Value], Value]:
    return lambda b, x: b.like(ad.StopGradientOp, b.like(cls, x))


def _normal_cdf(b: OpBuilder, x: Value) -> Value:
    half = b.full_like(x, 0.5)
    return b.multiply(half, b.add(b.full_like(x, 1), b.like(chlo.ErfOp, b.multiply(x, b.full_like(x, 1 / sqrt(2))))))


def _gelu_tanh(b: OpBuilder, x: Value) -> Value:
    cube = b.multiply(b.multiply(x, x), x)
    inner = b.multiply(b.full_like(x, sqrt(2 / pi)), b.add(x, b.multiply(b.full_like(x, 0.044715), cube)))
    return b.multiply(b.multiply(b.full_like(x, 0.5), x), b.add(b.full_like(x, 1), b.tanh(inner)))


def _softplus(b: OpBuilder, x: Value) -> Value:
    # log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)); log1p(exp(x)) has the right derivative and overflows for large x
    large = b.compare("GT", x, b.full_like(x, 20))
    tame = b.select(large, b.full_like(x, 0), x)
    return b.select(large, x, b.log_plus_one(b.exponential(tame)))


NEG = _function("neg", hlo.NegateOp, np.negative)
EXP = _function("exp", hlo.ExponentialOp, np.exp, keeps_result=True)
EXPM1 = _function("expm1", hlo.ExponentialMinusOneOp, np.expm1, keeps_result=True)
LOG = _function("log", hlo.LogOp, np.log)
LOG1P = _function("log1p", hlo.LogPlusOneOp, np.log1p, node="Log1P")
SIN = _function("sin", hlo.SineOp, np.sin)
COS = _function("cos", hlo.CosineOp, np.cos)
TAN = _function("tan", hlo.TanOp, np.tan, keeps_result=True)
TANH = _function("tanh", hlo.TanhOp, np.tanh, keeps_result=True)
SQRT = _function("sqrt", hlo.SqrtOp, np.sqrt, keeps_result=True)
ASIN = _function("asin", chlo.AsinOp, np.arcsin)
ACOS = _function("acos", chlo.AcosOp, np.arccos)
ATAN = _function("atan", chlo.AtanOp, np.arctan)
SINH = _function("sinh", chlo.SinhOp, np.sinh)
COSH = _function("cosh", chlo.CoshOp, np.cosh)
ERF = register(OPERATIONS, "erf", "ErfBackward0", _of_one(chlo.ErfOp))
RSQRT = _composed("rsqrt", lambda b, x: b.rsqrt(x), kernels.rsqrt, keeps_result=True)
SIGMOID = register(OPERATIONS, "sigmoid", "SigmoidBackward0", _of_one(hlo.LogisticOp), keeps_result=True)
RECIPROCAL = _composed("reciprocal", lambda b, x: b.divide(b.full_like(x, 1), x), np.reciprocal, keeps_result=True)
ABS = _composed("abs", kinks.absolute, np.abs)
RELU = _composed("relu", _relu, kernels.relu)
SIGN = _composed("sign", kinks.sign, kernels.sign)
FLOOR = _composed("floor", _rounded(hlo.FloorOp), np.floor)
CEIL = _composed("ceil", _rounded(hlo.CeilOp), np.ceil)
ROUND = _composed("round", _rounded(hlo.RoundNearestEvenOp), np.rint)
CLONE = register(OPERATIONS, "clone", "CloneBackward0", lambda b, x, _: [x[0]], kernel=np.copy)
CONTIGUOUS = register(OPERATIONS, "contiguous", "CloneBackward0", lambda b, x, _: [x[0]], kernel=kernels.in_order)
GELU = register(OPERATIONS, "gelu", "GeluBackward0", lambda b, x, _: [b.multiply(x[0], _normal_cdf(b, x[0]))])
GELU_TANH = register(OPERATIONS, "gelu_tanh", "GeluBackward0", lambda b, x, _: [_gelu_tanh(b, x[0])])
SILU = register(OPERATIONS, "silu", "SiluBackward0", lambda b, x, _: [b.multiply(x[0], b.like(hlo.LogisticOp, x[0]))])
SOFTPLUS = register(OPERATIONS, "softplus", "SoftplusBackward0", lambda b, x, _: [_softplus(b, x[0])])


# -- arithmetic


def _arithmetic(
    name: str, write: Callable[[OpBuilder, Value, Value], Value], kernel: Callable[..., Any], node: str = "", keeps_result: bool = False
) -> Operation:
    return register(OPERATIONS, name, node or f"{name.capitalize()}Backward0", _of_two(write), kernel=kernel, keeps_result=keeps_result, arithmetic=True)


def _whole_quotient(write: Callable[[OpBuilder, Value, Value], Value]) -> Callable[[OpBuilder, Value, Value], Value]:
    return lambda b, x, y: b.like(ad.StopGradientOp, write(b, x, y)) if is_differentiable(x.type) else write(b, x, y)


ADD = _arithmetic("add", lambda b, x, y: b.add(x, y), np.add)
SUB = _arithmetic("sub", lambda b, x, y: b.subtract(x, y), np.subtract)
MUL = _arithmetic("mul", lambda b, x, y: b.multiply(x, y), np.multiply)
DIV = _arithmetic("div", lambda b, x, y: b.divide(x, y), np.divide)
DIV_FLOOR = _arithmetic("div_floor", _whole_quotient(kinks.floor_quotient), kernels.floor_quotient, node="DivBackward1")
DIV_TRUNC = _arithmetic("div_trunc", _whole_quotient(kinks.truncated_quotient), kernels.truncated_quotient, node="DivBackward1")
POW = _arithmetic("pow", kinks.power, kernels.powers, node="PowBackward1", keeps_result=True)
ATAN2 = _arithmetic("atan2", kinks.angle, np.arctan2)
MAXIMUM = _arithmetic("maximum", lambda b, x, y: kinks.extremum(b, x, y, largest=True), np.maximum)
MINIMUM = _arithmetic("minimum", lambda b, x, y: kinks.extremum(b, x, y, largest=False), np.minimum)
REMAINDER = _arithmetic("remainder", kinks.remainder, kernels.remainder)


def _constant(b: OpBuilder, x: Value, value: float) -> Value:
    return b.full_like(x, value)


REMAINDER_NUMBER = register(
    OPERATIONS,
    "remainder_number",
    "RemainderBackward0",
    lambda b, x, c: [kinks.remainder(b, x[0], b.full_like(x[0], c))],
    kernel=kernels.remainder_of,
)
RSUB = register(OPERATIONS, "rsub", "RsubBackward1", lambda b, x, c: [b.subtract(_constant(b, x[0], c), x[0])], kernel=kernels.rsub)
POW_NUMBER = register(OPERATIONS, "pow_number", "PowBackward0", lambda b, x, c: [kinks.power_by(b, x[0], c)], kernel=kernels.power)
NUMBER_POW = register(
    OPERATIONS,
    "number_pow",
    "PowBackward2",
    lambda b, x, c: [kinks.power_of(b, c, x[0])],
    kernel=kernels.power_of,
    keeps_result=True,
)


def _clamp(b: OpBuilder, x: Sequence[Value], bounds: tuple[float | None, float | None]) -> list[Value]:
    return [kinks.clamp(b, x[0], *(None if bound is None else b.full_like(x[0], bound) for bound in bounds))]


def _clamp_by(b: OpBuilder, operands: Sequence[Value], given: tuple[bool, bool, Any]) -> list[Value]:
    x, *bounds = common(b, operands, given[2])
    return [kinks.clamp(b, x, bounds[0] if given[0] else None, bounds[-1] if given[1] else None)]


CLAMP = register(OPERATIONS, "clamp", "ClampBackward1", _clamp, kernel=kernels.clamp)
CLAMP_BY = register(OPERATIONS, "clamp_by", "ClampBackward0", _clamp_by, kernel=kernels.clamp_by)


# -- comparisons and selections


def _compared(direction: str) -> Callable[[OpBuilder, Value, Value], Value]:
    return lambda b, x, y: b.compare(direction, x, y)


EQ = _arithmetic("eq", _compared("EQ"), np.equal)
NE = _arithmetic("ne", _compared("NE"), np.not_equal)
LT = _arithmetic("lt", _compared("LT"), np.less)
LE = _arithmetic("le", _compared("LE"), np.less_equal)
GT = _arithmetic("gt", _compared("GT"), np.greater)
GE = _arithmetic("ge", _compared("GE"), np.greater_equal)
AND = _arithmetic("logical_and", lambda b, x, y: b.and_(x, y), np.logical_and)
OR = _arithmetic("logical_or", lambda b, x, y: b.or_(x, y), np.logical_or)
NOT = register(OPERATIONS, "logical_not", "", lambda b, x, _: [b.not_(x[0])], kernel=np.logical_not)


def _where(b: OpBuilder, operands: Sequence[Value], dtype: Any) -> list[Value]:
    condition, x, y = operands
    element_type = element_of(dtype)
    extents = np.broadcast_shapes(*(shape(v) for v in operands))
    x, y = (broadcast(b, b.convert(v, element_type), extents) for v in (x, y))
    return [b.select(broadcast(b, condition, extents), x, y)]


WHERE = register(
    OPERATIONS,
    "where",
    "WhereBackward0",
    _where,
    differentiable=slice(1, None),
    kernel=kernels.where,
)


def _masked_fill(b: OpBuilder, operands: Sequence[Value], value: Number) -> list[Value]:
    x, mask = operands
    extents = np.broadcast_shapes(shape(x), shape(mask))
    x = broadcast(b, x, extents)
    return [b.select(broadcast(b, mask, extents), b.full_like(x, value), x)]


MASKED_FILL = register(
    OPERATIONS,
    "masked_fill",
    "MaskedFillBackward0",
    _masked_fill,
    kernel=kernels.masked_fill,
    differentiable=slice(1),
)


def _convert(b: OpBuilder, x: Sequence[Value], dtype: Any) -> list[Value]:
    element_type = element_of(dtype)
    if element_type == i1 and element(x[0]) != i1:
        return [b.compare("NE", x[0], b.zeros(type_of(x[0])))]
    return [b.convert(x[0], element_type)]


CONVERT = register(OPERATIONS, "to", "ToCopyBackward0", _convert, kernel=kernels.convert)


# -- as functions of tensors


def where(condition: Tensor, x: Tensor | Number, y: Tensor | Number) -> Tensor:
    """x where the condition holds, else y; all three broadcast."""
    if not hasattr(condition, "array"):
        raise ShapeError(f"where: the condition must be a tensor, found {type(condition).__name__}")
    if condition.array.dtype != BOOL:
        raise ShapeError(f"where: the condition must be of booleans, found {condition.array.dtype.name}")
    dtype = result_dtype([v if isinstance(v, Number) else v.array for v in (x, y)])
    x, y = (dispatch.constant(np.asarray(v, dtype)) if isinstance(v, Number) else v for v in (x, y))
    return dispatch.apply(WHERE, (condition, x, y), dtype)


def clamp(x: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """x limited to an interval, either end of which may be open, or a tensor."""
    if min is None and max is None:
        raise ShapeError("clamp: at least one of min and max must be given")
    if not isinstance(min, Number | None) or not isinstance(max, Number | None):
        bounds = [bound for bound in (min, max) if bound is not None]
        dtype = result_dtype([v if isinstance(v, Number) else v.array for v in (x, *bounds)])
        return dispatch.apply(CLAMP_BY, (x, *(dispatch.operand(v, dtype) for v in bounds)), (min is not None, max is not None, dtype))
    dtype = result_dtype([x.array, *(v for v in (min, max) if v is not None)])
    return dispatch.apply(CLAMP, (x.to(dtype),), (min, max))


def power(x: Tensor, exponent: Tensor | float) -> Tensor:
    """x to the power of a number or another tensor."""
    if isinstance(exponent, Number):
        if x.array.dtype.kind in "iub" and not isinstance(exponent, bool):
            x = x.to(dispatch.default_dtype() if isinstance(exponent, float) else INT64 if x.array.dtype.kind == "b" else x.array.dtype)
        return dispatch.apply(POW_NUMBER, (x,), exponent)
    return dispatch.binary(POW, x, exponent)


def remainder(x: Tensor, other: Tensor | float) -> Tensor:
    """x modulo another tensor or a number, with the sign of that."""
    if isinstance(other, Number) and x.array.dtype.kind == "f":
        return dispatch.apply(REMAINDER_NUMBER, (x,), other)
    return dispatch.binary(REMAINDER, x, other)


def divide(x: Tensor, other: Tensor | float, *, rounding_mode: str | None = None) -> Tensor:
    """x / other, rounded to a whole number towards zero ("trunc") or down ("floor") if asked; integers are converted to floats first unless it is."""
    if rounding_mode is not None:
        if rounding_mode not in ("trunc", "floor"):
            raise ShapeError(f"div: rounding_mode must be None, 'trunc' or 'floor', found {rounding_mode!r}")
        return dispatch.apply(DIV_FLOOR if rounding_mode == "floor" else DIV_TRUNC, (x, other), converted=True)
    if x.array.dtype.kind in "iub" and (isinstance(other, Number) or other.array.dtype.kind in "iub"):
        x = x.to(dispatch.default_dtype())
    return dispatch.binary(DIV, x, other)
