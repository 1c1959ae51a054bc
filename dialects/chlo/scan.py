"""CHLO's scan: a body that is applied to one slice after the other."""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Operation
from xdsl.irdl import AttrSizedOperandSegments, AttrSizedResultSegments, opt_prop_def, prop_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import IsolatedFromAbove, RecursiveMemoryEffect

from wengert.dialects.facts import Batching, Facts, Work
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I64Attr, int_attr, int_of, segment_sizes
from wengert.ir.operations import op_definition
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.syntax import parts as sx

OPERANDS, RESULTS = "operandSegmentSizes", "resultSegmentSizes"


class ScanText:
    """``(%x) inits (%s) dimension=0 attributes {is_reverse = true} { ... } : (T, U) -> (V, U)``."""

    properties = ("dimension", OPERANDS, RESULTS)

    def read(self, reader: Reader, state: OpState) -> None:
        inputs = reader.listed("(", ")", reader.operand)
        reader.need_word("inits")
        inits = reader.listed("(", ")", reader.operand)
        state.operands = inputs + inits
        reader.need_word("dimension")
        reader.need("=")
        state.properties["dimension"] = int_attr(reader.integer())
        if reader.accept_word("attributes"):
            state.set_attributes(reader.dictionary())
        state.regions.append(reader.region(isolated=True))
        reader.need(":")
        state.types_at = reader.skip()
        state.operand_types, state.result_types = reader.function_type()
        if len(state.operand_types) != len(state.operands):
            reader.fail(f"{len(state.operands)} inputs and inits, but {len(state.operand_types)} operand types", state.types_at)
        if len(state.result_types) < len(inits):
            reader.fail(f"{len(inits)} values are carried, but there are {len(state.result_types)} result types", state.types_at)
        state.properties[OPERANDS] = segment_sizes(len(inputs), len(inits))
        state.properties[RESULTS] = segment_sizes(len(state.result_types) - len(inits), len(inits))

    def write(self, op: Operation, writer: Writer) -> None:
        scan = cast(ScanOp, op)
        if not op.regions[0].blocks:
            raise Unwritable
        count = len(scan.inputs)
        writer.write(f"({writer.values(op.operands[:count])}) inits ({writer.values(op.operands[count:])}) dimension={int_of(op.properties['dimension'])} ")
        writer.attribute_dictionary(op, keyword=True)
        writer.region(op.regions[0])
        writer.write(f" : {writer.function_type(op.operand_types, op.result_types)}")


@op_definition
class ScanOp(TensorOp):
    """Slices of the inputs along a dimension, in order or in reverse, go through the body together with carried values: what the body returns first is
    collected along the same dimension, the rest is carried on."""

    name = "chlo.scan"
    FACTS: ClassVar = Facts(work=Work.FORMULA, batching=Batching.LOOP)
    SYNTAX: ClassVar = sx.Syntax(ScanText())
    DISTINCT_NAMES: ClassVar = True
    """In its short form MLIR's parser takes no name that is in use outside, though the body sees nothing of that."""
    inputs = var_operand_def()
    inits = var_operand_def()
    dimension = prop_def(I64Attr)
    scan_dim_size = opt_prop_def(I64Attr)
    is_reverse = opt_prop_def(BoolAttr)
    is_associative = opt_prop_def(BoolAttr)
    body = region_def()
    outputs = var_result_def()
    carries = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True), AttrSizedResultSegments(as_property=True))
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())
