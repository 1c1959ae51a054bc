"""Dumps: every stage of a program as a numbered file, and an index of them.

``--dump-dir d`` leaves ``d/00-input.mlir``, ``d/01-vjp.mlir``, ... Each file's header says by which pipeline it came about
and how to go on from it. ``d/index.md`` lists all passes with op counts and times; a pass that changed nothing is marked
there and has no file. What translations write (LLVM text, assembly) follows in the same folder and index::

    dumper = Dumper("d")
    pipeline.run(module, observer=dumper)
    pipeline.translate(module, observer=dumper)
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.observers import PassRun
from wengert.ir.pass_options import print_pass
from wengert.ir.passes import Pipeline
from wengert.ir.printing.printer import print_module
from wengert.ir.reproducers import opt_command
from wengert.ir.translations import COMMENTS, Form, Translation

TITLE = "# Stages of a compilation"
_OURS = re.compile(r"\d\d+-[\w.-]+")


class Stage(Struct, frozen=True):
    """A row of the index. ``file`` is empty where the pass changed nothing; op counts and times are None where unknown."""

    label: str
    file: str
    ops_before: int | None = None
    ops_after: int | None = None
    seconds: float | None = None


class Dumper:
    """Writes stages into a folder. It is an observer of pipelines, several of which may follow one another."""

    def __init__(self, directory: str | Path, *, locations: bool = False):
        self.directory = Path(directory)
        self.locations = locations
        self.stages: list[Stage] = []
        self._pipelines: list[str] = []
        self._text = ""
        self._ops = 0
        self._clean()

    def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """Writes the input (unless it is what the last pipeline left)."""
        text = self._print(module)
        if text != self._text:
            self._ops = count_ops(module)
            self._write_ir("input", text, Stage("input", "", None, self._ops), str(pipeline), "")

    def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
        """Writes what a pass left, if it changed anything."""
        text, ops = self._print(module), count_ops(module)
        stage = Stage(print_pass(run.pass_), "", self._ops, ops, run.seconds)
        self._ops = ops
        self._pipelines.append(stage.label)
        if text == self._text:
            self._append(stage)
        else:
            self._write_ir(run.pass_.name, text, stage, str(pipeline[run.position :]), ",".join(self._pipelines))

    def translated(self, run: PassRun, pipeline: Pipeline, text: str) -> None:
        """Writes the text of a translation."""
        assert isinstance(run.pass_, Translation)
        stage = Stage(print_pass(run.pass_), "", seconds=run.seconds)
        self._pipelines.append(stage.label)
        self._write(run.pass_.name, text, run.pass_.writes, stage, str(pipeline[run.position :]), ",".join(self._pipelines))

    def _write_ir(self, name: str, text: str, stage: Stage, rest: str, done: str) -> None:
        self._write(name, text, "mlir", stage, rest, done)
        self._text = text

    def _write(self, name: str, text: str, form: Form, stage: Stage, rest: str, done: str) -> None:
        file = self._file(name, form)
        path = self.directory / file
        following = f"go on with: {opt_command(rest, path)}" if rest or form == "mlir" else "the last stage"
        header = [f"{COMMENTS[form]} {line}" for line in (f"stage {file}", f"pipeline so far: {done or '(none)'}", following)]
        path.write_text("\n".join([*header, "", text.rstrip("\n"), ""]))
        self._append(Stage(stage.label, file, stage.ops_before, stage.ops_after, stage.seconds))

    def _append(self, stage: Stage) -> None:
        self.stages.append(stage)
        (self.directory / "index.md").write_text(self.index())

    def index(self) -> str:
        """The index as Markdown."""
        rows = [_row(number, stage) for number, stage in enumerate(self.stages)]
        made = time.strftime("%Y-%m-%d %H:%M:%S")
        table = ["| # | pass or stage | ops before | ops after | ms | file |", "|--:|---|--:|--:|--:|---|", *rows]
        return "\n".join([TITLE, "", f"Pipeline: `{','.join(self._pipelines) or '(none)'}`. Written {made}.", "", *table, ""])

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


def count_ops(module: ModuleOp) -> int:
    """The number of ops in the module at any depth, the module itself left out."""
    return sum(1 for _ in module.walk()) - 1


def _row(number: int, stage: Stage) -> str:
    def shown(value: int | None) -> str:
        return "" if value is None else str(value)

    milliseconds = "" if stage.seconds is None else f"{1e3 * stage.seconds:.2f}"
    file = f"[{stage.file}]({stage.file})" if stage.file else "*no change*"
    return f"| {number:02d} | `{stage.label}` | {shown(stage.ops_before)} | {shown(stage.ops_after)} | {milliseconds} | {file} |"
