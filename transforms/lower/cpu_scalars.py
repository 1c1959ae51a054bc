"""Scalar functions as LLVM instructions, for one lane or many: StableHLO's semantics, total for every input.

A value is the name of an SSA register or a literal, and a pair of them for complex numbers. Special functions come from
:mod:`wengert.transforms.lower.math`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from wengert.transforms.lower.cpu_types import Element, float_literal, splat, vector
from wengert.transforms.lower.math import SUPPORTED, Emitter, emit

Value = str | tuple[str, str]

_MATH = {
    "exponential": "exp",
    "exponential_minus_one": "expm1",
    "log": "log",
    "log_plus_one": "log1p",
    "logistic": "logistic",
    "sine": "sin",
    "cosine": "cos",
    "tan": "tan",
    "tanh": "tanh",
    "cbrt": "cbrt",
    "rsqrt": "rsqrt",
    "power": "pow",
    "atan2": "atan2",
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atanh": "atanh",
    "cosh": "cosh",
    "sinh": "sinh",
    "erf": "erf",
    "erfc": "erfc",
    "erf_inv": "erf_inv",
    "lgamma": "lgamma",
    "digamma": "digamma",
}
_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_EXPANDED_INTRINSICS = {"ceil": "ceil", "floor": "floor", "round_nearest_even": "roundeven", "round_nearest_afz": "round", "sqrt": "sqrt"}
_FLOAT_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv", "remainder": "frem"}
_INTEGER_ARITHMETIC = {"add": "add", "subtract": "sub", "multiply": "mul", "and": "and", "or": "or", "xor": "xor"}
_BOOLEAN_ARITHMETIC = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and", "and": "and", "or": "or", "xor": "xor"}
_PRECISION = re.compile(r"reduce_precision_e(\d+)m(\d+)")


class Scalars:
    """Appends the instructions of scalar functions on ``lanes`` lanes."""

    def __init__(self, out: Emitter, lanes: int, contract: bool):
        self.out = out
        self.lanes = lanes
        self.contract = "contract " if contract else ""

    # -- pieces

    def op(self, text: str) -> str:
        """Appends one instruction."""
        name = self.out.fresh()
        self.out.line(f"{name} = {text}")
        return name

    def type(self, register: str) -> str:
        return vector(register, self.lanes)

    def constant(self, register: str, text: str | int) -> str:
        return splat(register, str(text), self.lanes)

    def float_constant(self, register: str, value: float) -> str:
        return self.constant(register, float_literal(value, register))

    def suffix(self, register: str) -> str:
        """How an intrinsic's name ends for this type."""
        scalar = {"double": "f64", "float": "f32", "half": "f16"}.get(register, register)
        return scalar if self.lanes == 1 else f"v{self.lanes}{scalar}"

    def intrinsic(self, name: str, register: str, *operands: str, flags: str = "", extra: str = "") -> str:
        kind = self.type(register)
        return self.op(f"call {flags}{kind} @llvm.{name}.{self.suffix(register)}({', '.join(f'{kind} {o}' for o in operands)}{extra})")

    def binary(self, opcode: str, register: str, x: str, y: str) -> str:
        return self.op(f"{opcode} {self.type(register)} {x}, {y}")

    def select(self, condition: str, register: str, x: str, y: str) -> str:
        kind = self.type(register)
        return self.op(f"select {self.type('i1')} {condition}, {kind} {x}, {kind} {y}")

    def compare(self, predicate: str, register: str, x: str, y: str) -> str:
        return self.op(f"{'icmp' if register[0] == 'i' else 'fcmp'} {predicate} {self.type(register)} {x}, {y}")

    def cast(self, opcode: str, x: str, source: str, target: str) -> str:
        return self.op(f"{opcode} {self.type(source)} {x} to {self.type(target)}")

    # -- functions

    def apply(self, function: str, operands: Sequence[Value], types: Sequence[Element], result: Element) -> Value:
        """The function by its StableHLO name on operands of these types."""
        if function == "select":
            return self._select(operands, result)
        if function == "convert":
            return self.convert(operands[0], types[0], result)
        if function == "bitcast_convert":
            return self._bitcast(_one(operands[0]), types[0], result)
        if function == "complex":
            return _one(operands[0]), _one(operands[1])
        held = types[0]
        if held.kind == "c":
            return self._complex(function, operands, held)
        names = [_one(operand) for operand in operands]
        if function in _FLOAT_PREDICATES:
            return self._compare(function, names, held)
        if held.kind == "f":
            found = self._float(function, names, held)
            return self.narrowed(found, result.narrow) if result.narrow else found
        if held.kind == "b":
            return self._boolean(function, names)
        return self._integer(function, names, held)

    def _select(self, operands: Sequence[Value], result: Element) -> Value:
        condition = _one(operands[0])
        x, y = operands[1], operands[2]
        if isinstance(x, tuple) and isinstance(y, tuple):
            return self.select(condition, result.register, x[0], y[0]), self.select(condition, result.register, x[1], y[1])
        return self.select(condition, result.register, _one(x), _one(y))

    def _compare(self, function: str, names: Sequence[str], held: Element) -> str:
        if held.kind == "f":
            return self.compare(_FLOAT_PREDICATES[function], held.register, *names)
        predicate = function if function in ("eq", "ne") else ("s" if held.kind == "i" else "u") + function
        return self.compare(predicate, held.register, *names)

    # -- floats

    def _float(self, function: str, names: Sequence[str], held: Element) -> str:
        register = held.register
        if function in _FLOAT_ARITHMETIC:
            return self.op(f"{_FLOAT_ARITHMETIC[function]} {self.contract}{self.type(register)} {names[0]}, {names[1]}")
        if function in _MATH:
            assert (_MATH[function], held.math) in SUPPORTED
            return emit(_MATH[function], held.math, self.lanes, names, self.out)
        if function in _EXPANDED_INTRINSICS:
            return self.intrinsic(_EXPANDED_INTRINSICS[function], register, *names)
        if match := _PRECISION.fullmatch(function):
            return self._reduce_precision(names[0], held, int(match[1]), int(match[2]))
        return _FLOAT_FUNCTIONS[function](self, register, *names)

    def _negate(self, register: str, x: str) -> str:
        return self.op(f"fneg {self.type(register)} {x}")

    def _abs(self, register: str, x: str) -> str:
        return self.intrinsic("fabs", register, x)

    def _maximum(self, register: str, x: str, y: str) -> str:
        return self.intrinsic("maximum", register, x, y)

    def _minimum(self, register: str, x: str, y: str) -> str:
        return self.intrinsic("minimum", register, x, y)

    def _clamp(self, register: str, low: str, x: str, high: str) -> str:
        return self._minimum(register, self._maximum(register, x, low), high)

    def _square(self, register: str, x: str) -> str:
        return self.op(f"fmul {self.contract}{self.type(register)} {x}, {x}")

    def _conjugate(self, register: str, x: str) -> str:
        return x

    def _sign(self, register: str, x: str) -> str:
        one = self.intrinsic("copysign", register, self.float_constant(register, 1.0), x)
        nonzero = self.compare("one", register, x, self.float_constant(register, 0.0))
        return self.select(nonzero, register, one, x)

    def _is_finite(self, register: str, x: str) -> str:
        return self.compare("olt", register, self._abs(register, x), self.float_constant(register, float("inf")))

    def _is_inf(self, register: str, x: str) -> str:
        return self.compare("oeq", register, self._abs(register, x), self.float_constant(register, float("inf")))

    def _is_positive_inf(self, register: str, x: str) -> str:
        return self.compare("oeq", register, x, self.float_constant(register, float("inf")))

    def _is_negative_inf(self, register: str, x: str) -> str:
        return self.compare("oeq", register, x, self.float_constant(register, float("-inf")))

    def _total(self, register: str, x: str, y: str, function: str) -> str:
        """Compares the bits as integers, those of negative numbers flipped: -NaN < -inf < ... < -0 < 0 < ... < NaN."""
        word = "i64" if register == "double" else "i32"
        ordered: list[str] = []
        for name in (x, y):
            bits = self.cast("bitcast", name, register, word)
            fill = self.binary("ashr", word, bits, self.constant(word, 63 if word == "i64" else 31))
            flip = self.binary("lshr", word, fill, self.constant(word, 1))
            ordered.append(self.binary("xor", word, bits, flip))
        return self.compare(function if function in ("eq", "ne") else f"s{function}", word, *ordered)

    def _reduce_precision(self, x: str, held: Element, exponent: int, mantissa: int) -> str:
        register = held.register
        nexp, nmant, word = (11, 52, "i64") if register == "double" else (8, 23, "i32")
        exponent, mantissa = min(exponent, nexp), min(mantissa, 7 if held.narrow == "bf16" else nmant)
        cut, bias, small = nmant - mantissa, (1 << (nexp - 1)) - 1, (1 << (exponent - 1)) - 1
        bits = self.cast("bitcast", x, register, word)
        found = bits
        if cut:
            tie = self.binary("and", word, self.binary("lshr", word, bits, self.constant(word, cut)), self.constant(word, 1))
            up = self.binary("add", word, tie, self.constant(word, (1 << (cut - 1)) - 1))
            found = self.binary("and", word, self.binary("add", word, bits, up), self.constant(word, -(1 << cut)))
        if exponent < nexp:
            exponents = ((1 << nexp) - 1) << nmant
            sign = self.binary("and", word, bits, self.constant(word, -(1 << (nexp + nmant))))
            power = self.binary("and", word, found, self.constant(word, exponents))
            high = self.compare("ugt", word, power, self.constant(word, (bias + small) << nmant))
            low = self.compare("ule", word, power, self.constant(word, (bias - small) << nmant))
            found = self.select(high, word, self.binary("or", word, sign, self.constant(word, exponents)), found)
            found = self.select(low, word, sign, found)
        nan = x
        if not mantissa:  # without mantissa bits there is no NaN
            sign = self.binary("and", word, bits, self.constant(word, -(1 << (nexp + nmant))))
            nan = self.cast("bitcast", self.binary("or", word, sign, self.constant(word, ((1 << nexp) - 1) << nmant)), word, register)
        return self.select(self.compare("uno", register, x, x), register, nan, self.cast("bitcast", found, word, register))

    def narrowed(self, x: str, narrow: str) -> str:
        """A float rounded to a 16-bit format, still as a float."""
        if narrow == "f16":
            return self.cast("fpext", self.cast("fptrunc", x, "float", "half"), "half", "float")
        bits = self.cast("bitcast", x, "float", "i32")
        tie = self.binary("and", "i32", self.binary("lshr", "i32", bits, self.constant("i32", 16)), self.constant("i32", 1))
        rounded = self.binary("add", "i32", bits, self.binary("add", "i32", tie, self.constant("i32", 0x7FFF)))
        quiet = self.binary("or", "i32", bits, self.constant("i32", 0x400000))
        kept = self.select(self.compare("uno", "float", x, x), "i32", quiet, rounded)
        return self.cast("bitcast", self.binary("and", "i32", kept, self.constant("i32", -65536)), "i32", "float")

    def _odd_float(self, x: str) -> str:
        """A double as a float rounded to odd, which a second rounding to 16 bits cannot spoil."""
        near = self.cast("fptrunc", x, "double", "float")
        back = self.cast("fpext", near, "float", "double")
        bits = self.cast("bitcast", near, "float", "i32")
        above = self.compare("ogt", "double", self._abs("double", back), self._abs("double", x))
        cut = self.select(above, "i32", self.binary("sub", "i32", bits, self.constant("i32", 1)), bits)
        odd = self.binary("or", "i32", cut, self.constant("i32", 1))
        finite = self._is_finite("float", near)
        inexact = self.binary("and", "i1", finite, self.compare("one", "double", back, x))
        return self.cast("bitcast", self.select(inexact, "i32", odd, bits), "i32", "float")

    # -- integers and booleans

    def _boolean(self, function: str, names: Sequence[str]) -> str:
        if function == "not":
            return self.binary("xor", "i1", names[0], self.constant("i1", "true"))
        return self.binary(_BOOLEAN_ARITHMETIC[function], "i1", names[0], names[1])

    def _integer(self, function: str, names: Sequence[str], held: Element) -> str:
        if function in _INTEGER_ARITHMETIC:
            return self.binary(_INTEGER_ARITHMETIC[function], held.register, names[0], names[1])
        return _INTEGER_FUNCTIONS[function](self, held, *names)

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

    def _popcnt(self, held: Element, x: str) -> str:
        return self.intrinsic("ctpop", held.register, x)

    def _leading_zeros(self, held: Element, x: str) -> str:
        return self.intrinsic("ctlz", held.register, x, extra=", i1 false")

    # -- complex numbers

    def _complex(self, function: str, operands: Sequence[Value], held: Element) -> Value:
        pairs = [_pair(operand) for operand in operands]
        part, (re, im) = held.register, pairs[0]
        if function in ("add", "subtract"):
            opcode = "fadd" if function == "add" else "fsub"
            return self.binary(opcode, part, re, pairs[1][0]), self.binary(opcode, part, im, pairs[1][1])
        if function in ("multiply", "square"):
            return self.multiply_complex(part, pairs[0], pairs[-1])
        if function == "negate":
            return self._negate(part, re), self._negate(part, im)
        if function == "conj":
            return re, self._negate(part, im)
        if function in ("real", "imag"):
            return re if function == "real" else im
        predicate = _FLOAT_PREDICATES[function]
        first = self.compare(predicate, part, re, pairs[1][0])
        return self.binary("and" if function == "eq" else "or", "i1", first, self.compare(predicate, part, im, pairs[1][1]))

    def multiply_complex(self, part: str, x: tuple[str, str], y: tuple[str, str]) -> tuple[str, str]:
        """(a + bi)(c + di) = (ac - bd) + (ad + bc)i."""
        flags = self.contract.rstrip()
        ac, bd, ad, bc = [self.binary(f"fmul {flags}", part, p, q) for p, q in ((x[0], y[0]), (x[1], y[1]), (x[0], y[1]), (x[1], y[0]))]
        return self.binary(f"fsub {flags}", part, ac, bd), self.binary(f"fadd {flags}", part, ad, bc)

    # -- conversions

    def convert(self, x: Value, source: Element, target: Element) -> Value:
        """The number in another type: to integers by truncation, saturating, NaN as 0; to booleans by being nonzero."""
        if source == target:
            return x
        if source.kind == "c":
            re, im = _pair(x)
            if target.kind == "c":
                return self._float_to_float(re, source, target), self._float_to_float(im, source, target)
            if target.kind == "b":
                nonzero = [self.compare("une", source.register, part, self.float_constant(source.register, 0.0)) for part in (re, im)]
                return self.binary("or", "i1", *nonzero)
            return self._convert_real(re, Element("f", source.register, source.register, source.part_size), target)
        name = _one(x)
        if target.kind == "c":
            part = Element("f", target.register, target.register, target.part_size)
            return _one(self.convert(name, source, part)), self.float_constant(target.register, 0.0)
        return self._convert_real(name, source, target)

    def _convert_real(self, x: str, source: Element, target: Element) -> str:
        if source == target:
            return x
        if target.kind == "b":
            return self.compare(
                "une" if source.kind == "f" else "ne", source.register, x, "zeroinitializer" if self.lanes > 1 else ("0.0" if source.kind == "f" else "0")
            )
        if source.kind == "f":
            return self._float_to_float(x, source, target) if target.kind == "f" else self._float_to_integer(x, source, target)
        if target.kind == "f":
            opcode = "sitofp" if source.kind == "i" else "uitofp"
            if target.narrow:
                return self.narrowed(self._odd_float(self.cast(opcode, x, source.register, "double")), target.narrow)
            return self.cast(opcode, x, source.register, target.register)
        return self.resize(x, source.register, target.register, signed=source.kind == "i")

    def resize(self, x: str, source: str, target: str, *, signed: bool) -> str:
        """An integer in another width."""
        before, after = int(source[1:]), int(target[1:])
        if before == after:
            return x
        return self.cast("trunc" if after < before else "sext" if signed else "zext", x, source, target)

    def _float_to_float(self, x: str, source: Element, target: Element) -> str:
        if target.narrow:
            if source.register == "double":
                x = self._odd_float(x)
            elif source.narrow == target.narrow:
                return x
            return self.narrowed(x, target.narrow)
        if source.register == target.register:
            return x
        return self.cast("fpext" if target.register == "double" else "fptrunc", x, source.register, target.register)

    def _float_to_integer(self, x: str, source: Element, target: Element) -> str:
        name = "fptosi" if target.kind == "i" else "fptoui"
        kinds = f"{self.suffix(target.register)}.{self.suffix(source.register)}"
        return self.op(f"call {self.type(target.register)} @llvm.{name}.sat.{kinds}({self.type(source.register)} {x})")

    def _bitcast(self, x: str, source: Element, target: Element) -> str:
        word = f"i{8 * source.size}"
        return self.from_word(self.to_word(x, source, word), target, word)

    def to_word(self, x: str, source: Element, word: str) -> str:
        """The bits that the value has in memory, as an integer."""
        if source.narrow == "bf16":
            bits = self.cast("bitcast", x, "float", "i32")
            return self.cast("trunc", self.binary("lshr", "i32", bits, self.constant("i32", 16)), "i32", "i16")
        if source.narrow == "f16":
            return self.cast("bitcast", self.cast("fptrunc", x, "float", "half"), "half", "i16")
        return self.cast("bitcast", x, source.register, word) if source.kind == "f" else x

    def from_word(self, x: str, target: Element, word: str) -> str:
        """The value that has these bits in memory."""
        if target.narrow == "bf16":
            wide = self.binary("shl", "i32", self.cast("zext", x, "i16", "i32"), self.constant("i32", 16))
            return self.cast("bitcast", wide, "i32", "float")
        if target.narrow == "f16":
            return self.cast("fpext", self.cast("bitcast", x, "i16", "half"), "half", "float")
        return self.cast("bitcast", x, word, target.register) if target.kind == "f" else x

    # -- reductions

    def combine(self, kind: str, x: Value, y: Value, held: Element) -> Value:
        """Two elements combined by a reduction kind (16-bit floats are not rounded)."""
        if held.kind == "c":
            (a, b), (c, d) = _pair(x), _pair(y)
            return self.binary("fadd", held.register, a, c), self.binary("fadd", held.register, b, d)
        name = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum", "and": "and", "or": "or"}[kind]
        names = (_one(x), _one(y))
        if held.kind == "f":
            return self._float(name, names, held)
        return self._boolean(name, names) if held.kind == "b" else self._integer(name, names, held)

    def horizontal(self, kind: str, x: str, held: Element) -> str:
        """All lanes of one register combined into a scalar."""
        if self.lanes == 1:
            return x
        suffix = self.suffix(held.register)
        if held.kind == "f":
            if kind in ("add", "mul"):
                start = float_literal(-0.0 if kind == "add" else 1.0, held.register)
                return self.op(f"call reassoc {held.register} @llvm.vector.reduce.f{kind}.{suffix}({held.register} {start}, {self.type(held.register)} {x})")
            return self.op(f"call {held.register} @llvm.vector.reduce.f{kind}imum.{suffix}({self.type(held.register)} {x})")
        name = kind if kind in ("add", "mul", "and", "or") else ("s" if held.kind == "i" else "u") + kind
        return self.op(f"call {held.register} @llvm.vector.reduce.{name}.{suffix}({self.type(held.register)} {x})")


