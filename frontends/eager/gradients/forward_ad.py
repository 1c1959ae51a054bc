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

import numpy as np

from wengert.eager.errors import AutogradError
from wengert.eager.gradients.pushforward import pushforward
from wengert.eager.operations.inplace import DETACH
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation
from wengert.eager.recording.program import Array

if TYPE_CHECKING:
    from wengert.eager.function import Context, Function
    from wengert.eager.tensor import Tensor


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, None where it has none."""

    primal: Tensor
    tangent: Tensor | None


class _Dual:
    """A tensor with a tangent, and the elements that it had, for derivatives of changes in place."""

    __slots__ = ("before", "primal", "tangent")

    def __init__(self, primal: Tensor, tangent: Tensor, before: Array):
        self.primal = primal  # so that no other tensor gets its identity
        self.tangent = tangent
        self.before = before


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
        return None if known is None else known.tangent

    def set(self, x: Tensor, tangent: Tensor) -> None:
        """Gives a tensor a tangent."""
        self.duals[id(x)] = _Dual(x, tangent, x.array.copy())

    # -- what operations tell a tape

    def note(self, op: Operation, params: Any, operands: Sequence[Any], results: Sequence[Tensor]) -> None:
        """An operation ran: the tangents of its results."""
        if self._outer is not None:
            self._outer.note(op, params, operands, results)
        tangents = [self.tangent(x) for x in operands]
        if op is DETACH or all(t is None for t in tangents):
            return
        with self._paused():
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
        if all(t is None for t in tangents):
            return
        known = self.duals.get(id(x))
        arrays = [getattr(v, "array", v) for v in operands]
        if known is not None:
            arrays[0] = known.before
        elif x.view_of is not None:
            raise AutogradError(f"{op.name}_ gives a view a tangent whose base has none; give the base one by make_dual")
        with self._paused():
            (tangent,) = pushforward(op, params, operands, arrays, tangents, [x.array.dtype])
            assert tangent is not None
            if known is None:
                self.set(x, tangent)
            else:
                known.tangent.copy_(tangent)
                known.before = x.array.copy()

    def apply_function(self, function: type[Function], context: Context, args: Sequence[Any], results: list[Any]) -> None:
        """A custom function ran: its ``jvp`` gives the tangents of its results."""
        tangents = [self.tangent(a) for a in args]
        if all(t is None for t in tangents):
            return
        if context.materialize:
            tangents = [_zeros_like(a) if t is None and hasattr(a, "array") and a.array.dtype.kind in "fVc" else t for a, t in zip(args, tangents, strict=True)]
        with self._paused():
            returned: Any = function.jvp(context, *tangents)
        given = cast("Sequence[Any]", returned) if isinstance(returned, tuple | list) else (returned,)
        for result, tangent in zip(results, given, strict=True):
            if tangent is not None:
                self.set(result, tangent)

    @contextmanager
    def _paused(self) -> Generator[None]:
        """What runs inside is about tangents."""
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
    from wengert.eager.operations.views import see

    return see(op, tangent, params)


def _level() -> dual_level:
    if not _LEVELS:
        raise AutogradError("Trying to create a dual Tensor while no level of forward mode exists; use it inside of: with forward_ad.dual_level()")
    return _LEVELS[-1]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of a tensor that carries a tangent of the same shape and dtype.

    Raises:
        AutogradError: no level is open, the tensor is not of floats, or the tangent is of another shape or dtype.
    """
    current = _level()
    if not tensor.is_floating_point() and tensor.array.dtype.kind != "c":
        raise AutogradError(f"Expected primal to be floating point or complex, but got: {tensor.array.dtype.name}")
    if (tangent.array.shape, tangent.array.dtype) != (tensor.array.shape, tensor.array.dtype):
        shown = dispatch.describe_types([(x.array.shape, x.array.dtype) for x in (tensor, tangent)])
        raise AutogradError(f"Trying to set a forward gradient that has a different size than the original Tensor, or another dtype: {shown}")
    with current._paused():  # pyright: ignore[reportPrivateUsage]
        dual = tensor.view_as(tensor)
    current.set(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent."""
    if not _LEVELS:
        return UnpackedDualTensor(tensor, None)
    current = _level()
    tangent = current.tangent(tensor)
    with current._paused():  # pyright: ignore[reportPrivateUsage]
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


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
