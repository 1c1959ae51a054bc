"""``batch``: a function of many instances from a function of one.

``(inputs) -> (outputs)`` becomes the same with a dimension more: argument i holds its instances along dimension
``in_axes[i]``, result j along ``out_axes[j]``; None means that there is one value for all. See :mod:`.batching.rule` for how.

Before and after ``batch{size=8}``::

    func @main(%x: tensor<3xf64>) -> tensor<3xf64>         func @main(%x: tensor<8x3xf64>) -> tensor<8x3xf64>
      %0 = stablehlo.sine %x : tensor<3xf64>                 %0 = stablehlo.sine %x : tensor<8x3xf64>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block
from xdsl.passes import ModulePass

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.locations import error_at
from wengert.ir.tensor_types import rank, shape_of_type, tensor
from wengert.transforms.ad.batching.rule import Batching, Mapped
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.request import function_named, request

Axes = Sequence[int | None]


@dataclass(frozen=True)
class BatchPass(ModulePass):
    """Replaces a function by its batched form."""

    name = "batch"

    size: int
    fn: str = "main"
    in_axes: tuple[int, ...] | None = None
    """Where each argument holds its instances, -1 for one value for all; by default dimension 0 of every argument."""
    out_axes: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        batch(op, self.size, self.fn, from_signed(self.in_axes), from_signed(self.out_axes))


def from_signed(axes: Sequence[int] | None) -> Axes | None:
    """Axes as the text of ops and passes has them, where -1 means that a value is not batched."""
    return None if axes is None else [None if axis == -1 else axis for axis in axes]


def batch(module: ModuleOp, size: int, fn: str = "main", in_axes: Axes | None = None, out_axes: Axes | None = None) -> None:
    """Replaces ``fn`` by its batched form, in place. The module is brought to core level first.

    Raises DiagnosticError for axes that do not fit, for a result that is not to be batched but depends on the instance, and
    for ops that cannot be batched, by name and place.
    """
    prepare(module)
    function = function_named(module, fn)
    made = batch_function(function, in_axes, out_axes, size, fn)
    block = module.body.block
    block.insert_op_before(made, function)
    made.arg_attrs, made.res_attrs = function.arg_attrs, function.res_attrs
    block.erase_op(function, safe_erase=False)


def batch_function(function: FuncOp, in_axes: Axes | None, out_axes: Axes | None, size: int, name: str) -> FuncOp:
    """The batched form of a core-level function under a new name."""
    asked = request(function, (), ())
    if size < 0:
        raise _bad(function, f"size={size} is negative")
    types = [arg.type for arg in asked.block.args]
    starts = _checked(function, "in_axes", "argument", types, in_axes)
    ends = _checked(function, "out_axes", "result", [v.type for v in asked.results], out_axes)
    block = Block(arg_types=[type if axis is None else batched_type(type, axis, size) for type, axis in zip(types, starts, strict=True)])
    for old, new in zip(asked.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
    b = begin_function(block, function, "batch")
    walk = Batching(b, size, asked.module)
    given = [Mapped(a, False) if axis is None else Mapped(moved(b, a, axis, 0), True) for a, axis in zip(block.args, starts, strict=True)]
    found = walk.run(asked.block, given)
    results: list[Value] = []
    for j, (x, axis) in enumerate(zip(found, ends, strict=True)):
        if axis is None and x.batched:
            raise _bad(
                function, f"out_axes[{j}] says that result {j} of @{function.sym_name.data} is the same for all instances, but it depends on a batched argument"
            )
        results.append(x.value if axis is None else moved(b, walk.spread(x), 0, axis))
    return finish_function(block, results, name, function)


def batched_type(type: Attribute, axis: int, size: int) -> TensorType[Any]:
    """A tensor type with one more dimension."""
    found = cast("TensorType[Any]", type)
    extents = list(shape_of_type(found))
    extents.insert(axis, size)
    return tensor(extents, found.element_type)


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
        if not 0 <= axis <= len(extents):
            raise _bad(
                function, f"{option}[{i}]={axis} is out of range: {noun} {i} of @{function.sym_name.data} has type {type}, so 0 to {len(extents)} is possible"
            )
    return axes


def _bad(function: FuncOp, message: str) -> DiagnosticError:
    return error_at(function.location, message)
