"""Runs with checkpoints: whatever ends them, they go on to the same bits, on one device, on threads and on MPI processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.lab.cli.main import main
from wengert.runtime.errors import InputError
from wengert.runtime.resumable import run as running
from wengert.runtime.resumable.checkpoint import Checkpoint, read, write
from wengert.runtime.resumable.devices import OneDevice
from wengert.runtime.resumable.run import ResumableRun
from wengert.transforms.core.loop_segments import LoopSegment, cut_at_loops

# A counted loop, what is between, a loop with a condition that no one counts, and values that are used across both.
TWO_LOOPS = """
func.func public @main(%x: tensor<4xf64>, %n: tensor<i32>) -> (tensor<4xf64>, tensor<f64>, tensor<bf16>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
  %early = stablehlo.cosine %x : tensor<4xf64>
  %r:4 = stablehlo.while(%i = %zero, %y = %x, %m = %n, %b = %half) : tensor<i32>, tensor<4xf64>, tensor<i32>, tensor<bf16>
    cond { %p = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1> }
    do { %s = stablehlo.sine %y : tensor<4xf64>
      %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f64>
      %g = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f64>) -> tensor<4xf64>
      %h = stablehlo.add %g, %x : tensor<4xf64>
      %t = stablehlo.add %s, %h : tensor<4xf64>
      %j = stablehlo.add %i, %one : tensor<i32>
      %c = stablehlo.negate %b : tensor<bf16>
      stablehlo.return %j, %t, %m, %c : tensor<i32>, tensor<4xf64>, tensor<i32>, tensor<bf16> }
  %e = stablehlo.tanh %r#1 : tensor<4xf64>
  %start = stablehlo.constant dense<1.000000e+03> : tensor<f64>
  %limit = stablehlo.constant dense<1.100000e+00> : tensor<f64>
  %w = stablehlo.while(%v = %start) : tensor<f64>
    cond { %q = stablehlo.compare GT, %v, %limit : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %q : tensor<i1> }
    do { %u = stablehlo.sqrt %v : tensor<f64>
      stablehlo.return %u : tensor<f64> }
  %k = stablehlo.multiply %e, %early : tensor<4xf64>
  return %k, %w, %r#3 : tensor<4xf64>, tensor<f64>, tensor<bf16>
}
"""
X = np.array([0.1, 0.2, 0.3, 0.4])


class _StopError(Exception):
    pass


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every iteration is one at a time, at first."""
    monkeypatch.setattr(running, "_AT_A_TIME", 1e-6)


def same(a: Sequence[Any], b: Sequence[Any]) -> None:
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert x.dtype == y.dtype
        assert x.tobytes() == y.tobytes()


def resumed(program: wg.Program, inputs: list[Any], path: Path, backend: str, stop: int) -> list[Any]:
    """The results of a run that stops after so many checkpoints and goes on, as often as it takes."""
    checkpoint: Checkpoint | None = None
    for _ in range(200):
        left = stop

        def told(segment: int, iteration: int) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise _StopError

        run = ResumableRun(program, OneDevice(backend), str(path), 0.0, {}, told)
        try:
            return run.run([inputs], checkpoint)[0]
        except _StopError:
            checkpoint = read(str(path))
    raise AssertionError("it never ends")


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
@pytest.mark.parametrize("n", [0, 1, 9])
def test_loops_go_on_to_the_same_bits(backend: str, n: int, tmp_path: Path) -> None:
    program = wg.parse(TWO_LOOPS)
    inputs = [X, np.int32(n)]
    assert cut_at_loops(program.optimized_module).loops == 2
    same(resumed(program, [np.asarray(x) for x in inputs], tmp_path / "c", backend, 3), program.compile(backend)(*inputs))


def test_derivatives_of_counted_loops_go_on(tmp_path: Path) -> None:
    text = TWO_LOOPS.replace("%m = %n", "%m = %seven").replace("  %half =", "  %seven = stablehlo.constant dense<7> : tensor<i32>\n  %half =")
    program = wg.parse(str(wg.parse(text).vjp(wrt=0, of=0)))
    inputs = [X, np.asarray(np.int32(0)), np.ones(4)]
    segments = cut_at_loops(program.optimized_module).segments
    assert sum(isinstance(segment, LoopSegment) for segment in segments) >= 2  # the forward loop, the reverse loop
    same(resumed(program, inputs, tmp_path / "c", "cpu", 2), program.compile()(*inputs))


def test_a_loop_with_a_tape_stays_whole(tmp_path: Path) -> None:
    program = wg.parse(TWO_LOOPS).vjp(wrt=0, of=0)  # the number of iterations is an argument: what is kept is on a tape
    assert cut_at_loops(program.optimized_module).loops == 0  # the tape is there until the end, also while the second loop runs
    inputs = [X, np.asarray(np.int32(5)), np.ones(4)]
    same(resumed(program, inputs, tmp_path / "c", "cpu", 1), program.compile()(*inputs))


# -- the file


def test_a_file_says_all_of_it(tmp_path: Path) -> None:
    import ml_dtypes

    path = str(tmp_path / "c")
    values = [{3: np.arange(6.0).reshape(2, 3), 5: np.array(1.5, ml_dtypes.bfloat16), 9: np.zeros((0, 2), np.int8)}, {3: np.array([True])}]
    write(Checkpoint({"program": "p"}, 2, 7, values), path)
    back = read(path)
    assert (back.about, back.segment, back.iteration) == ({"program": "p"}, 2, 7)
    for wanted, restored in zip(values, back.values, strict=True):
        assert wanted.keys() == restored.keys()
        for number, array in wanted.items():
            assert (restored[number].dtype, restored[number].shape, restored[number].tobytes()) == (array.dtype, array.shape, array.tobytes())
    data = bytearray(Path(path).read_bytes())
    data[-40] ^= 1
    Path(path).write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        read(path)
    Path(path).write_text("something else")
    with pytest.raises(InputError, match="no checkpoint"):
        read(path)


