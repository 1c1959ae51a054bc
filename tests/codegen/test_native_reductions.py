"""Windows, folds by regions, extreme positions and scans in native code against the interpreter."""

import numpy as np
import pytest
from native_checks import DTYPES, check, function, tensor, values

import wengert as wg

REAL = [held for held in DTYPES if not held.startswith("complex")]
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
    ("held", "kind"),
    [*[(held, "add") for held in SOME], ("f32", "max"), ("i1", "max"), ("ui32", "max"), ("f64", "min"), ("bf16", "min"), ("complex<f64>", "mul")],
)
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_window_reduce(held: str, kind: str, case: tuple[tuple[int, ...], ...]) -> None:
    shape, window, strides, base, dilations, padding, result = case
    properties = zip(
        ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding"), (window, strides, base, dilations, padding), strict=True
    )
    listed = ", ".join(f"{name} = {_array(numbers)}" for name, numbers in properties)
    text = function([tensor(shape, held)], [tensor(result, held)], f'"core.window_reduce"($in) <{{kind = #core<kind {kind}>, {listed}}}> : $type')
    x = values(np.random.default_rng(1), shape, held, special=kind != "add")
    check(text, [x], TOLERANCE.get(held, 0.0) if kind in ("add", "mul") else EQUAL)


def _winner(held: str, index: str) -> str:
    """(value, position) pairs: the larger value, of equal ones the lower position."""
    return f"""({{
    ^bb0(%v: tensor<{held}>, %i: tensor<{index}>, %w: tensor<{held}>, %j: tensor<{index}>):
      %gt = "stablehlo.compare"(%w, %v) <{{comparison_direction = #stablehlo<comparison_direction GT>}}> : (tensor<{held}>, tensor<{held}>) -> tensor<i1>
      %eq = "stablehlo.compare"(%w, %v) <{{comparison_direction = #stablehlo<comparison_direction EQ>}}> : (tensor<{held}>, tensor<{held}>) -> tensor<i1>
      %lt = "stablehlo.compare"(%j, %i) <{{comparison_direction = #stablehlo<comparison_direction LT>}}> : (tensor<{index}>, tensor<{index}>) -> tensor<i1>
      %both = "stablehlo.and"(%eq, %lt) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %t = "stablehlo.or"(%gt, %both) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %x = "stablehlo.select"(%t, %w, %v) : (tensor<i1>, tensor<{held}>, tensor<{held}>) -> tensor<{held}>
      %k = "stablehlo.select"(%t, %j, %i) : (tensor<i1>, tensor<{index}>, tensor<{index}>) -> tensor<{index}>
      "stablehlo.return"(%x, %k) : (tensor<{held}>, tensor<{index}>) -> ()
    }})"""


@pytest.mark.parametrize("held", ["f64", "bf16", "i32"])
@pytest.mark.parametrize(
    ("shape", "dimensions"), [((7,), (0,)), ((3, 20), (0,)), ((3, 20), (1,)), ((4, 3, 5), (0, 2)), ((0, 4), (0,)), ((2, 0), (0,)), ((5, 1), ()), ((), ())]
)
def test_reduce_of_pairs(held: str, shape: tuple[int, ...], dimensions: tuple[int, ...]) -> None:
    result = tuple(n for d, n in enumerate(shape) if d not in dimensions)
    operands = [tensor(shape, held), tensor(shape, "i32"), tensor((), held), tensor((), "i32")]
    op = f'"stablehlo.reduce"($in) <{{dimensions = {_array(dimensions)}}}> {_winner(held, "i32")} : $type'
    rng = np.random.default_rng(2)
    inputs = [values(rng, shape, held), rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.int32), values(rng, (), held), np.array(-1, np.int32)]
    check(function(operands, [tensor(result, held), tensor(result, "i32")], op), inputs)


@pytest.mark.parametrize("held", ["f64", "f16"])
@pytest.mark.parametrize("case", [case for case in WINDOWS if case[0]], ids=str)
def test_reduce_window_of_pairs(held: str, case: tuple[tuple[int, ...], ...]) -> None:
    shape, window, strides, base, dilations, padding, result = case
    edges = f"dense<[{', '.join(f'[{a}, {b}]' for a, b in zip(padding[::2], padding[1::2], strict=True))}]> : tensor<{len(shape)}x2xi64>"
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    listed = ", ".join(f"{name} = {_array(numbers)}" for name, numbers in zip(names, (window, strides, base, dilations), strict=True))
    operands = [tensor(shape, held), tensor(shape, "i64"), tensor((), held), tensor((), "i64")]
    op = f'"stablehlo.reduce_window"($in) <{{{listed}, padding = {edges}}}> {_winner(held, "i64")} : $type'
    rng = np.random.default_rng(3)
    inputs = [values(rng, shape, held), rng.permutation(int(np.prod(shape))).reshape(shape), values(rng, (), held, special=False), np.array(-1)]
    check(function(operands, [tensor(result, held), tensor(result, "i64")], op), inputs)


