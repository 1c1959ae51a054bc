"""Scatters whose elements find their updates: the specification's results, whatever the dimension numbers, in all three ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device_backends import BACKENDS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native_checks import DTYPES, tensor
from test_random_scatters import COMBINE, Scatter, scatters

import wengert as wg
from wengert.dialects import core
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime import interpreter
from wengert.transforms.fuse.updates import scatters as scatters_pass
from wengert.transforms.fuse.updates.rows import Rows
from wengert.transforms.pipelines import GPU_LOWER, parse_pipeline

Array = np.ndarray[Any, Any]
PASS = "to-core,scatters-to-gathers{reassociate=true}"


@pytest.mark.parametrize("most_comparisons", [0, 1 << 22], ids=["sorted", "compared"])
def test_random_scatters(most_comparisons: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FEWEST", "FEWEST_ROWS", "FEWEST_SORTED"):
        monkeypatch.setattr(scatters_pass, name, 1)
    monkeypatch.setattr(scatters_pass, "MOST_COMPARISONS", most_comparisons)
    changed = 0

    @settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
    @given(
        scatters(), st.sampled_from(list(COMBINE)), st.sampled_from(["f64", "bf16", "i16", "i32"]), st.sampled_from(["i8", "i64", "ui8"]), st.integers(0, 99)
    )
    def run(scatter: Scatter, combine: str, element: str, index: str, seed: int) -> None:
        nonlocal changed
        rng = np.random.default_rng(seed)
        x, u = (rng.integers(-4, 5, shape).astype(DTYPES[element]) for shape in (scatter.operand, scatter.updates))
        i = rng.integers(0 if index.startswith("u") else -2, max(scatter.operand) + 1, scatter.indices).astype(DTYPES[index])
        made = parse_pipeline(PASS).run(parse_module(scatter.text(combine, element, index)))
        verify(made, "")
        changed += all(op.kind.data.value == "max" for op in ops_of(made, core.ScatterOp))
        (actual,) = interpreter.run(made, [x, i, u])
        np.testing.assert_array_equal(np.asarray(actual), scatter.reference(combine, x, i, u))

    run()
    assert changed > 20, "most scatters are by rows"


def of_elements(n: int, count: int, kind: str, *, unique: bool = False, columns: int = 1, element: str = "f32") -> str:
    x, i, u = tensor((n, columns), element), tensor((count, 1), "i32"), tensor((count, columns), element)
    numbers = "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    op = f'"core.scatter"(%x, %i, %u) <{{kind = #core<kind {kind}>, scatter_dimension_numbers = {numbers}, indices_are_sorted = false, unique_indices = {str(unique).lower()}}}>'
    return f"func.func @main(%x: {x}, %i: {i}, %u: {u}) -> {x} {{\n %0 = {op} : ({x}, {i}, {u}) -> {x}\n return %0 : {x} }}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("kind", "n", "unique"), [("set", 50, False), ("add", 50, False), ("add", 20000, True), ("add", 40000, False), ("max", 50, False)])
def test_on_devices(kind: str, n: int, unique: bool, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacing, compared, unique, sorted; positions meet where they may, some lie outside, and no zero loses its sign."""
    count = 300
    monkeypatch.setattr(scatters_pass, "FEWEST_SORTED", 100)
    program = wg.parse(of_elements(n, count, kind, unique=unique))
    rng = np.random.default_rng(1)
    x = np.where(rng.random((n, 1)) < 0.3, -0.0, rng.normal(size=(n, 1))).astype(np.float32)
    places = rng.permutation(n)[:count] if unique else rng.integers(0, 40, count) - 3
    inputs = [x, places.astype(np.int32).reshape(count, 1), rng.normal(size=(count, 1)).astype(np.float32)]
    compiled = program.compile(backend, poison=True)
    (result,) = compiled(*inputs)
    (expected,) = program.compile("interpreter")(*inputs)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))
    assert compiled(*inputs)[0].tobytes() == result.tobytes()
    assert compiled.stats.host == {}


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        (of_elements(50, 255, "add"), True),
        (of_elements(50, 256, "add"), False),
        (of_elements(50, 300, "add", columns=200), True),
        (of_elements(50, 2000, "add", columns=200), True),
        (of_elements(50, 4096, "add", columns=200), False),
        (of_elements(50, 300, "add", element="i32"), True),
        (of_elements(50, 300, "mul", element="i32"), False),
        (of_elements(50, 300, "set", element="i32"), False),
    ],
)
def test_which_scatters_are_rewritten(text: str, stays: bool) -> None:
    """Few updates are done one after the other, rows by threads that share them, and integers by atomic operations."""
    made = parse_pipeline("scatters-to-gathers{reassociate=true}").run(parse_module(text))
    scatters = [op for op in ops_of(made, core.ScatterOp) if op.kind.data.value != "max"]
    assert bool(scatters) == stays


def test_sums_that_keep_their_order() -> None:
    made = parse_pipeline("scatters-to-gathers").run(parse_module(of_elements(50, 300, "add")))
    assert len(ops_of(made, core.ScatterOp)) == 1


def test_windows_that_overlap_in_part_are_no_rows() -> None:
    x, i, u = tensor((50,), "f32"), tensor((300, 1), "i32"), tensor((300, 3), "f32")
    numbers = "#stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    op = f'"core.scatter"(%x, %i, %u) <{{kind = #core<kind add>, scatter_dimension_numbers = {numbers}, indices_are_sorted = false, unique_indices = false}}>'
    module = parse_module(f"func.func @main(%x: {x}, %i: {i}, %u: {u}) -> {x} {{\n %0 = {op} : ({x}, {i}, {u}) -> {x}\n return %0 : {x} }}")
    (scatter,) = ops_of(module, core.ScatterOp)
    assert Rows.of(scatter) is None
    assert "scatters-to-gathers{reassociate=true}" in GPU_LOWER
