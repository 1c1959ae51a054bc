"""StableHLO's ops that make tensors or move elements without computing on them."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr
from xdsl.irdl import operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from wengert.dialects.facts import EXPANSION, Batching, Facts, Traffic, Work
from wengert.dialects.stablehlo import syntax as st
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I64Attr
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class ConstantOp(TensorOp):
    """A constant tensor."""

    name = "stablehlo.constant"
    FACTS: ClassVar = Facts(work=Work.NONE, recompute=True, batching=Batching.LOOP)
    SYNTAX: ClassVar = sx.Syntax(st.ConstantText())
    value = prop_def(DenseIntOrFPElementsAttr)
    output = result_def()
    traits = traits_def(Pure())


@op_definition
class IotaOp(TensorOp):
    """Each element is its own index along one dimension."""

    name = "stablehlo.iota"
    FACTS: ClassVar = Facts(work=Work.NONE, recompute=True, batching=Batching.LOOP)
    SYNTAX: ClassVar = sx.Syntax(sx.Keys(sx.Key("dim", "iota_dimension", sx.INT), leading=False), sx.ResultTypes())
    iota_dimension = prop_def(I64Attr)
    output = result_def()
    traits = traits_def(Pure())


@op_definition
class BroadcastInDimOp(TensorOp):
    """Dimension i of the operand becomes dimension broadcast_dimensions[i]; extents of 1 and new dimensions repeat."""

    name = "stablehlo.broadcast_in_dim"
    FACTS: ClassVar = Facts(work=Work.NONE, recompute=True, linear="all")
    SYNTAX: ClassVar = sx.keyed(sx.Key("dims", "broadcast_dimensions", sx.INTS))
    operand = operand_def()
    broadcast_dimensions = prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class BroadcastOp(TensorOp):
    """The operand repeated along new dimensions in front; older text has it."""

    name = "stablehlo.broadcast"
    FACTS: ClassVar = EXPANSION
    SYNTAX: ClassVar = sx.keyed(sx.Key("sizes", "broadcast_sizes", sx.INTS))
    operand = operand_def()
    broadcast_sizes = prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ReshapeOp(TensorOp):
    """The same elements in row-major order under another shape."""

    name = "stablehlo.reshape"
    FACTS: ClassVar = Facts(work=Work.NONE, recompute=True, linear="all")
    SYNTAX: ClassVar = sx.plain()
    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class TransposeOp(TensorOp):
    """Dimension i of the result is dimension permutation[i] of the operand."""

    name = "stablehlo.transpose"
    FACTS: ClassVar = Facts(work=Work.NONE, recompute=True, linear="all")
    SYNTAX: ClassVar = sx.keyed(sx.Key("dims", "permutation", sx.INTS))
    operand = operand_def()
    permutation = prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class SliceOp(TensorOp):
    """Elements start, start + stride, ... below limit, in every dimension."""

    name = "stablehlo.slice"
    FACTS: ClassVar = Facts(work=Work.NONE, traffic=Traffic.SLICE, recompute=True, linear="all")
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), st.Ranges(), sx.FunctionType())
    operand = operand_def()
    start_indices = prop_def(DenseArrayBase)
    limit_indices = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class PadOp(TensorOp):
    """The operand between (and, with interior padding, among) copies of the padding value; negative edges crop."""

    name = "stablehlo.pad"
    FACTS: ClassVar = Facts(work=Work.NONE, linear="all")
    SYNTAX: ClassVar = sx.keyed(
        sx.Key("low", "edge_padding_low", sx.INTS),
        sx.Key("high", "edge_padding_high", sx.INTS),
        sx.Key("interior", "interior_padding", sx.INTS),
    )
    operand = operand_def()
    padding_value = operand_def()
    edge_padding_low = prop_def(DenseArrayBase)
    edge_padding_high = prop_def(DenseArrayBase)
    interior_padding = prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ConcatenateOp(TensorOp):
    """The operands one after the other along a dimension."""

    name = "stablehlo.concatenate"
    FACTS: ClassVar = Facts(work=Work.NONE, linear="all")
    SYNTAX: ClassVar = sx.keyed(sx.Key("dim", "dimension", sx.INT))
    inputs = var_operand_def()
    dimension = prop_def(I64Attr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ReverseOp(TensorOp):
    """The elements in reverse order along some dimensions."""

    name = "stablehlo.reverse"
    FACTS: ClassVar = Facts(work=Work.NONE, recompute=True, linear="all")
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), sx.Keys(sx.Key("dims", "dimensions", sx.INTS)), sx.SameType())
    operand = operand_def()
    dimensions = prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())
