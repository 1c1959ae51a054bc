"""The operands and regions of ``ad.replay`` by what they are."""

from __future__ import annotations

from msgspec import Struct
from xdsl.ir import Block

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import shape
from wengert.transforms.ad.replay.building import Step, Values, inlined


class Replay(Struct, frozen=True):
    """An ``ad.replay``, taken apart.

    Attributes:
        slots: how many states are stored at a time.
        positions: the iterations that follow the states in the slots, if the loop chose the slots while it ran.
    """

    slots: int
    step: Step
    linear: Block
    trip_count: Value
    constants: Values
    stacks: Values
    positions: Value | None
    linear_constants: Values
    carried: Values

    @staticmethod
    def of(op: ad.ReplayOp) -> Replay:
        """The parts of an op."""
        block, parts = op.step.block, len(op.state_types)

        def run(b: OpBuilder, iteration: Value, constants: Values, state: Values) -> list[Value]:
            return inlined(b, block, [iteration, *constants, *state])

        stored, count = op.stored, int_of(op.linear_constants)
        positions = stored[parts] if len(stored) > parts else None
        step = Step(run, range(parts))
        tangents = op.tangents
        return Replay(
            shape(stored[0])[0], step, op.linear.block, op.trip_count, op.constant_operands, stored[:parts], positions, tangents[:count], tangents[count:]
        )
