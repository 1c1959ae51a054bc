"""``#gpu.object``: what a module is for one target, as text or as bytes."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from wengert.dialects.gpu.attributes import ObjectFormat

_NOTHING = DictionaryAttr({})


@irdl_attr_definition
class ObjectAttr(ParametrizedAttribute):
    """``#gpu.object<#nvvm.target<chip = "sm_90">, properties = {O = 2 : i32}, assembly = "...">``; without a word before the text it is a ``fatbin``.

    Bytes that are no text are escaped one by one, as in every string of MLIR.
    """

    name = "gpu.object"
    target: Attribute = param_def()
    format: StringAttr = param_def()
    object: StringAttr = param_def()
    properties: DictionaryAttr = param_def()

    @classmethod
    def of(cls, target: Attribute, format: ObjectFormat, text: str | bytes, properties: DictionaryAttr = _NOTHING) -> ObjectAttr:
        """The object of a target from its text or its bytes."""
        string = text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")
        return cls(target, StringAttr(format), StringAttr(string), properties)

    @property
    def kind(self) -> ObjectFormat:
        """What the object holds."""
        return ObjectFormat(self.format.data)

    @property
    def text(self) -> str:
        """The object as text."""
        return self.object.data

    @property
    def data(self) -> bytes:
        """The object as bytes."""
        return self.object.data.encode("utf-8", "surrogateescape")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            target = parser.parse_attribute()
            parser.parse_punctuation(",")
            properties: Attribute = _NOTHING
            if parser.parse_optional_keyword("properties") is not None:
                parser.parse_punctuation("=")
                properties = parser.parse_attribute()
                parser.parse_punctuation(",")
            format = ObjectFormat.FATBIN
            for candidate in ObjectFormat:
                if parser.parse_optional_keyword(candidate) is not None:
                    format = candidate
                    parser.parse_punctuation("=")
                    break
            position = parser.pos
            text = parser.parse_attribute()
            if not isinstance(text, StringAttr) or not isinstance(properties, DictionaryAttr):
                parser.raise_error("an object is a string, with a dictionary of properties", position)
        return [target, StringAttr(format), text, properties]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        printer.print_attribute(self.target)
        printer.print_string(", ")
        if self.properties.data:
            printer.print_string("properties = ")
            printer.print_attribute(self.properties)
            printer.print_string(", ")
        if self.kind is not ObjectFormat.FATBIN:
            printer.print_string(f"{self.format.data} = ")
        printer.print_attribute(self.object)
        printer.print_string(">")
