"""A program under test: what is derived of it once and used by several checks."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import wengert as wg
from fuzz.finiteness import is_finite
from fuzz.generator import Program
from fuzz.wide.formats import Copies, copies
from fuzz.wide.machine import noisy_wide_run, wide_run
from wengert.lab.agreement.agreement import Noisy, Singular
from wengert.lab.agreement.noise.machine import Taken, noisy_run
from wengert.runtime.derived.derivation import needs_ad_lowering, runnable
from wengert.runtime.interpreter import run
from wengert.runtime.signature import Parameter

Array = np.ndarray[Any, np.dtype[Any]]
_WIDE: ContextVar[bool] = ContextVar("wide", default=False)


@contextmanager
def in_wide_arithmetic() -> Generator[None]:
    """Whatever is interpreted within, and its noise, has long doubles for all floats. A case has to be new, since it keeps what it computed."""
    token = _WIDE.set(True)
    try:
        yield
    finally:
        _WIDE.reset(token)


def is_wide() -> bool:
    """Whether floats are long doubles."""
    return _WIDE.get()


class Case:
    """A program, its inputs, its interpreted results, and directions to differentiate in."""

    def __init__(self, program: Program):
        self.text, self.inputs, self.smooth = program.text, list(program.inputs), program.smooth
        self.seed = program.seed if program.seed is not None else int(hashlib.sha256(program.text.encode()).hexdigest()[:12], 16)

    @cached_property
    def program(self) -> wg.Program:
        return wg.parse(self.text)

    @cached_property
    def outputs(self) -> list[Array]:
        return interpreted(self.program, self.inputs)

    @cached_property
    def noisy(self) -> Noisy:
        return noise_of(self.program, self.inputs)

    # -- directions

    @property
    def moving(self) -> tuple[int, ...]:
        """Arguments that have tangents."""
        return differentiable(self.program.signature.arguments)

    @property
    def asked(self) -> tuple[int, ...]:
        """Results that have tangents."""
        return differentiable(self.program.signature.results)

    @property
    def is_differentiable(self) -> bool:
        return bool(self.moving) and bool(self.asked)

    @cached_property
    def x_dots(self) -> list[Array]:
        rng = np.random.default_rng([1, self.seed])
        return [direction(rng, self.inputs[i]) for i in self.moving]

    @cached_property
    def y_bars(self) -> list[Array]:
        rng = np.random.default_rng([2, self.seed])
        return [direction(rng, self.outputs[j].astype(self.program.signature.results[j].dtype)) for j in self.asked]

    @cached_property
    def singular(self) -> Singular:
        """What derivatives by different ways have to agree on here: where anything on the way is not finite, zeros meet infinities in other orders."""
        return self.singular_in((self.jvp, [*self.inputs, *self.x_dots]), (self.vjp, [*self.inputs, *self.y_bars]))

    def singular_in(self, *runs: tuple[wg.Program, list[Array]]) -> Singular:
        """The same for what these programs compute of these inputs."""
        return "infinite" if all(is_finite_throughout(program, inputs) for program, inputs in runs) else "anything"

    # -- derivatives

    @cached_property
    def jvp(self) -> wg.Program:
        return self.program.jvp()

    @cached_property
    def vjp(self) -> wg.Program:
        return self.program.vjp()

    @cached_property
    def direct(self) -> wg.Program:
        return self.program.vjp(strategy="direct")

    @cached_property
    def forward(self) -> list[Array]:
        return interpreted(self.jvp, [*self.inputs, *self.x_dots])

    @cached_property
    def reverse(self) -> list[Array]:
        return interpreted(self.vjp, [*self.inputs, *self.y_bars])


def differentiable(parameters: Sequence[Parameter]) -> tuple[int, ...]:
    """Positions of floats and complex numbers."""
    return tuple(i for i, p in enumerate(parameters) if p.differentiable)


def direction(rng: np.random.Generator, like: Array) -> Array:
    """A tangent or cotangent: numbers of order one."""
    like = np.asarray(like)
    drawn = rng.uniform(0.3, 1.3, like.shape) * rng.choice([-1.0, 1.0], like.shape)
    if like.dtype.kind == "c":
        drawn = drawn + 1j * rng.uniform(-1.3, 1.3, like.shape)
    return np.asarray(drawn, like.dtype)


def is_finite_throughout(program: wg.Program, inputs: Sequence[Array]) -> bool:
    """Whether the inputs and all that the program computes of them are finite."""
    given = [np.asarray(x).astype(p.dtype) for x, p in zip(inputs, program.signature.arguments, strict=True)]
    return is_finite(lowered(program), given)


def lowered(program: wg.Program) -> ModuleOp:
    """The module that the interpreter runs."""
    return runnable(program.core_module) if needs_ad_lowering(program.module) else program.module


def interpreted(program: wg.Program, inputs: Sequence[Array]) -> list[Array]:
    return interpreted_module(lowered(program), inputs)


def interpreted_module(module: ModuleOp, inputs: Sequence[Any]) -> list[Array]:
    """The results of a module's @main."""
    return wide_run(_copies(module), inputs) if _WIDE.get() else [np.asarray(y) for y in run(module, inputs)]


_copies = lru_cache(maxsize=8)(copies)


def noise_of(program: wg.Program, inputs: Sequence[Array], *, flushing: bool = False, other_terms: bool = False) -> Noisy:
    """Noisy runs of a program, each made once; ``flushing``: for comparison with who does not keep subnormal numbers; ``other_terms``: with a derivative that
    is multiplied in another order."""
    module, made, taken = lowered(program), dict[int, Sequence[Array]](), Taken()
    wide: Copies | None = _copies(module) if _WIDE.get() else None

    def noisy(seed: int) -> Sequence[Array]:
        if seed not in made:
            if wide is None:
                made[seed] = noisy_run(module, inputs, seed, flushing=flushing, other_terms=other_terms, taken=taken)
            else:
                made[seed] = noisy_wide_run(wide, inputs, seed, taken)
        return made[seed]

    return noisy
