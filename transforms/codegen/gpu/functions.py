"""Scalar functions at the gpu level: ops of ``arith``, ``math`` and ``complex`` where they mean the same on every input, calls of device functions elsewhere.

Integers of 4 bits are bytes whose upper half is zero, in memory and in registers; they are only moved and converted.

A function without an op is called by its name and types, ``@wg.divide.i32.i32.i32`` for the quotient of two integers (which is -1 by zero); what it computes
is the scalar function of the kernel dialect, and its code comes with the target. So every op here stands for one scalar function of the kernel dialect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects import arith, complex, func
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, FunctionType, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue

from wengert.dialects.gpu import has_four_bits, signless
from wengert.dialects.gpu.scalars import FLOAT_FUNCTIONS, SIGNED_FUNCTIONS, UNSIGNED_FUNCTIONS, Meaning
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import EIGHT_BITS, bf16, f16, f32, f64, i1, i8, i64, is_boolean, is_complex, is_float, is_integer, is_unsigned, real_element, ui8
from wengert.transforms.codegen.gpu.code import INDEX, Code, Index

FLOATS = (f16, bf16, f32, f64)
_FAST = {"fastmath": arith.FastMathFlagsAttr("none")}
_FLOAT_OPS = {name: cls for cls, name in FLOAT_FUNCTIONS.items()}
_SIGNED_OPS = {name: cls for cls, name in SIGNED_FUNCTIONS.items()}
_UNSIGNED_OPS = {**_SIGNED_OPS, **{name: cls for cls, name in UNSIGNED_FUNCTIONS.items()}}
_BOOLEAN_OPS: dict[str, type[Operation]] = {
    "add": arith.OrIOp,
    "or": arith.OrIOp,
    "maximum": arith.OrIOp,
    "multiply": arith.AndIOp,
    "and": arith.AndIOp,
    "minimum": arith.AndIOp,
    "xor": arith.XOrIOp,
}
_COMPLEX_OPS: dict[str, type[Operation]] = {
    "add": complex.AddOp,
    "subtract": complex.SubOp,
    "negate": complex.NegOp,
    "real": complex.ReOp,
    "imag": complex.ImOp,
}
_ORDERED = {name: int_attr(n) for name, n in {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}.items()}
"""MLIR's numbers of the comparisons of floats: ordered, and ``une`` for ``ne``."""
_WITH_FLAGS = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
_LOW_HALF = 0x0F
_WRAPS = {"overflowFlags": arith.IntegerOverflowAttr("none")}


class UnsupportedError(Exception):
    """A kernel that has no form at the gpu level yet, and why."""


def register_type(element: Attribute) -> Any:
    """The type in which an element is loaded and computed; an UnsupportedError if there is none."""
    if has_four_bits(element):
        return i8
    if is_integer(element):
        if element.width.data not in (1, 8, 16, 32, 64):
            raise UnsupportedError(f"integers of {element.width.data} bits")
        return signless(element)
    if is_float(element) or is_complex(element):
        return element
    raise UnsupportedError(f"elements of {element}")


