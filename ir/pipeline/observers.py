"""Observers of pipelines: what sees a module after each pass, such as dumps (:mod:`wengert.ir.pipeline.dumps`), and times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.pipeline.options import print_pass
from wengert.ir.pipeline.translations import Translation

if TYPE_CHECKING:
    from wengert.ir.pipeline.passes import Pipeline


class PassRun(Struct, frozen=True):
    """One execution of a pass or translation: its position in the pipeline (from 1), the pass, and its wall time in seconds."""

    position: int
    pass_: ModulePass | Translation
    seconds: float


class Observer(Protocol):
    """Watches a pipeline run."""

    def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """Called before the first pass."""
        ...

    def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
        """Called after each pass."""
        ...

    def translated(self, run: PassRun, pipeline: Pipeline, text: str) -> None:
        """Called after each translation."""
        ...


class Observers(Struct, frozen=True):
    """Several observers as one."""

    all: tuple[Observer, ...]

    def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """Called before the first pass."""
        for one in self.all:
            one.begin(pipeline, module)

    def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
        """Called after each pass."""
        for one in self.all:
            one.after(run, pipeline, module)

    def translated(self, run: PassRun, pipeline: Pipeline, text: str) -> None:
        """Called after each translation."""
        for one in self.all:
            one.translated(run, pipeline, text)


class PassTimes(Struct):
    """Collects the wall time of each pass; ``str`` is a table."""

    runs: list[PassRun] = field(default_factory=list[PassRun])

    def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """Nothing is timed before the first pass."""

    def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
        """Notes the run."""
        self.runs.append(run)

    def translated(self, run: PassRun, pipeline: Pipeline, text: str) -> None:
        """Notes the run."""
        self.runs.append(run)

    def __str__(self) -> str:
        total = sum(r.seconds for r in self.runs)
        lines = [f"{'ms':>10}  {'%':>5}  pass"]
        lines += [f"{1e3 * r.seconds:10.2f}  {100 * r.seconds / total if total else 0:5.1f}  {print_pass(r.pass_)}" for r in self.runs]
        return "\n".join([*lines, f"{1e3 * total:10.2f}  100.0  total"])
