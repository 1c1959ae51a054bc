"""Whether ops are recorded: grad mode, inference mode, and the tape that is listening. All are per thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial, wraps
from inspect import isgeneratorfunction
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from warnings import warn

if TYPE_CHECKING:
    from wengert.eager.checkpoint import Frame, Keeper
    from wengert.eager.checkpoint_switches import GraphExecGroup
    from wengert.eager.gradients.backward import Sweep
    from wengert.eager.recording.tape import Tape

P = ParamSpec("P")
R = TypeVar("R")


class State(threading.local):
    """The modes of one thread."""

    grad: bool = True
    inference: bool = False
    recording: bool = True
    """Grad mode outside of inference mode: what every op asks."""
    tape: Tape | None = None
    keeper: Keeper | None = None
    """Whom the innermost checkpoint that is running has listen to records."""
    anomaly: bool = False
    """Whether backward passes look for NaN."""
    mutations: Any = None
    """Who is told before memory that a tape may keep is written to."""
    no_saved_hooks: str | None = None
    """The message of the error that hooks on kept values are now, if they are."""
    sweep: Sweep | None = None
    """The backward pass that is running."""
    pushes_forward: bool = True
    """Whether a level of forward mode computes tangents."""
    multithreading: bool = True
    """What code said about threads of backward passes."""
    depth: int = 0
    """How many backward passes run in this thread, one inside of the other."""
    callbacks: list[Callable[[], Any]]
    """What runs when the outermost backward pass is done."""
    recomputed: tuple[Frame, ...] = ()
    """Checkpoints that hold values which they computed again."""
    group: GraphExecGroup | None = None
    """What keeps these values over several backward passes."""

    def __init__(self) -> None:
        self.callbacks = []

    def set(self, grad: bool, inference: bool) -> None:
        """Changes both modes."""
        self.grad, self.inference, self.recording = grad, inference, grad and not inference

    def copied(self) -> dict[str, Any]:
        """All modes, for another thread."""
        return {name: getattr(self, name) for name in _NAMES}

    def take(self, modes: dict[str, Any]) -> None:
        """Sets the modes that another thread has."""
        for name, value in modes.items():
            setattr(self, name, value)


_NAMES = tuple(State.__annotations__)


STATE = State()


class _Mode:
    """A context manager, also usable as a decorator, that sets grad mode and inference mode and puts them back."""

    def __init__(self, grad: bool, inference: bool | None = None):
        self._grad = grad
        self._inference = inference
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((STATE.grad, STATE.inference))
        STATE.set(self._grad, STATE.inference if self._inference is None else self._inference)

    def __exit__(self, *exception: object) -> None:
        STATE.set(*self._before.pop())

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, run in this mode."""
        given: object = function
        if isinstance(given, type):
            warn("Decorating classes is deprecated: only what makes an object of it runs in the mode; decorate its methods", FutureWarning, stacklevel=2)
        if isgeneratorfunction(function):
            return self._generator(function)

        @wraps(function, updated=())
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            with type(self).again(self):
                return function(*args, **kwargs)

        return inside

    def _generator(self, function: Any) -> Any:
        """A generator function, whose code runs in this mode and whose caller's does not."""

        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume: Callable[[], Any] = lambda: next(generator)  # noqa: E731
            while True:
                try:
                    with type(self).again(self):
                        yielded = resume()
                except StopIteration as end:
                    return end.value
                try:
                    sent: Any = yield yielded  # pyright: ignore[reportUnknownVariableType]
                except GeneratorExit:
                    with type(self).again(self):
                        generator.close()
                    raise
                except BaseException as thrown:
                    resume = partial(generator.throw, thrown)
                else:
                    resume = partial(generator.send, sent)

        return inside

    @staticmethod
    def again(mode: _Mode) -> _Mode:
        """A mode of the same kind, for one use: a function may be entered while it is running."""
        return _Mode(mode._grad, mode._inference)


def _usable_bare(make: Callable[[], _Mode], function: Callable[..., Any] | None) -> Any:
    """The mode, or the function in the mode where the decorator is written without parentheses."""
    return make() if function is None else make()(function)


def no_grad(function: Callable[..., Any] | None = None) -> Any:
    """Ops inside are not recorded; their results do not require gradients. A context manager and a decorator."""
    return _usable_bare(lambda: _Mode(grad=False), function)


def enable_grad(function: Callable[..., Any] | None = None) -> Any:
    """Ops inside are recorded again, inside of :func:`no_grad` too (but not inside of :func:`inference_mode`)."""
    return _usable_bare(lambda: _Mode(grad=True), function)


def inference_mode(mode: Any = True) -> Any:
    """As :func:`no_grad`; what is computed inside can never be recorded later, which saves its version counters."""
    if callable(mode):
        return _Mode(grad=False, inference=True)(mode)
    return _Mode(grad=not mode, inference=bool(mode))


class set_grad_enabled(_Mode):  # noqa: N801  (the name under which it is known)
    """Turns recording on or off: at once when it is called, and until the end of the block where it is a context manager."""

    def __init__(self, mode: bool):
        super().__init__(grad=mode)
        super().__enter__()

    def __enter__(self) -> None:
        """It was entered when it was made."""

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, run in this mode; as a decorator it changes nothing by itself."""
        self.__exit__()
        return super().__call__(function)


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require gradients are recorded."""
    return STATE.recording


def is_inference_mode_enabled() -> bool:
    """Whether :func:`inference_mode` is on."""
    return STATE.inference
