"""A plan: one way to compute all first derivatives of a program, as a program and the directions that it is called with.

A plan that holds its directions itself (``jacfwd``, ``jacrev``) is called once. Other programs map directions to derivatives (a JVP or a VJP, or
many of them batched), and are called with the standard basis, a few unit vectors at a time, until all columns (or rows) are there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal

import numpy as np

from wengert.runtime.compiled_program import CompiledProgram
from wengert.runtime.program import Array, Program
from wengert.runtime.signature import Parameter

Mode = Literal["forward", "reverse"]


@dataclass(frozen=True)
class Blocks:
    """The blocks of a Jacobian: one for each result in ``of`` and each argument in ``wrt``, results first."""

    wrt: tuple[Parameter, ...]
    of: tuple[Parameter, ...]

    @property
    def columns(self) -> int:
        """The number of elements of the arguments: how many JVPs it takes."""
        return sum(prod(x.shape) for x in self.wrt)

    @property
    def rows(self) -> int:
        """The number of elements of the results: how many VJPs it takes."""
        return sum(prod(y.shape) for y in self.of)


@dataclass(frozen=True)
class Plan:
    """One way to compute a Jacobian.

    Attributes:
        name: its name in tables: ``jacfwd``, ``vjps``, ``vjps direct x16``.
        how: what it does, in words.
        blocks: what is computed.
        make: the program; raises what making derivatives raises.
        mode: which directions the program is given: those of arguments (forward) or of results (reverse).
        at_once: how many directions one call is given, in a batch; 0 for one direction that is not in a batch, None for a program that holds all of
            them itself.
        fewer: how many directions a program takes that needs fewer than there are elements.
        passes: the pass that makes the program, as text, where one alone does.
        off: of an unbiased estimate, the root of its mean square error relative to the norm of what it estimates; 0 of what is exact. No estimate is chosen.
    """

    name: str
    how: str
    blocks: Blocks
    make: Callable[[], Program]
    mode: Mode
    at_once: int | None
    fewer: int | None = None
    passes: str = ""
    off: float = 0.0

    @property
    def directions(self) -> int:
        """How many directions derivatives are taken along."""
        if self.fewer is not None:
            return self.fewer
        return self.blocks.columns if self.mode == "forward" else self.blocks.rows

    @property
    def calls(self) -> int:
        """How often the program is called."""
        return 1 if self.at_once is None else -(-self.directions // max(self.at_once, 1))

    def refusal(self) -> str:
        """Why the plan has no meaning for its arguments and results; nothing if it has.

        A complex number has two directions, so that a block by the directions of a complex argument (forward) or result (reverse) is a derivative only of a
        holomorphic program. A pass that goes both ways needs both to be real.
        """
        both = bool(self.passes) and not self.passes.startswith(("joined-jacobian", "seeded-jacobian{mode=forward", "seeded-jacobian{mode=reverse"))
        moved = [*(self.blocks.wrt if both or self.mode == "forward" else ()), *(self.blocks.of if both or self.mode == "reverse" else ())]
        if "seeded" in self.passes:  # the pattern's elements are read as numbers of one type
            moved = [*self.blocks.wrt, *self.blocks.of]
        named = next((str(parameter) for parameter in moved if parameter.dtype.kind == "c"), "")
        return f"{named} is complex: there are two directions for each of its elements, and one derivative only of a holomorphic program" if named else ""

    @cached_property
    def program(self) -> Program:
        """The program that is called."""
        return self.make()

    def compile(self, backend: str = "cpu") -> JacobianFunction:
        """The plan as a function of the program's inputs, compiled. Raises DiagnosticError for what cannot be derived or compiled."""
        start = time.perf_counter()
        compiled = self.program.compile(backend)
        return JacobianFunction(self, compiled, time.perf_counter() - start)

    def seeds(self) -> Iterator[list[Array]]:
        """What each call is given beside the inputs: unit vectors, and zeros after the last one."""
        moved = self.blocks.wrt if self.mode == "forward" else self.blocks.of
        count = max(self.at_once or 1, 1)
        for first in range(0, self.calls * count, count):
            yield [_unit_vectors(x, first - start, count, batched=bool(self.at_once)) for x, start in zip(moved, _starts(moved), strict=True)]


