"""The record of one operation on a tape, also seen as a node of the graph of gradients (``grad_fn``).

Records are owned by the tensors that they made and by the records that use those, so that a piece of tape lives exactly as long as
somebody can still ask for its gradient. They are numbered in the order in which they ran: sorted by number, the records that a
tensor depends on are a Wengert list (R. E. Wengert, "A simple automatic derivative evaluation program", 1964).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import ref

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import FreedTapeError, ModifiedError
from wengert.eager.recording.kept_names import PARAMETERS
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.places import Place, describe
from wengert.eager.recording.program import Array, Type

if TYPE_CHECKING:
    from wengert.eager.checkpoint import Frame
    from wengert.eager.gradients.hooks import RemovableHandle
    from wengert.eager.recording.operation import Signature
    from wengert.eager.recording.saved_hooks import Packed
    from wengert.eager.tensor import Tensor

NUMBERS = count()


class Storage:
    """The memory that a tensor shares with its views: how often it was changed in place, and where last.

    Attributes:
        memory: all of its elements, once a tensor has a part of them without being a view on the books (detached views); None before.
    """

    __slots__ = ("memory", "place", "version")

    def __init__(self) -> None:
        self.version = 0
        self.memory: Array | None = None
        self.place: Place | None = None


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Says that the memory of a tensor, or of several, was changed in a way that the tape does not see."""
    from wengert.eager.recording.dispatch import storage_of

    for x in listed(tensor):
        if not x.is_inference_tensor:  # which have no counter
            storage_of(x).version += 1


class Output:
    """One of several results of a record."""

    __slots__ = ("number", "record")

    def __init__(self, record: Record, number: int):
        self.record = record
        self.number = number


Saved: TypeAlias = "tuple[Array | float, Storage | None, int]"
"""A kept value, the memory that it lies in, and the version of that memory."""


class Deferred:
    """A saved value that a checkpoint gave up and computes again when it is asked for.

    Attributes:
        frame: the checkpoint; or what hooks made of the values, and made from it again.
        number: which of its values.
        marks: for every value of a record, None, the memory that it lay in, and the version of that memory.
    """

    __slots__ = ("frame", "marks", "number")

    def __init__(self, frame: Frame | Packed, number: int, marks: tuple[tuple[None, Storage | None, int], ...]):
        self.frame = frame
        self.number = number
        self.marks = marks

    def fetch(self) -> Any:
        """Computes the value again."""
        return self.frame.value(self.number)


Source: TypeAlias = "Record | Output | Tensor | float | None"
"""The source of an operand: a record, a leaf that requires a gradient, a Python number, or nothing that is tracked."""


