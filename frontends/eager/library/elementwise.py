"""Elementwise operations of PyTorch's namespace that are not among those with code of their own: a line each."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (tables of one-line functions, whose arguments have no types)

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy

from wengert.eager.library.calling import Function, aten
from wengert.eager.operations.creation import as_tensor
from wengert.eager.operations.elementwise import divide, where
from wengert.eager.operations.memory import complex_views
from wengert.eager.operations.promotion import floating
from wengert.eager.operations.reading import seen
from wengert.eager.recording import dispatch

inf, nan = float("inf"), float("nan")
ELEMENTWISE: dict[str, Function] = {
    name: aten(f"{name}.default")
    for name in (
        "acosh",
        "angle",
        "asinh",
        "atanh",
        "digamma",
        "erfc",
        "erfinv",
        "exp2",
        "fmax",
        "fmin",
        "hypot",
        "isinf",
        "isnan",
        "lgamma",
        "log10",
        "log2",
        "logical_or",
        "logical_xor",
        "nextafter",
        "sgn",
        "signbit",
        "trunc",
        "bitwise_not",
    )
}


def _by_kind(name: str, tensor: str = "Tensor", scalar: str = "Scalar") -> Function:
    """The overload for a tensor or for a number as the second operand."""
    of_tensor, of_number = aten(f"{name}.{tensor}"), aten(f"{name}.{scalar}")
    return lambda x, other: (of_tensor if hasattr(other, "array") else of_number)(as_tensor(x), other)


def _wide(x: Any) -> Any:
    return x if x.is_floating_point() or x.array.dtype.kind == "c" else x.to(floating(x.array.dtype))


def _whole(function: Any) -> Function:
    """A function of integers, by NumPy."""

    def run(x: Any, other: Any) -> Any:
        return dispatch.new(function(seen(x), seen(other)))

    return run


def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """x with numbers in place of NaN and of the infinities: 0, and the largest and smallest of the dtype."""
    if not x.is_floating_point():
        return x.clone()
    info = numpy.finfo(x.array.dtype)
    x = x.masked_fill(x != x, nan)
    x = x.masked_fill(x == inf, float(info.max) if posinf is None else posinf)
    return x.masked_fill(x == -inf, float(info.min) if neginf is None else neginf)


def logaddexp(x: Any, other: Any, base: float = 1.0) -> Any:
    """log(exp(x) + exp(y)), in units of ``base``; equal infinities are their own result."""
    high, low = x.maximum(other), x.minimum(other)
    apart = where(high.detach().abs() == inf, 0 * x.detach(), (low - high) * base)
    total = high + apart.masked_fill(apart != apart, 0.0).exp().log1p() / base
    return where((x.detach() == other.detach()) & (x.detach().abs() == inf), x, where(high.detach() == inf, high, total))


def xlogy(x: Any, other: Any, logarithm: str = "log") -> Any:
    """x log(y), 0 where x is 0 and y is a number."""
    x, other = as_tensor(x), as_tensor(other)
    x, other = _wide(x), _wide(other)
    zero = (x.detach() == 0) & (other.detach() == other.detach())
    safe = where(zero, 1.0 + 0 * x.detach(), other)
    return where(zero, 0 * x.detach(), x * getattr(safe, logarithm)())


def isclose(x: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether elements are near each other."""
    x, other = x.detach(), other.detach()
    near = (x == other) | (((x - other).abs() <= atol + rtol * other.abs()) & (other.abs() < inf))
    return near | ((x != x) & (other != other)) if equal_nan else near


def logit(x: Any, eps: float | None = None) -> Any:
    """log(x / (1 - x)), of x limited to [eps, 1 - eps]."""
    x = _wide(x)
    x = x if eps is None else x.clamp(eps, 1 - eps)
    return (x / (1 - x)).log()


