"""Ops that are defined by others: their values against XLA or NumPy, on both backends and in batches, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from op_checks import assert_close, derivatives, function, inputs_of, tensor, values

import wengert
from wengert.ir.verification.verifier import verify
from wengert.transforms.core.compound import EXPANSIONS

Compiled = Callable[[Sequence[Any]], list[Any]]


def apply(name: str, operands: Sequence[str], results: Sequence[str], properties: str = "") -> str:
    """A program that applies one op, in the generic form."""
    types = f"({', '.join(map(tensor, operands))}) -> ({', '.join(map(tensor, results))})"
    uses = ", ".join(f"%x{i}" for i in range(len(operands)))
    head, returned = ("%r", "%r") if len(results) == 1 else (f"%r:{len(results)}", ", ".join(f"%r#{i}" for i in range(len(results))))
    op = f'{head} = "{name}"({uses}) {f"<{{{properties}}}>" if properties else ""} : {types}'
    return function(", ".join(f"%x{i}: {t}" for i, t in enumerate(operands)), op, ", ".join(results), returned)


def norm(kind: str, x: str, features: str, index: int) -> str:
    operands = {"training": [x, features, features], "inference": [x, *[features] * 4], "grad": [x, features, features, features, x]}[kind]
    return apply(
        f"stablehlo.batch_norm_{kind}",
        operands,
        [x] if kind == "inference" else [x, features, features],
        f"epsilon = 0.01 : f32, feature_index = {index} : i64",
    )


NORMS = {
    f"{kind} {x} {index}": norm(kind, x, features, index)
    for kind in ("training", "inference", "grad")
    for x, features, index in (("2x3x4xf64", "3xf64", 1), ("3x5xf64", "3xf64", 0), ("2x2x3xf64", "3xf64", 2))
}
PRODUCTS = {
    "dot matrices": apply("stablehlo.dot", ["2x3xf64", "3x4xf64"], ["2x4xf64"]),
    "dot vectors": apply("stablehlo.dot", ["3xf64", "3xf64"], ["f64"]),
    "dot mixed": apply("stablehlo.dot", ["3xf64", "3x4xf64"], ["4xf64"]),
    "dot complex": apply("stablehlo.dot", ["2x3xcomplex<f64>", "3xcomplex<f64>"], ["2xcomplex<f64>"]),
    **{
        f"einsum {config}": apply("stablehlo.einsum", [x, y], [r], f'einsum_config = "{config}"')
        for config, x, y, r in (
            ("ij,jk->ki", "2x3xf64", "3x4xf64", "4x2xf64"),
            ("ij,kj->", "2x3xf64", "4x3xf64", "f64"),
            ("i,j->ij", "2xf64", "3xf64", "2x3xf64"),
            ("ijk,ijk->j", "2x3x4xf64", "2x3x4xf64", "3xf64"),
            ("...ij,...jk->...ik", "5x2x3xf64", "5x3x4xf64", "5x2x4xf64"),
            ("ii,ii->i", "3x3xf64", "3x3xf64", "3xf64"),
        )
    },
}
BROADCAST = {
    name: apply(f"chlo.broadcast_{name}", [x, y], ["2x3xf64"])
    for number, name in enumerate(("add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract"))
    for x, y in ((("2x3xf64", "3xf64"), ("3xf64", "2x1xf64"), ("2x3xf64", "f64"))[number % 3],)
}
OTHERS = {
    "broadcast": apply("stablehlo.broadcast", ["3xf64"], ["4x2x3xf64"], "broadcast_sizes = array<i64: 4, 2>"),
    "complex": apply("chlo.broadcast_complex", ["2x3xf64", "3xf64"], ["2x3xcomplex<f64>"]),
    "select": apply("chlo.broadcast_select", ["2x1xi1", "3xf64", "f64"], ["2x3xf64"]),
    "kernel of arcs": apply("chlo._asin_acos_kernel", ["3xcomplex<f64>"], ["3xcomplex<f64>"]),
    "selected along 1": apply("stablehlo.torch_index_select", ["5x6xf64", "3xi32"], ["5x3xf64"], "dim = 1 : i64, batch_dims = 0 : i64"),
    "selected in batches": apply("stablehlo.torch_index_select", ["2x5x3xf64", "2x4xi32"], ["2x4x3xf64"], "dim = 1 : i64, batch_dims = 1 : i64"),
}
DIFFERENTIABLE = {**NORMS, **PRODUCTS, **BROADCAST, **OTHERS}
INTEGRAL = {
    **{f"{n} of bits": apply(f"chlo.broadcast_{n}", ["2x3xi32", "3xi32"], ["2x3xi32"]) for n in ("and", "or", "xor", "shift_left", "shift_right_arithmetic")},
    "shift_right_logical": apply("chlo.broadcast_shift_right_logical", ["2x3xi32", "i32"], ["2x3xi32"]),
    "compare": apply("chlo.broadcast_compare", ["2x3xf64", "3xf64"], ["2x3xi1"], "comparison_direction = #chlo<comparison_direction LT>"),
    "compare unsigned": apply("chlo.broadcast_compare", ["2x3xui8", "3xui8"], ["2x3xi1"], "comparison_direction = #chlo<comparison_direction GE>"),
    "next_after": apply("chlo.broadcast_next_after", ["2x3xf64", "3xf64"], ["2x3xf64"]),
    "polygamma": apply("chlo.broadcast_polygamma", ["f64", "3xf64"], ["3xf64"]),
    "constant": function("", "%r = chlo.constant dense<[1.0, 2.0]> : tensor<2xf64>", "2xf64"),
    "constant_like": apply("chlo.constant_like", ["2xf64"], ["2xi8"], "value = -1 : i8"),
    "dot integers": apply("stablehlo.dot", ["2x3xi8", "3xi8"], ["2xi32"]),
}
HALVES = {
    f"{kind} {element_type}": (norm(kind, f"2x3x4x{element_type}", f"3x{element_type}", 1), element_type)
    for kind in ("training", "inference", "grad")
    for element_type in ("f16", "bf16", "f32")
}


@pytest.mark.oracle
@pytest.mark.parametrize("text", [*DIFFERENTIABLE.values(), *INTEGRAL.values()], ids=[*DIFFERENTIABLE, *INTEGRAL])
def test_values_are_those_of_xla(text: str, xla: Callable[[str], Compiled]) -> None:
    inputs, results = values(text)
    assert_close(results, xla(text)(inputs), 1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize(("text", "element_type"), HALVES.values(), ids=HALVES)
def test_normalization_in_other_types(text: str, element_type: str, xla: Callable[[str], Compiled]) -> None:
    tolerance = 1e-5 if element_type == "f32" else 5e-2
    inputs, results = values(text, tolerance=tolerance)
    assert_close(results, xla(text)(inputs), tolerance)


@pytest.mark.parametrize("text", DIFFERENTIABLE.values(), ids=DIFFERENTIABLE)
def test_derivatives(text: str) -> None:
    derivatives(text)


UNARY_EINSUM = {"ij->ji": "2x3", "ij->i": "2x3", "ii->i": "3x3", "ii->": "3x3", "ijk->": "2x3x2", "...ij->...ji": "4x2x3", "iji->j": "3x2x3"}


@pytest.mark.parametrize("config", UNARY_EINSUM)
def test_unary_einsum(config: str) -> None:
    x = np.random.default_rng(0).standard_normal([int(n) for n in UNARY_EINSUM[config].split("x")])
    expected = np.einsum(config, x)
    short = "x".join([*map(str, expected.shape), "f64"])
    text = apply("stablehlo.unary_einsum", [f"{UNARY_EINSUM[config]}xf64"], [short], f'einsum_config = "{config}"')
    assert_close(values(text, [x])[1], [expected], 1e-12)
    derivatives(text, [x])


def test_broadcast_dimensions() -> None:
    text = apply("chlo.broadcast_multiply", ["2x3xf64", "2xf64"], ["2x3xf64"], "broadcast_dimensions = array<i64: 0>")
    (x, y), (result,) = values(text)
    assert_close([result], [x * y[:, None]], 1e-14)
    derivatives(text)


@pytest.mark.parametrize("element_type", ["i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"])
def test_upper_halves_of_products(element_type: str) -> None:
    dtype = np.dtype(f"{element_type[: -len(element_type.lstrip('ui'))].replace('i', 'int')}{element_type.lstrip('ui')}")
    width, limits = 8 * dtype.itemsize, np.iinfo(dtype)
    edges = [limits.min, limits.max, limits.max - 1, 1, 0, limits.max // 3]
    numbers = np.array(edges + list(np.random.default_rng(0).integers(limits.min, limits.max, 10, dtype=dtype)), dtype)
    x, y = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    short = f"{x.size}x{element_type}"
    expected = np.array([(int(a) * int(b)) >> width for a, b in zip(x, y, strict=True)], object).astype(dtype)
    assert_close(values(apply("chlo.mulhi", [short, short], [short]), [x, y], 0)[1], [expected], 0)


def test_arcs_near_branch_points_and_ends_of_the_range(xla: Callable[[str], Compiled]) -> None:
    parts = [0, 0.5, 1, -1, 1 + 1e-9, 1e-20, 2, -3, 1e3, 1e10, 1e200, 1e-300, 0.999999, -0.5]
    z = np.array([complex(a, b) for a in parts for b in parts])
    text = apply("chlo._asin_acos_kernel", [f"{z.size}xcomplex<f64>"], [f"{z.size}xcomplex<f64>"])
    (expected,) = xla(text)([z])
    for backend in ("interpreter", "cpu"):
        (actual,) = wengert.parse(text).compile(backend)(z)
        np.testing.assert_allclose(actual.real, expected.real, rtol=1e-14)
        np.testing.assert_allclose(actual.imag, expected.imag, rtol=1e-14)


# -- ragged contractions

RAGGED: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, list[int]], Any]] = {
    "rows": ((6, 4), (3, 4, 5), {"lc": [1], "rc": [1], "lr": [0], "rg": [0]}, [2, 0, 3]),
    "rows in batches": ((2, 6, 4), (3, 2, 4, 5), {"lb": [0], "rb": [1], "lc": [2], "rc": [2], "lr": [1], "rg": [0]}, [[2, 1, 3], [1, 1, 3]]),
    "rows of one list": ((2, 6, 4), (3, 2, 4, 5), {"lb": [0], "rb": [1], "lc": [2], "rc": [2], "lr": [1], "rg": [0]}, [2, 1, 3]),
    "rows behind others": ((5, 6, 4), (4, 3, 2), {"lc": [2], "rc": [0], "lr": [1], "rg": [1]}, [[1, 3, 2]] * 5),
    "summed": ((4, 6), (6, 5), {"lc": [1], "rc": [0], "lr": [1]}, [2, 1, 2]),
    "summed in batches": ((2, 4, 6), (2, 6, 5), {"lb": [0], "rb": [0], "lc": [2], "rc": [1], "lr": [2]}, [[2, 1, 2], [3, 3, 0]]),
    "summed behind others": ((4, 3, 6), (3, 6, 5), {"lc": [1, 2], "rc": [0, 1], "lr": [2]}, [[2, 1, 2], [3, 3, 0], [0, 0, 6]]),
    "batches": ((6, 4, 2), (6, 2, 5), {"lb": [0], "rb": [0], "lc": [2], "rc": [1], "lr": [0]}, [2, 1, 3]),
}
KEYS = {"lb": "lhs_batching", "rb": "rhs_batching", "lc": "lhs_contracting", "rc": "rhs_contracting", "lr": "lhs_ragged", "rg": "rhs_group"}


@pytest.mark.oracle
@pytest.mark.parametrize("case", RAGGED.values(), ids=RAGGED)
def test_ragged_dot(case: tuple[tuple[int, ...], tuple[int, ...], dict[str, list[int]], Any]) -> None:
    lax = pytest.importorskip("jax.lax")
    left, right, dims, given = case
    rng = np.random.default_rng(0)
    x, y, sizes = rng.standard_normal(left).astype(np.float32), rng.standard_normal(right).astype(np.float32), np.array(given, np.int32)
    pairs = ((dims["lc"], dims["rc"]), (dims.get("lb", []), dims.get("rb", [])))
    numbers = lax.RaggedDotDimensionNumbers(pairs, dims["lr"], dims.get("rg", []))
    expected = np.asarray(lax.ragged_dot_general(x, y, sizes, numbers))
    listed = ", ".join(f"{KEYS[key]}_dimensions = {values}" for key, values in dims.items())
    shorts = ["x".join([*map(str, a.shape), element_type]) for a, element_type in ((x, "f32"), (y, "f32"), (sizes, "i32"), (expected, "f32"))]
    text = apply("chlo.ragged_dot", shorts[:3], shorts[3:], f"ragged_dot_dimension_numbers = #chlo.ragged_dot<{listed}>")
    assert_close(values(text, [x, y, sizes], 1e-5)[1], [expected], 1e-5)
    derivatives(text.replace("f32", "f64"), [x.astype(np.float64), y.astype(np.float64), sizes])


def test_infinities_stay_in_their_group() -> None:
    listed = "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]"
    text = apply("chlo.ragged_dot", ["4x2xf64", "2x2x3xf64", "2xi32"], ["4x3xf64"], f"ragged_dot_dimension_numbers = #chlo.ragged_dot<{listed}>")
    y = np.stack([np.ones((2, 3)), np.full((2, 3), np.inf)])
    (result,) = values(text, [np.ones((4, 2)), y, np.array([2, 2], np.int32)])[1]
    assert_close([result], [np.array([[2.0] * 3] * 2 + [[np.inf] * 3] * 2)], 0)


# -- scans


def scan(body: str, returned: str, attributes: str = "") -> str:
    op = f"""%r:2 = chlo.scan(%x) inits (%s) dimension=1 {attributes} {{
    ^bb0(%a: tensor<2xf64>, %b: tensor<2xf64>):
      {body}
      stablehlo.return {returned} : tensor<2xf64>, tensor<2xf64>
    }} : (tensor<2x4xf64>, tensor<2xf64>) -> (tensor<2x4xf64>, tensor<2xf64>)"""
    return function("%x: 2x4xf64, %s: 2xf64", op, "2x4xf64, 2xf64", "%r#0, %r#1")


SCANS = {
    "sums": scan("%c = stablehlo.add %a, %b : tensor<2xf64>", "%c, %c"),
    "from the end": scan("%c = stablehlo.multiply %a, %b : tensor<2xf64>\n%d = stablehlo.sine %c : tensor<2xf64>", "%c, %d", "attributes {is_reverse = true}"),
    "associative": scan("%c = stablehlo.maximum %a, %b : tensor<2xf64>", "%c, %c", "attributes {is_associative = true}"),
    "nothing carried": function(
        "%x: 3x2xf64",
        "%r = chlo.scan(%x) inits () dimension=0 {\n^bb0(%a: tensor<2xf64>):\n%b = stablehlo.sine %a : tensor<2xf64>\nstablehlo.return %b : tensor<2xf64>\n}"
        " : (tensor<3x2xf64>) -> tensor<3x2xf64>",
        "3x2xf64",
    ),
    "nothing read": function(
        "%x: 2xf64",
        "%r:2 = chlo.scan() inits (%x) dimension=0 attributes {scan_dim_size = 3 : i64} {\n^bb0(%a: tensor<2xf64>):\n%b = stablehlo.sine %a : tensor<2xf64>\n"
        "stablehlo.return %a, %b : tensor<2xf64>, tensor<2xf64>\n} : (tensor<2xf64>) -> (tensor<3x2xf64>, tensor<2xf64>)",
        "3x2xf64, 2xf64",
        "%r#0, %r#1",
    ),
    "scans in scans": function(
        "%x: 3x2xf64, %s: f64",
        """%r:2 = chlo.scan(%x) inits (%s) dimension=0 {
        ^bb0(%a: tensor<2xf64>, %t: tensor<f64>):
          %q:2 = chlo.scan(%a) inits (%t) dimension=0 {
          ^bb0(%u: tensor<f64>, %v: tensor<f64>):
            %w = stablehlo.multiply %u, %v : tensor<f64>
            %o = stablehlo.sine %w : tensor<f64>
            stablehlo.return %w, %o : tensor<f64>, tensor<f64>
          } : (tensor<2xf64>, tensor<f64>) -> (tensor<2xf64>, tensor<f64>)
          %k = chlo.broadcast_multiply %q#0, %q#1 : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
          stablehlo.return %k, %q#1 : tensor<2xf64>, tensor<f64>
        } : (tensor<3x2xf64>, tensor<f64>) -> (tensor<3x2xf64>, tensor<f64>)""",
        "3x2xf64, f64",
        "%r#0, %r#1",
    ),
}


@pytest.mark.oracle
@pytest.mark.parametrize("text", SCANS.values(), ids=SCANS)
def test_scans(text: str, xla: Callable[[str], Compiled]) -> None:
    inputs, results = values(text)
    assert_close(results, xla(text)(inputs), 1e-12)
    derivatives(text)


def test_a_scan_over_nothing() -> None:
    text = SCANS["sums"].replace("2x4xf64", "2x0xf64")
    verify(wengert.parse(text).core_module)
    inputs, (rows, carried) = values(text)
    assert rows.shape == (2, 0)
    np.testing.assert_array_equal(carried, inputs[1])
    derivatives(text)


# -- random numbers


@pytest.mark.parametrize("distribution", ["UNIFORM", "NORMAL"])
def test_random_numbers_are_differentiated_in_their_parameters(distribution: str) -> None:
    shape = "%s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>\n"
    op = f"%r = stablehlo.rng %a, %b, %s, distribution = {distribution} : (tensor<f64>, tensor<f64>, tensor<2xi64>) -> tensor<2x3xf64>"
    program = wengert.parse(function("%a: f64, %b: f64", shape + op, "2x3xf64"))
    a, b, y_bar = np.float64(0.3), np.float64(1.7), np.random.default_rng(0).standard_normal((2, 3))
    for backend in ("interpreter", "cpu"):
        (y,) = program.compile(backend)(a, b)
        z = (y - a) / (b - a if distribution == "UNIFORM" else b)
        slopes = (1 - z, z) if distribution == "UNIFORM" else (np.ones_like(z), z)
        primal, y_dot = program.jvp().compile(backend)(a, b, np.float64(1), np.float64(2))
        assert_close([primal, y_dot], [y, slopes[0] + 2 * slopes[1]], 1e-13)
        for strategy in ("transpose", "direct"):
            actual = program.vjp(strategy=strategy).compile(backend)(a, b, y_bar)
            assert_close(actual, [y, np.sum(y_bar * slopes[0]), np.sum(y_bar * slopes[1])], 1e-12)


# -- what holds for all of them


def test_training_reverses_to_what_grad_computes() -> None:
    training, grad = (wengert.parse(norm(kind, "4x3x5xf64", "3xf64", 1)) for kind in ("training", "grad"))
    x, scale, offset = inputs_of(training)
    y_bar = np.random.default_rng(3).standard_normal((4, 3, 5))
    for spread in (1.0, 1e-6):  # variances far above and far below epsilon
        near = 1 + spread * x
        _, mean, variance = training(near, scale, offset)
        expected = grad(near, scale, mean, variance, y_bar)
        for strategy in ("transpose", "direct"):
            actual = training.vjp(of=[0], strategy=strategy)(near, scale, offset, y_bar)[-3:]
            assert_close(actual, expected, 1e-9)


def test_sums_of_halves_do_not_overflow() -> None:
    text = norm("training", "4096x1xf16", "1xf16", 1)
    x = np.full((4096, 1), 60.0, np.float16)
    for backend in ("interpreter", "cpu"):
        _, mean, variance = wengert.parse(text).compile(backend)(x, np.ones(1, np.float16), np.zeros(1, np.float16))
        assert float(mean[0]) == 60
        assert float(variance[0]) == 0


def test_text_keeps_the_ops_and_costs_are_those_of_the_expansion() -> None:
    dot = wengert.parse(PRODUCTS["dot matrices"])
    assert "stablehlo.dot " in str(dot)
    executed = dot.compile("interpreter")
    executed(*inputs_of(dot))
    assert executed.stats.ops == {"stablehlo.dot": 1}
    assert executed.stats.flops == 2 * 2 * 3 * 4


def test_every_expansion_has_a_case() -> None:
    texts = "\n".join([*DIFFERENTIABLE.values(), *INTEGRAL.values(), *SCANS.values()])
    elsewhere = {"chlo.mulhi", "chlo.ragged_dot", "chlo.broadcast_zeta", "stablehlo.rng", "stablehlo.unary_einsum"}
    assert [op.name for op in EXPANSIONS if f"{op.name}" not in texts and op.name not in elsewhere] == []


def test_bfloat16_is_a_type_of_its_own() -> None:
    text = apply("chlo.broadcast_add", ["2xbf16", "bf16"], ["2xbf16"])
    (x, y), (result,) = values(text)
    assert result.dtype == ml_dtypes.bfloat16
    assert_close([result], [x + y], 1e-2)
