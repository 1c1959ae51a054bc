"""Roots of unity, and the chirp of Bluestein's method.

Roots are computed in double precision from angles below an eighth of a turn, so that each part is right to about one unit in the last place.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


def prime_factors(n: int) -> list[int]:
    """In ascending order, with multiplicity."""
    factors, p = list[int](), 2
    while n > 1:
        while n % p == 0:
            factors.append(p)
            n //= p
        p += 1
    return factors


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
