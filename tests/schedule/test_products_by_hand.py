"""Schedules of products and native kernels that are written by hand are obeyed, with right results, or refused with the reason."""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.kernel import MatmulOp, NativeOp
from wengert.dialects.kernel.product_schedule import ProductSchedule, ProductScheduleAttr
from wengert.dialects.kernel.schedule import Schedule, ScheduleAttr
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.runtime.cpu import compile
from wengert.runtime.errors import InputError
from wengert.runtime.interpreter import run
from wengert.transforms.bufferize.footprint import footprint
from wengert.transforms.codegen.cpu.program import generate
from wengert.transforms.pipelines import parse_pipeline
from wengert.transforms.schedule.target import TARGETS

PROGRAMS = {
    "plain": """func.func @main(%x: tensor<12x20xf32>, %y: tensor<20x30xf32>) -> tensor<12x30xf32> {
        %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<12x20xf32>, tensor<20x30xf32>) -> tensor<12x30xf32>
        return %0 : tensor<12x30xf32> }""",
    "turned": """func.func @main(%x: tensor<12x20xf64>, %y: tensor<30x20xf64>) -> tensor<12x30xf64> {
        %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (tensor<12x20xf64>, tensor<30x20xf64>) -> tensor<12x30xf64>
        return %0 : tensor<12x30xf64> }""",
    "batch": """func.func @main(%x: tensor<7x12x20xf32>, %y: tensor<7x20x30xf32>) -> tensor<7x12x30xf32> {
        %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<7x12x20xf32>, tensor<7x20x30xf32>) -> tensor<7x12x30xf32>
        return %0 : tensor<7x12x30xf32> }""",
    "converted": """func.func @main(%x: tensor<12x20xf32>, %y: tensor<20x30xf32>) -> tensor<12x30xf64> {
        %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<12x20xf32>, tensor<20x30xf32>) -> tensor<12x30xf64>
        return %0 : tensor<12x30xf64> }""",
    "narrow": """func.func @main(%x: tensor<12x20xbf16>, %y: tensor<20x30xbf16>) -> tensor<12x30xbf16> {
        %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<12x20xbf16>, tensor<20x30xbf16>) -> tensor<12x30xbf16>
        return %0 : tensor<12x30xbf16> }""",
    "complex": """func.func @main(%x: tensor<5x4xcomplex<f32>>, %y: tensor<4x5xcomplex<f32>>) -> tensor<5x5xcomplex<f32>> {
        %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<5x4xcomplex<f32>>, tensor<4x5xcomplex<f32>>) -> tensor<5x5xcomplex<f32>>
        return %0 : tensor<5x5xcomplex<f32>> }""",
    "interleaved": """func.func @main(%x: tensor<12x4x5xf32>, %y: tensor<5x4x30xf32>) -> tensor<12x30xf32> {
        %0 = stablehlo.dot_general %x, %y, contracting_dims = [1, 2] x [1, 0] : (tensor<12x4x5xf32>, tensor<5x4x30xf32>) -> tensor<12x30xf32>
        return %0 : tensor<12x30xf32> }""",
    "outer": """func.func @main(%x: tensor<17xf32>, %y: tensor<20xf32>) -> tensor<17x20xf32> {
        %0 = stablehlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<17xf32>, tensor<20xf32>) -> tensor<17x20xf32>
        return %0 : tensor<17x20xf32> }""",
    "sort": """func.func @main(%x: tensor<9x50xf32>) -> tensor<9x50xf32> {
        %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }) : (tensor<9x50xf32>) -> tensor<9x50xf32>
        return %0 : tensor<9x50xf32> }""",
    "running sums": """func.func @main(%x: tensor<2x50x3xf32>) -> tensor<2x50x3xf32> {
        %0 = "core.cumulative"(%x) <{kind = #core<kind add>, dimension = 1 : i64, reverse = true}> : (tensor<2x50x3xf32>) -> tensor<2x50x3xf32>
        return %0 : tensor<2x50x3xf32> }""",
    "convolution": """func.func @main(%x: tensor<1x12x12x8xf32>, %w: tensor<3x3x8x8xf32>) -> tensor<1x12x12x8xf32> {
        %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
          {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x12x12x8xf32>, tensor<3x3x8x8xf32>) -> tensor<1x12x12x8xf32>
        return %0 : tensor<1x12x12x8xf32> }""",
    "one factorisation": """func.func @main(%x: tensor<12x12xf32>) -> tensor<12x12xf32> {
        %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<12x12xf32>) -> tensor<12x12xf32>
        %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
        %2 = stablehlo.cholesky %1, lower = true : tensor<12x12xf32>
        return %2 : tensor<12x12xf32> }""",
}
OBEYED = {
    "plain": [
        "",
        "tile = {rows = 3, columns = 2, lanes = 4}",
        "kernel = packed, tile = {rows = 5, columns = 3, lanes = 8}",
        "kernel = gathered, exchanged, tile = {rows = 2, columns = 1, lanes = 4}, accumulators = 8",
        "kernel = dot, turned, tile = {rows = 2, columns = 3, lanes = 8}",
        "kernel = blas",
        "kernel = blocked, tile = {rows = 5, columns = 2, lanes = 8}, blocks = {rows = 10, columns = 16, depth = 7}",
        "kernel = blocked, tile = {rows = 14, columns = 2, lanes = 16}, blocks = {rows = 100, columns = 100, depth = 100}",
        "kernel = blocked, tile = {rows = 5, columns = 1, lanes = 4}, blocks = {rows = 6, columns = 9, depth = 20}, "
        "parallel = {over = blocks, chunk = 3, nanoseconds = 50000}",
        "kernel = blocked, tile = {rows = 5, columns = 1, lanes = 4}, blocks = {rows = 5, columns = 8, depth = 8}, together = 24, "
        "parallel = {over = blocks, chunk = 1, nanoseconds = 50000}",
        "kernel = blocked, tile = {rows = 5, columns = 1, lanes = 4}, blocks = {rows = 5, columns = 6, depth = 8}, together = 12, "
        "parallel = {over = blocks, chunk = 2, nanoseconds = 50000}",
        "kernel = blocked, tile = {rows = 5, columns = 1, lanes = 4}, blocks = {rows = 5, columns = 8, depth = 8}, together = 8",
        "copied = [lhs], kernel = blocked, tile = {rows = 4, columns = 2, lanes = 4}, blocks = {rows = 4, columns = 8, depth = 8}",
        "copied = [lhs, rhs], tile = {rows = 2, columns = 2, lanes = 8}, unrolled = 100",
        "tile = {rows = 2, columns = 1, lanes = 8}, parallel = {over = rows, chunk = 5, nanoseconds = 50000}",
        "tile = {rows = 2, columns = 1, lanes = 8}, last = {rows = 2, columns = 3, lanes = 2}, parallel = {over = columns, chunk = 8, nanoseconds = 50000}",
        "kernel = packed, tile = {rows = 2, columns = 1, lanes = 8}, parallel = {over = columns, chunk = 8, nanoseconds = 50000}",
        "kernel = dot, turned, tile = {rows = 2, columns = 3, lanes = 8}, parallel = {over = rows, chunk = 5, nanoseconds = 50000}",
    ],
    "turned": [
        "",
        "kernel = dot, tile = {rows = 4, columns = 2, lanes = 4}, accumulators = 64",
        "kernel = packed, tile = {rows = 4, columns = 2, lanes = 4}",
        "kernel = blas",
        "kernel = blocked, tile = {rows = 3, columns = 2, lanes = 4}, blocks = {rows = 6, columns = 8, depth = 9}",
    ],
    "batch": [
        "kernel = blocked, tile = {rows = 3, columns = 2, lanes = 4}, blocks = {rows = 6, columns = 8, depth = 9}, "
        "parallel = {over = blocks, chunk = 5, nanoseconds = 50000}",
        "kernel = blocked, tile = {rows = 3, columns = 2, lanes = 4}, blocks = {rows = 6, columns = 8, depth = 9}, together = 16, "
        "parallel = {over = blocks, chunk = 5, nanoseconds = 50000}",
        "kernel = blocked, tile = {rows = 3, columns = 2, lanes = 4}, blocks = {rows = 6, columns = 8, depth = 9}, "
        "parallel = {over = loop, chunk = 2, nanoseconds = 50000}",
        "tile = {rows = 4, columns = 2, lanes = 8}, parallel = {over = loop, chunk = 3, nanoseconds = 50000}",
        "tile = {rows = 4, columns = 2, lanes = 8}, parallel = {over = loops, chunk = 2, nanoseconds = 50000}",
    ],
    "converted": [
        "kernel = blocked, tile = {rows = 4, columns = 2, lanes = 4}, blocks = {rows = 8, columns = 16, depth = 8}, "
        "parallel = {over = blocks, chunk = 1, nanoseconds = 50000}",
        "copied = [rhs], kernel = blocked, tile = {rows = 4, columns = 2, lanes = 4}, blocks = {rows = 8, columns = 16, depth = 8}",
        "copied = [rhs, lhs], tile = {rows = 4, columns = 2, lanes = 4}",
        "",
        "copied = [rhs], tile = {rows = 4, columns = 2, lanes = 4}",
        "tile = {rows = 5, columns = 1, lanes = 8}, parallel = {over = rows, chunk = 5, nanoseconds = 50000}",
        "kernel = packed, tile = {rows = 4, columns = 2, lanes = 4}, parallel = {over = columns, chunk = 8, nanoseconds = 50000}",
        "kernel = gathered, exchanged, tile = {rows = 2, columns = 1, lanes = 4}, accumulators = 8",
        "kernel = dot, turned, tile = {rows = 2, columns = 3, lanes = 8}",
        "kernel = dot, turned, tile = {rows = 2, columns = 3, lanes = 8}, parallel = {over = rows, chunk = 5, nanoseconds = 50000}",
    ],
    "complex": ["kernel = scalar, parallel = {over = columns, chunk = 2, nanoseconds = 50000}", "kernel = scalar, exchanged"],
    "interleaved": ["copied = [lhs]", "copied = [rhs], tile = {rows = 4, columns = 1, lanes = 8}"],
    "outer": ["", "kernel = blas", "exchanged, tile = {rows = 2, columns = 1, lanes = 4}"],
    "sort": [
        "",
        "parallel = {chunk = 2, nanoseconds = 50000}",
        "parallel = {chunk = 20, nanoseconds = 50000}",
        "cut = {loop = 3, size = 8}",
        "cut = {loop = 3, size = 24}, parallel = {chunk = 1, nanoseconds = 50000}",
        "cut = {loop = 3, size = 8}, parallel = {chunk = 5, nanoseconds = 50000}",
    ],
    "running sums": [
        "",
        "parallel = {chunk = 1, nanoseconds = 50000}",
        "cut = {loop = 3, size = 16}",
        "cut = {loop = 3, size = 24}, parallel = {chunk = 1, nanoseconds = 50000}",
        "cut = {loop = 3, size = 8}, parallel = {chunk = 7, nanoseconds = 50000}",
    ],
    "convolution": [
        "",
        "cut = {loop = 1, size = 4}",
        "cut = {loop = 1, size = 2}, parallel = {chunk = 1, nanoseconds = 50000}",
        "cut = {loop = 1, size = 2}, parallel = {chunk = 3, nanoseconds = 50000}",
        "cut = {loop = 0, size = 6}",
        "cut = {loop = 0, size = 4}, parallel = {chunk = 1, nanoseconds = 50000}",
        "cut = {loop = 2, size = 1}, parallel = {chunk = 5, nanoseconds = 50000}",
    ],
}
REFUSED = [
    ("plain", "kernel = zero", "the kernel 'zero', but its sums have 20 terms"),
    ("plain", "kernel = scalar", "the kernel 'scalar', but the elements are not complex"),
    ("plain", "kernel = dot", "the kernel 'dot', but the terms of a sum are not neighbours in both operands"),
    ("plain", "kernel = blas, exchanged", "the kernel 'blas', but gemm reads"),
    ("plain", "normalised", "normalised panels, but the kernel 'rows' has none"),
    ("plain", "kernel = blocked", "the kernel 'blocked', but it has no blocks"),
    ("plain", "kernel = blocked, exchanged, blocks = {rows = 4, columns = 4, depth = 4}", "the kernel 'blocked', but it writes vectors along the rows of C"),
    ("plain", "blocks = {rows = 4, columns = 4, depth = 4}", "blocks, but the kernel 'rows' has none"),
    ("plain", "parallel = {over = blocks, chunk = 1, nanoseconds = 9}", "parts of 1 blocks, but the kernel 'rows' has no blocks"),
    (
        "plain",
        "kernel = blocked, blocks = {rows = 4, columns = 4, depth = 4}, parallel = {over = rows, chunk = 1, nanoseconds = 9}",
        "parts of 1 rows, but a product",
    ),
    (
        "plain",
        "kernel = blocked, blocks = {rows = 6, columns = 30, depth = 4}, parallel = {over = blocks, chunk = 3, nanoseconds = 9}",
        "parts of 3 blocks, but there are 2",
    ),
    (
        "narrow",
        "kernel = blocked, blocks = {rows = 4, columns = 8, depth = 4}, together = 16",
        "16 columns together, but sums of another type than the result are kept for one block",
    ),
    ("plain", "turned", "B to be turned, but only 'dot' reads it so"),
    ("plain", "kernel = blas, tile = {rows = 2, columns = 1, lanes = 1}", "a tile, but the kernel 'blas' has none"),
    ("plain", "tile = {rows = 13, columns = 1, lanes = 8}", "a tile of 13 by 1 registers of 8 lanes, but C, or a part of it, is 12 by 30"),
    ("plain", "tile = {rows = 1, columns = 1, lanes = 32}", "a tile of 1 by 1 registers of 32 lanes, but there are 30 columns"),
    ("plain", "tile = {rows = 4, columns = 1, lanes = 8}, parallel = {over = rows, chunk = 3, nanoseconds = 9}", "a tile of 4 by 1 registers"),
    ("plain", "last = {rows = 1, columns = 1, lanes = 1}", "a tile of the last part, but all parts have the same rows and columns"),
    ("plain", "parallel = {over = loop, chunk = 1, nanoseconds = 9}", "parts of 1 iterations, but there is no loop around the product"),
    ("plain", "parallel = {over = loops, chunk = 1, nanoseconds = 9}", "parts of 1 iterations, but there is no loop around the product"),
    ("plain", "parallel = {over = rows, chunk = 13, nanoseconds = 9}", "parts of 13 rows, but there are 12"),
    ("plain", "copied = [lhs], parallel = {over = rows, chunk = 6, nanoseconds = 9}", "parts of 6 rows, but all of an operand or of the result is converted"),
    ("plain", "copied = [rhs], parallel = {over = columns, chunk = 6, nanoseconds = 9}", "parts of 6 columns, but all of B is copied in one piece"),
    ("turned", "tile = {rows = 1, columns = 1, lanes = 4}", "the kernel 'rows' with 4 lanes, but the columns of B are not neighbours"),
    ("batch", "kernel = dot, turned", "B to be turned, but it is copied already, or moves with a loop"),
    ("converted", "copied = [rhs], kernel = blas", "no copy of the lhs, but its elements are converted from f32 to f64"),
    ("complex", "", "the kernel 'rows', but the elements are complex"),
    ("interleaved", "", "no operand to be copied, but the contracted dimensions are not laid out as one in both operands"),
    ("sort", "lanes = 8", "more than a cut and a parallel loop, but a native kernel has its own loops and registers"),
    ("sort", "cut = {loop = 0, size = 3}", "ranges of 3 iterations of loop 0, but the kernel has no rows that may be cut"),
    ("convolution", "cut = {loop = 0, size = 5}", "ranges of 5 iterations of loop 0, but the kernel has 12 rows that may be cut, into equal ranges"),
    ("convolution", "cut = {loop = 1, size = 3}", "ranges of 3 iterations of loop 1, but the kernel has 8 terms that may be cut, into equal ranges"),
    ("convolution", "cut = {loop = 2, size = 2}", "ranges of 2 iterations of loop 2, but the kernel has 3 rows of terms that may be cut, into equal ranges"),
    ("convolution", "cut = {loop = 4, size = 2}", "ranges of 2 iterations of loop 4, but the kernel has 12 rows that may be cut, into equal ranges"),
    ("convolution", "cut = {loop = 3, size = 2}", "ranges of 2 iterations of loop 3, but the kernel has no steps that may be cut"),
    (
        "sort",
        "cut = {loop = 3, size = 12}",
        "ranges of 12 iterations of loop 3, but the kernel has 50 steps that may be cut, into two or more ranges of a multiple of 8",
    ),
    ("running sums", "cut = {loop = 3, size = 32}", "ranges of 32 iterations of loop 3, but the kernel has 50 steps that may be cut"),
    ("convolution", "parallel = {chunk = 1, nanoseconds = 9}", "a parallel loop, but the kernel has no iterations that are independent"),
    ("one factorisation", "parallel = {chunk = 1, nanoseconds = 9}", "a parallel loop, but the kernel has no iterations that are independent"),
]


