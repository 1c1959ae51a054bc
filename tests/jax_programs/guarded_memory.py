"""Running compiled code on arrays that end, or begin, at memory which nobody may touch: an access beyond them ends the process."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.kernel.memory import ALIGNMENT
from wengert.ir import elements
from wengert.runtime.cpu.linking import linked
from wengert.runtime.cpu.objects import object_code
from wengert.runtime.functions import signature_of
from wengert.transforms.codegen.cpu.program import generate
from wengert.transforms.lowering import function, placed
from wengert.transforms.schedule.host import host

Array = np.ndarray[Any, np.dtype[Any]]


class Guarded:
    """Memory between two pages without access.

    Attributes:
        address: where it begins.
    """

    def __init__(self, count: int, *, at_end: bool, alignment: int = 1):
        page = mmap.PAGESIZE
        pages = max(1, -(-count // page))
        self._memory = mmap.mmap(-1, (pages + 2) * page)
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for forbidden in (first, first + (pages + 1) * page):
            assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(forbidden), page, 0) == 0
        end = first + (pages + 1) * page
        self.address = (end - count) // alignment * alignment if at_end else first + page


def run_guarded(module: ModuleOp, inputs: Sequence[Array], *, at_end: bool) -> list[Array] | None:
    """The results of @main of a core-level module; None if a part of it would run in the interpreter."""
    code = generate(placed(module), host().target)
    if code.interpreted:
        return None
    library = linked([object_code(code.text).image], code.symbols)
    results = signature_of(function(module, "main")).results
    constants = [np.ascontiguousarray(elements.to_numpy(op.value)) for op in code.constants]
    sizes = [prod(r.shape) * r.dtype.itemsize for r in results]
    given = [*map(np.ascontiguousarray, inputs), *[np.zeros(size, np.uint8) for size in sizes], *constants]
    guarded = [Guarded(array.nbytes, at_end=at_end) for array in given]
    for place, array in zip(guarded, given, strict=True):
        ctypes.memmove(place.address, array.ctypes.data, array.nbytes)
    table = (ctypes.c_void_p * (len(guarded) + 1))(*[place.address for place in guarded], 0)
    arena = Guarded(code.memory.arena, at_end=at_end, alignment=ALIGNMENT)
    entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(library.address("entry"))
    assert entry(ctypes.addressof(table), arena.address) == 0
    outputs = guarded[len(inputs) :]
    return [np.frombuffer(ctypes.string_at(o.address, n), r.dtype).reshape(r.shape) for o, n, r in zip(outputs, sizes, results, strict=False)]
