"""Expressions over LLVM vectors, written as Python arithmetic.

A `MathBuilder` fixes the element type and the number of lanes; `Float`, `Integer` and `Mask` are SSA names with operators that append one
instruction each.  Python numbers become splat constants.  Everything is element-wise and uses only instructions and intrinsics that
code generation expands inline, so the text needs no optimisation pass and no library.  The one exception is `fma`, for steps that
must be exact, on a processor without it (x86-64 before 2013): there LLVM calls the C library, which is slow and right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from msgspec import Struct

from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.types import float_literal, splat, vector
from wengert.transforms.codegen.llvm.vector_builder import VectorBuilder

Element = Literal["f32", "f64"]
T = TypeVar("T")


class Format(Struct, frozen=True):
    """The parameters of an IEEE format: `mantissa` is the number of stored fraction bits."""

    element: Element
    llvm: str
    bits: int
    mantissa: int
    bias: int
    smallest_normal: float
    largest: float


FORMATS: dict[str, Format] = {
    "f32": Format("f32", "float", 32, 23, 127, 2.0**-126, (2 - 2.0**-23) * 2.0**127),
    "f64": Format("f64", "double", 64, 52, 1023, 2.0**-1022, (2 - 2.0**-52) * 2.0**1023),
}


class Mask(Struct, frozen=True):
    """One truth value per lane."""

    builder: MathBuilder
    name: str

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.builder, self.builder.op(f"and {self.builder.mask_type} {self.name}, {other.name}"))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.builder, self.builder.op(f"or {self.builder.mask_type} {self.name}, {other.name}"))

    def __xor__(self, other: Mask) -> Mask:
        return Mask(self.builder, self.builder.op(f"xor {self.builder.mask_type} {self.name}, {other.name}"))

    def __invert__(self) -> Mask:
        return Mask(self.builder, self.builder.op(f"xor {self.builder.mask_type} {self.name}, {splat('i1', 'true', self.builder.lanes)}"))


class Integer(Struct, frozen=True):
    """One integer per lane, as wide as the floating-point element."""

    builder: MathBuilder
    name: str

    def _binary(self, opcode: str, other: Integer | int) -> Integer:
        right = other.name if isinstance(other, Integer) else splat(f"i{self.builder.format.bits}", str(other), self.builder.lanes)
        return Integer(self.builder, self.builder.op(f"{opcode} {self.builder.integer_type} {self.name}, {right}"))

    def __add__(self, other: Integer | int) -> Integer:
        return self._binary("add", other)

    def __sub__(self, other: Integer | int) -> Integer:
        return self._binary("sub", other)

    def __and__(self, other: Integer | int) -> Integer:
        return self._binary("and", other)

    def __or__(self, other: Integer | int) -> Integer:
        return self._binary("or", other)

    def __xor__(self, other: Integer | int) -> Integer:
        return self._binary("xor", other)

    def __lshift__(self, other: int) -> Integer:
        return self._binary("shl", other)

    def __rshift__(self, other: int) -> Integer:
        """A logical shift: AVX2 has no arithmetic one for 64 bits."""
        return self._binary("lshr", other)

    def equals(self, other: int) -> Mask:
        right = splat(f"i{self.builder.format.bits}", str(other), self.builder.lanes)
        return Mask(self.builder, self.builder.op(f"icmp eq {self.builder.integer_type} {self.name}, {right}"))

    def as_float(self) -> Float:
        """The float with these bits."""
        return Float(self.builder, self.builder.op(f"bitcast {self.builder.integer_type} {self.name} to {self.builder.type}"))


class Float(Struct, frozen=True):
    """One floating-point number per lane."""

    builder: MathBuilder
    name: str

    def _binary(self, opcode: str, left: Operand, right: Operand) -> Float:
        return Float(self.builder, self.builder.op(f"{opcode} {self.builder.type} {self.builder.text(left)}, {self.builder.text(right)}"))

    def __add__(self, other: Operand) -> Float:
        return self._binary("fadd", self, other)

    def __radd__(self, other: Operand) -> Float:
        return self._binary("fadd", other, self)

    def __sub__(self, other: Operand) -> Float:
        return self._binary("fsub", self, other)

    def __rsub__(self, other: Operand) -> Float:
        return self._binary("fsub", other, self)

    def __mul__(self, other: Operand) -> Float:
        return self._binary("fmul", self, other)

    def __rmul__(self, other: Operand) -> Float:
        return self._binary("fmul", other, self)

    def __truediv__(self, other: Operand) -> Float:
        return self._binary("fdiv", self, other)

    def __rtruediv__(self, other: Operand) -> Float:
        return self._binary("fdiv", other, self)

    def __neg__(self) -> Float:
        return Float(self.builder, self.builder.op(f"fneg {self.builder.type} {self.name}"))

    def _compare(self, predicate: str, other: Operand) -> Mask:
        return Mask(self.builder, self.builder.op(f"fcmp {predicate} {self.builder.type} {self.name}, {self.builder.text(other)}"))

    def __lt__(self, other: Operand) -> Mask:
        return self._compare("olt", other)

    def __le__(self, other: Operand) -> Mask:
        return self._compare("ole", other)

    def __gt__(self, other: Operand) -> Mask:
        return self._compare("ogt", other)

    def __ge__(self, other: Operand) -> Mask:
        return self._compare("oge", other)

    def equals(self, other: Operand) -> Mask:
        return self._compare("oeq", other)

    def differs(self, other: Operand) -> Mask:
        """True also where either is NaN."""
        return self._compare("une", other)

    def is_nan(self) -> Mask:
        return self._compare("uno", self)

    def bits(self) -> Integer:
        """The representation as an integer."""
        return Integer(self.builder, self.builder.op(f"bitcast {self.builder.type} {self.name} to {self.builder.integer_type}"))


Operand = Float | float


class MathBuilder:
    """Appends instructions for vectors of `lanes` floats (scalars if 1) to a function."""

    def __init__(self, element: str, lanes: int, builder: FunctionBuilder) -> None:
        self.format = FORMATS[element]
        self.element = element
        self.lanes = lanes
        self.builder = builder
        self.op = builder.op
        self.vectors = VectorBuilder(builder, lanes, False)
        self.type = vector(self.format.llvm, lanes)
        self.integer_type = vector(f"i{self.format.bits}", lanes)
        self.mask_type = vector("i1", lanes)
        self.suffix = element if lanes == 1 else f"v{lanes}{element}"

    @property
    def double(self) -> bool:
        """Whether the elements are f64."""
        return self.element == "f64"

    def pick(self, single: T, double: T) -> T:
        """A choice by element type."""
        return double if self.double else single

    def text(self, operand: Operand) -> str:
        """The spelling of an operand."""
        return operand.name if isinstance(operand, Float) else splat(self.format.llvm, float_literal(operand, self.format.llvm), self.lanes)

    def constant(self, value: float) -> Float:
        """A splat constant as a value with operators."""
        return Float(self, self.text(value))

    def _intrinsic(self, name: str, *operands: Operand) -> Float:
        arguments = ", ".join(f"{self.type} {self.text(operand)}" for operand in operands)
        return Float(self, self.op(f"call {self.type} @llvm.{name}.{self.suffix}({arguments})"))

    def fma(self, a: Operand, b: Operand, c: Operand) -> Float:
        """a * b + c rounded once."""
        return self._intrinsic("fma", a, b, c)

    def multiply_add(self, a: Operand, b: Operand, c: Operand) -> Float:
        """a * b + c, fused where the processor can."""
        return self._intrinsic("fmuladd", a, b, c)

    def abs(self, a: Operand) -> Float:
        return self._intrinsic("fabs", a)

    def sqrt(self, a: Operand) -> Float:
        return self._intrinsic("sqrt", a)

    def floor(self, a: Operand) -> Float:
        return self._intrinsic("floor", a)

    def copysign(self, magnitude: Operand, sign: Operand) -> Float:
        return self._intrinsic("copysign", magnitude, sign)

    def select(self, mask: Mask, then: Operand, otherwise: Operand) -> Float:
        """`then` where the mask is true."""
        return Float(self, self.op(f"select {self.mask_type} {mask.name}, {self.type} {self.text(then)}, {self.type} {self.text(otherwise)}"))

    def select_bits(self, mask: Mask, then: Integer, otherwise: Integer) -> Integer:
        """The same for integers."""
        kind = self.integer_type
        return Integer(self, self.op(f"select {self.mask_type} {mask.name}, {kind} {then.name}, {kind} {otherwise.name}"))

    def at_most(self, a: Float, limit: float) -> Float:
        """min(a, limit) that keeps NaN."""
        return self.select(a > limit, limit, a)

    def at_least(self, a: Float, limit: float) -> Float:
        """max(a, limit) that keeps NaN."""
        return self.select(a < limit, limit, a)

    def polynomial(self, coefficients: Sequence[float], x: Float) -> Float:
        """sum of coefficients[i] x^i, by Horner's rule in x^2 on the even and the odd half.

        Two chains of half the length hide the latency of fma at the price of one multiplication.  Where the halves cancel, `horner`
        is more accurate.
        """
        if len(coefficients) < 6:
            return self.horner(coefficients, x)
        square = x * x
        return self.multiply_add(self.horner(coefficients[1::2], square), x, self.horner(coefficients[0::2], square))

    def horner(self, coefficients: Sequence[float], x: Float) -> Float:
        """sum of coefficients[i] x^i, highest power first."""
        result = self.constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.multiply_add(result, x, coefficient)
        return result

    def any(self, mask: Mask) -> str:
        """An i1: whether some lane of the mask is true."""
        return self.vectors.any(mask.name)

    def rarely(self, mask: Mask, likely: Sequence[Float], otherwise: Callable[[], Sequence[Float]]) -> list[Float]:
        """The likely values, or where some lane of the mask is true all of them computed anew, in a block that is rarely run."""
        operands = [(self.type, x.name) for x in likely]
        return [Float(self, name) for name in self.builder.rarely(self.any(mask), operands, lambda: [x.name for x in otherwise()])]

    def larger(self, a: Float, b: Float) -> Float:
        """The larger of two numbers; either, where one of them is NaN."""
        return self.select(a > b, a, b)

    def smaller(self, a: Float, b: Float) -> Float:
        """The other one."""
        return self.select(a > b, b, a)

    def widen(self, a: Float) -> Float:
        """f32 lanes as f64 lanes."""
        wide = MathBuilder("f64", self.lanes, self.builder)
        return Float(wide, self.op(f"fpext {self.type} {a.name} to {wide.type}"))

    def narrow(self, a: Float) -> Float:
        """f64 lanes rounded to the f32 lanes of this builder."""
        return Float(self, self.op(f"fptrunc {a.builder.type} {a.name} to {self.type}"))
