"""Padding, and images of other sizes."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (tables of one-line functions, whose arguments have no types)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import ShapeError
from wengert.eager.operations.joining import cat
from wengert.eager.recording import dispatch


def pad(x: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """x with more elements before and behind along its last dimensions, or fewer where numbers are negative.

    Args:
        x: any shape.
        pad: how many before and behind along the last dimension, the one before it, and so on.
        mode: "constant", "reflect", "replicate" or "circular".
        value: of constant elements, 0 by default.
    """
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise ShapeError(f"pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', found {mode!r}")
    for i in range(len(pad) // 2):
        before, behind, dim = int(pad[2 * i]), int(pad[2 * i + 1]), x.array.ndim - 1 - i
        if before or behind:
            x = _constant(x, dim, before, behind, 0.0 if value is None else value) if mode == "constant" else _by_position(x, dim, before, behind, mode)
    return x


def _constant(x: Any, dim: int, before: int, behind: int, value: float) -> Any:
    size = x.array.shape[dim]
    x = x.narrow(dim, max(-before, 0), size - max(-before, 0) - max(-behind, 0))

    def block(count: int) -> list[Any]:
        shape = (*x.array.shape[:dim], count, *x.array.shape[dim + 1 :])
        return [dispatch.constant(np.full(shape, value, x.array.dtype))] if count > 0 else []

    return cat([*block(before), x, *block(behind)], dim)


def _by_position(x: Any, dim: int, before: int, behind: int, mode: str) -> Any:
    size = x.array.shape[dim]
    places = np.arange(-before, size + behind)
    if mode == "circular":
        places %= size
    elif mode == "replicate":
        places = places.clip(0, size - 1)
    else:
        places = np.abs(places)
        places = np.where(places >= size, 2 * (size - 1) - places, places)
    return x.index_select(dim, dispatch.new(places))


def interpolate(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Images ``[n, c, ...]`` of another size, by the nearest pixel ("nearest", "nearest-exact"), by means of parts ("area"), or
    between pixels ("linear", "bilinear", "trilinear", "bicubic").

    Raises:
        ShapeError: the mode is none of these, or antialias is asked for.
    """
    n = x.array.ndim - 2
    own = x.array.shape[2:]
    scales = [None] * n if scale_factor is None else [float(s) for s in (listed(scale_factor) * n if len(listed(scale_factor)) == 1 else scale_factor)]
    sizes = (
        [int(np.floor(m * s)) for m, s in zip(own, scales, strict=True)]
        if size is None
        else [int(v) for v in (listed(size) * n if len(listed(size)) == 1 else size)]
    )  # pyright: ignore[reportOptionalOperand]
    if antialias:
        raise ShapeError("interpolate: antialias is not supported")
    if recompute_scale_factor:
        scales = [None] * n
    if mode == "area":
        from wengert.nn.windows import adaptive

        return adaptive(n, largest=False)(x, sizes)
    for d in range(n):
        x = _resized(x, 2 + d, sizes[d], scales[d] if size is None else None, mode, bool(align_corners))
    return x


def _resized(x: Any, dim: int, count: int, scale: float | None, mode: str, aligned: bool) -> Any:
    size = x.array.shape[dim]
    ratio = (size - 1) / (count - 1) if aligned and count > 1 else 0.0 if aligned else 1 / scale if scale else size / count
    i = np.arange(count)
    if mode in ("nearest", "nearest-exact"):
        if mode == "nearest" and count in (size, 2 * size):  # whatever the scale is that gave this size
            places = i * size // count
        else:
            places = np.floor((i + (0.5 if mode == "nearest-exact" else 0)) * ratio).astype(np.int64).clip(0, size - 1)
        return x.index_select(dim, dispatch.new(places))
    at = i * ratio if aligned else (i + 0.5) * ratio - 0.5
    if mode == "bicubic":
        low = np.floor(at).astype(np.int64)
        places, weights = [low + k for k in (-1, 0, 1, 2)], _cubic(at - low)
    elif mode in ("linear", "bilinear", "trilinear"):
        at = np.maximum(at, 0)
        low = np.floor(at).astype(np.int64)
        places, weights = [low, low + 1], [1 - (at - low), at - low]
    else:
        raise ShapeError(f"interpolate: mode {mode!r} is not one of nearest, nearest-exact, area, linear, bilinear, trilinear, bicubic")
    shape = [1] * x.array.ndim
    shape[dim] = count
    parts = [
        x.index_select(dim, dispatch.new(p.clip(0, size - 1))) * dispatch.new(w.astype(x.array.dtype).reshape(shape))
        for p, w in zip(places, weights, strict=True)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _cubic(t: Any) -> list[Any]:
    """The weights of four neighbours (R. Keys, "Cubic convolution interpolation for digital image processing", 1981; a = -0.75)."""
    a = -0.75

    def near(u: Any) -> Any:
        return ((a + 2) * u - (a + 3)) * u * u + 1

    def far(u: Any) -> Any:
        return ((a * u - 5 * a) * u + 8 * a) * u - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]
