"""Discrete Fourier transforms of a few numbers, written out: y_k = sum over j of x_j exp(-2 pi i j k / n)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from wengert.transforms.fuse.fourier.arithmetic import Arithmetic
from wengert.transforms.fuse.fourier.roots import prime_factors, root

T = TypeVar("T")


def butterfly(numbers: Arithmetic[T], x: Sequence[tuple[T, T]]) -> list[tuple[T, T]]:
    """The transform of these numbers, in natural order."""
    n = len(x)
    if n == 1:
        return list(x)
    if n == 2:
        return [numbers.add(x[0], x[1]), numbers.subtract(x[0], x[1])]
    if n == 4:
        return _four(numbers, x)
    primes = prime_factors(n)
    return _odd_prime(numbers, x) if len(primes) == 1 else _composite(numbers, x, 4 if n % 4 == 0 else primes[-1])


def _four(numbers: Arithmetic[T], x: Sequence[tuple[T, T]]) -> list[tuple[T, T]]:
    a, b = numbers.add(x[0], x[2]), numbers.subtract(x[0], x[2])
    c, d = numbers.add(x[1], x[3]), numbers.subtract(x[1], x[3])
    return [numbers.add(a, c), numbers.subtract_i(b, d), numbers.subtract(a, c), numbers.add_i(b, d)]


def _composite(numbers: Arithmetic[T], x: Sequence[tuple[T, T]], a: int) -> list[tuple[T, T]]:
    """Cooley and Tukey 1965: a transform of length a for each of b classes, a twist, and b-point transforms across them."""
    n, b = len(x), len(x) // a
    inner = [butterfly(numbers, x[j::b]) for j in range(b)]
    results: list[tuple[T, T]] = [x[0]] * n
    for k in range(a):
        results[k::a] = butterfly(numbers, [numbers.times_root(inner[j][k], j * k, n) for j in range(b)])
    return results


def _odd_prime(numbers: Arithmetic[T], x: Sequence[tuple[T, T]]) -> list[tuple[T, T]]:
    """Pairs x_j + x_(p-j) and x_j - x_(p-j) meet cosines and sines; each pair of results shares all products."""
    p, half = len(x), len(x) // 2
    sums = [numbers.add(x[j], x[p - j]) for j in range(1, half + 1)]
    differences = [numbers.subtract(x[j], x[p - j]) for j in range(1, half + 1)]
    total = x[0]
    for s in sums:
        total = numbers.add(total, s)
    results = [total] * p
    for k in range(1, half + 1):
        even, odd = x[0], None
        for j, (s, d) in enumerate(zip(sums, differences, strict=True), 1):
            w = root(j * k, p)
            cosine, sine = numbers.constant(w.real), numbers.constant(-w.imag)
            even = numbers.plus_multiple(even[0], s[0], cosine), numbers.plus_multiple(even[1], s[1], cosine)
            odd = numbers.scale(d, sine) if odd is None else (numbers.plus_multiple(odd[0], d[0], sine), numbers.plus_multiple(odd[1], d[1], sine))
        assert odd is not None
        results[k], results[p - k] = numbers.subtract_i(even, odd), numbers.add_i(even, odd)
    return results
