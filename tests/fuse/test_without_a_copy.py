"""A program is lowered without a copy: passes that would change nothing are left out, and fusion writes its functions anew."""

import pytest

from wengert import parse
from wengert.ir.construction import copy_module
from wengert.ir.pipeline.passes import Rebuilding, Selective
from wengert.ir.printing.printer import print_module
from wengert.transforms.pipelines import LOWER, parse_pipeline, placing

LOWERING = parse_pipeline(f"{LOWER},{placing()}")
PROGRAMS = {
    "": """
func.func @main(%x: tensor<8xf64>, %n: tensor<i64>) -> tensor<8xf64> {
  %0 = stablehlo.sine %x : tensor<8xf64>
  %1 = core.for %i to %n carried(%c = %0: tensor<8xf64>) {
    %2 = stablehlo.multiply %c, %c : tensor<8xf64>
    stablehlo.return %2 : tensor<8xf64>
  }
  return %1 : tensor<8xf64>
}""",
    "expand-functions": """
func.func @main(%x: tensor<3xf64>, %q: tensor<3xf64>) -> tensor<3xf64> {
  %0 = chlo.zeta %x, %q : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  return %0 : tensor<3xf64>
}""",
    "promote-accumulators": """
func.func @main(%x: tensor<40xbf16>, %y: tensor<40xbf16>) -> tensor<bf16> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<40xbf16>, tensor<40xbf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}""",
    "split-complex-products": """
func.func @main(%x: tensor<64x64xcomplex<f64>>) -> tensor<64x64xcomplex<f64>> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<64x64xcomplex<f64>>, tensor<64x64xcomplex<f64>>) -> tensor<64x64xcomplex<f64>>
  return %0 : tensor<64x64xcomplex<f64>>
}""",
    "expand-short-products": """
func.func @main(%x: tensor<1000x3xf32>, %y: tensor<1000x3xf32>) -> tensor<1000xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<1000x3xf32>, tensor<1000x3xf32>) -> tensor<1000xf32>
  return %0 : tensor<1000xf32>
}""",
}
"""Programs by the pass that is the first to change them (none but fusion for the first)."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_module_stays_and_the_result_is_that_of_a_copy(name: str) -> None:
    module = parse(PROGRAMS[name]).module
    before = print_module(module, locations=True)
    lowered = LOWERING.applied(module)
    assert print_module(module, locations=True) == before
    assert print_module(lowered, locations=True) == print_module(LOWERING.run(copy_module(module)), locations=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_passes_know_whether_they_change_anything(name: str) -> None:
    module = parse(PROGRAMS[name]).module
    text, asked = print_module(module), list[str]()
    for pass_ in LOWERING.passes:
        if isinstance(pass_, Selective):
            after = copy_module(module)
            type(LOWERING)((pass_,)).run(after)
            assert pass_.changes(module) == (print_module(after) != text) == (pass_.name == name)
            asked.append(pass_.name)
    assert set(asked) >= {key for key in PROGRAMS if key}
    assert any(isinstance(pass_, Rebuilding) for pass_ in LOWERING.passes)


def test_a_program_that_was_compiled_can_still_be_differentiated() -> None:
    program = parse(PROGRAMS[""])
    before = print_module(program.module)
    program.compile()
    assert print_module(program.module) == before
    assert program.vjp(wrt=(0,)).compile().stats.kernels > 0
