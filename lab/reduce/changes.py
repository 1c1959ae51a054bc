"""Changes that make a program smaller, each of a module in place: ops become arguments or give way to their operands, branches and loops to their bodies.

A change is a function of a module, its ``@main`` and the inputs; it returns the inputs of the smaller program, or None if it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects.stablehlo import CaseOp, ConstantOp, IfOp, WhileOp
from wengert.ir.elements import from_numpy, to_numpy
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.lab.reduce.candidate import Array
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import parse_pipeline

Inputs = list[Array]
Change = Callable[[ModuleOp, FuncOp, Inputs], "Inputs | None"]


def main_of(module: ModuleOp) -> FuncOp:
    """The function ``@main``."""
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")


def operations(main: FuncOp) -> list[Operation]:
    """The ops of a function's block but for its return."""
    return [op for op in main.body.block.ops if not isinstance(op, ReturnOp)]


def inner_operations(main: FuncOp) -> list[Operation]:
    """Ops in regions, the last first."""
    outer = set(main.body.block.ops)
    return [op for op in reversed(list(main.walk())) if op is not main and op not in outer and op.results]


def returned(main: FuncOp) -> list[SSAValue]:
    """The values that a function returns."""
    last = main.body.block.last_op
    assert last is not None
    return list(last.operands)


def returning(main: FuncOp, values: Sequence[SSAValue], inputs: Inputs) -> Inputs:
    """Returns these values instead."""
    last = main.body.block.last_op
    assert last is not None
    last.detach()
    last.erase()
    main.body.block.add_op(ReturnOp(*values))
    return inputs


def inlined(module: ModuleOp, main: FuncOp, inputs: Inputs) -> Inputs | None:
    """Inlines all calls, and removes the functions that were called."""
    if not any(isinstance(op, CallOp) for op in module.walk()) and sum(isinstance(op, FuncOp) for op in module.ops) == 1:
        return None
    parse_pipeline("inline,symbol-dce").run(module)
    return inputs


def without_attributes(module: ModuleOp, main: FuncOp, inputs: Inputs) -> Inputs | None:
    """Drops what ops, arguments and functions carry besides what they are."""
    marked = [op for op in module.walk() if op.attributes and op is not main and not isinstance(op, FuncOp)]
    functions = [op for op in module.ops if isinstance(op, FuncOp) and (op.arg_attrs is not None or op.res_attrs is not None)]
    for op in marked:
        op.attributes.clear()
    for function in functions:
        function.arg_attrs = function.res_attrs = None
    return inputs if marked or functions else None


def constants_as_arguments(module: ModuleOp, main: FuncOp, inputs: Inputs) -> Inputs | None:
    """Constants with different elements become arguments, which are easy to cut."""
    ops = [op for op in operations(main) if isinstance(op, ConstantOp) and not op.value.is_splat()]
    block = main.body.block
    for op in ops:
        op.results[0].replace_all_uses_with(block.insert_arg(op.results[0].type, len(block.args)))
        inputs.append(np.array(to_numpy(op.value)))
    return inputs if ops else None


def made_arguments(module: ModuleOp, main: FuncOp, positions: range, inputs: Inputs) -> Inputs | None:
    """Replaces ops of the entry block by arguments with the values that they have."""
    ops = [op for i, op in enumerate(operations(main)) if i in positions and not isinstance(op, ConstantOp)]
    wanted = [r for op in ops for r in op.results if r.first_use is not None]
    if not ops or any(not isinstance(r.type, TensorType) for r in wanted):
        return None
    whole = module.clone()
    twin = main_of(whole)
    numbers = {op: i for i, op in enumerate(operations(main))}
    values: list[SSAValue] = [operations(twin)[numbers[cast(Any, r).op]].results[cast(Any, r).index] for r in wanted]
    returning(twin, values, inputs)
    retype(twin)
    actual = run(whole, inputs)
    block = main.body.block
    for r in wanted:
        r.replace_all_uses_with(block.insert_arg(r.type, len(block.args)))
    for op in reversed(ops):
        op.detach()
        op.erase()
    return [*inputs, *actual]


