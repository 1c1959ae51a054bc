"""Operations from elsewhere: the meanings of ATen ops, and functions of ``wengert.numpy``, as operations that run at once and are recorded.

A call's tensors become operands; everything else (numbers, dimensions, dtypes, words) becomes the parameters, by which the operation is known again. What
the operation computes is what its meaning writes, in the interpreter first and as native code where it is used often, as with any other.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# (what callers give is of any type)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.operations.promotion import default_dtype
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.calls import call
from wengert.ir.tensor_types import element_of

Function = Callable[..., Any]
PLACEMENT = frozenset(("device", "layout", "pin_memory", "memory_format", "non_blocking", "generator", "driver", "out_int32"))
"""Arguments that say where something is or how it is laid out, which has no meaning here."""


class _Operand(NamedTuple):
    """Stands for an operand among the parameters."""

    number: int


class _Items(NamedTuple):
    """A list among the parameters."""

    items: tuple[Any, ...]


def frozen(value: Any, operands: list[Any]) -> Any:
    """A value as a parameter that can be looked up; tensors in it are added to the operands."""
    if hasattr(value, "array"):
        operands.append(value)
        return _Operand(len(operands) - 1)
    if isinstance(value, list | tuple):
        return _Items(tuple(frozen(v, operands) for v in value))
    if isinstance(value, dict):
        return tuple((name, frozen(v, operands)) for name, v in value.items())  # pyright: ignore[reportUnknownVariableType]
    return value


def thawed(value: Any, operands: Sequence[Value]) -> Any:
    """The value for these operands."""
    if isinstance(value, _Operand):
        return operands[value.number]
    return [thawed(v, operands) for v in value.items] if isinstance(value, _Items) else value


class Called:
    """A function that writes ops, as one operation.

    Args:
        name: of the operation and its node.
        write: takes a builder and the arguments of a call, tensors as values; returns a value or several.
    """

    def __init__(self, name: str, write: Callable[..., Any], node: str = "", tracked: tuple[int, ...] | None = None):
        self.operation = Operation(name, node or f"{name.title().replace('_', '').replace('.', '')}Backward0", self._emit, tracked=tracked)
        self.write = write
        self.__name__ = name

    def _emit(self, b: OpBuilder, operands: Sequence[Value], params: Any) -> Sequence[Value]:
        args: Any = params[0]
        keywords: Any = params[1]
        made = self.write(b, *thawed(args, operands), **{name: thawed(v, operands) for name, v in keywords})
        return list(made) if isinstance(made, tuple | list) else [made]

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        operands: list[Any] = []
        params = frozen(args, operands), frozen({k: v for k, v in keywords.items() if k not in PLACEMENT}, operands)
        made: Any = dispatch.apply_many(self.operation, operands, params)
        return made if len(made) > 1 else made[0]


def aten(name: str, tracked: tuple[int, ...] | None = None) -> Called:
    """An op of ATen, by its name and overload, as an operation; its arguments are those of its schema. Gradients are those of all its results, or of
    those that are ``tracked``."""

    def write(b: OpBuilder, *args: Any, **keywords: Any) -> Any:
        return call(b, name, *args, default=element_of(default_dtype()), **keywords)

    return Called(name.removesuffix(".default"), write, tracked=tracked)


def traced(name: str, function: Function) -> Called:
    """A function of traced code as an operation: it takes and returns arrays of ``wengert.numpy``."""

    def write(b: OpBuilder, *args: Any, **keywords: Any) -> Any:
        builder = AtenBuilder(b.block, parent=b, location=b.location)
        return builder.by_numpy(_of_values(function), *args, **keywords)

    return Called(name, write)


def _of_values(function: Function) -> Function:
    return lambda *args, **keywords: _result(function(*args, **keywords))


def _result(made: Any) -> Any:
    return tuple(made) if isinstance(made, tuple | list) else made


def in_dtype(x: Any, dtype: Any) -> Any:
    """A tensor in the dtype that is asked for, if any."""
    return x if dtype is None else x.to(np.dtype(dtype))
