"""What is asked of each function of the standard: with which dtypes and operands it is called, and where its derivative is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmarks.array_api.operands import PAIRS, SHAPES, Array, all_pairs, random, special

DType = np.dtype[Any]


@dataclass(frozen=True)
class Call:
    """One call: arrays are traced, what else there is (numbers, tuples, ``Static`` arrays) is known when the function is traced."""

    arguments: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Static:
    """An array that decides a shape, so that it cannot be traced."""

    array: Any


@dataclass(frozen=True)
class Entry:
    """A function of the standard.

    Attributes:
        name: with its extension, ``linalg.solve``.
        kinds: NumPy's letters for the kinds of dtypes that the standard lets it take.
        calls: its calls with operands of a dtype.
        smooth: calls around which it is differentiable, with operands of float64 or complex128; none for those that have no derivative.
        exact: whether every digit is determined by the standard; others may differ by rounding.
        tolerance: units in the last place by which rounding may differ, relative to the largest result.
        result: what of the result is compared, where the standard leaves a freedom (signs of eigenvectors).
        signs: whether the sign of a result of zero is compared.
        prepared: what is done to the operands of a gradient first, where the function reads only a part of them.
        complex_specials: why results at complex numbers with parts that are zero, infinite or NaN may be others than NumPy's.
        remark: what a reader of the table should know.
    """

    name: str
    kinds: str
    calls: Callable[[DType], list[Call]]
    smooth: Callable[[DType], list[Call]] | None = None
    exact: bool = False
    tolerance: float = 16.0
    result: Callable[..., Any] | None = None
    signs: bool = True
    prepared: Callable[[Any], Any] | None = None
    complex_specials: str = ""
    remark: str = ""


def unary(low: float = -2.0, high: float = 2.0) -> Callable[[DType], list[Call]]:
    """Calls with one operand: special values, then shapes."""
    return lambda dtype: [Call((special(dtype),)), *(Call((random(dtype, s, 1, low, high),)) for s in SHAPES)]


def unary_smooth(low: float, high: float) -> Callable[[DType], list[Call]]:
    """Calls with one operand within bounds."""
    return lambda dtype: [Call((random(dtype, s, 2, low, high),)) for s in SHAPES]


def _second(dtype: DType, second: str, values: Array) -> Array:
    """What may stand on the right: of shifts and of powers of integers no negative number, and no shift by more than there are bits."""
    if second == "shift":
        return values[(values >= 0) & (values < 8 * dtype.itemsize)]
    if second == "power" and dtype.kind in "iu":
        return values[(values >= 0) & (values < 70)]
    return values


def binary(second: str = "", number: Any = 2) -> Callable[[DType], list[Call]]:
    """Calls with two operands: all pairs of special values, shapes that are broadcast, and a Python number on either side."""

    def calls(dtype: DType) -> list[Call]:
        row = special(dtype)
        low = 0.0 if second == "shift" or (second == "power" and dtype.kind in "iu") else -2.0
        high = 0.7 if second == "shift" else 2.0
        pairs = [(random(dtype, a, 3), random(dtype, b, 4, low, high)) for a, b in PAIRS]
        scalar = bool(number) if dtype.kind == "b" else number
        row_right = _second(dtype, second, row)
        return [
            Call(all_pairs(row, row_right)),
            *(Call(pair) for pair in pairs),
            Call((row, scalar)),
            Call((scalar, row_right)),
        ]

    return calls


def binary_smooth(low: float, high: float, low2: float | None = None, high2: float | None = None) -> Callable[[DType], list[Call]]:
    """Calls with two operands within bounds."""
    return lambda dtype: [
        Call((random(dtype, a, 5, low, high), random(dtype, b, 6, low if low2 is None else low2, high if high2 is None else high2))) for a, b in PAIRS
    ]


def reduced(**options: Any) -> Callable[[DType], list[Call]]:
    """Calls that reduce over dimensions, with special values one at a time too (sums of infinities of both signs are NaN)."""

    def calls(dtype: DType) -> list[Call]:
        x, y = random(dtype, (2, 3, 2), 7), random(dtype, (3, 4), 8)
        rows = [np.concatenate([random(dtype, (2,), 9), special(dtype)[i : i + 1]]) for i in range(0, len(special(dtype)), 3)]
        return [
            Call((x,), options),
            Call((random(dtype, (), 7),), options),
            *(Call((x,), {"axis": axis, **options}) for axis in (0, -1, (0, 2), (-1, 1))),
            Call((y,), {"axis": 1, "keepdims": True, **options}),
            Call((y,), {"keepdims": True, **options}),
            *(Call((row,), options) for row in rows),
        ]

    return calls


def reduced_of_nothing(calls: Callable[[DType], list[Call]]) -> Callable[[DType], list[Call]]:
    """The same, and reductions over no elements."""
    return lambda dtype: [
        *calls(dtype),
        Call((random(dtype, (0,), 1),)),
        Call((random(dtype, (2, 0), 1),), {"axis": 1}),
        Call((random(dtype, (2, 0), 1),), {"axis": 0}),
    ]
