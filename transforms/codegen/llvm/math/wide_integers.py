"""Integers of 128 bits: LLVM's own where the target has them, else as two halves of 64 bits (SPIR-V has none).

Both wrap around, as integers in registers do. The product of two words by halves is D. E. Knuth's (The Art of Computer Programming 2, 4.3.1, algorithm M).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from wengert.transforms.codegen.llvm.builder import FunctionBuilder

W = TypeVar("W")
"""What stands for an integer of 128 bits: a register, or a pair of them."""


class WideIntegers(ABC, Generic[W]):
    """Appends instructions on integers of 128 bits; words are registers of type i64."""

    def __init__(self, builder: FunctionBuilder):
        self.builder = builder

    @abstractmethod
    def product(self, x: str, y: str) -> W:
        """All bits of the product of two words without a sign."""

    @abstractmethod
    def add(self, x: W, y: W) -> W:
        """x + y."""

    @abstractmethod
    def negate(self, x: W) -> W:
        """-x."""

    @abstractmethod
    def shift_left(self, x: W, count: int | str) -> W:
        """x shifted by a number, or by a word that is below 128."""

    @abstractmethod
    def word(self, x: W, bit: int) -> str:
        """The 64 bits from this bit on; beyond the end they are zero."""

    @abstractmethod
    def is_negative(self, x: W) -> str:
        """The highest bit, as an i1."""

    @abstractmethod
    def select(self, condition: str, x: W, y: W) -> W:
        """x if the ``i1`` holds, else y."""

    @abstractmethod
    def leading_zeros(self, x: W) -> str:
        """How many zeros precede the highest one, as a word; 128 for zero."""


class Registers(WideIntegers[str]):
    """LLVM's i128."""

    def product(self, x: str, y: str) -> str:
        wide = [self.builder.cast("zext", word, "i64", "i128") for word in (x, y)]
        return self.builder.binary("mul", "i128", *wide)

    def add(self, x: str, y: str) -> str:
        return self.builder.binary("add", "i128", x, y)

    def negate(self, x: str) -> str:
        return self.builder.binary("sub", "i128", 0, x)

    def shift_left(self, x: str, count: int | str) -> str:
        wide = count if isinstance(count, int) else self.builder.cast("zext", count, "i64", "i128")
        return self.builder.binary("shl", "i128", x, wide)

    def word(self, x: str, bit: int) -> str:
        return self.builder.cast("trunc", self.builder.binary("lshr", "i128", x, bit) if bit else x, "i128", "i64")

    def is_negative(self, x: str) -> str:
        return self.builder.icmp("slt", "i128", x, 0)

    def select(self, condition: str, x: str, y: str) -> str:
        return self.builder.select(condition, "i128", x, y)

    def leading_zeros(self, x: str) -> str:
        return self.builder.cast("trunc", self.builder.op(f"call i128 @llvm.ctlz.i128(i128 {x}, i1 false)"), "i128", "i64")


Halves = tuple[str, str]


class Words(WideIntegers[Halves]):
    """Pairs of words, the high one first."""

    def product(self, x: str, y: str) -> Halves:
        def halves(word: str) -> Halves:
            return self._op("lshr", word, 32), self._op("and", word, 0xFFFFFFFF)

        (a, b), (c, d) = halves(x), halves(y)
        low, first, second, high = (self._op("mul", p, q) for p, q in ((b, d), (a, d), (b, c), (a, c)))
        middle = self._op("add", self._op("lshr", low, 32), self._op("and", first, 0xFFFFFFFF))
        middle = self._op("add", middle, self._op("and", second, 0xFFFFFFFF))
        upper = self._op("add", self._op("add", high, self._op("lshr", first, 32)), self._op("lshr", second, 32))
        bottom = self._op("or", self._op("shl", middle, 32), self._op("and", low, 0xFFFFFFFF))
        return self._op("add", upper, self._op("lshr", middle, 32)), bottom

    def add(self, x: Halves, y: Halves) -> Halves:
        low = self._op("add", x[1], y[1])
        carry = self.builder.cast("zext", self.builder.icmp("ult", "i64", low, x[1]), "i1", "i64")
        return self._op("add", self._op("add", x[0], y[0]), carry), low

    def negate(self, x: Halves) -> Halves:
        low = self._op("sub", "0", x[1])
        borrow = self.builder.cast("zext", self.builder.icmp("ne", "i64", x[1], 0), "i1", "i64")
        return self._op("sub", self._op("sub", "0", x[0]), borrow), low

    def shift_left(self, x: Halves, count: int | str) -> Halves:
        if isinstance(count, int):
            if count >= 64:
                return self._op("shl", x[1], count - 64), "0"
            return (self.builder.intrinsic("fshl", "i64", x[0], x[1], count), self._op("shl", x[1], count)) if count else x
        far = self.builder.icmp("uge", "i64", count, 64)
        within = self._op("and", count, 63)
        low = self._op("shl", x[1], within)
        near = self.builder.intrinsic("fshl", "i64", x[0], x[1], within)
        return self.builder.select(far, "i64", low, near), self.builder.select(far, "i64", 0, low)

    def word(self, x: Halves, bit: int) -> str:
        if bit >= 64:
            return self._op("lshr", x[0], bit - 64) if bit > 64 else x[0]
        return self.builder.intrinsic("fshr", "i64", x[0], x[1], bit) if bit else x[1]

    def is_negative(self, x: Halves) -> str:
        return self.builder.icmp("slt", "i64", x[0], 0)

    def select(self, condition: str, x: Halves, y: Halves) -> Halves:
        return self.builder.select(condition, "i64", x[0], y[0]), self.builder.select(condition, "i64", x[1], y[1])

    def leading_zeros(self, x: Halves) -> str:
        high, low = (self.builder.op(f"call i64 @llvm.ctlz.i64(i64 {word}, i1 false)") for word in x)
        return self.builder.select(self.builder.icmp("eq", "i64", x[0], 0), "i64", self._op("add", low, 64), high)

    def _op(self, opcode: str, x: str, y: int | str) -> str:
        return self.builder.binary(opcode, "i64", x, y)


def wide_integers(builder: FunctionBuilder) -> WideIntegers[Any]:
    """Integers of 128 bits as the builder's target has them."""
    return Registers(builder) if builder.module.abilities.i128 else Words(builder)