WAYS = ("operand", "argument", "one")


def bypassed(op: Operation, inputs: Inputs, way: str = "operand") -> Inputs | None:
    """Replaces an op by an operand of its result's type, an argument of its block of that type, or a constant one."""
    block = op.parent_block()
    if not op.results or block is None:
        return None
    for r in op.results:
        if r.first_use is None:
            continue
        values = [v for v in (op.operands if way == "operand" else block.args if way == "argument" else ()) if v.type == r.type]
        type: Attribute = r.type
        if way == "one" and isinstance(type, TensorType) and not isinstance(op, ConstantOp):
            ones = from_numpy(np.ones(shape(r), dtype_of(element(r))))
            constant = ConstantOp.create(result_types=[r.type], properties={"value": ones}, location=op.location)
            block.insert_op_before(constant, op)
            values = [constant.results[0]]
        if not values:
            return None
        r.replace_all_uses_with(values[0])
    op.detach()
    op.erase()
    return inputs


def one_branch(op: Operation, k: int, inputs: Inputs) -> Inputs | None:
    """Replaces a branch op by one of its branches."""
    if not isinstance(op, CaseOp | IfOp) or k >= len(op.regions):
        return None
    _moved_out(op, op.regions[k].block.ops)
    return inputs


def one_iteration(op: Operation, inputs: Inputs) -> Inputs | None:
    """Replaces a loop by its body, run once."""
    if not isinstance(op, WhileOp) or not op.operands:
        return None
    block = op.regions[1].block
    for argument, value in zip(block.args, op.operands, strict=True):
        argument.replace_all_uses_with(value)
    _moved_out(op, block.ops)
    return inputs


def _moved_out(op: Operation, inside: Any) -> None:
    """Moves the ops of a region in front of the op that holds it, which gives way to what they return."""
    outer = op.parent_block()
    assert outer is not None
    moving: list[Operation] = list(inside)
    for inner in moving:
        inner.detach()
        if inner is moving[-1]:
            for r, v in zip(op.results, inner.operands, strict=True):
                r.replace_all_uses_with(v)
            inner.erase()
        else:
            outer.insert_op_before(inner, op)
    op.detach()
    op.erase()


def tidied(module: ModuleOp, inputs: Inputs) -> Inputs:
    """Drops ops that nothing uses, and arguments; returns the inputs of those that stay."""
    main = main_of(module)
    changed = True
    while changed:
        changed = False
        for op in reversed(list(main.walk())):
            if op.results and op.parent_block() is not None and all(r.first_use is None for r in op.results):
                op.detach()
                op.erase()
                changed = True
    block = main.body.block
    kept = [i for i, a in enumerate(block.args) if a.first_use is not None]
    for i in reversed(range(len(block.args))):
        if i not in kept:
            block.erase_arg(block.args[i])
    retype(main)
    return [inputs[i] for i in kept]


def retype(main: FuncOp) -> None:
    """Gives a function the type of its arguments and of what it returns."""
    main.function_type = FunctionType.from_lists([a.type for a in main.body.block.args], [v.type for v in returned(main)])
    main.arg_attrs = main.res_attrs = None


def small_numbers(x: Array) -> Array:
    """0, 1, 2, 3, 4, 0, 1, ..."""
    numbers: Array = np.arange(x.size) % 5
    return numbers.astype(x.dtype).reshape(x.shape)


SIMPLE: tuple[Callable[[Array], Array], ...] = (np.zeros_like, np.ones_like, small_numbers)
"""The simplest inputs of the type of one."""


def simpler(x: Array) -> Iterator[Array]:
    """Simpler inputs in place of one: zeros, ones, small numbers, fewer digits."""
    yield from (form(x) for form in SIMPLE)
    if x.dtype.kind not in "fcV":
        return
    wide: Any = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    with np.errstate(all="ignore"):
        for digits in (0, 1, 2):
            yield np.asarray(np.round(wide, digits), x.dtype)
        if not np.isfinite(wide).all():
            yield np.where(np.isfinite(wide), 1, wide).astype(x.dtype)
            yield np.where(np.isfinite(wide), wide, 1).astype(x.dtype)
