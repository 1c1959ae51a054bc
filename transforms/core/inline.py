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
and so do calls of functions with derivatives of their own (``ad.custom_jvp``, ``ad.custom_vjp``) if asked, since inlining
loses what those say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.ir.construction import erase, insert_before, replace_uses
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.locations import called_from, error_at
from wengert.ir.traversal import operands_of, ops_of
from wengert.transforms.core.symbol_dce import is_private, references

CUSTOM_DERIVATIVES = ("ad.custom_jvp", "ad.custom_vjp")
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
    if keep_custom:
        kept = {name for name, op in functions.items() if any(a in op.attributes for a in CUSTOM_DERIVATIVES)}
    else:
        kept = set[str]()
    calls = {name: _calls(op) for name, op in functions.items()}
    uses = Counter(references(module)) if any(calls.values()) else Counter[str]()
    for name in _callees_first(calls):
        for call in calls[name]:
            called = _callee_name(call)
            callee = functions.get(called)
            if callee is None:
                raise error_at(call.location, f"call of @{called}, which this module does not define")
            if not callee.body.blocks or called in kept:
                continue
            _check(call, callee)
            if uses[called] == 1 and is_private(callee):
                _move_body(call, callee)
                module.body.block.erase_op(callee)
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
    for root, found in calls.items():
        path = {} if root in order else {root: iter(found)}
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
    return error_at(call.location, f"recursive call: {chain}", hint="a program with recursion cannot be inlined; write it as stablehlo.while")


def _check(call: Operation, callee: FuncOp) -> None:
    if len(callee.body.blocks) != 1:
        raise error_at(callee.location, f"function @{callee.sym_name.data} has {len(callee.body.blocks)} blocks; only functions of one block can be inlined")
    if call.result_types != callee.function_type.outputs.data or tuple(o.type for o in call.operands) != callee.function_type.inputs.data:
        raise error_at(call.location, f"call of @{callee.sym_name.data} with other types than it has: {callee.function_type}")


def _copy_body(call: Operation, callee: FuncOp) -> None:
    body = callee.body.block
    copier = _Copier(call.location)
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
    for op in ops:
        op.detach()
        insert_before(call, op)
        for inner in op.walk() if op.regions else (op,):
            inner.location = _at_call(inner.location, call.location)
    _replace_call(call, end.operands)


def _replace_call(call: Operation, values: Sequence[SSAValue]) -> None:
    for result, value in zip(call.results, values, strict=True):
        replace_uses(result, value)
    erase(call)


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
