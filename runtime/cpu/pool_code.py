"""The machine code of the thread pool, as LLVM text; :mod:`wengert.runtime.cpu.pool` says what it does."""

from __future__ import annotations

import platform

from wengert.runtime.cpu.pool_claims import CLAIMS_TEXT, RANGES, RENEWED
from wengert.runtime.cpu.pool_jobs import JOBS_TEXT
from wengert.runtime.cpu.pool_workers import LINGER, LINGERS, WORKERS_TEXT
from wengert.transforms.codegen.cpu.pointers.frames import FILL
from wengert.transforms.codegen.cpu.symbols import POOL_CLOSE, POOL_JOB, POOL_OPEN, POOL_RUN

_PAUSES = 1000
"""The times that a worker looks for the next job before it sleeps, and a caller for the end of its own before it yields."""

_WAKING_NS = 25_000
"""Jobs of so much work wake workers that sleep; smaller ones are shared with those that are awake."""
_SERIES_NS = 100_000
"""Small jobs that come one after another wake them too, once they are so long together."""
_NEARBY = 200_000
"""At most so many cycles lie between the beginnings of such jobs."""

_EVEN_NS = 150_000
"""Of smaller jobs whose chunks may be joined, each thread claims one part, since their ends are no further apart than more copies take."""
_BEARABLE = 25_000
"""Jobs that sharing makes longer by fewer cycles do not tell that others need the cores: who is stopped loses more."""
_VAIN = 4
"""The times in a row that workers may be woken and find no chunk left."""
_PENALTY_NS = 100_000
"""The work that is not shared after a job that sharing made slower; after several of them more, up to 500 times as much."""

_FUTEX = {"x86_64": 202, "aarch64": 98}
_GETTID = {"x86_64": 186, "aarch64": 178}
"""The numbers of system calls, by machine; elsewhere programs run in one thread."""
_PAUSE = {"x86_64": "@llvm.x86.sse2.pause()", "aarch64": "@llvm.aarch64.hint(i32 1)"}
"""The instruction that lets a core rest for some cycles."""


def available() -> bool:
    """Whether this system has the instructions and system calls of the pool."""
    return platform.system() == "Linux" and platform.machine() in _FUTEX


def pool_text() -> str:
    """The text for this machine."""
    machine = platform.machine()
    has_clock = machine == "x86_64"  # elsewhere it may not be readable, and no two small jobs count as close
    return (
        (_TEXT + CLAIMS_TEXT + WORKERS_TEXT + JOBS_TEXT)
        .replace("PAUSES", str(_PAUSES))
        .replace("LINGERS", str(_PAUSES + LINGERS))
        .replace("LINGER", str(LINGER))
        .replace("CLOCK", "call i64 @llvm.readcyclecounter()" if has_clock else "add i64 0, 0")
        .replace("WAKING", str(_WAKING_NS))
        .replace("PENALTY", str(_PENALTY_NS))
        .replace("WORST", str(500 * _PENALTY_NS))
        .replace("EVEN", str(_EVEN_NS))
        .replace("BEARABLE", str(_BEARABLE))
        .replace("VAIN", str(_VAIN))
        .replace("SERIES", str(_SERIES_NS))
        .replace("RANGE_BYTES", str(128 * RANGES))
        .replace("RANGES", str(RANGES))
        .replace("RENEWED", str(RENEWED - 1))
        .replace("NEARBY", str(_NEARBY if has_clock else 0))
        .replace("FUTEX", str(_FUTEX.get(machine, 0)))
        .replace("PAUSE", _PAUSE.get(machine, "@llvm.donothing()"))
        .replace("GETTID", str(_GETTID.get(machine, 0)))
        .replace("@RUN", f"@{POOL_RUN}")
        .replace("@JOB", f"@{POOL_JOB}")
        .replace("@FILL", f"@{FILL}")
        .replace("@OPEN", f"@{POOL_OPEN}")
        .replace("@CLOSE", f"@{POOL_CLOSE}")
    )


