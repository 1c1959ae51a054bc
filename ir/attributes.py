"""Short forms for the attributes that ops of every dialect carry: lists of integers, integers, booleans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, TensorType, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import BaseAttr, ParamAttrConstraint, eq


def _keep_hash(cls: type[Attribute]) -> None:
    """Has attributes of a class keep their hash. xDSL computes it of all that is in them each time, of a type of two extents in a dozen calls."""
    by_content: Callable[[Any], int] = cls.__hash__

    def kept(attribute: Any) -> int:
        value = attribute.__dict__.get("_hash")
        if value is None:
            value = by_content(attribute)
            object.__setattr__(attribute, "_hash", value)
        return value

    cls.__hash__ = kept  # pyright: ignore[reportAttributeAccessIssue]


for _cls in (TensorType, DenseIntOrFPElementsAttr, DenseArrayBase):
    _keep_hash(_cls)

I64Attr = ParamAttrConstraint(IntegerAttr, (BaseAttr(Attribute), eq(i64)))
I32Attr = ParamAttrConstraint(IntegerAttr, (BaseAttr(Attribute), eq(i32)))


@lru_cache(maxsize=4096)
def _int_array(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


@lru_cache(maxsize=1024)
def _bool_array(values: tuple[bool, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(IntegerType(1), [int(v) for v in values])


def int_array(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """``array<i64: ...>``, shared."""
    return _int_array(tuple(int(v) for v in values))


@lru_cache(maxsize=256)
def segment_sizes(*sizes: int) -> DenseArrayBase[IntegerType]:
    """``array<i32: ...>``: how many operands belong to each group of an op that has several."""
    return DenseArrayBase.from_list(i32, sizes)


def bool_array(values: Sequence[bool]) -> DenseArrayBase[IntegerType]:
    """``array<i1: ...>``, shared."""
    return _bool_array(tuple(bool(v) for v in values))


def _ints(attribute: DenseArrayBase[Any]) -> tuple[int, ...]:
    """They are kept on the attribute, as the extents of a type are: hashing it for a table would take longer."""
    values = attribute.__dict__.get("_values")
    if values is None:
        values = tuple(int(v) for v in attribute.get_values())
        object.__setattr__(attribute, "_values", values)
    return values


def ints(attribute: Attribute) -> tuple[int, ...]:
    """The values of an integer array attribute."""
    return _ints(cast("DenseArrayBase[Any]", attribute))


def bools(attribute: Attribute) -> tuple[bool, ...]:
    """The values of a boolean array attribute."""
    return tuple(bool(v) for v in _ints(cast("DenseArrayBase[Any]", attribute)))


@lru_cache(maxsize=1024)
def int_attr(value: int, width: int = 64) -> IntegerAttr[Any]:
    """``value : i64`` (or of another width), shared."""
    return IntegerAttr(value, IntegerType(width))


_TRUE, _FALSE = BoolAttr.from_bool(True), BoolAttr.from_bool(False)


def bool_attr(value: bool) -> BoolAttr:
    """``true`` or ``false``, shared."""
    return _TRUE if value else _FALSE


def int_of(attribute: Attribute) -> int:
    """The value of an integer or boolean attribute (``true`` is 1, whatever sign it is stored with)."""
    value = cast("IntegerAttr[IntegerType]", attribute).value.data
    return abs(value) if attribute == _TRUE else value
