"""From a core-level program to a kernel-level one: fusion, then one op per kernel."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp

from wengert.dialects.core import WindowReduceOp
from wengert.dialects.stablehlo import ConvolutionOp, DotGeneralOp
from wengert.ir.locations import describe
from wengert.ir.tensor_types import ADDRESSABLE, bytes_of_type
from wengert.ir.traversal import ops_in, ops_of
from wengert.ir.unregistered import written_name
from wengert.transforms.fuse.build import build
from wengert.transforms.fuse.fusion import plan
from wengert.transforms.fuse.promote import widened
from wengert.transforms.fuse.roles import is_compilable, is_storable


class LoweringError(ValueError):
    """A program that cannot be compiled; the message names the op or argument and its place."""


def function(module: ModuleOp, entry: str) -> FuncOp:
    """The function of this name; a LoweringError if there is none with a body."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == entry and op.body.blocks:
            return op
    raise LoweringError(f"there is no function @{entry}")


def lower(module: ModuleOp, entry: str = "main", *, reassociate: bool = True) -> ModuleOp:
    """The kernel-level module for a function of tensor ops with static shapes and no calls; the input is not changed.

    Long sums are added up in parts if ``reassociate`` allows it.

    Raises:
        LoweringError: a type that cannot be held in memory (a dynamic shape, a token, a tuple), or that no machine can address.
    """
    found = function(module, entry)
    block = found.body.block
    for number, argument in enumerate(block.args):
        if not is_compilable(argument.type):
            raise LoweringError(f"{describe(found.location)}: error: argument {number} of @{entry} has type {argument.type}, which cannot be compiled")
    for op in ops_in(block):
        for result in op.results:
            if not is_storable(result.type):
                raise LoweringError(f"{describe(op.location)}: error: '{written_name(op)}' has a result of type {result.type}, which cannot be compiled")
            type: Any = result.type
            if isinstance(type, TensorType) and (needed := bytes_of_type(cast("TensorType[Any]", type))) > ADDRESSABLE:
                size = f"{needed / 2**40:.0f} TiB, more than any machine can address"
                raise LoweringError(f"{describe(op.location)}: error: '{written_name(op)}' has a result of type {result.type}: {size}")
    found = widened(found)
    if ops_of(found, ConvolutionOp):
        from wengert.transforms.fuse.patches import patched  # here: most programs do without

        found = patched(found)
    if ops_of(found, WindowReduceOp):
        from wengert.transforms.fuse.windows import prepared

        found = prepared(found, reassociate=reassociate)
    if ops_of(found, DotGeneralOp):
        from wengert.transforms.fuse.complex_products import by_parts
        from wengert.transforms.fuse.short_products import expanded

        found = expanded(by_parts(found))
    block = found.body.block
    return build(block, plan(block), entry, reassociate=reassociate)
