"""Loops as blocks of iterations: the two-level form in which the reverse part keeps the residuals of one block at a time.

A loop of n iterations becomes a loop over n / k blocks of k iterations, and a loop over what is left, of which more is not known than before: ::

    for i < 10 { s = f(i, s) }      for j < 3 { for k < 3 { s = f(3 j + k, s) } }; for k < 1 { s = f(9 + k, s) }

The outer loop keeps the state before every block; the inner one runs again, and keeps what the policy for loops keeps.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core.control import POLICY
from wengert.ir.tensor_types import i64
from wengert.transforms.ad.replay.building import Step, Values, counted_loop, inlined, run_from
from wengert.transforms.ad.residuals.policies import AUTO, Policy, RecomputeAll
from wengert.transforms.core.counting import constant_integer


def nest_of(op: core.ForOp, policy: Policy) -> list[Operation] | None:
    """The ops, in no block, that run a loop in blocks, the last of which has its results; None where the policy asks for no blocks."""
    iterations = constant_integer(op.trip_count)
    size = None if iterations is None else policy.block(iterations)
    if iterations is None or size is None:
        return None
    block = Block()
    b = OpBuilder(block, location=op.location)
    step = Step(lambda inner, i, constants, carried: inlined(inner, op.block, [i, *constants, *carried]), ())

    def outer(inner: OpBuilder, j: SSAValue, constants: Values, carried: Values) -> Values:
        return _marked(run_from(inner, step, inner.multiply(j, inner.scalar(size, i64)), inner.scalar(size, i64), constants, carried), AUTO)

    blocks, left = divmod(iterations, size)
    values = _marked(counted_loop(b, b.scalar(blocks, i64), op.constant_operands, op.initial, outer), RecomputeAll())
    if left:
        values = _marked(run_from(b, step, b.scalar(blocks * size, i64), b.scalar(left, i64), op.constant_operands, values), AUTO)
    ops = list(block.ops)
    for each in ops:
        each.detach()
    return ops


def _marked(values: Values, policy: Policy) -> Values:
    """The results of a loop, which names a policy from now on."""
    loop = values[0].owner
    assert isinstance(loop, Operation)
    loop.attributes[POLICY] = StringAttr(policy.name)
    return values
