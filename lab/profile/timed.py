"""A program compiled with a clock around each of its kernels (:mod:`wengert.transforms.codegen.cpu.clock`), and runs of it."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.pipeline.stages import stage
from wengert.runtime.arguments import bind
from wengert.runtime.cpu.compilation import constants_of
from wengert.runtime.cpu.entry import address_of
from wengert.runtime.cpu.fallback import Fallback
from wengert.runtime.cpu.interrupts import raise_pending
from wengert.runtime.cpu.linking import linked
from wengert.runtime.cpu.objects import object_code
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.runtime.tape_memory import out_of_memory
from wengert.transforms.codegen.cpu.clock import EMPTY, FAMILY, FIRST, HEAD, OF_EVENT, OF_KERNEL, READ, WHOLE, Timed
from wengert.transforms.codegen.cpu.program import generate
from wengert.transforms.schedule.host import host

LOG = 200_000
"""Events of one run that are logged; the sums go on."""
_ALIGNMENT = 64
Array = np.ndarray[Any, np.dtype[Any]]
Integers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        whole: ticks of the whole entry.
        empty: ticks of an interval with nothing in it: what the clock adds to each run of an op.
        ticks, runs: of each op, all its runs together.
        log: number of the op (:data:`WHOLE` first), begin and end of each event.
        events: how many there were, of which the log may hold less.
    """

    whole: int
    empty: int
    ticks: Integers
    runs: Integers
    log: Integers
    events: int


class TimedProgram:
    """A program with a clock in it.

    Args:
        program: the program, for its signature.
        module: its kernels on buffers.
        timed: ``kernels``, or ``whole`` for a clock around the entry alone.

    Attributes:
        ops: what is timed: kernels, copies, strips that threads share.
        results: what the last run returned.
    """

    @stage(last=True)
    def __init__(self, program: Program, module: ModuleOp, timed: Timed = "kernels"):
        if host().target.family != FAMILY:
            raise InputError(f"profile reads the time stamp counter of x86-64 processors; this one is of the family {host().target.family!r}")
        code = generate(module, host().target, check_schedules=False, timed=timed)
        self.ops = code.timed
        self.results: tuple[Array, ...] = ()
        self._signature = program.signature
        self._library = linked([object_code(code.text).image], code.symbols)
        self._fallback = Fallback(code.interpreted) if code.interpreted else None
        self._constants = constants_of(code)
        self._arena = _aligned(code.memory.arena)
        self._counters = np.zeros(HEAD + OF_KERNEL * (len(self.ops) + FIRST), np.int64)
        self._log = np.zeros((LOG, OF_EVENT), np.int64)
        self._entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(self._library.address("entry"))
        self._read = ctypes.CFUNCTYPE(ctypes.c_uint64)(self._library.address(READ))

    def run(self, inputs: Sequence[Any], *, log: bool = False) -> Run:
        """Runs the program once.

        Raises:
            InputError: the inputs do not fit.
            ExecutionError: an op that runs in the interpreter failed.
            MemoryError: the tapes of loops have grown too large.
        """
        arrays = bind(self._signature, list(inputs))
        self.results = tuple(np.empty(p.shape, p.dtype) for p in self._signature.results)
        self._counters[:] = 0
        self._counters[1] = LOG if log else 0
        everything = [*arrays, *self.results, *self._constants]
        tail = [self._fallback.address if self._fallback else 0, self._counters.ctypes.data, self._log.ctypes.data]
        table = (ctypes.c_void_p * (len(everything) + len(tail)))(*[address_of(array) for array in everything], *tail)
        if self._entry(ctypes.addressof(table), self._arena.ctypes.data):
            raise_pending()
            raise self._fallback.take(ctypes.addressof(table)) if self._fallback is not None else out_of_memory()
        pairs, events = self._counters[HEAD:].reshape(-1, 2), int(self._counters[0])
        ticks, counts = pairs[:, 0].copy(), pairs[:, 1].copy()
        return Run(int(ticks[WHOLE]), int(ticks[EMPTY]), ticks[FIRST:], counts[FIRST:], self._log[: min(events, LOG)].copy() if log else self._log[:0], events)

    @cached_property
    def ticks_per_second(self) -> float:
        """The frequency of the counter, measured over a twentieth of a second."""
        first, begin = self._read(), time.perf_counter()
        while time.perf_counter() - begin < 0.05:
            pass
        last, end = self._read(), time.perf_counter()
        return (last - first) / (end - begin)


def _aligned(size: int) -> Array:
    """Memory that begins at a multiple of a cache line."""
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size]
