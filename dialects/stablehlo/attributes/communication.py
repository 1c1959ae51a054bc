"""The attributes and types of communication: channels, groups of devices, tokens, futures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import I64, ArrayAttr, IntegerAttr, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from wengert.dialects.stablehlo.attributes.dimension_numbers import whole_number
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.diagnostics import did_you_mean
from wengert.ir.symbols import NamesMesh


@irdl_attr_definition
class ChannelHandleAttr(ParametrizedAttribute):
    """The channel of a communication, and among whom: ``<handle = 1, type = 2>``."""

    name = "stablehlo.channel_handle"
    handle: IntegerAttr[I64] = param_def()
    type: IntegerAttr[I64] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        given: dict[str, Attribute] = {}

        def entry() -> None:
            position = parser.pos
            key = parser.parse_identifier()
            if key not in ("handle", "type") or key in given:
                parser.raise_error(f"a channel handle is <handle = n, type = n>; {did_you_mean(key, ('handle', 'type')) or f'found {key!r}'}", position)
            parser.parse_punctuation("=")
            given[key] = int_attr(whole_number(parser))

        position = parser.pos
        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry)
        if len(given) != 2:
            parser.raise_error("a channel handle is <handle = n, type = n>", position)
        return given["handle"], given["type"]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<handle = {int_of(self.handle)}, type = {int_of(self.type)}>")


def _axis_names(attribute: Attribute) -> list[str]:
    """The names of axes in the text of a mesh or of references to its axes."""
    return re.findall(r'name = "([^"]*)"', str(attribute))


@irdl_attr_definition
class ReplicaGroupMeshAxesAttr(ParametrizedAttribute, NamesMesh):
    """Groups of devices by the axes of a mesh: ``<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>``.

    The mesh is a symbol, or itself an attribute: ``#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>]>``.
    """

    name = "stablehlo.replica_group_mesh_axes"
    mesh: Attribute = param_def()  # pyright: ignore[reportIncompatibleVariableOverride]
    axes: ArrayAttr[Attribute] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("mesh")
            parser.parse_punctuation("=")
            name = parser.parse_optional_symbol_name()
            mesh = parser.parse_attribute() if name is None else SymbolRefAttr(name)
            parser.parse_punctuation(",")
            parser.parse_keyword("axes")
            parser.parse_punctuation("=")
            axes = ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute))
            if name is None and (unknown := set(_axis_names(axes)) - set(_axis_names(mesh))):
                parser.raise_error(f"the mesh has no axis {', '.join(sorted(unknown))}")
            return mesh, axes

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("mesh = ")
            printer.print_attribute(self.mesh)
            printer.print_string(", axes = [")
            printer.print_list(self.axes.data, printer.print_attribute)
            printer.print_string("]")


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """The type of tokens, which order side effects and hold no data."""

    name = "stablehlo.token"


@irdl_attr_definition
class FutureType(ParametrizedAttribute, TypeAttribute):
    """The values that an asynchronous op will have given when it is done."""

    name = "stablehlo.future"
    types: ArrayAttr[Attribute] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        position = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_type)
        if not types or not all(isinstance(type, TensorType) for type in types):
            parser.raise_error(f"a future holds ranked tensors, found ({', '.join(map(str, types))})", position)
        return (ArrayAttr(types),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.types.data, printer.print_attribute)
