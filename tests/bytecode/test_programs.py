"""Programs as files of bytes: loaded, saved, and taken by commands."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.dialects.bytecode.files import write_module
from wengert.ir.parsing.parser import parse_module
from wengert.lab.cli import main as cli
from wengert.lab.opt import main as opt

TEXT = """func.func @main(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.multiply %arg0, %arg1 : tensor<3xf64>
  %1 = chlo.square %0 : tensor<3xf64> -> tensor<3xf64>
  %2 = stablehlo.sine %1 : tensor<3xf64>
  return %2 : tensor<3xf64>
}
"""


@pytest.fixture
def program() -> wg.Program:
    return wg.parse(TEXT, "p.mlir")


@pytest.mark.parametrize("options", [{}, {"version": 0}, {"portable": "0.9.0"}, {"portable": "1.9.0"}, {"portable": "current"}])
def test_a_program_and_its_derivative_come_back(program: wg.Program, options: dict[str, str]) -> None:
    x, y, bar = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0]), np.ones(3)
    again = wg.parse(program.to_bytes(**options))  # pyright: ignore[reportArgumentType]
    np.testing.assert_array_equal(again(x, y)[0], program(x, y)[0])
    derivative = program.vjp()
    restored = wg.parse(derivative.to_bytes(**options))  # pyright: ignore[reportArgumentType]
    for a, b in zip(restored(x, y, bar), derivative(x, y, bar), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.vjp()(x, y, bar)[1].tolist() == derivative(x, y, bar)[1].tolist()


def test_files(program: wg.Program, tmp_path: Path) -> None:
    program.save(tmp_path / "p.mlirbc")
    program.save(tmp_path / "p.bin", portable="1.0.0")
    assert (tmp_path / "p.mlirbc").read_bytes().startswith(b"ML\xefR\x0dwengert\0")
    assert (tmp_path / "p.bin").read_bytes().startswith(b"ML\xefR\x0dStableHLO_v1.0.0\0")
    assert str(wg.load(tmp_path / "p.mlirbc")) == str(program)
    assert "stablehlo.multiply %0, %0" in str(wg.load(tmp_path / "p.bin"))
    assert "p.mlir" in wg.load(tmp_path / "p.mlirbc").text(locations=True)
    program.save(tmp_path / "p.mlirbc", locations=False)
    assert "p.mlir" not in wg.load(tmp_path / "p.mlirbc").text(locations=True)
    program.save(tmp_path / "p.mlir")
    assert (tmp_path / "p.mlir").read_text() == program.text()
    assert str(wg.parse(TEXT.encode())) == str(program)


def test_what_is_no_version(program: wg.Program) -> None:
    with pytest.raises(ValueError, match="0 to 6, not 7"):
        program.to_bytes(version=7)
    with pytest.raises(ValueError, match="follows from the target"):
        program.to_bytes(version=4, portable="1.0.0")
    with pytest.raises(wg.InputError, match=r"'1\.0' is not a version of StableHLO"):
        program.to_bytes(portable="1.0")
    with pytest.raises(wg.InputError, match=r"version 99\.0\.0 of StableHLO is not known; there are those from 0\.9\.0 to"):
        program.to_bytes(portable="99.0.0")


def test_bytes_of_jax() -> None:
    jax = pytest.importorskip("jax")
    from jax import export

    def f(x):  # pyright: ignore
        return (jax.scipy.special.erf(x) * jax.numpy.tanh(x)).sum()

    exported = export.export(jax.jit(f))(jax.ShapeDtypeStruct((3,), np.float32))
    program = wg.parse(exported.mlir_module_serialized)
    x = np.array([0.1, -0.5, 2.0], np.float32)
    np.testing.assert_allclose(program(x)[0], exported.call(x), rtol=1e-6)
    np.testing.assert_allclose(program.vjp()(x, np.float32(1))[1], jax.grad(f)(x), rtol=1e-5)


# -- commands


def test_opt_writes_and_reads_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "p.mlir"
    source.write_text(TEXT)
    for name, options in (("a", ["--emit-bytecode"]), ("b", ["--emit-bytecode", "--emit-bytecode-version=3"]), ("c", ["--serialize", "--target=1.0.0"])):
        file = tmp_path / f"{name}.mlirbc"
        assert opt([str(source), *options, "-o", str(file)]) == 0
        assert opt([str(file), "-p", "vjp{wrt=0}"]) == 0 if name == "c" else opt([str(file)]) == 0
    shown = capsys.readouterr().out
    assert "chlo.square" in shown
    assert "stablehlo.cosine" in shown


def test_opt_shows_vhlo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "p.mlir"
    source.write_text(TEXT)
    assert opt([str(source), "-p", "chlo-to-stablehlo,stablehlo-to-vhlo{target=1.9.0}"]) == 0
    shown = capsys.readouterr().out
    assert '"vhlo.sine_v1"(%1) : (!vhlo.tensor_v1<3x!vhlo.f64_v1>) -> !vhlo.tensor_v1<3x!vhlo.f64_v1>' in shown
    assert 'sym_name = #vhlo.string_v1<"main">' in shown
    assert opt([str(source), "-p", "chlo-to-stablehlo,stablehlo-to-vhlo,vhlo-to-stablehlo"]) == 0
    assert "stablehlo.sine %1 : tensor<3xf64>" in capsys.readouterr().out


def test_options_that_do_not_belong_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "p.mlir"
    source.write_text(TEXT)
    for options, said in (
        (["--target=1.0.0"], "--target belongs to --serialize"),
        (["--emit-bytecode-version=3"], "--emit-bytecode-version belongs to --emit-bytecode"),
        (["--emit-bytecode", "--split-input-file"], "writes one program"),
        (["--serialize", "--emit-bytecode"], "--emit-bytecode"),
    ):
        assert opt([str(source), *options, "-o", str(tmp_path / "o")]) == 2
        assert said in capsys.readouterr().err
    assert opt([str(source), "--serialize", "--target=5.0.0", "-o", str(tmp_path / "o")]) == 2
    assert "version 5.0.0 of StableHLO is not known" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "costs", "check"])
def test_commands_take_bytes(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.mlirbc"
    file.write_bytes(wg.parse(TEXT).to_bytes(portable="1.0.0"))
    options = ["--random", "1"] if command in ("run", "check") else []
    assert cli.main([command, str(file), *options]) == 0
    assert capsys.readouterr().out


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Stream(io.TextIOWrapper):
        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Stream(io.BytesIO(write_module(parse_module(TEXT)))))
    assert opt(["-"]) == 0
    assert "stablehlo.sine" in capsys.readouterr().out
