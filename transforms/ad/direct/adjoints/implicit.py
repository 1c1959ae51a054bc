"""Adjoints of values that are given by an equation: the transposed system is solved once, and the equation pulled back at the solution.

With z the solution of the transposed system for the cotangent of x, ``a(p) x = b`` gives ``b_bar = z`` and ``p_bar = -(d a(p, x) / dp)^T z``,
and ``f(p, x) = 0`` gives ``p_bar = -(df/dp)^T z``. Where the transposed system itself is solved, ``a(p)^T x = b``, the pairing
``z . a(p)^T x = x . a(p) z`` makes ``p_bar = -(d a(p, z) / dp)^T x`` of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects.ad_implicit import CustomFixedPointOp, CustomLinearSolveOp, CustomRootOp, ImplicitOp
from wengert.dialects.builder import OpBuilder, Value
from wengert.transforms.ad.direct.activity import active_in
from wengert.transforms.ad.direct.adjoint import Pullback, step
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import terminator_operands
from wengert.transforms.ad.implicit.equations import check_linear, derivative_in_unknowns, equation_of
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.ad.rules.implicit import tangent_system, transposed_solution


@step(CustomLinearSolveOp)
def linear_solve(sweep: Sweep, op: CustomLinearSolveOp) -> Pullback:
    check_linear(sweep.module, op)
    parameters, given, results = _forward(sweep, op)

    def pullback(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        z = transposed_solution(b, op.properties, parameters, _cotangents(b, op, y_bars))
        for right, b_bar in zip(given, z, strict=True):
            if sweep.has_cotangent(right):
                cotangents.add(right, b_bar)
        point, seed = (z, results) if op.is_transposed else (results, z)
        _pull_equation(sweep, b, op, parameters, point, [b.negate(value) for value in seed], cotangents)

    return pullback


@step(CustomRootOp, CustomFixedPointOp)
def equation(sweep: Sweep, op: CustomRootOp | CustomFixedPointOp) -> Pullback:
    parameters, _, results = _forward(sweep, op)

    def pullback(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        if not any(sweep.has_cotangent(p) for p in parameters):
            return
        system = tangent_system(op, derivative_in_unknowns(sweep.module, op))
        z = transposed_solution(b, system, [*parameters, *results], _cotangents(b, op, y_bars))
        seed = z if isinstance(op, CustomFixedPointOp) else [b.negate(value) for value in z]
        _pull_equation(sweep, b, op, parameters, results, seed, cotangents)

    return pullback


def _forward(sweep: Sweep, op: ImplicitOp) -> tuple[list[Value], list[Value], list[Value]]:
    """Emits the op; returns its parameters, what else it is given, and the solution, in the new function."""
    new = sweep.emit(op)
    sweep.bind(op.results, new.results)
    return [sweep.primal(p) for p in op.parameters], [sweep.primal(x) for x in op.given], list(new.results[: op.count])


def _cotangents(b: OpBuilder, op: ImplicitOp, y_bars: Sequence[Tangent]) -> list[Value]:
    """Cotangents of the unknowns."""
    return [materialized(b, y_bar, result.type) for y_bar, result in zip(y_bars, op.results[: op.count], strict=False)]


def _pull_equation(
    sweep: Sweep, b: OpBuilder, op: ImplicitOp, parameters: Sequence[Value], point: Sequence[Value], seed: Sequence[Value], cotangents: Cotangents
) -> None:
    """Adds what the equation's function at a point gives its parameters for a cotangent of its results."""
    block = equation_of(sweep.module, op).body.block
    varied = [a for a, p in zip(block.args, parameters, strict=False) if sweep.has_cotangent(p)]
    inner = Sweep(b, sweep.module, active_in(block, varied, terminator_operands(block)))
    arguments = [*parameters, *point]
    inner.bind(block.args, arguments)
    inner.forward(list(block.ops)[:-1])
    bars = Cotangents(b, primal=True)
    for value, y_bar in zip(terminator_operands(block), seed, strict=True):
        if inner.has_cotangent(inner.primal(value)):
            bars.add(inner.primal(value), y_bar)
    inner.reverse(b, bars)
    for p in dict.fromkeys(parameters):
        if sweep.has_cotangent(p):
            cotangents.add(p, bars.take(p))
