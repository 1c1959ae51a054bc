"""``grad``, ``jvp``, ``vjp``, ``linearize`` and ``hvp``: each writes its function privately and asks for the derivative in the text.

There is no derivative logic here. A request is an op of the ad dialect, so that derivatives of derivatives, of loops that take
derivatives and of batches nest as the program's text does; ``expand-ad`` replaces them, innermost first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from wengert.dialects import ad
from wengert.frontends.pytrees import flatten, matching_leaves, unflatten
from wengert.frontends.tracing.context import active_trace, current_trace
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.function import Call, Written, call_written, name_of, write_function
from wengert.frontends.tracing.operands import full, shape_of, traced, value_of
from wengert.frontends.tracing.signatures import ArraySpec, is_array_leaf
from wengert.frontends.transforms.emission import as_tuple, for_user, pulled, pushed, request
from wengert.frontends.transforms.jit import Function, Traceable

Positions = int | Sequence[int]


class Transform(Traceable):
    """A derivative or a batch of a function: traced into what it is called in, or compiled when it is called outside."""

    __slots__ = ()


def with_auxiliary(function: Function, has_aux: bool) -> Function:
    """A function as one that returns its value and something besides."""
    return function if has_aux else lambda *args, **kwargs: (function(*args, **kwargs), ())


# -- reverse mode: gradients


def value_and_grad(function: Function, argnums: Positions = 0, *, has_aux: bool = False, holomorphic: bool = False) -> Transform:
    """A function that returns ``(value, gradient)`` of a function with one scalar result.

    Args:
        function: returns a real scalar; with ``has_aux`` a pair of that and anything else.
        argnums: positions of the arguments to differentiate by (trees of float arrays); a tuple gives a tuple of gradients.
        has_aux: the value is then ``(value, aux)``.
        holomorphic: the result is complex and a holomorphic function of complex arguments.

    Complex gradients follow JAX: for a real function of z = x + iy the gradient is df/dx - i df/dy.

    Raises (when called):
        TracedTypeError: the result is not a scalar, or an argument has no float elements.
    """
    inner = with_auxiliary(function, has_aux)

    def derivative(*args: Any, **kwargs: Any) -> Any:
        chosen = [argument_position(function, args, k) for k in as_tuple(argnums)]
        call = Call(inner, args, kwargs)
        wrt = call.argument_positions(args, chosen)
        check_differentiable(function, call, wrt, holomorphic)
        written = write_function(call.body, name_of(function), call.specs)
        _check_scalar(function, call, holomorphic)
        one = full((), 1, call.results[0].dtype)
        values = pulled(written, call.operands(), [one], wrt, [0])
        outputs, found = values[: len(call.results)], iter(for_user(values[len(call.results) :]))
        value, aux = call.result(for_user(outputs))
        gradients = tuple(_with_leaves(args[k], found) for k in chosen)
        return (value, aux) if has_aux else value, gradients if isinstance(argnums, Sequence) else gradients[0]

    return Transform(_named(derivative, function, "value and gradient"))


def grad(function: Function, argnums: Positions = 0, *, has_aux: bool = False, holomorphic: bool = False) -> Transform:
    """A function that returns the gradient of a function with one scalar result; see :func:`value_and_grad`.

    With ``has_aux`` it returns ``(gradient, aux)``.
    """
    both = value_and_grad(function, argnums, has_aux=has_aux, holomorphic=holomorphic)

    def derivative(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return Transform(_named(derivative, function, "gradient"))


def _named(derivative: Function, function: Function, what: str) -> Function:
    """A derivative with the signature of its function (for the names of arguments) and a name of its own."""
    derivative.__wrapped__ = function  # pyright: ignore[reportFunctionMemberAccess]
    derivative.__name__ = f"{what.replace(' ', '_')}_of_{name_of(function)}"
    derivative.__doc__ = f"The {what} of {name_of(function)}."
    return derivative


def argument_position(function: Function, args: Sequence[Any], position: int) -> int:
    """A position among the arguments of a call, counted from the start; a TracedValueError where there is none."""
    if not -len(args) <= position < len(args):
        raise value_error(f"there is no argument {position} to differentiate {name_of(function)} by: it was called with {len(args)}")
    return position % len(args)


def _with_leaves(tree: Any, leaves: Any) -> Any:
    """The tree with other arrays at its leaves."""
    old, spec = flatten(tree)
    return unflatten(spec, [next(leaves) if is_array_leaf(leaf) else leaf for leaf in old])


def check_differentiable(function: Function, call: Call, wrt: Sequence[int], holomorphic: bool) -> None:
    """Raises a TracedTypeError where an array that is differentiated by has no derivative."""
    for p in wrt:
        spec = call.specs[p]
        if not spec.differentiable:
            raise type_error(
                f"{name_of(function)} cannot be differentiated by an argument of {spec}; only float and complex arrays have derivatives",
                "pass x.astype(float) or 1.0 instead of 1, or choose other arguments by argnums",
            )
        if holomorphic and spec.dtype.kind != "c":
            raise type_error(f"holomorphic=True needs complex arguments, found {spec}")


def _check_scalar(function: Function, call: Call, holomorphic: bool) -> None:
    value, _ = unflatten(call.out_spec, call.results) if call.out_spec is not None else (None, None)
    if not isinstance(value, ArraySpec):
        raise type_error(
            f"a gradient needs one scalar result, but {name_of(function)} returns a tree", "use wg.jacrev, or has_aux=True for what is returned besides"
        )
    if value.shape != ():
        raise type_error(f"a gradient needs a scalar result, but {name_of(function)} returns {value}", "sum or average it, or use wg.jacrev or wg.vjp")
    if not value.differentiable:
        raise type_error(f"a gradient needs a float result, but {name_of(function)} returns {value}")
    if value.dtype.kind == "c" and not holomorphic:
        raise type_error(f"{name_of(function)} returns a complex number", "take the real part, or say holomorphic=True if it is holomorphic")


# -- forward mode


def jvp(function: Function, primals: Sequence[Any] | None = None, tangents: Sequence[Any] | None = None, *, has_aux: bool = False) -> Any:
    """The value of a function and its derivative in a direction: ``(value, value_dot)``.

    Args:
        function: takes and returns trees of arrays.
        primals: the arguments, a tuple.
        tangents: the direction, a tuple of trees like the arguments; None (or anything) at leaves that are not floats.
        has_aux: the function returns ``(value, aux)``, and the result is ``(value, value_dot, aux)``.

    Without ``primals`` the result is a function of ``(primals, tangents)``. Results that are not floats have the tangent None.
    """
    inner = with_auxiliary(function, has_aux)

    def derivative(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        call = Call(inner, primals, {})
        wrt = [p for p, spec in enumerate(call.specs) if spec.differentiable]
        x_dots = _tangents(call, primals, tangents, wrt)
        written = write_function(call.body, name_of(function), call.specs)
        value_count = _leaf_count(call, 0)
        of = [j for j in range(value_count) if call.results[j].differentiable]
        values = for_user(pushed(written, call.operands(), x_dots, wrt, of))
        outputs, found = values[: len(call.results)], iter(values[len(call.results) :])
        value, aux = call.result(outputs)
        y_dots = [next(found) if j in of else None for j in range(len(call.results))]
        value_dot = call.result(y_dots)[0]
        return (value, value_dot, aux) if has_aux else (value, value_dot)

    if primals is not None and (tangents is None or len(primals) != len(tangents)):
        raise value_error(f"jvp needs a tangent for each of the {len(primals)} arguments")
    return _of_point(function, ("jvp", has_aux), _named_plain(derivative, function, "derivative"), primals, tangents)


def _of_point(function: Function, kind: Any, derivative: Function, primals: Sequence[Any] | None, tangents: Sequence[Any] | None) -> Any:
    """A function of primals and tangents as a transform, or what it gives for these. Only calls from outside of traces are remembered:
    a function that was made while something is traced may hold on to it."""
    if primals is None:
        return Transform(derivative)
    if current_trace() is not None:
        return derivative(tuple(primals), tuple(tangents or ()))
    return _transform_of(function, kind, lambda: Transform(derivative))(tuple(primals), tuple(tangents or ()))


def _named_plain(derivative: Function, function: Function, what: str) -> Function:
    name = name_of(function)
    derivative.__name__, derivative.__doc__ = f"{what.replace(' ', '_')}_of_{name}", f"The {what} of {name}."
    return derivative


_MADE: dict[Any, Any] = {}
"""Transforms by function, so that ``jvp(f, ...)`` called again does not trace again; see :func:`_transform_of`."""
_KEPT = 256


def _transform_of(function: Function, kind: Any, make: Callable[[], Any]) -> Any:
    """The transform of a function that was made before, or a new one. Only the last ones are kept, so that closures can go."""
    try:
        key = (function, kind)
        found = _MADE.pop(key, None)
    except TypeError:  # not hashable
        return make()
    _MADE[key] = found = make() if found is None else found
    if len(_MADE) > _KEPT:
        del _MADE[next(iter(_MADE))]
    return found


def _leaf_count(call: Call, part: int) -> int:
    """How many leaves a part of the result has."""
    assert call.out_spec is not None
    return call.out_spec.children()[part].num_leaves


def _tangents(call: Call, primals: Sequence[Any], tangents: Sequence[Any], wrt: Sequence[int]) -> list[SSAValue]:
    """The tangents of the arguments ``wrt``, checked against them."""
    try:
        given = matching_leaves(flatten((tuple(primals), {}))[1], (tuple(tangents), {}))
    except ValueError as error:
        raise value_error(f"tangents must be trees like the arguments: {error}") from None
    found: list[SSAValue] = []
    for p in wrt:
        tangent, spec = given[call.positions[p]], call.specs[p]
        if tangent is None:
            found.append(full(spec.shape, 0, spec.dtype))
            continue
        if shape_of(tangent) != spec.shape:
            raise value_error(f"the tangent of an argument of shape {spec.shape} has the shape {shape_of(tangent)}")
        found.append(value_of(tangent, spec.dtype))
    return found


def hvp(function: Function, primals: Sequence[Any] | None = None, tangents: Sequence[Any] | None = None, argnums: Positions = 0) -> Any:
    """The product of the Hessian of a scalar function and a direction, forward over reverse: the derivative of its gradient.

    ``primals`` and ``tangents`` are as in :func:`jvp`; without them the result is a function of both.
    """

    def product(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return jvp(grad(function, argnums), primals, tangents)[1]

    return _of_point(function, ("hvp", as_tuple(argnums), isinstance(argnums, int)), _named_plain(product, function, "hessian product"), primals, tangents)


# -- linear maps


def vjp(function: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and its pullback: a function from a cotangent of the value to a tuple of cotangents of the arguments.

    Returns ``(value, pullback)``, or ``(value, pullback, aux)``. The cotangent is a tree like the value; results that are not floats
    take None. Arguments that are not floats have the cotangent None. The function is evaluated once, whatever is pulled back.
    """
    point = _linearized(function, primals, has_aux)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        """From a cotangent of the value to cotangents of the arguments."""
        return point.arguments(point.pull(point.cotangents(cotangent)))

    return (point.value, pullback, point.aux) if has_aux else (point.value, pullback)


