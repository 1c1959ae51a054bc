"""Every level runs: what each pass leaves of a reference program, printed and read again, has the program's results in the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference_programs import assert_agrees, in_all_precisions, needs_corpus, share
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.kernel.level import holds_kernels
from wengert.ir.pipeline.observers import PassRun
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.printing.printer import print_module
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.derived.derivation import preparation, with_main
from wengert.runtime.loading import load, parse
from wengert.runtime.program import Program
from wengert.transforms.pipelines import emission, joined, lowering, parse_pipeline

pytestmark = [pytest.mark.corpus, needs_corpus]

Array = np.ndarray[Any, np.dtype[Any]]


class Stages:
    """Collects the text after every pass that changed something, by the number and name of the pass."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.last = ""

    def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
        self.last = print_module(module)

    def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
        text = print_module(module)
        if text != self.last:
            self.texts[f"{len(self.texts):02d}-{run.pass_.name}.mlir"] = self.last = text

    def translated(self, run: PassRun, pipeline: Pipeline, text: str) -> None:
        raise AssertionError("no pass here leaves anything but IR")


def stages(program: Program) -> dict[str, str]:
    """What every pass on the way to LLVM text leaves of the program."""
    collected = Stages()
    steps = joined(preparation(program), lowering(), emission()).partition(",emit-llvm")[0]
    module = parse_pipeline(steps).run(with_main(program.module, program.entry), observer=collected)
    assert holds_kernels(module) or not any(module.walk()), "the last stage is kernels"
    return collected.texts


def check_every_stage(program: Program, inputs: list[Array], reference: CorpusProgram, kind: str, precision: str) -> None:
    """Runs every stage; a text is verified when it is read."""
    expected = program.compile("interpreter")(*inputs)
    for name, text in stages(program).items():
        try:
            assert_agrees(reference, kind, precision, parse(text, name).compile("interpreter")(*inputs), expected)
        except Exception as error:
            error.add_note(f"at the stage {name}")
            raise


@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 12))
def test_programs(program: CorpusProgram, precision: str) -> None:
    check_every_stage(load(program.path(precision)), program.reference(precision).inputs, program, "primal", precision)


@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 24))
def test_derivatives(program: CorpusProgram, precision: str) -> None:
    data = program.reference(precision)
    if not data.vjp:
        pytest.skip("the program has no derivative")
    derivative = load(program.path(precision)).vjp(wrt=sorted(data.vjp), of=sorted(data.cotangents))
    check_every_stage(derivative, [*data.inputs, *(data.cotangents[j] for j in sorted(data.cotangents))], program, "vjp", precision)
