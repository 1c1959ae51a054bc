"""Queries of rewrites about values: which constant fills them, which op made them, whether anything else uses them."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
from xdsl.ir import Operation, SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir import elements
from wengert.ir.tensor_types import element, is_complex, is_float

Op = TypeVar("Op", bound=Operation)


def constant_of(value: SSAValue) -> elements.Elements | None:
    """The attribute of the constant op that makes this value, or None."""
    op = value.owner
    # Op classes are final, and a test of the type is many times cheaper than one of instances of a class with a metaclass.
    return cast(elements.Elements, op.properties["value"]) if type(op) is stablehlo.ConstantOp else None


def splat(value: SSAValue) -> Any:
    """The NumPy scalar that a constant is filled with, or None if the value is no splat constant."""
    constant = constant_of(value)
    return None if constant is None else elements.splat_value(constant)


def is_splat_of(value: SSAValue, number: complex) -> bool:
    """Whether the value is a constant filled with this number (a zero is one of either sign)."""
    constant = splat(value)
    return constant is not None and bool(constant == number)


def is_zero(value: SSAValue, *, negative: bool = False) -> bool:
    """Whether the value is a constant filled with zeros of this sign (integers have only positive ones)."""
    constant = splat(value)
    if constant is None or constant != 0:
        return False
    parts = (constant.real, constant.imag) if is_complex(element(value)) else (constant,)
    return all(_signbit(part, value) == negative for part in parts)


def _signbit(number: Any, value: SSAValue) -> bool:
    element_type = element(value)
    return bool(np.signbit(np.float64(number))) if is_float(element_type) or is_complex(element_type) else False


def is_inexact(value: SSAValue) -> bool:
    """Whether the elements are real or complex floating point."""
    element_type = element(value)
    return is_float(element_type) or is_complex(element_type)


def made_by(value: SSAValue, cls: type[Op]) -> Op | None:
    """The op that makes this value, if it is of the class."""
    op = value.owner
    return op if type(op) is cls else None


def used_once(value: SSAValue) -> bool:
    """Whether there is one use of the value, so that an op that absorbs its maker replaces it."""
    return value.has_one_use()


def with_positive_zeros(b: OpBuilder, x: SSAValue) -> SSAValue:
    """x with negative zeros made positive, as a sum from 0 makes them; other types are left as they are."""
    return b.add(x, b.full_like(x, 0)) if is_inexact(x) else x


def unit_insertion(narrow: tuple[int, ...], wide: tuple[int, ...]) -> list[int] | None:
    """The position of each dimension of ``narrow`` in ``wide`` if ``wide`` is ``narrow`` with extents of 1 put in, else None.

    >>> unit_insertion((3, 4), (3, 1, 4))
    [0, 2]
    """
    places: list[int] = []
    d = 0
    for n in narrow:
        while d < len(wide) and wide[d] != n and wide[d] == 1:
            d += 1
        if d == len(wide) or wide[d] != n:
            return None
        places.append(d)
        d += 1
    return places if all(n == 1 for n in wide[d:]) else None
