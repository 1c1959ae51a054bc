"""Reductions, over dimensions and over windows, as ``linalg.generic``: by the op of their kind, or by whatever their region says of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap

from wengert.ir.attributes import ints
from wengert.ir.tensor_types import shape, tensor
from wengert.transforms.upstream.out.regions import Body, combining
from wengert.transforms.upstream.out.structure import Handler, padded, padding_of, strided, window_parts
from wengert.transforms.upstream.out.writer import Out, Value, dims, signless


def _by_output(op: Operation, body: Body, skipped: int = 0) -> Body:
    """The body of a ``linalg.generic``, which is given elements (and so many more values), then accumulators."""
    count = len(op.results)
    return lambda given: body([*given[count + skipped :], *given[:count]])


def _reduce(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    count = len(op.results)
    reduced, rank = ints(op.properties["dimensions"]), len(shape(operands[0]))
    kept = AffineMap(rank, 0, dims(*(d for d in range(rank) if d not in reduced)))
    initials: list[Value] = []
    for start, old in zip(operands[count:], op.results, strict=True):
        initials.append(out.filled(out.element(start), signless(old.type)) if shape(old) else start)
    maps = [AffineMap.identity(rank)] * count + [kept] * count
    return out.generic(operands[:count], initials, maps, [d not in reduced for d in range(rank)], _by_output(op, combining(out, op)))


def _reduce_window(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    count = len(op.results)
    window = ints(op.properties["window_dimensions"])
    rank = len(window)
    strides, base, dilations = (window_parts(op, key, rank) for key in ("window_strides", "base_dilations", "window_dilations"))
    padding, wholes, initials = padding_of(op, rank), list[Value](), list[Value]()
    for x, start, old in zip(operands[:count], operands[count:], op.results, strict=True):
        scalar = out.element(start)
        wholes.append(padded(out, x, scalar, [lo for lo, _ in padding], [hi for _, hi in padding], [n - 1 for n in base]))
        initials.append(out.filled(scalar, signless(old.type)))
    places = AffineMap(2 * rank, 0, tuple(strided(d, rank + d, s, w) for d, (s, w) in enumerate(zip(strides, dilations, strict=True))))
    over, of = AffineMap(2 * rank, 0, dims(*range(rank, 2 * rank))), AffineMap(2 * rank, 0, dims(*range(rank)))
    shaped = out.empty(tensor(tuple(window), cast(Any, initials[0].type).element_type))
    maps = [places] * count + [over] + [of] * count
    return out.generic([*wholes, shaped], initials, maps, [True] * rank + [False] * rank, _by_output(op, combining(out, op), 1))


REDUCTIONS: dict[str, Handler] = {"stablehlo.reduce": _reduce, "stablehlo.reduce_window": _reduce_window}
"""How each op is written."""
