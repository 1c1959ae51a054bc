"""Windows, folds by regions, extreme positions and scans in native code against the interpreter."""

import numpy as np
import pytest
from native_checks import DTYPES, check, function, tensor, values

import wengert as wg
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.transforms.schedule import chunks

REAL = [element for element in DTYPES if not element.startswith("complex")]
SOME = ["f64", "f16", "bf16", "i8", "ui32", "i1"]
EQUAL = 1e-300
"""Equal, but for the sign of zero, which NumPy's maximum leaves open."""
TOLERANCE = {"f16": 2e-3, "bf16": 2e-2, "f32": 1e-6, "f64": 1e-14, "complex<f32>": 1e-6, "complex<f64>": 1e-14}
WINDOWS = [
    # operand, window, strides, base dilations, window dilations, padding, result
    ((5,), (3,), (1,), (1,), (1,), (0, 0), (3,)),
    ((4, 9), (2, 3), (2, 1), (1, 1), (1, 1), (0, 0, 1, 1), (2, 9)),
    ((3, 7), (2, 2), (1, 2), (1, 3), (2, 1), (1, 2, 2, 0), (4, 10)),
    ((2, 6, 19), (1, 4, 1), (1, 2, 1), (1, 1, 1), (1, 1, 1), (0, 0, 2, 2, 0, 0), (2, 4, 19)),
    ((3, 40), (1, 40), (1, 1), (1, 1), (1, 1), (0, 0, 39, 0), (3, 40)),
    ((0,), (2,), (1,), (1,), (1,), (2, 1), (2,)),
    ((), (), (), (), (), (), ()),
]


def _array(numbers: tuple[int, ...]) -> str:
    return "array<i64" + (": " + ", ".join(map(str, numbers)) if numbers else "") + ">"


@pytest.mark.parametrize(
    ("element", "kind"),
    [*[(element, "add") for element in SOME], ("f32", "max"), ("i1", "max"), ("ui32", "max"), ("f64", "min"), ("bf16", "min"), ("complex<f64>", "mul")],
)
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_window_reduce(element: str, kind: str, case: tuple[tuple[int, ...], ...]) -> None:
    shape, window, strides, base, dilations, padding, result = case
    properties = zip(
        ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding"), (window, strides, base, dilations, padding), strict=True
    )
    listed = ", ".join(f"{name} = {_array(numbers)}" for name, numbers in properties)
    text = function([tensor(shape, element)], [tensor(result, element)], f'"core.window_reduce"($in) <{{kind = #core<kind {kind}>, {listed}}}> : $type')
    x = values(np.random.default_rng(1), shape, element, special=kind != "add")
    check(text, [x], TOLERANCE.get(element, 0.0) if kind in ("add", "mul") else EQUAL)


def _winner(element: str, index: str) -> str:
    """(value, position) pairs: the larger value, of equal ones the lower position."""
    return f"""({{
    ^bb0(%v: tensor<{element}>, %i: tensor<{index}>, %w: tensor<{element}>, %j: tensor<{index}>):
      %gt = "stablehlo.compare"(%w, %v) <{{comparison_direction = #stablehlo<comparison_direction GT>}}> : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
      %eq = "stablehlo.compare"(%w, %v) <{{comparison_direction = #stablehlo<comparison_direction EQ>}}> : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
      %lt = "stablehlo.compare"(%j, %i) <{{comparison_direction = #stablehlo<comparison_direction LT>}}> : (tensor<{index}>, tensor<{index}>) -> tensor<i1>
      %both = "stablehlo.and"(%eq, %lt) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %t = "stablehlo.or"(%gt, %both) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %x = "stablehlo.select"(%t, %w, %v) : (tensor<i1>, tensor<{element}>, tensor<{element}>) -> tensor<{element}>
      %k = "stablehlo.select"(%t, %j, %i) : (tensor<i1>, tensor<{index}>, tensor<{index}>) -> tensor<{index}>
      "stablehlo.return"(%x, %k) : (tensor<{element}>, tensor<{index}>) -> ()
    }})"""


