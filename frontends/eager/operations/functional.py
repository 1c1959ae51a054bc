"""The functions of the namespace: what is spelled ``eager.sin(x)`` rather than ``x.sin()``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.eager.errors import AutogradError, ShapeError
from wengert.eager.operations import elementwise, indexing
from wengert.eager.operations.creation import as_tensor
from wengert.eager.operations.memory import views
from wengert.eager.operations.promotion import floating, result_dtype
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.tensor import Tensor

_METHODS = [
    "abs",
    "acos",
    "add",
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argsort",
    "asin",
    "atan",
    "bmm",
    "ceil",
    "chunk",
    "clamp",
    "clone",
    "cos",
    "cosh",
    "cumsum",
    "detach",
    "diagonal",
    "div",
    "dot",
    "eq",
    "erf",
    "exp",
    "expm1",
    "flatten",
    "flip",
    "floor",
    "gather",
    "ge",
    "gt",
    "index_add",
    "index_copy",
    "index_fill",
    "index_select",
    "le",
    "log",
    "log1p",
    "log_softmax",
    "logsumexp",
    "lt",
    "masked_fill",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mm",
    "mul",
    "mv",
    "narrow",
    "ne",
    "neg",
    "norm",
    "permute",
    "pow",
    "prod",
    "reciprocal",
    "relu",
    "remainder",
    "reshape",
    "round",
    "rsqrt",
    "scatter",
    "scatter_add",
    "select",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "std",
    "sub",
    "sum",
    "t",
    "tan",
    "tanh",
    "topk",
    "transpose",
    "tril",
    "triu",
    "unbind",
    "unsqueeze",
    "var",
]


def _function(name: str) -> Callable[..., Any]:
    method = getattr(Tensor, name)

    def call(x: Any, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Any:
        if out is not None:
            _check_tangents(name, (x, *args, out))
        y = method(as_tensor(x), *args, **kwargs)
        return y if out is None else _written(name, y, out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = method.__doc__
    return call


def _check_tangents(name: str, tensors: Sequence[Any]) -> None:
    """Raises an AutogradError if one of them carries a tangent, which ``out=`` would lose."""
    tangent = getattr(STATE.tape, "tangent", None)
    if tangent is not None and any(tangent(x) is not None for x in tensors):
        raise AutogradError(f"{name}: an out= function does not support forward mode, but one of the tensors carries a tangent; assign the result instead")


def _written(name: str, y: Tensor, out: Tensor) -> Tensor:
    """Writes the result to an existing tensor, as ``out=`` asks."""
    if STATE.recording and (y.tracked or out.tracked):
        raise AutogradError(
            f"{name}: out=... arguments don't support automatic differentiation, but one of the arguments requires grad; assign the result instead"
        )
    if y.array.shape != out.array.shape:
        raise ShapeError(f"{name}: out has the shape {list(out.array.shape)}, the result {list(y.array.shape)}")
    return out.copy_(y)


FUNCTIONS: dict[str, Callable[..., Any]] = {name: _function(name) for name in _METHODS}


def where(condition: Tensor, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds, else y; of a condition alone the positions where it holds, a tensor for each dimension."""
    if x is None or y is None:
        if x is not None or y is not None:
            raise ShapeError("where: both of x and y must be given, or neither")
        return indexing.nonzero(condition)
    return elementwise.where(condition, x, y)


def atan2(y: Tensor, x: Tensor) -> Tensor:
    """The angle of the point (x, y)."""
    dtype = floating(result_dtype((y.array, x.array)))
    return dispatch.binary(elementwise.ATAN2, y.to(dtype), x.to(dtype))


def outer(x: Tensor, y: Tensor) -> Tensor:
    """All products of two vectors."""
    views.check_rank(x, "outer", 1, 1)
    views.check_rank(y, "outer", 1, 1)
    return x.reshape(-1, 1) * y


def logical_and(x: Tensor, y: Tensor) -> Tensor:
    """Whether both hold."""
    return x.to(np.bool_) & y.to(np.bool_)


def logical_not(x: Tensor) -> Tensor:
    """Whether it does not hold."""
    return ~x.to(np.bool_)


def isfinite(x: Tensor) -> Tensor:
    """Neither infinite nor NaN."""
    return (x - x) == 0 if x.array.dtype.kind in "fc" else dispatch.new(np.ones(x.shape, np.bool_))


def is_inference(x: Tensor) -> bool:
    """Whether a tensor was made in inference mode."""
    return x.is_inference()


def allclose(x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are near each other."""
    return bool(np.allclose(x.detach().numpy(), y.detach().numpy(), rtol, atol, equal_nan))


def equal(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    return bool(np.array_equal(x.detach().numpy(), y.detach().numpy()))
