"""``wg.diff(a, b)``: what is different between two programs, dumps, pipelines, strategies or commits.

>>> import wengert as wg
>>> p = wg.parse('''
... func.func public @main(%x: tensor<f64>) -> tensor<f64> {
...   %0 = stablehlo.sine %x : tensor<f64>
...   return %0 : tensor<f64>
... }''')
>>> difference = wg.diff(p, p.apply("simplify"))
>>> difference.equal
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wengert.ir.pipeline.stages import stage
from wengert.lab.diff.changes import Change, Classifier, SourceChanges, by_source
from wengert.lab.diff.figures import UNKNOWN, Weights, weights
from wengert.lab.diff.first_difference import FirstDifference
from wengert.lab.diff.graph import Graph
from wengert.lab.diff.matching import Matching, matched
from wengert.lab.diff.module_graph import module_graph
from wengert.lab.diff.places import LineMap
from wengert.lab.diff.text_graph import text_graph
from wengert.lab.inspection.sources import Place, Sources
from wengert.lab.inspection.subject import Subject, subject_of
from wengert.lab.plain import plain
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.analysis.symbolic.polynomial import Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns


@dataclass(frozen=True)
class Total:
    """A figure of both programs: ``ops``, ``flops``, ``kept`` or ``peak``, the last two in bytes."""

    name: str
    a: Polynomial
    b: Polynomial


@dataclass(frozen=True)
class Difference:
    """The difference between two programs, ``a`` and ``b``.

    Attributes:
        a, b: what they are called.
        sources: the changes, by the place in the source that they come from.
        counts: how many ops were added, removed, changed, and are alike.
        rewired: of those alike, how many read an op that was added, or another one in place of an op that was removed.
        signature: what is different in arguments and results, as lines.
        totals: figures of both; only ``ops`` where the level has no others.
        values: what running both on the same inputs has shown, if they were run.
    """

    a: str
    b: str
    sources: tuple[SourceChanges, ...]
    counts: Mapping[str, int]
    rewired: int = 0
    signature: tuple[str, ...] = ()
    totals: tuple[Total, ...] = ()
    values: FirstDifference | None = None
    matching: Matching | None = field(default=None, repr=False, compare=False)

    @property
    def equal(self) -> bool:
        """Whether nothing is different: no op, no argument or result, and no value where both were run."""
        return not (self.counts["added"] or self.counts["removed"] or self.counts["changed"] or self.signature) and (self.values is None or self.values.equal)

    @property
    def changes(self) -> tuple[Change, ...]:
        """All changes."""
        return tuple(change for source in self.sources for change in source.changes)

    @property
    def headline(self) -> str:
        """``+48 -0 ~6, 137 alike``."""
        count = self.counts
        return f"+{count['added']} -{count['removed']} ~{count['changed']}, {count['alike']} alike"

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds; polynomials as text."""
        entries = [_source_json(source) for source in self.sources]
        totals = {total.name: {"a": _number(total.a), "b": _number(total.b)} for total in self.totals}
        values = None if self.values is None else self.values.to_json()
        head = {"a": self.a, "b": self.b, "equal": self.equal, **self.counts, "rewired": self.rewired, "signature": list(self.signature)}
        return {**head, "totals": totals, "sources": entries, "values": values}

    def render(self, *, color: bool = False, limit: int | None = None) -> str:
        """The difference as text, with the colours of a terminal or without; at most ``limit`` sources."""
        from wengert.lab.diff.text import render

        return render(self, color, limit)

    def __str__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        from wengert.lab.diff.markup import html_of

        return html_of(self)


def diff(a: Any, b: Any, *, inputs: Any = None, rtol: float | None = None, atol: float = 0.0) -> Difference:
    """Compares two programs: what is different, op by op.

    Ops are matched by what they compute, by what becomes of them, by the source that they come from and by their neighbours, and not by the names of values:
    an op that is inserted is one change (:mod:`wengert.lab.diff.matching`).

    Args:
        a: a program (a derivative is one: ``p.vjp()``, and so is ``p.apply(pipeline)``), or a subject of :mod:`wengert.lab.inspection.subject`.
        b: another one.
        inputs: arrays on which both are run, to name the first value that differs; None to compare the text alone.
        rtol: tolerance of values relative to the largest one of an array; by default 1e-9 in f64 and 1e-4 in less.
        atol: absolute tolerance.

    Raises:
        InputError: one of them is no program; or the inputs do not fit both.
    """
    one, other = _subject(a), _subject(b)
    difference = compared(one, other)
    if inputs is None:
        return difference
    from wengert.lab.diff.values import first_difference

    assert difference.matching is not None
    return replace(difference, values=first_difference(one, other, difference.matching, inputs, rtol, atol))


