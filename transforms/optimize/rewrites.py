"""The table of rewrites: small named functions, each one law, registered for the op classes that they look at.

A rewrite takes a builder and an op and returns what stands for the op's results, or None where its law does not apply. By
default a law holds bit for bit, for NaN, infinities and zeros of both signs (the payload of a NaN apart). One that does not
says which :class:`Assumption` it needs, and is applied only where that assumption was asked for.

    @rewrite(stablehlo.NegateOp, given=[stablehlo.NegateOp])
    def double_negation(b: OpBuilder, op: stablehlo.NegateOp) -> Rewritten:
        \"\"\"-(-x) = x\"\"\"
        inner = made_by(op.operand, stablehlo.NegateOp)
        return None if inner is None else inner.operand
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from wengert.dialects.builder import OpBuilder

Rewritten = SSAValue | Sequence[SSAValue] | None
RewriteFunction = Callable[[OpBuilder, Any], Rewritten]


class Assumption(StrEnum):
    """An assumption that a rewrite may make although IEEE arithmetic does not grant it."""

    UNORDERED = "unordered"
    """A reduction may combine in any order, as core.reduce says that it does; so sums may differ in rounding."""

    NO_SIGNED_ZEROS = "no-signed-zeros"
    """The sign of a zero does not matter."""

    FINITE = "finite"
    """No value is infinite or NaN."""


class Rewrite(Struct, frozen=True):
    """A law as a function, with its name, the op classes it looks at and the assumptions it needs."""

    name: str
    law: str
    ops: tuple[type[Operation], ...]
    needs: frozenset[Assumption]
    given: frozenset[type[Operation]]
    """Op classes of which one must make an operand, else the law is not even tried (none: it always is)."""
    function: RewriteFunction

    @property
    def exact(self) -> bool:
        """Whether the law holds bit for bit."""
        return not self.needs


REWRITES: list[Rewrite] = []
"""Every rewrite, in the order in which they are tried."""


def rewrite(*ops: type[Operation], needs: Sequence[Assumption] = (), given: Sequence[type[Operation]] = ()) -> Callable[[RewriteFunction], RewriteFunction]:
    """Registers a function as a rewrite of these ops; its name and the first line of its docstring describe it.

    ``given`` saves time: the function is called only for an op that has an operand made by an op of one of these classes.
    """

    def register(function: RewriteFunction) -> RewriteFunction:
        law = (function.__doc__ or "").strip().split("\n")[0].rstrip(".")
        REWRITES.append(Rewrite(function.__name__.replace("_", "-"), law, ops, frozenset(needs), frozenset(given), function))
        return function

    return register


def rewrites_by_op(assume: Collection[Assumption]) -> dict[type[Operation], tuple[Rewrite, ...]]:
    """The rewrites that these assumptions allow, by op class."""
    table: dict[type[Operation], list[Rewrite]] = {}
    for known in REWRITES:
        if known.needs <= set(assume):
            for cls in known.ops:
                table.setdefault(cls, []).append(known)
    return {cls: tuple(rewrites) for cls, rewrites in table.items()}
