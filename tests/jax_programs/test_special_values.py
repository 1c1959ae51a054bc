"""Derivatives at NaN, infinity and zero are those of JAX: the same elements are NaN, infinite and finite, and these agree.

Functions of few ops at hard values, and programs of the corpus with a NaN or an infinity put into one input. For the latter
JAX differentiated before it lowered, so its derivative may differ where the text does not show a rule (docs/floating_point.md
names the classes); what must agree there is compiled code with the interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from reference_programs import PROGRAMS, needs_corpus, share

jax = pytest.importorskip("jax", reason="JAX is what we compare with")
from special_values import GROUPS

import wengert as wg
from wengert.lab.corpus import CorpusProgram

Array = np.ndarray[Any, np.dtype[Any]]


def disagreement(actual: Any, wanted: Any, tolerance: float) -> str:
    """Where two arrays differ in NaN, infinity or value; subnormal numbers count as zero, as XLA flushes them."""
    a, b = (np.asarray(x).astype(complex).view(float) if np.iscomplexobj(x) else np.asarray(x, float) for x in (actual, wanted))
    with np.errstate(invalid="ignore"):
        near = np.isclose(a, b, rtol=tolerance, atol=1e-12, equal_nan=True)
    return "" if near.all() else f"{a[~near][:4]} instead of {b[~near][:4]} at {np.argwhere(~near)[:4].tolist()}"


def assert_near(actual: Sequence[Any], wanted: Sequence[Any], tolerance: float, what: Sequence[str] | str) -> None:
    names = [what] * len(actual) if isinstance(what, str) else what
    assert [f"{name}: {text}" for a, b, name in zip(actual, wanted, names, strict=True) if (text := disagreement(a, b, tolerance))] == []


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", GROUPS)
def test_small_functions(group: str) -> None:
    """A share of the functions of a group as one program, each on inputs of its own."""
    functions, each = GROUPS[group]
    functions = dict(share(functions.items(), min(3, len(functions))))
    n, inputs = len(each), each * len(functions)
    with jax.enable_x64(True):
        results = {name: jax.tree.leaves(jax.eval_shape(f, *each)) for name, f in functions.items()}
        y_names, x_names = [name for name, ys in results.items() for _ in ys], [name for name in functions for _ in each]
        flat = lambda *xs: jax.tree.leaves([f(*xs[k * n : k * n + n]) for k, f in enumerate(functions.values())])
        program = wg.parse(jax.jit(flat).lower(*inputs).as_text())
        derivatives = jax.jit(lambda xs, ts, cs: (jax.jvp(flat, xs, ts)[1], jax.vjp(flat, *xs)[1](cs)))
        for seed in (1.5, 0.0):
            x_dots, y_bars = [np.full_like(x, seed) for x in inputs], [np.full(y.shape, seed) for ys in results.values() for y in ys]
            y_dots, x_bars = derivatives(inputs, x_dots, y_bars)
            for backend in ("cpu", "interpreter"):
                assert_near(program.jvp().compile(backend)(*inputs, *x_dots)[len(y_bars) :], y_dots, 1e-9, [f"jvp of {name}, {backend}" for name in y_names])
                assert_near(program.vjp().compile(backend)(*inputs, *y_bars)[len(y_bars) :], x_bars, 1e-9, [f"vjp of {name}, {backend}" for name in x_names])


def poisoned(program: CorpusProgram, value: float) -> list[list[Array]]:
    """The inputs of a program with a value put into the middle of each float input in turn."""
    cases: list[list[Array]] = []
    inputs = program.reference("f64").inputs
    for i, x in enumerate(inputs):
        if x.dtype.kind in "fc" and x.size:
            changed = x.copy()
            changed.reshape(-1)[x.size // 2] = value
            cases.append([*inputs[:i], changed, *inputs[i + 1 :]])
    return cases


BRIEF = [p for p in PROGRAMS if sum(p.meta["ops"].values()) < 60 and not p.meta.get("dynamic_while") and "LU" not in str(p.meta["ops"])]


@needs_corpus
@pytest.mark.corpus
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in share(BRIEF, 8)])
def test_compiled_code_and_interpreter_agree(program: CorpusProgram) -> None:
    data = program.reference("f64")
    text = wg.load(program.path("f64"))
    derivatives = [
        (text.vjp(wrt=sorted(data.vjp), of=sorted(data.cotangents)), data.cotangents),
        (text.jvp(wrt=sorted(data.tangents), of=sorted(data.jvp)), data.tangents),
    ]
    for derivative, directions in derivatives:
        compiled, slow = derivative.compile(), derivative.compile("interpreter")
        seeds = [directions[k] for k in sorted(directions)]
        for value in (np.nan, np.inf, -np.inf):
            for inputs in poisoned(program, value)[:2]:
                results = [compiled(*inputs, *seeds), slow(*inputs, *seeds)]
                if "fft" in str(program.meta["ops"]):  # which of the two an infinity becomes depends on the order of a transform's sums
                    results = [[np.where(np.isfinite(x), x, np.nan) for x in xs] for xs in results]
                assert_near(*results, 1e-6, f"{value} among the inputs")
