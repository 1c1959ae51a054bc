"""Primitives in a jaxpr for calls of functions with rules, for what a library's primitive computes, and for stopped gradients, until it is lowered."""

from __future__ import annotations

from collections.abc import Container, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np

from wengert.frontends.jax_functions.jaxprs import jax_module
from wengert.frontends.jax_functions.shard_maps import Around, on_devices, varying_axes
from wengert.transforms.core.recognisers.stopped import FRONTEND_ATTRIBUTES

_WRITTEN: ContextVar[Container[str]] = ContextVar("written", default=())
"""The functions with rules whose bodies are in other texts already."""


@contextmanager
def without_bodies_of(symbols: Container[str]) -> Generator[None]:
    """Has these functions with rules lowered as functions of their types that give zeros: whoever puts texts together keeps the first of each name.

    A function is called in its own rules and in those of others, so that texts would repeat it, with all that it calls, once for each of them.
    """
    token = _WRITTEN.set(symbols)
    try:
        yield
    finally:
        _WRITTEN.reset(token)


@cache
def call_primitive() -> Any:
    """A call of a function with a rule: its body, as a private function of the name ``symbol``."""
    mlir = jax_module("jax.interpreters.mlir")
    primitive = jax_module("jax.extend.core").Primitive("wengert_custom")
    primitive.multiple_results = True

    def types(*_: Any, symbol: str, body: Any) -> list[Any]:
        return body.out_avals

    def written(*inputs: Any, symbol: str, body: Any) -> Any:
        return (_zeros_of(body, symbol) if symbol in _WRITTEN.get() and _is_plain(body) else named(body, symbol))(*inputs)

    primitive.def_abstract_eval(types)
    mlir.register_lowering(primitive, mlir.lower_fun(written, multiple_results=True))
    return primitive


def _is_plain(body: Any) -> bool:
    """Whether zeros of all its results can be written: arrays of numbers that are not spread over devices."""
    return all(isinstance(aval.dtype, np.dtype) and not varying_axes(aval) for aval in body.out_avals)


def _zeros_of(body: Any, name: str) -> Any:
    """A function with the name and the types of ``body``."""
    zeros = jax_module("jax.numpy").zeros

    def function(*_: Any) -> list[Any]:
        return [zeros(aval.shape, aval.dtype) for aval in body.out_avals]

    function.__name__ = function.__qualname__ = name
    return jax_module().jit(function, keep_unused=True)


@cache
def inlined_primitive() -> Any:
    """The computation of a library's primitive, in place of its call."""
    mlir = jax_module("jax.interpreters.mlir")
    primitive = jax_module("jax.extend.core").Primitive("wengert_inlined")
    primitive.multiple_results = True

    def types(*_: Any, body: Any) -> list[Any]:
        return body.out_avals

    def written(*inputs: Any, body: Any) -> Any:
        return jax_module("jax.extend.core").jaxpr_as_fun(body)(*inputs)

    primitive.def_abstract_eval(types)
    mlir.register_lowering(primitive, mlir.lower_fun(written, multiple_results=True))
    return primitive


@cache
def stop_primitive() -> Any:
    """The identity, marked."""
    mlir, ir = jax_module("jax.interpreters.mlir"), jax_module("jaxlib.mlir.ir")
    hlo = jax_module("jaxlib.mlir.dialects.stablehlo")
    primitive = jax_module("jax.extend.core").Primitive("wengert_stop_gradient")

    def written(context: Any, x: Any) -> Any:
        op = hlo.ConvertOp(x.type, x)
        op.operation.attributes[FRONTEND_ATTRIBUTES] = ir.DictAttr.get({"wengert": ir.StringAttr.get("stop_gradient")})
        return [op.result]

    def same(x: Any) -> Any:
        return x

    primitive.def_abstract_eval(same)
    mlir.register_lowering(primitive, written)
    return primitive


def named(closed: Any, name: str, maps: Sequence[Around] = ()) -> Any:
    """A closed jaxpr as a jitted function of this name, which knows the axes of these ``shard_map``s."""
    evaluate = on_devices(closed, maps)

    def function(*inputs: Any) -> Any:
        return evaluate(*inputs)

    function.__name__ = function.__qualname__ = name
    return jax_module().jit(function, keep_unused=True)
