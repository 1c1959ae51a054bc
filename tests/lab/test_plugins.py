"""Passes, strategies, policies and ops from outside of the package: found by every command, listed where they are chosen, and blamed for what they do wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.dialects import registry
from wengert.ir import plugins
from wengert.ir.pipeline.passes import PASSES
from wengert.lab.cli.main import main
from wengert.transforms.ad import strategies
from wengert.transforms.ad.residuals import policies

PROGRAM = """func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.sine %x : tensor<3xf64>
  %1 = stablehlo.exponential %0 : tensor<3xf64>
  return %1 : tensor<3xf64>
}
"""
MINE = '''
from typing import Literal

from xdsl.dialects.builtin import ModuleOp

import wengert as wg


@wg.register
class Rename(wg.Pass):
    """Changes sines to other functions."""

    name = "rename"
    to: Literal["cosine", "tan"] = "cosine"

    def run(self, module: ModuleOp) -> None:
        from wengert.dialects import stablehlo as hlo

        for op in [op for op in module.walk() if isinstance(op, hlo.SineOp)]:
            new = {"cosine": hlo.CosineOp, "tan": hlo.TanOp}[self.to].create(operands=op.operands, result_types=[op.result.type], location=op.location)
            op.parent.insert_op_before(new, op)
            op.result.replace_all_uses_with(new.results[0])
            op.parent.erase_op(op)


@wg.register
class Again(wg.Pass):
    """Computes sines again for each use."""

    name = "again"
    apart: bool = False

    def run(self, module: ModuleOp) -> None:
        for op in [op for op in module.walk() if op.name == "stablehlo.sine"]:
            for use in list(op.results[0].uses)[1:]:
                new = op.clone()
                if self.apart:
                    new.operands = wg.keep_apart(op.operands, before=use.operation)
                op.parent.insert_op_before(new, use.operation)
                use.operation.operands[use.index] = new.results[0]


@wg.register
class Fails(wg.Pass):
    """Has a defect."""

    name = "fails"

    def run(self, module: ModuleOp) -> None:
        helper()


def helper():
    raise KeyError("lost")


@wg.register
class Spoils(wg.Pass):
    """Uses a value before it is defined."""

    name = "spoils"

    def run(self, module: ModuleOp) -> None:
        first, second, *_ = next(iter(module.ops)).body.block.ops
        second.detach()
        first.parent.insert_op_before(second, first)


@wg.register
class Mine(wg.Strategy):
    name = "mine"

    def vjp(self, request, name, residuals):
        from wengert.transforms.ad.direct.vjp import direct_vjp_function

        return direct_vjp_function(request, name)


@wg.register
class Wrong(wg.Strategy):
    name = "wrong"

    def vjp(self, request, name, residuals):
        return self.jvp(request, name)


@wg.register
class Broken(wg.Strategy):
    name = "broken"

    def vjp(self, request, name, residuals):
        helper()


wg.register(wg.PipelineStrategy("steps", vjp="linearize,simplify,cse,dce,transpose,cse,join"))
'''


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Nothing that a test registers is known to another."""
    tables: list[dict[Any, Any]] = [
        plugins.LOADED,
        plugins._CONTENTS,
        PASSES._registered,
        strategies.STRATEGIES._registered,
        policies.POLICIES._registered,
        registry._REGISTERED,
    ]
    before = [dict(table) for table in tables]
    registering = set(plugins._REGISTERING)
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)
    plugins._REGISTERING.clear()
    plugins._REGISTERING.update(registering)
    PASSES.version += 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WENGERT_REPRODUCER_DIR", str(tmp_path / "reproducers"))
    (tmp_path / "p.mlir").write_text(PROGRAM)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


@pytest.fixture
def program(folder: Path) -> wg.Program:
    wg.load_plugin(folder / "mine.py")
    return wg.load("p.mlir")


X = np.array([0.1, 0.5, 0.9])


# -- loading


