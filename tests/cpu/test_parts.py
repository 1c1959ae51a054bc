"""Parts of large programs: divided by their text alone, compiled side by side, linked, kept; and results have the bits that they have undivided."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from alarm_checks import Stop, raising_alarm

import wengert as wg
from wengert.ir import plugins
from wengert.runtime import cache
from wengert.runtime.cpu import compilation, shared_functions
from wengert.runtime.cpu.engine import Library
from wengert.runtime.cpu.object_file import functions_of, visible
from wengert.runtime.cpu.objects import object_files
from wengert.transforms.codegen.cpu import machine_code, parts, side_by_side
from wengert.transforms.codegen.cpu.llvm_calls import LlvmCalls
from wengert.transforms.codegen.cpu.machine_code import CompileError, emit_object, emit_objects
from wengert.transforms.codegen.cpu.parts import parts_of

WIDTHS = (40, 48, 56, 33, 21, 50, 44, 37)


def network(kind: str) -> str:
    """Products of many sizes, each with functions of its own."""
    weights = [f"tensor<{n}x{m}x{kind}>" for n, m in pairwise(WIDTHS)]
    rows = [f"tensor<24x{n}x{kind}>" for n in WIDTHS]
    lines = [f"func.func public @main(%x0: {rows[0]}, {', '.join(f'%w{i}: {weight}' for i, weight in enumerate(weights))}) -> {rows[-1]} {{"]
    for i, weight in enumerate(weights):
        lines.append(f"  %p{i} = stablehlo.dot_general %x{i}, %w{i}, contracting_dims = [1] x [0] : ({rows[i]}, {weight}) -> {rows[i + 1]}")
        lines.append(f"  %x{i + 1} = stablehlo.tanh %p{i} : {rows[i + 1]}")
    return "\n".join([*lines, f"  return %x{len(weights)} : {rows[-1]}", "}"])


def inputs(kind: str) -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    shapes = [(24, WIDTHS[0]), *pairwise(WIDTHS), (24, WIDTHS[-1])]
    return [draw.standard_normal(shape).astype({"f32": np.float32, "f64": np.float64}[kind]) for shape in shapes]


TEXT = """\
declare double @llvm.fabs.f64(double)
@table = internal constant [2 x double] [double 3.0, double 5.0], align 8
; a comment

define internal double @small(double %x) alwaysinline {
%at = getelementptr double, ptr @table, i64 1
%y = load double, ptr %at
%q = fadd double %x, %y
ret double %q
}

define internal double @first(double %x) noinline "wengert-promote" {
%q = call double @small(double %x)
%r = fmul double %q, %q
ret double %r
}

define internal double @second(double %x) noinline {
%q = call double @small(double %x)
%r = call double @llvm.fabs.f64(double %q)
ret double %r
}

define internal void @task(ptr %x) noinline {
%q = load double, ptr %x
%r = call double @second(double %q)
store double %r, ptr %x
ret void
}

@job = internal constant { ptr } { ptr @task }, align 8

