"""The reference programs through to-core, the optimisations and from-core: what is recognised, and that results stay."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.parser import parse_module
from wengert.ir.printer import print_module
from wengert.ir.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.core.from_core import from_core
from wengert.transforms.core.to_core import to_core
from wengert.transforms.optimize.cse import cse
from wengert.transforms.optimize.dce import dce
from wengert.transforms.optimize.simplify import simplify

ROOT = os.environ.get("WENGERT_CORPUS", "")
pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not ROOT, reason="WENGERT_CORPUS is not set"), pytest.mark.filterwarnings("ignore::ResourceWarning")]

RECOGNISABLE = {"stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.scatter", "func.call", "stablehlo.composite"}
GENERAL = {"cuda_cumlogsumexp", "tpu_cumlogsumexp", "reduce_custom", "reduce_window_custom", "scatter_apply"}
"""Programs of the survey whose regions are of no kind: a running logsumexp, a weighted sum, a complex product, a sine."""
IN_XLA = [
    "reduce_zoo",
    "cumsum_cumprod",
    "kmeans_cost",
    "cnn_relu_maxpool",
    "avgpool_gap",
    "segment_stats",
    "scatter_gather_mix",
    "lstm_scan",
    "cond_piecewise",
    "while_reverse_carry",
]


def corpus() -> Any:
    if not ROOT:
        return []
    sys.path.insert(0, str(Path(ROOT) / "dev"))
    from corpus_io import Corpus  # type: ignore[import-not-found]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the reader leaves closing its files to the collector
        return list(Corpus(str(Path(ROOT) / "dev")))


PROGRAMS = {program.name: program for program in corpus()}


def left(module: ModuleOp) -> set[str]:
    return {op.name for op in module.walk()} & RECOGNISABLE


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    program = PROGRAMS[name]
    module = parse_module(program.text("f64"), name)
    to_core(module)
    verify(module)
    assert left(module) == set()
    count = sum(1 for _ in module.walk())
    for transform in (cse, simplify, cse, dce):
        transform(module)
        verify(module)
    assert sum(1 for _ in module.walk()) <= count
    from_core(module)
    verify(module)
    assert not any(op.name.startswith("core.") for op in module.walk())
    outputs = run(module, program.data("f64").inputs)
    verdicts = program.compare("f64", outputs=outputs)
    assert all(verdict[0] for verdict in verdicts.values()), verdicts


@pytest.mark.parametrize("path", sorted(Path(ROOT).glob("survey/*/pretty.mlir")) if ROOT else [], ids=lambda path: path.parent.name)
def test_survey(path: Path) -> None:
    module = parse_module(path.read_text(), str(path))
    to_core(module)
    assert left(module) == set() or path.parent.name in GENERAL
    for transform in (cse, simplify, cse, dce, from_core):
        transform(module)
    verify(module)


@pytest.mark.oracle
@pytest.mark.parametrize("name", IN_XLA)
def test_in_xla(name: str) -> None:
    sys.path.insert(0, ROOT)
    from xla_run import xla_compile  # type: ignore[import-not-found]

    program = PROGRAMS[name]
    module = parse_module(program.text("f64"), name)
    for transform in (to_core, cse, simplify, cse, dce, from_core):
        transform(module)
    outputs = [np.asarray(x) for x in xla_compile(print_module(module))(*program.data("f64").inputs)]
    verdicts = program.compare("f64", outputs=outputs)
    assert all(verdict[0] for verdict in verdicts.values()), verdicts
