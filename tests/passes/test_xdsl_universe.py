"""Stock ``xdsl-opt`` finds our dialects and passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.universe import Universe

from wengert.lab.opt import main
from wengert.lab.universe import DIALECTS, UNIVERSE
from wengert.transforms.pipelines import PASS_PATHS

EXAMPLE = Path(__file__).parents[2] / "examples" / "scalar.mlir"


def xdsl_opt(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("xdsl-opt")
    return subprocess.run([command, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def generic(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("xdsl") / "generic.mlir"
    assert main([str(EXAMPLE), "--print-generic", "-o", str(path)]) == 0
    return str(path)


def test_names_are_free_in_xdsl() -> None:
    """A clash would break xdsl-opt for everyone who has both installed."""
    universe = Universe.get_multiverse()
    assert set(UNIVERSE.all_passes) <= set(universe.all_passes)
    assert {name.removeprefix("wengert-") for name in UNIVERSE.all_passes} == set(PASS_PATHS)


@pytest.mark.parametrize("name", DIALECTS)
def test_dialects_load(name: str) -> None:
    assert UNIVERSE.all_dialects[name]().name == name


@pytest.mark.parametrize("name", UNIVERSE.all_passes)
def test_passes_load_under_the_name_that_xdsl_knows(name: str) -> None:
    cls = UNIVERSE.all_passes[name]()
    assert cls.name == name
    assert str(cls()) == name


@pytest.mark.parametrize("passes", ["simplify", "wengert-cse,wengert-dce", "vjp{wrt=0},simplify"])
@pytest.mark.parametrize("form", ["generic", "pretty"])
def test_stock_xdsl_opt_runs_our_passes(generic: str, form: str, passes: str) -> None:
    done = xdsl_opt("--allow-unregistered-dialect", "-p", passes, generic if form == "generic" else str(EXAMPLE))
    assert done.returncode == 0, done.stderr
    assert "stablehlo.sine" in done.stdout
    assert ("stablehlo.cosine" in done.stdout) == ("vjp" in passes)


UNKNOWN_OP = """func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %1 = "stablehlo.sine"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %2 = "foo.bar"(%1) : (tensor<3xf64>) -> tensor<3xf64>
  func.return %2 : tensor<3xf64>
}
"""


def test_errors_have_places_and_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "unknown.mlir"
    path.write_text(UNKNOWN_OP)
    done = xdsl_opt("--allow-unregistered-dialect", "-p", "simplify,vjp{wrt=0}", str(path))
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"{path}:3:3: error: foo.bar has no derivative rule",
        f"{path}:3:3: note: in pass 'vjp{{wrt=0}}' (1 of 1)",
    ]
    done = xdsl_opt("--allow-unregistered-dialect", "-p", "vjp{wrt=0}", "--verify-diagnostics", str(path))
    assert done.returncode == 0, "an exception of xDSL's, which it catches"
    assert f"{path}:3:3: error: foo.bar has no derivative rule" in done.stdout


def test_options_that_are_wrong() -> None:
    done = xdsl_opt("-p", "vjp{wrtt=0}", str(EXAMPLE))
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["<command line>: error: pass 'vjp' has no option 'wrtt'", "hint: did you mean 'wrt'?"]


def test_mistakes_in_the_text_of_our_ops(tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text("func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {\n  %1 = stablehlo.sine %x tensor<3xf64>\n  func.return %1 : tensor<3xf64>\n}\n")
    done = xdsl_opt(str(path))
    assert done.returncode == 1
    assert done.stderr.startswith(f"{path}:2:26: error: ")
    assert "  %1 = stablehlo.sine %x tensor<3xf64>\n" in done.stderr
    assert "Traceback" not in done.stderr
