"""Kernels of many pointers read them from a frame, and kernels of many ops consist of several blocks: values, threads, strips, loops, and the text."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

import wengert as wg
from wengert.dialects.kernel.buffers import LaunchOp, runs_in_place
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import all_ops
from wengert.runtime.cpu import compile, pool
from wengert.runtime.cpu.linking import linked
from wengert.runtime.cpu.thread_count import default_threads
from wengert.transforms.codegen.cpu.long_code import OF_BLOCK, PARAMETERS
from wengert.transforms.codegen.cpu.machine_code import emit_object
from wengert.transforms.codegen.cpu.pointers.frames import FILL, FILL_TEXT, IN_ARENA, NOWHERE, Place, frame_constant, read_near, runs_of
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.schedule.host import llvm_binding


def sums(arguments: int, shape: tuple[int, ...], element: str = "f64") -> str:
    """A sum of products of many arguments, and each argument times it: as many results."""
    kind = f"tensor<{'x'.join(map(str, shape))}x{element}>"
    lines = ["%s0 = stablehlo.negate %a0 : " + kind]
    lines += [f"%s{n} = stablehlo.{('add', 'multiply')[n % 3 == 0]} %s{n - 1}, %a{n} : {kind}" for n in range(1, arguments)]
    lines += [f"%r{n} = stablehlo.multiply %s{arguments - 1}, %a{n} : {kind}" for n in range(arguments)]
    signature, kinds = ", ".join(f"%a{n}: {kind}" for n in range(arguments)), ", ".join([kind] * arguments)
    results = ", ".join(f"%r{n}" for n in range(arguments))
    return "\n".join([f"func.func public @main({signature}) -> ({kinds}) {{", *lines, f"return {results} : {kinds}", "}"])


def expected(values: list[np.ndarray]) -> list[np.ndarray]:
    total = -values[0]
    for n, value in enumerate(values[1:], 1):
        total = total * value if n % 3 == 0 else total + value
    return [total * value for value in values]


def inputs(count: int, shape: tuple[int, ...], dtype: type = np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.uniform(0.5, 1.2, shape).astype(dtype) for _ in range(count)]


@pytest.mark.parametrize(("count", "shape"), [(40, (13,)), (100, (13,)), (300, (1,)), (300, (37,)), (90, (50_000,)), (90, (256, 300))])
def test_values_with_many_pointers(count: int, shape: tuple[int, ...]) -> None:
    values = inputs(count, shape)
    for actual, wanted in zip(wg.parse(sums(count, shape))(*values), expected(values), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-12)


@pytest.mark.parametrize(("count", "shape"), [(90, (50_000,)), (300, (4099,))])
def test_the_bits_do_not_depend_on_threads(count: int, shape: tuple[int, ...]) -> None:
    values, compiled = inputs(count, shape, np.float32), compile(parse_module(sums(count, shape, "f32")))
    try:
        pool.set_threads(1)
        alone = compiled(*values)
        for threads in (2, 3):
            pool.set_threads(threads)
            for actual, wanted in zip(compiled(*values), alone, strict=True):
                np.testing.assert_array_equal(actual, wanted)
    finally:
        pool.set_threads(default_threads())


def test_many_pointers_in_strips() -> None:
    """Nests over the same rows run strip by strip, in a task: the pointers of a strip are computed where a kernel takes them."""
    count, rows, columns = 90, 256, 300
    kind, totals = f"tensor<{rows}x{columns}xf64>", f"tensor<{rows}xf64>"
    text = sums(count, (rows, columns))
    last = f"%s{count - 1}"
    between = [
        "%none = stablehlo.constant dense<0.0> : tensor<f64>",
        f"%t = stablehlo.reduce({last} init: %none) applies stablehlo.add across dimensions = [1] : ({kind}, tensor<f64>) -> {totals}",
        f"%w = stablehlo.broadcast_in_dim %t, dims = [0] : ({totals}) -> {kind}",
    ]
    text = text.replace("%r0 =", "\n".join(between) + "\n%r0 =", 1).replace(f"stablehlo.multiply {last},", "stablehlo.multiply %w,")
    values, compiled = inputs(count, (rows, columns)), compile(parse_module(text))
    assert re.search(r"%near\.\w+\.\d+ = getelementptr \[\d+ x i8\], ptr %near", compiled.llvm_text)
    weights = (expected(values)[0] / values[0]).sum(1, keepdims=True)
    for actual, value in zip(compiled(*values), values, strict=True):
        np.testing.assert_allclose(actual, weights * value, rtol=1e-11)


def test_an_element_is_computed_alike_wherever_it_stands() -> None:
    """Blocks end between the same ops in the registers of a loop and in its remainder: else products and sums would be contracted in one of them only."""
    count, length = 300, 29
    values = [np.full((length,), value) for value in np.random.default_rng(8).uniform(0.5, 1.2, count)]
    for actual in wg.parse(sums(count, (length,)))(*values):
        np.testing.assert_array_equal(actual, np.full((length,), actual[0]))


def test_many_pointers_within_a_loop() -> None:
    """The buffers of a loop are swapped: their places are not known beforehand, and the nest overwrites what it reads."""
    count, kind = 90, "tensor<21xf64>"
    kinds = ", ".join(["tensor<i64>", *[kind] * count])
    carried = ", ".join(["%i = %zero", *(f"%c{n} = %a{n}" for n in range(count))])
    lines = [f"func.func public @main({', '.join(f'%a{n}: {kind}' for n in range(count))}) -> ({', '.join([kind] * count)}) {{"]
    lines += [f"%{name} = stablehlo.constant dense<{value}> : tensor<i64>" for name, value in (("zero", 0), ("one", 1), ("last", 5))]
    lines += [f"%r:{count + 1} = stablehlo.while({carried}) : {kinds}"]
    lines += ["cond { %p = stablehlo.compare LT, %i, %last : (tensor<i64>, tensor<i64>) -> tensor<i1>", "stablehlo.return %p : tensor<i1> }"]
    lines += ["do { %j = stablehlo.add %i, %one : tensor<i64>", f"%s0 = stablehlo.sine %c0 : {kind}"]
    for n in range(1, count):
        lines += [f"%m{n} = stablehlo.multiply %c{n}, %s{n - 1} : {kind}", f"%q{n} = stablehlo.cosine %m{n} : {kind}"]
        lines += [f"%s{n} = stablehlo.add %q{n}, %c{n - 1} : {kind}"]
    lines += [f"stablehlo.return {', '.join(['%j', *(f'%s{(n + 7) % count}' for n in range(count))])} : {kinds} }}"]
    lines += [f"return {', '.join(f'%r#{n + 1}' for n in range(count))} : {', '.join([kind] * count)}", "}"]
    program, values = wg.parse("\n".join(lines)), inputs(count, (21,))
    for actual, wanted in zip(program(*values), program.compile(backend="interpreter")(*values), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-9, atol=1e-12)


def test_many_ops_that_overwrite_what_they_read() -> None:
    """Between products temporary values of many share memory: the nest stores what it computes after all of its loads."""
    count, kind = 150, "tensor<20x20xf64>"
    lines = [f"%t{n} = stablehlo.dot %a{n}, %a{n} : ({kind}, {kind}) -> {kind}" for n in range(count)]
    read = [(n // 3, n // 4, n if 2 * n > count else 0) for n in range(count)]  # a result takes the place of a value that is read after it
    for n, (i, j, k) in enumerate(read):
        lines += [f"%m{n} = stablehlo.multiply %t{i}, %t{j} : {kind}", f"%r{n} = stablehlo.add %m{n}, %t{k} : {kind}"]
    lines += [f"%d{n} = stablehlo.dot %r{n}, %a{n} : ({kind}, {kind}) -> {kind}" for n in range(count)]
    head = f"func.func public @main({', '.join(f'%a{n}: {kind}' for n in range(count))}) -> ({', '.join([kind] * count)}) {{"
    text = "\n".join([head, *lines, f"return {', '.join(f'%d{n}' for n in range(count))} : {', '.join([kind] * count)}", "}"])
    values = inputs(count, (20, 20))
    products = [value @ value for value in values]
    compiled = compile(parse_module(text))
    assert any(runs_in_place(op) for op in all_ops(compiled.kernel_module) if isinstance(op, LaunchOp))
    for actual, value, (i, j, k) in zip(compiled(*values), values, read, strict=True):
        np.testing.assert_allclose(actual, (products[i] * products[j] + products[k]) @ value, rtol=1e-12)


def test_the_text() -> None:
    text = compile(parse_module(sums(PARAMETERS, (8,)))).llvm_text
    assert re.search(r"define [^\n]*@kernel0\(ptr %frame\)", text)
    assert text.count("call void @kernel0(") == 1
    assert "@kernel0(ptr %p0, ptr %p1" in compile(parse_module(sums(PARAMETERS // 2 - 1, (8,)))).llvm_text


def test_straight_line_code_has_blocks_of_bounded_length() -> None:
    text = compile(parse_module(sums(3 * OF_BLOCK, (8,)))).llvm_text
    lengths = [block.count("\n") for block in re.split(r"^\w[\w.]*:$", text, flags=re.MULTILINE)]
    assert max(lengths) < 8 * OF_BLOCK


def test_places_are_listed_as_runs() -> None:
    assert runs_of([Place(3), Place(4), Place(5, 8), Place(6, 8), Place(8, 8)]) == [(3, 0, 2, 1), (5, 8, 2, 1), (8, 8, 1, 0)]
    assert runs_of([Place(3), *(IN_ARENA.further(64 * n) for n in (1, 3, 5, 6))]) == [(3, 0, 1, 0), (-1, 64, 3, 128), (-1, 384, 1, 0)]
    assert runs_of([Place(3), IN_ARENA, Place(0)]) == [(3, 0, 1, 0), (-1, 0, 1, 0), (0, 0, 1, 0)]
    assert runs_of([Place(7), Place(5), Place(3), Place(2)]) == [(7, 0, 3, -2), (2, 0, 1, 0)]
    assert runs_of([IN_ARENA.further(64), IN_ARENA, NOWHERE, NOWHERE]) == [(-1, 64, 2, -64), (-2, 0, 2, 0)]
    assert frame_constant("frame0", [Place(3, 8)]) == "@frame0 = internal constant [5 x i64] [i64 1, i64 3, i64 8, i64 1, i64 0], align 8\n"


def test_a_frame_is_filled_from_runs() -> None:
    """The function itself, called on a table of addresses."""
    places = [
        Place(1),
        Place(2),
        Place(2, 24),
        IN_ARENA.further(64),
        IN_ARENA.further(192),
        IN_ARENA.further(320),
        NOWHERE,
        Place(0, 8),
        *(Place(n) for n in range(0, 20, 2)),
    ]
    text = f"{frame_constant('runs', places)}{FILL_TEXT}define void @fill(ptr %frame, ptr %table, ptr %arena) {{"
    text += f"\ncall void @{FILL}(ptr %frame, ptr @runs, ptr %table, ptr %arena)\nret void\n}}\n"
    library = linked([emit_object(text)], (), debug_lines=False)
    fill = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(library.address("fill"))
    table, frame = np.array([10_000, 20_000, 30_000, *range(17)], np.int64), np.full(len(places) + 1, 7, np.int64)
    fill(frame.ctypes.data, table.ctypes.data, 50_000)
    assert frame.tolist() == [20_000, 30_000, 30_024, 50_064, 50_192, 50_320, 0, 10_008, *table[::2].tolist(), 7]


def test_pointers_are_read_where_they_are_used() -> None:
    builder = FunctionBuilder()
    builder.store("i64", builder.load("i64", "%p1"), "%q0")
    builder.store("i64", builder.load("i64", "%p1"), "%p0")
    read_near(builder, ["%p0", "%p1", "%q0"])
    text = "\n".join(["define void @kernel(ptr %frame) {", *builder.lines, "ret void", "}"])
    llvm_binding().parse_assembly(text).verify()
    assert sum("getelementptr ptr, ptr %frame, i64 1" in line for line in builder.lines) == 2
