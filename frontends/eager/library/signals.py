"""Short-time Fourier transforms and incomplete gamma functions of tensors: meanings of ATen ops under PyTorch's names."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from typing import Any

import numpy as np

from wengert.eager.errors import ShapeError
from wengert.eager.library.calling import Function, aten

_STFT, _ISTFT = aten("stft.default"), aten("istft.default")


def stft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """Fourier transforms of frames of signals ``[l]`` or ``[n, l]`` -> ``[n, frequencies, frames]``.

    Raises:
        ShapeError: a real signal without ``return_complex``, which PyTorch asks for too.
    """
    if align_to_window is not None and center:
        raise ShapeError("stft: align_to_window is only for center=False")
    if center:
        from wengert.nn.padding import pad

        extents, rank = x.array.shape, x.array.ndim
        wide = pad(x.reshape(*(1,) * (3 - rank), *extents), [n_fft // 2, n_fft // 2], pad_mode)
        x = wide.reshape(*extents[:-1], wide.array.shape[-1])
    is_complex = x.array.dtype.kind == "c" or (window is not None and window.array.dtype.kind == "c")
    if return_complex is None and not is_complex:
        raise ShapeError("stft requires the return_complex parameter be given for real inputs")
    wanted = True if return_complex is None else bool(return_complex)
    return _STFT(x, n_fft, hop_length, win_length, window, normalized, onesided, wanted, align_to_window)


def istft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """Signals from what :func:`stft` makes of them.

    Raises:
        ShapeError: the spectrogram is not complex.
    """
    if x.array.dtype.kind != "c":
        raise ShapeError(f"istft requires a complex-valued input tensor, found {np.dtype(x.array.dtype)}")
    return _ISTFT(x, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex)


SIGNALS: dict[str, Function] = {
    "stft": stft,
    "istft": istft,
    "igamma": aten("igamma.default"),
    "igammac": aten("igammac.default"),
}
GAMMAS: dict[str, Function] = {"gammainc": SIGNALS["igamma"], "gammaincc": SIGNALS["igammac"]}
