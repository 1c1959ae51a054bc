"""Tests whether a module is dynamic: extents that its text leaves open, and ops whose result shape is computed."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from wengert.dialects import stablehlo
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import DYNAMIC, shape_of_type
from wengert.ir.traversal import all_ops

DYNAMIC_OPS: frozenset[type[Operation]] = frozenset(
    {
        stablehlo.DynamicBroadcastInDimOp,
        stablehlo.DynamicConvOp,
        stablehlo.DynamicGatherOp,
        stablehlo.DynamicIotaOp,
        stablehlo.DynamicPadOp,
        stablehlo.DynamicReshapeOp,
        stablehlo.GetDimensionSizeOp,
        stablehlo.RealDynamicSliceOp,
        stablehlo.SetDimensionSizeOp,
    }
)
"""Ops that take or give an extent as a value."""

SHAPE_OPERANDS = "indices_of_shape_operands"
"""The attribute of a custom call that says which of its operands are the shapes of its results."""
ASSERTION = "shape_assertion"
"""The custom call that demands something of the shapes."""
DYNAMIC_CALLS = ("stablehlo.dynamic_reduce_window", "stablehlo.dynamic_rng_bit_generator", "stablehlo.dynamic_top_k", "stablehlo.dynamic_approx_top_k")
"""Custom calls by which JAX writes ops that take extents as values, where StableHLO has none."""


def is_open(type: Attribute) -> bool:
    """Whether an extent of the type is unknown."""
    return type.__class__ is TensorType and DYNAMIC in shape_of_type(type)  # pyright: ignore[reportArgumentType, reportUnknownArgumentType]


def is_dynamic(module: ModuleOp) -> bool:
    """Whether the module leaves extents open or computes them."""
    static: set[int] = set()
    for op in all_ops(module):
        if type(op) in DYNAMIC_OPS or (type(op) is stablehlo.CustomCallOp and is_dynamic_call(op)):
            return True
        for result in op.results:
            if id(result.type) not in static:
                if is_open(result.type):
                    return True
                static.add(id(result.type))
        if type(op) is FuncOp and any(map(is_open, (*op.function_type.inputs.data, *op.function_type.outputs.data))):
            return True
    return False


def is_dynamic_call(op: stablehlo.CustomCallOp) -> bool:
    """Whether a custom call takes extents as values."""
    return op.call_target_name.data in DYNAMIC_CALLS or SHAPE_OPERANDS in op.attributes


def require_static(root: Operation, purpose: str) -> None:
    """A DiagnosticError at the first op under (and including) this one whose types leave extents open."""
    static: set[int] = set()
    for op in all_ops(root):
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            if id(value.type) in static:
                continue
            if is_open(value.type):
                hint = "the pass refine-shapes gives the static form for given shapes of the arguments"
                raise error_at(op, f"{op.name}: {purpose} needs static shapes, found {value.type}", hint)
            static.add(id(value.type))
