"""Passes and pipelines as values.

A pass is a frozen dataclass derived from xDSL's ``ModulePass``: its class attribute ``name`` is kebab-case and its fields are
its options. A pipeline is a tuple of passes that prints as it parses::

    pipeline = Pipeline.parse("vjp{fn=main wrt=0,1},simplify,cse")
    pipeline.run(module, dump_dir="dumps")

It may end in translations (:mod:`wengert.ir.pipeline.translations`), which make text of what the passes leave::

    pipeline = Pipeline.parse("to-core,fuse,schedule,bufferize,emit-llvm")
    text = pipeline.translate(pipeline.run(module))

Both are found by name in :data:`PASSES`, which holds import paths, so that listing them imports none.
``wengert.transforms.pipelines`` registers ours.

A pass of ours that breaks is our mistake, not the user's: :class:`InternalError` names the pass and a *reproducer*, one file with the
IR before the pass and the command that runs it again. One that comes from outside of the package (:mod:`wengert.ir.plugins`) is its author's:
:class:`wengert.ir.plugins.PluginError` says so. What such a pass leaves is always verified.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from wengert.ir.construction import copy_module
from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean
from wengert.ir.location.places import error_at
from wengert.ir.pipeline.observers import Observer, PassRun, PassTimes
from wengert.ir.pipeline.options import PassText, PipelineText, build_pass, print_pass
from wengert.ir.pipeline.reproducers import write_reproducer
from wengert.ir.pipeline.stages import stage
from wengert.ir.pipeline.translations import WORDS, Form, Translation
from wengert.ir.plugins import PASS_GROUP, PluginError, blamed, declared_names, is_declared, is_foreign, load_declared, owner_of, raised_by
from wengert.ir.registry import refuse_taken
from wengert.ir.tensor_types import UnsupportedElementError
from wengert.ir.unregistered import written_name

Step = ModulePass | Translation
R = TypeVar("R")


class PassRegistry:
    """Classes of passes or translations by name: ours, imported when asked for; those that plug-ins have registered; and those that installed packages
    declare in an entry point group, which is looked at last.

    Attributes:
        version: changes with every registration, for caches of what was parsed.
    """

    def __init__(self, paths: Mapping[str, str] | None = None, group: str = ""):
        self._paths = dict(paths or {})
        self._registered: dict[str, type[Step]] = {}
        self._group = group
        self.version = 0

    def add(self, paths: Mapping[str, str]) -> None:
        """Registers classes: name to ``"module:Class"``."""
        self._paths.update(paths)

    def register(self, cls: type[Step]) -> None:
        """Registers the class of a plug-in under its name. One of the same module and name is replaced; raises ValueError for a name that another has."""
        refuse_taken("pass", cls.name, cls, cls.name in self._paths, self._registered.get(cls.name))
        self._registered[cls.name] = cls
        self.version += 1

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._paths, *self._registered, *(declared_names(self._group) if self._group else ())]))

    def __contains__(self, name: object) -> bool:
        return name in self._paths or name in self._registered or (bool(self._group) and isinstance(name, str) and is_declared(self._group, name))

    def load(self, name: str) -> type[Step]:
        """The class of this name (KeyError if there is none; PluginError if that of a package cannot be imported)."""
        if name in self._paths:
            module, _, cls = self._paths[name].partition(":")
            return getattr(import_module(module), cls)
        return self._registered[name] if name in self._registered else load_declared(self._group, name)


PASSES = PassRegistry(group=PASS_GROUP)
"""The passes and translations that :meth:`Pipeline.parse` knows."""


@runtime_checkable
class Selective(Protocol):
    """A pass that is about some ops only, and tells beforehand whether it would change anything."""

    def changes(self, module: ModuleOp) -> bool:
        """Whether the pass would change the module, which stays as it is. Raises what the pass would."""
        ...


@runtime_checkable
class Rebuilding(Protocol):
    """A pass that writes its functions anew, so that it can leave the old ones where they are."""

    def rebuilt(self, module: ModuleOp) -> ModuleOp:
        """What the pass makes of the module, which stays as it is, as a new module."""
        ...


class InternalError(Exception):
    """A defect of ours: a pass raised what no user's program may raise, or left invalid IR. ``reproducer`` is the file that shows it."""

    def __init__(self, message: str, reproducer: Path | None = None):
        super().__init__(message)
        self.reproducer = reproducer


