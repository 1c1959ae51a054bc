"""Programs that run on many devices: every device runs the same program on its own arrays, and they meet in collectives.

    >>> import wengert as wg
    >>> p = wg.load("f.mlir")                              # doctest: +SKIP
    >>> q = p.vjp().distribute(devices=4)                  # doctest: +SKIP
    >>> q(x, y_bar)        # arrays of shape (4, ...), one part for each device; so are results        # doctest: +SKIP

With MPI each process runs one device and gives and gets the arrays of that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects.stablehlo.process_groups import Grid, grid_for
from wengert.ir.diagnostics import did_you_mean
from wengert.ir.traversal import all_ops
from wengert.runtime.arguments import bind, describe
from wengert.runtime.backends import unknown_backend
from wengert.runtime.errors import InputError
from wengert.runtime.spmd.device import Array, running_on
from wengert.runtime.spmd.threads import run_on_threads

if TYPE_CHECKING:
    from wengert.runtime.program import Program
    from wengert.runtime.spmd.mpi import MpiDevice
    from wengert.transforms.spmd.uniformity import Known

ENGINES = ("threads", "mpi", "cuda")
BACKENDS = ("cpu", "interpreter")
Run = Callable[[Sequence[Array]], Sequence[Array]]
"""The program on the device of the thread."""


def distribute(
    program: Program,
    devices: int | None = None,
    *,
    engine: str = "threads",
    backend: str = "cpu",
    comm: Any = None,
    arguments: Sequence[Known] | None = None,
) -> Distributed:
    """The program on many devices; :meth:`wengert.Program.distribute` says what the arguments mean. ``arguments``: what is known of the program's."""
    from wengert.transforms.spmd.uniformity import check_uniform

    if engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}; {did_you_mean(engine, ENGINES) or 'available: ' + ', '.join(ENGINES)}")
    if backend not in BACKENDS:
        raise InputError(f"backend {backend} runs on one device; many have: {', '.join(BACKENDS)}") if backend in _OTHERS else unknown_backend(backend)
    if engine == "cuda":
        return _on_gpus(program, devices, backend, comm, arguments)
    if comm is not None and engine == "threads":
        engine = "mpi"
    if engine == "mpi":
        from wengert.runtime.spmd.mpi import MpiDevice, world

        comm = world() if comm is None else comm
        if devices is not None and devices != comm.size:
            raise InputError(f"{devices} devices are asked for, but MPI runs {comm.size} processes: mpiexec -n {devices}")
        grid = grid_of(program, comm.size)
        check_uniform(program.core_module, grid, arguments)
        return MpiProgram(program, grid, runner(program, backend, grid.size), MpiDevice(comm, grid))
    grid = grid_of(program, devices)
    check_uniform(program.core_module, grid, arguments)
    return ThreadedProgram(program, grid, runner(program, backend, grid.size))


def _on_gpus(program: Program, devices: int | None, backend: str, comm: Any, arguments: Sequence[Known] | None) -> Distributed:
    """The program on the GPUs of processes, one each."""
    from wengert.runtime.spmd import nccl
    from wengert.runtime.spmd.mpi import world
    from wengert.transforms.spmd.uniformity import check_uniform

    if backend == "interpreter":
        raise InputError("engine cuda compiles for GPUs: leave backend='interpreter' out, or take engine='mpi'")
    gpu, comm = nccl.own_gpu(comm), world() if comm is None else comm
    nccl.nccl()  # says what to install
    if devices is not None and devices != comm.size:
        raise InputError(f"{devices} devices are asked for, but MPI runs {comm.size} processes: mpiexec -n {devices}")
    grid = grid_of(program, comm.size)
    check_uniform(program.core_module, grid, arguments)
    device = nccl.NcclDevice(comm, grid, gpu)
    device.connect()
    return MpiProgram(program, grid, nccl.runner(program, grid.size, gpu), device)


_OTHERS = ("opencl", "cuda", "ptx-interpreter")


def grid_of(program: Program, devices: int | None) -> Grid:
    """The devices of a program. Raises InputError where it is for another number of them, or for none that is known."""
    if devices is not None and devices < 1:
        raise InputError(f"a program runs on one device at least, not on {devices}")
    try:
        return grid_for(all_ops(program.module), program.module, devices)
    except ValueError as error:
        raise InputError(f"{program.name}: {error}") from None


def runner(program: Program, backend: str, devices: int) -> Run:
    """The program as each of so many devices runs it."""
    from wengert.runtime.derived.derivation import finishing, runnable, runs_at_core_level_only

    if backend == "interpreter":
        from wengert.runtime.interpreter import run
        from wengert.runtime.known_ops import check_known, check_values

        check_known(program.module)
        check_values(program.module)
        lowered = runs_at_core_level_only(program.module)
        module = runnable(program.core_module, as_given=program.as_given, devices=devices) if lowered else program.module
        entry = "main" if lowered else program.entry
        return lambda arrays: run(module, arrays, entry=entry)
    from wengert.runtime import cpu

    core = program.optimized_module
    compiled = cpu.compile(core, before=finishing(core, as_given=program.as_given, devices=devices))
    return lambda arrays: compiled(*arrays)


class Distributed:
    """A program on many devices, ready to be called.

    Attributes:
        program: what every device runs.
        grid: the devices.
    """

    def __init__(self, program: Program, grid: Grid, run: Run):
        self.program, self.grid, self._run = program, grid, run

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        """The results of the devices."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<@{self.program.entry} {self.program.signature} on {self.grid.size} devices>"


class ThreadedProgram(Distributed):
    """A program on the devices of one process: takes and gives arrays with the devices in front, ``(n, *shape)``.

    ``sent_bytes``: the bytes that each device sent to others in the last call.

    Raises (when called):
        InputError: an array does not fit.
        CommunicationError: devices wait for each other, or are at different collectives.
    """

    sent_bytes: tuple[int, ...] = ()

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        results = self.on_devices(self._split(inputs))
        return tuple(np.stack(parts) for parts in zip(*results, strict=True))

    def on_devices(self, own: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """The results of each device for its own arguments."""
        sent = list[int]()
        results = run_on_threads(self.grid, lambda device: [np.array(y) for y in self._run(own[device.number])], sent)
        self.sent_bytes = tuple(sent)
        return results

    def _split(self, inputs: Sequence[Any]) -> list[Sequence[Array]]:
        """The arguments of each device."""
        n, arguments = self.grid.size, self.program.signature.arguments
        if len(inputs) != len(arguments):
            raise InputError(f"@{self.program.entry} takes {len(arguments)} arguments, found {len(inputs)}")
        arrays = [np.asarray(x) for x in inputs]
        for parameter, array in zip(arguments, arrays, strict=True):
            if array.shape[:1] != (n,):
                wanted = describe((n, *parameter.shape), parameter.dtype)
                raise InputError(f"{parameter.label}: expected {wanted}, a part for each of {n} devices, found {describe(array.shape, array.dtype)}")
        return [bind(self.program.signature, [array[device] for array in arrays]) for device in range(n)]


class MpiProgram(Distributed):
    """A program of which this process runs one device: takes and gives the arrays of that one."""

    def __init__(self, program: Program, grid: Grid, run: Run, device: MpiDevice):
        super().__init__(program, grid, run)
        self.device = device
        device.agree_on("program", str(program.module))

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        with running_on(self.device):
            results = tuple(np.array(y) for y in self._run(bind(self.program.signature, inputs)))
        self.device.finish()
        return results
