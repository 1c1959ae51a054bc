"""Pooling of images over windows. Of equal largest elements the first one gets the gradient, as in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import ShapeError
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, register
from wengert.eager.tensor import Tensor
from wengert.frontends.windows import Windows, window_count
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.nn.convolution import Pair, pair

OPERATIONS: dict[str, Operation] = {}
Layout = tuple[Pair, Pair, Pair, Pair, Pair]
"""The numbers of windows, their extents, strides, the padding, and the distances within a window."""


def _windows(x: Value, layout: Layout) -> Windows:
    first = len(shape(x)) - 2
    return Windows(first, shape(x)[first:], *layout)


def _max(b: OpBuilder, x: Sequence[Value], layout: Layout) -> list[Value]:
    return [_windows(x[0], layout).reduce(b, core.Kind.max, x[0])]


def _mean(b: OpBuilder, x: Sequence[Value], given: tuple[Layout, bool, int | None]) -> list[Value]:
    layout, padded, divisor = given
    windows = _windows(x[0], layout)
    total = windows.reduce(b, core.Kind.add, x[0])
    counts = windows.counts(padded) if divisor is None else np.full(layout[0], divisor)
    rank = len(shape(total))
    return [b.divide(total, b.broadcast_in_dim(b.constant(counts.astype(dtype_of(element(total)))), [rank - 2, rank - 1], shape(total)))]


MAX_POOL = register(OPERATIONS, "max_pool2d", "MaxPool2DWithIndicesBackward0", _max)
AVG_POOL = register(OPERATIONS, "avg_pool2d", "AvgPool2DBackward0", _mean)


def _layout(name: str, x: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Layout:
    if x.ndim not in (3, 4) or not x.is_floating_point():
        raise ShapeError(f"{name}: expected an image [c, h, w] or images [n, c, h, w] of floats, found {x.dtype.name}{list(x.shape)}")
    window, space, apart = pair(kernel), pair(padding), pair(dilation)
    step = window if stride is None or stride == () else pair(stride)
    if min(*window, *step, *apart) < 1 or any(2 * p > k or p < 0 for p, k in zip(space, window, strict=True)):
        raise ShapeError(f"{name}: windows of {window} with a stride of {step}: all must be positive, and the padding at most half of a window, found {space}")
    h, w = (window_count(*one, ceil_mode) for one in zip(x.shape[-2:], window, step, space, apart, strict=True))
    if h < 1 or w < 1:
        raise ShapeError(f"{name}: no window of {window} fits an image of {x.shape[-2:]} with a padding of {space}")
    return (h, w), window, step, space, apart


def max_pool2d(
    x: Tensor,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window of ``x: [n, c, h, w]`` or ``[c, h, w]``; with ``return_indices`` also its position in the flattened image.

    Windows are ``stride`` apart (their own extent by default); ``ceil_mode`` takes one more where a part of it is in the image.
    """
    if return_indices:
        from wengert.nn.unpooling import max_pool_with_positions

        return max_pool_with_positions(2)(x, kernel_size, stride, padding, dilation, ceil_mode)
    return dispatch.apply(MAX_POOL, (x,), _layout("max_pool2d", x, kernel_size, stride, padding, dilation, ceil_mode))


def avg_pool2d(
    x: Tensor,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of every window, in which zeros of the padding count unless told otherwise; or the sum, divided by a number."""
    if divisor_override == 0:
        raise ShapeError("avg_pool2d: divisor_override must not be 0")
    layout = _layout("avg_pool2d", x, kernel_size, stride, padding, 1, ceil_mode)
    return dispatch.apply(AVG_POOL, (x,), (layout, bool(count_include_pad), divisor_override))
