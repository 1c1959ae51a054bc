"""Discrete Fourier transforms of a few numbers in registers, one lane or many: y_k = sum over j of x_j exp(-2 pi i j k / n)."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.transforms.codegen.cpu.native.fourier.tables import prime_factors, root
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder

Number = tuple[str, str]
"""The registers of real and imaginary part."""


class Numbers:
    """Appends complex arithmetic on so many lanes of ``float`` or ``double``."""

    def __init__(self, builder: KernelBuilder, register: str, lanes: int):
        self.scalars = builder.scalars(lanes)
        self.register = register
        self.flags = self.scalars.contract.rstrip()

    def real(self, opcode: str, x: str, y: str) -> str:
        """One instruction on real numbers."""
        return self.scalars.binary(f"{opcode} {self.flags}".rstrip(), self.register, x, y)

    def constant(self, value: float) -> str:
        """The same number in every lane."""
        return self.scalars.float_constant(self.register, value)

    def add(self, x: Number, y: Number) -> Number:
        """x + y."""
        return self.real("fadd", x[0], y[0]), self.real("fadd", x[1], y[1])

    def subtract(self, x: Number, y: Number) -> Number:
        """x - y."""
        return self.real("fsub", x[0], y[0]), self.real("fsub", x[1], y[1])

    def subtract_i(self, x: Number, y: Number) -> Number:
        """x - i y."""
        return self.real("fadd", x[0], y[1]), self.real("fsub", x[1], y[0])

    def add_i(self, x: Number, y: Number) -> Number:
        """x + i y."""
        return self.real("fsub", x[0], y[1]), self.real("fadd", x[1], y[0])

    def conjugate(self, x: Number) -> Number:
        """re - i im."""
        return x[0], self.scalars.negate(self.register, x[1])

    def scale(self, x: Number, factor: str) -> Number:
        """A real multiple."""
        return self.real("fmul", x[0], factor), self.real("fmul", x[1], factor)

    def multiply(self, x: Number, y: Number) -> Number:
        """x y."""
        return self.scalars.multiply_complex(self.register, x, y)

    def plus_multiple(self, x: str, y: str, factor: str) -> str:
        """x + factor y, of real numbers."""
        return self.real("fadd", x, self.real("fmul", y, factor))

    def minus_multiple(self, x: str, y: str, factor: str) -> str:
        """x - factor y, of real numbers."""
        return self.real("fsub", x, self.real("fmul", y, factor))

    def times_root(self, x: Number, k: int, n: int) -> Number:
        """x exp(-2 pi i k / n) for constants, in fewer operations at multiples of an eighth of a turn."""
        k %= n
        if k == 0:
            return x
        if 2 * k >= n:
            minus = self.scalars.negate(self.register, x[0]), self.scalars.negate(self.register, x[1])
            return self.times_root(minus, k - n // 2, n) if n % 2 == 0 else self._times(x, k, n)
        if 4 * k == n:
            return x[1], self.scalars.negate(self.register, x[0])
        if 8 * k in (n, 3 * n):
            half = self.constant(root(1, 8).real)
            sum_, difference = self.real("fadd", x[0], x[1]), self.real("fsub", x[1], x[0])
            if 8 * k == n:
                return self.scale((sum_, difference), half)
            return self.real("fmul", difference, half), self.real("fmul", sum_, self.constant(-root(1, 8).real))
        return self._times(x, k, n)

    def _times(self, x: Number, k: int, n: int) -> Number:
        w = root(k, n)
        return self.multiply(x, (self.constant(w.real), self.constant(w.imag)))


def butterfly(numbers: Numbers, x: Sequence[Number]) -> list[Number]:
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


def _four(numbers: Numbers, x: Sequence[Number]) -> list[Number]:
    a, b = numbers.add(x[0], x[2]), numbers.subtract(x[0], x[2])
    c, d = numbers.add(x[1], x[3]), numbers.subtract(x[1], x[3])
    return [numbers.add(a, c), numbers.subtract_i(b, d), numbers.subtract(a, c), numbers.add_i(b, d)]


def _composite(numbers: Numbers, x: Sequence[Number], a: int) -> list[Number]:
    """Cooley and Tukey 1965: a transform of length a for each of b classes, a twist, and b-point transforms across them."""
    n, b = len(x), len(x) // a
    inner = [butterfly(numbers, x[j::b]) for j in range(b)]
    results: list[Number] = [x[0]] * n
    for k in range(a):
        results[k::a] = butterfly(numbers, [numbers.times_root(inner[j][k], j * k, n) for j in range(b)])
    return results


def _odd_prime(numbers: Numbers, x: Sequence[Number]) -> list[Number]:
    """Pairs x_j + x_(p-j) and x_j - x_(p-j) meet cosines and sines; each pair of results shares all products."""
    p, half = len(x), len(x) // 2
    sums = [numbers.add(x[j], x[p - j]) for j in range(1, half + 1)]
    differences = [numbers.subtract(x[j], x[p - j]) for j in range(1, half + 1)]
    total = x[0]
    for s in sums:
        total = numbers.add(total, s)
    results = [total] * p
    for k in range(1, half + 1):
        even, odd = x[0], ("", "")
        for j, (s, d) in enumerate(zip(sums, differences, strict=True), 1):
            w = root(j * k, p)
            cosine, sine = numbers.constant(w.real), numbers.constant(-w.imag)
            even = numbers.plus_multiple(even[0], s[0], cosine), numbers.plus_multiple(even[1], s[1], cosine)
            if j == 1:
                odd = numbers.scale(d, sine)
            else:
                odd = numbers.plus_multiple(odd[0], d[0], sine), numbers.plus_multiple(odd[1], d[1], sine)
        results[k], results[p - k] = numbers.subtract_i(even, odd), numbers.add_i(even, odd)
    return results
