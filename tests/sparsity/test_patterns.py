"""Patterns of Jacobians: no element is missing, and what is known before a run (positions, masks, branches, iterations) is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from reference_programs import PROGRAMS, needs_corpus, share

import wengert as wg
from wengert import numpy as wnp
from wengert.frontends.transforms.control_flow import cond, fori_loop, scan, while_loop
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.program import Program

TABLE = np.array([3, 0, 2, 2, 5])
STENCIL = np.diag(np.full(6, 2.0)) - np.diag(np.ones(5), 1) - np.diag(np.ones(5), -1)

EXACT: list[tuple[str, Callable[..., Any], tuple[int, ...]]] = [
    ("elementwise", lambda x: wnp.exp(x) * x, (5,)),
    ("stencil by slices", lambda x: x[2:] - 2 * x[1:-1] * x[:-2], (7,)),
    ("stencil by a constant matrix", lambda x: wnp.asarray(STENCIL) @ wnp.sin(x), (6,)),
    ("a mask that is known", lambda x: x * wnp.asarray([1.0, 0.0, 1.0, 0.0]) + wnp.flip(x), (4,)),
    ("gathers at known places", lambda x: x[TABLE] ** 2, (6,)),
    ("scatters to known places", lambda x: wnp.at(wnp.zeros(7))[TABLE].add(x * x), (5,)),
    ("replacing at known places", lambda x: wnp.at(x)[np.array([1, 3])].set(x[:2] * x[4:]), (6,)),
    ("sums of rows", lambda x: wnp.sum(x**2, axis=1), (3, 4)),
    ("running sums", wnp.cumulative_sum, (6,)),
    ("products of a batch", lambda x: x @ wnp.matrix_transpose(x), (3, 2, 2)),
    ("a loop that writes in place", lambda x: fori_loop(1, 6, lambda i, y: wnp.at(y)[i].set(y[i] * y[i - 1]), x), (6,)),
    ("a scan of rows", lambda x: scan(lambda carry, row: (carry, wnp.sin(row)), 0.0, x)[1], (4, 3)),
    ("a loop of known length", lambda x: fori_loop(0, 2, lambda i, y: y + wnp.roll(y, 1) * y, x), (6,)),
    ("a loop that depends on no more after a few iterations", lambda x: fori_loop(0, 12, lambda i, y: y + wnp.sin(wnp.roll(y, 1)), x), (4,)),
    ("a loop whose last iteration is another", lambda x: fori_loop(0, 9, lambda i, y: wnp.where(i == 8, x, y * wnp.sum(y)), x), (4,)),
    ("linear algebra of a batch", wnp.linalg.inv, (2, 2, 2)),
    ("selection by a comparison of positions", lambda x: wnp.where(np.arange(6) < 3, x, wnp.flip(x)), (6,)),
]


def _numeric(program: Program, inputs: list[Any]) -> Any:
    wrt, of = program.resolve()
    blocks = iter(program.jacfwd()(*inputs))
    return np.concatenate([np.concatenate([np.reshape(next(blocks), (-1, np.size(inputs[i]))) for i in wrt], axis=1) for _ in of])


@pytest.mark.parametrize(("name", "function", "extents"), EXACT)
def test_patterns_are_exact(name: str, function: Callable[..., Any], extents: tuple[int, ...]):
    x = np.random.default_rng(0).standard_normal(extents) + 2.5 * (np.eye(2) if name.startswith("linear") else 0)
    program = wg.jit(function).program(x)
    numeric = _numeric(program, [x]) != 0
    assert (program.sparsity().toarray() == numeric).all()


def test_what_depends_on_the_arguments_is_taken_whole_and_known_at_a_point():
    def function(x: Any, i: Any) -> Any:
        return wnp.where(x > 0, wnp.take(x, i % 4 + np.arange(2))[0] * x, 0.0)

    x, i = np.array([1.0, -1.0, 2.0, 3.0]), np.int64(2)
    program = wg.jit(function).program(x, i)
    assert program.sparsity(wrt=0).nnz == 16
    at = program.sparsity(wrt=0, at=(x, i)).toarray()
    numeric = _numeric(program, [x, i]) != 0
    assert not (numeric & ~at).any()
    assert at.sum() == 5  # three rows of x > 0: their own element, and element 2
    assert not at[1].any()


def test_branches_are_united_and_one_is_known_at_a_point():
    def function(x: Any, i: Any) -> Any:
        return cond(i > 0, wnp.flip, lambda x: x * 2, x)

    x = np.arange(1.0, 5.0)
    program = wg.jit(function).program(x, np.int64(1))
    assert program.sparsity(wrt=0).nnz == 8
    assert program.sparsity(wrt=0, at=(x, np.int64(1))).nnz == 4


def test_loops_whose_iterations_are_not_known_reach_a_fixed_point():
    def function(x: Any, n: Any) -> Any:
        return while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, wnp.at(s[1])[1:].set(s[1][1:] + s[1][:-1] ** 2)), (0, x))[1]

    x = np.arange(1.0, 9.0)
    program = wg.jit(function).program(x, np.int64(2))
    assert (program.sparsity(wrt=0).toarray() == np.tril(np.ones((8, 8), bool))).all()
    assert (program.sparsity(wrt=0, at=(x, np.int64(2))).toarray() == (_numeric(program, [x, np.int64(2)]) != 0)).all()


def test_loops_that_settle_late_are_widened():
    def function(x: Any, n: Any) -> Any:
        return while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + wnp.roll(s[1], 1)), (0, x))[1]

    program = wg.jit(function).program(np.ones(100), np.int64(2))
    assert program.sparsity(wrt=0).nnz == 100 * 100


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("program", share([pytest.param(program, id=program.name) for program in PROGRAMS], 6))
def test_no_element_of_a_reference_program_is_missing(program: CorpusProgram):
    precision = program.precisions[0]
    loaded = wg.load(program.path(precision))
    wrt, of = loaded.resolve()
    parameters = [loaded.signature.arguments[i] for i in wrt] + [loaded.signature.results[j] for j in of]
    if any(parameter.dtype.kind == "c" for parameter in parameters):
        pytest.skip("complex programs have no one Jacobian")
    pattern = loaded.sparsity().toarray()
    generator = np.random.default_rng(1)
    inputs = program.reference(precision).inputs
    for _ in range(2):
        jacobian = _numeric(loaded, list(inputs))
        assert not ((jacobian != 0) & ~np.isnan(jacobian) & ~pattern).any()
        at = loaded.sparsity(at=inputs).toarray()
        assert not ((jacobian != 0) & ~np.isnan(jacobian) & ~at).any()
        assert not (at & ~pattern).any()
        inputs = [x * generator.uniform(0.5, 1.5, np.shape(x)).astype(x.dtype) if x.dtype.kind == "f" else x for x in inputs]
