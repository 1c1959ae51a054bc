"""A custom function on the tape: the context that goes from its forward to its backward function, and its record."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast
from warnings import warn

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError, FreedTapeError, ModifiedError
from wengert.eager.recording import dispatch
from wengert.eager.recording.kept_values import SavedTensor
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.places import Place, describe
from wengert.eager.recording.program import Array, Type
from wengert.eager.recording.record import Deferred, Output, Record, Source, Storage

if TYPE_CHECKING:
    from wengert.eager.checkpoint import DeferredTensors
    from wengert.eager.function import Function
    from wengert.eager.tensor import Tensor


class Context:
    """Carries values from ``forward`` to ``backward``. Anything may be kept as an attribute; tensors are safest in :meth:`save_for_backward`.

    Attributes:
        needs_input_grad: for every argument of ``apply``, whether its gradient is wanted.
    """

    needs_input_grad: tuple[bool, ...] = ()

    def __init__(self) -> None:
        self.kept: list[Tensor | None] | DeferredTensors | None = []
        self.packed: dict[int, tuple[Any, Callable[[Any], Any]]] = {}
        """What hooks made of saved tensors, and what makes these of it again."""
        self.kept_forward: list[Tensor | None] = []
        self.marks: list[tuple[Storage, int]] = []
        """The memory of what was saved, and its versions."""
        self.dirty: tuple[Tensor, ...] = ()
        self.constants: tuple[Tensor, ...] = ()
        self.without_gradient: set[int] = set()
        """The numbers of those among the results."""
        self.results: dict[int, int] = {}
        """For saved tensors that are results of the function itself: which."""
        self.fetched = False
        """Whether the saved tensors were given up because they had been asked for."""
        self.materialize = True
        self._materialize_non_diff_grads = True
        self.record: FunctionRecord | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors; :attr:`saved_tensors` checks that they are not changed until then."""
        self.kept = list(tensors)

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for ``jvp``, where :attr:`saved_tensors` has them."""
        self.kept_forward = list(tensors)

    @contextmanager
    def of_forward_mode(self) -> Generator[None]:
        """Inside, :attr:`saved_tensors` are those that were saved for forward mode."""
        before = self.kept, self.marks
        self.kept, self.marks = self.kept_forward, []
        try:
            yield
        finally:
            self.kept, self.marks = before

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The name of :attr:`saved_tensors` in old code."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says that these arguments were changed in place; each must be a result too."""
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says that these results have no gradients."""
        self.constants = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether cotangents that nothing flowed into are zeros (they are by default) or None."""
        self.materialize = value

    def materializes(self, number: int) -> bool:
        """Whether the cotangent of a result is zeros where nothing flowed into it."""
        return self.materialize and (self._materialize_non_diff_grads or number not in self.without_gradient)

    def mark(self) -> None:
        """Notes the versions of what was saved; a checkpoint takes it away."""
        saved = self.kept
        assert isinstance(saved, list)
        storages = [dispatch.storage_of(t) for t in saved if t is not None]
        self.marks = [(storage, storage.version) for storage in storages]
        if not saved or self.record is None:
            return
        if STATE.tape is None:  # a tape knows saved tensors by what they are
            for position, x in enumerate(saved):
                number = None if x is None else self._number(x, self.record)
                if x is not None and number is not None:
                    # The result holds the record, which holds this context: its elements are kept instead, or only the collector would free them.
                    self.results[position] = number
                    saved[position] = _elements(x)
        if STATE.keeper is not None:
            self.kept = STATE.keeper.take_tensors(self.record, saved)

    def _number(self, x: Tensor, record: Record) -> int | None:
        """Which result of the function a tensor is; None where it is none."""
        if x.view_of is not None:  # one that was changed in its place in the base is the only result
            return 0 if any(x is changed for changed in self.dirty) else None
        return x.output_nr if x.source is record or (isinstance(x.source, Output) and x.source.record is record) else None

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        """What holds each saved tensor, for hooks on it."""
        count = len(self.saved_tensors)
        return tuple(SavedArgument(self, number) for number in range(count))

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The saved tensors. Raises FreedTapeError or ModifiedError."""
        if self.fetched:
            raise FreedTapeError("saved tensors can only be accessed once where clear_saved_tensors_on_access is True")
        if self.kept is None:
            raise FreedTapeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed): what this"
                " function saved was given up. Specify retain_graph=True the first time"
            )
        for storage, version in self.marks:
            if storage.version != version:
                place = describe(self.record.place if self.record else None)
                raise ModifiedError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation:"
                    f" what was saved at {place} was changed in place at {describe(storage.place)}"
                )
        kept = self.kept if isinstance(self.kept, list) else self.kept.fetch()
        tensors = tuple(unpack(content) if unpack else content for content, unpack in self._unpacked(kept))
        if self.record is not None and self.record.function.clear_saved_tensors_on_access:
            self.kept, self.fetched = None, True
        return tensors

    def _unpacked(self, kept: Sequence[Any]) -> list[tuple[Any, Callable[[Any], Any] | None]]:
        """What was saved, and where a hook of its own packed it, that and what unpacks it."""
        return [self.packed.get(number, (self._on_tape(number, x), None)) for number, x in enumerate(kept)]

    def _on_tape(self, number: int, x: Any) -> Any:
        """A saved tensor; a result of the function stands where it stood on the tape."""
        if number not in self.results or self.record is None:
            return x
        made = _elements(x)
        made.source = self.record if len(self.record.result_types) == 1 else Output(self.record, self.results[number])
        made.tracked = True
        return made


def _elements(x: Tensor) -> Tensor:
    """The elements of a tensor, with their versions and without their history."""
    made = dispatch.new(x.array)
    made.storage = x.storage
    made.is_inference_tensor = x.is_inference_tensor
    return made


class SavedArgument(SavedTensor):
    """A tensor that a custom function saved, for hooks of its own."""

    def __init__(self, context: Context, number: int):
        self._context = context
        self._number = number

    def register_hooks(self, pack: Callable[[Tensor], Any] | None = None, unpack: Callable[[Any], Tensor] | None = None) -> None:
        """Keeps what ``pack`` makes of the tensor in its place; ``unpack`` makes the tensor of it again."""
        if not callable(pack) or not callable(unpack):
            raise TypeError("register_hooks: incompatible function arguments: expected two functions")
        context, number = self._context, self._number
        if number in context.packed:
            raise AutogradError("register_hooks: hooks have already been set on this saved tensor")
        x = context.saved_tensors[number]
        if x is None:
            raise AutogradError("register_hooks: registering hooks on a saved tensor that is None is forbidden")
        context.packed[number] = pack(x), unpack


class _Kind:
    """Stands for the operation and the signature of a custom function: a name, and the types of its results."""

    keeps = ()
    differentiable = slice(None)

    def __init__(self, name: str, results: tuple[Type, ...]):
        self.operation = self
        self.name = name
        self.node = f"{name}Backward"
        self.results = results
        self.types = ()


class FunctionRecord(Record):
    """A custom function on the tape."""

    def __init__(
        self,
        function: type[Function],
        context: Context,
        inputs: tuple[Source, ...],
        results: tuple[Type, ...],
        place: Place | None,
        arguments: tuple[Type, ...] = (),
    ):
        super().__init__(cast(Any, _Kind(function.__name__, results)), inputs, (), place)
        self.function = function
        self.context = context
        self.argument_types = arguments

    @property
    def is_special(self) -> bool:
        """Python code has to run."""
        return True

    @property
    def runs_without_cotangents(self) -> bool:
        """Its derivative is asked even where nothing arrives."""
        return True

    def __getattr__(self, name: str) -> Any:
        """What the function has noted on its context, which is the node itself in PyTorch."""
        return getattr(object.__getattribute__(self, "context"), name)

    def keep_copies(self, storage: Storage, copy: Callable[[Array], Array]) -> None:
        """Keeps copies of those saved tensors that lie in this memory, which is about to be written to."""
        context = self.context
        if isinstance(context.kept, list):
            context.kept = [_copied(x, copy) if x is not None and x.storage is storage else x for x in context.kept]
            context.marks = [(own, version) for own, version in context.marks if own is not storage]

    def holds(self) -> tuple[list[Array], Deferred | None]:
        """The arrays that were saved, and what a checkpoint took away."""
        kept = self.context.kept
        if kept is None or isinstance(kept, list):
            return [x.array for x in kept or () if x is not None], None
        return [], kept.deferred

    def free(self) -> None:
        """Gives up what was saved."""
        if self.context.kept:
            self.context.kept = None

    def pull(self, cotangents: Sequence[Tensor | None], create: bool) -> list[Tensor | None]:
        """The cotangents of the arguments."""
        given = [
            dispatch.new(np.zeros(*t)) if c is None and self.context.materializes(number) and t[1].kind in "fVc" else c
            for number, (c, t) in enumerate(zip(cotangents, self.result_types, strict=True))
        ]
        gradients = self.function.pullback()(self.context, *given)
        arrived = listed(gradients)
        if len(arrived) > len(self.inputs) and all(c is None for c in arrived[len(self.inputs) :]):
            arrived = arrived[: len(self.inputs)]
        if len(arrived) != len(self.inputs):
            raise AutogradError(f"{self.name()} returned {len(arrived)} gradients, expected {len(self.inputs)}, one for each argument of forward")
        return [self._fitted(i, c) if s is not None and c is not None else None for i, (c, s) in enumerate(zip(arrived, self.inputs, strict=True))]

    def _fitted(self, position: int, cotangent: Any) -> Tensor:
        """A cotangent in the shape and dtype of its argument: what was broadcast is summed; an AutogradError where it does not fit."""
        if not hasattr(cotangent, "array"):
            raise AutogradError(
                f"{self.name()} returned a {type(cotangent).__name__} as the gradient of argument {position}, expected Variable (a tensor) or None"
            )
        shape, dtype = self.argument_types[position]
        fitted: Tensor = cotangent
        if fitted.array.shape != shape:
            first = fitted.array.ndim - len(shape)
            if first < 0 or any(n not in (1, m) for n, m in zip(shape, fitted.array.shape[first:], strict=True)):
                shown = list(fitted.array.shape), list(shape)
                raise AutogradError(
                    f"{self.name()} returned an invalid gradient at index {position} - got {shown[0]} but expected shape compatible with {shown[1]}"
                )
            spread = [d for d in range(fitted.array.ndim) if d < first or shape[d - first] != fitted.array.shape[d]]
            fitted = fitted.sum(tuple(spread)).reshape(*shape) if spread else fitted
        leaf: Any = self.inputs[position]
        if type(leaf) is type(fitted) and leaf.gradient_dtype != "own":  # in a dtype of its own, or in any
            from wengert.eager.gradients.attributes import in_gradient_dtype

            return in_gradient_dtype(leaf, fitted)
        return fitted if fitted.array.dtype == dtype else fitted.to(dtype)


def _copied(x: Tensor, copy: Callable[[Array], Array]) -> Tensor:
    """The tensor as it is now, in memory of its own."""
    made = dispatch.new(copy(x.array))
    source = dispatch.source_of(x)
    if isinstance(source, Record | Output):
        made.source, made.tracked = source, True
    return made
