"""Typing rules of control flow, barriers, tokens and tuples. The symbols that ops refer to are the verifier's business."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr, TupleType
from xdsl.ir import Attribute, Operation

from wengert.dialects.stablehlo import control as ops
from wengert.dialects.stablehlo.attributes import TokenType
from wengert.dialects.stablehlo.typing.checks import expect_in_range, expect_scalar, fail, int_property, result_name
from wengert.dialects.stablehlo.typing.regions import body, check_predicate, expect_results, expect_types
from wengert.dialects.stablehlo.typing.values import Kind, expect_result_values, expect_value, expect_values
from wengert.ir.tensor_types import i1, i32
from wengert.ir.verification.typing_rules import typing_rule

_OP_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*(?:\.[a-zA-Z0-9_$]+)+")


@typing_rule(ops.WhileOp)
def check_while(op: ops.WhileOp) -> None:
    """Operands, region arguments, returned values and results all have the same types."""
    expect_values(op, Kind.TOKEN | Kind.BUFFER | Kind.TUPLE | Kind.TAPE)
    carried = [v.type for v in op.operands]
    check_predicate(op.regions[0], "cond", carried, "of the loop's operand")
    block, returned = body(op.regions[1], "body")
    expect_types("argument of the body region", block.arg_types, carried, "of the loop's operand")
    expect_types("value returned by the body region", returned, carried, "of the loop's operand")
    expect_results(op, carried, "of the loop's operand")


def check_branches(op: Operation, names: Sequence[str]) -> None:
    """No arguments, and every branch returns what the others return and the op gives."""
    expect_result_values(op, Kind.TOKEN | Kind.TUPLE | Kind.TAPE)
    first: Sequence[Attribute] | None = None
    for region, name in zip(op.regions, names, strict=True):
        block, returned = body(region, name)
        expect_types(f"argument of the {name} region", block.arg_types, (), "(branches use values from outside)")
        expect_types(f"value returned by the {name} region", returned, [r.type for r in op.results], "of the op's result")
        expect_types(f"value returned by the {name} region", returned, returned if first is None else first, "of the first branch")
        first = first or returned


@typing_rule(ops.CaseOp)
def check_case(op: ops.CaseOp) -> None:
    """The branches take nothing and return what the op gives."""
    expect_scalar("index", op.operands[0].type, i32)
    if not op.regions:
        fail("there must be at least one branch")
    check_branches(op, [f"branch #{i}" for i in range(len(op.regions))])


@typing_rule(ops.IfOp)
def check_if(op: ops.IfOp) -> None:
    """Both branches take nothing and return what the op gives."""
    expect_scalar("pred", op.operands[0].type, i1)
    check_branches(op, ("true_branch", "false_branch"))


@typing_rule(ops.ReturnOp)
def check_return(op: ops.ReturnOp) -> None:
    """Values that regions may return; the rule of the op around it checks their types (and for a function the verifier: JAX ends some with it)."""
    for i, value in enumerate(op.operands):
        expect_value(f"value #{i}", value.type, Kind.TOKEN | Kind.BUFFER | Kind.TUPLE | Kind.TAPE)


@typing_rule(ops.CompositeOp)
def check_composite(op: ops.CompositeOp) -> None:
    """Its types are those of its decomposition, which the verifier compares."""
    name = cast(StringAttr, op.properties["name"]).data
    if _OP_NAME.fullmatch(name) is None:
        fail(f"name must be that of an op in a namespace, such as 'mine.op', found '{name}'")
    expect_values(op, Kind.TOKEN | Kind.TUPLE)


@typing_rule(ops.OptimizationBarrierOp)
def check_optimization_barrier(op: ops.OptimizationBarrierOp) -> None:
    """Results have the operands' types."""
    types = [v.type for v in op.operands]
    if any(isinstance(type, TupleType) for type in types):
        fail(f"operands must be tensors or tokens, found ({', '.join(map(str, types))})", "stablehlo.get_tuple_element takes a tuple apart")
    expect_values(op, Kind.TOKEN)
    expect_results(op, types, "of the operand")
    for i, (result, type) in enumerate(zip(op.results, types, strict=True)):
        if result.type != type:
            fail(f"{result_name(op, i)} must have exactly the type {type} of its operand, found {result.type}")


@typing_rule(ops.AfterAllOp, ops.CreateTokenOp)
def check_tokens(op: Operation) -> None:
    """Tokens in, token out."""
    for value in (*op.operands, *op.results):
        if not isinstance(value.type, TokenType):
            fail(f"{op.name} takes and gives values of the type !stablehlo.token, found {value.type}")


@typing_rule(ops.TupleOp)
def check_tuple(op: ops.TupleOp) -> None:
    """The result's parts are the operands."""
    type = op.results[0].type
    if not isinstance(type, TupleType):
        fail(f"result must be a tuple, found {type}")
    expect_values(op, Kind.TOKEN | Kind.BUFFER | Kind.TUPLE)
    if (parts := [v.type for v in op.operands]) != list(type.types):
        fail(f"result type {type} does not match the inferred {TupleType(cast('Any', parts))}")


@typing_rule(ops.GetTupleElementOp)
def check_get_tuple_element(op: ops.GetTupleElementOp) -> None:
    """The result is one of the tuple's parts."""
    type = op.operands[0].type
    if not isinstance(type, TupleType):
        fail(f"operand must be a tuple, found {type}")
    parts = tuple(type.types)
    index = int_property(op, "index")
    expect_in_range("index", (index,), len(parts), "the tuple's length")
    expect_results(op, [parts[index]], f"of element {index} of the tuple")
