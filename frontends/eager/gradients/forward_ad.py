"""Forward mode while code runs: dual numbers, as in ``torch.autograd.forward_ad``.

Inside of a level, a tensor may carry a tangent. Every operation on such a tensor also computes the tangent of its result, by the JVP of the ops that the
operation stands for; that is an operation like any other, so derivatives in reverse mode go through it. The level listens as a tape does, so operations
outside of any level cost nothing more.

A tangent of a view is a view of the tangent: what is changed in place through either is changed in both.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import ref

import numpy as np

from wengert.eager.errors import AutogradError
from wengert.eager.gradients.pushforward import pushforward
from wengert.eager.operations.memory import layout
from wengert.eager.operations.memory.inplace import DETACH
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation
from wengert.eager.recording.program import Array

if TYPE_CHECKING:
    from wengert.eager.function import Context, Function
    from wengert.eager.operations.memory.views import View
    from wengert.eager.tensor import Tensor


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, None where it has none."""

    primal: Tensor
    tangent: Tensor | None


class _Dual:
    """The tangent of a tensor, and the elements that the tensor had, for derivatives of changes in place."""

    __slots__ = ("before", "primal", "tangent")

    def __init__(self, primal: ref[Tensor], tangent: Tensor, before: Array):
        self.primal = primal  # which says when it is gone, so that no other tensor is taken for it
        self.tangent = tangent
        self.before = before


class _Rules:
    """Requirements on the tangents that a custom ``jvp`` returns, so that changes in place reach them as they reach the results.

    Args:
        name: of the function.
        context: that of the call.
        arguments: the arguments, the tangents that ``jvp`` was given, and the versions of these before.
    """

    def __init__(self, name: str, context: Context, arguments: Sequence[tuple[Any, Any, int | None]]):
        self.name = name
        self.context = context
        self.arguments = arguments

    def check(self, number: int, y: Tensor, tangent: Tensor) -> None:
        """Raises an AutogradError if the tangent of a result is none that it may have."""
        if number in self.context.without_gradient:
            raise AutogradError(
                f"the jvp of {self.name} returned a tangent of result {number}, which has none. You should return None at that position instead"
            )
        for a, t, version in self.arguments:
            if any(y is d for d in self.context.dirty):
                if y is a and t is not None:
                    self._check_changed(tangent, t, version)
            elif y is a or (getattr(y, "view_of", None) is not None and getattr(a, "array", None) is not None and _base(y) is _base(a)):
                self._check_view(tangent, t)

    def _check_changed(self, tangent: Tensor, given: Tensor, version: int | None) -> None:
        if tangent is not given:
            raise AutogradError(
                f"{self.name}: an inplace custom Function is not modifying the forward mode gradients inplace:"
                " its jvp must return the tangent that it was given"
            )
        if version is not None and dispatch.storage_of(given).version == version:
            raise AutogradError(f"{self.name} changes an argument in place, so its jvp function must modify the corresponding gradient inplace")

    def _check_view(self, tangent: Tensor, given: Tensor | None) -> None:
        said = f"{self.name}: A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view"
        if tangent.view_of is None:
            raise AutogradError(said)
        if given is None or _base(tangent) is _base(given):
            return
        raise AutogradError(f"{said} of the {'given tangent' if given.view_of is None else 'same base as the given tangent'}")


def _base(x: Tensor) -> Tensor:
    """The tensor whose memory it is."""
    return x if x.view_of is None else x.view_of.base


