"""``wengert run p.mlir --devices 4`` and ``mpiexec -n 4 wengert run p.mlir --mpi``: a program on many devices.

Of a program with a mesh in its text, arrays are whole ones; of one that each device runs they have the devices in front, ``(n, *shape)``. Every process
reads the same file and takes its part; process 0 writes the results.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.dialects.stablehlo.process_groups import Grid
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.cli import arguments
from wengert.lab.cli.resuming import run_resumably
from wengert.lab.inputs import Array, random_inputs, read_inputs
from wengert.runtime.errors import ExecutionError, InputError
from wengert.runtime.program import Program
from wengert.runtime.signature import Parameter, Signature

_MPI = "run on the processes that mpiexec started, a device on each (with --backend cuda a GPU on each); process 0 writes the results"
Results = tuple[tuple[Parameter, ...], Sequence[Array]]
"""What results are called, and what they are."""


def add_devices(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say on which devices a program runs."""
    group = parser.add_mutually_exclusive_group()
    many = "run on N devices in this process; arrays are whole ones if the text has a mesh, else they have the devices in front"
    group.add_argument("--devices", type=arguments.positive, metavar="N", help=many)
    group.add_argument("--mpi", action="store_true", help=_MPI)


def runs_on_many(options: argparse.Namespace) -> bool:
    """Whether a command was asked for many devices."""
    return options.devices is not None or options.mpi


def results_on_many(options: argparse.Namespace) -> Results | None:
    """The results of the program that a command names on the devices that it names; None on a process that writes nothing."""
    for given, name in ((options.stats, "--stats"), (options.dump_dir, "--dump-dir")):
        if given:
            raise InputError(f"{name} is about a run on one device: leave --devices and --mpi out")
    if not options.mpi:
        return _results(options, None)
    from wengert.runtime.spmd.mpi import world

    comm = world()
    return _ended_together(comm, lambda: _results(options, comm)) if comm.size > 1 else _results(options, comm)


def _ended_together(comm: Any, work: Callable[[], Results | None]) -> Results | None:
    """An error of one process is said and ends all of them, which would otherwise wait for it. Process 0 speaks first, as most errors are those of all."""
    from wengert.runtime.spmd.mpi import end_all

    try:
        return work()
    except (InputError, ExecutionError, DiagnosticError) as error:
        if comm.rank:
            time.sleep(2)
        print(f"error: {error}" if isinstance(error, InputError | ExecutionError) else str(error), file=sys.stderr, flush=True)
        end_all(comm)


def _results(options: argparse.Namespace, comm: Any) -> Results | None:
    program = arguments.read_program(options)
    rank = 0 if comm is None else comm.rank
    engine, backend = ("cuda", "cpu") if comm is not None and options.backend == "cuda" else ("threads" if comm is None else "mpi", options.backend)
    if engine == "cuda" and options.checkpoint is not None:
        raise InputError("--checkpoint is for processors: leave --backend cuda out")
    if has_mesh(program):
        from wengert.runtime.spmd.global_program import spmd

        whole = spmd(program)
        if options.devices is not None and options.devices != whole.mesh.size:
            raise InputError(f"{program.name}: its mesh has {whole.mesh.size} devices <{whole.mesh.text()}>, not {options.devices}")
        signature = _resized(whole.local.signature, lambda p: whole.whole_shape(p, (whole.in_specs if p.role == "argument" else whole.out_specs)[p.position]))
        made: Any = whole.distribute(engine=engine, backend=backend, comm=comm)
        inputs = _inputs(options, signature, rank)
        if options.checkpoint is None:
            results = made(*inputs)
        else:
            parts = _in_segments(options, whole.local, made.made.grid, comm, inputs, whole.blocks(inputs))
            results = whole.assembled(parts) if rank == 0 else ()
        return (signature.results, results) if rank == 0 else None
    made = program.distribute(options.devices, engine=engine, backend=backend, comm=comm)
    signature = _resized(program.signature, lambda p: (made.grid.size, *p.shape))
    inputs = _inputs(options, signature, rank)
    if options.checkpoint is not None:
        blocks: list[list[Array]] = [[x[device] for x in inputs] for device in range(made.grid.size)]
        parts = _in_segments(options, program, made.grid, comm, inputs, blocks)
        return (signature.results, [np.stack(values) for values in zip(*parts, strict=True)]) if rank == 0 else None
    if comm is None:
        return signature.results, made(*inputs)
    own = made(*[x[rank] for x in inputs])
    parts = made.device.everybody(own)
    return (signature.results, [np.stack(values) for values in zip(*parts, strict=True)]) if rank == 0 else None


def _in_segments(
    options: argparse.Namespace, program: Program, grid: Grid, comm: Any, inputs: Sequence[Array], parts: Sequence[Sequence[Array]]
) -> Sequence[Sequence[Array]]:
    """The results of all devices, on process 0, of a run with checkpoints."""
    from wengert.runtime.resumable.devices import Processes, Threads

    if comm is None:
        return run_resumably(options, program, Threads(grid, options.backend), inputs, parts, grid.size)
    mine: list[Sequence[Array]] = [parts[int(comm.rank)]]
    (own,) = run_resumably(options, program, Processes(grid, options.backend, comm), inputs, mine, grid.size)
    return comm.gather(own, root=0) or ()


def has_mesh(program: Program) -> bool:
    """Whether a program's text says how whole tensors are split over devices."""
    from wengert.dialects.sdy_shardings import meshes_of
    from wengert.ir.traversal import all_ops

    if not any(mesh.axes for mesh in meshes_of(program.module).values()):
        return False
    return any(op.name.startswith("sdy.") and op.name != "sdy.mesh" for op in all_ops(program.module)) or "sdy.sharding" in str(program.module)


def _resized(signature: Signature, shape: Callable[[Parameter], tuple[int, ...]]) -> Signature:
    """A signature with other shapes."""
    from wengert.ir.tensor_types import element_of, tensor

    def resized(p: Parameter) -> Parameter:
        return Parameter(p.role, p.position, tensor(shape(p), element_of(p.dtype)), p.name)

    return Signature(tuple(map(resized, signature.arguments)), tuple(map(resized, signature.results)))


def _inputs(options: argparse.Namespace, signature: Signature, rank: int) -> list[Array]:
    if options.inputs is not None:
        return read_inputs(options.inputs, signature)
    seed = options.random if options.random is not None else 0
    if options.random is None and signature.arguments and rank == 0:
        print(f"no inputs are given: drawn at random with seed {seed}", file=sys.stderr)
    return random_inputs(signature, seed)
