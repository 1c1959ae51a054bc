"""Functions with a derivative of the user's own, written in Python.

Such a function is one record on the tape whose derivative is a call of ``backward``; what comes before and after it may be compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, cast
from warnings import warn

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError, FreedTapeError, LeafModifiedError, ModifiedError
from wengert.eager.operations import inplace
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.places import Place, describe, here
from wengert.eager.recording.program import Array, Type
from wengert.eager.recording.record import Deferred, Output, Record, Source, Storage

if TYPE_CHECKING:
    from wengert.eager.checkpoint import DeferredTensors
    from wengert.eager.tensor import Tensor


class Context:
    """Carries values from ``forward`` to ``backward``. Anything may be kept as an attribute; tensors are safest in :meth:`save_for_backward`.

    Attributes:
        needs_input_grad: for every argument of ``apply``, whether its gradient is wanted.
    """

    needs_input_grad: tuple[bool, ...] = ()

    def __init__(self) -> None:
        self.kept: list[Tensor | None] | DeferredTensors | None = []
        self.kept_forward: list[Tensor | None] = []
        self.marks: list[tuple[Storage, int]] = []
        """The memory of what was saved, and its versions."""
        self.dirty: tuple[Tensor, ...] = ()
        self.constants: tuple[Tensor, ...] = ()
        self.without_gradient: set[int] = set()
        """The numbers of those among the results."""
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
        if saved and self.record is not None and STATE.keeper is not None:
            self.kept = STATE.keeper.take_tensors(self.record, saved)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The saved tensors. Raises FreedTapeError or ModifiedError."""
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
        return tuple(self.kept if isinstance(self.kept, list) else self.kept.fetch())


IN_FUNCTION = (
    "This view was created inside a custom Function (or because an input was returned as-is), and a change in place would override the custom backward;"
    " change a clone()"
)


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
            dispatch.new(np.zeros(*t)) if c is None and self.context.materializes(number) and np.issubdtype(t[1], np.floating) else c
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
        return fitted if fitted.array.dtype == dtype else fitted.to(dtype)


def _copied(x: Tensor, copy: Callable[[Array], Array]) -> Tensor:
    """The tensor as it is now, in memory of its own."""
    made = dispatch.new(copy(x.array))
    source = dispatch.source_of(x)
    if isinstance(source, Record | Output):
        made.source, made.tracked = source, True
    return made


