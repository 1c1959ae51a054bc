"""Every rule's cases, batched: equal to the loop over batch elements, also once differentiated, in either order."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from wengert.dialects.facts import Batching, facts_of
from wengert.runtime.interpreter import run
from wengert.transforms.ad.case import Case
from wengert.transforms.ad.rule import RULES
from wengert.transforms.ad.rules import ALL_CASES

sys.path.insert(0, str(Path(__file__).parents[1]))
from batch_checks import Batch, batched, check_batch, check_derivatives, subsets

by_name = pytest.mark.parametrize("case", ALL_CASES, ids=[case.name for case in ALL_CASES])
SIZE = 2


def batch_of(case: Case, size: int = SIZE) -> Batch:
    rng = np.random.default_rng(7)
    return [[arg.draw(rng) for _ in range(size)] for arg in case.args]


@by_name
def test_every_subset_of_arguments(case: Case) -> None:
    module, elements = case.module(), batch_of(case)
    for flags in subsets(len(case.args)):
        check_batch(module, elements, flags)


@by_name
def test_batching_and_derivatives_commute(case: Case) -> None:
    module, elements = case.module(), batch_of(case)
    check_derivatives(module, elements, [True] * len(case.args), np.random.default_rng(8))
    if len(case.args) > 1:
        check_derivatives(module, elements, [False, *[True] * (len(case.args) - 1)], np.random.default_rng(9))


@pytest.mark.parametrize("size", [0, 1])
def test_batches_of_no_and_of_one_element(size: int) -> None:
    for case in ALL_CASES:
        inputs = [np.stack(values)[:size] for values in batch_of(case)]
        results = run(batched(case.module(), size, [True] * len(case.args)), inputs)
        assert all(result.shape[0] == size for result in results)


def test_every_op_with_a_derivative_has_a_batching_rule() -> None:
    without = {op.name for op in RULES if facts_of(op).batching is Batching.LOOP}
    assert without <= {
        "stablehlo.constant",
        "stablehlo.iota",
        "stablehlo.partition_id",
        "stablehlo.replica_id",
        "core.tape_create",
        "ad.transposed_call",
        "stablehlo.custom_call",
        "stablehlo.rng_bit_generator",
    }, without