define i32 @entry(ptr %x, ptr %arena) {
%q = load double, ptr %x
%r = call double @first(double %q)
store double %r, ptr %x
%task = load ptr, ptr @job
call void %task(ptr %x)
ret i32 0
}
"""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divides programs of a few lines."""
    for name, lines in {"LEAST_LINES": 1, "LINES": 10, "LEAST_BESIDE": 1}.items():
        monkeypatch.setattr(parts, name, lines)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each program that is compiled was made of; the cache is off, and no shared function is known."""
    counts: list[int] = []

    def noted(texts: list[str], opt: machine_code.Tier) -> list[object]:
        counts.append(len(texts))
        return object_files(texts, opt)

    monkeypatch.setenv("WENGERT_CACHE", "off")
    monkeypatch.setattr(compilation, "object_files", noted)
    monkeypatch.setattr(shared_functions, "_loaded", dict[str, tuple[Library, str]]())
    return counts


def run(library: Library, x: float) -> float:
    value = ctypes.c_double(x)
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(library.address("entry"))(ctypes.addressof(value), None) == 0
    return value.value


def test_each_function_is_in_one_part_and_what_is_inlined_in_each_that_needs_it(small: None) -> None:
    divided = parts_of(TEXT)
    assert len(divided) > 1
    assert divided == parts_of(TEXT)
    assert "define i32 @entry(" in divided[0]
    for name in ("first", "second", "task", "entry"):
        assert sum(f"@{name}(" in line for part in divided for line in part.split("\n") if line.startswith("define ")) == 1
    for part in divided:
        assert ("define internal double @small(" in part) == ("call double @small(" in part) == ("@table = internal constant" in part)
        assert "wengert-promote" not in "".join(line for line in part.split("\n") if line.startswith("declare "))
    assert run(Library(*emit_objects(divided, threads=2)), 2.0) == run(Library(emit_object(TEXT)), 2.0) == 54.0
    assert run(Library(*emit_objects(parts_of(TEXT, inlining=False), "fast", threads=2)), 2.0) == 54.0


def test_without_inlining_nothing_is_copied_but_constants(small: None) -> None:
    divided = parts_of(TEXT, inlining=False)
    assert len(divided) > 1
    assert sum("define internal double @small(" in part or "define double @small(" in part for part in divided) == 1


@pytest.mark.parametrize(
    "more",
    [
        "@count = internal global i64 0\n",
        "@count = constant i64 0\n",
        "define double @visible(double %x) {\nret double %x\n}\n",
        "!0 = !{i32 1}\n",
        "attributes #0 = { nounwind }\n",
        "define internal void @endless() {\n",
    ],
    ids=["variable", "visible constant", "visible function", "metadata", "attributes", "without an end"],
)
def test_what_is_not_divided(more: str, small: None) -> None:
    assert parts_of(TEXT + more) == (TEXT + more,)


def test_small_programs_stay_as_they_are() -> None:
    assert parts_of(TEXT) == (TEXT,)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("options", [{}, {"strict": True}, {"opt": "fast"}], ids=["best", "strict", "fast"])
def test_results_have_the_bits_of_the_undivided_program(kind: str, options: dict[str, object], made: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    program = wg.parse(network(kind)).vjp()
    divided = program.compile(**options)(*inputs(kind))  # pyright: ignore
    monkeypatch.setattr(parts, "LEAST_LINES", 1 << 60)
    whole = wg.parse(network(kind)).vjp().compile(**options)(*inputs(kind))  # pyright: ignore
    assert made[0] >= 2
    assert made[1] == 1  # what was shared before is known
    for x, y in zip(divided, whole, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


def test_programs_with_debug_lines_are_one_part(made: list[int], small: None) -> None:
    wg.parse(network("f32")).compile(debug_lines=True)
    assert made == [1]


def test_object_files_do_not_depend_on_threads(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    divided = parts_of(TEXT)
    alone = [emit_object(part) for part in divided]
    for threads in (1, 2, 5):
        assert emit_objects(divided, threads=threads) == alone
    monkeypatch.setattr(machine_code, "unlocked", lambda: None)  # as where llvmlite's library is another
    assert emit_objects(divided, threads=2) == alone


def test_one_core(made: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise AssertionError("a thread is started")

    monkeypatch.setenv("WENGERT_NUM_THREADS", "1")
    monkeypatch.setattr(side_by_side, "start_new_thread", refused)
    wg.parse(network("f32")).vjp().compile()
    assert made[0] >= 2


def test_without_a_thread_to_be_had(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(side_by_side, "start_new_thread", refused)
    assert emit_objects(parts_of(TEXT), threads=2) == [emit_object(part) for part in parts_of(TEXT)]


@pytest.fixture
def at_work(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads that are compiling."""
    here: list[int] = []
    compiled = machine_code._object_file  # pyright: ignore[reportPrivateUsage]

    def noted(text: str, opt: machine_code.Tier, calls: LlvmCalls) -> bytes:
        here.append(threading.get_ident())
        try:
            return compiled(text, opt, calls)
        finally:
            here.remove(threading.get_ident())

    monkeypatch.setattr(machine_code, "_object_file", noted)
    return here


