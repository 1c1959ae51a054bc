"""The rules of ``jax.custom_jvp`` and ``jax.custom_vjp``, kept on the way from a JAX function to a program.

JAX's lowering writes the body of such a function where it is called, and the rule is lost. But the jaxpr, the form before, still has an
equation for every call, from which JAX can evaluate, differentiate and transpose. So:

1. Equations of that kind, in sub-jaxprs too (loops, branches, jitted functions), are replaced by calls of a primitive that is lowered to a
   private function with a name of ours.
2. Rules are functions like any others: ``jax.jvp`` and ``jax.vjp`` of the one equation, traced to jaxprs in which the calls of further such
   functions are treated in the same way, and lowered by themselves.
3. The texts are put into one module, and the private functions get ``ad.custom_jvp`` or ``ad.custom_vjp``.

``lax.custom_linear_solve`` is a call of its solver that becomes ``ad.custom_linear_solve`` (:mod:`wengert.frontends.jax_linear_solves`), except where it solves
by triangular factors: JAX takes the derivative from the matrix there, and we take it from the solution as it is computed, factors included.

``lax.stop_gradient``, of which the lowering says nothing either, becomes a primitive that leaves the mark of
:mod:`wengert.transforms.core.recognisers.stopped`. Not where it stops what only such a system is solved with, the factors in ``jnp.linalg.solve``.

The incomplete gamma and beta functions are primitives of JAX with rules of their own, while their text is a loop, whose derivative differs from the
rule outside of their domain. They are treated as functions with a rule, in which a zero tangent is no number but absent, as in JAX's rules of
primitives (``ad.symbolic_zeros``).

Calls whose bodies and rules are the same share a function. A rule may call its own function: a call whose body and rule have the text
of one that is just being treated is taken for a call of that one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from wengert.frontends import jax_linear_solves as linear_solves
from wengert.frontends.jax_beta_rule import NAME as BETA
from wengert.frontends.jax_beta_rule import beta_rule
from wengert.ir.symbols import rename_references
from wengert.runtime.errors import InputError
from wengert.runtime.loading import parse
from wengert.transforms.ad.requests.custom import CUSTOM_JVP, CUSTOM_VJP, SYMBOLIC_ZEROS
from wengert.transforms.core.recognisers.stopped import FRONTEND_ATTRIBUTES

_KINDS = {"custom_jvp_call": CUSTOM_JVP, "custom_vjp_call": CUSTOM_VJP}
_PARTS = {CUSTOM_JVP: ("jvp",), CUSTOM_VJP: ("forward", "backward"), linear_solves.KIND: ("matvec", "transpose")}
"""What the functions of a rule are called."""
_PRIMITIVES = frozenset(("igamma", "igammac", BETA))
"""Primitives whose rule is kept."""
_DEPTH = 6
"""The deepest nesting of functions with rules in each other's rules. Some rules call new functions forever (that of ``jnp.sinc``), so
that a text can only say the first few derivatives; asking for more is an error."""


def _jax(module: str = "jax") -> Any:
    return import_module(module)


@dataclass(frozen=True)
class CustomFunction:
    """A function with a rule: ``[jvp]`` or ``[forward, backward]`` as closed jaxprs without equations of that kind, or nothing where it
    stands too deep in other rules."""

    name: str
    kind: str
    rules: Sequence[Any]
    symbolic_zeros: bool = False


@dataclass
class CustomFunctions:
    """The functions with rules in the jaxprs treated so far, by the names that their private functions have.

    Attributes:
        by_symbol: the functions.
        stops: whether gradients were stopped anywhere.
    """

    by_symbol: dict[str, CustomFunction] = field(default_factory=dict[str, CustomFunction])
    stops: bool = False
    _known: dict[Any, str] = field(default_factory=dict[Any, str])
    _open: dict[Any, str] = field(default_factory=dict[Any, str])
    _count: int = 0

    def replaced(self, closed: Any) -> Any:
        """A closed jaxpr with the calls of functions with rules replaced; the same object where it holds none."""
        jaxpr = self._replaced(closed.jaxpr)
        return closed if jaxpr is closed.jaxpr else closed.replace(jaxpr=jaxpr)

    def _replaced(self, jaxpr: Any) -> Any:
        solving = _only_for_solving(jaxpr)
        eqns = [eqn if any(id(v) in solving for v in eqn.outvars) else self._equation(eqn) for eqn in jaxpr.eqns]
        return jaxpr if all(new is old for new, old in zip(eqns, jaxpr.eqns, strict=True)) else jaxpr.replace(eqns=eqns)

    def _equation(self, eqn: Any) -> Any:
        if eqn.primitive.name in _KINDS and _moving(eqn.params["call_jaxpr"].in_avals) and _moving(eqn.params["call_jaxpr"].out_avals):
            return self._call(eqn)
        if eqn.primitive.name in _PRIMITIVES:
            return self._call(eqn.replace(params={"call_jaxpr": _evaluation(eqn), "num_consts": 0}))
        if eqn.primitive.name == linear_solves.NAME and not linear_solves.by_factors(eqn):
            body = self.replaced(linear_solves.solver_of(eqn))
            return eqn.replace(primitive=_primitive(), params={"symbol": self._symbol(eqn, body), "body": body})
        if eqn.primitive.name == "stop_gradient" and _moving([eqn.outvars[0].aval]):
            self.stops = True
            return eqn.replace(primitive=_stop())
        params = {key: self._parameter(value) for key, value in eqn.params.items()}
        return eqn if all(params[key] is eqn.params[key] for key in params) else eqn.replace(params=params)

    def _call(self, eqn: Any) -> Any:
        """The call of a private function with a rule."""
        body = eqn.params["call_jaxpr"] if eqn.primitive.name in _PRIMITIVES else self.replaced(eqn.params["call_jaxpr"])
        return eqn.replace(primitive=_primitive(), params={"symbol": self._symbol(eqn, body), "body": body})

    def _parameter(self, value: Any) -> Any:
        core = _jax("jax.extend.core")
        if isinstance(value, core.ClosedJaxpr):
            return self.replaced(value)
        if isinstance(value, core.Jaxpr):
            return self._replaced(value)
        if isinstance(value, tuple):
            items = cast("tuple[Any, ...]", value)
            new = [self._parameter(item) for item in items]
            if any(n is not old for n, old in zip(new, items, strict=True)):
                return type(items)(*new) if hasattr(items, "_fields") else tuple(new)
            return items
        return value

    def _symbol(self, eqn: Any, body: Any) -> str:
        """The name of the private function for a call."""
        rules = _rules(eqn)
        at_first = _key(eqn.primitive.name, body, rules)
        if at_first in self._open:
            return self._open[at_first]
        name = "solve" if eqn.primitive.name == linear_solves.NAME else str(eqn.params["call_jaxpr"].jaxpr.debug_info.func_name)
        symbol, self._count = f"wengertcustom{self._count}x", self._count + 1
        if len(self._open) < _DEPTH:
            self._open[at_first] = symbol
            rules = [self.replaced(rule) for rule in rules]
            del self._open[at_first]
        else:
            rules = []
        key = _key(eqn.primitive.name, body, rules, symbol)
        if key not in self._known:
            self._known[key] = symbol
            kind = linear_solves.KIND if eqn.primitive.name == linear_solves.NAME else _KINDS.get(eqn.primitive.name, CUSTOM_JVP)
            readable = re.sub(r"\W+", "_", name).strip("_") or "f"
            self.by_symbol[symbol] = CustomFunction(readable, kind, rules, eqn.primitive.name in _PRIMITIVES)
        return self._known[key]


def _only_for_solving(jaxpr: Any) -> set[int]:
    """The variables, by identity, that come from a ``stop_gradient`` of this jaxpr and that nothing takes but the ``solve`` functions of linear solves."""
    if not any(eqn.primitive.name == linear_solves.NAME and linear_solves.by_factors(eqn) for eqn in jaxpr.eqns):
        return set()
    taken = {id(v) for v in jaxpr.outvars}
    for eqn in reversed(jaxpr.eqns):
        operands = eqn.invars
        if eqn.primitive.name == linear_solves.NAME and linear_solves.by_factors(eqn):
            matvec, vecmat, *solves = eqn.params["const_lengths"]
            operands = [*operands[: matvec + vecmat], *operands[matvec + vecmat + sum(solves) :]]
        elif not eqn.effects and not any(id(v) in taken for v in eqn.outvars):
            continue
        taken.update(id(v) for v in operands)
    return {id(eqn.outvars[0]) for eqn in jaxpr.eqns if eqn.primitive.name == "stop_gradient"} - taken


def _key(kind: str, body: Any, rules: Sequence[Any], own: str = "") -> Any:
    """The key of a function with rules: the texts of all parts, and the arrays in them. Its own name does not count."""
    texts = [str(part.jaxpr) for part in (body, *rules)]
    arrays = [np.asarray(x) for part in (body, *rules) for x in _constants(part)]
    return kind, *(t.replace(own, "") if own else t for t in texts), *((a.dtype.str, a.shape, a.tobytes()) for a in arrays)


def _constants(value: Any) -> Iterator[Any]:
    """The arrays that a jaxpr and those inside of it hold."""
    core = _jax("jax.extend.core")
    if isinstance(value, core.ClosedJaxpr):
        yield from value.consts
        value = value.jaxpr
    if isinstance(value, core.Jaxpr):
        for eqn in value.eqns:
            for parameter in eqn.params.values():
                yield from _constants(parameter)
    elif isinstance(value, tuple):
        for item in cast("tuple[Any, ...]", value):
            yield from _constants(item)


def _moving(avals: Sequence[Any]) -> list[int]:
    """The positions of what has a tangent."""
    return [i for i, aval in enumerate(avals) if np.issubdtype(aval.dtype, np.inexact) or aval.dtype.name == "bfloat16"]


# -- rules as jaxprs


def _evaluation(eqn: Any) -> Any:
    """A primitive's equation as a closed jaxpr of its operands."""

    def evaluate(*inputs: Any) -> list[Any]:
        return [eqn.primitive.bind(*inputs, **eqn.params)]

    evaluate.__name__ = evaluate.__qualname__ = eqn.primitive.name
    return _jax().make_jaxpr(evaluate)(*(_spec(v.aval) for v in eqn.invars))