class JacobianFunction:
    """A compiled plan: called with the inputs of the program, it returns the blocks of the Jacobian.

    Each block has the shape of its result followed by that of its argument, results first, as from :meth:`wengert.Program.jacfwd`.

    Attributes:
        plan: what was compiled.
        compiled: the program that is called, once or many times.
        compile_seconds: what compiling took.
    """

    def __init__(self, plan: Plan, compiled: CompiledProgram, compile_seconds: float):
        self.plan = plan
        self.compiled = compiled
        self.compile_seconds = compile_seconds
        self._seeds = None if plan.at_once is None else list(plan.seeds())

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        """The blocks at these inputs. Raises InputError as a program does."""
        if self._seeds is None:
            return self.compiled(*inputs)
        return self._columns(inputs, self._seeds) if self.plan.mode == "forward" else self._rows(inputs, self._seeds)

    def _columns(self, inputs: Sequence[Any], seeds: Sequence[list[Array]]) -> tuple[Array, ...]:
        """Every call gives some columns, in the last dimension of a batch."""
        blocks, at_once, n = self.plan.blocks, self.plan.at_once, self.plan.directions
        whole = [np.empty((*y.shape, n), y.dtype) for y in blocks.of]
        for number, seed in enumerate(seeds):
            first = number * max(at_once or 1, 1)
            for columns, part in zip(whole, self.compiled(*inputs, *seed)[-len(whole) :] if whole else (), strict=True):
                if at_once:
                    columns[..., first : first + at_once] = part[..., : n - first]
                else:
                    columns[..., first] = part
        starts = _starts(blocks.wrt)
        return tuple(
            columns[..., start : start + prod(x.shape)].reshape((*y.shape, *x.shape))
            for y, columns in zip(blocks.of, whole, strict=True)
            for x, start in zip(blocks.wrt, starts, strict=True)
        )

    def _rows(self, inputs: Sequence[Any], seeds: Sequence[list[Array]]) -> tuple[Array, ...]:
        """Every call gives some rows, in the first dimension of a batch."""
        blocks, at_once, m = self.plan.blocks, self.plan.at_once, self.plan.directions
        if m == 1 and not at_once:
            only = next(y for y in blocks.of if prod(y.shape))
            rows = self.compiled(*inputs, *seeds[0])[-len(blocks.wrt) :]
            parts = [row.reshape((*only.shape, *x.shape)) for x, row in zip(blocks.wrt, rows, strict=True)]
            return tuple(part if y is only else np.empty((*y.shape, *x.shape), x.dtype) for y in blocks.of for x, part in zip(blocks.wrt, parts, strict=True))
        whole = [np.empty((m, *x.shape), x.dtype) for x in blocks.wrt]
        for number, seed in enumerate(seeds):
            first = number * max(at_once or 1, 1)
            for rows, part in zip(whole, self.compiled(*inputs, *seed)[-len(whole) :] if whole else (), strict=True):
                if at_once:
                    rows[first : first + at_once] = part[: m - first]
                else:
                    rows[first] = part
        return tuple(
            rows[start : start + prod(y.shape)].reshape((*y.shape, *x.shape))
            for y, start in zip(blocks.of, _starts(blocks.of), strict=True)
            for x, rows in zip(blocks.wrt, whole, strict=True)
        )


def _starts(parameters: Sequence[Parameter]) -> list[int]:
    """Where the elements of each parameter begin among those of all."""
    starts = [0]
    for parameter in parameters:
        starts.append(starts[-1] + prod(parameter.shape))
    return starts[:-1]


def _unit_vectors(parameter: Parameter, first: int, count: int, *, batched: bool) -> Array:
    """The part in one parameter of ``count`` unit vectors; ``first`` is the element of the first one's 1, which may lie outside."""
    size = prod(parameter.shape)
    vectors = np.zeros((count, size), parameter.dtype)
    numbers = np.arange(max(first, 0), min(first + count, size))
    vectors[numbers - first, numbers] = 1
    return vectors.reshape((count, *parameter.shape) if batched else parameter.shape)
