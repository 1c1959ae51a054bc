"""Emits the mode of the processor in which subnormal numbers are zeros: set where a program begins on a thread, and set back where it ends.

Operations on subnormal numbers take many Intel cores a hundred cycles and more, so that a loop which converges to zero may take ten times as
long as one that does not. The mode takes operands for zero and gives zero for results; it belongs to a thread.
"""

from __future__ import annotations

from msgspec import Struct

from wengert.transforms.codegen.cpu.tasks import TASK_PARAMETERS
from wengert.transforms.schedule.target import Target


class Flushing(Struct, frozen=True):
    """Instructions that change the mode: declarations, those that enter it and those that leave it."""

    declarations: tuple[str, ...]
    enter: tuple[str, ...]
    leave: tuple[str, ...]


_X86 = Flushing(
    ("declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)"),
    (
        "%mode.before = alloca i32",
        "%mode.inside = alloca i32",
        "call void @llvm.x86.sse.stmxcsr(ptr %mode.before)",
        "%mode.old = load i32, ptr %mode.before",
        "%mode.flushing = or i32 %mode.old, 32832",  # flush to zero (bit 15), denormals are zeros (bit 6)
        "store i32 %mode.flushing, ptr %mode.inside",
        "call void @llvm.x86.sse.ldmxcsr(ptr %mode.inside)",
    ),
    ("call void @llvm.x86.sse.ldmxcsr(ptr %mode.before)",),
)
_ARM = Flushing(
    ("declare i64 @llvm.aarch64.get.fpcr()", "declare void @llvm.aarch64.set.fpcr(i64)"),
    (
        "%mode.old = call i64 @llvm.aarch64.get.fpcr()",
        "%mode.flushing = or i64 %mode.old, 16777216",  # FZ (bit 24)
        "call void @llvm.aarch64.set.fpcr(i64 %mode.flushing)",
    ),
    ("call void @llvm.aarch64.set.fpcr(i64 %mode.old)",),
)
_BY_FAMILY = {"x86_64": _X86, "aarch64": _ARM, "arm64": _ARM}


def can_flush(target: Target) -> bool:
    """Whether the instructions are known for this processor."""
    return target.family in _BY_FAMILY


def flushing(target: Target) -> Flushing:
    """The instructions for this processor."""
    return _BY_FAMILY[target.family]


def flushed_task(task: str, mode: Flushing, attributes: str) -> tuple[str, str]:
    """The name and the definition of a task that runs another one in the mode."""
    name, parameters = f"{task}.flushed", ", ".join(TASK_PARAMETERS)
    lines = [*mode.enter, f"call void @{task}({parameters})", *mode.leave, "ret void"]
    return name, "\n".join([f"define internal void @{name}({parameters}) {attributes} {{", *lines, "}"])
