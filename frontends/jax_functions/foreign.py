"""Primitives of libraries, with derivatives and transposes of their own, on the way from a JAX function to a program.

A library may define a primitive of JAX and say how it is differentiated and transposed (``lineax.linear_solve``, much of ``equinox.internal``). Lowering
writes how it is computed, and both are lost. So a call of one becomes a call of a private function that declares the derivative. Where a rule applies one
to tangents it is linear in these, and the call becomes ``ad.linear_call``, which names the transpose. A primitive without a transpose is written out there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute

from wengert.dialects.ad import LinearCallOp
from wengert.frontends.jax_functions.activity import Level, Levels
from wengert.frontends.jax_functions.jaxprs import moving_positions, spec_of
from wengert.frontends.jax_functions.rule_traces import Call, call_of, reason_of
from wengert.ir.attributes import int_attr
from wengert.ir.construction import insert_before
from wengert.ir.traversal import ops_of

KIND = LinearCallOp.name
"""What calls become that are linear."""
_OWN = ("jax.", "jaxlib.", "wengert.")


def is_foreign(primitive: Any) -> bool:
    """Whether a primitive is a library's and has a derivative."""
    rule = import_module("jax.interpreters.ad").primitive_jvps.get(primitive)
    while isinstance(rule, partial):
        rule = rule.func
    return rule is not None and not f"{getattr(rule, '__module__', '')}.".startswith(_OWN)


def implementation(eqn: Any) -> Any:
    """The computation of a primitive, as a closed jaxpr of its operands: by the function that evaluates it, if JAX can trace that."""
    jax, specs = import_module("jax"), [spec_of(v.aval) for v in eqn.invars]

    def evaluate(*inputs: Any) -> Any:
        results = eqn.primitive.impl(*inputs, **eqn.params)
        return list(results) if eqn.primitive.multiple_results else [results]

    try:
        return jax.make_jaxpr(evaluate)(*specs)
    except Exception:  # as it is lowered, then
        return jax.make_jaxpr(call_of(eqn).evaluate)(*specs)


class LinearCall:
    """A call of a primitive that is linear in some of its operands, as a function with these behind the others, of the results that are floats.

    Attributes:
        order: the positions of the operands, in the function's order.
        linear: the number of operands in which it is linear, which are the last.
        results: the positions of the results that it has.
        call: the function.
    """

    def __init__(self, eqn: Any, levels: Levels):
        behind = [i for i, level in enumerate(levels) if level is Level.TANGENT]
        self.order = [*(i for i in range(len(levels)) if i not in behind), *behind]
        self.linear = len(behind)
        self.results = moving_positions([v.aval for v in eqn.outvars])
        own = call_of(eqn)
        self.call = Call(own.name, own.kind, self._turned(own.evaluate), [own.inputs[i] for i in self.order], [own.outputs[j] for j in self.results])

    def _turned(self, function: Any) -> Any:
        def evaluate(*given: Any) -> list[Any]:
            by_position = dict(zip(self.order, given, strict=True))
            results = function(*(by_position[i] for i in range(len(given))))
            return [results[j] for j in self.results]

        return evaluate

    def body(self, implementation: Any) -> Any:
        """The function as a closed jaxpr, given what the primitive computes."""
        evaluate = import_module("jax.extend.core").jaxpr_as_fun(implementation)
        return import_module("jax").make_jaxpr(self._turned(evaluate))(*map(spec_of, self.call.inputs))

    def transpose(self) -> Any:
        """The transpose as a closed jaxpr of (other operands, cotangents); or text: why the library refuses."""
        jax, others = import_module("jax"), len(self.order) - self.linear
        fixed, moved = self.call.inputs[:others], self.call.inputs[others:]

        def transposed(*given: Any) -> list[Any]:
            along = partial(self.call.evaluate, *given[:others])
            return list(jax.linear_transpose(along, *map(spec_of, moved))(list(given[others:])))

        try:
            return jax.make_jaxpr(transposed)(*map(spec_of, [*fixed, *self.call.outputs]))
        except Exception as error:
            return reason_of(error)


def declare_linear(module: ModuleOp, symbol: str, linear: int, transpose: str | None, because: str) -> None:
    """Replaces calls of a function by linear calls, in place."""
    properties: dict[str, Attribute] = {"callee": SymbolRefAttr(symbol), "linear": int_attr(linear)}
    properties |= {"because": StringAttr(because)} if transpose is None else {"transpose": SymbolRefAttr(transpose)}
    for call in ops_of(module, CallOp):
        if call.callee.string_value() != symbol:
            continue
        made = LinearCallOp.create(operands=call.operands, result_types=[r.type for r in call.results], properties=properties, location=call.location)
        insert_before(call, made)
        for old, new in zip(call.results, made.results, strict=True):
            old.replace_all_uses_with(new)
        call.detach()
        call.erase()


def used(variables: Sequence[Any]) -> bool:
    """Whether any of the results of an equation is used."""
    return any(type(v).__name__ != "DropVar" for v in variables)