def test_a_file_is_loaded_once_and_again_when_it_changes(folder: Path) -> None:
    plugin = wg.load_plugin("mine.py")
    assert (plugin.source, plugin.file) == (str(folder / "mine.py"), str(folder / "mine.py"))
    cls = PASSES.load("rename")
    assert wg.load_plugin(folder / "mine.py") is plugin
    assert PASSES.load("rename") is cls
    (folder / "mine.py").write_text(MINE.replace("Changes sines", "Replaces sines"))
    assert wg.load_plugin("mine.py").module == plugin.module
    assert (PASSES.load("rename").__doc__ or "").startswith("Replaces sines")


def test_a_module_is_loaded_by_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "package_of_mine").mkdir()
    (folder / "package_of_mine" / "__init__.py").touch()
    (folder / "package_of_mine" / "passes.py").write_text(MINE)
    monkeypatch.syspath_prepend(folder)
    assert main(["opt", "p.mlir", "--load", "package_of_mine.passes", "-p", "rename"]) == 0
    assert "stablehlo.cosine" in capsys.readouterr().out


def test_a_file_finds_what_lies_beside_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (folder / "beside_mine.py").write_text("VALUE = 3\n")
    (folder / "uses_it.py").write_text("import beside_mine\nassert beside_mine.VALUE == 3\n")
    wg.load_plugin("uses_it.py")


@pytest.mark.parametrize(
    ("source", "message"), [("nothing.py", "there is no file 'nothing.py' to load"), ("no.such.module", "there is no module 'no.such.module' to load")]
)
def test_what_is_not_there_is_an_error_of_usage(source: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "p.mlir", "--load", source]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import wengert\n\n1 / 0\n", r"bad\.py cannot be loaded: ZeroDivisionError(?s:.*)bad\.py\", line 3, in <module>"),
        ("import no_module_of_this_name\n", r"bad\.py cannot be loaded: ModuleNotFoundError"),
        ("import wengert as wg\nwg.register(3)\n", "3 is no pass, translation, strategy, policy or dialect"),
        ("import wengert as wg\nwg.register(wg.PipelineStrategy('a', vjp='linearise'))\n", "unknown pass 'linearise'(?s:.*)did you mean 'linearize'"),
        ("import wengert as wg\nwg.register(wg.PipelineStrategy('a', vjp='cse,dce'))\n", "no pass of 'cse,dce' takes fn, wrt and of"),
        (
            "import wengert as wg\nclass A(wg.Pass):\n    name = 'cse'\n    def run(self, m): ...\nwg.register(A)\n",
            "there is a pass 'cse' already: one of wengert",
        ),
        ("import wengert as wg\nclass A(wg.Pass):\n    name = 'A b'\n    def run(self, m): ...\nwg.register(A)\n", "needs a name in kebab-case"),
        ("import wengert as wg\nclass A(wg.Strategy):\n    name = 'direct'\nwg.register(A)\n", "there is a strategy 'direct' already"),
    ],
)
def test_a_plugin_that_cannot_be_loaded(text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.py").write_text(text)
    assert main(["opt", "p.mlir", "--load", "bad.py"]) == 6
    error = capsys.readouterr().err
    assert re.search(message, error), error
    assert "not of wengert" in error


# -- passes


def test_passes_are_listed_and_their_options_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "--load", "mine.py", "--list-passes"]) == 0
    out = capsys.readouterr().out
    assert "rename: Changes sines to other functions.\n    to: one of cosine, tan (default cosine)\n" in out
    assert "strategy: one of transpose, direct, mine, wrong, broken, steps (default transpose)" in out
    assert main(["opt", "p.mlir", "--load=mine.py", "-p", "cse,rename{to=tangent}"]) == 2
    assert "<pipeline>:1:15: error: option 'to' of pass rename expects one of cosine, tan, found 'tangent'" in capsys.readouterr().err


