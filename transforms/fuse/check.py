"""Refuses programs that cannot be compiled, before anything is rewritten: the size of every value in memory has to be known, and calls have to be inlined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.passes import ModulePass

from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import ADDRESSABLE, extent_in_bytes
from wengert.ir.traversal import ops_in
from wengert.ir.unregistered import written_name
from wengert.transforms.fuse.roles import is_compilable, is_storable


@dataclass(frozen=True)
class CheckCompilablePass(ModulePass):
    """Refuses calls, and values that no buffer can hold: of open extents, tokens, tuples, or more bytes than there are addresses."""

    name = "check-compilable"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in ops_in(op.body.block):
            if isinstance(function, FuncOp) and function.body.blocks:
                check_compilable(function)

    def changes(self, module: ModuleOp) -> bool:
        self.apply(Context(), module)
        return False


def check_compilable(function: FuncOp) -> None:
    """Raises a DiagnosticError at the first argument or op of a function whose value cannot be held in a buffer, or at a call."""
    for number, argument in enumerate(function.body.block.args):
        if not is_compilable(argument.type):
            name = function.sym_name.data
            raise error_at(function, f"argument {number} of @{name} has type {argument.type}, which cannot be compiled")
    checked: set[int] = set()
    for op in ops_in(function.body.block):  # a loop or branch with such values inside runs in the interpreter
        if type(op) is CallOp:
            raise error_at(op, f"the call of @{op.callee.string_value()} cannot be compiled", "the pass 'to-core' inlines calls")
        for result in op.results:
            if id(result.type) not in checked:  # types are shared, and their hashes take longer than to check them
                if problem := _problem(result.type):
                    raise error_at(op, f"'{written_name(op)}' has a result of type {result.type}{problem}")
                checked.add(id(result.type))


def _problem(type: Any) -> str:
    """Why no buffer holds values of a type, or an empty string."""
    if not is_storable(type):
        return ", which cannot be compiled"
    needed = extent_in_bytes(cast("TensorType[Any]", type)) if isinstance(type, TensorType) else 0
    return f": {needed / 2**40:.0f} TiB, more than any machine can address" if needed > ADDRESSABLE else ""
