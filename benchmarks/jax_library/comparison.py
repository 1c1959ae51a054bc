"""Compares a JAX function's values and derivatives with those of its program, leaf by leaf."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.jax_library.program import Program

import wengert as wg

LIMIT = {"f64": 1e-9, "f32": 2e-4}
"""The largest error that counts as right, relative to the largest element of a result (or to a thousandth of the largest of all results)."""
LIMIT_BY_VALUES = {"f64": 1.5e-7, "f32": 3.5e-3}
"""The same for what a minimum is found by a function's values: ten roots of the rounding unit."""
KINDS = ("values", "reverse", "JVP", "second")


@dataclass(frozen=True)
class Outcome:
    """What came of one kind of results in one precision: an error, or the message of a refusal (``by_jax``: JAX's), or neither where it is not asked for.

    ``by_values`` says that the program looks for a minimum by values.
    """

    error: float | None = None
    refused: str = ""
    by_jax: bool = False
    by_values: bool = False

    def right(self, precision: str) -> bool:
        """Whether nothing is wrong: agreement, or a refusal that is JAX's too."""
        limit = (LIMIT_BY_VALUES if self.by_values else LIMIT)[precision]
        return self.by_jax or (not self.refused and (self.error is None or self.error <= limit))


@dataclass(frozen=True)
class Comparison:
    """The outcomes for one program in one precision, by kind; or why there are none: the library is missing, or cannot make it."""

    precision: str
    outcomes: Mapping[str, Outcome] = field(default_factory=dict[str, Outcome])
    skipped: str = ""
    unmade: str = ""

    @property
    def right(self) -> bool:
        """Whether nothing is wrong."""
        return not self.unmade and all(outcome.right(self.precision) for outcome in self.outcomes.values())


