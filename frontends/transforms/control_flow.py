"""Control flow on traced values: ``cond``, ``switch``, ``while_loop``, ``fori_loop``, ``scan``.

In a trace they are core's closed branches and loops. Outside of any trace they are Python's own: a branch is called, a loop runs.
A branch whose predicate is concrete is simply called in a trace too. What a loop carries keeps its shapes and dtypes; a number that is
weak takes the dtype that the body gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, Region, SSAValue

from wengert.dialects import core
from wengert.dialects.core.control import POLICY
from wengert.frontends.pytrees import TreeSpec, flatten, unflatten
from wengert.frontends.tracing.context import active_trace, current_trace
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.function import Call, name_of
from wengert.frontends.tracing.operands import builder, convert, shape_of, traced, value_of
from wengert.frontends.tracing.regions import RegionGroup
from wengert.frontends.tracing.signatures import ArraySpec, is_array_leaf, spec_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.frontends.tracing.weak_types import join
from wengert.frontends.transforms.emission import for_user
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i32, i64, shape, tensor
from wengert.runtime.derived.requests import check_choice

Function = Callable[..., Any]
_INDEX = np.dtype(np.int64)

# -- branches


def cond(pred: Any, true_function: Function, false_function: Function, *operands: Any) -> Any:
    """``true_function(*operands)`` where the scalar predicate holds, else ``false_function(*operands)``; only one is computed.

    Both return trees of the same structure, shapes and dtypes. Under ``vmap`` over the predicate both are computed.

    Raises:
        TracedTypeError: the results of the two differ; says how.
    """
    if not isinstance(pred, TracedArray):
        return (true_function if pred else false_function)(*operands)
    _check_scalar(pred, "the predicate of cond")
    index = builder().select(convert(value_of(pred), np.dtype(np.bool_)), value_of(np.int32(1)), value_of(np.int32(0)))
    return _case(index, (false_function, true_function), operands, "cond")


def switch(index: Any, branches: Sequence[Function], *operands: Any) -> Any:
    """``branches[index](*operands)``; an index that is out of range takes the nearest branch. See :func:`cond`."""
    if not branches:
        raise value_error("switch needs at least one branch")
    if not isinstance(index, TracedArray):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    _check_scalar(index, "the index of switch")
    b = builder()
    value = b.clamp(value_of(np.int64(0)), value_of(index, _INDEX), value_of(np.int64(len(branches) - 1)))
    return _case(b.convert(value, i32), branches, operands, "switch")


def _check_scalar(x: TracedArray, what: str) -> None:
    if x.shape != ():
        raise type_error(f"{what} must be a scalar, found {x!r}", "reduce it by wengert.numpy.all or any, or choose by element with wengert.numpy.where")


def _case(index: SSAValue, branches: Sequence[Function], operands: Sequence[Any], what: str) -> Any:
    calls = [Call(branch, operands, {}) for branch in branches]
    values = calls[0].operands()
    group, regions = _branches(calls, None)
    dtypes = _common_dtypes(calls, what)
    if any(spec.dtype != dtype for call in calls for spec, dtype in zip(call.results, dtypes, strict=True)):
        group, regions = _branches(calls, dtypes)  # again, as weak numbers of one branch take the dtype of another
    types = [ArraySpec(spec.shape, dtype).type for spec, dtype in zip(calls[0].results, dtypes, strict=True)]
    results = builder().create(core.CaseOp, [index, *group.captures, *values], types, {}, regions)
    return calls[0].result(for_user(results))


def _branches(calls: Sequence[Call], dtypes: Sequence[np.dtype[Any]] | None) -> tuple[RegionGroup, list[Region]]:
    """The regions of all branches, their results converted to these dtypes."""
    group, regions = RegionGroup(), list[Region]()
    for call in calls:

        def body(_: list[TracedArray], given: list[TracedArray], call: Call = call) -> list[Any]:
            leaves = call.body(given)
            return leaves if dtypes is None else [traced(convert(value_of(leaf), d)) for leaf, d in zip(leaves, dtypes, strict=True)]

        regions.append(group.write(call.specs, body))
    return group, regions


def _common_dtypes(calls: Sequence[Call], what: str) -> list[np.dtype[Any]]:
    """The dtypes of the results, which all branches must agree on but for weak numbers."""
    first = calls[0]
    for call in calls[1:]:
        one, other = first.out_spec, call.out_spec
        if one != other:
            raise type_error(f"the branches of {what} return different structures: {name_of(first.function)} {one}, {name_of(call.function)} {other}")
        for a, c in zip(first.results, call.results, strict=True):
            if a.shape != c.shape or (a.dtype != c.dtype and not (a.weak or c.weak)):
                raise type_error(
                    f"the branches of {what} return different types: {name_of(first.function)} {a}, {name_of(call.function)} {c}",
                    "make them agree by wengert.numpy.astype or broadcast_to",
                )
    return [join([(call.results[j].dtype, call.results[j].weak) for call in calls])[0] for j in range(len(first.results))]


# -- loops


class _Carry:
    """The values that a loop carries: a tree of arrays of types that stay."""

    def __init__(self, init: Any):
        leaves, self.spec = flatten(init)
        for leaf in leaves:
            if not is_array_leaf(leaf):
                raise type_error(f"a loop carries arrays and numbers, found {leaf!r}")
        self.leaves: list[Any] = leaves
        self.specs = [spec_of(leaf) for leaf in leaves]

    def values(self) -> list[SSAValue]:
        """The initial values."""
        return [value_of(leaf, spec.dtype) for leaf, spec in zip(self.leaves, self.specs, strict=True)]

    def tree(self, leaves: Sequence[Any]) -> Any:
        """The carried values as the user's tree."""
        return unflatten(self.spec, leaves)

    def checked(self, result: Any, what: str) -> list[Any]:
        """The leaves that a body returns, or the types of weak ones changed (:class:`_Retry`)."""
        leaves, spec = flatten(result)
        _check_structure(what, spec, self.spec)
        specs = [spec_of(leaf) if is_array_leaf(leaf) else leaf for leaf in leaves]
        changed = list(self.specs)
        for i, (old, new) in enumerate(zip(self.specs, specs, strict=True)):
            if isinstance(new, ArraySpec) and old.shape == new.shape and (old.dtype == new.dtype or new.weak):
                if old.dtype != (joined := join([(old.dtype, old.weak), (new.dtype, new.weak)])[0]):
                    changed[i] = ArraySpec(old.shape, joined)
                continue
            if isinstance(new, ArraySpec) and old.weak and old.shape == new.shape:
                changed[i] = ArraySpec(new.shape, join([(old.dtype, True), (new.dtype, new.weak)])[0])
                if changed[i].dtype == new.dtype:
                    continue
            raise type_error(
                f"the body of {what} carries {new} where it began with {old}",
                "begin with an array of that shape and dtype, or convert by wengert.numpy.astype in the body",
            )
        if changed != self.specs:
            self.specs = changed
            raise _Retry
        return [traced(value_of(leaf, spec.dtype)) for leaf, spec in zip(leaves, self.specs, strict=True)]


