"""``grad``, ``jvp`` and ``hvp``: each writes its function privately and asks for the derivative in the text.

There is no derivative logic here. A request is an op of the ad dialect, so that derivatives of derivatives, of loops that take
derivatives and of batches nest as the program's text does; ``expand-ad`` replaces them, innermost first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from wengert.frontends.pytrees import flatten, matching_leaves, unflatten
from wengert.frontends.tracing.context import current_trace
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.function import Call, name_of, write_function
from wengert.frontends.tracing.operands import full, shape_of, value_of
from wengert.frontends.tracing.signatures import ArraySpec, is_array_leaf
from wengert.frontends.transforms.emission import as_tuple, for_user, pulled, pushed
from wengert.frontends.transforms.jit import Function, Traceable
from wengert.ir.pipeline.stages import LOCK
from wengert.runtime.derived.requests import Residuals

Positions = int | Sequence[int]


class Transform(Traceable):
    """A derivative or a batch of a function: traced into what it is called in, or compiled when it is called outside."""

    __slots__ = ()


def with_auxiliary(function: Function, has_aux: bool) -> Function:
    """A function as one that returns its value and something besides."""
    if has_aux:
        return function

    def both(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs), ()

    both.__name__ = name_of(function)
    return both


# -- reverse mode: gradients


def value_and_grad(function: Function, argnums: Positions = 0, *, has_aux: bool = False, holomorphic: bool = False, residuals: Residuals = "auto") -> Transform:
    """A function that returns ``(value, gradient)`` of a function with one scalar result.

    Args:
        function: returns a real scalar; with ``has_aux`` a pair of that and anything else.
        argnums: positions of the arguments to differentiate by (trees of float arrays); a tuple gives a tuple of gradients.
        has_aux: the value is then ``(value, aux)``.
        holomorphic: the result is complex and a holomorphic function of complex arguments.
        residuals: what is kept between the sweeps, and what is computed again, as in :meth:`wengert.Program.vjp`.

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
        values = pulled(written, call.operands(), [one], wrt, [0], residuals)
        outputs, cotangents = values[: len(call.results)], iter(for_user(values[len(call.results) :]))
        value, aux = call.result(for_user(outputs))
        by_position = {k: _with_leaves(args[k], cotangents) for k in sorted(set(chosen))}  # the order in which arrays were asked for
        gradients = tuple(by_position[k] for k in chosen)
        return (value, aux) if has_aux else value, gradients if isinstance(argnums, Sequence) else gradients[0]

    return Transform(named_derivative(derivative, function, "value and gradient"))


def grad(function: Function, argnums: Positions = 0, *, has_aux: bool = False, holomorphic: bool = False, residuals: Residuals = "auto") -> Transform:
    """A function that returns the gradient of a function with one scalar result; see :func:`value_and_grad`.

    With ``has_aux`` it returns ``(gradient, aux)``.
    """
    both = value_and_grad(function, argnums, has_aux=has_aux, holomorphic=holomorphic, residuals=residuals)

    def derivative(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return Transform(named_derivative(derivative, function, "gradient"))


def named_derivative(derivative: Function, function: Function, what: str) -> Function:
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
        value_count = leaf_count(call, 0)
        of = [j for j in range(value_count) if call.results[j].differentiable]
        values = for_user(pushed(written, call.operands(), x_dots, wrt, of))
        outputs, out_tangents = values[: len(call.results)], iter(values[len(call.results) :])
        value, aux = call.result(outputs)
        y_dots = [next(out_tangents) if j in of else None for j in range(len(call.results))]
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
    return transform_of(function, kind, lambda: Transform(derivative))(tuple(primals), tuple(tangents or ()))


def _named_plain(derivative: Function, function: Function, what: str) -> Function:
    name = name_of(function)
    derivative.__name__, derivative.__doc__ = f"{what.replace(' ', '_')}_of_{name}", f"The {what} of {name}."
    return derivative


_MADE: dict[Any, Any] = {}
"""Transforms by function, so that ``jvp(f, ...)`` called again does not trace again; see :func:`transform_of`."""
_KEPT = 256


def transform_of(function: Function, kind: Any, make: Callable[[], Any]) -> Any:
    """The transform of a function that was made before, or a new one. Only the last ones are kept, so that closures can go."""
    try:
        key = (function, kind)
        transform = _MADE.pop(key, None)
    except TypeError:  # not hashable
        return make()
    if transform is None:
        transform = make()
    with LOCK:
        transform = _MADE.setdefault(key, transform)  # another thread may have been first
        if len(_MADE) > _KEPT:
            del _MADE[next(iter(_MADE))]
    return transform


def leaf_count(call: Call, part: int) -> int:
    """The number of leaves of a part of the result."""
    assert call.out_spec is not None
    return call.out_spec.children()[part].num_leaves


def _tangents(call: Call, primals: Sequence[Any], tangents: Sequence[Any], wrt: Sequence[int]) -> list[SSAValue]:
    """The tangents of the arguments ``wrt``, checked against them."""
    try:
        given = matching_leaves(flatten((tuple(primals), {}))[1], (tuple(tangents), {}))
    except ValueError as error:
        raise value_error(f"tangents must be trees like the arguments: {error}") from None
    x_dots: list[SSAValue] = []
    for p in wrt:
        tangent, spec = given[call.positions[p]], call.specs[p]
        if tangent is None:
            x_dots.append(full(spec.shape, 0, spec.dtype))
            continue
        if shape_of(tangent) != spec.shape:
            raise value_error(f"the tangent of an argument of shape {spec.shape} has the shape {shape_of(tangent)}")
        x_dots.append(value_of(tangent, spec.dtype))
    return x_dots


def hvp(function: Function, primals: Sequence[Any] | None = None, tangents: Sequence[Any] | None = None, argnums: Positions = 0) -> Any:
    """The product of the Hessian of a scalar function and a direction, forward over reverse: the derivative of its gradient.

    ``primals`` and ``tangents`` are as in :func:`jvp`; without them the result is a function of both.
    """

    def product(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return jvp(grad(function, argnums), primals, tangents)[1]

    return _of_point(function, ("hvp", as_tuple(argnums), isinstance(argnums, int)), _named_plain(product, function, "hessian product"), primals, tangents)
