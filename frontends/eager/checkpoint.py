"""Checkpoints: calls whose inside is recorded but keeps no values; the backward pass computes them again from the arguments.

A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse automatic differentiation" (1992); the
semantics are those of ``torch.utils.checkpoint`` with ``use_reentrant=False``. The function runs once with a keeper listening:
every record made inside gives its kept values away and remembers only the how-manieth they were. When a derivative asks for the
first of them, the function runs again with another keeper, which takes what the same records keep this time, in the same order, and
stops the function when it has all of them. Each value is handed out once, and what nobody asked for is dropped after the pass.

So the graph of gradients is the same as without a checkpoint: hooks, gradients of parameters that the function finds by itself,
and derivatives of derivatives need nothing of their own. A checkpoint inside of another is one more thing that the outer one gives
away: its function and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from wengert.eager.checkpoint_switches import Debug, EarlyStop
from wengert.eager.containers import listed
from wengert.eager.errors import CheckpointError, ModifiedError
from wengert.eager.operations.creation import drawing_from, random_state
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Signature
from wengert.eager.recording.places import Place, describe, here
from wengert.eager.recording.record import NUMBERS, Deferred, Output, Record, Source, Storage
from wengert.eager.tensor import Tensor

if TYPE_CHECKING:
    from wengert.eager.recording.tape import Tape

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""A function, its arguments, and those given by name."""


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = False,
    preserve_rng_state: bool = True,
    early_stop: bool = True,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which nothing but the arguments is kept for the backward pass, which runs the function again.

    Args:
        function: should compute the same again, and change nothing outside.
        args: its arguments, of any kind.
        use_reentrant: whether the second run is a backward pass of its own inside of the one that asks for it: see :mod:`wengert.eager.reentrant`.
        preserve_rng_state: gives the second run the random numbers of the first.
        early_stop: ends the second run when all values are there that a derivative may ask for; :class:`set_checkpoint_early_stop` overrides it.
        context_fn: returns two context managers, for the first run and for the second.
        determinism_check: "default" or "none": whether the second run has to keep values of the same shapes and dtypes as the first, which is checked
            here in either case.
        debug: whether the error for a second run that is not like the first lists everything that both kept; :class:`set_checkpoint_debug_enabled`
            overrides it.
        kwargs: its arguments by name.

    Raises:
        CheckpointError: the function changes an argument in place, which the second run would do again; or, in the backward pass, the
            second run does not keep the same kinds of values as the first.
        ModifiedError: in the backward pass, where an argument, or a parameter that the function found by itself, was changed since.

    >>> import wengert.eager as eager
    >>> x = eager.ones(1000, requires_grad=True)
    >>> f = lambda x: x.sin().exp().tanh().sum()
    >>> eager.saved_bytes(f(x)), eager.saved_bytes(eager.checkpoint(f, x))
    (8000, 0)
    """
    if use_reentrant:
        from wengert.eager.reentrant import reentrant

        if kwargs or context_fn is not None:
            raise ValueError("checkpoint: the function takes positional arguments only; keywords and context_fn are only supported when use_reentrant=False")
        return reentrant(function, args, preserve_rng_state)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"checkpoint: determinism_check must be 'default' or 'none', found {determinism_check!r}")
    contexts = (nullcontext(), nullcontext()) if context_fn is None else context_fn()
    if not STATE.recording:
        with contexts[0]:
            return function(*args, **kwargs)
    stops = early_stop if EarlyStop.enabled is None else EarlyStop.enabled
    frame = Frame((function, args, kwargs), preserve_rng_state, stops, contexts[1], debug)
    with contexts[0]:
        return frame.run()


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = False, **kwargs: Any) -> Any:
    """The functions (modules of a ``Sequential``, or any that take one argument) one after the other, in segments of which each but the last is a
    checkpoint.

    Raises:
        ValueError: there are more segments than functions, or none.
    """
    steps = list(functions.children() if hasattr(functions, "children") else functions)
    if not 1 <= segments <= len(steps):
        raise ValueError(f"checkpoint_sequential: {segments} segments of {len(steps)} functions")
    size = len(steps) // segments

    def run(first: int, last: int) -> Callable[[Any], Any]:
        def along(x: Any) -> Any:
            for step in steps[first:last]:
                x = step(x)
            return x

        return along

    for number in range(segments - 1):
        input = checkpoint(run(number * size, (number + 1) * size), input, use_reentrant=use_reentrant, **kwargs)
    return run((segments - 1) * size, len(steps))(input)


class Frame:
    """One call of a checkpointed function.

    Attributes:
        call: what to run again; held by another checkpoint if this one is inside of it.
        expected: for everything that was given away, in order, what it was and where.
        first, last: the numbers between which the records of the call lie.
        draws: on a tape that was listening, the values of random numbers, in order.
    """

    def __init__(self, call: Call, preserve: bool, early_stop: bool, context: AbstractContextManager[Any] | None = None, debug: bool = False):
        self.debug = debug
        self.call: Call | Deferred = call
        self.context = context or nullcontext()
        self.early_stop = early_stop
        self.random: Any = random_state() if preserve else None
        self.expected: list[tuple[Any, Place | None]] = []
        self.draws: list[int] = []
        self.first = self.last = next(NUMBERS)
        self.finished = False
        self.place = here()
        self._marks: dict[Storage, int] = {}
        self._values: dict[int, Any] = {}

    def run(self) -> Any:
        """Runs the function for the first time; its result."""
        function, args, kwargs = call = cast(Call, self.call)
        outer, tape = STATE.keeper, STATE.tape
        given = [dispatch.storage_of(x) for x in tensors_in((args, kwargs))]
        self._marks = {storage: storage.version for storage in given}
        if outer is not None:
            outer.take_call(self, call)
        start = 0 if tape is None else len(tape.steps.steps)
        STATE.keeper = First(self, outer)
        try:
            result = function(*args, **kwargs)
        finally:
            STATE.keeper = outer
        for storage in given:
            if storage.version != self._marks[storage]:
                raise CheckpointError(
                    f"the function changes an argument in place ({describe(storage.place)}); the backward pass would do it again, so checkpoint a clone()"
                )
        if tape is not None:
            tape.steps.regions.append((start, len(tape.steps.steps)))
        self.last = next(NUMBERS)
        self.finished = True
        return result

    def mark(self, leaf: Tensor) -> None:
        """The function has used this leaf as it is now."""
        storage = dispatch.storage_of(leaf)
        self._marks.setdefault(storage, storage.version)

    def value(self, number: int) -> Any:
        """The value that was given up as this number, computed again if it is not there; it is handed out once."""
        if number not in self._values:
            if STATE.group is not None and any(frame is self for frame in STATE.recomputed):
                raise CheckpointError(
                    "Performing two backward calls that overlap (that need the same value of a checkpoint) is not allowed within a GraphExecGroup:"
                    f" the one of {describe(self.place)} was handed out before"
                )
            self._run_again()
        return self._values.pop(number)

    def forget(self) -> None:
        """Drops what was computed again."""
        self._values = {}

    def _run_again(self) -> None:
        for storage, version in self._marks.items():
            if storage.version != version:
                raise ModifiedError(
                    f"a checkpoint ({describe(self.place)}) has to be computed again, but what it used was changed in place at {describe(storage.place)}"
                )
        function, args, kwargs = self.call.fetch() if isinstance(self.call, Deferred) else self.call
        before = STATE.grad, STATE.inference, STATE.keeper
        tape = STATE.tape
        keeper = Again(self, None, stops=self.early_stop and tape is None)
        barrier = None if tape is None else tape.steps.open_barrier()
        STATE.set(True, False)
        STATE.keeper = keeper
        try:
            with nullcontext() if self.random is None else drawing_from(self.random), self.context:
                function(*args, **kwargs)
        except _EnoughError as enough:
            if enough.keeper is not keeper:
                raise
        finally:
            STATE.set(*before[:2])
            STATE.keeper = before[2]
        if tape is not None and barrier is not None:
            tape.steps.close_barrier(barrier)
        keeper.check_count()
        self._values = dict(enumerate(keeper.values))
        STATE.recomputed = (*STATE.recomputed, self)


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in lists, tuples and dictionaries, nested in any way."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        return [x for v in cast("dict[Any, Any]", value).values() for x in tensors_in(v)]
    return [x for v in listed(value) for x in tensors_in(v)] if isinstance(value, list | tuple) else []


class _EnoughError(BaseException):
    """Ends a second run: all that was given away is there. Not an Exception, so that the function's own handlers let it pass."""

    def __init__(self, keeper: Again):
        super().__init__()
        self.keeper = keeper


