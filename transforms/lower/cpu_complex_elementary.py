"""Elementary functions of complex numbers, made of those of their parts: roots, hyperbolic and circular functions, powers.

The hyperbolic tangent is Kahan's (1987, "Branch cuts for complex elementary functions"); limits are those of C99 annex G
as NumPy has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from wengert.transforms.lower.cpu_complex import ComplexFunctions
from wengert.transforms.lower.cpu_floats import FloatFunctions
from wengert.transforms.lower.cpu_instructions import Value, pair
from wengert.transforms.lower.cpu_types import Element

INFINITY = float("inf")
LEAST_NORMAL = {"double": 2.0**-1022, "float": 2.0**-126}
LARGEST = {"double": 2.0**1023, "float": 2.0**127}
BITS = {"double": 53, "float": 24}


class Real(Struct, frozen=True):
    """A register of floats, with Python's operators for its instructions."""

    code: FloatFunctions
    held: Element
    name: str

    def _binary(self, opcode: str, other: Real | float) -> Real:
        return replace(self, name=self.code.binary(opcode, self.held.register, self.name, self.like(other).name))

    def like(self, value: Real | float) -> Real:
        """A number in all lanes."""
        return value if isinstance(value, Real) else replace(self, name=self.code.float_constant(self.held.register, value))

    def __add__(self, other: Real | float) -> Real:
        return self._binary("fadd", other)

    def __sub__(self, other: Real | float) -> Real:
        return self._binary("fsub", other)

    def __mul__(self, other: Real | float) -> Real:
        return self._binary("fmul", other)

    def __truediv__(self, other: Real | float) -> Real:
        return self._binary("fdiv", other)

    def __neg__(self) -> Real:
        return replace(self, name=self.code.negate(self.held.register, self.name))

    def __abs__(self) -> Real:
        return replace(self, name=self.code.intrinsic("fabs", self.held.register, self.name))

    def of(self, function: str) -> Real:
        """A function of it, by its StableHLO name."""
        return replace(self, name=self.code.float_function(function, [self.name], self.held))

    def signed(self, other: Real) -> Real:
        """Its modulus with the sign of another."""
        return replace(self, name=self.code.intrinsic("copysign", self.held.register, self.name, other.name))

    def compare(self, predicate: str, other: Real | float) -> str:
        """A condition, by LLVM's predicate."""
        return self.code.compare(predicate, self.held.register, self.name, self.like(other).name)

    def where(self, condition: str, otherwise: Real | float) -> Real:
        """Itself where the condition holds, else another."""
        return replace(self, name=self.code.select(condition, self.held.register, self.name, self.like(otherwise).name))


Pair = tuple[Real, Real]


