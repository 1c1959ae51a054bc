"""Every elementwise operation and reduction of the namespace, at special values: zeros of both signs, ties, infinities, NaN, the smallest and the largest
numbers, the edges of integers. What comes out, with first and second derivatives, is compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch

import wengert.eager as eager
import wengert.nn as nn

Function = Callable[..., Any]
Array = np.ndarray[Any, np.dtype[Any]]
inf, nan = float("inf"), float("nan")


def _norm(p: float) -> Function:
    return lambda T, x: T.norm(x, p, dim=-1)


def _method(name: str) -> Function:
    return lambda T, x: getattr(x, name)()


def _function(name: str) -> Function:
    return lambda T, x: getattr(T, name)(x)


UNARY = ["abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "exp", "expm1", "floor", "log", "log1p", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "isfinite", "logical_not"]  # fmt: skip
ACTIVATIONS: dict[str, Function] = {
    "gelu": lambda T, x: layers(T).gelu(x),
    "gelu tanh": lambda T, x: layers(T).gelu(x, approximate="tanh"),
    "silu": lambda T, x: layers(T).silu(x),
    "softplus": lambda T, x: layers(T).softplus(x),
}
BINARY: dict[str, Function] = {
    "add": lambda T, x, y: x + y,
    "sub": lambda T, x, y: x - y,
    "mul": lambda T, x, y: x * y,
    "div": lambda T, x, y: x / y,
    "pow": lambda T, x, y: x**y,
    "atan2": lambda T, x, y: T.atan2(x, y),
    "maximum": lambda T, x, y: T.maximum(x, y),
    "minimum": lambda T, x, y: T.minimum(x, y),
    "remainder": lambda T, x, y: x % y,
    "eq": lambda T, x, y: x == y,
    "ne": lambda T, x, y: x != y,
    "lt": lambda T, x, y: x < y,
    "le": lambda T, x, y: x <= y,
    "gt": lambda T, x, y: x > y,
    "ge": lambda T, x, y: x >= y,
    "logical_and": lambda T, x, y: T.logical_and(x, y),
    "where": lambda T, x, y: T.where(x > y, x, y),
    "clamp from": lambda T, x, y: T.clamp(x, min=y),
    "clamp to": lambda T, x, y: T.clamp(x, max=y),
    "clamp between": lambda T, x, y: T.clamp(x, min=y, max=y * 0 + 1),
}
NUMBERS = [0, 1, 2, 3, 4, -1, -2, 0.0, -0.0, 0.5, -0.5, 1.5, inf, -inf, nan]
WITH_NUMBER: dict[str, Callable[[float], Function]] = {
    "x + {}": lambda c: lambda T, x: x + c,
    "x * {}": lambda c: lambda T, x: x * c,
    "x / {}": lambda c: lambda T, x: x / c,
    "x ** {}": lambda c: lambda T, x: x**c,
    "x % {}": lambda c: lambda T, x: x % c,
    "{} - x": lambda c: lambda T, x: c - x,
    "{} / x": lambda c: lambda T, x: c / x,
    "{} ** x": lambda c: lambda T, x: c**x,
    "x.clamp({}, None)": lambda c: lambda T, x: x.clamp(min=c),
    "x.clamp(None, {})": lambda c: lambda T, x: x.clamp(max=c),
    "x.clamp({}, 1)": lambda c: lambda T, x: x.clamp(c, 1),
}
REDUCTIONS: dict[str, Function] = {
    "sum": lambda T, x: x.sum(-1),
    "mean": lambda T, x: x.mean(-1),
    "prod": lambda T, x: x.prod(-1),
    "var": lambda T, x: x.var(-1),
    "var, correction 0": lambda T, x: x.var(-1, correction=0),
    "std": lambda T, x: x.std(-1),
    "std, correction 3": lambda T, x: x.std(-1, correction=3),
    "amax": lambda T, x: x.amax(-1),
    "amin": lambda T, x: x.amin(-1),
    "max along": lambda T, x: x.max(-1)[0],
    "min along": lambda T, x: x.min(-1)[0],
    "place of max": lambda T, x: x.max(-1)[1],
    "place of min": lambda T, x: x.min(-1)[1],
    "argmax": lambda T, x: x.argmax(-1),
    "logsumexp": lambda T, x: x.logsumexp(-1),
    "softmax": lambda T, x: x.softmax(-1),
    "log_softmax": lambda T, x: x.log_softmax(-1),
    "cumsum": lambda T, x: x.cumsum(-1),
    "sort": lambda T, x: x.sort(-1)[0],
    "sort, descending": lambda T, x: x.sort(-1, descending=True)[0],
    "places in order": lambda T, x: x.sort(dim=-1, stable=True)[1],
    "topk": lambda T, x: x.topk(2, -1)[0],
    "topk, smallest": lambda T, x: x.topk(2, -1, largest=False)[0],
    "all": lambda T, x: x.all(-1),
    "any": lambda T, x: x.any(-1),
    **{f"{p}-norm": _norm(p) for p in (2, 1, 0, 3, inf, -inf, 0.5, -1, 1.5, 2.5, 4)},
}
OF_ALL: dict[str, Function] = {
    **{name: _method(name) for name in ["sum", "mean", "prod", "var", "std", "max", "min", "amax", "amin", "all", "any", "argmax", "norm"]},
}
ROWS = [
    [0, 0, 0], [-0.0, 0, 0], [1, 1, 0], [1, 0, 0], [1, 0, 2], [1, 2, 3], [3, 2, 1], [nan, 1, 2], [1, nan, 2], [1, 2, nan], [nan, nan, nan], [nan, 0, 1],
    [0, nan, 0], [inf, 1, 2], [-inf, 1, 2], [inf, -inf, 1], [inf, inf, 1], [-inf, -inf, -inf], [inf, 0, 1], ["tiny", 0, 0], ["huge", "huge", "huge"],
]  # fmt: skip


def layers(T: Any) -> Any:
    return torch.nn.functional if T is torch else nn


def points(dtype: Any) -> Array:
    if np.dtype(dtype).kind == "f":
        info = np.finfo(dtype)
        edges = [info.smallest_subnormal, info.tiny, info.max * 0.9]
        values = [0.0, 1, 0.5, 1.5, 2, 2.5, 100, *edges, inf]
        return np.array([nan, *(s * v for v in values for s in (1, -1))], dtype)
    if dtype == np.bool_:
        return np.array([True, False])
    info = np.iinfo(dtype)
    values = [0, 1, 2, 3, 5, 7, info.max, info.max - 1, info.min, info.min + 1, *([-1, -2, -3] if info.min else [])]
    return np.unique(np.array(values, dtype))


def rows(dtype: Any) -> Array:
    if np.dtype(dtype).kind == "f":
        # PyTorch sums the squares of float32 in float64, so none of them is out of the range of float32 here
        edges = {"tiny": 5e-324, "huge": 1e300} if dtype == np.float64 else {"tiny": 0.5, "huge": 1e12}
        return np.array([[edges.get(v, v) if isinstance(v, str) else v for v in row] for row in ROWS], dtype)
    edge = points(dtype)
    return np.array([[0, 1, 2], [1, 1, 0], [edge.max(), edge.max(), 1], [edge.min(), edge.min(), 0]]).astype(dtype)


def cases(dtype: Any) -> Iterator[tuple[str, Function, Sequence[Array]]]:
    """Everything at everything: a name, the function of a namespace and tensors, and the tensors."""
    p = points(dtype)
    for name in UNARY:
        yield name, _function(name), [p]
    if p.dtype.kind == "f":
        for name, function in ACTIVATIONS.items():
            yield name, function, [p]
    x, y = (np.ascontiguousarray(a) for a in np.meshgrid(p, p))
    whole = p.dtype.kind not in "f"
    for name, function in BINARY.items():
        kept = (y != 0) if whole and name == "remainder" else (y >= 0) & (y < 8) if whole and name == "pow" else np.ones(x.shape, np.bool_)
        yield name, function, [x[kept], y[kept]]
    for (name, of), number in product(WITH_NUMBER.items(), NUMBERS):
        if not ((whole and abs(number) == inf) or (number != number and whole)):
            yield name.format(number), of(number), [p]
    for name, function in REDUCTIONS.items():
        yield name, function, [rows(dtype)]
    for (name, function), row in product(OF_ALL.items(), rows(dtype)):
        yield f"{name} of {row.tolist()}", function, [row]


def derivatives(T: Any, function: Function, arrays: Sequence[Array]) -> dict[str, Array]:
    """The value, the first derivatives of the sum and their first derivatives."""
    xs = [T.tensor(a) for a in arrays]
    xs = [x.requires_grad_() if x.is_floating_point() else x for x in xs]
    y = function(T, *xs)
    values = {"value": y}
    if y.requires_grad:
        slopes = T.autograd.grad(y, xs, ones(T, y), create_graph=True, allow_unused=True)
        for i, slope in enumerate(slopes):
            values[f"by {i}"] = zeros(T, xs[i]) if slope is None else slope
            second = [None] * len(xs)
            if slope is not None and slope.requires_grad:
                second = T.autograd.grad(slope, xs, ones(T, slope), retain_graph=True, allow_unused=True)
            values.update({f"by {i}, {j}": zeros(T, xs[j]) if s is None else s for j, s in enumerate(second)})
    return {name: np.array(v.detach().numpy(force=True) if T is torch else v.detach().numpy()) for name, v in values.items()}


def ones(T: Any, x: Any) -> Any:
    return T.tensor(np.ones(tuple(x.shape), np.float64)).to(x.dtype)


def zeros(T: Any, x: Any) -> Any:
    return T.tensor(np.zeros(tuple(x.shape), np.float64)).to(x.dtype)


def differences(actual: Array, expected: Array) -> Array:
    """Where two results are not the same but for rounding; the signs of zeros do not count."""
    if expected.dtype.kind != "f":
        return actual != expected
    tolerance = 1e-9 if expected.dtype == np.float64 else 1e-5
    absolute = 1e-14 if expected.dtype == np.float64 else 1e-6
    with np.errstate(all="ignore"):
        near = np.abs(actual - expected) <= absolute + tolerance * np.abs(expected)
    return ~((actual == expected) | (np.isnan(actual) & np.isnan(expected)) | near)


EXCEPTIONS: dict[tuple[str, str], str] = {
    ("remainder", "value"): "quotients of more than 2^53: PyTorch's vectorised fmod gives NaN, ours is exact",
    ("erf", "by 0, 0"): "at the largest numbers PyTorch multiplies 0 with an overflow",
    ("gelu", "by 0, 0"): "at the largest numbers PyTorch multiplies 0 with an overflow",
    ("gelu", "value"): "at infinity PyTorch gives NaN in float32 and infinity in float64",
    ("prod", "by 0, 0"): "with zeros and infinities or NaN among the factors PyTorch takes the derivative of running products",
    ("x ** 1.5", "by 0"): "at -inf PyTorch gives NaN in float32 and infinity in float64",
    ("0.5-norm", "by 0, 0"): "where the square of the norm underflows",
}
"""What differs, and why it is left so: by the name of the function and what differs."""


def compared(function: Function, arrays: Sequence[Array], name: str) -> list[str]:
    """What differs from PyTorch, a line for each result."""
    try:
        expected = derivatives(torch, function, arrays)
    except (RuntimeError, TypeError, IndexError, ZeroDivisionError):
        return []  # PyTorch has no such operation for this dtype
    actual = derivatives(eager, function, arrays)
    lines: list[str] = []
    for what, wanted in expected.items():
        given = actual.get(what, np.zeros(wanted.shape, wanted.dtype))
        if (given.shape, given.dtype) != (wanted.shape, wanted.dtype):
            lines.append(f"{name}, {what}: {given.dtype}{list(given.shape)}, PyTorch {wanted.dtype}{list(wanted.shape)}")
            continue
        wrong = np.argwhere(differences(given, wanted))
        if len(wrong) and (name.partition(" of ")[0], what) not in EXCEPTIONS:
            place = tuple(wrong[0])
            at = [a[place] if a.shape == wanted.shape else a[place[: a.ndim - 1]] for a in arrays]
            lines.append(f"{name}, {what}: {len(wrong)} of {wanted.size} differ, at {at}: {given[place]}, PyTorch {wanted[place]}")
    return lines
