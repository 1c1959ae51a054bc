"""The result of :meth:`wengert.Program.compile`: a program with the machine code, or the interpreter, that a backend made for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wengert.runtime.backends import Executable
    from wengert.runtime.program import Array, Program


class CompiledProgram:
    """A compiled program: called as the program is, with the same checks of its inputs.

    Attributes:
        program: what was compiled.
        backend: the name of the backend.
        executable: what the backend made.
    """

    __slots__ = ("__call__", "__weakref__", "backend", "executable", "program", "signature")
    # A slot of this name makes calls of the object calls of what the slot holds: no Python function is in between.
    __call__: Callable[..., tuple[Array, ...]]

    def __init__(self, program: Program, backend: str, executable: Executable):
        self.program = program
        self.signature = program.signature
        self.backend = backend
        self.executable = executable
        self.__call__ = executable.__call__

    @property
    def stats(self) -> Any:
        """The statistics of the backend: ops run by the interpreter, kernels, bytes, compile times."""
        return self.executable.stats

    def __repr__(self) -> str:
        return f"<compiled for {self.backend}: @{self.program.entry} {self.signature}>"
