"""Stock MLIR compiles programs of the corpora and their derivatives, and computes the stored results."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.stock_mlir import KINDS, PRECISIONS, Case, case_of_stablehlo, case_of_upstream, outcome
from reference_programs import CORPUS, HAVE_CORPUS, PROGRAMS, needs_corpus, share

from wengert.lab.corpus import CorpusProgram
from wengert.lab.stock_mlir.tools import MISSING, StockMLIR, installed

pytestmark = needs_corpus
UPSTREAM = sorted(path.parent for path in (CORPUS / "upstream").glob("*/meta.json")) if HAVE_CORPUS else []
NOT_WRITTEN = {
    "diffrax_heun_fixed": "chlo.next_after",
    "mvn_student_nll": "chlo.lgamma",
    "poisson_glm_zip": "chlo.lgamma",
    "special_fns": "chlo.erf_inv",
    "vae_elbo": "chlo.erf_inv",
}
"""Programs with functions that upstream has no op for."""


@pytest.fixture(scope="module")
def mlir() -> StockMLIR:
    known = installed()
    if known is None:
        pytest.skip(MISSING)
    return known


def comes_through(mlir: StockMLIR, case: Case | None) -> None:
    if case is None:
        pytest.skip("the corpus has it in the other precision only")
    result = outcome(mlir, case)
    if case.name in NOT_WRITTEN and result.stage != "right":
        assert result.stage == "refused"
        assert NOT_WRITTEN[case.name] in result.said
    else:
        assert result.stage == "right", result.said


UPSTREAM_CASES = [
    pytest.param(folder, kind, precision, id=f"{folder.name}-{kind}-{precision}") for kind in KINDS for precision in PRECISIONS for folder in UPSTREAM
]
CASES = [pytest.param(entry, kind, precision, id=f"{entry.name}-{kind}-{precision}") for kind in KINDS for precision in PRECISIONS for entry in PROGRAMS]


@pytest.mark.parametrize(("folder", "kind", "precision"), share(UPSTREAM_CASES, 22))
def test_programs_in_upstream_dialects(mlir: StockMLIR, folder: Path, kind: str, precision: str) -> None:
    comes_through(mlir, case_of_upstream(folder, kind, precision))


@pytest.mark.parametrize(("entry", "kind", "precision"), share(CASES, 62))
def test_programs_in_stablehlo(mlir: StockMLIR, entry: CorpusProgram, kind: str, precision: str) -> None:
    comes_through(mlir, case_of_stablehlo(entry, kind, precision))
