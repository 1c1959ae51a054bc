"""The body of a kernel for some threads of a larger group: all threads pass its barriers, the others do nothing between them.

Before and after::

    A                           %r = scf.if %in { A; scf.yield %x } else { scf.yield %zero }
    gpu.barrier                 gpu.barrier
    B(%x)                       scf.if %in { B(%r) }

Loops that hold barriers run as often in all threads, as their bounds are constants or positions that all threads compute.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, complex, scf
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IndexType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects.gpu import BarrierOp
from wengert.ir.construction import append, block_with, copy_op
from wengert.ir.tensor_types import is_complex
from wengert.ir.traversal import all_ops, operands_of, ops_in
from wengert.transforms.codegen.gpu.code import Code

_CONSTANTS = (arith.ConstantOp, complex.ConstantOp)
_POSITIONS = (arith.AddiOp, arith.MuliOp, arith.DivUIOp, arith.RemUIOp, arith.CmpiOp)


def can_be_masked(block: Block) -> bool:
    """Whether barriers stand in the block itself or in loops of it, with constant bounds."""
    for op in ops_in(block):
        if op.regions and holds_barrier(op):
            if not isinstance(op, scf.ForOp) or not all(isinstance(bound.owner, arith.ConstantOp) for bound in (op.lb, op.ub, op.step)):
                return False
            if not can_be_masked(op.body.block):
                return False
    return True


def holds_barrier(op: Operation) -> bool:
    """Whether there is a barrier inside of an op."""
    return any(isinstance(inner, BarrierOp) for inner in all_ops(op))


class Masking:
    """Writes bodies to where ``code`` is; ``taken`` says whether a thread has a part in them, ``values`` what stands for values of the old body."""

    def __init__(self, code: Code, taken: SSAValue, values: dict[SSAValue, SSAValue]):
        self.code, self.taken, self.values = code, taken, values

    def write(self, block: Block) -> Operation:
        """Writes the ops of a block but for its end, which is returned."""
        ops = ops_in(block)
        between: list[Operation] = []
        for op in ops[:-1]:
            if isinstance(op, BarrierOp):
                self._write_masked(between)
                append(self.code.block, copy_op(op, self.values))
            elif isinstance(op, scf.ForOp) and holds_barrier(op):
                self._write_masked(between)
                self._loop(op)
            elif _is_free(op) and not _uses(op, between):
                append(self.code.block, copy_op(op, self.values))
            else:
                between.append(op)
        self._write_masked(between)
        return ops[-1]

    def _loop(self, op: scf.ForOp) -> None:
        block = block_with([argument.type for argument in op.body.block.args])
        for old, new in zip(op.body.block.args, block.args, strict=True):
            self.values[old] = new
        with self.code.inside(block):
            end = self.write(op.body.block)
            append(block, scf.YieldOp.create(operands=[self.values.get(value, value) for value in operands_of(end)]))
        operands = [self.values.get(value, value) for value in operands_of(op)]
        made = scf.ForOp.create(operands=operands, result_types=[result.type for result in op.results], regions=[Region(block)])
        append(self.code.block, made)
        self.values.update(zip(op.results, made.results, strict=True))

    def _write_masked(self, ops: list[Operation]) -> None:
        """Writes ops for the threads that have a part; what others see of their results is zero."""
        if not ops:
            return
        results = [result for op in ops for result in op.results if _is_used_outside(result, ops)]
        then = Block()
        for op in ops:
            append(then, copy_op(op, self.values))
        append(then, scf.YieldOp.create(operands=[self.values[result] for result in results]))
        regions = [Region(then), Region()]
        if results:
            zeros = [self._zero(result.type) for result in results]
            regions[1] = Region(Block([scf.YieldOp.create(operands=zeros)]))
        made = scf.IfOp.create(operands=[self.taken], result_types=[result.type for result in results], regions=regions)
        append(self.code.block, made)
        self.values.update(zip(results, made.results, strict=True))
        ops.clear()

    def _zero(self, type: Attribute) -> SSAValue:
        if is_complex(type):
            zero = FloatAttr(0.0, type.element_type)
            return self.code.literal(ArrayAttr([zero, zero]), type, complex.ConstantOp)
        return self.code.constant(0, type)


def _is_free(op: Operation) -> bool:
    """Whether all threads may do an op: it computes a position or whether it is within bounds, and has no effect."""
    return isinstance(op, _CONSTANTS) or (isinstance(op, _POSITIONS) and all(isinstance(value.type, IndexType) for value in op.operands))


def _uses(op: Operation, ops: Sequence[Operation]) -> bool:
    """Whether an op uses what others compute."""
    return any(value.owner in ops for value in operands_of(op) if isinstance(value.owner, Operation))


def _is_used_outside(value: SSAValue, ops: Sequence[Operation]) -> bool:
    """Whether others than these ops, or what is inside of them, use a value."""
    return any(not _is_within(use.operation, ops) for use in value.uses)


def _is_within(op: Operation | None, ops: Sequence[Operation]) -> bool:
    while op is not None:
        if any(op is other for other in ops):
            return True
        op = op.parent_op()
    return False
