"""Host programs of the gpu level, prepared to run on a device: launches, copies, and loops that the host drives.

A function on buffers becomes steps on ranges of the device's memory, once; a call runs them, or asks for what they came to where that is always the same.
Kernels that have no form for devices run on the host, in the interpreter, on copies of their buffers; they are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.gpu import LaunchFuncOp, block_size, grid_size
from wengert.dialects.host_calls import called_function
from wengert.dialects.kernel import buffers as ops
from wengert.dialects.kernel.memory import Space, bytes_of, space_of, value_type
from wengert.ir.attributes import int_of, ints
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import dtype_of, shape_of_type
from wengert.ir.traversal import ops_in
from wengert.runtime.devices.interface import Buffer, Device
from wengert.runtime.devices.recording import Recorder, recorded_size
from wengert.runtime.devices.slots import Slot
from wengert.runtime.devices.storage import Storage
from wengert.runtime.devices.tapes import TapeMemory, is_tape, tape_step
from wengert.runtime.interpreter.machine import Frame, Machine

Array = np.ndarray[Any, np.dtype[Any]]
Step = Callable[[], None]
_HANDLE = np.dtype(np.int64)


class Plan:
    """The steps of a host function.

    Attributes:
        launches: how many kernels the last run has launched.
        host: the ops that the last run has run on the host, by name.
        recorded: whether a run asks for what was recorded, without going through the program.
    """

    def __init__(self, function: FuncOp, device: Device, kernels: Mapping[str, Any], *, poison: bool = False):
        self.device, self.kernels, self.poison = device, kernels, poison
        self.launches = 0
        self.host: Counter[str] = Counter()
        self.storage = Storage(function, device)
        self.asked: Device | Recorder = device
        """What launches and copies go to."""
        self.recorded = recorded_size(function) is not None
        self._replay: tuple[Sequence[Buffer], Callable[[], None], int] | None = None
        self._tapes = TapeMemory(device)
        self._frame = Frame(Machine(None), None)
        self._slots: dict[SSAValue, Slot] = {}
        self._arguments = [self.slot(argument) for argument in function.body.block.args]
        self._types = [argument.type for argument in function.body.block.args]
        self._steps = self.block(function.body.block)

    def run(self, buffers: Sequence[Buffer]) -> None:
        """Asks the device for the program on the buffers of its arguments: inputs and results, in their order. It may not be done yet."""
        self.launches = 0
        self.host.clear()
        self._tapes.begin()
        if self.poison:
            self.device.poison(self.storage.scratch)
        if self.recorded:
            self._run_recorded(buffers)
        else:
            self._go_through(buffers)

    def _go_through(self, buffers: Sequence[Buffer]) -> None:
        for slot, buffer in zip(self._arguments, buffers, strict=True):
            slot.buffer = buffer
        for step in self._steps:
            step()

    def _run_recorded(self, buffers: Sequence[Buffer]) -> None:
        """Asks for what is recorded, which is done anew where the arguments lie elsewhere than in the last run."""
        if self._replay is None or any(one is not other for one, other in zip(self._replay[0], buffers, strict=True)):
            recorder = self.asked = Recorder()
            try:
                self._go_through(buffers)
            finally:
                self.asked = self.device
            self._replay = (tuple(buffers), self.device.capture(recorder.commands), self.launches)
        _, replay, self.launches = self._replay
        replay()

    def slot(self, value: SSAValue) -> Slot:
        """The value's slot."""
        made = self._slots.get(value)
        if made is None:
            made = self._slots[value] = Slot()
        return made

    def slots(self, values: Sequence[SSAValue]) -> list[Slot]:
        """The values' slots."""
        return [self.slot(value) for value in values]

    # -- preparation

    def block(self, block: Block) -> list[Step]:
        """The steps of a block."""
        steps = [self._step(op) for op in ops_in(block)]
        return [step for step in steps if step is not None]

    def _step(self, op: Operation) -> Step | None:
        if isinstance(op, arith.ConstantOp | ops.EndOp | ReturnOp):
            return None
        prepare = _PREPARE.get(type(op))
        if prepare is None:
            raise error_at(op, f"'{op.name}' is not run by the host of a device")
        return prepare(self, op)

    # -- memory

    def memory(self, op: ops.AllocOp | ops.GlobalOp) -> None:
        """Memory that is there as long as the plan."""
        self.slot(op.memref).buffer = self.storage.of(op.memref)

    def view(self, op: ops.ViewOp) -> Step:
        """A part of a buffer."""
        source, target, at, size = self.slot(op.source), self.slot(op.memref), int_of(op.offset), bytes_of(op.memref.type)

        def step() -> None:
            target.buffer = source.now.part(at, size)

        return step

    def copy(self, op: ops.CopyOp) -> Step:
        """Copies bytes."""
        source, target, move = self.slot(op.source), self.slot(op.target), self.mover(op.source)
        return lambda: move(source.now, target.now)

    def mover(self, value: SSAValue) -> Callable[[Buffer, Buffer], None]:
        """The function that copies what buffers of a value's type hold: bytes, or a tape's handle."""
        return self._tapes.move if is_tape(value.type) else self._copy

    def _copy(self, source: Buffer, target: Buffer) -> None:
        self.asked.copy(source, target)

    # -- kernels

    def launch(self, op: LaunchFuncOp) -> Step:
        """Launches a kernel."""
        grid, block = grid_size(op), block_size(op)
        if grid is None or block is None:
            raise error_at(op, "a launch has a grid and work-groups of constant size")
        kernels, name, arguments = self.kernels[op.module_name], op.kernel_name, self.slots(op.arguments)

        def step() -> None:
            self.launches += 1
            self.asked.launch(kernels, name, grid, block, [slot.now for slot in arguments])

        return step

    def on_host(self, op: ops.LaunchOp) -> Step:
        """Runs a kernel that devices have no code for in the interpreter, on copies of its buffers. Ops on tapes are copies on the device."""
        on_tapes = tape_step(op, self._tapes, self.slots)
        if on_tapes is not None:
            return on_tapes
        if any(is_tape(value.type) for value in op.operands):
            raise error_at(op, f"'{_inner_name(op.kernel)}' takes a tape, and has no kernel for devices")
        called = next((text for inner in op.walk() if (text := called_function(inner)) is not None), None)
        if called is not None:
            raise error_at(op, f"{called} cannot be called from a device", hint="run the program on the backend cpu or interpreter")
        function = self._frame.function(op)
        operands, name = list(op.operands), _inner_name(op.kernel)
        slots, types = self.slots(operands), [value.type for value in operands]
        results = range(len(op.ins), len(op.ins) + len(op.outs))

        def step() -> None:
            self.host[name] += 1
            arrays = [_typed(self.device.read(slot.now), type) for slot, type in zip(slots, types, strict=True)]
            function(*arrays)
            for number in results:
                self.device.write(slots[number].now, np.ascontiguousarray(arrays[number]).reshape(-1).view(np.uint8))

        return step

    # -- control flow

    def for_(self, op: ops.ForOp) -> Step:
        """A loop whose number of iterations is a constant, or read before."""
        loop, count, known = _Loop(self, op), self.slot(op.count), op.iterations
        count_type = op.count.type

        def step() -> None:
            loop.begin()
            for iteration in range(known if known is not None else int(_typed(self.device.read(count.now), count_type)[()])):
                loop.number(iteration)
                loop.run(loop.body)
                loop.swap()
            loop.finish()

        return step

    def while_(self, op: ops.WhileOp) -> Step:
        """A loop whose condition is read before every iteration."""
        loop = _Loop(self, op)
        condition = self.block(op.condition.block)
        arguments, type = self.slots(op.condition.block.args), op.condition.block.args[0].type

        def holds() -> bool:
            for slot, buffer in zip(arguments, loop.buffers(), strict=True):
                slot.buffer = buffer
            for step in condition:
                step()
            return bool(_typed(self.device.read(loop.first), type)[()])

        def step() -> None:
            loop.begin()
            while holds():
                loop.run(loop.body)
                loop.swap()
            loop.finish()

        return step

    def case(self, op: ops.CaseOp) -> Step:
        """A branch whose index is read before."""
        branches = [(self.block(region.block), self.slots(region.block.args)) for region in op.branches]
        index, type, operands = self.slot(op.index), op.index.type, self.slots(op.operands[1:])

        def step() -> None:
            at = int(_typed(self.device.read(index.now), type)[()])
            steps, arguments = branches[at if 0 <= at < len(branches) else -1]
            for argument, operand in zip(arguments, operands, strict=True):
                argument.buffer = operand.now
            for inner in steps:
                inner()

        return step

    def strips(self, op: ops.StripLoopOp) -> Step:
        """Kernels on one strip of each buffer after another."""
        steps, arguments = self.block(op.body.block), self.slots(op.body.block.args)
        whole, widths = self.slots(op.operands), ints(op.steps)
        values = list(op.operands)[: len(widths)]
        sizes = [bytes_of(argument.type) for argument in op.body.block.args]
        strides = [width * ops.element_size(value) for width, value in zip(widths, values, strict=True)]
        strides += [0] * (len(whole) - len(strides))

        def step() -> None:
            for iteration in range(int_of(op.iterations)):
                for argument, slot, stride, size in zip(arguments, whole, strides, sizes, strict=True):
                    argument.buffer = slot.now.part(iteration * stride, size)
                for inner in steps:
                    inner()

        return step


