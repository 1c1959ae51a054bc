"""Convolutions and pooling over one, two or three dimensions, transposed convolutions, and windows as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import ShapeError
from wengert.eager.library.calling import aten
from wengert.eager.operations.creation import zeros
from wengert.eager.operations.joining import stack
from wengert.eager.operations.memory.windows import unfold
from wengert.eager.recording import dispatch
from wengert.nn.convolution import check_window, spread
from wengert.nn.padding import pad

_CONVOLUTION = aten("convolution.default")
Function = Callable[..., Any]


def convolution(n: int) -> Function:
    """The cross-correlation over n dimensions: ``x: [batch, c, ...]`` with ``weight: [m, c / groups, ...]``."""

    def run(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
        if x.array.ndim == n + 1:
            return run(x.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
        apart = spread(dilation, n)
        if isinstance(padding, str):
            whole = [(k - 1) * d for k, d in zip(weight.array.shape[2:], apart, strict=True)] if padding == "same" else [0] * n
            x = pad(x, [p for w in reversed(whole) for p in (w // 2, w - w // 2)])
            padding = 0
        check_window(f"conv{n}d", x.array.shape[2:], weight.array.shape[2:], spread(padding, n), apart)
        return _biased(_CONVOLUTION(x, weight, None, spread(stride, n), spread(padding, n), apart, False, [0] * n, groups), bias)

    return run


def transposed_convolution(n: int) -> Function:
    """The transpose of a convolution over n dimensions."""

    def run(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Any:
        if x.array.ndim == n + 1:
            return run(x.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation).squeeze(0)
        sizes = [spread(v, n) for v in (stride, padding, dilation)]
        return _biased(_CONVOLUTION(x, weight, None, *sizes, True, spread(output_padding, n), groups), bias)

    return run


def _biased(y: Any, bias: Any) -> Any:
    return y if bias is None else y + bias.reshape(-1, *(1,) * (y.array.ndim - 2))


# -- windows


def _cut(x: Any, n: int, window: Sequence[int], step: Sequence[int], apart: Sequence[int]) -> Any:
    """The windows of the last n dimensions, each as one last dimension."""
    rank = x.array.ndim
    for d in range(n):
        at = rank - n + d
        wide = unfold(x, at, (window[d] - 1) * apart[d] + 1, step[d])
        x = wide[..., :: apart[d]] if apart[d] > 1 else wide
    return x.reshape(*x.array.shape[:rank], prod(window))


def _more(x: Any, n: int, window: Sequence[int], step: Sequence[int], space: Sequence[int], apart: Sequence[int], ceil_mode: bool) -> list[int]:
    """How much the windows reach beyond the end where the last one may be cut off, for each dimension."""
    more: list[int] = []
    for d in range(n):
        size = x.array.shape[x.array.ndim - n + d]
        reach = (window[d] - 1) * apart[d] + 1
        left = size + 2 * space[d] - reach
        count = -(-left // step[d]) + 1 if ceil_mode else left // step[d] + 1
        if ceil_mode and (count - 1) * step[d] >= size + space[d]:
            count -= 1
        more.append(max((count - 1) * step[d] + reach - size - 2 * space[d], 0))
    return more


def _padded(x: Any, space: Sequence[int], more: Sequence[int], value: float) -> Any:
    return pad(x, [p for s, m in zip(reversed(space), reversed(more), strict=True) for p in (s, s + m)], value=value) if any((*space, *more)) else x


def max_pool(n: int) -> Function:
    """The largest element of every window over n dimensions."""

    def run(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
        if return_indices:
            from wengert.nn.unpooling import max_pool_with_positions

            return max_pool_with_positions(n)(x, kernel_size, stride, padding, dilation, ceil_mode)
        window, space, apart = (spread(v, n) for v in (kernel_size, padding, dilation))
        step = spread(stride, n) if stride not in (None, ()) else window
        more = _more(x, n, window, step, space, apart, ceil_mode)
        return _cut(_padded(x, space, more, -float("inf")), n, window, step, apart).max(-1)[0]

    return run


def avg_pool(n: int) -> Function:
    """The mean of every window over n dimensions."""

    def run(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        window, space = (spread(v, n) for v in (kernel_size, padding))
        step = spread(stride, n) if stride not in (None, ()) else window
        more = _more(x, n, window, step, space, [1] * n, ceil_mode)
        total = _cut(_padded(x, space, more, 0), n, window, step, [1] * n).sum(-1)
        if divisor_override:
            return total / divisor_override
        ones = 0 * x.detach() + 1
        counted = pad(ones, [s for s in reversed(space) for _ in range(2)], value=1) if count_include_pad and any(space) else ones
        left = [0] * n if count_include_pad else space
        return total / _cut(_padded(counted, left, more, 0), n, window, step, [1] * n).sum(-1)

    return run


def adaptive(n: int, largest: bool) -> Function:
    """Windows over n dimensions such that there are so many of them."""

    def run(x: Any, output_size: Any, return_indices: bool = False) -> Any:
        if return_indices:
            from wengert.nn.unpooling import adaptive_max_pool_with_positions

            return adaptive_max_pool_with_positions(n)(x, output_size)
        sizes = listed(output_size)
        sizes = sizes * n if len(sizes) == 1 else sizes
        for d in range(n):
            at = x.array.ndim - n + d
            size = x.array.shape[at]
            count = size if sizes[d] is None else sizes[d]
            parts = [x.narrow(at, i * size // count, -(-(i + 1) * size // count) - i * size // count) for i in range(count)]
            x = stack([part.max(at)[0] if largest else part.mean(at) for part in parts], at) if parts else x.narrow(at, 0, 0)
        return x

    return run


def lp_pool(n: int) -> Function:
    """The p-norm of every window over n dimensions."""

    def run(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        count = prod(spread(kernel_size, n))
        return (avg_pool(n)(x**norm_type, kernel_size, stride, 0, ceil_mode) * count).relu() ** (1 / norm_type)

    return run


def columns(x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Windows of images ``[n, c, h, w]`` as columns ``[n, c kh kw, windows]``."""
    if x.array.ndim == 3:
        return columns(x.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    window, apart, space, step = (spread(v, 2) for v in (kernel_size, dilation, padding, stride))
    cut = _cut(_padded(x, space, [0, 0], 0), 2, window, step, apart)
    return cut.permute(0, 1, 4, 2, 3).reshape(x.array.shape[0], x.array.shape[1] * prod(window), prod(cut.array.shape[2:4]))


def fold(x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The transpose of :func:`columns`: images ``[n, c, *output_size]`` that windows ``[n, c kh kw, windows]`` are added up to."""
    if x.array.ndim == 2:
        return fold(x.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    sizes, window, apart, space, step = (spread(v, 2) for v in (output_size, kernel_size, dilation, padding, stride))
    whole = [n + 2 * s for n, s in zip(sizes, space, strict=True)]
    counts = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(whole, window, apart, step, strict=True)]
    batch, rows, given = x.array.shape
    if rows % prod(window) or given != prod(counts):
        raise ShapeError(f"fold: {sizes} with windows of {window} has {prod(counts)} windows of c times {prod(window)}, found {list(x.array.shape)}")
    along = [np.arange(k)[:, None] * d + np.arange(n) * s for k, d, n, s in zip(window, apart, counts, step, strict=True)]
    places = along[0][:, None, :, None] * whole[1] + along[1][None, :, None, :]
    flat = x.reshape(batch, rows // prod(window), prod(window) * given)
    image = zeros(batch, rows // prod(window), prod(whole), dtype=x.array.dtype).index_add(2, dispatch.new(places.reshape(-1)), flat)
    return image.reshape(batch, -1, *whole)[:, :, space[0] : whole[0] - space[0], space[1] : whole[1] - space[1]]


def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    """Channels as pixels."""
    r, (*front, c, h, w) = upscale_factor, x.array.shape
    k = len(front)
    return x.reshape(*front, c // r**2, r, r, h, w).permute(*range(k), k, k + 3, k + 1, k + 4, k + 2).reshape(*front, c // r**2, h * r, w * r)


def pixel_unshuffle(x: Any, downscale_factor: int) -> Any:
    """Pixels as channels."""
    r, (*front, c, h, w) = downscale_factor, x.array.shape
    k = len(front)
    return x.reshape(*front, c, h // r, r, w // r, r).permute(*range(k), k, k + 2, k + 4, k + 1, k + 3).reshape(*front, c * r**2, h // r, w // r)


def channel_shuffle(x: Any, groups: int) -> Any:
    """Channels of groups dealt out in turn."""
    n, c, *rest = x.array.shape
    return x.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(n, c, *rest)
