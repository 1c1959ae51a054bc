"""sort and top_k as networks on tensors against the interpreter's own: the same bits, whatever the shapes, types and comparators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native_checks import DTYPES, function, tensor, values

from wengert.dialects import chlo, stablehlo
from wengert.dialects.kernel import InterpretOp, NativeOp
from wengert.ir.construction import copy_module
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime import interpreter
from wengert.transforms.fuse.sorting.network import stage_masks
from wengert.transforms.pipelines import GPU_LOWER, parse_pipeline

Array = np.ndarray[Any, Any]
TOTAL = ", compare_type = #stablehlo<comparison_type TOTALORDER>"


def check(text: str, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Networks, and the nests that they become, give the bits of the ops."""
    module = parse_module(text)
    expected = interpreter.run(module, inputs)
    for pipeline in ("sorts-to-networks", GPU_LOWER):
        made = parse_pipeline(pipeline).run(copy_module(module))
        verify(made, "")
        assert not ops_of(made, stablehlo.SortOp, chlo.TopKOp, NativeOp, InterpretOp)
        for mine, theirs in zip(interpreter.run(made, inputs), expected, strict=True):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes()
    return tuple(expected)


def comparator(types: Sequence[str], direction: str, order: str = "") -> str:
    """A region that compares the first operands."""
    arguments = ", ".join(f"%{side}{n}: tensor<{element}>" for n, element in enumerate(types) for side in "xy")
    attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>{order}"
    return f"""({{
    ^bb0({arguments}):
      %c = "stablehlo.compare"(%x0, %y0) <{{{attributes}}}> : (tensor<{types[0]}>, tensor<{types[0]}>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }})"""


def sort_text(types: Sequence[str], shape: Sequence[int], dimension: int, region: str) -> str:
    listed = [tensor(shape, element) for element in types]
    return function(listed, listed, f'"stablehlo.sort"($in) <{{dimension = {dimension} : i64, is_stable = true}}> {region} : $type')


@st.composite
def sorts(draw: st.DrawFn) -> tuple[str, list[Array]]:
    rank = draw(st.integers(1, 3))
    dimension = draw(st.integers(0, rank - 1))
    shape = [draw(st.integers(0, 70) if d == dimension else st.integers(0, 3)) for d in range(rank)]
    types = draw(st.lists(st.sampled_from(sorted(set(DTYPES) - {"complex<f64>", "complex<f32>"})), min_size=1, max_size=3))
    is_float = np.dtype(DTYPES[types[0]]).kind not in "iub"
    region = comparator(types, draw(st.sampled_from(["LT", "GT", "LE", "GE"])), TOTAL if is_float else "")
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return sort_text(types, shape, draw(st.sampled_from([dimension, dimension - rank])), region), [values(rng, shape, element) for element in types]


@given(sorts())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_sorts(case: tuple[str, list[Array]]) -> None:
    check(*case)


@pytest.mark.parametrize("element", ["f64", "f32", "bf16"])
def test_the_order_that_jax_sorts_by(element: str) -> None:
    """Both zeros are equal, and so are all NaN, which come last."""
    scalar = f"tensor<{element}>"

    def canonical(x: str) -> str:
        return f"""
      %z{x} = stablehlo.compare EQ, %{x}, %zero : ({scalar}, {scalar}) -> tensor<i1>
      %p{x} = stablehlo.select %z{x}, %zero, %{x} : tensor<i1>, {scalar}
      %u{x} = stablehlo.compare NE, %{x}, %{x} : ({scalar}, {scalar}) -> tensor<i1>
      %k{x} = stablehlo.select %u{x}, %nan, %p{x} : tensor<i1>, {scalar}"""

    nan = {"f64": "0x7FF8000000000000", "f32": "0x7FC00000", "bf16": "0x7FC0"}[element]
    region = f"""({{
    ^bb0(%a: {scalar}, %b: {scalar}, %i: tensor<i32>, %j: tensor<i32>):
      %zero = stablehlo.constant dense<0.0> : {scalar}
      %nan = stablehlo.constant dense<{nan}> : {scalar}{canonical("a")}{canonical("b")}
      %c = stablehlo.compare LT, %ka, %kb, TOTALORDER : ({scalar}, {scalar}) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }})"""
    x = values(np.random.default_rng(5), (3, 90), element)
    check(sort_text([element, "i32"], (3, 90), 1, region), [x, np.tile(np.arange(90, dtype=np.int32), (3, 1))])


