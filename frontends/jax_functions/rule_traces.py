"""The rules of JAX's functions as jaxprs: what :mod:`wengert.dialects.ad` wants of a custom JVP, a custom VJP, or a primitive that has a rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.frontends.jax_functions import linear_solves
from wengert.frontends.jax_functions.activity import has_tangents
from wengert.frontends.jax_functions.beta_rule import NAME as BETA
from wengert.frontends.jax_functions.beta_rule import beta_rule
from wengert.frontends.jax_functions.jaxprs import constants_of, jax_module, moving_positions, spec_of
from wengert.frontends.jax_functions.shard_maps import Around, varying, varying_axes
from wengert.runtime.errors import InputError

PRIMITIVES = frozenset(("igamma", "igammac", "random_gamma", BETA))
"""Primitives whose rule is kept."""


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
        maps: the ``shard_map``s around it, the outermost first.
    """

    name: str
    kind: str
    evaluate: Callable[..., Any]
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    outer: int = 0
    maps: Sequence[Around] = ()


def call_of(eqn: Any, maps: Sequence[Around] = ()) -> Call:
    """The call that an equation is, of a function with a rule or of a primitive."""
    if (call := eqn.params.get("call_jaxpr")) is None:

        def bind(*inputs: Any) -> Any:
            results = eqn.primitive.bind(*inputs, **eqn.params)
            return results if eqn.primitive.multiple_results else [results]

        return Call(eqn.primitive.name, eqn.primitive.name, bind, [v.aval for v in eqn.invars], [v.aval for v in eqn.outvars], maps=maps)

    def evaluate(*inputs: Any) -> Any:
        if eqn.primitive.name in PRIMITIVES:
            return jax_module("jax.extend.core").jaxpr_as_fun(call)(*inputs)
        return eqn.primitive.bind(*inputs, **eqn.primitive.get_bind_params(eqn.params))

    return Call(str(call.jaxpr.debug_info.func_name), eqn.primitive.name, evaluate, call.in_avals, call.out_avals, eqn.params["num_consts"], maps)


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


def rule_of(eqn: Any, active: Sequence[int], maps: Sequence[Around] = ()) -> Rule:
    """The rule of an equation, for tangents of the operands ``active`` as far as it takes them: a rule that raises says that it refuses.

    So does one that uses values of the function around it: they are there only as long as JAX traces that function. ``maps`` are the ``shard_map``s around it.

    Raises:
        InputError: the functions of a linear solve use values of the function around it.
    """
    if eqn.primitive.name == linear_solves.NAME:
        parts = linear_solves.rules_of(eqn)
        check_closed("solve", parts)
        return Rule(parts)
    if eqn.primitive.name == BETA:
        return Rule([beta_rule(eqn.params["call_jaxpr"].jaxpr.eqns[0])], active)
    return rule_of_call(call_of(eqn, maps), active)


def rule_of_call(call: Call, active: Sequence[int]) -> Rule:
    """The same of a call. Where a rule refuses all tangents together, it is asked for one after the other."""
    refused = [""] * len(call.inputs)
    try:
        return Rule(_parts(call, active), active, refused)
    except Exception as error:
        if not active:
            return Rule([], (), refused)
        reason = reason_of(error)
    taken: list[int] = []
    parts: Sequence[Any] = []
    for i in active:
        try:
            parts, taken = _parts(call, [*taken, i]), [*taken, i]
        except Exception:
            refused[i] = reason
    return Rule(parts, taken, refused)


def reason_of(error: Exception) -> str:
    """The first paragraph of what a rule says."""
    text = str(error).strip().split("\n\n")[0]
    return " ".join(text.split()) or type(error).__name__


def _parts(call: Call, active: Sequence[int]) -> list[Any]:
    parts = (_vjp_parts if call.kind == "custom_vjp_call" else _jvp_parts)(call, active)
    check_closed(call.name, parts)
    return parts


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
        if [v.shape for v in y] != [v.shape for v in call.outputs]:  # vmap, which JAX stages by the function alone
            raise InputError(f"the rule of {call.name} depends on batched values that the function itself does not depend on")
        return [*y, *(y_dots[j] for j in of)]

    return [jax.make_jaxpr(rule)(*map(spec_of, call.inputs), *(spec_of(call.inputs[i]) for i in moving))]


def _vjp_parts(call: Call, active: Sequence[int]) -> list[Any]:
    """The rules of a custom VJP. Values from outside the function, its first inputs, have no derivative in JAX, and a derivative of zero here.

    Inside of a ``shard_map`` JAX gives the rule, and takes from it, the whole cotangent of what is the same on several devices; here each of them has a part
    of it. So cotangents are summed on the way in, and shared on the way out.
    """
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
        y_bars = [summed(next(pending), y) if j in of else np.zeros(y.shape, jax.dtypes.float0) for j, y in enumerate(call.outputs)]
        x_bars = dict(zip(moving, trees.tree_unflatten(seen[0], given[: len(residuals)])(y_bars), strict=True))
        return [shared(x_bars[i], x) if i in x_bars else jax.numpy.zeros(x.shape, x.dtype) for i, x in enumerate(call.inputs) if has_tangents(x)]

    axes = _axes_that_matter([*call.inputs, *call.outputs], call.maps)

    def summed(y_bar: Any, y: Any) -> Any:
        over = tuple(name for name in axes if name not in varying_axes(y))
        return jax.lax.psum(varying(y_bar, over), over) if over else y_bar

    def shared(x_bar: Any, x: Any) -> Any:
        count = math.prod(size for name, size in axes.items() if name not in varying_axes(x))
        return x_bar / count if count > 1 else x_bar

    return [closed, jax.make_jaxpr(backward)(*map(spec_of, residuals), *(spec_of(call.outputs[j]) for j in of))]


def _axes_that_matter(avals: Sequence[Any], maps: Sequence[Around]) -> dict[str, int]:
    """The axes of ``shard_map``s along which some of these values vary, with their sizes.

    Along others a function computes the same on all devices, and its rule, which is linear in cotangents, may be given parts of them.
    """
    varying = {name for aval in avals for name in varying_axes(aval)}
    return {name: size for each in maps if each.checked for name, size in dict(each.mesh.shape).items() if name in each.axes & varying}
