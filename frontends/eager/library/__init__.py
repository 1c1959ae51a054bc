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
    from wengert.eager.library.creation import CREATION
    from wengert.eager.library.elementwise import ELEMENTWISE
    from wengert.eager.library.linalg import OLD_NAMES
    from wengert.eager.library.reductions import REDUCTIONS
    from wengert.eager.library.shapes import SHAPES

    return {**CREATION, **ELEMENTWISE, **SHAPES, **REDUCTIONS, **OLD_NAMES}


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
    from wengert.eager.library.linalg import LINALG

    return LINALG


def _fft() -> Mapping[str, Function]:
    from wengert.eager.library.linalg import FFT

    return FFT


def _special() -> Mapping[str, Function]:
    from wengert.eager.library.elementwise import SPECIAL

    return SPECIAL


linalg, fft, special = Namespace("linalg", _linalg), Namespace("fft", _fft), Namespace("special", _special)
