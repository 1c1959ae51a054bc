"""``expand-quantized``: quantized numbers as the integers that they are stored as.

A value of a quantized type becomes a tensor of its stored integers. Ops that only move elements, and control flow, stay what they
are on these. Every other op is done by the numbers that the integers stand for, as the specification defines it: its quantized
operands are dequantized, and its quantized results quantized::

    dequantize(q) = (q - zero point) * scale
    quantize(x) = round to even(clamp(x / scale + zero point, least, greatest))

Before and after, of ``!q = !quant.uniform<i8:f32, 0.5:3>``::

    %0 = stablehlo.tanh %x : tensor<2x!q>               %0 = ... (%x - 3) * 0.5 : tensor<2xf32>
                                                        %1 = stablehlo.tanh %0 : tensor<2xf32>
                                                        %2 = ... : tensor<2xi8>

Rounding is flat, so derivatives through quantized numbers are zero; they are not passed straight through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, TupleType, UnrankedTensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.quant import UniformQuantizedType, quantized
from wengert.ir.construction import retype
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import DYNAMIC, dtype_of, element, i32, i64, shape, tensor
from wengert.transforms.rewriter import Rewriter

_MOVED = (
    "all_gather all_to_all bitcast_convert broadcast_in_dim case collective_broadcast collective_permute composite "
    "concatenate constant dynamic_broadcast_in_dim dynamic_gather dynamic_pad dynamic_reshape dynamic_slice "
    "dynamic_update_slice gather get_dimension_size get_tuple_element if map optimization_barrier pad "
    "real_dynamic_slice reduce reduce_scatter reduce_window all_reduce reshape return reverse scatter select "
    "select_and_scatter set_dimension_size slice sort torch_index_select transpose tuple while"
)
MOVED = {f"stablehlo.{name}" for name in _MOVED.split()} | {"func.func", "func.call", "func.return"}
"""Ops that are the same on stored integers if these all have the same scales; those with regions compute in their regions."""

_KEEPING = (
    "bitcast_convert broadcast_in_dim constant dynamic_broadcast_in_dim dynamic_reshape get_dimension_size "
    "get_tuple_element reshape return composite transpose tuple"
)
KEEPING = {f"stablehlo.{name}" for name in _KEEPING.split()} | {"func.func", "func.call", "func.return"}
"""Those whose results' scales do not matter, or were compared by the verifier."""


@dataclass(frozen=True)
class ExpandQuantizedPass(ModulePass):
    """Replaces quantized types by those of the stored integers, and ops on them by ops on what they stand for."""

    name = "expand-quantized"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_quantized(op)


def stored(type: Attribute) -> Attribute:
    """The type with stored integers in place of quantized numbers."""
    element_type = quantized(type)
    if element_type is not None:
        ranked = isinstance(type, TensorType)
        return tensor(cast("TensorType[Any]", type).get_shape(), element_type.storage) if ranked else UnrankedTensorType(element_type.storage)
    if isinstance(type, TupleType):
        return TupleType(cast(Any, [stored(part) for part in cast("Sequence[Attribute]", type.types)]))
    return type


def expand_quantized(module: ModuleOp) -> None:
    """Does so in place. Raises a DiagnosticError for an op that is not defined on stored integers."""
    rewriter = Rewriter("expand-quantized")
    types: dict[SSAValue, UniformQuantizedType] = {}
    for op in list(module.walk()):
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            element_type = quantized(value.type)
            if element_type is not None:
                types[value] = element_type
            retype(value, stored(value.type))
        if isinstance(op, FuncOp):
            both = op.function_type
            op.properties["function_type"] = FunctionType.from_lists([stored(t) for t in both.inputs], [stored(t) for t in both.outputs])
    if not types:
        return
    for op in list(module.walk()):
        operands, results = [types.get(v) for v in op.operands], [types.get(r) for r in op.results]
        element_type = [e for e in (*operands, *results) if e is not None]
        if op.regions and not isinstance(op, FuncOp):
            _expect_one_scale(op, types)
        elif element_type and not (op.name in KEEPING or (op.name in MOVED and all(e == element_type[0] for e in element_type))):
            made = _expand(rewriter, op, operands, results)
            types.update({value: e for value, e in zip(made, results, strict=True) if e is not None})


