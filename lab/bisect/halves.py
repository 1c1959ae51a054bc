"""Derivatives whose halves stand apart, as one function: so that what ``linearize``, ``transpose`` and the passes between them leave can be run and compared.

Before and after::

    @main(%x) -> (%y, %r)                      @main(%x, %x_dot) -> (%y, %y_dot) { call @main_forward, call @main_linear }
    @main_linear(%r, %x_dot) -> %y_dot
"""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from wengert.dialects.ad_parts import Parts, forget_parts, linear_arguments, parts_of
from wengert.ir.construction import copy_module


def halves_of(module: ModuleOp) -> Parts | None:
    """``@main`` and its linear part, if it has one."""
    return next((parts for parts in parts_of(module) if parts.forward.sym_name.data == "main"), None)


def as_one(module: ModuleOp) -> ModuleOp:
    """A module whose ``@main`` takes inputs and the arguments of the linear part, and returns the outputs and the results of the linear part; the module
    itself if ``@main`` has no linear part."""
    if halves_of(module) is None:
        return module
    copy = copy_module(module)
    parts = halves_of(copy)
    assert parts is not None
    forward, linear = parts.forward, parts.linear
    positions = linear_arguments(linear) or ()
    names = {op.sym_name.data for op in copy.ops if isinstance(op, FuncOp)}
    forward.sym_name = StringAttr(next(name for k in range(len(names) + 1) if (name := f"main_forward{k or ''}") not in names))
    inputs, outputs = forward.function_type.inputs.data, forward.function_type.outputs.data
    block = Block(arg_types=[*inputs, *(linear.function_type.inputs.data[i] for i in positions)])
    first = CallOp(forward.sym_name.data, list(block.args[: len(inputs)]), list(outputs))
    residuals, moving = iter([first.results[k] for k in parts.residuals]), iter(block.args[len(inputs) :])
    taken: list[SSAValue] = [next(moving) if i in positions else next(residuals) for i in range(len(linear.function_type.inputs.data))]
    second = CallOp(linear.sym_name.data, taken, list(linear.function_type.outputs.data))
    results = [*(r for k, r in enumerate(first.results) if k not in parts.residuals), *second.results]
    block.add_ops([first, second, ReturnOp(*results)])
    kind = FunctionType.from_lists([a.type for a in block.args], [r.type for r in results])
    for function in (forward, linear):
        forget_parts(function)
        function.sym_visibility = StringAttr("private")
    copy.body.block.insert_op_before(FuncOp("main", kind, Region(block), "public"), forward)
    return copy
