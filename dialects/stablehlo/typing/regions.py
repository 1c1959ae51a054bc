"""Typing of regions: one block, the right arguments, and a ``stablehlo.return`` of the right values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects.quant import quantized
from wengert.dialects.stablehlo.control import ReturnOp
from wengert.dialects.stablehlo.typing.checks import Tensor, compatible, expect_scalar, fail, infer, is_promotable, result_name, tensors
from wengert.ir.tensor_types import i1, tensor


def body(region: Region, name: str) -> tuple[Block, tuple[Attribute, ...]]:
    """The only block of the region, and the types that it returns."""
    block = region.first_block
    if block is None or block.next_block is not None:
        fail(f"the {name} region must have exactly one block, found {len(region.blocks)}")
    end = block.last_op
    if not isinstance(end, ReturnOp):
        fail(f"the {name} region must end in stablehlo.return" + (f", found {end.name}" if end else ", but it is empty"))
    return block, tuple(v.type for v in end.operands)


def listed(types: Sequence[Attribute]) -> str:
    """Types in messages."""
    return f"({', '.join(map(str, types))})"


def expect_types(what: str, types: Sequence[Attribute], expected: Sequence[Attribute], why: str, *, exact: bool = False) -> None:
    """Two lists of types are compatible one by one, with ``exact`` also in scales and zero points."""
    if len(types) != len(expected):
        fail(f"{what} must have {len(expected)} {'type' if len(expected) == 1 else 'types'} {listed(expected)} {why}, found {len(types)}: {listed(types)}")
    for i, (a, b) in enumerate(zip(types, expected, strict=True)):
        if a is not b and not (compatible(a, b) and (not exact or same_elements(a, b))):
            fail(f"{what} #{i} must have the type {b} {why}, found {a}")


def same_elements(a: Attribute, b: Attribute) -> bool:
    """Whether two tensor types have the very same elements."""
    return not isinstance(a, TensorType) or not isinstance(b, TensorType) or cast(Tensor, a).element_type == cast(Tensor, b).element_type


def check_predicate(region: Region, name: str, arguments: Sequence[Attribute], why: str) -> None:
    """The region takes arguments of these types and returns one boolean scalar."""
    block, returned = body(region, name)
    expect_types(f"argument of the {name} region", block.arg_types, arguments, why, exact=all(quantized(a) for a in arguments))
    expect_types(f"value returned by the {name} region", returned, (tensor((), i1),), "(a predicate)")


def check_reducer(region: Region, name: str, inputs: Sequence[Tensor], inits: Sequence[Tensor]) -> list[Tensor]:
    """The region combines accumulators with inputs, all scalars; the accumulators' types (perhaps promoted) are returned."""
    block, returned = body(region, name)
    n = len(inputs)
    if len(returned) != n:
        fail(f"the {name} region must return {n} {'value' if n == 1 else 'values'}, one for each input, found {len(returned)}")
    accumulators = tensors(returned, f"value returned by the {name} region")
    expect_types(f"argument of the {name} region", block.arg_types, [*accumulators, *accumulators], "like the values that it returns")
    for i, (accumulator, x, init) in enumerate(zip(accumulators, inputs, inits, strict=True)):
        expect_scalar(f"value #{i} returned by the {name} region", accumulator)
        for role, given in (("input", x), ("initial value", init)):
            if not is_promotable(given.element_type, accumulator.element_type):
                fail(f"the {name} region accumulates in {accumulator.element_type}, to which elements {given.element_type} of {role} #{i} cannot be promoted")
    return accumulators


def expect_results(op: Operation, types: Sequence[Attribute], why: str) -> None:
    """The op's results have these types."""
    if len(op.results) != len(types):
        fail(f"the op must have {len(types)} {'result' if len(types) == 1 else 'results'} {why}, found {len(op.results)}")
    for i, (result, type) in enumerate(zip(op.results, types, strict=True)):
        infer(i, type)
        if result.type is not type and not compatible(result.type, type):
            fail(f"{result_name(op, i)} type {result.type} does not match the type {type} {why}")
