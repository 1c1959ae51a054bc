"""Walking over all ops of a module at once.

A pass that looks for ops of a few classes in a whole module does so many times in one compilation, and mostly finds none; a list
made in one go takes a third of the time of xDSL's nested generators.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TypeVar, cast

from xdsl.ir import Operation

Op = TypeVar("Op", bound=Operation)


def all_ops(root: Operation) -> list[Operation]:
    """The op and all ops inside it, each before those inside it, in the order in which they stand."""
    found = [root]
    _collect(root, found)
    return found


def _collect(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                found.append(inner)
                if inner.regions:
                    _collect(inner, found)
                inner = inner._next_op
            block = block._next_block


def ops_of(root: Operation, /, *classes: type[Op]) -> list[Op]:
    """The ops in (and including) an op whose class is one of these, in the order of :func:`all_ops`."""
    return [cast("Op", op) for op in all_ops(root) if type(op) in classes]
