"""Convolutions in native code against the interpreter: every attribute, layout and element type, and random ones."""

from typing import Any

import numpy as np
import pytest
from native_checks import check, tensor, values

from wengert.dialects import stablehlo
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.transforms.codegen.cpu.native.convolution import as_product as by_products
from wengert.transforms.codegen.cpu.native.convolution import bands, direct, shapes, tiled_part
from wengert.transforms.codegen.cpu.native.convolution.geometry import phases
from wengert.transforms.schedule.target import GENERIC

TOLERANCE = {"f64": 1e-13, "f32": 1e-5, "bf16": 2e-2, "f16": 2e-3, "complex<f64>": 1e-13, "complex<f32>": 1e-5}


def convolution(
    element: str, layout: str, lhs: tuple[int, ...], rhs: tuple[int, ...], result: tuple[int, ...], window: str, groups: int = 1, batch_groups: int = 1
) -> str:
    return f"""func.func @main(%x: {tensor(lhs, element)}, %w: {tensor(rhs, element)}) -> {tensor(result, element)} {{
      %r = stablehlo.convolution(%x, %w) dim_numbers = {layout}, window = {{{window}}} {{feature_group_count = {groups} : i64, batch_group_count = {batch_groups} : i64}} : ({tensor(lhs, element)}, {tensor(rhs, element)}) -> {tensor(result, element)}
      return %r : {tensor(result, element)}
    }}"""


NHWC, NCHW, MIXED = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "[0, b, f, 1]x[i, 0, o, 1]->[0, f, b, 1]"
CASES: dict[str, Any] = {
    "plain": (NHWC, (2, 6, 5, 3), (3, 2, 3, 4), (2, 4, 4, 4), ""),
    "one by one": (NHWC, (2, 6, 5, 3), (1, 1, 3, 4), (2, 6, 5, 4), ""),
    "padded": (NHWC, (1, 6, 5, 3), (3, 3, 3, 2), (1, 6, 6, 2), "pad = [[1, 1], [2, 1]]"),
    "cropped": (NHWC, (1, 6, 5, 3), (2, 2, 3, 2), (1, 4, 4, 2), "pad = [[-1, 0], [1, -1]]"),
    "strided": (NHWC, (1, 7, 9, 2), (3, 3, 2, 2), (1, 3, 3, 2), "stride = [2, 3]"),
    "dilated": (NHWC, (1, 4, 5, 2), (2, 3, 2, 3), (1, 6, 7, 3), "lhs_dilate = [2, 2], rhs_dilate = [1, 2], pad = [[0, 0], [1, 1]]"),
    "reversed": (NHWC, (1, 5, 5, 2), (2, 3, 2, 3), (1, 4, 3, 3), "reverse = [true, false]"),
    "channels first": (NCHW, (3, 2, 6, 5), (4, 2, 3, 3), (3, 4, 6, 5), "pad = [[1, 1], [1, 1]]"),
    "channels first, long lines": (NCHW, (2, 2, 4, 21), (9, 2, 3, 3), (2, 9, 4, 21), "pad = [[1, 1], [1, 1]]"),
    "channels first, dilated": (NCHW, (2, 2, 4, 9), (3, 2, 3, 3), (2, 3, 7, 17), "lhs_dilate = [2, 2], pad = [[1, 1], [1, 1]]"),
    "channels first, strided": (NCHW, (2, 2, 7, 9), (9, 2, 2, 3), (2, 9, 3, 4), "stride = [2, 2]"),
    "channels first, many features": (NCHW, (2, 5, 6, 7), (37, 5, 3, 3), (2, 37, 6, 7), "pad = [[1, 1], [1, 1]]"),
    "gradient of the input, channels first": (
        "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
        (2, 6, 5, 5),
        (6, 33, 3, 3),
        (2, 33, 5, 5),
        "pad = [[1, 1], [1, 1]], reverse = [true, true]",
    ),
    "gradient of the kernel, channels first": (
        "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]",
        (3, 9, 6, 6),
        (3, 35, 6, 6),
        (35, 9, 3, 3),
        "pad = [[1, 1], [1, 1]]",
    ),
    "many features": (NHWC, (2, 5, 5, 9), (3, 3, 9, 35), (2, 5, 5, 35), "pad = [[1, 1], [1, 1]]"),
    "windows of nothing": (NHWC, (2, 3, 4, 2), (1, 2, 2, 3), (2, 7, 9, 3), "lhs_dilate = [3, 3], pad = [[0, 0], [0, 0]]"),
    "batch inside": ("[0, 1, f, b]x[0, 1, i, o]->[0, 1, f, b]", (6, 5, 3, 4), (3, 2, 3, 5), (4, 4, 5, 4), ""),
    "mixed order": (MIXED, (6, 2, 3, 5), (3, 2, 4, 2), (5, 4, 2, 4), ""),
    "empty batch": (NHWC, (0, 6, 5, 3), (3, 2, 3, 4), (0, 4, 4, 4), ""),
    "no features": (NHWC, (2, 6, 5, 0), (3, 2, 0, 4), (2, 4, 4, 4), ""),
}
GROUPED: dict[str, Any] = {
    "groups last": (NHWC, (2, 5, 5, 6), (2, 2, 2, 9), (2, 4, 4, 9), "", 3, 1),
    "groups first": (NCHW, (2, 6, 5, 5), (9, 2, 2, 2), (2, 9, 4, 4), "", 3, 1),
    "depthwise": (NHWC, (2, 5, 5, 4), (3, 3, 1, 4), (2, 5, 5, 4), "pad = [[1, 1], [1, 1]]", 4, 1),
    "depthwise, reversed": (NHWC, (2, 5, 5, 13), (3, 3, 1, 13), (2, 3, 3, 13), "reverse = [true, true]", 13, 1),
    "depthwise, channels first": (NCHW, (2, 4, 5, 5), (4, 1, 3, 3), (2, 4, 5, 5), "pad = [[1, 1], [1, 1]]", 4, 1),
    "gradient of depthwise": ("[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", (2, 5, 5, 13), (2, 5, 5, 13), (3, 3, 1, 13), "pad = [[1, 1], [1, 1]]", 1, 13),
    "gradient of depthwise, channels first": (
        "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]",
        (2, 3, 5, 13),
        (2, 3, 5, 13),
        (3, 1, 3, 3),
        "pad = [[1, 1], [1, 1]]",
        1,
        3,
    ),
    "gradient of depthwise, short lines": ("[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]", (2, 3, 9, 7), (2, 3, 8, 6), (3, 1, 2, 2), "", 1, 3),
    "batch groups": (NHWC, (6, 5, 5, 2), (2, 2, 2, 9), (2, 4, 4, 9), "pad = [[0, 0], [1, -1]]", 1, 3),
    "batch groups first": (NCHW, (6, 2, 5, 5), (9, 2, 2, 2), (2, 9, 4, 4), "", 1, 3),
}


