"""Sorts, and the first elements of sorted rows, as loops: a merge sort of positions, stable, by the comparison of the op's region.

A lane is sorted by rounds: in round k, runs of 2^k positions are sorted, and each position learns its place in the run of twice the length by a binary
search among those of the run beside it. Elements of the left run go before equal ones of the right run::

    for each position i, of the element e:      in the left run:  place = i + how many of the right run are before e
                                                in the right run: place = i - how many of the left run e is before
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation

from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import dtype_of, element, i1, is_boolean, is_float, is_unsigned, shape, tensor
from wengert.transforms.upstream.out.elementwise import inner
from wengert.transforms.upstream.out.positions import loops
from wengert.transforms.upstream.out.regions import written
from wengert.transforms.upstream.out.structure import Handler
from wengert.transforms.upstream.out.writer import INDEX, Out, Value, signless

Before = Callable[[Value, Value], Value]
"""Whether the element at a position of a lane goes before that at another one."""


def _sort(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    extents, d = list(shape(operands[0])), int_of(op.properties["dimension"]) % max(len(shape(operands[0])), 1)
    if not extents or extents[d] < 2:
        return operands
    block, count = op.regions[0].block, extents[d]

    def lane(place: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        def at(position: Value) -> list[Value]:
            return [*place[:d], position, *place[d:]]

        def before(i: Value, j: Value) -> Value:
            pairs = [out.element(x, at(k)) for x in operands for k in (i, j)]
            return written(out, block, pairs)[0]

        order = _order(out, count, before)

        def moved(k: Sequence[Value], targets: Sequence[Value]) -> Sequence[Value]:
            source = at(out.element(order, k))
            return [out.one("tensor.insert", [out.element(x, source), y, *at(k[0])], y.type) for x, y in zip(operands, targets, strict=True)]

        return loops(out, [count], carried, moved)

    return loops(out, extents[:d] + extents[d + 1 :], [out.empty(x.type) for x in operands], lane)


def _top_k(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    (x,), own, largest = operands, inner(op.operands[0]), op.attributes.get("largest")
    descending = largest is None or bool(int_of(largest))
    predicate = ("u" if is_unsigned(own) or is_boolean(own) else "s") + ("gt" if descending else "lt")
    (*outer, count), wanted = shape(x), int_of(op.properties["k"])
    types = [signless(result.type) for result in op.results]

    def lane(place: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        def before(i: Value, j: Value) -> Value:
            return out.compare(predicate, *(_key(out, out.element(x, [*place, k]), own) for k in (i, j)))

        order = _order(out, count, before)

        def moved(k: Sequence[Value], targets: Sequence[Value]) -> Sequence[Value]:
            source = out.element(order, k)
            picked = [out.element(x, [*place, source]), out.one("arith.index_cast", (source,), element(targets[1]))]
            return [out.one("tensor.insert", [value, y, *place, k[0]], y.type) for value, y in zip(picked, targets, strict=True)]

        return loops(out, [wanted], carried, moved)

    return loops(out, outer, [out.empty(type) for type in types], lane)


def _key(out: Out, x: Value, own: Attribute) -> Value:
    """An integer that is ordered as an element is, for floats in their total order: by their bits, those of negative ones turned over."""
    if not is_float(own):
        return x
    width = 8 * dtype_of(own).itemsize
    bits = out.one("arith.bitcast", (x,), IntegerType(width))
    turned = out.arith("xori", bits, out.number(2 ** (width - 1) - 1, bits.type))
    return out.one("arith.select", (out.compare("slt", bits, out.number(0, bits.type)), turned, bits), bits.type)


def _order(out: Out, count: int, before: Before) -> Value:
    """The positions of a lane in sorted order."""
    order, width = out.generate(tensor((count,), INDEX), lambda at: at[0]), 1
    while width < count:
        order = _merged(out, order, width, count, before)
        width *= 2
    return order


def _merged(out: Out, order: Value, width: int, count: int, before: Before) -> Value:
    """Runs of so many sorted positions, merged in pairs."""

    def body(counters: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        (i,) = counters
        run = out.arith("divui", i, out.index(width))
        is_right = out.compare("ne", out.arith("remui", run, out.index(2)), out.index(0))
        first = out.arith("muli", run, out.index(width))
        beside = out.one("arith.select", (is_right, out.arith("subi", first, out.index(width)), out.arith("addi", first, out.index(width))), INDEX)
        low = out.arith("minui", beside, out.index(count))
        high = out.arith("minui", out.arith("addi", beside, out.index(width)), out.index(count))
        own = out.element(order, [i])
        end = _search(out, low, high, lambda k: _precedes(out, before, out.element(order, [k]), own, is_right))
        passed = out.arith("subi", end, low)
        start = out.one("arith.select", (is_right, beside, first), INDEX)
        place = out.arith("addi", out.arith("addi", start, out.arith("subi", i, first)), passed)
        return [out.one("tensor.insert", [own, carried[0], place], carried[0].type)]

    return loops(out, [count], [out.empty(order.type)], body)[0]


def _precedes(out: Out, before: Before, other: Value, own: Value, is_right: Value) -> Value:
    """Whether the other run's element goes before this run's: where they are equal, if the other run is the left one."""
    regions = [
        out.region([], "scf.yield", lambda _: [out.arith("xori", before(own, other), out.number(True, i1))]),
        out.region([], "scf.yield", lambda _: [before(other, own)]),
    ]
    return out.ops("scf.if", [is_right], [i1], *regions)[0]


def _search(out: Out, low: Value, high: Value, holds: Callable[[Value], Value]) -> Value:
    """The first index from low to high at which a condition that holds for those in front does not hold any more."""

    def condition(bounds: Sequence[Value]) -> Sequence[Value]:
        return [out.compare("ult", bounds[0], bounds[1]), *bounds]

    def halved(bounds: Sequence[Value]) -> Sequence[Value]:
        middle = out.arith("divui", out.arith("addi", bounds[0], bounds[1]), out.index(2))
        passed = holds(middle)
        low = out.one("arith.select", (passed, out.arith("addi", middle, out.index(1)), bounds[0]), INDEX)
        return [low, out.one("arith.select", (passed, bounds[1], middle), INDEX)]

    regions = [out.region([INDEX, INDEX], "scf.condition", condition), out.region([INDEX, INDEX], "scf.yield", halved)]
    return out.ops("scf.while", [low, high], [INDEX, INDEX], *regions)[0]


SORTS: dict[str, Handler] = {"chlo.top_k": _top_k, "stablehlo.sort": _sort}
"""How each op is written."""