class ElementaryComplexFunctions(ComplexFunctions):
    """What :class:`ComplexFunctions` has, and functions that are made of it."""

    def complex_function(self, function: str, operands: Sequence[Value], held: Element) -> Value:
        if function not in _FUNCTIONS:
            return super().complex_function(function, operands, held)
        real = Element("f", held.register, held.register, held.part_size)
        x, y = _FUNCTIONS[function](self, *[self._reals(operand, real) for operand in operands])
        return x.name, y.name

    def _reals(self, value: Value, held: Element) -> Pair:
        re, im = pair(value)
        return Real(self, held, re), Real(self, held, im)

    def _called(self, function: str, *operands: Pair) -> Pair:
        """One of the functions of the base class."""
        held = operands[0][0].held
        complex_held = Element("c", held.register, held.memory, 2 * held.part_size)
        return self._reals(self.complex_function(function, [(x.name, y.name) for x, y in operands], complex_held), held)

    def both(self, *conditions: str) -> str:
        return self.binary("and", "i1", *conditions)

    def either(self, *conditions: str) -> str:
        return self.binary("or", "i1", *conditions)

    def chosen(self, condition: str, x: Pair, y: Pair) -> Pair:
        return x[0].where(condition, y[0]), x[1].where(condition, y[1])

    def sqrt(self, z: Pair) -> Pair:
        """With t = sqrt((|a| + |z|) / 2), the parts of the root are t and b / 2t for a >= 0, else |b| / 2t and t with b's sign.

        Numbers near the ends of the range are scaled by a power of 4 before, and their roots by its root after.
        """
        register, bits = z[0].held.register, BITS[z[0].held.register]
        larger = replace(z[0], name=self.intrinsic("maximum", register, abs(z[0]).name, abs(z[1]).name))
        great, small = larger.compare("oge", LARGEST[register] / 4), larger.compare("olt", LEAST_NORMAL[register] * 2.0**bits)
        one = z[0].like(1.0)
        before, after = (one.like(at_top).where(great, one.like(at_bottom).where(small, one)) for at_top, at_bottom in ((0.0625, 4.0**bits), (4.0, 2.0**-bits)))
        a, b = z[0] * before, z[1] * before
        modulus = replace(a, name=self._modulus(register, a.name, b.name))
        t = ((abs(a) + modulus) * 0.5).of("sqrt")
        other = b.where(t.compare("oeq", 0.0), b * 0.5 / t)
        right = a.compare("oge", 0.0)
        x, y = t.where(right, abs(other)) * after, other.where(right, t.signed(b)) * after
        unbounded = abs(z[1]).compare("oeq", INFINITY)
        return x.like(INFINITY).where(unbounded, x), z[1].where(unbounded, y)

    def rsqrt(self, z: Pair) -> Pair:
        return self._reciprocal(self.sqrt(z))

    def _reciprocal(self, z: Pair) -> Pair:
        """1 / z, where one over an infinity is zero."""
        zero, one = z[0].like(0.0), z[0].like(1.0)
        unbounded = self.either(*[abs(part).compare("oeq", INFINITY) for part in z])
        return self.chosen(unbounded, (zero, zero), self._called("divide", (one, zero), z))

    def tanh(self, z: Pair) -> Pair:
        """With t = tan y, s = sinh x and B = 1 + t^2: (B s sqrt(1 + s^2) + i t) / (1 + B s^2); far out +-1 + 4i sin y cos y exp(-2 |x|)."""
        x, y = z
        t, s = y.of("tan"), x.of("sinh")
        steep, square = t * t + 1.0, s * s
        below = steep * square + 1.0
        far = abs(x).compare("ogt", 0.35 * BITS[x.held.register] + 1.0)
        tail = t / steep * 4.0 * (abs(x) * -2.0).of("exponential")
        re, im = x.like(1.0).signed(x), tail.where(far, t / below)
        unbounded = abs(x).compare("oeq", INFINITY)
        wild = self.both(t.compare("uno", 0.0), abs(x).compare("one", INFINITY))
        re = (re + (t - t)).where(wild, re)
        re = re.where(far, steep * s * (square + 1.0).of("sqrt") / below)
        im = y.like(0.0).signed(im.where(im.compare("ord", 0.0), y)).where(unbounded, im)
        return x.where(x.compare("oeq", 0.0), re), y.where(y.compare("oeq", 0.0), im)

    def tan(self, z: Pair) -> Pair:
        """tan z = -i tanh iz."""
        x, y = self.tanh((-z[1], z[0]))
        return y, -x

    def sinh(self, z: Pair) -> Pair:
        """sinh x cos y + i cosh x sin y; infinite and NaN for an infinite x beside an y that is not finite."""
        x, y = z
        re, cosine = x.of("sinh"), y.of("cosine")
        straight = y.compare("oeq", 0.0)
        product = abs(re).where(self._is_wild(x, cosine), self._product(re, cosine))
        return re.where(straight, product), y.where(straight, x.of("cosh") * y.of("sine"))

    def cosh(self, z: Pair) -> Pair:
        """cosh x cos y + i sinh x sin y; infinite and NaN for an infinite x beside an y that is not finite."""
        x, y = z
        re, rise, cosine = x.of("cosh"), x.of("sinh"), y.of("cosine")
        straight = y.compare("oeq", 0.0)
        im = (y * y.like(1.0).signed(x)).where(straight, self._product(rise, y.of("sine")))
        return re.where(self.either(straight, self._is_wild(x, cosine)), re * cosine), im

    def _is_wild(self, x: Real, cosine: Real) -> str:
        return self.both(abs(x).compare("oeq", INFINITY), cosine.compare("uno", 0.0))

    def _product(self, x: Real, y: Real) -> Real:
        """x y, but a zero for x = 0, whatever y is."""
        return x * y.like(1.0).signed(y).where(x.compare("oeq", 0.0), y)

    def sine(self, z: Pair) -> Pair:
        """sin z = i sinh(-iz)."""
        x, y = self.sinh((z[1], -z[0]))
        return -y, x

    def cosine(self, z: Pair) -> Pair:
        """cos z = cosh iz."""
        return self.cosh((-z[1], z[0]))

    def power(self, z: Pair, w: Pair) -> Pair:
        """exp(w log z); 1 for w = 0 and z for w = 1; for z = 0 zero if w has a positive real part, else NaN."""
        found = self._called("exponential", self._called("multiply", w, self._called("log", z)))
        zero, one, undefined = (z[0].like(value) for value in (0.0, 1.0, float("nan")))
        rises = w[0].compare("ogt", 0.0)
        found = self.chosen(self._is(z, 0.0), (zero.where(rises, undefined), zero.where(rises, undefined)), found)
        return self.chosen(self._is(w, 0.0), (one, zero), self.chosen(self._is(w, 1.0), z, found))

    def _is(self, z: Pair, value: float) -> str:
        return self.both(z[0].compare("oeq", value), z[1].compare("oeq", 0.0))

    def sign(self, z: Pair) -> Pair:
        """z / |z|; 0 at 0."""
        modulus = replace(z[0], name=self._modulus(z[0].held.register, z[0].name, z[1].name))
        zero, nothing = z[0].like(0.0), modulus.compare("oeq", 0.0)
        return zero.where(nothing, z[0] / modulus), zero.where(nothing, z[1] / modulus)

    def exponential_minus_one(self, z: Pair) -> Pair:
        """expm1(x) cos y - 2 sin^2(y / 2) + i exp(x) sin y."""
        x, y = z
        half = (y * 0.5).of("sine")
        im = x.of("exponential") * y.of("sine")
        return x.of("exponential_minus_one") * y.of("cosine") - half * half * 2.0, y.where(y.compare("oeq", 0.0), im)

    def log_plus_one(self, z: Pair) -> Pair:
        """log |1 + z| + i arg(1 + z), where |1 + z|^2 = 1 + x (2 + x) + y^2."""
        x, y = z
        near = (x * (x + 2.0) + y * y).of("log_plus_one") * 0.5
        far, angle = self._called("log", (x + 1.0, y))
        small = self.both(abs(x).compare("olt", 0.5), abs(y).compare("olt", 0.5))
        return near.where(small, far), angle

    def logistic(self, z: Pair) -> Pair:
        """1 / (1 + exp(-z))."""
        x, y = self._called("exponential", (-z[0], -z[1]))
        return self._reciprocal((x + 1.0, y))


_FUNCTIONS: dict[str, Callable[..., Pair]] = {
    function.__name__: function
    for function in (
        *(ElementaryComplexFunctions.sqrt, ElementaryComplexFunctions.rsqrt, ElementaryComplexFunctions.power, ElementaryComplexFunctions.sign),
        *(ElementaryComplexFunctions.tanh, ElementaryComplexFunctions.sinh, ElementaryComplexFunctions.cosh),
        *(ElementaryComplexFunctions.tan, ElementaryComplexFunctions.sine, ElementaryComplexFunctions.cosine),
        *(ElementaryComplexFunctions.exponential_minus_one, ElementaryComplexFunctions.log_plus_one, ElementaryComplexFunctions.logistic),
    )
}
