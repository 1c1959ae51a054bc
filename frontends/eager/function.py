"""Functions with a derivative of the user's own, written in Python.

Such a function is one record on the tape whose derivative is a call of ``backward``; what comes before and after it may be compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError, LeafModifiedError
from wengert.eager.operations.memory import inplace
from wengert.eager.recording import dispatch
from wengert.eager.recording.function_record import Context, FunctionRecord
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.places import here
from wengert.eager.recording.record import Output, Source

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


IN_FUNCTION = (
    "This view was created inside a custom Function (or because an input was returned as-is), and a change in place would override the custom backward;"
    " change a clone()"
)


class Function:
    """To be subclassed, with static methods ``forward(ctx, *args)`` and ``backward(ctx, *cotangents)``, or with
    ``forward(*args)``, ``setup_context(ctx, inputs, output)`` and ``backward``; run by :meth:`apply`."""

    _backward_cls: type[FunctionRecord]
    """The class of its nodes, which has the name of the node."""
    clear_saved_tensors_on_access: bool = False
    """Whether what was saved is given up as soon as ``backward`` has asked for it, which it may do once then."""

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
        tape: Any = STATE.tape
        push: Any = getattr(tape, "apply_function", None)  # of a forward pass that stands where a tape would
        if push is None:
            output = cls._run(context, args)
        else:
            with tape.paused():
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
        context.dirty = ()  # their history is this function, whose node has the context: they would hold themselves
        return tuple(results) if isinstance(output, tuple | list) else results[0]

    @classmethod
    def _check_marks(cls, context: Context, args: tuple[Any, ...], results: list[Any]) -> None:
        """What was said about the results holds, and views among them know that their history is this function's."""
        for x in context.dirty:
            if not any(x is a for a in args):
                if x.view_of is not None:
                    raise AutogradError(f"{cls.__name__}: ctx.mark_dirty() received a tensor that was not an input. It is a view of a value of forward's own")
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
            if not isinstance(y, Tensor) or y.array.dtype.kind not in "fVc" or any(y is c for c in context.constants):
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
