"""Batched ops that have no derivative rule of their own, and how many ops batching makes."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.interpreter import run
from wengert.transforms.ad.batching.passes import batch
from wengert.transforms.ad.derive import vjp
from wengert.transforms.ad.requests.expand import expand_ad

sys.path.insert(0, str(Path(__file__).parents[1]))
from batch_checks import Batch, batched, check_batch, made, subsets


def main(signature: str, *lines: str) -> ModuleOp:
    body = "\n  ".join(lines)
    return parse_module(f"func.func public @main{signature} {{\n  {body}\n}}\n")


def numbers(*shapes: tuple[int, ...], dtype: str = "float64", high: int = 9) -> Batch:
    rng = np.random.default_rng(5)
    drawn = (lambda s: rng.integers(-2, high, s)) if dtype.startswith(("int", "uint")) else (lambda s: rng.normal(size=s))
    return [[np.asarray(drawn(shape), dtype) for _ in range(3)] for shape in shapes]


PROGRAMS = {
    "reduce by a region": (
        main(
            "(%x: tensor<4x5xf64>, %i: tensor<f64>) -> tensor<4xf64>",
            '%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 1>}> ({',
            "^bb0(%a: tensor<f64>, %b: tensor<f64>):",
            "%c = stablehlo.multiply %a, %b : tensor<f64>",
            "%d = stablehlo.add %a, %b : tensor<f64>",
            "%r = stablehlo.add %c, %d : tensor<f64>",
            "stablehlo.return %r : tensor<f64>",
            "}) : (tensor<4x5xf64>, tensor<f64>) -> tensor<4xf64>",
            "return %0 : tensor<4xf64>",
        ),
        numbers((4, 5), ()),
    ),
    "reduce_window by a region": (
        main(
            "(%x: tensor<6xf64>, %i: tensor<f64>) -> tensor<3xf64>",
            '%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({',
            "^bb0(%a: tensor<f64>, %b: tensor<f64>):",
            "%c = stablehlo.multiply %a, %b : tensor<f64>",
            "%d = stablehlo.add %a, %b : tensor<f64>",
            "%r = stablehlo.add %c, %d : tensor<f64>",
            "stablehlo.return %r : tensor<f64>",
            "}) : (tensor<6xf64>, tensor<f64>) -> tensor<3xf64>",
            "return %0 : tensor<3xf64>",
        ),
        numbers((6,), ()),
    ),
    "a region that captures": (
        main(
            "(%x: tensor<4xf64>, %y: tensor<f64>) -> tensor<4xf64>",
            '%0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({',
            "^bb0(%a: tensor<f64>, %b: tensor<f64>):",
            "%c = stablehlo.multiply %a, %y : tensor<f64>",
            "%d = stablehlo.multiply %b, %y : tensor<f64>",
            "%r = stablehlo.compare LT, %c, %d, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>",
            "stablehlo.return %r : tensor<i1>",
            "}) : (tensor<4xf64>) -> tensor<4xf64>",
            "return %0 : tensor<4xf64>",
        ),
        numbers((4,), ()),
    ),
    "random bits": (
        main(
            "(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)",
            "%0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)",
            "return %0, %1 : tensor<2xui64>, tensor<5xui32>",
        ),
        [[np.array([k, 7], np.uint64) for k in range(3)]],
    ),
    "LAPACK": (
        main(
            "(%a: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>)",
            "%0:3 = stablehlo.custom_call @LuDecomposition(%a) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>, tensor<3xi32>)",
            "return %0#0, %0#2 : tensor<3x3xf64>, tensor<3xi32>",
        ),
        numbers((3, 3)),
    ),
    "positions out of bounds": (
        main(
            "(%x: tensor<5x4xf64>, %u: tensor<2x3xf64>, %i: tensor<i32>, %j: tensor<i32>) -> (tensor<2x3xf64>, tensor<5x4xf64>)",
            "%0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 3] : (tensor<5x4xf64>, tensor<i32>, tensor<i32>) -> tensor<2x3xf64>",
            "%1 = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<5x4xf64>, tensor<2x3xf64>, tensor<i32>, tensor<i32>) -> tensor<5x4xf64>",
            "return %0, %1 : tensor<2x3xf64>, tensor<5x4xf64>",
        ),
        [*numbers((5, 4), (2, 3)), [np.int32(v) for v in (-7, 2, 9)], [np.int32(v) for v in (1, 100, -1)]],
    ),
    "small unsigned positions": (
        main(
            "(%x: tensor<200xf64>, %u: tensor<2xf64>, %i: tensor<ui8>) -> (tensor<2xf64>, tensor<200xf64>)",
            "%0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<200xf64>, tensor<ui8>) -> tensor<2xf64>",
            "%1 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<200xf64>, tensor<2xf64>, tensor<ui8>) -> tensor<200xf64>",
            "return %0, %1 : tensor<2xf64>, tensor<200xf64>",
        ),
        [*numbers((200,), (2,)), [np.uint8(v) for v in (255, 3, 199)]],
    ),
    "integers and bits": (
        main(
            "(%x: tensor<4xi16>, %y: tensor<4xi16>, %p: tensor<i1>) -> (tensor<4xi16>, tensor<4x2xi8>, tensor<4xi1>)",
            "%0 = stablehlo.shift_left %x, %y : tensor<4xi16>",
            "%1 = stablehlo.popcnt %0 : tensor<4xi16>",
            "%2 = stablehlo.select %p, %1, %y : tensor<i1>, tensor<4xi16>",
            "%3 = stablehlo.bitcast_convert %x : (tensor<4xi16>) -> tensor<4x2xi8>",
            "%4 = stablehlo.compare LT, %2, %x, SIGNED : (tensor<4xi16>, tensor<4xi16>) -> tensor<4xi1>",
            "return %2, %3, %4 : tensor<4xi16>, tensor<4x2xi8>, tensor<4xi1>",
        ),
        [*numbers((4,), (4,), dtype="int16"), [np.bool_(v) for v in (True, False, True)]],
    ),
    "padding and bounds": (
        main(
            "(%x: tensor<3xf64>, %p: tensor<f64>, %hi: tensor<f64>) -> (tensor<6xf64>, tensor<3xf64>)",
            "%0 = stablehlo.pad %x, %p, low = [-1], high = [3], interior = [1] : (tensor<3xf64>, tensor<f64>) -> tensor<7xf64>",
            "%1 = stablehlo.slice %0 [0:6] : (tensor<7xf64>) -> tensor<6xf64>",
            "%2 = stablehlo.clamp %p, %x, %hi : (tensor<f64>, tensor<3xf64>, tensor<f64>) -> tensor<3xf64>",
            "return %1, %2 : tensor<6xf64>, tensor<3xf64>",
        ),
        numbers((3,), (), ()),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_the_loop_over_batch_elements(name: str) -> None:
    module, elements = PROGRAMS[name]
    for flags in subsets(len(elements)):
        check_batch(module, elements, flags)


def ops_of(module: ModuleOp, *flags: bool) -> Counter[str]:
    return Counter(op.name for op in batched(module, 3, flags).walk())


@pytest.mark.parametrize("flags", subsets(2))
def test_a_batched_product_is_one_product(flags: tuple[bool, bool]) -> None:
    module = main(
        "(%x: tensor<2x4x5xf64>, %y: tensor<2x5x3xf64>) -> tensor<2x4x3xf64>",
        "%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x5xf64>, tensor<2x5x3xf64>) -> tensor<2x4x3xf64>",
        "return %0 : tensor<2x4x3xf64>",
    )
    counts = ops_of(module, *flags)
    assert counts["stablehlo.dot_general"] == 1
    assert set(counts) <= {"builtin.module", "func.func", "func.return", "stablehlo.dot_general", "stablehlo.transpose"}
    check_batch(module, numbers((2, 4, 5), (2, 5, 3)), flags)


GATHER = main(
    "(%x: tensor<6x4xf64>, %i: tensor<3x1xi32>) -> tensor<3x4xf64>",
    '%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], '
    "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<6x4xf64>, tensor<3x1xi32>) -> tensor<3x4xf64>",
    "return %0 : tensor<3x4xf64>",
)


@pytest.mark.parametrize("flags", subsets(2))
def test_a_batched_gather_is_one_gather_and_its_derivative_one_scatter(flags: tuple[bool, bool]) -> None:
    assert {name: n for name, n in ops_of(GATHER, *flags).items() if name.startswith("stablehlo")} == {"stablehlo.gather": 1}
    elements = [numbers((6, 4))[0], numbers((3, 1), dtype="int32")[0]]
    check_batch(GATHER, elements, flags)
    transposed = made(GATHER, vjp)
    counts = ops_of(transposed, *flags, True)
    assert (counts["stablehlo.gather"], counts["core.scatter"], counts["core.for"]) == (1, 1, 0)
    check_batch(transposed, [*elements, numbers((3, 4))[0]], [*flags, True])


def test_what_does_not_depend_on_the_batch_is_computed_once() -> None:
    module = main(
        "(%x: tensor<4xf64>, %y: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)",
        "%0 = stablehlo.sine %x : tensor<4xf64>",
        "%1 = stablehlo.add %0, %y : tensor<4xf64>",
        "return %0, %1 : tensor<4xf64>, tensor<4xf64>",
    )
    whole = made(module, lambda m: batch(m, 3, in_axes=[None, 0], out_axes=[None, 1]))
    assert [str(op.results[0].type) for op in whole.walk() if op.name == "stablehlo.sine"] == ["tensor<4xf64>"]
    x, y = np.arange(4.0), np.arange(12.0).reshape(3, 4)
    once, each = run(whole, [x, y])
    np.testing.assert_array_equal(once, np.sin(x))
    np.testing.assert_array_equal(each, (np.sin(x) + y).T)


IN_TEXT = """
func.func private @f(%x: tensor<3xf64>, %c: tensor<f64>) -> tensor<3xf64> {
  %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f64>) -> tensor<3xf64>
  %1 = stablehlo.multiply %0, %x : tensor<3xf64>
  %2 = func.call @square(%1) : (tensor<3xf64>) -> tensor<3xf64>
  return %2 : tensor<3xf64>
}
func.func private @square(%x: tensor<3xf64>) -> tensor<3xf64> attributes {ad.custom_vjp = [@forward, @backward]} {
  %0 = stablehlo.multiply %x, %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func private @forward(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %0 = stablehlo.multiply %x, %x : tensor<3xf64>
  return %0, %x : tensor<3xf64>, tensor<3xf64>
}
func.func private @backward(%r: tensor<3xf64>, %y_bar: tensor<3xf64>) -> tensor<3xf64> {
  %seven = stablehlo.constant dense<7.0> : tensor<3xf64>
  %0 = stablehlo.multiply %y_bar, %r : tensor<3xf64>
  %1 = stablehlo.multiply %0, %seven : tensor<3xf64>
  return %1 : tensor<3xf64>
}
"""
BATCH_OF_VJP = """
func.func private @g(%x: tensor<3xf64>, %c: tensor<f64>, %y_bar: tensor<3xf64>) -> tensor<3xf64> {
  %0:2 = ad.vjp @f(%x, %c) cotangents(%y_bar) wrt = [0], of = [0] : (tensor<3xf64>, tensor<f64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>)
  return %0#1 : tensor<3xf64>
}
func.func public @main(%x: tensor<3x5xf64>, %c: tensor<f64>, %y_bar: tensor<5x3xf64>) -> tensor<3x5xf64> {
  %0 = ad.batch @g(%x, %c, %y_bar) in_axes = [1, -1, 0], out_axes = [1] : (tensor<3x5xf64>, tensor<f64>, tensor<5x3xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
"""
VJP_OF_BATCH = """
func.func private @g(%x: tensor<3x5xf64>, %c: tensor<f64>) -> tensor<5x3xf64> {
  %0 = ad.batch @f(%x, %c) in_axes = [1, -1], out_axes = [0] : (tensor<3x5xf64>, tensor<f64>) -> tensor<5x3xf64>
  return %0 : tensor<5x3xf64>
}
func.func public @main(%x: tensor<3x5xf64>, %c: tensor<f64>, %y_bar: tensor<5x3xf64>) -> tensor<3x5xf64> {
  %0:2 = ad.vjp @g(%x, %c) cotangents(%y_bar) wrt = [0], of = [0] : (tensor<3x5xf64>, tensor<f64>, tensor<5x3xf64>) -> (tensor<5x3xf64>, tensor<3x5xf64>)
  return %0#1 : tensor<3x5xf64>
}
"""


@pytest.mark.parametrize("text", [BATCH_OF_VJP, VJP_OF_BATCH], ids=["batch of vjp", "vjp of batch"])
def test_batches_and_declared_derivatives_in_text(text: str) -> None:
    module = made(parse_module(IN_TEXT + text), expand_ad)
    assert not any(op.name.startswith("ad.") for op in module.walk())
    rng = np.random.default_rng(6)
    x, y_bar = rng.normal(size=(3, 5)), rng.normal(size=(5, 3))
    (x_bar,) = run(module, [x, np.array(2.0), y_bar])
    np.testing.assert_allclose(x_bar, 7 * (2 * x) * y_bar.T * 2, rtol=1e-14)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("in_axes = [1, -1]", "in_axes = [0, -1]", "needs one number of batch elements, but finds 3 and 5"),
        ("in_axes = [1, -1]", "in_axes = [1, 0]", "has the wrong types for @f_batch"),
        ("out_axes = [0]", "out_axes = [-1]", "result 0 of @f is the same for all batch elements, but it depends on a batched argument"),
        ("in_axes = [1, -1], out_axes = [0]", "in_axes = [-1, -1], out_axes = [-1]", "has no batched argument or result"),
        ("in_axes = [1, -1]", "in_axes = [1]", "in_axes has 1 entries, but @f has 2 arguments"),
    ],
)
def test_mistakes_in_text(old: str, new: str, message: str) -> None:
    module = parse_module(IN_TEXT + VJP_OF_BATCH.replace(old, new))
    with pytest.raises(DiagnosticError) as raised:
        expand_ad(module)
    assert message in str(raised.value)


REFUSED = {
    "needs static shapes": ("(%x: tensor<?xf64>) -> tensor<?xf64>", "%0 = stablehlo.sine %x : tensor<?xf64>", "return %0 : tensor<?xf64>"),
    "it does more than compute its results": (
        "(%x: tensor<2xf64>) -> tensor<2xf64>",
        '%0 = "stablehlo.custom_call"(%x) <{call_target_name = "f", has_side_effect = true}> : (tensor<2xf64>) -> tensor<2xf64>',
        "return %0 : tensor<2xf64>",
    ),
    "has type memref.* and cannot be batched": ("(%x: memref<2xf64>) -> memref<2xf64>", "", "return %x : memref<2xf64>"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_batched_is_refused_by_place(message: str) -> None:
    with pytest.raises(DiagnosticError, match=message) as raised:
        batch(main(*REFUSED[message]), 2)
    assert str(raised.value).startswith("<string>:")
