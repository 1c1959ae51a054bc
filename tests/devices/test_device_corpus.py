"""The corpus's programs and their derivatives on devices against the reference values. Needs WENGERT_CORPUS, the corpus folder."""

from __future__ import annotations

from typing import Any

import pytest
from device_backends import BACKENDS
from reference_programs import assert_agrees, in_all_precisions, needs_corpus, share

from wengert.lab.corpus import CorpusProgram
from wengert.runtime.loading import load

pytestmark = [pytest.mark.corpus, needs_corpus]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 12))
@pytest.mark.parametrize("kind", ["primal", "jvp", "vjp"])
def test_against_references(program: CorpusProgram, precision: str, kind: str, backend: str) -> None:
    data = program.reference(precision)
    primal = load(program.path(precision))
    extra: dict[int, Any] = {}
    wanted: list[Any] = list(data.outputs)
    if kind == "jvp":
        primal, extra, pushed = primal.jvp(wrt=sorted(data.tangents), of=sorted(data.jvp)), data.tangents, data.jvp
        wanted += [pushed[k] for k in sorted(pushed)]
    if kind == "vjp":
        primal, extra, pulled = primal.vjp(wrt=sorted(data.vjp), of=sorted(data.cotangents)), data.cotangents, data.vjp
        wanted += [pulled[k] for k in sorted(pulled)]
    compiled = primal.compile(backend, poison=True)
    inputs = [*data.inputs, *[extra[k] for k in sorted(extra)]]
    results = compiled(*inputs)
    assert_agrees(program, kind, precision, results, wanted)
    assert [r.tobytes() for r in compiled(*inputs)] == [r.tobytes() for r in results], "the same inputs, the same bits"
