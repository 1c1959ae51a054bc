"""Every scalar function on every element type: programs of one function or of many, and values at the edges of a type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from wengert.dialects.kernel.functions import COMPARISON, arity, op_classes
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.types import element_named
from wengert.ir.tensor_types import EIGHT_BITS, dtype_of
from wengert.runtime.loading import parse

COMPLEX = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}
FLOATS = ("f64", "f32", "f16", "bf16", *[str(type) for type in EIGHT_BITS])
INTEGERS = ("i64", "i32", "i16", "i8", "i4", "ui64", "ui32", "ui16", "ui8", "ui4")
TYPES = (*FLOATS, *INTEGERS, "i1", *COMPLEX)
REALS = {"complex<f32>": "f32", "complex<f64>": "f64"}


def dtype(name: str) -> np.dtype[Any]:
    """NumPy's type of an element type."""
    return np.dtype(COMPLEX[name]) if name in COMPLEX else dtype_of(element_named(name))


def functions() -> list[str]:
    """All functions by name, with a conversion and a bitcast to every type."""
    known = [name for name in op_classes() if name not in ("convert", "bitcast_convert", "reduce_precision")]
    return [*known, "reduce_precision_e5m10", *[f"{name}.{type}" for name in ("convert", "bitcast_convert") for type in TYPES]]


@cache
def line(function: str, type: str, count: int) -> str:
    """The op of a function on elements of a type, as ``... : types -> result``; empty if it is not defined there."""
    for result in dict.fromkeys((function.partition(".")[2] or type, "i1", REALS.get(type, type), f"complex<{type}>")):
        text = _line(function, type, count, result)
        if text and _accepted(text, type, count):
            return text
    return ""


def _line(function: str, type: str, count: int, result: str) -> str:
    name, _, _ = function.partition(".")
    of, to = f"tensor<{count}x{type}>", f"tensor<{count}x{result}>"
    if name.startswith("reduce_precision"):
        return f'"stablehlo.reduce_precision"(%x) <{{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}}> : ({of}) -> {to}'
    op, operands = op_classes()[name].name, arity(name)
    if match := COMPARISON.fullmatch(name):
        order = ", compare_type = #stablehlo<comparison_type TOTALORDER>" if match[1] else ""
        return f'"{op}"(%x, %y) <{{comparison_direction = #stablehlo<comparison_direction {match[2].upper()}>{order}}}> : ({of}, {of}) -> {to}'
    if name == "select":
        return f'"{op}"(%p, %x, %y) : (tensor<{count}xi1>, {of}, {of}) -> {to}'
    if name == "trigamma":
        return f'"{op}"(%one, %x) : ({of}, {of}) -> {to}'
    values = ", ".join(("%x", "%y", "%z")[: operands or 0])
    return f'"{op}"({values}) : ({", ".join([of] * (operands or 0))}) -> {to}'


def _accepted(text: str, type: str, count: int) -> bool:
    try:
        parse(program([text], type, count))
    except DiagnosticError:
        return False
    return True


def program(lines: Sequence[str], type: str, count: int) -> str:
    """A program of these ops, each of which is a result. Arguments: three arrays of the type and one of i1."""
    of = f"tensor<{count}x{type}>"
    results = [text.rpartition("-> ")[2] for text in lines]
    one = [f"  %one = stablehlo.constant dense<1.0> : {of}"] if any("%one" in text for text in lines) else []
    body = "\n".join([*one, *[f"  %{number} = {text}" for number, text in enumerate(lines)]])
    names = ", ".join(f"%{number}" for number in range(len(lines)))
    head = f"func.func public @main(%x: {of}, %y: {of}, %z: {of}, %p: tensor<{count}xi1>) -> ({', '.join(results)}) {{"
    return f"{head}\n{body}\n  func.return {names} : {', '.join(results)}\n}}"


def defined(type: str, count: int) -> Iterator[tuple[str, str]]:
    """The functions that are defined on a type, and their ops."""
    for function in functions():
        if text := line(function, type, count):
            yield function, text


def special_values(name: str) -> np.ndarray[Any, Any]:
    """Ordinary numbers, the edges of the type, and what is not a number."""
    kind = dtype(name)
    if name == "i1":
        return np.array([False, True])
    if name in INTEGERS:
        info = ml_dtypes.iinfo(kind)
        numbers = [0, 1, 2, 3, 5, 7, 8, 31, 33, 64, 100, -1, -2, -7, info.max, int(info.max) - 1, info.min, int(info.min) + 1]
        return np.array([number for number in dict.fromkeys(map(int, numbers)) if info.min <= number <= info.max], kind)
    if name in COMPLEX:
        parts = np.array([0.0, -0.0, 1.0, -2.5, 0.3, 1e-3, 40.0, np.inf, np.nan])
        return np.array([complex(a, b) for a in parts for b in parts], kind)
    info = ml_dtypes.finfo(kind)
    values = [0.0, -0.0, 0.5, -0.5, 0.3, 1.0, -1.0, 1.5, 2.5, -2.5, 3.7, -3.7, 10.0, -20.0, 100.0, 1e-3, -1e-5, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        edges = [float(info.max), float(info.min), float(info.tiny), float(info.smallest_subnormal), -float(info.smallest_subnormal)]
        return np.array([*values, *edges, 1e5, 1e10, -3e30]).astype(kind)


def arguments(name: str, count: int, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Arguments of :func:`program`: pairs of special values first, then random ones."""
    generator = np.random.default_rng(seed)
    values = special_values(name)
    pairs = np.stack(np.meshgrid(values, values)).reshape(2, -1)
    drawn = generator.choice(values, (3, count))
    if name in FLOATS or name in COMPLEX:
        with np.errstate(all="ignore"):
            drawn[:, count // 2 :] = (generator.normal(size=(3, count - count // 2)) * 3).astype(dtype(name))
    taken = min(count // 2, pairs.shape[1])
    drawn[:2, :taken] = pairs[:, generator.permutation(pairs.shape[1])[:taken]]
    return [*drawn, generator.integers(0, 2, count).astype(bool)]


def differing(result: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where the bits differ, but for those of NaN."""
    assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
    parts = [np.real(array) for array in (result, wanted)], [np.imag(array) for array in (result, wanted)]
    return _differing(*parts[0]) | (_differing(*parts[1]) if wanted.dtype.kind == "c" else False)


def _differing(result: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    word = np.dtype(f"u{wanted.itemsize}")
    apart = np.ascontiguousarray(result).view(word) != np.ascontiguousarray(wanted).view(word)
    return apart if wanted.dtype.kind in "biu" else apart & ~(np.isnan(result) & np.isnan(wanted))


def short(name: str) -> str:
    """A type in the name of a test."""
    return re.sub(r"complex<f(32|64)>", lambda match: f"c{2 * int(match[1])}", name)
