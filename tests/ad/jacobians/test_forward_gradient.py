"""Estimates of Jacobians from random directions: unbiased, off by what they say, and rows of the table that are never chosen."""

from __future__ import annotations

import json

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.cli.main import main
from wengert.runtime.errors import InputError

X, W = np.array([0.3, -1.2, 0.8]), np.array([[0.5, -0.2, 0.1], [1.0, 0.3, -0.4]])


def program() -> wg.Program:
    return wg.jit(lambda x, w: (wnp.tanh(w @ x), wnp.sum(x**2))).program(X, W)


@pytest.mark.parametrize("directions", ["rademacher", "normal"])
def test_estimates_are_unbiased_and_off_by_what_they_say(directions: str) -> None:
    exact = program().jacfwd()(X, W)
    norm = sum((block**2).sum() for block in exact)
    samples = 20_000
    estimate = program().apply(f"forward-gradient{{samples={samples} directions={directions}}},simplify,cse,dce")
    assert [p.shape for p in estimate.signature.results] == [block.shape for block in exact]
    for run in (estimate, estimate.compile()):
        error = sum(((a - b) ** 2).sum() for a, b in zip(run(X, W), exact, strict=True))
        expected = (9 + (-1 if directions == "rademacher" else 1)) / samples * norm
        assert 0.2 * expected < error < 4 * expected
    small = [program().apply(f"forward-gradient{{samples=4 seed={seed} directions={directions} wrt=0 of=1}},simplify,cse,dce")(X, W)[0] for seed in range(60)]
    gradient, square = 2 * X, (4 * X @ X)
    variance = square + (-1 if directions == "rademacher" else 1) * gradient**2
    assert np.all(np.abs(np.mean(small, axis=0) - gradient) <= 5 * np.sqrt(variance / 240))


def test_rows_of_the_table() -> None:
    table = wg.strategies(program(), estimates=16, measure=True)
    assert [table.row(f"forward x{k} random").plan.off for k in (1, 16)] == pytest.approx([8**0.5, 0.5**0.5])
    assert not table.best.plan.off
    assert all(table.row(f"forward x{k} random").measured is not None for k in (1, 16))
    assert table.row("jacfwd").measured.error < 1e-12  # pyright: ignore[reportOptionalMemberAccess]
    assert "16 random directions, off by 0.71 of the norm" in str(table)
    with pytest.raises(InputError, match="of first derivatives only"):
        wg.strategies(program(), of="hessian", estimates=16)
    with pytest.raises(InputError, match="needs a direction"):
        wg.strategies(program(), estimates=0)


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies", "examples/mlp.mlir", "--predict", "--estimates", "4", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["forward x4 random"]["off"] == pytest.approx((6409 / 4) ** 0.5)
    assert rows["jacrev"]["off"] == 0


def test_refusals() -> None:
    with pytest.raises(DiagnosticError, match="needs a sample"):
        program().apply("forward-gradient{samples=0}")
    complex_program = wg.jit(lambda z: z * z).program(np.ones(2, complex))
    with pytest.raises(DiagnosticError, match="random directions are real numbers"):
        complex_program.apply("forward-gradient{samples=2}")
