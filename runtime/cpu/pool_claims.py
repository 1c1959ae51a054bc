"""The machine code by which the pool's threads claim chunks of a job, as LLVM text.

Every thread has a range of the chunks, the same share of each job, and claims those of the others when it has done its own (E. Markatos and T. LeBlanc,
"Using processor affinity in loop scheduling on shared-memory multiprocessors", IEEE Transactions on Parallel and Distributed Systems 5, 1994). So kernels one
after another find in a core's caches what the same core wrote, and threads write to one line of memory only where one takes from another.
"""

from __future__ import annotations

RANGES = 64
"""So many threads have a range of the chunks of their own; further ones take from these."""
RENEWED = 1 << 16
"""Once in so many jobs, a power of two, the ranges that none of them has touched are brought up to date."""

CLAIMS_TEXT = """
@ranges = internal global [RANGES x [16 x i64]] zeroinitializer, align 128   ; of each thread: the job's number << 32 | chunks claimed

; Claims and runs chunks of the job at hand until none is left, or it needs more private memory than there is; tells how many. A thread begins with its own
; range and goes on to those of others. Of chunks that may be joined it claims half of what is left of a range (1), or all of it (2), where each claim costs
; something by itself. A range is a count of the chunks that are claimed, under the number of the job: under an older number none is. All chunks of a job
; are claimed before the next one begins, so that who comes late finds nothing.
define internal i64 @drain(ptr %scratch, i64 %capacity, i64 %me) {
  %seen = load atomic i64, ptr @word acquire, align 128
  %open = trunc i64 %seen to i1
  br i1 %open, label %read, label %done
read:                                       ; the word is closed while a job is written
  %task = load atomic ptr, ptr @job monotonic, align 128
  %frame = load atomic ptr, ptr getelementptr (i64, ptr @job, i64 1) monotonic, align 8
  %chunks = load atomic i64, ptr getelementptr (i64, ptr @job, i64 2) monotonic, align 8
  %bytes = load atomic i64, ptr getelementptr (i64, ptr @job, i64 3) monotonic, align 8
  %joined = load atomic i64, ptr getelementptr (i64, ptr @job, i64 4) monotonic, align 8
  %threads = load atomic i64, ptr getelementptr (i64, ptr @job, i64 5) monotonic, align 8
  fence acquire
  %again = load atomic i64, ptr @word monotonic, align 128
  %same = icmp eq i64 %seen, %again
  %fits = icmp ule i64 %bytes, %capacity
  %good = and i1 %same, %fits
  br i1 %good, label %begin, label %done
begin:
  %number.long = lshr i64 %seen, 1
  %number = trunc i64 %number.long to i32
  %high = shl i64 %number.long, 32
  %is.joined = icmp ne i64 %joined, 0
  %is.even = icmp eq i64 %joined, 2
  br label %visit
visit:
  %v = phi i64 [0, %begin], [%v.next, %following]
  %ran = phi i64 [0, %begin], [%ran.here, %following]
  %all.visited = icmp uge i64 %v, %threads
  br i1 %all.visited, label %done, label %range
range:
  %turned = add i64 %me, %v
  %index = urem i64 %turned, %threads
  %index.next = add i64 %index, 1
  %scaled = mul i64 %index, %chunks
  %scaled.next = mul i64 %index.next, %chunks
  %from = udiv i64 %scaled, %threads
  %to = udiv i64 %scaled.next, %threads
  %length = sub i64 %to, %from
  %place = getelementptr [16 x i64], ptr @ranges, i64 %index
  br label %look
look:
  %ran.here = phi i64 [%ran, %range], [%ran.here, %claim], [%ran.next, %run]
  %state = load atomic i64, ptr %place acquire, align 8
  %state.high = lshr i64 %state, 32
  %state.number = trunc i64 %state.high to i32
  %age = sub i32 %state.number, %number
  %is.late = icmp sgt i32 %age, 0
  br i1 %is.late, label %late, label %count
count:
  %current = icmp eq i32 %age, 0
  %low = and i64 %state, 4294967295
  %claimed = select i1 %current, i64 %low, i64 0
  %left = call i64 @llvm.usub.sat.i64(i64 %length, i64 %claimed)
  %some = icmp ne i64 %left, 0
  br i1 %some, label %claim, label %exhausted
claim:
  %up = add i64 %left, 1
  %half = lshr i64 %up, 1
  %part = select i1 %is.even, i64 %left, i64 %half
  %taken = select i1 %is.joined, i64 %part, i64 1
  %claimed.next = add i64 %claimed, %taken
  %state.next = or i64 %high, %claimed.next
  %pair = cmpxchg ptr %place, i64 %state, i64 %state.next acq_rel acquire, align 8
  %mine = extractvalue {i64, i1} %pair, 1
  br i1 %mine, label %run, label %look
run:
  %first = add i64 %from, %claimed
  %others = add i64 %taken, -1
  %others.high = shl i64 %others, 32
  %chunk = or i64 %first, %others.high
  call void %task(ptr %frame, i64 %chunk, ptr %scratch)
  %ran.next = add i64 %ran.here, %taken
  br label %look
exhausted:
  %done.here = sub i64 %ran.here, %ran
  %any = icmp ne i64 %done.here, 0
  br i1 %any, label %tell, label %following
tell:
  %before = atomicrmw sub ptr @pending, i64 %done.here acq_rel, align 128
  br label %following
following:
  %v.next = add i64 %v, 1
  br label %visit
late:                                       ; who has run a chunk of the job cannot be late for it
  br label %done
done:
  %result = phi i64 [0, %0], [0, %read], [%ran, %visit], [%ran, %late]
  ret i64 %result
}

; Ranges that no job has touched for long are brought to the number of the last one, as claimed, so that it does not seem to be to come.
define internal void @refresh(i64 %number) {
  %high = shl i64 %number, 32
  %state = or i64 %high, 4294967295
  br label %next
next:
  %n = phi i64 [0, %0], [%n.next, %next]
  %place = getelementptr [16 x i64], ptr @ranges, i64 %n
  store atomic i64 %state, ptr %place seq_cst, align 8
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, RANGES
  br i1 %more, label %next, label %done
done:
  ret void
}
"""