def test_programs_after_pipelines(program: wg.Program) -> None:
    renamed = program.apply("rename,cse")
    assert "stablehlo.cosine" in str(renamed)
    np.testing.assert_allclose(renamed(X)[0], np.exp(np.cos(X)), rtol=1e-14)
    np.testing.assert_allclose(renamed.vjp()(X, np.ones(3))[1], -np.exp(np.cos(X)) * np.sin(X), rtol=1e-14)
    assert program.apply("rename,cse") is renamed
    assert program.apply("vjp{wrt=0},simplify,cse,dce").signature.arguments[1].shape == (3,)


def test_what_apply_leaves_is_what_runs(program: wg.Program) -> None:
    twice = PROGRAM.replace("stablehlo.exponential %0", "stablehlo.sine %x")
    twice = twice.replace("return %1", "%2 = stablehlo.add %0, %1 : tensor<3xf64>\n  return %2")
    p = wg.parse(twice)
    counts = [q.compile("interpreter") for q in (p.apply(""), p.apply("cse"))]
    for compiled, sines in zip(counts, (2, 1), strict=True):
        compiled(X)
        assert compiled.stats.ops["stablehlo.sine"] == sines
    assert str(p.apply("").optimized_module).count("stablehlo.sine") == 2
    assert str(p.optimized_module).count("stablehlo.sine") == 1


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_a_pipeline_in_place_of_the_optimisation(backend: str, program: wg.Program, tmp_path: Path) -> None:
    np.testing.assert_allclose(program.compile(backend, pipeline="rename,simplify")(X)[0], np.exp(np.cos(X)), rtol=1e-14)
    assert program.compile(backend, pipeline="rename,simplify") is program.compile(backend, pipeline="rename,simplify")
    np.testing.assert_allclose(program.compile(backend, pipeline="")(X)[0], np.exp(np.sin(X)), rtol=1e-14)
    np.testing.assert_allclose(program.compile(backend)(X)[0], np.exp(np.sin(X)), rtol=1e-14)
    with pytest.raises(wg.InputError, match=r"the pipeline changes the type of @main .* p\.apply"):
        program.compile(backend, pipeline="vjp")


def test_dumps_show_the_pipeline(program: wg.Program, tmp_path: Path) -> None:
    compiled = program.compile(pipeline="rename,cse", dump_dir=tmp_path / "d")
    np.testing.assert_allclose(compiled(X)[0], np.exp(np.cos(X)), rtol=1e-14)
    index = (tmp_path / "d" / "index.md").read_text()
    assert "`rename`" in index
    assert "`simplify`" not in index
    loads = f"--load {tmp_path / 'mine.py'}"
    assert all(loads in path.read_text() for path in (tmp_path / "d").glob("*.mlir")), "a dump says how to go on with it"


@pytest.mark.parametrize(
    ("text", "message"), [("emit-llvm", "'emit-llvm' writes text"), ("dxe", "unknown pass 'dxe'"), ("symbol-dce,rename{to=x}", "expects one of")]
)
def test_pipelines_that_cannot_be_applied(text: str, message: str, program: wg.Program) -> None:
    with pytest.raises((wg.InputError, wg.DiagnosticError), match=message):
        program.apply(text)


def test_a_pass_that_is_registered_again_replaces_the_old_one(program: wg.Program, folder: Path) -> None:
    assert "cosine" in str(program.apply("rename"))
    (folder / "mine.py").write_text(MINE.replace('= "cosine"\n', '= "tan"\n'))
    wg.load_plugin("mine.py")
    assert "stablehlo.tan" in str(program.apply("rename"))


# -- whose fault it is


def test_an_exception_of_a_pass_is_its_authors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "p.mlir", "--load", "mine.py", "-p", "cse,fails,dce"]) == 6
    error = capsys.readouterr().err
    assert error.startswith("error: pass 'fails' of mine.py raised KeyError: 'lost'\nin pass 'fails' (2 of 3)\nTraceback")
    assert error.count('mine.py", line') == 2, "the frames of the plug-in, and no other"
    assert "passes.py" not in error
    assert "This is a defect of the plug-in, not of wengert." in error
    assert "internal error" not in error
    (reproducer,) = (folder / "reproducers").iterdir()
    first = reproducer.read_text().splitlines()[0]
    assert first == f'// wengert-opt --load {folder / "mine.py"} -p "fails,dce" {reproducer}'
    command = first.removeprefix("// wengert-opt ").replace('"', "").split()
    assert main(["opt", *command]) == 6


