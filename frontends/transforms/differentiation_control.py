"""Control of how derivatives are taken: ``stop_gradient``, ``checkpoint``, ``custom_jvp`` and ``custom_vjp``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import update_wrapper
from inspect import signature
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr

from wengert.dialects import ad
from wengert.frontends.pytrees import flatten, map_tree, matching_leaves, unflatten
from wengert.frontends.tracing.context import active_trace
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.function import Call, Written, call_written, name_of, write_function
from wengert.frontends.tracing.operands import builder, full, shape_of, traced, value_of
from wengert.frontends.tracing.signatures import ArraySpec
from wengert.frontends.tracing.source_lines import location_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.transforms.derivatives import Transform
from wengert.frontends.transforms.emission import for_user, request
from wengert.frontends.transforms.jit import Function, Traceable


def stop_gradient(x: Any) -> Any:
    """A tree of arrays as it is, with a derivative of zero."""

    def stopped(leaf: Any) -> Any:
        return traced(builder().like(ad.StopGradientOp, value_of(leaf)), leaf.weak).viewing(leaf) if isinstance(leaf, TracedArray) else leaf

    return map_tree(stopped, x)


def checkpoint(function: Function) -> Transform:
    """The same function, whose inside reverse mode does not keep: it is computed again from the arguments when it is needed."""

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        call = Call(function, args, kwargs)
        operands = call.operands()
        written = write_function(call.body, name_of(function), call.specs)
        return call.result(for_user(request(ad.CheckpointOp, written, [*operands, *written.captures], written.result_types)))

    return Transform(update_wrapper(checkpointed, function, updated=()))


class _Custom(Traceable):
    """A function that declares its own derivative: a call of a private function with an attribute."""

    __slots__ = ()

    def __init__(self, function: Function, nondiff_argnums: Sequence[int] = ()):
        super().__init__(self._called)
        self.primal = function
        self.nondiff = tuple(nondiff_argnums)
        update_wrapper(cast(Any, self), function, updated=())

    def __repr__(self) -> str:
        return f"<function with a derivative of its own: {name_of(self.primal)}>"

    def _merged(self, fixed: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
        by_position, pending = dict(zip(self.nondiff, fixed, strict=True)), iter(rest)
        return [by_position[i] if i in by_position else next(pending) for i in range(len(fixed) + len(rest))]

    def _dispatch(self, *args: Any, **kwargs: Any) -> Any:
        return super()._dispatch(*self._by_position(args, kwargs))

    def _by_position(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The arguments of a call in the order of the function's own, defaults included, as rules take them."""
        name = name_of(self.primal)
        try:
            bound = signature(self.primal).bind(*args, **kwargs)
        except ValueError:  # written in C, without a signature
            return args
        except TypeError as error:
            raise type_error(f"{name}: {error}") from None
        bound.apply_defaults()
        if bound.kwargs:
            raise type_error(f"{name} has a derivative of its own and takes arguments that cannot be passed by position: {', '.join(bound.kwargs)}")
        return bound.args

    def _called(self, *args: Any) -> Any:
        """Calls the private function for arguments of these types, which is written, with its derivative, at the first such call in
        a module. It is known before its rule is written, so the rule may call the function itself."""
        passed = _Passed(self.nondiff, args)
        call = Call(lambda *given: self.primal(*self._merged(*passed.split(given))), passed.arguments, {})
        known = active_trace().module.custom_functions
        key = (self, call.spec, tuple(call.specs), *(leaf for i, leaf in enumerate(call.leaves) if i not in call.positions), *passed.known)
        try:
            declared = known.get(key)
        except TypeError:  # what is passed on as it is cannot be compared
            declared, key = None, object()
        if declared is None:
            written = write_function(call.body, name_of(self.primal), call.specs, captures=False)
            known[key] = declared = call, written
            self._declare(call, written, passed)
        call.out_spec, call.results = declared[0].out_spec, declared[0].results
        return call.result(for_user(call_written(declared[1], call.operands())))

    def _declare(self, call: Call, written: Written, passed: _Passed) -> None:
        """Writes the derivative of a private function."""
        raise NotImplementedError


class _Passed:
    """The arguments of a call with ``nondiff_argnums``: those are passed on as they are, unless they hold traced values. A private function
    cannot use values from outside, so these come in as further arguments; the rule says nothing of a derivative by them, which is zero.

    Attributes:
        known: the arguments passed on as they are; None for those that come in.
        arguments: what comes in: the arguments with derivatives, then those.
    """

    def __init__(self, nondiff: Sequence[int], args: Sequence[Any]):
        fixed = [args[i] for i in nondiff]
        self._moved = [k for k, a in enumerate(fixed) if any(isinstance(leaf, TracedArray) for leaf in flatten(a)[0])]
        self.known = [None if k in self._moved else a for k, a in enumerate(fixed)]
        differentiable = [a for i, a in enumerate(args) if i not in nondiff]
        self.count = len(differentiable)
        self.arguments = [*differentiable, *(fixed[k] for k in self._moved)]

    def split(self, given: Sequence[Any]) -> tuple[list[Any], Sequence[Any]]:
        """The arguments ``nondiff_argnums`` and the others, from what came in."""
        fixed = list(self.known)
        for k, a in zip(self._moved, given[self.count :], strict=True):
            fixed[k] = a
        return fixed, given[: self.count]


