"""Convolutions, windows, running combinations and argreduce as nests: values are those of the interpreter, and nothing native is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native_checks import DTYPES, assert_close, function, tensor

from wengert.dialects.kernel import InterpretOp, NativeOp
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime import interpreter
from wengert.transforms.pipelines import parse_pipeline

FREE = "fuse,natives-to-nests{reassociate=true},collapse-loops"
STRICT = "fuse,natives-to-nests,collapse-loops"
TOLERANCES = {"f64": 1e-13, "f32": 1e-5, "f16": 2e-3, "bf16": 2e-2, "complex<f32>": 1e-5, "complex<f64>": 1e-13}


def check(text: str, inputs: Sequence[np.ndarray[Any, Any]], tolerance: float = 0.0, *, pipeline: str = FREE) -> tuple[np.ndarray[Any, Any], ...]:
    module = parse_module(text)
    nests = parse_pipeline(pipeline).run(module)
    verify(nests, "")
    assert not ops_of(nests, NativeOp, InterpretOp)
    actual = interpreter.run(nests, inputs)
    for mine, theirs in zip(actual, interpreter.run(module, inputs), strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        assert_close(mine, theirs, tolerance)
    return tuple(actual)


def random(extents: Sequence[int], element: str, seed: int = 0) -> np.ndarray[Any, Any]:
    rng, dtype = np.random.default_rng(seed), np.dtype(DTYPES[element])
    if dtype.kind == "c":
        return (rng.normal(size=extents) + 1j * rng.normal(size=extents)).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, extents).astype(bool)
    return rng.integers(0 if dtype.kind == "u" else -9, 9, extents).astype(dtype) if dtype.kind in "iu" else rng.normal(size=extents).astype(dtype)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[str, list[np.ndarray[Any, Any]], float]:
    element = draw(st.sampled_from(["f64", "f32", "bf16", "complex<f32>", "i32"]))
    rank = draw(st.integers(0, 2))
    few = st.integers(1, 3)
    groups, lots = draw(st.sampled_from([(1, 1), (2, 1), (1, 2), (3, 1)]))
    channels, outputs, batch = draw(few), draw(few) * groups * lots, draw(few) * lots
    window, strides, base, dilations = ([draw(few) for _ in range(rank)] for _ in range(4))
    reach = [(w - 1) * d + 1 for w, d in zip(window, dilations, strict=True)]
    low, high = ([draw(st.integers(-1, 3)) for _ in range(rank)] for _ in range(2))
    extents = [draw(st.integers(r + 2, r + 5)) for r in reach]
    flips = [draw(st.booleans()) for _ in range(rank)]
    out = [(lo + (n - 1) * b + 1 + hi - r) // s + 1 for lo, n, b, hi, r, s in zip(low, extents, base, high, reach, strides, strict=True)]
    orders = [draw(st.permutations(range(rank + 2))) for _ in range(3)]
    shapes = [[batch, channels * groups, *extents], [channels, outputs, *window], [batch // lots, outputs, *out]]
    laid = [[shape[d] for d in order] for shape, order in zip(shapes, orders, strict=True)]
    names = [["b", "f", *map(str, range(rank))], ["i", "o", *map(str, range(rank))], ["b", "f", *map(str, range(rank))]]
    x, w, y = ("[" + ", ".join(names[k][d] for d in order) + "]" for k, order in enumerate(orders))
    pads = [list(pair) for pair in zip(low, high, strict=True)]
    parts = f"stride = {strides}, pad = {pads}, lhs_dilate = {base}, rhs_dilate = {dilations}, reverse = {[bool(f) for f in flips]}".lower() if rank else ""
    numbers = f"{{batch_group_count = {lots} : i64, feature_group_count = {groups} : i64}}"
    text = f"stablehlo.convolution($in) dim_numbers = {x}x{w}->{y}, window = {{{parts}}} {numbers} : $type"
    types = [tensor(shape, element) for shape in laid]
    inputs = [random(shape, element, n) for n, shape in enumerate(laid[:2])]
    return function(types[:2], types[2:], text), inputs, TOLERANCES.get(element, 0.0)


@given(convolutions())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_convolutions(case: tuple[str, list[np.ndarray[Any, Any]], float]) -> None:
    text, inputs, tolerance = case
    check(text, inputs, tolerance)


def test_padding_takes_part() -> None:
    """Zero times infinity is not a number, at the edge too."""
    text = function(
        [tensor([1, 1, 4], "f32"), tensor([1, 1, 3], "f32")],
        [tensor([1, 1, 4], "f32")],
        "stablehlo.convolution($in) dim_numbers = [b, f, 0]x[i, o, 0]->[b, f, 0], window = {pad = [[1, 1]]} "
        "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : $type",
    )
    (y,) = check(text, [np.ones((1, 1, 4), np.float32), np.array([[[np.inf, 1, 1]]], np.float32)], 1e-6)
    assert np.isnan(y[0, 0, 0])


WINDOWS = [
    ([7], [3], [1], [1], [1], [1, 1]),
    ([7], [3], [2], [1], [2], [0, 3]),
    ([6, 5], [2, 3], [2, 1], [1, 2], [1, 1], [1, 0, -1, 2]),
    ([2, 3, 4], [1, 3, 4], [1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 2, 0, 0, 3]),
]
COMBINATIONS = [
    *[(kind, element) for kind in ("add", "mul", "max", "min") for element in ("f64", "f32", "bf16", "i32", "ui8")],
    *[(kind, "complex<f32>") for kind in ("add", "mul")],
    *[(kind, element) for kind in ("and", "or") for element in ("i1", "i32")],
]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("kind", "element"), COMBINATIONS)
def test_windows(kind: str, element: str, window: tuple[list[int], ...]) -> None:
    extents, sizes, strides, base, dilations, padding = window
    edges = zip(extents, sizes, strides, base, dilations, padding[::2], padding[1::2], strict=True)
    out = [(lo + (n - 1) * b + 1 + hi - ((w - 1) * d + 1)) // s + 1 for n, w, s, b, d, lo, hi in edges]
    keys = f"window = {sizes}, strides = {strides}, base_dilations = {base}, window_dilations = {dilations}, padding = {padding}"
    text = function([tensor(extents, element)], [tensor(out, element)], f"core.window_reduce {kind} $in, {keys} : $type")
    check(text, [random(extents, element)], TOLERANCES.get(element, 0.0))


@pytest.mark.parametrize("reverse", ["", " reverse"])
@pytest.mark.parametrize("extents", [[1], [31], [33], [2, 64, 3], [1100], [3, 2, 40]])
@pytest.mark.parametrize(("kind", "element"), COMBINATIONS)
def test_running_combinations(kind: str, element: str, extents: list[int], reverse: str) -> None:
    type, dim = tensor(extents, element), extents.index(max(extents))
    x = random(extents, element)
    if kind == "mul" and x.dtype.kind not in "iu":
        x = (x / abs(x) if x.dtype.kind == "c" else np.sign(x) * 1.0).astype(x.dtype)
    check(function([type], [type], f"core.cumulative {kind} $in along {dim}{reverse} : {type}"), [x], 20 * TOLERANCES.get(element, 0.0))


def test_long_running_sums_are_exact_for_integers_and_extremes_keep_nan() -> None:
    type = tensor([40000], "i32")
    check(function([type], [type], f"core.cumulative add $in along 0 : {type}"), [random([40000], "i32")], pipeline=STRICT)
    x = random([2000], "f64")
    x[700] = np.nan
    type = tensor([2000], "f64")
    (y,) = check(function([type], [type], f"core.cumulative max $in along 0 : {type}"), [x], pipeline=STRICT)
    assert np.isnan(y[700:]).all()
    assert not np.isnan(y[:700]).any()


def test_sums_that_keep_their_order() -> None:
    type = tensor([300], "f32")
    check(function([type], [type], f"core.cumulative add $in along 0 : {type}"), [random([300], "f32")], pipeline=STRICT)


@pytest.mark.parametrize("extreme", ["max", "min"])
@pytest.mark.parametrize("element", ["f64", "f32", "bf16", "i32", "ui8", "i1"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_argreduce(element: str, extreme: str, dim: int) -> None:
    extents = [3, 5, 4]
    out = [n for d, n in enumerate(extents) if d != dim]
    x = random(extents, element)
    if x.dtype.kind not in "iub":
        x = np.round(x)
        x[0, 0, 0] = x[2, 4, 3] = x[2, 4, 2] = np.nan
    text = function([tensor(extents, element)], [tensor(out, element), tensor(out, "i32")], f"core.argreduce {extreme} $in along {dim} : $type")
    check(text, [x])


def test_the_first_of_zeros_of_both_signs() -> None:
    text = function([tensor([3], "f32")], [tensor([], "f32"), tensor([], "i64")], "core.argreduce max $in along 0 : $type")
    value, position = check(text, [np.array([-1.0, -0.0, 0.0], np.float32)])
    assert np.signbit(value)
    assert position == 1


@pytest.mark.parametrize(("extents", "out"), [([0, 3], [0, 3]), ([2, 0], [2, 2]), ([0], [2])])
def test_windows_of_nothing(extents: list[int], out: list[int]) -> None:
    """Nothing, or the neutral element where windows lie in the padding alone."""
    rank = len(extents)
    padding = [0, 0] * (rank - 1) + ([1, 1] if extents[-1] == 0 else [0, 0])
    ones = [1] * rank
    keys = f"window = {ones}, strides = {ones}, base_dilations = {ones}, window_dilations = {ones}, padding = {padding}"
    text = function([tensor(extents, "f64")], [tensor(out, "f64")], f"core.window_reduce mul $in, {keys} : $type")
    check(text, [np.zeros(extents)])


@pytest.mark.parametrize(("batch", "channels"), [(0, 2), (1, 0)])
def test_convolutions_of_nothing(batch: int, channels: int) -> None:
    """Nothing, or sums over no channels."""
    types = [tensor([batch, channels, 5], "f32"), tensor([channels, 3, 2], "f32")]
    numbers = "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
    op = f"stablehlo.convolution($in) dim_numbers = [b, f, 0]x[i, o, 0]->[b, f, 0], window = {{}} {numbers} : $type"
    check(function(types, [tensor([batch, 3, 4], "f32")], op), [np.zeros((batch, channels, 5), np.float32), np.ones((channels, 3, 2), np.float32)])


def test_running_sums_of_nothing() -> None:
    check(
        function([tensor([3, 0], "f32")], [tensor([3, 0], "f32")], f"core.cumulative add $in along 1 : {tensor([3, 0], 'f32')}"), [np.zeros((3, 0), np.float32)]
    )
