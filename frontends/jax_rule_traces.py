"""The rules of JAX's functions as jaxprs: what :mod:`wengert.dialects.ad` wants of a custom JVP, a custom VJP, or a primitive that has a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np

from wengert.frontends import jax_linear_solves as linear_solves
from wengert.frontends.jax_beta_rule import NAME as BETA
from wengert.frontends.jax_beta_rule import beta_rule
from wengert.runtime.errors import InputError

PRIMITIVES = frozenset(("igamma", "igammac", BETA))
"""Primitives whose rule is kept."""


def jax_module(module: str = "jax") -> Any:
    """A module of JAX, imported when it is first wanted."""
    return import_module(module)


def constants_of(value: Any) -> Iterator[Any]:
    """The arrays that a jaxpr and those inside of it hold."""
    core = jax_module("jax.extend.core")
    if isinstance(value, core.ClosedJaxpr):
        yield from value.consts
        value = value.jaxpr
    if isinstance(value, core.Jaxpr):
        for eqn in value.eqns:
            for parameter in eqn.params.values():
                yield from constants_of(parameter)
    elif isinstance(value, tuple):
        for item in cast("tuple[Any, ...]", value):
            yield from constants_of(item)


def moving_positions(avals: Sequence[Any]) -> list[int]:
    """The positions of what has a tangent."""
    return [i for i, aval in enumerate(avals) if np.issubdtype(aval.dtype, np.inexact) or aval.dtype.name == "bfloat16"]


def evaluation(eqn: Any) -> Any:
    """A primitive's equation as a closed jaxpr of its operands."""

    def evaluate(*inputs: Any) -> list[Any]:
        return [eqn.primitive.bind(*inputs, **eqn.params)]

    evaluate.__name__ = evaluate.__qualname__ = eqn.primitive.name
    return jax_module().make_jaxpr(evaluate)(*(spec_of(v.aval) for v in eqn.invars))


def rules_of(eqn: Any) -> list[Any]:
    """``[jvp]``: (inputs, tangents) -> (outputs, tangents), or ``[forward, backward]``, of one equation, as :mod:`wengert.dialects.ad` has them."""
    if eqn.primitive.name == linear_solves.NAME:
        return linear_solves.rules_of(eqn)
    call = eqn.params["call_jaxpr"]
    if eqn.primitive.name == BETA:
        return [beta_rule(call.jaxpr.eqns[0])]

    def evaluate(*inputs: Any) -> Any:
        if eqn.primitive.name in PRIMITIVES:
            return jax_module("jax.extend.core").jaxpr_as_fun(call)(*inputs)
        return eqn.primitive.bind(*inputs, **eqn.primitive.get_bind_params(eqn.params))

    name = call.jaxpr.debug_info.func_name
    try:
        rules = (_vjp_rules if eqn.primitive.name == "custom_vjp_call" else _jvp_rule)(evaluate, call.in_avals, call.out_avals, eqn.params["num_consts"])
    except Exception as error:
        raise InputError(f"the rule of {name} cannot be traced for {', '.join(map(str, call.in_avals))}: {error}") from error
    if any(isinstance(x, jax_module("jax.core").Tracer) for rule in rules for x in constants_of(rule)):
        raise InputError(f"the rule of {name} uses values of the function around it; pass them as arguments")
    return rules


def _jvp_rule(evaluate: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any], outer: int) -> list[Any]:
    jax = jax_module()
    moving, of = moving_positions(inputs), moving_positions(outputs)

    def rule(*given: Any) -> list[Any]:
        primals, pending = given[: len(inputs)], iter(given[len(inputs) :])
        x_dots = [next(pending) if i in moving else np.zeros(x.shape, jax.dtypes.float0) for i, x in enumerate(inputs)]
        y, y_dots = jax.jvp(evaluate, primals, tuple(x_dots))
        return [*y, *(y_dots[j] for j in of)]

    return [jax.make_jaxpr(rule)(*map(spec_of, inputs), *(spec_of(inputs[i]) for i in moving))]


def _vjp_rules(evaluate: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any], outer: int) -> list[Any]:
    """The rules of a custom VJP. Values from outside the function, its first inputs, have no derivative in JAX, and a derivative of zero here."""
    jax, trees = jax_module(), jax_module("jax.tree_util")
    moving, of = [i for i in moving_positions(inputs) if i >= outer], moving_positions(outputs)
    seen: list[Any] = []

    def forward(*given: Any) -> list[Any]:
        def along(*xs: Any) -> Any:
            by_position = dict(zip(moving, xs, strict=True))
            return evaluate(*(by_position.get(i, x) for i, x in enumerate(given)))

        y, pullback = jax.vjp(along, *(given[i] for i in moving))
        residuals, tree = trees.tree_flatten(pullback)
        seen.append(tree)
        return [*y, *residuals]

    closed = jax.make_jaxpr(forward)(*map(spec_of, inputs))
    residuals = closed.out_avals[len(outputs) :]

    def backward(*given: Any) -> list[Any]:
        pending = iter(given[len(residuals) :])
        y_bars = [next(pending) if j in of else np.zeros(y.shape, jax.dtypes.float0) for j, y in enumerate(outputs)]
        x_bars = dict(zip(moving, trees.tree_unflatten(seen[0], given[: len(residuals)])(y_bars), strict=True))
        return [x_bars[i] if i in x_bars else jax.numpy.zeros(inputs[i].shape, inputs[i].dtype) for i in moving_positions(inputs)]

    return [closed, jax.make_jaxpr(backward)(*map(spec_of, residuals), *(spec_of(outputs[j]) for j in of))]


def spec_of(aval: Any) -> Any:
    """The shape and type of an abstract value, as a function is traced for."""
    return jax_module().ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
