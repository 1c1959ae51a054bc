"""The rules of JAX's functions as jaxprs: what :mod:`wengert.dialects.ad` wants of a custom JVP, a custom VJP, or a primitive that has a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import numpy as np

from wengert.frontends import jax_linear_solves as linear_solves
from wengert.frontends.jax_activity import has_tangents
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
    return [i for i, aval in enumerate(avals) if has_tangents(aval)]


def evaluation(eqn: Any) -> Any:
    """A primitive's equation as a closed jaxpr of its operands."""

    def evaluate(*inputs: Any) -> list[Any]:
        return [eqn.primitive.bind(*inputs, **eqn.params)]

    evaluate.__name__ = evaluate.__qualname__ = eqn.primitive.name
    return jax_module().make_jaxpr(evaluate)(*(spec_of(v.aval) for v in eqn.invars))


@dataclass(frozen=True)
class Call:
    """A call of a function with a rule.

    Attributes:
        name: the function's.
        kind: that of its primitive.
        evaluate: calls it, under any transform of JAX.
        inputs, outputs: the types of its operands and results.
        outer: how many of its first operands are values from outside of a ``custom_vjp``.
    """

    name: str
    kind: str
    evaluate: Callable[..., Any]
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    outer: int = 0


def call_of(eqn: Any) -> Call:
    """The call that an equation is, of a function with a rule or of a primitive."""
    if (call := eqn.params.get("call_jaxpr")) is None:

        def bind(*inputs: Any) -> Any:
            results = eqn.primitive.bind(*inputs, **eqn.params)
            return results if eqn.primitive.multiple_results else [results]

        return Call(eqn.primitive.name, eqn.primitive.name, bind, [v.aval for v in eqn.invars], [v.aval for v in eqn.outvars])

    def evaluate(*inputs: Any) -> Any:
        if eqn.primitive.name in PRIMITIVES:
            return jax_module("jax.extend.core").jaxpr_as_fun(call)(*inputs)
        return eqn.primitive.bind(*inputs, **eqn.primitive.get_bind_params(eqn.params))

    return Call(str(call.jaxpr.debug_info.func_name), eqn.primitive.name, evaluate, call.in_avals, call.out_avals, eqn.params["num_consts"])


@dataclass(frozen=True)
class Rule:
    """The rule of a call, for the operands that are active where it stands.

    Attributes:
        parts: closed jaxprs: ``[jvp]``: (inputs, tangents) -> (outputs, tangents), or ``[forward, backward]``, as :mod:`wengert.dialects.ad` has them. Nothing
            where the rule refuses all active operands.
        active: the operands that it is a rule for.
        refused: for each operand, what the rule says when it has a tangent; nothing where it takes one, or has none.
    """

    parts: Sequence[Any]
    active: Sequence[int] = ()
    refused: Sequence[str] = ()


def rule_of(eqn: Any, active: Sequence[int]) -> Rule:
    """The rule of an equation, for tangents of the operands ``active`` as far as it takes them: a rule that raises says that it refuses.

    Raises:
        InputError: the rule uses values of the function around it.
    """
    if eqn.primitive.name == linear_solves.NAME:
        return Rule(linear_solves.rules_of(eqn))
    if eqn.primitive.name == BETA:
        return Rule([beta_rule(eqn.params["call_jaxpr"].jaxpr.eqns[0])], active)
    return rule_of_call(call_of(eqn), active)


def rule_of_call(call: Call, active: Sequence[int]) -> Rule:
    """The same of a call. Where a rule refuses all tangents together, it is asked for one after the other."""
    refused = [""] * len(call.inputs)
    try:
        return Rule(_parts(call, active), active, refused)
    except Exception as error:
        if not active:
            return Rule([], (), refused)
        reason = _reason(error)
    taken: list[int] = []
    parts: Sequence[Any] = []
    for i in active:
        try:
            parts, taken = _parts(call, [*taken, i]), [*taken, i]
        except Exception:
            refused[i] = reason
    return Rule(parts, taken, refused)


def _reason(error: Exception) -> str:
    """The first paragraph of what a rule says."""
    text = str(error).strip().split("\n\n")[0]
    return " ".join(text.split()) or type(error).__name__


def _parts(call: Call, active: Sequence[int]) -> list[Any]:
    return (_vjp_parts if call.kind == "custom_vjp_call" else _jvp_parts)(call, active)


def check_closed(name: str, parts: Sequence[Any]) -> None:
    """Raises an InputError for a rule that uses values of the function around it."""
    if any(isinstance(x, jax_module("jax.core").Tracer) for part in parts for x in constants_of(part)):
        raise InputError(f"the rule of {name} uses values of the function around it; pass them as arguments")


def _jvp_parts(call: Call, active: Sequence[int]) -> list[Any]:
    """The rule of a custom JVP or of a primitive, as a function of all tangents, of which those of operands that are not active are not used."""
    jax = jax_module()
    moving, of = moving_positions(call.inputs), moving_positions(call.outputs)

    def rule(*given: Any) -> list[Any]:
        primals, x_dots = given[: len(call.inputs)], dict(zip(moving, given[len(call.inputs) :], strict=True))

        def along(*xs: Any) -> Any:
            by_position = dict(zip(active, xs, strict=True))
            return call.evaluate(*(by_position.get(i, x) for i, x in enumerate(primals)))

        y, y_dots = jax.jvp(along, tuple(primals[i] for i in active), tuple(x_dots[i] for i in active))
        return [*y, *(y_dots[j] for j in of)]

    return [jax.make_jaxpr(rule)(*map(spec_of, call.inputs), *(spec_of(call.inputs[i]) for i in moving))]


def _vjp_parts(call: Call, active: Sequence[int]) -> list[Any]:
    """The rules of a custom VJP. Values from outside the function, its first inputs, have no derivative in JAX, and a derivative of zero here."""
    jax, trees = jax_module(), jax_module("jax.tree_util")
    moving, of = [i for i in active if i >= call.outer], moving_positions(call.outputs)
    seen: list[Any] = []

    def forward(*given: Any) -> list[Any]:
        def along(*xs: Any) -> Any:
            by_position = dict(zip(moving, xs, strict=True))
            return call.evaluate(*(by_position.get(i, x) for i, x in enumerate(given)))

        y, pullback = jax.vjp(along, *(given[i] for i in moving))
        residuals, tree = trees.tree_flatten(pullback)
        seen.append(tree)
        return [*y, *residuals]

    closed = jax.make_jaxpr(forward)(*map(spec_of, call.inputs))
    residuals = closed.out_avals[len(call.outputs) :]

    def backward(*given: Any) -> list[Any]:
        pending = iter(given[len(residuals) :])
        y_bars = [next(pending) if j in of else np.zeros(y.shape, jax.dtypes.float0) for j, y in enumerate(call.outputs)]
        x_bars = dict(zip(moving, trees.tree_unflatten(seen[0], given[: len(residuals)])(y_bars), strict=True))
        return [x_bars[i] if i in x_bars else jax.numpy.zeros(call.inputs[i].shape, call.inputs[i].dtype) for i in moving_positions(call.inputs)]

    return [closed, jax.make_jaxpr(backward)(*map(spec_of, residuals), *(spec_of(call.outputs[j]) for j in of))]


def spec_of(aval: Any) -> Any:
    """The shape and type of an abstract value, as a function is traced for."""
    return jax_module().ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
