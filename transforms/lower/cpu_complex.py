"""Functions of complex numbers: pairs of registers."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.transforms.lower.cpu_floats import FLOAT_PREDICATES, FloatFunctions
from wengert.transforms.lower.cpu_instructions import Value, pair
from wengert.transforms.lower.cpu_types import Element


class ComplexFunctions(FloatFunctions):
    """Arithmetic of complex numbers, and what is made of functions of their parts."""

    def complex_function(self, function: str, operands: Sequence[Value], held: Element) -> Value:
        pairs = [pair(operand) for operand in operands]
        part, (re, im) = held.register, pairs[0]
        if function in ("add", "subtract"):
            opcode = "fadd" if function == "add" else "fsub"
            return self.binary(opcode, part, re, pairs[1][0]), self.binary(opcode, part, im, pairs[1][1])
        if function in ("multiply", "square"):
            return self.multiply_complex(part, pairs[0], pairs[-1])
        if function == "negate":
            return self.negate(part, re), self.negate(part, im)
        if function == "conj":
            return re, self.negate(part, im)
        if function in ("real", "imag"):
            return re if function == "real" else im
        if function == "abs":
            return self._modulus(part, re, im)
        if function == "exponential":
            return self._complex_exponential(held, re, im)
        if function == "log":
            return self._complex_log(held, re, im)
        if function == "divide":
            return self._divide(part, pairs[0], pairs[1])
        predicate = FLOAT_PREDICATES[function]
        first = self.compare(predicate, part, re, pairs[1][0])
        return self.binary("and" if function == "eq" else "or", "i1", first, self.compare(predicate, part, im, pairs[1][1]))

    def _modulus(self, part: str, re: str, im: str) -> str:
        """sqrt(re^2 + im^2) without overflow: the larger part times sqrt(1 + ratio^2); infinite if either part is."""
        a, b = self.intrinsic("fabs", part, re), self.intrinsic("fabs", part, im)
        large, small = self.intrinsic("maximum", part, a, b), self.intrinsic("minimum", part, a, b)
        ratio = self.binary("fdiv", part, small, large)
        square = self.binary(f"fmul {self.contract}".rstrip(), part, ratio, ratio)
        root = self.intrinsic("sqrt", part, self.binary(f"fadd {self.contract}".rstrip(), part, square, self.float_constant(part, 1.0)))
        zero, infinity = self.float_constant(part, 0.0), self.float_constant(part, float("inf"))
        found = self.select(self.compare("oeq", part, large, zero), part, zero, self.binary("fmul", part, large, root))
        either = self.binary("or", "i1", self.compare("oeq", part, a, infinity), self.compare("oeq", part, b, infinity))
        return self.select(either, part, infinity, found)

    def _complex_exponential(self, held: Element, re: str, im: str) -> tuple[str, str]:
        """exp(re) (cos im + i sin im), with the limits of C99 annex G where a part is infinite or zero."""
        part = held.register
        real = Element("f", part, part, held.part_size)
        size, cosine, sine = (self.float_function(name, [x], real) for name, x in (("exponential", re), ("cosine", im), ("sine", im)))
        zero, infinity = self.float_constant(part, 0.0), self.float_constant(part, float("inf"))
        first, second = self.binary("fmul", part, size, cosine), self.binary("fmul", part, size, sine)
        wild = self.compare("uno", part, cosine, zero)
        none = self.binary("and", "i1", wild, self.compare("oeq", part, size, zero))
        beyond = self.binary("and", "i1", wild, self.compare("oeq", part, re, infinity))
        first = self.select(none, part, zero, self.select(beyond, part, infinity, first))
        second = self.select(none, part, zero, second)
        straight = self.compare("oeq", part, im, zero)
        return self.select(straight, part, size, first), self.select(straight, part, im, second)

    def multiply_complex(self, part: str, x: tuple[str, str], y: tuple[str, str]) -> tuple[str, str]:
        """(a + bi)(c + di) = (ac - bd) + (ad + bc)i."""
        flags = self.contract.rstrip()
        ac, bd, ad, bc = [self.binary(f"fmul {flags}", part, p, q) for p, q in ((x[0], y[0]), (x[1], y[1]), (x[0], y[1]), (x[1], y[0]))]
        return self.binary(f"fsub {flags}", part, ac, bd), self.binary(f"fadd {flags}", part, ad, bc)

    def _divide(self, part: str, x: tuple[str, str], y: tuple[str, str]) -> tuple[str, str]:
        """The quotient by the ratio of the smaller part of y to the larger one (Smith 1962), as NumPy computes it."""
        flags = self.contract.rstrip()
        (a, b), (c, d) = x, y
        real = self.compare("oge", part, self.intrinsic("fabs", part, c), self.intrinsic("fabs", part, d))
        large, small = self.select(real, part, c, d), self.select(real, part, d, c)
        p, q = self.select(real, part, a, b), self.select(real, part, b, a)
        ratio = self.binary("fdiv", part, small, large)
        one, zero = self.float_constant(part, 1.0), self.float_constant(part, 0.0)
        scale = self.binary("fdiv", part, one, self._sum(part, large, small, ratio))
        first = self.binary("fmul", part, self._sum(part, p, q, ratio), scale)
        second = self.binary("fmul", part, self.binary(f"fsub {flags}", part, q, self.binary(f"fmul {flags}", part, p, ratio)), scale)
        second = self.select(real, part, second, self.negate(part, second))
        none = self.binary("and", "i1", self.compare("oeq", part, c, zero), self.compare("oeq", part, d, zero))
        magnitude = self.intrinsic("fabs", part, c)
        by_zero = self.binary("fdiv", part, a, magnitude), self.binary("fdiv", part, b, magnitude)
        return self.select(none, part, by_zero[0], first), self.select(none, part, by_zero[1], second)

    def _sum(self, part: str, x: str, y: str, z: str) -> str:
        """x + y z."""
        flags = self.contract.rstrip()
        return self.binary(f"fadd {flags}", part, x, self.binary(f"fmul {flags}", part, y, z))

    def _complex_log(self, held: Element, re: str, im: str) -> tuple[str, str]:
        """log |z| + i arg z. Near |z| = 1 the first is log1p(|z|^2 - 1) / 2, elsewhere log m + log1p((n / m)^2) / 2 for m >= n."""
        part = held.register
        real = Element("f", part, part, held.part_size)
        a, b = self.intrinsic("fabs", part, re), self.intrinsic("fabs", part, im)
        m, n = self.intrinsic("maximum", part, a, b), self.intrinsic("minimum", part, a, b)
        one, half, zero, infinity = (self.float_constant(part, value) for value in (1.0, 0.5, 0.0, float("inf")))
        excess = self._sum(part, self.binary("fmul", part, self.binary("fsub", part, m, one), self.binary("fadd", part, m, one)), n, n)
        ratio = self.binary("fdiv", part, n, m)
        near = self.binary("and", "i1", self.compare("ogt", part, m, half), self.compare("olt", part, m, self.float_constant(part, 2.0)))
        inside = self.select(near, part, excess, self.binary("fmul", part, ratio, ratio))
        rest = self.binary("fmul", part, half, self.float_function("log_plus_one", [inside], real))
        logarithm = self.float_function("log", [m], real)
        found = self.select(near, part, rest, self.binary("fadd", part, logarithm, rest))
        found = self.select(self.compare("oeq", part, m, zero), part, logarithm, found)
        either = self.binary("or", "i1", self.compare("oeq", part, a, infinity), self.compare("oeq", part, b, infinity))
        return self.select(either, part, infinity, found), self.float_function("atan2", [im, re], real)
