"""Two processes: results equal to those of threads to the bit; what does not meet, or dies, ends all with a message in a bounded time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from spmd_programs import groups, one_op, reducer

import wengert as wg

pytest.importorskip("mpi4py")
MPIEXEC = Path(sys.executable).with_name("mpiexec")
pytestmark = pytest.mark.skipif(not MPIEXEC.exists(), reason="there is no mpiexec in this environment: pip install 'wengert[mpi]'")
ROOT = Path(__file__).parents[2]
WENGERT = (sys.executable, "-m", "wengert")


def two(*command: str, timeout: float = 30) -> subprocess.CompletedProcess[str]:
    """Runs a command on two processes."""
    env = {**os.environ, "WENGERT_MPI_TIMEOUT": str(timeout)}
    return subprocess.run([str(MPIEXEC), "-n", "2", *command], capture_output=True, text=True, timeout=300, check=False, env=env, cwd=ROOT)


def test_processes_and_threads_give_the_same_bits(tmp_path: Path) -> None:
    lines = [
        f'    %r = "stablehlo.all_reduce"(%x) <{{{groups([[1, 0]])}}}> {reducer("add")} : (tensor<700xf64>) -> tensor<700xf64>',
        f'    %s = "stablehlo.reduce_scatter"(%r) <{{scatter_dimension = 0 : i64, {groups([[0, 1]])}}}> {reducer("maximum")} : (tensor<700xf64>) -> tensor<350xf64>',
        '    %p = "stablehlo.collective_permute"(%s) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<350xf64>) -> tensor<350xf64>',
        f'    %g = "stablehlo.all_gather"(%p) <{{all_gather_dim = 0 : i64, {groups([[0], [1]])}}}> : (tensor<350xf64>) -> tensor<350xf64>',
        f'    %b = "stablehlo.collective_broadcast"(%g) <{{{groups([[1, 0]])}}}> : (tensor<350xf64>) -> tensor<350xf64>',
        "    %t = stablehlo.multiply %b, %p : tensor<350xf64>",
    ]
    text = "func.func public @main(%x: tensor<700xf64>) -> tensor<350xf64> {\n" + "\n".join(lines) + "\n    return %t : tensor<350xf64>\n}\n"
    (tmp_path / "vjp.mlir").write_text(str(wg.parse(text).vjp()))
    rng = np.random.default_rng(0)
    x, y_bar = rng.standard_normal((2, 700)), rng.standard_normal((2, 350))
    np.savez(tmp_path / "in.npz", in_0=x, in_1=y_bar)
    done = two(*WENGERT, "run", str(tmp_path / "vjp.mlir"), "--mpi", "--inputs", str(tmp_path / "in.npz"), "-o", str(tmp_path / "out.npz"))
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as made:
        for j, wanted in enumerate(wg.parse(text).vjp().distribute(2)(x, y_bar)):
            np.testing.assert_array_equal(made[f"out_{j}"], wanted)


def test_a_program_with_a_mesh_takes_whole_arrays(tmp_path: Path) -> None:
    whole = wg.spmd(wg.load("examples/data_parallel_loss.mlir"), {"x": 2}, in_specs=[None, "x", "x"], out_specs=[None])
    (tmp_path / "whole.mlir").write_text(whole.text())
    threads = subprocess.run([*WENGERT, "run", str(tmp_path / "whole.mlir"), "--devices", "2", "--random", "1", "--json"], capture_output=True, check=True)
    done = two(*WENGERT, "run", str(tmp_path / "whole.mlir"), "--mpi", "--random", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.encode() == threads.stdout


def test_the_network_is_calibrated(tmp_path: Path) -> None:
    done = two(*WENGERT, "calibrate", "--mpi", "--json", "--output", str(tmp_path / "network.json"))
    if done.returncode == 0:
        fitted = json.loads(done.stdout)
        assert fitted == json.loads((tmp_path / "network.json").read_text())
        assert min(fitted["alpha"], fitted["beta"], *fitted["seconds"].values()) > 0
    else:  # other work beside the tests hides what a byte costs
        assert "is to be seen in the times" in done.stderr
        assert not (tmp_path / "network.json").exists()
    alone = subprocess.run([*WENGERT, "calibrate", "--mpi"], capture_output=True, text=True, check=False)
    assert alone.returncode != 0
    assert "there is 1: mpiexec -n 2 wengert calibrate --mpi" in alone.stderr


SCRIPT = """
import sys
import numpy as np
from mpi4py import MPI
import wengert as wg
rank, what = MPI.COMM_WORLD.rank, sys.argv[2]
q = wg.load(sys.argv[1]).distribute(engine="mpi")
if what == "dies" and rank == 1:
    raise ValueError("rank 1 has had enough")
if what == "vanishes" and rank == 1:
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
q(np.ones(2), np.bool_(rank == 0))
print("done")
"""
BRANCH = f"""func.func public @main(%x: tensor<2xf64>, %c: tensor<i1>) -> tensor<2xf64> {{
  %y = "stablehlo.if"(%c) ({{
    stablehlo.return %x : tensor<2xf64>
  }}, {{
    %z = "stablehlo.all_reduce"(%x) <{{{groups([[0, 1]])}}}> {reducer("add")} : (tensor<2xf64>) -> tensor<2xf64>
    stablehlo.return %z : tensor<2xf64>
  }}) : (tensor<i1>) -> tensor<2xf64>
  return %y : tensor<2xf64>
}}
"""


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (
            "disagrees",
            ["devices of one group are at different collectives", "device 0: the end of the program", "device 1: all_reduce add of tensor<2xf64> at"],
        ),
        ("dies", ["rank 1 has had enough"]),
        ("vanishes", []),
    ],
)
def test_a_process_that_does_not_come_ends_all(what: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "branch.mlir").write_text(BRANCH)
    (tmp_path / "script.py").write_text(SCRIPT)
    before = time.monotonic()
    done = two(sys.executable, str(tmp_path / "script.py"), str(tmp_path / "branch.mlir"), what, timeout=60)
    assert done.returncode != 0
    assert time.monotonic() - before < 200
    assert "done" not in done.stdout or what == "disagrees"
    for word in words:
        assert word in done.stderr


def test_waiting_ends(tmp_path: Path) -> None:
    """Processes that wait in different groups cannot tell each other; the clock ends it."""
    (tmp_path / "script.py").write_text(
        "import numpy as np\nfrom mpi4py import MPI\nfrom wengert.dialects.stablehlo.process_groups import Grid\n"
        "from wengert.runtime.spmd.device import Call\nfrom wengert.runtime.spmd.mpi import MpiDevice\n"
        "d = MpiDevice(MPI.COMM_WORLD, Grid(2, 1))\n"
        "d.pass_on(np.ones(2), 1 - d.number, None, Call('collective_permute of tensor<2xf64>', 'f.mlir:2:3'))\n"
    )
    done = two(sys.executable, str(tmp_path / "script.py"), timeout=2)
    assert done.returncode != 0
    assert "has waited 2 s for device" in done.stderr
    assert "collective_permute of tensor<2xf64> at f.mlir:2:3" in done.stderr


def test_another_number_of_processes_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "four.mlir").write_text(one_op("all_reduce", groups([[0, 1, 2, 3]]), "2xf64", "2xf64", reducer("add")))
    done = two(*WENGERT, "run", str(tmp_path / "four.mlir"), "--mpi", "--random", "0")
    assert done.returncode != 0
    assert "needs 4 devices, not 2" in done.stderr