def _check_structure(what: str, spec: TreeSpec, initial: TreeSpec) -> None:
    if spec != initial:
        raise type_error(f"the body of {what} carries {spec}, but it began with {initial}", "return a tree of the same structure as the initial value")


class _Retry(Exception):
    """The body gave weak numbers another dtype: trace it again with that."""


def _retried(write: Callable[[], Any]) -> Any:
    for _ in range(8):  # dtypes only go up, and there are not so many kinds
        try:
            return write()
        except _Retry:
            continue
    raise AssertionError("dtypes of a loop do not settle")


def while_loop(cond_function: Function, body_function: Function, init: Any, *, residuals: str | None = None) -> Any:
    """``value = init; while cond_function(value): value = body_function(value)``, for a tree of arrays.

    Reverse mode keeps what each iteration needs on a tape, as the number of iterations is not known.

    Args:
        cond_function: from the value to a boolean scalar.
        body_function: from the value to the next one.
        init: the first value.
        residuals: what reverse mode keeps of this loop, in place of what is asked for the whole function: "binomial-8" keeps 8 states, however long it
            runs, from which it computes the others again; other policies are those of :meth:`wengert.Program.vjp`.

    Raises:
        TracedTypeError: the body returns other types than it is given, or the condition is no boolean scalar.
        InputError: there is no such policy.
    """
    _check_policy(residuals)
    if current_trace() is None:
        while cond_function(init):
            init = body_function(init)
        return init
    carry = _Carry(init)

    def write() -> tuple[RegionGroup, list[Any]]:
        group = RegionGroup()
        condition = group.write(carry.specs, lambda _, given: [_condition(cond_function(carry.tree(given)))])
        body = group.write(carry.specs, lambda _, given: carry.checked(body_function(carry.tree(given)), "while_loop"))
        return group, [condition, body]

    group, regions = _retried(write)
    captured, initial = group.captures, carry.values()
    properties = {"constants": int_attr(len(captured))}
    results = builder().create(core.WhileOp, [*captured, *initial], [v.type for v in initial], properties, regions)
    return carry.tree(for_user(_with_policy(results, residuals)))


