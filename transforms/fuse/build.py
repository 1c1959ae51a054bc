"""The pass ``fuse``: turns core-level functions into kernel-level ones, with one op for each group of the fusion plan.

A group of fused ops becomes a loop nest (:mod:`wengert.transforms.fuse.nests`), a contraction a matrix product, a loop or
a branch itself with kernel-level regions, and whatever is left runs in a ``kernel.interpret``.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.dialects.kernel import EmptyOp, InterpretOp, NativeOp, StripMineOp, YieldOp
from wengert.dialects.kernel.level import holds_kernels
from wengert.ir.construction import append, block_with, copy_op, detach, insert_before
from wengert.ir.location.locations import rewritten
from wengert.ir.tensor_types import shape
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.codegen.cpu.native import kernel_class
from wengert.transforms.fuse.contractions import matmul, strided
from wengert.transforms.fuse.fusion import captured, plan
from wengert.transforms.fuse.nests import NestBuilder
from wengert.transforms.fuse.plan import Plan
from wengert.transforms.fuse.roles import Role, role


@dataclass(frozen=True)
class FusePass(ModulePass):
    """Groups the ops of every function into kernels: loop nests, matrix products, and what has code of its own or none.

    A function that holds kernels already is left as it is. On a CPU, arrays that a loop overwrites whole begin without contents; on a GPU, launches that are
    merged read them as a whole.
    """

    name = "fuse"
    target: str = "cpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in ops_in(op.body.block):
            if isinstance(function, FuncOp) and function.body.blocks and not holds_kernels(function):
                insert_before(function, fused(function, empty_stacks=self.target == "cpu"))
                detach(function)

    def rebuilt(self, module: ModuleOp) -> ModuleOp:
        empty = self.target == "cpu"
        ops = [
            fused(op, empty_stacks=empty) if isinstance(op, FuncOp) and op.body.blocks and not holds_kernels(op) else copy_op(op, {})
            for op in ops_in(module.body.block)
        ]
        made = ModuleOp(ops, module.attributes, module.sym_name)
        made.location = module.location
        return made


def fused(function: FuncOp, *, empty_stacks: bool = True) -> FuncOp:
    """A function of kernel ops that computes what one of tensor ops does. Arrays that loops overwrite whole begin without contents if ``empty_stacks``."""
    block, results = _fused_block(function.body.block, empty_stacks)
    append(block, ReturnOp.create(operands=results))
    return FuncOp.create(properties=function.properties, attributes=function.attributes, regions=[Region([block])], location=function.location)


def _fused_block(block: Block, empty_stacks: bool) -> tuple[Block, list[SSAValue]]:
    """A block of kernel ops without its terminator, and the values that it ends with."""
    outer = block_with([arg.type for arg in block.args])
    for old, new in zip(block.args, outer.args, strict=True):
        new.name_hint = old.name_hint
    builder = _FunctionBuilder(block, plan(block, empty_stacks=empty_stacks), outer, empty_stacks)
    builder.run()
    last = block.last_op
    assert last is not None
    return outer, [builder.in_memory(operand) for operand in operands_of(last)]


class _FunctionBuilder:
    def __init__(self, block: Block, plan: Plan, outer: Block, empty_stacks: bool):
        self.plan = plan
        self.empty_stacks = empty_stacks
        self.outer = outer
        self.env: dict[SSAValue, SSAValue] = dict(zip(block.args, outer.args, strict=True))

    def run(self) -> None:
        for number, group in enumerate(self.plan.groups):
            if group.domain is None:
                (op,) = group.members
                assert isinstance(op, Operation)
                self._whole(op)
            else:
                NestBuilder(self, number, group).run()

    def resolve(self, value: SSAValue) -> SSAValue:
        """The value behind barriers."""
        while value in self.plan.alias:
            value = self.plan.alias[value]
        return value

    def in_memory(self, value: SSAValue) -> SSAValue:
        """The tensor that holds a value which the plan keeps in memory."""
        value = self.resolve(value)
        stored = self.env.get(value)
        if stored is None:
            stored = self.env[value] = self._materialise(value)
        return stored

    def _materialise(self, value: SSAValue) -> SSAValue:
        owner = value.owner
        if isinstance(owner, stablehlo.ReshapeOp):
            op: Operation = stablehlo.ReshapeOp.create(operands=[self.in_memory(owner.operand)], result_types=[value.type], location=owner.location)
        elif isinstance(owner, stablehlo.ConstantOp):
            op = copy_op(owner, {})
        else:
            op = EmptyOp.create(result_types=[value.type])
            assert 0 in shape(value), f"{value} was not stored by its group"
        append(self.outer, op)
        return op.results[0]

    def _unwritten(self, value: SSAValue) -> SSAValue:
        """Memory for a value whose elements nobody reads."""
        empty = EmptyOp.create(result_types=[value.type])
        append(self.outer, empty)
        return empty.result

    def _whole(self, op: Operation) -> None:
        kind = role(op)
        if kind is Role.CONTRACT:
            assert isinstance(op, stablehlo.DotGeneralOp)
            self._contract(op)
        elif kind is Role.CONTROL:
            self._control(op)
        else:
            self._wrap(op, InterpretOp if kernel_class(op) is None else NativeOp)

    def _control(self, op: Operation) -> None:
        """Builds a loop or branch with the same operands, its regions like functions."""
        regions: list[Region] = []
        for region in op.regions:
            block, results = _fused_block(region.block, self.empty_stacks)
            append(block, (YieldOp if isinstance(op, StripMineOp) else stablehlo.ReturnOp).create(operands=results))
            regions.append(Region([block]))
        unread = self.plan.unread.get(op, ())
        fused = type(op).create(
            operands=[self._unwritten(operand) if number in unread else self.in_memory(operand) for number, operand in enumerate(operands_of(op))],
            result_types=[r.type for r in op.results],
            properties=op.properties,
            regions=regions,
            location=op.location,
        )
        append(self.outer, fused)
        self.env.update(zip(op.results, fused.results, strict=True))

    def _contract(self, op: stablehlo.DotGeneralOp) -> None:
        lhs, rhs = strided(op.lhs, self.resolve), strided(op.rhs, self.resolve)
        product = matmul(op, lhs, rhs, self.in_memory(lhs.base), self.in_memory(rhs.base))
        append(self.outer, product)
        self.env[op.result] = product.result

    def _wrap(self, op: Operation, wrapper: type[InterpretOp | NativeOp]) -> None:
        """Wraps an op in a kernel op, whose operands are all values that it uses."""
        outside = captured(op)
        operands = [*op.operands, *outside]
        inner = block_with([operand.type for operand in operands])
        copy = copy_op(op, dict(zip(operands, inner.args, strict=True)))
        append(inner, copy)
        append(inner, YieldOp.create(operands=copy.results))
        wrapped = wrapper.create(
            operands=[self.in_memory(operand) for operand in operands],
            result_types=[r.type for r in op.results],
            regions=[Region([inner])],
            location=rewritten(op.location, op.name, "fuse"),
        )
        append(self.outer, wrapped)
        self.env.update(zip(op.results, wrapped.results, strict=True))
