"""The report on a program's memory: a timeline, what the peak is made of, the holes of the arena, and what was predicted beside what is allocated.

>>> import wengert as wg
>>> p = wg.load("examples/mlp.mlir")      # doctest: +SKIP
>>> print(p.vjp().memory())               # doctest: +SKIP
>>> print(p.memory(vjp=True, level="ir")) # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from wengert.dialects.kernel.buffers import is_bufferized
from wengert.dialects.kernel.level import holds_kernels
from wengert.lab.inspection.html import folded, fragment, html_table, paragraph
from wengert.lab.inspection.naming import SourceNames, line_text
from wengert.lab.inspection.subject import Request, Subject, subject_of
from wengert.lab.inspection.terminal import WIDTH, fitted_table
from wengert.lab.kept.parts import Parts, is_reverse_derivative, parts_of
from wengert.lab.memory.arena_level import arena_timeline
from wengert.lab.memory.chart import chart
from wengert.lab.memory.differences import MemoryDifference
from wengert.lab.memory.ir_level import ir_timeline
from wengert.lab.memory.svg import svg
from wengert.lab.memory.timeline import MEANINGS, Piece, Timeline
from wengert.lab.tables import size, table
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.derived.positions import Positions
from wengert.runtime.errors import InputError
from wengert.runtime.functions import entry_function
from wengert.runtime.program import Program
from wengert.transforms.analysis.memory import memory_of
from wengert.transforms.lowering import placed

Level = Literal["ir", "arena"]
SHOWN = 20
"""Pieces of the peak that are listed as text, unless asked otherwise."""
COMPILED_AT_ONCE = 500
"""Kernels up to which a program is compiled for what is allocated without being asked."""


@dataclass(frozen=True)
class Reconciled:
    """Bytes as they are predicted from the IR, and as the compiled program has them."""

    what: str
    predicted: int
    allocated: int


@dataclass(frozen=True)
class MemoryReport:
    """The memory of a program.

    Attributes:
        title: what was looked at.
        timeline: what is live when.
        reconciled: predicted beside allocated; empty where the program was not compiled.
        file: the file that the program was read from; its name is left out beside its lines.
    """

    title: str
    timeline: Timeline
    reconciled: tuple[Reconciled, ...] = ()
    file: str = ""

    @property
    def peak(self) -> int:
        """The bytes that are live at the peak."""
        return self.timeline.peak

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH, limit: int | None = SHOWN) -> str:
        """The report as text of at most so many columns, with at most so many pieces of the peak."""
        lines = [*self._head(), "", *chart(self.timeline, min(width, WIDTH)), "", *self._roles(), "", *self._pieces(width, limit)]
        arena = self._arena()
        return "\n".join([*lines, *([""] if arena else []), *arena, *self._reconciliation()])

    def _head(self) -> list[str]:
        t = self.timeline
        step, what = t.steps[t.peak_step], "kernel" if t.level == "arena" else "op"
        level = "as compiled" if t.level == "arena" else "as if every value were stored"
        place = line_text(step.line, self.file)
        return [
            f"memory of {self.title}, {level}",
            f"peak: {size(t.peak)} while {what} {t.peak_step + 1} of {len(t.steps)} runs ({step.op}{place and ' ' + place})",
        ]

    def _roles(self) -> list[str]:
        rows = [[role, size(amount), f"{100 * amount / max(self.peak, 1):.0f} %", MEANINGS[role]] for role, amount in self.timeline.by_role().items()]
        return fitted_table(["at the peak", "bytes", "share", ""], rows, WIDTH, right=(1, 2))

    def _pieces(self, width: int, limit: int | None) -> list[str]:
        pieces = self.timeline.at_peak
        by_size = sorted(pieces, key=lambda piece: -piece.bytes)[: len(pieces) if limit is None else limit]
        header, numbers = self.header, (0, 4) if self.timeline.arena is None else (0, 4, 5)
        lines = fitted_table(header, [self.cells(piece) for piece in by_size], width, right=numbers, elastic=(2,))
        rest = len(pieces) - len(by_size)
        total = sum(piece.bytes for piece in pieces) - sum(piece.bytes for piece in by_size)
        return [*lines, f"and {rest} more of {size(total)}; --all shows them"] if rest else lines

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns of :meth:`cells`."""
        head = ("bytes", "role", "value", "at", "live")
        return head if self.timeline.arena is None else (*head, "offset")

    def cells(self, piece: Piece) -> tuple[str, ...]:
        """A piece as cells of a table."""
        t = self.timeline
        throughout = piece.first == 0 and piece.last == len(t.steps) - 1
        life = "always" if throughout and piece.offset is None else f"{piece.first + 1}-{piece.last + 1}"
        cells = (size(piece.bytes), piece.role, piece.title, line_text(piece.line, self.file), life)
        return cells if t.arena is None else (*cells, "" if piece.offset is None else str(piece.offset))

    def _arena(self) -> list[str]:
        t = self.timeline
        if t.arena is None:
            return []
        free = sum(amount for _, amount in t.holes)
        listed = ", ".join(f"{size(amount)} at {at}" for at, amount in sorted(t.holes, key=lambda hole: -hole[1])[:4])
        holes = f"{len(t.holes)} hole{'s' * (len(t.holes) != 1)} of {size(free)} ({100 * free / max(t.arena, 1):.1f} %): {listed}" if free else "no holes"
        return [f"arena: {size(t.arena)}, of which {size(t.arena - free)} are in use at the peak ({size(t.padding)} of it for alignment); {holes}"]

    def _reconciliation(self) -> list[str]:
        if not self.reconciled:
            return ["(--allocated compiles the program and compares)"] if self.timeline.level == "arena" else []
        rows = [[r.what, str(r.predicted), str(r.allocated), "exact" if r.predicted == r.allocated else "DIFFERENT"] for r in self.reconciled]
        return ["", *table(["bytes", "predicted", "allocated", ""], rows)]

    def svg(self) -> str:
        """The timeline as an SVG document."""
        return svg(self.timeline, self._head()[0])

    def diff(self, other: MemoryReport) -> MemoryDifference:
        """What is in one peak and not in the other."""
        return MemoryDifference(self.title, other.title, self.timeline, other.timeline)

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        t = self.timeline
        return {
            "title": self.title,
            "level": t.level,
            "peak_bytes": t.peak,
            "peak_step": t.peak_step,
            "steps": [{"op": step.op, "file": step.line[0], "line": step.line[1], "bytes": int(n)} for step, n in zip(t.steps, t.total, strict=True)],
            "split": t.split,
            "at_peak": [piece_json(piece) for piece in t.at_peak],
            "by_role": t.by_role(),
            "arena": None if t.arena is None else {"bytes": t.arena, "holes": [list(hole) for hole in t.holes], "padding": t.padding},
            "reconciled": {r.what: {"predicted": r.predicted, "allocated": r.allocated} for r in self.reconciled},
        }

    def _repr_html_(self) -> str:
        """For notebooks: the timeline as a picture, and what the peak is made of."""
        rows = [self.cells(piece) for piece in sorted(self.timeline.at_peak, key=lambda piece: -piece.bytes)]
        parts = [paragraph(self._head()[0]), paragraph(self._head()[1]), self.svg(), html_table(self.header, rows[:SHOWN], right=(0, 4, 5))]
        if len(rows) > SHOWN:
            parts.append(folded(f"{len(rows) - SHOWN} more", html_table(self.header, rows[SHOWN:], right=(0, 4, 5))))
        parts += [paragraph(line, faint=True) for line in self._arena()]
        if self.reconciled:
            cells = [(r.what, str(r.predicted), str(r.allocated)) for r in self.reconciled]
            parts.append(folded("predicted and allocated", html_table(("bytes", "predicted", "allocated"), cells, right=(1, 2))))
        return fragment(*parts)


