"""The values that properties of StableHLO have where a program does not say one. VHLO has no defaults, so they are written there, and left out when read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DictionaryAttr, FloatAttr, NoneType, StringAttr
from xdsl.ir import Attribute

from wengert.dialects.stablehlo import attributes as a
from wengert.dialects.stablehlo.annotations import DotAlgorithmAttr, ResultAccuracyAttr, ResultAccuracyMode, ResultAccuracyModeAttr
from wengert.dialects.vhlo.attributes import CustomCallApiVersion, CustomCallApiVersionAttr
from wengert.dialects.vhlo.tables import LACKING, parameters
from wengert.ir.attributes import bool_attr, int_attr
from wengert.ir.bytecode.dense import constant
from wengert.ir.tensor_types import f64, i1, i64, shape_of_type, tensor

Given = Mapping[str, Attribute]
Default = Attribute | Callable[[Given], Attribute]

NONE = NoneType()
"""What a property of VHLO is that an op does not have."""


def integers(values: list[int]) -> DenseIntOrFPElementsAttr[Any]:
    """A constant of one dimension of these integers."""
    return _constant((len(values),), [value.to_bytes(8, "little", signed=True) for value in values], i64)


def booleans(values: list[bool]) -> DenseIntOrFPElementsAttr[Any]:
    """A constant of one dimension of these booleans."""
    return _constant((len(values),), [bytes([value]) for value in values], i1)


def _constant(shape: tuple[int, ...], elements: list[bytes], element: Attribute) -> DenseIntOrFPElementsAttr[Any]:
    equal = len(elements) > 1 and all(data == elements[0] for data in elements)
    return constant(tensor(shape, element), elements[0] if equal else b"".join(elements))


def _count(given: Given, name: str) -> int:
    """The number of elements of a property of one dimension."""
    value = given.get(name)
    return shape_of_type(value.type)[0] if isinstance(value, DenseIntOrFPElementsAttr) and value.type.get_shape() else 0  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType, reportArgumentType]


def _ones(name: str) -> Default:
    return lambda given: integers([1] * _count(given, name))


def _no_padding(name: str) -> Default:
    def padding(given: Given) -> Attribute:
        count = _count(given, name)
        return _constant((count, 2), [bytes(8)] * (2 * count), i64)

    return padding


_NO, _EMPTY, _NO_TEXT = bool_attr(False), ArrayAttr[Attribute]([]), StringAttr("")
_DEFAULT_PRECISION = ArrayAttr([a.PrecisionAttr(a.Precision.DEFAULT)] * 2)
EXACT = ResultAccuracyAttr.new([FloatAttr(0.0, f64), FloatAttr(0.0, f64), int_attr(0), ResultAccuracyModeAttr(ResultAccuracyMode.DEFAULT)])

_COLLECTIVE: dict[str, Default] = {"channel_id": int_attr(0), "use_global_device_ids": _NO}
_CHANNEL: dict[str, Default] = {"channel_id": int_attr(0)}
_SPATIAL = "input_spatial_dimensions"
_CONVOLUTION: dict[str, Default] = {
    "window_strides": _ones(_SPATIAL),
    "padding": _no_padding(_SPATIAL),
    "lhs_dilation": _ones(_SPATIAL),
    "rhs_dilation": _ones(_SPATIAL),
    "window_reversal": lambda given: booleans([False] * _count(given, _SPATIAL)),
    "precision_config": _DEFAULT_PRECISION,
}
_TRANSFER: dict[str, Default] = {"is_host_transfer": _NO, "source_target_pairs": integers([])}

DEFAULTS: dict[str, dict[str, Default]] = {
    "func": {"sym_visibility": _NO_TEXT, "arg_attrs": _EMPTY, "res_attrs": _EMPTY},
    "all_gather": _COLLECTIVE,
    "all_reduce": _COLLECTIVE,
    "reduce_scatter": _COLLECTIVE,
    "all_to_all": _CHANNEL,
    "collective_permute": _CHANNEL,
    "collective_broadcast": _CHANNEL,
    "cholesky": {"lower": _NO},
    "compare": {"compare_type": a.ComparisonTypeAttr(a.ComparisonType.NOTYPE)},
    "composite": {"version": int_attr(0, 32), "composite_attributes": DictionaryAttr({})},
    "convolution": _CONVOLUTION,
    "dynamic_conv": _CONVOLUTION,
    "custom_call": {
        "has_side_effect": _NO,
        "backend_config": _NO_TEXT,
        "api_version": CustomCallApiVersionAttr(CustomCallApiVersion.API_VERSION_ORIGINAL),
        "called_computations": _EMPTY,
        "operand_layouts": _EMPTY,
        "result_layouts": _EMPTY,
        "output_operand_aliases": _EMPTY,
    },
    "dot": {"precision_config": _DEFAULT_PRECISION},
    "dot_general": {"precision_config": _DEFAULT_PRECISION, **dict.fromkeys(parameters(DotAlgorithmAttr), NONE)},
    "dynamic_broadcast_in_dim": {"known_expanding_dimensions": integers([]), "known_nonexpanding_dimensions": integers([])},
    "gather": {"indices_are_sorted": _NO},
    "dynamic_gather": {"indices_are_sorted": _NO},
    "infeed": {"infeed_config": _NO_TEXT, "layout": _EMPTY},
    "outfeed": {"outfeed_config": _NO_TEXT},
    "send": _TRANSFER,
    "recv": _TRANSFER,
    "reduce_window": {
        "window_strides": _ones("window_dimensions"),
        "base_dilations": _ones("window_dimensions"),
        "window_dilations": _ones("window_dimensions"),
        "padding": _no_padding("window_dimensions"),
    },
    "scatter": {"indices_are_sorted": _NO, "unique_indices": _NO},
    "select_and_scatter": {"window_strides": _ones("window_dimensions"), "padding": _no_padding("window_dimensions")},
    "sort": {"dimension": int_attr(-1), "is_stable": _NO},
    **{op: {"result_accuracy": EXACT} for op, names in LACKING.items() if names == ("result_accuracy",)},
}
"""By op and property, as they are in VHLO."""


def default(op: str, name: str, given: Given) -> Attribute | None:
    """The default of a property, where the op has these others; None where there is none."""
    known = DEFAULTS.get(op, {}).get(name)
    return known(given) if callable(known) else known


def lacking_default(op: str, name: str, given: Given) -> Attribute:
    """The default of a property that the first version of an op lacks."""
    known = default(op, name, given)
    return integers([]) if known is None else known