# -- keepers


class Keeper:
    """Takes the values that records keep, while a checkpointed function runs."""

    is_again = False

    def __init__(self, frame: Frame, outer: Keeper | None):
        self.frame = frame
        self.outer = outer

    def made(self, record: Record) -> None:
        """A record was made."""
        raise NotImplementedError

    def take_tensors(self, record: Record, tensors: list[Tensor | None]) -> list[Tensor | None] | DeferredTensors:
        """A custom function has saved tensors; what it keeps in their place."""
        raise NotImplementedError

    def take_call(self, frame: Frame, call: Call) -> None:
        """A checkpoint inside of this one is about to run its function."""
        raise NotImplementedError

    def draw(self, tape: Tape, new: Callable[[], int]) -> int:
        """The value on the tape of random numbers that were drawn now."""
        raise NotImplementedError


class First(Keeper):
    """Takes away what records keep."""

    def made(self, record: Record) -> None:
        for source in record.inputs:
            if isinstance(source, Tensor):
                self.frame.mark(source)
        saved = record.saved
        if saved:
            assert not isinstance(saved, Deferred)
            record.saved = self._deferred(record.signature, record.place, [(None, storage, version) for _, storage, version in saved])

    def _deferred(self, key: Any, place: Place | None, marks: Sequence[Any] = ()) -> Deferred:
        self.frame.expected.append((key, place))
        return Deferred(self.frame, len(self.frame.expected) - 1, tuple(marks))

    def take_tensors(self, record: Record, tensors: list[Tensor | None]) -> list[Tensor | None] | DeferredTensors:
        sources = [None if x is None else dispatch.source_of(x) for x in tensors]
        return DeferredTensors(sources, self._deferred(_kind(record, tensors), record.place))

    def take_call(self, frame: Frame, call: Call) -> None:
        frame.call = self._deferred(_INNER, frame.place)

    def draw(self, tape: Tape, new: Callable[[], int]) -> int:
        value = new() if self.outer is None else self.outer.draw(tape, new)
        self.frame.draws.append(value)
        return value


