"""Writes ``ad.replay`` out as loops, which any backend runs and every pass knows.

It is done where a linear part is joined with the forward part, or is not transposed any more.
"""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import i64
from wengert.ir.traversal import all_ops
from wengert.transforms.ad.replay import counted, uncounted
from wengert.transforms.ad.replay.building import Values, counted_loop, inlined, row
from wengert.transforms.ad.replay.operands import Replay
from wengert.transforms.core.counting import constant_integer
from wengert.transforms.rewriter import Rewriter


def expand_replays(root: Operation) -> None:
    """Replaces every ``ad.replay`` in a module or function, those inside of others first, in place."""
    for op in reversed([op for op in all_ops(root) if isinstance(op, ad.ReplayOp)]):
        b = Rewriter.before(op, "replay")
        b.replace(op, _as_loops(b, op))


def _as_loops(b: OpBuilder, op: ad.ReplayOp) -> list[Value]:
    replay = Replay.of(op)
    if op.reverse is None:
        return _forward(b, replay)
    if replay.positions is not None:
        return uncounted.reversal(b, replay)
    iterations = constant_integer(op.trip_count)
    assert iterations is not None, "a loop that is counted when it runs keeps the positions of its states"
    return counted.reversal(b, replay, iterations)


def _forward(b: OpBuilder, replay: Replay) -> list[Value]:
    """The linear part in the order of the loop: states and tangents side by side, from the first state on, which slot 0 holds."""

    def iteration(inner: OpBuilder, n: Value, given: Values, values: Values) -> Values:
        constants, linear_constants = given[: len(replay.constants)], given[len(replay.constants) :]
        state, carried = values[: len(replay.stacks)], values[len(replay.stacks) :]
        following = replay.step.run(inner, n, constants, state)
        return [*following, *inlined(inner, replay.linear, [n, *constants, *state, *linear_constants, *carried])]

    first = [row(b, stack, b.scalar(0, i64)) for stack in replay.stacks]
    given = [*replay.constants, *replay.linear_constants]
    return counted_loop(b, replay.trip_count, given, [*first, *replay.carried], iteration)[len(first) :]
