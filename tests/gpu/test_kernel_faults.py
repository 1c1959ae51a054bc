"""What a kernel does that has no meaning on a device is an error at its place, with the thread and the block; the same kernel without the fault runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_kernels import program, run_kernel
from xdsl.dialects.func import FuncOp

from wengert.dialects.kernel.buffers import is_result
from wengert.dialects.kernel.memory import value_type
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import dtype_of
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.runtime.interpreter.gpu import KernelFaultError

X = np.arange(16, dtype=np.float32)


@dataclass(frozen=True)
class Case:
    """A kernel with a fault, the same without, the words of the error, and the op at whose place it is."""

    name: str
    wrong: str
    right: str
    message: str
    op: str
    arguments: str = "%x: memref<16xf32, 1>; %y: memref<16xf32, 1>"
    options: dict[str, Any] = field(default_factory=lambda: {"grid": 2})
    expected: Any = None


NEIGHBOUR = """\
%v = memref.load %x[%g] : memref<16xf32, 1>
memref.store %v, %w[%t] : memref<8xf32, 3>
{}
%next = arith.addi %t, %c1 : index
%at = arith.remui %next, %n : index
%r = memref.load %w[%at] : memref<8xf32, 3>
memref.store %r, %y[%g] : memref<16xf32, 1>"""
SHARED = {"grid": 2, "attributions": "workgroup(%w: memref<8xf32, 3>)"}
ROTATED = np.roll(X.reshape(2, 8), -1, 1).reshape(-1)

COPY = """\
%v = memref.load %x[{load}] : memref<16xf32, 1>
memref.store %v, %y[{store}] : memref<16xf32, 1>"""

CASES = [
    Case(
        "a barrier is missing",
        NEIGHBOUR.format(""),
        NEIGHBOUR.format("gpu.barrier"),
        r"data race: thread \(0, 0, 0\) of block \(0, 0, 0\) reads element 1 of %w, which thread \(1, 0, 0\) of block \(0, 0, 0\) writes at kernel\.mlir:\d+:\d+ with no barrier",
        "memref.load",
        options=SHARED,
        expected=ROTATED,
    ),
    Case(
        "a barrier in a branch that some threads take",
        NEIGHBOUR.format("%low = arith.cmpi ult, %t, %c2 : index\nscf.if %low {\n  gpu.barrier\n}"),
        NEIGHBOUR.format("%low = arith.cmpi ult, %b, %c2 : index\nscf.if %low {\n  gpu.barrier\n}"),
        r"divergent barrier: thread \(0, 0, 0\) of block \(0, 0, 0\) waits there, but thread \(2, 0, 0\) of block \(0, 0, 0\) and 5 more of its group do not come",
        "gpu.barrier",
        options=SHARED,
        expected=ROTATED,
    ),
    Case(
        "a barrier in a loop of which threads make different numbers of iterations",
        NEIGHBOUR.format("scf.for %i = %c0 to %t step %c1 {\n  gpu.barrier\n}"),
        NEIGHBOUR.format("scf.for %i = %b to %c2 step %c1 {\n  gpu.barrier\n}"),
        r"divergent barrier: thread \(1, 0, 0\) of block \(0, 0, 0\) waits there, but thread \(0, 0, 0\) of block \(0, 0, 0\) does not come",
        "gpu.barrier",
        options=SHARED,
        expected=ROTATED,
    ),
    Case(
        "an element beyond the end",
        "%o = arith.addi %g, %c1 : index\n" + COPY.format(load="%o", store="%g"),
        "%o = arith.addi %g, %c0 : index\n" + COPY.format(load="%o", store="%g"),
        r"accesses element 16 of %x in thread \(7, 0, 0\) of block \(1, 0, 0\), but the buffer has 16 elements",
        "memref.load",
        expected=X,
    ),
    Case(
        "an element before the beginning, in a branch",
        "%o = arith.subi %g, %c1 : index\n%in = arith.cmpi ule, %c0, %g : index\nscf.if %in {\n" + COPY.format(load="%g", store="%o") + "\n}",
        "%o = arith.subi %g, %c1 : index\n%in = arith.cmpi ult, %c0, %g : index\nscf.if %in {\n" + COPY.format(load="%g", store="%o") + "\n}",
        r"accesses element -1 of %y in thread \(0, 0, 0\) of block \(0, 0, 0\)",
        "memref.store",
    ),
    Case(
        "memory of the group that nobody has written",
        "%r = memref.load %w[%t] : memref<8xf32, 3>\nmemref.store %r, %y[%g] : memref<16xf32, 1>",
        "%v = memref.load %x[%g] : memref<16xf32, 1>\nmemref.store %v, %w[%t] : memref<8xf32, 3>\n"
        "%r = memref.load %w[%t] : memref<8xf32, 3>\nmemref.store %r, %y[%g] : memref<16xf32, 1>",
        r"reads memory that nobody has written: element 0 of %w, in thread \(0, 0, 0\) of block \(0, 0, 0\)",
        "memref.load",
        options=SHARED,
        expected=X,
    ),
    Case(
        "a thread's own memory that it has not written",
        "%m = memref.alloca() : memref<2xf32>\n%z = arith.constant 1.0 : f32\n%odd = arith.remui %t, %c2 : index\n"
        "memref.store %z, %m[%odd] : memref<2xf32>\n%r = memref.load %m[%c0] : memref<2xf32>\nmemref.store %r, %y[%g] : memref<16xf32, 1>",
        "%m = memref.alloca() : memref<2xf32>\n%z = arith.constant 1.0 : f32\n%odd = arith.remui %t, %c2 : index\n"
        "memref.store %z, %m[%odd] : memref<2xf32>\n%r = memref.load %m[%odd] : memref<2xf32>\nmemref.store %r, %y[%g] : memref<16xf32, 1>",
        r"reads memory that nobody has written: element 0 of %m, in thread \(1, 0, 0\) of block \(0, 0, 0\)",
        "memref.load",
        expected=np.ones(16, np.float32),
    ),
    Case(
        "a result of which a part is read before it is written",
        "%r = memref.load %y[%g] : memref<16xf32, 1>\nmemref.store %r, %y[%g] : memref<16xf32, 1>",
        COPY.format(load="%g", store="%g") + "\n%r = memref.load %y[%g] : memref<16xf32, 1>\nmemref.store %r, %y[%g] : memref<16xf32, 1>",
        r"reads memory that nobody has written: element 0 of %y",
        "memref.load",
        expected=X,
    ),
    Case(
        "two threads write one element",
        COPY.format(load="%g", store="%b"),
        "%first = arith.cmpi eq, %t, %c0 : index\nscf.if %first {\n" + COPY.format(load="%g", store="%b") + "\n}",
        r"data race: thread \(0, 0, 0\) of block \(0, 0, 0\) and thread \(1, 0, 0\) of block \(0, 0, 0\) write element 0 of %y at the same time",
        "memref.store",
    ),
    Case(
        "two groups write one element",
        "%first = arith.cmpi eq, %t, %c0 : index\nscf.if %first {\n" + COPY.format(load="%g", store="%t") + "\n}",
        "%first = arith.cmpi eq, %g, %c0 : index\nscf.if %first {\n" + COPY.format(load="%g", store="%t") + "\n}",
        r"data race: thread \(0, 0, 0\) of block \(0, 0, 0\) and thread \(0, 0, 0\) of block \(1, 0, 0\) write element 0 of %y at the same time",
        "memref.store",
    ),
    Case(
        "a group reads what another one writes, whatever barriers there are",
        COPY.format(load="%g", store="%g")
        + "\ngpu.barrier\n%o = arith.addi %g, %n : index\n%size = arith.constant 16 : index\n%at = arith.remui %o, %size : index\n"
        "%r = memref.load %y[%at] : memref<16xf32, 1>",
        COPY.format(load="%g", store="%g")
        + "\ngpu.barrier\n%o = arith.addi %t, %c1 : index\n%in = arith.remui %o, %n : index\n%at = arith.addi %base, %in : index\n"
        "%r = memref.load %y[%at] : memref<16xf32, 1>",
        r"data race: thread \(0, 0, 0\) of block \(0, 0, 0\) reads element 8 of %y, which thread \(0, 0, 0\) of block \(1, 0, 0\) writes",
        "memref.load",
        expected=X,
    ),
    Case(
        "a write after another thread's read",
        NEIGHBOUR.format("gpu.barrier") + "\nmemref.store %v, %w[%t] : memref<8xf32, 3>",
        NEIGHBOUR.format("gpu.barrier") + "\ngpu.barrier\nmemref.store %v, %w[%t] : memref<8xf32, 3>",
        r"data race: thread \(0, 0, 0\) of block \(0, 0, 0\) writes element 0 of %w, which thread \(7, 0, 0\) of block \(0, 0, 0\) reads",
        "memref.store",
        options=SHARED,
        expected=ROTATED,
    ),
    Case(
        "atomic and plain accesses to one element",
        "%f = arith.constant 1.0 : f32\n%first = arith.cmpi eq, %g, %c0 : index\nscf.if %first {\n  memref.store %f, %y[%c0] : memref<16xf32, 1>\n}\n"
        "%o = memref.atomic_rmw addf %f, %y[%c0] : (f32, memref<16xf32, 1>) -> f32",
        "%f = arith.constant 1.0 : f32\n%first = arith.cmpi eq, %g, %c0 : index\nscf.if %first {\n  memref.store %f, %y[%c0] : memref<16xf32, 1>\n}\ngpu.barrier\n"
        "%o = memref.atomic_rmw addf %f, %y[%c0] : (f32, memref<16xf32, 1>) -> f32",
        r"data race: thread \(1, 0, 0\) of block \(0, 0, 0\) updates element 0 of %y, which thread \(0, 0, 0\) of block \(0, 0, 0\) writes",
        "memref.atomic_rmw",
        options={"grid": 1},
    ),
    Case(
        "a division of positions by zero",
        "%q = arith.divui %g, %t : index\n" + COPY.format(load="%g", store="%g"),
        "%o = arith.addi %t, %c1 : index\n%q = arith.divui %g, %o : index\n" + COPY.format(load="%g", store="%g"),
        r"divides by zero in thread \(0, 0, 0\) of block \(0, 0, 0\)",
        "arith.divui",
        expected=X,
    ),
    Case(
        "a conversion out of range",
        "%v = memref.load %x[%g] : memref<16xf32, 1>\n%i = arith.fptosi %v : f32 to i8\n%s = arith.constant 10.0 : f32\n%big = arith.mulf %v, %s : f32\n"
        "%j = arith.fptosi %big : f32 to i8\nmemref.store %v, %y[%g] : memref<16xf32, 1>",
        "%v = memref.load %x[%g] : memref<16xf32, 1>\n%i = arith.fptosi %v : f32 to i8\nmemref.store %v, %y[%g] : memref<16xf32, 1>",
        r"converts a number that its result cannot hold in thread \(5, 0, 0\) of block \(1, 0, 0\)",
        "arith.fptosi",
        expected=X,
    ),
    Case(
        "a write to an input",
        COPY.format(load="%g", store="%g") + "\nmemref.store %v, %x[%g] : memref<16xf32, 1>",
        COPY.format(load="%g", store="%g"),
        r"writes %x, which is a constant or an input of the function",
        "memref.store",
        expected=X,
    ),
    Case(
        "a loop that does not move on",
        "scf.for %i = %t to %n step %b {\n}\n" + COPY.format(load="%g", store="%g"),
        "scf.for %i = %t to %n step %c1 {\n}\n" + COPY.format(load="%g", store="%g"),
        r"has a step that is not positive",
        "scf.for",
        expected=X,
    ),
    Case(
        "a value that no thread gave decides what is done",
        "%v = memref.load %x[%g] : memref<16xf32, 1>\n%o = arith.constant 1 : i32\n%w = arith.constant 8 : i32\n%s, %ok = gpu.shuffle down %v, %o, %w : f32\n"
        "%p = arith.cmpf olt, %s, %v : f32\nscf.if %p {\n}\nmemref.store %v, %y[%g] : memref<16xf32, 1>",
        "%v = memref.load %x[%g] : memref<16xf32, 1>\n%o = arith.constant 1 : i32\n%w = arith.constant 8 : i32\n%s, %ok = gpu.shuffle down %v, %o, %w : f32\n"
        "%u = arith.select %ok, %v, %v : f32\n%p = arith.cmpf olt, %u, %v : f32\nscf.if %p {\n}\nmemref.store %v, %y[%g] : memref<16xf32, 1>",
        r"has a condition that is not defined in thread \(7, 0, 0\) of block \(0, 0, 0\)",
        "scf.if",
        expected=X,
    ),
    Case(
        "a shuffle in a branch that some threads of a subgroup take",
        "%v = memref.load %x[%g] : memref<16xf32, 1>\n%o = arith.constant 1 : i32\n%w = arith.constant 8 : i32\n%p = arith.cmpi ult, %t, %c2 : index\n"
        "scf.if %p {\n  %s, %ok = gpu.shuffle xor %v, %o, %w : f32\n}\nmemref.store %v, %y[%g] : memref<16xf32, 1>",
        "%v = memref.load %x[%g] : memref<16xf32, 1>\n%o = arith.constant 1 : i32\n%w = arith.constant 8 : i32\n%p = arith.cmpi ult, %b, %c1 : index\n"
        "scf.if %p {\n  %s, %ok = gpu.shuffle xor %v, %o, %w : f32\n}\nmemref.store %v, %y[%g] : memref<16xf32, 1>",
        r"needs every thread of a subgroup, but thread \(2, 0, 0\) of block \(0, 0, 0\) does not take part",
        "gpu.shuffle",
        expected=X,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fault_is_an_error_at_its_place(case: Case) -> None:
    with pytest.raises(KernelFaultError, match=case.message) as caught:
        run_kernel(case.wrong, case.arguments, [X], **case.options)
    place = re.match(r"kernel\.mlir:(\d+):(\d+): error: '([a-z._]+)'", str(caught.value))
    assert place is not None
    assert place[3] == case.op
    line = program(case.wrong, case.arguments, **case.options).splitlines()[int(place[1]) - 1]
    assert case.op in line[int(place[2]) - 1 :], "the line of the op"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_without_the_fault_it_runs(case: Case) -> None:
    result = run_kernel(case.right, case.arguments, [X], **case.options)
    if case.expected is not None:
        np.testing.assert_array_equal(result, case.expected)


def test_races_are_seen_between_groups_that_do_not_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wengert.runtime.interpreter.gpu.launch.LANES", 8)
    body = "%first = arith.cmpi eq, %t, %c0 : index\nscf.if %first {\n" + COPY.format(load="%g", store="%t") + "\n}"
    with pytest.raises(
        KernelFaultError, match=r"thread \(0, 0, 0\) of block \(1, 0, 0\) writes element 0 of %y, which thread \(0, 0, 0\) of block \(0, 0, 0\) writes"
    ):
        run_kernel(body, "%x: memref<16xf32, 1>; %y: memref<16xf32, 1>", [X], grid=2)


KERNELS = Path(__file__).parent / "kernels"
BARRIERS = [(path, number) for path in sorted(KERNELS.glob("*.mlir")) for number in range(path.read_text().count("gpu.barrier"))]


@pytest.mark.parametrize(("path", "number"), BARRIERS, ids=lambda part: part.stem if isinstance(part, Path) else str(part))
def test_every_barrier_of_a_kernel_is_needed(path: Path, number: int) -> None:
    """A kernel without one of its barriers races, or reads what is not yet written."""
    before, *others = path.read_text().split("gpu.barrier")
    text = before + "".join([("" if place == number else "gpu.barrier") + part for place, part in enumerate(others)])
    with pytest.raises(KernelFaultError, match=r"data race|nobody has written"):
        run_text(text)


MUTATIONS = [
    ("elementwise", "arith.constant 1000 : index", "arith.constant 1001 : index", "accesses element 1000 of %x in thread (232, 0, 0) of block (3, 0, 0)"),
    ("elementwise", "arith.muli %b, %d", "arith.subi %b, %b", "data race"),
    ("gather", "arith.maxsi %i, %zero", "arith.subi %zero, %i", "accesses element -"),
    ("row_sums", "arith.cmpi eq, %t, %c0", "arith.cmpi uge, %t, %c0", "data race"),
    ("row_sums", "step %d", "step %t", "has a step that is not positive"),
    ("column_maxima", "arith.constant 20 : index", "arith.constant 21 : index", "accesses element 640 of %x in thread (0, 0, 0)"),
    ("transpose", "memref<272xf32, 3>", "memref<255xf32, 3>", "of %tile"),
    ("product", "arith.muli %i, %c8", "arith.muli %i, %c16", "accesses element 64 of %r"),
    ("shuffled_sum", "arith.constant 32 : i32", "arith.constant 64 : i32", "has a width that is not between 1 and 32"),
    ("scatter_add", "memref.atomic_rmw addf %v, %y[%at] : (f32, memref<10xf32, 1>) -> f32", "memref.load %y[%at] : memref<10xf32, 1>\n memref.store %v, %y[%at] : memref<10xf32, 1>", "data race"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "right", "wrong", "message"), MUTATIONS, ids=lambda part: str(part)[:24])
def test_mistakes_in_kernels_are_seen(name: str, right: str, wrong: str, message: str) -> None:
    text = (KERNELS / f"{name}.mlir").read_text()
    assert right in text
    with pytest.raises(KernelFaultError, match=re.escape(message)):
        run_text(text.replace(right, wrong))


def run_text(text: str) -> None:
    """Runs a program on random numbers, integers in [0, 10)."""
    module = parse_module(text, "kernel.mlir")
    verify(module)
    (main,) = [op for op in module.ops if isinstance(op, FuncOp)]
    draw = np.random.default_rng(0)
    types: list[Any] = [value_type(type) for number, type in enumerate(main.function_type.inputs) if not is_result(main, number)]
    drawn = [(draw.random(type.get_shape()) * (10 if dtype_of(type.element_type).kind in "iu" else 1), dtype_of(type.element_type)) for type in types]
    run(module, [numbers.astype(dtype) for numbers, dtype in drawn])
