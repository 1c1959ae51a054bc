"""Typing rules of core's control flow and tapes. Importing this module registers them."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects.core import control as ops
from wengert.dialects.core.control import TapeType
from wengert.dialects.stablehlo.typing.checks import expect_result, expect_scalar, fail, int_property
from wengert.dialects.stablehlo.typing.regions import body, check_predicate, expect_results, expect_types
from wengert.ir.tensor_types import i32, i64, tensor
from wengert.ir.verification.typing_rules import typing_rule


def carried(op: Operation, first: int) -> tuple[list[Attribute], list[Attribute]]:
    """The types of a loop's constants and of what it carries."""
    count = int_property(op, "constants")
    inputs = [v.type for v in op.operands[first:]]
    if not 0 <= count <= len(inputs):
        fail(f"constants must be between 0 and the number {len(inputs)} of inputs, found {count}")
    return inputs[:count], inputs[count:]


def expect_closed(region: Region, name: str) -> None:
    """The region uses no value from outside."""
    for op in region.walk():
        for value in op.operands:
            owner = value.owner if isinstance(value.owner, Block) else value.owner.parent
            if owner is None or not region.is_ancestor(owner):
                fail(f"the {name} region must use its arguments only, but {op.name} in it uses a value from outside")


@typing_rule(ops.ForOp)
def check_for(op: ops.ForOp) -> None:
    """The body takes the iteration, constants and carried values, and returns the carried values."""
    expect_scalar("trip_count", op.operands[0].type, i64)
    constants, values = carried(op, 1)
    block, returned = body(op.regions[0], "body")
    expect_types("argument of the body region", block.arg_types, [tensor((), i64), *constants, *values], "(iteration, constants and carried values)")
    expect_types("value returned by the body region", returned, values, "of the carried value")
    expect_closed(op.regions[0], "body")
    expect_results(op, values, "of the carried value")


@typing_rule(ops.WhileOp)
def check_while(op: ops.WhileOp) -> None:
    """Both regions take the constants and the carried values; the body returns the latter."""
    constants, values = carried(op, 0)
    check_predicate(op.regions[0], "condition", [*constants, *values], "(constants and carried values)")
    block, returned = body(op.regions[1], "body")
    expect_types("argument of the body region", block.arg_types, [*constants, *values], "(constants and carried values)")
    expect_types("value returned by the body region", returned, values, "of the carried value")
    for region, name in zip(op.regions, ("condition", "body"), strict=True):
        expect_closed(region, name)
    expect_results(op, values, "of the carried value")


@typing_rule(ops.CaseOp)
def check_case(op: ops.CaseOp) -> None:
    """Every branch takes all inputs and returns what the op gives."""
    expect_scalar("index", op.operands[0].type, i32)
    if not op.regions:
        fail("there must be at least one branch")
    for i, region in enumerate(op.regions):
        block, returned = body(region, f"branch #{i}")
        expect_types(f"argument of the branch #{i} region", block.arg_types, [v.type for v in op.operands[1:]], "of the input")
        expect_types(f"value returned by the branch #{i} region", returned, [r.type for r in op.results], "of the op's result")
        expect_closed(region, f"branch #{i}")


def tape(op: Operation, index: int = 0) -> TapeType:
    """The type of an operand that is a tape."""
    type = op.operands[index].type
    if not isinstance(type, TapeType):
        fail(f"operand #{index} must be a tape, found {type}")
    return type


@typing_rule(ops.TapeCreateOp)
def check_tape_create(op: ops.TapeCreateOp) -> None:
    """A tape of any tensors, or of tapes that have a length."""
    made = op.results[0].type
    if not isinstance(made, TapeType):
        fail(f"result must be a tape, found {made}")
    entry = made.entry_type
    if not isinstance(entry, TensorType) and not (isinstance(entry, TapeType) and entry.static_length is not None):
        fail(f"a tape holds tensors, or tapes of a length, found {entry}")


def growing(op: Operation) -> TapeType:
    """The type of the first operand, a tape without a length."""
    type = tape(op)
    if type.static_length is not None:
        fail(f"operand #0 must be a tape that grows, found {type}")
    return type


@typing_rule(ops.TapePushOp)
def check_tape_push(op: ops.TapePushOp) -> None:
    """The value is one that the tape holds, which grows."""
    growing(op)
    expect_types("value pushed", [op.operands[1].type], [tape(op).entry_type], "that the tape holds")
    expect_results(op, [tape(op)], "of the tape")


@typing_rule(ops.TapeExtendOp)
def check_tape_extend(op: ops.TapeExtendOp) -> None:
    """Two tapes of one type that grow."""
    growing(op)
    expect_types("operand", [tape(op, 1)], [tape(op)], "of the tape that is extended")
    expect_results(op, [tape(op)], "of the tape")


@typing_rule(ops.TapeSizeOp)
def check_tape_size(op: ops.TapeSizeOp) -> None:
    """A scalar i64."""
    tape(op)
    expect_result(op, (), i64)


def expect_index(op: Operation) -> None:
    """The second operand is a position."""
    expect_scalar("index", op.operands[1].type, i64)


@typing_rule(ops.TapeReadOp, ops.TapeGetOp)
def check_tape_read(op: Operation) -> None:
    """A value that the tape holds."""
    expect_index(op)
    expect_results(op, [tape(op).entry_type], "that the tape holds")


@typing_rule(ops.TapeFromOp)
def check_tape_from(op: ops.TapeFromOp) -> None:
    """A tape of the same type."""
    expect_index(op)
    expect_results(op, [tape(op)], "of the tape")


@typing_rule(ops.TapeSetOp, ops.TapeAddOp)
def check_tape_set(op: Operation) -> None:
    """The value is one that the tape holds."""
    expect_index(op)
    expect_types("value", [op.operands[2].type], [tape(op).entry_type], "that the tape holds")
    expect_results(op, [tape(op)], "of the tape")


@typing_rule(ops.TapeSetFromOp, ops.TapeAddFromOp)
def check_tape_set_from(op: Operation) -> None:
    """Two tapes of one type."""
    expect_index(op)
    expect_types("other tape", [tape(op, 2)], [tape(op)], "of the first tape")
    expect_results(op, [tape(op)], "of the tape")
