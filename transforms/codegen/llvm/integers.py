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

    def integer_function(self, function: str, names: Sequence[str], element: Element) -> str:
        if function in _ARITHMETIC:
            return self.binary(_ARITHMETIC[function], element.register, names[0], names[1])
        return self._INTEGER_FUNCTIONS[function](self, element, *names)

    def _integer_negate(self, element: Element, x: str) -> str:
        return self.binary("sub", element.register, self.constant(element.register, 0), x)

    def _integer_not(self, element: Element, x: str) -> str:
        return self.binary("xor", element.register, x, self.constant(element.register, -1))

    def _integer_abs(self, element: Element, x: str) -> str:
        return x if element.kind == "u" else self.intrinsic("abs", element.register, x, extra=", i1 false")

    def _integer_square(self, element: Element, x: str) -> str:
        return self.binary("mul", element.register, x, x)

    def _integer_sign(self, element: Element, x: str) -> str:
        zero = self.constant(element.register, 0)
        positive = self.cast("zext", self.compare("ne" if element.kind == "u" else "sgt", element.register, x, zero), "i1", element.register)
        if element.kind == "u":
            return positive
        return self.select(self.compare("slt", element.register, x, zero), element.register, self.constant(element.register, -1), positive)

    def _integer_extreme(self, element: Element, x: str, y: str, name: str) -> str:
        return self.intrinsic(("s" if element.kind == "i" else "u") + name, element.register, x, y)

    def _integer_clamp(self, element: Element, low: str, x: str, high: str) -> str:
        return self._integer_extreme(element, self._integer_extreme(element, x, low, "max"), high, "min")

    def _safe_divisor(self, element: Element, x: str, y: str) -> tuple[str, str]:
        """Where y is 0, and y with 1 in its place there and where the quotient would overflow."""
        register = element.register
        zero = self.compare("eq", register, y, self.constant(register, 0))
        unsafe = zero
        if element.kind == "i":
            least = self.compare("eq", register, x, self.constant(register, -(1 << (element.bits - 1))))
            unsafe = self.binary("or", "i1", zero, self.binary("and", "i1", least, self.compare("eq", register, y, self.constant(register, -1))))
        return zero, self.select(unsafe, register, self.constant(register, 1), y)

    def _integer_divide(self, element: Element, x: str, y: str) -> str:
        zero, divisor = self._safe_divisor(element, x, y)
        quotient = self.binary("sdiv" if element.kind == "i" else "udiv", element.register, x, divisor)
        return self.select(zero, element.register, self.constant(element.register, -1), quotient)

    def _integer_remainder(self, element: Element, x: str, y: str) -> str:
        zero, divisor = self._safe_divisor(element, x, y)
        rest = self.binary("srem" if element.kind == "i" else "urem", element.register, x, divisor)
        return self.select(zero, element.register, x, rest)

    def _shift(self, element: Element, x: str, y: str, opcode: str) -> str:
        inside = self.compare("ult", element.register, y, self.constant(element.register, element.bits))
        if opcode == "ashr":
            return self.binary("ashr", element.register, x, self.select(inside, element.register, y, self.constant(element.register, element.bits - 1)))
        if element.bits == 64 and not self.builder.module.abilities.long_shifts:
            amount = self.binary("and", element.register, y, self.constant(element.register, element.bits - 1))
        else:
            amount = self.select(inside, element.register, y, self.constant(element.register, 0))
        return self.select(inside, element.register, self.binary(opcode, element.register, x, amount), self.constant(element.register, 0))

    def _integer_power(self, element: Element, x: str, y: str) -> str:
        """x multiplied y times with wraparound, by squares; for negative y the quotient 1 / x**-y, and 0 for x = 0."""
        register = element.register
        unit, zero = self.constant(register, 1), self.constant(register, 0)
        power, base, rest = unit, x, y
        for bit in range(element.bits):
            odd = self.compare("ne", register, self.binary("and", register, rest, unit), zero)
            power = self.select(odd, register, self.binary("mul", register, power, base), power)
            if bit < element.bits - 1:
                base, rest = self.binary("mul", register, base, base), self.binary("lshr", register, rest, unit)
        if element.kind == "u":
            return power
        odd = self.compare("ne", register, self.binary("and", register, y, unit), zero)
        minus = self.compare("eq", register, x, self.constant(register, -1))
        of_minus = self.select(odd, register, x, unit)
        inverse = self.select(self.compare("eq", register, x, unit), register, unit, self.select(minus, register, of_minus, zero))
        return self.select(self.compare("slt", register, y, zero), register, inverse, power)

    def _popcnt(self, element: Element, x: str) -> str:
        return self.intrinsic("ctpop", element.register, x)

    def _leading_zeros(self, element: Element, x: str) -> str:
        return self.intrinsic("ctlz", element.register, x, extra=", i1 false")

    def _integer_itself(self, element: Element, x: str) -> str:
        return x

    def _integer_maximum(self, element: Element, x: str, y: str) -> str:
        return self._integer_extreme(element, x, y, "max")

    def _integer_minimum(self, element: Element, x: str, y: str) -> str:
        return self._integer_extreme(element, x, y, "min")

    def _shift_left(self, element: Element, x: str, y: str) -> str:
        return self._shift(element, x, y, "shl")

    def _shift_right_logical(self, element: Element, x: str, y: str) -> str:
        return self._shift(element, x, y, "lshr")

    def _shift_right_arithmetic(self, element: Element, x: str, y: str) -> str:
        return self._shift(element, x, y, "ashr")

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
