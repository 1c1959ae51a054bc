"""Calls of elementwise functions: operands are broadcast and converted, then an operation is made, or NumPy is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.frontends.tracing.errors import type_error
from wengert.frontends.tracing.operands import builder, convert, is_traced, matched, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.tracing.weak_types import is_narrow_float
from wengert.ir.tensor_types import dtype_of, element, element_of, i1, shape, tensor
from wengert.numpy.dispatch import Array, ArrayLike, result_dtype

Emit = Callable[[OpBuilder, Value], Value]
Emit2 = Callable[[OpBuilder, Value, Value], Value]


def single_op(cls: type[Operation]) -> Emit:
    """An op without properties whose result has its operand's type."""
    return lambda b, x: b.like(cls, x)


def unary(numpy_function: Callable[..., Any], emit: Emit, x: ArrayLike) -> Array:
    """A function whose result has the dtype that NumPy's has, computed in that dtype."""
    if not isinstance(x, TracedArray):
        return numpy_function(x)
    dtype = x.dtype if is_narrow_float(x.dtype) else result_dtype(numpy_function, x.dtype)
    return traced(emit(builder(), value_of(x, dtype)))


def binary(numpy_function: Callable[..., Any], emit: Emit2, x: ArrayLike, y: ArrayLike, *, floating: bool = False) -> Array:
    """A function of two broadcast operands of one dtype, which is its result's; ``floating`` converts integers to floats."""
    if not is_traced(x, y):
        return numpy_function(x, y)
    (a, b), weak = matched(x, y)
    if floating and dtype_of(element(a)).kind in "biu":
        dtype = np.dtype(numpy_function(*[np.ones(1, dtype_of(element(a)))] * 2).dtype)
        a, b = convert(a, dtype), convert(b, dtype)
    if element(a) == i1 and not _takes_booleans(numpy_function):
        raise type_error(
            f"{numpy_function.__name__} of two arrays of booleans is not defined while a function is traced",
            "convert one of them, by astype(x, wengert.numpy.int8), or use &, |, ^ and ~, which are logical operations on booleans",
        )
    return traced(emit(builder(), a, b), weak)


def _takes_booleans(numpy_function: Callable[..., Any]) -> bool:
    """Whether a function of NumPy computes with booleans as they are; there are some that convert them, and some that refuse them."""
    return not isinstance(numpy_function, np.ufunc) or any(types.startswith("??->") for types in numpy_function.types)


def kind_of(x: Value) -> str:
    """NumPy's letter for the kind of elements; narrow floats are floats."""
    dtype = dtype_of(element(x))
    return "f" if is_narrow_float(dtype) else dtype.kind


def is_infinite(b: OpBuilder, x: Value) -> Value:
    """Whether elements are infinite."""
    return b.compare("EQ", b.abs(x), b.full(float("inf"), tensor(shape(x), element(b.abs(x)))))


def sign_bit(b: OpBuilder, x: Value) -> Value:
    """Whether the sign bit is set."""
    width = 8 * dtype_of(element(x)).itemsize
    bits = b.one(hlo.BitcastConvertOp, (x,), tensor(shape(x), element_of(np.dtype(f"int{width}"))))
    return b.compare("LT", bits, b.full_like(bits, 0))
