"""What is live at the peak adds up to the peak, and what is kept is read behind the first cotangent."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import wengert as wg
from wengert.transforms.analysis.kept import kept_by, reverse_part
from wengert.transforms.analysis.liveness import peak_bytes
from wengert.transforms.analysis.peak import live_at_peak
from wengert.transforms.analysis.stage_memory import stage_memory

EXAMPLES = Path(__file__).parents[2] / "examples"
LOOP = """func.func public @main(%x: tensor<8xf64>) -> tensor<8xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<8xf64>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %i1 = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.sine %a : tensor<8xf64>
      %t = stablehlo.exponential %s : tensor<8xf64>
      %m = stablehlo.multiply %s, %t : tensor<8xf64>
      stablehlo.return %i1, %m : tensor<i32>, tensor<8xf64>
    }
  return %r#1 : tensor<8xf64>
}
"""
CHAIN = """func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.tanh %x : tensor<4xf64>
  %1 = stablehlo.exponential %0 : tensor<4xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<4xf64>
  return %2 : tensor<4xf64>
}
"""


def main_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")


@pytest.mark.parametrize("name", ["mlp", "transformer_block", "decay_curve", "scalar", "loop"])
@pytest.mark.parametrize("strategy", ["primal", "transpose", "direct"])
def test_what_is_live_adds_up(name: str, strategy: str) -> None:
    program = wg.parse(LOOP) if name == "loop" else wg.load(EXAMPLES / f"{name}.mlir")
    module = (program if strategy == "primal" else program.vjp(strategy=strategy)).optimized_module
    live = live_at_peak(module)
    assert sum(size for _, size in live) == peak_bytes(module)
    assert len({value for value, _ in live}) == len(live)


def test_what_is_kept() -> None:
    """Of tanh, its coefficient and exp, 32 bytes each; nothing where all is computed again."""
    p = wg.parse(CHAIN)
    kept = main_of(p.vjp().optimized_module)
    assert sum(kept_by(kept).values()) == 3 * 32
    again = main_of(p.vjp(residuals="recompute-all").optimized_module)
    assert kept_by(again) == {}
    assert reverse_part(again)[0].name == "stablehlo.optimization_barrier"
    assert reverse_part(main_of(p.optimized_module)) == []


def test_the_memory_of_a_stage() -> None:
    p = wg.parse(CHAIN)
    assert stage_memory(p.module).kept is None
    assert stage_memory(p.vjp().module).kept == 96
    assert stage_memory(wg.parse(CHAIN.replace("4xf64", "?xf64")).module).peak is None
    buffers = p.apply("to-core,fuse,schedule,bufferize").module
    assert stage_memory(buffers).peak == 2 * 32
