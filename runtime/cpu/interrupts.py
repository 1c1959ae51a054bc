"""Handles Ctrl-C and other signals while compiled code runs.

Python notes a signal when it comes and runs its handler between two instructions of Python; while machine code runs there are none. So code that
may run for long polls between kernels and in loops (:mod:`wengert.transforms.codegen.cpu.polls`). On the main thread, where
handlers run, and every 20 ms, a poll takes the interpreter's lock and has pending handlers run. If one raises, the exception is put aside, and the program
ends as it does when an op in it fails: tapes are freed, BLAS gets its threads back, the arena and the thread pool are as after any call.
The caller raises it then (:func:`raise_pending`).
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache
from typing import Any

from wengert.ir.pipeline.stages import locked
from wengert.runtime.cpu.engine import Library
from wengert.runtime.cpu.objects import object_code
from wengert.transforms.codegen.cpu.symbols import CALL_BACK, POLL

_NANOSECONDS = 20_000_000
_CLOCK = 6
"""The monotonic clock that is quick to read on Linux, and the monotonic one of macOS."""
_FUNCTIONS = (
    *("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch", "PyErr_Restore"),
    *("PyObject_CallFunction", "PyObject_IsTrue", "Py_DecRef"),
)

_TEXT = (
    """
@main = internal global i64 0, align 8
@last = internal global i64 0, align 8
@pending = internal global [3 x ptr] zeroinitializer, align 8

declare i64 @pthread_self()
declare i32 @clock_gettime(i32, ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare i32 @PyObject_IsTrue(ptr)
declare void @Py_DecRef(ptr)
@three = internal constant [4 x i8] c"LLL\\00"

define void @wengert_interrupts_main(i64 %thread) {
  store i64 %thread, ptr @main
  ret void
}

define i32 @POLL() {
  %time = alloca [2 x i64], align 8
  %self = call i64 @pthread_self()
  %main = load i64, ptr @main
  %is.main = icmp eq i64 %self, %main
  br i1 %is.main, label %look, label %no
look:
  %status = call i32 @clock_gettime(i32 CLOCK, ptr %time)
  %seconds = load i64, ptr %time
  %fraction.at = getelementptr i64, ptr %time, i64 1
  %fraction = load i64, ptr %fraction.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %fraction
  %before = load i64, ptr @last
  %since = sub i64 %now, %before
  %soon = icmp ult i64 %since, NANOSECONDS
  br i1 %soon, label %no, label %ask
ask:
  store i64 %now, ptr @last
  %state = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  %quiet = icmp eq i32 %raised, 0
  br i1 %quiet, label %release, label %keep
keep:
  call void @PyErr_Fetch(ptr @pending, ptr getelementptr (ptr, ptr @pending, i64 1), ptr getelementptr (ptr, ptr @pending, i64 2))
  br label %release
release:
  %ended = phi i32 [0, %ask], [1, %keep]
  call void @PyGILState_Release(i32 %state)
  ret i32 %ended
no:
  ret i32 0
}

; Calls a function of Python with three numbers, from code that may hold the interpreter's lock or not; 0 if its answer is true. What
; it raises, which a signal's handler may do before its first instruction, is put aside.
define i32 @CALL_BACK(ptr %callable, i64 %op, ptr %buffers, ptr %table) {
  %state = call i32 @PyGILState_Ensure()
  %second = ptrtoint ptr %buffers to i64
  %third = ptrtoint ptr %table to i64
  %result = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %callable, ptr @three, i64 %op, i64 %second, i64 %third)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %keep, label %answered
answered:
  %truth = call i32 @PyObject_IsTrue(ptr %result)
  call void @Py_DecRef(ptr %result)
  %is.true = icmp eq i32 %truth, 1
  %answer = select i1 %is.true, i32 0, i32 1
  br label %release
keep:
  call void @PyErr_Fetch(ptr @pending, ptr getelementptr (ptr, ptr @pending, i64 1), ptr getelementptr (ptr, ptr @pending, i64 2))
  br label %release
release:
  %status = phi i32 [%answer, %answered], [1, %keep]
  call void @PyGILState_Release(i32 %state)
  ret i32 %status
}

; Raises what was put aside, if this is the main thread.
define void @wengert_interrupts_raise() {
  %self = call i64 @pthread_self()
  %main = load i64, ptr @main
  %is.main = icmp eq i64 %self, %main
  %type = load ptr, ptr @pending
  %some = icmp ne ptr %type, null
  %both = and i1 %is.main, %some
  br i1 %both, label %restore, label %done
restore:
  %value = load ptr, ptr getelementptr (ptr, ptr @pending, i64 1)
  %traceback = load ptr, ptr getelementptr (ptr, ptr @pending, i64 2)
  store ptr null, ptr @pending
  call void @PyErr_Restore(ptr %type, ptr %value, ptr %traceback)
  br label %done
done:
  ret void
}
""".replace("@POLL", f"@{POLL}")
    .replace("@CALL_BACK", f"@{CALL_BACK}")
    .replace("CLOCK", str(_CLOCK))
    .replace("NANOSECONDS", str(_NANOSECONDS))
)


class _Interrupts:
    """The machine code, and its functions that Python calls."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        for name in _FUNCTIONS:
            address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
            assert address is not None
            llvm.add_symbol(name, address)  # pyright: ignore[reportUnknownMemberType]
        self._library = library = Library(object_code(_TEXT).image)
        for name in (POLL, CALL_BACK):
            llvm.add_symbol(name, library.address(name))  # pyright: ignore[reportUnknownMemberType]
        self.set_main = ctypes.CFUNCTYPE(None, ctypes.c_size_t)(library.address("wengert_interrupts_main"))
        self.set_main(threading.main_thread().ident or 0)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: self.set_main(threading.get_ident()))
        self.raise_pending: Any = ctypes.PYFUNCTYPE(None)(library.address("wengert_interrupts_raise"))


@cache
def _shared_code() -> _Interrupts:
    return _Interrupts()


@locked
def register() -> None:
    """Makes the function known to LLVM, before code that calls it is loaded."""
    _shared_code()


def raise_pending() -> None:
    """Raises the exception of a signal's handler that ended the call which has just failed on this thread, if that is why it failed."""
    if _shared_code.cache_info().currsize:
        _shared_code().raise_pending()