def _rules(eqn: Any) -> list[Any]:
    """``[jvp]``: (inputs, tangents) -> (outputs, tangents), or ``[forward, backward]``, of one equation, as :mod:`wengert.dialects.ad` has them."""
    if eqn.primitive.name == linear_solves.NAME:
        return linear_solves.rules_of(eqn)
    call = eqn.params["call_jaxpr"]
    if eqn.primitive.name == BETA:
        return [beta_rule(call.jaxpr.eqns[0])]

    def evaluate(*inputs: Any) -> Any:
        if eqn.primitive.name in _PRIMITIVES:
            return _jax("jax.extend.core").jaxpr_as_fun(call)(*inputs)
        return eqn.primitive.bind(*inputs, **eqn.primitive.get_bind_params(eqn.params))

    name = call.jaxpr.debug_info.func_name
    try:
        rules = (_vjp_rules if eqn.primitive.name == "custom_vjp_call" else _jvp_rule)(evaluate, call.in_avals, call.out_avals, eqn.params["num_consts"])
    except Exception as error:
        raise InputError(f"the rule of {name} cannot be traced for {', '.join(map(str, call.in_avals))}: {error}") from error
    if any(isinstance(x, _jax("jax.core").Tracer) for rule in rules for x in _constants(rule)):
        raise InputError(f"the rule of {name} uses values of the function around it; pass them as arguments")
    return rules