def test_what_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "c"
    write(Checkpoint({}, 0, 1, [{}]), str(path))
    (tmp_path / "c.new").mkdir()
    with pytest.raises(OSError, match=r"c\.new"):
        write(Checkpoint({}, 0, 2, [{}]), str(path))
    assert read(str(path)).iteration == 1


# -- the command

LONG = """
func.func public @main(%x: tensor<4xf64>, %n: tensor<i32>) -> tensor<4xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %y = %x, %m = %n) : tensor<i32>, tensor<4xf64>, tensor<i32>
    cond { %p = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1> }
    do { %s = stablehlo.sine %y : tensor<4xf64>
      BODY
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %t, %m : tensor<i32>, tensor<4xf64>, tensor<i32> }
  return %r#1 : tensor<4xf64>
}
"""
ALONE = LONG.replace("BODY", "%t = stablehlo.add %s, %x : tensor<4xf64>")
TOGETHER = LONG.replace(
    "BODY",
    """%t = "stablehlo.all_reduce"(%s) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        %c = stablehlo.add %a, %b : tensor<f64>
        stablehlo.return %c : tensor<f64>
      }) : (tensor<4xf64>) -> tensor<4xf64>""",
)
MPIEXEC = Path(sys.executable).with_name("mpiexec")
COMMAND = (sys.executable, "-m", "wengert", "run", "p.mlir", "--inputs", "in.npz", "--json")


def command(folder: Path, *words: str, launcher: Sequence[str] = ()) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "WENGERT_MPI_TIMEOUT": "60"}
    words = (*launcher, *COMMAND, *words)
    return subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def finished(process: subprocess.Popen[str]) -> tuple[Any, str]:
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return json.loads(out), err


def killed_at_a_checkpoint(process: subprocess.Popen[str], path: Path, by: signal.Signals) -> None:
    until = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.005)
    os.killpg(process.pid, by)
    process.communicate()
    assert process.returncode != 0
    assert path.exists()


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_goes_on(by: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "p.mlir").write_text(ALONE)
    np.savez(tmp_path / "in.npz", in_0=X, in_1=np.int32(8_000_000))
    plain, _ = finished(command(tmp_path))
    words = ("--checkpoint", "run.ckpt", "--checkpoint-every", "10ms")
    killed_at_a_checkpoint(command(tmp_path, *words), tmp_path / "run.ckpt", by)
    assert read(str(tmp_path / "run.ckpt")).iteration > 0
    again, err = finished(command(tmp_path, *words, "--resume"))
    assert "goes on from run.ckpt: iteration" in err
    assert again == plain
    assert not (tmp_path / "run.ckpt").exists()


def test_devices_go_on_where_they_were(tmp_path: Path) -> None:
    """On threads, and on MPI processes, of a checkpoint of either."""
    (tmp_path / "p.mlir").write_text(TOGETHER)
    np.savez(tmp_path / "in.npz", in_0=np.stack([X, 2 * X]), in_1=np.int32([6000, 6000]))
    plain, _ = finished(command(tmp_path, "--devices", "2"))
    words = ("--checkpoint", "run.ckpt", "--checkpoint-every", "1ms")
    killed_at_a_checkpoint(command(tmp_path, "--devices", "2", *words), tmp_path / "run.ckpt", signal.SIGKILL)
    again, _ = finished(command(tmp_path, "--devices", "2", *words, "--resume"))
    assert again == plain
    pytest.importorskip("mpi4py")
    if not MPIEXEC.exists():
        pytest.skip("there is no mpiexec in this environment: pip install 'wengert[mpi]'")
    two = (str(MPIEXEC), "-n", "2")
    killed_at_a_checkpoint(command(tmp_path, "--mpi", *words, launcher=two), tmp_path / "run.ckpt", signal.SIGKILL)
    data = (tmp_path / "run.ckpt").read_bytes()
    again, err = finished(command(tmp_path, "--mpi", *words, "--resume", launcher=two))
    assert again == plain
    assert err.count("goes on from") == 1
    (tmp_path / "run.ckpt").write_bytes(data)
    again, _ = finished(command(tmp_path, "--devices", "2", *words, "--resume"))
    assert again == plain


def test_what_is_asked_wrongly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.mlir").write_text(ALONE)
    np.savez("a.npz", in_0=X, in_1=np.int32(9))
    np.savez("b.npz", in_0=X, in_1=np.int32(8))

    def error(*words: str) -> str:
        assert main(["run", "p.mlir", *words]) != 0
        return capsys.readouterr().err

    assert "--checkpoint FILE" in error("--random", "0", "--resume")
    assert "expected a time" in error("--inputs", "a.npz", "--checkpoint", "c", "--checkpoint-every", "soon")
    assert "leave --checkpoint out" in error("--inputs", "a.npz", "--checkpoint", "c", "--stats")
    program = wg.load("p.mlir")
    from wengert.lab.cli.resuming import _about
    from wengert.lab.inputs import read_inputs

    write(Checkpoint(_about(program, read_inputs("a.npz", program.signature), "cpu", 1), 0, 0, [{}]), "c")
    assert "--resume goes on from it" in error("--inputs", "a.npz", "--checkpoint", "c")
    assert "other inputs" in error("--inputs", "b.npz", "--checkpoint", "c", "--resume")
    assert "another backend" in error("--inputs", "a.npz", "--checkpoint", "c", "--resume", "--backend", "interpreter")
    assert "another number of devices" in error("--random", "0", "--checkpoint", "c", "--resume", "--devices", "2")
    assert Path("c").exists()
