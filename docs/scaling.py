"""Makes the plot of docs/many_devices.md again: python docs/scaling.py [--measure] (with jax and matplotlib; --measure with mpi4py and mpiexec, on two cores).

A transformer block is split over devices in two ways, by ``jax.shard_map``: its batch (data-parallel: weights on every device, their gradients summed) and its
heads and hidden units (tensor-parallel: two sums forward, two in reverse). What is measured is kept in pictures/scaling.json, so that the plot can be
made without measuring.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert.dialects.stablehlo.process_groups import Grid
from wengert.lab.costs.network.network import Network
from wengert.lab.costs.network.report import RANKS, CommunicationReport, communication_report

HERE = Path(__file__).resolve().parent
MEASURED = HERE / "pictures" / "scaling.json"
PICTURE = HERE / "pictures" / "scaling.svg"
BATCH, LENGTH, WIDTH, HEADS = 8, 128, 256, 8
NETWORK = Network.flat(2e-6, 4e-11)
ROUNDS = 15


def program(kind: str, devices: int) -> wg.Program:
    """The loss of the block on a mesh of so many devices, as a program on whole tensors; JAX writes no mesh of one device."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec as P

    parallel = kind == "tensor"

    def add(x: Any) -> Any:
        return jax.lax.psum(x, "x") if parallel else x

    def block(x: Any, qkv: Any, out: Any, up: Any, down: Any) -> Any:
        """The weights of heads are (3, width, heads, head), so that a part of the heads is a block."""
        n = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        q, k, v = (jnp.einsum("btd,dhk->bhtk", n, qkv[i]) for i in range(3))
        weights = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / (WIDTH // HEADS) ** 0.5)
        x = x + add(jnp.einsum("bhtk,hkd->btd", weights @ v, out))
        n = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        x = x + add(jax.nn.gelu(n @ up) @ down)
        total = (x**2).sum() / (BATCH * LENGTH * WIDTH)
        return total if parallel else jax.lax.psum(total, "x")

    mesh = jax.sharding.AbstractMesh((devices,), ("x",))
    whole = P()
    specs = (whole, P(None, None, "x"), P("x"), P(None, "x"), P("x")) if parallel else (P("x"), whole, whole, whole, whole)
    f = jax.shard_map(block, mesh=mesh, in_specs=specs, out_specs=whole)
    head = WIDTH // HEADS
    shapes = ((BATCH, LENGTH, WIDTH), (3, WIDTH, HEADS, head), (HEADS, head, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))
    exported = jax.export.export(jax.jit(f), platforms=["cpu"])(*[jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes])
    return wg.parse(exported.mlir_module(), f"{kind}-parallel block")


def report(kind: str) -> CommunicationReport:
    """What it exchanges, and how it scales."""
    whole = wg.spmd(program(kind, 2))
    reverse = whole.vjp().local
    return communication_report([("forward", whole.local), ("reverse", reverse)], f"{kind}-parallel block", Grid(1, 2), 2, NETWORK)


def measure(kind: str, devices: int) -> None:
    """Seconds of the reverse program on the processes of MPI, by the clock and of the processor: the least of some rounds, printed by process 0."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    alone = program(kind, 1).vjp()
    rng = np.random.default_rng(0)
    own = [0.1 * rng.standard_normal(p.shape).astype(p.dtype) for p in alone.signature.arguments]
    made: Any = alone.compile()
    if devices > 1:
        whole = wg.spmd(program(kind, devices)).vjp()
        own, made = whole.blocks(own)[comm.rank], whole.distribute(engine="mpi", comm=comm).made
    made(*own)
    samples: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        comm.Barrier()
        wall, processor = time.perf_counter(), time.process_time()
        made(*own)
        samples.append((time.perf_counter() - wall, time.process_time() - processor))
    slowest = comm.allreduce(min(wall for wall, _ in samples), op=MPI.MAX), comm.allreduce(min(processor for _, processor in samples), op=MPI.MAX)
    if comm.rank == 0:
        sys.stdout.write(json.dumps({"wall": slowest[0], "processor": slowest[1]}) + "\n")


def measured() -> dict[str, Any]:
    """Seconds by kind and number of ranks, each in processes of their own, one thread each; and how loaded the machine was."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    with tempfile.TemporaryDirectory() as folder:
        points = {kind: {str(n): _measured(mpiexec, kind, n, folder) for n in (1, 2)} for kind in ("data", "tensor")}
    return {"load": round(os.getloadavg()[0], 1), "cores": os.cpu_count(), **points}


def _measured(mpiexec: Path, kind: str, devices: int, folder: str) -> dict[str, float]:
    words = [str(mpiexec), "-n", str(devices), sys.executable, __file__, "--of", kind, str(devices)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder, env={**os.environ, "WENGERT_NUM_THREADS": "1"})
    return json.loads(done.stdout.splitlines()[-1])


def plot(points: dict[str, Any]) -> None:
    """Writes the picture: predicted curves, measured points."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, kind in zip(figure.subplots(1, 2), ("data", "tensor"), strict=True):
        made = report(kind)
        for strong, colour, title in ((True, "#1f77b4", "strong: whole tensors stay"), (False, "#d95f02", "weak: blocks stay")):
            series = made.scaling(made.parts[1], strong=strong, ranks=RANKS)
            axes.plot([p.ranks for p in series], [p.seconds for p in series], color=colour, label=f"{title} (predicted)")
            axes.plot([p.ranks for p in series], [p.communicate or np.nan for p in series], color=colour, ls=":", label="of it communication (predicted)")
        for marker, name, what in (
            ("k^", "wall", f"strong, measured; load {points['load']} on {points['cores']} cores"),
            ("ko", "processor", "of it time of the processor"),
        ):
            axes.plot([int(n) for n in points[kind]], [point[name] for point in points[kind].values()], marker, ms=4, label=what)
        axes.set(xscale="log", yscale="log", xlabel="ranks", ylabel="time of the reverse program (s)", title=f"{kind}-parallel block")
        axes.set_xscale("log", base=2)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "scaling"}):
        figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    """Measures where that is asked for, and plots."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--measure", action="store_true", help="measure on 1 and 2 ranks first, and keep what is measured")
    parser.add_argument("--of", nargs=2, metavar=("KIND", "RANKS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.of:
        measure(options.of[0], int(options.of[1]))
        return
    if options.measure:
        MEASURED.write_text(json.dumps(measured(), indent=1) + "\n")
    plot(json.loads(MEASURED.read_text()))
    for kind in ("data", "tensor"):
        made = report(kind)
        for strong in (True, False):
            for p in made.scaling(made.parts[1], strong=strong, ranks=(1, 2, 16, 256, 4096)):
                sys.stdout.write(f"{kind} {'strong' if strong else 'weak'} {p.ranks}: compute {p.compute:.3g} s, communicate {p.communicate:.3g} s\n")


if __name__ == "__main__":
    main()