def _check_policy(name: str | None) -> None:
    if name is not None:
        from wengert.transforms.ad.residuals.policies import is_policy, policy_names  # with differentiation, which most functions do without

        if not is_policy(name):
            check_choice("residuals", name, policy_names())


def _with_policy(results: Sequence[SSAValue], policy: str | None) -> Sequence[SSAValue]:
    """The results of a loop, which names its policy for residuals."""
    if policy is not None and results and isinstance(results[0].owner, Operation):
        results[0].owner.attributes[POLICY] = StringAttr(policy)
    return results


def _condition(condition: Any) -> Any:
    if shape_of(condition) != () or (isinstance(condition, TracedArray) and condition.dtype.kind != "b"):
        raise type_error(f"the condition of while_loop must be a boolean scalar, found {condition!r}")
    return condition if isinstance(condition, TracedArray) else np.bool_(condition)


def fori_loop(lower: Any, upper: Any, body_function: Function, init: Any, *, residuals: str | None = None) -> Any:
    """``value = init; for i in range(lower, upper): value = body_function(i, value)``, for a tree of arrays; bounds may be traced.

    ``residuals`` and what is raised are those of :func:`while_loop`; a loop between numbers takes "sqrt" too.
    """
    _check_policy(residuals)
    if current_trace() is None:
        for i in range(int(lower), int(upper)):
            init = body_function(i, init)
        return init
    carry = _Carry(init)
    for bound in (lower, upper):
        if shape_of(bound) != ():
            raise type_error(f"the bounds of fori_loop must be integer scalars, found {bound!r}")
    start = value_of(lower, _INDEX) if isinstance(lower, TracedArray) else None
    trips = builder().subtract(value_of(upper, _INDEX), value_of(lower, _INDEX)) if isinstance(upper, TracedArray) or start is not None else None
    begin = traced(start) if start is not None else int(lower)

    def write() -> tuple[RegionGroup, Any]:
        group = RegionGroup([tensor((), i64)])

        def body(first: list[TracedArray], given: list[TracedArray]) -> list[Any]:
            index = first[0] + begin if start is not None or begin != 0 else first[0]
            return carry.checked(body_function(index, carry.tree(given)), "fori_loop")

        return group, group.write(carry.specs, body)

    group, region = _retried(write)
    count = trips if trips is not None else value_of(np.int64(max(int(upper) - int(lower), 0)))
    return carry.tree(for_user(_with_policy(_for(count, group.captures, carry.values(), region), residuals)))


def _for(count: SSAValue, captured: Sequence[SSAValue], initial: Sequence[SSAValue], region: Any) -> Sequence[SSAValue]:
    properties = {"constants": int_attr(len(captured))}
    return builder().create(core.ForOp, [count, *captured, *initial], [v.type for v in initial], properties, [region])


def scan(
    function: Function,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
    unroll: int | bool = 1,
    residuals: str | None = None,
) -> tuple[Any, Any]:
    """A loop over rows: ``carry, y = function(carry, x)`` for each x of ``xs`` along dimension 0; returns the last carry and all y, stacked.

    Args:
        function: from what is carried and a row of ``xs`` to what is carried and a row of results, all trees of arrays.
        init: what is carried first.
        xs: a tree of arrays with one number of rows, or None.
        length: the number of rows, needed where ``xs`` has no array.
        reverse: go through the rows from the last to the first; results stand where their rows stood.
        unroll: taken as JAX takes it, and of no consequence: the compiler decides how loops run.
        residuals: as for :func:`fori_loop`.

    Raises as :func:`while_loop`; also a TracedValueError for different numbers of rows.
    """
    _check_policy(residuals)
    rows, rows_spec = flatten(xs)
    counts: set[int | None] = {shape_of(x)[0] if shape_of(x) else None for x in rows}
    if length is not None:
        counts.add(length)
    if len(counts) != 1 or None in counts:
        raise value_error(f"scan needs one number of rows, found {' and '.join(sorted(map(str, counts))) or 'none; say length='}")
    n = counts.pop()
    assert n is not None
    if current_trace() is None:
        return _python_scan(function, init, rows, rows_spec, n, reverse)
    return _traced_scan(function, init, rows, rows_spec, n, reverse, residuals)