def test_errors_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "p.mlir", "--load", "mine.py", "-p", "fails", "--diagnostics=json"]) == 6
    seen = json.loads(capsys.readouterr().err)
    assert seen["message"].startswith("pass 'fails' of mine.py raised KeyError")
    assert Path(seen["reproducer"]).is_file()


def test_invalid_ir_is_noticed_behind_the_pass_that_left_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "p.mlir", "--load", "mine.py", "-p", "spoils,cse"]) == 6
    error = capsys.readouterr().err
    assert error.startswith("error: pass 'spoils' of mine.py left invalid IR\nin pass 'spoils' (1 of 2)\np.mlir:3:")
    assert "stablehlo.sine, which is defined later" in error


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("broken", "strategy 'broken' of mine.py raised KeyError: 'lost'"),
        ("wrong", r"strategy 'wrong' of mine.py made a function of type .* where the VJP has the type"),
    ],
)
def test_a_strategy_that_fails_is_named(strategy: str, message: str, program: wg.Program) -> None:
    of = PROGRAM.replace("-> tensor<3xf64> {", "-> tensor<f64> {").replace(
        "return %1 : tensor<3xf64>", "%z = stablehlo.constant dense<0.0> : tensor<f64>\n  return %z : tensor<f64>"
    )
    with pytest.raises(wg.PluginError, match=message) as error:
        (wg.parse(of) if strategy == "wrong" else program).vjp(strategy=strategy)
    assert error.value.reproducer is not None


# -- what is undone is said


def test_recomputation_that_is_merged_back_is_said(program: wg.Program) -> None:
    text = PROGRAM.replace("return %1", "%2 = stablehlo.add %0, %1 : tensor<3xf64>\n  return %2")
    p = wg.parse(text)
    with pytest.warns(plugins.UndoneWarning, match="pass 'again' of mine.py has no effect: behind 'cse' the program is what it is without that pass"):
        p.apply("again,simplify,cse")
    with pytest.warns(plugins.UndoneWarning, match="pass .half. of .*test_plugins computes again .* 'cse' merged 1 op of that back"):
        _half_apart(text)
    kept = p.apply("again{apart=true},simplify,cse,dce")
    assert str(kept).count("stablehlo.sine") == 2
    assert kept.compile().stats.kernels >= 1
    np.testing.assert_allclose(kept(X)[0], np.sin(X) + np.exp(np.sin(X)), rtol=1e-14)


def _half_apart(text: str) -> wg.Program:
    """A program in which one of two repeated ops is merged back."""

    @wg.register
    class Half(wg.Pass):
        """Repeats the sine in front of a barrier and without one."""

        name = "half"

        def run(self, module: Any) -> None:
            for op in [op for op in module.walk() if op.name == "stablehlo.sine"]:
                uses = list(op.results[0].uses)
                for number, use in enumerate(uses):
                    new = op.clone()
                    if number:
                        new.operands = wg.keep_apart(op.operands, before=use.operation)
                    op.parent.insert_op_before(new, use.operation)
                    use.operation.operands[use.index] = new.results[0]

    return wg.parse(text).apply("half,cse")


def test_the_command_line_says_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "two.mlir").write_text(PROGRAM.replace("return %1", "%2 = stablehlo.add %0, %1 : tensor<3xf64>\n  return %2"))
    assert main(["opt", "two.mlir", "--load", "mine.py", "-p", "again,cse"]) == 0
    assert capsys.readouterr().err.startswith("warning: pass 'again' of mine.py has no effect: behind 'cse'")
    assert main(["opt", "two.mlir", "--load", "mine.py", "-p", "again{apart=true},cse"]) == 0
    assert capsys.readouterr().err == ""


# -- strategies and policies


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


# -- entry points


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


# -- rules


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