class Functions:
    """Appends scalar functions to a kernel's body; ``declared`` are the device functions that were called, by name."""

    def __init__(self, code: Code):
        self.code = code
        self.declared: dict[str, FunctionType] = {}

    def apply(self, function: str, operands: Sequence[SSAValue], types: Sequence[Attribute], type: Attribute) -> SSAValue:
        """The function of the kernel dialect on operands whose elements have these types there; ``type`` is that of its result."""
        if function == "select":
            return self.code.op(arith.SelectOp, operands, register_type(type))
        if function == "convert" or (function == "bitcast_convert" and has_four_bits(type)):
            return self.convert(operands[0], types[0], type)
        if function == "complex":
            return self.code.op(complex.CreateOp, operands, type)
        if function == "square" and not is_complex(type):  # that of a complex number has a formula of its own
            return self.apply("multiply", [*operands, *operands], [*types, *types], type)
        if function == "clamp" and not is_complex(type) and types[0] not in EIGHT_BITS and not is_boolean(type):
            least = self.apply("maximum", [operands[1], operands[0]], types[:2], type)
            return self.apply("minimum", [least, operands[2]], types[:2], type)
        element = types[0]
        made = (
            self._complex(function, operands, type)
            if is_complex(element)
            else self._float(function, operands, element)
            if element in FLOATS
            else self._boolean(function, operands)
            if is_boolean(element)
            else self._integer(function, operands, element)
            if is_integer(element)
            else None
        )
        return made if made is not None else self.call(function, operands, types, type)

    def negated(self, condition: SSAValue) -> SSAValue:
        """Whether a condition does not hold."""
        return self.code.shared(arith.XOrIOp, [condition, self.code.constant(1, i1)], i1)

    def call(self, function: str, operands: Sequence[SSAValue], types: Sequence[Attribute], type: Attribute) -> SSAValue:
        """A call of the device function of this name and these types."""
        name, wanted = Meaning(function, tuple(types), type).name, register_type(type)
        self.declared[name] = FunctionType.from_lists([value.type for value in operands], [wanted])
        return self.code.op(func.CallOp, operands, wanted, {"callee": SymbolRefAttr(name)})

    def constant(self, value: Any, element: Attribute) -> SSAValue:
        """A number of an element type of the kernel dialect."""
        if is_complex(element):
            part: Any = element.element_type
            parts = ArrayAttr([FloatAttr(float(x), part) for x in (value.real, value.imag)])
            return self.code.literal(parts, element, complex.ConstantOp)
        if element in EIGHT_BITS:
            return self.call("convert", [self.code.constant(float(value), f32)], [f32], element)
        if is_float(element):
            return self.code.constant(float(value), element)
        number, width = int(value) & (_LOW_HALF if has_four_bits(element) else -1), register_type(element)
        bits = width.width.data
        return self.code.constant(number - (1 << bits) if bits > 1 and number >= 1 << (bits - 1) else number, width)

    # -- by the type of the first operand

    def _float(self, function: str, operands: Sequence[SSAValue], element: Attribute) -> SSAValue | None:
        if function in _ORDERED:
            return self.code.op(arith.CmpfOp, operands, i1, {"predicate": _ORDERED[function], **_FAST})
        if function in ("real", "conj"):
            return operands[0]
        cls = _FLOAT_OPS.get(function)
        return None if cls is None else self.code.op(cls, operands, element, _FAST)

    def _boolean(self, function: str, operands: Sequence[SSAValue]) -> SSAValue | None:
        if function == "not":
            return self.negated(operands[0])
        if function in _ORDERED:
            return self.code.compare(function if function in ("eq", "ne") else f"u{function}", *operands)
        cls = _BOOLEAN_OPS.get(function)
        return None if cls is None else self.code.op(cls, operands, i1)

    def _integer(self, function: str, operands: Sequence[SSAValue], element: Attribute) -> SSAValue | None:
        type, unsigned = register_type(element), is_unsigned(element)
        if function in _ORDERED:
            return self.code.compare(function if function in ("eq", "ne") else f"{'u' if unsigned else 's'}{function}", *operands)
        if function == "negate":
            return self.code.op(arith.SubiOp, [self.code.constant(0, type), operands[0]], type, _WRAPS)
        if function == "not":
            return self.code.op(arith.XOrIOp, [operands[0], self.code.constant(-1, type)], type)
        if function == "abs" and unsigned:
            return operands[0]
        cls = (_UNSIGNED_OPS if unsigned else _SIGNED_OPS).get(function)
        return None if cls is None else self.code.op(cls, operands, type, _WRAPS if cls in _WITH_FLAGS else {})

    def _complex(self, function: str, operands: Sequence[SSAValue], type: Attribute) -> SSAValue | None:
        cls = _COMPLEX_OPS.get(function)
        return None if cls is None else self.code.op(cls, operands, type, {} if function in ("real", "imag") else {"fastmath": arith.FastMathFlagsAttr("none")})

    # -- conversions

    def convert(self, x: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
        """The number in another type, as StableHLO converts it."""
        if source == target:
            return x
        if is_complex(source) or is_complex(target):
            return self._convert_complex(x, source, target)
        if has_four_bits(source):
            return self.convert(self._whole_byte(x, source), ui8 if is_unsigned(source) else i8, target)
        if has_four_bits(target):
            return self._low_half(x, source, target)
        if is_boolean(target):
            zero = self.constant(0, source)
            return self.apply("ne", [x, zero], [source, source], i1) if source not in EIGHT_BITS else self.call("convert", [x], [source], target)
        cls = self._conversion(source, target)
        if cls is None:
            return self.call("convert", [x], [source], target)
        return x if cls is arith.BitcastOp else self.code.op(cls, [x], register_type(target))

    def _whole_byte(self, x: SSAValue, source: Attribute) -> SSAValue:
        """An integer of 4 bits as one of 8: those from 8 on are negative if there is a sign."""
        if is_unsigned(source):
            return x
        sign = self.code.constant(1 << 3, i8)
        return self.code.op(arith.SubiOp, [self.code.op(arith.XOrIOp, [x, sign], i8), sign], i8, _WRAPS)

    def _low_half(self, x: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
        """A number as an integer of 4 bits: the nearest one to a float, the low bits of an integer."""
        byte, limits = (ui8, (0, 15)) if is_unsigned(target) else (i8, (-8, 7))
        number = self.convert(x, source, byte)
        if is_float(source):
            for function, limit in zip(("maximum", "minimum"), limits, strict=True):
                number = self.apply(function, [number, self.constant(limit, byte)], [byte, byte], byte)
        return self.code.op(arith.AndIOp, [number, self.code.constant(_LOW_HALF, i8)], i8)

    def _convert_complex(self, x: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
        if is_complex(source) and is_complex(target):
            part, other = real_element(source), real_element(target)
            parts = [self.convert(self.code.op(cls, [x], part), part, other) for cls in (complex.ReOp, complex.ImOp)]
            return self.code.op(complex.CreateOp, parts, target)
        if is_complex(source):
            part = real_element(source)
            return self.convert(self.code.op(complex.ReOp, [x], part), part, target)
        part = real_element(target)
        return self.code.op(complex.CreateOp, [self.convert(x, source, part), self.code.constant(0.0, part)], target)

    @staticmethod
    def _conversion(source: Attribute, target: Attribute) -> type[Operation] | None:
        """The op that converts; ``bitcast`` where the bits are the same already, None where there is none."""
        if source in FLOATS and target in FLOATS:
            before, after = (_WIDTHS[type] for type in (source, target))
            return arith.ExtFOp if before < after else arith.TruncFOp if before > after else None
        if is_integer(source) or is_boolean(source):
            unsigned = is_boolean(source) or is_unsigned(source)
            if target in (f32, f64):
                return arith.UIToFPOp if unsigned else arith.SIToFPOp
            if is_integer(target):
                before, after = (register_type(type).width.data for type in (source, target))
                return arith.BitcastOp if before == after else arith.TruncIOp if before > after else arith.ExtUIOp if unsigned else arith.ExtSIOp
        return None

    # -- positions

    def number(self, at: Index, type: Attribute) -> SSAValue:
        """A position as a number of an element type."""
        if isinstance(at, int):
            return self.constant(at, type) if not is_boolean(type) else self.code.constant(int(at != 0), i1)
        if is_integer(type) and not is_boolean(type) and not has_four_bits(type):
            return self.code.shared(arith.IndexCastOp, [at], register_type(type))
        return self.convert(self.code.shared(arith.IndexCastOp, [at], i64), i64, type)

    def position(self, x: SSAValue, type: Attribute) -> SSAValue:
        """A number of an integer type as a position."""
        if has_four_bits(type):
            return self.position(self._whole_byte(x, type), ui8 if is_unsigned(type) else i8)
        if is_unsigned(type) and register_type(type) != i64:
            x = self.code.shared(arith.ExtUIOp, [x], i64)
        return self.code.shared(arith.IndexCastOp, [x], INDEX)


_WIDTHS: Mapping[Attribute, int] = {f16: 16, bf16: 16, f32: 32, f64: 64}


def declaration(name: str, type: FunctionType) -> func.FuncOp:
    """The declaration of a device function."""
    properties = {"sym_name": StringAttr(name), "function_type": type, "sym_visibility": StringAttr("private")}
    return func.FuncOp.create(properties=properties, regions=[Region()])
