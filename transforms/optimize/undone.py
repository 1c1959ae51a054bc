"""Notices where clean-up undoes what the pass of a plug-in did.

A pass that computes a value again (to keep less memory, or to put a computation where it is needed) makes an equal op a second time, and whatever shares
equal ops takes it away again: ``cse``, and every pass that builds ops with a builder that shares them (``transpose``, ``join``, ``simplify``). What is to
stay stands behind a barrier (``wg.keep_apart``). Where a pass of a plug-in is undone, this says by which pass, in two ways:

- *merged*: a pass that runs behind it leaves fewer ops that repeat an equal one than the plug-in's pass had added;
- *no effect*: from some pass on the IR is, to the letter, what the same pipeline without the plug-in's pass makes.

It costs a count of repeated ops behind every pass, and a second run of the pipeline; pipelines without passes of plug-ins cost nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.construction import copy_module
from wengert.ir.pipeline.observers import Observer, Observers, PassRun
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.pipeline.translations import Translation
from wengert.ir.plugins import is_foreign, owner_of, warn_undone
from wengert.ir.printing.printer import print_module
from wengert.transforms.ad.strategies import STRATEGIES
from wengert.transforms.optimize.cse import repeated_ops


class Undone(Struct, frozen=True):
    """A pass that was undone.

    Attributes:
        pass_: the plug-in's pass, and whose it is.
        by: the pass that undid it.
        merged: how many of the ops that it had repeated were merged back; 0 where the whole effect is gone.
    """

    pass_: str
    by: str
    merged: int = 0

    def __str__(self) -> str:
        kept = "wg.keep_apart keeps apart what is to be computed again"
        if self.merged:
            ops = "1 op" if self.merged == 1 else f"{self.merged} ops"
            return f"{self.pass_} computes again what is computed already, and '{self.by}' merged {ops} of that back; {kept}"
        return f"{self.pass_} has no effect: behind '{self.by}' the program is what it is without that pass"


class UndoneObserver:
    """Watches a pipeline and lists in ``undone`` which passes of plug-ins were undone by which pass."""

    def __init__(self) -> None:
        self.undone: list[Undone] = []
        self._repeated = 0
        self._added: dict[str, int] = {}
        self._texts: list[str] = []
        self._before: ModuleOp | None = None

    def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """Notes the program before the first pass."""
        self._before, self._repeated, self._texts = copy_module(module), repeated_ops(module), []

    def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
        """Compares the number of repeated ops with that before the pass."""
        repeated = repeated_ops(module)
        change, self._repeated = repeated - self._repeated, repeated
        self._texts.append(print_module(module))
        if is_of_plugin(run.pass_):
            self._added[_described(run.pass_)] = max(0, change)
        elif change < 0:
            self._merged(run, -change)
        if run.position == len(pipeline.passes):
            self._compare(pipeline)

    def translated(self, run: PassRun, pipeline: Pipeline, text: str) -> None:
        """Translations undo nothing."""

    def _merged(self, run: PassRun, gone: int) -> None:
        for name, added in self._added.items():
            merged = min(gone, added)
            if merged:
                self.undone.append(Undone(name, run.pass_.name, merged))
                self._added[name] -= merged
                gone -= merged

    def _compare(self, pipeline: Pipeline) -> None:
        """Runs the pipeline without each pass of a plug-in, and looks where the texts become the same."""
        assert self._before is not None
        for number, pass_ in enumerate(pipeline.passes):
            if not is_foreign(pass_):
                continue
            module = copy_module(self._before)
            rest = list(enumerate(pipeline.passes))[number:]
            try:
                for other in pipeline.passes[:number]:
                    other.apply(Context(), module)
                same = print_module(module) == self._texts[number]
                for position, other in rest[1:]:
                    other.apply(Context(), module)
                    if not same and print_module(module) == self._texts[position]:
                        name = _described(pass_)
                        self.undone = [*(one for one in self.undone if one.pass_ != name), Undone(name, other.name)]
                        break
            except Exception:
                continue


def is_of_plugin(pass_: ModulePass | Translation) -> bool:
    """Whether a pass is a plug-in's, or does what the strategy of one says."""
    strategy: object = getattr(pass_, "strategy", None)
    return is_foreign(pass_) or (isinstance(strategy, str) and not STRATEGIES.is_ours(strategy))


def _described(pass_: ModulePass | Translation) -> str:
    return f"pass '{pass_.name}' of {owner_of(pass_)}" if is_foreign(pass_) else f"strategy '{getattr(pass_, 'strategy', '')}'"


@contextmanager
def watched(pipeline: Pipeline, observer: Observer | None = None) -> Generator[Observer | None]:
    """An observer for a run of a pipeline that warns, behind it, of passes of plug-ins that were undone; the given one itself where there are no such
    passes."""
    if not any(is_of_plugin(pass_) for pass_ in pipeline.passes):
        yield observer
        return
    watch = UndoneObserver()
    yield watch if observer is None else Observers((observer, watch))
    for one in watch.undone:
        warn_undone(str(one))
