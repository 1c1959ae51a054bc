"""The batched version of a function: batch dimensions are moved to the front of arguments, and to their places in results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.process_groups import Grid, declared_grid, inferred_grid, is_collective
from wengert.ir.attributes import ints
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import DYNAMIC, rank, shape_of_type, tensor
from wengert.ir.traversal import all_ops
from wengert.transforms.ad.batching.rule import Batching, Functions, Mapped
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.requests.request import make_request

Axes = Sequence[int | None]
"""A dimension for each argument or result; None for one that is the same for all batch elements."""


def batch_function(function: FuncOp, in_axes: Axes | None, out_axes: Axes | None, size: int, name: str, functions: Functions | None = None) -> FuncOp:
    """The batched version of a core-level function under a new name; ``functions`` are those already made for the same batch."""
    request = make_request(function, (), ())
    if size < 0:
        raise _bad(function, f"size={size} is negative")
    types = [arg.type for arg in request.block.args]
    starts = _checked(function, "in_axes", "argument", types, in_axes)
    ends = _checked(function, "out_axes", "result", [v.type for v in request.results], out_axes)
    block = Block(arg_types=[type if axis is None else batched_type(type, axis, size) for type, axis in zip(types, starts, strict=True)])
    for old, new in zip(request.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
    b = begin_function(block, function, "batch")
    walk = Batching(b, size, functions or Functions(request.module, size, unsure=_unsure(function, request.module)))
    arguments = [Mapped(a, False) if axis is None else Mapped(moved(b, a, axis, 0), True) for a, axis in zip(block.args, starts, strict=True)]
    outputs = walk.run(request.block, arguments)
    results: list[Value] = []
    for j, (x, axis) in enumerate(zip(outputs, ends, strict=True)):
        if axis is None and x.batched:
            raise _bad(
                function,
                f"out_axes[{j}] says that result {j} of @{function.sym_name.data} is the same for all batch elements, but it depends on a batched argument",
            )
        results.append(x.value if axis is None else moved(b, walk.broadcast(x), 0, axis))
    return finish_function(block, results, name, function)


def _unsure(function: FuncOp, module: ModuleOp) -> frozenset[Operation]:
    """The collectives under conditions that are not known to be the same on all devices."""
    ops = list(all_ops(function))
    if not any(is_collective(op) for op in ops):
        return frozenset()
    from wengert.transforms.spmd.uniformity import unsure

    return frozenset(unsure(function, declared_grid(module) or inferred_grid(ops) or Grid(2)))


def from_signed(axes: Sequence[int] | None) -> Axes | None:
    """Axes as the text of ops and passes has them, where -1 means that a value is not batched."""
    return None if axes is None else [None if axis == -1 else axis for axis in axes]


def batch_size(op: ad.BatchOp) -> int:
    """The batch size of a request, by the types of its arguments or results."""
    axes = [*zip(op.arguments, ints(op.in_axes), strict=False), *zip(op.results, ints(op.out_axes), strict=False)]
    extents = [shape_of_type(cast("TensorType[Any]", value.type)) for value, _ in axes]
    sizes = {dims[axis] for dims, (_, axis) in zip(extents, axes, strict=True) if 0 <= axis < len(dims)}
    if len(sizes) != 1:
        problem = f"finds {' and '.join(map(str, sorted(sizes)))}" if sizes else "has no batched argument or result"
        raise refuse(op, f"needs one number of batch elements, but {problem}")
    return sizes.pop()


def batched_type(type: Attribute, axis: int, size: int) -> TensorType[Any]:
    """A tensor type with one more dimension."""
    static = cast("TensorType[Any]", type)
    extents = list(shape_of_type(static))
    extents.insert(axis, size)
    return tensor(extents, static.element_type)


def moved(b: OpBuilder, x: Value, source: int, target: int) -> Value:
    """x with one of its dimensions moved elsewhere."""
    order = [d for d in range(rank(x)) if d != source]
    order.insert(target, source)
    return b.transpose(x, order)


def _checked(function: FuncOp, option: str, noun: str, types: Sequence[Attribute], axes: Axes | None) -> Axes:
    if axes is None:
        axes = [0] * len(types)
    if len(axes) != len(types):
        raise _bad(function, f"{option} has {len(axes)} entries, but @{function.sym_name.data} has {len(types)} {noun}s")
    for i, (axis, type) in enumerate(zip(axes, types, strict=True)):
        if axis is None:
            continue
        if not isinstance(type, TensorType):
            raise _bad(function, f"{option}[{i}]={axis}: {noun} {i} of @{function.sym_name.data} has type {type} and cannot be batched")
        extents = shape_of_type(cast("TensorType[Any]", type))
        if DYNAMIC in extents:
            raise _bad(function, f"{option}[{i}]={axis}: {noun} {i} of @{function.sym_name.data} has type {type}; only static shapes can be batched")
        if not 0 <= axis <= len(extents):
            raise _bad(
                function, f"{option}[{i}]={axis} is out of range: {noun} {i} of @{function.sym_name.data} has type {type}, so 0 to {len(extents)} is possible"
            )
    return axes


def _bad(function: FuncOp, message: str) -> DiagnosticError:
    return error_at(function, message)
