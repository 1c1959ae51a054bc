"""A function recorded once and compiled.

``compile(f)`` runs ``f`` with a tape listening, and from then on what is on the tape instead, as native code. That is right as long
as ``f`` would do the same again, so everything that it depended on is guarded: structure, shapes and dtypes of its arguments, other
arguments' values, the values of tensors that Python code looked at (``if``, ``item()``), grad mode, and what it could reach by name
(:mod:`wengert.eager.compilation.guards`). Where a guard fails, the function is run and recorded again; :attr:`Compiled.reasons` says why. What
cannot be recorded (a custom Function, for one) is run as it is.

Changes in place of tensors from outside, ``backward`` and what it does to ``grad`` are on the tape like all else, so that a whole
training step can be compiled. Other effects (printing, appending to a list) happen when the function is recorded, and not after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, cast

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.compilation.guards import SIMPLE, Surroundings, look_around
from wengert.eager.containers import listed
from wengert.eager.gradients.derive import UnkeptValueError
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation
from wengert.eager.recording.places import describe
from wengert.eager.recording.program import Array
from wengert.eager.recording.tape import Seen, Steps, Tape
from wengert.eager.tensor import Tensor
from wengert.ir.pipeline.stages import staged_property

MOST_TRACES = 8
"""The most recordings that one kind of call may have before the function is run as it is."""


class GuardError(Exception):
    """A guard failed; the message says which."""


def compile(function: Callable[..., Any]) -> Compiled:
    """The function, recorded at its first call and compiled."""
    return Compiled(function)


class Compiled:
    """A compiled function; called as the function is.

    Attributes:
        function: what was compiled.
        reasons: for every recording, why it was made; and why the function was run as it is, if it was.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.reasons: list[str] = []
        self._traces: dict[Any, list[Trace | Unrepeatable]] = {}
        self._given_up: dict[Any, str] = {}
        update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs what was recorded, or records."""
        tensors: list[Tensor] = []
        objects: list[Any] = []
        structure = _flatten((args, kwargs), tensors, objects)
        key = (structure, tuple((t.array.shape, t.array.dtype, t.tracked) for t in tensors), _shared(tensors), STATE.grad, STATE.inference)
        if STATE.tape is not None or STATE.keeper is not None or STATE.anomaly or self._given_up.get(key):
            return self.function(*args, **kwargs)
        traces = self._traces.setdefault(key, [])
        reason = "the first call of this kind" if not traces else ""
        for trace in traces:
            try:
                return trace.run(tensors)
            except GuardError as failed:
                reason = str(failed)
        if len(traces) >= MOST_TRACES:
            return self._give_up(key, f"recorded {MOST_TRACES} times, at last because {reason}", args, kwargs)
        return self._record(key, traces, reason, tensors, objects, args, kwargs)

    def _record(self, key: Any, traces: list[Trace | Unrepeatable], reason: str, tensors: list[Tensor], objects: list[Any], args: Any, kwargs: Any) -> Any:
        around = look_around(self.function, objects)
        with Tape(rules=True) as tape:
            output = self.function(*args, **kwargs)
        refused = tape.refused or tape.once
        if not refused and (changed := around.changed_by_itself()):
            traces.append(Unrepeatable(changed))
        elif not refused:
            try:
                traces.append(Trace(tape, tensors, output, around, getattr(self.function, "__name__", "function")))
            except _RefusedError as error:
                refused = str(error)
        if refused:
            self._given_up[key] = refused
            self.reasons.append(f"run as it is: {refused}")
        else:
            self.reasons.append(f"recorded: {reason}")
        return output

    def _give_up(self, key: Any, reason: str, args: Any, kwargs: Any) -> Any:
        self._given_up[key] = reason
        self.reasons.append(f"run as it is: {reason}")
        return self.function(*args, **kwargs)

    def ir(self) -> str:
        """The last recording, as StableHLO text."""
        recorded = [trace for traces in self._traces.values() for trace in traces if isinstance(trace, Trace)]
        return recorded[-1].tape.ir() if recorded else ""


class Unrepeatable:
    """A recording of a function that changed what it can reach, which running the recording would not do."""

    def __init__(self, change: str):
        self.change = change

    def run(self, arguments: Sequence[Tensor]) -> Any:
        """Raises GuardError: the function has to run again."""
        raise GuardError(self.change)


class _RefusedError(Exception):
    """A recording that cannot be run in place of the function."""


# -- arguments and results


def _flatten(value: Any, tensors: list[Tensor], objects: list[Any]) -> Any:
    """The structure of a value, hashable; its tensors are put in one list, its other objects in another."""
    if isinstance(value, Tensor):
        for position, known in enumerate(tensors):
            if known is value:
                return "tensor", position
        tensors.append(value)
        return "tensor", len(tensors) - 1
    if isinstance(value, list | tuple):
        named = hasattr(cast(Any, value), "_fields")
        return "list" if isinstance(value, list) else type(cast(Any, value)) if named else "tuple", tuple(_flatten(v, tensors, objects) for v in listed(value))
    if isinstance(value, dict):
        return "dict", tuple((k, _flatten(v, tensors, objects)) for k, v in cast("dict[Any, Any]", value).items())
    if isinstance(value, np.ndarray):
        array = cast(Array, value)
        return "array", (array.shape, array.dtype.str, array.tobytes())
    if isinstance(value, SIMPLE):
        return type(value).__name__, value
    objects.append(value)
    return "object", id(value)


def _shared(tensors: Sequence[Tensor]) -> Any:
    """Finds which of the tensors share memory, and as which views: changes of one in place are seen in the others."""
    in_memory = [t for t in tensors if t.storage is not None]
    storages = [t.storage for t in in_memory]
    if len(set(map(id, storages))) == len(in_memory):
        return ()
    return tuple((storages.index(t.storage), () if t.view_of is None else t.view_of.path) for t in in_memory)


def _rebuilt(structure: Any, tensors: Sequence[Tensor]) -> Any:
    """The value of this structure again, with these tensors."""
    kind: Any = structure[0]
    content: Any = structure[1]
    if kind == "tensor":
        return tensors[int(content)]
    if kind in ("list", "tuple"):
        parts: list[Any] = [_rebuilt(v, tensors) for v in content]
        return parts if kind == "list" else tuple(parts)
    if isinstance(kind, type):  # a named tuple
        return kind(*(_rebuilt(v, tensors) for v in content))
    if kind == "dict":
        return {k: _rebuilt(v, tensors) for k, v in content}
    return content


# -- a recording


class Trace:
    """One recording of a function.

    Its program goes from the tensors that came in to the results, the new values of what was changed, the gradients that were
    set, and the values that were looked at, in this order.
    """

    def __init__(self, tape: Tape, arguments: Sequence[Tensor], output: Any, around: Surroundings, name: str):
        self.tape = tape
        self.around = around
        self.name = name
        outputs: list[Tensor] = []
        objects: list[Any] = []
        self.structure = _flatten(output, outputs, objects)
        if objects:
            raise _RefusedError(f"it returns a {type(objects[0]).__name__}, which is neither a tensor nor a container of tensors")
        self.steps: Steps = tape.steps
        self.outputs = outputs
        results = [tape.number(y) for y in outputs]
        if any(y.retains_grad for y in outputs):
            raise _RefusedError("it calls retain_grad on what it returns")
        self.inference = [y.is_inference_tensor for y in outputs]
        self.tracked = tuple(i for i, y in enumerate(outputs) if y.tracked and results[i] not in self.steps.inputs)
        self.effects = list(tape.effects.values())
        self.gradients = [x for x in tape.gradients.values() if x._grad is not None]  # pyright: ignore[reportPrivateUsage]
        self.cleared = [x for x in tape.gradients.values() if x._grad is None]  # pyright: ignore[reportPrivateUsage]
        self.seen: list[Seen] = tape.seen
        self.values = [
            *results,
            *(tape.number(x) for x in self.effects),
            *(tape.number(self._grad_of(x)) for x in self.gradients),
            *(s.value for s in self.seen),
        ]
        self.arguments = arguments
        self.places = {id(x): i for i, x in enumerate(arguments)}
        self.inputs = [self._input(value) for value in self.steps.inputs]
        outside = {id(x) for x in tape.externals.values()}
        self.result_finders = [self._finder(y) if id(y) in outside else None for y in outputs]
        self.gradient_reads = [(self._finder(x), None if g is None else (g.array.shape, g.array.dtype)) for x, g in tape.gradients_read.values()]
        self.effect_finders = [self._finder(x) for x in self.effects]
        self.gradient_finders = [self._finder(x) for x in self.gradients]
        self.cleared_finders = [self._finder(x) for x in self.cleared]

    @staticmethod
    def _grad_of(x: Tensor) -> Tensor:
        gradient = x._grad  # pyright: ignore[reportPrivateUsage]
        assert gradient is not None
        return gradient

    # -- where inputs come from

    def _input(self, value: int) -> Callable[[Sequence[Tensor]], Tensor]:
        """A function that finds the tensor for an input at another call."""
        draw = self.tape.draws.get(value)
        if draw is not None:
            return lambda _: dispatch.new(draw())
        return self._checked(self.tape.externals[value])

    def _checked(self, x: Tensor) -> Callable[[Sequence[Tensor]], Tensor]:
        find = self._finder(x)
        shape, dtype, tracked = x.array.shape, x.array.dtype, x.tracked

        def checked(arguments: Sequence[Tensor]) -> Tensor:
            tensor = find(arguments)
            a = tensor.array
            if a.shape != shape or a.dtype != dtype or tensor.tracked != tracked:
                raise GuardError(f"a tensor was {dtype.name}{list(shape)} and is {a.dtype.name}{list(a.shape)}, or requires a gradient and did not")
            return tensor

        return checked

    def _finder(self, x: Tensor) -> Callable[[Sequence[Tensor]], Tensor]:
        """An argument by position, the gradient of a tensor, a tensor in reach by its path, or any other by itself."""
        place = self.places.get(id(x))
        if place is not None:
            return lambda arguments: arguments[place]
        for owner, gradient in self.tape.gradients_read.values():
            if gradient is x:
                inner = self._finder(owner)
                return lambda arguments: _gradient_of(inner(arguments))
        way = self.around.tensors.get(id(x))
        if way is not None:
            return lambda _: self.around.values[way]
        return lambda _: x

    # -- running

    def run(self, arguments: Sequence[Tensor]) -> Any:
        """The function's results for these arguments, and its effects. Raises GuardError before anything is changed."""
        changed = self.around.changes()
        if changed:
            raise GuardError(changed)
        for find, type in self.gradient_reads:
            gradient = find(arguments)._grad  # pyright: ignore[reportPrivateUsage]
            if (gradient is None) != (type is None):
                raise GuardError("a gradient was there that was not, or the other way round")
        inputs = [find(arguments) for find in self.inputs]
        operation = self.differentiable if self.tracked and STATE.recording else self.plain
        made = dispatch.apply_many(operation, inputs)
        first_seen = len(self.values) - len(self.seen)
        for seen, now in zip(self.seen, made[first_seen : len(self.values)], strict=True):
            self._check(seen, now.array)
        self._take_effect(arguments, made)
        for y, inference in zip(made, self.inference, strict=False):
            y.is_inference_tensor = inference
        return _rebuilt(self.structure, [y if find is None else find(arguments) for y, find in zip(made, self.result_finders)])

    def _check(self, seen: Seen, now: Array) -> None:
        looked_at: Any = seen.observed
        same = bool(np.array_equal(now, looked_at, equal_nan=True)) if seen.is_array else self._same(seen, now)
        if not same:
            change = "has other elements" if seen.is_array else f"was {looked_at!r} and is {now.item()!r}"
            raise GuardError(f"a value that was looked at at {describe(seen.place)} {change}")

    @staticmethod
    def _same(seen: Seen, now: Array) -> bool:
        value = now.item()
        return value == seen.observed or (value != value and seen.observed != seen.observed)

    def _take_effect(self, arguments: Sequence[Tensor], made: Sequence[Tensor]) -> None:
        position = len(self.outputs)
        before = STATE.grad, STATE.inference
        STATE.set(False, before[1])
        try:
            for find in self.effect_finders:
                target = find(arguments)
                target.array[...] = made[position].array
                dispatch.storage_of(target).version += 1
                position += 1
            for find in self.gradient_finders:
                find(arguments)._grad = made[position].detach()  # pyright: ignore[reportPrivateUsage]
                position += 1
            for find in self.cleared_finders:
                find(arguments)._grad = None  # pyright: ignore[reportPrivateUsage]
        finally:
            STATE.set(*before)

    # -- the operations

    @staged_property
    def plain(self) -> Operation:
        """The recording as one operation."""
        return Operation(self.name, "CompiledBackward", self._emit(self.values), tracked=(), compile_after=0)

    @staged_property
    def differentiable(self) -> Operation:
        """The same with the values that its derivative keeps as further results."""
        inside = [i for step in self.steps.grouped(self.values) for i in step.results if i not in self.values and i not in self.steps.handed_on]
        everything = Operation(self.name, "CompiledBackward", self._emit([*self.values, *inside]), keeps_result=True, tracked=self.tracked)
        mask = sum(1 << i for i, x in enumerate(self.tape.externals.get(v) for v in self.steps.inputs) if x is not None and x.tracked)
        signature = everything.signature(tuple(self.steps.inputs.values()), None, mask)
        first = len(self.steps.inputs) + len(self.values)
        try:
            kept = [inside[i - first] for i in signature.keeps if i >= first]
        except UnkeptValueError as error:
            raise AssertionError("a derivative needs a value that is not on its tape") from error
        return Operation(self.name, "CompiledBackward", self._emit([*self.values, *kept]), keeps_result=True, tracked=self.tracked, compile_after=0)

    def _emit(self, outputs: Sequence[int]) -> Callable[[OpBuilder, Sequence[Value], Any], list[Value]]:
        def emit(b: OpBuilder, operands: Sequence[Value], _: Any) -> list[Value]:
            values = self.steps.write(b, operands, self.values)
            return [values[i] for i in outputs]

        return emit


def _gradient_of(x: Tensor) -> Tensor:
    gradient = x._grad  # pyright: ignore[reportPrivateUsage]
    if gradient is None:
        raise GuardError("a gradient was there and is not")
    return gradient
