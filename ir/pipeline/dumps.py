"""Dumps: every stage of a program as a numbered file, and an index of them.

``--dump-dir d`` leaves ``d/00-input.mlir``, ``d/01-vjp.mlir``, ... Each file's header says by which pipeline it came about
and how to go on from it. ``d/index.md`` lists all passes with op counts, memory and times; a pass that changed nothing is marked
there and has no file. What translations write (LLVM text, assembly) follows in the same folder and index::

    dumper = Dumper("d")
    pipeline.run(module, observer=dumper)
    pipeline.translate(module, observer=dumper)

:class:`ChangePrinter` writes the stages of a pipeline to a stream instead.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.pipeline.observers import PassRun
from wengert.ir.pipeline.options import print_pass
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.pipeline.reproducers import opt_command
from wengert.ir.pipeline.translations import COMMENTS, Form, Translation
from wengert.ir.printing.printer import print_module

TITLE = "# Stages of a compilation"
_LEGEND = (
    "Peak and kept are bytes: what is live at most, and what the reverse part reads of the forward part; on buffers, what a call needs, and what waits in its "
    "arena where that is fullest."
)
_OURS = re.compile(r"\d\d+-[\w.-]+")


class StageMemory(Struct, frozen=True):
    """The bytes of a program at one stage, None where they are not known: the most that it needs at once, and what is kept for the reverse part of it."""

    peak: int | None = None
    kept: int | None = None


MEMORY: list[str] = []
"""The function that finds the memory of a module, as ``package.module:function``: what ops weigh is not known here."""


def memory_of_stage(module: ModuleOp) -> StageMemory:
    """The memory of a module; nothing is known where nobody has registered a function for it."""
    if not MEMORY:
        return StageMemory()
    home, _, name = MEMORY[-1].partition(":")
    return getattr(import_module(home), name)(module)


class Stage(Struct, frozen=True):
    """A row of the index. ``file`` is empty where the pass changed nothing, or nothing that was asked for; what is not known is None."""

    label: str
    file: str
    ops_before: int | None = None
    ops_after: int | None = None
    seconds: float | None = None
    memory: StageMemory = StageMemory()


Excerpt = Callable[[ModuleOp], str]
"""The part of a module that somebody wants to see, as text; empty where there is none of it."""


class Dumper:
    """Writes stages into a folder. It is an observer of pipelines, several of which may follow one another.

    Args:
        directory: the folder; what an earlier run left there is removed.
        locations: whether every op says its place.
        prune: whether the folder is kept small: stages that differ from the one before in the names of values only have no file, and the index leaves out
            what has none.
        excerpt: if given, only stages in which this part of the module changes have files.
    """

    def __init__(self, directory: str | Path, *, locations: bool = False, prune: bool = False, excerpt: Excerpt | None = None):
        self.directory = Path(directory)
        self.locations = locations
        self.stages: list[Stage] = []
        self._prune = prune
        self._excerpt = excerpt
        self._pipelines: list[str] = []
        self._text = ""
        self._seen = ""
        self._ops = 0
        self._clean()

    def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """Writes the input (unless it is what the last pipeline left)."""
        text = self._print(module)
        if text != self._text:
            self._ops = count_ops(module)
            self._seen = self._compared(module, text)
            self._write_ir("input", text, Stage("input", "", None, self._ops, None, memory_of_stage(module)), str(pipeline), "")

    def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
        """Writes what a pass left, if it changed anything."""
        text, ops = self._print(module), count_ops(module)
        stage = Stage(print_pass(run.pass_), "", self._ops, ops, run.seconds)
        self._ops = ops
        self._pipelines.append(stage.label)
        seen = self._seen if text == self._text else self._compared(module, text)
        if seen == self._seen:
            self._append(stage)
        else:
            self._seen, stage = seen, replace(stage, memory=memory_of_stage(module))
            self._write_ir(run.pass_.name, text, stage, str(pipeline[run.position :]), ",".join(self._pipelines))

    def _compared(self, module: ModuleOp, text: str) -> str:
        """What of a stage must change for it to have a file."""
        if self._excerpt is not None:
            return without_names(self._excerpt(module))
        return without_names(text) if self._prune else text

    def translated(self, run: PassRun, pipeline: Pipeline, text: str) -> None:
        """Writes the text of a translation."""
        assert isinstance(run.pass_, Translation)
        stage = Stage(print_pass(run.pass_), "", seconds=run.seconds)
        self._pipelines.append(stage.label)
        rest = str(pipeline[run.position :]) or run.pass_.next
        self._write(run.pass_.name, text, run.pass_.writes, stage, rest, ",".join(self._pipelines))

    def _write_ir(self, name: str, text: str, stage: Stage, rest: str, done: str) -> None:
        self._write(name, text, "mlir", stage, rest, done)
        self._text = text

    def _write(self, name: str, text: str, form: Form, stage: Stage, rest: str, done: str) -> None:
        file = self._file(name, form)
        path = self.directory / file
        following = f"go on with: {opt_command(rest, path)}" if rest or form == "mlir" else "the last stage"
        header = [f"{COMMENTS[form]} {line}" for line in (f"stage {file}", f"pipeline so far: {done or '(none)'}", following)]
        path.write_text("\n".join([*header, "", text.rstrip("\n"), ""]))
        self._append(replace(stage, file=file))

    def _append(self, stage: Stage) -> None:
        self.stages.append(stage)
        (self.directory / "index.md").write_text(self.index())

    def index(self) -> str:
        """The index as Markdown."""
        rows = [_row(number, stage) for number, stage in enumerate(self.stages) if stage.file or not self._prune]
        made = time.strftime("%Y-%m-%d %H:%M:%S")
        header = "| # | pass or stage | ops before | ops after | peak | kept | ms | file |"
        table = [header, "|--:|---|--:|--:|--:|--:|--:|---|", *rows]
        hidden = len(self.stages) - len(rows)
        note = [f"{hidden} passes changed nothing{' of what was asked for' if self._excerpt is not None else ''}.", ""] if hidden else []
        return "\n".join([TITLE, "", f"Pipeline: `{','.join(self._pipelines) or '(none)'}`. Written {made}.", "", *table, "", *note, _LEGEND, ""])

    def _file(self, name: str, extension: str) -> str:
        return f"{len(self.stages):02d}-{re.sub(r'[^A-Za-z0-9_.-]', '-', name)}.{extension}"

    def _print(self, module: ModuleOp) -> str:
        return print_module(module, locations=self.locations)

    def _clean(self) -> None:
        """Makes the folder, and removes what an earlier run left there, recognised by its index."""
        self.directory.mkdir(parents=True, exist_ok=True)
        index = self.directory / "index.md"
        if index.exists() and index.read_text().startswith(TITLE):
            for path in self.directory.iterdir():
                if path.is_file() and _OURS.fullmatch(path.name):
                    path.unlink()
            index.unlink()


_NAMES = re.compile(r"%[\w$.-]+(?:[#:]\d+)?")


def without_names(text: str) -> str:
    """A text in which values are numbered as they occur, so that renaming them changes nothing."""
    numbers: dict[str, str] = {}
    return _NAMES.sub(lambda match: numbers.setdefault(match[0], f"%{len(numbers)}"), text)


def _whole(module: ModuleOp) -> str:
    return print_module(module)


class ChangePrinter:
    """Writes the program, or an excerpt of it, after every pass that has changed it (renaming values changes nothing). It is an observer of pipelines.

    Args:
        write: takes each text; the first line is a comment that names the pass.
        excerpt: what to show; all of the program by default.
    """

    def __init__(self, write: Callable[[str], None], excerpt: Excerpt | None = None):
        self._write = write
        self._excerpt = excerpt or _whole
        self._text = ""
        self._ops = 0

    def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """Notes the program before the first pass."""
        self._text, self._ops = without_names(self._excerpt(module)), count_ops(module)

    def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
        """Writes what a pass left, if that is something else."""
        text, ops = self._excerpt(module), count_ops(module)
        if (plain := without_names(text)) != self._text:
            where = f"after {print_pass(run.pass_)} (pass {run.position} of {len(pipeline)}; {self._ops} ops before, {ops} after)"
            self._write(f"// -----// {where} //----- //\n{text.rstrip() or '// nothing is left of what was asked for'}\n")
        self._text, self._ops = plain, ops

    def translated(self, run: PassRun, pipeline: Pipeline, text: str) -> None:
        """Writes the text of a translation."""
        assert isinstance(run.pass_, Translation)
        self._write(f"{COMMENTS[run.pass_.writes]} -----// after {print_pass(run.pass_)} //-----\n{text.rstrip()}\n")


def count_ops(module: ModuleOp) -> int:
    """The number of ops in the module at any depth, the module itself left out."""
    return sum(1 for _ in module.walk()) - 1


def _row(number: int, stage: Stage) -> str:
    def shown(value: int | None) -> str:
        return "" if value is None else str(value)

    def size(value: int | None) -> str:
        return "" if value is None else f"{value:,}"

    milliseconds = "" if stage.seconds is None else f"{1e3 * stage.seconds:.2f}"
    file = f"[{stage.file}]({stage.file})" if stage.file else "*no change*"
    counts = [shown(stage.ops_before), shown(stage.ops_after), size(stage.memory.peak), size(stage.memory.kept)]
    return f"| {number:02d} | `{stage.label}` | {' | '.join(counts)} | {milliseconds} | {file} |"
