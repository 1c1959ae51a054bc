"""Differences between two matched graphs: ops that were added, removed or changed, under the source that they come from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from wengert.lab.diff.figures import Weights
from wengert.lab.diff.graph import Graph, Node
from wengert.lab.diff.matching import Matching
from wengert.lab.diff.pairs import Operand, operand_pairs
from wengert.lab.inspection.sources import NOWHERE, Place
from wengert.transforms.analysis.symbolic.polynomial import ZERO, Polynomial

Kind = Literal["added", "removed", "changed", "alike"]


@dataclass(frozen=True)
class Change:
    """One op that is different.

    Attributes:
        kind: ``alike`` for an op that is the same and weighs something else (it is executed more often, or kept).
        before: its line in the first program; empty if it was added.
        after: its line in the second program; empty if it was removed.
        derivation: how it was derived (``vjp/cotangent/stablehlo.sine``); empty for an op as it was written.
        notes: what else is to say: which operands are others, who reads it now, where it was.
        flops: the difference over a run.
        kept: the difference in bytes that the reverse part reads of what it makes.
    """

    kind: Kind
    before: str
    after: str
    derivation: str = ""
    notes: tuple[str, ...] = ()
    flops: Polynomial = ZERO
    kept: int = 0


@dataclass(frozen=True)
class SourceChanges:
    """The differences in all that comes from one place in the source.

    Attributes:
        place: file, line and column; of the second program where it has this line, else of the first.
        text: that line; empty where it is not known.
        changes: the ops that are different, in the order of the programs.
        flops: the difference over a run.
        kept: the difference in bytes kept for the reverse part.
        peak: the difference in bytes that are live where each program takes the most, those of ops that are alike included.
    """

    place: Place
    text: str
    changes: tuple[Change, ...]
    flops: Polynomial = ZERO
    kept: int = 0
    peak: int = 0


class Classifier:
    """Tells what the differences of two graphs are."""

    def __init__(self, a: Graph, b: Graph, matching: Matching, weights: tuple[Weights, Weights], translated: Callable[[Place], Place | None]):
        self.a, self.b = a, b
        self.of = matching.of
        self.matching = matching
        self.weights = weights
        self.translated = translated
        self.rewired = 0
        """Ops that are alike and read an op that was added, or one in place of an op that was removed."""
        self._readers: dict[Node, list[str]] = defaultdict(list)

    def run(self) -> list[tuple[Place, int, Change]]:
        """The changes with their sources and their order."""
        pairs = [(one, self.of[one]) for one in self.a.nodes if one in self.of and not one.is_argument]
        placed = [(self._place(one), other.index, change) for one, other in pairs if (change := self._pair(one, other)) is not None]
        placed += [(node.origin, node.index, self._added(node)) for node in self.b.ops if node not in self.of]
        placed += [(self._place(node), self._follower(node), self._removed(node)) for node in self.a.ops if node not in self.of]
        return placed

    def peaks(self) -> dict[Place, int]:
        """By source, the difference in bytes of the peak."""
        total: dict[Place, int] = defaultdict(int)
        for node in self.a.nodes:
            total[self._place(node)] -= self.weights[0].peak.get(node.op, 0)
        for node in self.b.nodes:
            total[node.origin] += self.weights[1].peak.get(node.op, 0)
        return total

    def _place(self, node: Node) -> Place:
        """The source of a node of the first graph; of its counterpart where that has one."""
        if node in self.of:
            return self.of[node].origin
        return self.translated(node.origin) or node.origin

    def _follower(self, node: Node) -> int:
        """The index of what stands where a removed node stood."""
        users = [self.of[user].index for user, *_ in node.users if user in self.of]
        makers = [self.of[maker].index for maker, _ in node.operands if maker in self.of]
        return min(users, default=max(makers, default=0))

    def _flops(self, side: int, node: Node) -> Polynomial:
        return self.weights[side].flops.get(node.op, ZERO)

    def _kept(self, side: int, node: Node) -> int:
        return self.weights[side].kept.get(node.op, 0)

    def _added(self, node: Node) -> Change:
        return Change("added", "", node.text, node.derivation, _listed(self._readers.get(node, ())), self._flops(1, node), self._kept(1, node))

    def _removed(self, node: Node) -> Change:
        return Change("removed", node.text, "", node.derivation, _listed(self._readers.get(node, ())), -self._flops(0, node), -self._kept(0, node))

    def _pair(self, one: Node, other: Node) -> Change | None:
        notes = [*self._moved(one, other), *self._operands(one, other)]
        flops, kept = self._flops(1, other) - self._flops(0, one), self._kept(1, other) - self._kept(0, one)
        if one.label != other.label or notes:
            return Change("changed", one.text, other.text, other.derivation or one.derivation, tuple(notes), flops, kept)
        if flops != 0 or kept:
            return Change("alike", one.text, other.text, other.derivation, _heavier(kept), flops, kept)
        return None

    def _moved(self, one: Node, other: Node) -> Iterator[str]:
        if not self.matching.together(one, other) and one.block is not None and other.block is not None:
            yield f"moved from {_holder(one)} to {_holder(other)}"

    def _operands(self, one: Node, other: Node) -> Iterator[str]:
        """What a pair reads that is different, and is not seen from an op that was added or removed."""
        if len(one.operands) != len(other.operands):
            yield f"reads {len(other.operands)} operands, not {len(one.operands)}"
            return
        is_rewired = False
        for (mine, number), (its, its_number) in self._ordered(one, other):
            if self._same(mine, number, its, its_number):
                continue
            if mine in self.of and its in self.of:
                yield f"reads {_name(its, its_number)} in place of {_name(mine, number)}"
                continue
            is_rewired = True
            reader = _reader(other)
            if its not in self.of:
                self._readers[its].append(f"{reader} reads it in place of {_name(mine, number)}")
            elif mine not in self.of:
                self._readers[mine].append(f"{reader} reads {_name(its, its_number)} now")
        self.rewired += is_rewired

    def _ordered(self, one: Node, other: Node) -> list[tuple[Operand, Operand]]:
        return max(operand_pairs(one, other), key=lambda pairs: sum(self._same(*mine, *its) for mine, its in pairs))

    def _same(self, mine: Node, number: int, its: Node, its_number: int) -> bool:
        if number != its_number:
            return False
        if self.of.get(mine) is its:
            return True
        computes = self.matching.computes
        return mine in computes and not mine.is_argument and computes[mine] == computes.get(its)


def by_source(placed: list[tuple[Place, int, Change]], peaks: dict[Place, int], line: Callable[[Place], str]) -> tuple[SourceChanges, ...]:
    """Changes under their sources, in the order of these; what has no source comes last."""
    groups: dict[Place, list[tuple[int, Change]]] = defaultdict(list)
    for place, order, change in placed:
        groups[place].append((order, change))
    for place, difference in peaks.items():
        if difference and place not in groups:
            groups[place] = []
    made: list[SourceChanges] = []
    for place in sorted(groups, key=lambda place: (place == NOWHERE, place)):
        changes = [change for _, change in sorted(groups[place], key=lambda entry: (entry[0], entry[1].kind != "removed"))]
        flops, kept = sum((change.flops for change in changes), ZERO), sum(change.kept for change in changes)
        made.append(SourceChanges(place, line(place).strip(), tuple(changes), flops, kept, peaks.get(place, 0)))
    return tuple(made)


def _name(node: Node, number: int) -> str:
    return node.names[number] if number < len(node.names) else node.name


def _reader(node: Node) -> str:
    return f"{node.names[0]} = {node.name}" if node.names else node.name


def _holder(node: Node) -> str:
    holder = node.holder
    if holder is None:
        return "the module"
    symbol = holder.text.partition("@")[2].partition("(")[0]
    return f"@{symbol}" if symbol and not holder.names else f"the region of {_reader(holder)}"


def _heavier(kept: int) -> tuple[str, ...]:
    return (
        ("is kept for the reverse part now",)
        if kept > 0
        else ("is no longer kept for the reverse part",)
        if kept < 0
        else ("it takes another number of flops in all",)
    )


def _listed(lines: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(lines[:2]) + ((f"and {len(lines) - 2} more op{'s' if len(lines) > 3 else ''}",) if len(lines) > 2 else ())
