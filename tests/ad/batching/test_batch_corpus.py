"""The reference programs, batched over each floating-point argument, with their derivatives, and their Jacobians in both modes.

A share of them that moves on from day to day; all with WENGERT_TEST_ALL=1.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from reference_programs import HAVE_CORPUS, PROGRAMS, share

import wengert as wg
from wengert.lab.corpus import CorpusProgram, array_error
from wengert.transforms.ad.derive import jvp, vjp

sys.path.insert(0, str(Path(__file__).parents[1]))
from batch_checks import Batch, check_batch, check_derivatives, made

if not HAVE_CORPUS:
    pytest.skip("WENGERT_CORPUS names no folder of reference programs", allow_module_level=True)
CHOSEN = share(PROGRAMS, 8)
JACOBIANS = [p for p in CHOSEN if p.reference("f64").jac]
ARGUMENTS = share(((p, i) for p in PROGRAMS for i in sorted(p.reference("f64").vjp)), 25)
"""Programs with one of their arguments."""
SINGLE = {"bf16_mlp"}
"""Programs that compute in single or lower precision throughout, where a sum in another order shows."""


def tolerance(entry: CorpusProgram) -> float:
    return 1e-5 if entry.name in SINGLE else 1e-9


def moved(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The inputs of another batch element: near enough for the program to make sense."""
    return np.asarray(values * (1 + 0.03 * rng.standard_normal(values.shape)), values.dtype)


@pytest.mark.parametrize("entry", CHOSEN, ids=[p.name for p in CHOSEN])
def test_batched_over_each_argument(entry: CorpusProgram) -> None:
    program, reference, rng = wg.load(entry.path("f64")), entry.reference("f64"), np.random.default_rng(0)
    real = [p.position for p in program.signature.arguments if p.differentiable]
    elements: Batch = [[a, moved(a, rng) if i in real else a] for i, a in enumerate(reference.inputs)]
    for chosen in [*([i] for i in real), real]:
        check_batch(program.optimized_module, elements, [i in chosen for i in range(len(elements))], tolerance(entry))


@pytest.mark.parametrize("mode", [jvp, vjp])
@pytest.mark.parametrize("entry", CHOSEN, ids=[p.name for p in CHOSEN])
def test_batched_derivatives(entry: CorpusProgram, mode: object) -> None:
    program, reference, rng = wg.load(entry.path("f64")), entry.reference("f64"), np.random.default_rng(0)
    directions = reference.tangents if mode is jvp else reference.cotangents
    given = [directions[i] for i in sorted(directions)]
    real = [p.position for p in program.signature.arguments if p.differentiable]
    elements: Batch = [[a, moved(a, rng) if i in real else a] for i, a in enumerate(reference.inputs)]
    elements += [[a, np.asarray(-0.5 * a, a.dtype)] for a in given]
    flags = [i in real or i >= len(reference.inputs) for i in range(len(elements))]
    check_batch(made(program.optimized_module, mode), elements, flags, tolerance(entry))


@pytest.mark.parametrize(("entry", "argument"), ARGUMENTS, ids=[f"{p.name}-{i}" for p, i in ARGUMENTS])
def test_derivatives_batched_over_one_argument(entry: CorpusProgram, argument: int) -> None:
    """Batching, then differentiating is differentiating, then batching, in both modes. (Half precision has 8 bits, to which each sum is rounded.)"""
    program, reference, rng = wg.load(entry.path("f64")), entry.reference("f64"), np.random.default_rng(0)
    elements: Batch = [[a, moved(a, rng) if i == argument else a] for i, a in enumerate(reference.inputs)]
    flags = [i == argument for i in range(len(elements))]
    check_derivatives(program.optimized_module, elements, flags, rng, 2.0**-8 if entry.name in SINGLE else 1e-9)


@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
@pytest.mark.parametrize("entry", JACOBIANS, ids=[p.name for p in JACOBIANS])
def test_jacobians(entry: CorpusProgram, mode: str) -> None:
    program, reference = wg.load(entry.path("f64")), entry.reference("f64")
    of, wrt = sorted({j for j, _ in reference.jac}), sorted({i for _, i in reference.jac})
    actual = getattr(program, mode)(wrt, of, holomorphic=True).compile("interpreter")(*reference.inputs)
    blocks = dict(zip([(j, i) for j in of for i in wrt], actual, strict=True))
    for place, expected in reference.jac.items():
        assert array_error(blocks[place], expected) <= entry.tolerance("jac", "f64"), place
