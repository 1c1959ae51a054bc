"""Tables of VHLO's ops, and of how their properties correspond to those of StableHLO and func.

An op of StableHLO has the same name here, with its version behind it. VHLO has no default values, and no records: the dimension numbers of a contraction are
properties of their own. What is not named here is a property of the same name.
"""

from __future__ import annotations

from functools import cache

from xdsl.ir import ParametrizedAttribute

from wengert.dialects.bytecode.properties import op_properties, properties_of
from wengert.dialects.stablehlo import attributes as a
from wengert.dialects.stablehlo.annotations import DotAlgorithmAttr
from wengert.dialects.vhlo.versions import SECOND

FUNCTIONS = {"func.func": "func", "func.call": "call", "func.return": "return"}
"""The ops of func and their names here."""

RECORDS: dict[tuple[str, str], type[ParametrizedAttribute]] = {
    ("convolution", "dimension_numbers"): a.ConvDimensionNumbersAttr,
    ("dynamic_conv", "dimension_numbers"): a.ConvDimensionNumbersAttr,
    ("dot_general", "dot_dimension_numbers"): a.DotDimensionNumbersAttr,
    ("dot_general", "algorithm"): DotAlgorithmAttr,
    ("gather", "dimension_numbers"): a.GatherDimensionNumbersAttr,
    ("dynamic_gather", "dimension_numbers"): a.GatherDimensionNumbersAttr,
    ("scatter", "scatter_dimension_numbers"): a.ScatterDimensionNumbersAttr,
}
"""Properties, by op and name, whose parameters are properties of their own."""

LACKING: dict[str, tuple[str, ...]] = {
    "gather": ("operand_batching_dims", "start_indices_batching_dims"),
    "dynamic_gather": ("operand_batching_dims", "start_indices_batching_dims"),
    "scatter": ("input_batching_dims", "scatter_indices_batching_dims"),
    "dot_general": tuple(name for name, _ in DotAlgorithmAttr.get_irdl_definition().parameters),
    "send": ("source_target_pairs",),
    "recv": ("source_target_pairs",),
    **{op: ("result_accuracy",) for op in SECOND if properties_of(f"stablehlo.{op}") == ("result_accuracy?",)},
}
"""The properties that the first version of an op lacks."""

ARRAYS = frozenset(
    [
        "broadcast_dimensions",
        "broadcast_sizes",
        "window_strides",
        "lhs_dilation",
        "rhs_dilation",
        "window_reversal",
        "permutation",
        "slice_sizes",
        "start_indices",
        "limit_indices",
        "strides",
        "edge_padding_low",
        "edge_padding_high",
        "interior_padding",
        "dimensions",
        "fft_length",
        "window_dimensions",
        "base_dilations",
        "window_dilations",
        "known_expanding_dimensions",
        "known_nonexpanding_dimensions",
    ]
)
"""Properties that are arrays in StableHLO and constants of one dimension here."""

SYMBOLS = frozenset(("callee", "decomposition", "called_computations"))
"""Properties that name functions: strings here."""

_NOT_STORED = ("func", "call", "return")


def parameters(record: type[ParametrizedAttribute]) -> tuple[str, ...]:
    """The names of a record's parameters."""
    return tuple(name for name, _ in record.get_irdl_definition().parameters)


def stablehlo_name(op: str) -> str:
    """The name of the op of StableHLO or func that one of VHLO stands for, without its version; ``return`` stands for two."""
    return f"func.{op}" if op in _NOT_STORED else f"stablehlo.{op}"


@cache
def vhlo_properties(op: str, version: int) -> tuple[str, ...]:
    """The names of the properties of a version of an op, all of which it has, in the order of bytecode."""
    if op == "return":
        return ()
    if op == "call":
        return ("callee",)
    if op == "func":
        return ("arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility")
    names: set[str] = set()
    for coded in properties_of(f"stablehlo.{op}") or ():
        name = coded.rstrip("?")
        record = RECORDS.get((op, name))
        if record is not None:
            names.update(parameters(record))
        elif name == "channel_handle":
            names.update(("channel_id", "channel_type") if op in ("send", "recv") else ("channel_id",))
        else:
            names.add(name)
    if op == "dynamic_conv" and version == 1:
        names.add("padding")
    return tuple(sorted(names - set(LACKING.get(op, ()) if version == 1 else ())))


@cache
def op_names() -> tuple[str, ...]:
    """The names of all ops of VHLO, ``add_v1`` and so on, without the name of the dialect."""
    ops = [*_NOT_STORED, *(op for op in op_properties("stablehlo") if op not in _NOT_STORED)]
    return tuple(f"{op}_v{version}" for op in ops for version in ((1, 2) if op in SECOND else (1,)))


def split_name(name: str) -> tuple[str, int]:
    """``vhlo.add_v1`` as add and 1."""
    op, _, version = name.removeprefix("vhlo.").rpartition("_v")
    return op, int(version)
