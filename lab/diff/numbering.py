"""Numbers for the nodes of two graphs, equal where the nodes are.

*Upward* numbers say what a node computes: its label and the numbers of its operands, as in value numbering (Alpern, Wegman, Zadeck, "Detecting Equality
of Variables in Programs", 1988). *Downward* numbers say what becomes of it: its label, and the numbers of those who read it with the positions at which they
do. What stands above an edit keeps its upward number, what stands below its downward one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from wengert.lab.diff.graph import Block, Graph, Node


class Numbers:
    """Gives equal keys equal numbers, over both graphs."""

    def __init__(self) -> None:
        self._of: dict[Hashable, int] = {}

    def __call__(self, key: Hashable) -> int:
        return self._of.setdefault(key, len(self._of))


def upward(graph: Graph, numbers: Numbers, arguments: dict[Node, Hashable]) -> dict[Node, int]:
    """The upward number of every node; ``arguments`` says what the arguments of functions are."""
    return _Upward(numbers, arguments).graph(graph)


class _Upward:
    def __init__(self, numbers: Numbers, arguments: dict[Node, Hashable]):
        self.numbers = numbers
        self.arguments = arguments
        self.of: dict[Node, int] = {}

    def graph(self, graph: Graph) -> dict[Node, int]:
        for function in graph.functions:
            if function not in self.of:
                self.node(function)
        return self.of

    def node(self, node: Node) -> int:
        operands = [(self.of.get(maker, -1), number) for maker, number in node.operands]
        own = (node.label, tuple(sorted(operands) if node.is_commutative else operands))
        inside = tuple([self.block(block, own) for block in node.blocks])
        self.of[node] = number = self.numbers((own, inside))
        return number

    def block(self, block: Block, owner: Hashable) -> Hashable:
        for position, argument in enumerate(block.arguments):
            given = self.arguments.get(argument)
            self.of[argument] = self.numbers(given if given is not None else ("argument", owner, block.key, position, argument.label))
        return tuple([self.node(op) for op in block.ops])


def downward(graph: Graph, numbers: Numbers, functions: dict[Node, Hashable]) -> dict[Node, int]:
    """The downward number of every node; ``functions`` says what the functions are."""
    return _Downward(numbers, functions).graph(graph)


class _Downward:
    def __init__(self, numbers: Numbers, functions: dict[Node, Hashable]):
        self.numbers = numbers
        self.functions = functions
        self.of: dict[Node, int] = {}

    def graph(self, graph: Graph) -> dict[Node, int]:
        for function in graph.functions:
            if function not in self.of:
                self.of[function] = self.numbers(("function", self.functions.get(function, function.label)))
                self.blocks(function)
        return self.of

    def node(self, node: Node, block: Block) -> None:
        if node.is_terminator and block.owner is not None:  # not by its label: one more result leaves the others what they are
            key: Hashable = ("end", self.of[block.owner], block.key)
        else:
            key = (node.label, self.uses(node))
        self.of[node] = self.numbers(key)
        self.blocks(node)

    def uses(self, node: Node) -> Sequence[tuple[int, int, int]]:
        return tuple(sorted([(self.of.get(user, -1), 0 if user.is_commutative else position, number) for user, position, number in node.users]))

    def blocks(self, node: Node) -> None:
        for block in reversed(node.blocks):
            for op in reversed(block.ops):
                if op not in self.of:
                    self.node(op, block)
            for argument in block.arguments:
                self.of[argument] = self.numbers((argument.label, self.uses(argument)))
