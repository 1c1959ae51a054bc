"""Random bits: the published test vectors of both generators, XLA bit for bit, and the moments of rng."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.interpreter import run
from wengert.runtime.interpreter.ops.random import philox4x32, threefry2x32

KEY, COUNTER = 0x0123456789ABCDEF, 0xFFFFFFFFFFFFFFFE
STATES = {"THREE_FRY": [[KEY, COUNTER]], "PHILOX": [[KEY, COUNTER], [KEY, COUNTER, 5], [3, 2**64 - 1, 2**64 - 1]], "DEFAULT": [[KEY, COUNTER, 5]]}
SHAPES = [
    "6xui32",
    "5x3xui32",
    "3x5xui32",
    "3x3xui32",
    "3x4xui32",
    "4x3xui32",
    "2x2x2xui32",
    "ui32",
    "1x1xui32",
    "4x3xui64",
    "5xui64",
    "ui64",
    "7xui8",
    "2x3xui16",
    "0xui32",
]


def test_published_vectors() -> None:
    """From the known-answer tests of Random123 for zeros and for ones."""
    with np.errstate(over="ignore"):
        for value, expected in ((0, (0x6B200159, 0x99BA4EFE)), (0xFFFFFFFF, (0x1CB996FC, 0xBB002BE7))):
            word = np.full(1, value, np.uint32)
            assert tuple(int(x[0]) for x in threefry2x32((word[0], word[0]), (word, word))) == expected
        zero, ones = np.zeros(1, np.uint32), np.full(1, 0xFFFFFFFF, np.uint32)
        assert [int(x[0]) for x in philox4x32((zero[0], zero[0]), (zero,) * 4)] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
        assert [int(x[0]) for x in philox4x32((ones[0], ones[0]), (ones,) * 4)] == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def _module(algorithm: str, words: int, shapes: list[str]) -> str:
    state = f"tensor<{words}xui64>"
    lines = [
        f'%s{i}, %b{i} = "stablehlo.rng_bit_generator"(%s) <{{rng_algorithm = #stablehlo<rng_algorithm {algorithm}>}}> '
        f": ({state}) -> ({state}, tensor<{shape}>)"
        for i, shape in enumerate(shapes)
    ]
    types = ", ".join(f"{state}, tensor<{shape}>" for shape in shapes)
    returned = ", ".join(f"%s{i}, %b{i}" for i in range(len(shapes)))
    return f"module {{ func.func public @main(%s: {state}) -> ({types}) {{\n" + "\n".join(lines) + f"\nreturn {returned} : {types}\n}} }}"


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", STATES)
def test_bits_are_those_of_xla(algorithm: str, xla: Callable[[str], Any]) -> None:
    for state in STATES[algorithm]:
        text, inputs = _module(algorithm, len(state), SHAPES), [np.array(state, np.uint64)]
        for ours, theirs in zip(run(parse_module(text), inputs), xla(text)(inputs), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_signed_and_floating_results_are_the_same_bits() -> None:
    state = [np.array([KEY, COUNTER], np.uint64)]
    bits, signed, floats = (run(parse_module(_module("THREE_FRY", 2, [f"8x{t}"])), state)[1] for t in ("ui32", "i32", "f32"))
    np.testing.assert_array_equal(signed.view(np.uint32), bits)
    np.testing.assert_array_equal(floats.view(np.uint32), bits)


@pytest.mark.parametrize(("distribution", "mean", "deviation"), [("UNIFORM", 3.0, 2 / np.sqrt(12)), ("NORMAL", 2.0, 4.0)])
def test_rng(distribution: str, mean: float, deviation: float) -> None:
    text = f"""func.func public @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<10000xf32> {{
      %n = stablehlo.constant dense<10000> : tensor<1xi64>
      %r = stablehlo.rng %a, %b, %n, distribution = {distribution} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<10000xf32>
      return %r : tensor<10000xf32>
    }}"""
    (x,) = run(parse_module(text), [np.float32(2), np.float32(4)])
    assert abs(x.mean() - mean) < 5 * deviation / 100
    assert abs(x.std() / deviation - 1) < 0.05
