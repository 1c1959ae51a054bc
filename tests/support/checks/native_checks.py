"""Compiling a text and comparing what native code gives with the interpreter."""

from collections.abc import Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np

from wengert.ir.parsing.parser import parse_module
from wengert.runtime import interpreter
from wengert.runtime.cpu import compile

DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "complex<f64>": np.complex128,
    "complex<f32>": np.complex64,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "ui64": np.uint64,
}


def tensor(shape: Sequence[int], element_type: str) -> str:
    """The type's text."""
    return "tensor<" + "".join(f"{n}x" for n in shape) + element_type + ">"


def function(operands: Sequence[str], results: Sequence[str], op: str) -> str:
    """A function of one op, whose text has $in for its operands and $type for its type."""
    names = [f"%a{n}" for n in range(len(operands))]
    arguments = ", ".join(f"{name}: {type}" for name, type in zip(names, operands, strict=True))
    returned = ", ".join(results)
    text = op.replace("$in", ", ".join(names)).replace("$type", f"({', '.join(operands)}) -> ({returned})")
    result_names = [f"%r#{n}" for n in range(len(results))] if len(results) > 1 else ["%r"]
    name = f"%r:{len(results)}" if len(results) > 1 else "%r"
    return f"func.func @main({arguments}) -> ({returned}) {{\n  {name} = {text}\n  return {', '.join(result_names)} : {returned}\n}}"


def check(text: str, inputs: Sequence[np.ndarray], tolerance: float = 0.0, *, native: bool = True) -> tuple[np.ndarray, ...]:
    """Compiled and interpreted results agree (NaN where NaN), nothing was interpreted, and no input was written."""
    module = parse_module(text)
    compiled = compile(module)
    assert native == (not compiled.stats.interpreted), compiled.stats.interpreted
    kept = [x.copy() for x in inputs]
    actual = compiled(*inputs)
    wanted = interpreter.run(module, inputs)
    for mine, theirs in zip(actual, wanted, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        assert_close(mine, theirs, tolerance)
    assert all(x.tobytes() == k.tobytes() for x, k in zip(inputs, kept, strict=True))
    return actual


def assert_close(mine: np.ndarray, theirs: np.ndarray, tolerance: float) -> None:
    """Equal to a tolerance relative to the largest element; zeros keep their sign if the tolerance is 0."""
    if mine.dtype.kind in "iub":
        np.testing.assert_array_equal(mine, theirs)
        return
    wide = np.complex128 if mine.dtype.kind == "c" else np.float64
    a, b = mine.astype(wide), theirs.astype(wide)
    if tolerance == 0:
        np.testing.assert_array_equal(a, b)
        if wide is np.float64:
            numbers = ~np.isnan(b)
            np.testing.assert_array_equal(np.signbit(a)[numbers], np.signbit(b)[numbers])
        return
    scale = np.max(np.abs(b[np.isfinite(b)]), initial=1.0)
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)


def values(rng: np.random.Generator, shape: Sequence[int], element_type: str, *, special: bool = True) -> np.ndarray:
    """Elements of a type, with ties; among floats also zeros and NaN of both signs, infinities."""
    dtype = np.dtype(DTYPES[element_type])
    if element_type == "i1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind in "iu":
        limits = np.iinfo(cast(Any, dtype))
        numbers = rng.integers(max(limits.min, -5), 6, shape).astype(dtype)
        return np.where(rng.random(shape) < 0.1, limits.max, np.where(rng.random(shape) < 0.1, limits.min, numbers)).astype(dtype)
    if dtype.kind == "c":
        return (rng.integers(-3, 4, shape) + 1j * rng.integers(-3, 4, shape)).astype(dtype)
    numbers = rng.integers(-4, 5, shape) / 2
    if special:
        odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan])
        numbers = np.where(rng.random(shape) < 0.2, odd[rng.integers(0, len(odd), shape)], numbers)
    return np.asarray(numbers).astype(dtype)