@pytest.mark.parametrize("element", ["f64", "bf16", "i32"])
@pytest.mark.parametrize(
    ("shape", "dimensions"), [((7,), (0,)), ((3, 20), (0,)), ((3, 20), (1,)), ((4, 3, 5), (0, 2)), ((0, 4), (0,)), ((2, 0), (0,)), ((5, 1), ()), ((), ())]
)
def test_reduce_of_pairs(element: str, shape: tuple[int, ...], dimensions: tuple[int, ...]) -> None:
    result = tuple(n for d, n in enumerate(shape) if d not in dimensions)
    operands = [tensor(shape, element), tensor(shape, "i32"), tensor((), element), tensor((), "i32")]
    op = f'"stablehlo.reduce"($in) <{{dimensions = {_array(dimensions)}}}> {_winner(element, "i32")} : $type'
    rng = np.random.default_rng(2)
    inputs = [
        values(rng, shape, element),
        rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.int32),
        values(rng, (), element),
        np.array(-1, np.int32),
    ]
    check(function(operands, [tensor(result, element), tensor(result, "i32")], op), inputs)


@pytest.mark.parametrize("element", ["f64", "f16"])
@pytest.mark.parametrize("case", [case for case in WINDOWS if case[0]], ids=str)
def test_reduce_window_of_pairs(element: str, case: tuple[tuple[int, ...], ...]) -> None:
    shape, window, strides, base, dilations, padding, result = case
    edges = f"dense<[{', '.join(f'[{a}, {b}]' for a, b in zip(padding[::2], padding[1::2], strict=True))}]> : tensor<{len(shape)}x2xi64>"
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    listed = ", ".join(f"{name} = {_array(numbers)}" for name, numbers in zip(names, (window, strides, base, dilations), strict=True))
    operands = [tensor(shape, element), tensor(shape, "i64"), tensor((), element), tensor((), "i64")]
    op = f'"stablehlo.reduce_window"($in) <{{{listed}, padding = {edges}}}> {_winner(element, "i64")} : $type'
    rng = np.random.default_rng(3)
    inputs = [values(rng, shape, element), rng.permutation(int(np.prod(shape))).reshape(shape), values(rng, (), element, special=False), np.array(-1)]
    check(function(operands, [tensor(result, element), tensor(result, "i64")], op), inputs)


@pytest.mark.parametrize("element", ["f64", "f32", "i32"])
@pytest.mark.parametrize(
    ("shape", "window", "strides", "padding", "source"),
    [((6,), 3, 1, (1, 1), (6,)), ((5, 6), 2, 2, (1, 0, 0, 0), (3, 3)), ((4, 4), 3, 1, (0, 0, 2, 2), (2, 6))],
)
def test_select_and_scatter(element: str, shape: tuple[int, ...], window: int, strides: int, padding: tuple[int, ...], source: tuple[int, ...]) -> None:
    edges = f"dense<[{', '.join(f'[{a}, {b}]' for a, b in zip(padding[::2], padding[1::2], strict=True))}]> : tensor<{len(shape)}x2xi64>"
    listed = f"window_dimensions = {_array((window,) * len(shape))}, window_strides = {_array((strides,) * len(shape))}, padding = {edges}"
    regions = f"""({{
    ^bb0(%x: tensor<{element}>, %y: tensor<{element}>):
      %c = "stablehlo.compare"(%x, %y) <{{comparison_direction = #stablehlo<comparison_direction GE>}}> : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }}, {{
    ^bb0(%x: tensor<{element}>, %y: tensor<{element}>):
      %s = "stablehlo.add"(%x, %y) : (tensor<{element}>, tensor<{element}>) -> tensor<{element}>
      "stablehlo.return"(%s) : (tensor<{element}>) -> ()
    }})"""
    operands = [tensor(shape, element), tensor(source, element), tensor((), element)]
    op = f'"stablehlo.select_and_scatter"($in) <{{{listed}}}> {regions} : $type'
    rng = np.random.default_rng(4)
    inputs = [values(rng, shape, element), values(rng, source, element, special=False), values(rng, (), element, special=False)]
    check(function(operands, [tensor(shape, element)], op), inputs, TOLERANCE.get(element, 0.0))


@pytest.mark.parametrize(("element", "extreme"), [*[(element, "max") for element in REAL[::2]], *[(element, "min") for element in SOME]])
@pytest.mark.parametrize(("shape", "dimension"), [((1,), 0), ((30,), 0), ((3, 17), 1), ((17, 3), 0), ((2, 5, 21), 1), ((0, 3), 1)])
def test_argreduce(element: str, extreme: str, shape: tuple[int, ...], dimension: int) -> None:
    result = shape[:dimension] + shape[dimension + 1 :]
    for index in ("i64", "ui8"):
        op = f'"core.argreduce"($in) <{{extreme = #core<extreme {extreme}>, dimension = {dimension} : i64}}> : $type'
        text = function([tensor(shape, element)], [tensor(result, element), tensor(result, index)], op)
        check(text, [values(np.random.default_rng(5), shape, element, special=index == "i64")])


