"""Kept values outside of the arena: the derivative stays the same, and its arena is what the plan says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_programs import random_program
from reference_programs import share

import wengert as wg
from fuzz.generator import SeededChoices
from wengert import numpy as wnp
from wengert.frontends.transforms.control_flow import fori_loop
from wengert.ir.construction import copy_module
from wengert.ir.diagnostics import DiagnosticError
from wengert.runtime.errors import ExecutionError
from wengert.runtime.interpreter.ops.offload import STORE
from wengert.runtime.program import Program
from wengert.transforms.offload import plan
from wengert.transforms.offload.plan import moved_bytes, offload_plans

RNG = np.random.default_rng(0)
W, U, V = RNG.normal(size=(8, 8)) / 4, RNG.normal(size=(8, 64)) / 4, RNG.normal(size=(64, 64)) / 8
X = RNG.normal(size=(16, 8))


def network(x: Any) -> Any:
    """A loop with a stack, layers, and a large product behind them."""
    h = fori_loop(0, 20, lambda i, s: wnp.tanh(s @ W) + s * 0.1, x) @ U
    for _ in range(4):
        h = wnp.tanh(h @ V)
    a = h.T @ h / 20
    for _ in range(2):
        a = wnp.tanh(a @ a)
    return wnp.sum(a * a)


def program() -> Program:
    return wg.jit(network).program(X)


@pytest.mark.parametrize("place", ["disk", "host"])
def test_the_arena_is_smaller_and_as_planned(place: Any):
    kept, offloaded = program().vjp(), program().vjp(residuals=f"offload-{place}")
    plans = offload_plans(copy_module(kept.optimized_module), "main", place)
    compiled = offloaded.compile()
    assert compiled.stats.arena_bytes == min(p.arena for p in plans) < kept.compile().stats.arena_bytes == plans[0].arena
    for backend in ("cpu", "interpreter"):
        for made, expected in zip(offloaded.compile(backend)(X, 1.0), kept(X, 1.0), strict=True):
            np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-14)
    assert len(STORE) == 0
    text = str(offloaded.module)
    assert text.count("@wengert.offload") == text.count("@wengert.fetch") > 0
    assert "tensor<20x16x8xf64>) -> tensor<i64>" in text  # the stack of the loop


def test_several_threads_have_values_of_their_own():
    compiled = program().vjp(residuals="offload-disk").compile()
    points = [X + k for k in range(8)]
    expected = [compiled(x, 1.0)[1] for x in points]
    with ThreadPoolExecutor(4) as pool:
        for made, alone in zip(pool.map(lambda x: compiled(x, 1.0)[1], points), expected, strict=True):
            np.testing.assert_array_equal(made, alone)
    assert len(STORE) == 0


def test_what_is_made_of_the_derivative_begins_with_values():
    kept, offloaded = program().vjp(), program().vjp(residuals="offload-disk")
    again = offloaded.jvp(wrt=0)
    assert "@wengert" not in str(again.module)
    np.testing.assert_allclose(again(X, 1.0, X)[-1], kept.jvp(wrt=0)(X, 1.0, X)[-1], rtol=1e-10, atol=1e-12)
    batched = offloaded.vmap([0, None], [0, 0], size=2)
    np.testing.assert_allclose(batched(np.stack([X, 2 * X]), 1.0)[1][1], kept(2 * X, 1.0)[1], rtol=1e-12, atol=1e-14)
    parsed = wg.parse(str(offloaded.module))
    np.testing.assert_allclose(parsed(X, 1.0)[1], kept(X, 1.0)[1], rtol=1e-12, atol=1e-14)


def test_a_budget_moves_as_few_bytes_as_it_takes():
    text = "to-core,simplify,cse,dce,vjp,tapes-to-stacks,simplify,cse,dce"
    derivative = program().apply(text)
    plans = offload_plans(copy_module(derivative.optimized_module), "main", "disk")
    largest, least = plans[0].arena, min(p.arena for p in plans)
    assert moved_bytes(program().apply(f"{text},offload{{budget={largest}}}").module) == 0
    made = program().apply(f"{text},offload{{budget={least}}}")
    assert moved_bytes(made.module) == min(p.moved for p in plans if p.arena <= least)
    assert made.compile().stats.arena_bytes <= least
    with pytest.raises(DiagnosticError, match=f"the least is {least} bytes"):
        program().apply(f"{text},offload{{budget=1000}}")
    with pytest.raises(DiagnosticError, match="no argument is a cotangent"):
        program().apply("to-core,offload")


def test_the_row_says_what_is_moved():
    rows = {row.name: row for row in wg.strategies(program(), of="gradient", measure=False).rows}
    row = rows["vjps offload-disk"]
    assert row.plan.how.startswith("VJP, kept values on disk, ")
    assert row.plan.how.endswith(" moved")
    assert row.arena is not None
    assert row.arena < (rows["vjps"].arena or 0)
    np.testing.assert_allclose(row.compile()(X)[0], rows["vjps"].compile()(X)[0], rtol=1e-12, atol=1e-14)


def test_mistakes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(DiagnosticError, match="residuals=offload-disk is for the derivative of a whole program"):
        str(wg.jit(lambda x: fori_loop(0, 4, lambda i, s: wnp.sin(s), x, residuals="offload-disk")).program(np.ones(3)).vjp().module)
    text = """func.func public @main(%t: tensor<i64>) -> tensor<2xf64> {
  %0 = stablehlo.custom_call @wengert.fetch(%t) {has_side_effect = true} : (tensor<i64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}"""
    with pytest.raises(ExecutionError, match="ticket 0, which is no value's"):
        wg.parse(text).compile("interpreter")(np.int64(0))
    with pytest.raises(DiagnosticError, match=r"takes the result of an @wengert\.offload"):
        str(wg.parse(text.replace("%t: tensor<i64>", "%x: tensor<f64>, %t: tensor<i64>")).jvp().module)
    monkeypatch.setenv("WENGERT_OFFLOAD", str(tmp_path / "none"))
    with pytest.raises(ExecutionError, match="WENGERT_OFFLOAD names another folder"):
        program().vjp(residuals="offload-disk").compile("interpreter")(X, 1.0)


@pytest.mark.parametrize("seed", share(range(200), 10))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plan, "LEAST", 1)
    made = random_program(SeededChoices(np.random.default_rng([19, seed])))
    one = Program(made.module)
    wrt, of = one.resolve()
    kept = one.vjp(wrt, of)
    cotangents = [np.ones(one.signature.results[j].shape) for j in of]
    module = copy_module(kept.optimized_module)
    plans = offload_plans(module, "main", "disk")
    plan.rewritten(module, plans[-1].values, "main", "disk")
    for result, expected in zip(Program(module)(*made.inputs, *cotangents), kept(*made.inputs, *cotangents), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-11)
    assert len(STORE) == 0
