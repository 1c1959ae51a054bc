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
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from wengert.dialects.sdy import MeshOp
from wengert.frontends import jax_linear_solves as linear_solves
from wengert.frontends.jax_rule_traces import (
    PRIMITIVES,
    Around,
    around,
    constants_of,
    evaluation,
    jax_module,
    moving_positions,
    on_devices,
    rules_of,
    spec_of,
    traced_inside,
)
from wengert.ir.symbols import rename_references
from wengert.runtime.errors import InputError
from wengert.runtime.loading import parse
from wengert.transforms.ad.requests.custom import CUSTOM_JVP, CUSTOM_VJP, SYMBOLIC_ZEROS
from wengert.transforms.core.recognisers.stopped import FRONTEND_ATTRIBUTES
from wengert.transforms.spmd.localize import unwrap_main

_KINDS = {"custom_jvp_call": CUSTOM_JVP, "custom_vjp_call": CUSTOM_VJP}
_PARTS = {CUSTOM_JVP: ("jvp",), CUSTOM_VJP: ("forward", "backward"), linear_solves.KIND: ("matvec", "transpose")}
"""What the functions of a rule are called."""
_DEPTH = 6
"""The deepest nesting of functions with rules in each other's rules. Some rules call new functions forever (that of ``jnp.sinc``), so
that a text can only say the first few derivatives; asking for more is an error."""


@dataclass(frozen=True)
class CustomFunction:
    """A function with a rule: ``[jvp]`` or ``[forward, backward]`` as closed jaxprs without equations of that kind, or nothing where it
    stands too deep in other rules."""

    name: str
    kind: str
    rules: Sequence[Any]
    symbolic_zeros: bool = False
    maps: tuple[Around, ...] = ()
    """The ``shard_map``s around its calls, the outermost first."""


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
    _maps: tuple[Around, ...] = ()

    def replaced(self, closed: Any) -> Any:
        """A closed jaxpr with the calls of functions with rules replaced; the same object where it holds none."""
        jaxpr = self._replaced(closed.jaxpr)
        return closed if jaxpr is closed.jaxpr else closed.replace(jaxpr=jaxpr)

    def _replaced(self, jaxpr: Any) -> Any:
        solving = _only_for_solving(jaxpr)
        eqns = [eqn if any(id(v) in solving for v in eqn.outvars) else self._equation(eqn) for eqn in jaxpr.eqns]
        return jaxpr if all(new is old for new, old in zip(eqns, jaxpr.eqns, strict=True)) else jaxpr.replace(eqns=eqns)

    def _equation(self, eqn: Any) -> Any:
        if eqn.primitive.name == "shard_map":
            outside, self._maps = self._maps, (*self._maps, around(eqn))
            body = self._replaced(eqn.params["jaxpr"])
            self._maps = outside
            return eqn if body is eqn.params["jaxpr"] else eqn.replace(params={**eqn.params, "jaxpr": body})
        if eqn.primitive.name in _KINDS and moving_positions(eqn.params["call_jaxpr"].in_avals) and moving_positions(eqn.params["call_jaxpr"].out_avals):
            return self._call(eqn)
        if eqn.primitive.name in PRIMITIVES:
            return self._call(eqn.replace(params={"call_jaxpr": traced_inside(lambda: evaluation(eqn), self._maps), "num_consts": 0}))
        if eqn.primitive.name == linear_solves.NAME and not linear_solves.by_factors(eqn):
            body = self.replaced(linear_solves.solver_of(eqn))
            return eqn.replace(primitive=_primitive(), params={"symbol": self._symbol(eqn, body), "body": body})
        if eqn.primitive.name == "stop_gradient" and moving_positions([eqn.outvars[0].aval]):
            self.stops = True
            return eqn.replace(primitive=_stop())
        params = {key: self._parameter(value) for key, value in eqn.params.items()}
        return eqn if all(params[key] is eqn.params[key] for key in params) else eqn.replace(params=params)

    def _call(self, eqn: Any) -> Any:
        """The call of a private function with a rule."""
        body = eqn.params["call_jaxpr"] if eqn.primitive.name in PRIMITIVES else self.replaced(eqn.params["call_jaxpr"])
        return eqn.replace(primitive=_primitive(), params={"symbol": self._symbol(eqn, body), "body": body})

    def _parameter(self, value: Any) -> Any:
        core = jax_module("jax.extend.core")
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
        rules = traced_inside(lambda: rules_of(eqn, self._maps), self._maps)
        at_first = self._maps, _key(eqn.primitive.name, body, rules)
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
        key = self._maps, _key(eqn.primitive.name, body, rules, symbol)
        if key not in self._known:
            self._known[key] = symbol
            kind = linear_solves.KIND if eqn.primitive.name == linear_solves.NAME else _KINDS.get(eqn.primitive.name, CUSTOM_JVP)
            readable = re.sub(r"\W+", "_", name).strip("_") or "f"
            self.by_symbol[symbol] = CustomFunction(readable, kind, rules, eqn.primitive.name in PRIMITIVES, self._maps)
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
    arrays = [np.asarray(x) for part in (body, *rules) for x in constants_of(part)]
    return kind, *(t.replace(own, "") if own else t for t in texts), *((a.dtype.str, a.shape, a.tobytes()) for a in arrays)