def _jvp_rule(evaluate: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any], outer: int) -> list[Any]:
    jax = _jax()
    moving, of = _moving(inputs), _moving(outputs)

    def rule(*given: Any) -> list[Any]:
        primals, pending = given[: len(inputs)], iter(given[len(inputs) :])
        x_dots = [next(pending) if i in moving else np.zeros(x.shape, jax.dtypes.float0) for i, x in enumerate(inputs)]
        y, y_dots = jax.jvp(evaluate, primals, tuple(x_dots))
        return [*y, *(y_dots[j] for j in of)]

    return [jax.make_jaxpr(rule)(*map(_spec, inputs), *(_spec(inputs[i]) for i in moving))]


def _vjp_rules(evaluate: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any], outer: int) -> list[Any]:
    """The rules of a custom VJP. Values from outside the function, its first inputs, have no derivative in JAX, and a derivative of zero here."""
    jax, trees = _jax(), _jax("jax.tree_util")
    moving, of = [i for i in _moving(inputs) if i >= outer], _moving(outputs)
    seen: list[Any] = []

    def forward(*given: Any) -> list[Any]:
        def along(*xs: Any) -> Any:
            by_position = dict(zip(moving, xs, strict=True))
            return evaluate(*(by_position.get(i, x) for i, x in enumerate(given)))

        y, pullback = jax.vjp(along, *(given[i] for i in moving))
        residuals, tree = trees.tree_flatten(pullback)
        seen.append(tree)
        return [*y, *residuals]

    closed = jax.make_jaxpr(forward)(*map(_spec, inputs))
    residuals = closed.out_avals[len(outputs) :]

    def backward(*given: Any) -> list[Any]:
        pending = iter(given[len(residuals) :])
        y_bars = [next(pending) if j in of else np.zeros(y.shape, jax.dtypes.float0) for j, y in enumerate(outputs)]
        x_bars = dict(zip(moving, trees.tree_unflatten(seen[0], given[: len(residuals)])(y_bars), strict=True))
        return [x_bars[i] if i in x_bars else jax.numpy.zeros(inputs[i].shape, inputs[i].dtype) for i in _moving(inputs)]

    return [closed, jax.make_jaxpr(backward)(*map(_spec, residuals), *(_spec(outputs[j]) for j in of))]


