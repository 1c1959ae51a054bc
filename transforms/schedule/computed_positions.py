"""Says which iterations of a loop write different elements, where a nest updates an array: also at positions that are computed from data.

What is known of a computed start is where it may lie: ``clamp(0, x, 999) * 256`` is one of a thousand multiples of 256, whatever ``x`` is. So the start is a
sum of steps, like a position with loops of its own, and the loops of the nest are judged beside these: columns of the rows that an embedding's gradient is
added to are apart, and batch elements that are scattered within their own rows.
"""

from __future__ import annotations

from math import gcd
from typing import cast

from xdsl.ir import SSAValue

from wengert.dialects.kernel import STORE, ApplyOp, NestOp, Write
from wengert.dialects.kernel.body_ops import ConstantOp
from wengert.dialects.kernel.element_formats import element_format
from wengert.dialects.kernel.iterators import apart_loops, stored_apart
from wengert.dialects.kernel.positions import Position, span
from wengert.ir.elements import Elements, splat_value
from wengert.ir.traversal import operands_of
from wengert.transforms.schedule.placement import Placement

Steps = tuple[int, tuple[tuple[int, int], ...]]
"""A sum: of a number, and of so many multiples, from none on, of each of these steps (step, count)."""


def updates(placement: Placement, write: Write) -> bool:
    """Whether a write changes an array that was there before, or lies at positions that are computed in the nest's loops."""
    varies = write.base is not None and placement.depth[write.base] >= 0
    return varies or (write.kind != STORE and (write.base is not None or placement.op.tied[write.target] >= 0))


def updated_apart(placement: Placement, write: Write) -> set[int]:
    """The loops of which no two iterations update one element, as the placement numbers them; ``write`` is the only one to its array."""
    op, at, extents = placement.op, placement.loops[write.at], placement.extents
    if op.tied[write.target] < 0 or sum(other.target == write.target for other in placement.writes) > 1:
        return set()
    if write.base is None or placement.depth[write.base] < 0:
        return stored_apart(at, extents) if write.kind == STORE else apart_loops(at, extents)
    if (start := steps(write.base)) is None:
        return set()
    count = len(extents)
    terms = tuple([(count + n, step) for n, (step, _) in enumerate(start[1])])
    return {d for d in apart_loops(at.plus(Position(start[0], terms)), [*extents, *[times for _, times in start[1]]]) if d < count}


def window_unit(placement: Placement) -> int:
    """A number of elements such that all that an update's inner loops reach lies within one multiple of it, wherever the update is; 0: there is none known.

    The inner loops are those that the computed position does not depend on. The nest has this one write.
    """
    if len(placement.writes) != 1 or (base := (write := placement.writes[0]).base) is None or placement.op.tied[write.target] < 0:
        return 0
    level, at, start = placement.depth[base], placement.loops[write.at], steps(base)
    if start is None or not 0 <= level < placement.inner or not at.is_affine():
        return 0
    inside = Position(at.offset + start[0], tuple([term for term in at.terms if isinstance(term[0], int) and term[0] > level]))
    others = [*start[1], *[(c, placement.extents[d]) for d, c in at.terms if isinstance(d, int) and d <= level]]
    low, high = span(inside, placement.extents)
    unit = gcd(*[step for step, count in others if count > 1 and abs(step) > high - low])
    small = [(step, count) for step, count in others if unit and step % unit]
    low, high = low + sum([min(step * (n - 1), 0) for step, n in small]), high + sum([max(step * (n - 1), 0) for step, n in small])
    return unit if unit and low // unit == high // unit else 0


def apart_in(op: NestOp, write: Write) -> set[int]:
    """The loops of a nest, by its own numbers, of which no two iterations update one element; none for what is no update."""
    placement = Placement(op)
    return updated_apart(placement, write) if updates(placement, write) else set()


def steps(value: SSAValue) -> Steps | None:
    """The steps that a computed integer is the sum of; None if that is not known, or if it might be too large for its type."""
    known, format = _steps(value), element_format(value.type)
    if known is None or format.kind not in "iu":
        return None
    low, terms = known
    bits = 8 * format.size - (format.kind == "i")
    return known if low >= 0 and low + sum([step * (count - 1) for step, count in terms]) < 1 << bits else None


def _steps(value: SSAValue) -> Steps | None:
    op = value.owner
    if isinstance(op, ConstantOp):
        return int(splat_value(cast("Elements", op.value))), ()
    if not isinstance(op, ApplyOp):
        return None
    operands = operands_of(op)
    function = op.function.data
    if function == "clamp":
        bounds = [steps(operands[n]) for n in (0, 2)]
        if any(bound is None or bound[1] for bound in bounds):
            return None
        low, high = (bound[0] for bound in bounds if bound is not None)
        return low, ((1, high - low + 1),)
    if function not in ("add", "multiply", "convert"):
        return None
    parts = [steps(operand) for operand in operands]
    if function == "convert":
        return parts[0]
    first, second = parts
    if first is None or second is None:
        return None
    if function == "add":
        return first[0] + second[0], (*first[1], *second[1])
    if first[1]:
        first, second = second, first
    return None if first[1] or first[0] <= 0 else (first[0] * second[0], tuple([(first[0] * step, count) for step, count in second[1]]))
