"""Symbols: functions by name, and the ops that refer to them.

An op that calls a function says so by the trait :class:`CallsFunction`; the verifier then compares the op's operand and
result types with the function's. One that names several functions with other types lists them by :class:`NamesFunctions`.
Every other symbol that a registered op names must exist.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.traits import OpTrait

from wengert.ir.traversal import all_ops

VISIBILITIES = ("public", "private", "nested")
"""The visibilities of a symbol."""


@dataclass(frozen=True)
class CallsFunction(OpTrait):
    """The op has the effect and the types of the function that this property names."""

    symbol: str


class NamedFunction(NamedTuple):
    """A function that an op names, with the types that it must have."""

    symbol: str
    inputs: Sequence[Attribute]
    outputs: Sequence[Attribute]
    more: bool = False
    """Whether it may return more than these."""


@dataclass(frozen=True)
class NamesFunctions(OpTrait):
    """The op names functions, whose types it says: ``op.named_functions`` lists them."""

    @staticmethod
    def of(op: Operation) -> Sequence[NamedFunction]:
        """The functions that an op with this trait names."""
        return cast("_Naming", op).named_functions


class _Naming(Protocol):
    """An op with the trait."""

    @property
    def named_functions(self) -> Sequence[NamedFunction]: ...


class NamesMesh:
    """Mixed into attributes that refer to a mesh, mostly by a symbol of the module as functions are."""

    mesh: Attribute


def symbol_name(op: Operation) -> str | None:
    """The name under which the op can be referred to, if it has one."""
    name = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def symbols_of(block: Block) -> dict[str, Operation]:
    """The symbols that are defined in a module's block, by name (the first of those with equal names)."""
    symbols: dict[str, Operation] = {}
    for op in block.ops:
        if (name := symbol_name(op)) is not None:
            symbols.setdefault(name, op)
    return symbols


def symbols_used(op: Operation) -> Generator[SymbolRefAttr]:
    """The symbols that an op's properties refer to, also in lists."""
    for value in op.properties.values():
        yield from _references(value)


def _references(value: Attribute) -> Generator[SymbolRefAttr]:
    if isinstance(value, SymbolRefAttr):
        yield value
    elif isinstance(value, ArrayAttr):
        for item in cast("ArrayAttr[Attribute]", value).data:
            if isinstance(item, SymbolRefAttr):
                yield item
    elif isinstance(value, NamesMesh) and isinstance(value.mesh, SymbolRefAttr):
        yield value.mesh


def functions_used(root: Operation, module: ModuleOp) -> list[Operation]:
    """The functions of a module that an op refers to, by properties or attributes of what is in it, and those that these refer to."""
    defined, pending = symbols_of(module.body.block), [root]
    used: dict[str, Operation] = {}
    while pending:
        for op in all_ops(pending.pop()):
            for value in (*op.properties.values(), *op.attributes.values()):
                for name in (reference.string_value() for reference in _references(value)):
                    if name in defined and name not in used:
                        used[name] = defined[name]
                        pending.append(defined[name])
    return list(used.values())


def rename_references(root: Operation, names: Mapping[str, str]) -> None:
    """Renames the symbols that ops refer to, in place; what is defined under a name keeps it."""
    for op in all_ops(root):
        for dictionary in (op.properties, op.attributes):
            for key, attribute in list(dictionary.items()):
                dictionary[key] = _renamed(attribute, names)


def _renamed(attribute: Attribute, names: Mapping[str, str]) -> Attribute:
    if isinstance(attribute, SymbolRefAttr):
        return SymbolRefAttr(names.get(attribute.string_value(), attribute.string_value()))
    if isinstance(attribute, ArrayAttr):
        return ArrayAttr([_renamed(item, names) for item in cast("ArrayAttr[Attribute]", attribute).data])
    return attribute


def called_symbol(op: Operation) -> str | None:
    """The name of the function that an op calls, or None if it does not call one."""
    if isinstance(op, CallOp):
        callee = op.properties.get("callee")
    else:
        traits = op.get_traits_of_type(CallsFunction)
        callee = op.properties.get(traits[0].symbol) if traits else None
    return callee.string_value() if isinstance(callee, SymbolRefAttr) else None


def recursive_calls(calls: dict[str, list[tuple[str, Operation]]]) -> list[tuple[Operation, list[str]]]:
    """The calls that close a cycle, with the cycle's names; ``calls`` lists what each function calls."""
    closing: list[tuple[Operation, list[str]]] = []
    done: set[str] = set()
    for root, callees in calls.items():
        if root in done:
            continue
        path = [root]
        pending = [iter(callees)]
        while pending:
            callee, op = next(pending[-1], (None, None))
            if callee is None or op is None:
                pending.pop()
                done.add(path.pop())
            elif callee in path:
                closing.append((op, [*path[path.index(callee) :], callee]))
            elif callee not in done and callee in calls:
                path.append(callee)
                pending.append(iter(calls[callee]))
    return closing


def signature(function: Operation) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...]] | None:
    """Argument and result types of a function; None for a symbol that is something else, or whose type is not a function's."""
    type = function.properties.get("function_type") if isinstance(function, FuncOp) else None
    return (type.inputs.data, type.outputs.data) if isinstance(type, FunctionType) else None
