"""Counted loops that carry a second version of some of their values along with the first.

Before and after, of the carried value 0 and the constant 0::

    %r = core.for %i to %n constants(%c = %k) carried(%x = %x0) {     %r:2 = core.for %i to %n constants(%c = %k, %c2 = %k) carried(%x = %x0, %x2 = %x0) {
      return %y                                                         return %y, %y
    }                                                                 }

What is passed and returned for second versions is that of the first ones, until the caller puts something else there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from wengert.dialects import core
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.construction import erase, insert_before, replace_uses


class Grown(Struct, frozen=True):
    """A loop that has grown.

    Attributes:
        results: the new results by the old ones.
        seconds: the second version of each result and of each argument of the body that has one.
        open: the operands, by op and position, that pass and return second versions.
    """

    results: dict[SSAValue, SSAValue]
    seconds: dict[SSAValue, SSAValue]
    open: list[tuple[Operation, int]]


def grow(loop: core.ForOp, constants: Sequence[int], carried: Sequence[int]) -> Grown:
    """Replaces a loop by one with second versions of these constants and carried values; the body's ops and arguments stay the same objects."""
    body, count = loop.body.block, int_of(loop.constants)
    passed, initial, arguments = list(loop.constant_operands), list(loop.initial), list(body.args[1:])
    seconds: dict[SSAValue, SSAValue] = {}
    for at, i in enumerate(constants):
        seconds[arguments[i]] = body.insert_arg(arguments[i].type, 1 + count + at)
    for j in carried:
        seconds[arguments[count + j]] = body.insert_arg(arguments[count + j].type, len(body.args))
    end = cast(Operation, body.last_op)
    end.operands = [*end.operands, *(end.operands[j] for j in carried)]
    new = core.ForOp.create(
        operands=[loop.trip_count, *passed, *(passed[i] for i in constants), *initial, *(initial[j] for j in carried)],
        result_types=[v.type for v in (*initial, *(initial[j] for j in carried))],
        properties={**loop.properties, "constants": int_attr(count + len(constants))},
        attributes=loop.attributes,
        regions=[loop.detach_region(loop.body)],
        location=loop.location,
    )
    insert_before(loop, new)
    results: dict[SSAValue, SSAValue] = dict(zip(loop.results, new.results, strict=False))
    for old, made in results.items():
        replace_uses(old, made)
    erase(loop)
    first, last = 1 + count, 1 + count + len(constants) + len(initial)
    seconds.update({new.results[j]: new.results[len(initial) + at] for at, j in enumerate(carried)})
    opened = [(new, first + at) for at in range(len(constants))] + [(new, last + at) for at in range(len(carried))]
    return Grown(results, seconds, [*opened, *((end, len(initial) + at) for at in range(len(carried)))])
