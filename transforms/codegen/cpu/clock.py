"""Times kernels inside of compiled code, for programs that are compiled to be profiled.

Around each kernel the entry reads the processor's time stamp counter. What is between is added up by kernel, and logged while there is room. The entry's
table ends with two more pointers, to arrays of 64-bit integers::

    counters: events, room in the log, then for each kernel: ticks, runs
    log:      for each event: number of the kernel, ticks when it began, ticks when it ended

A program that is not profiled has none of this.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from xdsl.ir import Operation

from wengert.dialects.kernel.buffers import CopyOp, LaunchOp, StripLoopOp
from wengert.transforms.codegen.llvm.builder import FunctionBuilder

HEAD, OF_KERNEL, OF_EVENT = 2, 2, 3
"""Counters in front of those of kernels, of a kernel, and of an event."""
WHOLE, EMPTY, FIRST = 0, 1, 2
"""The numbers under which the whole entry is timed, an interval with nothing in it, and the first kernel."""
Timed = Literal["no", "whole", "kernels"]
"""What of a program is timed; a program with a clock around the whole of it alone says what the other clocks cost."""
FAMILY = "x86_64"
"""The processors whose counter a program may read."""
_NOW = "llvm.readcyclecounter"
_ADD = "wg.clock.add"
_FUNCTION = f"""declare i64 @{_NOW}()
define internal void @{_ADD}(ptr %counters, ptr %log, i64 %kernel, i64 %start) noinline nounwind {{
%end = call i64 @{_NOW}()
%took = sub i64 %end, %start
%twice = shl i64 %kernel, 1
%at = add i64 %twice, {HEAD}
%ticks = getelementptr i64, ptr %counters, i64 %at
%runs = getelementptr i64, ptr %ticks, i64 1
%t = load i64, ptr %ticks
%t1 = add i64 %t, %took
store i64 %t1, ptr %ticks
%r = load i64, ptr %runs
%r1 = add i64 %r, 1
store i64 %r1, ptr %runs
%event = load i64, ptr %counters
%next = add i64 %event, 1
store i64 %next, ptr %counters
%roomp = getelementptr i64, ptr %counters, i64 1
%room = load i64, ptr %roomp
%fits = icmp ult i64 %event, %room
br i1 %fits, label %write, label %done
write:
%first = mul i64 %event, {OF_EVENT}
%slot = getelementptr i64, ptr %log, i64 %first
store i64 %kernel, ptr %slot
%slot1 = getelementptr i64, ptr %slot, i64 1
store i64 %start, ptr %slot1
%slot2 = getelementptr i64, ptr %slot, i64 2
store i64 %end, ptr %slot2
br label %done
done:
ret void
}}
"""
READ = "clock"
"""The function of the program that returns the counter, by which its ticks are compared with seconds."""
_READ = f"define i64 @{READ}() {{\n%now = call i64 @{_NOW}()\nret i64 %now\n}}\n"


class Clock:
    """The code that times the ops of a program.

    Attributes:
        ops: the ops that are timed, in the order of their numbers.
        kernels: whether kernels are timed, and not only the whole.
    """

    helpers: ClassVar = {_ADD: _FUNCTION, READ: _READ}
    """The functions that timed programs have."""

    def __init__(self, counters: str, log: str, kernels: bool):
        self.ops: list[Operation] = []
        self.kernels = kernels
        self._pointers = [("ptr", counters), ("ptr", log)]

    def begin(self, builder: FunctionBuilder) -> str:
        """Reads the time."""
        return builder.call(_NOW, "i64", [])

    def end(self, builder: FunctionBuilder, start: str, number: int) -> None:
        """Adds the time since ``start`` to that of a kernel."""
        builder.call_void(_ADD, [*self._pointers, ("i64", str(number)), ("i64", start)])

    def number(self, op: Operation) -> int:
        """The number of an op, which gets the next one."""
        self.ops.append(op)
        return FIRST + len(self.ops) - 1


def is_timed(op: Operation) -> bool:
    """Whether an op is timed as a whole: kernels, copies, and strips that threads share. Of other strips, loops and branches the kernels inside are."""
    return isinstance(op, LaunchOp | CopyOp) or (isinstance(op, StripLoopOp) and op.schedule.data.parallel is not None)
