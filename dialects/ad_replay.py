"""``ad.replay``: the linear part of a loop of which a few states are kept (:mod:`wengert.transforms.ad.replay`).

It has a transpose of its own, and is written out as loops by whatever takes a linear part that is not transposed any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import RecursiveMemoryEffect

from wengert.dialects.core.control_typing import expect_closed
from wengert.dialects.facts import STRUCTURE
from wengert.dialects.stablehlo.base import TensorOp
from wengert.dialects.stablehlo.typing.checks import expect_scalar
from wengert.dialects.stablehlo.typing.regions import body, expect_results, expect_types
from wengert.ir.attributes import I64Attr, int_of
from wengert.ir.operations import op_definition
from wengert.ir.tensor_types import i64, shape, shape_of_type, tensor
from wengert.ir.verification.typing_rules import typing_rule


@op_definition
class ReplayOp(TensorOp):
    """The linear part of a loop of which a few states are kept; the others are computed again from them.

    Operands: the trip count (``tensor<i64>``); ``constants`` constants; ``stacks`` tensors with a row for each slot, in which the loop has stored states, and
    if it chose the slots while it ran a tensor with the iteration that follows the state in each slot (-1: the slot is empty); ``linear_constants`` tangents
    of constants; and the tangents of carried values. ``step`` takes the iteration, the constants and a state and returns the next state; ``linear`` takes the
    iteration, the constants, a state and all tangents and returns the tangents of carried values. With ``reverse`` iterations run from the last to the first.
    """

    name = "ad.replay"
    FACTS: ClassVar = STRUCTURE
    trip_count = operand_def()
    inputs = var_operand_def()
    constants = prop_def(I64Attr)
    stacks = prop_def(I64Attr)
    linear_constants = prop_def(I64Attr)
    reverse = opt_prop_def(UnitAttr)
    step = region_def("single_block")
    linear = region_def("single_block")
    results_ = var_result_def()
    traits = traits_def(RecursiveMemoryEffect())

    @property
    def constant_operands(self) -> Sequence[SSAValue]:
        return self.inputs[: int_of(self.constants)]

    @property
    def stored(self) -> Sequence[SSAValue]:
        """The stacks, and the iterations of their states if there are such."""
        first = int_of(self.constants)
        return self.inputs[first : first + int_of(self.stacks)]

    @property
    def tangents(self) -> Sequence[SSAValue]:
        """The tangents of constants, then those that are carried."""
        return self.inputs[int_of(self.constants) + int_of(self.stacks) :]

    @property
    def state_types(self) -> list[Attribute]:
        """The types of what a state is made of."""
        last = self.step.block.last_op
        assert last is not None
        return [value.type for value in last.operands]


@typing_rule(ReplayOp)
def check_replay(op: ReplayOp) -> None:
    """The regions take and return what the operands say, and use nothing else; stacks have one number of rows."""
    expect_scalar("trip_count", op.operands[0].type, i64)
    constants, tangents = [v.type for v in op.constant_operands], [v.type for v in op.tangents]
    (step, states), (linear, carried) = (body(region, name) for region, name in zip(op.regions, ("step", "linear"), strict=True))
    iteration = tensor((), i64)
    rows = {extent for value in op.stored for extent in shape(value)[:1]}
    tensors = [cast("TensorType[Any]", state) for state in states]
    stacks = [tensor([*rows, *shape_of_type(type)], type.element_type) for type in tensors] if len(rows) == 1 else []
    iterations = [tensor([*rows], i64)] if len(op.stored) == len(states) + 1 else []
    expect_types("stack", [v.type for v in op.stored], [*stacks, *iterations], "(a row for each slot)")
    expect_types("argument of the step region", step.arg_types, [iteration, *constants, *states], "(iteration, constants and state)")
    expect_types("argument of the linear region", linear.arg_types, [iteration, *constants, *states, *tangents], "(iteration, constants, state and tangents)")
    expect_types("value returned by the linear region", carried, tangents[int_of(op.linear_constants) :], "of the carried tangent")
    for region, name in zip(op.regions, ("step", "linear"), strict=True):
        expect_closed(region, name)
    expect_results(op, carried, "of the carried tangent")
