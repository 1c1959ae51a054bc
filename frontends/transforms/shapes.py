"""``eval_shape``: what a function would return, without computing it."""

from __future__ import annotations

from typing import Any

from wengert.frontends.pytrees import unflatten
from wengert.frontends.tracing.context import BlockTrace, Captures, ModuleTrace, current_trace, tracing
from wengert.frontends.tracing.function import Call
from wengert.frontends.tracing.tracer import TracedArray


def eval_shape(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The tree of :class:`wengert.ArraySpec` that a function would return; it is traced, and what it writes is thrown away."""
    call = Call(function, args, kwargs)
    abstract_call(call)
    assert call.out_spec is not None
    return unflatten(call.out_spec, call.results)


def abstract_call(call: Call) -> None:
    """Traces a call to know its results, and throws away what it writes (also what it captures)."""
    group = Captures(len(call.specs))
    block = group.block([spec.type for spec in call.specs])
    trace = BlockTrace(ModuleTrace(), block, current_trace(), group)
    with tracing(trace):
        call.body([TracedArray(arg, trace, spec.weak) for arg, spec in zip(block.args, call.specs, strict=True)])
    for op in block.ops:
        op.drop_all_references()
