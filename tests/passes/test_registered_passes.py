"""Every registered pass: it can be imported, is a value, says what it does, and leaves a small program valid."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.ir.pipeline.passes import PASSES, Pipeline
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.transforms.pipelines import BACK, FRONT, OPTIMIZE, PASS_PATHS, parse_pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"

SQUARE = """
func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.multiply %x, %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}
"""
NORM = """
func.func public @main(%x: tensor<3xf64>) -> tensor<f64> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<3xf64>, tensor<3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}
"""
OF_A_READ = """
func.func @main(%x: tensor<5xf64>, %i: tensor<2x1xi64>) -> tensor<f64> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}>
    : (tensor<5xf64>, tensor<2x1xi64>) -> tensor<2xf64>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [0] x [0] : (tensor<2xf64>, tensor<2xf64>) -> tensor<f64>
  return %1 : tensor<f64>
}
"""
PROGRAMS = {"edge-pushing": NORM, "sparse-hessian": OF_A_READ}
"""For passes on functions of one number."""
PIPELINES = {
    "bufferize": "fuse,bufferize",
    "merge-launches": "fuse,schedule{target=gpu},bufferize{target=gpu},kernels-to-gpu,merge-launches",
    "kernels-to-gpu": "fuse,schedule{target=gpu},bufferize{target=gpu},kernels-to-gpu",
    "stablehlo-to-vhlo": "stablehlo-to-vhlo,vhlo-to-stablehlo",
    "transpose": "linearize,transpose{wrt=1}",
    "join": "linearize,transpose,join",
    "batch": "batch{size=2}",
    "taylor": "taylor{order=3}",
    "offload": "vjp,tapes-to-stacks,simplify,cse,dce,offload",
    "checkpoint": "vjp,tapes-to-stacks,simplify,cse,dce,checkpoint{budget=4096}",
    "vjp-within": "vjp-within{budget=4096}",
}
"""Passes that need another one before them, or an option."""


@pytest.mark.parametrize("name", PASS_PATHS)
class TestEveryPass:
    def test_is_a_frozen_dataclass_of_its_name(self, name: str) -> None:
        cls = PASSES.load(name)
        assert cls.name == name
        assert dataclasses.is_dataclass(cls)
        assert hash(cls()) == hash(cls())
        assert cls() == cls()

    def test_says_what_it_does(self, name: str) -> None:
        doc = PASSES.load(name).__doc__
        assert doc
        assert not doc.startswith(f"{PASSES.load(name).__name__}("), "dataclass made up the docstring"

    def test_runs(self, name: str) -> None:
        module = parse_module(PROGRAMS.get(name, SQUARE))
        parse_pipeline(PIPELINES.get(name, name)).run(module)
        verify(module)
        assert "@main" in print_module(module)


@pytest.mark.parametrize("text", [FRONT, OPTIMIZE, BACK])
def test_the_named_pipelines_parse(text: str) -> None:
    assert str(Pipeline.parse(text)) == text


@pytest.mark.parametrize("program", ["scalar", "decay_curve", "mlp", "transformer_block"])
@pytest.mark.parametrize("derivative", ["jvp", "vjp", "jvp,vjp", "vjp,jvp"])
def test_the_whole_way_on_the_examples(program: str, derivative: str) -> None:
    module = parse_module((EXAMPLES / f"{program}.mlir").read_text(), program)
    before = print_module(module)
    parse_pipeline(f"{FRONT},{derivative},{OPTIMIZE},{BACK}").run(module, verify_each=True)
    after = print_module(module)
    assert "core." not in after
    assert "ad." not in after
    assert after != before
