"""Ops that are replaced before fusion, each kind by a module of its own: products, convolutions and windows in forms for which there is better code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from wengert.dialects.builder import OpBuilder
from wengert.ir.traversal import ops_of
from wengert.transforms.rewriter import Rewriter

Op = TypeVar("Op", bound=Operation)
Found = TypeVar("Found")


def replaced(
    function: FuncOp, name: str, classes: tuple[type[Op], ...], find: Callable[[Op], Found | None], make: Callable[[OpBuilder, Op, Found], SSAValue]
) -> FuncOp:
    """The function itself if nothing is found, else a copy with other ops in the place of those for which something is.

    Args:
        function: a function of tensor ops; it is not changed.
        name: what locations of the new ops say that they come from.
        classes: the classes of ops that are looked at, also in loops and branches.
        find: what is to be done with an op; None, or anything else that counts as false, if it stays.
        make: builds what stands for the op's only result.
    """
    if not any(find(op) for op in ops_of(function, *classes)):
        return function
    copy, b = function.clone(), Rewriter(name)
    for op in ops_of(copy, *classes):
        if found := find(op):
            b.move_to(op)
            b.replace(op, [make(b, op, found)])
    return copy