class ResultType(NamedTuple):
    """The shape and the dtype of a result, and so of its cotangent."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Record:
    """One operation on the tape: a node of the graph of gradients.

    Attributes:
        signature: which operation, on which types.
        inputs: where each operand comes from.
        saved: the values that the derivative uses, or how to get them; None once they were given up.
        number: the position on the tape.
        place: where in the user's code it ran.
    """

    pre_hooks: dict[int, list[Callable[..., Any]]] | None = None
    """Functions on the cotangent of a result, by the result's number."""
    node_hooks: list[Callable[..., Any]] | None = None
    node_prehooks: list[Callable[..., Any]] | None = None
    """Functions on the cotangents of all results, before the node runs."""
    retained: dict[int, ref[Tensor]] | None = None
    """Tensors that keep their gradient, by the number of the result that they are; their owners keep them alive."""

    __slots__ = ("__dict__", "__weakref__", "inputs", "number", "place", "saved", "signature")

    def __init__(self, signature: Signature, inputs: tuple[Source, ...], saved: tuple[Saved, ...] | Deferred | None, place: Place | None):
        self.signature = signature
        self.inputs = inputs
        self.saved = saved
        self.place = place
        self.number = next(NUMBERS)
        if STATE.keeper is not None:
            STATE.keeper.made(self)

    # -- as a node

    def name(self) -> str:
        """The name of the kind of node."""
        return self.signature.operation.node

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For every operand, the node that its cotangent goes to and the number of that node's result; None if it goes nowhere."""
        return tuple(edge(source) for source in self.inputs[self.signature.operation.differentiable])

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The place where the operation ran, and its types; a place for what users want to note."""
        return {"place": describe(self.place), "types": self.result_types}

    def register_hook(self, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Calls ``hook(cotangents of the operands, cotangents of the results)`` when the node has run; it may return other cotangents
        of the operands."""
        from wengert.eager.gradients.hooks import RemovableHandle

        self.node_hooks = self.node_hooks or []
        return RemovableHandle(self.node_hooks, hook)

    def register_prehook(self, hook: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Calls ``hook(cotangents of the results)`` before the node runs; it may return others in their place."""
        from wengert.eager.gradients.hooks import RemovableHandle

        self.node_prehooks = self.node_prehooks or []
        return RemovableHandle(self.node_prehooks, hook)

    def _sequence_nr(self) -> int:
        """Its number on the tape."""
        return self.number

    def __call__(self, *cotangents: Tensor | None) -> Any:
        """The cotangents of the operands from those of the results: the derivative by itself, outside of a backward pass."""
        if len(cotangents) != len(self.result_types):
            raise TypeError(f"{self.name()}: expected {len(self.result_types)} arguments, got {len(cotangents)} instead")
        from wengert.eager.gradients.pull import pull

        pulled = pull(self, list(cotangents), False)[self.signature.operation.differentiable]
        return pulled[0] if len(pulled) == 1 else tuple(pulled)

    @property
    def _input_metadata(self) -> tuple[ResultType, ...]:
        """The shapes and dtypes of the cotangents that it takes."""
        return tuple(ResultType(*type) for type in self.result_types)

    def __repr__(self) -> str:
        return f"<{self.name()} at {describe(self.place)}>"

    # -- as a part of a tape

    @property
    def is_special(self) -> bool:
        """Whether Python code has to run, or a value has to be kept, in the middle of the backward pass."""
        return self.has_pre_hooks or self.has_node_hooks or self.retained is not None

    @property
    def runs_without_cotangents(self) -> bool:
        """Whether Python has to see that nothing arrives, because what was computed from its results gave no gradients."""
        return self.has_pre_hooks

    @property
    def has_node_hooks(self) -> bool:
        """Whether there is a hook on the node itself."""
        return bool(self.node_hooks) or bool(self.node_prehooks)

    @property
    def has_pre_hooks(self) -> bool:
        """Whether there is a hook on the cotangent of a result."""
        return self.pre_hooks is not None and any(self.pre_hooks.values())

    @property
    def result_types(self) -> tuple[Type, ...]:
        """The types of all results."""
        return self.signature.results

    def kept(self) -> tuple[Saved, ...]:
        """The values that the derivative uses, after checking that they are there and unchanged."""
        saved = self.saved
        if saved is None:
            raise FreedTapeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed): what"
                f" '{self.signature.operation.name}' ({describe(self.place)}) kept was given up after the first. Specify retain_graph=True the first time"
            )
        if isinstance(saved, Deferred):
            self._check(saved.marks)
            saved = saved.fetch()
        self._check(saved)
        return saved

    def _check(self, saved: Sequence[tuple[Any, Storage | None, int]]) -> None:
        for position, (_, storage, version) in enumerate(saved):
            if storage is not None and storage.version != version:
                raise self._modified(position, storage, version)

    def holds(self) -> tuple[list[Array], Deferred | None]:
        """The arrays that are kept, and what a checkpoint took away."""
        if isinstance(self.saved, Deferred):
            return [], self.saved
        return [array for array, _, _ in self.saved or () if not isinstance(array, int | float)], None

    def keep_copies(self, storage: Storage, copy: Callable[[Array], Array]) -> None:
        """Keeps copies of those values that lie in this memory, which is about to be written to."""
        from wengert.eager.recording.mutation import copied

        if self.saved and not isinstance(self.saved, Deferred):
            self.saved = copied(self.saved, storage, copy)

    def _modified(self, position: int, storage: Storage, version: int) -> ModifiedError:
        kept = self.signature.keeps[position]
        count = len(self.signature.types)
        which = f"operand {kept}" if kept < count else "the result"
        shape, dtype = (*self.signature.types, *self.result_types)[kept]
        return ModifiedError(
            "one of the variables needed for gradient computation has been modified by an inplace operation:"
            f" {which} of '{self.signature.operation.name}' ({dtype.name}{list(shape)}) is needed for its derivative, but was changed in place:"
            f" kept at {describe(self.place)} (version {version}), changed at {describe(storage.place)} (version {storage.version})"
        )

    def free(self) -> None:
        """Gives up what was kept."""
        if self.saved:
            self.saved = None


class AccumulateGrad:
    """The node of a leaf: adds what arrives to the leaf's ``grad``."""

    __slots__ = ("__weakref__", "hooks", "metadata", "prehooks", "variable")
    next_functions: tuple[()] = ()

    def __init__(self, variable: Tensor):
        self.variable = variable
        self.metadata: dict[Any, Any] = {}
        self.hooks: list[Callable[..., Any]] = []
        self.prehooks: list[Callable[..., Any]] = []

    def register_hook(self, hook: Callable[[tuple[()], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Calls ``hook((), (gradient,))`` after a backward pass has added to the leaf's ``grad``."""
        from wengert.eager.gradients.hooks import RemovableHandle, watch_leaves

        watch_leaves()
        self.variable.accumulator = self
        return RemovableHandle(self.hooks, hook)

    def register_prehook(self, hook: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Calls ``hook((gradient,))`` before it is added to the leaf's ``grad``; it may return another in its place."""
        from wengert.eager.gradients.hooks import RemovableHandle, watch_leaves

        watch_leaves()
        self.variable.accumulator = self
        return RemovableHandle(self.prehooks, hook)

    def name(self) -> str:
        """The name of the kind of node."""
        return "torch::autograd::AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad of {list(self.variable.shape)}>"


def _kept_as(name: str) -> property:
    """What a node keeps under one of PyTorch's names. Properties, because a class with ``__getattr__`` is slower to ask for anything."""

    def kept(record: Record) -> Any:
        from wengert.eager.recording.kept_values import kept_value

        return kept_value(record, name)

    return property(kept, doc=f"What PyTorch calls {name}.")


for _name in ("self", "other", "exponent", "mat2", "weight", "result"):
    setattr(Record, f"_saved_{_name}", _kept_as(f"_saved_{_name}"))
    setattr(Record, f"_raw_saved_{_name}", _kept_as(f"_raw_saved_{_name}"))


for _name in PARAMETERS:
    setattr(Record, f"_saved_{_name}", _kept_as(f"_saved_{_name}"))


Node: TypeAlias = "Record | AccumulateGrad"


def edge(source: Source) -> tuple[Node | None, int]:
    """The node at the other end of an operand, and the number of its result."""
    if isinstance(source, Record):
        return source, 0
    if isinstance(source, Output):
        return source.record, source.number
    if source is None or isinstance(source, int | float):
        return None, 0
    return accumulator_of(source), 0


def accumulator_of(leaf: Tensor) -> AccumulateGrad:
    """The node of a leaf. The leaf keeps it alive only if there are hooks on it, so that the two do not hold each other."""
    known = leaf.accumulator
    node = known() if isinstance(known, ref) else known
    if node is None:
        node = AccumulateGrad(leaf)
        leaf.accumulator = ref(node)
    return node


def reachable(roots: Sequence[Record]) -> list[Record]:
    """The records that these depend on, themselves included, in the order in which they ran."""
    seen: set[Record] = set()
    stack = list(roots)
    records: list[Record] = []
    while stack:
        record = stack.pop()
        if record in seen:
            continue
        seen.add(record)
        records.append(record)
        for source in record.inputs:
            if isinstance(source, Record):
                stack.append(source)
            elif type(source) is Output:
                stack.append(source.record)
    records.sort(key=_number)
    return records


def _number(record: Record) -> int:
    return record.number
