"""Compiler stages: one thread is in one at a time, and the garbage collector pauses inside.

Parsing, every pass, lowering and loading machine code are stages. They share tables that are filled as they go (types and attributes by what is in them,
definitions of ops, LLVM's options, loaded libraries, what a program remembers of itself), and IR is Python, of which one thread runs at a
time in any case; so one lock for all of them costs next to nothing and leaves nothing to reason about in between. Stages nest. No code of a user
runs inside of one: functions are traced outside, or a function that waits for another thread would wait forever.

Calls of compiled programs take no lock. They own what they write to: see :mod:`wengert.runtime.cpu.native_entry`.
"""

from __future__ import annotations

import ctypes
import gc
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from wengert.ir.collector import paused

P = ParamSpec("P")
R = TypeVar("R")

LOCK = threading.RLock()
"""Held by the thread that is in a stage, or that loads or unloads machine code."""

if hasattr(os, "register_at_fork"):  # a fork waits for the stage of another thread: its tables would stay half filled in the child, and the lock held
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


_ONCE = (True,)
_CALL_ALL = deque[Any](maxlen=0).extend
"""Goes through an iterator and keeps nothing, in C."""


def locked(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function hold the lock while it runs, and leave it free whatever interrupts it.

    A signal handler may raise between any two instructions of Python. From Python 3.14 on, one of these places is behind the call of ``__enter__`` in
    a ``with`` statement and before what it protects: the lock would stay held. So the lock is taken inside of what ``finally`` protects, by a call of C
    that notes whether it was, and given back by one that looks there.
    """

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        taken: list[Any] = []
        release = map(LOCK.__exit__, taken, taken, taken)  # as often as it was taken by then
        try:
            taken.extend(map(LOCK.acquire, _ONCE))
            return function(*args, **kwargs)
        finally:
            _CALL_ALL(release)

    return inside


def _enabling() -> type[AbstractContextManager[Any]]:
    """A context manager that enables the collector when it is left.

    A signal handler runs between two instructions of Python, also between those at the beginning of an ``__exit__`` that is written in
    Python: an interrupt that comes there leaves everything as it is inside. So both methods are functions in C. This one takes
    what ``__exit__`` is given and looks at none of it.
    """

    class Enabling:
        __enter__ = gc.isenabled
        __exit__ = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.py_object, ctypes.py_object)(("PyGC_Enable", ctypes.pythonapi))

    return Enabling  # pyright: ignore[reportReturnType]


_ENABLING = _enabling()()


def stage(*, last: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a stage of a function; ``last`` as in :func:`wengert.ir.collector.paused`."""

    def of(function: Callable[P, R]) -> Callable[P, R]:
        @locked
        @wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            with _ENABLING if gc.isenabled() else nullcontext(), paused(last=last):
                return function(*args, **kwargs)

        return inside

    return of


class staged_property(Generic[R]):  # noqa: N801  (a decorator)
    """A property that is computed once, in a stage, and is an attribute of its object from then on.

    (``functools.cached_property`` of Python 3.11 holds a lock of its own while it computes. A thread with that lock that waits for a stage, and one in
    a stage that asks for the property, would wait for each other.)
    """

    def __init__(self, function: Callable[[Any], R]):
        self._compute = stage()(function)
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> staged_property[R]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> R: ...
    def __get__(self, instance: object | None, owner: type) -> staged_property[R] | R:
        if instance is None:
            return self
        return self._known(instance)

    @locked
    def _known(self, instance: object) -> R:
        known = instance.__dict__
        if self._name not in known:
            known[self._name] = self._compute(instance)
        return known[self._name]

    if TYPE_CHECKING:

        def __set__(self, instance: object, value: R) -> None:
            """Sets a value that is known already."""
