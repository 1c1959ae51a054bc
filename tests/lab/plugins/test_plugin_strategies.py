"""Strategies, policies and ops from outside of the package, and entry points."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.programs.plugin_files import MINE, PROGRAM, X

import wengert as wg
from wengert.ir import plugins
from wengert.lab.cli.main import main


@pytest.mark.parametrize("strategy", ["mine", "steps"])
def test_strategies_by_name(strategy: str, program: wg.Program) -> None:
    np.testing.assert_allclose(program.vjp(strategy=strategy)(X, X)[1], program.vjp()(X, X)[1], rtol=1e-14)
    assert program.jvp(strategy=strategy)(X, X)[1].shape == (3,)
    two = wg.parse(PROGRAM.replace("%x: tensor<3xf64>", "%a: tensor<3xf64>, %x: tensor<3xf64>"))
    assert [r.shape for r in two.vjp(wrt=1, strategy=strategy).signature.results] == [(3,), (3,)]
    module = program.apply(f"vjp{{strategy={strategy} wrt=0}},simplify,cse,dce")
    np.testing.assert_allclose(module(X, X)[1], program.vjp()(X, X)[1], rtol=1e-14)


def test_a_strategy_that_is_a_pipeline_shows_its_passes(program: wg.Program, tmp_path: Path) -> None:
    program.vjp(strategy="steps", dump_dir=tmp_path / "d")
    index = (tmp_path / "d" / "index.md").read_text()
    assert "`linearize{wrt=0 of=0}`" in index
    assert "`transpose`" in index


def test_unknown_strategies_are_listed(program: wg.Program) -> None:
    with pytest.raises(wg.InputError, match="strategy: there is no 'dirct'; strategy: transpose, direct, mine, wrong, broken, steps; did you mean 'direct'"):
        program.vjp(strategy="dirct")
    with pytest.raises(wg.InputError, match="residuals: there is no 'all'; residuals: auto, save-all, recompute-cheap, recompute-all"):
        program.vjp(residuals="all")


def test_a_policy_of_ones_own(program: wg.Program, folder: Path) -> None:
    (folder / "policy.py").write_text('''
import wengert as wg
from wengert.transforms.ad.residuals.plan import Plan, recomputation


@wg.register
class Arguments(wg.ResidualPolicy, frozen=True):
    """Keeps the arguments of a function and computes the rest again."""

    @property
    def name(self):
        return "arguments"

    @property
    def marks(self):
        return True

    def plan(self, site):
        kept = list(site.block.args)
        return Plan(kept, recomputation(site.block, site.residuals, {*kept, *site.available}))
''')
    wg.load_plugin("policy.py")
    vjp = program.vjp(residuals="arguments")
    np.testing.assert_allclose(vjp(X, X)[1], program.vjp()(X, X)[1], rtol=1e-14)
    assert str(vjp).count("optimization_barrier") == 1
    assert str(vjp).count("stablehlo.exponential") == 2
    (folder / "policy.py").write_text((folder / "policy.py").read_text().replace("return True", "return False"))
    wg.load_plugin("policy.py")
    with pytest.warns(plugins.UndoneWarning, match=r"policy 'arguments' of policy\.py computes 3 ops again, which 'join' shares with the forward part"):
        assert str(program.vjp(residuals="arguments")).count("stablehlo.exponential") == 1
    with pytest.raises(wg.DiagnosticError, match="needs strategy=transpose; strategy=mine takes residuals=auto only"):
        program.vjp(strategy="mine", residuals="arguments")


def test_entry_points_are_found_without_an_import(folder: Path) -> None:
    home = folder / "installed"
    (home / "package_of_hers").mkdir(parents=True)
    (home / "package_of_hers" / "__init__.py").write_text(MINE.replace("@wg.register\n", "").replace("wg.register(", "print("))
    information = home / "hers-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: hers\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[wengert.passes]\nrename = package_of_hers:Rename\nlost = package_of_hers:Lost\n\n[wengert.strategies]\nhers = package_of_hers:Mine\n"
    )
    code = """
import sys
import wengert as wg
from wengert.transforms.pipelines import parse_pipeline
p = wg.load("p.mlir")
p.vjp()
parse_pipeline("cse")
assert "package_of_hers" not in sys.modules
assert "cosine" in str(p.apply("rename"))
assert p.vjp(strategy="hers").signature
try:
    p.vjp(strategy="his")
except wg.InputError as error:
    print(error)