def _expect_one_scale(op: Operation, types: Mapping[SSAValue, UniformQuantizedType]) -> None:
    """Checks that what an op with regions hands on has the same scales where it comes from and where it goes to."""
    returned = [block.last_op.operands if block.last_op is not None else () for region in op.regions for block in region.blocks]
    arguments = [block.args for region in op.regions for block in region.blocks]
    if isinstance(op, stablehlo.WhileOp):
        groups = list(zip(op.operands, *arguments, returned[1], op.results, strict=True))
    elif isinstance(op, stablehlo.CaseOp | stablehlo.IfOp):
        groups = list(zip(op.results, *returned, strict=True))
    else:
        every = [*op.operands, *op.results, *(v for some in (*arguments, *returned) for v in some)]
        groups = [tuple(v for v in every if v in types)]
    for group in groups:
        element_types = [types.get(v) for v in group]
        if any(e != element_types[0] for e in element_types):
            shown = ", ".join(sorted({str(e) for e in element_types}))
            raise error_at(op, f"{op.name} hands quantized numbers on as others: {shown}", "stablehlo.uniform_quantize converts between scales")


def _expand(b: Rewriter, op: Operation, operands: Sequence[UniformQuantizedType | None], results: Sequence[UniformQuantizedType | None]) -> Sequence[SSAValue]:
    """Replaces the op by one on what its operands stand for; the values in the place of its results are returned."""
    if op.name == "stablehlo.custom_call" or not op.name.startswith(("stablehlo.", "chlo.")):
        raise error_at(op, f"{op.name} is not defined on quantized numbers here", "dequantize its operands first")
    if any(isinstance(v.type, UnrankedTensorType) or (isinstance(v.type, TensorType) and DYNAMIC in shape(v)) for v in (*op.operands, *op.results)):
        raise error_at(op, f"{op.name} on quantized numbers needs static shapes", "refine-shapes gives a program static shapes")
    b.move_to(op)
    given = [v if e is None else dequantize(b, v, e) for v, e in zip(op.operands, operands, strict=True)]
    if isinstance(op, stablehlo.UniformDequantizeOp):
        b.replace(op, given)
        return given
    if isinstance(op, stablehlo.UniformQuantizeOp):
        made = given
    else:
        expressed = [r.type if e is None else tensor(shape(r), e.expressed) for r, e in zip(op.results, results, strict=True)]
        copy = type(op).create(operands=given, result_types=expressed, properties=dict(op.properties), attributes=dict(op.attributes), location=op.location)
        b.place(copy)
        made = list(copy.results)
    values = [v if e is None else quantize(b, v, e) for v, e in zip(made, results, strict=True)]
    b.replace(op, values)
    return values


def _along(b: OpBuilder, x: SSAValue, q: UniformQuantizedType, values: Sequence[float]) -> SSAValue:
    """A constant of the shape of x with one value, or one for each index of the axis."""
    element_type = element(x)
    if q.axis is None:
        return b.full(values[0], tensor(shape(x), element_type))
    line = b.constant(np.array(values).astype(dtype_of(element_type)))
    return b.broadcast_in_dim(line, [q.axis], shape(x))


def dequantize(b: OpBuilder, stored: SSAValue, q: UniformQuantizedType) -> SSAValue:
    """(q - zero point) * scale, the difference exact in whole numbers of 32 or 64 bits."""
    wide = stablehlo_integer(q)
    x = b.convert(stored, wide)
    if any(q.zero_points):
        x = b.subtract(x, _along(b, x, q, q.zero_points))
    y = b.convert(x, q.expressed)
    return b.multiply(y, _along(b, y, q, q.scales))


def quantize(b: OpBuilder, x: SSAValue, q: UniformQuantizedType) -> SSAValue:
    """round(clamp(x / scale + zero point, least, greatest)), halves to even."""
    y = b.add(b.divide(x, _along(b, x, q, q.scales)), _along(b, x, q, q.zero_points))
    low, high = (b.full(bound, tensor(shape(x), element(x))) for bound in q.bounds)
    return b.convert(b.round_nearest_even(b.clamp(low, y, high)), q.storage)


def stablehlo_integer(q: UniformQuantizedType) -> Attribute:
    """An integer type that holds a stored integer less a zero point."""
    return i64 if q.bitwidth >= 32 else i32
