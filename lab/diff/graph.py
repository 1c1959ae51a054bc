"""Programs as graphs of labelled nodes, which is all that is compared: ops of MLIR, instructions of LLVM, lines of assembly.

A node's *label* is everything about an op but its operands, its regions and the names of its values. Arguments of blocks are nodes too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

ARGUMENT = "argument"
"""The name of the nodes that stand for arguments of blocks."""

COMMUTATIVE = frozenset(
    (
        *(f"{dialect}.{name}" for dialect in ("stablehlo", "kernel") for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")),
        *(f"arith.{name}" for name in ("addf", "addi", "mulf", "muli", "andi", "ori", "xori")),
        *("add", "fadd", "mul", "fmul", "and", "or", "xor"),
    )
)
"""Ops whose two operands may change places, by dialect, and LLVM's instructions."""


@dataclass(eq=False, slots=True)
class Block:
    """A block of a region.

    Attributes:
        owner: the node whose region it stands in.
        key: the number of the region, and of the block in it.
        arguments: a node for each argument.
        ops: the nodes of its ops, in order.
    """

    owner: Node | None
    key: tuple[int, int]
    arguments: list[Node] = field(default_factory=list["Node"])
    ops: list[Node] = field(default_factory=list["Node"])


@dataclass(eq=False, slots=True)
class Node:
    """An op, or an argument of a block.

    Attributes:
        index: its number in the order of the text.
        name: the name of the op.
        label: all that it is but for its operands and regions.
        text: the line that it prints as.
        names: the names of its results.
        origin: the file, line and column of the source that it comes from; empty and zeros where unknown.
        derivation: how it was derived (``vjp/cotangent/stablehlo.sine``), or an empty string.
        operands: for each operand the node that makes it, and the number of the result.
        users: the nodes that read a result, with the position of the operand and the number of the result.
        is_terminator: whether it ends its block.
        op: what it stands for, where it is an op of a module (an argument: the SSA value).
    """

    index: int
    name: str
    label: Hashable
    text: str
    names: tuple[str, ...] = ()
    origin: tuple[str, int, int] = ("", 0, 0)
    derivation: str = ""
    operands: list[tuple[Node, int]] = field(default_factory=list["tuple[Node, int]"])
    users: list[tuple[Node, int, int]] = field(default_factory=list["tuple[Node, int, int]"])
    block: Block | None = None
    blocks: list[Block] = field(default_factory=list["Block"])
    is_terminator: bool = False
    op: Any = None

    @property
    def is_argument(self) -> bool:
        """Whether it stands for an argument of a block."""
        return self.name == ARGUMENT

    @property
    def is_commutative(self) -> bool:
        """Whether its two operands may change places."""
        return self.name in COMMUTATIVE and len(self.operands) == 2

    @property
    def holder(self) -> Node | None:
        """The node whose region it stands in."""
        return self.block.owner if self.block is not None else None


@dataclass(frozen=True)
class Graph:
    """A program.

    Attributes:
        functions: its functions, which are nodes with regions.
        nodes: all nodes, those of arguments included, in the order of the text.
        form: ``mlir``, ``ll`` or ``s``.
    """

    functions: list[Node]
    nodes: list[Node]
    form: str = "mlir"

    @property
    def ops(self) -> Iterator[Node]:
        """The nodes that count as ops: all but functions and arguments."""
        tops = set(map(id, self.functions))
        return (node for node in self.nodes if not node.is_argument and id(node) not in tops)


def connect(node: Node, operands: list[tuple[Node, int]]) -> None:
    """Gives a node its operands, and tells those that make them."""
    node.operands = operands
    for position, (maker, number) in enumerate(operands):
        maker.users.append((node, position, number))
