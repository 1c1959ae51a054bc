"""Complex transforms along the second of three dimensions, ``[outer, n, inner]``, in stages on whole tensors.

A length of small primes takes one stage for each radix r (Stockham's order, in which the result is in place at the end; Van Loan, Computational
Frameworks for the Fast Fourier Transform, SIAM 1992, section 1.7). With s the product of the radices before, m = n / (s r), w = exp(-2 pi i s / n)::

    y[p, k, q] = w^(p k) sum over j < r of x[j, p, q] exp(-2 pi i j k / r)           p < m, q < s

so a stage cuts the line in r parts, transforms across these, element by element, and joins the results behind one another: one nest. Transforms across
up to 8 parts are written out, those of larger primes are a product with the matrix of roots. Lengths with primes beyond
that are convolutions with a chirp (Bluestein, IEEE Trans. Audio Electroacoust. 18, 1970), by transforms of a length of small primes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wengert.dialects.builder import OpBuilder, Value, precision
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.transforms.fuse.fourier.butterflies import butterfly
from wengert.transforms.fuse.fourier.roots import chirp, chirp_spectrum, convolution_length, prime_factors, roots
from wengert.transforms.fuse.fourier.tensors import Pair, Tensors, swapped

WRITTEN_OUT = 8
"""Transforms across so many parts are written out; larger primes are products with a matrix."""
LARGEST_PRIME = 61
"""Above it a product, whose work is quadratic, costs more than a convolution."""


def transform(b: OpBuilder, x: Pair) -> Pair:
    """The transforms of lines ``[outer, n, inner]``, with negative exponents and no factor."""
    n = shape(x[0])[1]
    if any(p > LARGEST_PRIME for p in prime_factors(n)):
        return _by_chirp(b, x)
    done = 1
    for radix in radices(n):
        x = _stage(b, x, radix, done) if radix <= WRITTEN_OUT else _product_stage(b, x, radix, done)
        done *= radix
    return x


def inverse(b: OpBuilder, x: Pair) -> Pair:
    """The transforms with positive exponents and no factor."""
    return swapped(transform(b, swapped(x)))


def radices(n: int) -> list[int]:
    """The radices of the stages, whose product is n: as few stages as possible for powers of two."""
    primes = prime_factors(n)
    twos = primes.count(2)
    fours = {0: 0, 1: 2, 2: 1}[twos % 3] if twos > 1 else 0
    return [*[8] * ((twos - 2 * fours) // 3), *[4] * fours, *[2] * (twos == 1), *[p for p in primes if p > 2]]


def _stage(b: OpBuilder, x: Pair, radix: int, done: int) -> Pair:
    outer, n, inner = shape(x[0])
    m, rest = n // (done * radix), done * inner
    parts = [(_part(b, x[0], j, radix, m, rest), _part(b, x[1], j, radix, m, rest)) for j in range(radix)]
    numbers = Tensors.like(b, parts[0])
    results = butterfly(numbers, parts)
    if m > 1:
        turns = [constant(b, plane, x[0]) for plane in planes(roots(np.arange(n), n))]
        for k in range(1, radix):
            power = [b.slice(plane, [0], [(m - 1) * k * done + 1], [k * done]) for plane in turns]
            w = b.broadcast_in_dim(power[0], [1], [outer, m, rest]), b.broadcast_in_dim(power[1], [1], [outer, m, rest])
            results[k] = numbers.multiply(results[k], w)
    return _joined(b, [re for re, _ in results], shape(x[0])), _joined(b, [im for _, im in results], shape(x[0]))


def _part(b: OpBuilder, x: Value, j: int, radix: int, m: int, rest: int) -> Value:
    """One of the parts that a stage cuts lines in."""
    outer = shape(x)[0]
    cut = b.reshape(x, [outer, radix, m, rest])
    return b.reshape(b.slice(cut, [0, j, 0, 0], [outer, j + 1, m, rest]), [outer, m, rest])


def _joined(b: OpBuilder, parts: Sequence[Value], extents: Sequence[int]) -> Value:
    outer, m, rest = shape(parts[0])
    return b.reshape(b.concatenate([b.reshape(part, [outer, m, 1, rest]) for part in parts], 2), extents)


def _product_stage(b: OpBuilder, x: Pair, radix: int, done: int) -> Pair:
    """A stage whose transform across the parts is a product with the matrix of roots, on real and imaginary parts behind one another."""
    outer, n, inner = shape(x[0])
    m, rest = n // (done * radix), done * inner
    cut = [b.reshape(part, [outer, radix, m, rest]) for part in x]
    matrix = roots(np.outer(np.arange(radix), np.arange(radix)), radix)
    whole = constant(b, np.block([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]]), x[0])
    both = b.dot_general(whole, b.concatenate(cut, 1), ([1], [1]), precision_config=precision("HIGHEST"))
    y = b.slice(both, [0, 0, 0, 0], [radix, outer, m, rest]), b.slice(both, [radix, 0, 0, 0], [2 * radix, outer, m, rest])
    if m > 1:
        numbers = Tensors.like(b, y)
        table = planes(roots(done * np.outer(np.arange(radix), np.arange(m)), n))
        re, im = [b.broadcast_in_dim(constant(b, plane, x[0]), [0, 2], [radix, outer, m, rest]) for plane in table]
        y = numbers.multiply(y, (re, im))
    re, im = [b.reshape(b.transpose(part, [1, 2, 0, 3]), shape(x[0])) for part in y]
    return re, im


def _by_chirp(b: OpBuilder, x: Pair) -> Pair:
    """The transforms as cyclic convolutions: with c_k = exp(-pi i k^2 / n), y_k = c_k (sum over j of (x_j c_j) conj(c_(k - j)))."""
    outer, n, inner = shape(x[0])
    length = convolution_length(n)
    wave = along(b, chirp(n), x[0], inner)
    turned = Tensors.like(b, x).multiply(x, wave)
    zero = b.scalar(0.0, element(x[0]))
    filled = [b.pad(part, zero, [0, 0, 0], [0, length - n, 0]) for part in turned]
    spectrum = transform(b, (filled[0], filled[1]))
    product = Tensors.like(b, spectrum).multiply(spectrum, along(b, chirp_spectrum(n), spectrum[0], inner))
    convolved = [b.slice(part, [0, 0, 0], [outer, n, inner]) for part in inverse(b, product)]
    return Tensors.like(b, x).multiply((convolved[0], convolved[1]), wave)


def along(b: OpBuilder, values: NDArray[np.complex128], like: Value, inner: int) -> Pair:
    """Constants along lines, as often as there are lines ``[outer, len(values), inner]`` of the tensor."""
    extents = [shape(like)[0], len(values), inner]
    re, im = [b.broadcast_in_dim(constant(b, plane, like), [1], extents) for plane in planes(values)]
    return re, im


def planes(values: NDArray[np.complex128]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Real and imaginary parts."""
    return values.real, values.imag


def constant(b: OpBuilder, values: NDArray[np.float64], like: Value) -> Value:
    """A constant array in the precision of a tensor."""
    return b.constant(np.ascontiguousarray(values.astype(dtype_of(element(like)))))
