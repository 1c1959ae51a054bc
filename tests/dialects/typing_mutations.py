"""Random changes to a well-typed op: to operand and result types, attributes, and regions.

Half of what comes out is still well-typed, so that agreement with another verifier says something in both directions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float8E5M2Type,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    ParametrizedAttribute,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation

from wengert.ir.attributes import bool_array, bool_attr, int_array, int_attr, ints
from wengert.ir.elements import from_numpy, to_numpy
from wengert.ir.tensor_types import DYNAMIC, bf16, c64, c128, f16, f32, f64, i1, i8, i32, i64, tensor, ui8, ui32

ELEMENTS = [f32, f64, f16, bf16, i1, i8, i32, i64, ui8, ui32, c64, c128, IntegerType(4), Float8E5M2Type()]


def change_shape(rng: random.Random, shape: list[int]) -> list[int]:
    """Another shape, mostly by one extent."""
    shape = list(shape)
    what = rng.randrange(7)
    if what == 0 or not shape:
        shape.insert(rng.randint(0, len(shape)), rng.choice([1, 2, 3]))
    elif what == 1:
        del shape[rng.randrange(len(shape))]
    elif what == 2 and len(shape) > 1:
        i, j = rng.sample(range(len(shape)), 2)
        shape[i], shape[j] = shape[j], shape[i]
    else:
        i = rng.randrange(len(shape))
        shape[i] = rng.choice([0, 1, shape[i] + 1, max(shape[i] - 1, 0), DYNAMIC, DYNAMIC])
        if shape[i] < 0:
            shape[i] = DYNAMIC
    return shape


def change_type(rng: random.Random, type: Attribute) -> Attribute:
    """Another tensor type."""
    if not isinstance(type, TensorType):
        return tensor((2,), f32)
    if rng.random() < 0.4:
        return tensor(type.get_shape(), rng.choice(ELEMENTS))
    return tensor(change_shape(rng, list(type.get_shape())), type.element_type)


def change_ints(rng: random.Random, values: list[int]) -> list[int]:
    """Another list of integers."""
    values = list(values)
    what = rng.randrange(6)
    if what == 0 or not values:
        values.insert(rng.randint(0, len(values)), rng.randint(0, 3))
    elif what == 1:
        del values[rng.randrange(len(values))]
    elif what == 2 and len(values) > 1:
        i, j = rng.sample(range(len(values)), 2)
        values[i], values[j] = values[j], values[i]
    else:
        i = rng.randrange(len(values))
        values[i] = values[i] + rng.choice([-1, 1, 1, -2, 2])
    return values


def change_attribute(rng: random.Random, value: Attribute) -> Attribute:
    """Another attribute of the same kind; the same one where there is no other."""
    if isinstance(value, DenseArrayBase):
        if value.elt_type == i1:
            return bool_array([bool(v) for v in change_ints(rng, list(ints(value)))])
        return int_array(change_ints(rng, list(ints(value))))
    if isinstance(value, IntegerAttr) and value.type == i1:
        return bool_attr(not value.value.data)
    if isinstance(value, IntegerAttr):
        return int_attr(value.value.data + rng.choice([-2, -1, 1, 2]), value.type.width.data if isinstance(value.type, IntegerType) else 64)
    if isinstance(value, EnumAttribute):
        return type(value)(rng.choice(list(type(value.data))))
    if isinstance(value, DenseIntOrFPElementsAttr) and value.type.get_element_type() == i64:
        array = to_numpy(value).copy()
        if array.size:
            array.flat[rng.randrange(array.size)] += rng.choice([-3, -1, 1, 2])
        return from_numpy(array)
    if isinstance(value, ArrayAttr) and all(isinstance(v, IntegerAttr) for v in value.data):
        return ArrayAttr([int_attr(v) for v in change_ints(rng, [v.value.data for v in value.data])])
    if isinstance(value, ParametrizedAttribute) and value.name.startswith("stablehlo.") and value.parameters:
        parameters = list(value.parameters)
        i = rng.randrange(len(parameters))
        parameters[i] = change_attribute(rng, parameters[i])
        return value.new(parameters)
    return value


def _set_type(value: Any, type: Attribute) -> None:
    value._type = type


def _settle(function: FuncOp) -> None:
    """The function's type again that of its arguments."""
    block = function.body.block
    function.properties["function_type"] = FunctionType.from_lists(list(block.arg_types), list(function.function_type.outputs.data))


def change_operand(rng: random.Random, function: FuncOp, op: Operation) -> None:
    """The type of one operand."""
    if op.operands:
        value = rng.choice(list(op.operands))
        _set_type(value, change_type(rng, value.type))


def change_result(rng: random.Random, function: FuncOp, op: Operation) -> None:
    """The type of one result."""
    if op.results:
        value = rng.choice(list(op.results))
        _set_type(value, change_type(rng, value.type))


def change_all(rng: random.Random, function: FuncOp, op: Operation) -> None:
    """One type wherever it occurs among operands and results."""
    values = [*op.operands, *op.results]
    if values:
        old = rng.choice(values).type
        new = change_type(rng, old)
        for value in values:
            if value.type == old:
                _set_type(value, new)


def change_element_everywhere(rng: random.Random, function: FuncOp, op: Operation) -> None:
    """One element type by another, in operands, results and regions."""
    elements = [v.type.element_type for v in (*op.operands, *op.results) if isinstance(v.type, TensorType)]
    if not elements:
        return
    old, new = rng.choice(elements), rng.choice(ELEMENTS)
    values = [*op.operands, *op.results]
    for region in op.regions:
        for block in region.blocks:
            values += block.args
            values += [r for inner in block.ops if inner.name != "stablehlo.constant" for r in inner.results]
    for value in values:
        if isinstance(value.type, TensorType) and value.type.element_type == old:
            _set_type(value, tensor(value.type.get_shape(), new))


def change_property(rng: random.Random, function: FuncOp, op: Operation) -> None:
    """One attribute."""
    if op.properties:
        name = rng.choice(sorted(op.properties))
        op.properties[name] = change_attribute(rng, op.properties[name])


def change_region(rng: random.Random, function: FuncOp, op: Operation) -> None:
    """The type of an argument or of a value in a region, or what it returns."""
    blocks = [b for region in op.regions for b in region.blocks]
    if not blocks:
        return
    block = rng.choice(blocks)
    values = [*block.args, *(r for inner in block.ops if inner.name != "stablehlo.constant" for r in inner.results)]
    if rng.random() < 0.3 and block.last_op is not None and block.last_op.operands:
        operands = list(block.last_op.operands)
        del operands[rng.randrange(len(operands))]
        block.last_op.operands = operands
    elif values:
        value = rng.choice(values)
        _set_type(value, change_type(rng, value.type))


CHANGES: list[Callable[[random.Random, FuncOp, Operation], None]] = [
    change_operand,
    change_result,
    change_all,
    change_all,
    change_element_everywhere,
    change_property,
    change_property,
    change_region,
]


def mutate(rng: random.Random, module: ModuleOp) -> None:
    """Changes the op under test, the first of @main, in place: once, sometimes twice."""
    function = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    op = function.body.block.first_op
    assert op is not None
    changes = [c for c in CHANGES if (c is not change_region or op.regions) and (c is not change_property or op.properties)]
    for _ in range(rng.choice([1, 1, 2])):
        rng.choice(changes)(rng, function, op)
    _settle(function)