def check_form(element: str, name: str) -> None:
    layout, lhs, rhs, *rest = {**CASES, **GROUPED}[name]
    rng = np.random.default_rng(1)
    inputs = [values(rng, shape, element, special=False) for shape in (lhs, rhs)]
    check(convolution(element, layout, lhs, rhs, *rest), inputs, TOLERANCE.get(element, 0.0))


@pytest.mark.parametrize("element", ["f64", "f32", "i32"])
@pytest.mark.parametrize("name", [*CASES, *GROUPED])
def test_forms(element: str, name: str) -> None:
    check_form(element, name)


@pytest.mark.parametrize("name", [*CASES, *GROUPED])
def test_long_sums_and_pieces(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contractions that are cut, kernels that are copied though they lie well, and rows that threads share."""
    for constant, value in (("STEPS", 4), ("FAR_BYTES", 0)):
        monkeypatch.setattr(tiled_part, constant, value)
    for constant, value in (("NEAR_BYTES", 0), ("ROWS", 1), ("REPEATED", 1e9), ("FLOPS_PER_NS", 1e-3)):
        monkeypatch.setattr(shapes, constant, value)
    for constant in ("REPEATED", "REPEATED_MORE"):
        monkeypatch.setattr(bands, constant, 1e9)
    check_form("f64", name)


@pytest.mark.parametrize("element", ["f64", "f32"])
@pytest.mark.parametrize("name", [name for name in CASES if "channels first" in name])
def test_results_moved_in_blocks(element: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that are no neighbours in the result are computed a few rows at a time, and then turned into place."""
    monkeypatch.setattr(tiled_part, "MOVED_BYTES", 1 << 11)
    check_form(element, name)


def test_phases() -> None:
    """Every product of an element and a weight that is not with a zero between elements belongs to exactly one phase."""
    for stride, base, dilation, low in ((1, 2, 1, 1), (2, 3, 1, -1), (2, 4, 3, 2), (3, 2, 2, 0)):
        seen = [
            (p.first + p.step * q, p.w_first + p.w_step * j, p.origin + p.x_step * q + p.x_window * j)
            for p in phases(7, 5, stride, base, dilation, low)
            for q in range(p.count)
            for j in range(p.window)
        ]
        at = [(p, w, p * stride + w * dilation - low) for p in range(7) for w in range(5)]
        assert sorted(seen) == [(p, w, x // base) for p, w, x in at if x % base == 0]


def test_windows_of_nothing_alone() -> None:
    """Where no window sees an element there is neither a copy of the input nor memory for one."""
    text = convolution("f64", NHWC, (2, 3, 4, 2), (1, 2, 2, 3), (2, 3, 4, 3), "stride = [3, 3], lhs_dilate = [3, 3], pad = [[2, 0], [4, 0]]")
    kernel = direct.DirectConvolution(ops_of(parse_module(text), stablehlo.ConvolutionOp)[0], GENERIC)
    assert (kernel.scratch_bytes(), kernel.is_padded) == (0, False)
    (actual,) = check(text, [np.ones((2, 3, 4, 2)), np.ones((1, 2, 2, 3))])
    assert not actual.any()


def test_lines_that_are_not_the_last_dimension() -> None:
    """Positions are in lanes along the line, though a dimension of extent 1 comes after it."""
    text = convolution("f32", NCHW, (2, 3, 17, 1), (4, 3, 3, 1), (2, 4, 15, 1), "")
    kernel = direct.DirectConvolution(ops_of(parse_module(text), stablehlo.ConvolutionOp)[0], GENERIC)
    assert kernel.by_position
    assert [part.columns[-1].extent for part in kernel.parts] == [15]
    rng = np.random.default_rng(4)
    check(text, [rng.normal(size=shape).astype(np.float32) for shape in ((2, 3, 17, 1), (4, 3, 3, 1))], 1e-5)


@pytest.mark.parametrize("element", ["complex<f64>", "i32", "bf16", "f16"])
@pytest.mark.parametrize("name", ["padded", "depthwise"])
def test_element_types(element: str, name: str) -> None:
    layout, lhs, rhs, *rest = {**CASES, **GROUPED}[name]
    rng = np.random.default_rng(2)
    small = [(values(rng, shape, "i8", special=False) % 4).astype(np.int64) for shape in (lhs, rhs)]
    from native_checks import DTYPES

    check(convolution(element, layout, lhs, rhs, *rest), [x.astype(DTYPES[element]) for x in small], TOLERANCE.get(element, 0.0))


def test_one_and_three_dimensions() -> None:
    rng = np.random.default_rng(3)
    shapes = ((2, 9, 3), (4, 3, 5), (2, 6, 5))
    text = convolution("f64", "[b, 0, f]x[0, i, o]->[b, 0, f]", *shapes, "")
    check(text, [rng.normal(size=shape) for shape in shapes[:2]], 1e-13)
    shapes = ((2, 5, 4, 5, 3), (2, 2, 2, 3, 5), (2, 5, 3, 4, 5))
    text = convolution("f64", "[b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f]", *shapes, "pad = [[1, 0], [0, 0], [0, 0]]")
    check(text, [rng.normal(size=shape) for shape in shapes[:2]], 1e-13)


@pytest.mark.parametrize("seed", range(12))
def test_random_ones(seed: int) -> None:
    """Random strides, dilations, padding and groups; blocks of several images. Whole numbers go through matrix products."""
    rng = np.random.default_rng(seed)

    def draw(high: int) -> list[int]:
        return [int(n) for n in rng.integers(1, high, 2)]

    strides, base, dilations, kernel = draw(4), draw(3), draw(3), draw(4)
    low, high = ([int(n) for n in rng.integers(-1, 3, 2)] for _ in range(2))
    spatial, batch, groups = [int(n) for n in rng.integers(6, 40, 2)], int(rng.integers(1, 5)), int(rng.integers(1, 3))
    features, outputs = int(rng.integers(1, 4)), int(rng.integers(1, 9)) * groups
    padded = [(n - 1) * b + 1 + p + q for n, b, p, q in zip(spatial, base, low, high, strict=True)]
    out = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(padded, kernel, dilations, strides, strict=True)]
    window = f"stride = {strides}, pad = [[{low[0]}, {high[0]}], [{low[1]}, {high[1]}]], lhs_dilate = {base}, rhs_dilate = {dilations}"
    lhs, rhs, result = (batch, *spatial, features * groups), (*kernel, features, outputs), (batch, *out, outputs)
    inputs = [rng.normal(size=lhs), rng.normal(size=rhs)]
    check(convolution("f64", NHWC, lhs, rhs, result, window, groups), inputs, 1e-13)
    check(convolution("i32", NHWC, lhs, rhs, result, window, groups), [np.rint(x * 9).astype(np.int32) for x in inputs])


@pytest.mark.parametrize("name", ["plain", "strided", "channels first", "mixed order", "groups last", "batch groups"])
def test_one_position_at_a_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done if a product of all positions would need too much memory."""
    monkeypatch.setattr(by_products, "MOST_BYTES", 0)
    for element in ("i32", "complex<f64>"):
        check_form(element, name)
