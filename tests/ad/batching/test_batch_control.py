"""Loops and branches, batched: batch elements stop at different times, take different branches, and so do their derivatives."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects import core
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.interpreter import Counter, run
from wengert.transforms.ad.derive import jvp, vjp

sys.path.insert(0, str(Path(__file__).parents[1]))
from batch_checks import Batch, batched, check_batch, check_derivatives, made, random_batch, subsets
from loops_and_branches import CASES, COUNTED, LOOP_IN_BRANCH, UNCOUNTED, UNCOUNTED_IN_UNCOUNTED

Mode = Callable[[ModuleOp], None]

FIRST = {
    "uncounted": (1.2, 30.0, 5.0),  # about 5, 0 and 3 iterations
    "uncounted in counted": (1.2, 30.0, 0.7),
    "uncounted in uncounted": (1.2, 0.2, 2.9),
    "loop in branch, taken": (1.2, 3.2, 1.9),
}
"""Values of the first argument for which the batch elements go different ways."""
everything = pytest.mark.parametrize("name", [name for name in CASES if name not in ("uncounted, no iteration", "loop in branch, not taken", "if, false")])


def program(name: str) -> tuple[ModuleOp, Batch]:
    text, inputs = CASES[name]
    rng = np.random.default_rng(1)
    elements: Batch = [[np.asarray(a + (rng.uniform(-0.5, 0.5, a.shape) if k else 0.0)) for k in range(3)] for a in inputs]
    if name in FIRST:
        elements[0] = [np.array(value) for value in FIRST[name]]
    return parse_module(text), elements


@everything
def test_every_subset_of_arguments(name: str) -> None:
    module, elements = program(name)
    for flags in subsets(len(elements)):
        check_batch(module, elements, flags)


@everything
def test_batching_and_derivatives_commute(name: str) -> None:
    module, elements = program(name)
    for flags in subsets(len(elements)):
        check_derivatives(module, elements, flags, np.random.default_rng(2))


@everything
@pytest.mark.parametrize("modes", [(vjp, jvp), (vjp, vjp), (jvp, vjp)], ids=["jvp of vjp", "vjp of vjp", "vjp of jvp"])
def test_second_derivatives(name: str, modes: tuple[Mode, Mode]) -> None:
    module, elements = program(name)
    rng = np.random.default_rng(3)
    for mode in modes:
        outputs = run(module, [values[0] for values in elements])
        moved = outputs if mode is vjp else [values[0] for values in elements]
        module, elements = made(module, mode), [*elements, *random_batch(moved, 3, rng)]
    count = len(CASES[name][1])
    for flags in [(True,) * count, (False, *(True,) * (count - 1)), (False,) * count]:
        check_batch(module, elements, [*flags, *(True,) * (len(elements) - count)], 1e-10)


def trips_of(text: str, inputs: list[np.ndarray], flags: list[bool], size: int) -> float:
    """How often the only sine of a loop is computed."""
    counter = Counter()
    run(batched(parse_module(text), size, flags), inputs, counter=counter)
    return counter.ops["stablehlo.sine"]


def test_a_loop_runs_until_its_last_batch_element_is_done() -> None:
    k = np.array(1.6)
    alone = [trips_of(UNCOUNTED, [np.array([x]), k], [True, False], 1) for x in (1.2, 30.0, 5.0)]
    assert len(set(alone)) == 3
    assert trips_of(UNCOUNTED, [np.array([1.2, 30.0, 5.0]), k], [True, False], 3) == max(alone)


def test_a_batch_element_that_is_done_is_not_waited_for() -> None:
    """The inner loop would never end for the second batch element, whose outer loop makes no iteration."""
    module, k = parse_module(UNCOUNTED_IN_UNCOUNTED), np.array([1.6, 0.0])
    x = np.array([1.2, 0.1])
    actual = run(batched(module, 2, [True, True]), [x, k])
    np.testing.assert_array_equal(actual[0], [run(module, [x[i], k[i]])[0] for i in range(2)])


def test_a_loop_in_a_branch_that_is_not_taken_is_not_waited_for() -> None:
    """With a factor of 1 the loop would never end; only batch elements that do not come there have it."""
    module = parse_module(LOOP_IN_BRANCH)
    x, k = np.array([1.2, 3.2]), np.array([1.6, 1.0])
    actual = run(batched(module, 2, [True, True]), [x, k])
    np.testing.assert_array_equal(actual[0], [run(module, [x[i], k[i]])[0] for i in range(2)])
    for factor in (1.6, 1.0):
        actual = run(batched(module, 2, [True, False]), [np.array([4.0, 3.2]), np.array(factor)])
        np.testing.assert_array_equal(actual[0], [4.0, 3.2])


def test_a_common_loop_in_a_branch_that_no_batch_element_takes_is_not_run() -> None:
    """The loop does not depend on the batch element and would never end."""
    module = parse_module(LOOP_IN_BRANCH.replace("(%s = %x)", "(%s = %k)"))
    for x, k in ((np.array([4.0, 3.2]), 1.0), (np.array([4.0, 1.2]), 1.6)):
        actual = run(batched(module, 2, [True, False]), [x, np.array(k)])
        np.testing.assert_array_equal(actual[0], [run(module, [value, np.array(k)])[0] for value in x])


BOUND = COUNTED.replace("%w: tensor<3xf64>)", "%w: tensor<3xf64>, %bound: tensor<i64>)").replace("%n = stablehlo.constant dense<4> : tensor<i64>", "")
BOUND = BOUND.replace("LT, %i, %n", "LT, %i, %bound")


@pytest.mark.parametrize("bounds", [(0, 5, 2), (-3, 0, 0), (4, 4, 4)])
def test_trip_counts_that_differ(bounds: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    module = parse_module(BOUND)
    elements = [[rng.normal(size=3) for _ in bounds], [rng.normal(size=3) for _ in bounds], [np.array(n) for n in bounds]]
    for flags in subsets(3):
        check_batch(module, elements, flags)
        check_derivatives(module, elements, flags, rng)


def test_a_reverse_loop_reads_its_tape_at_one_position() -> None:
    """All batch elements end together in the reverse loop, so that each iteration reads one entry of the tape for all of them."""
    module = batched(made(parse_module(UNCOUNTED), vjp), 3, [True, True, True])
    loops = [op for op in module.walk() if isinstance(op, core.ForOp)]
    assert len(loops) == 1
    assert sum(isinstance(op, core.TapeReadOp) for op in loops[0].body.walk()) == 2


def test_unbatched_loops_stay_what_they_are() -> None:
    module = batched(parse_module(COUNTED.replace("%b = stablehlo.multiply %a, %ww", "%b = stablehlo.add %a, %fb")), 4, [False, True])
    (only,) = [op for op in module.walk() if isinstance(op, core.ForOp)]
    assert [str(r.type) for r in only.results] == ["tensor<3xf64>"]
    counted = batched(parse_module(COUNTED), 4, [True, False])
    assert sum(isinstance(op, core.ForOp) for op in counted.walk()) == 1
    assert not any(op.name == "stablehlo.select" for op in counted.walk())
