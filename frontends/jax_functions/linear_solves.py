"""``lax.custom_linear_solve`` on the way from a JAX function to a program: its parts, as functions of all values that any of them takes.

An equation has a map, a solver and maybe a solver of the transpose, each with values of its own from outside. In a program they are functions of
all of these and of a right-hand side, named by one ``ad.custom_linear_solve``. Systems that are solved by triangular factors
(``jnp.linalg.solve``) stay ordinary ops, which have rules of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute

from wengert.dialects.ad_implicit import CustomLinearSolveOp
from wengert.ir.attributes import int_attr
from wengert.ir.construction import insert_before
from wengert.ir.traversal import ops_of

NAME = "custom_linear_solve"
"""The primitive."""
KIND = "ad.custom_linear_solve"
"""What calls of the solver become."""


_OTHERWISE = frozenset(("while", "scan", "cond", "stop_gradient", "custom_jvp_call", "custom_vjp_call", "pure_callback", "io_callback", NAME))
"""What a solver by triangular factors does not do: its solution is differentiated as it is computed."""


def solved_by_factors(jaxpr: Any) -> tuple[set[int], set[int]]:
    """The systems of a jaxpr that are solved by triangular factors of their own map, and the stopped gradients that only these take.

    Both by identity: of equations, and of the variables behind a ``stop_gradient``. JAX stops gradients in front of factors, since its rule goes through the
    map. Differentiating the solution as it is computed is that rule where the factors are made of nothing but what the map takes, and no gradient stays
    stopped on the way; all other systems keep their map.
    """
    stops = {id(eqn): _stops_before(eqn, jaxpr) for eqn in jaxpr.eqns if eqn.primitive.name == NAME and _has_factors(eqn)}
    factored = {key for key, stopped in stops.items() if stopped is not None}
    while factored:
        passed = _only_for_solving(jaxpr, factored)
        left = {key for key in factored if (stops[key] or set()) <= passed}
        if left == factored:
            return factored, passed
        factored = left
    return set(), set()


def _has_factors(eqn: Any) -> bool:
    """Whether the solver of a system does nothing but solving triangular ones."""
    names = set(_primitives(eqn.params["jaxprs"].solve))
    return "triangular_solve" in names and names.isdisjoint(_OTHERWISE)


def _stops_before(solve: Any, jaxpr: Any) -> set[int] | None:
    """The variables behind a ``stop_gradient`` from which the factors of a system are made; None if they are made of other values than its map takes."""
    variable = import_module("jax.extend.core").Var
    makers = {id(v): eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    matvec, factors = _operands(solve, "matvec"), _operands(solve, "solve")
    ends, stopped, seen = {id(v) for v in matvec}, set[int](), set[int]()
    pending = [v for v in factors if isinstance(v, variable) and id(v) not in ends]
    while pending:
        v = pending.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        if (maker := makers.get(id(v))) is None:
            return None
        if maker.primitive.name == "stop_gradient":
            stopped.add(id(v))
        elif not {maker.primitive.name, *_primitives(tuple(maker.params.values()))}.isdisjoint(_OTHERWISE):
            return None
        pending += [x for x in maker.invars if isinstance(x, variable) and id(x) not in ends]
    return stopped


def _operands(eqn: Any, part: str) -> list[Any]:
    """The operands of a system that one of its functions takes from outside."""
    lengths = eqn.params["const_lengths"]
    start = sum(lengths[: lengths._fields.index(part)])
    return list(eqn.invars[start : start + getattr(lengths, part)])


def _only_for_solving(jaxpr: Any, factored: set[int]) -> set[int]:
    """The variables from a ``stop_gradient`` of this jaxpr that nothing takes but the solvers of these systems."""
    taken = {id(v) for v in jaxpr.outvars}
    for eqn in reversed(jaxpr.eqns):
        operands = eqn.invars
        if id(eqn) in factored:
            matvec, vecmat, *solves = eqn.params["const_lengths"]
            operands = [*operands[: matvec + vecmat], *operands[matvec + vecmat + sum(solves) :]]
        elif not eqn.effects and not any(id(v) in taken for v in eqn.outvars):
            continue
        taken.update(id(v) for v in operands)
    return {id(eqn.outvars[0]) for eqn in jaxpr.eqns if eqn.primitive.name == "stop_gradient"} - taken


def _primitives(value: Any) -> Iterator[str]:
    core = import_module("jax.extend.core")
    if isinstance(value, core.ClosedJaxpr):
        value = value.jaxpr
    if isinstance(value, core.Jaxpr):
        for eqn in value.eqns:
            yield eqn.primitive.name
            for parameter in eqn.params.values():
                yield from _primitives(parameter)
    elif isinstance(value, tuple):
        for item in cast("tuple[Any, ...]", value):
            yield from _primitives(item)


def solver_of(eqn: Any) -> Any:
    """The solver as a closed jaxpr of (all values from outside, right-hand side)."""
    return _of_all(eqn, "solve", len(eqn.outvars))


def rules_of(eqn: Any) -> list[Any]:
    """The map, and the solver of the transpose if there is one, as functions of the same values."""
    count = _count(eqn)
    parts = [_of_all(eqn, "matvec", count)]
    return parts if eqn.params["jaxprs"].transpose_solve is None else [*parts, _of_all(eqn, "transpose_solve", count)]


def _count(eqn: Any) -> int:
    """The number of unknowns."""
    return len(eqn.invars) - sum(eqn.params["const_lengths"])


def _of_all(eqn: Any, part: str, results: int) -> Any:
    """One of the functions, of all values from outside and of values like the right-hand side; its first results."""
    jax, lengths = import_module("jax"), eqn.params["const_lengths"]
    fields = list(lengths._fields)
    start = sum(lengths[: fields.index(part)])
    closed, total = getattr(eqn.params["jaxprs"], part), sum(lengths)
    evaluate = import_module("jax.extend.core").jaxpr_as_fun(closed)

    def function(*given: Any) -> list[Any]:
        return list(evaluate(*given[start : start + getattr(lengths, part)], *given[total:]))[:results]

    function.__name__ = function.__qualname__ = part
    specs = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type) for v in eqn.invars]
    return jax.make_jaxpr(function)(*specs)


def declare_solves(module: ModuleOp, solver: FuncOp, names: list[str]) -> None:
    """Replaces calls of a solver by the systems that it solves, in place; ``names`` are the map, and the solver of the transpose."""
    for call in ops_of(module, CallOp):
        if call.callee.string_value() != solver.sym_name.data:
            continue
        properties: dict[str, Attribute] = {"callee": SymbolRefAttr(names[0]), "solve": call.callee}
        if len(names) > 1:
            properties["transpose_solve"] = SymbolRefAttr(names[1])
        unknowns = len(_function(module, names[0]).function_type.outputs)
        if len(call.results) > unknowns:
            properties["aux"] = int_attr(len(call.results) - unknowns)
        solved = CustomLinearSolveOp.create(operands=call.operands, result_types=[r.type for r in call.results], properties=properties, location=call.location)
        insert_before(call, solved)
        for old, new in zip(call.results, solved.results, strict=True):
            old.replace_all_uses_with(new)
        call.detach()
        call.erase()


def _function(module: ModuleOp, name: str) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == name)
