"""Provenance: nothing is lost, nothing is wrong, and what became of each op is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from reference_programs import needs_corpus, share, texts

import wengert as wg
from wengert.ir.location.locations import Role, provenance, sources
from wengert.ir.location.places import describe
from wengert.ir.pipeline.changes import Kind, recorded
from wengert.ir.traversal import all_ops
from wengert.lab.inspection.subject import Mode, Request
from wengert.lab.provenance.completeness import check_provenance
from wengert.lab.provenance.recording import record
from wengert.lab.provenance.rules import rule_of, transpose_of
from wengert.runtime.loading import parse
from wengert.runtime.program import Program
from wengert.transforms.ad.rule import RULES, STEPS, TRANSPOSES
from wengert.transforms.pipelines import parse_pipeline

LOOP = """
func.func public @main(%a: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<f64> {
  %n = stablehlo.constant dense<3> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4xf64>
    cond {
      %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.sine %x : tensor<4xf64>
      %p = stablehlo.multiply %s, %w : tensor<4xf64>
      %q = stablehlo.multiply %p, %x : tensor<4xf64>
      stablehlo.return %j, %q : tensor<i32>, tensor<4xf64>
    }
  %sum = stablehlo.reduce(%r#1 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
  return %sum : tensor<f64>
}
"""

REPEATED = """
func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.sine %x : tensor<f64>
  %1 = stablehlo.sine %x : tensor<f64>
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %2 = stablehlo.multiply %1, %one : tensor<f64>
  %3 = stablehlo.negate %2 : tensor<f64>
  %4 = stablehlo.negate %3 : tensor<f64>
  %5 = stablehlo.add %0, %4 : tensor<f64>
  %dead = stablehlo.cosine %x : tensor<f64>
  return %5 : tensor<f64>
}
"""


def read(text: str) -> Program:
    return parse(text, "p.mlir")


@pytest.mark.parametrize("mode", ["jvp", "vjp", "hvp"])
@pytest.mark.parametrize("text", [LOOP, REPEATED])
@pytest.mark.parametrize("strategy", ["transpose", "direct"])
def test_every_op_is_traced_or_says_why_it_is_gone(text: str, mode: Mode, strategy: str) -> None:
    result = check_provenance(read(text), Request(mode, strategy=strategy))
    assert result.lost == ()
    assert result.wrong == ()
    assert result.unknown == 0
    assert result.traced > 0


def test_the_reason_names_the_pass_and_the_rewrite() -> None:
    result = check_provenance(read(REPEATED))
    reasons = {removed.place: removed.reasons[0] for removed in result.removed}
    assert "multiply-by-one" in reasons["p.mlir:6:3"]
    assert reasons["p.mlir:10:3"] == "simplify: stablehlo.cosine at p.mlir:10:3 was removed (nothing uses it)"
    kinds = {change.kind for change in record(read(REPEATED), Request("vjp")).changes.changes}
    assert {Kind.MERGED, Kind.REWRITTEN, Kind.REMOVED, Kind.MADE} <= kinds


def test_equal_ops_are_one_with_both_places() -> None:
    module = read(REPEATED).optimized_module
    (sine,) = (op for op in all_ops(module) if op.name == "stablehlo.sine")
    assert [describe(s.place) for s in sources(sine.location, sine.name)] == ["p.mlir:3:3", "p.mlir:4:3"]


def test_accumulations_name_the_value_that_is_summed() -> None:
    text = """
func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.exponential %x : tensor<f64>
  %1 = stablehlo.sine %0 : tensor<f64>
  %2 = stablehlo.cosine %0 : tensor<f64>
  %3 = stablehlo.multiply %1, %2 : tensor<f64>
  %4 = stablehlo.multiply %3, %x : tensor<f64>
  return %4 : tensor<f64>
}"""
    for strategy in ("transpose", "direct"):
        module = read(text).vjp(strategy=strategy).module
        summed = [known for op in all_ops(module) if (known := provenance(op.location)) is not None and known.role is Role.ACCUMULATION]
        assert sorted({known.op_name for known in summed}) == ["argument#0", "stablehlo.exponential"]


def test_derived_ops_name_what_was_written_and_not_the_core_op() -> None:
    module = read(LOOP).vjp().module
    names = {known.op_name for op in all_ops(module) if (known := provenance(op.location)) is not None}
    assert "stablehlo.while" in names
    assert not any(name.startswith("core.") for name in names)


def test_nothing_is_recorded_unless_it_is_asked_for() -> None:
    program = read(REPEATED)
    with recorded() as changes:
        pass
    assert program.vjp() is not None
    assert changes.changes == []


def test_kernels_name_the_ops_that_they_are_fused_from() -> None:
    text = """
func.func public @main(%x: tensor<8xf64>, %a: tensor<f64>) -> tensor<8xf64> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f64>) -> tensor<8xf64>
  %1 = stablehlo.sine %x : tensor<8xf64>
  %2 = stablehlo.multiply %1, %0 : tensor<8xf64>
  return %2 : tensor<8xf64>
}"""
    module = parse_pipeline("to-core,fuse").run(read(text).module.clone())
    (nest,) = (op for op in all_ops(module) if op.name == "kernel.nest")
    assert {s.op_name for s in sources(nest.location, nest.name)} == {"stablehlo.multiply", "stablehlo.sine", "stablehlo.broadcast_in_dim"}
    assert describe(nest.location) == "p.mlir:5:3"


def test_every_rule_says_its_place_and_its_mathematics() -> None:
    ours = [cls for cls in (*RULES, *STEPS) if cls.__module__.startswith("wengert.")]  # other tests bring ops of their own
    assert len(ours) > 100
    for cls in ours:
        rule = rule_of(cls)
        assert rule is not None, cls.name
        assert rule.math, f"{cls.name} at {rule.place} says no mathematics: a docstring of one line, or a comment"
        assert rule.line > 0, cls.name
    for cls in TRANSPOSES:
        rule = transpose_of(cls)
        assert rule is not None
        assert rule.line > 0, cls.name


def test_rules_of_the_direct_strategy_are_those_of_its_adjoints() -> None:
    import wengert.dialects.stablehlo as hlo

    rule = rule_of(hlo.MultiplyOp, "direct")
    assert rule is not None
    assert rule.file == "transforms/ad/direct/adjoints/elementwise.py"
    assert rule.math == "y = x1 x2: x1_bar = x2 y_bar, x2_bar = x1 y_bar"


def test_checking_leaves_the_program_as_it_is() -> None:
    program = read(LOOP)
    before = program.text()
    check_provenance(program)
    assert program.text() == before
    assert wg.parse(before).vjp() is not None


@needs_corpus
@pytest.mark.parametrize("path", share(texts("dev/*/f64.mlir"), 3), ids=lambda path: path.parent.name)
def test_nothing_is_lost_in_programs_of_the_corpus(path: Path) -> None:
    result = check_provenance(wg.load(path))
    assert [str(each) for each in (*result.lost, *result.wrong)] == []
    assert result.unknown == 0
