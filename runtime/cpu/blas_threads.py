"""Holds BLAS at one thread while compiled programs call it.

BLAS has threads of its own, and two layers of threads would be many more than there are cores. The first program that begins calls of
BLAS sets the number of SciPy's OpenBLAS to one, and the last one that ends sets back what it was.
"""

from __future__ import annotations

import ctypes
from functools import cache

from wengert.runtime.cpu.engine import Library
from wengert.transforms.codegen.cpu.symbols import BLAS_HOLD, BLAS_RELEASE, shared_library


def blas_text() -> str:
    """The two functions that a program's entry calls, and those that set them up, as LLVM text."""
    return _TEXT.replace("@HOLD", f"@{BLAS_HOLD}").replace("@RELEASE", f"@{BLAS_RELEASE}")


@cache
def find_blas(library: Library) -> None:
    """Tells the machine code the functions that get and set the number of threads, in what SciPy brings (if it is OpenBLAS)."""
    blas = shared_library()  # a name is looked for in all that it depends on
    for prefix in ("scipy_openblas", "openblas"):
        names = [f"{prefix}_{what}_num_threads" for what in ("get", "set")]
        if blas is not None and all(hasattr(blas, name) for name in names):
            setter = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library.address("wengert_blas_set"))
            setter(*[ctypes.cast(blas[name], ctypes.c_void_p) for name in names])
            break


_TEXT = """
@blas.lock = internal global i32 0, align 128
@blas.users = internal global i32 0, align 4
@blas.saved = internal global i32 0, align 4
@blas.get = internal global ptr null, align 8
@blas.set = internal global ptr null, align 8

define void @wengert_blas_set(ptr %get, ptr %set) {
  store ptr %get, ptr @blas.get
  store ptr %set, ptr @blas.set
  ret void
}

define internal void @blas.enter() {
  br label %try
try:
  %pair = cmpxchg ptr @blas.lock, i32 0, i32 1 acquire monotonic, align 128
  %locked = extractvalue {i32, i1} %pair, 1
  br i1 %locked, label %done, label %again
again:
  %yielded = call i32 @sched_yield()
  br label %try
done:
  ret void
}

; The first program that is about to call BLAS sets its threads to one, and the last one sets them back.
define void @HOLD() {
  %get = load ptr, ptr @blas.get
  %none = icmp eq ptr %get, null
  br i1 %none, label %done, label %enter
enter:
  call void @blas.enter()
  %users = load i32, ptr @blas.users
  %users.next = add i32 %users, 1
  store i32 %users.next, ptr @blas.users
  %first = icmp eq i32 %users, 0
  br i1 %first, label %set, label %leave
set:
  %saved = call i32 %get()
  store i32 %saved, ptr @blas.saved
  %several = icmp ne i32 %saved, 1
  br i1 %several, label %one, label %leave
one:
  %function = load ptr, ptr @blas.set
  call void %function(i32 1)
  br label %leave
leave:
  store atomic i32 0, ptr @blas.lock release, align 128
  br label %done
done:
  ret void
}

define void @RELEASE() {
  %set = load ptr, ptr @blas.set
  %none = icmp eq ptr %set, null
  br i1 %none, label %done, label %enter
enter:
  call void @blas.enter()
  %users = load i32, ptr @blas.users
  %users.next = add i32 %users, -1
  store i32 %users.next, ptr @blas.users
  %last = icmp eq i32 %users.next, 0
  br i1 %last, label %restore, label %leave
restore:
  %saved = load i32, ptr @blas.saved
  %several = icmp ne i32 %saved, 1
  br i1 %several, label %back, label %leave
back:
  call void %set(i32 %saved)
  br label %leave
leave:
  store atomic i32 0, ptr @blas.lock release, align 128
  br label %done
done:
  ret void
}

; In a forked child no thread is in a program that calls BLAS.
define void @wengert_blas_forked() {
  store atomic i32 0, ptr @blas.lock seq_cst, align 128
  store i32 0, ptr @blas.users
  ret void
}
"""
