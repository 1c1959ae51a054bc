"""``tapes-to-stacks``: tapes of a known length become tensors with a row for each of their values.

Loops with a known number of iterations record what their reverse sweep needs on tapes that say their length. As tensors, the records are
differentiated, batched, fused and kept in memory as everything else is. The change is one of types, and each op changes by itself::

    %t = core.tape_create : !core.tape<5, tensor<3xf64>>        %t = stablehlo.constant dense<0.0> : tensor<5x3xf64>
    %u = core.tape_set %t, %i, %x                               %r = stablehlo.reshape %x : (tensor<3xf64>) -> tensor<1x3xf64>
                                                                %u = stablehlo.dynamic_update_slice %t, %r, %i, %c0
    %y = core.tape_read %u, %i                                  %s = stablehlo.dynamic_slice %u, %i, %c0, sizes = [1, 3]
                                                                %y = stablehlo.reshape %s : (tensor<1x3xf64>) -> tensor<3xf64>

A tape of tapes of known length becomes a tensor of two more dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.ir.construction import retype
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import i64, shape, shape_of_type, tensor, type_of
from wengert.ir.traversal import all_ops, operands_of
from wengert.transforms.rewriter import Rewriter


@dataclass(frozen=True)
class TapesToStacksPass(ModulePass):
    """Makes tensors of tapes of known length."""

    name = "tapes-to-stacks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        tapes_to_stacks(op)


def tapes_to_stacks(root: Operation) -> None:
    """Makes tensors of all tapes of known length in a module or function, in place."""
    ops = all_ops(root)
    if not any(type(op) in _ORIGINS and _gives_fixed(op) for op in ops):
        return
    rewritten = [op for op in ops if any(_is_fixed(value.type) for value in _tapes_of(op))]
    for op in ops:
        _retype_tapes(op.results)
        for region in op.regions:
            for block in region.blocks:
                _retype_tapes(block.args)
    rewriter = Rewriter("tapes-to-stacks")
    for op in rewritten:
        rewriter.move_to(op)
        rewriter.replace(op, [_as_tensors(rewriter, op)])
    for op in ops:
        if isinstance(op, FuncOp):
            inputs, outputs = ([stacked(type) for type in types] for types in (op.function_type.inputs, op.function_type.outputs))
            op.function_type = FunctionType.from_lists(inputs, outputs)


def _retype_tapes(values: Sequence[SSAValue]) -> None:
    for value in values:
        type = value.type
        if type.__class__ is core.TapeType:
            retype(value, stacked(type))


def stacked(type: Attribute) -> Attribute:
    """The type that values of a type have afterwards."""
    if not isinstance(type, core.TapeType):
        return type
    entry = stacked(type.entry_type)
    if type.static_length is None:
        return core.TapeType(entry)
    assert isinstance(entry, TensorType), "what has a length holds no tape that grows"
    row = cast("TensorType[Any]", entry)
    return tensor([type.static_length, *shape_of_type(row)], row.element_type)


def _is_fixed(type: Attribute) -> bool:
    return isinstance(type, core.TapeType) and type.static_length is not None


_TAPE_OPS = (core.TapeCreateOp, core.TapeSetOp, core.TapeReadOp, core.TapeGetOp)
_OTHERS = tuple(op for op in core.CONTROL if op.name.startswith("core.tape_") and op not in _TAPE_OPS)


def _tapes_of(op: Operation) -> tuple[SSAValue, ...]:
    """The tape that an op makes, writes on or reads, if it is one of the ops on tapes."""
    if isinstance(op, core.TapeCreateOp):
        return (op.tape,)
    if isinstance(op, _OTHERS) and _is_fixed(operands_of(op)[0].type):
        raise error_at(op, f"{op.name} of a tape of known length has no meaning for a stack: derivatives of tapes are taken after tapes-to-stacks")
    return (operands_of(op)[0],) if isinstance(op, _TAPE_OPS) else ()


_ORIGINS = (core.TapeCreateOp, FuncOp)


def _gives_fixed(op: Operation) -> bool:
    """Whether a tape of known length, or a tape of such tapes, begins here or comes in as an argument."""
    types = op.function_type.inputs if isinstance(op, FuncOp) else [result.type for result in op.results]
    return any(type.__class__ is core.TapeType and stacked(type) != type for type in types)


def _as_tensors(b: Rewriter, op: Operation) -> Value:
    """What stands for the result of an op on a stack."""
    if isinstance(op, core.TapeCreateOp):
        return b.zeros(type_of(op.tape))
    stack, index, *value = operands_of(op)
    starts = [index, *[b.scalar(0, i64)] * (len(shape(stack)) - 1)]
    if value:
        return b.dynamic_update_slice(stack, b.reshape(value[0], [1, *shape(value[0])]), starts)
    return b.reshape(b.dynamic_slice(stack, starts, [1, *shape(stack)[1:]]), shape(stack)[1:])