@stage()
def compared(a: Subject, b: Subject, texts: Mapping[str, str] | None = None) -> Difference:
    """Compares two subjects of one form. Raises InputError for an assembly and a program.

    ``texts``: the only files whose lines are shown, by name; by default every file that a location names is read.
    """
    if (a.form == "mlir") != (b.form == "mlir"):
        raise InputError(f"{a.title} is {a.form} and {b.title} is {b.form}: only dumps of one kind can be compared op by op")
    graphs = _graph(a), _graph(b)
    sources = (Sources(a.sources), Sources(b.sources)) if texts is None else (Sources(texts, others=False), Sources(texts, others=False))
    files = _counterparts(*graphs)
    lines = LineMap(*sources, files)
    matching = matched(*graphs, lines.translated)
    heavy = _weights(a, b, matching)
    classifier = Classifier(*graphs, matching, heavy, lines.translated)
    placed = classifier.run()

    def line(place: Place) -> str:
        return sources[1].line(place) or sources[0].line(place)

    counts = {kind: sum(change.kind == kind for *_, change in placed) for kind in ("added", "removed", "changed")}
    counts["alike"] = sum(1 for _ in graphs[0].ops) - counts["removed"] - counts["changed"]
    totals = _totals(graphs, heavy)
    signature = tuple(_signature(a, b))
    return Difference(a.title, b.title, by_source(placed, classifier.peaks(), line), counts, classifier.rewired, signature, totals, None, matching)


def _subject(given: Any) -> Subject:
    if isinstance(given, Subject):
        return given
    if not isinstance(given, Program):
        raise InputError(f"diff takes programs, found {type(given).__name__}: wg.load, wg.parse, wg.from_jax and wg.jit(f).program(x) make them")
    return subject_of(given)


def _graph(subject: Subject) -> Graph:
    return module_graph(subject.printed) if subject.form == "mlir" else text_graph(subject.text, subject.form, subject.name)


def _counterparts(a: Graph, b: Graph) -> dict[str, str]:
    """The file that only the first program comes from, by that which only the second one comes from: two versions of one, two dumps."""
    ours, theirs = ({node.origin[0] for node in graph.nodes if node.origin[0]} for graph in (a, b))
    only, others = ours - theirs, theirs - ours
    return {only.pop(): others.pop()} if len(only) == len(others) == 1 else {}


def _weights(a: Subject, b: Subject, matching: Matching) -> tuple[Weights, Weights]:
    if a.form != "mlir":
        return UNKNOWN, UNKNOWN
    unknowns = Unknowns()
    both = weights(a.printed, a.program.entry, unknowns), weights(b.printed, b.program.entry, unknowns)
    if not (both[0].known and both[1].known):
        return UNKNOWN, UNKNOWN
    return both[0], both[1].renamed({other.op: one.op for one, other in matching.pairs()}, both[0])


def _totals(graphs: tuple[Graph, Graph], heavy: tuple[Weights, Weights]) -> tuple[Total, ...]:
    ops = [Polynomial.of(sum(1 for _ in graph.ops)) for graph in graphs]
    totals = [Total("ops", *ops)]
    if heavy[0].known:
        totals.append(Total("flops", heavy[0].total_flops, heavy[1].total_flops))
        totals += [Total(name, *(Polynomial.of(sum(getattr(w, name).values())) for w in heavy)) for name in ("kept", "peak")]
    return tuple(totals)


def _signature(a: Subject, b: Subject) -> list[str]:
    """What is different in the arguments and results of the two programs."""
    if a.form != "mlir":
        return []
    lines: list[str] = []
    for word in ("arguments", "results"):
        ours, theirs = ([p.type for p in getattr(subject.program.signature, word)] for subject in (a, b))
        if ours != theirs:
            lines.append(f"{word}: ({', '.join(map(str, ours))}) and ({', '.join(map(str, theirs))})")
    return lines


def _number(figure: Polynomial) -> Any:
    constant = figure.constant
    return str(figure) if constant is None else plain(int(constant))


def _source_json(source: SourceChanges) -> dict[str, Any]:
    file, line, column = source.place
    changes = [
        {**plain({k: getattr(c, k) for k in ("kind", "before", "after", "derivation", "notes", "kept")}), "flops": _number(c.flops)} for c in source.changes
    ]
    head = {"file": file, "line": line, "column": column, "text": source.text}
    return {**head, "flops": _number(source.flops), "kept": source.kept, "peak": source.peak, "changes": changes}
