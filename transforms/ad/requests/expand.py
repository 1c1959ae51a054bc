"""``expand-ad``: replaces requests for derivatives and batched functions by calls of these, innermost first.

A request is a call of the derivative of a function. The requests in a function are expanded before requests for its derivative, so that
only functions without requests are differentiated; requests for the same derivative share one function. In the end
the new functions are inlined, except where a function declares its own derivative and may yet be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from wengert.dialects import ad
from wengert.dialects.ad_parts import forget_parts
from wengert.ir.attributes import ints
from wengert.ir.construction import copy_op
from wengert.transforms.ad.batching.function import batch_function, batch_size, from_signed
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.forward.jvp import jvp_function
from wengert.transforms.ad.linear.linearize import linearize_function
from wengert.transforms.ad.linear.transpose import transpose_function
from wengert.transforms.ad.linear.vjp import vjp_function
from wengert.transforms.ad.replay.expand import expand_replays
from wengert.transforms.ad.requests.request import REQUESTS, Request, fresh_name, function_named, make_request, replace_request
from wengert.transforms.ad.residuals.policies import AUTO, RecomputeCheap, of_a_part, policy_named
from wengert.transforms.core.inline import inline
from wengert.transforms.core.symbol_dce import references, symbol_dce
from wengert.transforms.core.tapes_to_stacks import tapes_to_stacks
from wengert.transforms.core.to_core import to_core


def expand_ad(module: ModuleOp, *, replays: bool = True) -> None:
    """Replaces every request in the module, in place, and ``ad.replay`` too unless it is to be transposed yet.

    Raises a DiagnosticError for requests that refer to each other.
    """
    to_core(module, keep_custom=True)
    expansion = Expansion(module)
    while (op := _next_request(module)) is not None:
        expansion.expand(op)
        inline(module, keep_custom=True)
    symbol_dce(module)
    if replays:
        expand_replays(module)


def _callee(op: Operation) -> str:
    return cast(SymbolRefAttr, op.properties["callee"]).string_value()


def _vjp(op: ad.VjpOp) -> Callable[[Request, str], FuncOp]:
    """The transform for a VJP request, with its residual policy."""
    return partial(vjp_function, policy=AUTO if op.residuals is None else of_a_part(policy_named(op.residuals.data, op.location), op))


def _next_request(module: ModuleOp) -> Operation | None:
    """The next request to expand, None if the module has none: of a function that has no requests and refers to none that has (by a declared derivative, or
    by an equation)."""
    requests = [op for op in module.walk() if isinstance(op, REQUESTS)]
    if not requests:
        return None
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    asking = {name for name, function in functions.items() if any(isinstance(inner, REQUESTS) for inner in function.walk())}
    for op in requests:
        target = function_named(module, _callee(op))
        if asking.isdisjoint(_reached(target.sym_name.data, functions)):
            return op
    raise refuse(requests[0], f"asks for a derivative of @{_callee(requests[0])}, which asks for one of the function that contains this op")


def _reached(name: str, functions: Mapping[str, FuncOp]) -> set[str]:
    """A function and all that it refers to, directly or through others."""
    reached, pending = {name}, [name]
    while pending:
        new = {other for other in references(functions[pending.pop()]) if other in functions} - reached
        reached |= new
        pending += new
    return reached


class Expansion:
    """Replaces requests by calls of derivative functions, each of which is created once."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self._expanded: dict[Any, tuple[FuncOp, ...]] = {}

    def expand(self, op: Operation) -> None:
        """Replaces one request."""
        if isinstance(op, ad.JvpOp | ad.VjpOp):
            self._call(op, self._derivative(op.name, jvp_function if isinstance(op, ad.JvpOp) else _vjp(op), op), op.operands)
        elif isinstance(op, ad.PushforwardOp | ad.PullbackOp):
            self._derivative_alone(op)
        elif isinstance(op, ad.TransposedCallOp):
            self._call(op, self._transposed(_callee(op), ints(op.wrt)), op.operands)
        elif isinstance(op, ad.BatchOp):
            self._call(op, self._batched(op), op.operands)
        else:
            self._linearize(cast(ad.LinearizeOp, op))

    def _has(self, key: Any) -> bool:
        """Whether a derivative was created and is still in the module (it may have been inlined since)."""
        functions = self._expanded.get(key, ())
        return bool(functions) and all(function.parent is not None for function in functions)

    def _request(self, op: Any) -> Request:
        return make_request(self._function(op), ints(op.wrt), ints(op.of))

    def _function(self, op: Operation) -> FuncOp:
        """The function that a request is of, in which nothing is left that only transposition knows."""
        function = function_named(self.module, _callee(op))
        expand_replays(function)
        return function

    def _derivative(self, kind: str, make: Any, op: Any) -> FuncOp:
        key = (kind, _callee(op), ints(op.wrt), ints(op.of), op.properties.get("residuals"))
        if not self._has(key):
            name = fresh_name(self.module, f"{_callee(op)}_{kind.removeprefix('ad.')}")
            self._expanded[key] = (self._add(make(self._request(op), name)),)
        return self._expanded[key][0]

    def _derivative_alone(self, op: ad.PushforwardOp | ad.PullbackOp) -> None:
        kind, make = (ad.JvpOp.name, jvp_function) if isinstance(op, ad.PushforwardOp) else (ad.VjpOp.name, vjp_function)
        values = self._insert_call(op, self._derivative(kind, make, op), op.operands)
        replace_request(op, values[len(values) - len(op.results) :])

    def _transposed(self, callee: str, wrt: tuple[int, ...]) -> FuncOp:
        key = ("transpose", callee, wrt)
        if not self._has(key):
            name = fresh_name(self.module, f"{callee}_transpose")
            copy = self._add(copy_op(function_named(self.module, callee), {}))  # transposition takes over the body of its function
            copy.sym_name = StringAttr(name)
            self._expanded[key] = (self._add(transpose_function(make_request(copy, wrt), name)),)
            self.module.body.block.erase_op(copy, safe_erase=False)
        return self._expanded[key][0]

    def _batched(self, op: ad.BatchOp) -> FuncOp:
        size = batch_size(op)
        key = (op.name, _callee(op), ints(op.in_axes), ints(op.out_axes), size)
        if not self._has(key):
            function = self._function(op)
            name = fresh_name(self.module, f"{_callee(op)}_batch")
            self._expanded[key] = (self._add(batch_function(function, from_signed(ints(op.in_axes)), from_signed(ints(op.out_axes)), size, name)),)
        return self._expanded[key][0]

    def _linearize(self, op: ad.LinearizeOp) -> None:
        key = (op.name, _callee(op), ints(op.wrt), ints(op.of))
        if not self._has(key):
            forward_name, linear_name = (fresh_name(self.module, f"{_callee(op)}_{half}") for half in ("primal", "linear"))
            primal, linear = linearize_function(self._request(op), forward_name, linear_name, RecomputeCheap())
            self._expanded[key] = self._add(primal), self._add(linear)
        primal, linear = self._expanded[key]
        values = self._insert_call(op, primal, op.operands)
        outputs, residuals = values[: len(op.results) - 1], list(values[len(op.results) - 1 :])
        for use in list(op.results[-1].uses):
            user = use.operation
            tangents = [*residuals, *user.operands[1:]]
            if isinstance(user, ad.ApplyOp):
                self._call(user, linear, tangents)
            elif isinstance(user, ad.ApplyTransposeOp):
                wrt = tuple(range(len(residuals), len(linear.function_type.inputs)))
                self._call(user, self._transposed(linear.sym_name.data, wrt), tangents)
            else:
                raise refuse(user, "uses a linear map, which only ad.apply and ad.apply_transpose can do")
        for old, new in zip(op.results, outputs, strict=False):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()

    def _call(self, op: Operation, function: FuncOp, arguments: Sequence[SSAValue]) -> None:
        passed, expected = [a.type for a in arguments], list(function.function_type.inputs)
        if passed != expected or [r.type for r in op.results] != list(function.function_type.outputs):
            raise refuse(op, f"has the wrong types for @{function.sym_name.data}, which is {function.function_type}")
        replace_request(op, self._insert_call(op, function, arguments))

    def _insert_call(self, before: Operation, function: FuncOp, arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
        call = CallOp.create(
            operands=list(arguments),
            result_types=list(function.function_type.outputs),
            properties={"callee": SymbolRefAttr(function.sym_name.data)},
            location=before.location,
        )
        assert before.parent is not None
        before.parent.insert_op_before(call, before)
        return call.results

    def _add(self, function: FuncOp) -> FuncOp:
        forget_parts(function)  # the parts are connected by the calls that are created here
        tapes_to_stacks(function)  # it may be differentiated or batched next
        function.properties["sym_visibility"] = StringAttr("private")
        self.module.body.block.add_op(function)
        return function
