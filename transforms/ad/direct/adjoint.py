"""The table of adjoints: for every op, how the cotangents of its results become those of its operands.

An adjoint is a function ``(b, op, y_bars, needed) -> x_bars``. ``op`` is part of the forward sweep of the new function, so its
operands and results are primal values that the reverse sweep can use; ``b`` emits the reverse sweep. ``needed`` flags the
operands whose cotangents are needed. Only what these need is emitted, so that nothing else becomes a residual. A
cotangent is None where it is structurally zero.

Ops that need a different forward part (loops record residuals, sorts return their permutation) declare a
*step* instead: it emits the forward part and returns the pullback.

The pairing that is preserved is ``Re(sum of cotangent times tangent)``, so complex adjoints do not conjugate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.ir import Operation

from wengert.dialects.builder import OpBuilder, Value
from wengert.transforms.ad.rule import InPlaceAdd, Tangent

if TYPE_CHECKING:
    from wengert.transforms.ad.direct.sweep import Sweep
    from wengert.transforms.ad.linear.cotangents import Cotangents

Bars = Sequence["Tangent | InPlaceAdd"]
"""Contributions to the cotangents of an op's operands."""

Adjoint = Callable[[OpBuilder, Any, Sequence[Value], Sequence[bool]], Bars]


class Pullback(Protocol):
    """The reverse part of an op with a step: takes cotangents of its results, and adds to those of its operands."""

    def __call__(self, b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None: ...


Step = Callable[["Sweep", Any], Pullback]
"""Emits the forward part of an op and binds its results; returns its pullback."""

ADJOINTS: dict[type[Operation], Adjoint] = {}
STEPS: dict[type[Operation], Step] = {}
INACTIVE: dict[type[Operation], Callable[[Any], bool]] = {}
"""Ops whose derivative is zero wherever it exists, with the condition under which it is."""


def adjoint(*ops: type[Operation]) -> Callable[[Adjoint], Adjoint]:
    """Declares the adjoint of ops. If an op has several results, those without a cotangent have None in ``y_bars``."""

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
"""Emitters of the cotangents of two operands; each is called only if its cotangent is needed."""


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
    """Declares the step of ops, which emits their forward part and returns their pullback."""

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
