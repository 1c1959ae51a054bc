"""Programs on many devices from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.lab.cli.main import main

LOSS = "examples/data_parallel_loss.mlir"


def test_what_each_device_runs_takes_arrays_with_the_devices_in_front(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    w, x, y = np.tile(rng.standard_normal(3), (2, 1)), rng.standard_normal((2, 4, 3)), rng.standard_normal((2, 4))
    np.savez(tmp_path / "in.npz", in_0=w, in_1=x, in_2=y)
    assert main(["run", LOSS, "--devices", "2", "--inputs", str(tmp_path / "in.npz"), "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    wanted = np.mean((np.tanh(x.reshape(8, 3) @ w[0]) - y.ravel()) ** 2)
    np.testing.assert_allclose(result["values"], [wanted, wanted])
    assert result["shape"] == [2]
    assert main(["run", LOSS, "--devices", "2", "--inputs", str(tmp_path / "in.npz"), "-o", str(tmp_path / "out.npz")]) == 0
    with np.load(tmp_path / "out.npz") as stored:
        np.testing.assert_allclose(stored["out_0"], [wanted, wanted])


def test_a_program_with_a_mesh_takes_whole_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = wg.spmd(wg.load(LOSS), {"x": 2}, in_specs=[None, "x", "x"], out_specs=[None])
    (tmp_path / "whole.mlir").write_text(whole.text())
    assert main(["vjp", str(tmp_path / "whole.mlir"), "--spmd", "--wrt", "0", "-o", str(tmp_path / "vjp.mlir")]) == 0
    shown = []
    for options in (["--devices", "2"], [], ["--backend", "interpreter", "--devices", "2"]):
        assert main(["run", str(tmp_path / "vjp.mlir"), "--random", "3", "--json", *options]) == 0
        shown.append([np.array(result["values"]) for result in json.loads(capsys.readouterr().out)])
    assert shown[0][1].shape == (3,)
    for other in shown[1:]:
        for a, b in zip(shown[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["run", LOSS, "--devices", "3"], 1, "is for 2 devices (mhlo.num_replicas x mhlo.num_partitions), not for 3"),
        (["run", LOSS, "--devices", "0"], 2, "expected a positive integer"),
        (["run", LOSS, "--devices", "2", "--mpi"], 2, "not allowed with argument"),
        (["run", LOSS, "--devices", "2", "--stats"], 1, "--stats is about a run on one device"),
        (["run", LOSS, "--random", "0"], 1, "needs the devices 0, 1 of one of its replica_groups; the program is run on one device"),
        (["vjp", LOSS, "--spmd"], 1, "says of no mesh of devices"),
    ],
)
def test_mistakes(options: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(options) == code
    assert message in capsys.readouterr().err
