"""Runs programs for many devices by the protocol of a corpus of them: ``run(text, arrays, n, ...)`` with arrays ``(n, *block)``, one part for each device.

Environment: ``WENGERT_SPMD_ENGINE`` is ``threads`` (default), ``mpi``, which starts ``mpiexec -n n``, or ``ranks``, the n processes that run this already,
(``mpiexec -n 4 python spmd_io.py ...``, of which each prints what it compared; none are started for each program). ``WENGERT_SPMD_BACKEND`` is ``cpu``
(default) or ``interpreter``; ``WENGERT_SPMD_STRATEGY`` is a strategy of reverse mode (``transpose`` or ``direct``).

    python spmd_io.py CORPUS --runner benchmarks.spmd_runner:run --kind vjp
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg

Array = np.ndarray[Any, np.dtype[Any]]


def run(
    text: str,
    arrays: Sequence[Array],
    n: int,
    wrt: Sequence[int] | None = None,
    of: Sequence[int] | None = None,
    tangents: Sequence[Array] | None = None,
    cotangents: Sequence[Array] | None = None,
) -> list[Array]:
    """The results of a program on n devices; with tangents, those of the results ``of``; with cotangents, those of the arguments ``wrt``."""
    mode = "jvp" if tangents is not None else "vjp" if cotangents is not None else "out"
    inputs = [*arrays, *(tangents or ()), *(cotangents or ())]
    engine = os.environ.get("WENGERT_SPMD_ENGINE", "threads")
    if engine == "ranks":
        return _on_ranks(program(text, mode, wrt, of), mode, inputs, wrt, of)
    if engine == "mpi":
        return _on_mpi(text, mode, inputs, n, list(wrt or ()), list(of or ()))
    return select(mode, program(text, mode, wrt, of).distribute(n, backend=backend())(*inputs), wrt, of)


def backend() -> str:
    """The backend that is asked for."""
    return os.environ.get("WENGERT_SPMD_BACKEND", "cpu")


def program(text: str, mode: str, wrt: Sequence[int] | None, of: Sequence[int] | None) -> wg.Program:
    """The program, or a derivative of it."""
    p = wg.parse(text)
    if mode == "jvp":
        return p.jvp(wrt=tuple(wrt or ()), of=tuple(of or ()))
    if mode == "vjp":
        return p.vjp(wrt=tuple(wrt or ()), of=tuple(of or ()), strategy=os.environ.get("WENGERT_SPMD_STRATEGY", "transpose"))
    return p


def select(mode: str, results: Sequence[Array], wrt: Sequence[int] | None, of: Sequence[int] | None) -> list[Array]:
    """The tangents or cotangents among the results of a derivative."""
    count = {"jvp": len(of or ()), "vjp": len(wrt or ())}.get(mode)
    return list(results) if count is None else list(results[len(results) - count :])


def _on_ranks(p: wg.Program, mode: str, inputs: Sequence[Array], wrt: Sequence[int] | None, of: Sequence[int] | None) -> list[Array]:
    """The same by the processes that mpiexec has started, all of which get all results. Raises RuntimeError if they are not as many as devices."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if any(len(x) != comm.size for x in inputs):
        raise RuntimeError(f"the program is not for {comm.size} devices")
    own = select(mode, p.distribute(comm=comm, backend=backend())(*[x[comm.rank] for x in inputs]), wrt, of)
    return [np.stack(parts) for parts in zip(*comm.allgather(own), strict=True)]


def _on_mpi(text: str, mode: str, inputs: Sequence[Array], n: int, wrt: list[int], of: list[int]) -> list[Array]:
    """The same by n processes, which read what they need from a folder and write what they get there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "text.mlir").write_text(text)
        stored: dict[str, Any] = {f"in_{i}": x for i, x in enumerate(inputs)}
        np.savez(folder / "in.npz", **stored)
        mpiexec = Path(sys.executable).with_name("mpiexec")
        command = [str(mpiexec if mpiexec.exists() else "mpiexec"), "-n", str(n), sys.executable, "-m", "benchmarks.spmd_runner", name, mode]
        done = subprocess.run([*command, str(wrt), str(of)], capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr or done.stdout).strip()[-2000:])
        ranks = [np.load(folder / f"out_{rank}.npz") for rank in range(n)]
        return [np.stack([part[f"out_{j}"] for part in ranks]) for j in range(len(ranks[0].files))]


def _rank(name: str, mode: str, wrt: list[int], of: list[int]) -> None:
    from mpi4py import MPI

    folder, here = Path(name), MPI.COMM_WORLD.rank
    with np.load(folder / "in.npz") as archive:
        inputs = [archive[f"in_{i}"][here] for i in range(len(archive.files))]
    p = program((folder / "text.mlir").read_text(), mode, wrt, of)
    results = select(mode, p.distribute(comm=MPI.COMM_WORLD, backend=backend())(*inputs), wrt, of)
    computed: dict[str, Any] = {f"out_{j}": y for j, y in enumerate(results)}
    np.savez(folder / f"out_{here}.npz", **computed)


if __name__ == "__main__":
    import json

    _rank(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4]))
