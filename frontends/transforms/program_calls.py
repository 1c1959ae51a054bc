"""Calls of programs (imported ones, or parts of derivatives) in what is being traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp

from wengert.frontends.tracing.context import active_trace, current_trace
from wengert.frontends.tracing.operands import is_traced, traced, value_of
from wengert.ir.symbols import rename_references

if TYPE_CHECKING:
    from wengert.runtime.program import Program


def apply_program(program: Program, operands: Sequence[Any]) -> Sequence[Any]:
    """A program run on arrays, or called from what is being traced where an operand is traced."""
    program = program.specialized_for(operands)
    if current_trace() is not None and is_traced(*operands):
        return call_program(program, operands)
    return program(*operands)


def call_program(program: Program, operands: Sequence[Any]) -> list[Any]:
    """A call of a program from what is being traced: its functions are copied into the module under names of their own."""
    from wengert.runtime.derived.derivation import with_main
    from wengert.runtime.errors import InputError
    from wengert.transforms.core.tuples import flatten_tuples, has_nested_signature

    trace = active_trace()
    if len(operands) != len(program.signature.arguments):
        raise InputError(f"{program.name} takes {len(program.signature.arguments)} arguments, found {len(operands)}")
    copy = with_main(program.module, program.entry)
    functions = [op for op in copy.body.block.ops if isinstance(op, FuncOp)]
    if any(has_nested_signature(function) for function in functions):
        flatten_tuples(copy)
    names = {f.sym_name.data: trace.module.fresh_name(program.name if f.sym_name.data == "main" else f.sym_name.data) for f in functions}
    rename_references(copy, names)
    for function in functions:
        function.detach()
        function.sym_name = StringAttr(names[function.sym_name.data])
        function.sym_visibility = StringAttr("private")
        function.properties.pop("arg_attrs", None)
        function.properties.pop("res_attrs", None)
        trace.module.add(function)
    values = [value_of(x, p.dtype) for x, p in zip(operands, program.signature.arguments, strict=True)]
    for value, parameter in zip(values, program.signature.arguments, strict=True):
        if value.type != parameter.type:
            raise InputError(f"{program.name}: {parameter} was given a value of type {value.type}")
    types = [p.type for p in program.signature.results]
    return [traced(v) for v in trace.builder.create(CallOp, values, types, {"callee": SymbolRefAttr(names["main"])})]
