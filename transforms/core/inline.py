"""Inlining: every call becomes the body of the function that it calls.

JAX writes a function for each of its own (``@_where``, ``@cumsum``, loop bodies), 642 calls in 177 programs; all other passes
then see one function without calls. Functions are flattened callees first, so that what is copied is already flat; a cycle
of calls has no such order and is refused.

Before and after::

    func.func public @main(%x: tensor<f64>) -> tensor<f64> {      func.func public @main(%x: tensor<f64>) -> tensor<f64> {
      %0 = call @twice(%x) : (tensor<f64>) -> tensor<f64>           %0 = stablehlo.add %x, %x : tensor<f64>
      return %0 : tensor<f64>                                       return %0 : tensor<f64>
    }                                                             }

``stablehlo.composite`` is a call too: of its decomposition. An inlined op's location is a call site, ``callsite(where it was
written at where it was called)``. A private function that is called once is moved, not copied. Calls to declarations stay,
and so do calls of functions with derivatives of their own (``ad.custom_jvp``, ``ad.custom_vjp``, ``ad.not_differentiable``) if asked, since inlining
loses what those say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, CallSiteLoc, LocationAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.ir.construction import erase, insert_before, replace_uses
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.locations import MOST_CALLERS, called_from, calls_around
from wengert.ir.location.places import error_at
from wengert.ir.pipeline import changes
from wengert.ir.traversal import all_ops, operands_of, ops_of
from wengert.transforms.core.symbol_dce import is_private, references

CUSTOM_DERIVATIVES = ("ad.custom_jvp", "ad.custom_vjp", "ad.not_differentiable")
"""Attributes by which a function says that it is differentiated otherwise than by its text."""


@dataclass(frozen=True)
class InlinePass(ModulePass):
    """Replaces calls by the bodies of the functions called."""

    name = "inline"

    keep_custom: bool = False
    """Leave calls of functions that declare derivatives of their own."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline(op, keep_custom=self.keep_custom)


