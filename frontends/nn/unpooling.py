"""Pooling with positions, and elements put back where they came from."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.library.calling import Function, aten
from wengert.eager.operations.functional import isfinite
from wengert.eager.operations.reading import seen
from wengert.eager.recording import dispatch
from wengert.nn.windows import spread


def max_pool_with_positions(n: int) -> Function:
    """The largest element of every window over n dimensions, and its position in the flattened window dimensions."""

    def run(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Any:
        if n == 1:
            window, space, apart = (spread(v, 1) for v in (kernel_size, padding, dilation))
            step = spread(stride, 1) if stride not in (None, ()) else window
            y, places = max_pool_with_positions(2)(x.unsqueeze(-2), [1, *window], [1, *step], [0, *space], [1, *apart], ceil_mode)
            return y.squeeze(-2), places.squeeze(-2)
        window, space, apart = (list(spread(v, n)) for v in (kernel_size, padding, dilation))
        step = list(spread(stride, n)) if stride not in (None, ()) else window
        return aten(f"max_pool{n}d_with_indices.default")(x, window, step, space, apart, ceil_mode)

    return run


def adaptive_max_pool_with_positions(n: int) -> Function:
    """The largest element of each of so many windows, and its position in the flattened dimensions."""

    def run(x: Any, output_size: Any) -> Any:
        sizes = listed(output_size) * (n if len(listed(output_size)) == 1 else 1)
        extents = x.array.shape[-n:]
        counts = [m if k is None else k for m, k in zip(extents, sizes, strict=True)]
        numbers = np.arange(prod(extents)).reshape(extents)
        places = np.empty((*x.array.shape[:-n], *counts), np.int64)
        elements = seen(x)
        for at in np.ndindex(*counts):
            part = tuple(slice(i * m // k, -(-(i + 1) * m // k)) for i, m, k in zip(at, extents, counts, strict=True))
            window = elements[(..., *part)].reshape(*x.array.shape[:-n], -1)
            places[(..., *at)] = numbers[part].reshape(-1)[np.where(np.isnan(window), np.inf, window).argmax(-1)]
        index = dispatch.new(places)
        rows = x.reshape(*x.array.shape[:-n], -1).gather(-1, index.reshape(*places.shape[:-n], -1))
        return rows.reshape(*places.shape), index

    return run


def max_unpool(n: int) -> Function:
    """Elements put back at positions, zeros elsewhere; the extents are those that windows of this size would have covered."""

    def run(x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Any:
        window, space = (list(spread(v, n)) for v in (kernel_size, padding))
        step = list(spread(stride, n)) if stride not in (None, ()) else window
        usual = [(m - 1) * s - 2 * p + k for m, s, p, k in zip(x.array.shape[-n:], step, space, window, strict=True)]
        extents = usual if output_size is None else list(output_size)[-n:]
        lead = x.array.shape[:-n]
        flat, places = x.reshape(*lead, -1), indices.reshape(*lead, -1)
        empty = dispatch.constant(np.zeros((*lead, prod(extents)), x.array.dtype))
        # Of several elements for one place the last one stays, but all have its gradient, as in PyTorch.
        fixed = flat.detach()
        shift = (flat - fixed).masked_fill(~isfinite(fixed), 0)
        return empty.scatter(-1, places, fixed).scatter_add(-1, places, shift).reshape(*lead, *extents)

    return run
