"""Calls compiled code from Python: arguments in, fresh arrays out."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from msgspec import Struct, field

from wengert.runtime.cpu.engine import Library
from wengert.runtime.cpu.native_entry import Callee, native_call
from wengert.runtime.signature import Signature
from wengert.runtime.tape_memory import out_of_memory

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from wengert.runtime.cpu.fallback import Fallback

Array = np.ndarray[Any, np.dtype[Any]]
Source = Callable[[], "tuple[str, ModuleOp]"]
"""Gives LLVM text and the kernels that it was emitted for."""
_ALIGNMENT = 64

_DATA_OFFSET = 2 * ctypes.sizeof(ctypes.c_void_p)
"""Where an ndarray object holds its data pointer: after the reference count and the type (checked below)."""


def _read_address(array: Array) -> int:
    return ctypes.c_size_t.from_address(id(array) + _DATA_OFFSET).value


def _ask_address(array: Array) -> int:
    return array.ctypes.data


def _is_readable() -> bool:
    """Whether data pointers lie where this version of CPython and NumPy is known to put them."""
    if sys.implementation.name != "cpython" or hasattr(sys, "getobjects") or getattr(sys, "_is_gil_enabled", lambda: True)() is False:
        return False
    probes = [np.empty(shape, np.uint8) for shape in ((), (3,), (2, 5))]
    return all(_read_address(probe) == probe.ctypes.data for probe in probes)


address_of = _read_address if _is_readable() else _ask_address
"""The address of an array's data (``array.ctypes.data``, which takes several times as long)."""


class Stats(Struct, frozen=True):
    """Statistics of a compiled program.

    ``interpreted`` counts, by name, the ops that run in the interpreter; ``kernels`` are distinct loop nests and ``calls``
    how often they are called; ``compile_ms`` is the time by phase (``llvm`` is next to 0 when the object came from the cache; for a program that was
    known the phases are ``cache`` and ``load``). All bytes are known before the program runs, except those of tapes of loops whose number of iterations is
    not known.
    """

    kernels: int
    calls: int
    interpreted: dict[str, int]
    arena_bytes: int
    constant_bytes: int
    result_bytes: int
    cache_hit: bool
    compile_ms: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def peak_bytes(self) -> int:
        """The bytes that a call needs at most besides its inputs: temporary values, constants and results."""
        return self.arena_bytes + self.constant_bytes + self.result_bytes

    def __str__(self) -> str:
        fallback = ", ".join(f"{name} x{count}" for name, count in sorted(self.interpreted.items())) or "none"
        times = ", ".join(f"{phase} {ms:.1f}" for phase, ms in self.compile_ms.items())
        memory = f"arena {self.arena_bytes} bytes, peak {self.peak_bytes} bytes"
        return f"{self.kernels} kernels, {self.calls} calls; interpreted: {fallback}; {memory}; compile ms: {times}"


class CompiledFunction:
    """A compiled program: ``f(*arrays)`` returns a tuple of fresh arrays. It may be called from several threads at once.

    Arguments are taken as :func:`wengert.runtime.arguments.bind` describes; they are never written to.

    Raises (when called):
        InputError: arguments that do not fit, named.
        ExecutionError: an op that runs in the interpreter failed.
    """

    __slots__ = ("__call__", "__weakref__", "_callee", "_kept", "_slow", "_source", "is_native", "signature", "stats")
    # A slot of this name makes calls of the object calls of what the slot holds: no Python function is in between.
    __call__: Callable[..., tuple[Array, ...]]

    def __init__(
        self,
        library: Library,
        signature: Signature,
        constants: list[Array],
        arena_bytes: int,
        fallback: Fallback | None,
        stats: Stats,
        source: Source,
    ):
        self.signature = signature
        self.stats = stats
        self._source = source
        tail = [array.ctypes.data for array in constants] + [fallback.address if fallback else 0]
        address = library.address("entry")
        self._kept = (library, constants, fallback)
        slow = _PythonCall(address, signature, tail, arena_bytes, fallback, self._kept)
        types = [[(p.dtype, p.shape) for p in parameters] for parameters in (signature.arguments, signature.results)]
        self._slow = slow
        self._callee = callee = Callee(address, tail, types[0], types[1], arena_bytes, fallback is not None)
        native = native_call(callee, slow, slow.fail, self._kept)
        self.is_native = native is not None
        self.__call__ = native or slow

    @property
    def llvm_text(self) -> str:
        """The LLVM text; of a program that came from the cache, it is made again."""
        return self._source()[0]

    @property
    def kernel_module(self) -> ModuleOp:
        """The kernels on buffers that code was emitted for, as :attr:`llvm_text`."""
        return self._source()[1]

    def in_poisoned_memory(self, *inputs: Any) -> tuple[Array, ...]:
        """The call, in memory whose bytes are all ones (NaN, for floats), so that what the code does not write, or reads before it has, shows."""
        return self._slow.poisoned(inputs)

    def guarded(self, otherwise: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]] | None:
        """The same code for arrays of exactly these dtypes and shapes, and another function for all other arguments; None where
        calls are not native. ``otherwise`` must live as long as the result."""
        return native_call(self._callee, otherwise, self._slow.fail, (self._kept, self._slow, otherwise))