class CustomJvp(_Custom):
    """A function with a forward derivative of its own: see :func:`custom_jvp`."""

    rule: Function

    __slots__ = ()

    def defjvp(self, rule: Function) -> Function:
        """Declares the derivative: ``rule(primals, tangents) -> (value, value_dot)`` (with ``nondiff_argnums`` those arguments first)."""
        self.rule = rule
        return rule

    def defjvps(self, *rules: Function | None) -> None:
        """Declares the derivative by a rule for each argument: ``rule(x_dot, value, *args)`` is what it adds to the tangent; None for zero."""
        if self.nondiff:
            raise type_error("defjvps takes no nondiff_argnums", "declare one rule by @f.defjvp")

        def rule(primals: Any, tangents: Any) -> Any:
            value = self(*primals)
            parts = [r(x_dot, value, *primals) for r, x_dot in zip(rules, tangents, strict=True) if r is not None and x_dot is not None]
            return value, map_tree(lambda *leaves: sum(leaves[1:], leaves[0]), *parts) if parts else _nones(value)

        self.rule = rule

    def _declare(self, call: Call, written: Written, passed: _Passed) -> None:
        if not hasattr(self, "rule"):
            raise type_error(f"{name_of(self.primal)} has no derivative yet", "declare it: @f.defjvp")
        moving = [spec for spec in call.specs if spec.differentiable]
        name = f"{written.symbol.string_value()}_jvp"
        rule = write_function(lambda tracers: self._rule_body(call, tracers, passed), name, [*call.specs, *moving], captures=False)
        rule.function.location = location_of(self.rule)
        written.function.attributes["ad.custom_jvp"] = rule.symbol

    def _rule_body(self, call: Call, tracers: list[TracedArray], passed: _Passed) -> list[Any]:
        count = len(call.specs)
        primals = list(call.leaves)
        tangents: list[Any] = [None] * len(call.leaves)
        pending = iter(tracers[count:])
        for i, spec, tracer in zip(call.positions, call.specs, tracers, strict=False):
            primals[i] = tracer
            if spec.differentiable:
                tangents[i] = next(pending)
        fixed, arguments = passed.split(unflatten(call.spec, primals)[0])
        returned = self.rule(*fixed, arguments, unflatten(call.spec, tangents)[0][: passed.count])
        if not isinstance(returned, tuple) or len(cast("tuple[Any, ...]", returned)) != 2:
            raise type_error(f"the rule of {name_of(self.primal)} must return a pair: the value and its tangent")
        value, value_dot = cast("tuple[Any, Any]", returned)
        assert call.out_spec is not None
        return [*_results(self.primal, call, value), *_cotangent_leaves(f"the tangent from the rule of {name_of(self.primal)}", call, value_dot)]


