"""What is asked of jaxprs and of the abstract values in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, cast

from wengert.frontends.jax_functions.activity import has_tangents


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


def spec_of(aval: Any, *, inside: bool = True) -> Any:
    """The shape and type of an abstract value, as a function is traced for; ``inside`` of a ``shard_map`` it also says along which axes the value varies."""
    varying: dict[str, Any] = {}
    if inside and (varies := getattr(aval, "mat", None)) is not None and not varies.empty:
        varying.update(manual_axis_type=varies, sharding=aval.sharding)
    elif inside and getattr(aval, "vma", None):  # as JAX had it before
        varying["vma"] = aval.vma
    return jax_module().ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, **varying)