def inline(module: ModuleOp, *, keep_custom: bool = False) -> None:
    """Inlines all calls of functions of the module, in place. Functions called stay (``symbol-dce`` removes them), except those
    that were moved to their only call.

    Raises a DiagnosticError for recursion, for a callee that the module does not have and for one of several blocks.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    calls = {name: _calls(op) for name, op in functions.items()}
    if any(calls.values()):
        _Inliner(module, functions, calls, keep_custom).run()


def call_depth(module: ModuleOp) -> int:
    """The deepest nesting of calls; a DiagnosticError for recursion."""
    calls = {op.sym_name.data: _calls(op) for op in module.ops if isinstance(op, FuncOp)}
    depth: dict[str, int] = {}
    for name in _callees_first(calls):
        depth[name] = max((1 + depth.get(_callee_name(call), 0) for call in calls[name]), default=0)
    return max(depth.values(), default=0)


class _Inliner:
    """Flattens callees first. A function that is moved to its only call is left until the function that it ends up in is flattened, so that
    no op moves twice however deep calls nest."""

    def __init__(self, module: ModuleOp, functions: dict[str, FuncOp], calls: dict[str, list[Operation]], keep_custom: bool):
        self.module = module
        self.functions = functions
        self.calls = calls
        self.kept = {name for name, op in functions.items() if keep_custom and any(a in op.attributes for a in CUSTOM_DERIVATIVES)}
        uses = Counter(references(module))
        called = {_callee_name(call) for calls_of_one in calls.values() for call in calls_of_one}
        self.moved = {name for name in called if uses[name] == 1 and self._can_move(name)}

    def _can_move(self, name: str) -> bool:
        callee = self.functions.get(name)
        return callee is not None and is_private(callee) and bool(callee.body.blocks) and name not in self.kept

    def run(self) -> None:
        for name in _callees_first(self.calls):
            if name not in self.moved:
                self._flatten(name)

    def _flatten(self, name: str) -> None:
        pending = self.calls[name][::-1]
        while pending:
            call = pending.pop()
            called = _callee_name(call)
            callee = self.functions.get(called)
            if callee is None:
                raise error_at(call, f"call of @{called}, which this module does not define")
            if not callee.body.blocks or called in self.kept:
                continue
            _check(call, callee)
            if called in self.moved:
                _move_body(call, callee)
                self.module.body.block.erase_op(callee)
                pending += self.calls[called][::-1]
            else:
                _copy_body(call, callee)


def _calls(function: FuncOp) -> list[Operation]:
    return ops_of(function, CallOp, stablehlo.CompositeOp)


def _callee_name(call: Operation) -> str:
    if isinstance(call, CallOp):
        return call.callee.string_value()
    return cast(stablehlo.CompositeOp, call).decomposition.string_value()


def _callees_first(calls: dict[str, list[Operation]]) -> list[str]:
    """The functions in an order in which each comes after all that it calls (an iterative depth-first search)."""
    order: dict[str, None] = {}
    for root, callees in calls.items():
        path = {} if root in order else {root: iter(callees)}
        while path:
            name, rest = next(reversed(path.items()))
            call = next(rest, None)
            if call is None:
                del path[name]
                order[name] = None
                continue
            callee = _callee_name(call)
            if callee in path:
                names = list(path)
                raise _recursion(call, names[names.index(callee) :])
            if callee in calls and callee not in order:
                path[callee] = iter(calls[callee])
    return list(order)


def _recursion(call: Operation, cycle: list[str]) -> DiagnosticError:
    chain = " -> ".join(f"@{name}" for name in (*cycle, cycle[0]))
    return error_at(call, f"recursive call: {chain}", hint="a program with recursion cannot be inlined; write it as stablehlo.while")


def _check(call: Operation, callee: FuncOp) -> None:
    if len(callee.body.blocks) != 1:
        raise error_at(callee, f"function @{callee.sym_name.data} has {len(callee.body.blocks)} blocks; only functions of one block can be inlined")
    if call.result_types != callee.function_type.outputs.data or tuple(o.type for o in call.operands) != callee.function_type.inputs.data:
        raise error_at(call, f"call of @{callee.sym_name.data} with other types than it has: {callee.function_type}")


def _copy_body(call: Operation, callee: FuncOp) -> None:
    body = callee.body.block
    copier = _Copier(_nearest_calls(call.location))
    copier.values.update(zip(body.args, call.operands, strict=True))
    *ops, end = body.ops
    block = cast(Block, call.parent)
    block.insert_ops_before([copier.copy(op) for op in ops], call)
    _replace_call(call, [copier.values.get(value, value) for value in end.operands])


def _move_body(call: Operation, callee: FuncOp) -> None:
    body = callee.body.block
    for argument, value in zip(body.args, call.operands, strict=True):
        replace_uses(argument, value)
    *ops, end = body.ops
    caller = _nearest_calls(call.location)
    for op in ops:
        op.detach()
        insert_before(call, op)
        for inner in all_ops(op) if op.regions else (op,):
            inner.location = _at_call(inner.location, caller)
    _replace_call(call, end.operands)


def _replace_call(call: Operation, values: Sequence[SSAValue]) -> None:
    if changes.RECORDER is not None:
        changes.RECORDER.removed(call, f"@{_callee_name(call)} was inlined")
    for result, value in zip(call.results, values, strict=True):
        replace_uses(result, value)
    erase(call)


def _nearest_calls(location: LocationAttr) -> LocationAttr:
    """The location of a call as its callee's ops name it: so that chains of calls do not grow without end, the last of many is left out."""
    return cast(LocationAttr, location.caller) if isinstance(location, CallSiteLoc) and calls_around(location) >= MOST_CALLERS else location


def _at_call(written: LocationAttr, caller: LocationAttr) -> LocationAttr:
    return written if caller == UNKNOWN_LOC else called_from(written, caller)


class _Copier:
    """Copies ops, renaming values and saying at every op from where it was called."""

    def __init__(self, caller: LocationAttr):
        self.caller = caller
        self.values: dict[SSAValue, SSAValue] = {}

    def copy(self, op: Operation) -> Operation:
        values = self.values
        clone = type(op).create(
            operands=[values.get(o, o) for o in operands_of(op)],
            result_types=[r.type for r in op.results],
            properties=op.properties,
            attributes=op.attributes,
            regions=[self._copy_region(region) for region in op.regions],
            location=_at_call(op.location, self.caller),
        )
        for old, new in zip(op.results, clone.results, strict=True):
            values[old] = new
            new.name_hint = old.name_hint
        return clone

    def _copy_region(self, region: Region) -> Region:
        return Region([self._copy_block(block) for block in region.blocks])

    def _copy_block(self, block: Block) -> Block:
        copy = Block(arg_types=[a.type for a in block.args])
        self.values.update(zip(block.args, copy.args, strict=True))
        copy.add_ops(self._copy_all(block.ops))
        return copy

    def _copy_all(self, ops: Iterable[Operation]) -> Iterator[Operation]:
        return map(self.copy, ops)
