"""Computes the constants of a Fourier transform of one length: its radices, its roots of unity, and Bluestein's chirp.

Roots of unity are computed in double precision from angles below an eighth of a turn, so that each part is right to about one
unit in the last place, and are constants of the program, shared by all of its transforms.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder

IN_REGISTERS = (8, 7, 5, 4, 3, 2)
"""Radices whose butterflies are written out; other primes have a loop."""

LARGEST_PRIME = 61
"""Above it, a butterfly, whose work is quadratic, costs more than Bluestein's convolution."""

LARGEST = 1 << 16
"""Longer transforms do not stay in the caches: SciPy's, which are written for that, serve them better."""


def prime_factors(n: int) -> list[int]:
    """In ascending order, with multiplicity."""
    factors, p = list[int](), 2
    while n > 1:
        while n % p == 0:
            factors.append(p)
            n //= p
        p += 1
    return factors


def is_smooth(n: int) -> bool:
    """Whether all prime factors have butterflies."""
    return all(p <= LARGEST_PRIME for p in prime_factors(n))


def radices(n: int) -> tuple[int, ...]:
    """The radices of the stages, whose product is n. A radix of 1 copies: loops over primes work on scratch memory only."""
    primes = prime_factors(n)
    twos = primes.count(2)
    eight = 8 if twos % 2 and twos > 1 else 1
    written = [eight] * (eight > 1) + [4] * ((twos - 3 * (eight > 1)) // 2) + [2] * (twos == 1)
    written += [p for p in primes if p in (3, 5, 7)]
    looped = [p for p in primes if p > 7]
    if not looped:
        return tuple(written) or (1,)
    return (*(written[:1] or [1]), *looped, *(written[1:] or [1]))


def roots(numerators: NDArray[np.int64], n: int) -> NDArray[np.complex128]:
    """exp(-2 pi i k / n) for every k."""
    t = 8 * (numerators % n)  # a full turn is 8 n
    below = t > 4 * n
    t = np.where(below, 8 * n - t, t)
    left = t > 2 * n
    t = np.where(left, 4 * n - t, t)
    steep = t > n
    angle = np.where(steep, 2 * n - t, t) * (np.pi / (4 * n))
    cosine, sine = np.cos(angle), np.sin(angle)
    x, y = np.where(steep, sine, cosine), np.where(steep, cosine, sine)
    return np.where(left, -x, x) - 1j * np.where(below, -y, y)


def root(k: int, n: int) -> complex:
    """exp(-2 pi i k / n)."""
    return complex(roots(np.array([k]), n)[0])


def by_pairs(values: NDArray[np.complex128]) -> NDArray[np.float64]:
    """Real and imaginary parts, alternating."""
    return values.ravel().view(np.float64)


def by_planes(values: NDArray[np.complex128]) -> NDArray[np.float64]:
    """Along the last dimension all real parts, then all imaginary parts."""
    return np.concatenate([values.real, values.imag], axis=-1).ravel()


@lru_cache(maxsize=64)
def twiddles(n: int, radix: int) -> NDArray[np.complex128]:
    """The factors w^(p k), w = exp(-2 pi i / n), of a stage: [p < n / radix, 0 < k < radix]."""
    return roots(np.outer(np.arange(n // radix), np.arange(1, radix)), n)


def convolution_length(n: int) -> int:
    """The least length for Bluestein's cyclic convolution that has butterflies and many factors of 2."""
    return min(odd << max((-(-(2 * n - 1) // odd) - 1).bit_length(), 6) for odd in (1, 3, 5))


@lru_cache(maxsize=64)
def chirp(n: int) -> NDArray[np.complex128]:
    """exp(-pi i k^2 / n)."""
    return roots(np.arange(n) ** 2, 2 * n)


@lru_cache(maxsize=64)
def chirp_spectrum(n: int) -> NDArray[np.complex128]:
    """The transform of the conjugate chirp, to both sides of 0, divided by its length."""
    length = convolution_length(n)
    wave = np.zeros(length, np.complex128)
    wave[:n] = chirp(n).conj()
    wave[length - n + 1 :] = wave[1:n][::-1]
    return np.fft.fft(wave) / length


def table(builder: KernelBuilder, name: str, register: str, values: NDArray[np.float64]) -> str:
    """The address of a constant array of floats, which the module holds once. (A string is what LLVM reads fastest.)"""

    def definition() -> str:
        data = values.astype("<f8" if register == "double" else "<f4").tobytes()
        return f'@{symbol} = internal constant [{len(data)} x i8] c"\\{data.hex(chr(92))}", align 64\n'

    symbol = f"wg.fft.{register}.{name}"
    return f"@{builder.module.once(symbol, definition)}"
