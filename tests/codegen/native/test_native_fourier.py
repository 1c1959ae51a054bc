"""Fourier transforms in native code against NumPy's, in double precision.

The error is bounded relative to the norm of the result: 6 units in the last place, which is what sums of log2 n roundings of random
sign come to at these lengths, with room for the three transforms of Bluestein's method.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from native_checks import DTYPES, function, tensor

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.transforms.codegen.cpu.native.fourier.tables import radices
from wengert.transforms.fuse.fourier.roots import prime_factors, roots
from wengert.transforms.schedule.host import host
from wengert.transforms.schedule.target import Target

_fft: Any = np.fft
NUMPY: dict[str, Any] = {"FFT": _fft.fftn, "IFFT": _fft.ifftn, "RFFT": _fft.rfftn, "IRFFT": _fft.irfftn}
UNITS = 6


def _op(kind: str, shape: Sequence[int], rank: int, element: str) -> tuple[str, tuple[tuple[int, ...], str], tuple[tuple[int, ...], str]]:
    """The op's text, and shapes and element types of operand and result; ``shape`` is that of the real side."""
    real, whole, half = (tuple(shape), element), (tuple(shape), f"complex<{element}>"), ((*shape[:-1], shape[-1] // 2 + 1), f"complex<{element}>")
    operand, result = {"FFT": (whole, whole), "IFFT": (whole, whole), "RFFT": (real, half), "IRFFT": (half, real)}[kind]
    lengths = ", ".join(map(str, shape[len(shape) - rank :]))
    return f'"stablehlo.fft"($in) <{{fft_type = #stablehlo<fft_type {kind}>, fft_length = array<i64: {lengths}>}}> : $type', operand, result


def transform(kind: str, shape: Sequence[int], rank: int, element: str) -> tuple[str, tuple[int, ...], str]:
    """A function of one transform, and the shape and element type of its operand."""
    op, operand, result = _op(kind, shape, rank, element)
    return function([tensor(*operand)], [tensor(*result)], op), *operand


def numbers(shape: Sequence[int], element: str, seed: int = 0) -> np.ndarray:
    """Normally distributed, complex or not."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return np.asarray(x + 1j * rng.normal(size=shape) if "complex" in element else x).astype(DTYPES[element])


def check(kind: str, shape: Sequence[int], rank: int, element: str) -> None:
    """Compares one transform of random numbers with NumPy's."""
    text, operand, operand_type = transform(kind, shape, rank, element)
    compiled = compile(parse_module(text))
    assert not compiled.stats.interpreted
    x = numbers(operand, operand_type)
    kept = x.copy()
    (actual,) = compiled(x)
    assert x.tobytes() == kept.tobytes()
    wide = x.astype(np.complex128 if "complex" in operand_type else np.float64)
    wanted = NUMPY[kind](wide, s=shape[len(shape) - rank :], axes=tuple(range(-rank, 0)))
    assert actual.shape == wanted.shape
    error = np.linalg.norm((actual - wanted).ravel()) / max(np.linalg.norm(wanted.ravel()), 1e-30)
    assert error <= UNITS * np.finfo(DTYPES[element]).eps, (kind, shape, error)


@pytest.mark.parametrize("element", ["f64", "f32"])
@pytest.mark.parametrize("kind", NUMPY)
def test_lengths_in_one_program(kind: str, element: str) -> None:
    """All lengths to 64, and longer ones: powers of two, products of small primes, primes, all in one module."""
    lengths = [*range(1, 65), 67, 96, 100, 101, 105, 128, 143, 202, 211, 256, 300, 512, 1000, 1009, 1024, 2048, 4096]
    transforms = [_op(kind, (n,), 1, element) for n in lengths]
    operands, results = ([tensor(*each[side]) for each in transforms] for side in (1, 2))
    lines = [
        f"%r{n} = {op}".replace("$in", f"%a{n}").replace("$type", f"({x}) -> {y}")
        for n, ((op, _, _), x, y) in enumerate(zip(transforms, operands, results, strict=True))
    ]
    arguments = ", ".join(f"%a{n}: {x}" for n, x in enumerate(operands))
    names = ", ".join(f"%r{n}" for n in range(len(lengths)))
    kinds = ", ".join(results)
    lines = [f"func.func @main({arguments}) -> ({kinds}) {{", *lines, f"return {names} : {kinds}", "}"]
    inputs = [numbers(*operand, seed=n) for n, (_, operand, _) in zip(lengths, transforms, strict=True)]
    compiled = compile(parse_module("\n".join(lines)))
    assert not compiled.stats.interpreted
    for n, x, y in zip(lengths, inputs, compiled(*inputs), strict=True):
        wanted = NUMPY[kind](x.astype(np.complex128 if x.dtype.kind == "c" else np.float64), s=(n,), axes=(0,))
        error = np.linalg.norm(y - wanted) / np.linalg.norm(wanted)
        assert error <= UNITS * np.finfo(DTYPES[element]).eps, (n, error)


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize(
    ("shape", "rank", "element"),
    [
        ((9, 12), 1, "f64"),  # lines in the lanes, the last of them twice
        ((9, 12), 1, "f32"),
        ((2, 3, 30), 1, "f32"),
        ((9, 67), 1, "f64"),
        ((9, 67), 1, "f32"),
        ((5, 256), 1, "f64"),
        ((4, 6), 2, "f32"),
        ((3, 7, 11), 2, "f64"),
        ((5, 134, 3), 2, "f32"),
        ((16, 32), 2, "f64"),
        ((2, 3, 4, 5), 3, "f64"),
        ((8, 1, 6), 3, "f32"),
        ((1, 1), 2, "f64"),
        ((3, 1), 1, "f32"),
    ],
)
def test_batches_and_dimensions(kind: str, shape: tuple[int, ...], rank: int, element: str) -> None:
    check(kind, shape, rank, element)


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("lengths", [(2, 1), (4, 1), (1, 2), (1, 2, 1), (3, 1, 1), (2, 3, 1)])
def test_batches_that_are_no_multiple_of_the_lanes(kind: str, lengths: tuple[int, ...]) -> None:
    for batch in (3, 5, 17):
        check(kind, (batch, *lengths), len(lengths), "f64")


@pytest.mark.parametrize("bytes_", [16, 64])
@pytest.mark.parametrize("kind", NUMPY)
def test_other_vectors(kind: str, bytes_: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of other processors, which LLVM takes apart or leaves half empty here."""
    machine = host()
    other = type(machine)(machine.triple, machine.cpu, machine.features, Target(machine.target.name, bytes_, 16, machine.target.has_f16))
    monkeypatch.setattr(sys.modules[compile.__module__], "host", lambda: other)
    for shape, rank, element in (((2048,), 1, "f32"), ((20, 15), 1, "f32"), ((9, 20), 2, "f64")):
        check(kind, shape, rank, element)


@pytest.mark.parametrize("n", [4, 12, 64, 67])
@pytest.mark.parametrize("kind", NUMPY)
def test_what_is_not_finite(kind: str, n: int) -> None:
    """NaN reaches results and infinities make them infinite or NaN; in the imaginary part of what a real signal's mean is, neither counts."""
    text, operand, element = transform(kind, (n,), 1, "f64")
    compiled = compile(parse_module(text))
    for special in (np.nan, np.inf):
        x = numbers(operand, element)
        x[1] = special
        with np.errstate(invalid="ignore"):
            (actual,) = compiled(x)
        assert not np.isfinite(actual).all()
    if kind == "IRFFT":
        x = numbers(operand, element)
        x[0] = x[0].real + 1j * np.nan
        np.testing.assert_allclose(compiled(x)[0], np.fft.irfft(x, n), atol=1e-14)


def test_empty_batches_and_long_lines() -> None:
    text, operand, element = transform("FFT", (0, 8), 1, "f64")
    assert compile(parse_module(text))(numbers(operand, element))[0].shape == (0, 8)
    long = compile(parse_module(transform("FFT", (1 << 17,), 1, "f32")[0]))
    assert long.stats.interpreted == {"stablehlo.fft": 1}


@pytest.mark.parametrize(
    ("kind", "shape", "rank"), [("FFT", (3, 12), 1), ("IFFT", (2, 67), 1), ("RFFT", (4, 6), 2), ("IRFFT", (3, 16), 2), ("IRFFT", (15,), 1)]
)
def test_derivatives(kind: str, shape: tuple[int, ...], rank: int) -> None:
    """The JVP is the transform of the tangent, and the VJP its transpose: <y_bar, F x_dot> = <F^T y_bar, x_dot> without conjugation."""
    import wengert as wg

    text, operand, element = transform(kind, shape, rank, "f64")
    program = wg.parse(text)
    x, x_dot = numbers(operand, element), numbers(operand, element, 1)
    forward, backward = program.jvp().compile(), program.vjp().compile()
    y, y_dot = forward(x, x_dot)
    np.testing.assert_allclose(y_dot, program.compile()(x_dot)[0], atol=1e-13)
    y_bar = numbers(y.shape, "complex<f64>" if np.iscomplexobj(y) else "f64", 2)
    _, x_bar = backward(x, y_bar)
    left, right = np.sum(y_bar * y_dot), np.sum(x_bar * x_dot)
    if kind in ("RFFT", "IRFFT"):  # linear over the reals only
        left, right = np.real(left), np.real(right)
    np.testing.assert_allclose(left, right, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 7, 12, 64, 360, 2 * 61, 65536])
def test_tables(n: int) -> None:
    """Radices multiply to the length; roots of unity are right to an ulp."""
    import mpmath as mp

    assert np.prod(radices(n)) == n
    assert np.prod(prime_factors(n)) == n
    sample = np.unique(np.linspace(0, n - 1, 50).astype(np.int64))
    with mp.workdps(30):
        exact = [mp.expjpi(mp.mpf(-2 * int(k)) / n) for k in sample]
        worst = max(max(abs(z.real - w.real), abs(z.imag - w.imag)) for z, w in zip(roots(sample, n), exact, strict=True))
    assert worst <= 1.5 * 2.0**-53
