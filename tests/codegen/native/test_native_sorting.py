"""Sorting and top_k in native code against the interpreter: stable, by any comparator, NaN and zeros included."""

import numpy as np
import pytest
from native_checks import DTYPES, check, function, tensor, values

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.transforms.codegen.cpu.native import sorting
from wengert.transforms.schedule import chunks


def _comparator(types: list[str], direction: str, order: str) -> str:
    arguments = ", ".join(f"%{side}{n}: tensor<{element}>" for n, element in enumerate(types) for side in "xy")
    return f"""({{
    ^bb0({arguments}):
      %c = "stablehlo.compare"(%x0, %y0) <{{comparison_direction = #stablehlo<comparison_direction {direction}>{order}}}> : (tensor<{types[0]}>, tensor<{types[0]}>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }})"""


@pytest.mark.parametrize("element", ["f64", "bf16", "i1", "ui16"])
@pytest.mark.parametrize(("shape", "dimension"), [((1,), 0), ((40,), 0), ((9, 3), 0), ((3, 17), 1), ((2, 100, 2), 1), ((0, 3), 0), ((3, 0), 0)])
def test_sort_of_pairs(element: str, shape: tuple[int, ...], dimension: int) -> None:
    """Equal keys keep their order, which the second operand shows."""
    order = ", compare_type = #stablehlo<comparison_type TOTALORDER>" if DTYPES[element](0).dtype.kind not in "iub" else ""
    region = _comparator([element, "i32"], "LT", order)
    op = f'"stablehlo.sort"($in) <{{dimension = {dimension} : i64, is_stable = true}}> {region} : $type'
    types = [tensor(shape, element), tensor(shape, "i32")]
    rng = np.random.default_rng(1)
    check(function(types, types, op), [values(rng, shape, element), np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)])


@pytest.mark.parametrize("direction", ["LT", "GT"])
@pytest.mark.parametrize("n", [2, 3, 8, 9, 16, 17, 33, 64, 200])
def test_sort_of_numbers(direction: str, n: int) -> None:
    op = f'"stablehlo.sort"($in) <{{dimension = 0 : i64}}> {_comparator(["f32"], direction, "")} : $type'
    check(function([tensor((n,), "f32")], [tensor((n,), "f32")], op), [values(np.random.default_rng(n), (n,), "f32", special=False)])


@pytest.mark.parametrize("direction", ["LE", "NE", "EQ"])
def test_a_comparator_that_is_no_order(direction: str) -> None:
    """Whatever the comparator says, the result is a permutation and no memory outside of it is touched."""
    op = f'"stablehlo.sort"($in) <{{dimension = 0 : i64}}> {_comparator(["i32"], direction, "")} : $type'
    x = np.random.default_rng(2).permutation(100).astype(np.int32)
    (actual,) = compile(parse_module(function([tensor((100,), "i32")], [tensor((100,), "i32")], op)))(x)
    np.testing.assert_array_equal(np.sort(actual), np.arange(100))


@pytest.mark.parametrize("direction", ["LT", "GE", "NE", "EQ"])
@pytest.mark.parametrize("n", [33, 257, 1000])
def test_ranges_give_what_merging_in_one_go_does(direction: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where NaN is in no order, and where the comparator is none: then merge paths may not meet, and the row is sorted again."""
    rng = np.random.default_rng(n)
    x = np.round(rng.standard_normal(n) * 9).astype(np.float32)
    x[rng.random(n) < 0.1] = np.nan
    op = f'"stablehlo.sort"($in) <{{dimension = 0 : i64}}> {_comparator(["f32", "i32"], direction, "")} : $type'
    types = [tensor((n,), "f32"), tensor((n,), "i32")]
    monkeypatch.setattr(chunks, "GRAIN_NS", 20.0)
    monkeypatch.setattr(chunks, "LEAST_NS", 40.0)
    texts, results = list[str](), list[tuple[np.ndarray, ...]]()
    for few in (0, 16):
        monkeypatch.setattr(sorting, "FEW_ROWS", few)
        compiled = compile(parse_module(function(types, types, op)))
        texts.append(compiled.llvm_text)
        results.append(tuple(result.copy() for result in compiled(x, np.arange(n, dtype=np.int32))))
    assert [".finish(" in text for text in texts] == [False, True]
    for whole, ranges in zip(*results, strict=True):
        np.testing.assert_array_equal(whole, ranges)


def test_a_comparator_that_uses_what_is_outside() -> None:
    text = """func.func @main(%x: tensor<20xf64>, %m: tensor<f64>) -> tensor<20xf64> {
      %r = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        %p = "stablehlo.multiply"(%a, %m) : (tensor<f64>, tensor<f64>) -> tensor<f64>
        %q = "stablehlo.multiply"(%b, %m) : (tensor<f64>, tensor<f64>) -> tensor<f64>
        %c = "stablehlo.compare"(%p, %q) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
        "stablehlo.return"(%c) : (tensor<i1>) -> ()
      }) : (tensor<20xf64>) -> tensor<20xf64>
      return %r : tensor<20xf64>
    }"""
    x = np.random.default_rng(3).normal(size=20)
    for factor in (1.0, -1.0):
        (actual,) = check(text, [x, np.array(factor)])
        np.testing.assert_array_equal(actual, np.sort(x)[:: int(factor)])


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "i1", "i8", "ui64"])
@pytest.mark.parametrize(("shape", "k"), [((5,), 1), ((5,), 5), ((3, 50), 4), ((2, 3, 40), 33), ((7,), 0), ((0, 4), 2)])
def test_top_k(element: str, shape: tuple[int, ...], k: int) -> None:
    result = (*shape[:-1], k)
    text = function([tensor(shape, element)], [tensor(result, element), tensor(result, "i32")], f'"chlo.top_k"($in) <{{k = {k} : i64}}> : $type')
    check(text, [values(np.random.default_rng(4), shape, element)])