def test_a_comparator_of_several_operands_that_uses_what_is_outside() -> None:
    text = """func.func @main(%x: tensor<4x50xf64>, %y: tensor<4x50xi32>, %z: tensor<4x50xf32>, %m: tensor<f64>) -> (tensor<4x50xf64>, tensor<4x50xi32>, tensor<4x50xf32>) {
      %r:3 = "stablehlo.sort"(%x, %y, %z) <{dimension = 1 : i64}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>, %i: tensor<i32>, %j: tensor<i32>, %u: tensor<f32>, %v: tensor<f32>):
        %p = stablehlo.multiply %a, %m : tensor<f64>
        %q = stablehlo.multiply %b, %m : tensor<f64>
        %equal = stablehlo.compare EQ, %p, %q : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %less = stablehlo.compare LT, %p, %q : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %second = stablehlo.compare GT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c = stablehlo.select %equal, %second, %less : tensor<i1>, tensor<i1>
        stablehlo.return %c : tensor<i1>
      }) : (tensor<4x50xf64>, tensor<4x50xi32>, tensor<4x50xf32>) -> (tensor<4x50xf64>, tensor<4x50xi32>, tensor<4x50xf32>)
      return %r#0, %r#1, %r#2 : tensor<4x50xf64>, tensor<4x50xi32>, tensor<4x50xf32>
    }"""
    rng = np.random.default_rng(3)
    inputs = [rng.integers(0, 5, (4, 50)) * 1.0, rng.integers(0, 3, (4, 50)).astype(np.int32), rng.normal(size=(4, 50)).astype(np.float32)]
    for factor in (1.0, -1.0):
        check(text, [*inputs, np.array(factor)])


@pytest.mark.parametrize("direction", ["LE", "NE", "EQ"])
def test_a_comparator_that_is_no_order(direction: str) -> None:
    """Whatever the comparator says, the result is a permutation."""
    made = parse_pipeline(GPU_LOWER).run(parse_module(sort_text(["i32"], (100,), 0, comparator(["i32"], direction))))
    (actual,) = interpreter.run(made, [np.random.default_rng(2).permutation(100).astype(np.int32)])
    np.testing.assert_array_equal(np.sort(actual), np.arange(100))


def test_a_comparator_that_looks_at_nothing() -> None:
    """Nothing goes before anything: all stays."""
    region = """({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    })"""
    x = np.random.default_rng(2).normal(size=20).astype(np.float32)
    (y,) = check(sort_text(["f32"], (20,), 0, region), [x])
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("n", [2, 3, 7, 8, 9, 100])
def test_the_network_sorts_zeros_and_ones(n: int) -> None:
    """A network that sorts all sequences of zeros and ones sorts everything (Knuth, volume 3, section 5.3.4, theorem Z); the longer ones by chance."""
    every = np.array(list(np.ndindex(*[2] * n))) if n < 12 else np.random.default_rng(n).integers(0, 2, (4000, n))
    here = np.arange(n)
    for mask in stage_masks(n):
        partner = here ^ mask
        other = np.where(partner < n, every[:, np.minimum(partner, n - 1)], every)
        every = np.where(here < partner, np.minimum(every, other), np.maximum(every, other))
    assert (np.diff(every, axis=1) >= 0).all()


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "i1", "i8", "ui64"])
@pytest.mark.parametrize(("shape", "k"), [((5,), 1), ((5,), 5), ((3, 50), 4), ((2, 3, 40), 33), ((7,), 0), ((0, 4), 2), ((2, 1500), 3), ((1100,), 40)])
def test_top_k(element: str, shape: tuple[int, ...], k: int) -> None:
    result = (*shape[:-1], k)
    for largest in ("true", "false"):
        op = f'"chlo.top_k"($in) {{k = {k} : i64, largest = {largest}}} : $type'
        text = function([tensor(shape, element)], [tensor(result, element), tensor(result, "i32")], op)
        check(text, [values(np.random.default_rng(4), shape, element)])


def test_top_k_of_a_long_line_is_by_blocks() -> None:
    """Blocks that hold the largest elements, and nothing but -NaN, which is the least of all: what fills up the last block is never chosen."""
    x = np.full(3000, -np.nan, np.float32)
    x[1000:1005] = np.arange(5)
    (best, places) = check(function([tensor([3000], "f32")], [tensor([9], "f32"), tensor([9], "i32")], '"chlo.top_k"($in) <{k = 9 : i64}> : $type'), [x])
    np.testing.assert_array_equal(best[:5], [4, 3, 2, 1, 0])
    np.testing.assert_array_equal(places[5:], [0, 1, 2, 3])
