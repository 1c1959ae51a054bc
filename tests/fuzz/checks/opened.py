"""A program with extents left open: for the shapes of its inputs it stands for the program that it was made of.

Each type of the program is written with ``?`` for some of its extents, the same ones wherever it occurs. Ops that say their result's shape in its type
become those that take it as a value: constants, or extents of arguments that are asked for; what has no such form is given a new type by a reshape.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

import wengert as wg
from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.attributes import int_attr, ints
from wengert.ir.construction import retype
from wengert.ir.printing.printer import print_module
from wengert.ir.tensor_types import DYNAMIC, i32, i64, rank, shape, tensor
from wengert.ir.traversal import all_ops

STATIC = (hlo.ConstantOp, chlo.ConstantOp, hlo.BroadcastOp, hlo.RngOp, hlo.RngBitGeneratorOp, hlo.BitcastConvertOp, hlo.CustomCallOp)
"""Ops whose result types have to say all extents."""
SHAPED = {hlo.IotaOp: hlo.DynamicIotaOp, hlo.ReshapeOp: hlo.DynamicReshapeOp, hlo.BroadcastInDimOp: hlo.DynamicBroadcastInDimOp}
"""Ops with a form that takes the shape of the result as its last operand."""
COMPUTED: dict[type[Operation], tuple[type[Operation], tuple[str, ...]]] = {
    hlo.PadOp: (hlo.DynamicPadOp, ("edge_padding_low", "edge_padding_high", "interior_padding")),
    hlo.SliceOp: (hlo.RealDynamicSliceOp, ("start_indices", "limit_indices", "strides")),
    hlo.GatherOp: (hlo.DynamicGatherOp, ("slice_sizes",)),
}
"""Ops with a form that takes these of their lists as operands."""


def opened(program: wg.Program, rng: np.random.Generator) -> wg.Program:
    """The program with some extents open. Of one choice of them all, of others a share."""
    module = program.module.clone()
    _Opener(module, rng).open()
    return wg.parse(print_module(module, generic=True), "opened.mlir")


class _Opener:
    def __init__(self, module: ModuleOp, rng: np.random.Generator):
        self.rng, self.share = rng, float(rng.choice([0.3, 0.7, 1.0]))
        self.ops = list(all_ops(module))
        self.main = next(op for op in self.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
        self.types: dict[Attribute, Attribute] = {}
        self.extents: dict[int, tuple[SSAValue, int]] = {}
        """An argument of @main and its dimension that has an extent, where it is left open."""

    def type(self, type: Attribute) -> Attribute:
        """What stands for a type, everywhere."""
        if not isinstance(type, TensorType):
            return type
        whole = cast("TensorType[Any]", type)
        if whole not in self.types:
            extents = [DYNAMIC if self.rng.random() < self.share else n for n in whole.get_shape()]
            self.types[whole] = TensorType(whole.element_type, extents, whole.encoding)
        return self.types[whole]

    def open(self) -> None:
        """Opens all functions."""
        for value in self.main.body.block.args:
            opened = self.type(value.type)
            if isinstance(opened, TensorType):
                self.extents |= {n: (value, d) for d, n in enumerate(shape(value)) if cast("TensorType[Any]", opened).get_shape()[d] == DYNAMIC}
        for op in self.ops:
            self._op(op)

    def _op(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                self._retype(block.args)
        if isinstance(op, FuncOp):
            kind = op.function_type
            op.properties["function_type"] = FunctionType.from_lists([self.type(t) for t in kind.inputs], [self.type(t) for t in kind.outputs])
        elif isinstance(op, STATIC):
            self._reshape_results(op)
        elif type(op) in SHAPED and self.type(op.results[0].type) != op.results[0].type:
            self._replace(op, SHAPED[type(op)], [shape(op.results[0])], dict(op.properties))
        elif type(op) in COMPUTED and rank(op.operands[0]) and self.rng.random() < 0.5:
            cls, lists = COMPUTED[type(op)]
            kept = {name: value for name, value in op.properties.items() if name not in lists}
            self._replace(op, cls, [ints(op.properties[name]) for name in lists], kept)
        else:
            self._retype(op.results)

    def _retype(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            retype(value, self.type(value.type))

    # -- ops that take shapes

    @contextmanager
    def _in_front_of(self, op: Operation) -> Generator[OpBuilder]:
        """A builder of ops that are put in front of another one."""
        block, made = op.parent, Block()
        assert block is not None
        yield OpBuilder(made)
        for inner in list(made.ops):
            inner.detach()
            block.insert_op_before(inner, op)

    def _replace(self, op: Operation, cls: type[Operation], lists: Sequence[Sequence[int]], properties: dict[str, Attribute]) -> None:
        """An op of another class, which takes lists as operands, in the place of an op with one result."""
        with self._in_front_of(op) as b:
            dtype = self._integers()
            operands = [*op.operands, *(self._list(b, op, numbers, dtype) for numbers in lists)]
            made = b.create(cls, operands, [self.type(op.results[0].type)], properties)
        op.results[0].replace_all_uses_with(made[0])
        op.detach()
        op.erase()

    def _reshape_results(self, op: Operation) -> None:
        """Gives what an op that has to be static returns the types that the others have."""
        following = op.next_op
        assert following is not None
        with self._in_front_of(following) as b:
            for value in op.results:
                wanted = self.type(value.type)
                if wanted != value.type:
                    uses = [(use.operation, use.index) for use in value.uses]
                    made = b.one(hlo.DynamicReshapeOp, [value, self._list(b, op, shape(value), self._integers())], wanted)
                    for user, index in uses:
                        user.operands[index] = made

    def _integers(self) -> np.dtype[Any]:
        """The type of an op's lists."""
        return np.dtype(self.rng.choice([np.int32, np.int64]))

    def _list(self, b: OpBuilder, op: Operation, extents: Sequence[int], dtype: np.dtype[Any]) -> SSAValue:
        """A list of integers: a constant, or put together of extents that arguments have and of constants."""
        if not extents or self.rng.random() < 0.5 or not self._sees_arguments(op) or not any(n in self.extents for n in extents):
            return b.constant(np.array(extents, dtype))
        parts: list[SSAValue] = []
        for n in extents:
            if n not in self.extents:
                parts.append(b.constant(np.array([n], dtype)))
                continue
            argument, d = self.extents[n]
            extent = b.one(hlo.GetDimensionSizeOp, [argument], tensor((), i32), dimension=int_attr(d))
            parts.append(b.reshape(b.convert(extent, i32 if dtype == np.int32 else i64), [1]))
        return parts[0] if len(parts) == 1 else b.concatenate(parts, 0)

    def _sees_arguments(self, op: Operation) -> bool:
        """Whether the arguments of @main are in scope."""
        above = op.parent_op()
        while above is not None and above is not self.main:
            if above.has_trait(IsolatedFromAbove):
                return False
            above = above.parent_op()
        return above is self.main
