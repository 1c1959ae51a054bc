"""The calls of LLVM in which it spends its time: reading text, passes, making an object file. Two threads can be in them at once.

llvmlite's own do not do for that: its ``ffi.lib`` wraps every function of its library with one lock, which is held while the function runs. LLVM itself asks
only that no two threads use one context or one target machine at a time. So the same functions of the same library are looked up once more, without
the wrapper, with the types that llvmlite declares for them, and are given llvmlite's objects. All that makes or frees an object stays llvmlite's, under its
lock: that takes no time.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Protocol

from wengert.transforms.schedule.host import llvm_binding


class LlvmCalls(Protocol):
    """What is called with llvmlite's objects. All raise a RuntimeError with LLVM's message where it refuses."""

    def parse(self, text: str) -> Any:
        """The module of a text."""
        ...

    def run(self, passes: Any, what: Any, builder: Any) -> None:
        """Runs a pass manager on the module or function that it is for."""
        ...

    def object_file(self, machine: Any, module: Any) -> bytes:
        """The object file that a target machine makes of a module."""
        ...


class Locked:
    """llvmlite's own calls. Modules are in its global context."""

    def parse(self, text: str) -> Any:
        return llvm_binding().parse_assembly(text)

    def run(self, passes: Any, what: Any, builder: Any) -> None:
        passes.run(what, builder)

    def object_file(self, machine: Any, module: Any) -> bytes:
        return machine.emit_object(module)


class Unlocked:
    """The same functions without llvmlite's lock. Each module has a context of its own.

    Raises:
        AttributeError, OSError, TypeError: llvmlite is not made as it is expected to be.
    """

    def __init__(self) -> None:
        llvm = llvm_binding()
        self._ffi, self._module, self._context = llvm.ffi, llvm.module.ModuleRef, llvm.context.create_context
        self._passes = llvm.newpassmanagers.ModulePassManager
        library = ctypes.CDLL(self._ffi.lib._name)

        def function(name: str) -> Any:
            raw, declared = getattr(library, name), getattr(self._ffi.lib, name)
            raw.argtypes, raw.restype = declared.argtypes, declared.restype
            if raw.argtypes is None:
                raise AttributeError(f"llvmlite does not say what {name} takes")
            return raw

        self._parse, self._emit = function("LLVMPY_ParseAssembly"), function("LLVMPY_TargetMachineEmitToMemory")
        self._run_on_module, self._run_on_function = function("LLVMPY_RunNewModulePassManager"), function("LLVMPY_RunNewFunctionPassManager")
        self._start, self._size, self._free = (function(f"LLVMPY_{name}") for name in ("GetBufferStart", "GetBufferSize", "DisposeMemoryBuffer"))

    def parse(self, text: str) -> Any:
        context = self._context()
        with self._ffi.OutputString() as message:
            pointer = self._parse(context, text.encode(), message)
            module = self._module(pointer, context)  # owns the module from here on, and keeps the context
            if message:
                module.close()
                raise RuntimeError(f"LLVM IR parsing error\n{message}")
        return module

    def run(self, passes: Any, what: Any, builder: Any) -> None:
        (self._run_on_module if isinstance(passes, self._passes) else self._run_on_function)(passes, what, builder)

    def object_file(self, machine: Any, module: Any) -> bytes:
        with self._ffi.OutputString() as message:
            buffer = self._emit(machine, module, 1, message)
            if not buffer:
                raise RuntimeError(str(message))
        try:
            return ctypes.string_at(self._start(buffer), self._size(buffer))
        finally:
            self._free(buffer)


@cache
def unlocked() -> Unlocked | None:
    """The calls that threads can make at once; None where llvmlite's library is not as they need it."""
    try:
        return Unlocked()
    except (AttributeError, OSError, TypeError):
        return None
