"""The pass ``natives-to-nests``: convolutions, reductions of windows, running combinations and argreduce as nests.

On a CPU these ops have code of their own, in ``kernel.native``. On a target whose kernels are all made from nests they would run nowhere, so
each becomes one nest, or a few where it pays, whose guards stand for padding and dilation: no memory is taken for either.

Before and after::

    %y = kernel.native ... { core.window_reduce add %x window=[3] padding=[1, 1] ... }

    %y = kernel.nest (d0, d1) = (0, 0) to (8, 3) iterators [parallel, reduction] {
      %0 = kernel.load %x[d0 + d1 - 1] where 0 <= d0 + d1 - 1 < 8
      %1 = kernel.within 0 <= d0 + d1 - 1 < 8
      %2 = kernel.select %1, %0, 0.0
      kernel.yield add %2 to out0[d0]
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel import InterpretOp, NativeOp
from wengert.ir.construction import erase, replace_uses
from wengert.ir.tensor_types import element, shape
from wengert.ir.traversal import ops_in
from wengert.transforms.core.kinds import neutral
from wengert.transforms.kernel.blocks import kernel_blocks
from wengert.transforms.kernel.native_nests.convolutions import convolution
from wengert.transforms.kernel.native_nests.extremes import argreduce
from wengert.transforms.kernel.native_nests.place import Place
from wengert.transforms.kernel.native_nests.scans import cumulative
from wengert.transforms.kernel.native_nests.windows import window_reduce

_REWRITTEN = (stablehlo.ConvolutionOp, core.WindowReduceOp, core.CumulativeOp, core.ArgReduceOp)


@dataclass(frozen=True)
class NativesToNestsPass(ModulePass):
    """Writes ops with code of their own as nests, where there is a form for that; long running sums and products only if they may be reassociated."""

    name = "natives-to-nests"

    reassociate: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            for native in ops_in(block):
                if isinstance(native, NativeOp | InterpretOp):
                    self._rewrite(native)

    def _rewrite(self, op: NativeOp | InterpretOp) -> None:
        inner = op.body.block.first_op
        assert inner is not None
        operands = [op.inputs[op.body.block.args.index(value)] for value in inner.operands]
        results = self._nests(Place(op), inner, operands)
        if results:
            for old, new in zip(op.outputs, results, strict=True):
                replace_uses(old, new)
            erase(op)

    def _nests(self, place: Place, op: Operation, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """What stands for the results of an op; nothing if it stays as it is."""
        if not isinstance(op, _REWRITTEN):
            return []
        if any(0 in shape(value) for value in (*operands, *op.results)):
            return _of_nothing(place, op)
        if isinstance(op, stablehlo.ConvolutionOp):
            return convolution(place, op, operands)
        if isinstance(op, core.WindowReduceOp):
            return window_reduce(place, op, operands)
        if isinstance(op, core.CumulativeOp):
            return cumulative(place, op, operands, reassociate=self.reassociate)
        return argreduce(place, op, operands)


def _of_nothing(place: Place, op: Operation) -> Sequence[SSAValue]:
    """The results of an op where operands or results have no elements: nothing either, or sums and combinations of no elements."""
    if all(0 in shape(result) for result in op.results):
        return [place.nothing(result.type) for result in op.results]
    if isinstance(op, stablehlo.ConvolutionOp):
        return [place.full(0, op.result.type)]
    if isinstance(op, core.WindowReduceOp):
        return [place.full(neutral(op.kind.data, element(op.operand)), op.result.type)]
    return []
