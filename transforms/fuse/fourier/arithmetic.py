"""Complex arithmetic on pairs of real numbers, whatever these are: registers of machine code, or values of ops on tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from wengert.transforms.fuse.fourier.roots import root

T = TypeVar("T")


class Arithmetic(ABC, Generic[T]):
    """Complex arithmetic on (real part, imaginary part), from arithmetic on real numbers."""

    @abstractmethod
    def constant(self, value: float) -> T:
        """A real constant."""

    @abstractmethod
    def plus(self, x: T, y: T) -> T:
        """x + y of real numbers."""

    @abstractmethod
    def minus(self, x: T, y: T) -> T:
        """x - y of real numbers."""

    @abstractmethod
    def times(self, x: T, y: T) -> T:
        """x y of real numbers."""

    @abstractmethod
    def negative(self, x: T) -> T:
        """-x of a real number."""

    @abstractmethod
    def multiply(self, x: tuple[T, T], y: tuple[T, T]) -> tuple[T, T]:
        """x y."""

    def add(self, x: tuple[T, T], y: tuple[T, T]) -> tuple[T, T]:
        """x + y."""
        return self.plus(x[0], y[0]), self.plus(x[1], y[1])

    def subtract(self, x: tuple[T, T], y: tuple[T, T]) -> tuple[T, T]:
        """x - y."""
        return self.minus(x[0], y[0]), self.minus(x[1], y[1])

    def subtract_i(self, x: tuple[T, T], y: tuple[T, T]) -> tuple[T, T]:
        """x - i y."""
        return self.plus(x[0], y[1]), self.minus(x[1], y[0])

    def add_i(self, x: tuple[T, T], y: tuple[T, T]) -> tuple[T, T]:
        """x + i y."""
        return self.minus(x[0], y[1]), self.plus(x[1], y[0])

    def conjugate(self, x: tuple[T, T]) -> tuple[T, T]:
        """re - i im."""
        return x[0], self.negative(x[1])

    def scale(self, x: tuple[T, T], factor: T) -> tuple[T, T]:
        """A real multiple."""
        return self.times(x[0], factor), self.times(x[1], factor)

    def plus_multiple(self, x: T, y: T, factor: T) -> T:
        """x + factor y, of real numbers."""
        return self.plus(x, self.times(y, factor))

    def minus_multiple(self, x: T, y: T, factor: T) -> T:
        """x - factor y, of real numbers."""
        return self.minus(x, self.times(y, factor))

    def times_root(self, x: tuple[T, T], k: int, n: int) -> tuple[T, T]:
        """x exp(-2 pi i k / n) for constants, in fewer operations at multiples of an eighth of a turn."""
        k %= n
        if k == 0:
            return x
        if 2 * k >= n:
            minus = self.negative(x[0]), self.negative(x[1])
            return self.times_root(minus, k - n // 2, n) if n % 2 == 0 else self._times(x, k, n)
        if 4 * k == n:
            return x[1], self.negative(x[0])
        if 8 * k in (n, 3 * n):
            half = self.constant(root(1, 8).real)
            sum_, difference = self.plus(x[0], x[1]), self.minus(x[1], x[0])
            if 8 * k == n:
                return self.scale((sum_, difference), half)
            return self.times(difference, half), self.times(sum_, self.constant(-root(1, 8).real))
        return self._times(x, k, n)

    def _times(self, x: tuple[T, T], k: int, n: int) -> tuple[T, T]:
        w = root(k, n)
        return self.multiply(x, (self.constant(w.real), self.constant(w.imag)))
