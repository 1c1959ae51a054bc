"""``Variable`` of old PyTorch code, and calls at the end of a backward pass."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any

from wengert.eager.errors import AutogradError
from wengert.eager.recording.modes import STATE

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


class _Engine:
    """The engine of backward passes, as far as one can talk to it."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Calls a function without arguments once the outermost backward pass that is running is done.

        Raises:
            AutogradError: no backward pass is running.
        """
        if STATE.sweep is None:
            raise AutogradError("Final callbacks can only be installed during backward pass.")
        STATE.callbacks.append(callback)


class _VariableType(type):
    """Makes every tensor an instance, as it is in PyTorch."""

    def __instancecheck__(cls, instance: Any) -> bool:
        from wengert.eager.tensor import Tensor

        return isinstance(instance, Tensor)

    def __call__(cls, data: Tensor, requires_grad: bool = False) -> Tensor:
        return data.detach().requires_grad_(requires_grad)


class Variable(metaclass=_VariableType):
    """A tensor on the tape, as PyTorch called it before version 0.4: ``Variable(x, requires_grad=True)`` shares the memory of x."""

    _execution_engine = _Engine()


class set_multithreading_enabled(ContextDecorator):  # noqa: N801  (the name under which it is known)
    """Whether backward passes may use threads of their own; taken for compatibility, since a pass runs on the thread that calls it."""

    def __init__(self, mode: bool):
        self._before = STATE.multithreading
        self._mode = mode
        STATE.multithreading = mode

    def __call__(self, function: Any) -> Any:
        """The function, run in this mode; as a decorator it changes nothing by itself."""
        STATE.multithreading = self._before
        return super().__call__(function)

    def __enter__(self) -> None:
        STATE.multithreading = self._mode

    def __exit__(self, *exception: object) -> None:
        STATE.multithreading = self._before


def is_multithreading_enabled() -> bool:
    """The last setting of :func:`set_multithreading_enabled`."""
    return STATE.multithreading
