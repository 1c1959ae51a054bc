"""The stages of a pipeline, recorded as it runs: for each pass its time, the ops and the peak after it, the text, and the ops on its lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.kernel.level import holds_kernels
from wengert.ir.construction import copy_module
from wengert.ir.location.locations import provenance
from wengert.ir.pipeline.dumps import count_ops
from wengert.ir.pipeline.observers import PassRun
from wengert.ir.pipeline.options import print_pass
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.pipeline.translations import Form, Translation
from wengert.ir.plugins import is_foreign
from wengert.ir.traversal import all_ops
from wengert.lab.report.operation_lines import write_module
from wengert.lab.report.operation_table import OperationTable, Strings, operation_table
from wengert.lab.report.source_texts import Places
from wengert.transforms.analysis.stage_memory import stage_memory

Section = Literal["primal", "derivative", "kernels", "code"]
"""The part of the way down that a stage belongs to: what was written, its derivative, kernels, or text that is no MLIR."""


@dataclass(frozen=True)
class Stage:
    """A stage of a pipeline.

    Attributes:
        name: the name of the pass, or ``input``.
        label: the pass with its options, as a pipeline is written.
        section: where in the report it belongs.
        form: the language of the text.
        text: the program; empty where the pass changed nothing.
        same_as: the number of the stage whose text this one has, or -1.
        operations: the ops on the lines; None for text that is no MLIR.
        seconds: the wall time of the pass.
        ops: how many ops there are, None for text that is no MLIR.
        peak: bytes that are live at most, None where that is not known.
        kept: bytes that are kept for the reverse part, None where there is none or that is not known.
        foreign: whether the pass comes from a plug-in.
    """

    name: str
    label: str
    section: Section
    form: Form = "mlir"
    text: str = ""
    same_as: int = -1
    operations: OperationTable | None = None
    seconds: float | None = None
    ops: int | None = None
    peak: int | None = None
    kept: int | None = None
    foreign: bool = False

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        entry = {key: value for key, value in vars(self).items() if key != "operations"}
        return {**entry, "operations": self.operations.to_json() if self.operations is not None else None}


@dataclass
class StageRecorder:
    """Records stages. It is an observer of pipelines, several of which may follow one another."""

    strings: Strings
    places: Places
    said: Callable[[str], None] | None = None
    """Told the name of each stage."""
    keeps: int = 0
    """Modules of at most so many ops are kept."""
    stages: list[Stage] = field(default_factory=list[Stage])
    modules: dict[int, ModuleOp] = field(default_factory=dict[int, ModuleOp])
    """Copies of the modules of stages that changed something."""
    _text: str = ""
    _contents: list[object] = field(default_factory=list[object])
    _shown: int = -1
    """The number of the last stage that has a text."""

    def begin(self, pipeline: Pipeline, module: ModuleOp) -> None:
        """Records the input, unless it is what the last pipeline left."""
        self._record(module, "input", "", None, False, always=False)

    def after(self, run: PassRun, pipeline: Pipeline, module: ModuleOp) -> None:
        """Records what a pass left."""
        self._record(module, run.pass_.name, print_pass(run.pass_), run.seconds, is_foreign(run.pass_), always=True)

    def translated(self, run: PassRun, pipeline: Pipeline, text: str) -> None:
        """Records the text of a translation."""
        assert isinstance(run.pass_, Translation)
        self._text, self._shown = text, len(self.stages)
        self.stages.append(Stage(run.pass_.name, print_pass(run.pass_), "code", run.pass_.writes, text, seconds=run.seconds, foreign=is_foreign(run.pass_)))

    def _record(self, module: ModuleOp, name: str, label: str, seconds: float | None, foreign: bool, *, always: bool) -> None:
        if self.said is not None:
            self.said(f"{name}, {len(self.stages)} stages before it")
        contents = contents_of(module)
        if contents == self._contents:
            return self._same(name, label, seconds, foreign) if always else None
        self._contents = contents
        written = write_module(module)
        if written.text == self._text:
            return self._same(name, label, seconds, foreign) if always else None
        self._text, self._shown = written.text, len(self.stages)
        table = operation_table(module, written, self.strings, self.places)
        memory = stage_memory(module)
        stage = Stage(name, label, section_of(module), "mlir", written.text, -1, table, seconds, count_ops(module), memory.peak, memory.kept, foreign)
        self.stages.append(stage)
        if stage.ops is not None and stage.ops <= self.keeps:
            self.modules[self._shown] = copy_module(module)

    def _same(self, name: str, label: str, seconds: float | None, foreign: bool) -> None:
        before = self.stages[self._shown]
        same = Stage(name, label, before.section, same_as=self._shown, seconds=seconds, ops=before.ops, foreign=foreign)
        self.stages.append(replace(same, peak=before.peak, kept=before.kept))


def contents_of(module: ModuleOp) -> list[object]:
    """All that a module is made of, equal for what is the same objects in the same order: whether a pass has changed anything is told ten times faster by that
    than by the text."""
    contents: list[object] = []
    for op in all_ops(module):
        contents += (op, *op.operands, *op.properties.values(), *op.attributes.values())
        for values in (op.results, *(block.args for region in op.regions for block in region.blocks)):
            contents += (part for value in values for part in (value.type, value.name_hint))
    return contents


def section_of(module: ModuleOp) -> Section:
    """Where a module belongs: it holds kernels, or ops that were derived, or neither."""
    if holds_kernels(module):
        return "kernels"
    return "derivative" if any(provenance(op.location) is not None for op in module.walk()) else "primal"
