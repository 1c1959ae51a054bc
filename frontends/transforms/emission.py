"""Emitting requests: derivatives, batches and checkpoints of traced functions are ops of the ad dialect on private functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects import ad
from wengert.frontends.tracing.context import active_trace
from wengert.frontends.tracing.function import Written
from wengert.frontends.tracing.operands import listed, traced
from wengert.frontends.tracing.tracer import TracedArray
from wengert.ir.attributes import int_array


def request(
    cls: type[Operation], written: Written, operands: Sequence[SSAValue], results: Sequence[Attribute], **options: Sequence[int] | str
) -> list[SSAValue]:
    """An op of the ad dialect that refers to a function; ``options`` are its properties, lists of integers and words."""
    properties: dict[str, Attribute] = {"callee": written.symbol}
    properties.update((key, StringAttr(value) if isinstance(value, str) else int_array(value)) for key, value in options.items())
    return list(active_trace().builder.create(cls, operands, results, properties))


def pushed(written: Written, operands: Sequence[SSAValue], tangents: Sequence[SSAValue], wrt: Sequence[int], of: Sequence[int]) -> list[SSAValue]:
    """``ad.jvp``: results, then tangents of the results ``of``."""
    types = written.result_types
    return request(ad.JvpOp, written, [*operands, *written.captures, *tangents], [*types, *(types[j] for j in of)], wrt=wrt, of=of)


def pulled(
    written: Written, operands: Sequence[SSAValue], cotangents: Sequence[SSAValue], wrt: Sequence[int], of: Sequence[int], residuals: str = "auto"
) -> list[SSAValue]:
    """``ad.vjp``: results, then cotangents of the arguments ``wrt``."""
    types = [*written.result_types, *(operands[i].type for i in wrt)]
    policy = {} if residuals == "auto" else {"residuals": residuals}
    return request(ad.VjpOp, written, [*operands, *written.captures, *cotangents], types, wrt=wrt, of=of, **policy)


def for_user(values: Sequence[SSAValue]) -> list[TracedArray]:
    """Values of the current block as traced arrays."""
    return [traced(value) for value in values]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """One position, or several."""
    return listed(value)
