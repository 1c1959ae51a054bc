"""Core's control flow: counted loops, loops with a condition, branches, and the tapes of loops whose number of iterations is not known.

All of them are *closed*: what a region uses from outside comes in through operands, so that passes see every dependence. A
loop's operands are its *constants*, which stay the same in every iteration, and the initial values of what it *carries*.

A tape is a list of tensors of one type that grows at its end. A loop writes on it what its reverse sweep needs; pushing consumes the tape
that it is given, so there is one owner at a time and nothing is copied. A loop with a known number of iterations writes each entry at its index
(``core.tape_set``) on a tape of this length, of which ``tapes-to-stacks`` makes a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import IntAttr, NoneAttr
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    operand_def,
    param_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure, RecursiveMemoryEffect

from wengert.dialects.core import syntax as cx
from wengert.dialects.facts import MOVEMENT, REGIONS, UNBATCHED, Facts, Traffic, Work
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I64Attr, int_of
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx

POLICY = "ad.policy"
"""The attribute of a loop that names what reverse mode keeps of it, in place of what is asked for the whole program."""


def keep_policy(loop: Operation, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """The results of a loop that stands for another one, which passes on the policy that it names."""
    policy = loop.attributes.get(POLICY)
    if policy is not None and values and isinstance(values[0].owner, Operation):
        values[0].owner.attributes[POLICY] = policy
    return values


class LoopOp(TensorOp):
    """The base class of loops: ``constants`` constants and the initial carried values, and a body that returns the carried values."""

    inputs = var_operand_def()
    constants: Any = prop_def(I64Attr)
    body = region_def("single_block")
    results_ = var_result_def()
    traits = traits_def(RecursiveMemoryEffect())

    @property
    def constant_operands(self) -> Sequence[SSAValue]:
        return self.inputs[: int_of(self.constants)]

    @property
    def initial(self) -> Sequence[SSAValue]:
        return self.inputs[int_of(self.constants) :]

    @property
    def block(self) -> Block:
        return self.body.block


@op_definition
class ForOp(LoopOp):
    """Runs the body ``trip_count`` times (not at all if that is negative).

    Operands: the trip count (``tensor<i64>``), ``constants`` constants, and the initial carried values. The body takes the
    iteration (``tensor<i64>``, from 0), the constants and the carried values, and returns the carried values. (What a class declares comes
    before what its base class does: the trip count is the first operand, and the condition of a ``core.while`` its first region.)
    """

    name = "core.for"
    FACTS: ClassVar = REGIONS
    SYNTAX: ClassVar = sx.Syntax(cx.ForText())
    trip_count = operand_def()


@op_definition
class WhileOp(LoopOp):
    """Runs the body as long as the condition holds. Both regions take the constants and the carried values."""

    name = "core.while"
    FACTS: ClassVar = REGIONS
    SYNTAX: ClassVar = sx.Syntax(cx.WhileText())
    condition = region_def("single_block")


@op_definition
class CaseOp(TensorOp):
    """Runs the branch that the index (``tensor<i32>``) picks, the last one if it is out of range; each takes all inputs."""

    name = "core.case"
    FACTS: ClassVar = REGIONS
    SYNTAX: ClassVar = sx.Syntax(cx.CaseText())
    index = operand_def()
    inputs = var_operand_def()
    branches = var_region_def("single_block")
    results_ = var_result_def()
    traits = traits_def(RecursiveMemoryEffect())


@irdl_attr_definition
class TapeType(ParametrizedAttribute, TypeAttribute):
    """A list of values of one type: ``!core.tape<tensor<3xf64>>`` grows, ``!core.tape<5, tensor<3xf64>>`` has an entry for each of 5 iterations.

    A tape with a length may be an entry of another tape: what an inner loop records is one entry of the outer loop.
    """

    name = "core.tape"
    entry_type: Attribute = param_def()
    length: IntAttr | NoneAttr = param_def()

    def __init__(self, entry_type: Attribute, length: int | None = None):
        super().__init__(entry_type, NoneAttr() if length is None else IntAttr(length))

    @property
    def static_length(self) -> int | None:
        """The number of entries; None if the tape grows."""
        return self.length.data if isinstance(self.length, IntAttr) else None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            length = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
            if length is not None:
                parser.parse_punctuation(",")
            return [parser.parse_type(), NoneAttr() if length is None else IntAttr(length)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if self.static_length is not None:
                printer.print_string(f"{self.static_length}, ")
            printer.print_attribute(self.entry_type)


@op_definition
class TapeCreateOp(TensorOp):
    """A new empty tape. Not pure: two tapes are two."""

    name = "core.tape_create"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.Syntax(sx.ResultTypes())
    tape = result_def(TapeType)


@op_definition
class TapePushOp(TensorOp):
    """The tape with a value at its end; the tape given is consumed."""

    name = "core.tape_push"
    FACTS: ClassVar = Facts(work=Work.NONE, traffic=Traffic.TAPE)
    SYNTAX: ClassVar = sx.plain()
    operand = operand_def(TapeType)
    value = operand_def()
    tape = result_def(TapeType)


@op_definition
class TapeExtendOp(TensorOp):
    """The tape with all values of another at its end; the first tape is consumed."""

    name = "core.tape_extend"
    FACTS: ClassVar = MOVEMENT
    SYNTAX: ClassVar = sx.plain()
    operand = operand_def(TapeType)
    other = operand_def(TapeType)
    tape = result_def(TapeType)


@op_definition
class TapeSizeOp(TensorOp):
    """The number of values on a tape, ``tensor<i64>``."""

    name = "core.tape_size"
    FACTS: ClassVar = MOVEMENT
    SYNTAX: ClassVar = sx.plain()
    operand = operand_def(TapeType)
    size = result_def()


@op_definition
class TapeReadOp(TensorOp):
    """The value at a position (``tensor<i64>``) of a tape that is complete."""

    name = "core.tape_read"
    FACTS: ClassVar = Facts(work=Work.NONE, recompute=True)
    SYNTAX: ClassVar = sx.plain()
    operand = operand_def(TapeType)
    index = operand_def()
    value = result_def()
    traits = traits_def(Pure())


@op_definition
class TapeFromOp(TensorOp):
    """The part of a complete tape that begins at a position."""

    name = "core.tape_from"
    FACTS: ClassVar = MOVEMENT
    SYNTAX: ClassVar = sx.plain()
    operand = operand_def(TapeType)
    index = operand_def()
    tape = result_def(TapeType)
    traits = traits_def(Pure())


@op_definition
class TapeGetOp(TensorOp):
    """The value at a position of a tape, zeros where nothing was set."""

    name = "core.tape_get"
    FACTS: ClassVar = MOVEMENT
    operand = operand_def(TapeType)
    index = operand_def()
    value = result_def()
    traits = traits_def(Pure())


@op_definition
class TapeSetOp(TensorOp):
    """The tape with a value at a position, grown as needed; the tape given is consumed."""

    name = "core.tape_set"
    FACTS: ClassVar = Facts(work=Work.NONE, traffic=Traffic.TAPE)
    operand = operand_def(TapeType)
    index = operand_def()
    value = operand_def()
    tape = result_def(TapeType)


@op_definition
class TapeAddOp(TensorOp):
    """The tape with a value added to what is at a position (zeros if nothing is), grown as needed; consumes the tape."""

    name = "core.tape_add"
    FACTS: ClassVar = Facts(work=Work.FORMULA, traffic=Traffic.TAPE)
    operand = operand_def(TapeType)
    index = operand_def()
    value = operand_def()
    tape = result_def(TapeType)


@op_definition
class TapeSetFromOp(TensorOp):
    """The tape with the values of another from a position on; the first tape is consumed."""

    name = "core.tape_set_from"
    FACTS: ClassVar = MOVEMENT
    operand = operand_def(TapeType)
    index = operand_def()
    other = operand_def(TapeType)
    tape = result_def(TapeType)


@op_definition
class TapeAddFromOp(TensorOp):
    """The tape with the values of another added from a position on; the first tape is consumed."""

    name = "core.tape_add_from"
    FACTS: ClassVar = MOVEMENT  # how many values it adds is known at run time only
    operand = operand_def(TapeType)
    index = operand_def()
    other = operand_def(TapeType)
    tape = result_def(TapeType)


CONTROL = (
    ForOp,
    WhileOp,
    CaseOp,
    TapeCreateOp,
    TapePushOp,
    TapeExtendOp,
    TapeSizeOp,
    TapeReadOp,
    TapeFromOp,
    TapeGetOp,
    TapeSetOp,
    TapeAddOp,
    TapeSetFromOp,
    TapeAddFromOp,
)
