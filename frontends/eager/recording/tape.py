"""The tape as IR: what was recorded, as the block of a function.

A :class:`Tape` listens to everything that runs inside of it, tracked or not, backward passes included. :func:`tape_of` is the tape
behind given tensors, from the records that they hold. Both are lists of steps over numbered values, which is SSA already: a change
in place gives a new number to the tensor that it changed, and a change through a view one to the base.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from wengert.eager.checkpoint import Frame
from wengert.eager.errors import AutogradError
from wengert.eager.operations.memory.inplace import DETACH, UNRECORDED, copy_slices
from wengert.eager.recording import dispatch
from wengert.eager.recording.function_record import FunctionRecord
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation
from wengert.eager.recording.places import Place, here
from wengert.eager.recording.program import Array, Type, program_of
from wengert.eager.recording.record import NUMBERS, Deferred, Output, Record, Source, reachable
from wengert.eager.recording.steps import Steps

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor
    from wengert.runtime.program import Program


class RecordedTape:
    """Steps that can be printed and turned into a program."""

    def __init__(self, steps: Steps, outputs: Sequence[int] | None = None):
        self.steps = steps
        self._outputs = outputs

    @property
    def outputs(self) -> list[int]:
        """The values that the tape ends in: those asked for, or those that nothing on it uses."""
        return self.steps.unused() if self._outputs is None else list(self._outputs)

    def program(self) -> Program:
        """The tape as a program, to be differentiated, compiled or printed like any other. Its arguments are the tensors that come
        from outside, in the order in which they were first used."""
        return program_of(self.steps.module(self.outputs), "tape")

    def ir(self, locations: bool = False) -> str:
        """The tape as StableHLO text, with the places in the user's code if asked."""
        return self.program().text(locations=locations)

    def __len__(self) -> int:
        return len(self.steps.steps)


def tape_of(*outputs: Tensor) -> RecordedTape:
    """The recorded operations that led to these tensors."""
    sources = [dispatch.source_of(y) for y in outputs]
    records = reachable([s.record if isinstance(s, Output) else s for s in sources if isinstance(s, Record | Output)])
    steps, first, leaves = Steps(), dict[Record, int](), dict[int, int]()

    def value(source: Source, type: Type) -> int:
        if isinstance(source, Record):
            return first[source]
        if isinstance(source, Output):
            return first[source.record] + source.number
        if isinstance(source, int | float):
            return steps.constant(source, type[1])
        if source is None:
            return steps.input(type)
        if id(source) not in leaves:
            leaves[id(source)] = steps.input(type)
        return leaves[id(source)]

    for record in records:
        if isinstance(record, FunctionRecord):
            raise AutogradError(f"{record.name()} is a function written in Python, which has no IR")
        signature = record.signature
        operands = [value(s, t) for s, t in zip(record.inputs, signature.types, strict=True)]
        first[record] = steps.append(signature.operation, signature.params, operands, len(signature.results), record.place)[0]
    steps.regions = _regions(records)
    return RecordedTape(steps, [value(s, (y.array.shape, y.array.dtype)) for s, y in zip(sources, outputs, strict=True)])


def _regions(records: Sequence[Record]) -> list[tuple[int, int]]:
    """The ranges of records, by position, that lie in checkpoints; inner checkpoints before outer ones."""
    frames: set[Frame] = set()
    for record in records:
        _, deferred = record.holds()
        while deferred is not None and isinstance(deferred.frame, Frame) and deferred.frame not in frames:
            frames.add(deferred.frame)
            deferred = deferred.frame.call if isinstance(deferred.frame.call, Deferred) else None
    numbers = [record.number for record in records]
    regions = [(bisect_left(numbers, f.first), bisect_left(numbers, f.last)) for f in frames]
    return sorted(regions, key=lambda region: region[1] - region[0])