class Pipeline(Struct, frozen=True):
    """Passes that run one after the other, and translations after them; ``str`` prints the text that parses to an equal pipeline."""

    passes: tuple[ModulePass, ...] = ()
    translations: tuple[Translation, ...] = ()

    @classmethod
    def parse(cls, text: str, registry: PassRegistry = PASSES) -> Pipeline:
        """The pipeline written as ``name{option=value ...},name,...``; a DiagnosticError points at a mistake."""
        source = PipelineText(text)
        steps: list[Step] = []
        for written in source.passes():
            step = _find(written, source, registry)
            wrong = _cannot_follow(step, steps[-1]) if steps else ""
            if wrong:
                source.fail(written.name, wrong)
            steps.append(step)
        return cls._of(steps)

    @classmethod
    def _of(cls, steps: Sequence[Step]) -> Pipeline:
        return cls(tuple([s for s in steps if isinstance(s, ModulePass)]), tuple([s for s in steps if isinstance(s, Translation)]))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The passes, and the translations after them."""
        return (*self.passes, *self.translations)

    @property
    def reads(self) -> Form:
        """The form of what the pipeline starts from."""
        return self.translations[0].reads if self.translations and not self.passes else "mlir"

    @property
    def writes(self) -> Form:
        """The form of what the pipeline ends with."""
        return self.translations[-1].writes if self.translations else "mlir"

    def __str__(self) -> str:
        return ",".join(print_pass(p) for p in self.steps)

    def __add__(self, other: Pipeline) -> Pipeline:
        return self._of(self.steps + other.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, positions: slice) -> Pipeline:
        return self._of(self.steps[positions])

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
        """Runs all passes on the module, in place, and returns it; the translations are left to :meth:`translate`.

        ``dump_dir`` receives the IR after every pass (see ``ir/pipeline/dumps.py``); ``verify_each`` verifies it; ``time_passes``
        collects times; ``observer`` sees every stage; ``original`` is an unchanged copy of the module for reproducers, or what
        makes one when it is needed; it is made here if the caller has none. Raises DiagnosticError where a pass refuses the program, with the
        pass named in a note, and InternalError where a pass fails by our fault.
        """
        observers = _present(time_passes, observer)
        if dump_dir is not None:
            from wengert.ir.pipeline.dumps import Dumper

            observers.append(Dumper(dump_dir))
        before = original if original is not None else copy_module(module)
        for o in observers:
            o.begin(self, module)
        for position, pass_ in enumerate(self.passes, 1):
            seconds = self._run_one(position, pass_, module, before, context or Context(), verify_each)
            for o in observers:
                o.after(PassRun(position, pass_, seconds), self, module)
        return module

    @stage()
    def applied(self, module: ModuleOp, *, observer: Observer | None = None) -> ModuleOp:
        """What all passes make of the module, as a new module. It is copied when the first pass changes it: :class:`Selective` passes say whether they
        would, and a :class:`Rebuilding` one needs no copy. An observer sees all passes run, on a copy."""
        if observer is not None:
            return self.run(copy_module(module), observer=observer, original=module)
        context, mine = Context(), None
        for position, pass_ in enumerate(self.passes, 1):
            if mine is None:
                if isinstance(pass_, Selective) and not self._guarded(position, module, module, context, partial(pass_.changes, module)):
                    continue
                if isinstance(pass_, Rebuilding):
                    mine = self._guarded(position, module, module, context, partial(pass_.rebuilt, module))
                    continue
                mine = copy_module(module)
            self._run_one(position, pass_, mine, module, context, False)
        return copy_module(module) if mine is None else mine

    @stage()
    def translate(self, source: ModuleOp | str, *, time_passes: PassTimes | None = None, observer: Observer | None = None) -> str:
        """The text that the translations make of a module that the passes have run on (or of text, if the pipeline starts from text)."""
        for position, translation in enumerate(self.translations, 1 + len(self.passes)):
            start = time.perf_counter()
            try:
                source = translation.translate(source)
            except DiagnosticError as error:
                raise _with_note(error, self._where(position)) from error
            except Exception as error:
                raise self._internal_in_translation(position, source, traceback.format_exc(), error) from error
            for o in _present(time_passes, observer):
                o.translated(PassRun(position, translation, time.perf_counter() - start), self, source)
        assert isinstance(source, str), "there is a translation"
        return source

    def _run_one(self, position: int, pass_: ModulePass, module: ModuleOp, before: ModuleOp | Callable[[], ModuleOp], context: Context, verify: bool) -> float:
        start = time.perf_counter()
        self._guarded(position, module, before, context, partial(pass_.apply, context, module))
        seconds = time.perf_counter() - start
        if verify or is_foreign(pass_):
            self._verify(position, module, before, context)
        return seconds

    def _guarded(self, position: int, module: ModuleOp, before: ModuleOp | Callable[[], ModuleOp], context: Context, work: Callable[[], R]) -> R:
        """The result of what a pass does on a module; what it raises becomes an error that names the pass."""
        try:
            return work()
        except DiagnosticError as error:
            raise _with_note(error, self._where(position)) from error
        except (PassFailedException, DiagnosticException) as error:
            raise _with_note(DiagnosticError(Diagnostic(str(error))), self._where(position)) from error
        except UnsupportedElementError as error:
            raise _with_note(_unsupported(module, error), self._where(position)) from error
        except PluginError as error:
            raise self._theirs(position, before, context, error) from error
        except Exception as error:
            pass_ = self.passes[position - 1]
            theirs = raised_by(_named(pass_), error) if is_foreign(pass_) else blamed(error)
            if theirs is not None:
                raise self._theirs(position, before, context, theirs) from error
            raise self._internal(position, before, context, traceback.format_exc(), f"{type(error).__name__}: {error}") from error

    def _verify(self, position: int, module: ModuleOp, before: ModuleOp | Callable[[], ModuleOp], context: Context) -> None:
        from wengert.ir.verification.verifier import verify

        try:
            verify(module)
        except DiagnosticError as error:
            pass_ = self.passes[position - 1]
            if is_foreign(pass_):
                raise self._theirs(position, before, context, PluginError(f"{_named(pass_)} left invalid IR", error.render())) from error
            raise self._internal(position, before, context, error.render(), f"it left invalid IR: {error.diagnostic.message}") from error

    def _where(self, position: int) -> str:
        return f"in pass '{print_pass(self.steps[position - 1])}' ({position} of {len(self)})"

    def _theirs(self, position: int, before: ModuleOp | Callable[[], ModuleOp], context: Context, error: PluginError) -> PluginError:
        """The error of a plug-in, with the place in the pipeline and a reproducer, if it has none yet."""
        if error.reproducer is not None:
            return error
        text, start = self._before(position, before, context)
        path = write_reproducer(self.passes[position - 1].name, text, str(self[start - 1 :]), str(error))
        return PluginError(f"{error.message}\n{self._where(position)}", error.details, path)

    def _internal(self, position: int, before: ModuleOp | Callable[[], ModuleOp], context: Context, details: str, what: str) -> InternalError:
        text, start = self._before(position, before, context)
        path = write_reproducer(self.passes[position - 1].name, text, str(self[start - 1 :]), details)
        return InternalError(f"internal error {self._where(position)}: {what}", path)

    def _internal_in_translation(self, position: int, source: ModuleOp | str, details: str, error: Exception) -> InternalError:
        from wengert.ir.printing.printer import print_module

        translation = self.translations[position - 1 - len(self.passes)]
        text = print_module(source) if isinstance(source, ModuleOp) else source
        path = write_reproducer(translation.name, text, str(self[position - 1 :]), details, translation.reads)
        return InternalError(f"internal error {self._where(position)}: {type(error).__name__}: {error}", path)

    def _before(self, position: int, before: ModuleOp | Callable[[], ModuleOp], context: Context) -> tuple[str, int]:
        """The IR before a pass, got by running those before it again, and the position of the pass to go on with."""
        from wengert.ir.printing.printer import print_module

        if not isinstance(before, ModuleOp):
            before = before()
        module = copy_module(before)
        try:
            for pass_ in self.passes[: position - 1]:
                pass_.apply(context, module)
            return print_module(module), position
        except Exception:  # an earlier pass left what cannot be printed: then the input has to do
            return print_module(before, generic=True), 1


def _present(*observers: Observer | None) -> list[Observer]:
    return [o for o in observers if o is not None]


def _find(written: PassText, source: PipelineText, registry: PassRegistry) -> Step:
    name = written.name.text
    if name not in registry:
        source.fail(written.name, f"unknown pass '{name}'", did_you_mean(name, registry) or f"known passes: {', '.join(sorted(registry))}")
    return build_pass(registry.load(name), written, source)


def _named(pass_: ModulePass) -> str:
    """A pass and whose it is."""
    return f"pass '{pass_.name}' of {owner_of(pass_)}"


def _cannot_follow(step: Step, before: Step) -> str:
    """The reason why a pass or translation cannot stand after another one, or an empty string."""
    written = before.writes if isinstance(before, Translation) else "mlir"
    wanted = step.reads if isinstance(step, Translation) else "mlir"
    return "" if written == wanted else f"'{step.name}' works on {WORDS[wanted]}, and '{before.name}' before it leaves {WORDS[written]}"


def _unsupported(module: ModuleOp, error: UnsupportedElementError) -> DiagnosticError:
    """The error at the first op that computes with elements of a type that is not supported."""
    for op in module.walk():
        for value in (*op.operands, *op.results):
            type: Any = value.type
            if isinstance(type, TensorType) and cast("TensorType[Any]", type).element_type == error.element:
                return error_at(op, f"{written_name(op)} computes with elements of type {error.element}, which are not supported")
    return DiagnosticError(Diagnostic(f"elements of type {error.element} are not supported"))


def _with_note(error: DiagnosticError, note: str) -> DiagnosticError:
    first, *rest = error.diagnostics
    return DiagnosticError(replace(first, notes=(*first.notes, Diagnostic(note, first.file, first.line, first.column, severity="note"))), *rest)