def linearize(function: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and its derivative there: a linear function from tangents of the arguments to a tangent of the value.

    Returns ``(value, pushforward)``, or ``(value, pushforward, aux)``. The function is evaluated once, whatever is pushed forward.
    """
    point = _linearized(function, primals, has_aux)

    def pushforward(*tangents: Any) -> Any:
        """From tangents of the arguments to a tangent of the value."""
        if len(tangents) != len(primals):
            raise value_error(f"there must be {len(primals)} tangents, one for each argument, found {len(tangents)}")
        return point.results(point.push(point.tangents(tangents)))

    return (point.value, pushforward, point.aux) if has_aux else (point.value, pushforward)


class Linearization:
    """A function at a point: its value, and its derivative as a linear map of the leaves that are floats.

    Attributes:
        value: the result.
        aux: what the function returns besides.
    """

    value: Any
    aux: Any

    def __init__(self, function: Function, primals: Sequence[Any], call: Call):
        self.function = function
        self.primals = tuple(primals)
        self.call = call
        self.wrt = [p for p, spec in enumerate(call.specs) if spec.differentiable]

    @property
    def of(self) -> list[int]:
        """The results that have tangents."""
        return [j for j in range(_leaf_count(self.call, 0)) if self.call.results[j].differentiable]

    def push(self, tangents: Sequence[Any]) -> Sequence[Any]:
        """From tangents of the arguments ``wrt`` to tangents of the results ``of``."""
        raise NotImplementedError

    def pull(self, cotangents: Sequence[Any]) -> Sequence[Any]:
        """From cotangents of the results ``of`` to cotangents of the arguments ``wrt``."""
        raise NotImplementedError

    def cotangents(self, tree: Any) -> list[Any]:
        """The cotangents of the results ``of``, checked against them."""
        assert self.call.out_spec is not None
        try:
            given = matching_leaves(self.call.out_spec.children()[0], tree)
        except ValueError as error:
            raise value_error(f"a cotangent must be a tree like the value: {error}") from None
        return [_like(given[j], self.call.results[j], "cotangent of a result") for j in self.of]

    def tangents(self, trees: Sequence[Any]) -> list[Any]:
        """The tangents of the arguments ``wrt``, checked against them."""
        try:
            given = matching_leaves(flatten((self.primals, {}))[1], (tuple(trees), {}))
        except ValueError as error:
            raise value_error(f"tangents must be trees like the arguments: {error}") from None
        return [_like(given[self.call.positions[p]], self.call.specs[p], "tangent of an argument") for p in self.wrt]

    def arguments(self, found: Sequence[Any]) -> tuple[Any, ...]:
        """Cotangents in the trees of the arguments."""
        by_position = dict(zip([self.call.positions[p] for p in self.wrt], found, strict=True))
        return unflatten(self.call.spec, [by_position.get(i) for i in range(len(self.call.leaves))])[0]

    def results(self, found: Sequence[Any]) -> Any:
        """Tangents in the tree of the value."""
        by_position = dict(zip(self.of, found, strict=True))
        return self.call.result([by_position.get(j) for j in range(len(self.call.results))])[0]


def _like(given: Any, spec: ArraySpec, what: str) -> Any:
    """A tangent or cotangent for something of this type; zeros for None."""
    if given is None:
        return np.zeros(spec.shape, spec.dtype)
    if shape_of(given) != spec.shape:
        raise value_error(f"the {what} of shape {spec.shape} has the shape {shape_of(given)}")
    return given if current_trace() is not None else np.asarray(given, spec.dtype)


class TracedLinearization(Linearization):
    """In a trace. In the block of the linearization itself the map is applied (``ad.apply``); in others, where a linear map cannot be
    captured, the derivative is asked for again, and what it repeats of the function is shared when the program is optimised."""

    def __init__(self, function: Function, primals: Sequence[Any], call: Call):
        super().__init__(function, primals, call)
        self.operands = call.operands()
        self.written: Written = write_function(call.body, name_of(function), call.specs)
        self.trace = active_trace()
        types = self.written.result_types
        if not self.wrt or not self.of:
            outputs, self.map = list(call_written(self.written, self.operands)), None
        else:
            from xdsl.dialects.builtin import FunctionType

            kind = ad.LinearType(FunctionType.from_lists([self.operands[p].type for p in self.wrt], [types[j] for j in self.of]))
            *outputs, self.map = request(ad.LinearizeOp, self.written, [*self.operands, *self.written.captures], [*types, kind], wrt=self.wrt, of=self.of)
        self._held = [traced(v) for v in (*self.operands, *self.written.captures)]
        self.value, self.aux = call.result(for_user(outputs))

    def push(self, tangents: Sequence[Any]) -> Sequence[Any]:
        if self.map is None:
            return [np.zeros(self.call.results[j].shape, self.call.results[j].dtype) for j in self.of]
        x_dots = [value_of(t, self.call.specs[p].dtype) for t, p in zip(tangents, self.wrt, strict=True)]
        types = [self.written.result_types[j] for j in self.of]
        if active_trace() is self.trace:
            return for_user(active_trace().builder.create(ad.ApplyOp, [self.map, *x_dots], types))
        held = [value_of(t) for t in self._held]
        values = request(ad.JvpOp, self.written, [*held, *x_dots], [*self.written.result_types, *types], wrt=self.wrt, of=self.of)
        return for_user(values[len(self.written.result_types) :])

    def pull(self, cotangents: Sequence[Any]) -> Sequence[Any]:
        if self.map is None:
            return [np.zeros(self.call.specs[p].shape, self.call.specs[p].dtype) for p in self.wrt]
        y_bars = [value_of(t, self.call.results[j].dtype) for t, j in zip(cotangents, self.of, strict=True)]
        types = [self.operands[p].type for p in self.wrt]
        if active_trace() is self.trace:
            return for_user(active_trace().builder.create(ad.ApplyTransposeOp, [self.map, *y_bars], types))
        held = [value_of(t) for t in self._held]
        values = request(ad.VjpOp, self.written, [*held, *y_bars], [*self.written.result_types, *types], wrt=self.wrt, of=self.of)
        return for_user(values[len(self.written.result_types) :])


class ConcreteLinearization(Linearization):
    """Outside of traces: the function is run once and leaves its residuals, on which the linear map and its transpose run."""

    def __init__(self, function: Function, primals: Sequence[Any], call: Call, prepared: Any):
        super().__init__(function, primals, call)
        self.prepared = prepared
        arrays = [np.asarray(x, spec.dtype) for x, spec in zip(call.arrays, call.specs, strict=True)]
        found, self.residuals = prepared.run(arrays)
        self.value, self.aux = call.result(found)

    def push(self, tangents: Sequence[Any]) -> Sequence[Any]:
        return self.prepared.push(self.residuals, tangents)

    def pull(self, cotangents: Sequence[Any]) -> Sequence[Any]:
        return self.prepared.pull(self.residuals, cotangents)


def _linearized(function: Function, primals: Sequence[Any], has_aux: bool) -> Linearization:
    inner = with_auxiliary(function, has_aux)
    call = Call(inner, primals, {})
    if not any(spec.differentiable for spec in call.specs):
        raise type_error(f"{name_of(function)} has no float argument to differentiate by")
    if current_trace() is not None:
        return TracedLinearization(function, primals, call)
    made: _Points = _transform_of(function, ("point", has_aux), lambda: _Points(_value_of(inner, function)))
    prepared, traced_call = made.prepared(primals)
    call.out_spec, call.results = traced_call
    return ConcreteLinearization(function, primals, call, prepared)


def _value_of(inner: Function, function: Function) -> Function:
    def value(*args: Any) -> Any:
        return inner(*args)

    return _named(value, function, "value")


class _Points(Traceable):
    """A function to be linearized at concrete points."""

    __slots__ = ("_prepared",)

    def prepared(self, primals: Sequence[Any]) -> Any:
        """The linearized program for these arguments, and what is known of the results."""
        from wengert.frontends.transforms.linear_programs import LinearProgram

        if not hasattr(self, "_prepared"):
            self._prepared: dict[int, Any] = {}
        entry = self._entry(tuple(primals), {})[0]
        if id(entry) not in self._prepared:
            results = [ArraySpec(p.shape, p.dtype) for p in entry.program.signature.results]
            specs = [p.differentiable for p in entry.program.signature.arguments]
            count = entry.out_spec.children()[0].num_leaves
            of = [j for j in range(count) if results[j].differentiable]
            self._prepared[id(entry)] = (LinearProgram(entry.program, [i for i, d in enumerate(specs) if d], of), (entry.out_spec, results))
        return self._prepared[id(entry)]


__all__ = ["Transform", "grad", "hvp", "jvp", "linearize", "value_and_grad", "vjp"]
