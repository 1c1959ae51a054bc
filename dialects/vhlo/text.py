"""VHLO as text: attributes (``#vhlo.string_v1<"x">``, ``#vhlo<precision_v1 HIGH>``), types (``!vhlo.tensor_v1<2x!vhlo.f32_v1>``) and the form of functions.

What is read is held as what it stands for (:mod:`wengert.dialects.vhlo.attributes`, which writes it). The forms are those of StableHLO's VhloAttrs.td,
VhloTypes.td and VhloOps.td.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    NoneType,
    Signedness,
    StringAttr,
    TensorType,
    TupleType,
    UnrankedTensorType,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute

from wengert.dialects.quant import WHOLE, UniformQuantizedType
from wengert.dialects.stablehlo import attributes as a
from wengert.dialects.stablehlo.annotations import OutputOperandAliasAttr, ResultAccuracyAttr, ResultAccuracyModeAttr
from wengert.dialects.stablehlo.bounds import BoundsAttr
from wengert.dialects.vhlo.attributes import CustomCallApiVersionAttr, VhloAttribute, VhloType, vhlo_type
from wengert.ir.attributes import bool_attr, int_attr
from wengert.ir.diagnostics import did_you_mean
from wengert.ir.parsing.cursor import SPACE
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.tensor_types import DYNAMIC, f64, i1, is_float, tensor

_HEAD = re.compile(SPACE + r"[#!]vhlo(?:\.|" + SPACE + "<" + SPACE + r")([A-Za-z_]\w*)", re.ASCII)
_EXTENTS = re.compile(r"((?:(?:\d+|\?)x)*)", re.ASCII)
_NUMBER = re.compile(SPACE + r"(-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?))", re.ASCII)
_INTEGERS = (2, 4, 8, 16, 32, 64)


class VhloText:
    """Reads what begins with ``#vhlo`` or ``!vhlo``."""

    def __init__(self, reader: Reader):
        self.reader = reader

    def attribute(self) -> Attribute:
        """The attribute that comes next."""
        return VhloAttribute(self._attribute())

    def type(self) -> Attribute:
        """The type that comes next."""
        position = self.reader.skip()
        try:
            return vhlo_type(self._type())
        except ValueError as problem:
            self.reader.fail(str(problem), position)

    # -- attributes

    def _attribute(self) -> Attribute:
        """What the attribute that comes next stands for; one of another dialect stands for itself."""
        if not self.reader.text.startswith("#vhlo", self.reader.skip()):
            return self.reader.attribute()
        name, position, closed = self._name()
        if (cls := _WORDS.get(name)) is not None:
            self.reader.accept("<") if not closed else None
            word = self.reader.word_in([str(member) for member in cls.enum_type], "word")
            self.reader.need(">")
            return cls(cls.enum_type(word))
        read = _ATTRIBUTES.get(name)
        if read is None:
            self.reader.fail(f"unknown attribute '#vhlo.{name}'", position, hint=did_you_mean(name, (*_ATTRIBUTES, *_WORDS)))
        self.reader.need("<") if not closed else None
        attribute = read(self)
        self.reader.need(">")
        return attribute

    def _name(self) -> tuple[str, int, bool]:
        """The name after the mark, where it stands, and whether a bracket is open before it, as in ``#vhlo<precision_v1 HIGH>``."""
        match = _HEAD.match(self.reader.text, self.reader.here)
        if match is None:
            self.reader.unexpected("a type of VHLO" if self.reader.peek() == "!" else "an attribute or type of VHLO")
        self.reader.here = match.end()
        return match.group(1), match.start(1), "<" in match.group()

    def _dictionary(self) -> Attribute:
        entries: dict[str, Attribute] = {}

        def entry() -> None:
            position, key = self.reader.skip(), self._attribute()
            if not isinstance(key, StringAttr):
                self.reader.fail("the key of a dictionary is a #vhlo.string_v1", position)
            self.reader.need("=")
            entries[key.data] = self._attribute()

        self.reader.listed("{", "}", entry)
        return DictionaryAttr(entries)

    def _flag(self) -> Attribute:
        return bool_attr(self.reader.word_in(("true", "false"), "boolean") == "true")

    def _integer(self) -> Attribute:
        position, number = self.reader.skip(), self.reader.attribute()
        if not isinstance(number, IntegerAttr):
            self.reader.fail("expected an integer with its type, as in 1 : i64", position)
        return cast("Attribute", number)

    def _float(self) -> Attribute:
        position, text = self.reader.skip(), self._number()
        self.reader.need(":")
        type = self._type()
        if not is_float(type):
            self.reader.fail(f"a float cannot be of type {type}", position)
        if text.startswith("0x"):
            return self._bits(int(text, 16), type)
        return FloatAttr(float(text), cast("Any", type))

    def _bits(self, bits: int, type: Any) -> Attribute:
        width = type.bitwidth
        data = bits.to_bytes((width + 7) // 8, "little")
        return FloatAttr(type.unpack(data, 1)[0], type)

    def _constant(self) -> Attribute:
        position, constant = self.reader.skip(), self.reader.attribute()
        if not isinstance(constant, DenseIntOrFPElementsAttr):
            self.reader.fail("expected a constant, as in dense<1.0> : tensor<2xf32>", position)
        return cast("Attribute", constant)

    def _extensions(self) -> Attribute:
        self._key("bounds")
        bounds = self.reader.listed("[", "]", lambda: DYNAMIC if self.reader.accept("?") else self.reader.integer())
        return BoundsAttr.new([a.dimensions(bounds)])

    def _alias(self) -> Attribute:
        self._key("output_tuple_indices")
        outputs = self.reader.integers()
        self.reader.need(",")
        self._key("operand_index")
        operand = self.reader.integer()
        self.reader.need(",")
        self._key("operand_tuple_indices")
        return OutputOperandAliasAttr.new([a.dimensions(outputs), int_attr(operand), a.dimensions(self.reader.integers())])

    def _accuracy(self) -> Attribute:
        values: list[Attribute] = []
        for key in ("atol", "rtol", "ulps", "mode"):
            self._key(key)
            if key == "ulps":
                values.append(int_attr(self.reader.integer()))
            else:
                values.append(self._attribute() if key == "mode" else FloatAttr(float(self._number()), f64))
            self.reader.accept(",")
        return ResultAccuracyAttr.new(values)

    def _key(self, key: str) -> None:
        self.reader.need_word(key)
        self.reader.need("=")

    def _number(self) -> str:
        match = _NUMBER.match(self.reader.text, self.reader.here)
        if match is None:
            self.reader.unexpected("a number")
        self.reader.here = match.end()
        return match.group(1)

    # -- types

    def _type(self) -> Attribute:
        """What the type that comes next stands for."""
        if not self.reader.text.startswith("!vhlo", self.reader.skip()):
            return self.reader.type()
        name, position, _ = self._name()
        if (simple := _SIMPLE.get(name)) is not None:
            return simple
        read = _TYPES.get(name)
        if read is None:
            self.reader.fail(f"unknown type '!vhlo.{name}'", position, hint=did_you_mean(name, (*_TYPES, *_SIMPLE)))
        self.reader.need("<")
        type = read(self)
        self.reader.need(">")
        return type

    def _types(self) -> list[Attribute]:
        return self.reader.listed("(", ")", self._type) if self.reader.peek() == "(" else [self._type()]

    def _tensor(self) -> Attribute:
        self.reader.skip()
        match = _EXTENTS.match(self.reader.text, self.reader.here)
        assert match is not None
        self.reader.here = match.end()
        shape = [DYNAMIC if extent == "?" else int(extent) for extent in match.group().split("x")[:-1]]
        element = self._type()
        return TensorType(cast("Any", element), shape, self._attribute()) if self.reader.accept(",") else tensor(shape, element)

    def _function(self) -> Attribute:
        inputs = self._types()
        self.reader.need("->")
        return FunctionType.from_lists(inputs, self._types())

    def _tuple(self) -> Attribute:
        types: list[Attribute] = []
        while self.reader.peek() != ">":
            types.append(self._type())
            if not self.reader.accept(","):
                break
        return TupleType(ArrayAttr(cast("Any", types)))

    def _quantized(self, *, per_axis: bool = False) -> Attribute:
        position, storage = self.reader.skip(), self._type()
        if not isinstance(storage, IntegerType):
            self.reader.fail(f"quantized elements are stored as integers, not as {storage}", position)
        self.reader.need(":")
        expressed, axis = self._type(), WHOLE
        if per_axis:
            self.reader.need(":")
            axis = self.reader.integer()
        self.reader.need(",")
        numbers: list[tuple[float, int]] = []
        while True:  # pairs of a scale and a zero point; the last pair are the bounds of what is stored
            first = self._number()
            self.reader.need(":")
            numbers.append((float(first), self.reader.integer()))
            if not self.reader.accept(","):
                break
        (least, greatest), pairs = numbers[-1], numbers[:-1]
        scales = ArrayAttr([FloatAttr(scale, f64) for scale, _ in pairs])
        return UniformQuantizedType(
            cast("Any", storage), IntAttr(int(least)), IntAttr(greatest), expressed, IntAttr(axis), scales, ArrayAttr([IntAttr(z) for _, z in pairs])
        )


_WORDS: dict[str, Any] = {
    f"{cast('type[EnumAttribute[Any]]', cls).name.partition('.')[2]}_v1": cls
    for cls in (
        a.ComparisonDirectionAttr,
        a.ComparisonTypeAttr,
        CustomCallApiVersionAttr,
        a.FftTypeAttr,
        a.PrecisionAttr,
        a.RngAlgorithmAttr,
        a.RngDistributionAttr,
        a.TransposeAttr,
        ResultAccuracyModeAttr,
    )
}
# The readers below belong to the class above.
# pyright: reportPrivateUsage=false
_ATTRIBUTES: dict[str, Callable[[VhloText], Attribute]] = {
    "array_v1": lambda text: ArrayAttr(text.reader.listed("[", "]", text._attribute)),
    "bool_v1": VhloText._flag,
    "dict_v1": VhloText._dictionary,
    "float_v1": VhloText._float,
    "integer_v1": VhloText._integer,
    "output_operand_alias_v1": VhloText._alias,
    "result_accuracy_v1": VhloText._accuracy,
    "string_v1": lambda text: StringAttr(text.reader.string()),
    "tensor_v1": VhloText._constant,
    "type_extensions_v1": VhloText._extensions,
    "type_v1": VhloText._type,
}
_TYPES: dict[str, Callable[[VhloText], Attribute]] = {
    "complex_v1": lambda text: ComplexType(cast("Any", text._type())),
    "func_v1": VhloText._function,
    "quant_v1": VhloText._quantized,
    "quant_per_axis_v1": lambda text: text._quantized(per_axis=True),
    "tensor_v1": VhloText._tensor,
    "tuple_v1": VhloText._tuple,
    "unranked_tensor_v1": lambda text: UnrankedTensorType(cast("Any", text._type())),
}
_SIMPLE: dict[str, Attribute] = {
    "bool_v1": i1,
    "index_v1": IndexType(),
    "none_v1": NoneType(),
    "token_v1": a.TokenType(),
    **{f"i{width}_v1": IntegerType(width) for width in _INTEGERS},
    **{f"si{width}_v1": IntegerType(width) for width in _INTEGERS},
    **{f"ui{width}_v1": IntegerType(width, Signedness.UNSIGNED) for width in _INTEGERS},
    **{
        f"{type}_v1": type
        for type in (
            builtin.bf16,
            builtin.f16,
            builtin.f32,
            builtin.f64,
            builtin.Float8E4M3FNType(),
            builtin.Float8E5M2Type(),
            builtin.Float8E4M3FNUZType(),
            builtin.Float8E5M2FNUZType(),
            builtin.Float8E4M3B11FNUZType(),
            builtin.FloatTF32Type(),
            builtin.Float8E4M3Type(),
            builtin.Float8E3M4Type(),
            builtin.Float4E2M1FNType(),
            builtin.Float6E2M3FNType(),
            builtin.Float6E3M2FNType(),
            builtin.Float8E8M0FNUType(),
        )
    },
}


class VhloFunctionText:
    """``vhlo.func_v1 @f(%x: T) -> (U) { ops } {arg_attrs = ..., res_attrs = ..., sym_visibility = ...}``."""

    def read(self, reader: Reader, state: OpState) -> None:
        """Reads a function behind its name."""
        name = reader.symbol()
        arguments: list[tuple[str, Attribute, int, LocationAttr | None]] = []

        def argument() -> None:
            value = reader.operand()
            reader.need(":")
            type = reader.type()
            arguments.append((value[0], type, value[2], reader.location()))

        reader.listed("(", ")", argument)
        results = reader.listed("(", ")", reader.type) if reader.accept("->") else []
        state.regions.append(reader.region(arguments, isolated=True, named=True))
        nothing = VhloAttribute(ArrayAttr[Attribute]([]))
        state.properties.update(arg_attrs=nothing, res_attrs=nothing, sym_visibility=VhloAttribute(StringAttr("")))
        state.properties.update(cast("Any", reader.dictionary()))
        function = FunctionType.from_lists([_plain(type) for _, type, _, _ in arguments], [_plain(type) for type in results])
        state.properties.update(sym_name=VhloAttribute(StringAttr(name)), function_type=VhloAttribute(function))

    def write(self, op: Any, writer: Any) -> None:
        """Functions are written in the generic form, as all of VHLO is."""
        from wengert.ir.printing.printer import Unwritable

        raise Unwritable


def _plain(type: Attribute) -> Attribute:
    return type.of if isinstance(type, VhloType) else type
