"""Products that are compiled alone, on memory beside inaccessible pages, and what they are by NumPy."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from wengert.transforms.codegen.cpu import matmul
from wengert.transforms.codegen.cpu.symbols import register_symbols
from wengert.transforms.schedule.host import host
from wengert.transforms.schedule.products.choice import choose
from wengert.transforms.schedule.products.operands import product
from wengert.transforms.schedule.products.plan import MatmulPlan, Parts, plan_of
from wengert.transforms.schedule.target import TARGETS, Target

Array = NDArray[Any]
TYPES = {
    "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64, "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip
TOLERANCE = {"f32": 2e-5, "c64": 2e-5, "f64": 1e-13, "c128": 1e-13}
HOST = host().target
AVX2 = TARGETS["avx2"]
_engines: list[Any] = []
_libc = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """Arrays of exact size that touch an inaccessible page at their end, or at their start."""

    def __init__(self, at_end: bool) -> None:
        self.at_end = at_end
        self.maps: list[Any] = []

    def address(self, size: int) -> int:
        """Memory of `size` bytes beside the inaccessible page."""
        page = mmap.PAGESIZE
        whole = -(-max(size, 1) // page) * page
        area = mmap.mmap(-1, whole + 2 * page)
        base = ctypes.addressof(ctypes.c_char.from_buffer(area))
        self.maps.append(area)
        for guard in (base, base + page + whole):
            assert _libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0) == 0
        return base + page + (whole - size if self.at_end else 0)

    def copy(self, source: Array) -> int:
        """The memory of the array, as it is laid out, at a guarded address."""
        address = self.address(source.nbytes)
        ctypes.memmove(address, source.ctypes.data, source.nbytes)
        return address

    def release(self) -> None:
        """Makes the guards accessible again, so that the maps can be dropped."""
        for area in self.maps:
            base = ctypes.addressof(ctypes.c_char.from_buffer(area))
            _libc.mprotect(ctypes.c_void_p(base), ctypes.c_size_t(len(area)), mmap.PROT_READ | mmap.PROT_WRITE)


def planned(a: Any, b: Any, element: str, *, target: Target = HOST, **numbers: Any) -> MatmulPlan:
    """The product of operands of these shapes, as it is chosen to run."""
    contraction = product(a, b, element, **numbers)
    return plan_of(contraction, choose(contraction, target, parallel=False))


def compiled(plan: MatmulPlan) -> Any:
    """The function of a plan."""
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(_address("".join(matmul.helpers(plan).values()) + matmul.emit_function(plan, "product")))


def compiled_parts(parts: Parts) -> Any:
    """The function that computes all parts, the last one first, each in the same scratch memory."""
    task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(
        _address("".join(matmul.task_helpers(parts).values()) + matmul.emit_task(parts, "product"))
    )

    def run(a: int, b: int, c: int, scratch: int) -> None:
        frame = (ctypes.c_void_p * 3)(a, b, c)
        for chunk in reversed(range(parts.cut.chunks)):
            task(frame, chunk, scratch)

    return run


def _address(text: str) -> int:
    register_symbols(("wg.blas.sgemm", "wg.blas.dgemm"))
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _engines.append(engine)
    return engine.get_function_address("product")


def check_guarded(function: Any, scratch_bytes: int, a: Array, b: Array, expected: Array, element: str) -> None:
    """Runs a product between inaccessible pages, before and behind everything, and compares it."""
    for at_end in (True, False):
        memory = Guarded(at_end)
        c = memory.address(expected.nbytes)
        function(memory.copy(a), memory.copy(b), c, memory.address(scratch_bytes))
        got = np.frombuffer(ctypes.string_at(c, expected.nbytes), expected.dtype).reshape(expected.shape)
        memory.release()
        if element in TOLERANCE:
            size = max(1.0, float(np.abs(expected).max(initial=0)))
            np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE[element] * size)
        else:
            np.testing.assert_array_equal(got, expected)


def product_by(plan: MatmulPlan, a: Array, b: Array, shape: tuple[int, ...]) -> Array:
    """What the function of a plan computes."""
    result, scratch = np.empty(shape, a.dtype), np.empty(plan.scratch_bytes + 64, np.uint8)
    compiled(plan)(a.ctypes.data, b.ctypes.data, result.ctypes.data, scratch.ctypes.data + -scratch.ctypes.data % 64)
    return result


def einsum(a: Array, b: Array, batch: tuple[tuple[int, ...], tuple[int, ...]], contracting: tuple[tuple[int, ...], tuple[int, ...]]) -> Array:
    """dot_general by NumPy: batch, then free dimensions of a, then of b."""
    letters = iter("abcdefghijklmnop")
    names_a, names_b = [""] * a.ndim, [""] * b.ndim
    result = ""
    for pairs, kept in ((batch, True), (contracting, False)):
        for i, j in zip(*pairs, strict=True):
            names_a[i] = names_b[j] = next(letters)
            result += names_a[i] if kept else ""
    for names in (names_a, names_b):
        for d, name in enumerate(names):
            if not name:
                names[d] = next(letters)
                result += names[d]
    return np.asarray(np.einsum(f"{''.join(names_a)},{''.join(names_b)}->{result}", a, b))


def values(shape: tuple[int, ...], element: str, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if element.startswith("c"):
        return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(TYPES[element])
    return np.asarray(rng.normal(size=shape) if element.startswith("f") else rng.integers(0, 1 << 7, shape)).astype(TYPES[element])
