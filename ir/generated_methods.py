"""Methods that ``@dataclass`` generates for xDSL's classes and ours are compiled when they are first called.

``dataclass`` writes the text of ``__init__``, ``__eq__``, ``__hash__``, ``__repr__`` and of what refuses changes for every class, and has Python
compile each of them. xDSL and our passes have 290 such classes, and most of these methods are never called: to compile them took
a fifth of the first program of a process. Here the text is kept instead. What stands in the class until then is a function that
compiles the text, puts the method in its own place and calls it.

``dataclasses`` reaches Python's ``exec`` by its name, which is looked up in that module first; :func:`install` puts ours there. Methods of
classes of other packages are compiled at once, and so is text of any other form than those known here (Python 3.11 to 3.14).
"""

from __future__ import annotations

import builtins
import dataclasses
import re
import sys
from collections.abc import Callable
from typing import Any, cast

_PACKAGES = frozenset(("xdsl", "wengert"))
_ONE = re.compile(r"def __create_fn__\([^\n]*\):\n def (\w+)\([^\n]*\n(?:  [^\n]*\n)* return (\w+)")
"""The text of one method, up to Python 3.12."""
_SEVERAL = re.compile(r"def __create_fn__\([^\n]*\):\n(?: +\S[^\n]*\n)+ return \(((?:\w+,)+)\)")
"""That of all methods of a class, from then on."""

Namespace = dict[str, Any]


def install() -> None:
    """Lets methods of dataclasses be compiled late, from now on."""
    if sys.version_info < (3, 15):
        setattr(dataclasses, "exec", _execute)  # noqa: B010  (the module declares no such name)


def _execute(text: str, module: Namespace, result: Namespace) -> None:
    """Executes the text of methods in their module, or keeps it for later."""
    names = _names(text) if str(module.get("__name__", "")).partition(".")[0] in _PACKAGES else ()
    if not names:
        builtins.exec(text, module, result)
        return

    def create(**values: Any) -> Any:
        group = _Methods(text, module, values, names)
        methods = [group.method(name) for name in names]
        return tuple(methods) if text.endswith(")") else methods[0]

    result["__create_fn__"] = create


def _names(text: str) -> tuple[str, ...]:
    """The names of the methods that a text defines; none if it does anything else."""
    if (one := _ONE.fullmatch(text)) is not None:
        return (one[1],) if one[1] == one[2] else ()
    several = _SEVERAL.fullmatch(text)
    return () if several is None else tuple(several[1].split(",")[:-1])


class _Methods:
    """Methods of one class that are compiled together.

    Attributes:
        text: a function that makes them.
        module: the names of the module in which the class stands.
        values: the arguments of the function.
        names: the names of the methods.
    """

    __slots__ = ("compiled", "module", "names", "text", "values")

    def __init__(self, text: str, module: Namespace, values: Namespace, names: tuple[str, ...]):
        self.text = text
        self.module = module
        self.values = values
        self.names = names
        self.compiled: dict[str, Any] = {}

    def method(self, name: str) -> Callable[..., Any]:
        """What stands for a method until it is called."""

        def stand_in(self_: Any, /, *args: Any, **kwargs: Any) -> Any:
            real = self.compiled.get(name)
            if real is None or getattr(cast("type[Any]", type(self_)), name) is stand_in:
                real = self.compile()[name]
                real.__qualname__ = stand_in.__qualname__
                if (annotations := getattr(stand_in, "__annotate__", None)) is not own:  # what ``dataclass`` gave it, from Python 3.14 on
                    real.__annotate__ = annotations
                for cls in type(self_).__mro__:
                    if cls.__dict__.get(name) is stand_in:
                        setattr(cls, name, real)
            return real(self_, *args, **kwargs)

        stand_in.__name__ = name
        own = getattr(stand_in, "__annotate__", None)
        return stand_in

    def compile(self) -> dict[str, Any]:
        """The methods by name."""
        if not self.compiled:
            result: Namespace = {}
            builtins.exec(self.text, self.module, result)
            made = result["__create_fn__"](**self.values)
            self.compiled = dict(zip(self.names, made if self.text.endswith(")") else (made,), strict=True))
        return self.compiled