class Function:
    """To be subclassed, with static methods ``forward(ctx, *args)`` and ``backward(ctx, *cotangents)``, or with
    ``forward(*args)``, ``setup_context(ctx, inputs, output)`` and ``backward``; run by :meth:`apply`."""

    _backward_cls: type[FunctionRecord]
    """The class of its nodes, which has the name of the node."""

    def __call__(self, *args: Any) -> Any:
        """Refused: a Function is run by :meth:`apply`."""
        raise AutogradError("Legacy autograd function with non-static forward method is deprecated. Make forward and backward static methods, and call apply")

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls._backward_cls = type(f"{cls.__name__}Backward", (FunctionRecord,), {"__module__": cls.__module__})

    @staticmethod
    def forward(*args: Any) -> Any:
        """Computes the results; nothing is recorded inside."""
        raise NotImplementedError("a Function must implement the forward function: a static method forward(ctx, *args)")

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """The cotangents of the arguments from those of the results; None for what has none."""
        raise NotImplementedError(
            "a Function must implement either the backward function or vjp to be differentiated: a static method backward(ctx, *cotangents)"
        )

    @staticmethod
    def vjp(ctx: Any, *cotangents: Any) -> Any:
        """The same under another name."""
        raise NotImplementedError

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """The tangents of the results from those of the arguments, None where there is none."""
        raise NotImplementedError("a Function must implement the jvp function to be differentiated in forward mode: a static method jvp(ctx, *tangents)")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Fills the context, where forward does not take it."""
        raise NotImplementedError

    @classmethod
    def pullback(cls) -> Callable[..., Any]:
        """``backward``, or ``vjp`` where that is written instead; a RuntimeError if both are."""
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise AutogradError(f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed: {cls.__name__}")
        return cls.vjp

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs the function and puts it on the tape."""
        from wengert.eager.tensor import Tensor

        if cls.setup_context is not Function.setup_context:
            args = _with_defaults(cls.forward, args)
        context = Context()
        context.needs_input_grad = tuple(isinstance(a, Tensor) and a.tracked for a in args)
        tracked = STATE.recording and any(context.needs_input_grad)
        # An argument that forward changes, or returns as it is, must still be found where it was.
        inputs = tuple(dispatch.source_of(a) if isinstance(a, Tensor) else None for a in args)
        tape = STATE.tape
        push: Any = getattr(tape, "apply_function", None)  # of a forward pass that stands where a tape would
        if push is None:
            output = cls._run(context, args)
        else:
            with tape.paused():  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
                output = cls._run(context, args)
        made, results = listed(output), listed(output)
        cls._check_marks(context, args, results)
        if tape is not None and not tape.has_rules:
            tape.refuse(f"{cls.__name__}.apply runs Python code")
        if tracked:
            cls._record(context, args, inputs, results)
        context.mark()
        if push is not None:
            push(cls, context, args, made, results)
        elif tracked and tape is not None and tape.has_rules and context.record is not None:
            from wengert.eager.compilation.custom_steps import add_rule

            add_rule(tape, context.record, args, results)
        return tuple(results) if isinstance(output, tuple | list) else results[0]

    @classmethod
    def _check_marks(cls, context: Context, args: tuple[Any, ...], results: list[Any]) -> None:
        """What was said about the results holds, and views among them know that their history is this function's."""
        for x in context.dirty:
            if not any(x is a for a in args):
                warn("Only input Tensors should be given to ctx.mark_dirty(): one that is not an input has no history to change", UserWarning, stacklevel=3)
            elif not any(x is y for y in results):
                raise AutogradError(
                    f"{cls.__name__}: Some elements marked as dirty during the forward method were not returned as output."
                    " The inputs that are modified inplace must all be outputs of the Function."
                )
        for number, y in enumerate(results):
            view = getattr(y, "view_of", None)
            if view is not None and STATE.recording and not any(y is a for a in args):
                view.frozen = IN_FUNCTION
            if any(y is c for c in context.constants):
                context.without_gradient.add(number)

    @classmethod
    def _run(cls, context: Context, args: tuple[Any, ...]) -> Any:
        before = STATE.grad, STATE.inference
        STATE.set(False, before[1])
        try:
            if cls.setup_context is Function.setup_context:
                return cls.forward(context, *args)
            output = cls.forward(*args)
            cls.setup_context(context, args, output)
            return output
        finally:
            STATE.set(*before)

    @classmethod
    def _record(cls, context: Context, args: tuple[Any, ...], inputs: tuple[Source, ...], results: list[Any]) -> None:
        from wengert.eager.tensor import Tensor

        for argument in context.dirty:
            inplace.check_view(argument)
            if argument.tracked and argument.is_leaf:
                raise LeafModifiedError(f"{cls.__name__} changes a leaf that requires a gradient in place")
        types = tuple((y.array.shape, y.array.dtype) if isinstance(y, Tensor) else ((), np.dtype(np.bool_)) for y in results)
        arguments = tuple((a.array.shape, a.array.dtype) if isinstance(a, Tensor) else ((), np.dtype(np.bool_)) for a in args)
        record = context.record = cls._backward_cls(cls, context, inputs, types, here(), arguments)
        for number, y in enumerate(results):
            if not isinstance(y, Tensor) or not y.is_floating_point() or any(y is c for c in context.constants):
                continue
            if y.view_of is not None and any(y is d for d in context.dirty):
                _rebase(cls.__name__, record, y, len(results))
                continue
            if any(y is a for a in args) and not any(y is d for d in context.dirty):
                # The argument itself is handed back: the result is another tensor of the same memory.
                y = results[number] = y.detach()
            y.source = record if len(results) == 1 else Output(record, number)
            y.tracked = True


def _with_defaults(forward: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, followed by the defaults of those that were left out."""
    parameters = list(signature(forward).parameters.values())[len(args) :]
    return (*args, *(p.default for p in parameters if p.default is not p.empty))


def _rebase(name: str, record: FunctionRecord, y: Tensor, count: int) -> None:
    """Puts a result that a function made by changing a view in its place in the base, which is a new value on the tape then."""
    if count > 1:
        raise AutogradError(
            f"{name} returns {count} results, and your Function modifies inplace an input that is a view of another Tensor;"
            " let it return only that one, or change a clone()"
        )
    if STATE.tape is not None:
        STATE.tape.refuse(f"{name} changes a view in place")
    made = dispatch.new(y.array)
    made.source, made.tracked = record, True
    inplace.put_in_base(y, made)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Says that a ``backward`` cannot itself be differentiated: its results do not require gradients, and using them so is an error."""

    @wraps(backward)
    def run(ctx: Any, *cotangents: Any) -> Any:
        recording = STATE.recording
        before = STATE.grad, STATE.inference
        STATE.set(False, before[1])
        try:
            gradients = backward(ctx, *cotangents)
        finally:
            STATE.set(*before)
        if not recording or not any(getattr(c, "tracked", False) for c in cotangents):
            return gradients
        refused = tuple(None if c is None else _Refused.apply(c) for c in listed(gradients))
        return refused if isinstance(gradients, tuple) else refused[0]

    run.is_differentiated_once = True  # pyright: ignore[reportAttributeAccessIssue]
    return run


class _Refused(Function):
    """Passes a gradient on and refuses to be differentiated."""

    @staticmethod
    def forward(*args: Any) -> Any:
        return args[1].clone()

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        raise AutogradError("a function marked once_differentiable is differentiated twice")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        (x,) = args
        made = x.detach().clone()
        made.source = FunctionRecord(cls, Context(), (None,), ((made.array.shape, made.array.dtype),), here())
        made.tracked = True
        return made
