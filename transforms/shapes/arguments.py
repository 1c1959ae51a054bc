"""Arguments that say which of several programs is meant, fixed."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from wengert.dialects import stablehlo
from wengert.ir import elements
from wengert.ir.construction import replace_uses
from wengert.ir.tensor_types import type_of


def fix_integer_argument(function: FuncOp, position: int, value: int) -> None:
    """Makes a scalar argument of a function a constant of it, in place; the arguments behind it move forward."""
    block = function.body.block
    argument = block.args[position]
    constant = stablehlo.ConstantOp.create(
        result_types=[argument.type], properties={"value": elements.splat(value, type_of(argument))}, location=function.location
    )
    block.insert_op_before(constant, block.first_op) if block.first_op is not None else block.add_op(constant)
    replace_uses(argument, constant.results[0])
    block.erase_arg(argument)
    kind = function.function_type
    inputs = [*kind.inputs.data[:position], *kind.inputs.data[position + 1 :]]
    function.function_type = FunctionType.from_lists(inputs, list(kind.outputs.data))
    if function.arg_attrs is not None:
        kept: list[Attribute] = [a for i, a in enumerate(function.arg_attrs.data) if i != position]
        function.arg_attrs = ArrayAttr(kept)  # pyright: ignore[reportAttributeAccessIssue]
