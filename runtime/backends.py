"""The backends by name: each turns a program into an executable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wengert.ir.diagnostics import did_you_mean
from wengert.runtime.errors import InputError

if TYPE_CHECKING:
    from wengert.runtime.program import Program

Array = np.ndarray[Any, np.dtype[Any]]
BACKENDS = ("cpu", "interpreter")


class Executable(Protocol):
    """What a backend makes of a program."""

    @property
    def stats(self) -> Any:
        """What the backend counted."""
        ...

    def run(self, inputs: list[Array]) -> tuple[Array, ...]:
        """Runs on inputs that were checked and made contiguous; the results belong to the caller."""
        ...


def build(program: Program, backend: str, *, dump_dir: Path | None = None, **options: Any) -> Executable:
    """The program built for a backend; an InputError if there is none of this name."""
    if backend == "cpu":
        return CpuExecutable(program, dump_dir, options)
    if backend == "interpreter":
        return InterpreterExecutable(program, options)
    if backend == "cuda":
        raise InputError(f"backend 'cuda' is not yet supported; available: {', '.join(BACKENDS)}")
    raise unknown_backend(backend)


def unknown_backend(name: str) -> InputError:
    """The error for a backend that does not exist."""
    return InputError(f"there is no backend {name!r}; {did_you_mean(name, BACKENDS) or 'available: ' + ', '.join(BACKENDS)}")


class InterpreterExecutable:
    """Runs a program op by op in NumPy; ``stats`` is the counter of the last run."""

    def __init__(self, program: Program, options: dict[str, Any]):
        if options:
            raise InputError(f"the interpreter has no options, found {', '.join(sorted(options))}")
        self._program = program
        self.stats: Any = None

    def run(self, inputs: list[Array]) -> tuple[Array, ...]:
        from wengert.runtime.interpreter import Counter, run

        self.stats = Counter()
        results = run(self._program.module, inputs, entry=self._program.entry, counter=self.stats)
        # Results may be views of inputs, of constants or of one another: copies belong to the caller.
        return tuple(np.array(result, order="C") for result in results)


class CpuExecutable:
    """Native code for this machine."""

    def __init__(self, program: Program, dump_dir: Path | None, options: dict[str, Any]):
        from wengert.runtime.cpu import compile

        self._call = compile(program.core_module, entry="main", **options)

    @property
    def stats(self) -> Any:
        return self._call.stats

    def run(self, inputs: list[Array]) -> tuple[Array, ...]:
        return tuple(self._call(*inputs))
