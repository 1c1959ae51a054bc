"""Loads modules into memory and launches their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from wengert.ir.diagnostics import did_you_mean
from wengert.runtime.ptx.definitions import Definitions, analyse
from wengert.runtime.ptx.errors import LaunchError, UnsupportedError
from wengert.runtime.ptx.instructions import TABLE
from wengert.runtime.ptx.instructions.context import Context, Control, Read, Run, Step
from wengert.runtime.ptx.instructions.controls import guard_of
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.linking import LinkedKernel, link
from wengert.runtime.ptx.machine import Checks, Machine
from wengert.runtime.ptx.memory import Memory
from wengert.runtime.ptx.program import Module, Variable
from wengert.runtime.ptx.scheduler import Scheduler
from wengert.runtime.ptx.special import WARP, Extents

MOST_THREADS = 1024
"""Threads of a block."""
MOST_SHARED = 227 * 1024
"""Bytes of shared memory of a block, on sm_90."""
_BATCH_LANES = 1 << 14
"""So many threads run side by side: enough that NumPy's calls do not count, few enough that registers stay in the cache."""
_BATCH_BYTES = 1 << 27
_KEPT_BYTES = 1 << 28
"""Machines of earlier launches are kept up to so many bytes."""

Argument = Any
"""A pointer or an integer as an int, a number as a NumPy scalar of the parameter's size, or bytes."""


class Image:
    """A module whose variables lie in a memory, ready to be launched.

    >>> image = Image(module, memory)
    >>> image.launch("scale", grid=4, block=256, arguments=[x, y, np.float32(2)])
    """

    def __init__(self, module: Module, memory: Memory):
        self.module = module
        self.memory = memory
        self.addresses = _place(module, memory)
        self._linked: dict[str, tuple[LinkedKernel, Definitions]] = {}
        self._ready: dict[Any, tuple[Machine, Scheduler]] = {}

    def launch(
        self,
        kernel: str,
        *,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        arguments: Sequence[Argument],
        shared_bytes: int = 0,
        checks: Checks | None = None,
        limit: int = 100_000_000,
    ) -> int:
        """Runs a kernel on all blocks of a grid; the number of instructions that groups of threads executed.

        Args:
            kernel: the name of an entry.
            grid: the extents of the grid in blocks, one to three of them.
            block: the extents of a block in threads.
            arguments: one for each parameter.
            shared_bytes: dynamic shared memory of a block.
            checks: what is looked for; everything if None.
            limit: so many instructions at most.

        Raises:
            LaunchError: the grid, the block or the arguments do not fit the kernel.
            UnsupportedError: the kernel contains an instruction that is not modelled; nothing has run then.
            Fault: the kernel did what it must not do. What it wrote until then stays.
        """
        grid, block = _extents(grid), _extents(block)
        linked, definitions = self._link(kernel)
        _check_block(linked, grid, block, shared_bytes)
        parameters = _packed(linked, arguments)
        checks = checks or Checks()
        machine, scheduler = self._prepared(linked, definitions, grid, block, shared_bytes, checks)
        machine.begin_launch()
        scheduler.executed = 0
        total = prod(grid)
        for first in range(0, total, machine.blocks):
            scheduler.run(machine.begin(first, min(machine.blocks, total - first), parameters), limit)
        return scheduler.executed

    def _link(self, kernel: str) -> tuple[LinkedKernel, Definitions]:
        if kernel not in self.module.kernels:
            hint = did_you_mean(kernel, self.module.kernels)
            raise LaunchError(f"the module has no kernel '{kernel}'" + (f": {hint}" if hint else ""))
        if kernel not in self._linked:
            linked = link(self.module, kernel, self.addresses)
            self._linked[kernel] = linked, analyse(linked.instructions)
        return self._linked[kernel]

    def _prepared(
        self, linked: LinkedKernel, definitions: Definitions, grid: Extents, block: Extents, dynamic: int, checks: Checks
    ) -> tuple[Machine, Scheduler]:
        """The machine for launches of this kind, made anew if it is not there yet."""
        key = linked.function.name, grid, block, dynamic, checks
        if key not in self._ready:
            machine = Machine(linked, self.module.source, self.memory, grid, block, _batch(linked, grid, block, dynamic), dynamic, checks)
            while self._ready and machine.size + sum(kept.size for kept, _ in self._ready.values()) > _KEPT_BYTES:
                del self._ready[next(iter(self._ready))]
            self._ready[key] = machine, Scheduler(machine, _assemble(machine, definitions))
        return self._ready[key]


