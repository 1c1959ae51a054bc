"""Batching of calls that are not inlined, because the function declares its own derivative.

The batched function declares the batched derivative as its own. All arguments and results of both are batched, so that their types
agree. A declared derivative that is not there (rules of rules, deeper than were imported) is none of the batched function either: an error for
whoever asks for it, not for a batch.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute

from wengert.dialects import ad
from wengert.transforms.ad.batching.function import Axes, batch_function
from wengert.transforms.ad.batching.rule import Batching, Functions, Operands, Results, batches
from wengert.transforms.ad.requests.custom import CUSTOM_JVP, CUSTOM_VJP, REFUSED, SYMBOLIC_ZEROS
from wengert.transforms.ad.requests.request import function_named


@batches(CallOp)
def call(batch: Batching, op: CallOp, operands: Operands) -> Results:
    name = batched_function(batch.functions, op.callee.string_value())
    batched_call = CallOp.create(
        operands=[batch.broadcast(x) for x in operands], result_types=[batch.type(r.type) for r in op.results], properties={"callee": SymbolRefAttr(name)}
    )
    return batch.b.insert(batched_call).results


@batches(ad.LinearCallOp)
def linear_call(batch: Batching, op: ad.LinearCallOp, operands: Operands) -> Results:
    symbols = {key: SymbolRefAttr(batched_function(batch.functions, s.string_value())) for key, s in op.properties.items() if isinstance(s, SymbolRefAttr)}
    values = [batch.broadcast(x) for x in operands]
    return batch.b.create(ad.LinearCallOp, values, [batch.type(r.type) for r in op.results], {**op.properties, **symbols})


def batched_function(functions: Functions, name: str, in_axes: Axes | None = None) -> str:
    """The name of the batched version of a function, made on first use. All results are batched, and all arguments unless ``in_axes`` says which."""
    key = name if in_axes is None or None not in in_axes else f"{name} {in_axes}"
    if key in functions.names:
        return functions.names[key]
    original = function_named(functions.module, name)
    functions.names[key] = new_name = _fresh_name(functions, f"{name}_batch")
    function = batch_function(original, in_axes, None, functions.size, new_name, functions)
    function.properties["sym_visibility"] = StringAttr("private")
    functions.module.body.block.add_op(function)
    for kind in (CUSTOM_JVP, CUSTOM_VJP):
        if (declared := original.attributes.get(kind)) is not None:
            function.attributes[kind] = _batched_symbols(functions, declared)
    for attribute in (REFUSED, SYMBOLIC_ZEROS):
        if (stated := original.attributes.get(attribute)) is not None:
            function.attributes[attribute] = stated
    return new_name


def _fresh_name(functions: Functions, base: str) -> str:
    taken = {op.sym_name.data for op in functions.module.ops if isinstance(op, FuncOp)} | set(functions.names.values())
    return next(name for n in range(len(taken) + 1) if (name := f"{base}_{n}" if n else base) not in taken)


def _batched_symbols(functions: Functions, declared: Attribute) -> Attribute:
    if isinstance(declared, ArrayAttr):
        return ArrayAttr([_batched_symbols(functions, item) for item in cast("ArrayAttr[Attribute]", declared)])
    if not any(isinstance(op, FuncOp) and op.sym_name == cast(SymbolRefAttr, declared).root_reference for op in functions.module.ops):
        return declared
    return SymbolRefAttr(batched_function(functions, cast(SymbolRefAttr, declared).string_value()))