class Again(Keeper):
    """Collects what records keep in a second run, and compares it with what they kept in the first."""

    is_again = True

    def __init__(self, frame: Frame, outer: Keeper | None, stops: bool):
        super().__init__(frame, outer)
        self.stops = stops
        self.values: list[Any] = []
        self.kinds: list[tuple[Any, Place | None]] = []
        self.count = len(frame.expected)
        self._draws = iter(frame.draws if frame.random is not None else ())

    def _add(self, key: Any, place: Place | None, value: Any) -> None:
        number = len(self.values)
        if number < self.count:
            expected, before = self.frame.expected[number]
            if not _same(expected, key):
                raise self._different(
                    "Recomputed values for the following tensors have different metadata than during the forward pass:"
                    f" those of {_describe(key)} at {describe(place)}, which were those of {_describe(expected)} at {describe(before)}"
                )
        self.values.append(value)
        self.kinds.append((key, place))
        if self.stops and number + 1 == self.count:
            raise _EnoughError(self)

    def check_count(self) -> None:
        """Raises a CheckpointError if the second run kept more or less than the first, as far as it went."""
        if len(self.values) < self.count or (self.frame.finished and len(self.values) > self.count):
            said = "A different number of tensors was saved" if len(self.values) < self.count else "It is trying to save more tensors during recomputation"
            raise self._different(f"{said}: {len(self.values)} operations kept values, {self.count} did the first time")

    def _different(self, said: str) -> CheckpointError:
        """The error for a second run that is not like the first; with what both kept, if that is asked for."""
        message = f"{said}. The checkpoint ({describe(self.frame.place)}) computed something else the second time"
        if self.frame.debug if Debug.enabled is None else Debug.enabled:
            runs = {"the first time": self.frame.expected, "the second time": self.kinds}
            lines = [f"{when}: " + "; ".join(f"{_describe(key)} at {describe(place)}" for key, place in kinds) for when, kinds in runs.items()]
            message = "\n".join([f"{message}. You are seeing this error because you passed `debug=True` to checkpoint; values were kept by", *lines])
        return CheckpointError(message)

    def made(self, record: Record) -> None:
        if record.saved:
            self._add(record.signature, record.place, record.saved)

    def take_tensors(self, record: Record, tensors: list[Tensor | None]) -> list[Tensor | None]:
        self._add(_kind(record, tensors), record.place, [x if x is None or not x.tracked else x.array for x in tensors])
        return tensors

    def take_call(self, frame: Frame, call: Call) -> None:
        self._add(_INNER, frame.place, call)

    def draw(self, tape: Tape, new: Callable[[], int]) -> int:
        value = next(self._draws, None)
        return new() if value is None else value


class DeferredTensors:
    """The tensors that a custom function saved inside of a checkpoint: where they stand on the tape, and how to get their elements."""

    def __init__(self, sources: Sequence[Source], deferred: Deferred):
        self.sources = sources
        self.deferred = deferred

    def fetch(self) -> list[Tensor | None]:
        """The tensors, computed again."""
        return [_standing_at(source, array) for source, array in zip(self.sources, self.deferred.fetch(), strict=True)]


def _standing_at(source: Source, array: Any) -> Tensor | None:
    if array is None or isinstance(array, Tensor):
        return array
    if isinstance(source, Tensor):
        from wengert.eager.graph import in_place_of

        return source if array is source.array else in_place_of(source, array)
    made = dispatch.new(array)
    if isinstance(source, Record | Output):
        made.source, made.tracked = source, True
    return made


# -- what was given away


_INNER = "checkpoint"


def _kind(record: Record, tensors: Sequence[Tensor | None]) -> Any:
    """Stands for what a custom function saves: its name, and the shapes and dtypes."""
    return record.signature.operation.name, tuple(None if x is None else (x.array.shape, x.array.dtype) for x in tensors)


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, Signature) and isinstance(second, Signature):
        return first is second or _key(first) == _key(second)
    return type(first) is type(second) and first == second


def _key(signature: Signature) -> Any:
    return signature.operation.name, signature.types, signature.params, signature.mask


def _describe(key: Any) -> str:
    if isinstance(key, Signature):
        return f"'{key.operation.name}' of {dispatch.describe_types(key.types)}"
    return "a checkpoint inside of it" if key == _INNER else f"'{key[0]}' that saves {dispatch.describe_types([t for t in key[1] if t])}"
