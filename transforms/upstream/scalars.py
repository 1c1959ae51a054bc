"""``scalars-to-tensors``: functions of scalars as functions of tensors of rank 0, which is what StableHLO's functions take.

Before and after::

    func.func @main(%x: f64, %n: index) -> f64 {        func.func @main(%x: tensor<f64>, %n: tensor<i64>) -> tensor<f64> {
      ...                                                 %0 = tensor.extract %x[] : tensor<f64>
      return %r : f64                                     %1 = tensor.extract %n[] : tensor<i64>
    }                                                     %2 = arith.index_cast %1 : i64 to index
                                                          ...
                                                          %3 = tensor.from_elements %r : tensor<f64>
                                                          return %3 : tensor<f64>
                                                        }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, IndexType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.upstream import upstream_class
from wengert.ir.construction import insert_before, retype
from wengert.ir.tensor_types import element, i64, is_complex, is_float, is_integer, tensor


@dataclass(frozen=True)
class ScalarsToTensorsPass(ModulePass):
    """Gives functions tensors of rank 0 where they have scalars, and 64-bit integers where they have indices."""

    name = "scalars-to-tensors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        scalars_to_tensors(op)


def scalars_to_tensors(module: ModuleOp) -> None:
    """Changes the boundaries of a module's functions, in place. Functions of several blocks, and declarations, stay as they are."""
    for op in module.ops:
        if isinstance(op, FuncOp) and len(op.body.blocks) == 1:
            _change(op)


def _change(function: FuncOp) -> None:
    block = function.body.block
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    if all(boundary_type(type) == type for type in (*inputs, *outputs)):
        return
    first, last = block.first_op, block.last_op
    assert first is not None
    assert last is not None
    for argument in block.args:
        _enter(argument, first)
    for index, value in enumerate(list(last.operands)):
        last.operands[index] = _leave(value, last)
    function.properties["function_type"] = FunctionType.from_lists([boundary_type(t) for t in inputs], [boundary_type(t) for t in outputs])


def boundary_type(type: Attribute) -> Attribute:
    """The type that a value has at a function's boundary."""
    if isinstance(type, TensorType):
        own = cast("TensorType[Any]", type)
        return tensor(own.get_shape(), i64) if isinstance(own.element_type, IndexType) else own
    if isinstance(type, IndexType):
        return tensor((), i64)
    return tensor((), type) if is_float(type) or is_integer(type) or is_complex(type) else type


def _enter(argument: SSAValue, first: Operation) -> None:
    """Gives an argument its new type, and its uses the value that it had."""
    old, new = argument.type, boundary_type(argument.type)
    if old == new:
        return
    uses = list(argument.uses)
    retype(argument, new)
    value = argument
    if not isinstance(old, TensorType):
        value = _made("tensor.extract", value, element(argument), first)
    if value.type != old:
        value = _made("arith.index_cast", value, cast(Attribute, old), first)
    for use in uses:
        use.operation.operands[use.index] = value


def _leave(value: SSAValue, last: Operation) -> SSAValue:
    """The value as the function returns it."""
    own: Attribute = value.type
    new = boundary_type(own)
    if own == new:
        return value
    is_tensor = isinstance(own, TensorType)
    inner = new if is_tensor else cast(Attribute, cast("TensorType[Any]", new).element_type)
    if own != inner:
        value = _made("arith.index_cast", value, inner, last)
    return value if is_tensor else _made("tensor.from_elements", value, new, last)


def _made(name: str, value: SSAValue, type: Attribute, before: Operation) -> SSAValue:
    op = upstream_class(name).create(operands=[value], result_types=[type], location=before.location)
    insert_before(before, op)
    return op.results[0]
