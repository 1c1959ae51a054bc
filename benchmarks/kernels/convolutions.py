"""Convolutions of many shapes against JAX and PyTorch: ``python -m benchmarks.kernels.convolutions``.

Of each shape the convolution, the gradient of its input and that of its kernel are timed as programs of their own, which is what
they are made of in a network; we and JAX get the same StableHLO text. Arrays are f32, NHWC and HWIO unless the name says NCHW, on
one thread; PyTorch gets views of them. The table is Markdown; times are the least CPU time of windows that alternate.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from benchmarks.harness.timing import interleaved
from jax import lax

import wengert as wg

Array = np.ndarray[Any, np.dtype[Any]]
PARTS = ("value", "input gradient", "kernel gradient")


@dataclass(frozen=True)
class Shape:
    """A convolution: (batch, space..., features) and (window..., features of a group, outputs)."""

    name: str
    x: tuple[int, ...]
    w: tuple[int, ...]
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    channels_first: bool = False

    @property
    def layout(self) -> tuple[str, str, str]:
        space = "HWD"[: len(self.x) - 2] if len(self.x) > 3 else "H"
        first = ("NC" + space, "OI" + space, "NC" + space)
        return first if self.channels_first else (f"N{space}C", f"{space}IO", f"N{space}C")

    def forward(self, x: Any, w: Any) -> Any:
        n = len(self.x) - 2
        pad = [((k - 1) * self.dilation // 2,) * 2 for k in self.w[:n]]
        return lax.conv_general_dilated(
            x, w, (self.stride,) * n, pad, rhs_dilation=(self.dilation,) * n, dimension_numbers=self.layout, feature_group_count=self.groups
        )

    def arrays(self) -> tuple[Array, Array]:
        """The input and the kernel, in their layouts."""
        rng = np.random.default_rng(0)
        x, w = (rng.normal(size=s).astype(np.float32) for s in (self.x, self.w))
        return (_first(x), _kernel_first(w)) if self.channels_first else (x, w)


SHAPES = (
    Shape("3x3, N8 32x32 16-32", (8, 32, 32, 16), (3, 3, 16, 32)),
    Shape("3x3, N8 32x32 16-32, NCHW", (8, 32, 32, 16), (3, 3, 16, 32), channels_first=True),
    Shape("3x3, N8 32x32 3-16", (8, 32, 32, 3), (3, 3, 3, 16)),
    Shape("3x3, N32 7x7 128-128", (32, 7, 7, 128), (3, 3, 128, 128)),
    Shape("3x3, N1 14x14 256-256, NCHW", (1, 14, 14, 256), (3, 3, 256, 256), channels_first=True),
    Shape("3x3, N1 28x28 128-128, NCHW", (1, 28, 28, 128), (3, 3, 128, 128), channels_first=True),
    Shape("3x3, N1 56x56 64-64, NCHW", (1, 56, 56, 64), (3, 3, 64, 64), channels_first=True),
    Shape("3x3, N4 7x7 512-512, NCHW", (4, 7, 7, 512), (3, 3, 512, 512), channels_first=True),
    Shape("3x3, N2 2x2 512-512, NCHW", (2, 2, 2, 512), (3, 3, 512, 512), channels_first=True),
    Shape("3x3 stride 2, N4 56x56 32-64", (4, 56, 56, 32), (3, 3, 32, 64), stride=2),
    Shape("3x3 dilation 2, N2 32x32 32-32", (2, 32, 32, 32), (3, 3, 32, 32), dilation=2),
    Shape("7x7 stride 2, N1 112x112 3-32", (1, 112, 112, 3), (7, 7, 3, 32), stride=2),
    Shape("7x7 stride 2, N1 112x112 3-32, NCHW", (1, 112, 112, 3), (7, 7, 3, 32), stride=2, channels_first=True),
    Shape("1x1, N4 28x28 128-128", (4, 28, 28, 128), (1, 1, 128, 128)),
    Shape("3x3 in 4 groups, N4 28x28 64-64", (4, 28, 28, 64), (3, 3, 16, 64), groups=4),
    Shape("3x3 depthwise, N4 56x56 64", (4, 56, 56, 64), (3, 3, 1, 64), groups=64),
    Shape("3x3 depthwise, N4 56x56 64, NCHW", (4, 56, 56, 64), (3, 3, 1, 64), groups=64, channels_first=True),
    Shape("9, N8 1024 16-32", (8, 1024, 16), (9, 16, 32)),
    Shape("3x3x3, N2 16x16x16 8-16", (2, 16, 16, 16, 8), (3, 3, 3, 8, 16)),
)


def _first(x: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def _kernel_first(w: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(w, (-1, -2), (0, 1)))


def functions(shape: Shape) -> list[tuple[Callable[..., Any], tuple[Array, ...]]]:
    """Value, gradient of the input and gradient of the kernel: functions and their arguments."""
    x, w = shape.arrays()
    y = np.asarray(shape.forward(x, w))

    def input_gradient(y_bar: Any, w: Any) -> Any:
        return jax.vjp(lambda x: shape.forward(x, w), x)[1](y_bar)[0]

    def kernel_gradient(x: Any, y_bar: Any) -> Any:
        return jax.vjp(lambda w: shape.forward(x, w), w)[1](y_bar)[0]

    return [(shape.forward, (x, w)), (input_gradient, (y, w)), (kernel_gradient, (x, y))]


def torch_calls(shape: Shape) -> list[Callable[[], Any]]:
    """The same three in PyTorch."""
    import torch

    torch.set_num_threads(1)
    n = len(shape.x) - 2
    x, w = (torch.from_numpy(a) for a in shape.arrays())
    if not shape.channels_first:
        x, w = x.movedim(-1, 1), w.movedim((-1, -2), (0, 1))
    pad = [(k - 1) * shape.dilation // 2 for k in shape.w[:n]]
    options = ([shape.stride] * n, pad, [shape.dilation] * n, False, [0] * n, shape.groups)
    value: Any = torch.ops.aten.convolution.default
    gradients: Any = torch.ops.aten.convolution_backward.default
    y = value(x, w, None, *options)

    def gradient(mask: list[bool]) -> Callable[[], Any]:
        return lambda: gradients(y, x, w, None, *options, mask)

    return [lambda: value(x, w, None, *options), gradient([True, False, False]), gradient([False, True, False])]


def measure(shape: Shape, seconds: float) -> list[list[float]]:
    """For each part: our least time, JAX's and PyTorch's, in seconds."""
    part_times: list[list[float]] = []
    for (f, arguments), torch_call in zip(functions(shape), torch_calls(shape), strict=True):
        jitted: Any = jax.jit(f)
        compiled = wg.parse(jitted.lower(*arguments).as_text()).compile()
        (mine,) = compiled(*arguments)
        placed = [jax.device_put(a) for a in arguments]
        theirs = np.asarray(jitted(*placed))
        error = np.abs(mine - theirs).max() / np.abs(theirs).max()
        assert error < 1e-4, f"{shape.name}: {error}"
        calls = [_calling(compiled, arguments), _waiting(jitted, placed), torch_call]
        part_times.append([time.least for time in interleaved(calls, seconds)])
    return part_times


def _calling(compiled: Callable[..., Any], arguments: Sequence[Any]) -> Callable[[], Any]:
    return lambda: compiled(*arguments)


def _waiting(jitted: Callable[..., Any], arguments: Sequence[Any]) -> Callable[[], Any]:
    return lambda: jax.block_until_ready(jitted(*arguments))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="shapes whose name contains this")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each side of each part")
    options = parser.parse_args()
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    print("| shape | " + " | ".join(f"{part}, ms | / jax | / torch" for part in PARTS) + " |")
    print("|---" * 10 + "|")
    ratios: list[list[float]] = []
    for shape in SHAPES:
        if options.only not in shape.name:
            continue
        times = measure(shape, options.seconds)
        ratios += [[mine / jax_, mine / torch_] for mine, jax_, torch_ in times]
        cells = [f"{1e3 * mine:.3g} | {mine / jax_:.2f} | {mine / torch_:.2f}" for mine, jax_, torch_ in times]
        print(f"| {shape.name} | " + " | ".join(cells) + " |", flush=True)
    means = [math.exp(float(np.mean(np.log(column)))) for column in zip(*ratios, strict=True)]
    print(f"\nGeometric means: {means[0]:.3f} of JAX's time, {means[1]:.3f} of PyTorch's.")


if __name__ == "__main__":
    main()
