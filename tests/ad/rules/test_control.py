"""Loops and branches: values, differences and duality to second order, nested in each other."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.dialects import core
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.interpreter import Counter, run
from wengert.transforms.ad.derive import vjp
from wengert.transforms.core.tapes_to_stacks import tapes_to_stacks
from wengert.transforms.core.to_core import to_core

sys.path.insert(0, str(Path(__file__).parents[1]))
from ad_checks import check_first_order, check_second_order, derived
from loops_and_branches import CASES, COUNTED, SCAN

everything = pytest.mark.parametrize("name", CASES)


@everything
def test_first_order(name: str) -> None:
    text, inputs = CASES[name]
    check_first_order(parse_module(text), inputs, np.random.default_rng(3))


@everything
def test_second_order(name: str) -> None:
    text, inputs = CASES[name]
    check_second_order(parse_module(text), inputs, np.random.default_rng(4))


@everything
def test_what_is_printed_of_a_derivative_is_read_again(name: str) -> None:
    """With the tapes of loops whose iterations are not counted."""
    program = wg.parse(CASES[name][0])
    for derivative in (program.jvp(), program.vjp(), program.vjp(strategy="direct")):
        assert wg.parse(derivative.text()).text() == derivative.text()


@pytest.mark.parametrize("bound", [0, 1])
def test_loops_of_few_iterations(bound: int) -> None:
    text, inputs = CASES["counted"]
    check_second_order(parse_module(text.replace("dense<4>", f"dense<{bound}>")), inputs, np.random.default_rng(5))


def test_bound_known_at_run_time() -> None:
    text = COUNTED.replace("%w: tensor<3xf64>)", "%w: tensor<3xf64>, %bound: tensor<i64>)").replace("%n = stablehlo.constant dense<4> : tensor<i64>", "")
    module = parse_module(text.replace("LT, %i, %n", "LT, %i, %bound"))
    for trip_count in (0, 1, 6):
        check_second_order(module, [*CASES["counted"][1], np.array(trip_count)], np.random.default_rng(6))
    to_core(module)
    assert any(isinstance(op, core.ForOp) for op in module.walk())


def test_counted_loops_do_not_record_their_induction_variables() -> None:
    gradient = derived(parse_module(COUNTED), vjp)
    tapes_to_stacks(gradient)
    stacks = {result.type for op in gradient.walk() if isinstance(op, core.ForOp) for result in op.results if "4x" in str(result.type)}
    assert {str(type) for type in stacks} == {"tensor<4x3xf64>"}


def test_an_indexed_read_is_transposed_in_place() -> None:
    """The reverse of a scan moves a number of bytes per iteration that does not depend on the length of what it reads."""

    def bytes_per_iteration(n: int) -> float:
        text = SCAN.replace("5x2xf64", f"{n}x2xf64").replace("dense<5>", f"dense<{n}>")
        counter = Counter()
        inputs = [np.zeros(2), np.zeros((n, 2)), np.zeros((2, 2))]
        run(derived(parse_module(text), vjp), [*inputs, np.ones(2), np.ones((n, 2))], counter=counter)
        return sum(count for name, count in counter.ops.items() if name in ("stablehlo.pad", "core.scatter")) / n

    assert bytes_per_iteration(5) == bytes_per_iteration(50) == 0