def scheduled(program: str, text: str) -> ModuleOp:
    """The kernel-level module whose product, or else whose native kernel, has a schedule, written into its text."""
    module = parse_pipeline("to-core,fuse").run(parse_module(PROGRAMS[program]))
    (op,) = [op for op in module.walk() if isinstance(op, NativeOp)] or [op for op in module.walk() if isinstance(op, MatmulOp)]
    op.properties["schedule"] = ScheduleAttr(Schedule(lanes=32)) if isinstance(op, NativeOp) else ProductScheduleAttr(ProductSchedule(unrolled=32))
    edited, count = re.subn(r"schedule<(lanes|unrolled) = 32>", f"schedule<{text}>", print_module(module))
    assert count == 1
    return parse_module(edited, "by_hand.mlir")


def arguments(module: ModuleOp) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    kinds = {"f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64}
    arrays = [(random.standard_normal((*a.type.get_shape(), 2)), kinds[str(a.type.element_type)]) for a in next(iter(module.ops)).body.block.args]
    return [(x[..., 0] + 1j * x[..., 1]).astype(kind) if kind is np.complex64 else x[..., 0].astype(kind) for x, kind in arrays]


@pytest.mark.parametrize(("program", "text"), [(program, text) for program, texts in OBEYED.items() for text in texts])
def test_obeyed(program: str, text: str) -> None:
    module = scheduled(program, text)
    inputs = arguments(module)
    compiled = compile(module)
    np.testing.assert_allclose(compiled(*inputs)[0], run(module, inputs)[0], rtol=1e-4, atol=1e-4)
    (function,) = parse_pipeline("bufferize").run(scheduled(program, text)).ops
    assert footprint(function).arena == compiled.stats.arena_bytes


@pytest.mark.parametrize(("program", "text", "reason"), REFUSED)
def test_refused(program: str, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=r"by_hand.mlir:\d+:\d+: error: the schedule asks for " + re.escape(reason)):
        compile(scheduled(program, text))


def test_a_strict_program_adds_up_in_order() -> None:
    reason = "the schedule asks for ranges of 16 iterations of loop 3, but a strict program adds up in order"
    with pytest.raises(DiagnosticError, match=reason):
        parse_pipeline("schedule{target=avx2 strict=true}").run(scheduled("running sums", "cut = {loop = 3, size = 16}"))
    parse_pipeline("schedule{target=avx2 strict=true}").run(scheduled("sort", "cut = {loop = 3, size = 16}"))


PAIRED = "kernel = blocked, tile = {rows = 4, columns = 2, lanes = 8}, blocks = {rows = 8, columns = 16, depth = 8}, paired"


def test_pairs_are_refused_for_a_processor_without_them() -> None:
    """By ``schedule``, and by emission for another processor than the one that the schedule was checked for."""
    reason = r"by_hand.mlir:\d+:\d+: error: the schedule asks for pairs of terms, but the processor 'avx2' has no instruction for 8 pairs of bf16"
    with pytest.raises(DiagnosticError, match=reason):
        parse_pipeline("schedule{target=avx2}").run(scheduled("narrow", PAIRED))
    module = parse_pipeline("schedule{target=zen4},bufferize{target=zen4}").run(scheduled("narrow", PAIRED))
    assert "@llvm.x86.avx512bf16.dpbf16ps.256" in generate(module, TARGETS["zen4"]).text
    with pytest.raises(DiagnosticError, match=reason):
        generate(module, TARGETS["avx2"])


@pytest.mark.parametrize("program", PROGRAMS)
def test_without_a_schedule_one_thread_computes_one_element_after_the_other(program: str) -> None:
    module = parse_pipeline("to-core,fuse,bufferize").run(parse_module(PROGRAMS[program]))
    text = generate(module, TARGETS["avx2"]).text
    assert "wg.pool.run" not in text
    assert "wg.pool.job" not in text
    assert "gemm" not in text
    if any(isinstance(op, MatmulOp) for op in module.walk()) and program != "one factorisation":
        assert "x float>" not in text
        assert "x double>" not in text


def test_a_schedule_that_is_there_is_kept_and_the_target_does_not_matter_then() -> None:
    text = "kernel = packed, tile = {rows = 2, columns = 2, lanes = 4}"
    module = scheduled("plain", text)
    before = print_module(module)
    assert print_module(parse_pipeline("schedule{target=avx2}").run(module)) == before
    wide, narrow = (generate(parse_pipeline("bufferize").run(scheduled("plain", text)), TARGETS[name]).text for name in ("avx2", "sse2"))
    assert wide == narrow
    assert "<4 x float>" in wide


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_chosen_reads_back_and_gives_the_same_code(program: str) -> None:
    module = parse_pipeline("to-core,fuse,schedule{target=avx2}").run(parse_module(PROGRAMS[program]))
    text = print_module(module)
    assert print_module(parse_module(text)) == text
    first, second = (generate(parse_pipeline("bufferize{target=avx2}").run(one), TARGETS["avx2"]).text for one in (module, parse_module(text)))
    assert first == second


def test_a_schedule_that_is_edited_on_buffers_has_the_scratch_memory_that_is_there() -> None:
    module = parse_pipeline("to-core,fuse,schedule{target=avx2},bufferize{target=avx2}").run(parse_module(PROGRAMS["plain"]))
    (product,) = [op for op in module.walk() if isinstance(op, MatmulOp)]
    product.properties["schedule"] = ProductScheduleAttr(ProductSchedule("packed"))
    with pytest.raises(DiagnosticError, match="the schedule asks for 128 bytes of scratch memory, but the launch has 0"):
        generate(module, TARGETS["avx2"])


def test_what_is_scheduled_on_buffers_takes_the_scratch_memory_that_is_there() -> None:
    module = parse_pipeline("to-core,fuse,bufferize{target=avx2},schedule{target=avx2}").run(parse_module(PROGRAMS["turned"]))
    (product,) = [op for op in module.walk() if isinstance(op, MatmulOp)]
    assert product.schedule.data == ProductSchedule(), "a packed product needs more"
    inputs = arguments(parse_module(PROGRAMS["turned"]))
    np.testing.assert_allclose(run(module, inputs)[0], inputs[0] @ inputs[1].T)
    assert "x double>" not in generate(module, TARGETS["avx2"]).text
