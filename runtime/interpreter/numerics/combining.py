"""The functions that combine elements: the kinds of ``core`` ops, and the regions of StableHLO's reductions that are such a kind.

A region of one commutative op on its two arguments is recognised and computed by NumPy's ufunc; its result is what
folding with the region gives but for the order of summation, which StableHLO leaves open. Elements are combined in their working type
(see ``precision``) and rounded at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute, Operation, Region

from wengert.dialects import stablehlo
from wengert.dialects.core import Kind
from wengert.ir.tensor_types import dtype_of, element, is_boolean

_KINDS: dict[type[Operation], Kind] = {
    stablehlo.AddOp: Kind.add,
    stablehlo.MultiplyOp: Kind.mul,
    stablehlo.MaximumOp: Kind.max,
    stablehlo.MinimumOp: Kind.min,
    stablehlo.AndOp: Kind.and_,
    stablehlo.OrOp: Kind.or_,
}
_NUMERIC: dict[Kind, np.ufunc] = {
    Kind.add: np.add,
    Kind.mul: np.multiply,
    Kind.max: np.maximum,
    Kind.min: np.minimum,
    Kind.and_: np.bitwise_and,
    Kind.or_: np.bitwise_or,
}
_BOOLEAN: dict[Kind, np.ufunc] = {
    Kind.add: np.logical_or,
    Kind.mul: np.logical_and,
    Kind.max: np.logical_or,
    Kind.min: np.logical_and,
    Kind.and_: np.logical_and,
    Kind.or_: np.logical_or,
}


def ufunc_of(kind: Kind, element_type: Attribute) -> np.ufunc:
    """The ufunc that combines elements of this type (not for ``set``)."""
    return (_BOOLEAN if is_boolean(element_type) else _NUMERIC)[kind]


def kind_of(region: Region) -> Kind | None:
    """The kind that a region ``(a, b) -> op(a, b)`` stands for; ``set`` for ``(a, b) -> b``; None for any other region."""
    block = region.block
    ops = list(block.ops)
    if len(block.args) != 2:
        return None
    if len(ops) == 1:
        return Kind.set if tuple(ops[0].operands) == (block.args[1],) else None
    if len(ops) != 2 or tuple(ops[1].operands) != tuple(ops[0].results):
        return None
    kind = _KINDS.get(type(ops[0]))
    return kind if set(ops[0].operands) == set(block.args) else None


def accumulated(op: Operation, arrays: Sequence[Any]) -> list[Any]:
    """Inputs, initial values or updates in the types that the op's results hold, which may be wider than their own."""
    return [x.astype(dtype_of(element(result)), copy=False) for x, result in zip(arrays, op.results, strict=True)]


def neutral(kind: Kind, dtype: np.dtype[Any]) -> Any:
    """The element of this type that combines with any other to that other one."""
    if dtype == np.bool_:
        return dtype.type(kind in (Kind.mul, Kind.min, Kind.and_))
    if kind in (Kind.add, Kind.or_):
        return dtype.type(0)
    if kind is Kind.mul:
        return dtype.type(1)
    if kind is Kind.and_:
        return dtype.type(ml_dtypes.iinfo(dtype).max if dtype.kind == "u" or dtype.name.startswith("uint") else -1)
    if dtype.kind in "iu" or "int" in dtype.name:
        limits = ml_dtypes.iinfo(dtype)
        return dtype.type(limits.min if kind is Kind.max else limits.max)
    if dtype.kind == "c":
        return dtype.type(complex(-np.inf if kind is Kind.max else np.inf, 0))
    limit = dtype.type(-np.inf if kind is Kind.max else np.inf)
    if not np.isnan(float(limit)):
        return limit
    ends = cast(Any, ml_dtypes.finfo(dtype))  # of a format without infinities
    return dtype.type(ends.min if kind is Kind.max else ends.max)
