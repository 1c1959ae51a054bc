"""Every scalar function on every element type gives the same bits on devices as compiled for the CPU; sums and products are near.

A type has the functions that are defined on it, conversions to all other types among them. What no kernel has code for, on either side, runs in the interpreter and is
not compared. Products that feed sums are not contracted (``strict``), as devices do not.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from device_backends import BACKENDS
from reference_programs import share
from scalar_functions import FLOATS, INTEGERS, TYPES, arguments, defined, differing, dtype, program, short

import wengert as wg
from wengert.runtime.errors import InputError, UnsupportedOpError

COUNT = 300
AT_ONCE = 16
FOUR_BITS = re.compile(r"xu?i4>")


def groups(type: str) -> list[list[tuple[str, str]]]:
    """The functions of a type, some at once; those that have to do with integers of four bits, which run on the host, are none of these."""
    listed = [(function, text) for function, text in defined(type, COUNT) if not FOUR_BITS.search(text)]
    return [listed[at : at + AT_ONCE] for at in range(0, len(listed), AT_ONCE)]


def compiled_for_the_cpu(group: list[tuple[str, str]], type: str) -> tuple[list[str], wg.Program]:
    """The functions of a group that the CPU backend has code for, and a program of them."""
    for function, text in list(group):
        try:
            stats = wg.parse(program([text], type, COUNT)).compile("cpu", strict=True).stats
        except (InputError, UnsupportedOpError):
            group.remove((function, text))
        else:
            if stats.interpreted:
                group.remove((function, text))
    return [function for function, _ in group], wg.parse(program([text for _, text in group], type, COUNT))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("type", share([type for type in TYPES if type not in ("i4", "ui4")], 8), ids=short)
def test_bits(type: str, backend: str) -> None:
    inputs = arguments(type, COUNT)
    tried: list[str] = []
    for group in groups(type):
        names, made = compiled_for_the_cpu(group, type)
        wanted = made.compile("cpu", strict=True)(*inputs)
        compiled = made.compile(backend, poison=True)
        results = compiled(*inputs)
        for name, result, expected in zip(names, results, wanted, strict=True):
            apart = differing(result, expected)
            assert not apart.any(), (name, [array[apart][:3] for array in inputs], result[apart][:3], expected[apart][:3])
        assert compiled.stats.host == {}, "every function has code for devices"
        assert [r.tobytes() for r in compiled(*inputs)] == [r.tobytes() for r in results], "the same inputs, the same bits"
        tried += names
    assert len(tried) > 35


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("type", share(TYPES, 8), ids=short)
def test_moves(type: str, backend: str) -> None:
    """Elements are moved as they are: gathered, padded, put together, cut, turned, updated, repeated by a loop."""
    of = f"tensor<12x{type}>"
    constant = {"i1": "true"}.get(type, "3" if type in INTEGERS else "(1.0, -2.0)" if "complex" in type else "2.0")
    made = wg.parse(f"""func.func @main(%x: {of}, %i: tensor<5x1xi32>, %k: tensor<i32>) -> (tensor<5x{type}>, tensor<31x{type}>, tensor<4x3x{type}>, {of}) {{
  %0 = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>}}> : ({of}, tensor<5x1xi32>) -> tensor<5x{type}>
  %c = stablehlo.constant dense<{constant}> : tensor<{type}>
  %1 = stablehlo.pad %x, %c, low = [3], high = [4], interior = [1] : ({of}, tensor<{type}>) -> tensor<30x{type}>
  %2 = stablehlo.slice %x [4:5] : ({of}) -> tensor<1x{type}>
  %3 = stablehlo.concatenate %2, %1, dim = 0 : (tensor<1x{type}>, tensor<30x{type}>) -> tensor<31x{type}>
  %4 = stablehlo.reshape %x : ({of}) -> tensor<3x4x{type}>
  %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<3x4x{type}>) -> tensor<4x3x{type}>
  %6 = stablehlo.slice %x [2:5] : ({of}) -> tensor<3x{type}>
  %7 = stablehlo.dynamic_update_slice %x, %6, %k : ({of}, tensor<3x{type}>, tensor<i32>) -> {of}
  %8 = stablehlo.reverse %7, dims = [0] : {of}
  return %0, %3, %5, %8 : tensor<5x{type}>, tensor<31x{type}>, tensor<4x3x{type}>, {of}
}}""")
    inputs = [arguments(type, 12)[0], np.array([[3], [0], [11], [-4], [40]], np.int32), np.int32(7)]
    compiled = made.compile(backend, poison=True)
    for result, expected in zip(compiled(*inputs), made.compile("interpreter")(*inputs), strict=True):
        assert not differing(result, expected).any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("type", share([*FLOATS, *INTEGERS, "complex<f32>", "complex<f64>"], 6), ids=short)
def test_sums_and_products(type: str, backend: str) -> None:
    made = wg.parse(f"""func.func @main(%x: tensor<40x37x{type}>, %y: tensor<37x5x{type}>) -> (tensor<40x{type}>, tensor<37x{type}>, tensor<{type}>, tensor<40x5x{type}>) {{
  %zero = stablehlo.constant dense<{"0" if type in INTEGERS else "0.0" if "complex" not in type else "(0.0, 0.0)"}> : tensor<{type}>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<40x37x{type}>, tensor<{type}>) -> tensor<40x{type}>
  %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<40x37x{type}>, tensor<{type}>) -> tensor<37x{type}>
  %2 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<40x37x{type}>, tensor<{type}>) -> tensor<{type}>
  %3 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<40x37x{type}>, tensor<37x5x{type}>) -> tensor<40x5x{type}>
  return %0, %1, %2, %3 : tensor<40x{type}>, tensor<37x{type}>, tensor<{type}>, tensor<40x5x{type}>
}}""")
    generator, of = np.random.default_rng(0), dtype(type)
    draw = (lambda shape: generator.integers(0, 3, shape)) if type in INTEGERS else (lambda shape: generator.uniform(0.5, 1.5, shape) / 16)
    inputs = [np.asarray(draw(shape)).astype(of) for shape in ((40, 37), (37, 5))]
    compiled = made.compile(backend, poison=True)
    results = compiled(*inputs)
    exact = np.float64 if of.kind in "fV" else np.complex128 if of.kind == "c" else np.int64
    x, y = (array.astype(exact) for array in inputs)
    if type in INTEGERS:
        for result, expected in zip(results, made.compile("interpreter")(*inputs), strict=True):
            assert not differing(result, expected).any()
    else:
        digits = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7, "complex<f32>": 23, "complex<f64>": 52}.get(type)
        for result, wanted, expected in zip(results, (x.sum(1), x.sum(0), x.sum(), x @ y), made.compile("interpreter")(*inputs), strict=True):
            if digits is None:  # every partial sum is rounded to a few bits: only the order could differ, and the interpreter has the same
                assert not differing(result, expected).any()
            else:
                np.testing.assert_allclose(result.astype(exact), wanted, rtol=64 * 2.0**-digits)
    assert [r.tobytes() for r in compiled(*inputs)] == [r.tobytes() for r in results], "the same inputs, the same bits"
