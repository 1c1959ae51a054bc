"""Reductions whose last steps are done in the registers of warps: the same bits as through workgroup memory, at the gpu level and as PTX."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.interpreter import run
from wengert.transforms.lowering import alone
from wengert.transforms.pipelines import AMDGPU, GPU_LOWER, PTX, parse_pipeline

REST = "bufferize{target=sm_90},kernels-to-gpu,merge-launches,gpu-kernel-outlining"
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "bf16": ml_dtypes.bfloat16}


def scheduled(rows: int, columns: int, kinds: tuple[str, ...], element: str, target: str = "sm_90") -> str:
    """Reductions of rows, with their schedule."""
    operand, result = f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{element}>"
    ops = "\n".join(f"%{n} = core.reduce {kind} %x across [1] : ({operand}) -> {result}" for n, kind in enumerate(kinds))
    values, types = ", ".join(f"%{n}" for n in range(len(kinds))), ", ".join([result] * len(kinds))
    text = f"func.func public @main(%x: {operand}) -> ({types}) {{ {ops}\n return {values} : {types} }}"
    return print_module(parse_pipeline(f"{GPU_LOWER},schedule{{target={target}}}").run(alone(core_form(parse_module(text)), "main")))


def with_shuffles(text: str) -> str:
    """A program whose threads that reduce together shuffle."""
    return re.sub(r"(reduce = \{[^}]*?)(, shuffle)?\}", r"\1, shuffle}", text)


@pytest.mark.parametrize(
    ("rows", "columns", "kinds", "element"),
    [
        (300, 200, ("add",), "f32"),
        (50, 1003, ("add", "max"), "f32"),
        (3, 7000, ("min",), "f32"),
        (5, 70000, ("add",), "f32"),
        (40, 999, ("add", "max"), "i32"),
        (40, 1000, ("add",), "bf16"),
    ],
)
def test_the_same_bits(rows: int, columns: int, kinds: tuple[str, ...], element: str) -> None:
    text = with_shuffles(scheduled(rows, columns, kinds, element))
    assert ", shuffle}" in text
    x = (10 * np.random.default_rng(0).standard_normal((rows, columns))).astype(DTYPES[element])
    shuffled = parse_pipeline(REST).run(parse_module(text))
    assert "gpu.shuffle xor" in print_module(shuffled)
    plain = run(parse_pipeline(REST).run(parse_module(text.replace(", shuffle}", "}"))), [x])
    results = run(shuffled, [x])
    parse_pipeline(PTX).run(shuffled)
    as_ptx = wg.parse(print_module(shuffled)).compile("ptx-interpreter")(x)
    for result, wanted, compiled in zip(results, plain, as_ptx, strict=True):
        assert result.tobytes() == wanted.tobytes() == compiled.tobytes()


@pytest.mark.parametrize(("element", "target"), [("f64", "sm_90"), ("f32", "gpu"), ("f32", "gfx942")])
def test_reductions_through_workgroup_memory(element: str, target: str) -> None:
    assert "shuffle" not in scheduled(5000, 1003, ("add",), element, target)


def test_small_ones_may_become_parts_of_others() -> None:
    assert "shuffle" not in scheduled(50, 1003, ("add",), "f32")
    assert "shuffle" in scheduled(5000, 1003, ("add",), "f32")


def test_a_warp_needs_no_workgroup_memory() -> None:
    module = parse_pipeline(REST).run(parse_module(scheduled(5000, 200, ("add",), "f32")))
    text = print_module(module)
    assert "gpu.barrier" not in text
    assert "workgroup(" not in text


REFUSED = [
    ("f64", "threads = 64, shuffle}", "threads = 64, shuffle}", "something else than f32 and integers of 32 bits is combined"),
    ("f32", "group = 256", "group = 80", "must be a power of two that divides group = 80"),
    ("f32", "shuffle}", "columns, shuffle}", "threads that shuffle are neighbours in whole warps of 32, without columns"),
]


@pytest.mark.parametrize(("element", "before", "after", "message"), REFUSED)
def test_schedules_that_are_refused(element: str, before: str, after: str, message: str) -> None:
    text = with_shuffles(scheduled(50, 1003, ("add",), element))
    assert before in text
    with pytest.raises(DiagnosticError) as refused:
        parse_pipeline(REST).run(parse_module(text.replace(before, after)))
    assert message in refused.value.render()


def test_other_devices_have_no_code_for_it() -> None:
    module = parse_pipeline(f"{REST},{AMDGPU}").run(parse_module(with_shuffles(scheduled(50, 1003, ("add",), "f32"))))
    with pytest.raises(DiagnosticError) as refused:
        parse_pipeline("gpu-module-to-binary{format=llvm}").run(module)
    assert "'gpu.shuffle xor' of f32 among 32 threads has no code for amdgpu" in refused.value.render()