# -- lowering


@cache
def _primitive() -> Any:
    """A call of a function with a rule: its body, as a private function of the name ``symbol``."""
    mlir = jax_module("jax.interpreters.mlir")
    primitive = jax_module("jax.extend.core").Primitive("wengert_custom")
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


def _named(closed: Any, name: str, maps: Sequence[Around] = ()) -> Any:
    evaluate = on_devices(closed, maps)

    def function(*inputs: Any) -> Any:
        return evaluate(*inputs)

    function.__name__ = function.__qualname__ = name
    return jax_module().jit(function, keep_unused=True)


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
            merged.add(_text(rule, f"{function.name}_{part}", function.maps), f"{name}, {part} of {function.name}", own, function.maps)
    for symbol, symbols in declared.items():
        merged.declare(symbol, custom.by_symbol[symbol], symbols)
    return merged.module


def _text(closed: Any, name: str, maps: Sequence[Around] = ()) -> str:
    """A closed jaxpr, which knows the axes of these ``shard_map``s, as a module with as many manual computations around it."""
    specs = [spec_of(aval, inside=False) for aval in closed.in_avals]
    return _named(closed, name, maps).lower(*specs).as_text(debug_info=True)


class _Merged:
    """A module that texts are put into, function by function."""

    def __init__(self, custom: CustomFunctions):
        self.module = ModuleOp([])
        self._taken = {"main"}
        self._symbols = {symbol: self.fresh(f.name) for symbol, f in custom.by_symbol.items()}
        self._functions: dict[str, FuncOp] = {}
        self._meshes: dict[str, MeshOp] = {}

    def fresh(self, base: str) -> str:
        """A name that no function has."""
        name = next(n for n in (base, *(f"{base}_{i}" for i in range(len(self._taken) + 1))) if n not in self._taken)
        self._taken.add(name)
        return name

    def add(self, text: str, filename: str, entry: str, maps: Sequence[Around] = ()) -> None:
        """Adds the functions of a text; its ``@main`` becomes ``entry``, without so many manual computations around it. Functions with a rule that are there
        already are left out."""
        parsed = parse(text, filename).module
        for _ in maps:
            unwrap_main(parsed)
        self._add_devices(parsed, filename, whole=entry == "main")
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

    def _add_devices(self, parsed: ModuleOp, filename: str, *, whole: bool) -> None:
        """Adds the meshes of a text; the number of devices is what the whole program says."""
        if whole:
            self.module.attributes.update(parsed.attributes)
        for mesh in [op for op in parsed.body.block.ops if isinstance(op, MeshOp)]:
            name = mesh.sym_name.data
            if name not in self._meshes:
                mesh.detach()
                self._meshes[name] = mesh
                self.module.body.block.add_op(mesh)
            elif self._meshes[name].mesh != mesh.mesh:
                raise InputError(f"{filename}: its mesh @{name} is another one than that of the function that calls it")

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
