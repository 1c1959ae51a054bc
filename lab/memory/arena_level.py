"""The timeline of a compiled program, read off its IR on buffers: what the arena holds while each kernel runs, where, and which of it is free.

Liveness backward over the launches of the entry, as in :mod:`wengert.transforms.analysis.memory`: a buffer lives from the launch that writes it to the last
one that reads it. Inputs, results and constants are allocated throughout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import buffers as ops
from wengert.dialects.kernel.memory import ALIGNMENT, Space, byte_size, space_of, value_type
from wengert.ir.location.locations import provenance
from wengert.ir.traversal import all_ops, ops_in, ops_of
from wengert.lab.draw.graph import short_type
from wengert.lab.inspection.naming import SourceNames, plain_name, source_line
from wengert.lab.memory.reach import reached_by
from wengert.lab.memory.timeline import Piece, Role, Step, Timeline
from wengert.runtime.functions import entry_function, signature_of
from wengert.transforms.analysis.memory import arena_spans, buffers_of

Span = tuple[int, int]


def arena_timeline(module: ModuleOp, names: SourceNames, cotangents: Sequence[int] = (), results: int = 0) -> Timeline:
    """The timeline of a module on buffers.

    Args:
        module: the module after ``bufferize``.
        names: the names of the source.
        cotangents: the numbers of the arguments that are cotangents, of a reverse derivative.
        results: how many of its results are those of the primal.
    """
    function = entry_function(module, "main")
    steps = [op for op in ops_in(function.body.block)[:-1] if not isinstance(op, ops.AllocOp | ops.ViewOp | ops.GlobalOp)]
    lives = list(_lives(steps))
    reached = reached_by(function, steps, cotangents) if cotangents else [set[SSAValue]() for _ in steps]
    split = next((number for number, values in enumerate(reached) if values), None)
    forward = _forward(function, steps, results) if cotangents else 0
    describe = Describer(names, steps, reached, forward)
    pieces = [*describe.given(function), *describe.constants(function), *(describe.piece(life) for life in lives)]
    arena = sum(byte_size(op.memref) for op in ops_of(function, ops.AllocOp) if space_of(op.memref.type) is Space.ARENA)
    shown = tuple(Step(describe.kernel(op), _line(op)) for op in steps) or (Step("return", ("", 0)),)
    made = Timeline("arena", shown, tuple(pieces), split, arena)
    there = [life for life in lives if life.first <= made.peak_step <= life.last]
    return replace(made, holes=tuple(_holes(there, arena)), padding=sum(life.bytes - life.exact for life in there))


@dataclass
class _Life:
    """A buffer in the arena: its range in units of the alignment, the steps between which it is live, a value that it is seen through, and the last step
    that reads it, which may be one that overwrites it."""

    low: int
    high: int
    first: int
    last: int
    value: SSAValue
    reader: int
    scratch: bool = False

    @property
    def bytes(self) -> int:
        return (self.high - self.low) * ALIGNMENT

    @property
    def exact(self) -> int:
        return min(byte_size(self.value), self.bytes)


def _lives(steps: Sequence[Operation]) -> Iterator[_Life]:
    """Every buffer in the arena, from the last op to the first."""
    live: dict[Span, _Life] = {}
    for number in range(len(steps) - 1, -1, -1):
        written, read, scratch = buffers_of(steps[number])
        over = [span for value in (*written, *scratch) for span in arena_spans([value])]
        for values, is_scratch in ((written, False), (scratch, True)):
            for value in values:
                yield from _begin(live, value, number, is_scratch)
        for value in read:
            for low, high in arena_spans([value]):
                overwritten = any(start < high and low < end for start, end in over)
                _use(live, value, (low, high), number - 1 if overwritten else number, number)
    for life in live.values():
        life.first = 0
        yield life


def _begin(live: dict[Span, _Life], value: SSAValue, number: int, scratch: bool) -> Iterator[_Life]:
    """Ends the lives (backward) of the buffers in the range that an op writes."""
    for low, high in arena_spans([value]):
        within = [span for span in live if low <= span[0] and span[1] <= high]
        lives = [live.pop(span) for span in within]
        if not any((life.low, life.high) == (low, high) for life in lives):
            last, reader = max((life.last for life in lives), default=number), max((life.reader for life in lives), default=number)
            lives = [_Life(low, high, number, last, value, reader, scratch)]
        for life in lives:
            life.first, life.value = number, value if (life.low, life.high) == (low, high) else life.value
            yield life


def _use(live: dict[Span, _Life], value: SSAValue, span: Span, number: int, reader: int) -> None:
    """Makes a buffer live up to a step, unless it is part of one that is; the step ``reader`` reads it, and may overwrite it."""
    low, high = span
    if number < 0 or any(start <= low and high <= end for start, end in live):
        return
    within = [s for s in live if low <= s[0] and s[1] <= high]
    parts = [live.pop(s) for s in within]
    last, reader = max([number, *(life.last for life in parts)]), max([reader, *(life.reader for life in parts)])
    live[span] = _Life(low, high, number, last, value, reader)


def _forward(function: FuncOp, steps: Sequence[Operation], results: int) -> int:
    """The number of the step behind the last that writes a result of the primal."""
    outputs = set([a for a in function.body.block.args if ops.is_result(function, a.index)][:results])
    return 1 + max((number for number, op in enumerate(steps) if any(ops.location(value)[0] in outputs for value in buffers_of(op)[0])), default=-1)


class Describer:
    """Describes buffers by the names and places of the source."""

    def __init__(self, names: SourceNames, steps: Sequence[Operation] = (), reached: Sequence[set[SSAValue]] = (), forward: int = 0):
        self.names = names
        self.steps = steps
        self.reached = reached
        self.forward = forward
        self.end = max(len(steps) - 1, 0)

    def given(self, function: FuncOp) -> Iterator[Piece]:
        """The inputs and the results."""
        signature, counts = signature_of(function), {True: 0, False: 0}
        for argument in function.body.block.args:
            is_result = ops.is_result(function, argument.index)
            parameter = (signature.results if is_result else signature.arguments)[counts[is_result]]
            name = parameter.name or (f"result {parameter.position}" if is_result else self.names.argument(parameter.position))
            counts[is_result] += 1
            role: Role = "result" if is_result else "input"
            yield Piece(role, name, "", _type(argument), ("", 0), byte_size(argument), 0, self.end)

    def constants(self, function: FuncOp) -> Iterator[Piece]:
        """The constants that lie in memory, those of regions among them."""
        for op in ops_of(function, ops.GlobalOp):
            yield Piece("constant", self.names.at(op.location), "constant", _type(op.memref), source_line(op.location), byte_size(op.memref), 0, self.end)

    def _is_kept(self, life: _Life) -> bool:
        """Whether a buffer holds what the forward part has made and the last to read it is a step that cotangents reach."""
        if life.first >= self.forward or life.first == life.reader or not self.reached[life.reader]:
            return False
        spans = arena_spans(list(self.reached[life.first]))
        return not any(low < life.high and life.low < high for low, high in spans)

    def piece(self, life: _Life) -> Piece:
        """A buffer in the arena."""
        writer = self.steps[life.first]
        role: Role = "inside" if life.scratch else "kept" if self._is_kept(life) else "temporary"
        name = self.names.at(location_of(writer)).partition("#")[0] if provenance(location_of(writer)) is None else ""
        title = "scratch" if life.scratch else self.title(writer)
        return Piece(role, name, title, _type(life.value), _line(writer), life.bytes, life.first, life.last, life.low * ALIGNMENT)

    def kernel(self, op: Operation) -> str:
        """What a step computes: the value in the source, and :meth:`title`."""
        name = "" if provenance(location_of(op)) is not None else self.names.at(location_of(op)).partition("#")[0]
        return f"{name} {self.title(op)}".strip()

    def line(self, op: Operation) -> tuple[str, int]:
        """The place in the source that a step comes from."""
        return _line(op)

    def title(self, op: Operation) -> str:
        """What a step does: the kind of its kernel, and the role of what it computes in a derivative."""
        if not isinstance(op, ops.LaunchOp):
            return plain_name(op)
        kernel = op.kernel
        inner = kernel.regions[0].block.first_op if kernel.name in ("kernel.native", "kernel.interpret") else None
        kind = plain_name(inner if inner is not None else kernel)
        known = provenance(location_of(op))
        name = self.names.at(location_of(op)).partition("#")[0]
        return kind if known is None else f"{kind}, {known.role.value} of {name or plain_name(known.op_name)}"


def location_of(op: Operation) -> LocationAttr:
    """The location of an op, or of the last op in it that has a place: of a kernel, that of which it computes the result."""
    return next((inner.location for inner in (op, *reversed(all_ops(op))) if source_line(inner.location)[1]), op.location)


def _line(op: Operation) -> tuple[str, int]:
    return source_line(location_of(op))


def _type(value: SSAValue) -> str:
    return short_type(value_type(value.type))


def _holes(lives: Sequence[_Life], arena: int) -> Iterator[tuple[int, int]]:
    """The ranges of the arena that no buffer takes, as offset and bytes."""
    at = 0
    for low, high in sorted((life.low * ALIGNMENT, life.high * ALIGNMENT) for life in lives):
        if low > at:
            yield at, low - at
        at = max(at, high)
    if arena > at:
        yield at, arena - at
