"""Typical programs of JAX's libraries beside JAX: values and derivatives in double precision (``python -m benchmarks.jax_libraries`` has both precisions)."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX functions are imported")

from benchmarks.jax_library.catalogue import PROGRAMS
from benchmarks.jax_library.comparison import Comparison, Outcome, compared, error
from benchmarks.jax_library.program import Program
from benchmarks.jax_library.table import rows

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.library}: {p.name}")
def test_program(program: Program) -> None:
    if importlib.util.find_spec(program.library) is None:
        pytest.skip(f"{program.library} is not installed: pip install 'wengert[jax-libraries]'")
    made = compared(program, "f64")
    if made.skipped:
        pytest.skip(f"{made.skipped}: pip install 'wengert[jax-libraries]'")
    assert made.right, made


def test_names_are_unique() -> None:
    names = [(p.library, p.name) for p in PROGRAMS]
    assert len(set(names)) == len(names)


def test_errors_are_relative_to_the_largest_element() -> None:
    assert error([np.array([2.0, 1.0])], [np.array([2.0, 1.5])]) == 0.25
    assert error([np.array([1.0]), np.array([1e-9])], [np.array([1.0]), np.array([0.0])]) == pytest.approx(1e-6)
    assert error([np.array([np.inf, np.nan])], [np.array([np.inf, np.nan])]) == 0
    assert error([np.array([np.inf])], [np.array([np.nan])]) == float("inf")
    assert error([np.array([1])], [np.array([1.0, 1.0])]) == float("inf")


def test_the_table_says_who_refuses() -> None:
    program = Program("a", "b", lambda: (abs, (1.0,)))
    outcomes = {"values": Outcome(1e-3), "reverse": Outcome(refused="no rule"), "JVP": Outcome(refused="none", by_jax=True), "second": Outcome(1e-16)}
    lines = rows([(program, {"f64": Comparison("f64", outcomes)})])
    assert lines[2:] == ["| a | b | WRONG 1e-03 | refused (1) | refused, as by JAX (2) | 1e-16 |", "", "1. no rule", "2. none"]
    missing = {"f64": Comparison("f64", skipped="No module named 'a'")}
    assert rows([(program, missing)])[2] == "| a | b | skipped: No module named 'a' |  |  |  |"


def test_minima_that_values_decide_are_judged_by_the_root_of_the_rounding_unit() -> None:
    assert Outcome(2e-8, by_values=True).right("f64")
    assert not Outcome(2e-8).right("f64")
    assert not Outcome(2e-6, by_values=True).right("f64")
    assert [p.name for p in PROGRAMS if p.by_values] == ["minimum: BFGS, nonlinear CG"]


def test_programs_that_jax_runs_in_one_precision_are_skipped_in_the_other() -> None:
    program = Program("a", "b", lambda: (abs, (1.0,)), only="f64")
    alone = compared(program, "f32")
    assert alone.right
    assert alone.skipped == "JAX runs it in f64 alone"
    both = {"f64": Comparison("f64", {kind: Outcome(1e-16) for kind in ("values", "reverse", "JVP", "second")}), "f32": alone}
    assert rows([(program, both)])[2] == "| a | b | 1e-16 | 1e-16 | 1e-16 | 1e-16 |"
