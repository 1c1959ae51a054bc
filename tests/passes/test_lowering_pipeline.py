"""The way from core-level IR to kernels as a pipeline: every pass leaves valid IR, and what reassociates is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from wengert.dialects.kernel.level import holds_kernels
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.printing.printer import print_module
from wengert.runtime.loading import load
from wengert.transforms.lowering import lower
from wengert.transforms.pipelines import FRONT, LOWER, OPTIMIZE, lowering, parse_pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = ["scalar", "decay_curve", "mlp", "transformer_block"]


def test_the_pipelines_print_as_they_parse() -> None:
    assert str(Pipeline.parse(LOWER)) == LOWER == lowering()
    assert str(Pipeline.parse(lowering(reassociate=False))) == lowering(reassociate=False)


def test_only_named_passes_reassociate() -> None:
    allowed, strict = (parse_pipeline(lowering(reassociate=r)).passes for r in (True, False))
    dropped = [p.name for p in allowed if p not in strict]
    assert dropped == [
        "distribute-products",
        "double-windows",
        "window-reductions",
        "tile-products",
        "unroll-batch",
        "strip-mine",
        "split-reductions",
        "winograd",
    ]
    assert [p.name for p in strict] == [p.name for p in allowed if p.name != "split-reductions"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_pass_leaves_valid_ir(program: str) -> None:
    module = parse_module((EXAMPLES / f"{program}.mlir").read_text(), program)
    parse_pipeline(f"{FRONT},{OPTIMIZE},vjp,{OPTIMIZE},{LOWER}").run(module, verify_each=True)
    assert holds_kernels(module)


@pytest.mark.parametrize("program", PROGRAMS)
def test_lowering_is_that_pipeline_and_leaves_its_input_alone(program: str) -> None:
    core = load(EXAMPLES / f"{program}.mlir").vjp().optimized_module
    before = print_module(core)
    assert print_module(lower(core)) == print_module(parse_pipeline(LOWER).applied(core))
    assert print_module(core) == before


def test_fusing_again_changes_nothing() -> None:
    module = parse_pipeline("to-core,fuse").run(parse_module((EXAMPLES / "mlp.mlir").read_text()))
    before = print_module(module)
    assert print_module(parse_pipeline("fuse").run(module)) == before


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("tensor<?xf32>", r"p\.mlir:1:1: error: argument 0 of @main has type tensor<\?xf32>, which cannot be compiled"),
        ("tensor<100000x100000x100000xf64>", r"p\.mlir:1:100: error: 'stablehlo\.negate' has a result of type .*: 7276 TiB, more than any machine can address"),
    ],
)
def test_what_cannot_be_compiled_is_refused_with_its_place(argument: str, message: str) -> None:
    text = f"func.func public @main(%x: {argument}) -> {argument} {{ %0 = stablehlo.negate %x : {argument} return %0 : {argument} }}"
    with pytest.raises(DiagnosticError, match=message):
        parse_pipeline(LOWER).run(parse_module(text, "p.mlir"))
