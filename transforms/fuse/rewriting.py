"""Replaces ops before fusion by forms for which there is better code: products, convolutions, windows, each in a pass of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from wengert.dialects.builder import OpBuilder
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.traversal import ops_of
from wengert.transforms.rewriter import Rewriter

Op = TypeVar("Op", bound=Operation)
Match = TypeVar("Match")


def has_matches(module: Operation, classes: tuple[type[Op], ...], match: Callable[[Op], Match | None]) -> bool:
    """Whether :func:`replace_ops` would replace anything."""
    return any(match(op) for op in ops_of(module, *classes))


def replace_ops(
    module: Operation, name: str, classes: tuple[type[Op], ...], match: Callable[[Op], Match | None], make: Callable[[OpBuilder, Op, Match], SSAValue]
) -> None:
    """Replaces the ops of a module that match, in place, also in loops and branches.

    Args:
        module: functions of tensor ops.
        name: the pass; locations of the new ops say that they come from it.
        classes: the classes of ops that are looked at.
        match: what is to be done with an op; None, or anything else that counts as false, if it stays.
        make: builds what stands for the op's only result.
    """
    b = Rewriter(name)
    for op in ops_of(module, *classes):
        if (matched := match(op)) and may_rewrite(name, op):
            b.move_to(op)
            b.replace(op, [make(b, op, matched)])