class CustomVjp(_Custom):
    """A function with a reverse derivative of its own: see :func:`custom_vjp`."""

    __slots__ = ()

    def defvjp(self, forward: Function, backward: Function) -> None:
        """Declares the derivative: ``forward(*args) -> (value, residuals)`` and ``backward(residuals, cotangent) -> cotangents``, a tuple
        with one for each argument (None for zero). ``backward`` must be linear in the cotangent, which forward mode needs and checks."""
        self.forward, self.backward = forward, backward

    def _declare(self, call: Call, written: Written, passed: _Passed) -> None:
        if not hasattr(self, "backward"):
            raise type_error(f"{name_of(self.primal)} has no derivative yet", "declare it: f.defvjp(forward, backward)")
        base = written.symbol.string_value()

        def with_passed(*given: Any) -> Any:
            returned = self.forward(*self._merged(*passed.split(given)))
            if not isinstance(returned, tuple) or len(cast("tuple[Any, ...]", returned)) != 2:
                raise type_error(f"the forward rule of {name_of(self.primal)} must return a pair: the value and residuals")
            value, residuals = cast("tuple[Any, Any]", returned)
            return value, (residuals, given[passed.count :])

        kept = Call(with_passed, unflatten(call.spec, call.leaves)[0], {})

        def forward(tracers: list[TracedArray]) -> list[Any]:
            leaves = kept.body(tracers)
            assert kept.out_spec is not None
            value, residuals = kept.result(leaves)
            return [*_results(self.primal, call, value), *flatten(residuals)[0]]

        forward_written = write_function(forward, f"{base}_forward", call.specs, captures=False)
        residuals = kept.results[len(call.results) :]
        y_bars = [spec for spec in call.results if spec.differentiable]
        backward_written = write_function(
            lambda tracers: self._backward_body(call, kept, tracers, passed), f"{base}_backward", [*residuals, *y_bars], captures=False
        )
        forward_written.function.location, backward_written.function.location = location_of(self.forward), location_of(self.backward)
        written.function.attributes["ad.custom_vjp"] = ArrayAttr([forward_written.symbol, backward_written.symbol])

    def _backward_body(self, call: Call, kept: Call, tracers: list[TracedArray], passed: _Passed) -> list[Any]:
        assert call.out_spec is not None and kept.out_spec is not None  # noqa: PT018
        residual_spec = kept.out_spec.children()[1]
        residuals, moved = unflatten(residual_spec, tracers[: residual_spec.num_leaves])
        fixed, _ = passed.split([*[None] * passed.count, *moved])
        pending = iter(tracers[residual_spec.num_leaves :])
        cotangent = call.result([next(pending) if spec.differentiable else None for spec in call.results])
        returned = self.backward(*fixed, residuals, cotangent)
        arguments = unflatten(call.spec, call.leaves)[0]
        if not isinstance(returned, tuple) or len(cast("tuple[Any, ...]", returned)) != passed.count:
            raise type_error(f"the backward rule of {name_of(self.primal)} must return a tuple of {passed.count} cotangents, one for each argument")
        returned = (*cast("tuple[Any, ...]", returned), *[None] * len(moved))
        returned = tuple(_nones(a) if f is None else f for f, a in zip(returned, arguments, strict=True))
        try:
            leaves = _up_to(call.spec.children()[0], returned)
        except ValueError as error:
            raise value_error(f"the cotangents from the backward rule of {name_of(self.primal)} must be trees like the arguments: {error}") from None
        by_leaf = dict(enumerate(leaves))
        return [
            _of_spec(by_leaf[i], spec, f"a cotangent from the backward rule of {name_of(self.primal)}")
            for i, spec in zip(call.positions, call.specs, strict=True)
            if spec.differentiable
        ]


def _nones(tree: Any) -> Any:
    leaves, spec = flatten(tree)
    return unflatten(spec, [None] * len(leaves))


def _up_to(spec: Any, tree: Any) -> list[Any]:
    return matching_leaves(spec, tree)


def _results(function: Function, call: Call, value: Any) -> list[Any]:
    """The value from a rule, which must be like the function's own."""
    leaves, spec = flatten(value)
    types = [(shape_of(leaf), getattr(leaf, "dtype", None)) for leaf in leaves]
    if spec != call.out_spec or [s for s, _ in types] != [r.shape for r in call.results]:
        raise value_error(
            f"the rule of {name_of(function)} returns another value than the function: {[s for s, _ in types]} for {[r.shape for r in call.results]}"
        )
    return [traced(value_of(leaf, r.dtype)) for leaf, r in zip(leaves, call.results, strict=True)]


def _cotangent_leaves(what: str, call: Call, tree: Any) -> list[Any]:
    assert call.out_spec is not None
    try:
        leaves = matching_leaves(call.out_spec, tree)
    except ValueError as error:
        raise value_error(f"{what} must be a tree like the value: {error}") from None
    return [_of_spec(leaf, spec, what) for leaf, spec in zip(leaves, call.results, strict=True) if spec.differentiable]


def _of_spec(leaf: Any, spec: ArraySpec, what: str) -> TracedArray:
    """A tangent of this type; zeros for None and for the number 0."""
    if leaf is None or (isinstance(leaf, int | float) and leaf == 0):
        return traced(full(spec.shape, 0, spec.dtype))
    if shape_of(leaf) != spec.shape:
        raise value_error(f"{what} has the shape {shape_of(leaf)} where {spec.shape} is expected")
    return traced(value_of(leaf, spec.dtype))


def custom_jvp(function: Function, nondiff_argnums: Sequence[int] = ()) -> CustomJvp:
    """A function whose derivative is declared: decorate it, then declare ``@f.defjvp``::

        @wg.custom_jvp
        def f(x): ...

        @f.defjvp
        def rule(primals, tangents):
            (x,), (x_dot,) = primals, tangents
            return f(x), ... * x_dot

    The rule must be linear in the tangents; reverse mode transposes it. Tangents of arguments that are not floats are None.
    Neither the function nor its rule may use traced values from outside: pass them as arguments. ``nondiff_argnums`` are passed to the rule as
    they are, before the others; there is no derivative by them. Arguments given by name, and defaults, are put in their places.
    """
    return CustomJvp(function, nondiff_argnums)


def custom_vjp(function: Function, nondiff_argnums: Sequence[int] = ()) -> CustomVjp:
    """A function whose reverse derivative is declared: ``f.defvjp(forward, backward)``, see :meth:`CustomVjp.defvjp`.

    Forward mode transposes ``backward``, so both modes work.
    """
    return CustomVjp(function, nondiff_argnums)