class dual_level:  # noqa: N801  (the name under which it is known)
    """A level of forward mode: inside, tensors may carry tangents, which are gone at its end.

    >>> import wengert.eager as eager
    >>> fwd = eager.autograd.forward_ad
    >>> with fwd.dual_level():
    ...     x = fwd.make_dual(eager.tensor(2.0), eager.tensor(1.0))
    ...     fwd.unpack_dual(x * x * x).tangent
    tensor(12.)
    """

    has_rules = True
    refused = ""

    def __init__(self) -> None:
        self.duals: dict[int, _Dual] = {}
        """By the identity of the tensor."""
        self._outer: Any = None

    def __enter__(self) -> int:
        if _LEVELS:
            raise AutogradError("Nested forward mode AD is not supported at the moment; use eager.autograd.functional for higher derivatives")
        self._outer = STATE.tape
        STATE.tape = self  # pyright: ignore[reportAttributeAccessIssue]
        _LEVELS.append(self)
        return 0

    def __exit__(self, *exception: object) -> None:
        _LEVELS.remove(self)
        STATE.tape = self._outer
        self.duals.clear()

    # -- tangents

    def tangent(self, x: Any) -> Tensor | None:
        """The tangent of a tensor, found along its path if only its base has one."""
        known = self.duals.get(id(x))
        if known is not None:
            return known.tangent
        view = getattr(x, "view_of", None)
        if view is None or id(view.base) not in self.duals:
            return None
        self.set(x, self._along(view, self.duals[id(view.base)].tangent))
        return self.duals[id(x)].tangent

    def set(self, x: Tensor, tangent: Tensor) -> None:
        """Gives a tensor a tangent."""
        key, duals = id(x), self.duals
        duals[key] = _Dual(ref(x, lambda _: duals.pop(key, None)), tangent, x.array.copy())

    def forget(self, x: Tensor) -> None:
        """Takes the tangent of a tensor away: it is detached."""
        self.duals.pop(id(x), None)

    def _along(self, view: View, tangent: Tensor) -> Tensor:
        """The tangent of a view: what the view shows of the tangent of its base."""
        with self.paused():
            for step, params in view.path:
                tangent = _seen(step, params, tangent)
        return tangent

    # -- what operations tell a tape

    def note(self, op: Operation, params: Any, operands: Sequence[Any], results: Sequence[Tensor]) -> None:
        """An operation ran: the tangents of its results."""
        if self._outer is not None:
            self._outer.note(op, params, operands, results)
        if op is DETACH or not STATE.pushes_forward:
            return
        tangents = [self.tangent(x) for x in operands]
        if all(t is None for t in tangents):
            return
        with self.paused():
            if op.view:
                made: Sequence[Tensor | None] = [_seen(op, params, tangents[0])]
            else:
                made = pushforward(op, params, operands, [getattr(x, "array", x) for x in operands], tangents, [r.array.dtype for r in results])
        for result, tangent in zip(results, made, strict=True):
            if tangent is not None:
                self.set(result, tangent)

    def changed(self, op: Operation, params: Any, operands: Sequence[Any]) -> None:
        """An operation has changed its first operand in place."""
        if self._outer is not None:
            self._outer.changed(op, params, operands)
        x = operands[0]
        tangents = [self.tangent(v) for v in operands]
        if not STATE.pushes_forward or all(t is None for t in tangents):
            return
        known = self.duals.get(id(x))
        arrays = [getattr(v, "array", v) for v in operands]
        if known is not None:
            arrays[0] = known.before
        elif x.view_of is not None:  # the rest of its base has the tangent 0
            self.set(x.view_of.base, _zeros_like(x.view_of.base))
            self.tangent(x)
            known = self.duals[id(x)]
        with self.paused():
            (tangent,) = pushforward(op, params, operands, arrays, tangents, [x.array.dtype])
            assert tangent is not None
            if known is None:
                self.set(x, tangent)
            else:
                known.tangent.copy_(tangent)
                known.before = x.array.copy()

    def apply_function(self, function: type[Function], context: Context, args: Sequence[Any], made: Sequence[Any], results: list[Any]) -> None:
        """A custom function ran: its ``jvp`` gives the tangents of its results.

        Args:
            function: the function.
            context: that of the call.
            args: the arguments.
            made: what ``forward`` returned.
            results: what the caller gets.
        """
        tangents = [self.tangent(a) for a in args]
        if not STATE.pushes_forward or all(t is None for t in tangents):
            return
        versions = [None if t is None else dispatch.storage_of(t).version for t in tangents]
        given = tangents
        if context.materialize:
            given = [_zeros_like(a) if t is None and hasattr(a, "array") and a.array.dtype.kind in "fVc" else t for a, t in zip(args, tangents, strict=True)]
        with self.paused(), context.of_forward_mode():
            returned: Any = function.jvp(context, *given)
        pushed = cast("Sequence[Any]", returned) if isinstance(returned, tuple | list) else (returned,)
        rules = _Rules(function.__name__, context, list(zip(args, given, versions, strict=True)))
        for number, (y, tangent) in enumerate(zip(made, pushed, strict=True)):
            if tangent is None or not hasattr(y, "array"):
                continue
            rules.check(number, y, tangent)
            if results[number] is y and any(y is a for a in args) and not any(y is d for d in context.dirty):
                with self.paused():
                    results[number] = y.view_as(y)
            self.set(results[number], tangent)

    @contextmanager
    def paused(self) -> Generator[None]:
        """What runs inside leaves tangents as they are."""
        STATE.tape = self._outer
        try:
            yield
        finally:
            STATE.tape = self  # pyright: ignore[reportAttributeAccessIssue]

    def __getattr__(self, name: str) -> Any:
        """Everything else that a tape is told."""
        outer = self.__dict__.get("_outer")
        if name not in _TOLD:
            raise AttributeError(name)
        return getattr(outer, name) if outer is not None else _ignore


