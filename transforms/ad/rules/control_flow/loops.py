"""Derivatives of loops in forward mode, where one loop carries values and their tangents.

Linearization emits two loops, see :mod:`wengert.transforms.ad.rules.control_flow.loop_records`.
"""

from __future__ import annotations

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.core.control import keep_policy
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import drop_dead_ops
from wengert.transforms.ad.residuals.policies import policy_of
from wengert.transforms.ad.rule import STEPS
from wengert.transforms.ad.rules.control_flow.active_loop import ActiveLoop, Loop, bind, create_loop, loop_block, set_results
from wengert.transforms.ad.rules.control_flow.loop_records import linearize_loop
from wengert.transforms.ad.rules.control_flow.nests import nest_of
from wengert.transforms.core.counting import constant_integer


def _step(sweep: ForwardSweep, op: Loop) -> None:
    """A loop over (x, dx): each iteration is differentiated by the rules of its ops, and the loop carries both."""
    if isinstance(op, core.ForOp) and (constant_integer(op.trip_count) or 0) < 1 and constant_integer(op.trip_count) is not None:
        sweep.bind(op.results, [sweep.primal(v) for v in op.initial], [sweep.tangent(v) for v in op.initial])  # no iteration
        return
    if not sweep.fused and isinstance(op, core.ForOp) and (nest := nest_of(op, policy_of(op, sweep.policy))) is not None:
        sweep.run_instead(op, nest)
        return
    loop = ActiveLoop.of(sweep, op)
    (_forward_mode if sweep.fused else linearize_loop)(sweep, loop)


STEPS[core.ForOp] = _step
STEPS[core.WhileOp] = _step


def _forward_mode(sweep: ForwardSweep, loop: ActiveLoop) -> None:
    """One loop that carries values and tangents."""
    constants = [*loop.constants, *loop.constant_dots.values()]
    carried = [*loop.initial, *loop.carried_dots.values()]
    block = loop_block(loop, [*constants, *carried])
    arguments = block.args[loop.first :]
    new_constants, rest = arguments[: len(loop.constants)], arguments[len(loop.constants) :]
    constant_dots, rest = rest[: len(loop.constant_dots)], rest[len(loop.constant_dots) :]
    new_carried, carried_dots = rest[: len(loop.initial)], rest[len(loop.initial) :]
    inner = sweep.nested(block, block, [*constant_dots, *carried_dots])
    bind(inner, loop, block, new_constants, new_carried, dict(zip(loop.constant_dots, constant_dots)), dict(zip(loop.carried_dots, carried_dots)))
    inner.run(loop.ops)
    y_dots = [materialized(inner.b, inner.tangent(loop.returned[i]), loop.returned[i].type) for i in loop.carried_dots]
    block.add_op(hlo.ReturnOp.create(operands=[*(inner.primal(v) for v in loop.returned), *y_dots]))
    drop_dead_ops(block)
    loop_results = keep_policy(loop.op, create_loop(sweep.b, loop, constants, carried, block))
    n = len(loop.initial)
    set_results(sweep, loop, loop_results[:n], dict(zip(loop.carried_dots, loop_results[n:])))
