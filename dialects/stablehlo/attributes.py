"""StableHLO's attributes: enumerations and the dimension numbers of dot, convolution, gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import I64, ArrayAttr, IntegerAttr, SymbolRefAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from wengert.ir.attributes import int_attr, int_of
from wengert.ir.diagnostics import did_you_mean
from wengert.ir.symbols import NamesMesh


class ComparisonDirection(StrEnum):
    """The relation that ``compare`` tests."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


class ComparisonType(StrEnum):
    """The order that ``compare`` compares in."""

    NOTYPE = "NOTYPE"
    FLOAT = "FLOAT"
    TOTALORDER = "TOTALORDER"
    SIGNED = "SIGNED"
    UNSIGNED = "UNSIGNED"


class Precision(StrEnum):
    """The precision in which a contraction multiplies."""

    DEFAULT = "DEFAULT"
    HIGH = "HIGH"
    HIGHEST = "HIGHEST"


class Transpose(StrEnum):
    """The form in which ``triangular_solve`` uses its matrix."""

    TRANSPOSE_INVALID = "TRANSPOSE_INVALID"
    NO_TRANSPOSE = "NO_TRANSPOSE"
    TRANSPOSE = "TRANSPOSE"
    ADJOINT = "ADJOINT"


class FftType(StrEnum):
    """The kind of Fourier transform."""

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


class RngAlgorithm(StrEnum):
    """The generator of random bits."""

    DEFAULT = "DEFAULT"
    THREE_FRY = "THREE_FRY"
    PHILOX = "PHILOX"


class RngDistribution(StrEnum):
    """The distribution of random numbers."""

    UNIFORM = "UNIFORM"
    NORMAL = "NORMAL"


@irdl_attr_definition
class ComparisonDirectionAttr(EnumAttribute[ComparisonDirection], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.comparison_direction"


@irdl_attr_definition
class ComparisonTypeAttr(EnumAttribute[ComparisonType], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.comparison_type"


@irdl_attr_definition
class PrecisionAttr(EnumAttribute[Precision], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.precision"


@irdl_attr_definition
class TransposeAttr(EnumAttribute[Transpose], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.transpose"


@irdl_attr_definition
class FftTypeAttr(EnumAttribute[FftType], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.fft_type"


@irdl_attr_definition
class RngAlgorithmAttr(EnumAttribute[RngAlgorithm], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.rng_algorithm"


@irdl_attr_definition
class RngDistributionAttr(EnumAttribute[RngDistribution], SpacedOpaqueSyntaxAttribute):
    name = "stablehlo.rng_distribution"


Dimensions = ArrayAttr[IntegerAttr[I64]]


def dimensions(values: Sequence[int]) -> Dimensions:
    """A list of dimension numbers as an attribute."""
    return cast(Dimensions, ArrayAttr([int_attr(int(v)) for v in values]))


def _numbers(attribute: Dimensions) -> tuple[int, ...]:
    return tuple(item.value.data for item in attribute)


def _entries(parser: AttrParser, name: str, lists: Sequence[str], scalars: Sequence[str]) -> dict[str, Attribute]:
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
    position = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if not -(1 << 63) <= value < 1 << 63:
        parser.raise_error(f"{value} does not fit i64", position)
    return cast("IntegerAttr[I64]", int_attr(value))


class DimensionNumbers(ParametrizedAttribute):
    """Dimension numbers print as ``<key = [..], key = n>``, leaving out empty lists and the scalars' defaults."""

    LISTS: ClassVar[tuple[str, ...]] = ()
    SCALARS: ClassVar[tuple[str, ...]] = ()

    def dims(self, key: str) -> tuple[int, ...]:
        """The list parameter of this name as integers."""
        return _numbers(cast(Dimensions, getattr(self, key)))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        parser.parse_punctuation("<")
        entries = _entries(parser, f"#{cls.name}", cls.LISTS, cls.SCALARS)
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
            (int_of(self.input_batch_dimension), int_of(self.input_feature_dimension), _numbers(self.input_spatial_dimensions)),
            (int_of(self.kernel_input_feature_dimension), int_of(self.kernel_output_feature_dimension), _numbers(self.kernel_spatial_dimensions)),
            (int_of(self.output_batch_dimension), int_of(self.output_feature_dimension), _numbers(self.output_spatial_dimensions)),
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
        entries = _entries(parser, f"#{cls.name}", [n for n in names if n.endswith("s")], [n for n in names if not n.endswith("s")])
        values = [entries.get(name, dimensions(()) if name.endswith("s") else int_attr(0)) for name in names]
        for first, second, spatial in zip(values[::3], values[1::3], values[2::3], strict=True):
            used = [int_of(first), int_of(second), *_numbers(cast(Dimensions, spatial))]
            if sorted(used) != list(range(len(used))):
                parser.raise_error(f"{used} are not the dimensions of a tensor, each once", position)
        return values

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.text()}>")


def whole_number(parser: AttrParser) -> int:
    """Reads an integer that fits i64."""
    position = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if not -(1 << 63) <= value < 1 << 63:
        parser.raise_error(f"{value} does not fit i64", position)
    return value


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


@irdl_attr_definition
class ReplicaGroupMeshAxesAttr(ParametrizedAttribute, NamesMesh):
    """Groups of devices by the axes of a mesh: ``<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>``."""

    name = "stablehlo.replica_group_mesh_axes"
    mesh: SymbolRefAttr = param_def()  # pyright: ignore[reportIncompatibleVariableOverride]
    axes: ArrayAttr[Attribute] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("mesh")
            parser.parse_punctuation("=")
            mesh = SymbolRefAttr(parser.parse_symbol_name())
            parser.parse_punctuation(",")
            parser.parse_keyword("axes")
            parser.parse_punctuation("=")
            return mesh, ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute))

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
        return (ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_type)),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.types.data, printer.print_attribute)


ALL = (
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    PrecisionAttr,
    TransposeAttr,
    FftTypeAttr,
    RngAlgorithmAttr,
    RngDistributionAttr,
    DotDimensionNumbersAttr,
    GatherDimensionNumbersAttr,
    ScatterDimensionNumbersAttr,
    ConvDimensionNumbersAttr,
    ChannelHandleAttr,
    ReplicaGroupMeshAxesAttr,
    TokenType,
    FutureType,
)