class _Loop:
    """The buffers of a loop that the host drives."""

    def __init__(self, plan: Plan, op: ops.ForOp | ops.WhileOp):
        self.plan, self.op = plan, op
        block = op.body.block
        self.arguments = plan.slots(block.args)
        self.first = plan.storage.of(block.args[0])
        self.first_type = block.args[0].type
        self.constants, self.initial, self.homes, self.spare = (plan.slots(group) for group in (op.constants, op.initial, op.outs, op.spare))
        self.arena = plan.slot(op.arena)
        self.movers = [plan.mover(value) for value in op.outs]
        self.own_now = [plan.storage.of(a) if space_of(a.type) is Space.STACK else None for a in op.now()]
        self.own_next = [plan.storage.of(a) if space_of(a.type) is Space.STACK else None for a in op.next()]
        self.swapped = [number for number, (a, end) in enumerate(zip(op.now(), op.written(), strict=True)) if a is not end]
        self.now: list[Buffer] = []
        self.next: list[Buffer] = []
        self.body = plan.block(block)

    def begin(self) -> None:
        """Puts what is carried first where the body reads it."""
        self.now = [own if own is not None else home.now for own, home in zip(self.own_now, self.homes, strict=True)]
        spare = iter(self.spare)
        self.next = [own if own is not None else next(spare).now for own in self.own_next]
        for move, source, target in zip(self.movers, self.initial, self.now, strict=True):
            move(source.now, target)

    def number(self, iteration: int) -> None:
        """Writes the number of the iteration."""
        known = self.plan.storage.number(iteration)
        if known is not None:
            self.plan.asked.copy(known, self.first)
        else:
            self.plan.device.write(self.first, np.array([iteration], _dtype(self.first_type)).view(np.uint8))

    def buffers(self) -> list[Buffer]:
        """What a region is given."""
        return [self.first, *[slot.now for slot in self.constants], *self.now, *self.next, self.arena.now]

    def run(self, steps: Sequence[Step]) -> None:
        """Runs the body."""
        for slot, buffer in zip(self.arguments, self.buffers(), strict=True):
            slot.buffer = buffer
        for step in steps:
            step()

    def swap(self) -> None:
        """What was written is read next."""
        for number, place in enumerate(self.swapped):
            self.now[place], self.next[number] = self.next[number], self.now[place]

    def finish(self) -> None:
        """Brings what was carried to where it belongs."""
        for move, source, home in zip(self.movers, self.now, self.homes, strict=True):
            move(source, home.now)


def _typed(data: Array, memref: Any) -> Array:
    """Bytes as what a memref of this type holds."""
    type = cast("Any", value_type(memref))
    return data.view(_dtype(memref)).reshape(shape_of_type(type) if hasattr(type, "element_type") else (-1,))


def _dtype(memref: Any) -> np.dtype[Any]:
    """The type of the elements; the handle of a tape is two integers."""
    type = cast("Any", value_type(memref))
    return dtype_of(type.element_type) if hasattr(type, "element_type") else _HANDLE


def _inner_name(op: Operation) -> str:
    inner = op.regions[0].block.first_op if op.regions else None
    return inner.name if inner is not None and op.name in ("kernel.native", "kernel.interpret") else op.name


_PREPARE: dict[type[Operation], Callable[[Plan, Any], Step | None]] = {
    ops.AllocOp: Plan.memory,
    ops.ViewOp: Plan.view,
    ops.GlobalOp: Plan.memory,
    ops.CopyOp: Plan.copy,
    LaunchFuncOp: Plan.launch,
    ops.LaunchOp: Plan.on_host,
    ops.ForOp: Plan.for_,
    ops.WhileOp: Plan.while_,
    ops.CaseOp: Plan.case,
    ops.StripLoopOp: Plan.strips,
}
