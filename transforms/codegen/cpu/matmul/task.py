"""Emits a product in parts that threads may compute, as a task.

Every part is the same product with fewer rows (or columns, or iterations), computed by the same kernel, so it is one function that is
called with other addresses; a last part that is smaller has a function of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.codegen.cpu.matmul.block_runs import Blocks, digit, emit_run, run_name, run_task_function, shared_run_function
from wengert.transforms.codegen.cpu.matmul.blocked_kernel import finished_block_function, written
from wengert.transforms.codegen.cpu.matmul.emission import emit_function, helpers
from wengert.transforms.codegen.cpu.matmul.finish import MORE, Finish
from wengert.transforms.codegen.cpu.tasks import BEGIN, CHUNK, END, SCRATCH, TASK_PARAMETERS, begin_task
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index
from wengert.transforms.schedule.products.plan import MatmulPlan, Parts


def emit_task(divided: Parts, name: str, finish: Finish | None = None) -> str:
    """``define void @name(ptr %frame, i64 %chunk, ptr %scratch)``, whose frame holds the addresses of both operands, the result, and what a finish takes."""
    if divided.over == "blocks":
        return _block_task(divided, name, finish)
    if divided.over == "loops":
        return _loop_task(divided, name)
    builder, bases = FunctionBuilder(), ("%a", "%b", "%c")
    begin_task(builder, bases, divided.cut)
    moved = _moved(builder, divided.part, [(CHUNK, (divided.a, divided.b, divided.c))])
    operands = [("ptr", pointer) for pointer in (*moved, SCRATCH)]
    texts = [emit_function(divided.part, f"{name}.part", "internal")]
    if divided.rest is None:
        builder.call_void(f"{name}.part", operands)
    else:
        texts.append(emit_function(divided.rest, f"{name}.rest", "internal"))
        with builder.conditional(builder.icmp("ult", "i64", CHUNK, divided.cut.chunks - 1)) as branches:
            builder.call_void(f"{name}.part", operands)
            branches.otherwise()
            builder.call_void(f"{name}.rest", operands)
    return "".join([*texts, builder.definition(name, TASK_PARAMETERS, attributes="nounwind")])


def task_helpers(divided: Parts) -> dict[str, str]:
    """The functions that a module needs once for all tasks without a finish that call them, as :func:`.emission.helpers`."""
    plan, functions = divided.part, helpers(divided.part)
    if divided.over == "blocks":
        functions[run_name(plan)] = written(run_name(plan), lambda: shared_run_function(plan))
    return functions


Move = tuple[Index, tuple[int, int, int]]
"""An index, and how far the pointers move when it grows by one."""


def _moved(builder: FunctionBuilder, part: MatmulPlan, moves: Sequence[Move]) -> list[str]:
    """The addresses of the operands and the result of a part."""
    stored = (*part.stored, part.result_element)

    def pointer(base: str, side: int) -> str:
        return builder.offset(base, f"[{ELEMENT_BYTES[stored[side]]} x i8]", builder.linear([(index, steps[side]) for index, steps in moves]))

    first, second = (1, 0) if part.exchanged else (0, 1)
    return [pointer("%a", first), pointer("%b", second), pointer("%c", 2)]


def _loop_task(divided: Parts, name: str) -> str:
    """A task whose iterations are those of all loops around the product, by their numbers."""
    builder = FunctionBuilder()
    begin_task(builder, ("%a", "%b", "%c"), divided.cut)
    with builder.rotated_loop(END, start=BEGIN) as number:
        left, moves = number.index, list[Move]()
        for loop in reversed(divided.loops):
            index, left = digit(builder, left, loop.size)
            moves.append((index, (loop.a, loop.b, loop.c)))
        moved = _moved(builder, divided.part, moves)
        builder.call_void(f"{name}.part", [("ptr", pointer) for pointer in (*moved, SCRATCH)])
    return emit_function(divided.part, f"{name}.part", "internal") + builder.definition(name, TASK_PARAMETERS, attributes="nounwind")


def _block_task(divided: Parts, name: str, finish: Finish | None) -> str:
    """A task whose iterations are blocks of the result."""
    builder, plan, block = FunctionBuilder(), divided.part, f"{name}.block"
    if finish is None:
        return run_task_function(plan, name, divided.cut)
    begin_task(builder, ["%a", "%b", "%c", MORE], divided.cut)
    emit_run(builder, Blocks.of(plan, block), ("%a", "%b", "%c", SCRATCH), (BEGIN, END))
    return finished_block_function(plan, block, finish) + builder.definition(name, TASK_PARAMETERS, attributes="nounwind")
