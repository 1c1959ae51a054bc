"""Expressions over LLVM vectors, written as Python arithmetic.

A `Code` fixes the element type and the number of lanes; `Float`, `Integer` and `Mask` are SSA names with operators that append one
instruction each.  Python numbers become splat constants.  Everything is element-wise and uses only instructions and intrinsics that
code generation expands inline, so the text needs no optimisation pass and no library.  The one exception is `fma`, for steps that
must be exact, on a processor without it (x86-64 before 2013): there LLVM calls the C library, which is slow and right.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from msgspec import Struct

from wengert.transforms.codegen.llvm.math.emitter import Emitter

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


def float_literal(value: float, element: str) -> str:
    """The LLVM spelling of a constant, exact for every value including infinities and NaN (f32 is rounded first)."""
    if element == "f32" and value == value and abs(value) != float("inf"):
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Mask(Struct, frozen=True):
    """One truth value per lane."""

    code: Code
    name: str

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.code, self.code.op(f"and {self.code.mask_type} {self.name}, {other.name}"))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.code, self.code.op(f"or {self.code.mask_type} {self.name}, {other.name}"))

    def __xor__(self, other: Mask) -> Mask:
        return Mask(self.code, self.code.op(f"xor {self.code.mask_type} {self.name}, {other.name}"))

    def __invert__(self) -> Mask:
        return Mask(self.code, self.code.op(f"xor {self.code.mask_type} {self.name}, {self.code.splat('i1', 'true')}"))


class Integer(Struct, frozen=True):
    """One integer per lane, as wide as the floating-point element."""

    code: Code
    name: str

    def _binary(self, opcode: str, other: Integer | int) -> Integer:
        right = other.name if isinstance(other, Integer) else self.code.splat(f"i{self.code.format.bits}", str(other))
        return Integer(self.code, self.code.op(f"{opcode} {self.code.integer_type} {self.name}, {right}"))

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
        right = self.code.splat(f"i{self.code.format.bits}", str(other))
        return Mask(self.code, self.code.op(f"icmp eq {self.code.integer_type} {self.name}, {right}"))

    def as_float(self) -> Float:
        """The float with these bits."""
        return Float(self.code, self.code.op(f"bitcast {self.code.integer_type} {self.name} to {self.code.type}"))


class Float(Struct, frozen=True):
    """One floating-point number per lane."""

    code: Code
    name: str

    def _binary(self, opcode: str, left: Operand, right: Operand) -> Float:
        return Float(self.code, self.code.op(f"{opcode} {self.code.type} {self.code.text(left)}, {self.code.text(right)}"))

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
        return Float(self.code, self.code.op(f"fneg {self.code.type} {self.name}"))

    def _compare(self, predicate: str, other: Operand) -> Mask:
        return Mask(self.code, self.code.op(f"fcmp {predicate} {self.code.type} {self.name}, {self.code.text(other)}"))

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
        return Integer(self.code, self.code.op(f"bitcast {self.code.type} {self.name} to {self.code.integer_type}"))


Operand = Float | float


class Code:
    """Appends instructions for vectors of `lanes` elements (scalars if 1) to an emitter."""

    def __init__(self, element: str, lanes: int, out: Emitter) -> None:
        self.format = FORMATS[element]
        self.element = element
        self.lanes = lanes
        self.out = out
        self.type = self._of(self.format.llvm)
        self.integer_type = self._of(f"i{self.format.bits}")
        self.mask_type = self._of("i1")
        self.suffix = element if lanes == 1 else f"v{lanes}{element}"

    def _of(self, scalar: str) -> str:
        return scalar if self.lanes == 1 else f"<{self.lanes} x {scalar}>"

    @property
    def double(self) -> bool:
        """Whether the elements are f64."""
        return self.element == "f64"

    def pick(self, single: T, double: T) -> T:
        """A choice by element type."""
        return double if self.double else single

    def op(self, text: str) -> str:
        """Appends an instruction and returns the name of its result."""
        name = self.out.fresh()
        self.out.line(f"{name} = {text}")
        return name

    def splat(self, scalar_type: str, literal: str) -> str:
        """A constant in every lane."""
        return literal if self.lanes == 1 else f"splat ({scalar_type} {literal})"

    def text(self, operand: Operand) -> str:
        """The spelling of an operand."""
        return operand.name if isinstance(operand, Float) else self.splat(self.format.llvm, float_literal(operand, self.element))

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
        if self.lanes == 1:
            return mask.name
        return self.op(f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({self.mask_type} {mask.name})")

    def rarely(self, mask: Mask, usual: Sequence[Float], otherwise: Callable[[], Sequence[Float]]) -> list[Float]:
        """The usual values, or where some lane of the mask is true all of them computed anew, in a block that is mostly jumped over."""
        some = self.any(mask)
        here, slow, end, join = (self.out.fresh()[1:] for _ in range(4))
        self.out.line(f"br label %{here}")
        self.out.line(f"{here}:")
        self.out.line(f"br i1 {some}, label %{slow}, label %{join}")
        self.out.line(f"{slow}:")
        anew = otherwise()
        self.out.line(f"br label %{end}")  # what was computed may have blocks of its own
        self.out.line(f"{end}:")
        self.out.line(f"br label %{join}")
        self.out.line(f"{join}:")
        return [Float(self, self.op(f"phi {self.type} [{x.name}, %{here}], [{y.name}, %{end}]")) for x, y in zip(usual, anew, strict=True)]

    def larger(self, a: Float, b: Float) -> Float:
        """The larger of two numbers; either, where one of them is NaN."""
        return self.select(a > b, a, b)

    def smaller(self, a: Float, b: Float) -> Float:
        """The other one."""
        return self.select(a > b, b, a)

    def widen(self, a: Float) -> Float:
        """f32 lanes as f64 lanes."""
        wide = Code("f64", self.lanes, self.out)
        return Float(wide, self.op(f"fpext {self.type} {a.name} to {wide.type}"))

    def narrow(self, a: Float) -> Float:
        """f64 lanes rounded to the f32 lanes of this code."""
        return Float(self, self.op(f"fptrunc {a.code.type} {a.name} to {self.type}"))
