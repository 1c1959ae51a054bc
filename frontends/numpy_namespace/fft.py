"""The standard's Fourier extension: transforms along one or several dimensions, frequencies, and shifts of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from wengert.dialects import stablehlo as hlo
from wengert.dialects.stablehlo import attributes as sa
from wengert.frontends.tracing.operands import axes_of, axis_of, builder, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.ir.attributes import int_array
from wengert.ir.tensor_types import element, real_element, shape, tensor
from wengert.numpy.devices import on_device
from wengert.numpy.dispatch import Array, ArrayLike, concrete_by
from wengert.numpy.elementwise import conj
from wengert.numpy.manipulation import moveaxis, pad, roll

Norm = Literal["backward", "ortho", "forward"]


def _fitted(x: Any, n: int, axis: int) -> Any:
    """The array cut or padded with zeros to n elements along a dimension."""
    have = x.shape[axis]
    if n < have:
        return x[(slice(None),) * axis + (slice(0, n),)]
    return pad(x, [(0, n - have) if d == axis else (0, 0) for d in range(x.ndim)]) if n > have else x


def _scale(n: int, norm: Norm, inverse: bool) -> float:
    """The factor that gives the norm to a transform that divides by n when it is inverse."""
    if norm == "backward":
        return 1.0
    if norm == "ortho":
        return n**0.5 if inverse else n**-0.5
    return float(n) if inverse else 1.0 / n


def _one(kind: sa.FftType, x: Any, n: int, axis: int, norm: Norm) -> Any:
    """One transform along one dimension."""
    inverse = kind in (sa.FftType.IFFT, sa.FftType.IRFFT)
    half = n // 2 + 1
    x = moveaxis(_fitted(x, half if kind is sa.FftType.IRFFT else n, axis), axis, -1)
    value = value_of(x, _dtype(x.dtype, kind))
    last = {sa.FftType.RFFT: half, sa.FftType.IRFFT: n}.get(kind, n)
    element_type = element(value)
    if kind is sa.FftType.RFFT:
        from xdsl.dialects.builtin import ComplexType

        element_type = ComplexType(element_type)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]
    elif kind is sa.FftType.IRFFT:
        element_type = real_element(element_type)
    result = tensor((*shape(value)[:-1], last), element_type)  # pyright: ignore[reportUnknownArgumentType]
    transformed = traced(builder().one(hlo.FftOp, (value,), result, fft_type=sa.FftTypeAttr(kind), fft_length=int_array((n,))))
    scale = _scale(n, norm, inverse)
    return moveaxis(transformed if scale == 1.0 else transformed * scale, -1, axis)


def _dtype(dtype: Any, kind: sa.FftType) -> Any:
    single = dtype in (np.float32, np.complex64)
    if kind is sa.FftType.RFFT:
        return np.dtype(np.float32 if single else np.float64)
    return np.dtype(np.complex64 if single else np.complex128)


def _along(kind: sa.FftType, x: Any, n: int | None, axis: int, norm: Norm) -> Any:
    d = axis_of(axis, x.ndim)
    extent: int = x.shape[d]
    return _one(kind, x, n if n is not None else 2 * (extent - 1) if kind is sa.FftType.IRFFT else extent, d, norm)


@concrete_by(np.fft.fft)
def fft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The discrete Fourier transform along a dimension."""
    return _along(sa.FftType.FFT, x, n, axis, norm)


@concrete_by(np.fft.ifft)
def ifft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The inverse of :func:`fft`."""
    return _along(sa.FftType.IFFT, x, n, axis, norm)


@concrete_by(np.fft.rfft)
def rfft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The first half of the transform of real numbers, which says all."""
    return _along(sa.FftType.RFFT, x, n, axis, norm)


@concrete_by(np.fft.irfft)
def irfft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The inverse of :func:`rfft`; ``n`` is the number of real results, an even one by default."""
    return _along(sa.FftType.IRFFT, x, n, axis, norm)


@concrete_by(np.fft.hfft)
def hfft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The real transform of half a Hermitian sequence."""
    n = 2 * (x.shape[axis] - 1) if n is None else n
    swapped: dict[str, Norm] = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
    return irfft(conj(x), n=n, axis=axis, norm=swapped[norm])


@concrete_by(np.fft.ihfft)
def ihfft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The inverse of :func:`hfft`."""
    swapped: dict[str, Norm] = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
    return conj(rfft(x, n=n, axis=axis, norm=swapped[norm]))


def _chosen(x: Any, s: Sequence[int] | None, axes: Sequence[int] | None) -> tuple[list[int | None], list[int]]:
    dims = list(axes_of(tuple(axes), x.ndim)) if axes is not None else list(range(x.ndim))[-len(s) :] if s is not None else list(range(x.ndim))
    return [None] * len(dims) if s is None else list(s), dims


def _over(function: Callable[..., Any], x: Any, s: Sequence[int | None], dims: Sequence[int], norm: Norm) -> Any:
    for n, d in zip(s, dims, strict=True):
        x = function(x, n=n, axis=d, norm=norm)
    return x


@concrete_by(np.fft.fftn)
def fftn(x: ArrayLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward") -> Array:
    """The transform along several dimensions, all by default."""
    return _over(fft, x, *_chosen(x, s, axes), norm)


@concrete_by(np.fft.ifftn)
def ifftn(x: ArrayLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward") -> Array:
    """The inverse of :func:`fftn`."""
    return _over(ifft, x, *_chosen(x, s, axes), norm)


@concrete_by(np.fft.rfftn)
def rfftn(x: ArrayLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward") -> Array:
    """The transform of real numbers along several dimensions, half of it along the last."""
    sizes, dims = _chosen(x, s, axes)
    return _over(fft, rfft(x, n=sizes[-1], axis=dims[-1], norm=norm), sizes[:-1], dims[:-1], norm)


@concrete_by(np.fft.irfftn)
def irfftn(x: ArrayLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward") -> Array:
    """The inverse of :func:`rfftn`."""
    sizes, dims = _chosen(x, s, axes)
    return irfft(_over(ifft, x, sizes[:-1], dims[:-1], norm), n=sizes[-1], axis=dims[-1], norm=norm)


@on_device
def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of :func:`fft` for samples at distance ``d``."""
    frequencies = np.fft.fftfreq(n, d) if not isinstance(d, TracedArray) else np.fft.fftfreq(n) / d
    return frequencies if dtype is None else frequencies.astype(dtype)


@on_device
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of :func:`rfft` for samples at distance ``d``."""
    frequencies = np.fft.rfftfreq(n, d) if not isinstance(d, TracedArray) else np.fft.rfftfreq(n) / d
    return frequencies if dtype is None else frequencies.astype(dtype)


@concrete_by(np.fft.fftshift)
def fftshift(x: ArrayLike, /, *, axes: Any = None) -> Array:
    """Frequency 0 moved to the middle."""
    dims = axes_of(axes, x.ndim)
    return roll(x, tuple(x.shape[d] // 2 for d in dims), axis=dims)


@concrete_by(np.fft.ifftshift)
def ifftshift(x: ArrayLike, /, *, axes: Any = None) -> Array:
    """The inverse of :func:`fftshift`."""
    dims = axes_of(axes, x.ndim)
    return roll(x, tuple(-(x.shape[d] // 2) for d in dims), axis=dims)


__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]
