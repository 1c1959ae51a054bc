"""Functions inside of ``shard_map``: traced where its axes are known, and lowered as functions of whole values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from wengert.frontends.jax_functions.jaxprs import jax_module


class Around(NamedTuple):
    """A ``shard_map`` around a call.

    Attributes:
        mesh: its mesh.
        axes: the axes of the mesh that it makes manual.
        checked: whether values say along which axes they vary.
    """

    mesh: Any
    axes: frozenset[str]
    checked: bool


def around(eqn: Any) -> Around:
    """The ``shard_map`` of an equation."""
    axes = eqn.params["newly_manual_axes"] if "newly_manual_axes" in eqn.params else eqn.params["manual_axes"]
    return Around(eqn.params["mesh"], frozenset(axes), bool(eqn.params["check_vma"]))


def mapped(function: Callable[..., Any], maps: Sequence[Around]) -> Callable[..., Any]:
    """A function inside of ``shard_map``s, the outermost first, that gives every device whole arguments and takes the results of one."""
    jax = jax_module()
    whole = jax.sharding.PartitionSpec()
    for each in reversed(maps):
        function = jax.shard_map(function, mesh=each.mesh, in_specs=whole, out_specs=whole, axis_names=each.axes, check_vma=each.checked)
    return function


def on_devices(closed: Any, maps: Sequence[Around]) -> Callable[..., Any]:
    """A closed jaxpr as a function that knows the axes of these ``shard_map``s.

    What varies among devices is called so on the way in, and not any more on the way out: as a function of whole values it gives those of some device.
    """
    evaluate = jax_module("jax.extend.core").jaxpr_as_fun(closed)

    def inside(*given: Any) -> list[Any]:
        return [_same_everywhere().bind(y) for y in evaluate(*(varying(x, varying_axes(aval)) for x, aval in zip(given, closed.in_avals, strict=True)))]

    return mapped(inside, maps) if maps else evaluate


def varying_axes(aval: Any) -> tuple[str, ...]:
    """The axes along which a value varies, inside of a ``shard_map`` that looks at it."""
    return tuple(sorted(aval.mat.varying if hasattr(aval, "mat") else getattr(aval, "vma", ())))


def varying(x: Any, axes: tuple[str, ...]) -> Any:
    """x, which varies along these axes from now on."""
    if not axes:
        return x
    lax = jax_module("jax.lax")
    return lax.pcast(x, axes, to="varying") if hasattr(lax, "pcast") else lax.pvary(x, axes)


@cache
def _same_everywhere() -> Any:
    """The identity, whose result is taken to be the same on all devices."""
    primitive = jax_module("jax.extend.core").Primitive("wengert_same_everywhere")

    def typed(x: Any) -> Any:
        return x.update(manual_axis_type=type(x.mat)()) if hasattr(x, "mat") else x.update(vma=frozenset())

    def written(context: Any, x: Any) -> Any:
        return [x]

    primitive.def_abstract_eval(typed)
    jax_module("jax.interpreters.mlir").register_lowering(primitive, written)
    return primitive


def traced_inside(trace: Callable[[], Any], maps: Sequence[Around]) -> Any:
    """The results of a function that traces others, called where the axes of these ``shard_map``s are known."""
    if not maps:
        return trace()
    results: list[Any] = []

    def body() -> list[Any]:
        results.append(trace())
        return []

    jax_module().eval_shape(mapped(body, maps))
    return results[0]
