"""The table of adjoints: for every op, how the cotangents of its results become those of its operands.

An adjoint is a function ``(b, op, y_bars, needed) -> x_bars``. ``op`` stands in the forward sweep of the new function, so its
operands and results are primal values that the reverse sweep can use; ``b`` emits the reverse sweep. ``needed`` says which
operands' cotangents are asked for, and only what those need is emitted, so that nothing else counts as a residual. A
cotangent is None where it is structurally zero.

Ops that do more in the forward sweep than they would do otherwise (loops record, sorts return their permutation) declare a
*step* instead: it emits the forward part and returns what the reverse sweep does.

The pairing that is preserved is ``Re(sum of cotangent times tangent)``, so complex adjoints do not conjugate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.ir import Operation

from wengert.dialects.builder import OpBuilder, Value
from wengert.transforms.ad.rule import Into, Tangent

if TYPE_CHECKING:
    from wengert.transforms.ad.direct.sweep import Sweep
    from wengert.transforms.ad.linear.cotangents import Cotangents

Bars = Sequence["Tangent | Into"]
"""Contributions to the cotangents of an op's operands."""

Adjoint = Callable[[OpBuilder, Any, Sequence[Value], Sequence[bool]], Bars]


class Back(Protocol):
    """What the reverse sweep does for an op with a step: it adds to the cotangents itself."""

    def __call__(self, b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None: ...


Step = Callable[["Sweep", Any], Back]
"""Emits the forward part of an op and binds its results; returns the reverse part."""

ADJOINTS: dict[type[Operation], Adjoint] = {}
STEPS: dict[type[Operation], Step] = {}
INACTIVE: dict[type[Operation], Callable[[Any], bool]] = {}
"""Ops whose derivative is zero wherever it exists, with the condition under which it is."""


def adjoint(*ops: type[Operation]) -> Callable[[Adjoint], Adjoint]:
    """Declares the adjoint of ops. Results without a cotangent come as None where an op has several."""

    def register(rule: Adjoint) -> Adjoint:
        for op in ops:
            _claim(op)
            ADJOINTS[op] = rule
        return rule

    return register


def unary(*ops: type[Operation]) -> Callable[[Callable[[OpBuilder, Value, Value, Value], Value]], Callable[[OpBuilder, Value, Value, Value], Value]]:
    """Declares the adjoint of elementwise functions of one variable: ``(b, x, y, y_bar) -> x_bar``."""

    def register(rule: Callable[[OpBuilder, Value, Value, Value], Value]) -> Callable[[OpBuilder, Value, Value, Value], Value]:
        def adjoint(b: OpBuilder, op: Operation, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
            return [rule(b, op.operands[0], op.results[0], y_bars[0])]

        for op in ops:
            _claim(op)
            ADJOINTS[op] = adjoint
        return rule

    return register


Both = tuple[Callable[[], Value | None], Callable[[], Value | None]]
"""How to make the cotangents of two operands, each only if it is asked for."""


def binary(
    *ops: type[Operation],
) -> Callable[[Callable[[OpBuilder, Value, Value, Value, Value], Both]], Callable[[OpBuilder, Value, Value, Value, Value], Both]]:
    """Declares the adjoint of elementwise functions of two variables: ``(b, x1, x2, y, y_bar) -> (x1_bar, x2_bar)``, unevaluated."""

    def register(rule: Callable[[OpBuilder, Value, Value, Value, Value], Both]) -> Callable[[OpBuilder, Value, Value, Value, Value], Both]:
        def adjoint(b: OpBuilder, op: Operation, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
            makers = rule(b, op.operands[0], op.operands[1], op.results[0], y_bars[0])
            return [make() if flag else None for make, flag in zip(makers, needed, strict=True)]

        for op in ops:
            _claim(op)
            ADJOINTS[op] = adjoint
        return rule

    return register


def step(*ops: type[Operation]) -> Callable[[Step], Step]:
    """Declares ops that take part in the forward sweep themselves."""

    def register(rule: Step) -> Step:
        for op in ops:
            _claim(op)
            STEPS[op] = rule
        return rule

    return register


def inactive(*ops: type[Operation], where: Callable[[Any], bool] = lambda op: True) -> None:
    """Declares ops to have a derivative of zero (``where`` a condition holds)."""
    for op in ops:
        INACTIVE[op] = where


def is_inactive(op: Operation) -> bool:
    """Whether no result of an op depends differentiably on its operands."""
    where = INACTIVE.get(type(op))
    return where is not None and where(op)


def _claim(op: type[Operation]) -> None:
    if op in ADJOINTS or op in STEPS:
        raise ValueError(f"{op.name} is declared twice")