def _batch(kernel: LinkedKernel, grid: Extents, block: Extents, dynamic: int) -> int:
    """How many blocks run side by side."""
    lanes = -(-prod(block) // WARP) * WARP
    of_block = kernel.shared.end + dynamic + lanes * (kernel.local.end + 8 * len(kernel.registers))
    return max(1, min(prod(grid), _BATCH_LANES // lanes, _BATCH_BYTES // of_block))


# -- variables of a module


def _place(module: Module, memory: Memory) -> dict[str, int]:
    """Allocates the global and constant variables of a module and writes their initial values."""
    placed = [v for v in module.variables if v.space in ("global", "const")]
    addresses = {v.name: memory.allocate(v.size or 0) for v in placed}
    for variable in placed:
        data = bytearray((variable.data or b"").ljust(variable.size or 0, b"\0"))
        for at, symbol in variable.references:
            if symbol.name not in addresses:
                raise UnsupportedError(module.source.diagnostic(variable.place, f"the address of '{symbol.name}' as an initial value is not modelled"))
            data[at : at + variable.type.size] = (addresses[symbol.name] + symbol.offset).to_bytes(variable.type.size, "little")
        memory.write(addresses[variable.name], np.frombuffer(bytes(data), np.uint8))
        if variable.space == "const":
            memory.protect(addresses[variable.name], len(data))
    return addresses


# -- arguments


def _extents(numbers: int | Sequence[int]) -> Extents:
    extents = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    if not 1 <= len(extents) <= 3 or any(n < 1 for n in extents):
        raise LaunchError(f"a grid or a block has one to three positive extents, not {list(extents)}")
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def _check_block(kernel: LinkedKernel, grid: Extents, block: Extents, dynamic: int) -> None:
    function, threads = kernel.function, prod(block)
    if function.threads is not None and function.threads != block:
        raise LaunchError(f"kernel '{function.name}' is for blocks of {function.threads} threads, not {block}")
    if function.most_threads is not None and threads > prod(function.most_threads):
        raise LaunchError(f"kernel '{function.name}' is for at most {prod(function.most_threads)} threads in a block, not {threads}")
    if threads > MOST_THREADS or block[2] > 64:
        raise LaunchError(f"a block has at most {MOST_THREADS} threads, and 64 in the third dimension, not {block}")
    if grid[1] > 65535 or grid[2] > 65535:
        raise LaunchError(f"a grid has at most 65535 blocks in the second and third dimension, not {grid}")
    shared = sum(end - start for start, end in kernel.shared.ranges) + dynamic
    if shared > MOST_SHARED:
        raise LaunchError(f"kernel '{function.name}' needs {shared} bytes of shared memory, of which a block has {MOST_SHARED}")


def _packed(kernel: LinkedKernel, arguments: Sequence[Argument]) -> bytes:
    """The arguments as they lie in the parameter space."""
    parameters = kernel.parameters
    if len(arguments) != len(parameters):
        raise LaunchError(f"kernel '{kernel.function.name}' takes {len(parameters)} arguments, not {len(arguments)}")
    data = bytearray()
    for (parameter, offset), argument in zip(parameters, arguments):
        data += bytes(offset - len(data)) + _encoded(parameter, argument)
    return bytes(data)


def _encoded(parameter: Variable, argument: Argument) -> bytes:
    size = parameter.size or 0
    if isinstance(argument, bool | int):
        try:
            return int(argument).to_bytes(size, "little", signed=argument < 0)
        except OverflowError:
            raise LaunchError(f"parameter '{parameter.name}' has {size} bytes, {argument} needs more") from None
    if isinstance(argument, float):
        raise LaunchError(f"parameter '{parameter.name}': give a float as a NumPy scalar, so that its width is known")
    data = argument if isinstance(argument, bytes) else np.asarray(argument).tobytes()
    if len(data) != size:
        raise LaunchError(f"parameter '{parameter.name}' has {size} bytes, its argument {len(data)}")
    return data


# -- executable instructions


def _assemble(machine: Machine, definitions: Definitions) -> list[Step]:
    """The instructions of the machine's kernel, ready to be executed on it."""
    check = machine.checks.registers
    machine.defined = {name: np.zeros(machine.lanes, np.bool_) for name in definitions.tracked} if check else {}
    steps: list[Step] = []
    for position, instruction in enumerate(machine.kernel.instructions):
        undefined = definitions.undefined.get(position, frozenset[str]()) if check else frozenset[str]()
        steps.append(_step(Context(machine, instruction, definitions, undefined)))
    return steps


def _step(context: Context) -> Step:
    instruction = context.instruction
    entry = TABLE.get(instruction.opcode)
    if entry is None:
        hint = did_you_mean(instruction.opcode, TABLE)
        raise UnsupportedError(context.machine.source.diagnostic(instruction.place, f"'{instruction.name}' is not modelled", hint))
    step = entry.build(context)
    guard = guard_of(context)
    return step if guard is None or isinstance(step, Control) else _guarded(step, guard)


def _guarded(run: Run, guard: Read) -> Run:
    """The instruction for those threads for which its guard holds."""

    def guarded(lanes: Lanes) -> None:
        taken = lanes.where(guard(lanes))
        if taken is not None:
            run(taken)

    return guarded
