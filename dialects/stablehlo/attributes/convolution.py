"""The dimension numbers of a convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import I64, IntegerAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from wengert.dialects.stablehlo.attributes.dimension_numbers import Dimensions, dimensions, numbers, read_entries
from wengert.ir.attributes import int_attr, int_of


def _parse_role_list(parser: AttrParser, letters: tuple[str, str]) -> tuple[int, int, tuple[int, ...]]:
    """Reads ``[b, 0, 1, f]``: the positions of the two lettered dimensions and of the spatial ones in order."""

    def item() -> str | int:
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        return parser.parse_identifier() if number is None else number

    position = parser.pos
    items = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, item)
    spatial = list(range(len(items) - 2))
    if sorted(map(str, items)) != sorted(map(str, [*letters, *spatial])):
        parser.raise_error(f"expected the dimensions {', '.join(letters)} and the spatial ones from 0 on, each once", position)
    return items.index(letters[0]), items.index(letters[1]), tuple(items.index(i) for i in spatial)


@irdl_attr_definition
class ConvDimensionNumbersAttr(ParametrizedAttribute):
    """The batch, feature and spatial dimensions of a convolution: ``<[b, 0, f]x[0, i, o]->[b, 0, f]>``."""

    name = "stablehlo.conv"
    input_batch_dimension: IntegerAttr[I64] = param_def()
    input_feature_dimension: IntegerAttr[I64] = param_def()
    input_spatial_dimensions: Dimensions = param_def()
    kernel_input_feature_dimension: IntegerAttr[I64] = param_def()
    kernel_output_feature_dimension: IntegerAttr[I64] = param_def()
    kernel_spatial_dimensions: Dimensions = param_def()
    output_batch_dimension: IntegerAttr[I64] = param_def()
    output_feature_dimension: IntegerAttr[I64] = param_def()
    output_spatial_dimensions: Dimensions = param_def()

    @classmethod
    def of(cls, lhs: tuple[int, int, Sequence[int]], rhs: tuple[int, int, Sequence[int]], out: tuple[int, int, Sequence[int]]) -> ConvDimensionNumbersAttr:
        """From (batch, feature, spatial...) of the input, (input feature, output feature, spatial...) of the kernel, and
        (batch, feature, spatial...) of the output."""
        return cls.new([part for first, second, spatial in (lhs, rhs, out) for part in (int_attr(first), int_attr(second), dimensions(spatial))])

    @property
    def roles(self) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
        """The arguments of :meth:`of`: three triples of positions for input, kernel and output."""
        return (
            (int_of(self.input_batch_dimension), int_of(self.input_feature_dimension), numbers(self.input_spatial_dimensions)),
            (int_of(self.kernel_input_feature_dimension), int_of(self.kernel_output_feature_dimension), numbers(self.kernel_spatial_dimensions)),
            (int_of(self.output_batch_dimension), int_of(self.output_feature_dimension), numbers(self.output_spatial_dimensions)),
        )

    def text(self) -> str:
        """The roles as printed between the angle brackets."""

        def show(role: tuple[int, int, tuple[int, ...]], letters: str) -> str:
            slots: list[str] = [""] * (2 + len(role[2]))
            slots[role[0]], slots[role[1]] = letters[0], letters[1]
            for number, position in enumerate(role[2]):
                slots[position] = str(number)
            return f"[{', '.join(slots)}]"

        lhs, rhs, out = self.roles
        return f"{show(lhs, 'bf')}x{show(rhs, 'io')}->{show(out, 'bf')}"

    @classmethod
    def parse_roles(cls, parser: AttrParser) -> ConvDimensionNumbersAttr:
        """Reads what :meth:`text` writes."""
        lhs = _parse_role_list(parser, ("b", "f"))
        parser.parse_keyword("x")
        rhs = _parse_role_list(parser, ("i", "o"))
        parser.parse_punctuation("->")
        return cls.of(lhs, rhs, _parse_role_list(parser, ("b", "f")))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        parser.parse_punctuation("<")
        position = parser.pos
        if parser.parse_optional_keyword("raw") is not None:
            return cls._parse_raw(parser, position)
        parameters = cls.parse_roles(parser).parameters
        parser.parse_punctuation(">")
        return parameters

    @classmethod
    def _parse_raw(cls, parser: AttrParser, position: int) -> Sequence[Attribute]:
        """Reads ``raw input_batch_dimension = 0, ...>``: the parameters by their names."""
        names = [name for name, _ in cls.get_irdl_definition().parameters]
        entries = read_entries(parser, f"#{cls.name}", [n for n in names if n.endswith("s")], [n for n in names if not n.endswith("s")])
        values = [entries.get(name, dimensions(()) if name.endswith("s") else int_attr(0)) for name in names]
        for first, second, spatial in zip(values[::3], values[1::3], values[2::3], strict=True):
            used = [int_of(first), int_of(second), *numbers(cast(Dimensions, spatial))]
            if sorted(used) != list(range(len(used))):
                parser.raise_error(f"{used} are not the dimensions of a tensor, each once", position)
        return values

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.text()}>")
