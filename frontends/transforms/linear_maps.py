"""``vjp`` and ``linearize``: a function at a point, as its value and a linear map that is applied forward or backward, as often as needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from xdsl.dialects.builtin import FunctionType

from wengert.dialects import ad
from wengert.frontends.pytrees import flatten, matching_leaves, unflatten
from wengert.frontends.tracing.context import active_trace, current_trace
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.function import Call, Written, call_written, name_of, write_function
from wengert.frontends.tracing.operands import shape_of, traced, value_of
from wengert.frontends.tracing.signatures import ArraySpec
from wengert.frontends.transforms.derivatives import leaf_count, named_derivative, transform_of, with_auxiliary
from wengert.frontends.transforms.emission import for_user, request
from wengert.frontends.transforms.jit import Function, Stage, Traceable, text_at
from wengert.frontends.transforms.program_calls import apply_program

if TYPE_CHECKING:
    from wengert.runtime.derived.linear_program import LinearProgram
    from wengert.runtime.program import Program

Part = Literal["linear", "forward"]


def vjp(function: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and its pullback: a function from a cotangent of the value to a tuple of cotangents of the arguments.

    Returns ``(value, pullback)``, or ``(value, pullback, aux)``. The cotangent is a tree like the value; results that are not floats
    take None. Arguments that are not floats have the cotangent None. The function is evaluated once, whatever is pulled back.
    The pullback is a :class:`LinearMap`: ``pullback.ir()`` shows what it runs, ``pullback.ir("forward")`` what left its residuals.
    """
    point = _linearized(function, primals, has_aux)
    pullback = Pullback(point)
    return (point.value, pullback, point.aux) if has_aux else (point.value, pullback)


