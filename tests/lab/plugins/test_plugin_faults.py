"""Plug-ins that do something wrong, or whose work is undone: who is blamed, and what is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.programs.plugin_files import PROGRAM, X

import wengert as wg
from wengert.ir import plugins
from wengert.lab.cli.main import main


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


def test_recomputation_that_is_merged_back_is_said(program: wg.Program) -> None:
    text = PROGRAM.replace("return %1", "%2 = stablehlo.add %0, %1 : tensor<3xf64>\n  return %2")
    p = wg.parse(text)
    with pytest.warns(plugins.UndoneWarning, match="pass 'again' of mine.py has no effect: behind 'cse' the program is what it is without that pass"):
        p.apply("again,simplify,cse")
    with pytest.warns(plugins.UndoneWarning, match="pass .half. of .*test_plugin_faults computes again .* 'cse' merged 1 op of that back"):
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
