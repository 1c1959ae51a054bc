"""Typing rules of transfers to and from the host and other programs, and of ops that are started now and awaited later."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from wengert.dialects.stablehlo import collective, indexing, shape
from wengert.dialects.stablehlo import transfer as ops
from wengert.dialects.stablehlo.attributes import ChannelHandleAttr, FutureType, TokenType
from wengert.dialects.stablehlo.typing.checks import as_tensor, expect_static, fail, result_name
from wengert.dialects.stablehlo.typing.regions import body, expect_results, expect_types
from wengert.ir.attributes import int_of
from wengert.ir.verification.typing_rules import typing_rule

DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE = 1, 2, 3
_CHANNEL_TYPES = {DEVICE_TO_DEVICE: "device to device", DEVICE_TO_HOST: "device to host", HOST_TO_DEVICE: "host to device"}

ASYNCHRONOUS = (
    *(collective.AllGatherOp, collective.AllReduceOp, collective.AllToAllOp, collective.CollectiveBroadcastOp),
    *(collective.CollectivePermuteOp, collective.ReduceScatterOp),
    *(shape.SliceOp, indexing.DynamicSliceOp, indexing.DynamicUpdateSliceOp),
)
"""The ops that may be started and awaited later."""


def expect_token(role: str, type: Attribute) -> None:
    """The type is that of tokens."""
    if not isinstance(type, TokenType):
        fail(f"{role} must be of the type !stablehlo.token, found {type}")


def expect_inputs_and_token(op: Operation) -> None:
    """The operands are tensors and a token, and so is the result a token."""
    if not op.operands:
        fail("the last operand must be of the type !stablehlo.token, found no operands")
    for i, x in enumerate(op.operands[:-1]):
        as_tensor(f"input #{i}", x.type)
    expect_token("the last operand", op.operands[-1].type)
    expect_token(result_name(op, 0), op.results[0].type)


def expect_values_and_token(op: Operation) -> None:
    """The operand is a token, and the results are tensors of known shapes and a token."""
    expect_token("operand", op.operands[0].type)
    if not op.results:
        fail("the last result must be of the type !stablehlo.token, found no results")
    for i, result in enumerate(op.results[:-1]):
        expect_static(result_name(op, i), as_tensor(result_name(op, i), result.type))
    expect_token("the last result", op.results[-1].type)


def expect_channel(op: Operation, of_host: int) -> None:
    """The channel's type fits: ``of_host`` where the host is one end, else among devices."""
    at_host = op.properties.get("is_host_transfer")
    expected = of_host if at_host is not None and int_of(at_host) else DEVICE_TO_DEVICE
    channel_type = int_of(cast(ChannelHandleAttr, op.properties["channel_handle"]).type)
    if channel_type != expected:
        where = "is set" if expected == of_host else "is not set"
        fail(f"the type of channel_handle must be {expected} ({_CHANNEL_TYPES[expected]}) where is_host_transfer {where}, found {channel_type}")


@typing_rule(ops.SendOp)
def check_send(op: ops.SendOp) -> None:
    """Tensors and a token give a token."""
    expect_inputs_and_token(op)
    expect_channel(op, DEVICE_TO_HOST)


@typing_rule(ops.RecvOp)
def check_recv(op: ops.RecvOp) -> None:
    """A token gives tensors and a token."""
    expect_values_and_token(op)
    expect_channel(op, HOST_TO_DEVICE)


@typing_rule(ops.OutfeedOp)
def check_outfeed(op: ops.OutfeedOp) -> None:
    """Tensors and a token give a token."""
    expect_inputs_and_token(op)


@typing_rule(ops.InfeedOp)
def check_infeed(op: ops.InfeedOp) -> None:
    """A token gives tensors and a token; there is a layout, which lists dimensions, for each tensor or none at all."""
    expect_values_and_token(op)
    layouts = cast("ArrayAttr[Any] | None", op.properties.get("layout"))
    if layouts is None:
        return
    if len(layouts.data) != len(op.results) - 1:
        fail(f"layout must have an entry for each of the {len(op.results) - 1} tensors, found {len(layouts.data)}")
    for layout in layouts.data:
        if not isinstance(layout, ArrayAttr) or not all(isinstance(d, IntegerAttr) for d in cast("ArrayAttr[Attribute]", layout).data):
            fail(f"an entry of layout must be a list of dimension numbers, found {layout}")


@typing_rule(ops.AsyncStartOp)
def check_async_start(op: ops.AsyncStartOp) -> None:
    """The region takes the operands and holds one op, of those that may run beside others; the result is a future of its value."""
    block, returned = body(op.regions[0], "computation")
    expect_types("argument of the computation region", block.arg_types, [v.type for v in op.operands], "like the operands")
    for i, (argument, x) in enumerate(zip(block.args, op.operands, strict=True)):
        if argument.type != x.type:
            fail(f"argument of the computation region #{i} must have exactly the type {x.type} of its operand, found {argument.type}")
    inner = list(block.ops)[:-1]
    if len(inner) != 1 or not isinstance(inner[0], ASYNCHRONOUS):
        listed = ", ".join(op.name for op in inner) or "none"
        fail(f"the computation region must hold one op, a collective or a slice, and a return, found {listed}")
    if len(returned) != 1:
        fail(f"the computation region must return one value, found {len(returned)}")
    expect_results(op, [FutureType(ArrayAttr(returned))], "that the computation gives later")


@typing_rule(ops.AsyncDoneOp)
def check_async_done(op: ops.AsyncDoneOp) -> None:
    """The result is what the future holds."""
    type = op.operands[0].type
    if not isinstance(type, FutureType):
        fail(f"operand must be a future, found {type}")
    if len(type.types.data) != 1:
        fail(f"operand must be a future of one value, found {type}")
    expect_results(op, list(type.types.data), "of the future")