def neutral(kind: str, held: Element) -> str:
    """The literal that combines with any element to that element (one part of it, for complex numbers)."""
    if held.kind in "fc":
        return float_literal({"add": 0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf")}[kind], held.register)
    if held.kind == "b":
        return "true" if kind == "and" else "false"
    if kind in ("max", "min"):
        least, greatest = (0, (1 << held.bits) - 1) if held.kind == "u" else (-(1 << (held.bits - 1)), (1 << (held.bits - 1)) - 1)
        return str(least if kind == "max" else greatest)
    return {"add": "0", "mul": "1", "and": "-1", "or": "0"}[kind]


def _one(value: Value) -> str:
    assert isinstance(value, str)
    return value


def _pair(value: Value) -> tuple[str, str]:
    assert isinstance(value, tuple)
    return value


def _total(function: str) -> Callable[..., str]:
    return lambda scalars, register, x, y: scalars._total(register, x, y, function)  # pyright: ignore[reportPrivateUsage]


_FLOAT_FUNCTIONS: dict[str, Callable[..., str]] = {
    "negate": Scalars._negate,
    "abs": Scalars._abs,
    "maximum": Scalars._maximum,
    "minimum": Scalars._minimum,
    "clamp": Scalars._clamp,
    "square": Scalars._square,
    "conj": Scalars._conjugate,
    "real": Scalars._conjugate,
    "sign": Scalars._sign,
    "is_finite": Scalars._is_finite,
    "is_inf": Scalars._is_inf,
    "is_pos_inf": Scalars._is_positive_inf,
    "is_neg_inf": Scalars._is_negative_inf,
    "imag": lambda scalars, register, x: scalars.float_constant(register, 0.0),
    **{f"total_{name}": _total(name) for name in _FLOAT_PREDICATES},
}  # pyright: ignore[reportPrivateUsage]
_INTEGER_FUNCTIONS: dict[str, Callable[..., str]] = {
    "negate": Scalars._integer_negate,
    "not": Scalars._integer_not,
    "abs": Scalars._integer_abs,
    "square": Scalars._integer_square,
    "conj": lambda scalars, held, x: x,
    "sign": Scalars._integer_sign,
    "maximum": lambda scalars, held, x, y: scalars._integer_extreme(held, x, y, "max"),
    "minimum": lambda scalars, held, x, y: scalars._integer_extreme(held, x, y, "min"),
    "clamp": Scalars._integer_clamp,
    "divide": Scalars._integer_divide,
    "remainder": Scalars._integer_remainder,
    "shift_left": lambda scalars, held, x, y: scalars._shift(held, x, y, "shl"),
    "shift_right_logical": lambda scalars, held, x, y: scalars._shift(held, x, y, "lshr"),
    "shift_right_arithmetic": lambda scalars, held, x, y: scalars._shift(held, x, y, "ashr"),
    "popcnt": Scalars._popcnt,
    "count_leading_zeros": Scalars._leading_zeros,
}