try:
    p.apply("lost")
except wg.PluginError as error:
    print(error.message)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env={**__import__("os").environ, "PYTHONPATH": str(home)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    unknown, lost = done.stdout.splitlines()[-2:]
    assert "strategy: transpose, direct, hers" in unknown
    assert lost.startswith("the entry point lost = 'package_of_hers:Lost' of wengert.passes cannot be loaded: AttributeError")


OP = """
from typing import ClassVar

from xdsl.ir import Dialect

import wengert as wg
from wengert.dialects.facts import expanded
from wengert.dialects.stablehlo.base import UnaryOp
from wengert.ir.element_classes import FLOAT
from wengert.ir.operations import op_definition
from wengert.ir.tensor_types import f64, tensor
from wengert.transforms.ad.rule import derivative
from wengert.transforms.core.functions import expansion


@op_definition
class CubeOp(UnaryOp):
    name = "mine.cube"
    FACTS: ClassVar = expanded(FLOAT)


wg.register(Dialect("mine", [CubeOp]))


@expansion(CubeOp)
def expand_cube(b, op):
    return [b.multiply(op.operand, b.multiply(op.operand, op.operand))]


@derivative(CubeOp)
def cube(b, op):
    RULE
"""
RIGHT = """three = b.multiply(b.full_like(op.operand, 3), b.multiply(op.operand, op.operand))
    return lambda lb, tangents: [lb.multiply(tangents[0], three)]"""
CUBE = """func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = mine.cube %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}
"""


def test_an_op_of_ones_own(folder: Path) -> None:
    (folder / "cube.py").write_text(OP.replace("RULE", RIGHT))
    wg.load_plugin("cube.py")
    p = wg.parse(CUBE)
    for backend in ("cpu", "interpreter"):
        np.testing.assert_allclose(p.compile(backend)(X)[0], X**3, rtol=1e-14)
        np.testing.assert_allclose(p.vjp().compile(backend)(X, X)[1], 3 * X**3, rtol=1e-14)
    np.testing.assert_allclose(p.vmap(size=2)(np.stack([X, 2 * X]))[0], np.stack([X, 2 * X]) ** 3, rtol=1e-14)
    assert p.check(second_order=True)
    assert "mine.cube" not in str(p), "the text is plain StableHLO"
    assert p.costs().rows[0].cost.flops == 6
    with pytest.raises(wg.DiagnosticError, match=r"unknown operation 'mine.cub'"):
        wg.parse(CUBE.replace("mine.cube %x", '"mine.cub"(%x)').replace(": tensor<3xf64>\n", ": (tensor<3xf64>) -> tensor<3xf64>\n", 1))
    with pytest.raises(wg.DiagnosticError, match=r"<string>:2:3: error: mine\.cube: mine\.cube takes floats, found tensor<3xi32>"):
        wg.parse(CUBE.replace("f64", "i32"))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("return 1 / 0", r"cube\.py:\d+: cube raised ZeroDivisionError: division by zero"),
        ("return lambda lb, tangents: [lb.create(CubeOp, (tangents[0],), (tensor((4,), f64),))[0]]", r"the rule of mine\.cube of cube\.py left invalid IR"),
    ],
)
def test_a_rule_that_fails_is_its_authors(rule: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cube.py").write_text(OP.replace("RULE", rule))
    (folder / "cube.mlir").write_text(CUBE)
    assert main(["jvp", "cube.mlir", "--load", "cube.py"]) == 6
    error = capsys.readouterr().err
    assert re.search(message, error), error
    assert "in pass 'jvp{wrt=0 of=0}' (1 of 4)" in error


def test_a_strategy_whose_recomputation_is_merged_back_is_told(program: wg.Program, folder: Path) -> None:
    (folder / "twice.py").write_text("""
import wengert as wg


@wg.register
class Twice(wg.Strategy):
    name = "twice"

    def vjp(self, request, name, residuals):
        function = super().vjp(request, name, residuals)
        for op in [op for op in function.body.block.ops if op.name == "stablehlo.cosine"]:
            again = op.clone()
            op.parent.insert_op_after(again, op)
            for use in list(op.results[0].uses):
                use.operation.operands[use.index] = again.results[0]
        return function
""")
    wg.load_plugin("twice.py")
    with pytest.warns(plugins.UndoneWarning, match=r"strategy 'twice' computes again what is computed already, and .* merged 1 op of that back"):
        program.vjp(strategy="twice")
