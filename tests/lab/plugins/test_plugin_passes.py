"""Passes from outside of the package: loaded, listed with their options, applied."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support.programs.plugin_files import MINE, PROGRAM, X

import wengert as wg
from wengert.ir.pipeline.passes import PASSES
from wengert.lab.cli.main import main


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
