"""The reference programs: run, differentiated and compared with what JAX computed.

WENGERT_CORPUS names the corpus folder (the one that contains dev/). WENGERT_CONFORMANCE chooses the depth: ``quick`` is
the primal and the VJP in f64; ``standard`` (default) adds the JVP and the HVP, and f32; ``full`` adds the interpreter,
Jacobians and second derivatives everywhere.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from wengert.lab.conformance import Task, run_task
from wengert.lab.corpus import CorpusProgram, read_corpus

pytestmark = pytest.mark.corpus

DEPTHS = {
    "quick": [("cpu", "f64", ("primal", "vjp"))],
    "standard": [("cpu", "f64", ("primal", "jvp", "vjp", "hvp")), ("cpu", "f32", ("primal", "vjp"))],
    "full": [(backend, precision, ("primal", "jvp", "vjp", "hvp", "jac")) for backend in ("cpu", "interpreter") for precision in ("f64", "f32")],
}
UNCOVERED = {"core.tape_create"}
"""Ops that compiled code does not cover so far: where one stands in the way, a program must be refused with its name and place."""

FOLDER = Path(os.environ.get("WENGERT_CORPUS", "")) / "dev"
DEPTH = DEPTHS[os.environ.get("WENGERT_CONFORMANCE", "standard")]


def cases() -> list[object]:
    if "WENGERT_CORPUS" not in os.environ:
        return [pytest.param(None, "", "", (), marks=pytest.mark.skip(reason="WENGERT_CORPUS does not name the corpus folder"))]
    programs = read_corpus(FOLDER)
    return [
        pytest.param(p, backend, precision, kinds, id=f"{p.name}-{precision}-{backend}")
        for backend, precision, kinds in DEPTH
        for p in programs
        if precision in p.precisions
    ]


@pytest.mark.parametrize(("program", "backend", "precision", "kinds"), cases())
def test_agrees_with_the_reference(program: CorpusProgram, backend: str, precision: str, kinds: tuple[str, ...]) -> None:
    outcomes = list(run_task(Task(program, precision, kinds, backend)))
    assert outcomes[0].kind == "primal"
    assert outcomes[0].status == "passed", outcomes[0]
    for outcome in outcomes:
        if outcome.status == "refused":
            refusal = re.search(rf"{precision}\.mlir:\d+:\d+: error: '?([\w.]+)", outcome.reason)
            assert refusal, f"a refusal without a place: {outcome}"
            assert refusal[1] in UNCOVERED, outcome
            assert refusal[1] in program.meta["ops"] or refusal[1].startswith("core."), outcome
        else:
            assert outcome.status == "passed", outcome
