"""The functions of a module: the one to start at, and its signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from wengert.dialects.kernel.buffers import is_bufferized, is_result
from wengert.dialects.kernel.memory import value_type
from wengert.dialects.stablehlo.leaves import NESTED, leaves, paths
from wengert.ir.diagnostics import did_you_mean
from wengert.runtime.errors import InputError
from wengert.runtime.signature import Parameter, Signature

NAME_ATTRIBUTES = ("jax.result_info", "jax.arg_info", "wengert.name")
"""The attributes in which exporters put the name of an argument or a result, in order of preference."""


def functions(module: ModuleOp) -> dict[str, FuncOp]:
    """The functions of a module by name."""
    return {op.sym_name.data: op for block in module.body.blocks for op in block.ops if isinstance(op, FuncOp)}


def entry_function(module: ModuleOp, entry: str) -> FuncOp:
    """The function to start at; an InputError if the module has none of this name, or only its declaration."""
    known = functions(module)
    if entry not in known:
        listed = ", ".join(f"@{name}" for name in sorted(known)) or "none"
        raise InputError(f"the module has no function @{entry}; {did_you_mean(entry, known) or 'it has: ' + listed}")
    function = known[entry]
    if function.is_declaration:
        raise InputError(f"@{entry} is only declared: it has no body to run")
    return function


def signature_of(function: FuncOp) -> Signature:
    """The signature of a function, with the names that its argument and result attributes give.

    A tuple counts as the tensors in it, one after the other, and a token as nothing: that is how they are passed and returned.
    """
    kind = function.function_type
    if is_bufferized(function):
        return _signature_on_buffers(function)
    return Signature(_parameters("argument", kind.inputs.data, function.arg_attrs), _parameters("result", kind.outputs.data, function.res_attrs))


def _signature_on_buffers(function: FuncOp) -> Signature:
    """The signature that the function had before its results became arguments."""
    types = [value_type(type) for type in function.function_type.inputs.data]
    names = _names(types, function.arg_attrs)
    roles: dict[Literal["argument", "result"], list[Parameter]] = {"argument": [], "result": []}
    for number, (type, name) in enumerate(zip(types, names, strict=True)):
        role: Literal["argument", "result"] = "result" if is_result(function, number) else "argument"
        roles[role].append(Parameter(role, len(roles[role]), type, name))
    return Signature(tuple(roles["argument"]), tuple(roles["result"]))


def names_of(function: FuncOp) -> tuple[list[str | None], list[str | None]]:
    """The names of a function's arguments and of its results as they are written, tuples and tokens among them."""
    kind = function.function_type
    return _names(kind.inputs.data, function.arg_attrs), _names(kind.outputs.data, function.res_attrs)


def _names(types: Sequence[Attribute], attributes: ArrayAttr[DictionaryAttr] | None) -> list[str | None]:
    return [_name(a) for a in attributes.data] if attributes is not None else [None] * len(types)


def _parameters(role: Literal["argument", "result"], types: Sequence[Attribute], attributes: ArrayAttr[DictionaryAttr] | None) -> tuple[Parameter, ...]:
    names = _names(types, attributes)
    if any(isinstance(type, NESTED) for type in types):
        parts = [(leaf, name and name + path) for type, name in zip(types, names, strict=True) for leaf, path in zip(leaves(type), paths(type), strict=True)]
        types, names = [leaf for leaf, _ in parts], [name for _, name in parts]
    return tuple(Parameter(role, i, type, name) for i, (type, name) in enumerate(zip(types, names, strict=True)))


def _name(attributes: DictionaryAttr) -> str | None:
    for key in NAME_ATTRIBUTES:
        name = attributes.data.get(key)
        if isinstance(name, StringAttr) and name.data:
            return name.data
    return None
