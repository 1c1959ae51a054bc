"""The meanings of the scalar ops of a kernel, as scalar functions of the kernel dialect.

Every op of ``arith``, ``math`` and ``complex`` in a kernel means one function of StableHLO on elements of some types, and a call of
``@wg.<function>.<operand types>.<result type>`` says it by name. So a kernel has one meaning, whoever reads it: the interpreter runs the functions that
it runs for StableHLO, and code generators emit the code that the CPU backend has for them::

    arith.addf %x, %y : f32                      add on f32
    arith.maxui %x, %y : i32                     maximum on ui32
    arith.cmpi ult, %x, %y : i32                 lt on ui32
    math.exp %x : f32                            exponential on f32
    call @wg.divide.i32.i32.i32(%x, %y)          divide on i32, total as StableHLO's

Ops that have no such function (``arith.maxnumf``, unordered comparisons) and arithmetic on ``index`` are none of these: :func:`meaning` is None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import cast

from msgspec import Struct
from xdsl.dialects import arith, complex, math
from xdsl.dialects.builtin import ComplexType, IndexType, IntegerType, Signedness
from xdsl.ir import Attribute, Operation

from wengert.dialects.gpu.memory import signless
from wengert.dialects.kernel import functions
from wengert.ir.attributes import int_of
from wengert.ir.parsing.types import element_named
from wengert.ir.tensor_types import f32, f64, i1, is_boolean, is_complex, is_float, is_integer, real_element

PREFIX = "wg."
"""What the names of device functions begin with."""
_COMPLEX_NAME = re.compile(r"c(64|128)")
_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FLOAT_PREDICATES: Mapping[int, str] = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 13: "ne"}
"""The comparisons of floats that StableHLO has, by MLIR's numbers: ordered ones, and ``une``."""


class Meaning(Struct, frozen=True):
    """A scalar function, the types of its operands and of its result. Types say their signs."""

    function: str
    operands: tuple[Attribute, ...]
    result: Attribute

    @property
    def name(self) -> str:
        """The name of the device function that computes it."""
        return f"{PREFIX}{self.function}.{'.'.join([type_name(type) for type in (*self.operands, self.result)])}"


FLOAT_FUNCTIONS: Mapping[type[Operation], str] = {
    arith.AddfOp: "add",
    arith.SubfOp: "subtract",
    arith.MulfOp: "multiply",
    arith.DivfOp: "divide",
    arith.NegfOp: "negate",
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    math.AbsFOp: "abs",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.Atan2Op: "atan2",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CosOp: "cosine",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.ExpM1Op: "exponential_minus_one",
    math.ExpOp: "exponential",
    math.FloorOp: "floor",
    math.Log1pOp: "log_plus_one",
    math.LogOp: "log",
    math.PowFOp: "power",
    math.RoundEvenOp: "round_nearest_even",
    math.RoundOp: "round_nearest_afz",
    math.RsqrtOp: "rsqrt",
    math.SinOp: "sine",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
}
"""The functions of ops on floats, which have one type throughout."""

SIGNED_FUNCTIONS: Mapping[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.SubiOp: "subtract",
    arith.MuliOp: "multiply",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
    arith.XOrIOp: "xor",
    arith.MaxSIOp: "maximum",
    arith.MinSIOp: "minimum",
    math.AbsIOp: "abs",
    math.CtPopOp: "popcnt",
    math.CountLeadingZerosOp: "count_leading_zeros",
}
"""The functions of ops on integers that do not ask for a sign, or have one."""

UNSIGNED_FUNCTIONS: Mapping[type[Operation], str] = {arith.MaxUIOp: "maximum", arith.MinUIOp: "minimum"}
"""The functions of ops on integers without a sign."""

BOOLEAN_FUNCTIONS: Mapping[type[Operation], str] = {
    arith.AndIOp: "and",
    arith.OrIOp: "or",
    arith.XOrIOp: "xor",
    arith.AddiOp: "xor",
    arith.SubiOp: "xor",
    arith.MuliOp: "and",
}
"""The functions of ops on i1, whose arithmetic is modulo 2."""

COMPLEX_FUNCTIONS: Mapping[type[Operation], str] = {
    complex.AbsOp: "abs",
    complex.AddOp: "add",
    complex.ConjOp: "conj",
    complex.CosOp: "cosine",
    complex.CreateOp: "complex",
    complex.DivOp: "divide",
    complex.EqualOp: "eq",
    complex.ExpOp: "exponential",
    complex.Expm1Op: "exponential_minus_one",
    complex.ImOp: "imag",
    complex.Log1pOp: "log_plus_one",
    complex.LogOp: "log",
    complex.MulOp: "multiply",
    complex.NegOp: "negate",
    complex.NotEqualOp: "ne",
    complex.PowOp: "power",
    complex.ReOp: "real",
    complex.RsqrtOp: "rsqrt",
    complex.SignOp: "sign",
    complex.SinOp: "sine",
    complex.SqrtOp: "sqrt",
    complex.SubOp: "subtract",
    complex.TanOp: "tan",
    complex.TanhOp: "tanh",
}
"""The functions of ops on complex numbers."""