def _python_scan(function: Function, init: Any, rows: Sequence[Any], rows_spec: TreeSpec, n: int, reverse: bool) -> tuple[Any, Any]:
    ys: list[Any] = []
    carry = init
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = _pair(function, function(carry, unflatten(rows_spec, [np.asarray(x)[i] for x in rows])))
        _check_structure("scan", flatten(carry)[1], flatten(init)[1])
        ys.append(y)
    if not ys:
        from wengert.frontends.transforms.shapes import eval_shape

        y = eval_shape(function, init, unflatten(rows_spec, [ArraySpec(shape_of(x)[1:], spec_of(x).dtype) for x in rows]))[1]
        leaves, spec = flatten(y)
        return init, unflatten(spec, [np.zeros((0, *leaf.shape), leaf.dtype) for leaf in leaves])
    spec = flatten(ys[0])[1]
    columns = zip(*[flatten(y)[0] for y in (reversed(ys) if reverse else ys)], strict=True)
    return carry, unflatten(spec, [np.stack(column) for column in columns])


def _pair(function: Function, returned: Any) -> tuple[Any, Any]:
    """Checks and returns the pair that a body of scan returns."""
    if not isinstance(returned, tuple) or len(cast("tuple[Any, ...]", returned)) != 2:
        raise type_error(f"{name_of(function)} must return a pair for scan: what is carried, and the results of one row")
    return cast("tuple[Any, Any]", returned)


def _traced_scan(function: Function, init: Any, rows: Sequence[Any], rows_spec: TreeSpec, n: int, reverse: bool, policy: str | None) -> tuple[Any, Any]:
    carry, y_specs, y_tree = _Carry(init), list[ArraySpec](), list[TreeSpec]()
    tables = [traced(value_of(x)) for x in rows]

    def results(given: list[TracedArray], place: Any) -> tuple[list[Any], list[Any]]:
        returned = function(carry.tree(given), unflatten(rows_spec, [x[place] for x in tables]))
        carried, y = _pair(function, returned)
        leaves, spec = flatten(y)
        y_specs[:], y_tree[:] = [spec_of(leaf) for leaf in leaves], [spec]
        return carry.checked(carried, "scan"), leaves

    def write() -> tuple[RegionGroup, Any]:
        group = RegionGroup([tensor((), i64)])

        def body(first: list[TracedArray], given: list[TracedArray]) -> list[Any]:
            place = n - 1 - first[0] if reverse else first[0]
            carried, ys = results(given, place)
            block = active_trace().block
            stacks = [block.insert_arg(tensor((n, *spec.shape), spec.type.element_type), len(block.args)) for spec in y_specs]
            return [*carried, *(traced(_with_row(stack, place, y)) for stack, y in zip(stacks, ys, strict=True))]

        return group, group.write(carry.specs, body)

    group, region = _retried(write)
    initial = [*carry.values(), *(builder().zeros(tensor((n, *spec.shape), spec.type.element_type)) for spec in y_specs)]
    finals = for_user(_with_policy(_for(value_of(np.int64(n)), group.captures, initial, region), policy))
    return carry.tree(finals[: len(carry.specs)]), unflatten(y_tree[0], finals[len(carry.specs) :])


def _with_row(stack: SSAValue, place: Any, y: Any) -> SSAValue:
    """A stack with one row replaced."""
    b = builder()
    row = b.reshape(value_of(y), [1, *shape_of(y)])
    zero = value_of(np.int64(0))
    return b.dynamic_update_slice(stack, row, [value_of(place), *[zero] * (len(shape(stack)) - 1)])
