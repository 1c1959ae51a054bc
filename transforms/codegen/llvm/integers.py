"""Functions of integers and booleans, total for every input: x / 0 = -1, x % 0 = x, oversized shifts give 0 or the sign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.codegen.llvm.vector_builder import VectorBuilder

_ARITHMETIC = {"add": "add", "subtract": "sub", "multiply": "mul", "and": "and", "or": "or", "xor": "xor"}
_BOOLEAN = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and", "and": "and", "or": "or", "xor": "xor"}


class IntegerFunctions(VectorBuilder):
    """Scalar functions of integers and booleans."""

    def boolean_function(self, function: str, names: Sequence[str]) -> str:
        if function == "not":
            return self.binary("xor", "i1", names[0], self.constant("i1", "true"))
        return self.binary(_BOOLEAN[function], "i1", names[0], names[1])

    def integer_function(self, function: str, names: Sequence[str], held: Element) -> str:
        if function in _ARITHMETIC:
            return self.binary(_ARITHMETIC[function], held.register, names[0], names[1])
        return self._INTEGER_FUNCTIONS[function](self, held, *names)

    def _integer_negate(self, held: Element, x: str) -> str:
        return self.binary("sub", held.register, self.constant(held.register, 0), x)

    def _integer_not(self, held: Element, x: str) -> str:
        return self.binary("xor", held.register, x, self.constant(held.register, -1))

    def _integer_abs(self, held: Element, x: str) -> str:
        return x if held.kind == "u" else self.intrinsic("abs", held.register, x, extra=", i1 false")

    def _integer_square(self, held: Element, x: str) -> str:
        return self.binary("mul", held.register, x, x)

    def _integer_sign(self, held: Element, x: str) -> str:
        zero = self.constant(held.register, 0)
        positive = self.cast("zext", self.compare("ne" if held.kind == "u" else "sgt", held.register, x, zero), "i1", held.register)
        if held.kind == "u":
            return positive
        return self.select(self.compare("slt", held.register, x, zero), held.register, self.constant(held.register, -1), positive)

    def _integer_extreme(self, held: Element, x: str, y: str, name: str) -> str:
        return self.intrinsic(("s" if held.kind == "i" else "u") + name, held.register, x, y)

    def _integer_clamp(self, held: Element, low: str, x: str, high: str) -> str:
        return self._integer_extreme(held, self._integer_extreme(held, x, low, "max"), high, "min")

    def _safe_divisor(self, held: Element, x: str, y: str) -> tuple[str, str]:
        """Where y is 0, and y with 1 in its place there and where the quotient would overflow."""
        register = held.register
        zero = self.compare("eq", register, y, self.constant(register, 0))
        unsafe = zero
        if held.kind == "i":
            least = self.compare("eq", register, x, self.constant(register, -(1 << (held.bits - 1))))
            unsafe = self.binary("or", "i1", zero, self.binary("and", "i1", least, self.compare("eq", register, y, self.constant(register, -1))))
        return zero, self.select(unsafe, register, self.constant(register, 1), y)

    def _integer_divide(self, held: Element, x: str, y: str) -> str:
        zero, divisor = self._safe_divisor(held, x, y)
        quotient = self.binary("sdiv" if held.kind == "i" else "udiv", held.register, x, divisor)
        return self.select(zero, held.register, self.constant(held.register, -1), quotient)

    def _integer_remainder(self, held: Element, x: str, y: str) -> str:
        zero, divisor = self._safe_divisor(held, x, y)
        rest = self.binary("srem" if held.kind == "i" else "urem", held.register, x, divisor)
        return self.select(zero, held.register, x, rest)

    def _shift(self, held: Element, x: str, y: str, opcode: str) -> str:
        inside = self.compare("ult", held.register, y, self.constant(held.register, held.bits))
        if opcode == "ashr":
            return self.binary("ashr", held.register, x, self.select(inside, held.register, y, self.constant(held.register, held.bits - 1)))
        amount = self.select(inside, held.register, y, self.constant(held.register, 0))
        return self.select(inside, held.register, self.binary(opcode, held.register, x, amount), self.constant(held.register, 0))

    def _integer_power(self, held: Element, x: str, y: str) -> str:
        """x multiplied y times with wraparound, by squares; for negative y the quotient 1 / x**-y, and 0 for x = 0."""
        register = held.register
        unit, zero = self.constant(register, 1), self.constant(register, 0)
        found, base, rest = unit, x, y
        for bit in range(held.bits):
            odd = self.compare("ne", register, self.binary("and", register, rest, unit), zero)
            found = self.select(odd, register, self.binary("mul", register, found, base), found)
            if bit < held.bits - 1:
                base, rest = self.binary("mul", register, base, base), self.binary("lshr", register, rest, unit)
        if held.kind == "u":
            return found
        odd = self.compare("ne", register, self.binary("and", register, y, unit), zero)
        minus = self.compare("eq", register, x, self.constant(register, -1))
        of_minus = self.select(odd, register, x, unit)
        inverse = self.select(self.compare("eq", register, x, unit), register, unit, self.select(minus, register, of_minus, zero))
        return self.select(self.compare("slt", register, y, zero), register, inverse, found)

    def _popcnt(self, held: Element, x: str) -> str:
        return self.intrinsic("ctpop", held.register, x)

    def _leading_zeros(self, held: Element, x: str) -> str:
        return self.intrinsic("ctlz", held.register, x, extra=", i1 false")

    def _integer_itself(self, held: Element, x: str) -> str:
        return x

    def _integer_maximum(self, held: Element, x: str, y: str) -> str:
        return self._integer_extreme(held, x, y, "max")

    def _integer_minimum(self, held: Element, x: str, y: str) -> str:
        return self._integer_extreme(held, x, y, "min")

    def _shift_left(self, held: Element, x: str, y: str) -> str:
        return self._shift(held, x, y, "shl")

    def _shift_right_logical(self, held: Element, x: str, y: str) -> str:
        return self._shift(held, x, y, "lshr")

    def _shift_right_arithmetic(self, held: Element, x: str, y: str) -> str:
        return self._shift(held, x, y, "ashr")

    _INTEGER_FUNCTIONS: ClassVar[dict[str, Callable[..., str]]] = {
        "negate": _integer_negate,
        "not": _integer_not,
        "abs": _integer_abs,
        "square": _integer_square,
        "conj": _integer_itself,
        "sign": _integer_sign,
        "maximum": _integer_maximum,
        "minimum": _integer_minimum,
        "clamp": _integer_clamp,
        "divide": _integer_divide,
        "remainder": _integer_remainder,
        "power": _integer_power,
        "shift_left": _shift_left,
        "shift_right_logical": _shift_right_logical,
        "shift_right_arithmetic": _shift_right_arithmetic,
        "popcnt": _popcnt,
        "count_leading_zeros": _leading_zeros,
    }
