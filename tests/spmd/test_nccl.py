"""The engine of GPUs: with stand-ins for NCCL and CUDA on two processes, what the package's API is, and on GPUs where there are some."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from device_backends import missing
from spmd_programs import groups, one_op, reducer

import wengert as wg
from wengert.lab.cli.main import main
from wengert.runtime.errors import InputError

pytest.importorskip("mpi4py")
pytest.importorskip("cuda.core", reason="cuda-core is not installed: pip install 'wengert[cuda]'")
MPIEXEC = Path(sys.executable).with_name("mpiexec")
SUM = one_op("all_reduce", groups([[1, 0]]), "700xf32", "700xf32", reducer("add", "f32"))
PROGRAM = f"""func.func public @main(%x: tensor<700xf32>) -> tensor<1400xf32> {{
  %a = "stablehlo.all_reduce"(%x) <{{{groups([[0, 1]])}}}> {reducer("add", "f32")} : (tensor<700xf32>) -> tensor<700xf32>
  %p = "stablehlo.collective_permute"(%a) <{{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}}> : (tensor<700xf32>) -> tensor<700xf32>
  %m = stablehlo.multiply %p, %x : tensor<700xf32>
  %o = "stablehlo.collective_permute"(%m) <{{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}}> : (tensor<700xf32>) -> tensor<700xf32>
  %s = stablehlo.add %o, %m : tensor<700xf32>
  %g = "stablehlo.all_gather"(%s) <{{all_gather_dim = 0 : i64, {groups([[1, 0]])}}}> : (tensor<700xf32>) -> tensor<1400xf32>
  return %g : tensor<1400xf32>
}}
"""
SCRIPT = """
import sys
import numpy as np
import pytest
from mpi4py import MPI
import wengert as wg
from fake_cuda import World, installed
import fake_nccl

rank = MPI.COMM_WORLD.rank
given = np.load(sys.argv[2])
world = World(("NVIDIA H100 80GB HBM3", (9, 0)), ("NVIDIA H100 80GB HBM3", (9, 0)))
fake_nccl.install(world)
with installed(world, pytest.MonkeyPatch()):
    q = wg.load(sys.argv[1]).distribute(engine="cuda")
    results = [q(*[given[name][rank] for name in given.files]) for _ in range(2)]
assert q.device._gpu._device.device_id == rank
assert world.launches > 0
for a, b in zip(*results, strict=True):
    assert (a == b).all()
everything = MPI.COMM_WORLD.gather(results[0], root=0)
if rank == 0:
    np.savez(sys.argv[3], **{f"out_{j}": np.stack(parts) for j, parts in enumerate(zip(*everything, strict=True))})
"""


@pytest.mark.skipif(not MPIEXEC.exists(), reason="there is no mpiexec in this environment: pip install 'wengert[mpi]'")
@pytest.mark.parametrize("text", [SUM, PROGRAM], ids=["sum", "several"])
def test_stand_ins_give_what_threads_give(text: str, tmp_path: Path) -> None:
    derivative = wg.parse(text).vjp()
    (tmp_path / "p.mlir").write_text(str(derivative))
    (tmp_path / "script.py").write_text(SCRIPT)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((2, *p.shape)).astype(np.float32) for p in derivative.signature.arguments]
    np.savez(tmp_path / "in.npz", *arrays)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "WENGERT_MPI_TIMEOUT": "60"}
    words = [str(MPIEXEC), "-n", "2", sys.executable, str(tmp_path / "script.py"), *(str(tmp_path / name) for name in ("p.mlir", "in.npz", "out.npz"))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as made:
        for j, wanted in enumerate(wg.parse(str(derivative)).distribute(2)(*arrays)):
            np.testing.assert_allclose(made[f"out_{j}"], wanted, rtol=1e-5, atol=1e-5)


def test_the_package_has_what_is_called() -> None:
    import fake_nccl

    try:
        import nccl.core as real
    except (ImportError, OSError, RuntimeError) as error:
        pytest.skip(f"nccl4py is not installed: {error}")
    for name in ("init", "allgather", "alltoall", "send", "recv"):
        ours, theirs = (list(inspect.signature(getattr(one.Communicator, name)).parameters) for one in (fake_nccl, real))
        assert ours == theirs, name
    assert list(inspect.signature(real.UniqueId.from_bytes).parameters) == ["b"]
    assert callable(real.get_unique_id)
    assert callable(real.group)


@pytest.mark.skipif(not missing("cuda"), reason="there is a GPU")
def test_without_a_gpu_it_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = wg.parse(SUM)
    with pytest.raises(InputError, match=r"needs a GPU for each process, and no NVIDIA device .*; engine='mpi' runs on processors"):
        program.distribute(2, engine="cuda")
    (tmp_path / "p.mlir").write_text(SUM)
    with pytest.raises(InputError, match="leave backend='interpreter' out"):
        program.distribute(2, engine="cuda", backend="interpreter")


@pytest.mark.gpu
@pytest.mark.skipif(bool(missing("cuda")), reason=missing("cuda"))
def test_on_gpus(tmp_path: Path) -> None:
    from wengert.runtime.devices import cuda

    count = len(list(cuda.devices()))
    if count < 2:
        pytest.skip("there is one GPU: NCCL needs one for each process")
    (tmp_path / "p.mlir").write_text(PROGRAM)
    words = [sys.executable, "-m", "wengert", "run", str(tmp_path / "p.mlir"), "--random", "0", "-o"]
    subprocess.run([str(MPIEXEC), "-n", "2", *words, str(tmp_path / "a.npz"), "--mpi", "--backend", "cuda"], check=True, timeout=300)
    assert main(["run", str(tmp_path / "p.mlir"), "--random", "0", "-o", str(tmp_path / "b.npz"), "--devices", "2"]) == 0
    with np.load(tmp_path / "a.npz") as a, np.load(tmp_path / "b.npz") as b:
        np.testing.assert_allclose(a["out_0"], b["out_0"], rtol=1e-5, atol=1e-5)
