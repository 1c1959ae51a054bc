"""Computes the constants of a Fourier transform of one length: its radices and the tables of its stages, which all transforms of a program share."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.fuse.fourier.roots import prime_factors, roots

IN_REGISTERS = (8, 7, 5, 4, 3, 2)
"""Radices whose butterflies are written out; other primes have a loop."""

LARGEST_PRIME = 61
"""Above it, a butterfly, whose work is quadratic, costs more than Bluestein's convolution."""

LARGEST = 1 << 16
"""Longer transforms do not stay in the caches: SciPy's, which are written for that, serve them better."""


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


def table(builder: KernelBuilder, name: str, register: str, values: NDArray[np.float64]) -> str:
    """The address of a constant array of floats, which the module holds once. (A string is what LLVM reads fastest.)"""

    def definition() -> str:
        data = values.astype("<f8" if register == "double" else "<f4").tobytes()
        return f'@{symbol} = internal constant [{len(data)} x i8] c"\\{data.hex(chr(92))}", align 64\n'

    symbol = f"wg.fft.{register}.{name}"
    return f"@{builder.module.once(symbol, definition)}"
