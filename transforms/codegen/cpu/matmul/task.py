"""Emits a product in parts that threads may compute, as a task.

Every part is the same product with fewer rows (or columns, or iterations), computed by the same kernel, so it is one function that is
called with other addresses; a last part that is smaller has a function of its own.
"""

from __future__ import annotations

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.codegen.cpu.matmul.block_runs import emit_run
from wengert.transforms.codegen.cpu.matmul.blocked_kernel import block_function
from wengert.transforms.codegen.cpu.matmul.emission import emit_function
from wengert.transforms.codegen.cpu.matmul.finish import MORE, Finish
from wengert.transforms.codegen.cpu.tasks import BEGIN, CHUNK, END, SCRATCH, TASK_PARAMETERS, begin_task
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.schedule.products.plan import Parts


def emit_task(divided: Parts, name: str, finish: Finish | None = None) -> str:
    """``define void @name(ptr %frame, i64 %chunk, ptr %scratch)``, whose frame holds the addresses of both operands, the result, and what a finish takes."""
    if divided.over == "blocks":
        return _block_task(divided, name, finish)
    builder, plan = FunctionBuilder(), divided.part
    a, b, c = zip((divided.a, divided.b, divided.c), (*plan.stored, plan.element), strict=True)
    steps = (b, a, c) if plan.exchanged else (a, b, c)
    bases = ["%a", "%b", "%c"]
    begin_task(builder, bases, divided.cut)
    bytes_from_chunk = [step * ELEMENT_BYTES[element] for step, element in steps]
    moved = [builder.offset(base, "i8", builder.binary("mul nuw nsw", "i64", CHUNK, str(size))) for base, size in zip(bases, bytes_from_chunk, strict=True)]
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


def _block_task(divided: Parts, name: str, finish: Finish | None) -> str:
    """A task whose iterations are blocks of the result."""
    builder, plan = FunctionBuilder(), divided.part
    begin_task(builder, ["%a", "%b", "%c", *([] if finish is None else [MORE])], divided.cut)
    emit_run(builder, plan, f"{name}.block", ("%a", "%b", "%c", SCRATCH), (BEGIN, END), finish)
    return block_function(plan, f"{name}.block", finish) + builder.definition(name, TASK_PARAMETERS, attributes="nounwind")
