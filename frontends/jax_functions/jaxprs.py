"""Queries about jaxprs and the abstract values in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from wengert.frontends.jax_functions.activity import has_tangents

_UNTRACED = frozenset(("custom_jvp_call", "custom_vjp_call"))
"""Equations whose rules are Python functions."""


def jax_module(module: str = "jax") -> Any:
    """A module of JAX, imported when it is first wanted."""
    return import_module(module)


def constants_of(value: Any) -> Iterator[Any]:
    """The arrays that a jaxpr and those inside of it hold."""
    for part in _parts_of(value):
        if isinstance(part, jax_module("jax.extend.core").ClosedJaxpr):
            yield from part.consts


def untraced_rules_of(values: Sequence[Any]) -> tuple[Any, ...]:
    """The rules in the equations of jaxprs that were not traced yet: what the texts of jaxprs do not say."""
    core = jax_module("jax.extend.core")
    equations = [eqn for value in values for part in _parts_of(value) if isinstance(part, core.Jaxpr) for eqn in part.eqns]
    return tuple(Same(x) for eqn in equations if eqn.primitive.name in _UNTRACED for x in eqn.params.values() if callable(x))


@dataclass(frozen=True, eq=False)
class Same:
    """An object as a key, which is equal to the same object alone."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _parts_of(value: Any) -> Iterator[Any]:
    """A jaxpr, closed or not, with those in its equations; those in a parameter of an equation."""
    core = jax_module("jax.extend.core")
    if isinstance(value, core.ClosedJaxpr):
        yield value
        value = value.jaxpr
    if isinstance(value, core.Jaxpr):
        yield value
        for eqn in value.eqns:
            for parameter in eqn.params.values():
                yield from _parts_of(parameter)
    elif isinstance(value, tuple):
        for item in cast("tuple[Any, ...]", value):
            yield from _parts_of(item)


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
