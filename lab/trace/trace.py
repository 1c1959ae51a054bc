"""``p.trace(inputs)``: every value of a run by name, with its range, and where NaN and infinity begin.

    >>> import wengert as wg
    >>> p = wg.parse('''
    ... func.func public @main(%x: tensor<f64>) -> tensor<f64> {
    ...   %0 = stablehlo.log %x : tensor<f64>
    ...   %1 = stablehlo.sqrt %0 : tensor<f64>
    ...   return %1 : tensor<f64>
    ... }''')
    >>> trace = p.trace([0.5])
    >>> trace["%0"].summary.range
    '-0.6931471805599453'
    >>> print(trace.first.line)
    %1 = stablehlo.sqrt %0 : tensor<f64>

The program is run by the interpreter, so values are those of the text, op by op; compiled code fuses ops and may round differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from wengert.dialects.kernel.buffers import is_bufferized
from wengert.ir.location.locations import provenance
from wengert.ir.location.places import describe
from wengert.lab.inspection.printed import Printed, printed
from wengert.lab.inspection.selectors import select
from wengert.lab.inspection.sources import Sources
from wengert.lab.inspection.subject import Subject, subject_of
from wengert.lab.plain import plain
from wengert.lab.trace.first_bad import FirstBad, first_bad
from wengert.lab.trace.loops import Iteration
from wengert.lab.trace.origins import Origins
from wengert.lab.trace.summary import Summary, as_array, summary_of
from wengert.lab.trace.tracer import Execution, Record, Tracer
from wengert.runtime.arguments import bind
from wengert.runtime.dump_folders import PathLike
from wengert.runtime.errors import InputError
from wengert.runtime.functions import entry_function
from wengert.runtime.interpreter import run
from wengert.runtime.program import Program
from wengert.transforms.analysis.liveness import LOOPS


@dataclass(frozen=True)
class TracedValue:
    """A value of a run, at one time.

    Attributes:
        name: as it is printed.
        op: the op that makes it; ``argument`` for arguments.
        summary: what it was.
        place: ``file:line:col`` of its source, or ``<unknown>``.
        derivation: the role and the op that it was derived from (``cotangent of stablehlo.sine``); empty for an op as it was written.
        iteration: the iterations of the loops around it.
        times: how often it was made in all.
        bad: how often it held NaN or infinity.
        line: the op as it is printed.
        arrays: all that it was, where arrays were kept.
    """

    name: str
    op: str
    summary: Summary
    place: str
    derivation: str = ""
    iteration: Iteration = ()
    times: int = 1
    bad: int = 0
    line: str = ""
    number: int = 0
    arrays: tuple[Any, ...] = field(default=(), repr=False, compare=False)

    @property
    def array(self) -> Any:
        """The array, or one with an iteration of the loops around it in each row."""
        if not self.arrays:
            raise InputError(f"{self.name}: arrays are not kept unless keep=True is given")
        if len(self.arrays) == 1 or as_array(self.arrays[0]) is None:
            return self.arrays[0]
        return np.stack(self.arrays)

    def to_json(self) -> dict[str, Any]:
        """Everything but arrays as what JSON holds."""
        entries = plain(self)
        del entries["arrays"]
        return entries


@dataclass(frozen=True)
class Trace:
    """A run of a program.

    Attributes:
        program: what was run.
        values: the values in the order of the text, those in loops once for each iteration that is shown.
        results: a summary of each result, by name.
        first: where NaN or infinity begin; None if they do not.
    """

    program: str
    values: tuple[TracedValue, ...]
    results: tuple[tuple[str, Summary], ...]
    first: FirstBad | None = None

    def __getitem__(self, name: str) -> TracedValue:
        """The value of a name, at its first time. Raises KeyError."""
        for value in self.values:
            if value.name == name:
                return value
        raise KeyError(name)

    def __len__(self) -> int:
        return len(self.values)

    def save(self, path: PathLike) -> None:
        """Writes the arrays of all values to an .npz file, by name; those of loops have a row for each iteration. Raises InputError where arrays were not
        kept. A name that several values have (in regions beside each other) is followed by the line, as in ``%3:12``."""
        stored: dict[str, Any] = {}
        for value in self.values:
            array = value.array
            if as_array(array) is None:  # a tape
                continue
            key = value.name if value.name not in stored else f"{value.name}:{value.number}"
            if key not in stored:
                stored[key] = _storable(np.asarray(array))
        np.savez(path, **stored)

    def to_json(self) -> dict[str, Any]:
        """Everything but arrays as what JSON holds."""
        results = [{"name": name, **plain(summary)} for name, summary in self.results]
        first = None if self.first is None else self.first.to_json()
        return {"program": self.program, "values": [value.to_json() for value in self.values], "results": results, "first": first}

    def __str__(self) -> str:
        from wengert.lab.trace.text import render

        return render(self)

    def _repr_html_(self) -> str:
        from wengert.lab.trace.text import html_of

        return html_of(self)


def trace(
    program: Any, inputs: Sequence[Any] | None = None, *selectors: str, iteration: int | tuple[int, ...] | None = None, keep: bool = False, seed: int = 0
) -> Trace:
    """Runs a program in the interpreter and shows its values.

    Args:
        program: a program (a derivative is one), or a subject of :mod:`wengert.lab.inspection.subject`.
        inputs: the arguments; drawn with the seed where there are none.
        selectors: the values to show (:mod:`wengert.lab.inspection.selectors`): ``"%12"``, ``"op:tanh"``, ``"p.mlir:12"``; all by default.
        iteration: of loops, the iteration to show: of the outermost loop, or of several around each other; negative ones count from the last one. By default
            the first and the last.
        keep: whether arrays are kept, all iterations of them, for ``trace["%12"].array`` and :meth:`Trace.save`.
        seed: for inputs.

    Raises:
        InputError: the inputs do not fit; a selector selects nothing; the program is on buffers, or leaves extents open.
    """
    subject = _static(program if isinstance(program, Subject) else subject_of(_program(program)), inputs)
    return _Run(subject, iteration, keep).trace(_bound(subject, inputs, seed), selectors)


def _static(subject: Subject, inputs: Sequence[Any] | None) -> Subject:
    """The subject for the shapes of these inputs, where it leaves extents open."""
    program = subject.program if inputs is None else subject.program.specialized_for(inputs)
    return subject if program is subject.program else replace(subject, transformed=program)


def _program(given: Any) -> Program:
    if not isinstance(given, Program):
        raise InputError(f"trace takes a program, found {type(given).__name__}: wg.load, wg.parse, wg.from_jax and wg.jit(f).program(x) make them")
    return given


def _bound(subject: Subject, inputs: Sequence[Any] | None, seed: int) -> list[Any]:
    from wengert.lab.inputs import random_inputs

    signature = subject.program.signature
    return list(bind(signature, tuple(inputs))) if inputs is not None else list(random_inputs(signature, seed))


class _Run:
    def __init__(self, subject: Subject, iteration: int | tuple[int, ...] | None, keep: bool):
        self.subject = subject
        self.module: ModuleOp = subject.printed
        self.entry = subject.program.entry
        if is_bufferized(entry_function(self.module, self.entry)):
            raise InputError(f"{subject.title} is on buffers, which hold many values; trace an earlier stage, such as that before 'bufferize'")
        self.iteration = (iteration,) if isinstance(iteration, int) else iteration
        self.keep = keep
        self.text: Printed = printed(self.module)
        self.sources = Sources(subject.sources)

    def trace(self, inputs: Sequence[Any], selectors: Sequence[str]) -> Trace:
        origins = Origins(self.module)
        negative = self.iteration is not None and any(i < 0 for i in self.iteration)
        tracer = Tracer(origins, self._wanted(selectors), None if self.iteration is None or negative else self._is_chosen, self.keep)
        results = run(self.module, list(inputs), entry=self.entry, counter=tracer)
        function = entry_function(self.module, self.entry)
        names = [parameter.label for parameter in self.subject.program.signature.results]
        summaries = tuple(zip(names, map(summary_of, results), strict=True))
        returned = function.body.block.last_op
        reached = [(name, summary, origins.of(value)) for (name, summary), value in zip(summaries, returned.operands if returned else (), strict=False)]
        values = [value for key in self._ordered(tracer) for value in self._values(tracer.records[key])]
        return Trace(self.subject.title, tuple(values), summaries, first_bad(origins, reached, self.text, self.sources))

    def _wanted(self, selectors: Sequence[str]) -> set[SSAValue] | None:
        if not selectors:
            return None
        wanted: set[SSAValue] = set()
        for selector in selectors:
            for selected in select(self.module, selector, entry=self.entry, sources=self.subject.sources):
                by_name = selector.lstrip().startswith(("%", "arg", "result"))
                wanted.update((selected.value,) if by_name and selected.value is not None else selected.op.results)
        return wanted

    def _is_chosen(self, iteration: Iteration) -> bool:
        """Whether what runs in these iterations of the loops around it is asked for."""
        wanted = self.iteration
        return wanted is not None and bool(iteration) and all(i == j for i, j in zip(wanted, iteration, strict=False)) and len(iteration) >= len(wanted)

    def _ordered(self, tracer: Tracer) -> list[SSAValue]:
        """The values that were recorded, in the order of the text."""
        order: list[SSAValue] = []
        for op in self.module.walk():
            order += op.results
            for region in op.regions[-1:] if isinstance(op, LOOPS) else op.regions:  # the condition of a loop is given what its body is given
                for block in region.blocks:
                    order += block.args
        return [value for value in order if value in tracer.records]

    def _values(self, record: Record) -> list[TracedValue]:
        """A record as it is shown: once, or for the first and the last iteration, or for the one that is asked for."""
        assert record.first is not None
        assert record.last is not None
        if self.iteration is not None and record.first.iteration:
            shown = record.chosen[:1] + (record.chosen[-1:] if len(record.chosen) > 1 else [])
            if any(i < 0 for i in self.iteration):
                shown = [record.last]
        else:
            shown = [record.first] if record.times == 1 else [record.first, record.last]
        return [self._value(record, execution) for execution in shown]

    def _value(self, record: Record, execution: Execution) -> TracedValue:
        value = record.value
        op = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
        assert op is not None
        is_argument = isinstance(value, BlockArgument)
        location = value.location if is_argument else op.location
        known = None if is_argument else provenance(location)
        return TracedValue(
            self.text.name_of(value),
            "argument" if is_argument else op.name,
            execution.summary,
            describe(location),
            f"{known.role} of {known.op_name}" if known is not None and known.role != "primal" else "",
            execution.iteration,
            record.times,
            record.bad,
            self.text.line_of(op),
            self.text.number_of(op),
            tuple(record.arrays),
        )


def _storable(array: Any) -> Any:
    """An array in a dtype that .npz keeps: small floats are stored as float32, without loss."""
    return array.astype(np.float32) if array.dtype.kind == "V" or array.dtype.name not in np.sctypeDict else array
