"""Scalar ops of kernels as functions of arrays.

An op that means a scalar function of StableHLO is computed by the interpreter's own function; so kernels give the bits that the interpreter gives.
Arithmetic on positions, and the few ops that StableHLO has no function for, are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, complex, math
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, VectorType
from xdsl.ir import Attribute, Block, Operation

from wengert.dialects.gpu.memory import signless
from wengert.dialects.gpu.scalars import Meaning
from wengert.dialects.kernel import functions
from wengert.dialects.scalar_functions import function_facts
from wengert.ir.attributes import int_of
from wengert.ir.elements import splat_value
from wengert.ir.tensor_types import dtype_of, is_boolean, is_complex, is_float, tensor
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.gpu.batch import Array, Batch, KernelFaultError, Mask
from wengert.runtime.interpreter.machine import Frame, Machine
from wengert.runtime.interpreter.ops.kernels import attributes_of
from wengert.runtime.interpreter.rules import Binary, Function, Unary

Check = Callable[[Operation, Batch, Mask, list[Array]], None]


def function_of(meaning: Meaning) -> Function:
    """A scalar function on arrays as kernels hold them: integers have no sign there."""
    taken = [dtype_of(type) for type in meaning.operands]
    given = dtype_of(signless(meaning.result))

    def run(*arrays: Array) -> Array:
        viewed = [array if array.dtype == dtype else array.view(dtype) for array, dtype in zip(arrays, taken, strict=True)]
        extents = np.broadcast_shapes(*[array.shape for array in viewed])
        result = np.asarray(_prepared(meaning, extents)(*[np.broadcast_to(array, extents) for array in viewed]))
        return result if result.dtype == given else result.view(given)

    return run


def work_of(meaning: Meaning) -> tuple[int, int]:
    """The flops and the transcendental functions of one element, as for the same function in a nest."""
    last, first = meaning.operands[-1], meaning.operands[0]
    if not (is_float(last) or is_complex(last)):
        return 0, 0
    facts = function_facts(meaning.function)
    return facts.flops[is_complex(first)], int(facts.transcendental)


@lru_cache(maxsize=4096)
def _prepared(meaning: Meaning, extents: tuple[int, ...]) -> Function:
    """The interpreter's function on arrays of this shape."""
    cls = functions.op_class(meaning.function)
    assert cls is not None, f"{meaning.function} is the name of no function"
    operands = Block(arg_types=[tensor(extents, type) for type in meaning.operands]).args
    op = cls.create(operands=operands, result_types=[tensor(extents, meaning.result)], properties=attributes_of(meaning.function))
    return Frame(Machine(None), None).function(op)


def fragment_type(type: VectorType[Any]) -> np.dtype[Any]:
    """The NumPy type of a thread's part of a matrix: one field ``v``, so that an array has one element per lane."""
    return np.dtype([("v", dtype_of(type.element_type), tuple(type.get_shape()))])


def constant(op: Operation) -> Array:
    """The value of a constant, the same in all lanes."""
    value: Any = op.properties["value"]
    if isinstance(op, complex.ConstantOp):
        parts: ArrayAttr[Any] = value
        real, imaginary = (part.value.data for part in parts)
        return np.array([real + 1j * imaginary if not np.isinf(imaginary) else _complex(real, imaginary)], dtype_of(op.result_types[0]))
    type: Attribute = op.result_types[0]
    if isinstance(value, DenseIntOrFPElementsAttr) and isinstance(type, VectorType):
        made = np.empty(1, fragment_type(cast("VectorType[Any]", type)))
        made["v"] = splat_value(cast("DenseIntOrFPElementsAttr[Any]", value))
        return made
    if not isinstance(value, IntegerAttr | FloatAttr):
        raise UnsupportedOpError(op, f"has a value that is not supported: {value}")
    dtype = dtype_of(type)
    number: Any = value.value.data
    if isinstance(value, IntegerAttr) and dtype != np.bool_:
        number = int(number) & ((1 << 8 * dtype.itemsize) - 1)
        return np.array([number], np.dtype(f"u{dtype.itemsize}")).view(dtype)
    return np.array([number]).astype(dtype)


def _complex(real: float, imaginary: float) -> Any:
    parts = np.empty(1, np.complex128)
    parts.real, parts.imag = real, imaginary
    return parts[0]


# -- integers and positions


def _unsigned(function: Binary) -> Binary:
    """A function on integers that count as unsigned."""

    def run(x: Array, y: Array) -> Array:
        dtype = np.dtype(f"u{x.dtype.itemsize}")
        result = function(x.view(dtype), y.view(dtype))
        return result if result.dtype == np.bool_ else result.view(x.dtype)

    return run


def _truncated(x: Array, y: Array) -> Array:
    """The quotient of integers, rounded towards zero."""
    quotient: Array = np.floor_divide(x, y)
    return quotient + ((np.remainder(x, y) != 0) & ((x < 0) != (y < 0))).astype(x.dtype)


def _shift(function: Binary) -> Binary:
    def run(x: Array, by: Array) -> Array:
        width = 8 * x.dtype.itemsize
        return np.where((by >= 0) & (by < width), function(x, np.clip(by, 0, width - 1)), np.zeros(1, x.dtype))

    return run


def _ceil_divide(x: Array, y: Array) -> Array:
    return -np.floor_divide(-x, y)


def _ceil_divide_unsigned(x: Array, y: Array) -> Array:
    return x // y + (x % y != 0).astype(x.dtype)