_TOLD = {"created", "concretized", "rewrapped", "swept", "drawn", "gradient_read", "gradient_set", "refuse", "only_once", "knows"}
_LEVELS: list[dual_level] = []


def _ignore(*args: Any) -> None:
    """Nobody listens."""


def _zeros_like(x: Tensor) -> Tensor:
    return dispatch.new(np.zeros(x.array.shape, x.array.dtype))


def _seen(op: Operation, params: Any, tangent: Any) -> Tensor:
    from wengert.eager.operations.memory.views import see

    return see(op, tangent, params)


def _level() -> dual_level:
    if not _LEVELS:
        raise AutogradError("Trying to create a dual Tensor while no level of forward mode exists; use it inside of: with forward_ad.dual_level()")
    return _LEVELS[-1]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of a tensor that carries a tangent of the same shape and dtype.

    Raises:
        AutogradError: no level is open, the tangent is of another shape or dtype, or has a tangent itself.
        ValueError: the tensor or the tangent is not of floats.
    """
    current = _level()
    for what, x in (("primal", tensor), ("tangent", tangent)):
        if not x.is_floating_point() and x.array.dtype.kind != "c":
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {x.array.dtype.name}")
    if current.tangent(tangent) is not None:
        raise AutogradError("Trying to set a forward gradient that has a forward gradient at the same level; this is not supported")
    if (tangent.array.shape, tangent.array.dtype) != (tensor.array.shape, tensor.array.dtype):
        shown = dispatch.describe_types([(x.array.shape, x.array.dtype) for x in (tensor, tangent)])
        raise AutogradError(f"Trying to set a forward gradient that has a different size than the original Tensor, or another dtype: {shown}")
    with current.paused():
        dual = tensor.view_as(tensor)
    if layout.memory(tensor).size != layout.memory(tangent).size:  # the tangent of a part of memory must not be changed with all of another's
        with current.paused():
            tangent = tangent.clone()
    current.set(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent."""
    if not _LEVELS:
        return UnpackedDualTensor(tensor, None)
    current = _level()
    tangent = current.tangent(tensor)
    with current.paused():
        return UnpackedDualTensor(tensor if tangent is None else tensor.view_as(tensor), tangent)


def __getattr__(name: str) -> Any:
    if name == "_current_level":
        return len(_LEVELS) - 1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def enter_dual_level() -> int:
    """Opens a level, until :func:`exit_dual_level`."""
    dual_level().__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Closes the level."""
    if not _LEVELS:
        raise AutogradError("Trying to exit a forward AD level but no level is open")
    _LEVELS[-1].__exit__()


def _is_fwd_grad_enabled() -> bool:  # pyright: ignore[reportUnusedFunction]  the names that PyTorch has for it
    """Whether operations compute tangents."""
    return STATE.pushes_forward


class _set_fwd_grad_enabled:  # noqa: N801  # pyright: ignore[reportUnusedClass]
    """Turns tangents on or off until the end of the block."""

    def __init__(self, mode: bool):
        self._mode = mode
        self._before = True

    def __enter__(self) -> None:
        self._before, STATE.pushes_forward = STATE.pushes_forward, self._mode

    def __exit__(self, *exception: object) -> None:
        STATE.pushes_forward = self._before


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
