"""Running: inputs and their errors, control flow, captured values, single ops, what is refused, and the counter."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from wengert.dialects import stablehlo
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.errors import ExecutionError, InputError, UnsupportedOpError
from wengert.runtime.interpreter import Counter, evaluate, prepare, run

ADD = """func.func public @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}"""

LOOP = """func.func public @main(%n: tensor<i32>, %x: tensor<3xf64>) -> (tensor<3xf64>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<3xf64>
  cond {
    %go = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %d = func.call @step(%c, %x) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    stablehlo.return %j, %d : tensor<i32>, tensor<3xf64>
  }
  return %r#1, %r#0 : tensor<3xf64>, tensor<i32>
}
func.func private @step(%c: tensor<3xf64>, %x: tensor<3xf64>) -> tensor<3xf64> {
  %s = stablehlo.sine %c : tensor<3xf64>
  %r = stablehlo.add %s, %x : tensor<3xf64>
  return %r : tensor<3xf64>
}"""


def _op(module: ModuleOp, cls: type[Operation]) -> Operation:
    return next(op for op in module.walk() if isinstance(op, cls))


def test_results_are_new_arrays() -> None:
    module = parse_module("func.func public @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) { return %x, %x : tensor<2xf32>, tensor<2xf32> }")
    x = np.ones(2, np.float32)
    first, second = run(module, [x])
    first[0] = 5
    assert x[0] == 1
    assert second[0] == 1


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([np.zeros(2, np.float32)], "takes 2 arguments, found 1"),
        ([np.zeros(2, np.float32), np.zeros(3, np.float32)], r"argument 1 must be tensor<2xf32>.*found float32 of shape \(3,\)"),
        ([np.zeros(2), np.zeros(2, np.float32)], r"argument 0 must be tensor<2xf32>.*found float64"),
    ],
)
def test_wrong_inputs(inputs: list[np.ndarray], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(parse_module(ADD), inputs)


def test_unknown_entry() -> None:
    with pytest.raises(InputError, match=r"no function @other.*@main"):
        run(parse_module(ADD), [], entry="other")


def test_loop_with_call_and_captured_values() -> None:
    x = np.array([0.1, 0.2, 0.3])
    expected = x
    for _ in range(10):
        expected = np.sin(expected) + x
    result, trips = run(parse_module(LOOP), [np.int32(10), x])
    np.testing.assert_array_equal(result, expected)
    assert trips == 10


def test_counter_counts_iterations_and_live_bytes() -> None:
    counter = Counter()
    run(parse_module(LOOP), [np.int32(10), np.zeros(3)], counter=counter)
    assert counter.ops == {"stablehlo.while": 1, "stablehlo.compare": 11, "stablehlo.add": 20, "func.call": 10, "stablehlo.sine": 10}
    assert (counter.flops, counter.transcendentals) == (60, 30)
    assert counter.bytes_written == 11 * 1 + 10 * 4 + 20 * 24
    # Inputs (4 + 24), the counter's old and new value (8), and in the step: c, sin(c) and the sum. Constants are part of the program.
    assert counter.peak_bytes <= 4 + 24 + 8 + 3 * 24
    assert counter.peak_bytes >= 4 + 24 + 2 * 24
    assert counter.live_bytes == 0


def test_dead_values_are_not_live() -> None:
    chain = "".join(f"%v{i + 1} = stablehlo.sine %v{i} : tensor<100xf64>\n" for i in range(20))
    counter = Counter()
    run(
        parse_module(f"func.func public @main(%v0: tensor<100xf64>) -> tensor<100xf64> {{\n{chain}return %v20 : tensor<100xf64>\n}}"),
        [np.zeros(100)],
        counter=counter,
    )
    assert counter.peak_bytes == 3 * 800  # the input, an operand and its result


def test_evaluate_single_op() -> None:
    (result,) = evaluate(_op(parse_module(ADD), stablehlo.AddOp), [np.ones(2, np.float32), np.full(2, 3, np.float32)])
    np.testing.assert_array_equal(result, np.full(2, 4, np.float32))
    assert result.dtype == np.float32


def test_evaluate_region_op_with_captures_and_callees() -> None:
    module = parse_module(LOOP)
    loop = _op(module, stablehlo.WhileOp)
    main = next(iter(module.ops))
    n, x = main.regions[0].block.args
    one = list(main.regions[0].block.ops)[1].results[0]
    results = evaluate(loop, [np.int32(0), np.ones(3)], captured={n: np.int32(1), x: np.ones(3), one: np.int32(1)})
    assert results[0] == 1
    np.testing.assert_array_equal(results[1], np.sin(np.ones(3)) + 1)


def test_prepared_op_runs_again() -> None:
    call = prepare(_op(parse_module(ADD), stablehlo.AddOp))
    for k in range(3):
        np.testing.assert_array_equal(call(np.ones(2, np.float32), np.full(2, k, np.float32))[0], np.full(2, 1 + k, np.float32))


def test_regions_that_are_not_elementwise_run_element_by_element() -> None:
    text = """func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %r = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %p = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %c = "stablehlo.if"(%p) ({
          %d = stablehlo.subtract %b, %a : tensor<f32>
          stablehlo.return %d : tensor<f32>
        }, {
          stablehlo.return %a : tensor<f32>
        }) : (tensor<i1>) -> tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    x, y = np.array([1, 2, 3, 4], np.float32), np.array([4, 3, 2, 1], np.float32)
    np.testing.assert_array_equal(run(parse_module(text), [x, y])[0], np.array([3, 1, 3, 4], np.float32))


