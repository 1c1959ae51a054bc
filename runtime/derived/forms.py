"""A program as IR: its forms, and how the programs that are derived of it are made and kept.

A derivative is made when it is asked for, so that what is wrong is said there; except of a program that is known
(:mod:`wengert.runtime.known_programs`): its module is made when somebody looks at it, and the passes are imported for that.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wengert.ir.pipeline.stages import stage, staged_property
from wengert.runtime.derived.positions import Positions, choose
from wengert.runtime.derived.requests import Mode, Residuals, Strategy, chosen
from wengert.runtime.dump_folders import DUMP_DIR, PathLike, dump_folder
from wengert.runtime.identity import of_module
from wengert.runtime.known_programs import Identified, Lineage

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from wengert.runtime.compiled_program import CompiledProgram
    from wengert.runtime.derived.linear_program import LinearProgram
    from wengert.runtime.derived.sparsity import SparseJacobian
    from wengert.runtime.program import Program
    from wengert.runtime.signature import Signature
    from wengert.transforms.checkpoint.loops import Loops


class Forms:
    """A module with an entry function, and its forms."""

    def __init__(self, module: ModuleOp, *, entry: str = "main", name: str = "<module>"):
        from wengert.runtime.functions import entry_function, signature_of

        self.module = module
        self._start(signature_of(entry_function(module, entry)), entry, name)

    def _start(self, signature: Signature, entry: str, name: str) -> None:
        """Sets everything but the module."""
        self.entry = entry
        self.name = name
        self.as_given = False
        self.is_optimized = False
        self.origin: tuple[Program, str] | None = None
        """The program that this one was made of to be compiled, and the pipeline in place of its optimisation."""
        self.signature: Signature = signature
        self._executables: dict[tuple[Any, ...], CompiledProgram] = {}
        self._derivatives: dict[tuple[Any, ...], Program] = {}
        self.loop_choices: Callable[[], Loops] | None = None
        """The loops of the program that this is the reverse derivative of, for plans in which they keep other values."""
        self._linearized: dict[tuple[Any, ...], LinearProgram] = {}
        self._sparse: dict[tuple[Any, ...], SparseJacobian] = {}
        self._unread: Callable[[], ModuleOp] | None = None

    @staged_property
    def lineage(self) -> Lineage:
        """The program behind those that it was derived from, as other processes know them; empty where it has no identity.

        That of a program that was parsed, or derived, is known when it is made; any other's is a hash of its module.
        """
        identity = of_module(self.module, f"{self.entry} {self.as_given} {self.is_optimized}")
        return (Identified(identity, self.signature, is_recorded=True),) if identity is not None else ()

    @property
    def identity(self) -> str | None:
        """The hash by which other processes know the program (:mod:`wengert.runtime.identity`), if it has one."""
        return self.lineage[-1].identity if self.lineage else None

    @abstractmethod
    def _derived_program(self, what: str, request: str, make: Callable[[], ModuleOp], *, now: bool) -> Program:
        """The program of a module that is made of this one's by a request; ``now``: the module is made at once, also where the program is known."""

    # -- what is derived

    def _transformed(self, label: str, text: str, dump_dir: PathLike | None, finish: Callable[[ModuleOp], None] | None = None) -> Program:
        """The program after a pass, written as text, and optimisation."""

        def make(folder: Path | None) -> ModuleOp:
            from wengert.runtime.derived.derivation import transform

            module = transform(self.optimized_module, text, folder)
            if finish is not None:
                finish(module)
            return module

        return self._derived((label, text), label, text, dump_dir, make)

    def _derivative(
        self, mode: Mode, wrt: Positions, of: Positions, dump_dir: PathLike | None, strategy: Strategy = "transpose", residuals: Residuals = "auto"
    ) -> Program:
        inputs, outputs = self.resolve(wrt=wrt, of=of)

        def make(folder: Path | None) -> ModuleOp:
            from wengert.runtime.derived.derivation import derive, derive_with_dumps
            from wengert.runtime.derived.labels import name_derivative

            if folder is None:
                module = derive(self.optimized_module, mode, inputs, outputs, strategy, residuals)
            else:
                from wengert.ir.pipeline.dumps import Dumper

                module = derive_with_dumps(self.module, self.entry, mode, inputs, outputs, Dumper(folder), strategy, residuals)
            name_derivative(module, self.signature, mode, inputs, outputs)
            return module

        key = (mode, *chosen(strategy, residuals), inputs, outputs)
        derivative = self._derived(key, mode, f"wrt={inputs} of={outputs} strategy={strategy} residuals={residuals}", dump_dir, make)
        if (mode, strategy) == ("vjp", "transpose") and derivative.loop_choices is None:

            def loops() -> Loops:
                from wengert.runtime.derived.derivation import derive
                from wengert.runtime.derived.labels import name_derivative
                from wengert.transforms.checkpoint.loops import Loops

                def with_marks(module: ModuleOp) -> ModuleOp:
                    made = derive(module, mode, inputs, outputs, strategy, residuals)
                    name_derivative(made, self.signature, mode, inputs, outputs)
                    return made

                return Loops(self.optimized_module, with_marks)

            derivative.loop_choices = loops
        return derivative

    @stage()
    def _derived(self, key: tuple[Any, ...], label: str, request: str, dump_dir: PathLike | None, make: Callable[[Path | None], ModuleOp]) -> Program:
        """The program of a module that is made with a folder for dumps, or none; made once if nobody asks for dumps."""
        key = (*key, os.environ.get(DUMP_DIR))
        if dump_dir is None and (made := self._derivatives.get(key)) is not None:
            return made
        folder = dump_folder(dump_dir, label)
        program = self._derivatives[key] = self._derived_program(label, request, lambda: make(folder), now=folder is not None)
        return program

    def resolve(self, *, wrt: Positions = None, of: Positions = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The positions that :meth:`jvp` and :meth:`vjp` take these to mean."""
        return choose("wrt", wrt, self.signature.arguments), choose("of", of, self.signature.results)

    # -- the IR

    @staged_property
    def module(self) -> ModuleOp:
        """The IR; treat it as read-only (clone it to work on it). That of a known program is made at the first look."""
        assert self._unread is not None, "any other program is made of its module"
        return self._unread()

    @staged_property
    def core_module(self) -> ModuleOp:
        """The program in core form, as ``@main``: calls inlined, known regions recognised. Treat it as read-only."""
        if self.is_optimized:
            return self.module
        from wengert.runtime.derived.derivation import core_form

        return core_form(self.module, self.entry)

    @staged_property
    def optimized_module(self) -> ModuleOp:
        """The core form with fewer ops: what is differentiated, compiled and counted. Treat it as read-only. The core form itself of a program that is
        :attr:`as_given`."""
        if self.as_given or self.is_optimized:
            return self.core_module
        from wengert.runtime.derived.derivation import optimized_form

        return optimized_form(self.module, self.entry)

    @staged_property
    def counted_module(self) -> ModuleOp:
        """The optimised module as its costs are counted: what solves an equation stands in the place of the value that it gives."""
        from wengert.runtime.derived.derivation import counted_form

        return counted_form(self.optimized_module)
