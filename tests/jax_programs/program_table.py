"""Programs written in JAX, and how their inputs are drawn.

A table entry is a name, a text that says what the arguments are, and a function:

    P("outer", "3 4", lambda x, y: jnp.outer(x, y))

An argument is a kind letter (none: normal reals), an extent list and, for integers, a bound: ``3x4`` normal, ``p3`` positive,
``u3`` in (0.1, 0.9), ``s3`` around zero in (-0.9, 0.9), ``z4`` normal complex, ``m2x3x3`` symmetric positive definite,
``i5<7`` integers in [0, 7), ``i5<-7`` in [-7, 7), ``b4`` booleans, ``h4`` bfloat16, ``e4`` float16. ``f`` alone is a scalar.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class JaxProgram:
    """A function of arrays with what its arguments are.

    hidden: JAX's own derivative follows a custom rule that the lowered text does not show; differences are the reference.
    primal_only: JAX has no derivative, or one by a custom rule over bits.
    second: whether second derivatives are compared.
    dual: whether JVP and VJP are compared by the dot product; not where an op rounds tangents and cotangents on purpose.
    tolerance: loosens the comparison by this factor, where the function itself amplifies rounding.
    """

    name: str
    arguments: str
    function: Callable[..., Any]
    hidden: bool = False
    tolerance: float = 1.0
    second: bool = True
    primal_only: bool = False
    dual: bool = True

    def inputs(self, precision: str) -> list[Array]:
        """The arguments drawn from a seed that the name determines."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [draw(text, rng, precision) for text in self.arguments.split()]


class Table(dict[str, JaxProgram]):
    """Programs by name."""

    def __call__(self, name: str, arguments: str, function: Callable[..., Any], **options: Any) -> None:
        assert name not in self, name
        self[name] = JaxProgram(name, arguments, function, **options)

    def define(self, arguments: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator: the entry is named after the function."""

        def enter(function: Callable[..., Any]) -> Callable[..., Any]:
            self(function.__name__, arguments, function, **options)
            return function

        return enter


def draw(text: str, rng: np.random.Generator, precision: str) -> Array:
    """An array as the module docstring describes."""
    match = re.fullmatch(r"([a-z]?)([\dx]*)(?:<(-?)(\d+))?", text)
    assert match, text
    kind, extents, signed, bound = match.groups()
    shape = tuple(int(n) for n in extents.split("x") if n)
    real = np.dtype(np.float64 if precision == "f64" else np.float32)
    if kind == "i":
        return rng.integers(-int(bound) if signed else 0, int(bound), shape).astype(np.int32)
    if kind == "b":
        return rng.random(shape) < 0.5
    normal = rng.standard_normal(shape)
    if kind == "z":
        return (normal + 1j * rng.standard_normal(shape)).astype(np.result_type(real, np.complex64))
    if kind == "m":
        return (normal @ np.swapaxes(normal, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(real)
    values = {"p": lambda: 0.2 + 2 * rng.random(shape), "u": lambda: 0.1 + 0.8 * rng.random(shape), "s": lambda: 1.8 * rng.random(shape) - 0.9}
    array = np.asarray(values[kind]() if kind in values else normal)
    return array.astype({"h": ml_dtypes.bfloat16, "e": np.float16}.get(kind, real))