CONVERSIONS: Mapping[type[Operation], tuple[bool, bool]] = {
    arith.ExtFOp: (False, False),
    arith.TruncFOp: (False, False),
    arith.SIToFPOp: (False, False),
    arith.UIToFPOp: (True, False),
    arith.ExtSIOp: (False, False),
    arith.ExtUIOp: (True, False),
    arith.TruncIOp: (False, False),
}
"""The ops that convert, and whether their operand and their result count as unsigned."""


def meaning(op: Operation) -> Meaning | None:
    """The function that a scalar op of a kernel computes; None for an op that is none, or works on ``index``."""
    kind = type(op)
    if kind in CONVERSIONS:
        return _conversion(op)
    if kind is arith.SelectOp:
        type_ = op.results[0].type
        return None if isinstance(type_, IndexType) else Meaning("select", (i1, type_, type_), type_)
    if not op.operands or isinstance(op.operands[0].type, IndexType):
        return None
    if kind in COMPLEX_FUNCTIONS:
        return Meaning(COMPLEX_FUNCTIONS[kind], tuple(value.type for value in op.operands), op.results[0].type)
    find = _FINDERS.get(kind, _by_table)
    return find(op, op.operands[0].type)


def _by_table(op: Operation, element: Attribute) -> Meaning | None:
    kind = type(op)
    if is_float(element):
        name = FLOAT_FUNCTIONS.get(kind)
    elif is_boolean(element):
        name = BOOLEAN_FUNCTIONS.get(kind)
    else:
        name = SIGNED_FUNCTIONS.get(kind)
        if kind in UNSIGNED_FUNCTIONS:
            name, element = UNSIGNED_FUNCTIONS[kind], unsigned(element)
    return None if name is None else Meaning(name, (element,) * len(op.operands), element)


def _conversion(op: Operation) -> Meaning | None:
    source, target = op.operands[0].type, op.results[0].type
    if isinstance(source, IndexType) or isinstance(target, IndexType):
        return None
    if is_boolean(target):
        return None  # StableHLO's conversion asks whether a number is zero, this one takes its last bit
    from_unsigned, _ = CONVERSIONS[type(op)]
    if is_boolean(source) and not from_unsigned:
        return None  # true is -1 there
    return Meaning("convert", (unsigned(source) if from_unsigned and not is_boolean(source) else source,), target)


def _comparison(op: Operation, element: Attribute) -> Meaning | None:
    predicate = _PREDICATES[int_of(op.properties["predicate"])]
    if len(predicate) == 2:
        return Meaning(predicate, (element, element), i1)
    if is_boolean(element) and predicate[0] == "s":
        return None  # true is -1 there
    taken = element if predicate[0] == "s" or is_boolean(element) else unsigned(element)
    return Meaning(predicate[1:], (taken, taken), i1)


def _float_comparison(op: Operation, element: Attribute) -> Meaning | None:
    name = _FLOAT_PREDICATES.get(int_of(op.properties["predicate"]))
    return None if name is None else Meaning(name, (element, element), i1)


def _bits(op: Operation, element: Attribute) -> Meaning | None:
    return Meaning("bitcast_convert", (element,), op.results[0].type)


_FINDERS: Mapping[type[Operation], Callable[[Operation, Attribute], Meaning | None]] = {
    arith.CmpiOp: _comparison,
    arith.CmpfOp: _float_comparison,
    arith.BitcastOp: _bits,
}


def unsigned(element: Attribute) -> Attribute:
    """The integer type of the same width without a sign bit; other types are what they are."""
    if is_integer(element) and not is_boolean(element):
        return IntegerType(element.width.data, Signedness.UNSIGNED)
    return element


# -- names of device functions


def type_name(type: Attribute) -> str:
    """An element type in the name of a device function: ``f32``, ``ui8``, ``c64`` for complex numbers of two f32."""
    if is_complex(type):
        return "c64" if real_element(type) == f32 else "c128"
    return str(type)


@cache
def type_named(name: str) -> Attribute | None:
    """The element type of this name; None if there is none."""
    if match := _COMPLEX_NAME.fullmatch(name):
        return ComplexType(f32 if match[1] == "64" else f64)
    return element_named(name)


@cache
def meaning_of_name(name: str) -> Meaning | None:
    """The function that a device function of this name computes; None if the name is not one of a scalar function."""
    if not name.startswith(PREFIX):
        return None
    function, *types = name[len(PREFIX) :].split(".")
    elements = [type_named(type) for type in types]
    count = functions.arity(function)
    if len(elements) < 2 or None in elements or count != len(elements) - 1:
        return None
    *operands, result = cast("list[Attribute]", elements)
    return Meaning(function, tuple(operands), result)


def signature_of(meaning: Meaning) -> tuple[Sequence[Attribute], Attribute]:
    """The types that a device function has at the gpu level, where integers have no sign."""
    return [signless(type) for type in meaning.operands], signless(meaning.result)
