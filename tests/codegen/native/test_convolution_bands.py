"""Convolutions that threads share by bands of rows, by output features, and by ranges of the terms of long sums: right, and the same bits on any number of threads."""

from collections.abc import Generator
from functools import partial
from random import Random

import numpy as np
import pytest

from wengert.dialects import stablehlo
from wengert.dialects.kernel.schedule import Cut, Schedule
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.runtime.cpu import compile, pool
from wengert.runtime.cpu.thread_count import default_threads
from wengert.runtime.interpreter import run
from wengert.transforms.codegen.cpu.native.convolution import direct, shapes
from wengert.transforms.core.to_core import to_core
from wengert.transforms.schedule import chunks
from wengert.transforms.schedule.host import host

IMAGES = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
KERNELS = "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]"
"""The gradient of a kernel: the images are summed over, and the window is as large as they are."""
TURNED = "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]"
"""The same where channels come first."""
CHANNELS = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Small kernels are shared, one image at a time."""
    monkeypatch.setattr(chunks, "GRAIN_NS", 1.0)
    monkeypatch.setattr(chunks, "LEAST_NS", 2.0)
    monkeypatch.setattr(shapes, "ROWS", 1)
    yield
    pool.set_threads(default_threads())


def convolution(random: Random, layout: str, element: str, *, depthwise: bool = False) -> tuple[str, list[tuple[int, ...]]]:
    """The text of a random one, and the shapes of its operands; ``depthwise``: the gradient of a kernel of one feature for each channel."""
    strides, base, dilations = ([random.choice((1, 1, 2)) for _ in range(2)] for _ in range(3))
    low, high = ([random.randint(-1, 2) for _ in range(2)] for _ in range(2))
    images, features, outputs = random.randint(1, 4), random.randint(1, 5), random.choice((1, 3, 8, 16))
    space = [random.randint(6, 14) for _ in range(2)]
    reverse = [random.choice(("true", "false")) for _ in range(2)]
    outputs = features if depthwise else outputs
    if layout in (KERNELS, TURNED):
        base = [1, 1]
        kernel = [n - random.randint(0, 3) for n in space]
        lhs, rhs = (images, *space, features), (images, *[-(-n // d) for n, d in zip(kernel, dilations, strict=True)], outputs)
        kernel = list(rhs[1:3])
        if layout == TURNED:
            lhs, rhs = (images, features, *space), (images, outputs, *kernel)
    else:
        kernel = [random.randint(1, 3) for _ in range(2)]
        lhs, rhs = (
            ((images, *space, features), (*kernel, features, outputs)) if layout == IMAGES else ((images, features, *space), (outputs, features, *kernel))
        )
    padded = [(n - 1) * b + 1 + p + q for n, b, p, q in zip(space, base, low, high, strict=True)]
    out = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(padded, kernel, dilations, strides, strict=True)]
    if min(out) < 1:
        return convolution(random, layout, element, depthwise=depthwise)
    inner = 1 if depthwise else features
    result = {
        IMAGES: (images, *out, outputs),
        KERNELS: (*out, inner, outputs),
        TURNED: (outputs, inner, *out),
        CHANNELS: (images, outputs, *out),
    }[layout]
    window = f"stride = {strides}, pad = [[{low[0]}, {high[0]}], [{low[1]}, {high[1]}]], lhs_dilate = {base}, rhs_dilate = {dilations}, reverse = [{', '.join(reverse)}]"
    types = ["x".join(map(str, (*extents, element))) for extents in (lhs, rhs, result)]
    text = f"""func.func @main(%x: tensor<{types[0]}>, %w: tensor<{types[1]}>) -> tensor<{types[2]}> {{
      %0 = stablehlo.convolution(%x, %w) dim_numbers = {layout}, window = {{{window}}}
        {{batch_group_count = {features if depthwise else 1} : i64, feature_group_count = 1 : i64}} : (tensor<{types[0]}>, tensor<{types[1]}>) -> tensor<{types[2]}>
      return %0 : tensor<{types[2]}>
    }}"""
    return text, [lhs, rhs]


def cuts(text: str) -> list[Cut]:
    """All cuts that a convolution may have."""
    kernel = direct.DirectConvolution(ops_of(parse_module(text), stablehlo.ConvolutionOp)[0], host().target)
    extents = {loop: cuttable.extent for loop, cuttable in kernel.cuttable().items()}
    return [Cut(loop, size) for loop, extent in extents.items() for size in range(1, extent) if extent % size == 0]


@pytest.mark.parametrize(("layout", "depthwise"), [(IMAGES, False), (KERNELS, False), (TURNED, False), (CHANNELS, False), (KERNELS, True), (TURNED, True)])
@pytest.mark.parametrize("seed", range(8))
def test_every_cut_is_right_on_any_number_of_threads(layout: str, depthwise: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random, element = Random(seed), ("f32", "f64")[seed % 2]
    text, extents = convolution(random, layout, element, depthwise=depthwise)
    rng = np.random.default_rng(seed)
    operands = [rng.normal(size=each).astype({"f32": np.float32, "f64": np.float64}[element]) for each in extents]
    module = parse_module(text)
    to_core(module)
    (expected,) = run(module, operands)
    able = cuts(text)
    for cut in random.sample(able, min(len(able), 3)):
        monkeypatch.setattr(shapes.ConvolutionShapes, "choose_cut", partial(lambda chosen: chosen, cut))
        program = compile(module)
        bits = set[bytes]()
        for threads in (1, 2, 3, 8):
            pool.set_threads(threads)
            (result,) = program(*operands)
            np.testing.assert_allclose(result, expected, rtol=0, atol={"f32": 2e-5, "f64": 1e-13}[element] * max(1.0, np.abs(expected).max()), err_msg=f"{cut}")
            bits.add(result.tobytes())
        assert len(bits) == 1, cut


def scheduled(text: str) -> Cut | None:
    """The cut that is chosen."""
    return direct.DirectConvolution(ops_of(parse_module(text), stablehlo.ConvolutionOp)[0], host().target).choose_cut()


def of_images(images: int, space: int, features: int) -> str:
    x, w = f"tensor<{images}x{space}x{space}x{features}xf32>", f"tensor<3x3x{features}x{features}xf32>"
    return f"""func.func @main(%x: {x}, %w: {w}) -> {x} {{
      %0 = stablehlo.convolution(%x, %w) dim_numbers = {IMAGES}, window = {{pad = [[1, 1], [1, 1]]}}
        {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({x}, {w}) -> {x}
      return %0 : {x}
    }}"""


def of_a_kernel(images: int, space: int, features: int) -> str:
    x, w = f"tensor<{images}x{space}x{space}x{features}xf32>", f"tensor<3x3x{features}x{features}xf32>"
    return f"""func.func @main(%x: {x}, %y: {x}) -> {w} {{
      %0 = stablehlo.convolution(%x, %y) dim_numbers = {KERNELS}, window = {{pad = [[1, 1], [1, 1]]}}
        {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({x}, {x}) -> {w}
      return %0 : {w}
    }}"""


def test_few_images_are_cut_into_bands_and_many_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert scheduled(of_images(4, 96, 32)) == Cut(0, 24)
    assert scheduled(of_images(16, 96, 32)) is None
    assert scheduled(of_a_kernel(4, 96, 32)) == Cut(2, 24)
    assert scheduled(of_a_kernel(16, 96, 32)) == Cut(1, 1)


def test_a_band_pads_no_more_than_it_reads() -> None:
    kernel = direct.DirectConvolution(ops_of(parse_module(of_images(4, 96, 32)), stablehlo.ConvolutionOp)[0], host().target)
    whole = kernel.scratch_bytes()
    kernel = direct.DirectConvolution(kernel.op, kernel.target)
    kernel.schedule = Schedule(cut=Cut(0, 24))
    assert kernel.extents == [1, 26, 98, 32]
    assert kernel.scratch_bytes() < whole / 3
