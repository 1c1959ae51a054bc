"""The reference programs through to-core, the optimisations and from-core: what is recognised, and that results stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reference_programs import PROGRAMS, assert_agrees, needs_corpus, share, texts
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.interpreter import run
from wengert.transforms.core.from_core import from_core
from wengert.transforms.core.to_core import to_core
from wengert.transforms.optimize.cse import cse
from wengert.transforms.optimize.dce import dce
from wengert.transforms.optimize.simplify import simplify

pytestmark = [pytest.mark.corpus, needs_corpus]

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


def left(module: ModuleOp) -> set[str]:
    return {op.name for op in module.walk()} & RECOGNISABLE


def core_level(program: CorpusProgram) -> ModuleOp:
    return parse_module(program.path("f64").read_text(), program.name)


@pytest.mark.parametrize("program", share(PROGRAMS, 2), ids=lambda program: program.name)
def test_program(program: CorpusProgram) -> None:
    module = core_level(program)
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
    data = program.reference("f64")
    assert_agrees(program, "primal", "f64", run(module, data.inputs), data.outputs)


@pytest.mark.parametrize("path", share(texts("survey/*/pretty.mlir"), 2), ids=lambda path: path.parent.name)
def test_survey(path: Path) -> None:
    module = parse_module(path.read_text(), str(path))
    to_core(module)
    assert left(module) == set() or path.parent.name in GENERAL
    for transform in (cse, simplify, cse, dce, from_core):
        transform(module)
    verify(module)


@pytest.mark.oracle
@pytest.mark.parametrize("program", [program for program in PROGRAMS if program.name in IN_XLA], ids=lambda program: program.name)
def test_in_xla(program: CorpusProgram, xla: Callable[[str], Callable[[Any], list[Any]]]) -> None:
    module = core_level(program)
    for transform in (to_core, cse, simplify, cse, dce, from_core):
        transform(module)
    data = program.reference("f64")
    assert_agrees(program, "primal", "f64", xla(print_module(module))(data.inputs), data.outputs)
