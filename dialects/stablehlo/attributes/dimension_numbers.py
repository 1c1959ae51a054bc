"""The dimension numbers of dot, gather and scatter, and how dimension numbers are read and written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import I64, ArrayAttr, IntegerAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from wengert.ir.attributes import int_attr
from wengert.ir.diagnostics import did_you_mean

Dimensions = ArrayAttr[IntegerAttr[I64]]


def dimensions(values: Sequence[int]) -> Dimensions:
    """A list of dimension numbers as an attribute."""
    return cast(Dimensions, ArrayAttr([int_attr(int(v)) for v in values]))


def whole_number(parser: AttrParser) -> int:
    """Reads an integer that fits i64."""
    position = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if not -(1 << 63) <= value < 1 << 63:
        parser.raise_error(f"{value} does not fit i64", position)
    return value


def numbers(attribute: Dimensions) -> tuple[int, ...]:
    """The integers of a list of dimension numbers."""
    return tuple(item.value.data for item in attribute)


def read_entries(parser: AttrParser, name: str, lists: Sequence[str], scalars: Sequence[str]) -> dict[str, Attribute]:
    """Reads ``key = [..], key = n>``, in any order and with a comma at the end if there is one, as MLIR does."""
    entries: dict[str, Attribute] = {}
    while parser.parse_optional_punctuation(">") is None:
        position = parser.pos
        key = parser.parse_identifier()
        if key not in (*lists, *scalars):
            hint = did_you_mean(key, (*lists, *scalars)) or f"known are {', '.join((*lists, *scalars))}"
            parser.raise_error(f"unknown key '{key}' in {name}; {hint}", position)
        if key in entries:
            parser.raise_error(f"'{key}' is given twice", position)
        parser.parse_punctuation("=")
        if key in scalars:
            entries[key] = _number(parser)
        else:
            entries[key] = ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _number(parser)))
        if parser.parse_optional_punctuation(",") is None:
            parser.parse_punctuation(">")
            break
    return entries


def _number(parser: AttrParser) -> IntegerAttr[I64]:
    return cast("IntegerAttr[I64]", int_attr(whole_number(parser)))


class DimensionNumbers(ParametrizedAttribute):
    """Dimension numbers print as ``<key = [..], key = n>``, leaving out empty lists and the scalars' defaults."""

    LISTS: ClassVar[tuple[str, ...]] = ()
    SCALARS: ClassVar[tuple[str, ...]] = ()

    def dims(self, key: str) -> tuple[int, ...]:
        """The list parameter of this name as integers."""
        return numbers(cast(Dimensions, getattr(self, key)))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        parser.parse_punctuation("<")
        entries = read_entries(parser, f"#{cls.name}", cls.LISTS, cls.SCALARS)
        return [entries.get(k, dimensions(())) for k in cls.LISTS] + [entries.get(k, int_attr(0)) for k in cls.SCALARS]

    def print_parameters(self, printer: Printer) -> None:
        parts = [f"{k} = [{', '.join(map(str, self.dims(k)))}]" for k in self.LISTS if self.dims(k)]
        parts += [f"{k} = {v}" for k in self.SCALARS if (v := cast("IntegerAttr[I64]", getattr(self, k)).value.data)]
        printer.print_string(f"<{', '.join(parts)}>")


@irdl_attr_definition
class DotDimensionNumbersAttr(DimensionNumbers):
    """The batch and the contracting dimensions of a dot_general."""

    name = "stablehlo.dot"
    LISTS: ClassVar[tuple[str, ...]] = ("lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions")
    lhs_batching_dimensions: Dimensions = param_def()
    rhs_batching_dimensions: Dimensions = param_def()
    lhs_contracting_dimensions: Dimensions = param_def()
    rhs_contracting_dimensions: Dimensions = param_def()


@irdl_attr_definition
class GatherDimensionNumbersAttr(DimensionNumbers):
    """The arrangement of a gather's slices; the names are those of the specification."""

    name = "stablehlo.gather"
    LISTS: ClassVar[tuple[str, ...]] = ("offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map")
    SCALARS: ClassVar[tuple[str, ...]] = ("index_vector_dim",)
    offset_dims: Dimensions = param_def()
    collapsed_slice_dims: Dimensions = param_def()
    operand_batching_dims: Dimensions = param_def()
    start_indices_batching_dims: Dimensions = param_def()
    start_index_map: Dimensions = param_def()
    index_vector_dim: IntegerAttr[I64] = param_def()


@irdl_attr_definition
class ScatterDimensionNumbersAttr(DimensionNumbers):
    """The arrangement of a scatter's updates; the names are those of the specification."""

    name = "stablehlo.scatter"
    LISTS: ClassVar[tuple[str, ...]] = (
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    )
    SCALARS: ClassVar[tuple[str, ...]] = ("index_vector_dim",)
    update_window_dims: Dimensions = param_def()
    inserted_window_dims: Dimensions = param_def()
    input_batching_dims: Dimensions = param_def()
    scatter_indices_batching_dims: Dimensions = param_def()
    scatter_dims_to_operand_dims: Dimensions = param_def()
    index_vector_dim: IntegerAttr[I64] = param_def()
