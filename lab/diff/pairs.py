"""Pairs of nodes of two graphs, and what is known of them while they are made."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from wengert.lab.diff.graph import Block, Graph, Node
from wengert.lab.inspection.sources import Place

T = TypeVar("T")


class Pairs:
    """The counterparts of nodes and blocks of two graphs, ``a`` and ``b``.

    Attributes:
        of: the counterpart of a node, of either graph.
        new: pairs whose neighbours have not been looked at.
    """

    def __init__(self, a: Graph, b: Graph, translated: Callable[[Place], Place | None]):
        self.a, self.b = a, b
        self.of: dict[Node, Node] = {}
        self.new: deque[tuple[Node, Node]] = deque()
        self._blocks: dict[Block, Block] = {}
        self._left: tuple[list[Node], list[Node]] = (list(a.nodes), list(b.nodes))
        sources = [(node, node.origin, translated(node.origin)) for node in a.nodes], [(node, node.origin, node.origin) for node in b.nodes]
        self._sources = {node: None if place is None or not own[0] else (node.derivation, place) for side in sources for node, own, place in side}

    def __iter__(self) -> Iterator[tuple[Node, Node]]:
        """The pairs, in the order of the first graph."""
        return ((node, self.of[node]) for node in self.a.nodes if node in self.of)

    def add(self, one: Node, other: Node) -> bool:
        """Makes a pair, unless one of the nodes has a counterpart already."""
        if one in self.of or other in self.of:
            return False
        self.of[one], self.of[other] = other, one
        self.new.append((one, other))
        for block in one.blocks:
            counterpart = next((its for its in other.blocks if its.key == block.key), None)
            if counterpart is not None:
                self._blocks[block] = counterpart
        return True

    def left(self) -> tuple[list[Node], list[Node]]:
        """The nodes without counterparts, of each graph."""
        first, second = self._left
        self._left = [n for n in first if n not in self.of], [n for n in second if n not in self.of]
        return self._left

    def source(self, node: Node) -> Hashable:
        """How a node was derived and from where, in places of the second program; None where nothing is known of that."""
        return self._sources[node]

    def place(self, node: Node) -> Hashable:
        """The block that a node stands in, as one of the second graph where it has a counterpart there."""
        return None if node.block is None else self._blocks.get(node.block, node.block)

    def together(self, one: Node, other: Node) -> bool:
        """Whether a node of the first graph and one of the second stand in counterparts."""
        return self.place(one) is other.block

    def agree(self, one: Node, other: Node) -> bool:
        """Whether nothing speaks against a pair: neither what the nodes come from, nor operands with other counterparts."""
        sources = self._sources[one], self._sources[other]
        if sources[0] is not None and sources[1] is not None and sources[0] != sources[1]:
            return False
        return any(all(self.corresponds(mine, its) is not False for (mine, _), (its, _) in pairs) for pairs in operand_pairs(one, other))

    def corresponds(self, one: Node, other: Node) -> bool | None:
        """Whether two nodes are counterparts; None where both may still become it."""
        return None if one not in self.of and other not in self.of else self.of.get(one) is other


Operand = tuple[Node, int]


def operand_pairs(one: Node, other: Node) -> list[list[tuple[Operand, Operand]]]:
    """The operands of two nodes by position; a second time with those of the second node the other way round, where they may change places."""
    straight = list(zip(one.operands, other.operands, strict=False))
    if not (one.is_commutative and other.is_commutative):
        return [straight]
    return [straight, list(zip(one.operands, reversed(other.operands), strict=True))]


def grouped(items: Iterable[T], key: Callable[[T], Hashable]) -> dict[Hashable, list[T]]:
    """The items by their keys, in order."""
    groups: dict[Hashable, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups
