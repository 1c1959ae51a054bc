"""``jacfwd``, ``jacrev``, ``jacobian`` and ``hessian``: a mode batched over a basis, as :func:`vmap` of a linear map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.frontends.pytrees import flatten, unflatten
from wengert.frontends.tracing.context import current_trace
from wengert.frontends.tracing.errors import TracingError, type_error
from wengert.frontends.tracing.function import Call, name_of, write_main
from wengert.frontends.tracing.signatures import ArraySpec
from wengert.frontends.transforms.batching import vmap
from wengert.frontends.transforms.derivatives import Positions, Transform, argument_position, check_differentiable, jvp, with_auxiliary
from wengert.frontends.transforms.emission import as_tuple
from wengert.frontends.transforms.jit import Function
from wengert.frontends.transforms.linear_maps import vjp
from wengert.frontends.transforms.program_calls import call_program
from wengert.runtime.derived.jacobian_passes import MODES

if TYPE_CHECKING:
    from wengert.runtime.program import Program


def jacfwd(function: Function, argnums: Positions = 0, *, has_aux: bool = False, holomorphic: bool = False) -> Transform:
    """A function that returns the Jacobian by forward mode: one derivative for each element of the arguments, batched.

    The result is a tree like the function's result, with a tree like the argument (a tuple of such, if ``argnums`` is one) at each leaf;
    an array there has the shape of the result's followed by that of the argument's. Cheaper than :func:`jacrev` where arguments
    have fewer elements than results. With ``has_aux`` the function returns ``(value, aux)``, and the result is ``(Jacobian, aux)``. See
    :func:`value_and_grad` for the arguments.
    """

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        point = _Point(with_auxiliary(function, has_aux), argnums, args, kwargs, holomorphic, name_of(function))
        inputs, spec = flatten(point.chosen)
        directions = _basis([_spec(x) for x in inputs])

        def along(tangents: Any) -> Any:
            return jvp(point.function, point.chosen, tangents, has_aux=True)[1:]

        columns, aux = vmap(along, out_axes=(-1, None))(unflatten(spec, directions))
        nested = point.nested(columns, inputs, spec)
        return (nested, aux) if has_aux else nested

    return _named(jacobian, function, "Jacobian (forward)")


def jacrev(function: Function, argnums: Positions = 0, *, has_aux: bool = False, holomorphic: bool = False) -> Transform:
    """A function that returns the Jacobian by reverse mode: one derivative for each element of the results, batched; as :func:`jacfwd`."""

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        point = _Point(with_auxiliary(function, has_aux), argnums, args, kwargs, holomorphic, name_of(function))
        value, pullback, aux = vjp(point.function, *point.chosen, has_aux=True)
        outputs, out_spec = flatten(value)
        for y in outputs:
            _check_result(function, _spec(y), holomorphic)
        directions = _basis([_spec(y) for y in outputs])
        rows = vmap(pullback)(unflatten(out_spec, directions))
        nested = point.nested_rows(rows, outputs, out_spec)
        return (nested, aux) if has_aux else nested

    return _named(jacobian, function, "Jacobian (reverse)")


def jacobian(function: Function, argnums: Positions = 0, *, has_aux: bool = False, holomorphic: bool = False, measure: bool | None = None) -> Transform:
    """A function that returns the Jacobian by the fastest way, as :meth:`wengert.Program.jacobian` chooses it; the trees are those of :func:`jacfwd`.

    The way is chosen when the function is traced, once for each signature: by prediction, and where predictions are within 50 per cent of each other by
    timing these at random inputs, once on this machine. Runs that are predicted to take more than 0.2 s are not timed unless ``measure`` is True, and nothing
    is with False. Where the function is no program of its own (it uses values of a transform around it, has auxiliary results, or is complex) it is the mode
    that takes fewer derivatives.
    """
    forward, reverse = (mode(function, argnums, has_aux=has_aux, holomorphic=holomorphic) for mode in (jacfwd, jacrev))

    def derivative(*args: Any, **kwargs: Any) -> Any:
        whole = None if has_aux or holomorphic else _Whole.made(function, argnums, args, kwargs)
        if whole is None:
            return (forward if _takes_fewer_forward(function, argnums, has_aux, args, kwargs) else reverse)(*args, **kwargs)
        chosen = whole.program.jacobian_way(whole.wrt, whole.of, measure=measure)
        return {"jacfwd": forward, "jacrev": reverse}[chosen](*args, **kwargs) if chosen in MODES else whole.jacobian(measure)

    return _named(derivative, function, "Jacobian")


jac = jacobian
"""A shorter name of :func:`jacobian`."""


def hessian(function: Function, argnums: Positions = 0, *, has_aux: bool = False, holomorphic: bool = False, measure: bool | None = None) -> Transform:
    """A function that returns all second derivatives by the fastest way, as :meth:`wengert.Program.hessian` chooses it, chosen as by :func:`jacobian`; the
    trees nest as those of :func:`jacfwd`. Where the function is no program of its own it is the mode with fewer derivatives over reverse mode."""
    gradient = jacrev(function, argnums, has_aux=has_aux, holomorphic=holomorphic)
    forward, reverse = (mode(gradient, argnums, has_aux=has_aux, holomorphic=holomorphic) for mode in (jacfwd, jacrev))
    orders = {"forward over reverse": forward, "reverse over reverse": reverse}

    def second(*args: Any, **kwargs: Any) -> Any:
        whole = None if has_aux or holomorphic else _Whole.made(function, argnums, args, kwargs)
        if whole is None:
            return (forward if _takes_fewer_forward(gradient, argnums, has_aux, args, kwargs) else reverse)(*args, **kwargs)
        chosen = whole.program.hessian_way(whole.wrt, whole.of, measure=measure)
        return orders[chosen](*args, **kwargs) if chosen in orders else whole.hessian(measure)

    return _named(second, function, "Hessian")


def _takes_fewer_forward(function: Function, argnums: Positions, has_aux: bool, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether the arguments have no more elements than the results."""
    from wengert.frontends.transforms.shapes import abstract_call

    value_and_aux = with_auxiliary(function, has_aux)

    def values(*args: Any, **kwargs: Any) -> Any:
        return value_and_aux(*args, **kwargs)[0]

    call = Call(values, args, kwargs)
    wrt = call.argument_positions(args, [argument_position(function, args, k) for k in as_tuple(argnums)])
    abstract_call(call)
    return sum(call.specs[p].size for p in wrt) <= sum(y.size for y in call.results)


class _Whole:
    """A function of real numbers as a program of its own, at arguments of these shapes, whose derivatives are programs that can be called."""

    def __init__(self, call: Call, args: Sequence[Any], positions: Sequence[int], is_single: bool, program: Program):
        self.call, self.program, self.is_single = call, program, is_single
        self.spec = flatten(tuple(args[k] for k in positions))[1]
        self.leaves = [p for k in positions for p in call.argument_positions(args, [k])]
        self.wrt, self.of = tuple(sorted(self.leaves)), tuple(range(len(call.results)))

    @staticmethod
    def made(function: Function, argnums: Positions, args: Sequence[Any], kwargs: dict[str, Any]) -> _Whole | None:
        """None if the function uses traced values from outside, cannot be traced, or something is no real number."""
        from wengert.runtime.program import Program

        positions = [argument_position(function, args, k) for k in as_tuple(argnums)]
        call = Call(function, args, kwargs)
        wrt = call.argument_positions(args, positions)
        try:
            module, _ = write_main(call.body, call.specs)
        except TracingError:
            return None
        if not all(spec.dtype.kind == "f" for spec in (*(call.specs[p] for p in wrt), *call.results)):
            return None
        return _Whole(call, args, positions, isinstance(argnums, int), Program(module.module, name=name_of(function)))

    def jacobian(self, measure: bool | None) -> Any:
        """A tree like the result, with a tree like the arguments at each leaf."""
        blocks = iter(call_program(self.program.jacobian(self.wrt, self.of, measure=measure), self.call.arrays))
        return self.call.result([self._nested([next(blocks) for _ in self.wrt]) for _ in self.of])

    def hessian(self, measure: bool | None) -> Any:
        """A tree like the result, with a tree like the arguments at each leaf, with another at each of its leaves."""
        blocks = iter(call_program(self.program.hessian(self.wrt, self.of, measure=measure), self.call.arrays))
        return self.call.result([self._nested([self._nested([next(blocks) for _ in self.wrt]) for _ in self.wrt]) for _ in self.of])

    def _nested(self, parts: Sequence[Any]) -> Any:
        """A part for each position of ``wrt`` as a tree like the arguments, in their order."""
        tree = unflatten(self.spec, [parts[self.wrt.index(p)] for p in self.leaves])
        return tree[0] if self.is_single else tree


class _Point:
    """A function, which returns a pair of its value and something besides, as one of the chosen arguments alone, and these."""

    def __init__(self, function: Function, argnums: Positions, args: Sequence[Any], kwargs: dict[str, Any], holomorphic: bool, name: str):
        assert current_trace() is not None
        positions = [argument_position(function, args, k) for k in as_tuple(argnums)]
        call = Call(function, args, kwargs)
        wrt = call.argument_positions(args, positions)
        check_differentiable(function, call, wrt, holomorphic)
        if not holomorphic and any(call.specs[p].dtype.kind == "c" for p in wrt):
            raise type_error(f"{name} has complex arguments", "say holomorphic=True if it is holomorphic, else take wg.jvp or wg.vjp")
        self.is_single = isinstance(argnums, int)
        self.chosen = tuple(args[k] for k in positions)

        def of_chosen(*values: Any) -> Any:
            rest = list(args)
            for k, value in zip(positions, values, strict=True):
                rest[k] = value
            return function(*rest, **kwargs)

        of_chosen.__name__ = name
        self.function = of_chosen

    def nested(self, columns: Any, inputs: Sequence[Any], spec: Any) -> Any:
        """From results that hold the directions in their last dimension to a tree of trees."""
        outputs, out_spec = flatten(columns)
        trees: list[Any] = []
        for column in outputs:
            extents, parts, start = column.shape[:-1], list[Any](), 0
            for x in inputs:
                size = _spec(x).size
                parts.append(column[..., start : start + size].reshape((*extents, *_spec(x).shape)))
                start += size
            tree = unflatten(spec, parts)
            trees.append(tree[0] if self.is_single else tree)
        return unflatten(out_spec, trees)

    def nested_rows(self, rows: Any, outputs: Sequence[Any], out_spec: Any) -> Any:
        """From cotangents that hold the directions in their first dimension to a tree of trees."""
        leaves, spec = flatten(rows)
        trees: list[Any] = []
        start = 0
        for y in outputs:
            size, extents = _spec(y).size, _spec(y).shape
            parts = [row[start : start + size].reshape((*extents, *row.shape[1:])) for row in leaves]
            start += size
            tree = unflatten(spec, parts)
            trees.append(tree[0] if self.is_single else tree)
        return unflatten(out_spec, trees)


def _spec(x: Any) -> ArraySpec:
    from wengert.frontends.tracing.signatures import spec_of

    return spec_of(x)


def _check_result(function: Function, spec: ArraySpec, holomorphic: bool) -> None:
    if not spec.differentiable:
        raise type_error(f"{name_of(function)} returns {spec}, which has no derivative")
    if spec.dtype.kind == "c" and not holomorphic:
        raise type_error(f"{name_of(function)} has complex results", "say holomorphic=True if it is holomorphic, else take wg.vjp")


def _basis(specs: Sequence[ArraySpec]) -> list[Any]:
    """All unit vectors of a space of arrays, in one more dimension in front."""
    total, start, units = sum(spec.size for spec in specs), 0, list[Any]()
    for spec in specs:
        rows = np.zeros((total, spec.size), spec.dtype)
        rows[start : start + spec.size] = np.eye(spec.size)
        units.append(rows.reshape((total, *spec.shape)))
        start += spec.size
    return units


def _named(jacobian: Function, function: Function, what: str) -> Transform:
    jacobian.__name__, jacobian.__doc__ = f"jacobian_of_{name_of(function)}", f"The {what} of {name_of(function)}."
    jacobian.__wrapped__ = function  # pyright: ignore[reportFunctionMemberAccess]
    return Transform(jacobian)
