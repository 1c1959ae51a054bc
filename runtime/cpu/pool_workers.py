"""The machine code of the pool's workers, as LLVM text: how they start, where they run, when they wait and when they sleep.

A program that shares much work *opens* the pool before its first kernel and closes it at its end. So workers are woken once for all of its kernels, not for
each: while one caller has the pool open they look for the next job for longer than it takes to be woken, at last letting others have the processor between
looks, and sleep only then. (Waiting about as long as blocking costs is within a factor of two of the best that could be known beforehand: A. Karlin, K. Li,
M. Manasse and S. Owicki, "Empirical studies of competitive spinning for a shared-memory multiprocessor", SOSP 1991.) Several callers have the cores busy
themselves, so workers do not linger for them.

Linux likes to run a thread that is woken where its waker runs, which makes good use of a cache and none of a second core: there the worker gets nothing
but the time in which its caller waits for it. So workers are kept off the processor of the caller that wakes them, and may use all others that this may
use.
"""

from __future__ import annotations

LINGER = 700_000
"""While a program has the pool open, a worker looks for the next job for so many cycles before it sleeps."""
LINGERS = 500
"""Or for so many times of letting others run, where there is no clock to read."""

WORKERS_TEXT = """
@open = internal global i32 0, align 128              ; programs at work that share many kernels
@opened = internal global i32 0, align 4              ; such programs so far
@summoned = internal global i32 0, align 4            ; whether workers have been woken, and none has come yet
@home = internal global i32 -1, align 4               ; the processor that workers are kept off
@numbers = internal global [1024 x i32] zeroinitializer, align 128   ; the system's numbers of the workers; 0: not known yet

declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @fesetenv(ptr)

define internal ptr @worker(ptr %argument) {
  call i32 @fesetenv(ptr inttoptr (i64 -1 to ptr))    ; FE_DFL_ENV: a thread inherits the mode of who starts it, who may flush subnormal numbers
  %number = ptrtoint ptr %argument to i32
  %own.long = call i64 (i64, ...) @syscall(i64 GETTID)
  %own = trunc i64 %own.long to i32
  %number.long = zext i32 %number to i64
  %place.own = add i64 %number.long, 1
  %listed = icmp ult i32 %number, 1024
  br i1 %listed, label %list, label %fresh
list:
  %place = getelementptr i32, ptr @numbers, i32 %number
  store atomic i32 %own, ptr %place release, align 4
  br label %fresh
fresh:
  %scratch = phi ptr [null, %0], [null, %list], [%scratch, %slept], [%scratch.now, %helped]
  %capacity = phi i64 [0, %0], [0, %list], [%capacity, %slept], [%capacity.now, %helped]
  %last = phi i64 [0, %0], [0, %list], [%last, %slept], [%seen, %helped]
  %known = load atomic i32, ptr @opened seq_cst, align 4
  %began = CLOCK
  br label %look
look:
  %turn = phi i32 [0, %fresh], [%turn.next, %pause], [%turn.next, %yield]
  %seen = load atomic i64, ptr @word acquire, align 128
  %can = trunc i64 %seen to i1
  %another.job = icmp ne i64 %seen, %last
  %some = and i1 %can, %another.job
  %wanted = load atomic i32, ptr @wanted monotonic, align 4
  %invited = icmp slt i32 %number, %wanted
  %takes = and i1 %some, %invited
  br i1 %takes, label %prepare, label %wait
wait:
  %turn.next = add i32 %turn, 1
  %tired = icmp ugt i32 %turn.next, PAUSES
  br i1 %tired, label %linger, label %pause
pause:
  call void PAUSE
  br label %look
linger:                                     ; more jobs come from a program that has the pool open
  %programs = load atomic i32, ptr @open monotonic, align 128
  %one = icmp eq i32 %programs, 1
  %expects = and i1 %one, %invited
  %now = CLOCK
  %waited = sub i64 %now, %began
  %brief = icmp ult i64 %waited, LINGER
  %few = icmp ult i32 %turn.next, LINGERS
  %short = and i1 %brief, %few
  %stays = and i1 %expects, %short
  br i1 %stays, label %yield, label %sleep
yield:
  %others = call i32 @sched_yield()
  br label %look
sleep:                                      ; either the caller sees a sleeper, or the sleeper the caller's job or program
  %ticket = load atomic i32, ptr @epoch seq_cst, align 4
  %more = atomicrmw add ptr @sleepers, i32 1 seq_cst, align 128
  %again = load atomic i64, ptr @word seq_cst, align 128
  %some.again = icmp ne i64 %again, %last
  %known.again = load atomic i32, ptr @opened seq_cst, align 4
  %another = icmp ne i32 %known.again, %known
  %any.again = or i1 %some.again, %another
  %takes.again = and i1 %any.again, %invited
  br i1 %takes.again, label %slept, label %rest
rest:
  %woken = call i64 (i64, ...) @syscall(i64 FUTEX, ptr @epoch, i32 128, i32 %ticket, ptr null, ptr null, i32 0)
  br label %slept
slept:
  store atomic i32 0, ptr @summoned monotonic, align 4
  %fewer = atomicrmw sub ptr @sleepers, i32 1 seq_cst, align 128
  br label %fresh
prepare:
  %bytes = load atomic i64, ptr getelementptr (i64, ptr @job, i64 3) monotonic, align 8
  %fits = icmp ule i64 %bytes, %capacity
  br i1 %fits, label %help, label %grow
grow:
  call void @free(ptr %scratch)
  %rounded = add i64 %bytes, 4095
  %whole = and i64 %rounded, -4096
  %made = call ptr @aligned_alloc(i64 64, i64 %whole)
  %failed = icmp eq ptr %made, null
  %granted = select i1 %failed, i64 0, i64 %whole
  br i1 %failed, label %give.up, label %help
give.up:                                    ; without memory one does not help
  %yielded = call i32 @sched_yield()
  br label %helped
help:
  %scratch.own = phi ptr [%scratch, %prepare], [%made, %grow]
  %capacity.own = phi i64 [%capacity, %prepare], [%granted, %grow]
  %ran = call i64 @drain(ptr %scratch.own, i64 %capacity.own, i64 %place.own)
  %count = atomicrmw add ptr @helps, i64 %ran monotonic, align 8
  br label %helped
helped:
  %scratch.now = phi ptr [null, %give.up], [%scratch.own, %help]
  %capacity.now = phi i64 [0, %give.up], [%capacity.own, %help]
  br label %fresh
}

; Starts workers up to the number wanted; signals stay with the threads of the interpreter.
define internal void @start(i32 %running, i32 %wanted) {
  %thread = alloca i64
  %all = alloca [16 x i64]
  %mask = alloca [16 x i64]
  call void @llvm.memset.p0.i64(ptr %all, i8 255, i64 128, i1 false)
  %blocked = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %mask)
  br label %next
next:
  %n = phi i32 [%running, %0], [%n.next, %made]
  %more = icmp slt i32 %n, %wanted
  br i1 %more, label %make, label %done
make:
  %n.wide = sext i32 %n to i64
  %argument = inttoptr i64 %n.wide to ptr
  %status = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %argument)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %made, label %refused
made:
  %handle = load i64, ptr %thread
  %detached = call i32 @pthread_detach(i64 %handle)
  %n.next = add i32 %n, 1
  store atomic i32 %n.next, ptr @running monotonic, align 4
  br label %next
refused:                                    ; the system has no thread for us: do with those that there are
  store atomic i32 %n, ptr @wanted monotonic, align 4
  br label %done
done:
  store i32 -1, ptr @home, align 4            ; new ones are not kept off it yet
  %restored = call i32 @pthread_sigmask(i32 2, ptr %mask, ptr null)
  ret void
}

; Keeps workers off the caller's processor, if they are not already; where it may use no other, they are left where they are. Who calls has the pool.
define internal void @keep.off() {
  %mask = alloca [16 x i64], align 8
  %here = call i32 @sched_getcpu()
  %home = load i32, ptr @home, align 4
  %same = icmp eq i32 %here, %home
  %known = icmp ult i32 %here, 1024
  %no = xor i1 %known, true
  %nothing = or i1 %same, %no
  br i1 %nothing, label %done, label %ask
ask:
  %length = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %failed = icmp slt i32 %length, 0
  br i1 %failed, label %done, label %exclude
exclude:
  %place = lshr i32 %here, 6
  %word = getelementptr i64, ptr %mask, i32 %place
  %within = and i32 %here, 63
  %within.long = zext i32 %within to i64
  %bit = shl i64 1, %within.long
  %others = xor i64 %bit, -1
  %before = load i64, ptr %word, align 8
  %after = and i64 %before, %others
  store i64 %after, ptr %word, align 8
  %whole = load <16 x i64>, ptr %mask, align 8
  %any = call i64 @llvm.vector.reduce.or.v16i64(<16 x i64> %whole)
  %alone = icmp eq i64 %any, 0
  br i1 %alone, label %done, label %each
each:
  %running = load atomic i32, ptr @running monotonic, align 4
  %most = call i32 @llvm.umin.i32(i32 %running, i32 1024)
  br label %next
next:
  %n = phi i32 [0, %each], [%n.next, %moved]
  %all = phi i1 [true, %each], [%all.next, %moved]
  %more = icmp ult i32 %n, %most
  br i1 %more, label %look, label %last
look:
  %at = getelementptr i32, ptr @numbers, i32 %n
  %number = load atomic i32, ptr %at acquire, align 4
  %started = icmp ne i32 %number, 0
  br i1 %started, label %move, label %moved
move:
  %status = call i32 @sched_setaffinity(i32 %number, i64 128, ptr %mask)
  br label %moved
moved:
  %all.next = and i1 %all, %started
  %n.next = add i32 %n, 1
  br label %next
last:                                       ; those that have not come so far yet are asked the next time
  %kept = select i1 %all, i32 %here, i32 -1
  store i32 %kept, ptr @home, align 4
  br label %done
done:
  ret void
}

; Wakes so many workers. Who calls has the pool.
define internal void @rouse(i32 %count) {
  call void @keep.off()
  store atomic i32 1, ptr @summoned monotonic, align 4
  %call.count = load i64, ptr @calls
  %call.count.next = add i64 %call.count, 1
  store i64 %call.count.next, ptr @calls
  %epoch = atomicrmw add ptr @epoch, i32 1 seq_cst, align 4
  %called = call i64 (i64, ...) @syscall(i64 FUTEX, ptr @epoch, i32 129, i32 %count, ptr null, ptr null, i32 0)
  ret void
}

; A program begins that shares much work: workers are woken for all of it, unless others have needed the cores lately.
define void @OPEN() {
  %programs = atomicrmw add ptr @open, i32 1 seq_cst, align 128
  %wanted = load atomic i32, ptr @wanted monotonic, align 4
  %several = icmp sgt i32 %wanted, 0
  br i1 %several, label %lock, label %done
lock:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic, align 128
  %locked = extractvalue {i32, i1} %pair, 1
  br i1 %locked, label %judge, label %done
judge:
  %rest = load i64, ptr @rest
  %resting = icmp ne i64 %rest, 0
  br i1 %resting, label %unlock, label %announce
announce:
  %times = atomicrmw add ptr @opened, i32 1 seq_cst, align 4
  %running = load atomic i32, ptr @running monotonic, align 4
  %short = icmp slt i32 %running, %wanted
  br i1 %short, label %start.some, label %look
start.some:
  call void @start(i32 %running, i32 %wanted)
  br label %look
look:
  %sleeping = load atomic i32, ptr @sleepers seq_cst, align 128
  %some = icmp sgt i32 %sleeping, 0
  br i1 %some, label %call.them, label %unlock
call.them:                                  ; some of those that sleep may be more than are wanted
  call void @rouse(i32 65536)
  br label %unlock
unlock:
  store atomic i32 0, ptr @busy release, align 128
  br label %done
done:
  ret void
}

; It has ended. (A child that was forked in the middle counts from 0 again.)
define void @CLOSE() {
  %first = load atomic i32, ptr @open monotonic, align 128
  br label %try
try:
  %count = phi i32 [%first, %0], [%now, %exchange]
  %some = icmp sgt i32 %count, 0
  br i1 %some, label %exchange, label %done
exchange:
  %less = add i32 %count, -1
  %pair = cmpxchg ptr @open, i32 %count, i32 %less acq_rel monotonic, align 128
  %now = extractvalue {i32, i1} %pair, 0
  %changed = extractvalue {i32, i1} %pair, 1
  br i1 %changed, label %done, label %try
done:
  ret void
}
"""
