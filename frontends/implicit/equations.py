"""``custom_linear_solve``, ``custom_root`` and ``custom_fixed_point``: in a trace, ops of the ad dialect that name the equation and what solves it.

Functions may use traced values from outside: these are the parameters that the solution has derivatives by. Outside of any trace a solver is simply called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Operation

from wengert.dialects.ad_implicit import CustomFixedPointOp, CustomLinearSolveOp, CustomRootOp
from wengert.frontends.pytrees import TreeSpec, flatten, map_tree, unflatten
from wengert.frontends.tracing.context import current_trace
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.function import name_of
from wengert.frontends.tracing.function_groups import FunctionGroup
from wengert.frontends.tracing.operands import builder, traced, value_of
from wengert.frontends.tracing.signatures import ArraySpec, is_array_leaf, spec_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.transforms.derivatives import jvp
from wengert.frontends.transforms.emission import for_user
from wengert.frontends.transforms.linear_maps import vjp
from wengert.ir.attributes import bool_attr, int_attr

Function = Callable[..., Any]
LinearSolver = Callable[[Function, Any], Any]
"""From a linear function and a right-hand side to the solution."""


def custom_linear_solve(
    matvec: Function, b: Any, solve: LinearSolver, transpose_solve: LinearSolver | None = None, symmetric: bool = False, has_aux: bool = False
) -> Any:
    """The solution x of ``matvec(x) = b`` that ``solve(matvec, b)`` finds; derivatives are solutions of the same system, or of its transpose.

    Args:
        matvec: a linear function of x, which gives a tree like b; it may use traced values from outside.
        b: the right-hand side, a tree of float arrays.
        solve: from ``matvec`` and a right-hand side to the solution, a tree like b.
        transpose_solve: the same for the transposed function; without it ``solve`` is transposed op by op, which has to be linear.
        symmetric: the function is its own transpose (not its conjugate's), so ``solve`` does for both.
        has_aux: ``solve`` returns ``(x, aux)``, and so does this; aux has no derivative.

    Raises:
        TracedTypeError, TracedValueError: a function returns something else than a tree like b; b holds what is no float.
        DiagnosticError: when it is compiled or differentiated: ``matvec`` is not linear, or ``solve`` has no transpose.
    """
    if current_trace() is None:
        return solve(matvec, b)
    unknown, group = _Unknown(b, "the right-hand side"), FunctionGroup()

    def transposed(y: Any) -> Any:
        return vjp(matvec, y)[1](y)[0]

    properties: dict[str, Attribute] = {"callee": group.write(unknown.body(matvec), name_of(matvec), unknown.specs)}
    result = _Solved(unknown, lambda given: solve(matvec, given), name_of(solve), has_aux)
    properties["solve"] = group.write(result.body, name_of(solve), unknown.specs)
    if symmetric:
        properties["symmetric"] = bool_attr(True)
    elif transpose_solve is not None:
        backward = _Solved(unknown, lambda given: transpose_solve(transposed, given), name_of(transpose_solve), has_aux)
        properties["transpose_solve"] = group.write(backward.solution, f"{name_of(transpose_solve)}_transpose", unknown.specs)
    return _emitted(CustomLinearSolveOp, group, unknown, result, properties)


def custom_root(
    f: Function,
    initial_guess: Any,
    solve: Function,
    tangent_solve: LinearSolver | None = None,
    transpose_solve: LinearSolver | None = None,
    has_aux: bool = False,
) -> Any:
    """The solution x of ``f(x) = 0`` that ``solve(f, initial_guess)`` finds; derivatives follow from f at the solution.

    Args:
        f: gives a tree like x; it may use traced values from outside, by which the solution has derivatives.
        initial_guess: a tree of float arrays like x, which has no influence on derivatives.
        solve: from f and the guess to the solution.
        tangent_solve: ``tangent_solve(g, y)`` solves ``g(x) = y`` for the linear function g that is the derivative of f at the solution;
            :func:`~wengert.gmres` to rounding, if it is left out.
        transpose_solve: the same for the transpose of g; without it ``tangent_solve`` is transposed, which ``cg``, ``gmres`` and ``bicgstab`` say how.
        has_aux: ``solve`` returns ``(x, aux)``, and so does this; aux has no derivative.

    Raises as :func:`custom_linear_solve`.
    """
    if current_trace() is None:
        return solve(f, initial_guess)
    return _equation(CustomRootOp, f, initial_guess, solve, (tangent_solve, transpose_solve), has_aux)


def custom_fixed_point(
    step: Function,
    initial_guess: Any,
    solve: Function,
    tangent_solve: LinearSolver | None = None,
    transpose_solve: LinearSolver | None = None,
    has_aux: bool = False,
) -> Any:
    """The solution x of ``step(x) = x`` that ``solve(step, initial_guess)`` finds; derivatives follow from the step at the solution.

    See :func:`custom_root`, of whose equation the one here is the case ``x - step(x)``: ``tangent_solve`` gets the linear function ``v -> v - step'(x) v``.
    """
    if current_trace() is None:
        return solve(step, initial_guess)
    return _equation(CustomFixedPointOp, step, initial_guess, solve, (tangent_solve, transpose_solve), has_aux)


def _equation(
    cls: type[CustomRootOp | CustomFixedPointOp],
    f: Function,
    initial_guess: Any,
    solve: Function,
    linear: tuple[LinearSolver | None, LinearSolver | None],
    has_aux: bool,
) -> Any:
    unknown, group = _Unknown(initial_guess, "the initial guess"), FunctionGroup()
    result = _Solved(unknown, lambda given: solve(f, given), name_of(solve), has_aux)
    properties: dict[str, Attribute] = {
        "callee": group.write(unknown.body(f), name_of(f), unknown.specs),
        "solve": group.write(result.body, name_of(solve), unknown.specs),
    }
    tangent_solve, transpose_solve = linear
    if tangent_solve is None:
        tangent_solve = _gmres
    minus = cls is CustomFixedPointOp

    def tangent(x: Any, b: Any) -> Any:
        def g(v: Any) -> Any:
            y = jvp(f, (x,), (v,))[1]
            return map_tree(_difference, v, y) if minus else y

        return tangent_solve(g, b)

    properties["tangent_solve"] = _write_linear(group, unknown, tangent, name_of(tangent_solve))
    if transpose_solve is not None:

        def transposed(x: Any, b: Any) -> Any:
            def g(v: Any) -> Any:
                y = vjp(f, x)[1](v)[0]
                return map_tree(_difference, v, y) if minus else y

            return transpose_solve(g, b)

        properties["transpose_solve"] = _write_linear(group, unknown, transposed, f"{name_of(transpose_solve)}_transpose")
    return _emitted(cls, group, unknown, result, properties)


def _difference(x: Any, y: Any) -> Any:
    return x - y


def _gmres(g: Function, b: Any) -> Any:
    """Solves to rounding, matrix-free."""
    from wengert.frontends.implicit.krylov import gmres

    return gmres(g, b)[0]


_gmres.__name__ = "gmres"


def _write_linear(group: FunctionGroup, unknown: _Unknown, solver: Function, name: str) -> SymbolRefAttr:
    """Writes a solver of the linear system at the solution: of (x, b)."""
    count = len(unknown.specs)

    def body(given: list[TracedArray]) -> list[Any]:
        return unknown.leaves(solver(unknown.tree(given[:count]), unknown.tree(given[count:])), name)

    return group.write(body, name, [*unknown.specs, *unknown.specs])


def _emitted(cls: type[Operation], group: FunctionGroup, unknown: _Unknown, result: _Solved, properties: dict[str, Attribute]) -> Any:
    """The op, and its results as the user's trees."""
    if result.aux_specs:
        properties["aux"] = int_attr(len(result.aux_specs))
    given = [value_of(leaf, spec.dtype) for leaf, spec in zip(unknown.given, unknown.specs, strict=True)]
    types = [spec.type for spec in (*unknown.specs, *result.aux_specs)]
    values = for_user(builder().create(cls, [*group.finish(), *given], types, properties))
    x = unknown.tree(values[: len(unknown.specs)])
    if result.aux_tree is None:
        return x
    return x, unflatten(result.aux_tree, values[len(unknown.specs) :])


class _Unknown:
    """The unknown of an equation: a tree of float arrays, of the structure and types of what is given.

    Attributes:
        given: the leaves of the right-hand side, or of the initial guess.
    """

    def __init__(self, given: Any, what: str):
        self.given, self._spec = flatten(given)
        if not self.given:
            raise value_error(f"{what} has no arrays")
        for leaf in self.given:
            if not is_array_leaf(leaf) or not spec_of(leaf).differentiable:
                shown = spec_of(leaf) if is_array_leaf(leaf) else f"{leaf!r}"
                raise type_error(f"{what} must hold arrays of floats, found {shown}", "write 1.0 for 1, or x.astype(float)")
        specs = [spec_of(leaf) for leaf in self.given]
        self.specs = [ArraySpec(spec.shape, np.dtype(spec.dtype)) for spec in specs]

    def tree(self, leaves: Sequence[Any]) -> Any:
        """Leaves in the structure of the unknown."""
        return unflatten(self._spec, leaves)

    def leaves(self, value: Any, name: str) -> list[Any]:
        """The leaves of what a function returned, which must be like the unknown; numbers become arrays of its types."""
        leaves, spec = flatten(value)
        if spec != self._spec:
            raise type_error(f"{name} must return a tree like the unknown, {self._spec}, but returns {spec}")
        for leaf, expected in zip(leaves, self.specs, strict=True):
            actual = spec_of(leaf) if is_array_leaf(leaf) else None
            if actual is None or actual.shape != expected.shape or (actual.dtype != expected.dtype and not actual.weak):
                raise type_error(f"{name} must return arrays like those of the unknown, {expected}, but returns {actual or repr(leaf)}")
        return [traced(value_of(leaf, spec.dtype)) for leaf, spec in zip(leaves, self.specs, strict=True)]

    def body(self, function: Function) -> Callable[[list[TracedArray]], list[Any]]:
        """A function of the unknown that gives a tree like it, as one of leaves."""
        return lambda given: self.leaves(function(self.tree(given)), name_of(function))


class _Solved:
    """The result of a solver: the solution, and with ``has_aux`` something besides.

    Attributes:
        aux_tree: the structure of that, None without.
        aux_specs: its leaves.
    """

    def __init__(self, unknown: _Unknown, solve: Callable[[Any], Any], name: str, has_aux: bool):
        self.aux_tree: TreeSpec | None = None
        self.aux_specs: list[ArraySpec] = []
        self._unknown, self._solve, self._name, self._has_aux = unknown, solve, name, has_aux

    def body(self, given: list[TracedArray]) -> list[Any]:
        """Leaves of the solution, then of what there is besides."""
        returned = self._solve(self._unknown.tree(given))
        if not self._has_aux:
            return self._unknown.leaves(returned, self._name)
        if not isinstance(returned, tuple) or len(cast("tuple[Any, ...]", returned)) != 2:
            raise type_error(f"{self._name} must return a pair: the solution, and what there is besides (has_aux=True)")
        x, aux = cast("tuple[Any, Any]", returned)
        leaves, self.aux_tree = flatten(aux)
        self.aux_specs = [spec_of(leaf) for leaf in leaves]
        return [*self._unknown.leaves(x, self._name), *leaves]

    def solution(self, given: list[TracedArray]) -> list[Any]:
        """Leaves of the solution alone."""
        return self.body(given)[: len(self._unknown.specs)]