INTEGERS: Mapping[type[Operation], Function] = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.DivUIOp: _unsigned(np.floor_divide),
    arith.RemUIOp: _unsigned(np.remainder),
    arith.DivSIOp: _truncated,
    arith.RemSIOp: np.fmod,
    arith.FloorDivSIOp: np.floor_divide,
    arith.CeilDivSIOp: _ceil_divide,
    arith.CeilDivUIOp: _unsigned(_ceil_divide_unsigned),
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: _shift(np.left_shift),
    arith.ShRUIOp: _unsigned(_shift(np.right_shift)),
    arith.ShRSIOp: _shift(np.right_shift),
    arith.MaxSIOp: np.maximum,
    arith.MinSIOp: np.minimum,
    arith.MaxUIOp: _unsigned(np.maximum),
    arith.MinUIOp: _unsigned(np.minimum),
    math.AbsIOp: np.abs,
}
"""Ops on positions, and on integers where StableHLO's function defines more than the op does."""

FLOATS: Mapping[type[Operation], Function] = {
    arith.MaxnumfOp: np.fmax,
    arith.MinnumfOp: np.fmin,
    math.TruncOp: np.trunc,
    math.CopySignOp: np.copysign,
}
"""Ops on floats that StableHLO has no function for."""

_ORDERED: tuple[Binary, ...] = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
_COMPARISONS: tuple[Binary, ...] = (*_ORDERED, *[_unsigned(function) for function in _ORDERED[2:]])
"""The comparisons of integers by MLIR's numbers."""


def _float_comparison(predicate: int) -> Binary:
    """A comparison of floats by MLIR's number: ordered ones are false for NaN, the others true."""
    ordered: Mapping[int, Binary] = {1: np.equal, 2: np.greater, 3: np.greater_equal, 4: np.less, 5: np.less_equal, 6: _apart, 7: _comparable, 0: _never}
    if predicate < 8:
        return ordered[predicate]
    unordered = {8: 6, 9: 5, 10: 4, 11: 3, 12: 2, 13: 1, 14: 7, 15: 0}[predicate]
    return lambda x, y: ~ordered[unordered](x, y)


def _never(x: Array, y: Array) -> Array:
    return np.zeros(np.broadcast_shapes(x.shape, y.shape), np.bool_)


def _apart(x: Array, y: Array) -> Array:
    return (x < y) | (x > y)


def _comparable(x: Array, y: Array) -> Array:
    return ~(np.isnan(x) | np.isnan(y))


def _to_integer(dtype: np.dtype[Any]) -> Unary:
    return lambda x: np.trunc(x.astype(np.float64)).astype(dtype)


def _signed_boolean(function: Binary) -> Binary:
    """A comparison of booleans that count as signed: true is -1."""
    return lambda x, y: function(-x.astype(np.int8), -y.astype(np.int8))


def own_function(op: Operation) -> Function | None:
    """The function of an op that means none of StableHLO's; None if it is not implemented."""
    kind, operand = type(op), op.operands[0].type
    if kind in INTEGERS and not is_float(operand):
        return INTEGERS[kind]
    if kind is arith.CmpiOp:
        function = _COMPARISONS[int_of(op.properties["predicate"])]
        return _signed_boolean(function) if is_boolean(operand) else function
    if kind is arith.CmpfOp:
        return _float_comparison(int_of(op.properties["predicate"]))
    if kind is arith.SelectOp:
        return np.where
    return FLOATS.get(kind) or _own_conversion(op)


_CONVERSIONS = (arith.FPToSIOp, arith.FPToUIOp, arith.TruncIOp, arith.ExtSIOp, arith.SIToFPOp, arith.IndexCastOp)


def _own_conversion(op: Operation) -> Unary | None:
    kind = type(op)
    if kind not in _CONVERSIONS:
        return None
    dtype = dtype_of(op.results[0].type)

    def signed_boolean(x: Array) -> Array:
        return (-x.astype(np.int8)).astype(dtype)

    if kind in (arith.FPToSIOp, arith.FPToUIOp):
        return _to_integer(dtype)
    if kind is arith.TruncIOp:
        return lambda x: (x & 1).astype(np.bool_)
    if kind in (arith.ExtSIOp, arith.SIToFPOp):
        return signed_boolean
    return signed_boolean if is_boolean(op.operands[0].type) else lambda x: x.astype(dtype)


# -- what has no meaning for some operands


def _expect_divisor(op: Operation, batch: Batch, mask: Mask, operands: list[Array]) -> None:
    _refuse(op, batch, mask, operands[1] == 0, "divides by zero")


def _expect_in_range(op: Operation, batch: Batch, mask: Mask, operands: list[Array]) -> None:
    dtype = dtype_of(op.results[0].type)
    least, most = (0, 2 ** (8 * dtype.itemsize) - 1) if isinstance(op, arith.FPToUIOp) else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    number = np.trunc(operands[0].astype(np.float64))
    _refuse(op, batch, mask, ~((number >= least) & (number <= most)), "converts a number that its result cannot hold")


def _refuse(op: Operation, batch: Batch, mask: Mask, wrong: Array, what: str) -> None:
    if wrong.any():
        lanes = np.flatnonzero(batch.spread(wrong) if mask is None else wrong & mask)
        if lanes.size:
            raise KernelFaultError(op, f"{what} in {batch.lane_name(lanes[0])}")


CHECKS: Mapping[type[Operation], Check] = {
    **dict.fromkeys((arith.DivUIOp, arith.DivSIOp, arith.RemUIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp), _expect_divisor),
    **dict.fromkeys((arith.FPToSIOp, arith.FPToUIOp), _expect_in_range),
}
"""What is looked at before an op is computed."""
