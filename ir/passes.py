"""Passes and pipelines as values.

A pass is a frozen dataclass derived from xDSL's ``ModulePass``: its class attribute ``name`` is kebab-case and its fields are
its options. A pipeline is a tuple of passes that prints as it parses::

    pipeline = Pipeline.parse("vjp{fn=main wrt=0,1},simplify,cse")
    pipeline.run(module, dump_dir="dumps")

Passes are found by name in :data:`PASSES`, which holds import paths, so that listing passes imports none of them.
``wengert.transforms.pipelines`` registers ours.

A pass that breaks is our mistake, not the user's: :class:`InternalError` names the pass and a *reproducer*, one file with the
IR before the pass and the command that runs it again.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from msgspec import Struct, field
from msgspec.structs import replace
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from wengert.ir.construction import copy_module
from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean
from wengert.ir.locations import error_at
from wengert.ir.pass_options import PassText, PipelineText, build_pass, print_pass
from wengert.ir.reproducers import write_reproducer
from wengert.ir.stages import stage
from wengert.ir.tensor_types import UnsupportedElementError
from wengert.ir.unregistered import written_name


class PassRegistry:
    """Pass classes by name, imported when asked for."""

    def __init__(self, paths: Mapping[str, str] | None = None):
        self._paths = dict(paths or {})

    def add(self, paths: Mapping[str, str]) -> None:
        """Registers passes: name to ``"module:Class"``."""
        self._paths.update(paths)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def load(self, name: str) -> type[ModulePass]:
        """The class of the pass of this name (KeyError if there is none)."""
        module, _, cls = self._paths[name].partition(":")
        return getattr(import_module(module), cls)


PASSES = PassRegistry()
"""The passes that :meth:`Pipeline.parse` knows."""


class PassRun(Struct, frozen=True):
    """One execution of a pass: its position in the pipeline (from 1), the pass, and its wall time in seconds."""

    position: int
    pass_: ModulePass
    seconds: float


class Observer(Protocol):
    """Watches a pipeline run."""

    def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """Called before the first pass."""
        ...

    def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
        """Called after each pass."""
        ...


class PassTimes(Struct):
    """Collects the wall time of each pass; ``str`` is a table."""

    runs: list[PassRun] = field(default_factory=list[PassRun])

    def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """Nothing is timed before the first pass."""

    def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
        """Notes the run."""
        self.runs.append(run)

    def __str__(self) -> str:
        total = sum(r.seconds for r in self.runs)
        lines = [f"{'ms':>10}  {'%':>5}  pass"]
        lines += [f"{1e3 * r.seconds:10.2f}  {100 * r.seconds / total if total else 0:5.1f}  {print_pass(r.pass_)}" for r in self.runs]
        return "\n".join([*lines, f"{1e3 * total:10.2f}  100.0  total"])


class InternalError(Exception):
    """A defect of ours: a pass raised what no user's program may raise, or left invalid IR. ``reproducer`` is the file that shows it."""

    def __init__(self, message: str, reproducer: Path | None = None):
        super().__init__(message)
        self.reproducer = reproducer


