"""The command line in-process: what each command writes where, and its exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.ir import plugins
from wengert.ir.installation import command
from wengert.lab.cli.highlight import highlight
from wengert.lab.cli.main import COMMANDS, main

TEXT = """func.func public @main(%x: tensor<3xf64>, %n: tensor<i32>) -> (tensor<3xf64>, tensor<i32>) {
  %0 = stablehlo.sine %x : tensor<3xf64>
  return %0, %n : tensor<3xf64>, tensor<i32>
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "p.mlir"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture
def inputs(tmp_path: Path) -> str:
    path = tmp_path / "x.npz"
    np.savez(path, in_0=np.array([0.1, 0.2, 0.3]), in_1=np.int32(4))
    return str(path)


def test_overview(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in COMMANDS)
    assert main([]) == 2
    assert main(["--version"]) == 0
    assert wg.__version__ in capsys.readouterr().out


def test_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chekc"]) == 2
    assert "there is no command 'chekc'; did you mean 'check'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert "--diagnostics" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "p.mlir", "--inputs"], ["vjp", "p.mlir", "--wrt", "a"], ["run", "p.mlir", "--spede"], ["check", "p.mlir", "--tests", "dots"]]
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "usage: wengert" in capsys.readouterr().err


def test_run_writes_an_npz(program: str, inputs: str, tmp_path: Path) -> None:
    for backend in ("cpu", "interpreter"):
        out = tmp_path / f"{backend}.npz"
        assert main(["run", program, "--inputs", inputs, "-o", str(out), "--backend", backend]) == 0
        with np.load(out) as archive:
            np.testing.assert_allclose(archive["out_0"], np.sin([0.1, 0.2, 0.3]), rtol=1e-15)
            assert archive["out_1"] == 4


def test_run_prints(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", program, "--random", "3", "--stats"]) == 0
    captured = capsys.readouterr()
    assert "result 0: float64[3]" in captured.out
    assert isinstance(json.loads(captured.err), dict)


@pytest.mark.parametrize("keys", [("arg0", "arg1"), ("arr_0", "arr_1"), ("in_0", "in_1"), ("arg_0", "arg_1")])
def test_keys_of_inputs(program: str, tmp_path: Path, keys: tuple[str, str]) -> None:
    path = tmp_path / "k.npz"
    np.savez(path, **{keys[0]: np.zeros(3), keys[1]: np.int32(1)})
    assert main(["run", program, "--inputs", str(path), "-o", str(tmp_path / "o.npz")]) == 0


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_derivatives_are_written(program: str, mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "d.mlir"
    assert main([mode, program, "--wrt", "0", "--of", "0", "-o", str(out)]) == 0
    derivative = wg.load(out)
    assert [p.shape for p in derivative.signature.arguments] == [(3,), (), (3,)]
    assert main([mode, program]) == 0
    assert capsys.readouterr().out.rstrip("\n") == out.read_text().rstrip("\n")


def test_dumps(program: str, tmp_path: Path) -> None:
    assert main(["vjp", program, "-o", os.devnull, "--dump-dir", str(tmp_path / "d")]) == 0
    assert (tmp_path / "d" / "index.md").is_file()


def test_check(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", program, "--seed", "5"]) == 0
    out = capsys.readouterr().out
    assert "seed 5" in out
    assert "argument 1" in out
    assert "skipped" in out
    assert main(["check", program, "--json", "--second-order"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is True
    assert [f["test"] for f in report["arguments"][0]["findings"]] == ["values", "differences", "dot product", "second order"]


def test_costs(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["costs", program]) == 0
    assert "A tie: 3 JVPs and 3 VJPs" in capsys.readouterr().out
    assert main(["costs", program, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["primal"]["ops"] == {"stablehlo.sine": 1}


def test_opt_is_wengert_opt(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", program, "-p", "cse"]) == 0
    assert "stablehlo.sine" in capsys.readouterr().out
    assert main(["opt", "--nonsense"]) == 2


BAD_TEXTS = {
    "truncated": TEXT[: TEXT.index("return")],
    "cut in a type": TEXT[: TEXT.index("xf64>, %n")],
    "unknown op": TEXT.replace("stablehlo.sine", "stablehlo.sinus"),
    "unknown dialect": TEXT.replace("stablehlo.sine", "nonsense.sine"),
    "wrong type": TEXT.replace("sine %x : tensor<3xf64>", "sine %x : tensor<4xf64>"),
    "undefined value": TEXT.replace("sine %x", "sine %y"),
    "wrong return": TEXT.replace("return %0, %n : tensor<3xf64>, tensor<i32>", "return %0 : tensor<3xf64>"),
    "dominance": TEXT.replace("  %0 = stablehlo.sine %x", "  %1 = stablehlo.add %0, %0 : tensor<3xf64>\n  %0 = stablehlo.sine %x"),
    "redefinition": TEXT.replace("  return", "  %0 = stablehlo.cosine %x : tensor<3xf64>\n  return"),
    "two blocks": f"module {{\n{TEXT}\n^bb0:\n}}",
    "no text at all": "?",
    "binary": "func.func \x00\x01",
}


@pytest.mark.parametrize("name", BAD_TEXTS)
@pytest.mark.parametrize("command", ["run", "vjp", "check", "costs"])
def test_bad_programs_get_a_place_and_no_traceback(name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(BAD_TEXTS[name])
    assert main([command, str(path)]) == 1
    err = capsys.readouterr().err
    assert f"{path}:" in err
    line, column = err[err.index(str(path)) + len(str(path)) + 1 :].split(":")[:2]
    assert int(line) >= 1
    assert int(column) >= 1
    assert "Traceback" not in err


def test_diagnostics_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(BAD_TEXTS["undefined value"])
    assert main(["run", str(path), "--diagnostics=json"]) == 1
    diagnostic = json.loads(capsys.readouterr().err.splitlines()[0])
    assert (diagnostic["severity"], diagnostic["line"]) == ("error", 2)
    assert "%y" in diagnostic["message"]


BAD_INPUTS: dict[str, dict[str, Any]] = {
    "missing": {"in_0": np.zeros(3)},
    "shape": {"in_0": np.zeros(4), "in_1": np.int32(1)},
    "dtype": {"in_0": np.zeros(3, np.float32), "in_1": np.int32(1)},
    "object": {"in_0": np.array([None, 1, 2]), "in_1": np.int32(1)},
}


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_bad_inputs(name: str, program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, **BAD_INPUTS[name])
    assert main(["run", program, "--inputs", str(path)]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert "Traceback" not in err


def test_files_that_are_not_there(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tmp_path / "none.mlir")]) == 1
    assert "none.mlir: No such file or directory" in capsys.readouterr().err
    assert main(["run", program, "--inputs", str(tmp_path / "none.npz")]) == 1
    assert "cannot read inputs" in capsys.readouterr().err
    (tmp_path / "text.npz").write_text("no arrays")
    assert main(["run", program, "--inputs", str(tmp_path / "text.npz")]) == 1
    assert main(["vjp", program, "-o", str(tmp_path / "no" / "such" / "folder.mlir")]) == 1
    assert main(["run", program, "--entry", "mian"]) == 1
    assert "did you mean 'main'?" in capsys.readouterr().err


def test_a_defect_leaves_a_reproducer(program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr("wengert.runtime.program.Program.vjp", broken)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["vjp", program]) == 70
    err = capsys.readouterr().err
    assert "internal error: KeyError: 'a defect'" in err
    path = Path(err.rsplit(" in ", 1)[1].strip())
    text = path.read_text()
    assert "command: wengert vjp" in text
    assert "stablehlo.sine" in text


def test_more_memory_than_there_is_is_no_defect_of_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Inputs that cannot be drawn, and a result that cannot be made: 8 EB and more."""
    text = "func.func @main({arguments}) -> tensor<{n}xf64> {{ {op} return %0 : tensor<{n}xf64> }}"
    n = 2**60
    log = f"%0 = stablehlo.log %x : tensor<{n}xf64>\n"
    made = f"%0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f64>) -> tensor<{n}xf64>\n"
    for arguments, op in ((f"%x: tensor<{n}xf64>", log), ("%x: tensor<f64>", made)):
        program = tmp_path / "large.mlir"
        program.write_text(text.format(arguments=arguments, n=n, op=op))
        for backend in ("cpu", "interpreter"):
            assert main(["run", str(program), "--backend", backend]) == 1, op
            assert "memory" in capsys.readouterr().err


def run_process(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "wengert", *arguments], input=text, capture_output=True, text=True, check=False)


def test_as_a_process() -> None:
    done = run_process("vjp", "-", text=TEXT)
    assert done.returncode == 0
    assert "stablehlo.cosine" in done.stdout
    done = run_process("vjp", "-", text=TEXT[:60])
    assert done.returncode == 1
    assert done.stderr.startswith("<stdin>:")
    assert done.stdout == ""


def test_a_reader_that_goes_away_is_no_error(program: str) -> None:
    done = subprocess.run(f"{sys.executable} -m wengert vjp {program} | true", shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_cache(tmp_path: Path, program: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "objects"))
    monkeypatch.setattr(plugins, "_REGISTERING", set())
    assert main(["run", program, "--random", "1"]) == 0
    capsys.readouterr()
    assert main(["cache", "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    assert before["objects"] >= 1
    assert 0 < before["bytes"] < before["limit_bytes"]
    assert main(["cache", "--clear"]) == 0
    assert before["records"] == 2, "the signature and what runs it"
    assert f"removed {before['objects'] + before['records']} entries" in capsys.readouterr().out
    assert main(["cache"]) == 0
    assert "0 objects, 0 records of programs" in capsys.readouterr().out
    monkeypatch.setenv("WENGERT_CACHE", "off")
    assert main(["cache"]) == 0
    assert "off" in capsys.readouterr().out


def test_results_as_json(program: str, inputs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", program, "--inputs", inputs, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["dtype"], first["shape"], second["values"]) == ("float64", [3], 4)
    np.testing.assert_allclose(first["values"], np.sin([0.1, 0.2, 0.3]), rtol=1e-15)


@pytest.mark.parametrize("arguments", [["devices"], ["ops", "sine"], ["opt", "--list-passes"]])
def test_lists_as_json(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert all(isinstance(entry, dict) for entry in entries)
    assert {"devices": "backend", "ops": "op", "opt": "options"}[arguments[0]] in entries[0]


def test_colours_are_for_terminals(program: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert main(["vjp", program]) == 0
    plain_text = capsys.readouterr().out
    assert "\x1b" not in plain_text
    for arguments in (["vjp", program], ["opt", program, "-p", "vjp,cse"]):
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert main(arguments) == 0
        assert "\x1b[1mstablehlo.cosine\x1b[0m \x1b[36m%arg0\x1b[0m : \x1b[33mtensor<3xf64>\x1b[0m" in capsys.readouterr().out
        monkeypatch.setenv("NO_COLOR", "1")
        assert main(arguments) == 0
        assert "\x1b" not in capsys.readouterr().out
        monkeypatch.delenv("NO_COLOR")


def test_colours_add_nothing_but_colours(program: str) -> None:
    text = str(wg.load(program).vjp())
    coloured = highlight(text)
    assert re.sub(r"\x1b\[\d*m", "", coloured) == text
    assert coloured.count("\x1b[0m") * 2 == coloured.count("\x1b")


def test_mistakes_are_shown_at_their_place(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {
        "--wrt a": "argument --wrt: expected integers separated by commas, found 'a'",
        "--seed=x": "argument --seed: invalid int value: 'x'",
        "--sead 3": "unrecognized arguments: --sead 3",
        "--strategy direkt": "--strategy: there is no 'direkt'; strategy: transpose, direct",
    }
    for words, message in wrong.items():
        assert main(["check", "p.mlir", *words.split()]) == 2
        error = capsys.readouterr().err.splitlines()
        line, caret = error[1][2:], error[2].index("^") - 2
        assert error[0].endswith(f"error: {message}"), error[0]
        assert line == f"wengert check p.mlir {words}"
        assert error[0].split(":")[2] == str(caret + 1)
        assert line[caret:].split()[0] in (words.split()[-1], words.split()[0])
    assert main(["check", "p.mlir", "--strategy", "direkt", "--diagnostics=json"]) == 2
    seen = json.loads(capsys.readouterr().err)
    assert (seen["file"], seen["column"], seen["hint"]) == ("<command line>", 33, "did you mean 'direct'?")


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
@pytest.mark.parametrize("name", ["wengert", "wengert-opt"])
def test_completion(shell: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell, "--program", name]) == 0
    script = capsys.readouterr().out
    assert "--load" in script
    assert ("conformance" in script) == (name == "wengert")
    if shell == "bash":
        asked = "COMP_WORDS=(wengert check --str); COMP_CWORD=2" if name == "wengert" else "COMP_WORDS=(wengert-opt --list); COMP_CWORD=1"
        function = f"_shtab_{name.replace('-', '_')}"
        done = subprocess.run(["bash", "-c", f'{script}\n{asked}; {function}; echo "${{COMPREPLY[@]}}"'], capture_output=True, text=True, check=True)
        assert done.stdout.split() == (["--strategy"] if name == "wengert" else ["--list-passes"])


def test_hints_name_packages() -> None:
    """An index may not have this package, and has what its extras name."""
    assert command("draw").startswith("pip install 'grandalf")
    assert all(name in command("opencl-cpu") for name in ("pyopencl", "intel-opencl-rt"))
    assert command("no such extra") == "pip install 'wengert[no such extra]'"
