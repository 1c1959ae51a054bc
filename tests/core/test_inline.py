"""Inlining: calls in functions, loops and branches, composites, locations, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import CallSiteLoc, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.places import describe
from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.core.inline import inline
from wengert.transforms.core.symbol_dce import symbol_dce

NESTED = """
module {
  func.func public @main(%x: tensor<f64>) -> tensor<f64> {
    %0 = call @outer(%x) : (tensor<f64>) -> tensor<f64>
    %1 = call @inner(%0) : (tensor<f64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
  func.func private @outer(%x: tensor<f64>) -> tensor<f64> {
    %0 = call @inner(%x) : (tensor<f64>) -> tensor<f64>
    return %0 : tensor<f64>
  }
  func.func private @inner(%x: tensor<f64>) -> tensor<f64> {
    %0 = stablehlo.sine %x : tensor<f64>
    return %0 : tensor<f64>
  }
}
"""

LOOP = """
func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = "stablehlo.while"(%c, %x) ({
  ^bb0(%i: tensor<i32>, %v: tensor<f64>):
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<f64>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = func.call @body(%v, %x) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    stablehlo.return %1, %2 : tensor<i32>, tensor<f64>
  }) : (tensor<i32>, tensor<f64>) -> (tensor<i32>, tensor<f64>)
  return %0#1 : tensor<f64>
}
func.func private @body(%v: tensor<f64>, %x: tensor<f64>) -> tensor<f64> {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %0 = "stablehlo.case"(%c) ({
    stablehlo.return %v : tensor<f64>
  }, {
    %1 = func.call @step(%v) : (tensor<f64>) -> tensor<f64>
    %2 = stablehlo.add %1, %x : tensor<f64>
    stablehlo.return %2 : tensor<f64>
  }) : (tensor<i32>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func private @step(%v: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.multiply %v, %v : tensor<f64>
  return %0 : tensor<f64>
}
"""


def calls(module: ModuleOp) -> int:
    return sum(isinstance(op, CallOp) for op in module.walk())


def functions(module: ModuleOp) -> list[str]:
    return [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)]


def inlined(text: str, **options: bool) -> ModuleOp:
    module = parse_module(text, "program.mlir")
    before = module.clone()
    inline(module, **options)
    verify(module)
    inputs = [np.array(0.3)]
    np.testing.assert_array_equal(run(before, inputs), run(module, inputs))
    return module


@pytest.mark.parametrize("text", [NESTED, LOOP])
def test_no_call_is_left(text: str) -> None:
    module = inlined(text)
    assert calls(module) == 0
    symbol_dce(module)
    verify(module)
    assert functions(module) == ["main"]


def test_order_of_functions_does_not_matter() -> None:
    module = parse_module(NESTED)
    for function in list(module.ops)[::-1]:
        function.detach()
        module.body.block.add_op(function)
    inline(module)
    verify(module)
    assert calls(module) == 0


def test_locations_are_call_sites_nested_in_the_caller() -> None:
    ops = [op for op in next(iter(inlined(NESTED).ops)).regions[0].block.ops if op.name == "stablehlo.sine"]
    assert [describe(op.location) for op in ops] == ["program.mlir:13:5"] * 2
    chain = ops[0].location
    assert isinstance(chain, CallSiteLoc)
    assert isinstance(chain.caller, CallSiteLoc)
    assert describe(chain.caller) == "program.mlir:9:5"
    assert str(chain.caller.caller).count("4:5") == 1


def test_public_functions_stay() -> None:
    module = inlined(NESTED.replace("private @inner", "public @inner"))
    symbol_dce(module)
    assert functions(module) == ["main", "inner"]


def test_composites_are_inlined_by_their_decomposition() -> None:
    module = inlined("""
      func.func public @main(%x: tensor<f64>) -> tensor<f64> {
        %0 = stablehlo.composite "my.op" %x {decomposition = @impl} : (tensor<f64>) -> tensor<f64>
        return %0 : tensor<f64>
      }
      func.func private @impl(%x: tensor<f64>) -> tensor<f64> {
        %0 = stablehlo.cosine %x : tensor<f64>
        return %0 : tensor<f64>
      }
    """)
    assert [op.name for op in module.walk() if op.name.startswith("stablehlo")] == ["stablehlo.cosine"]


def test_functions_with_their_own_derivatives_can_be_kept() -> None:
    text = NESTED.replace(
        "private @inner(%x: tensor<f64>) -> tensor<f64>", "private @inner(%x: tensor<f64>) -> tensor<f64> attributes {ad.custom_jvp = @outer}"
    )
    module = inlined(text, keep_custom=True)
    assert calls(module) == 3
    symbol_dce(module)
    assert functions(module) == ["main", "outer", "inner"]
    assert calls(inlined(text)) == 0


def test_a_function_that_something_else_refers_to_is_not_moved_away() -> None:
    text = NESTED.replace("public @main(%x: tensor<f64>) -> tensor<f64>", "public @main(%x: tensor<f64>) -> tensor<f64> attributes {my.helpers = [@outer]}")
    module = inlined(text)
    symbol_dce(module)
    assert functions(module) == ["main", "outer"]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (
            NESTED.replace("stablehlo.sine %x : tensor<f64>", "func.call @outer(%x) : (tensor<f64>) -> tensor<f64>"),
            "recursive call: @outer -> @inner -> @outer",
            13,
        ),
        (NESTED.replace("stablehlo.sine %x : tensor<f64>", "func.call @inner(%x) : (tensor<f64>) -> tensor<f64>"), "recursive call: @inner -> @inner", 13),
        (NESTED.replace("call @inner(%0)", "call @absent(%0)"), "@absent", 5),
    ],
)
def test_refused_with_a_place(text: str, message: str, line: int) -> None:
    module = parse_module(text, "program.mlir")
    with pytest.raises(DiagnosticError) as refused:
        inline(module)
    assert message in refused.value.diagnostic.message
    assert (refused.value.diagnostic.file, refused.value.diagnostic.line) == ("program.mlir", line)


def test_a_long_chain_of_calls_needs_no_deep_recursion() -> None:
    links = [
        f"func.func private @f{i}(%x: tensor<f64>) -> tensor<f64> {{ %0 = call @f{i + 1}(%x) : (tensor<f64>) -> tensor<f64> return %0 : tensor<f64> }}"
        for i in range(400)
    ]
    last = "func.func private @f400(%x: tensor<f64>) -> tensor<f64> { return %x : tensor<f64> }"
    first = "func.func public @main(%x: tensor<f64>) -> tensor<f64> { %0 = call @f0(%x) : (tensor<f64>) -> tensor<f64> return %0 : tensor<f64> }"
    module = parse_module("\n".join([first, *links, last]))
    inline(module)
    assert calls(module) == 0
