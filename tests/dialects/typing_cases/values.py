"""Cases of values that are no tensors: which ops take tuples, tokens, buffers and futures, and what calls do with buffers."""

from __future__ import annotations

from typing_cases.forms import ALIAS
from typing_cases.notation import Cases, case, region

BUFFER, TOKEN, FUTURE, PAIR = "memref<2xf32>", "!stablehlo.token", "!stablehlo.future<tensor<2xf32>>", "tuple<tensor<2xf32>>"
TRUE = '%p = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>'


def call(types: str, *aliases: str, target: str = "f", version: int = 4) -> str:
    """A call; each alias is the numbers of a result's part, of an operand and of its part."""
    parts = [ALIAS.format(*alias.split(";")) for alias in aliases]
    more = f", output_operand_aliases = [{', '.join(parts)}]" if parts else ""
    return case("custom_call", types, f'call_target_name = "{target}", api_version = {version} : i32{more}')


def loop(type: str) -> str:
    """A loop that carries a value of this type."""
    return case("while", f"{type} -> {type}", "", region(type, TRUE, returns="%p: i1"), region(type))


def chosen(name: str, index: str, type: str) -> str:
    """A branch that gives its second operand, of this type."""
    text = region("", returns=f"%1: {type}")
    other = (region("", returns=f"%1: {type}"),) if name == "if" else ()
    return (
        case(name, f"{index}, {type} -> {type}", "", text, *other)
        .replace("(%0, %1) (", "(%0) (")
        .replace(f"(tensor<{index}>, {type}) ->", f"(tensor<{index}>) ->")
    )


def composite(type: str) -> str:
    """A composite of a value of this type."""
    return case("composite", f"{type} -> {type}", 'name = "my.op", decomposition = @g') + f"func.func private @g({type}) -> {type}\n"


WELL_TYPED = [
    loop(TOKEN),
    loop(BUFFER),
    chosen("if", "i1", TOKEN),
    chosen("case", "i32", TOKEN),
    composite(TOKEN),
    case("tuple", f"{TOKEN}, {PAIR} -> tuple<{TOKEN}, {PAIR}>"),
    case("custom_call", f"{BUFFER} ->", 'call_target_name = "f"'),
    case("custom_call", f"-> {FUTURE}", 'call_target_name = "f"'),
    call(f"{BUFFER} -> {BUFFER}", "[];0;[]"),
    call(f"2xf32, {BUFFER} -> 2xf32, {BUFFER}", "[1];1;[]"),
    call(f"tuple<{BUFFER}> -> tuple<{BUFFER}>", "[0];0;[0]"),
    call(f"2xf32 -> {BUFFER}", target="Pin"),
    call(f"{BUFFER} -> 2xf32", target="Unpin"),
    call(f"-> {BUFFER}", target="CreateBuffer"),
]

ILL_TYPED: Cases = [
    *[(loop(type), "must be a ranked tensor") for type in (FUTURE, "index")],
    *[(chosen("if", "i1", type), "must be a ranked tensor") for type in (BUFFER, FUTURE, "index")],
    *[(chosen("case", "i32", type), "must be a ranked tensor") for type in (BUFFER, FUTURE, "index")],
    *[(composite(type), "must be a ranked tensor") for type in (FUTURE, "index")],
    *[(case("optimization_barrier", f"{type} -> {type}"), "must be a ranked tensor (or there may be tokens)") for type in (BUFFER, FUTURE, "index")],
    *[(case("tuple", f"{type} -> tuple<{type}>"), "must be a ranked tensor") for type in (FUTURE, "index")],
    (case("custom_call", "index ->", 'call_target_name = "f"'), "must be a ranked tensor"),
    (call(f"{BUFFER} -> {BUFFER}"), "the buffer at [0] of the results must be in output_operand_aliases once, found 0"),
    (call(f"tuple<{BUFFER}> -> tuple<{BUFFER}>"), "the buffer at [0, 0] of the results"),
    (call(f"2xf32, {BUFFER} -> {BUFFER}, {BUFFER}", "[0];1;[]", "[1];1;[]"), "must be in output_operand_aliases at most once, found 2"),
    (call(f"2xf32, 2xf32 -> {BUFFER}", target="Pin"), "Pin takes 1 operand and gives 1 result, found 2 and 1"),
    (call(f"{BUFFER} -> {BUFFER}", target="Pin"), "Pin makes a buffer of a tensor"),
    (call("2xf32 -> memref<3xf32>", target="Pin"), "Pin keeps shape and elements"),
    (call(f"{BUFFER} -> 2xi32", target="Unpin"), "Unpin keeps shape and elements"),
    (call("2xf32 -> 2xf32", target="Unpin"), "Unpin makes a tensor of a buffer"),
    (call("-> 2xf32", target="CreateBuffer"), "CreateBuffer makes a buffer of nothing"),
    (call(f"-> {BUFFER}, {BUFFER}", target="CreateBuffer"), "CreateBuffer takes 0 operands and gives 1 result, found 0 and 2"),
]