class _PythonCall:
    """The call that takes all arguments: converts them, allocates, and goes to the machine code through ctypes."""

    def __init__(self, address: int, signature: Signature, tail: list[int], arena_bytes: int, fallback: Fallback | None, kept: Any):
        self._signature = signature
        self._kept = kept  # code and constants live as long as this, which may be all that a caller refers to
        self._tail = tail
        self._fallback = fallback
        self._expected = [(p.dtype, p.shape) for p in signature.arguments]
        self._results = [(p.shape, p.dtype) for p in signature.results]
        self._arena_bytes = arena_bytes
        self._arenas: list[tuple[Array, int]] = []
        self._table = ctypes.c_void_p * (len(self._expected) + len(self._results) + len(tail))
        self._entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(address)

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        arrays = inputs if self._fits(inputs) else self._bound(inputs)
        results = [np.empty(shape, dtype) for shape, dtype in self._results]
        table = self._table(*[address_of(a) for a in arrays], *[address_of(r) for r in results], *self._tail)
        arena = self._arena()
        status = self._entry(ctypes.addressof(table), arena[1])
        self._arenas.append(arena)
        if status:
            self.fail(ctypes.addressof(table))
        return tuple(results)

    def poisoned(self, inputs: Sequence[Any]) -> tuple[Array, ...]:
        """The call, in results and an arena whose bytes are all ones."""
        from wengert.runtime.arguments import bind

        arrays = bind(self._signature, inputs)
        results = [np.empty(shape, dtype) for shape, dtype in self._results]
        memory, address = self._arena()
        for array in (*results, memory):
            ctypes.memset(array.ctypes.data, 0xFF, array.nbytes)
        table = self._table(*[address_of(a) for a in (*arrays, *results)], *self._tail)
        if self._entry(ctypes.addressof(table), address):
            self.fail(ctypes.addressof(table))
        return tuple(results)

    def fail(self, table: int) -> NoReturn:
        """Raises the exception of the call with the table at this address."""
        from wengert.runtime.cpu.interrupts import raise_pending

        raise_pending()
        raise self._fallback.take(table) if self._fallback is not None else out_of_memory()

    def _bound(self, inputs: tuple[Any, ...]) -> Sequence[Array]:
        from wengert.runtime.arguments import bind  # here, because calls with exactly the arrays that are expected do without it

        return bind(self._signature, inputs)

    def _fits(self, inputs: tuple[Any, ...]) -> bool:
        """Whether the arguments can be used as they are."""
        if len(inputs) != len(self._expected):
            return False
        for value, (dtype, shape) in zip(inputs, self._expected, strict=True):
            if type(value) is not np.ndarray or value.dtype is not dtype or value.shape != shape:
                return False
            flags = value.flags
            if not flags.c_contiguous or not flags.aligned:
                return False
        return True

    def _arena(self) -> tuple[Array, int]:
        """Memory for one call at a time, aligned: what another call gave back, or more."""
        try:
            return self._arenas.pop()
        except IndexError:
            pass
        memory = np.empty(self._arena_bytes + _ALIGNMENT, np.uint8)
        address = memory.ctypes.data
        return memory, (address + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
