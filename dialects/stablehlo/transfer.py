"""StableHLO's transfers to and from the host and other programs, and communication that is started now and awaited later."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DenseIntOrFPElementsAttr, StringAttr
from xdsl.irdl import operand_def, opt_prop_def, prop_def, region_def, result_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import IsolatedFromAbove, RecursiveMemoryEffect

from wengert.dialects.facts import UNBATCHED
from wengert.dialects.stablehlo.attributes import ChannelHandleAttr
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.operations import op_definition


class ChannelOp(TensorOp):
    """The base class of ``send`` and ``recv``: the channel, and whether the other end is the host or a device."""

    FACTS: ClassVar = UNBATCHED
    channel_handle: Any = prop_def(ChannelHandleAttr)
    is_host_transfer = opt_prop_def(BoolAttr)
    source_target_pairs = opt_prop_def(DenseIntOrFPElementsAttr)


@op_definition
class SendOp(ChannelOp):
    """Sends the inputs through a channel: the operands are the inputs and a token."""

    name = "stablehlo.send"
    inputs = var_operand_def()
    result = result_def()


@op_definition
class RecvOp(ChannelOp):
    """Receives values from a channel: the results are these and a token."""

    name = "stablehlo.recv"
    token = operand_def()
    results_ = var_result_def()


@op_definition
class InfeedOp(TensorOp):
    """Reads values that the host feeds in: the results are these and a token."""

    name = "stablehlo.infeed"
    FACTS: ClassVar = UNBATCHED
    token = operand_def()
    infeed_config = opt_prop_def(StringAttr)
    layout = opt_prop_def(ArrayAttr)
    results_ = var_result_def()


@op_definition
class OutfeedOp(TensorOp):
    """Writes the inputs for the host to read: the operands are the inputs and a token."""

    name = "stablehlo.outfeed"
    FACTS: ClassVar = UNBATCHED
    inputs = var_operand_def()
    outfeed_config = opt_prop_def(StringAttr)
    result = result_def()


@op_definition
class AsyncStartOp(TensorOp):
    """Starts the op in its region; the result is a future of what it gives."""

    name = "stablehlo.async_start"
    FACTS: ClassVar = UNBATCHED
    inputs = var_operand_def()
    computation = region_def()
    result = result_def()
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())


@op_definition
class AsyncDoneOp(TensorOp):
    """Waits for a future: its values."""

    name = "stablehlo.async_done"
    FACTS: ClassVar = UNBATCHED
    future = operand_def()
    results_ = var_result_def()
