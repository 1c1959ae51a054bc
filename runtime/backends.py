"""The backends by name: each turns a program into an executable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wengert.ir.diagnostics import did_you_mean
from wengert.ir.plugins import is_extended
from wengert.runtime.errors import InputError
from wengert.runtime.known_programs import keep_signatures
from wengert.runtime.tape_memory import TapeMemoryError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from wengert.runtime.cpu import CompiledFunction
    from wengert.runtime.interpreter import Prepared
    from wengert.runtime.program import Program

Array = np.ndarray[Any, np.dtype[Any]]
BACKENDS = ("cpu", "interpreter", "opencl", "cuda", "ptx-interpreter")
DEVICES = ("opencl", "cuda", "ptx-interpreter")
"""Those of them that run kernels on a device."""


class Executable(Protocol):
    """A program prepared by a backend: a callable that checks its inputs and returns arrays of its own."""

    @property
    def stats(self) -> Any:
        """The statistics of the backend."""
        ...

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        """Runs the program."""
        ...


def build(program: Program, backend: str, *, dump_dir: Path | None = None, **options: Any) -> Executable:
    """The program built for a backend; an InputError if there is none of this name."""
    if backend == "cpu":
        return build_for_cpu(program, dump_dir, options)
    if backend == "interpreter":
        _check_options(backend, options, ())
        return InterpreterExecutable(program)
    if backend in DEVICES:
        return build_for_device(program, backend, dump_dir, options)
    raise unknown_backend(backend)


def unknown_backend(name: str) -> InputError:
    """The error for a backend that does not exist."""
    return InputError(f"there is no backend {name!r}; {did_you_mean(name, BACKENDS) or 'available: ' + ', '.join(BACKENDS)}")


def _check_options(backend: str, options: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in options:
        if name not in known:
            listed = f"it has: {', '.join(known)}" if known else "it has none"
            raise InputError(f"backend {backend} has no option {name!r}; {did_you_mean(name, known) or listed}")


class InterpreterExecutable:
    """Runs a program op by op in NumPy, as it was written; ``stats`` is the counter of the last run."""

    def __init__(self, program: Program):
        from wengert.runtime.derived.derivation import runnable, runs_at_core_level_only
        from wengert.runtime.known_ops import check_known, check_values

        self._program = program
        check_known(program.module)
        check_values(program.module)
        lowered = runs_at_core_level_only(program.module)
        self._module = runnable(program.core_module, as_given=program.as_given) if lowered else program.module
        self._entry = "main" if lowered else program.entry
        self.stats: Any = None
        self._prepared: Prepared | None = None

    def again(self, *inputs: Any) -> tuple[Array, ...]:
        """As a call, without counting, and several times faster from the second time on where ops are many and small."""
        from wengert.runtime.interpreter import Prepared

        if self._prepared is None:
            from wengert.ir.traversal import all_ops  # here, because compiled programs that are known do without IR

            if any(op.name == "stablehlo.rng" for op in all_ops(self._module)):  # every run draws the same numbers, from the first one on
                return self(*inputs)
            self._prepared = Prepared(self._module, entry=self._entry)
        return tuple(self._prepared(inputs))

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        from wengert.runtime.arguments import bind
        from wengert.runtime.interpreter import Counter, run

        self.stats = counter = Counter()
        arrays = bind(self._program.signature, inputs)
        try:
            results = run(self._module, arrays, entry=self._entry, counter=counter)
            # Results may be views of inputs, of constants or of one another: copies belong to the caller.
            return tuple(np.array(result, order="C") for result in results)
        except TapeMemoryError:
            raise
        except MemoryError as error:
            raise InputError(f"{self._program.name}: not enough memory is free: {error}") from None


def build_for_cpu(program: Program, dump_dir: Path | None, options: dict[str, Any]) -> Executable:
    """Native code for this machine. With a folder for dumps: every stage, down to the assembly."""
    from wengert.runtime import cpu

    _check_options("cpu", options, ("strict", "opt", "flush_subnormals", "debug_lines"))
    if dump_dir is None:
        return _kept_for_cpu(program, options) or _compiled_for_cpu(program, program.identity, options)
    from wengert.runtime.derived.derivation import source_of

    module, before = source_of(program)
    return cpu.compile_with_dumps(module, before, dump_dir, **options)


def _kept_for_cpu(program: Program, options: dict[str, Any]) -> Executable | None:
    """What was compiled for the program before, in this process or another."""
    from wengert.runtime.cpu import kept, options_of

    if program.identity is None or is_extended():
        return None

    def source() -> tuple[str, ModuleOp]:
        again = _compiled_for_cpu(program, None, options)
        return again.llvm_text, again.kernel_module

    compiled = kept.find(program.identity, options_of(**options), program.signature, source)
    if compiled is not None:
        keep_signatures(program.lineage)
    return compiled


def _compiled_for_cpu(program: Program, identity: str | None, options: dict[str, Any]) -> CompiledFunction:
    from wengert.runtime import cpu
    from wengert.runtime.derived.derivation import finishing

    core = program.optimized_module
    known = not is_extended() and keep_signatures(program.lineage)
    return cpu.compile(core, before=finishing(core, as_given=program.as_given), identity=identity if known else None, **options)


def build_for_device(program: Program, backend: str, dump_dir: Path | None, options: dict[str, Any]) -> Executable:
    """Kernels for a device, and a plan of their launches. With a folder for dumps: every stage, down to the assembly of the kernels.

    ``device`` is a part of the name of one of several devices; ``poison`` fills memory with wrong values before every call, for tests. ``tf32`` lets products
    of f32 take ten bits of the mantissas of their factors, on the tensor cores of NVIDIA's devices.
    """
    from wengert.ir.construction import copy_module
    from wengert.runtime.derived.derivation import finishing, source_of
    from wengert.runtime.devices import compile as devices

    known = {"ptx-interpreter": ("poison", "tf32"), "cuda": ("device", "poison", "tf32")}
    _check_options(backend, options, known.get(backend, ("device", "poison")))
    poison, tf32 = bool(options.pop("poison", False)), bool(options.pop("tf32", False))
    device = devices.device_for(backend, **options)
    if dump_dir is not None:
        module, before = source_of(program)
        return devices.compile(module, before, device, dump_dir=dump_dir, poison=poison, tf32=tf32)
    core = program.optimized_module
    return devices.compile(copy_module(core), finishing(core, as_given=program.as_given), device, poison=poison, tf32=tf32)
