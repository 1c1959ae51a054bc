"""Symbol DCE: removes private functions that nothing refers to.

What is public (or has no visibility, which means public) is a root, and so is what any op outside functions refers to; what
a kept function refers to is kept. References are symbol attributes anywhere on an op, nested ones too, so that functions
attached as custom derivatives or decompositions stay as long as their owner does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from wengert.ir.pipeline import changes
from wengert.ir.traversal import all_ops


@dataclass(frozen=True)
class SymbolDcePass(ModulePass):
    """Removes private functions that nothing refers to."""

    name = "symbol-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbol_dce(op)


def symbol_dce(module: ModuleOp) -> None:
    """Removes from the module, in place, every private function that cannot be reached from a public one."""
    private = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp) and is_private(op)}
    kept: set[str] = set()
    pending: list[Operation] = [op for op in module.ops if not (isinstance(op, FuncOp) and is_private(op))]
    while pending:
        for name in references(pending.pop()):
            if name in private and name not in kept:
                kept.add(name)
                pending.append(private[name])
    for name, op in private.items():
        if name not in kept:
            if changes.RECORDER is not None:
                changes.RECORDER.removed(op, f"nothing refers to @{name}")
            module.body.block.erase_op(op, safe_erase=False)


def is_private(op: FuncOp) -> bool:
    """Whether nothing outside the module can refer to the function."""
    return op.sym_visibility is not None and op.sym_visibility.data == "private"


def references(root: Operation) -> Iterator[str]:
    """The names of all symbols that an op and the ops in it refer to, once for each reference."""
    for op in all_ops(root):
        for attributes in (op.properties, op.attributes):
            for attribute in attributes.values():
                if type(attribute) in _HOLDERS:
                    yield from _symbols(attribute)


_HOLDERS = (SymbolRefAttr, ArrayAttr, DictionaryAttr)


def _symbols(attribute: Attribute) -> Iterator[str]:
    if isinstance(attribute, SymbolRefAttr):
        yield attribute.root_reference.data
    elif isinstance(attribute, ArrayAttr):
        for item in cast("ArrayAttr[Attribute]", attribute).data:
            yield from _symbols(item)
    elif isinstance(attribute, DictionaryAttr):
        for item in attribute.data.values():
            yield from _symbols(item)