def test_argreduce_of_infinities() -> None:
    """The neutral element may itself be the extreme one."""
    op = '"core.argreduce"($in) <{extreme = #core<extreme max>, dimension = 0 : i64}> : $type'
    actual = check(function([tensor((3,), "f32")], [tensor((), "f32"), tensor((), "i32")], op), [np.full(3, -np.inf, np.float32)])
    assert actual[1] == 0


@pytest.mark.parametrize(
    ("element", "kind"),
    [*[(element, "add") for element in (*SOME, "complex<f32>")], ("f64", "mul"), ("complex<f64>", "mul"), ("i64", "mul"), ("f32", "max"), ("i1", "min")],
)
@pytest.mark.parametrize("reverse", ["false", "true"])
def test_cumulative(element: str, kind: str, reverse: str) -> None:
    rng = np.random.default_rng(6)
    for shape, dimension in (((9,), 0), ((4, 6), 1), ((6, 19), 0), ((19, 5), 1), ((2, 4, 3), 1), ((3, 0), 1), ((1,), 0)):
        op = f'"core.cumulative"($in) <{{kind = #core<kind {kind}>, dimension = {dimension} : i64, reverse = {reverse}}}> : $type'
        tolerance = TOLERANCE.get(element, 0.0) if kind in ("add", "mul") else EQUAL
        check(function([tensor(shape, element)], [tensor(shape, element)], op), [values(rng, shape, element, special=kind == "max")], tolerance)


@pytest.mark.parametrize(
    ("element", "kind"), [("f64", "add"), ("f32", "mul"), ("f16", "add"), ("i32", "add"), ("i1", "max"), ("complex<f32>", "mul"), ("f32", "min")]
)
@pytest.mark.parametrize("reverse", ["false", "true"])
def test_cumulative_by_ranges(element: str, kind: str, reverse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "GRAIN_NS", 20.0)
    monkeypatch.setattr(chunks, "LEAST_NS", 40.0)
    rng = np.random.default_rng(6)
    for shape, dimension in (((601,), 0), ((3, 130), 1), ((203, 2), 0), ((2, 97, 3), 1), ((1024,), 0)):
        op = f'"core.cumulative"($in) <{{kind = #core<kind {kind}>, dimension = {dimension} : i64, reverse = {reverse}}}> : $type'
        text = function([tensor(shape, element)], [tensor(shape, element)], op)
        assert ".finish(" in compile(parse_module(text)).llvm_text
        x = values(rng, shape, element, special=kind == "min")
        if kind == "mul":
            x = (1 + x / 100).astype(x.dtype)
        check(text, [x], 20 * TOLERANCE.get(element, 0.0) if kind in ("add", "mul") else EQUAL)


def test_strict_running_sums_keep_their_order() -> None:
    n = 200_000
    text = function(
        [tensor((n,), "f32")], [tensor((n,), "f32")], '"core.cumulative"($in) <{kind = #core<kind add>, dimension = 0 : i64, reverse = false}> : $type'
    )
    x = values(np.random.default_rng(7), (n,), "f32", special=False)
    np.testing.assert_array_equal(wg.parse(text).compile(strict=True)(x)[0], np.add.accumulate(x))


@pytest.mark.parametrize(("extents", "across"), [((3_000_000,), (0,)), ((4, 500_000), (1,)), ((400_000, 3), (0,)), ((1000, 1021), (0, 1))])
def test_long_sums_are_sums_of_short_ones(extents: tuple[int, ...], across: tuple[int, ...]) -> None:
    """Added up one after the other, so many positive numbers lose three digits of seven."""
    kept = "x".join([*(str(n) for d, n in enumerate(extents) if d not in across), "f32"])
    all_of = "x".join([*map(str, extents), "f32"])
    f = wg.parse(
        f"""func.func @main(%x: tensor<{all_of}>) -> tensor<{kept}> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [{", ".join(map(str, across))}] : (tensor<{all_of}>, tensor<f32>) -> tensor<{kept}>
  return %0 : tensor<{kept}>
}}"""
    )
    x = (np.random.default_rng(5).random(extents) + 1).astype(np.float32)
    np.testing.assert_allclose(f(x)[0], x.astype(np.float64).sum(across), rtol=1e-6)
