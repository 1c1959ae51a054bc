"""Callbacks of JAX (``pure_callback``, ``io_callback``, ``debug.callback``, ``debug.print``) on the way from a function to a program.

JAX's lowering leaves the number of a callback, which means something to JAX's own runtime, and for ordered ones tokens as arguments and results. Here a
callback becomes a call of a Python function of this process. Those that do more than compute keep an effect, so that JAX does not remove them on the way;
it has no tokens, as all calls with effects are made in the order of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

from wengert.dialects.host_calls import TARGET
from wengert.runtime.host_functions import PROCESS, HostFunction, register

NAMES = frozenset(("pure_callback", "io_callback", "debug_callback", "debug_print"))
"""The primitives."""


def replaced(eqn: Any) -> Any:
    """The equation as one of our primitive."""
    name = eqn.primitive.name
    effect: frozenset[Any] = frozenset(() if name == "pure_callback" else (_effect(),))
    ordered = bool(eqn.params.get("ordered")) or "Ordered" in type(eqn.params.get("effect")).__name__
    number = _number(name, _Parameters(eqn.params))
    params = {
        "number": number,
        "function": _described(eqn),
        "results": tuple((v.aval.shape, v.aval.dtype.name) for v in eqn.outvars),
        "effect": bool(effect),
        "ordered": ordered,
    }
    return eqn.replace(primitive=_primitive(), params=params, effects=effect)


class _Parameters:
    """The parameters of an equation, equal to those of an equal callback."""

    def __init__(self, params: dict[str, Any]):
        self.params = params
        self._items = tuple(sorted((key, value) for key, value in params.items() if key != "sharding"))

    def __hash__(self) -> int:
        return hash(tuple(key for key, _ in self._items))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Parameters) and self._items == other._items


@cache
def _number(name: str, parameters: _Parameters) -> int:
    """The number of a callback, the same for equal ones."""
    return register(HostFunction(partial(_run, name, parameters.params), name))


def _run(name: str, params: dict[str, Any], *arrays: Any) -> Sequence[Any]:
    """Calls the user's function as JAX does: with arrays of JAX, which keep 64 bits."""
    jax = import_module("jax")
    given = [np.array(x) for x in arrays]
    wide = any(x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1) == 8 for x in given)
    with jax.enable_x64(bool(jax.config.jax_enable_x64) or wide):
        results = _evaluate(name)(*given, **params)
    return [np.asarray(y) for y in results]


def _evaluate(name: str) -> Callable[..., Any]:
    module = import_module("jax._src.debugging" if name.startswith("debug") else "jax._src.callback")
    return getattr(module, f"{name}_impl")


def _described(eqn: Any) -> str:
    """The name and place of the user's function."""
    if eqn.primitive.name == "debug_print":
        return f"jax.debug.print of {eqn.params['fmt']!r}"
    function = getattr(eqn.params["callback"], "callback_func", eqn.params["callback"])
    while isinstance(function, partial):
        function = function.func
    for cell in getattr(function, "__closure__", None) or () if getattr(function, "__module__", "").startswith("jax.") else ():
        if callable(inner := cell.cell_contents) and not getattr(inner, "__module__", "").startswith("jax."):
            function = inner  # what jax.debug.callback wraps
            break
    name = getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2]
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} ({Path(code.co_filename).name}:{code.co_firstlineno})"


@cache
def _effect() -> Any:
    """The effect of what may not be removed: no tokens, allowed in loops, branches and rules."""
    effects = import_module("jax._src.effects")

    class HostEffect(effects.Effect):
        """Something is done outside of the program."""

    for allowed in ("lowerable_effects", "control_flow_allowed_effects", "custom_derivatives_allowed_effects", "remat_allowed_effects"):
        getattr(effects, allowed).add_type(HostEffect)
    return HostEffect()


def with_effects(jaxpr: Any, eqns: list[Any]) -> Any:
    """The jaxpr with these equations, and what they have of effects."""
    own = {_effect()} if any(_effect() in eqn.effects for eqn in eqns) else set[Any]()
    return jaxpr.replace(eqns=eqns, effects=frozenset(own | _others(jaxpr.effects)))


def without_tokens(eqn: Any) -> Any:
    """An equation whose jaxprs were replaced, with the effects that these have now."""
    core = import_module("jax.extend.core")
    values: list[Any] = [value for given in eqn.params.values() for value in (cast("tuple[Any, ...]", given) if isinstance(given, tuple) else (given,))]
    inner = [value for value in values if isinstance(value, core.ClosedJaxpr | core.Jaxpr)]
    own = {_effect()} if any(_effect() in jaxpr.effects for jaxpr in inner) else set[Any]()
    return eqn.replace(effects=frozenset(own | _others(eqn.effects)))


def has_tokens(effects: Any) -> bool:
    """Whether some of these effects are those of JAX's callbacks. (A branch without callbacks has those of the others.)"""
    return len(_others(effects)) != len(effects)


def _others(effects: Any) -> set[Any]:
    return {effect for effect in effects if not any(word in type(effect).__name__ for word in ("IOEffect", "DebugEffect"))}


@cache
def _primitive() -> Any:
    mlir, ir = import_module("jax.interpreters.mlir"), import_module("jaxlib.mlir.ir")
    hlo = import_module("jaxlib.mlir.dialects.stablehlo")
    primitive = import_module("jax.extend.core").Primitive("wengert_host_call")
    primitive.multiple_results = True

    def types(*_: Any, results: Any, effect: bool, **rest: Any) -> Any:
        shaped = import_module("jax.core").ShapedArray
        return [shaped(shape, np.dtype(dtype)) for shape, dtype in results], frozenset((_effect(),)) if effect else frozenset()

    def written(context: Any, *operands: Any, number: int, function: str, results: Any, effect: bool, ordered: bool) -> Any:
        i32, i64 = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(64)
        config = {"function": ir.StringAttr.get(function), "number": ir.IntegerAttr.get(i64, number), "process": ir.StringAttr.get(PROCESS)}
        if ordered:
            config["ordered"] = ir.BoolAttr.get(True)
        op = hlo.CustomCallOp(
            [mlir.aval_to_ir_type(context.module_context, aval) for aval in context.avals_out],
            operands,
            call_target_name=ir.StringAttr.get(TARGET),
            has_side_effect=ir.BoolAttr.get(effect),
            backend_config=ir.DictAttr.get(config),
            api_version=ir.IntegerAttr.get(i32, 4),
        )
        return op.results

    primitive.def_effectful_abstract_eval(types)
    mlir.register_lowering(primitive, written)
    return primitive
