"""Emits regions on scalars within the code of the op that has them: on one element or on many lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects import stablehlo
from wengert.ir.elements import splat_value
from wengert.ir.tensor_types import shape
from wengert.transforms.codegen.cpu.native.value_elements import has_known_elements, value_element
from wengert.transforms.codegen.llvm.scalars import Scalars, Value
from wengert.transforms.codegen.llvm.types import literal, splat
from wengert.transforms.fuse.roles import Role, function_name, role

_SAME = (stablehlo.BroadcastInDimOp, stablehlo.ReshapeOp, stablehlo.TransposeOp)


def is_inlinable(region: Region) -> bool:
    """Whether the region is one block of scalar functions."""
    for op in region.block.ops:
        if not all(has_known_elements(value) and shape(value) == () for value in (*op.operands, *op.results)):
            return False
        if not (isinstance(op, (stablehlo.ReturnOp, stablehlo.ConstantOp, *_SAME)) or role(op) is Role.SCALAR):
            return False
    return True


def inline(scalars: Scalars, region: Region, arguments: Sequence[Value], outside: Mapping[SSAValue, Value]) -> list[Value]:
    """The region's results for these arguments and values from outside, in all lanes."""
    return _Inlined(scalars, region.block, {**outside, **dict(zip(region.block.args, arguments, strict=True))}).run()


class _Inlined:
    def __init__(self, scalars: Scalars, block: Block, values: dict[SSAValue, Value]):
        self.scalars = scalars
        self.block = block
        self.values = values

    def run(self) -> list[Value]:
        for op in self.block.ops:
            if isinstance(op, stablehlo.ReturnOp):
                return [self.values[operand] for operand in op.operands]
            self.values[op.results[0]] = self._value(op)
        raise AssertionError("a region ends in a return")

    def _value(self, op: Operation) -> Value:
        result = op.results[0]
        if isinstance(op, stablehlo.ConstantOp):
            return constant(self.scalars, op)
        operands = [self.values[operand] for operand in op.operands]
        if isinstance(op, _SAME):
            return operands[0]
        return self.scalars.apply(function_name(op), operands, [value_element(operand) for operand in op.operands], value_element(result))


def constant(scalars: Scalars, op: stablehlo.ConstantOp) -> Value:
    """A scalar constant in every lane."""
    element = value_element(op.output)
    value = splat_value(op.value)
    if element.kind == "c":
        parts = [splat(element.register, literal(part, element), scalars.lanes) for part in (value.real, value.imag)]
        return parts[0], parts[1]
    return splat(element.register, literal(value, element), scalars.lanes)
