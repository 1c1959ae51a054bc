"""The bound on what derivatives cost: rule by rule, over the reference programs, and the op that breaks it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from reference_programs import CORPUS, PROGRAMS, needs_corpus, share

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.cost_certificate import FORWARD, REVERSE, certify, certify_corpus, corpus_table
from wengert.runtime.program import Program
from wengert.transforms.ad.case import Case
from wengert.transforms.ad.rules import ALL_CASES

EXCEPTIONS = {
    "chlo.bessel_i1e": (92, "i0e, which is no op of its own, is a Chebyshev series of 30 terms"),
    "zeta in both": (82, "zeta counts as one flop, its derivative in the exponent is a sum of powers and logarithms written out"),
    **dict.fromkeys(("scatter mul", "scatter mul of zeros"), (14.1, "products without one factor each, by two scans over the updates")),
    **dict.fromkeys(("running maximum", "running minimum from the end"), (13.2, "a tree of comparisons, and two shares for each")),
    **dict.fromkeys(
        ("running product", "running product from the end", "running product with a zero", "window product"), (9.2, "products without one factor each")
    ),
    **dict.fromkeys(("product", "product with zeros"), (7.5, "products without one factor each")),
    "power of complex": (9.3, "a complex logarithm and a complex power are counted as one flop each, their products as six"),
    "stablehlo.sign of complex": (6.7, "the sign counts as five flops, the projection that is its derivative as many products"),
    "stablehlo.tanh of complex": (5.3, "a complex tanh is counted as one flop, a complex product as six"),
    **dict.fromkeys(("strided convolution", "negative padding"), (5.5, "both transposes visit zeros that strides leave, or what padding cropped")),
    "cholesky of one triangle": (7.6, "n = 2: the cubic terms do not yet dominate"),
    "lu, diagonal, complex, batched": (6.1, "two triangular solves with as many sides as the order, against n^3/3"),
    **dict.fromkeys(
        ("lu", "lu with exchanges, batched", "lu, tall", "lu, wide", "lu, complex"),
        (12.8, "two triangular solves and two full products against n^3/3, and n is at most 4"),
    ),
    **dict.fromkeys(
        ("qr, full", "qr, full, complex, batched", "eig, vectors", "eig, complex pair"), (5.6, "solves and products with square factors of small order")
    ),
}
"""Rules of which more is derived than four times the op: the bound of each, and why."""


@pytest.mark.parametrize("case", ALL_CASES, ids=[case.name for case in ALL_CASES])
def test_every_rule(case: Case) -> None:
    rng = np.random.default_rng(0)
    bound, _ = EXCEPTIONS.get(case.name, (max(FORWARD, REVERSE), ""))
    assert certify(Program(case.module(), name=case.name), [arg.draw(rng) for arg in case.args], bounds=(bound, bound)), case.name


def test_exceptions_are_needed() -> None:
    assert EXCEPTIONS.keys() <= {case.name for case in ALL_CASES}
    by_name = {case.name: case for case in ALL_CASES}
    for name in EXCEPTIONS:
        rng = np.random.default_rng(0)
        assert not certify(Program(by_name[name].module()), [arg.draw(rng) for arg in by_name[name].args]), f"{name} keeps to the bound"


CHAIN = """func.func public @main(%x: tensor<10xf64>) -> tensor<10xf64> {
  %0 = stablehlo.sine %x : tensor<10xf64>
  %1 = stablehlo.tanh %0 : tensor<10xf64>
  %2 = stablehlo.negate %1 : tensor<10xf64>
  return %2 : tensor<10xf64>
}
"""


def test_what_is_counted() -> None:
    """Three ops of 10 flops and 10 numbers, 10 inputs and 10 results. Of a sine come a cosine and a product, of a tanh a square, a difference and a product."""
    certified = certify(wg.parse(CHAIN, "chain.mlir"))
    assert certified.ops == 80
    assert (certified.forward, certified.reverse) == (80 + 20 * (2 + 3 + 1), 80 + 20 * (2 + 3 + 1))
    derived = {(row.op, row.place): (row.own, row.reverse) for row in certified.rows}
    assert derived["stablehlo.sine", "chain.mlir:2:3"] == (20, 40)
    assert derived["stablehlo.tanh", "chain.mlir:3:3"] == (20, 60)
    assert sum(row.own for row in certified.rows) == certified.ops - 20
    assert sum(row.reverse for row in certified.rows) == certified.reverse - certified.ops


def test_the_op_that_breaks_a_bound_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(CHAIN)
    assert main(["check", str(path), "--cost", "--random", "0"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("ok")
    assert main(["check", str(path), "--cost", "--random", "0", "--omega", "5", "2"]) == 4
    assert f"BOUND BROKEN by stablehlo.tanh at {path}:3:3: 60 ops of the VJP are derived from its 20" in capsys.readouterr().out
    assert main(["check", str(path), "--cost", "--random", "0", "--omega", "2", "5", "--json"]) == 4
    seen = json.loads(capsys.readouterr().out)
    assert (seen["holds"], seen["breaking"]["op"], seen["forward"]["bound"]) == (False, "stablehlo.tanh", 2)


LOOP = """func.func public @main(%x: tensor<4xf64>, %n: tensor<i64>) -> tensor<4xf64> {
  %c = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %0:2 = stablehlo.while(%a = %x, %i = %c) : tensor<4xf64>, tensor<i64>
  cond {
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %s = stablehlo.sine %a : tensor<4xf64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %s, %j : tensor<4xf64>, tensor<i64>
  }
  return %0#0 : tensor<4xf64>
}
"""


@pytest.mark.parametrize("iterations", [0, 1, 10, 1000])
def test_the_bound_does_not_depend_on_iterations(iterations: int) -> None:
    assert certify(wg.parse(LOOP), [np.ones(4), np.int64(iterations)])


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("strategy", ["transpose", "direct"])
def test_the_reference_programs(strategy: str) -> None:
    certificates = certify_corpus(CORPUS / "dev", strategy=strategy, only=[program.name for program in share(PROGRAMS, 2)])
    assert [str(c) for c in certificates if not c] == []
    lines = corpus_table(certificates).splitlines()
    assert len(lines) == len(certificates) + 1
    assert corpus_table(certificates, markdown=True).count("\n| ") == len(certificates) + 1
