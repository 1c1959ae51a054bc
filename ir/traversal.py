"""Walking over ops, and reading what they use, without xDSL's views.

A pass that looks for ops of a few classes in a whole module does so many times in one compilation, and mostly finds none; a list
made in one go takes a third of the time of xDSL's nested generators. An op's operands are a tuple behind a view of the op through which they can
be changed; passes that only read them, as most do, read the tuple.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from xdsl.ir import Block, Operation, SSAValue

Op = TypeVar("Op", bound=Operation)


def all_ops(root: Operation) -> list[Operation]:
    """The op and all ops inside it, each before those inside it, in the order in which they stand."""
    ops = [root]
    _collect(root, ops.append)
    return ops


def _collect(op: Operation, add: Callable[[Operation], None]) -> None:
    for region in op.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                add(inner)
                if inner.regions:
                    _collect(inner, add)
                inner = inner._next_op
            block = block._next_block


def ops_in(block: Block) -> list[Operation]:
    """The ops of a block, not those inside them; they may be moved or erased while the list is gone through."""
    ops: list[Operation] = []
    op = block._first_op
    while op is not None:
        ops.append(op)
        op = op._next_op
    return ops


def operands_of(op: Operation) -> tuple[SSAValue, ...]:
    """The operands of an op, as they are now."""
    return op._operands


def result_of(op: Operation) -> SSAValue:
    """The first result of an op (indexing xDSL's own tuple takes longer)."""
    return next(iter(op.results))


def ops_of(root: Operation, /, *classes: type[Op]) -> list[Op]:
    """The ops in (and including) an op whose class is one of these, in the order of :func:`all_ops`."""
    wanted = frozenset(classes)
    return [cast("Op", op) for op in all_ops(root) if type(op) in wanted]