class Pipeline(Struct, frozen=True):
    """Passes that run one after the other; ``str`` prints the text that parses to an equal pipeline."""

    passes: tuple[ModulePass, ...] = ()

    @classmethod
    def parse(cls, text: str, registry: PassRegistry = PASSES) -> Pipeline:
        """The pipeline written as ``name{option=value ...},name,...``; a DiagnosticError points at a mistake."""
        source = PipelineText(text)
        return cls(tuple(_find(written, source, registry) for written in source.passes()))

    def __str__(self) -> str:
        return ",".join(print_pass(p) for p in self.passes)

    def __add__(self, other: Pipeline) -> Pipeline:
        return Pipeline(self.passes + other.passes)

    def __len__(self) -> int:
        return len(self.passes)

    def __getitem__(self, positions: slice) -> Pipeline:
        return Pipeline(self.passes[positions])

    @stage()
    def run(
        self,
        module: ModuleOp,
        *,
        context: Context | None = None,
        dump_dir: str | Path | None = None,
        verify_each: bool = False,
        time_passes: PassTimes | None = None,
        observer: Observer | None = None,
        original: ModuleOp | Callable[[], ModuleOp] | None = None,
    ) -> ModuleOp:
        """Runs all passes on the module, in place, and returns it.

        ``dump_dir`` receives the IR after every pass (see ``ir/dumps.py``); ``verify_each`` verifies it; ``time_passes``
        collects times; ``observer`` sees every stage; ``original`` is an unchanged copy of the module for reproducers, or what
        makes one when it is needed; it is made here if the caller has none. Raises DiagnosticError where a pass refuses the program, with the
        pass named in a note, and InternalError where a pass fails by our fault.
        """
        observers: list[Observer] = [o for o in (time_passes, observer) if o is not None]
        if dump_dir is not None:
            from wengert.ir.dumps import Dumper

            observers.append(Dumper(dump_dir))
        before = original if original is not None else copy_module(module)
        for o in observers:
            o.begin(self, module)
        for position, pass_ in enumerate(self.passes, 1):
            seconds = self._run_one(position, pass_, module, before, context or Context(), verify_each)
            for o in observers:
                o.after(PassRun(position, pass_, seconds), self, module)
        return module

    def applied(self, module: ModuleOp, *, observer: Observer | None = None) -> ModuleOp:
        """Runs all passes on a copy of the module, which it returns."""
        return self.run(copy_module(module), observer=observer, original=module)

    def _run_one(self, position: int, pass_: ModulePass, module: ModuleOp, before: ModuleOp | Callable[[], ModuleOp], context: Context, verify: bool) -> float:
        start = time.perf_counter()
        try:
            pass_.apply(context, module)
            seconds = time.perf_counter() - start
        except DiagnosticError as error:
            raise _with_note(error, self._where(position)) from error
        except (PassFailedException, DiagnosticException) as error:
            raise _with_note(DiagnosticError(Diagnostic(str(error))), self._where(position)) from error
        except UnsupportedElementError as error:
            raise _with_note(_unsupported(module, error), self._where(position)) from error
        except Exception as error:
            raise self._internal(position, before, context, traceback.format_exc(), f"{type(error).__name__}: {error}") from error
        if verify:
            self._verify(position, module, before, context)
        return seconds

    def _verify(self, position: int, module: ModuleOp, before: ModuleOp | Callable[[], ModuleOp], context: Context) -> None:
        from wengert.ir.verifier import verify

        try:
            verify(module)
        except DiagnosticError as error:
            raise self._internal(position, before, context, error.render(), f"it left invalid IR: {error.diagnostic.message}") from error

    def _where(self, position: int) -> str:
        return f"in pass '{print_pass(self.passes[position - 1])}' ({position} of {len(self.passes)})"

    def _internal(self, position: int, before: ModuleOp | Callable[[], ModuleOp], context: Context, details: str, what: str) -> InternalError:
        text, start = self._before(position, before, context)
        path = write_reproducer(self.passes[position - 1].name, text, str(self[start - 1 :]), details)
        return InternalError(f"internal error {self._where(position)}: {what}", path)

    def _before(self, position: int, before: ModuleOp | Callable[[], ModuleOp], context: Context) -> tuple[str, int]:
        """The IR before a pass, got by running those before it again, and the position of the pass to go on with."""
        from wengert.ir.printer import print_module

        if not isinstance(before, ModuleOp):
            before = before()
        module = copy_module(before)
        try:
            for pass_ in self.passes[: position - 1]:
                pass_.apply(context, module)
            return print_module(module), position
        except Exception:  # an earlier pass left what cannot be printed: then the input has to do
            return print_module(before, generic=True), 1


def _find(written: PassText, source: PipelineText, registry: PassRegistry) -> ModulePass:
    name = written.name.text
    if name not in registry:
        source.fail(written.name, f"unknown pass '{name}'", did_you_mean(name, registry) or f"known passes: {', '.join(sorted(registry))}")
    return build_pass(registry.load(name), written, source)


def _unsupported(module: ModuleOp, error: UnsupportedElementError) -> DiagnosticError:
    """The error at the first op that computes with elements of a type that is not supported."""
    for op in module.walk():
        for value in (*op.operands, *op.results):
            type: Any = value.type
            if isinstance(type, TensorType) and cast("TensorType[Any]", type).element_type == error.element:
                return error_at(op.location, f"{written_name(op)} computes with elements of type {error.element}, which are not supported")
    return DiagnosticError(Diagnostic(f"elements of type {error.element} are not supported"))


def _with_note(error: DiagnosticError, note: str) -> DiagnosticError:
    first, *rest = error.diagnostics
    return DiagnosticError(replace(first, notes=(*first.notes, Diagnostic(note, first.file, first.line, first.column, severity="note"))), *rest)
