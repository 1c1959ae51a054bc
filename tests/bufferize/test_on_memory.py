"""Programs on buffers, run in memory that is full of poison: a value that lies where another one is still needed would be seen in the results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference_programs import assert_agrees, in_all_precisions, needs_corpus, share
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from wengert.dialects.kernel.memory import ALIGNMENT
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.lab.corpus import CorpusProgram, array_error
from wengert.lab.inputs import random_inputs
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.interpreter import run
from wengert.runtime.loading import load
from wengert.transforms.bufferize.footprint import footprint
from wengert.transforms.codegen.cpu.program import generate
from wengert.transforms.lowering import lower, placed
from wengert.transforms.pipelines import BUFFERIZE, parse_pipeline
from wengert.transforms.schedule.host import host


def bufferized(module: ModuleOp) -> ModuleOp:
    return parse_pipeline(BUFFERIZE).run(lower(core_form(module)))


def read_again(module: ModuleOp) -> ModuleOp:
    verify(module)
    again = parse_module(print_module(module))
    verify(again)
    return again


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 10))
def test_primal_in_poisoned_memory(program: CorpusProgram, precision: str) -> None:
    data = program.reference(precision)
    module = bufferized(parse_module(program.path(precision).read_text(), program.name))
    assert_agrees(program, "primal", precision, run(read_again(module), data.inputs), data.outputs)


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 20))
def test_derivative_in_poisoned_memory(program: CorpusProgram, precision: str) -> None:
    """Against the interpreter at core level, on the inputs that the corpus has, with random cotangents (with ones, what is conserved has no derivative but rounding)."""
    derivative = load(program.path(precision)).vjp()
    core = runnable(derivative.optimized_module)
    primals = program.reference(precision).inputs
    cotangents = random_inputs(derivative.signature, 1)[len(primals) :]
    expected, actual = run(core, [*primals, *cotangents]), run(read_again(bufferized(core)), [*primals, *cotangents])
    tolerance = program.tolerance("vjp", precision)
    assert max(map(array_error, actual, expected), default=0.0) <= tolerance


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 15))
def test_what_was_read_again_is_the_same_program(program: CorpusProgram, precision: str) -> None:
    module = bufferized(runnable(load(program.path(precision)).vjp().optimized_module))
    again = read_again(module)
    assert footprint(function_of(again)) == footprint(function_of(module))
    assert generate(again, host().target).text == generate(module, host().target).text


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 10))
def test_predicted_bytes_are_those_that_are_allocated(program: CorpusProgram, precision: str) -> None:
    data = program.reference(precision)
    compiled = load(program.path(precision)).compile()
    results = compiled(*data.inputs)
    predicted = footprint(function_of(placed(core_form(runnable(load(program.path(precision)).optimized_module)))))  # buffers depend on schedules
    code: Any = compiled.executable
    _, constants, _ = code._kept
    arena, _ = code._slow._arena()
    assert predicted.arena == compiled.stats.arena_bytes == arena.nbytes - ALIGNMENT, "one call's memory, but for what aligns it"
    assert predicted.constants == compiled.stats.constant_bytes == sum(constant.nbytes for constant in constants)
    assert predicted.results == compiled.stats.result_bytes == sum(result.nbytes for result in results)
    assert predicted.inputs == sum(np.asarray(x).nbytes for x in data.inputs)


def function_of(module: ModuleOp) -> FuncOp:
    (function,) = [op for op in module.ops if isinstance(op, FuncOp)]
    return function