def linearize(function: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and its derivative there: a linear function from tangents of the arguments to a tangent of the value.

    Returns ``(value, pushforward)``, or ``(value, pushforward, aux)``. The function is evaluated once, whatever is pushed forward.
    The pushforward is a :class:`LinearMap` with its IR, as for :func:`vjp`.
    """
    point = _linearized(function, primals, has_aux)
    pushforward = Pushforward(point)
    return (point.value, pushforward, point.aux) if has_aux else (point.value, pushforward)


class LinearMap:
    """The derivative of a function at a point: what :func:`vjp` and :func:`linearize` return besides the value.

    It has two programs: ``forward`` computes the value and the residuals, which are kept; ``linear`` is the map itself, whose first arguments
    are the residuals. Where residuals are no arrays (on the tape of a loop whose iterations are not counted), ``forward`` is the function
    and ``linear`` its whole JVP or VJP, which is given the arguments and whose first results are the value.
    """

    __slots__ = ("__name__", "__weakref__", "_point")

    def __init__(self, point: Linearization):
        self._point = point
        self.__name__ = f"{type(self).__name__.lower()}_of_{name_of(point.function)}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} of {name_of(self._point.function)}>"

    def program(self, part: Part = "linear") -> Program:
        """One of the two programs. Raises a TracedValueError inside of a trace, where the map is part of the traced program."""
        point = self._point
        if not isinstance(point, ConcreteLinearization):
            raise value_error(f"{self!r} is part of what is being traced and has no program of its own", "ask for the IR of the traced function")
        if part == "forward":
            return point.prepared.primal
        if part == "linear":
            return self._linear(point.prepared)
        raise value_error(f"there is no part {part!r} of {self!r}", "it is 'linear' or 'forward'")

    def ir(self, part: Part = "linear", stage: Stage = "stablehlo") -> str:
        """The IR of one of the two programs, as plain "stablehlo" or in "core" form."""
        return text_at(self.program(part), stage)

    def costs(self, part: Part = "linear") -> Any:
        """The costs of one of the two programs: see :meth:`wengert.Program.costs`."""
        return self.program(part).costs()

    @property
    def residuals(self) -> tuple[Any, ...]:
        """The arrays that the linear program is given first."""
        self.program("forward")
        assert isinstance(self._point, ConcreteLinearization)
        return tuple(self._point.residuals)

    def _linear(self, prepared: LinearProgram) -> Program:
        raise NotImplementedError


class Pullback(LinearMap):
    """From a cotangent of the value to a tuple of cotangents of the arguments."""

    __slots__ = ()

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """The cotangents of the arguments."""
        point = self._point
        return point.arguments(point.pull(point.cotangents(cotangent)))

    def _linear(self, prepared: LinearProgram) -> Program:
        return prepared.transposed()


class Pushforward(LinearMap):
    """From tangents of the arguments to a tangent of the value."""

    __slots__ = ()

    def __call__(self, *tangents: Any) -> Any:
        """The tangent of the value."""
        point = self._point
        if len(tangents) != len(point.primals):
            raise value_error(f"there must be {len(point.primals)} tangents, one for each argument, found {len(tangents)}")
        return point.results(point.push(point.tangents(tangents)))

    def _linear(self, prepared: LinearProgram) -> Program:
        return prepared.linear


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
        return [j for j in range(leaf_count(self.call, 0)) if self.call.results[j].differentiable]

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

    def arguments(self, cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """Cotangents in the trees of the arguments."""
        by_position = dict(zip([self.call.positions[p] for p in self.wrt], cotangents, strict=True))
        return unflatten(self.call.spec, [by_position.get(i) for i in range(len(self.call.leaves))])[0]

    def results(self, tangents: Sequence[Any]) -> Any:
        """Tangents in the tree of the value."""
        by_position = dict(zip(self.of, tangents, strict=True))
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
            kind = ad.LinearType(FunctionType.from_lists([self.operands[p].type for p in self.wrt], [types[j] for j in self.of]))
            *outputs, self.map = request(ad.LinearizeOp, self.written, [*self.operands, *self.written.captures], [*types, kind], wrt=self.wrt, of=self.of)
        self._primals = [traced(v) for v in (*self.operands, *self.written.captures)]
        self.value, self.aux = call.result(for_user(outputs))

    def push(self, tangents: Sequence[Any]) -> Sequence[Any]:
        if self.map is None:
            return [np.zeros(self.call.results[j].shape, self.call.results[j].dtype) for j in self.of]
        x_dots = [value_of(t, self.call.specs[p].dtype) for t, p in zip(tangents, self.wrt, strict=True)]
        types = [self.written.result_types[j] for j in self.of]
        if active_trace() is self.trace:
            return for_user(active_trace().builder.create(ad.ApplyOp, [self.map, *x_dots], types))
        primals = [value_of(t) for t in self._primals]
        values = request(ad.JvpOp, self.written, [*primals, *x_dots], [*self.written.result_types, *types], wrt=self.wrt, of=self.of)
        return for_user(values[len(self.written.result_types) :])

    def pull(self, cotangents: Sequence[Any]) -> Sequence[Any]:
        if self.map is None:
            return [np.zeros(self.call.specs[p].shape, self.call.specs[p].dtype) for p in self.wrt]
        y_bars = [value_of(t, self.call.results[j].dtype) for t, j in zip(cotangents, self.of, strict=True)]
        types = [self.operands[p].type for p in self.wrt]
        if active_trace() is self.trace:
            return for_user(active_trace().builder.create(ad.ApplyTransposeOp, [self.map, *y_bars], types))
        primals = [value_of(t) for t in self._primals]
        values = request(ad.VjpOp, self.written, [*primals, *y_bars], [*self.written.result_types, *types], wrt=self.wrt, of=self.of)
        return for_user(values[len(self.written.result_types) :])


class ConcreteLinearization(Linearization):
    """Outside of traces: the function is run once and leaves its residuals, on which the linear map and its transpose run."""

    def __init__(self, function: Function, primals: Sequence[Any], call: Call, prepared: LinearProgram):
        super().__init__(function, primals, call)
        self.prepared = prepared
        arrays = [np.asarray(x, spec.dtype) for x, spec in zip(call.arrays, call.specs, strict=True)]
        outputs, self.residuals = prepared.run(arrays)
        self.value, self.aux = call.result(outputs)

    def push(self, tangents: Sequence[Any]) -> Sequence[Any]:
        return self.prepared.push(self.residuals, tangents, call=apply_program)

    def pull(self, cotangents: Sequence[Any]) -> Sequence[Any]:
        return self.prepared.pull(self.residuals, cotangents, call=apply_program)


def _linearized(function: Function, primals: Sequence[Any], has_aux: bool) -> Linearization:
    inner = with_auxiliary(function, has_aux)
    call = Call(inner, primals, {})
    if not any(spec.differentiable for spec in call.specs):
        raise type_error(f"{name_of(function)} has no float argument to differentiate by")
    if current_trace() is not None:
        return TracedLinearization(function, primals, call)
    made: _Points = transform_of(function, ("point", has_aux), lambda: _Points(_value_of(inner, function)))
    prepared, traced_call = made.prepared(primals)
    call.out_spec, call.results = traced_call
    return ConcreteLinearization(function, primals, call, prepared)


def _value_of(inner: Function, function: Function) -> Function:
    def value(*args: Any) -> Any:
        return inner(*args)

    return named_derivative(value, function, "value")


class _Points(Traceable):
    """A function to be linearized at concrete points."""

    __slots__ = ("_prepared",)

    def prepared(self, primals: Sequence[Any]) -> Any:
        """The linearized program for these arguments, and what is known of the results."""
        from wengert.runtime.derived.linear_program import LinearProgram

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
