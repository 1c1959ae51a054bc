"""Convolution with several channels, which the standard does not have and models need."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from wengert.frontends.tracing.errors import value_error
from wengert.frontends.tracing.operands import as_concrete, builder, is_traced, promoted, shape_of, traced
from wengert.numpy.dispatch import Array, ArrayLike

Sizes = int | Sequence[int]


def _sizes(given: Sizes, rank: int, name: str) -> tuple[int, ...]:
    """One number for each spatial dimension."""
    numbers = (given,) * rank if isinstance(given, int) else tuple(given)
    if len(numbers) != rank:
        raise value_error(f"convolution: {name} has {len(numbers)} numbers for {rank} spatial dimensions")
    return numbers


def convolution(x: ArrayLike, w: ArrayLike, /, *, stride: Sizes = 1, padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1) -> Array:
    """The cross-correlation of ``x: [n, c, ...]`` with ``w: [m, c / groups, ...]``, as :func:`torch.nn.functional.conv2d` has it, in any number
    of spatial dimensions: ``[n, m, ...]``.

    ``padding`` zeros are put on both sides, windows begin ``stride`` apart, and their elements are ``dilation`` apart. The channels of the
    result fall into ``groups``, each of which sees its share of the channels of ``x``.

    Raises:
        ValueError: shapes that do not go together, or a window that is larger than the padded image.
    """
    have, window = shape_of(x), shape_of(w)
    rank = len(have) - 2
    if rank < 0 or len(window) != len(have) or groups < 1 or have[1] != window[1] * groups or window[0] % groups:
        raise value_error(f"convolution: {list(have)} and {list(window)} do not go together in {groups} groups")
    strides, edges, steps = _sizes(stride, rank, "stride"), _sizes(padding, rank, "padding"), _sizes(dilation, rank, "dilation")
    if any(n + 2 * p < d * (k - 1) + 1 for n, k, p, d in zip(have[2:], window[2:], edges, steps, strict=True)):
        raise value_error(f"convolution: the window {list(window[2:])} is larger than the padded image {list(have[2:])}")
    if not is_traced(x, w):
        return _at_once(as_concrete(x), as_concrete(w), strides, edges, steps, groups)
    (a, b), weak = promoted(x, w)
    return traced(builder().convolution(a, b, strides, edges, steps, groups), weak)


def _at_once(x: Array, w: Array, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int) -> Array:
    """All windows beside each other, contracted with the weights."""
    rank = len(stride)
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    reach = [d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    windows = sliding_window_view(x, reach, axis=tuple(range(2, rank + 2)))
    windows = windows[(slice(None), slice(None), *(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation))]
    windows = windows.reshape(x.shape[0], groups, w.shape[1], *windows.shape[2:])
    weights = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    places, offsets = list(range(4, 4 + rank)), list(range(4 + rank, 4 + 2 * rank))
    products = np.einsum(windows, [0, 1, 2, *places, *offsets], weights, [1, 3, 2, *offsets], [0, 1, 3, *places], optimize=True)
    return products.reshape(x.shape[0], w.shape[0], *products.shape[3:])
