"""Emits scalar functions as LLVM instructions, for one lane or many: StableHLO's semantics, total for every input."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from wengert.transforms.codegen.llvm.complex import ComplexFunctions
from wengert.transforms.codegen.llvm.eight_bits import format_of, from_byte, to_byte
from wengert.transforms.codegen.llvm.floats import FLOAT_PREDICATES
from wengert.transforms.codegen.llvm.integers import IntegerFunctions
from wengert.transforms.codegen.llvm.types import SUB_BYTE, Element, float_literal
from wengert.transforms.codegen.llvm.vector_builder import Value, complex_value, real_value

__all__ = ["Scalars", "Value", "neutral"]


class Scalars(ComplexFunctions, IntegerFunctions):
    """Appends the instructions of scalar functions on ``lanes`` lanes."""

    def apply(self, function: str, operands: Sequence[Value], types: Sequence[Element], result: Element) -> Value:
        """The function by its StableHLO name on operands of these types."""
        if function == "select":
            return self._select(operands, result)
        if function == "convert":
            return self.convert(operands[0], types[0], result)
        if function == "bitcast_convert":
            return self._bitcast(real_value(operands[0]), types[0], result)
        if function == "complex":
            return real_value(operands[0]), real_value(operands[1])
        element = types[0]
        if element.kind == "c":
            return self.complex_function(function, operands, element)
        names = [real_value(operand) for operand in operands]
        if function in FLOAT_PREDICATES:
            return self._compare(function, names, element)
        if element.kind == "f":
            value = self.float_function(function, names, element)
            return self.narrowed(value, result.narrow) if result.narrow else value
        if element.kind == "b":
            return self.boolean_function(function, names)
        return self.integer_function(function, names, element)

    def _select(self, operands: Sequence[Value], result: Element) -> Value:
        condition = real_value(operands[0])
        x, y = operands[1], operands[2]
        if isinstance(x, tuple) and isinstance(y, tuple):
            return self.select(condition, result.register, x[0], y[0]), self.select(condition, result.register, x[1], y[1])
        return self.select(condition, result.register, real_value(x), real_value(y))

    def _compare(self, function: str, names: Sequence[str], element: Element) -> str:
        if element.kind == "f":
            return self.compare(FLOAT_PREDICATES[function], element.register, *names)
        predicate = function if function in ("eq", "ne") else ("s" if element.kind == "i" else "u") + function
        return self.compare(predicate, element.register, *names)

    # -- conversions

    def convert(self, x: Value, source: Element, target: Element) -> Value:
        """The number in another type: to integers by truncation, saturating, NaN as 0; to booleans by being nonzero; of complex ones the real part."""
        if source == target:
            return x
        if source.kind == "c":
            re, im = complex_value(x)
            if target.kind == "c":
                return self._float_to_float(re, source, target), self._float_to_float(im, source, target)
            return self._convert_real(re, Element("f", source.register, source.register, source.part_size), target)
        name = real_value(x)
        if target.kind == "c":
            part = Element("f", target.register, target.register, target.part_size)
            return real_value(self.convert(name, source, part)), self.float_constant(target.register, 0.0)
        return self._convert_real(name, source, target)

    def _convert_real(self, x: str, source: Element, target: Element) -> str:
        if source == target:
            return x
        if target.kind == "b":
            return self.compare(
                "une" if source.kind == "f" else "ne", source.register, x, "zeroinitializer" if self.lanes > 1 else ("0.0" if source.kind == "f" else "0")
            )
        if target.narrow in SUB_BYTE:
            byte = self._convert_real(x, source, replace(target, narrow=""))
            return self._saturated(byte, target) if source.kind == "f" else self._wrapped(byte, target)
        if source.kind == "f":
            return self._float_to_float(x, source, target) if target.kind == "f" else self._float_to_integer(x, source, target)
        if target.kind == "f":
            opcode = "sitofp" if source.kind == "i" else "uitofp"
            if target.narrow:
                return self.narrowed(self.odd_float(self.cast(opcode, x, source.register, "double")), target.narrow)
            return self.cast(opcode, x, source.register, target.register)
        return self.resize(x, source.register, target.register, signed=source.kind == "i")

    def _saturated(self, byte: str, target: Element) -> str:
        """A byte as the nearest number of four bits."""
        low, high = (-8, 7) if target.kind == "i" else (0, 15)
        limits = [(self.constant("i8", low), "lt"), (self.constant("i8", high), "gt")]
        for limit, beyond in limits:
            byte = self.select(self.compare(("s" if target.kind == "i" else "u") + beyond, "i8", byte, limit), "i8", limit, byte)
        return byte

    def _wrapped(self, byte: str, target: Element) -> str:
        """The low four bits of a byte as a number."""
        moved = self.binary("shl", "i8", byte, self.constant("i8", 4))
        return self.binary("ashr" if target.kind == "i" else "lshr", "i8", moved, self.constant("i8", 4))

    def resize(self, x: str, source: str, target: str, *, signed: bool) -> str:
        """An integer in another width.

        Vectors from 64 to 16 bits are frozen, which changes nothing: LLVM 22 for x86-64 makes a shifted product of extended 16-bit numbers, narrowed to
        16 bits, a product of upper halves, and takes its sign bits for zeros where the result is extended, or shifted further.
        """
        before, after = int(source[1:]), int(target[1:])
        if before == after:
            return x
        resized = self.cast("trunc" if after < before else "sext" if signed else "zext", x, source, target)
        return self.op(f"freeze {self.type(target)} {resized}") if self.lanes > 1 and (before, after) == (64, 16) else resized

    def _float_to_float(self, x: str, source: Element, target: Element) -> str:
        if target.narrow:
            if source.register == "double":
                x = self.odd_float(x)
            elif source.narrow == target.narrow:
                return x
            return self.narrowed(x, target.narrow)
        if source.register == target.register:
            return x
        return self.cast("fpext" if target.register == "double" else "fptrunc", x, source.register, target.register)

    def _float_to_integer(self, x: str, source: Element, target: Element) -> str:
        name = "fptosi" if target.kind == "i" else "fptoui"
        if not self.builder.module.abilities.saturation:
            return self._float_inside(x, source, target, name)
        kinds = f"{self.suffix(target.register)}.{self.suffix(source.register)}"
        return self.op(f"call {self.type(target.register)} @llvm.{name}.sat.{kinds}({self.type(source.register)} {x})")

    def _float_inside(self, x: str, source: Element, target: Element, opcode: str) -> str:
        """A float as an integer: what has one is converted, what is too large or too small is the nearest, and NaN is 0."""
        register, bits = source.register, target.bits - (target.kind == "i")
        low, high = -(1 << bits) if target.kind == "i" else 0, 1 << bits  # powers of two, which are floats
        above = self.compare("oge", register, x, self.float_constant(register, float(high)))
        inside = self.binary(
            "and",
            "i1",
            self.compare("oge", register, x, self.float_constant(register, float(low))),
            self.compare("olt", register, x, self.float_constant(register, float(high))),
        )
        number = self.cast(opcode, self.select(inside, register, x, self.float_constant(register, 0.0)), register, target.register)
        zero, least, most = (self.constant(target.register, value) for value in (0, low, high - 1))
        beyond = self.select(self.compare("uno", register, x, x), target.register, zero, self.select(above, target.register, most, least))
        return self.select(inside, target.register, number, beyond)

    def _bitcast(self, x: str, source: Element, target: Element) -> str:
        word = f"i{8 * source.size}"
        return self.from_word(self.to_word(x, source, word), target, word)

    def to_word(self, x: str, source: Element, word: str) -> str:
        """The bits that the value has in memory, as an integer."""
        if source.narrow in SUB_BYTE:
            return self.binary("and", "i8", x, self.constant("i8", 15))
        if source.narrow.startswith("f8"):
            return to_byte(self, x, format_of(source.narrow))
        if source.narrow == "bf16":
            bits = self.cast("bitcast", x, "float", "i32")
            return self.cast("trunc", self.binary("lshr", "i32", bits, self.constant("i32", 16)), "i32", "i16")
        if source.narrow == "f16":
            return self.cast("bitcast", self.cast("fptrunc", x, "float", "half"), "half", "i16")
        return self.cast("bitcast", x, source.register, word) if source.kind == "f" else x

    def from_word(self, x: str, target: Element, word: str) -> str:
        """The value that has these bits in memory."""
        if target.narrow in SUB_BYTE:
            return self._wrapped(x, target)
        if target.narrow.startswith("f8"):
            return from_byte(self, x, format_of(target.narrow))
        if target.narrow == "bf16":
            wide = self.binary("shl", "i32", self.cast("zext", x, "i16", "i32"), self.constant("i32", 16))
            return self.cast("bitcast", wide, "i32", "float")
        if target.narrow == "f16":
            return self.cast("fpext", self.cast("bitcast", x, "i16", "half"), "half", "float")
        return self.cast("bitcast", x, word, target.register) if target.kind == "f" else x

    # -- reductions

    def combine(self, kind: str, x: Value, y: Value, element: Element) -> Value:
        """Two elements combined by a reduction kind (16-bit floats are not rounded)."""
        if element.kind == "c":
            (a, b), (c, d) = complex_value(x), complex_value(y)
            if kind == "mul":
                return self.multiply_complex(element.register, (a, b), (c, d))
            return self.binary("fadd", element.register, a, c), self.binary("fadd", element.register, b, d)
        name = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum", "and": "and", "or": "or"}[kind]
        names = (real_value(x), real_value(y))
        if element.kind == "f":
            return self.float_function(name, names, element)
        return self.boolean_function(name, names) if element.kind == "b" else self.integer_function(name, names, element)

    def horizontal(self, kind: str, x: str, element: Element) -> str:
        """All lanes of one register combined into a scalar."""
        if self.lanes == 1:
            return x
        register, suffix, operand = element.register, self.suffix(element.register), f"{self.type(element.register)} {x}"
        if element.kind == "f":
            if kind in ("add", "mul"):
                start = float_literal(-0.0 if kind == "add" else 1.0, register)
                return self.op(f"call reassoc {register} @llvm.vector.reduce.f{kind}.{suffix}({register} {start}, {operand})")
            return self.op(f"call {register} @llvm.vector.reduce.f{kind}imum.{suffix}({operand})")
        name = kind if kind in ("add", "mul", "and", "or") else ("s" if element.kind == "i" else "u") + kind
        return self.op(f"call {register} @llvm.vector.reduce.{name}.{suffix}({operand})")


def neutral(kind: str, element: Element) -> str:
    """The literal that combines with any element to that element (one part of it, for complex numbers)."""
    if element.kind in "fc":
        return float_literal({"add": 0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf")}[kind], element.register)
    if element.kind == "b":
        return "true" if kind == "and" else "false"
    if kind in ("max", "min"):
        least, greatest = (0, (1 << element.bits) - 1) if element.kind == "u" else (-(1 << (element.bits - 1)), (1 << (element.bits - 1)) - 1)
        return str(least if kind == "max" else greatest)
    return {"add": "0", "mul": "1", "and": "-1", "or": "0"}[kind]
