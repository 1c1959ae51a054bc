"""Regions of StableHLO ops on elements (reductions, scatters, comparisons of sorts), written on scalars in the body of an upstream op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.ir import Block, Operation, SSAValue

from wengert.ir import elements
from wengert.ir.tensor_types import is_complex
from wengert.transforms.core.kinds import combiner_kinds
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.out.elementwise import combine, elementwise, inner
from wengert.transforms.upstream.out.writer import Out, Value, signless

Body = Callable[[Sequence[Value]], list[Value]]
_SAME = ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.optimization_barrier")


def written(out: Out, block: Block, arguments: Sequence[Value]) -> list[Value]:
    """The scalars that a region of ops on tensors of rank 0 returns for these.

    Raises a DiagnosticError at an op that is not elementwise.
    """
    values: dict[SSAValue, Value] = dict(zip(block.args, arguments, strict=True))

    def scalar(value: SSAValue) -> Value:
        owner = value.owner
        if value not in values:  # a constant from outside, or a result that comes to be when it is asked for
            if not isinstance(owner, Operation) or (owner.parent is not block and owner.name != "stablehlo.constant"):
                raise refusal(block.parent_op() or cast(Any, owner), "a region on elements that uses a value from outside is not written")
            values[value] = _scalar(out, owner, [scalar(operand) for operand in owner.operands])
        return values[value]

    last = block.last_op
    assert last is not None
    return [scalar(operand) for operand in last.operands]


def _scalar(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    if op.name == "stablehlo.constant":
        kind = inner(op.results[0])
        number = elements.to_numpy(cast(Any, op.properties["value"])).reshape(-1)[0]
        return out.number(complex(number) if is_complex(kind) else number, signless(kind))
    if op.name in _SAME:
        return operands[0]
    value = elementwise(out, op, operands)
    if value is None:
        raise refusal(op, "this op is not written in a region on elements", "elementwise ops are")
    return value


def combining(out: Out, op: Operation) -> Body:
    """What combines accumulators, which come first, with elements, as the first region of an op says: by the op of its kind, or as it is written."""
    block = op.regions[0].block
    count = len(block.args) // 2
    kinds = combiner_kinds(block, count)
    if kinds is None:
        return lambda given: written(out, block, given)
    own = [cast(Any, argument.type).element_type for argument in block.args[:count]]

    def body(given: Sequence[Value]) -> list[Value]:
        return [combine(out, kind, type, x, y) for kind, type, x, y in zip(kinds, own, given[:count], given[count:], strict=True)]

    return body


def replacing(op: Operation) -> bool:
    """Whether a scatter's region takes each update as it is."""
    block = op.regions[0].block
    count = len(block.args) // 2
    last = block.last_op
    assert last is not None
    return list(last.operands) == list(block.args[count:])
