"""The machine code that runs a job of a program from its description, as LLVM text: it fills the job's frame of pointers, and has the pool run it.

A description is a constant of the program (:mod:`wengert.transforms.codegen.cpu.described_jobs` writes it): the task, then as 64-bit numbers its chunks, the
bytes of scratch memory of each other thread, its estimated time in nanoseconds, how many chunks may be joined, the place of the scratch memory of this thread,
how many pointers there are, and the place of each. A place is two numbers: the pointer of the table that it lies behind, -1 for the arena or -2 for no
memory at all, and the bytes that it lies behind it.
"""

from __future__ import annotations

from wengert.transforms.codegen.cpu.frames import FILL_TEXT

JOBS_TEXT = (
    f"""
declare i64 @llvm.smax.i64(i64, i64)

{FILL_TEXT}"""
     """
define void @JOB(ptr noalias readonly %job, ptr noalias readonly %table, ptr %arena) nounwind {
  %task = load ptr, ptr %job, align 8
  %chunks.place = getelementptr i64, ptr %job, i64 1
  %chunks = load i64, ptr %chunks.place, align 8
  %bytes.place = getelementptr i64, ptr %job, i64 2
  %bytes = load i64, ptr %bytes.place, align 8
  %nanoseconds.place = getelementptr i64, ptr %job, i64 3
  %nanoseconds = load i64, ptr %nanoseconds.place, align 8
  %joining.place = getelementptr i64, ptr %job, i64 4
  %joining = load i64, ptr %joining.place, align 8
  %scratch.place = getelementptr i64, ptr %job, i64 5
  %scratch = call ptr @placed(ptr %scratch.place, ptr %table, ptr %arena)
  %count.place = getelementptr i64, ptr %job, i64 7
  %count = load i64, ptr %count.place, align 8
  %places = getelementptr i64, ptr %job, i64 8
  %frame = alloca ptr, i64 %count, align 16
  call void @FILL(ptr %frame, ptr %places, i64 %count, ptr %table, ptr %arena)
  call void @RUN(ptr %task, ptr %frame, i64 %chunks, ptr %scratch, i64 %bytes, i64 %nanoseconds, i64 %joining)
  ret void
}
"""
)
