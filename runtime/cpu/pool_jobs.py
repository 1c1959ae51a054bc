"""The machine code that runs a job of a program from its description, as LLVM text: it fills the job's frame of pointers, and has the pool run it.

A description is a constant of the program (:mod:`wengert.transforms.codegen.cpu.described_jobs` writes it): the task, then as 64-bit numbers its chunks, the
bytes of scratch memory of each other thread, its estimated time in nanoseconds, how many chunks may be joined, the place of the scratch memory of this thread,
how many pointers there are, and the place of each. A place is two numbers: the pointer of the table that it lies behind, -1 for the arena or -2 for no
memory at all, and the bytes that it lies behind it.
"""

from __future__ import annotations

JOBS_TEXT = """
declare i64 @llvm.smax.i64(i64, i64)

define internal ptr @placed(ptr noalias readonly %place, ptr noalias readonly %table, ptr %arena) nounwind alwaysinline {
  %base = load i64, ptr %place, align 8
  %offset.place = getelementptr i64, ptr %place, i64 1
  %offset = load i64, ptr %offset.place, align 8
  %known = call i64 @llvm.smax.i64(i64 %base, i64 0)
  %entry.place = getelementptr ptr, ptr %table, i64 %known
  %entry = load ptr, ptr %entry.place, align 8
  %in.arena = icmp eq i64 %base, -1
  %start = select i1 %in.arena, ptr %arena, ptr %entry
  %there = getelementptr i8, ptr %start, i64 %offset
  %nowhere = icmp eq i64 %base, -2
  %pointer = select i1 %nowhere, ptr null, ptr %there
  ret ptr %pointer
}

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
  br label %next
next:
  %number = phi i64 [0, %0], [%following, %fill]
  %left = icmp ult i64 %number, %count
  br i1 %left, label %fill, label %run
fill:
  %place = getelementptr [2 x i64], ptr %places, i64 %number
  %pointer = call ptr @placed(ptr %place, ptr %table, ptr %arena)
  %slot = getelementptr ptr, ptr %frame, i64 %number
  store ptr %pointer, ptr %slot, align 8
  %following = add nuw nsw i64 %number, 1
  br label %next
run:
  call void @RUN(ptr %task, ptr %frame, i64 %chunks, ptr %scratch, i64 %bytes, i64 %nanoseconds, i64 %joining)
  ret void
}
"""
