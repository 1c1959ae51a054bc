"""PyTorch's operations beyond those with code of their own, by name: for the namespace, for tensors' methods, and for ``linalg``, ``fft`` and ``special``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from wengert.eager.errors import missing

Function = Callable[..., Any]


@cache
def functions() -> Mapping[str, Function]:
    """The functions of the namespace. Loaded when one is first asked for."""
    from wengert.eager.library.counting import COUNTING
    from wengert.eager.library.creation import CREATION
    from wengert.eager.library.elementwise import ELEMENTWISE
    from wengert.eager.library.factors import FACTORS
    from wengert.eager.library.linalg import OLD_NAMES
    from wengert.eager.library.queries import QUERIES
    from wengert.eager.library.reductions import REDUCTIONS
    from wengert.eager.library.shapes import SHAPES
    from wengert.eager.library.signal_windows import OLDER_NAMES as OLDER_WINDOWS
    from wengert.eager.library.signals import SIGNALS
    from wengert.eager.library.statistics import STATISTICS
    from wengert.eager.operations.memory.memory_layout import MEMORY

    return {
        **CREATION,
        **ELEMENTWISE,
        **SHAPES,
        **REDUCTIONS,
        **OLD_NAMES,
        **FACTORS,
        **COUNTING,
        **STATISTICS,
        **MEMORY,
        **SIGNALS,
        **OLDER_WINDOWS,
        **QUERIES,
    }


def foreach(name: str) -> Function:
    """A function for each tensor of a list: see :mod:`wengert.eager.library.lists`."""
    from wengert.eager.library.lists import of_list

    return of_list(name)


def in_place(name: str) -> Function:
    """The method of this name, which changes a tensor in place, as a function."""

    def change(x: Any, *args: Any, **keywords: Any) -> Any:
        return getattr(x, name)(*args, **keywords)

    return change


class Namespace:
    """A namespace inside of the namespace: ``eager.linalg``."""

    def __init__(self, name: str, load: Callable[[], Mapping[str, Function]]):
        self.__name__ = name
        self._load = load

    def __getattr__(self, name: str) -> Function:
        known = self._load()
        if name not in known:
            raise missing(f"wengert.eager.{self.__name__} has no {name!r}", name, known)
        return known[name]

    def __dir__(self) -> list[str]:
        return list(self._load())


def _linalg() -> Mapping[str, Function]:
    from wengert.eager.library.factors import FACTORS_OF_LINALG
    from wengert.eager.library.linalg import LINALG

    return {**LINALG, **FACTORS_OF_LINALG}


def _fft() -> Mapping[str, Function]:
    from wengert.eager.library.factors import HERMITIAN
    from wengert.eager.library.linalg import FFT

    return {**FFT, **HERMITIAN}


def _special() -> Mapping[str, Function]:
    from wengert.eager.library.elementwise import SPECIAL
    from wengert.eager.library.polynomials import POLYNOMIALS
    from wengert.eager.library.signals import GAMMAS

    return {**SPECIAL, **POLYNOMIALS, **GAMMAS}


def _masked() -> Mapping[str, Function]:
    from wengert.eager.library.masked import MASKED

    return MASKED


def _windows() -> Mapping[str, Function]:
    from wengert.eager.library.signal_windows import WINDOWS

    return WINDOWS


linalg, fft, special = Namespace("linalg", _linalg), Namespace("fft", _fft), Namespace("special", _special)
masked, signal = Namespace("masked", _masked), Namespace("signal", lambda: {"windows": Namespace("signal.windows", _windows)})  # pyright: ignore[reportArgumentType]
