"""Typing rules of the core dialect. Importing this module registers them."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects import core, core_control
from wengert.dialects.core_control import TapeType
from wengert.dialects.stablehlo.attributes import ScatterDimensionNumbersAttr
from wengert.dialects.stablehlo.typing.checks import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    Tensor,
    as_tensor,
    element_class,
    expect_dimensions,
    expect_elements,
    expect_in_range,
    expect_result,
    expect_scalar,
    fail,
    int_list,
    int_property,
    operand,
    same_element,
)
from wengert.dialects.stablehlo.typing.indexing import check_scatter_numbers
from wengert.dialects.stablehlo.typing.regions import body, check_predicate, expect_results, expect_types
from wengert.dialects.stablehlo.typing.windows import windows
from wengert.ir.tensor_types import i32, i64, tensor
from wengert.ir.typing_rules import typing_rule


def expect_kind(op: Operation, x: Tensor, *, scatter: bool = False) -> None:
    """The kind combines elements of this type; ``set`` is for scatters."""
    kind = cast(core.KindAttr, op.properties["kind"]).data
    if kind is core.Kind.set and not scatter:
        fail("kind set is for scatters: it depends on the order of the elements")
    if kind in (core.Kind.and_, core.Kind.or_) and not element_class(x.element_type) & (BOOLEAN | INTEGER):
        fail(f"kind {kind} is for booleans or integers, found {x}")


@typing_rule(core.ReduceOp)
def check_reduce(op: core.ReduceOp) -> None:
    """The operand's shape without the dimensions."""
    x = operand(op, 0, "operand")
    dims = int_list(op, "dimensions")
    expect_dimensions("dimensions", dims, len(x.get_shape()))
    expect_kind(op, x)
    expect_result(op, [n for d, n in enumerate(x.get_shape()) if d not in dims], x.element_type)


@typing_rule(core.ArgReduceOp)
def check_argreduce(op: core.ArgReduceOp) -> None:
    """Both results have the operand's shape without the dimension; positions are integers."""
    x = operand(op, 0, "operand")
    expect_elements("operand", x, BOOLEAN | INTEGER | FLOAT)
    dimension = int_property(op, "dimension")
    expect_in_range("dimension", (dimension,), len(x.get_shape()))
    index = as_tensor("index", op.results[1].type)
    expect_elements("index", index, INTEGER)
    kept = [n for d, n in enumerate(x.get_shape()) if d != dimension]
    expect_result(op, kept, x.element_type, 0)
    expect_result(op, kept, index.element_type, 1)


@typing_rule(core.WindowReduceOp)
def check_window_reduce(op: core.WindowReduceOp) -> None:
    """One element for each position of the window."""
    x = operand(op, 0, "operand")
    expect_kind(op, x)
    rank = len(x.get_shape())
    edges = int_list(op, "padding", 2 * rank, meaning="a low and a high edge for each dimension of the operand")
    sizes = int_list(op, "window_dimensions", rank)
    padding = list(zip(edges[::2], edges[1::2], strict=True))
    expect_result(op, windows(op, sizes, padding=padding).output(x.get_shape()), x.element_type)


@typing_rule(core.CumulativeOp)
def check_cumulative(op: core.CumulativeOp) -> None:
    """The operand's type."""
    x = operand(op, 0, "operand")
    expect_kind(op, x)
    expect_in_range("dimension", (int_property(op, "dimension"),), len(x.get_shape()))
    expect_result(op, x.get_shape(), x.element_type)


@typing_rule(core.ScatterOp)
def check_scatter(op: core.ScatterOp) -> None:
    """The operand's type; updates as in stablehlo.scatter, of the same element type."""
    x, indices, updates = operand(op, 0, "operand"), operand(op, 1, "scatter_indices"), operand(op, 2, "updates")
    same_element("operand", x, "updates", updates)
    expect_kind(op, x, scatter=True)
    numbers = cast(ScatterDimensionNumbersAttr, op.properties["scatter_dimension_numbers"])
    check_scatter_numbers(numbers, x.get_shape(), indices, updates.get_shape())
    expect_result(op, x.get_shape(), x.element_type)


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


@typing_rule(core_control.ForOp)
def check_for(op: core_control.ForOp) -> None:
    """The body takes the iteration, constants and carried values, and returns the carried values."""
    expect_scalar("trip_count", op.operands[0].type, i64)
    constants, values = carried(op, 1)
    block, returned = body(op.regions[0], "body")
    expect_types("argument of the body region", block.arg_types, [tensor((), i64), *constants, *values], "(iteration, constants and carried values)")
    expect_types("value returned by the body region", returned, values, "of the carried value")
    expect_closed(op.regions[0], "body")
    expect_results(op, values, "of the carried value")


@typing_rule(core_control.WhileOp)
def check_while(op: core_control.WhileOp) -> None:
    """Both regions take the constants and the carried values; the body returns the latter."""
    constants, values = carried(op, 0)
    check_predicate(op.regions[0], "condition", [*constants, *values], "(constants and carried values)")
    block, returned = body(op.regions[1], "body")
    expect_types("argument of the body region", block.arg_types, [*constants, *values], "(constants and carried values)")
    expect_types("value returned by the body region", returned, values, "of the carried value")
    for region, name in zip(op.regions, ("condition", "body"), strict=True):
        expect_closed(region, name)
    expect_results(op, values, "of the carried value")


@typing_rule(core_control.CaseOp)
def check_case(op: core_control.CaseOp) -> None:
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
    found = op.operands[index].type
    if not isinstance(found, TapeType):
        fail(f"operand #{index} must be a tape, found {found}")
    return found


@typing_rule(core_control.TapeCreateOp)
def check_tape_create(op: core_control.TapeCreateOp) -> None:
    """A tape of any tensors."""
    if not isinstance(op.results[0].type, TapeType):
        fail(f"result must be a tape, found {op.results[0].type}")


@typing_rule(core_control.TapePushOp)
def check_tape_push(op: core_control.TapePushOp) -> None:
    """The value is one that the tape holds."""
    expect_types("value pushed", [op.operands[1].type], [tape(op).held], "that the tape holds")
    expect_results(op, [tape(op)], "of the tape")


@typing_rule(core_control.TapeExtendOp)
def check_tape_extend(op: core_control.TapeExtendOp) -> None:
    """Two tapes of one type."""
    expect_types("operand", [tape(op, 1)], [tape(op)], "of the tape that is extended")
    expect_results(op, [tape(op)], "of the tape")


@typing_rule(core_control.TapeSizeOp)
def check_tape_size(op: core_control.TapeSizeOp) -> None:
    """A scalar i64."""
    tape(op)
    expect_result(op, (), i64)


@typing_rule(core_control.TapeReadOp)
def check_tape_read(op: core_control.TapeReadOp) -> None:
    """A value that the tape holds."""
    expect_scalar("index", op.operands[1].type, i64)
    expect_results(op, [tape(op).held], "that the tape holds")


@typing_rule(core_control.TapeFromOp)
def check_tape_from(op: core_control.TapeFromOp) -> None:
    """A tape of the same type."""
    expect_scalar("index", op.operands[1].type, i64)
    expect_results(op, [tape(op)], "of the tape")
