"""The machine code that runs a job of a program from its description, as LLVM text: it fills the job's frame of pointers, and has the pool run it.

A description is a constant of the program (:mod:`wengert.transforms.codegen.cpu.pointers.described_jobs` writes it): the task, then as 64-bit numbers its
chunks, the bytes of scratch memory of each other thread, its estimated time in nanoseconds, how many chunks may be joined, how many pointers there are, and
their places as runs (:mod:`wengert.transforms.codegen.cpu.pointers.frames`). The first of them is the scratch memory of this thread; the others are the
frame of the task.
"""

from __future__ import annotations

from wengert.transforms.codegen.cpu.pointers.frames import FILL_TEXT

JOBS_TEXT = (
    FILL_TEXT
    + """
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
  %count.place = getelementptr i64, ptr %job, i64 5
  %count = load i64, ptr %count.place, align 8
  %runs = getelementptr i64, ptr %job, i64 6
  %pointers = alloca ptr, i64 %count, align 16
  call void @FILL(ptr %pointers, ptr %runs, ptr %table, ptr %arena)
  %scratch = load ptr, ptr %pointers, align 8
  %frame = getelementptr ptr, ptr %pointers, i64 1
  call void @RUN(ptr %task, ptr %frame, i64 %chunks, ptr %scratch, i64 %bytes, i64 %nanoseconds, i64 %joining)
  ret void
}
"""
)
