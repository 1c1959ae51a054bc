"""Fourier transforms of frames of a signal, and back (D. W. Griffin and J. S. Lim, "Signal estimation from modified short-time Fourier transform", 1984)."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod, sqrt
from typing import Any

from xdsl.dialects.builtin import TensorType

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.indexing import index, scattered
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.result_types.promotion import complex_of
from wengert.frontends.aten.signals.fourier import c2c, c2r, r2c
from wengert.ir.tensor_types import element, i64, is_complex, real_element, shape, tensor

_NO_FACTOR, _BY_LENGTH = 0, 2
"""Of the transforms of the whole: no factor, or one over the length."""


def _is_onesided(given: Mapping[str, Any]) -> bool:
    wanted = given["onesided"]
    window = given["window"]
    return not (is_complex(element(given["self"])) or (window is not None and is_complex(element(window)))) if wanted is None else bool(wanted)


def _hop(n_fft: int, hop_length: int | None) -> int:
    return n_fft // 4 if hop_length is None else hop_length


def spectrogram(given: Mapping[str, Any]) -> tuple[TensorType[Any]]:
    """Frequencies by frames, of each signal."""
    x, n = given["self"], given["n_fft"]
    frames = (shape(x)[-1] - n) // _hop(n, given["hop_length"]) + 1
    extents = (*shape(x)[:-1], n // 2 + 1 if _is_onesided(given) else n, frames)
    own = real_element(element(x))
    return (tensor(extents, complex_of(own)) if given["return_complex"] else tensor((*extents, 2), own),)


def signal(given: Mapping[str, Any]) -> tuple[TensorType[Any]]:
    """Elements of each signal."""
    x, n = given["self"], given["n_fft"]
    hop = _hop(n, given["hop_length"])
    whole = n + hop * (shape(x)[-1] - 1)
    length = given["length"]
    if length is None:
        length = whole - 2 * (n // 2) if given["center"] else whole
    own = element(x)
    return (tensor((*shape(x)[:-2], length), own if given["return_complex"] else real_element(own)),)


def _window(b: AtenBuilder, window: Value | None, n: int, length: int, like: Value) -> Value:
    """The window, or ones, in the middle of n elements."""
    made = b.full(1, tensor((length,), real_element(element(like)))) if window is None else window
    left = (n - length) // 2
    return made if length == n else b.pad(made, b.scalar(0, element(made)), [left], [n - length - left])


@means(
    "stft.default(self, n_fft, hop_length=None, win_length=None, window=None, normalized=False, onesided=None, return_complex=None, align_to_window=None)",
    results=spectrogram,
)
def stft(
    b: AtenBuilder,
    x: Value,
    n: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Value | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Value:
    """x: [..., l] -> [..., n / 2 + 1, frames]; frame i is of the elements from i hop on."""
    if align_to_window:
        raise b.refuse("stft with align_to_window has no translation", "pad the signal, and leave align_to_window out")
    hop = _hop(n, hop_length)
    frames = b.extents[-1] if return_complex else b.extents[-2]
    extents = (frames, n)
    places = b.add(b.multiply(b.iota(0, tensor(extents, i64)), b.full(hop, tensor(extents, i64))), b.iota(1, tensor(extents, i64)))
    cut = index(b, x, [*[None] * (len(shape(x)) - 1), places])
    shaped = _window(b, window, n, win_length or n, x)
    if is_complex(element(shaped)) and not is_complex(element(cut)):
        cut = b.convert(cut, element(shaped))
    cut = b.multiply(cut, b.expanded(b.convert(shaped, element(cut)), shape(cut)))
    last = len(shape(cut)) - 1
    half = _is_onesided({"self": x, "window": window, "onesided": onesided})
    made = c2c(b, cut, [last], _NO_FACTOR, True) if is_complex(element(cut)) else r2c_of(b, cut, last, half)
    if half and is_complex(element(cut)):
        made = b.slice(made, [0] * (last + 1), [*shape(made)[:-1], n // 2 + 1])
    if normalized:
        made = b.multiply(made, b.full_like(made, 1 / sqrt(n)))
    made = b.transpose(made, [*range(last - 1), last, last - 1])
    if return_complex:
        return made
    parts = [b.reshape(part, [*shape(made), 1]) for part in (b.real(made), b.imag(made))]
    return b.concatenate(parts, len(shape(made)))


def r2c_of(b: AtenBuilder, x: Value, dim: int, onesided: bool) -> Value:
    """The transform of real numbers along a dimension, half or whole."""
    if onesided:
        return r2c(b, x, [dim], _NO_FACTOR, True)
    return c2c(b, b.convert(x, complex_of(element(x))), [dim], _NO_FACTOR, True)


@means(
    "istft.default(self, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, "
    "length=None, return_complex=False)",
    results=signal,
)
def istft(
    b: AtenBuilder,
    x: Value,
    n: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Value | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Value:
    """x: [..., n / 2 + 1, frames] -> [..., l]: frames are added where they lie, and divided by the squared windows that lie there."""
    hop, (*outer, frequencies, frames) = _hop(n, hop_length), shape(x)
    last = len(shape(x)) - 1
    turned = b.transpose(x, [*range(last - 1), last, last - 1])
    half = frequencies != n if onesided is None else onesided
    if normalized:
        turned = b.multiply(turned, b.full_like(turned, sqrt(n)))
    if return_complex:
        cut = c2c(b, turned, [last], _BY_LENGTH, False)
    elif half:
        cut = c2r(b, turned, [last], _BY_LENGTH, n)
    else:
        cut = b.real(c2c(b, turned, [last], _BY_LENGTH, False))
    shaped = b.convert(_window(b, window, n, win_length or n, x), element(cut))
    cut = b.multiply(cut, b.expanded(shaped, shape(cut)))
    whole, count = n + hop * (frames - 1), frames * n
    rows = b.reshape(cut, [prod(outer), count])
    places = b.add(b.multiply(b.iota(0, type := tensor((frames, n), i64)), b.full(hop, type)), b.iota(1, type))
    flat = b.reshape(places, [count])
    blank = b.full(0, tensor((prod(outer), whole), element(cut)))
    added = scattered(b, core.Kind.add, blank, 1, b.broadcast_in_dim(flat, [1], shape(rows)), rows)
    squares = b.reshape(b.expanded(b.multiply(shaped, shaped), [frames, n]), [count])
    envelope = scattered(b, core.Kind.add, b.full(0, tensor((whole,), element(cut))), 0, flat, squares)
    start = n // 2 if center else 0
    end = min(whole, start + b.extents[-1])
    divided = b.divide(
        b.slice(added, [0, start], [shape(added)[0], end]), b.broadcast_in_dim(b.slice(envelope, [start], [end]), [1], [shape(added)[0], end - start])
    )
    missing = b.extents[-1] - (end - start)
    if missing:
        divided = b.pad(divided, b.scalar(0, element(divided)), [0, 0], [0, missing])
    return b.reshape(divided, b.extents)
