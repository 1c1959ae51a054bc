"""Fourier transforms as stages on tensors against NumPy's in double precision.

The error is bounded relative to the norm of the result, by as many units in the last place as that of the transforms in machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from native_checks import DTYPES, function, tensor

from wengert.dialects import stablehlo
from wengert.dialects.kernel import InterpretOp, NativeOp, NestOp
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime import interpreter
from wengert.transforms.fuse.fourier.stages import radices
from wengert.transforms.pipelines import GPU_LOWER, parse_pipeline

_fft: Any = np.fft
NUMPY: dict[str, Any] = {"FFT": _fft.fftn, "IFFT": _fft.ifftn, "RFFT": _fft.rfftn, "IRFFT": _fft.irfftn}
UNITS = 6


def transform(kind: str, shape: Sequence[int], rank: int, element: str) -> tuple[str, np.ndarray[Any, Any]]:
    """A function of one transform, and an operand; the shape is that of the real side."""
    real, whole, half = (tuple(shape), element), (tuple(shape), f"complex<{element}>"), ((*shape[:-1], shape[-1] // 2 + 1), f"complex<{element}>")
    operand, result = {"FFT": (whole, whole), "IFFT": (whole, whole), "RFFT": (real, half), "IRFFT": (half, real)}[kind]
    lengths = ", ".join(map(str, shape[len(shape) - rank :]))
    op = f'"stablehlo.fft"($in) <{{fft_type = #stablehlo<fft_type {kind}>, fft_length = array<i64: {lengths}>}}> : $type'
    rng = np.random.default_rng(len(shape))
    x = rng.normal(size=operand[0])
    x = np.asarray(x + 1j * rng.normal(size=operand[0]) if "complex" in operand[1] else x).astype(DTYPES[operand[1]])
    return function([tensor(*operand)], [tensor(*result)], op), x


def assert_near(kind: str, shape: Sequence[int], rank: int, x: np.ndarray[Any, Any], actual: np.ndarray[Any, Any]) -> None:
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    wanted = NUMPY[kind](wide, s=shape[len(shape) - rank :], axes=tuple(range(-rank, 0)))
    assert actual.shape == wanted.shape
    error = np.linalg.norm((actual - wanted).ravel()) / max(np.linalg.norm(wanted.ravel()), 1e-30)
    assert error <= UNITS * np.finfo(x.dtype).eps, (kind, shape, error)


def check(kind: str, shape: Sequence[int], rank: int, element: str, pipeline: str) -> None:
    text, x = transform(kind, shape, rank, element)
    made = parse_pipeline(pipeline).run(parse_module(text))
    verify(made, "")
    assert not ops_of(made, stablehlo.FftOp, NativeOp, InterpretOp)
    (actual,) = interpreter.run(made, [x])
    assert_near(kind, shape, rank, x, np.asarray(actual))


@pytest.mark.parametrize("element", ["f64", "f32"])
@pytest.mark.parametrize("kind", NUMPY)
def test_lengths(kind: str, element: str) -> None:
    """Powers of two, products of small primes, primes with a matrix, and with a chirp."""
    for n in [*range(1, 33), 61, 64, 67, 96, 105, 122, 134, 143, 210, 256, 1000, 1009, 2048]:
        check(kind, (2, n), 1, element, "fourier-to-stages")


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize(
    ("shape", "rank"), [((3, 12), 1), ((2, 67), 1), ((5, 22), 1), ((4, 6), 2), ((3, 7, 11), 2), ((2, 3, 4, 5), 3), ((8, 1, 6), 3), ((1, 1), 2), ((3, 1), 1)]
)
def test_nests(kind: str, shape: tuple[int, ...], rank: int) -> None:
    """The kernels that they become."""
    check(kind, shape, rank, "f64", GPU_LOWER)


def test_one_nest_for_each_stage() -> None:
    text, _ = transform("FFT", (5, 512), 1, "f32")
    made = parse_pipeline(GPU_LOWER).run(parse_module(text))
    assert len(ops_of(made, NestOp)) == 3, "three of radix 8"


def test_nothing_to_transform() -> None:
    text, x = transform("FFT", (0, 8), 1, "f64")
    (actual,) = interpreter.run(parse_pipeline(GPU_LOWER).run(parse_module(text)), [x])
    assert np.shape(actual) == (0, 8)


@pytest.mark.parametrize("n", [4, 12, 64, 67])
@pytest.mark.parametrize("kind", NUMPY)
def test_what_is_not_finite(kind: str, n: int) -> None:
    """NaN reaches results and infinities make them infinite or NaN; in the imaginary part of what a real signal's mean is, neither counts."""
    text, x = transform(kind, (n,), 1, "f64")
    made = parse_pipeline("fourier-to-stages").run(parse_module(text))
    for special in (np.nan, np.inf):
        other = x.copy()
        other[1] = special
        with np.errstate(invalid="ignore"):
            assert not np.isfinite(interpreter.run(made, [other])[0]).all()
    if kind == "IRFFT":
        x[0] = x[0].real + 1j * np.nan
        np.testing.assert_allclose(interpreter.run(made, [x])[0], np.fft.irfft(x, n), atol=1e-14)


@pytest.mark.parametrize("n", [*range(1, 200), 4096, 1 << 20])
def test_radices(n: int) -> None:
    assert np.prod(radices(n)) == n
    assert radices(1 << 20) == [8, 8, 8, 8, 8, 8, 4]
