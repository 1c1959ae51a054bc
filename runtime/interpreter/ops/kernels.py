"""The kernel dialect: what a kernel-level program means, for checking every pass above and below it.

A nest is run for all points of its loops at once: indices, positions, loads and scalar functions are arrays with one
element per point. Scalar functions are those of the interpreter of StableHLO.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel import (
    STORE,
    ApplyOp,
    ConstantOp,
    EmptyOp,
    FusedOp,
    Guard,
    IndexOp,
    InterpretOp,
    LoadOp,
    MatmulOp,
    NativeOp,
    NestOp,
    StripMineOp,
    WithinOp,
    functions,
)
from wengert.dialects.kernel.positions import Position, Quotient
from wengert.dialects.stablehlo import attributes as sa
from wengert.ir import elements
from wengert.ir.attributes import int_attr, ints
from wengert.ir.tensor_types import dtype_of, element, shape, tensor
from wengert.runtime.interpreter.execution import prepare
from wengert.runtime.interpreter.numerics.combining import neutral
from wengert.runtime.interpreter.rules import Binary, Nullary, Scope, Variadic, evaluates, evaluates_in_scope, one_or_tuple

Array = np.ndarray[Any, np.dtype[Any]]


@evaluates(NestOp)
def nest(op: NestOp) -> Variadic:
    """Runs the body for all points of the loops at once."""
    return lambda *operands: one_or_tuple(op, tuple([array[()] for array in _Nest(op, list(map(np.asarray, operands))).run()]))


@evaluates_in_scope(StripMineOp)
def strip_mine(op: StripMineOp, scope: Scope) -> Variadic:
    """Runs the body on one strip of rows after another."""
    body = scope.uncounted_region(op.body)
    extents = [shape(argument) for argument in op.body.block.args]

    def run(*operands: Any) -> Any:
        results = [np.zeros(shape(r), dtype_of(element(r))) for r in op.outputs]
        for iteration in range(op.iterations.value.data):
            given = zip(operands, ints(op.input_steps), extents, strict=True)
            parts = [np.reshape(x, -1)[iteration * step : iteration * step + prod(n)].reshape(n) for x, step, n in given]
            for whole, step, part in zip(results, ints(op.output_steps), body(*parts), strict=True):
                whole.reshape(-1)[iteration * step : iteration * step + part.size] = np.reshape(part, -1)
        return one_or_tuple(op, tuple(results))

    return run


@evaluates(EmptyOp)
def empty(op: EmptyOp) -> Nullary:
    """Zeros, which nobody may read."""
    return lambda: np.zeros(shape(op.result), dtype_of(element(op.result)))[()]


@evaluates_in_scope(FusedOp, InterpretOp, NativeOp)
def whole(op: FusedOp | InterpretOp | NativeOp, scope: Scope) -> Variadic:
    """Runs the ops in the body."""
    body = scope.uncounted_region(op.body)
    return lambda *operands: one_or_tuple(op, body(*operands))


@evaluates(MatmulOp)
def matmul(op: MatmulOp) -> Binary:
    """The product of two strided views. (An array may itself be a view of less, as a constant of equal elements is.)"""
    return lambda lhs, rhs: _matmul(op, np.asarray(lhs), np.asarray(rhs))[()]


def _matmul(op: MatmulOp, lhs: Array, rhs: Array) -> Array:
    views = [
        np.lib.stride_tricks.as_strided(np.ascontiguousarray(buffer).reshape(-1)[offset:], ints(extents), [buffer.itemsize * step for step in ints(steps)])
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
        outputs = [self._initial(number, tie) for number, tie in enumerate(self.op.tied)]
        for write in self.op.writes:
            flat = outputs[write.target].reshape(-1)
            at, value = self._position(write.at), np.broadcast_to(self.values[write.value], (self.points,))
            if write.base is not None:
                at = at + self.values[write.base].astype(np.int64)
            if write.condition is not None:
                holds = self.values[write.condition]
                at, value = at[holds], value[holds]
            self._write(flat, at, value, write.kind)
        return outputs

    def _initial(self, number: int, tie: int) -> Array:
        result = self.op.outputs[number]
        if tie >= 0:
            return self.into[tie].copy()
        (kind, *_) = [write.kind for write in self.op.writes if write.target == number]
        element_type = element(result)
        fill = 0 if kind == STORE else neutral(core.Kind(kind), dtype_of(element_type))
        return np.full(shape(result), fill, dtype_of(element_type))

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
        inside = np.ones(self.points, np.bool_)
        for at, low, high in guards:
            position = self._position(at)
            inside &= (low <= position) & (position < high)
        return inside

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


def apply(function: str, arguments: Sequence[Array], types: Sequence[Attribute], result: Attribute) -> Array:
    """A scalar function by its name in ``kernel.apply``, on arrays of one shape."""
    extents = arguments[0].shape
    operands = Block(arg_types=[tensor(extents, type) for type in types]).args
    cls = functions.op_class(function)
    assert cls is not None, f"the verifier refuses {function}"
    op = cls.create(operands=operands, result_types=[tensor(extents, result)], properties=attributes_of(function))
    return prepare(op)(*arguments)[0]


def attributes_of(function: str) -> dict[str, Attribute]:
    """The attributes of the op that a function is of, where they are part of its name."""
    if match := functions.COMPARISON.fullmatch(function):
        direction = sa.ComparisonDirectionAttr(sa.ComparisonDirection(match[2].upper()))
        total = {"compare_type": sa.ComparisonTypeAttr(sa.ComparisonType.TOTALORDER)} if match[1] else {}
        return {"comparison_direction": direction, **total}
    if match := functions.PRECISION.fullmatch(function):
        return {"exponent_bits": int_attr(int(match[2]), 32), "mantissa_bits": int_attr(int(match[3]), 32)}
    return {}