def piece_json(piece: Piece) -> dict[str, Any]:
    """A piece as what JSON holds."""
    names = ("role", "name", "op", "type", "bytes", "first", "last", "offset")
    return {**{name: getattr(piece, name) for name in names}, "file": piece.line[0], "line": piece.line[1]}


def memory(
    program: Program,
    *,
    vjp: bool = False,
    jvp: bool = False,
    wrt: Positions = None,
    of: Positions = None,
    strategy: str = "transpose",
    residuals: str = "auto",
    level: Level = "arena",
    allocated: bool | None = None,
) -> MemoryReport:
    """The memory of a program, or of a derivative of it.

    Args:
        program: the program; a derivative is one too.
        vjp: look at the reverse derivative.
        jvp: look at the forward derivative.
        wrt: of a derivative, as for :meth:`wengert.Program.vjp`; so are ``of``, ``strategy`` and ``residuals``.
        of: see ``wrt``.
        strategy: see ``wrt``.
        residuals: see ``wrt``.
        level: ``arena``: buffers of the compiled program; ``ir``: every value of the core-level program, as if nothing were fused.
        allocated: compile the program and compare with what is allocated; by default programs of few kernels are.

    Raises:
        InputError, DiagnosticError: what the derivative raises; the program cannot be compiled.
    """
    if vjp and jvp:
        raise InputError("memory looks at one program: vjp or jvp, not both")
    request = Request("vjp" if vjp else "jvp", wrt, of, strategy, residuals) if vjp or jvp else None
    return memory_of_subject(subject_of(program, request), level, allocated)


