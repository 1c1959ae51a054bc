"""The namespace that a traced array gives to libraries (``x.__array_namespace__()``): :mod:`wengert.numpy`, but all that it makes is traced.

In :mod:`wengert.numpy` itself what is concrete stays NumPy's, so that users can compute shapes and indices while a function is traced. A library
that is written for any namespace (SciPy, einops) makes arrays by ``xp.zeros`` or ``xp.asarray(2.0)`` and hands them, with those that it was
given, to functions that ask all of them for their one namespace: there a NumPy array beside a traced one is an error. So here arrays that
are made are constants of what is traced, as they are in JAX under ``jit``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np
import optree

from wengert.frontends.tracing.context import current_trace
from wengert.frontends.tracing.operands import traced, value_of


class TracedNamespace(ModuleType):
    """The members of a module; functions return traced arrays while something is traced."""

    def __init__(self, module: ModuleType, name: str):
        super().__init__(name, module.__doc__)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name == "_module" or name.startswith("__array_api_"):
            return super().__getattribute__(name) if name == "_module" else getattr(self._module, name)
        member = getattr(self._module, name)
        if isinstance(member, ModuleType):
            member = TracedNamespace(member, f"{self.__name__}.{name}")
        elif isinstance(member, FunctionType):
            member = _lifting(member)
        setattr(self, name, member)
        return member

    def __dir__(self) -> list[str]:
        return dir(self._module)


def _lifting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose results are traced."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if current_trace() is None:
            return result
        if isinstance(result, np.ndarray | np.generic):
            return traced(value_of(result))
        if isinstance(result, list | tuple):
            return optree.tree_map(_lifted, cast("Any", result))  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return result

    return call


def _lifted(leaf: Any) -> Any:
    return traced(value_of(leaf)) if isinstance(leaf, np.ndarray | np.generic) else leaf


NAMESPACE = TracedNamespace(import_module("wengert.numpy"), "wengert.numpy")
"""The one namespace of all traced arrays."""