def _spec(aval: Any) -> Any:
    return _jax().ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


# -- lowering


@cache
def _primitive() -> Any:
    """A call of a function with a rule: its body, as a private function of the name ``symbol``."""
    mlir = _jax("jax.interpreters.mlir")
    primitive = _jax("jax.extend.core").Primitive("wengert_custom")
    primitive.multiple_results = True

    def types(*_: Any, symbol: str, body: Any) -> list[Any]:
        return body.out_avals

    def written(*inputs: Any, symbol: str, body: Any) -> Any:
        return _named(body, symbol)(*inputs)

    primitive.def_abstract_eval(types)
    mlir.register_lowering(primitive, mlir.lower_fun(written, multiple_results=True))
    return primitive


@cache
def _stop() -> Any:
    """The identity, marked."""
    mlir, ir = _jax("jax.interpreters.mlir"), _jax("jaxlib.mlir.ir")
    hlo = _jax("jaxlib.mlir.dialects.stablehlo")
    primitive = _jax("jax.extend.core").Primitive("wengert_stop_gradient")

    def written(context: Any, x: Any) -> Any:
        op = hlo.ConvertOp(x.type, x)
        op.operation.attributes[FRONTEND_ATTRIBUTES] = ir.DictAttr.get({"wengert": ir.StringAttr.get("stop_gradient")})
        return [op.result]

    def same(x: Any) -> Any:
        return x

    primitive.def_abstract_eval(same)
    mlir.register_lowering(primitive, written)
    return primitive