def test_unknown_custom_call_is_refused_with_its_place() -> None:
    text = (
        "func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n"
        "  %r = stablehlo.custom_call @mystery(%x) : (tensor<f32>) -> tensor<f32>\n  return %r : tensor<f32>\n}"
    )
    with pytest.raises(UnsupportedOpError, match=r"p.mlir:2:\d+: error: 'stablehlo.custom_call' calls @mystery"):
        run(parse_module(text, "p.mlir"), [np.float32(0)])


def test_collectives_of_several_devices_are_refused() -> None:
    groups = "source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>"
    op = f'%r = "stablehlo.collective_permute"(%x) <{{{groups}}}> : (tensor<ui32>) -> tensor<ui32>'
    text = f"func.func public @main(%x: tensor<ui32>) -> tensor<ui32> {{\n  {op}\n  return %r : tensor<ui32>\n}}"
    with pytest.raises(UnsupportedOpError, match=r"'stablehlo.collective_permute' sends from device 0 to device 1"):
        run(parse_module(text, "p.mlir"), [np.uint32(0)])


def test_recursion_is_refused() -> None:
    text = "func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n  %r = func.call @main(%x) : (tensor<f32>) -> tensor<f32>\n  return %r : tensor<f32>\n}"
    with pytest.raises(UnsupportedOpError, match=r"@main calls itself"):
        run(parse_module(text, "p.mlir"), [np.float32(0)])


def test_failed_shape_assertion() -> None:
    text = (
        "func.func public @main(%p: tensor<i1>, %n: tensor<i32>) {\n"
        '  stablehlo.custom_call @shape_assertion(%p, %n) {error_message = "b is {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()\n  return\n}'
    )
    assert run(parse_module(text), [np.True_, np.int32(7)]) == []
    with pytest.raises(ExecutionError, match="b is 7"):
        run(parse_module(text), [np.False_, np.int32(7)])


def test_no_warnings_leak() -> None:
    text = """func.func public @main(%x: tensor<3xf64>, %i: tensor<2xi32>) -> (tensor<3xf64>, tensor<2xi32>, tensor<3xi8>) {
      %a = stablehlo.log %x : tensor<3xf64>
      %b = stablehlo.divide %a, %x : tensor<3xf64>
      %z = stablehlo.constant dense<0> : tensor<2xi32>
      %j = stablehlo.divide %i, %z : tensor<2xi32>
      %c = stablehlo.convert %x : (tensor<3xf64>) -> tensor<3xi8>
      return %b, %j, %c : tensor<3xf64>, tensor<2xi32>, tensor<3xi8>
    }"""
    b, j, c = run(parse_module(text), [np.array([0.0, -1.0, np.inf]), np.array([5, -5], np.int32)])
    assert np.isneginf(b[0])
    assert np.isnan(b[1])
    np.testing.assert_array_equal(j, [-1, -1])
    np.testing.assert_array_equal(c, [0, -1, 127])