def mvlgamma(x: Any, p: int) -> Any:
    """The logarithm of the multivariate gamma function."""
    parts = [ELEMENTWISE["lgamma"](_wide(x) - i / 2) for i in range(p)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total + p * (p - 1) / 4 * log(pi)


def heaviside(x: Any, values: Any) -> Any:
    """0 below zero, 1 above, and the given value at zero."""
    return where(x == 0, values, (x > 0).to(x.array.dtype))


def float_power(x: Any, exponent: Any) -> Any:
    """x to a power, in float64."""
    return as_tensor(x).double() ** (exponent.double() if hasattr(exponent, "array") else exponent)


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order n of digamma; as a method, of a tensor by the order."""
    n, x = (x, n) if hasattr(n, "array") else (n, x)
    return aten("polygamma.default")(n, _wide(x))


def lerp(x: Any, end: Any, weight: Any) -> Any:
    """x + weight (end - x)."""
    return x + weight * (end - x)


ELEMENTWISE.update(
    {
        "arccosh": ELEMENTWISE["acosh"],
        "arcsinh": ELEMENTWISE["asinh"],
        "arctanh": ELEMENTWISE["atanh"],
        "fix": ELEMENTWISE["trunc"],
        "arccos": lambda x: x.acos(),
        "arcsin": lambda x: x.asin(),
        "arctan": lambda x: x.atan(),
        "arctan2": lambda x, other: x.atan2(other),
        "absolute": lambda x: x.abs(),
        "negative": lambda x: x.neg(),
        "copysign": _by_kind("copysign"),
        "fmod": _by_kind("fmod"),
        "bitwise_and": _by_kind("bitwise_and"),
        "bitwise_or": _by_kind("bitwise_or"),
        "bitwise_xor": _by_kind("bitwise_xor"),
        "bitwise_left_shift": _by_kind("bitwise_left_shift", "Tensor", "Tensor_Scalar"),
        "bitwise_right_shift": _by_kind("bitwise_right_shift", "Tensor", "Tensor_Scalar"),
        "polygamma": polygamma,
        "gcd": _whole(numpy.gcd),
        "lcm": _whole(numpy.lcm),
        "frac": lambda x: x - ELEMENTWISE["trunc"](x).detach(),
        "positive": lambda x: x,
        "deg2rad": lambda x: x * (pi / 180),
        "rad2deg": lambda x: x * (180 / pi),
        "isposinf": lambda x: x == inf,
        "isneginf": lambda x: x == -inf,
        "isreal": lambda x: x == x if x.array.dtype.kind != "c" else aten("imag.default")(x) == 0,
        "sinc": lambda x: where(x.detach() == 0, 0 * x + 1, (x * pi).sin() / (where(x.detach() == 0, 0 * x + 1, x) * pi)),
        "logaddexp": logaddexp,
        "logaddexp2": lambda x, other: logaddexp(x, other, log(2)),
        "xlogy": xlogy,
        "isclose": isclose,
        "logit": logit,
        "mvlgamma": mvlgamma,
        "heaviside": heaviside,
        "float_power": float_power,
        "nan_to_num": nan_to_num,
        "lerp": lerp,
        "ldexp": lambda x, other: x * 2.0**other,
        "true_divide": divide,
        "floor_divide": lambda x, other: divide(x, other, rounding_mode="floor"),
        "divide": divide,
        "multiply": lambda x, other: x * other,
        "subtract": lambda x, other, alpha=1: x.sub(other, alpha=alpha),
        "rsub": lambda x, other, alpha=1: other - x * alpha,
        "clamp_min": lambda x, min: x.clamp(min=min),
        "clamp_max": lambda x, max: x.clamp(max=max),
        "clip": lambda x, min=None, max=None: x.clamp(min, max),
        "addcmul": lambda x, tensor1, tensor2, *, value=1: x + value * tensor1 * tensor2,
        "addcdiv": lambda x, tensor1, tensor2, *, value=1: x + value * (tensor1 / tensor2),
        "fill": lambda x, value: x.masked_fill(x.detach() == x.detach(), value).masked_fill(x.detach() != x.detach(), value),
        "greater": lambda x, other: x > other,
        "greater_equal": lambda x, other: x >= other,
        "less": lambda x, other: x < other,
        "less_equal": lambda x, other: x <= other,
        "not_equal": lambda x, other: x != other,
        "real": complex_views.real,
        "imag": complex_views.imag,
        "conj": lambda x: aten("conj.default")(x) if x.array.dtype.kind == "c" else x,
        "conj_physical": aten("conj_physical.default"),
        "complex": aten("complex.default"),
        "polar": aten("polar.default"),
        "i0": aten("i0.default"),
        "resolve_conj": lambda x: x,
        "resolve_neg": lambda x: x,
    }
)

SPECIAL: dict[str, Function] = {
    **{name: ELEMENTWISE[name] for name in ("digamma", "erfc", "erfinv", "exp2", "logit", "polygamma", "sinc", "xlogy")},
    "psi": ELEMENTWISE["digamma"],
    "gammaln": ELEMENTWISE["lgamma"],
    "multigammaln": mvlgamma,
    "erf": lambda x: x.erf(),
    "expm1": lambda x: x.expm1(),
    "log1p": lambda x: x.log1p(),
    "expit": lambda x: x.sigmoid(),
    "round": lambda x, decimals=0: x.round(decimals=decimals),
    "softmax": lambda x, dim, dtype=None: x.softmax(dim, dtype=dtype),
    "log_softmax": lambda x, dim, dtype=None: x.log_softmax(dim, dtype=dtype),
    "logsumexp": lambda x, dim, keepdim=False: x.logsumexp(dim, keepdim),
    "xlog1py": lambda x, other: xlogy(x, other, "log1p"),
    **{name: aten(f"special_{name}.default") for name in ("erfcx", "i0e", "i1", "i1e", "log_ndtr")},
    "i0": aten("i0.default"),
    "entr": lambda x: where(x.detach() < 0, 0 * x.detach() - inf, -xlogy(x, where(x.detach() <= 0, 0 * x + 1, x))),
    "ndtr": lambda x: 0.5 * ELEMENTWISE["erfc"](_wide(x) * -(0.5**0.5)),
    "ndtri": lambda x: ELEMENTWISE["erfinv"](2 * _wide(x) - 1) * 2**0.5,
    "zeta": lambda x, other: aten("special_zeta.default")(as_tensor(x), as_tensor(other)),
}
