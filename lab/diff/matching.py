"""Matches the nodes of two graphs.

The scheme is that of differences of trees (Falleri, Morandat, Blanc, Martinez, Monperrus, "Fine-grained and Accurate Source Code Differencing", ASE 2014):
first what is equal as a whole, then what contains it or stands beside it, then what is only similar. Programs are graphs and no trees, so *equal as a
whole* is a question of value numbers (:mod:`wengert.lab.diff.numbering`), and what stands beside a pair are the operands and users of its nodes:

1. functions by name, and their arguments by position;
2. nodes that compute the same, then nodes of which the same becomes, where that names one pair;
3. from each pair on to operands and users of one label, as far as these can be told apart;
4. nodes with the same label and the same source;
5. nodes with other attributes or types, or other ops, in the same role for the same neighbours: these were changed;
6. nodes of one label behind the same pair in the text, then those that have moved to another block.

After each step the third goes on from the pairs that are new. No step compares all nodes with all others, so the time is that of the size of the graphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from wengert.lab.diff.graph import Graph, Node
from wengert.lab.diff.numbering import Numbers, downward, upward
from wengert.lab.diff.pairs import Operand, Pairs, grouped, operand_pairs
from wengert.lab.inspection.sources import Place

Key = Callable[[Node], Hashable]
_MANY = 60
"""Users of one value that are compared with each other; where there are more, only what else is known of them tells them apart."""


class Matching:
    """The counterparts of the nodes of two graphs.

    Attributes:
        of: the counterpart of a node, of either graph.
        computes: the upward numbers of all nodes: those of equal numbers compute the same.
    """

    def __init__(self, pairs: Pairs, computes: dict[Node, int]):
        self.of = pairs.of
        self.computes = computes
        self._pairs = pairs

    def pairs(self) -> list[tuple[Node, Node]]:
        """The pairs of nodes, in the order of the first graph."""
        return list(self._pairs)

    def together(self, one: Node, other: Node) -> bool:
        """Whether a pair stands in blocks that are counterparts."""
        return self._pairs.together(one, other)


def matched(a: Graph, b: Graph, translated: Callable[[Place], Place | None] = lambda place: place) -> Matching:
    """Finds the counterparts of the nodes of two graphs; ``translated`` gives places of the first program as places of the second."""
    return _Matcher(Pairs(a, b, translated)).run()


class _Matcher:
    def __init__(self, pairs: Pairs):
        self.pairs = pairs
        self.computes: dict[Node, int] = {}

    def run(self) -> Matching:
        self._functions()
        self._by_numbers()
        self._by_source(together=True)
        self._spread(strictly=True)
        self._spread(strictly=False, again=True)
        self._changed()
        self._same_source()
        self._in_order()
        self._by_source(together=False)
        self._by_key(self._value, together=False)
        self._spread(strictly=False)
        return Matching(self.pairs, self.computes)

    def _functions(self) -> None:
        a, b = self.pairs.a.functions, self.pairs.b.functions
        names = {node.label: node for node in b}
        for function in a:
            if function.label in names:
                self.pairs.add(function, names[function.label])
        left = [[f for f in functions if f not in self.pairs.of] for functions in (a, b)]
        if len(left[0]) == len(left[1]) == 1 and left[0][0].name == left[1][0].name:
            self.pairs.add(left[0][0], left[1][0])
        for one, other in list(self.pairs):
            self._pair_inside(one, other)

    # -- by keys

    def _by_numbers(self) -> None:
        """Matches what computes the same, and that of which the same becomes, where these are single nodes of their blocks."""
        a, b = self.pairs.a, self.pairs.b
        known: dict[Node, Hashable] = {node: ("pair", id(pair[0])) for pair in self.pairs for node in pair}
        numbers = Numbers()
        self.computes = {**upward(a, numbers, known), **upward(b, numbers, known)}
        self._by_key(self._value, together=True)
        self._spread(strictly=True)
        becomes = {**downward(a, numbers, known), **downward(b, numbers, known)}
        self._by_key(becomes.get, together=True)
        self._spread(strictly=True)

    def _value(self, node: Node) -> Hashable:
        return None if node.is_argument else self.computes.get(node)

    def _by_source(self, *, together: bool) -> None:
        source = self.pairs.source
        self._by_key(lambda node: None if node.is_argument or source(node) is None else (node.label, source(node)), together=together)

    def _by_key(self, key: Key, *, together: bool) -> None:
        """Matches nodes of one key that nothing but their sources has to tell apart; ``together``: in blocks that are counterparts."""

        def whole(node: Node) -> Hashable:
            return key(node), self.pairs.place(node) if together else None

        first, second = self.pairs.left()
        groups = grouped(second, whole)
        for name, ones in grouped(first, whole).items():
            assert isinstance(name, tuple)
            if name[0] is not None and name in groups:
                self._pair_equals(ones, groups[name])

    def _pair_equals(self, ones: Sequence[Node], others: Sequence[Node]) -> None:
        if len(ones) == len(others) == 1:
            self.pairs.add(ones[0], others[0])
            return
        theirs = grouped(others, self.pairs.source)
        for source, mine in grouped(ones, self.pairs.source).items():
            if source is not None and len(mine) == len(theirs.get(source, ())):
                for one, other in zip(mine, theirs[source], strict=True):
                    self.pairs.add(one, other)

    # -- from pairs to their neighbours

    def _spread(self, *, strictly: bool, again: bool = False) -> None:
        """From every new pair (``again``: from all) to its regions, operands and users, and on from those; ``strictly``: where nothing speaks against it."""
        new = self.pairs.new
        if again:
            new.extend(self.pairs)
        while new:
            one, other = new.popleft()
            self._pair_inside(one, other)
            self._pair_operands(one, other, strictly)
            self._pair_users(one, other, strictly)

    def _pair_inside(self, one: Node, other: Node) -> None:
        """The arguments and ends of the blocks of a pair."""
        theirs = {block.key: block for block in other.blocks}
        for block in one.blocks:
            counterpart = theirs.get(block.key)
            if counterpart is None:
                continue
            for mine, its in _aligned(block.arguments, counterpart.arguments):
                self.pairs.add(mine, its)
            if block.ops and counterpart.ops and block.ops[-1].is_terminator and block.ops[-1].name == counterpart.ops[-1].name:
                self.pairs.add(block.ops[-1], counterpart.ops[-1])

    def _pair_operands(self, one: Node, other: Node, strictly: bool) -> None:
        for (mine, number), (its, its_number) in self._ordered(one, other):
            if mine in self.pairs.of or its in self.pairs.of or number != its_number or mine.label != its.label:
                continue
            if self.pairs.together(mine, its) and (not strictly or self.pairs.agree(mine, its)):
                self.pairs.add(mine, its)

    def _ordered(self, one: Node, other: Node) -> list[tuple[Operand, Operand]]:
        """The operands of a pair, the second node's the other way round where they may be and more of them fit so."""

        def fitting(pairs: list[tuple[Operand, Operand]]) -> int:
            return sum(2 if self.pairs.of.get(mine) is its else mine.label == its.label for (mine, _), (its, _) in pairs)

        return max(operand_pairs(one, other), key=fitting)

    def _pair_users(self, one: Node, other: Node, strictly: bool) -> None:
        of = self.pairs.of

        def role(use: tuple[Node, int, int]) -> Hashable:
            return use[0].label, 0 if use[0].is_commutative else use[1], use[2], self.pairs.place(use[0])

        theirs = grouped([use for use in other.users if use[0] not in of], role)
        if not theirs:
            return
        for key, uses in grouped([use for use in one.users if use[0] not in of], role).items():
            for user, its in self._told_apart([use[0] for use in uses], [use[0] for use in theirs.get(key, ())]):
                if not strictly or self.pairs.agree(user, its):
                    self.pairs.add(user, its)

    def _told_apart(self, mine: Sequence[Node], theirs: Sequence[Node]) -> Iterable[tuple[Node, Node]]:
        """The pairs of users in one role: the only ones, or those that agree in their sources and other operands with one only."""
        if len(mine) == len(theirs) == 1:
            return [(mine[0], theirs[0])]
        if not theirs or len(mine) * len(theirs) > _MANY**2:
            return []
        pairs = [(one, other) for one in mine for other in theirs if self.pairs.agree(one, other)]
        ones, others = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
        return [(one, other) for one, other in pairs if ones[one] == 1 and others[other] == 1]

    # -- what is not equal

    def _changed(self) -> None:
        """Matches nodes of one name in the same role, then other ops in the same role."""
        for alike in (self._same_name, self._same_role):
            for one, other in list(self.pairs):
                self._pair_similar_operands(one, other, alike)
                self._pair_similar_users(one, other, alike)
            self._spread(strictly=False)

    def _pair_similar_operands(self, one: Node, other: Node, alike: Callable[[Node, Node], bool]) -> None:
        of = self.pairs.of
        if len(one.operands) == len(other.operands):
            for (mine, _), (its, _) in self._ordered(one, other):
                if mine not in of and its not in of and self.pairs.together(mine, its) and alike(mine, its):
                    self.pairs.add(mine, its)

    def _pair_similar_users(self, one: Node, other: Node, alike: Callable[[Node, Node], bool]) -> None:
        of = self.pairs.of
        mine, theirs = ([use for use in node.users if use[0] not in of][:_MANY] for node in (one, other))
        for user, position, number in mine:
            fitting = [u for u, p, n in theirs if (p, n) == (position, number) and u not in of and self.pairs.together(user, u) and alike(user, u)]
            if len(fitting) == 1 and user not in of and sum((p, n) == (position, number) and alike(u, fitting[0]) for u, p, n in mine) == 1:
                self.pairs.add(user, fitting[0])

    def _same_name(self, one: Node, other: Node) -> bool:
        return one.name == other.name and not one.is_argument and len(one.operands) == len(other.operands)

    def _same_role(self, one: Node, other: Node) -> bool:
        """Whether one op stands where the other stood: of the same operands, and from the same source or for the same users where the sources are known."""
        if one.is_argument or other.is_argument or not one.operands or len(one.operands) != len(other.operands) or len(one.names) != len(other.names):
            return False
        of, sources = self.pairs.of, (self.pairs.source(one), self.pairs.source(other))
        if not all(of.get(mine) is its for (mine, _), (its, _) in self._ordered(one, other)):
            return False
        if sources[0] is None or sources[0] == sources[1] or not one.derivation == other.derivation == "":
            return sources[0] == sources[1] or any(of.get(mine[0]) is its[0] for mine, its in zip(one.users, other.users, strict=False))
        return True

    def _same_source(self) -> None:
        """Matches the only ops without counterparts that come from one source in one role."""
        first, second = self.pairs.left()

        def key(node: Node) -> Hashable:
            return None if node.is_argument or self.pairs.source(node) is None else (self.pairs.source(node), self.pairs.place(node), len(node.names))

        theirs = grouped(second, key)
        for source, mine in grouped(first, key).items():
            if source is not None and len(mine) == len(theirs.get(source, ())) == 1:
                self.pairs.add(mine[0], theirs[source][0])
        self._spread(strictly=False)

    def _in_order(self) -> None:
        """Matches nodes of one label that stand behind the same pair of their blocks."""
        first, second = ({node: before for before, node in _behind(graph, self.pairs)} for graph in (self.pairs.a, self.pairs.b))
        groups = grouped(second, lambda node: (node.label, self.pairs.place(node), second[node]))
        for key, ones in grouped(first, lambda node: (node.label, self.pairs.place(node), first[node])).items():
            for one, other in zip(ones, groups.get(key, ()), strict=False):
                self.pairs.add(one, other)
        self._spread(strictly=False)


def _behind(graph: Graph, pairs: Pairs) -> Iterable[tuple[int, Node]]:
    """The ops without counterparts, each with the index in the second graph of the pair before it in its block (-1: none)."""
    last: dict[int, int] = {}
    for node in graph.nodes:
        if node.is_argument or node.block is None:
            continue
        if node in pairs.of:
            last[id(node.block)] = pairs.of[node].index if graph is pairs.a else node.index
        else:
            yield last.get(id(node.block), -1), node


def _aligned(ones: Sequence[Node], others: Sequence[Node]) -> Iterable[tuple[Node, Node]]:
    """Arguments of two blocks by position, as long as their types are equal, from the beginning and then from the end."""
    count = min(len(ones), len(others))
    front = next((i for i in range(count) if ones[i].label != others[i].label), count)
    back = next((i for i in range(count - front) if ones[-1 - i].label != others[-1 - i].label), count - front)
    if len(ones) == len(others):
        return zip(ones, others, strict=True)
    return [*zip(ones[:front], others[:front], strict=True), *((ones[-1 - i], others[-1 - i]) for i in range(back))]