@dataclass(frozen=True)
class Seen:
    """A value that Python code looked at: what it was, and where it was looked at."""

    value: int
    observed: Any
    place: Place | None

    @property
    def is_array(self) -> bool:
        """Whether all elements were looked at, rather than one number."""
        return isinstance(self.observed, np.ndarray)


class Tape(RecordedTape):
    """Listens to what runs inside its ``with`` block.

    Attributes:
        externals: the tensors that come in from outside, by the number of their value.
        draws: functions that draw the random inputs anew, by the number of their value.
        seen: the values that Python code looked at.
        effects: tensors from outside that were changed in place.
        refused: why what was recorded does not say all that happened, if so.
    """

    def __init__(self, rules: bool = False) -> None:
        super().__init__(Steps())
        self.externals: dict[int, Tensor] = {}
        self.draws: dict[int, Callable[[], Array]] = {}
        self.seen: list[Seen] = []
        self.effects: dict[int, Tensor] = {}
        self.gradients: dict[int, Tensor] = {}
        """Tensors whose ``grad`` was set, by identity."""
        self.gradients_read: dict[int, tuple[Tensor, Tensor | None]] = {}
        """Tensors whose ``grad`` was read before it was set, with what it was."""
        self.refused = ""
        self.once = ""
        """The reason why a replay would differ from this run, although all that happened was recorded; empty if it would not."""
        self._numbers: dict[int, tuple[int, int]] = {}
        self._alive: list[Any] = []
        self._aliases: set[int] = set()
        self._holders: dict[int, Tensor] = {}
        self._start = next(NUMBERS)
        self._outer: Tape | None = None
        self.has_rules = rules
        """Whether custom functions are recorded with their rules, for which ``backward`` is run when they are."""

    def __enter__(self) -> Self:
        self._outer = STATE.tape
        STATE.tape = self
        return self

    def __exit__(self, *exception: object) -> None:
        STATE.tape = self._outer

    # -- values

    def number(self, x: Tensor, before: int = 0) -> int:
        """The value that x is now, or was so many changes of its memory ago."""
        version = (0 if x.storage is None else x.storage.version) - before
        known = self._numbers.get(id(x))
        if known is not None and known[1] == version:
            return known[0]
        view = x.view_of
        if view is not None and (known is not None or id(view.base) in self._numbers):
            value = self.number(view.base, before)
            for op, params in view.path:
                (value,) = self.steps.append(op, params, (value,), 1, here())
            return self._name(x, value, version)
        if known is not None:
            self.refuse("memory was changed through a tensor that shares it but is not a view (detach() or data)")
        value = self.steps.input((x.array.shape, x.array.dtype))
        self.externals[value] = x
        return self._name(x, value, version)

    def _name(self, x: Tensor, value: int, version: int) -> int:
        if id(x) not in self._numbers:
            self._alive.append(x)
            self._holders.setdefault(id(x.array), x)
        self._numbers[id(x)] = (value, version)
        return value

    def rename(self, x: Tensor, value: int) -> None:
        """x is this value from now on."""
        self._name(x, value, 0 if x.storage is None else x.storage.version)

    def knows(self, x: Tensor) -> bool:
        """Whether x was made or used inside."""
        return id(x) in self._numbers

    def _operands(self, operands: Sequence[Tensor | float], params: Any, changed: Tensor | None = None) -> list[int]:
        tensors = [x for x in operands if not isinstance(x, int | float)]
        dtype: np.dtype[Any] = tensors[0].array.dtype if not isinstance(params, np.dtype) else cast(Any, params)
        numbers: list[int] = []
        for x in operands:
            if isinstance(x, int | float):
                numbers.append(self.steps.constant(x, dtype))
            else:
                shares = changed is not None and x.storage is changed.storage
                numbers.append(self.number(x, 1 if shares else 0))
        return numbers

    # -- what operations call

    def created(self, x: Tensor) -> None:
        """A tensor was made of data."""
        number = self.steps.new()
        self.steps.constants[number] = x.array.copy()
        self._name(x, number, 0)

    def note(self, op: Operation, params: Any, operands: Sequence[Tensor | float], results: Sequence[Tensor]) -> None:
        """An operation ran."""
        constant = not STATE.recording and any(getattr(x, "tracked", False) for x in operands)
        numbers = self._operands(operands, params)
        values = self.steps.append(op, params, numbers, len(results), here(), constant)
        if op is DETACH:
            self._aliases.update(id(x) for x in results)
        for x, value in zip(results, values, strict=True):
            self._name(x, value, 0 if x.storage is None else x.storage.version)

    def changed(self, op: Operation, params: Any, operands: Sequence[Tensor | float]) -> None:
        """An operation has changed its first operand in place."""
        x: Any = operands[0]
        target = x if x.view_of is None else x.view_of.base
        if id(target) in self._aliases:
            self.refuse("a tensor was changed through detach(), which leaves no trace on it")
        if x.view_of is not None:
            op, params = copy_slices(op, x.view_of.path, params), None
        constant = not STATE.recording and any(getattr(v, "tracked", False) for v in (target, *operands))
        dtype = x.array.dtype
        numbers = self._operands((target, *operands[1:]), params if isinstance(params, np.dtype) else dtype, changed=target)
        (value,) = self.steps.append(op, params, numbers, 1, here(), constant)
        if constant and target.tracked:
            (value,) = self.steps.append(UNRECORDED, None, (value, numbers[0]), 1, here())
        self._name(target, value, target.storage.version)
        if any(target is outside for outside in self.externals.values()):
            self.effects[id(target)] = target

    def concretized(self, x: Tensor, observed: Any) -> None:
        """Python code has looked at a value, and not because a checkpoint is computed again."""
        if STATE.keeper is not None and STATE.keeper.is_again:
            return
        self.seen.append(Seen(self.number(x), observed, here()))

    def rewrapped(self, x: Tensor) -> None:
        """x is a new tensor of an array that some tensor on this tape has: what a record kept."""
        holder = self._holders.get(id(x.array))
        if holder is None:
            self.refuse("a derivative needs a value that the tape does not know")
        else:
            self._name(x, self.number(holder), 0)

    def swept(self, records: Sequence[Record]) -> None:
        """These records are run backwards."""
        if any(r.number < self._start for r in records):
            self.refuse("a gradient is taken through what was recorded outside")

    def drawn(self, x: Tensor, draw: Callable[[], Array]) -> None:
        """Random numbers were drawn."""

        def new() -> int:
            value = self.steps.input((x.array.shape, x.array.dtype))
            self.draws[value] = draw
            return value

        self._name(x, new() if STATE.keeper is None else STATE.keeper.draw(self, new), 0)

    def gradient_read(self, x: Tensor, gradient: Tensor | None) -> None:
        """The ``grad`` of a tensor was read."""
        if id(x) not in self.gradients and id(x) not in self.gradients_read and not self._made_inside(x):
            self._alive.append(x)
            self.gradients_read[id(x)] = (x, gradient)

    def gradient_set(self, x: Tensor) -> None:
        """The ``grad`` of a tensor was set."""
        self._alive.append(x)
        self.gradients[id(x)] = x

    def _made_inside(self, x: Tensor) -> bool:
        known = self._numbers.get(id(x))
        return known is not None and known[0] not in self.steps.inputs

    def refuse(self, reason: str) -> None:
        """Something happened that the tape cannot say."""
        self.refused = self.refused or reason

    def only_once(self, reason: str) -> None:
        """Something happened that running the tape does not repeat."""
        self.once = self.once or reason

    def program(self) -> Program:
        """The tape as a program. Raises AutogradError if something ran that has no IR."""
        if self.refused:
            raise AutogradError(f"the tape does not say all that happened: {self.refused}")
        return super().program()
