"""Finds the values of a jaxpr that can have a tangent, and those that depend on one that is an argument.

A forward data-flow analysis over equations, to a fixed point over loops. It may call a value active whose tangent turns out to be zero, never the
reverse. A rule is then traced for the arguments that are active where it is called; the others have *symbolic* zeros, on which rules of libraries depend
(they refuse a tangent, or leave out what is zero).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from importlib import import_module
from typing import Any

import numpy as np


class Level(IntEnum):
    """Degrees of dependence of a value."""

    CONSTANT = 0
    """On nothing that has a tangent, or only by a function whose derivative is zero everywhere."""
    ACTIVE = 1
    """On values that can have a tangent."""
    TANGENT = 2
    """On the tangents that a rule is given."""


Levels = Sequence[Level]
_FLAT = frozenset(("floor", "ceil", "round", "sign", "stop_gradient", "wengert_stop_gradient"))
"""Primitives whose derivative is zero."""


def has_tangents(aval: Any) -> bool:
    """Whether values of this type can have a tangent."""
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and bool(import_module("jax.numpy").issubdtype(dtype, np.inexact))


def restricted(avals: Sequence[Any], levels: Levels) -> list[Level]:
    """The levels of values, where their types have tangents."""
    return [level if has_tangents(aval) else Level.CONSTANT for aval, level in zip(avals, levels, strict=True)]


class Flow:
    """The levels of all values of one jaxpr, given those of its arguments.

    Attributes:
        results: the levels of what the jaxpr returns.
    """

    def __init__(self, jaxpr: Any, arguments: Levels):
        self._literal = import_module("jax.extend.core").Literal
        self._levels: dict[int, Level] = {}
        self._set(jaxpr.invars, arguments)
        self._set(jaxpr.constvars, [Level.CONSTANT] * len(jaxpr.constvars))
        for eqn in jaxpr.eqns:
            self._set(eqn.outvars, through(eqn, self.of(eqn.invars))[1])
        self.results = self.of(jaxpr.outvars)

    def of(self, variables: Sequence[Any]) -> list[Level]:
        """The levels of variables, or literals."""
        return [Level.CONSTANT if isinstance(v, self._literal) else self._levels[id(v)] for v in variables]

    def _set(self, variables: Sequence[Any], levels: Levels) -> None:
        for v, level in zip(variables, restricted([v.aval for v in variables], levels), strict=True):
            self._levels[id(v)] = level


def through(eqn: Any, inputs: Levels) -> tuple[dict[int, list[Level]], list[Level]]:
    """The levels of the arguments of each jaxpr of an equation, by the jaxpr's identity, and those of its results, given those of its operands."""
    params, name = eqn.params, eqn.primitive.name
    if name in _FLAT:
        return {}, [Level.CONSTANT] * len(eqn.outvars)
    if name == "scan":
        return _scan(params, inputs)
    if name == "while":
        return _while(params, inputs)
    if name == "cond":
        flows = [Flow(branch.jaxpr, inputs[1:]).results for branch in params["branches"]]
        return {id(branch.jaxpr): list(inputs[1:]) for branch in params["branches"]}, [max(levels) for levels in zip(*flows, strict=True)]
    bodies = list(_jaxprs(list(params.values())))
    highest = max(inputs, default=Level.CONSTANT)
    if name in ("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "shard_map", "custom_jvp_call") and len(bodies) == 1:
        return {id(bodies[0]): list(inputs)}, Flow(bodies[0], inputs).results if name != "custom_jvp_call" else [highest] * len(eqn.outvars)
    return {id(body): [highest] * len(body.invars) for body in bodies}, [highest] * len(eqn.outvars)


def _scan(params: Any, inputs: Levels) -> tuple[dict[int, list[Level]], list[Level]]:
    jaxpr, constants, carried = params["jaxpr"].jaxpr, params["num_consts"], params["num_carry"]
    fixed, carry, rows = inputs[:constants], list(inputs[constants : constants + carried]), inputs[constants + carried :]
    while True:
        results = Flow(jaxpr, [*fixed, *carry, *rows]).results
        joined = [max(pair) for pair in zip(carry, results[:carried], strict=True)]
        if joined == carry:
            return {id(jaxpr): [*fixed, *carry, *rows]}, [*carry, *results[carried:]]
        carry = joined


def _while(params: Any, inputs: Levels) -> tuple[dict[int, list[Level]], list[Level]]:
    condition, body = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
    first, count = params["cond_nconsts"], params["body_nconsts"]
    fixed, carry = inputs[first : first + count], list(inputs[first + count :])
    while True:
        results = Flow(body, [*fixed, *carry]).results
        joined = [max(pair) for pair in zip(carry, results, strict=True)]
        if joined == carry:
            return {id(condition): [*inputs[:first], *carry], id(body): [*fixed, *carry]}, carry
        carry = joined


def _jaxprs(values: Sequence[Any]) -> list[Any]:
    core = import_module("jax.extend.core")
    collected: list[Any] = []
    for value in values:
        if isinstance(value, core.ClosedJaxpr):
            collected.append(value.jaxpr)
        elif isinstance(value, core.Jaxpr):
            collected.append(value)
        elif isinstance(value, tuple):
            collected += _jaxprs(value)  # pyright: ignore[reportUnknownArgumentType]
    return collected
