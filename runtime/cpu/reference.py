"""The kernel dialect in NumPy: what a kernel-level program means, for checking every pass above and below it.

A nest is run for all points of its loops at once: indices, positions, loads and scalar functions are arrays with one
element per point. Scalar functions are those of the interpreter of StableHLO.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects import chlo, core, stablehlo
from wengert.dialects.kernel import (
    STORE,
    ApplyOp,
    ConstantOp,
    EmptyOp,
    Guard,
    IndexOp,
    InterpretOp,
    LoadOp,
    MatmulOp,
    NativeOp,
    NestOp,
    StripMineOp,
    WithinOp,
    YieldOp,
)
from wengert.dialects.kernel.positions import Position, Quotient
from wengert.dialects.stablehlo import attributes as sa
from wengert.ir import elements
from wengert.ir.attributes import int_attr, int_of, ints
from wengert.ir.tensor_types import dtype_of, element, i1, shape, size, tensor
from wengert.runtime.interpreter import prepare
from wengert.runtime.interpreter.combining import neutral

Array = np.ndarray[Any, np.dtype[Any]]
_PRECISION = re.compile(r"reduce_precision_e(\d+)m(\d+)")
_COMPARISON = re.compile(r"(total_)?(eq|ne|lt|le|gt|ge)")


def run(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    """The results of the only function of a kernel-level module."""
    (function,) = [op for op in module.ops if isinstance(op, FuncOp)]
    with np.errstate(all="ignore"):
        return _run_block(function.body.block, inputs)


def _run_block(block: Block, inputs: Sequence[Array]) -> list[Array]:
    values: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        if isinstance(op, ReturnOp | stablehlo.ReturnOp | YieldOp):
            return [values[v].copy() for v in op.operands]
        values.update(zip(op.results, _execute(op, [values[v] for v in op.operands]), strict=True))
    raise AssertionError("a block ends in a return")


def _control(op: core.ForOp | core.WhileOp | core.CaseOp, operands: list[Array]) -> list[Array]:
    if isinstance(op, core.CaseOp):
        index, last = int(operands[0]), len(op.branches) - 1
        return _run_block(op.branches[index if 0 <= index <= last else last].block, operands[1:])
    if isinstance(op, core.ForOp):
        count, *inputs = operands
        constants, carried = inputs[: int_of(op.constants)], inputs[int_of(op.constants) :]
        for i in range(int(count)):
            carried = _run_block(op.body.block, [np.array(i, np.int64), *constants, *carried])
        return carried
    constants, carried = operands[: int_of(op.constants)], operands[int_of(op.constants) :]
    while _run_block(op.condition.block, [*constants, *carried])[0]:
        carried = _run_block(op.body.block, [*constants, *carried])
    return carried


def _strips(op: StripMineOp, operands: list[Array]) -> list[Array]:
    results = [np.zeros(shape(r), dtype_of(element(r))) for r in op.outputs]
    sizes = [size(arg) for arg in op.body.block.args]
    for trip in range(op.trips.value.data):
        parts = [x.reshape(-1)[trip * step : trip * step + n] for x, step, n in zip(operands, ints(op.input_steps), sizes, strict=True)]
        for whole, step, part in zip(results, ints(op.output_steps), _run_block(op.body.block, parts), strict=True):
            whole.reshape(-1)[trip * step : trip * step + part.size] = part
    return results


def _execute(op: Operation, operands: list[Array]) -> Sequence[Array]:
    if isinstance(op, NestOp):
        return _Nest(op, operands).run()
    if isinstance(op, StripMineOp):
        return _strips(op, operands)
    if isinstance(op, EmptyOp):
        return [np.zeros(shape(op.result), dtype_of(element(op.result)))]
    if isinstance(op, MatmulOp):
        return [_matmul(op, *operands)]
    if isinstance(op, core.ForOp | core.WhileOp | core.CaseOp):
        return _control(op, operands)
    if isinstance(op, InterpretOp | NativeOp):
        inner = op.body.block.first_op
        assert isinstance(inner, Operation)
        given: dict[SSAValue, Array] = dict(zip(op.body.block.args, operands, strict=True))
        captured = op.body.block.args[len(inner.operands) :]
        return prepare(inner, captured)(*[given[v][()] for v in (*inner.operands, *captured)])
    return prepare(op)(*[operand[()] for operand in operands])


def _matmul(op: MatmulOp, lhs: Array, rhs: Array) -> Array:
    views = [
        np.lib.stride_tricks.as_strided(buffer.reshape(-1)[offset:], ints(extents), [buffer.itemsize * step for step in ints(steps)])
        for buffer, extents, steps, offset in (
            (lhs, op.lhs_shape, op.lhs_strides, ints(op.offsets)[0]),
            (rhs, op.rhs_shape, op.rhs_strides, ints(op.offsets)[1]),
        )
    ]
    block = Block(arg_types=[tensor(view.shape, element(op.result)) for view in views])
    dot = stablehlo.DotGeneralOp.create(operands=block.args, result_types=[op.result.type], properties={"dot_dimension_numbers": op.dimension_numbers})
    return prepare(dot)(*views)[0]


class _Nest:
    def __init__(self, op: NestOp, operands: list[Array]):
        self.op = op
        self.flat: dict[SSAValue, Array] = {arg: array.reshape(-1) for arg, array in zip(op.body.block.args, operands, strict=False)}
        self.into = operands[len(op.inputs) :]
        self.points = prod(op.extents)
        self.indices = [grid.reshape(-1) for grid in np.indices(op.extents)] if op.extents else []
        self.values: dict[SSAValue, Array] = {}

    def run(self) -> list[Array]:
        for op in self.op.body.block.ops:
            if op.results:
                self.values[op.results[0]] = self._evaluate(op)
        found = [self._initial(number, tie) for number, tie in enumerate(self.op.tied)]
        for write in self.op.writes:
            flat = found[write.target].reshape(-1)
            at, value = self._position(write.at), np.broadcast_to(self.values[write.value], (self.points,))
            if write.base is not None:
                at = at + self.values[write.base].astype(np.int64)
            if write.condition is not None:
                holds = self.values[write.condition]
                at, value = at[holds], value[holds]
            self._write(flat, at, value, write.kind)
        return found

    def _initial(self, number: int, tie: int) -> Array:
        result = self.op.outputs[number]
        if tie >= 0:
            return self.into[tie].copy()
        (kind, *_) = [write.kind for write in self.op.writes if write.target == number]
        held = element(result)
        fill = 0 if kind == STORE else neutral(core.Kind(kind), dtype_of(held))
        return np.full(shape(result), fill, dtype_of(held))

    def _write(self, flat: Array, at: Array, value: Array, kind: str) -> None:
        if kind == STORE:
            flat[at] = value
            return
        names = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or}
        wide = flat.astype(np.float32) if flat.dtype.itemsize == 2 and flat.dtype.kind not in "iu" else flat
        names[kind].at(wide, at, value.astype(wide.dtype))
        flat[...] = wide.astype(flat.dtype)

    def _position(self, at: Position) -> Array:
        total = np.full(self.points, at.offset, np.int64)
        for atom, c in at.terms:
            if isinstance(atom, int):
                total = total + c * self.indices[atom]
            else:
                inner = self._position(atom.expression)
                total = total + c * (inner // atom.divisor if isinstance(atom, Quotient) else inner % atom.divisor)
        return total

    def _holds(self, guards: tuple[Guard, ...]) -> Array:
        found = np.ones(self.points, np.bool_)
        for at, low, high in guards:
            position = self._position(at)
            found &= (low <= position) & (position < high)
        return found

    def _evaluate(self, op: Operation) -> Array:
        if isinstance(op, LoadOp):
            return self._load(op)
        if isinstance(op, IndexOp):
            return self._position(op.at.data).astype(dtype_of(op.result.type))
        if isinstance(op, WithinOp):
            return self._holds(op.where.data)
        if isinstance(op, ConstantOp):
            return np.broadcast_to(elements.to_numpy(op.value), (self.points,))
        assert isinstance(op, ApplyOp)
        arguments = [np.broadcast_to(self.values[v], (self.points,)) for v in op.arguments]
        return apply(op.function.data, arguments, [v.type for v in op.arguments], op.result.type)

    def _load(self, op: LoadOp) -> Array:
        flat, at = self.flat[op.source], self._position(op.at.data)
        if op.base is not None:
            at = at + self.values[op.base].astype(np.int64)
        if op.where is None:
            return flat[at]
        inside = self._holds(op.where.data)
        return np.where(inside, flat[np.where(inside, at, 0)], flat.dtype.type(0)) if flat.size else np.zeros(self.points, flat.dtype)


@cache
def _classes() -> dict[str, type[Operation]]:
    return {cls.name.partition(".")[2]: cls for dialect in (chlo.Chlo, stablehlo.StableHLO) for cls in dialect.operations}


def apply(function: str, arguments: Sequence[Array], types: Sequence[Attribute], result: Attribute) -> Array:
    """A scalar function by its name in ``kernel.apply``, on arrays of one shape."""
    extents = arguments[0].shape
    operands = Block(arg_types=[tensor(extents, held) for held in types]).args
    properties: dict[str, Attribute] = {}
    if match := _COMPARISON.fullmatch(function):
        cls: type[Operation] = stablehlo.CompareOp
        properties["comparison_direction"] = sa.ComparisonDirectionAttr(sa.ComparisonDirection(match[2].upper()))
        if match[1]:
            properties["compare_type"] = sa.ComparisonTypeAttr(sa.ComparisonType.TOTALORDER)
        result = i1
    elif match := _PRECISION.fullmatch(function):
        cls = stablehlo.ReducePrecisionOp
        properties = {"exponent_bits": int_attr(int(match[1]), 32), "mantissa_bits": int_attr(int(match[2]), 32)}
    else:
        cls = _classes()[function]
    op = cls.create(operands=operands, result_types=[tensor(extents, result)], properties=properties)
    return prepare(op)(*arguments)[0]