def _named(closed: Any, name: str) -> Any:
    evaluate = _jax("jax.extend.core").jaxpr_as_fun(closed)

    def function(*inputs: Any) -> Any:
        return evaluate(*inputs)

    function.__name__ = function.__qualname__ = name
    return _jax().jit(function, keep_unused=True)


def lowered_with_rules(traced: Any, name: str) -> ModuleOp | None:
    """The module of what ``jax.jit(f).trace(...)`` gave, with the rules of the functions in it; None where it calls none that has a rule
    and stops no gradient.

    Raises:
        InputError: a rule cannot be traced.
    """
    custom = CustomFunctions()
    closed = custom.replaced(traced.jaxpr)
    if not custom.by_symbol and not custom.stops:
        return None
    merged = _Merged(custom)
    merged.add(_text(closed, name), name, "main")
    declared: dict[str, list[str]] = {}
    for symbol, function in custom.by_symbol.items():
        names = _PARTS[function.kind][: len(function.rules) or None]
        if not function.rules:  # a reference to nothing: an error for whoever asks for this derivative
            declared[symbol] = [f"rule_of_{function.name}_which_is_more_than_{_DEPTH}_rules_deep"] * len(names)
            continue
        declared[symbol] = symbols = [merged.fresh(f"{function.name}_{part}") for part in names]
        for rule, part, own in zip(function.rules, names, symbols, strict=True):
            merged.add(_text(rule, f"{function.name}_{part}"), f"{name}, {part} of {function.name}", own)
    for symbol, symbols in declared.items():
        merged.declare(symbol, custom.by_symbol[symbol], symbols)
    return merged.module


def _text(closed: Any, name: str) -> str:
    return _named(closed, name).lower(*map(_spec, closed.in_avals)).as_text(debug_info=True)


class _Merged:
    """A module that texts are put into, function by function."""

    def __init__(self, custom: CustomFunctions):
        self.module = ModuleOp([])
        self._taken = {"main"}
        self._symbols = {symbol: self.fresh(f.name) for symbol, f in custom.by_symbol.items()}
        self._functions: dict[str, FuncOp] = {}

    def fresh(self, base: str) -> str:
        """A name that no function has."""
        name = next(n for n in (base, *(f"{base}_{i}" for i in range(len(self._taken) + 1))) if n not in self._taken)
        self._taken.add(name)
        return name

    def add(self, text: str, filename: str, entry: str) -> None:
        """Adds the functions of a text; its ``@main`` becomes ``entry``. Functions with a rule that are there already are left out."""
        parsed = parse(text, filename).module
        functions = [op for op in parsed.body.block.ops if isinstance(op, FuncOp)]
        names = {f.sym_name.data: self._name(f.sym_name.data, entry) for f in functions}
        rename_references(parsed, names)
        for function in functions:
            name = names[function.sym_name.data]
            function.detach()
            if name in self._functions:
                continue
            function.sym_name = StringAttr(name)
            if name != "main":
                function.sym_visibility = StringAttr("private")
                function.properties.pop("arg_attrs", None)
                function.properties.pop("res_attrs", None)
            self._functions[name] = function
            self.module.body.block.add_op(function)

    def _name(self, name: str, entry: str) -> str:
        if name == "main":
            return entry
        ours = re.fullmatch(r"(wengertcustom\d+x)(_\d+)?", name)
        return self._symbols[ours[1]] if ours else self.fresh(name)

    def declare(self, symbol: str, declared: CustomFunction, rules: Sequence[str]) -> None:
        """Gives a function its rule, if it is called anywhere."""
        references = [SymbolRefAttr(rule) for rule in rules]
        if (function := self._functions.get(self._symbols[symbol])) is not None and declared.kind == linear_solves.KIND:
            linear_solves.declare_solves(self.module, function, list(rules))
        elif function is not None:
            function.attributes[declared.kind] = references[0] if declared.kind == CUSTOM_JVP else ArrayAttr(references)
            if declared.symbolic_zeros:
                function.attributes[SYMBOLIC_ZEROS] = UnitAttr()
