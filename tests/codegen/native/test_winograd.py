"""Convolutions in Winograd's form against the interpreter, which has the direct one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from native_checks import check, tensor, values

from wengert.dialects import stablehlo
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import shape
from wengert.ir.traversal import ops_of
from wengert.runtime.cpu import compile
from wengert.transforms.codegen.cpu.native.convolution import winograd as kernel
from wengert.transforms.kernel import winograd
from wengert.transforms.kernel.winograd import MARK, WinogradPass, tiling
from wengert.transforms.schedule.target import GENERIC

Shape = Sequence[int]
Array = np.ndarray[Any, np.dtype[Any]]
FORWARD, TURNED = "o, i", "i, o"


def convolution(x: Shape, w: Shape, kernel: str = FORWARD, window: str = "pad = [[1, 1], [1, 1]]", pad: Shape = (1, 1, 1, 1), element: str = "f32") -> str:
    images, _, height, width = x
    result = (images, w[0 if kernel == FORWARD else 1], height + pad[0] + pad[1] - 2, width + pad[2] + pad[3] - 2)
    types = [tensor(extents, element) for extents in (x, w, result)]
    return f"""func.func @main(%x: {types[0]}, %w: {types[1]}) -> {types[2]} {{
      %r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[{kernel}, 0, 1]->[b, f, 0, 1], window = {{{window}}} {{feature_group_count = 1 : i64, batch_group_count = 1 : i64}} : ({types[0]}, {types[1]}) -> {types[2]}
      return %r : {types[2]}
    }}"""


CASES = {
    "one vector": convolution((1, 4, 8, 8), (4, 4, 3, 3)),
    "images": convolution((3, 5, 6, 10), (16, 5, 3, 3)),
    "lines that are no vectors": convolution((1, 3, 8, 22), (16, 3, 3, 3)),
    "the last block overlaps": convolution((1, 2, 46, 40), (8, 2, 3, 3)),
    "gradient of the input": convolution((2, 16, 8, 8), (16, 3, 3, 3), TURNED, "pad = [[1, 1], [1, 1]], reverse = [true, true]"),
    "reversed along one dimension": convolution((1, 2, 8, 8), (8, 2, 3, 3), window="pad = [[1, 1], [1, 1]], reverse = [false, true]"),
    "no padding": convolution((1, 2, 8, 12), (8, 2, 3, 3), window="", pad=(0, 0, 0, 0)),
    "uneven padding": convolution((1, 2, 7, 9), (8, 2, 3, 3), window="pad = [[2, 1], [0, 1]]", pad=(2, 1, 0, 1)),
    "many features": convolution((1, 40, 16, 16), (36, 40, 3, 3)),
    "sums that are cut": convolution((1, 800, 8, 8), (2, 800, 3, 3)),
}


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every convolution that can be is computed so."""
    monkeypatch.setattr(winograd, "GAIN", 1e9)
    monkeypatch.setattr(winograd, "LEAST_NS", 0.0)


def inputs_of(text: str) -> list[Array]:
    (op,) = ops_of(parse_module(text), stablehlo.ConvolutionOp)
    rng = np.random.default_rng(0)
    return [values(rng, shape(value), "f32", special=False) for value in (op.lhs, op.rhs)]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", CASES)
def test_forms(name: str) -> None:
    check(CASES[name], inputs_of(CASES[name]), 2e-6)


def _many(nanoseconds: float) -> int:
    """As many chunks as there can be, whatever the work."""
    return 64 if nanoseconds > 0 else 1


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", CASES)
def test_ranges_of_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one line each, which threads share."""
    monkeypatch.setattr(winograd, "MOST_COLUMNS", 1)
    monkeypatch.setattr(winograd, "PER_NS", dict.fromkeys(winograd.PER_NS, 1e-3))
    monkeypatch.setattr(kernel, "REPEATED", 1e9)
    monkeypatch.setattr(kernel, "wanted_chunks", _many)
    check(CASES[name], inputs_of(CASES[name]), 2e-6)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", CASES)
def test_what_is_not_finite_stays_where_it_is(name: str) -> None:
    """Infinities, and numbers whose differences overflow, have no effect beyond the windows that they are in."""
    x, w = inputs_of(CASES[name])
    for place, value in ((0, np.inf), (-1, -np.inf), (x.shape[-1] + 1, np.nan)):
        one = x.copy()
        one[0, 0].flat[place] = value
        check(CASES[name], [one, w], 2e-6)
    large = np.where(np.arange(x.size).reshape(x.shape) % 2 == 0, np.float32(3e38), np.float32(-3e38)).astype(np.float32)
    check(CASES[name], [large, (w * np.float32(1e-4)).astype(np.float32)], 2e-6)


@pytest.mark.usefixtures("always")
def test_elements_of_zero_stay_zero() -> None:
    """A block without anything in it is exactly zero."""
    text = CASES["many features"]
    x, w = inputs_of(text)
    (y,) = compile(parse_module(text))(np.zeros_like(x), w)
    assert not y.any()


@pytest.mark.parametrize(
    "text",
    [
        convolution((1, 64, 56, 56), (64, 64, 3, 3), element="f64"),
        convolution((1, 64, 57, 56), (64, 64, 3, 3)),
        convolution((1, 3, 56, 56), (64, 3, 3, 3)),
        convolution((1, 512, 4, 4), (512, 512, 3, 3)),
    ],
    ids=["f64", "odd lines", "few features", "few tiles"],
)
def test_left_alone(text: str) -> None:
    assert not WinogradPass(reassociate=True).changes(parse_module(text))


def test_strict_sums_keep_their_order() -> None:
    module = parse_module(convolution((1, 64, 56, 56), (64, 64, 3, 3)))
    assert WinogradPass(reassociate=True).changes(module)
    assert not WinogradPass().changes(module)


def test_what_it_takes_follows_from_shapes() -> None:
    (op,) = ops_of(parse_module(convolution((1, 128, 28, 28), (128, 128, 3, 3))), stablehlo.ConvolutionOp)
    tiles = tiling(op)
    assert tiles is not None
    assert (tiles.lines, tiles.columns, tiles.blocks) == (14, 208, 1)
    assert kernel.Winograd(op, GENERIC).scratch_bytes() < 1 << 24


def test_the_mark_is_read_again() -> None:
    """A dump behind the pass compiles to the same code."""
    module = parse_module(convolution((1, 64, 56, 56), (64, 64, 3, 3)))
    WinogradPass(reassociate=True).apply(None, module)  # pyright: ignore[reportArgumentType]
    (op,) = ops_of(parse_module(str(module)), stablehlo.ConvolutionOp)
    assert MARK in op.attributes
