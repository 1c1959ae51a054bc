"""Loads with steps, and at quotients: right for every length, and never beyond their array, which ends where memory ends."""

from __future__ import annotations

import ctypes
import mmap

import ml_dtypes
import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run

DTYPES = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "i32": np.int32, "complex<f64>": np.complex128}


def beside_holes(values: np.ndarray, *, at_end: bool) -> np.ndarray:
    """A copy between two pages that may not be read: it begins behind the first or ends before the second."""
    page = mmap.PAGESIZE
    inside = -(-values.nbytes // page) * page
    memory = mmap.mmap(-1, inside + 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for hole in (start, start + page + inside):
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(hole), page, 0) == 0
    offset = page + (inside - values.nbytes if at_end else 0)
    placed = np.frombuffer(memory, values.dtype, values.size, offset).reshape(values.shape)
    placed[...] = values
    return placed


def compare(text: str, x: np.ndarray) -> str:
    """Runs a program of one argument beside both holes; returns its LLVM text."""
    module = parse_module(text)
    compiled = compile(module)
    for at_end in (False, True):
        placed = beside_holes(x, at_end=at_end)
        for actual, expected in zip(compiled(placed), run(module, [placed]), strict=True):
            np.testing.assert_array_equal(actual, expected)
    return compiled.llvm_text


def sample(dtype: str, *extents: int) -> np.ndarray:
    values = np.random.default_rng(0).integers(-100, 100, extents)
    return values.astype(DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("step", [2, 3, 4, 5, 7, 8, 12])
def test_every_so_many_elements(step: int, reverse: bool, dtype: str):
    for count in (3, 4, 5, 7, 8, 9, 13, 16, 33):
        size = (count - 1) * step + 1
        kind, result = f"tensor<{size}x{dtype}>", f"tensor<{count}x{dtype}>"
        turned = f"  %1 = stablehlo.reverse %0, dims = [0] : {result}\n" if reverse else ""
        name = "%1" if reverse else "%0"
        compare(
            f"func.func @main(%x: {kind}) -> {result} {{\n"
            f"  %0 = stablehlo.slice %x [0:{size}:{step}] : ({kind}) -> {result}\n{turned}"
            f"  %2 = stablehlo.add {name}, {name} : {result}\n  return %2 : {result}\n}}",
            sample(dtype, size),
        )


@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_two_registers_hold_every_second_element(dtype: str):
    lanes = 4 if dtype == "f64" else 8
    kind, result = f"tensor<{2 * lanes - 1}x{dtype}>", f"tensor<{lanes}x{dtype}>"
    slice = f"%0 = stablehlo.slice %x [0:{2 * lanes - 1}:2] : ({kind}) -> {result}\n  %1 = stablehlo.add %0, %0 : {result}"
    text = compare(f"func.func @main(%x: {kind}) -> {result} {{\n  {slice}\n  return %1 : {result}\n}}", sample(dtype, 2 * lanes - 1))
    assert "shufflevector" in text
    assert "insertelement" not in text


@pytest.mark.parametrize("dtype", ["f64", "f32", "i32", "complex<f64>"])
@pytest.mark.parametrize("between", [1, 2, 3, 6])
@pytest.mark.parametrize("rank", [1, 2])
def test_zeros_between_elements(rank: int, between: int, dtype: str):
    """Interior padding reads at quotients; one in front and sums of two make guards that differ from lane to lane."""
    zero = "(0.0, 0.0)" if dtype.startswith("c") else "0" if dtype == "i32" else "0.0"
    for count in (3, 5, 9, 20):
        extents = (count,) * rank
        wide = [n + (n - 1) * between + 1 for n in extents]
        kind, result = (f"tensor<{'x'.join(map(str, shape))}x{dtype}>" for shape in (extents, wide))
        none, one, gaps = [0] * rank, [1] * rank, [between] * rank
        compare(
            f"func.func @main(%x: {kind}) -> {result} {{\n"
            f"  %c = stablehlo.constant dense<{zero}> : tensor<{dtype}>\n"
            f"  %0 = stablehlo.pad %x, %c, low = {one}, high = {none}, interior = {gaps} : ({kind}, tensor<{dtype}>) -> {result}\n"
            f"  %1 = stablehlo.pad %x, %c, low = {none}, high = {one}, interior = {gaps} : ({kind}, tensor<{dtype}>) -> {result}\n"
            f"  %2 = stablehlo.add %0, %1 : {result}\n  return %2 : {result}\n}}",
            sample(dtype, *extents),
        )


@pytest.mark.parametrize("dtype", ["f64", "f32", "i32", "bf16", "complex<f64>"])
def test_one_element_among_zeros(dtype: str):
    """All lanes that read the array read the same element, which is read once."""
    zero = "(0.0, 0.0)" if dtype.startswith("c") else "0" if dtype == "i32" else "0.0"
    result = f"tensor<40x{dtype}>"
    text = compare(
        f"func.func @main(%x: tensor<1x{dtype}>) -> {result} {{\n"
        f"  %c = stablehlo.constant dense<{zero}> : tensor<{dtype}>\n"
        f"  %0 = stablehlo.pad %x, %c, low = [7], high = [32], interior = [0] : (tensor<1x{dtype}>, tensor<{dtype}>) -> {result}\n"
        f"  %1 = stablehlo.pad %x, %c, low = [39], high = [0], interior = [0] : (tensor<1x{dtype}>, tensor<{dtype}>) -> {result}\n"
        f"  %2 = stablehlo.add %0, %1 : {result}\n  return %2 : {result}\n}}",
        sample(dtype, 1),
    )
    assert dtype in ("bf16", "complex<f64>") or text.count("load") <= 12  # these go lane by lane
