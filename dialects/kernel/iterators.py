"""Derives the kind of each loop of a nest: which may run in any order, and which combine.

The kinds are those of ``linalg.generic``. A loop is ``parallel`` if no two of its iterations write one element. It is a
``reduction`` if they may, and all that is written there is combined (``add``, ``max``, ...). A loop that may store into one
element twice, as a scatter does, is ``sequential``: the last iteration wins.

What is not known counts as a conflict: positions that are computed from data, and sums of strides that may coincide.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any, cast

from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.kernel.attributes import STORE
from wengert.dialects.kernel.positions import Position, dimensions, span

PARALLEL, REDUCTION, SEQUENTIAL = "parallel", "reduction", "sequential"
ITERATORS = (PARALLEL, REDUCTION, SEQUENTIAL)


def iterator_kinds(extents: Sequence[int], body: Block, writes: Sequence[tuple[Position, str, SSAValue | None]]) -> tuple[str, ...]:
    """The kind of every loop of a nest with this body and these writes (position, kind, computed base)."""
    kinds = [PARALLEL] * len(extents)
    depends = _dependences(body) if any(base is not None for _, _, base in writes) else {}
    for at, kind, base in writes:
        if base is not None and depends[base]:
            apart: set[int] = set()  # what is computed may be anything
        elif kind == STORE:
            apart = stored_apart(at, extents)
        else:
            apart = apart_loops(at, extents)
        for d in range(len(extents)):
            if d not in apart and kinds[d] != SEQUENTIAL:
                kinds[d] = SEQUENTIAL if kind == STORE else REDUCTION
    return tuple(kinds)


def stored_apart(at: Position, extents: Sequence[int]) -> set[int]:
    """The loops of a store whose position is not computed from data, of which no two iterations meet at one position.

    By contract such a store writes every element once, whatever its strides are. A loop that is not in the position at all is what is left of a scatter whose
    positions are known: all its iterations write the same elements.
    """
    return dimensions(at) | {d for d, n in enumerate(extents) if n <= 1}


def apart_loops(at: Position, extents: Sequence[int]) -> set[int]:
    """The loops of which no two iterations meet at one position, whatever the others do."""
    inside = {d for atom, _ in at.terms if not isinstance(atom, int) for d in dimensions(atom.expression)}
    apart = {d for d, n in enumerate(extents) if n <= 1}
    for d, c in at.terms:
        if not isinstance(d, int) or d in inside:
            continue
        stride, rest = abs(c), [term for term in at.terms if term[0] != d]
        low, high = span(Position(0, tuple([term for term in rest if abs(term[1]) < stride])), extents)
        reach = high - low + stride * (extents[d] - 1)
        larger = gcd(*[other for _, other in rest if abs(other) >= stride])
        if high - low < stride and (larger == 0 or larger > reach):
            apart.add(d)
    return apart


def _dependences(body: Block) -> dict[SSAValue, frozenset[int]]:
    """The loops that each value of a body depends on."""
    depends: dict[SSAValue, frozenset[int]] = {argument: frozenset() for argument in body.args}
    for op in body.ops:
        if op.results:
            loops = frozenset(_loops_of(op)).union(*[depends[operand] for operand in op.operands])
            depends.update(dict.fromkeys(op.results, loops))
    return depends


def _loops_of(op: Operation) -> set[int]:
    """The loops whose indices an op reads itself."""
    at, where = cast("Any", op.properties.get("at")), cast("Any", op.properties.get("where"))
    positions: list[Position] = ([] if at is None else [at.data]) + ([] if where is None else [guard[0] for guard in where.data])
    return {d for position in positions for d in dimensions(position)}