def compared(program: Program, precision: str) -> Comparison:
    """The errors of a program's values and derivatives in a precision, "f64" or "f32"; JAX computes in the same."""
    if program.only not in ("", precision):
        return Comparison(precision, skipped=f"JAX runs it in {program.only} alone")
    with jax.enable_x64(precision == "f64"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function, arguments = program.make()
        except ImportError as missing:
            return Comparison(precision, skipped=str(missing))
        except Exception as failure:
            return Comparison(precision, unmade=_first_line(failure))
        outcomes = _Sides(function, arguments).outcomes(program)
        if outcomes["values"].by_jax:  # no program of JAX either
            return Comparison(precision, unmade=outcomes["values"].refused)
        return Comparison(precision, outcomes)


def error(actual: Sequence[Any], expected: Sequence[Any]) -> float:
    """The largest difference of two lists of arrays, relative as :data:`LIMIT` says; infinite where shapes, or what is not finite, differ."""
    wide = [(np.asarray(a), np.asarray(e)) for a, e in zip(actual, expected, strict=True)]
    if any(a.shape != e.shape or not np.array_equal(np.isfinite(a), np.isfinite(e)) for a, e in wide):
        return float("inf")
    sizes = [float(np.abs(np.where(np.isfinite(e), e, 0).astype(np.result_type(e, np.float64))).max(initial=0)) for _, e in wide]
    floor = 1e-3 * max(sizes, default=0.0)
    worst = 0.0
    for (a, e), size in zip(wide, sizes, strict=True):
        finite = np.isfinite(e)
        kind = np.result_type(e, np.float64)
        difference = float(np.abs(a[finite].astype(kind) - e[finite].astype(kind)).max(initial=0))
        if not np.array_equal(a[~finite], e[~finite], equal_nan=True):
            return float("inf")
        if difference:
            worst = max(worst, difference / (max(size, floor) or 1.0))
    return worst


class _Sides:
    """A function, by JAX and as a program.

    Derivatives are taken along random directions: tangents of the floats in the first argument, and cotangents of the floats in the result.
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]):
        leaves, tree = jax.tree.flatten(arguments[0])
        self.function, self.arguments = function, arguments
        self.leaves, self.others = [jnp.asarray(x) for x in leaves], arguments[1:]
        self.tree = tree
        self.wrt = [i for i, x in enumerate(self.leaves) if jnp.issubdtype(x.dtype, jnp.inexact)]
        self._program: Any = None

    def along(self, *moving: Any) -> list[Any]:
        """The floats of the result, as a function of the floats in the first argument."""
        leaves = list(self.leaves)
        for i, x in zip(self.wrt, moving, strict=True):
            leaves[i] = x
        return [y for y in jax.tree.leaves(self.function(jax.tree.unflatten(self.tree, leaves), *self.others)) if jnp.issubdtype(y.dtype, jnp.inexact)]

    def inputs(self) -> list[Any]:
        """The arguments' leaves, as the program takes them."""
        return [_plain(x) for x in jax.tree.leaves(self.arguments)]

    def program(self) -> Any:
        """The program, imported once."""
        if self._program is None:
            self._program = wg.from_jax(self.function, *self.arguments).program
        return self._program

    def outcomes(self, program: Program) -> dict[str, Outcome]:
        """Errors by kind."""
        wanted = {"values": self._values}
        if not program.undifferentiable:
            wanted |= {} if program.forward_only else {"reverse": self._reverse}
            wanted |= {} if program.reverse_only else {"JVP": self._jvp}
            wanted |= {"second": self._second} if program.second else {}
        made = {kind: _outcome(*wanted[kind]()) if kind in wanted else Outcome() for kind in KINDS}
        return {kind: replace(outcome, by_values=program.by_values) for kind, outcome in made.items()}

    def _values(self) -> tuple[Any, Any]:
        return lambda: jax.tree.leaves(jax.jit(self.function)(*self.arguments)), lambda: self.program()(*self.inputs())

    def _of(self) -> list[int]:
        return [j for j, result in enumerate(self.program().signature.results) if result.differentiable]

    def _directions(self, like: Sequence[Any], seed: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        return [jnp.asarray(rng.normal(size=x.shape), x.dtype) for x in like]

    def _moving(self) -> list[Any]:
        return [self.leaves[i] for i in self.wrt]

    def _cotangents(self) -> list[Any]:
        return self._directions(jax.eval_shape(self.along, *self._moving()), 1)

    def _reverse(self) -> tuple[Any, Any]:
        def by_jax() -> Any:
            return jax.jit(lambda xs, y_bars: jax.vjp(self.along, *xs)[1](y_bars))(self._moving(), self._cotangents())

        def ours() -> Any:
            y_bars = self._cotangents()
            return self.program().vjp(self.wrt, self._of())(*self.inputs(), *y_bars)[-len(self.wrt) :]

        return by_jax, ours

    def _jvp(self) -> tuple[Any, Any]:
        def by_jax() -> Any:
            return jax.jit(lambda xs, x_dots: jax.jvp(self.along, tuple(xs), tuple(x_dots))[1])(self._moving(), self._directions(self._moving(), 2))

        def ours() -> Any:
            of = self._of()
            return self.program().jvp(self.wrt, of)(*self.inputs(), *self._directions(self._moving(), 2))[-len(of) :]

        return by_jax, ours

    def _second(self) -> tuple[Any, Any]:
        """Forward over reverse."""

        def pulled(*xs: Any) -> Any:
            return jax.vjp(self.along, *xs)[1](self._cotangents())

        def by_jax() -> Any:
            return jax.jit(lambda xs, x_dots: jax.jvp(pulled, tuple(xs), tuple(x_dots))[1])(self._moving(), self._directions(self._moving(), 2))

        def ours() -> Any:
            reverse, count = self.program().vjp(self.wrt, self._of()), len(self.program().signature.results)
            of = range(count, count + len(self.wrt))
            return reverse.jvp(self.wrt, of)(*self.inputs(), *self._cotangents(), *self._directions(self._moving(), 2))[-len(self.wrt) :]

        return by_jax, ours


def _plain(x: Any) -> Any:
    return jax.random.key_data(x) if jnp.issubdtype(jnp.asarray(x).dtype, jax.dtypes.prng_key) else jnp.asarray(x)


def _outcome(by_jax: Callable[[], Any], ours: Callable[[], Any]) -> Outcome:
    """The error, or who refuses."""
    try:
        expected = [_plain(x) for x in by_jax()]
    except Exception as refusal:
        try:
            ours()
        except Exception:
            return Outcome(refused=_first_line(refusal), by_jax=True)
        return Outcome(refused=f"by JAX alone: {_first_line(refusal)}", by_jax=True)
    if not all(np.isfinite(x).all() for x in expected):
        return Outcome(refused="JAX's own result is not finite, which says nothing")
    try:
        return Outcome(error=error(ours(), expected))
    except Exception as refusal:
        return Outcome(refused=_first_line(refusal))


def _first_line(failure: Exception) -> str:
    lines = [line for line in str(failure).splitlines() if line.strip()]
    return f"{type(failure).__name__}: {lines[0] if lines else ''}"
