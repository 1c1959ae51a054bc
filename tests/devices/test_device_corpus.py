"""The corpus's programs and their derivatives on devices against the reference values. Needs WENGERT_CORPUS, the corpus folder."""

from __future__ import annotations

from typing import Any

import pytest
from device_backends import BACKENDS, needs_opencl
from reference_programs import PROGRAMS, assert_agrees, in_all_precisions, needs_corpus, share

from wengert.lab.corpus import CorpusProgram
from wengert.runtime.loading import load

pytestmark = [pytest.mark.corpus, needs_corpus]


MIXED_UP = [("diffrax_heun_fixed", "jvp"), ("multigrid_vcycle", "vjp")]
"""Programs that are one kernel of loops with barriers, of which Intel's driver computes the first wrongly where it makes no lanes of threads and positions have
32 bits, and the second where it makes lanes."""


def run_twice(program: CorpusProgram, kind: str, precision: str, backend: str) -> None:
    """Compares with the references, in memory that was full of wrong values, and with a second run."""
    data = program.reference(precision)
    primal = load(program.path(precision))
    wrt, of = sorted(data.tangents), sorted(data.cotangents)
    extra: list[Any] = []
    wanted: list[Any] = list(data.outputs)
    if kind == "jvp":
        primal, extra = primal.jvp(wrt=wrt, of=sorted(data.jvp)), [data.tangents[k] for k in wrt]
        wanted += [data.jvp[k] for k in sorted(data.jvp)]
    if kind in ("vjp", "hvp"):
        primal, extra = primal.vjp(wrt=sorted(data.vjp), of=of), [data.cotangents[k] for k in of]
        wanted += [data.vjp[k] for k in sorted(data.vjp)]
    if kind == "hvp":
        first = len(data.outputs)
        primal, wanted = primal.jvp(wrt=wrt, of=range(first, first + len(wrt))), [data.hvp[k] for k in sorted(data.hvp)]
        extra += [data.tangents[k] for k in wrt]
    compiled = primal.compile(backend, poison=True)
    inputs = [*data.inputs, *extra]
    results = compiled(*inputs)
    assert_agrees(program, kind, precision, results[len(results) - len(wanted) :], wanted)
    assert [r.tobytes() for r in compiled(*inputs)] == [r.tobytes() for r in results], "the same inputs, the same bits"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 12))
@pytest.mark.parametrize("kind", ["primal", "jvp", "vjp", "hvp"])
def test_against_references(program: CorpusProgram, precision: str, kind: str, backend: str) -> None:
    if kind != "hvp" or program.reference(precision).hvp:
        run_twice(program, kind, precision, backend)


@needs_opencl
@pytest.mark.parametrize(("name", "kind"), MIXED_UP)
def test_kernels_that_the_driver_mixed_up(name: str, kind: str) -> None:
    (program,) = [program for program in PROGRAMS if program.name == name]
    run_twice(program, kind, "f64", "opencl")