@pytest.mark.parametrize("held", ["f64", "f32", "i32"])
@pytest.mark.parametrize(
    ("shape", "window", "strides", "padding", "source"),
    [((6,), 3, 1, (1, 1), (6,)), ((5, 6), 2, 2, (1, 0, 0, 0), (3, 3)), ((4, 4), 3, 1, (0, 0, 2, 2), (2, 6))],
)
def test_select_and_scatter(held: str, shape: tuple[int, ...], window: int, strides: int, padding: tuple[int, ...], source: tuple[int, ...]) -> None:
    edges = f"dense<[{', '.join(f'[{a}, {b}]' for a, b in zip(padding[::2], padding[1::2], strict=True))}]> : tensor<{len(shape)}x2xi64>"
    listed = f"window_dimensions = {_array((window,) * len(shape))}, window_strides = {_array((strides,) * len(shape))}, padding = {edges}"
    regions = f"""({{
    ^bb0(%x: tensor<{held}>, %y: tensor<{held}>):
      %c = "stablehlo.compare"(%x, %y) <{{comparison_direction = #stablehlo<comparison_direction GE>}}> : (tensor<{held}>, tensor<{held}>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }}, {{
    ^bb0(%x: tensor<{held}>, %y: tensor<{held}>):
      %s = "stablehlo.add"(%x, %y) : (tensor<{held}>, tensor<{held}>) -> tensor<{held}>
      "stablehlo.return"(%s) : (tensor<{held}>) -> ()
    }})"""
    operands = [tensor(shape, held), tensor(source, held), tensor((), held)]
    op = f'"stablehlo.select_and_scatter"($in) <{{{listed}}}> {regions} : $type'
    rng = np.random.default_rng(4)
    inputs = [values(rng, shape, held), values(rng, source, held, special=False), values(rng, (), held, special=False)]
    check(function(operands, [tensor(shape, held)], op), inputs, TOLERANCE.get(held, 0.0))


@pytest.mark.parametrize(("held", "extreme"), [*[(held, "max") for held in REAL[::2]], *[(held, "min") for held in SOME]])
@pytest.mark.parametrize(("shape", "dimension"), [((1,), 0), ((30,), 0), ((3, 17), 1), ((17, 3), 0), ((2, 5, 21), 1), ((0, 3), 1)])
def test_argreduce(held: str, extreme: str, shape: tuple[int, ...], dimension: int) -> None:
    result = shape[:dimension] + shape[dimension + 1 :]
    for index in ("i64", "ui8"):
        op = f'"core.argreduce"($in) <{{extreme = #core<extreme {extreme}>, dimension = {dimension} : i64}}> : $type'
        text = function([tensor(shape, held)], [tensor(result, held), tensor(result, index)], op)
        check(text, [values(np.random.default_rng(5), shape, held, special=index == "i64")])


def test_argreduce_of_infinities() -> None:
    """The neutral element may itself be the extreme one."""
    op = '"core.argreduce"($in) <{extreme = #core<extreme max>, dimension = 0 : i64}> : $type'
    found = check(function([tensor((3,), "f32")], [tensor((), "f32"), tensor((), "i32")], op), [np.full(3, -np.inf, np.float32)])
    assert found[1] == 0


@pytest.mark.parametrize(
    ("held", "kind"),
    [*[(held, "add") for held in (*SOME, "complex<f32>")], ("f64", "mul"), ("complex<f64>", "mul"), ("i64", "mul"), ("f32", "max"), ("i1", "min")],
)
@pytest.mark.parametrize("reverse", ["false", "true"])
def test_cumulative(held: str, kind: str, reverse: str) -> None:
    rng = np.random.default_rng(6)
    for shape, dimension in (((9,), 0), ((4, 6), 1), ((6, 19), 0), ((19, 5), 1), ((2, 4, 3), 1), ((3, 0), 1), ((1,), 0)):
        op = f'"core.cumulative"($in) <{{kind = #core<kind {kind}>, dimension = {dimension} : i64, reverse = {reverse}}}> : $type'
        tolerance = TOLERANCE.get(held, 0.0) if kind in ("add", "mul") else EQUAL
        check(function([tensor(shape, held)], [tensor(shape, held)], op), [values(rng, shape, held, special=kind == "max")], tolerance)


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