def memory_of_subject(subject: Subject, level: Level = "arena", allocated: bool | None = None) -> MemoryReport:
    """The memory of what a command looks at. Raises as :func:`memory`."""
    program, names = subject.program.specialize(), SourceNames(subject.primal, subject.sources)
    on_buffers = is_bufferized(entry_function(program.module, program.entry))
    if level == "ir":
        if holds_kernels(program.module):
            raise InputError(f"{subject.title} holds kernels: --level ir is about core-level IR and StableHLO, --level arena takes kernels")
        timeline = ir_timeline(program, names, _parts(subject, program))
        return MemoryReport(subject.title, timeline, (), names.file)
    module = program.module if on_buffers else placed(runnable(program.optimized_module, as_given=program.as_given))
    cotangents, results = _cotangents(subject, program)
    timeline = arena_timeline(module, names, cotangents, results)
    few = len(timeline.steps) <= COMPILED_AT_ONCE
    compare = (few if allocated is None else allocated) and not on_buffers
    reconciled = tuple(_reconciled(program, memory_of(entry_function(module, "main")))) if compare else ()
    return MemoryReport(subject.title, timeline, reconciled, names.file)


def _parts(subject: Subject, program: Program) -> Parts | None:
    """The parts of a reverse derivative that was asked for, or that a program is as it stands."""
    if subject.transformed is not None:
        return None
    if subject.request is not None:
        return parts_of(program, subject.primal) if subject.request.mode != "jvp" else None
    return parts_of(program) if is_reverse_derivative(program) else None


def _cotangents(subject: Subject, program: Program) -> tuple[Sequence[int], int]:
    """The numbers of a program's arguments that are cotangents, and how many of its results are those of the primal."""
    if subject.request is not None and subject.request.mode == "jvp":
        return (), 0
    arguments, results = program.signature.arguments, program.signature.results
    named = [n for n, p in enumerate(arguments) if (p.name or "").startswith("cotangent of ")]
    return named, sum(not (p.name or "").startswith("cotangent of ") for p in results)


def _reconciled(program: Program, predicted: Any) -> Iterable[Reconciled]:
    """The bytes by what they are for, predicted and as the compiled program has them."""
    stats: Any = program.compile().stats
    given = {"inputs": program.signature.arguments, "results": program.signature.results}
    for what, parameters in given.items():
        yield Reconciled(what, getattr(predicted, what), sum(_nbytes(p.shape, p.dtype) for p in parameters))
    yield Reconciled("constants", predicted.constants, stats.constant_bytes)
    yield Reconciled("arena", predicted.arena, stats.arena_bytes)


def _nbytes(shape: Sequence[int], dtype: Any) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count * dtype.itemsize
