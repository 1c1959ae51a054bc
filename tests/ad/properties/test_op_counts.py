"""VJPs have no more ops than they should: counted exactly on small programs, and against JAX's own on some of the corpus."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from op_counts import Comparison, compare, op_counts, our_vjp, plain

from wengert.ir.parsing.parser import parse_module

ROOT = os.environ.get("WENGERT_CORPUS", "")
STRATEGIES = ["transpose", "direct"]

DENSE = """
func.func public @main(%x: tensor<4x8xf64>, %w: tensor<8x3xf64>, %b: tensor<3xf64>) -> tensor<4x3xf64> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf64>, tensor<8x3xf64>) -> tensor<4x3xf64>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xf64>) -> tensor<4x3xf64>
  %2 = stablehlo.add %0, %1 : tensor<4x3xf64>
  %3 = stablehlo.tanh %2 : tensor<4x3xf64>
  return %3 : tensor<4x3xf64>
}
"""


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_dense_layer(strategy: str) -> None:
    """Two products for the cotangents, one sum for the bias, three ops for the slope of tanh and one for its use."""
    counts = our_vjp(DENSE, "dense.mlir", strategy)
    assert counts["stablehlo.dot_general"] == 3
    assert counts["core.reduce"] == 1
    assert counts.total() <= 13


def test_counted_are_ops_without_constants_and_terminators() -> None:
    sine = "func.func public @main(%x: tensor<f64>) -> tensor<f64> {\n%0 = stablehlo.sine %x : tensor<f64>\nreturn %0 : tensor<f64>\n}"
    assert op_counts(parse_module(sine)) == {"stablehlo.sine": 1}
    assert our_vjp(sine, "sine.mlir", "transpose") == {"stablehlo.sine": 1, "stablehlo.cosine": 1, "stablehlo.multiply": 1}


def test_both_sides_are_treated_alike() -> None:
    """Counting a derivative again changes nothing."""
    module = plain(parse_module(DENSE))
    assert op_counts(plain(module.clone())) == op_counts(module)


SAMPLE = ["attention_causal", "rnn_tanh_scan", "mlp_softmax_ce", "scatter_gather_mix", "adam_step", "layernorm", "einsum_network", "reduce_zoo"]
"""Programs of the corpus that are compared here (those that there are); the benchmark compares them all."""


@pytest.mark.corpus
@pytest.mark.skipif(not ROOT, reason="WENGERT_CORPUS is not set")
@pytest.mark.parametrize(("strategy", "bound"), [("transpose", 1.0), ("direct", 1.1)])
def test_against_jax(strategy: str, bound: float) -> None:
    """Over the sample ours has at most ``bound`` times as many ops as JAX's. Direct adjoints do not know that a shift cancels."""
    folders = [folder for name in SAMPLE if (folder := Path(ROOT) / "dev" / name).exists()]
    comparisons: list[Comparison] = [c for folder in folders if (c := compare(folder, "f64", strategy)) is not None]
    assert comparisons
    ours, theirs = sum(c.ours.total() for c in comparisons), sum(c.theirs.total() for c in comparisons)
    assert ours <= bound * theirs, "\n".join(map(str, comparisons))
