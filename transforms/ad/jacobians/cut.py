"""The narrowest cut of a function: values that every path from its arguments to its results goes through, with the fewest elements; and the cheapest one, by
what directions cost before it in reverse mode and behind it forward.

By a minimum cut (:mod:`wengert.transforms.ad.minimum_cut`) of the active values, whose capacity is their number of elements. Loops and branches are single
nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Literal

from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from wengert.ir.tensor_types import element, is_float, size
from wengert.transforms.ad.direct.activity import active_in, inputs_of
from wengert.transforms.ad.direct.adjoint import is_inactive
from wengert.transforms.ad.jacobians.direction_costs import DirectionCosts, direction_costs
from wengert.transforms.ad.minimum_cut import SINK, SOURCE, FlowNetwork
from wengert.transforms.ad.requests.request import Request

Nearest = Literal["arguments", "results"]
"""Which of several cuts of the same size. What is between them is differentiated forward behind the first, in reverse before the last."""
MOST_ROUNDS = 8
"""So many cuts are looked at for the cheapest one."""


class Cut(Struct, frozen=True):
    """Values that separate the arguments of a request from its results, in the order of the function."""

    values: tuple[SSAValue, ...]

    @property
    def size(self) -> int:
        """How many elements the values have: the directions of a mode that begins or ends there."""
        return sum(size(value) for value in self.values)


class Sides(Struct, frozen=True):
    """The requirements on the sides of a cut: loops and branches, by their number among those of the function.

    Attributes:
        before: what has to lie before the cut, and so is differentiated in reverse.
        behind: what has to lie behind it: forward.
    """

    before: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()


ANY = Sides()


def regional_ops(request: Request) -> list[Operation]:
    """The loops and branches of a function, in order."""
    return [op for op in request.ops if op.regions]


def narrowest_cut(request: Request, nearest: Nearest = "arguments", sides: Sides = ANY) -> Cut:
    """The cut with the fewest elements; of several that nearest to the arguments, or to the results. It is empty if no result depends on an argument, and may
    be the arguments or the results themselves.

    ``sides`` is what it has to leave before and behind it, where that is active; such a cut may be wider than the narrowest one, and so better: what is cheap
    in one mode may be dear in the other.
    """
    network = _network(request, _active(request))
    _place(network, request, sides)
    network.saturate()
    return Cut(network.cut(network.reached() if nearest == "arguments" else network.not_reaching()))


def cheapest_cut(request: Request) -> Cut:
    """The cut for which both modes cost least: d times what a direction costs, in reverse before it, forward behind it and in the product of both, and what
    reverse mode records, where d is how many elements it has.

    A minimum cut of the network in which elements have a price and ops belong to one side or the other, at what they cost there (a closure problem: J.-C.
    Picard, "Maximal closure of a graph", 1976). With C for the cost of a direction and the price C / d of the cut before, no next one has a larger d C:
    ``C d'/d + C' <= 2 C`` and the mean of two numbers is at least the root of their product. So cuts are looked for, from the narrowest on, until they stay.
    """
    costs = direction_costs(request)
    product = 2.0 * sum(size(request.block.args[i]) for i in request.wrt) * sum(size(request.results[j]) for j in request.of)
    active = _active(request)
    best, least, seen = narrowest_cut(request), inf, set[tuple[SSAValue, ...]]()
    cut = best
    while cut.size and cut.values not in seen and len(seen) < MOST_ROUNDS:  # none of elements, or of arrays without any, costs nothing
        seen.add(cut.values)
        behind = _behind(request, cut)
        direction, recorded = product, 0.0
        for op, cost in costs.items():
            direction += cost.forward if op in behind else cost.reverse
            recorded += 0.0 if op in behind else cost.recorded
        total = cut.size * direction + recorded
        if total >= least:
            break
        best, least = cut, total
        network = _network(request, active, price=direction / cut.size)
        _charge(network, request, costs, cut.size)
        network.saturate()
        cut = Cut(network.cut(network.reached()))
    return best


def _behind(request: Request, cut: Cut) -> set[Operation]:
    """The ops that depend on a cut and are not what it is computed by."""
    before = set[Operation]()
    pending = [value.owner for value in cut.values]
    while pending:
        op = pending.pop()
        if isinstance(op, Operation) and op not in before:
            before.add(op)
            pending += [value.owner for value in inputs_of(op)]
    return set(request.ops) - before


def _active(request: Request) -> set[SSAValue]:
    return active_in(request.block, [request.block.args[i] for i in request.wrt], [request.results[j] for j in request.of])


def _network(request: Request, active: set[SSAValue], price: float = 1.0) -> FlowNetwork:
    """The active values with what flows between them, at a price for each element. An element that is no real number cannot be cut."""
    network = FlowNetwork()
    arguments, results = [request.block.args[i] for i in request.wrt], [request.results[j] for j in request.of]
    for value in (value for value in (*request.block.args, *(value for op in request.ops for value in op.results)) if value in active):
        network.add(value, price * size(value) if is_float(element(value)) else inf)
    for op in request.ops:
        if not is_inactive(op):
            for operand in dict.fromkeys(inputs_of(op)):
                for result in op.results:
                    if operand in active and result in active:
                        network.connect(network.entry[operand] + 1, network.entry[result], inf)
    for value in arguments:
        if value in active:
            network.connect(SOURCE, network.entry[value], inf)
    for value in dict.fromkeys(results):
        if value in active:
            network.connect(network.entry[value] + 1, SINK, inf)
    return network


def _place(network: FlowNetwork, request: Request, sides: Sides) -> None:
    """Keeps ops on their sides: nothing is cut before what they give, or behind what they take."""
    ops = regional_ops(request)
    for number in sides.before:
        for value in ops[number].results:
            if value in network.entry:
                network.connect(SOURCE, network.entry[value], inf)
    for number in sides.behind:
        for value in inputs_of(ops[number]):
            if value in network.entry:
                network.connect(network.entry[value] + 1, SINK, inf)


def _charge(network: FlowNetwork, request: Request, costs: Mapping[Operation, DirectionCosts], directions: int) -> None:
    """Has each op cost what it does on its side, and keeps what it is computed from before the cut if it is there."""
    for op, cost in costs.items():
        results = [value for value in op.results if value in network.entry]
        for value in results:
            network.connect(SOURCE, network.entry[value], cost.forward / len(results))
            network.connect(network.entry[value], SINK, (cost.reverse + cost.recorded / directions) / len(results))
            for operand in dict.fromkeys(inputs_of(op)):
                if operand in network.entry:
                    network.connect(network.entry[value], network.entry[operand], inf)
