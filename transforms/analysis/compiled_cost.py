"""The costs of a compiled program, read off its IR on buffers: each launch of a kernel, how often it happens, what it computes and moves, and memory.

A kernel reads of an operand what its body touches, at most all of it. How often a loop runs on buffers is what was found for the loop that it was made of
(the number of iterations may have become a kernel's result).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from msgspec import Struct, field
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.kernel import FusedOp, LoadOp, NestOp
from wengert.dialects.kernel import buffers as ops
from wengert.dialects.kernel.memory import Space, byte_size, space_of
from wengert.dialects.kernel.positions import Position, dimensions
from wengert.dialects.kernel.product_schedule import ProductScheduleAttr
from wengert.dialects.kernel.schedule import ScheduleAttr
from wengert.ir.attributes import int_of
from wengert.ir.elements import splat_value
from wengert.ir.location.places import describe_within
from wengert.ir.traversal import ops_of
from wengert.transforms.analysis.kernel_cost import kernel_work
from wengert.transforms.analysis.memory import Memory, memory_of
from wengert.transforms.analysis.opcost import moved
from wengert.transforms.analysis.symbolic.executions import Executions
from wengert.transforms.analysis.symbolic.extents import STATIC
from wengert.transforms.analysis.symbolic.polynomial import ONE, ZERO, Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns, path_of


class Kernel(Struct, frozen=True):
    """A kernel and what one execution of it does.

    Attributes:
        kind: ``nest``, ``product``, ``copy``, or the name of the op that has code of its own (``native``) or none (``interpreted``).
        place: where in the source the op is that it was made of.
        times: how often it runs.
        op: the launch or the copy.
        shared: whether its schedule, or that of the strips around it, lets threads share it.
    """

    kind: str
    place: str
    times: Polynomial
    flops: int
    transcendentals: int
    bytes_read: int
    bytes_written: int
    op: Operation
    shared: bool = False

    @property
    def bytes(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written


class CompiledCost(Struct, frozen=True):
    """The kernels of a program in their order, loops and branches (by the op on buffers, with how often their bodies begin), and memory."""

    kernels: list[Kernel]
    regions: list[tuple[Operation, Polynomial]]
    memory: Memory

    def total(self, figure: str) -> Polynomial:
        """A figure of all kernels, as often as they run."""
        return sum((kernel.times * getattr(kernel, figure) for kernel in self.kernels), ZERO)

    @property
    def tape_bytes(self) -> Polynomial:
        """The bytes that loops whose iterations nobody counts put on tapes, which grow beside the arena."""
        return sum((kernel.times * kernel.bytes_written for kernel in self.kernels if kernel.kind.startswith("native core.tape_push")), ZERO)

    @property
    def launches(self) -> Polynomial:
        """How often kernels are launched and buffers copied."""
        return sum((kernel.times for kernel in self.kernels), ZERO)


def compiled_cost(module: ModuleOp, core: Executions, unknowns: Unknowns, entry: str = "main") -> CompiledCost:
    """The costs of a function on buffers.

    Args:
        module: the module after ``bufferize``.
        core: how often the blocks of the module run that it was made of.
        unknowns: the symbols in that.
        entry: the function.
    """
    function = next(op for op in ops_of(module, FuncOp) if op.sym_name.data == entry)
    unknowns.prepare(module)
    walk = _Walk(core, unknowns)
    walk.block(function.body.block, ONE)
    return CompiledCost(walk.kernels, walk.regions, memory_of(function))


class _Walk(Struct):
    core: Executions
    unknowns: Unknowns
    kernels: list[Kernel] = field(default_factory=list[Kernel])
    regions: list[tuple[Operation, Polynomial]] = field(default_factory=list[tuple[Operation, Polynomial]])

    def block(self, block: Block, times: Polynomial, shared: bool = False) -> None:
        for op in block.ops:
            if isinstance(op, ops.LaunchOp | ops.CopyOp):
                self.kernels.append(_kernel(op, times, shared))
            elif isinstance(op, ops.ForOp | ops.WhileOp):
                self.loop(op, times, shared)
            elif isinstance(op, ops.StripLoopOp):
                self.regions.append((op, times * int_of(op.iterations)))
                self.block(op.body.block, times * int_of(op.iterations), op.schedule.data.parallel is not None)
            elif isinstance(op, ops.CaseOp):
                for number, region in enumerate(op.branches):
                    taken = Polynomial.symbol(self.unknowns.taken(op, number).name)
                    self.regions.append((op, taken))
                    self.block(region.block, taken)

    def loop(self, op: ops.ForOp | ops.WhileOp, times: Polynomial, shared: bool) -> None:
        count = _constant(op.count) if isinstance(op, ops.ForOp) else None
        body = times * max(0, count) if count is not None else self.core.bodies.get((path_of(op), op.location))
        if body is None:
            body = Polynomial.symbol(self.unknowns.total(op).name)
        self.regions.append((op, body))
        for region in op.regions:
            self.block(region.block, body if region is op.regions[-1] else body + times, shared)


def _constant(buffer: SSAValue) -> int | None:
    owner = buffer.owner
    if not isinstance(owner, ops.GlobalOp):
        return None
    number = splat_value(owner.value)
    return None if number is None else int(number)


def _kernel(op: ops.LaunchOp | ops.CopyOp, times: Polynomial, shared: bool) -> Kernel:
    if isinstance(op, ops.CopyOp):
        return Kernel("copy", describe_within(op), times, 0, 0, byte_size(op.source), byte_size(op.target), op)
    kernel = op.kernel
    flops, functions = kernel_work(kernel)
    read, written = _nest_bytes(kernel) if isinstance(kernel, NestOp) else _whole_bytes(kernel)
    return Kernel(_kind(kernel), describe_within(op), times, int(flops), int(functions), read, written, op, shared or _is_shared(kernel))


def _is_shared(kernel: Operation) -> bool:
    if isinstance(kernel, FusedOp):
        kernel = kernel.product
    schedule = kernel.properties.get("schedule")
    return isinstance(schedule, ScheduleAttr | ProductScheduleAttr) and schedule.data.parallel is not None


def _kind(kernel: Operation) -> str:
    kind = kernel.name.removeprefix("kernel.")
    if kind == "matmul":
        return "product"
    if kind == "fused":
        return "fused product"
    inner = kernel.regions[0].block.first_op if kernel.regions and kind in ("native", "interpret") else None
    return kind if inner is None else f"{'interpreted' if kind == 'interpret' else kind} {inner.name}"


def _whole_bytes(kernel: Operation) -> tuple[int, int]:
    inner = kernel.regions[0].block.first_op if kernel.name in ("kernel.native", "kernel.interpret") else None
    read, written = moved(inner if inner is not None else kernel, STATIC)
    return int(read), int(written)


def _nest_bytes(nest: NestOp) -> tuple[int, int]:
    """The bytes of what a nest touches: of each buffer as many elements as its positions have values, at most all."""
    positions: dict[SSAValue, list[Position]] = {}
    for op in nest.body.block.ops:
        if isinstance(op, LoadOp):
            positions.setdefault(op.operands[0], []).append(op.at.data)
    read = sum(_touched(argument, positions.get(argument, ()), nest.extents) for argument in nest.body.block.args)
    written = 0
    for number, result in enumerate(nest.results):
        mine = [write.at for write in nest.writes if write.target == number]
        written += byte_size(result) if nest.tied[number] < 0 else _touched(result, mine, nest.extents)
    return read, written


def _touched(buffer: SSAValue, positions: Iterable[Position], extents: Sequence[int]) -> int:
    total = byte_size(buffer)
    elements = sum(prod(extents[d] for d in dimensions(at)) for at in dict.fromkeys(positions))
    return min(total, elements * ops.element_size(buffer))


__all__ = ["CompiledCost", "Kernel", "Memory", "Space", "compiled_cost", "space_of"]
