"""The machine code of :mod:`wengert.runtime.cpu.native_entry`, as LLVM text.

``wengert_call`` is a ``PyCFunctionFast``: it reads the objects of CPython and NumPy at fixed offsets. Its ``self`` is the tuple that
describes a program; the words at its front are a header of :data:`HEADER` words, a record of :data:`RECORD` words for each argument and
result (dtype, rank, extents), and the tail of the table of pointers.
"""

HEADER = 12
RECORD = 4
TEXT = """
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyErr_NoMemory()
declare ptr @wengert_PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)

; Whether an object is an array of the type, dtype, rank and extents of a record, with these flags.
define internal i1 @matches(ptr %object, ptr %type, ptr %record, i32 %flags) {
  %type.at = getelementptr i8, ptr %object, i64 8
  %type.actual = load ptr, ptr %type.at
  %is.array = icmp eq ptr %type.actual, %type
  br i1 %is.array, label %array, label %no
array:
  %descr.at = getelementptr i8, ptr %object, i64 56
  %descr.actual = load ptr, ptr %descr.at
  %descr = load ptr, ptr %record
  %same.descr = icmp eq ptr %descr.actual, %descr
  %rank.at = getelementptr i8, ptr %object, i64 24
  %rank.actual = load i32, ptr %rank.at
  %rank.of = getelementptr i64, ptr %record, i64 1
  %rank = load i64, ptr %rank.of
  %rank.wide = sext i32 %rank.actual to i64
  %same.rank = icmp eq i64 %rank.wide, %rank
  %flags.at = getelementptr i8, ptr %object, i64 64
  %flags.actual = load i32, ptr %flags.at
  %flags.masked = and i32 %flags.actual, %flags
  %same.flags = icmp eq i32 %flags.masked, %flags
  %both = and i1 %same.descr, %same.rank
  %all = and i1 %both, %same.flags
  br i1 %all, label %shape, label %no
shape:
  %actual.at = getelementptr i8, ptr %object, i64 32
  %actual = load ptr, ptr %actual.at
  %extents.of = getelementptr i64, ptr %record, i64 2
  %extents = load ptr, ptr %extents.of
  br label %dimension
dimension:
  %d = phi i64 [0, %shape], [%d.next, %same]
  %more = icmp slt i64 %d, %rank
  br i1 %more, label %compare, label %yes
compare:
  %actual.d = getelementptr i64, ptr %actual, i64 %d
  %extents.d = getelementptr i64, ptr %extents, i64 %d
  %n.actual = load i64, ptr %actual.d
  %n = load i64, ptr %extents.d
  %same.n = icmp eq i64 %n.actual, %n
  br i1 %same.n, label %same, label %no
same:
  %d.next = add i64 %d, 1
  br label %dimension
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether a kept result may be written again: ours alone, unchanged, owning its memory, without weak references.
define internal i1 @reusable(ptr %object, ptr %type, ptr %record) {
  %count = load i32, ptr %object
  %alone = icmp eq i32 %count, 1
  br i1 %alone, label %ours, label %no
ours:
  %fits = call i1 @matches(ptr %object, ptr %type, ptr %record, i32 1285)
  br i1 %fits, label %plain, label %no
plain:
  %base.at = getelementptr i8, ptr %object, i64 48
  %base = load ptr, ptr %base.at
  %weak.at = getelementptr i8, ptr %object, i64 72
  %weak = load ptr, ptr %weak.at
  %no.base = icmp eq ptr %base, null
  %no.weak = icmp eq ptr %weak, null
  %free = and i1 %no.base, %no.weak
  ret i1 %free
no:
  ret i1 false
}

; The array for one result (a new reference): a kept one, or a fresh one that is kept in the slot of this generation.
define internal ptr @result(ptr %slots, i64 %number, i64 %generation, ptr %type, ptr %record) {
  %first = shl i64 %number, 1
  %second = or i64 %first, 1
  %one = call ptr @PyList_GetItem(ptr %slots, i64 %first)
  %one.free = call i1 @reusable(ptr %one, ptr %type, ptr %record)
  br i1 %one.free, label %reuse, label %try
try:
  %two = call ptr @PyList_GetItem(ptr %slots, i64 %second)
  %two.free = call i1 @reusable(ptr %two, ptr %type, ptr %record)
  br i1 %two.free, label %reuse, label %fresh
reuse:
  %kept = phi ptr [%one, %0], [%two, %try]
  call void @Py_IncRef(ptr %kept)
  ret ptr %kept
fresh:
  %descr = load ptr, ptr %record
  call void @Py_IncRef(ptr %descr)
  %rank.of = getelementptr i64, ptr %record, i64 1
  %rank = load i32, ptr %rank.of
  %extents.of = getelementptr i64, ptr %record, i64 2
  %extents = load ptr, ptr %extents.of
  %made = call ptr @wengert_PyArray_NewFromDescr(ptr %type, ptr %descr, i32 %rank, ptr %extents, ptr null, ptr null, i32 0, ptr null)
  %bad = icmp eq ptr %made, null
  br i1 %bad, label %done, label %keep
keep:
  call void @Py_IncRef(ptr %made)
  %slot = or i64 %first, %generation
  %ignored = call i32 @PyList_SetItem(ptr %slots, i64 %slot, ptr %made)
  br label %done
done:
  ret ptr %made
}

define internal ptr @data(ptr %array) alwaysinline {
  %at = getelementptr i8, ptr %array, i64 16
  %actual = load ptr, ptr %at
  ret ptr %actual
}

define internal ptr @word(ptr %words, i64 %number) alwaysinline {
  %at = getelementptr ptr, ptr %words, i64 %number
  %actual = load ptr, ptr %at
  ret ptr %actual
}

define internal i64 @number(ptr %words, i64 %number) alwaysinline {
  %at = getelementptr i64, ptr %words, i64 %number
  %actual = load i64, ptr %at
  ret i64 %actual
}

define ptr @wengert_call(ptr %self, ptr %args, i64 %nargs) {
  %words.array = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %words = call ptr @data(ptr %words.array)
  %inputs = call i64 @number(ptr %words, i64 3)
  %outputs = call i64 @number(ptr %words, i64 4)
  %tail = call i64 @number(ptr %words, i64 5)
  %type = call ptr @word(ptr %words, i64 9)
  %records = getelementptr i64, ptr %words, i64 HEADER
  %right.count = icmp eq i64 %nargs, %inputs
  br i1 %right.count, label %begin, label %slow

begin:
  %pointers = add i64 %inputs, %outputs
  %all.pointers = add i64 %pointers, %tail
  %table = alloca ptr, i64 %all.pointers
  br label %argument
argument:
  %i = phi i64 [0, %begin], [%i.next, %argument.fits]
  %more.arguments = icmp slt i64 %i, %inputs
  br i1 %more.arguments, label %argument.check, label %arguments.done
argument.check:
  %object.at = getelementptr ptr, ptr %args, i64 %i
  %object = load ptr, ptr %object.at
  %record.at = mul i64 %i, RECORD
  %record = getelementptr i64, ptr %records, i64 %record.at
  %fits = call i1 @matches(ptr %object, ptr %type, ptr %record, i32 257)
  br i1 %fits, label %argument.fits, label %slow
argument.fits:
  %object.data = call ptr @data(ptr %object)
  %entry.at = getelementptr ptr, ptr %table, i64 %i
  store ptr %object.data, ptr %entry.at
  %i.next = add i64 %i, 1
  br label %argument

arguments.done:
  %tuple = call ptr @PyTuple_New(i64 %outputs)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %failed, label %allocate
allocate:
  %slots = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %generation.at = getelementptr i64, ptr %words, i64 10
  %generation = load i64, ptr %generation.at
  %flipped = xor i64 %generation, 1
  store i64 %flipped, ptr %generation.at
  br label %output
output:
  %j = phi i64 [0, %allocate], [%j.next, %output.made]
  %more.outputs = icmp slt i64 %j, %outputs
  br i1 %more.outputs, label %output.make, label %outputs.done
output.make:
  %position = add i64 %inputs, %j
  %out.record.at = mul i64 %position, RECORD
  %out.record = getelementptr i64, ptr %records, i64 %out.record.at
  %array = call ptr @result(ptr %slots, i64 %j, i64 %generation, ptr %type, ptr %out.record)
  %no.array = icmp eq ptr %array, null
  br i1 %no.array, label %drop, label %output.made
output.made:
  %stored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %j, ptr %array)
  %array.data = call ptr @data(ptr %array)
  %out.entry = getelementptr ptr, ptr %table, i64 %position
  store ptr %array.data, ptr %out.entry
  %j.next = add i64 %j, 1
  br label %output

outputs.done:
  %tail.from.at = mul i64 %pointers, RECORD
  %tail.from = getelementptr i64, ptr %records, i64 %tail.from.at
  %tail.to = getelementptr ptr, ptr %table, i64 %pointers
  %tail.bytes = shl i64 %tail, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %tail.to, ptr %tail.from, i64 %tail.bytes, i1 false)
  %arena.at = getelementptr ptr, ptr %words, i64 6
  %own = atomicrmw xchg ptr %arena.at, ptr null acq_rel, align 8
  %taken = icmp eq ptr %own, null
  br i1 %taken, label %temporary, label %run
temporary:                                        ; another thread is running: an arena for this call alone
  %size = call i64 @number(ptr %words, i64 7)
  %rounded = add i64 %size, 63
  %whole = and i64 %rounded, -64
  %extra = call ptr @aligned_alloc(i64 64, i64 %whole)
  %no.extra = icmp eq ptr %extra, null
  br i1 %no.extra, label %out.of.memory, label %run
out.of.memory:
  %ignored = call ptr @PyErr_NoMemory()
  br label %drop

run:
  %arena = phi ptr [%own, %outputs.done], [%extra, %temporary]
  %entry = call ptr @word(ptr %words, i64 0)
  %release = call i64 @number(ptr %words, i64 8)
  %releases = icmp ne i64 %release, 0
  br i1 %releases, label %run.released, label %run.locked
run.locked:
  %status.locked = call i32 %entry(ptr %table, ptr %arena)
  br label %ran
run.released:
  %thread = call ptr @PyEval_SaveThread()
  %status.released = call i32 %entry(ptr %table, ptr %arena)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %ran
ran:
  %status = phi i32 [%status.locked, %run.locked], [%status.released, %run.released]
  br i1 %taken, label %give.back.extra, label %give.back
give.back.extra:
  call void @free(ptr %arena)
  br label %finish
give.back:
  store atomic ptr %own, ptr %arena.at release, align 8
  br label %finish
finish:
  %good = icmp eq i32 %status, 0
  br i1 %good, label %return, label %raise
return:
  ret ptr %tuple

raise:                                            ; the Python side holds the exception: it raises it
  call void @Py_DecRef(ptr %tuple)
  %fail = call ptr @word(ptr %words, i64 2)
  %address = call ptr @PyLong_FromVoidPtr(ptr %table)
  %fail.args = alloca ptr
  store ptr %address, ptr %fail.args
  %none = call ptr @PyObject_Vectorcall(ptr %fail, ptr %fail.args, i64 1, ptr null)
  call void @Py_DecRef(ptr %address)
  ret ptr %none
drop:
  call void @Py_DecRef(ptr %tuple)
  br label %failed
failed:
  ret ptr null
slow:
  %callable = call ptr @word(ptr %words, i64 1)
  %answer = call ptr @PyObject_Vectorcall(ptr %callable, ptr %args, i64 %nargs, ptr null)
  ret ptr %answer
}

; For the test: copies eight bytes, or fails if they are zero.
define i32 @wengert_probe(ptr %table, ptr %arena) {
  %source = load ptr, ptr %table
  %target.at = getelementptr ptr, ptr %table, i64 1
  %target = load ptr, ptr %target.at
  %x = load i64, ptr %source
  store i64 %x, ptr %arena
  store i64 %x, ptr %target
  %zero = icmp eq i64 %x, 0
  %status = zext i1 %zero to i32
  ret i32 %status
}
""".replace("HEADER", str(HEADER)).replace("RECORD", str(RECORD))