_TEXT = """
; Each of these has a cache line to itself (two, as lines are fetched in pairs).
@word = internal global i64 0, align 128              ; the job's number << 1 | whether it can be read
@gap0 = internal global [128 x i8] zeroinitializer, align 128
@pending = internal global i64 0, align 128           ; chunks that are not finished
@gap1 = internal global [128 x i8] zeroinitializer, align 128
@job = internal global [6 x i64] zeroinitializer, align 128   ; task, frame, chunks, bytes of private memory, how chunks are joined (0: not at all), threads
@gap2 = internal global [128 x i8] zeroinitializer, align 128
@busy = internal global i32 0, align 128              ; whether a caller has the pool
@wanted = internal global i32 0, align 4              ; workers that take part
@running = internal global i32 0, align 4             ; workers that have been started
@gap3 = internal global [128 x i8] zeroinitializer, align 128
@sleepers = internal global i32 0, align 128
@epoch = internal global i32 0, align 4               ; what workers sleep on
@helps = internal global i64 0, align 8
@jobs = internal global i64 0, align 8                ; jobs that were shared, and how often sleeping workers were called for one
@calls = internal global i64 0, align 8
@last = internal global i64 0, align 8                ; when the last small job came
@debt = internal global i64 0, align 8                ; the work of small jobs that came close together
@rest = internal global i64 0, align 8                ; nanoseconds of work that is not shared, because other jobs went badly
@penalty = internal global i64 0, align 8
@vain = internal global i64 0, align 8                ; jobs one after another for which workers were woken in vain

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)

; Whether to wake threads for a job of so many nanoseconds: if it is long, or follows so close on others that they are long together.
define internal i1 @worth(i64 %nanoseconds) {
  %long = icmp uge i64 %nanoseconds, WAKING
  br i1 %long, label %yes, label %short
short:
  %now = CLOCK
  %then = load i64, ptr @last
  store i64 %now, ptr @last
  %since = sub i64 %now, %then
  %close = icmp ult i64 %since, NEARBY
  %owed = load i64, ptr @debt
  %kept = select i1 %close, i64 %owed, i64 0
  %sum = add i64 %kept, %nanoseconds
  %enough = icmp ugt i64 %sum, SERIES
  %left = select i1 %enough, i64 0, i64 %sum
  store i64 %left, ptr @debt
  ret i1 %enough
yes:
  ret i1 true
}

; Where the cores are busy with others, a worker is stopped in the middle of a chunk and the caller waits for it; and workers may wake
; too late again and again. A job that took longer than the caller would have needed alone is followed by some that are not shared,
; by more work each time.
define internal void @learn(i64 %start, i64 %begin, i64 %end, i64 %ran, i64 %chunks, i1 %woke) {
  %shared = icmp ult i64 %ran, %chunks
  br i1 %shared, label %helped, label %unhelped
unhelped:
  br i1 %woke, label %count, label %done
count:
  %vain = load i64, ptr @vain
  %vain.more = add i64 %vain, 1
  store i64 %vain.more, ptr @vain
  %often = icmp uge i64 %vain.more, VAIN
  br i1 %often, label %judge, label %done
helped:
  store i64 0, ptr @vain
  %now = CLOCK
  %mine = call i64 @llvm.umax.i64(i64 %ran, i64 1)
  %working = sub i64 %end, %begin
  %each = udiv i64 %working, %mine
  %alone = mul i64 %each, %chunks
  %alone.more = mul i64 %alone, 9
  %elapsed = sub i64 %now, %start
  %elapsed.8 = shl i64 %elapsed, 3
  %longer = icmp ugt i64 %elapsed.8, %alone.more
  %bearable = add i64 %alone, BEARABLE
  %much = icmp ugt i64 %elapsed, %bearable
  %slow = and i1 %longer, %much
  br label %judge
judge:
  %late = phi i1 [true, %count], [%slow, %helped]
  %penalty = load i64, ptr @penalty
  %twice = shl i64 %penalty, 1
  %more = add i64 %twice, PENALTY
  %most = call i64 @llvm.umin.i64(i64 %more, i64 WORST)
  %half = lshr i64 %penalty, 1
  %penalty.new = select i1 %late, i64 %most, i64 %half
  %rest.new = select i1 %late, i64 %most, i64 0
  store i64 %penalty.new, ptr @penalty
  store i64 %rest.new, ptr @rest
  br label %done
done:
  ret void
}

; Runs task(frame, chunk, private memory) for all chunks. The caller's private memory is %scratch, of %bytes bytes. Of chunks that may be joined, the upper
; half of `chunk` is how many more are run at once.
define void @RUN(ptr %task, ptr %frame, i64 %chunks, ptr %scratch, i64 %bytes, i64 %nanoseconds, i64 %joined) {
  %wanted = load atomic i32, ptr @wanted monotonic, align 4
  %several = icmp sgt i32 %wanted, 0
  br i1 %several, label %lock, label %alone
lock:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic, align 128
  %locked = extractvalue {i32, i1} %pair, 1
  br i1 %locked, label %workers, label %alone
workers:
  %rest = load i64, ptr @rest
  %resting.jobs = icmp ne i64 %rest, 0
  br i1 %resting.jobs, label %skip, label %look.around
skip:
  %rest.less = call i64 @llvm.usub.sat.i64(i64 %rest, i64 %nanoseconds)
  store i64 %rest.less, ptr @rest
  br label %unlock.alone
look.around:
  %running = load atomic i32, ptr @running monotonic, align 4
  %sleeping = load atomic i32, ptr @sleepers monotonic, align 128
  %some.awake = icmp slt i32 %sleeping, %running
  %small = icmp ult i64 %nanoseconds, WAKING
  %suffices = and i1 %some.awake, %small
  br i1 %suffices, label %publish, label %judge
judge:                                      ; a small job is not worth a system call
  %worth = call i1 @worth(i64 %nanoseconds)
  br i1 %worth, label %prepare, label %unlock.alone
prepare:
  %short = icmp slt i32 %running, %wanted
  br i1 %short, label %start.some, label %publish
start.some:
  call void @start(i32 %running, i32 %wanted)
  br label %publish
unlock.alone:
  store atomic i32 0, ptr @busy release, align 128
  br label %alone

publish:
  %wakes = phi i1 [false, %look.around], [true, %prepare], [true, %start.some]
  %old = load atomic i64, ptr @word monotonic, align 128
  %number = lshr i64 %old, 1
  %closed = shl i64 %number, 1
  store atomic i64 %closed, ptr @word monotonic, align 128
  fence release
  %rank = and i64 %number, RENEWED
  %long.ago = icmp eq i64 %rank, RENEWED
  br i1 %long.ago, label %renew, label %write
renew:
  call void @refresh(i64 %number)
  br label %write
write:
  store atomic ptr %task, ptr @job monotonic, align 128
  store atomic ptr %frame, ptr getelementptr (i64, ptr @job, i64 1) monotonic, align 8
  store atomic i64 %chunks, ptr getelementptr (i64, ptr @job, i64 2) monotonic, align 8
  store atomic i64 %bytes, ptr getelementptr (i64, ptr @job, i64 3) monotonic, align 8
  %is.joined = icmp ne i64 %joined, 0
  %brief = icmp ult i64 %nanoseconds, EVEN
  %one.part = and i1 %is.joined, %brief
  %how = select i1 %one.part, i64 2, i64 %joined
  store atomic i64 %how, ptr getelementptr (i64, ptr @job, i64 4) monotonic, align 8
  %several.long = zext i32 %wanted to i64
  %threads.all = add i64 %several.long, 1
  %threads = call i64 @llvm.umin.i64(i64 %threads.all, i64 RANGES)
  store atomic i64 %threads, ptr getelementptr (i64, ptr @job, i64 5) monotonic, align 8
  store atomic i64 %chunks, ptr @pending monotonic, align 128
  %number.next = add i64 %number, 1
  %shifted = shl i64 %number.next, 1
  %new = or i64 %shifted, 1
  %replaced = atomicrmw xchg ptr @word, i64 %new seq_cst, align 128
  %job.count = load i64, ptr @jobs
  %job.count.next = add i64 %job.count, 1
  store i64 %job.count.next, ptr @jobs
  %start = CLOCK
  %resting = load atomic i32, ptr @sleepers seq_cst, align 128
  %some.rest = icmp sgt i32 %resting, 0
  %coming = load atomic i32, ptr @summoned monotonic, align 4
  %none.coming = icmp eq i32 %coming, 0
  %some.asleep = and i1 %some.rest, %none.coming
  %wake = and i1 %some.asleep, %wakes
  br i1 %wake, label %call.them, label %work
call.them:
  %others = add i64 %chunks, -1
  %most = call i64 @llvm.umin.i64(i64 %others, i64 65536)
  %count = trunc i64 %most to i32
  call void @rouse(i32 %count)
  br label %work
work:
  %woke = phi i1 [false, %write], [true, %call.them]
  %begin = CLOCK
  %ran = call i64 @drain(ptr %scratch, i64 %bytes, i64 0)
  %end = CLOCK
  br label %wait
wait:
  %turn = phi i32 [0, %work], [%turn.next, %pause], [0, %yield]
  %pending = load atomic i64, ptr @pending acquire, align 128
  %finished = icmp eq i64 %pending, 0
  br i1 %finished, label %unlock, label %look.again
look.again:
  %turn.next = add i32 %turn, 1
  %tired = icmp ugt i32 %turn.next, PAUSES
  br i1 %tired, label %yield, label %pause
pause:
  call void PAUSE
  br label %wait
yield:
  %yielded = call i32 @sched_yield()
  br label %wait
unlock:
  call void @learn(i64 %start, i64 %begin, i64 %end, i64 %ran, i64 %chunks, i1 %woke)
  store atomic i32 0, ptr @busy release, align 128
  ret void

alone:
  %many = icmp ne i64 %joined, 0
  br i1 %many, label %at.once, label %next
at.once:
  %following = add i64 %chunks, -1
  %all = shl i64 %following, 32
  call void %task(ptr %frame, i64 %all, ptr %scratch)
  ret void
next:
  %chunk = phi i64 [0, %alone], [%chunk.next, %next]
  call void %task(ptr %frame, i64 %chunk, ptr %scratch)
  %chunk.next = add i64 %chunk, 1
  %more = icmp ult i64 %chunk.next, %chunks
  br i1 %more, label %next, label %done
done:
  ret void
}

define void @wengert_pool_set(i32 %workers) {
  store atomic i32 %workers, ptr @wanted seq_cst, align 4
  ret void
}

define i64 @wengert_pool_helped() {
  %count = load atomic i64, ptr @helps monotonic, align 8
  ret i64 %count
}

define i64 @wengert_pool_jobs() {
  %count = load atomic i64, ptr @jobs monotonic, align 8
  ret i64 %count
}

define i64 @wengert_pool_calls() {
  %count = load atomic i64, ptr @calls monotonic, align 8
  ret i64 %count
}

; In a forked child: its only thread is the one that forked, which has no job.
define void @wengert_pool_forked() {
  store atomic i64 0, ptr @word seq_cst, align 128
  call void @llvm.memset.p0.i64(ptr @ranges, i8 0, i64 RANGE_BYTES, i1 false)
  store atomic i64 0, ptr @pending seq_cst, align 128
  store atomic i32 0, ptr @busy seq_cst, align 128
  store atomic i32 0, ptr @running seq_cst, align 4
  store atomic i32 0, ptr @sleepers seq_cst, align 128
  store atomic i32 0, ptr @open seq_cst, align 128
  store atomic i32 0, ptr @summoned seq_cst, align 4
  store i32 -1, ptr @home, align 4
  call void @llvm.memset.p0.i64(ptr @numbers, i8 0, i64 4096, i1 false)
  ret void
}
"""
