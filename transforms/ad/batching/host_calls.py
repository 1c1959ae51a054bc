"""Batching of calls out of the program: a loop over the batch elements. A Python function is called for the active ones alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Region

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.host_calls import called_function, host_call
from wengert.ir.tensor_types import i32
from wengert.transforms.ad.batching.rule import Batching, Mapped, Operands, Results, batches, element_by_element, loop_over_batch
from wengert.transforms.ad.errors import refuse


@batches(hlo.CustomCallOp)
def custom_call(batch: Batching, op: hlo.CustomCallOp, operands: Operands) -> Results:
    call = host_call(op)
    if call is None:
        return element_by_element(batch, op, operands)
    if call.ordered:
        raise refuse(op, f"cannot be batched: {called_function(op)} is to be called in order, so not for many batch elements")
    types, mask = [r.type for r in op.results], batch.mask

    def called(b: OpBuilder, given: Sequence[Value]) -> Sequence[Value]:
        copy = hlo.CustomCallOp.create(operands=given, result_types=types, properties=op.properties, attributes=op.attributes)
        return b.insert(copy).results

    def zeros(b: OpBuilder, given: Sequence[Value]) -> Sequence[Value]:
        return [b.zeros(cast("TensorType[Any]", type)) for type in types]

    def body(b: OpBuilder, i: Value, values: Sequence[Value]) -> Sequence[Value]:
        parts = values[: len(operands)]
        if mask is None:
            return called(b, parts)
        branches = [_branch(b, parts, function) for function in (zeros, called)]
        return b.create(core.CaseOp, [b.convert(values[len(operands)], i32), *parts], types, {}, branches)

    return loop_over_batch(batch, [*operands, *([] if mask is None else [Mapped(mask, True)])], types, body)


def _branch(b: OpBuilder, parts: Sequence[Value], function: Callable[[OpBuilder, Sequence[Value]], Sequence[Value]]) -> Region:
    block = Block(arg_types=[x.type for x in parts])
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    block.add_op(hlo.ReturnOp.create(operands=function(inner, block.args)))
    return Region([block])