@pytest.mark.parametrize("threads", ["1", "2"])
def test_errors_in_a_part(threads: str, at_work: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WENGERT_NUM_THREADS", threads)
    with pytest.raises(CompileError, match=r"LLVM rejected generated code(.|\n)*nonsense"):
        object_files([TEXT, "define i32 @f( { nonsense", TEXT.replace("3.0", "4.0")])
    assert not at_work
    assert not list((tmp_path / "cache").glob("*.o"))
    assert emit_object(TEXT)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a compiler that no other test has extended."""
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(plugins, "LOADED", {})
    monkeypatch.setattr(plugins, "_REGISTERING", set())
    monkeypatch.setattr(shared_functions, "_loaded", dict[str, tuple[Library, str]]())
    return tmp_path / "cache"


def test_programs_that_are_known(home: Path) -> None:
    def compiled() -> tuple[set[str], list[np.ndarray]]:
        program = wg.parse(network("f32")).vjp().compile()
        return set(program.stats.compile_ms), [np.asarray(result) for result in program(*inputs("f32"))]  # pyright: ignore

    phases, first = compiled()
    assert "llvm" in phases
    assert len(list(home.glob(f"*{cache.OBJECT}"))) >= 2
    phases, again = compiled()
    assert phases == {"cache", "load"}
    for x, y in zip(first, again, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)
    for image in list(home.glob(f"*{cache.OBJECT}")):  # one is missing, whichever it is
        kept = image.read_bytes()
        image.unlink()
        shared_functions._loaded.clear()  # pyright: ignore[reportPrivateUsage]
        _, again = compiled()
        for x, y in zip(first, again, strict=True):
            np.testing.assert_array_equal(x, y, strict=True)
        assert not image.exists() or image.read_bytes() == kept


def test_profilers_are_told_the_functions_of_each_part(small: None) -> None:
    file = Path(f"/tmp/perf-{os.getpid()}.map")
    file.unlink(missing_ok=True)  # of other tests
    images = emit_objects(parts_of(TEXT), threads=2)
    library = Library(*images, profiled=True)
    lines = [line.split(" ", 2) for line in file.read_text().splitlines()]
    file.unlink()
    functions = {name: int(address, 16) for address, _, name in lines}
    assert set(functions) == {name for image in images for name in functions_of(image)} >= {"entry", "first", "second", "task"}
    for image in images:
        name = visible(image)
        assert name is not None
        assert functions[name] == library.address(name)


@pytest.fixture
def stopping() -> Iterator[None]:
    with raising_alarm():
        yield


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a handler may raise in a destructor of llvmlite's
def test_interrupts(made: list[int], at_work: list[int], stopping: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LINES", 500)
    monkeypatch.setattr(parts, "LEAST_BESIDE", 1)
    texts = list(parts_of(wg.parse(network("f32")).vjp().compile().executable.llvm_text))  # pyright: ignore
    assert len(texts) > 2
    whole = emit_objects(texts, threads=2)
    for milliseconds in (0.2, 1, 3, 5, 10, 20, 40):
        with suppress(Stop):
            signal.setitimer(signal.ITIMER_REAL, milliseconds / 1e3)
            emit_objects(texts, threads=2)
            time.sleep(0.1)
        assert not at_work
    assert emit_objects(texts, threads=2) == whole


def test_threads_that_compile_at_once(made: list[int]) -> None:
    expected = [np.asarray(x) for x in wg.parse(network("f64")).vjp().compile()(*inputs("f64"))]
    results: list[list[np.ndarray]] = []

    def compile_and_run() -> None:
        results.append([np.asarray(x) for x in wg.parse(network("f64")).vjp().compile()(*inputs("f64"))])

    threads = [threading.Thread(target=compile_and_run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    for result in results:
        for x, y in zip(result, expected, strict=True):
            np.testing.assert_array_equal(x, y, strict=True)
