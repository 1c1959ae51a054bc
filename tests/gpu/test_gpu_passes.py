"""Outlining and targets: what is made means the same, and what is wrong is said."""

from __future__ import annotations

import numpy as np
import pytest
from device_kernels import GRID

from wengert.dialects.gpu import FuncOp
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import parse_pipeline


def test_outlining_changes_no_result() -> None:
    x = np.arange(120, dtype=np.int32)
    module = parse_module(GRID)
    (before,) = run(module, [x])
    parse_pipeline("gpu-kernel-outlining").run(module, verify_each=True)
    assert "gpu.launch " not in print_module(module)
    np.testing.assert_array_equal(run(module, [x])[0], before)


def test_kernels_are_added_to_the_module_that_is_there() -> None:
    module = parse_module(GRID)
    parse_pipeline("gpu-kernel-outlining").run(module)
    again = parse_module(GRID.replace("@main", "@other"))
    for op in list(again.ops):
        op.detach()
        module.body.block.add_op(op)
    parse_pipeline("gpu-kernel-outlining").run(module, verify_each=True)
    assert [op.sym_name.data for op in module.walk() if isinstance(op, FuncOp)] == ["main_k0", "other_k0"]
    verify(module)


def test_another_name_for_the_module() -> None:
    module = parse_module(GRID)
    parse_pipeline("gpu-kernel-outlining{module=main}").run(module, verify_each=True)
    assert "gpu.launch_func @main_0::@main_k0 " in print_module(module), "a function has the name"


def test_a_program_without_launches_stays_as_it_is() -> None:
    text = "module {\n  func.func @main() {\n    return\n  }\n}\n"
    module = parse_module(text)
    parse_pipeline("gpu-kernel-outlining,nvvm-attach-target").run(module)
    assert print_module(module) == text


@pytest.mark.parametrize(("pipeline", "message"), [
    ("nvvm-attach-target{module=\"(\"}", "module: '\\(' is no regular expression"),
    ("nvvm-attach-target{chp=sm_90}", "pass nvvm-attach-target has no option 'chp'.*did you mean 'chip'"),
    ("rocdl-attach-target{O=high}", "O.*high"),
])  # fmt: skip
def test_options_that_are_wrong(pipeline: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=f"(?s){message}"):
        parse_pipeline(pipeline).run(parse_module("gpu.module @m {}"))


@pytest.mark.parametrize("name", ["simplify", "cse", "dce", "licm", "symbol-dce"])
def test_passes_leave_kernels_and_declarations_alone(name: str) -> None:
    module = parse_module(GRID.replace("module {", "module {\n  func.func private @wg.abs.f32.f32(f32) -> f32", 1))
    parse_pipeline("gpu-kernel-outlining").run(module)
    kernels = module.body.block.first_op
    assert kernels is not None
    before = print_module(kernels)
    parse_pipeline(name).run(module, verify_each=True)
    assert print_module(kernels) == before


@pytest.mark.parametrize("pipeline", ["emit-llvm", "gpu-kernel-outlining,emit-llvm"])
def test_a_processor_has_no_code_for_launches(pipeline: str) -> None:
    steps = parse_pipeline(pipeline)
    with pytest.raises(DiagnosticError, match=r"kernel\.mlir:\d+:\d+: error: 'gpu\.launch(_func)?' has no code for a processor"):
        steps.translate(steps.run(parse_module(GRID, "kernel.mlir")))
