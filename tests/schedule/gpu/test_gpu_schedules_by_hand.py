"""Schedules for GPUs that are written by hand are obeyed, with right results, or refused with the reason."""

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.gpu import LaunchOp, block_size
from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.gpu_schedule import GpuSchedule, GpuScheduleAttr
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import gpu_lowering, parse_pipeline

TO_NESTS = "to-core,fuse,products-to-nests,collapse-loops"
TO_GPU = "schedule{target=gpu},bufferize{target=gpu},kernels-to-gpu"
PROGRAMS = {
    "rows": """func.func @main(%x: tensor<6x40xf32>, %b: tensor<6xf32>) -> tensor<6x40xf32> {
        %0 = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<6xf32>) -> tensor<6x40xf32>
        %1 = stablehlo.multiply %x, %0 : tensor<6x40xf32>
        %2 = stablehlo.tanh %1 : tensor<6x40xf32>
        return %2 : tensor<6x40xf32> }""",
    "sums": """func.func @main(%x: tensor<6x40x9xf32>) -> tensor<6x9xf32> {
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<6x40x9xf32>, tensor<f32>) -> tensor<6x9xf32>
        return %0 : tensor<6x9xf32> }""",
    "largest": """func.func @main(%x: tensor<6x44xf64>) -> (tensor<6x44xf64>, tensor<6xf64>) {
        %c = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
        %0 = stablehlo.abs %x : tensor<6x44xf64>
        %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<6x44xf64>, tensor<f64>) -> tensor<6xf64>
        return %0, %1 : tensor<6x44xf64>, tensor<6xf64> }""",
    "rounded": """func.func @main(%x: tensor<6x40xf16>) -> tensor<6xf16> {
        %c = stablehlo.constant dense<0.0> : tensor<f16>
        %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<6x40xf16>, tensor<f16>) -> tensor<6xf16>
        return %0 : tensor<6xf16> }""",
    "product": """func.func @main(%x: tensor<2x13x9xf32>, %y: tensor<2x9x11xf32>) -> tensor<2x13x11xf32> {
        %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1]
          : (tensor<2x13x9xf32>, tensor<2x9x11xf32>) -> tensor<2x13x11xf32>
        return %0 : tensor<2x13x11xf32> }""",
    "transposed": """func.func @main(%x: tensor<21x5x37xf32>, %y: tensor<37x5x21xf32>) -> tensor<37x5x21xf32> {
        %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<21x5x37xf32>) -> tensor<37x5x21xf32>
        %1 = stablehlo.subtract %0, %y : tensor<37x5x21xf32>
        return %1 : tensor<37x5x21xf32> }""",
    "padded": """func.func @main(%x: tensor<6x40xf32>) -> tensor<9x90xf32> {
        %c = stablehlo.constant dense<0.5> : tensor<f32>
        %0 = stablehlo.pad %x, %c, low = [2, 7], high = [1, 43], interior = [0, 0] : (tensor<6x40xf32>, tensor<f32>) -> tensor<9x90xf32>
        return %0 : tensor<9x90xf32> }""",
    "odd": """func.func @main(%x: tensor<103xf64>) -> tensor<103xf64> {
        %0 = stablehlo.negate %x : tensor<103xf64>
        return %0 : tensor<103xf64> }""",
    "counts": """func.func @main(%t: tensor<5xi32>, %i: tensor<30x1xi32>, %u: tensor<30xi32>) -> tensor<5xi32> {
        %0 = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers =
            #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>):
          %1 = stablehlo.add %a, %b : tensor<i32>
          stablehlo.return %1 : tensor<i32>
        }) : (tensor<5xi32>, tensor<30x1xi32>, tensor<30xi32>) -> tensor<5xi32>
        return %0 : tensor<5xi32> }""",
}
PROGRAMS["weights"] = (
    PROGRAMS["counts"].replace("5xi32", "5xf32").replace("%u: tensor<30xi32>", "%u: tensor<30xf32>").replace(", tensor<30xi32>)", ", tensor<30xf32>)")
)
PROGRAMS["weights"] = (
    PROGRAMS["weights"].replace("%a: tensor<i32>, %b: tensor<i32>", "%a: tensor<f32>, %b: tensor<f32>").replace(": tensor<i32>", ": tensor<f32>")
)
OBEYED = {
    "rows": [
        "threads = [0, 1], group = 64, positions = i32",
        "threads = [1, 0], group = 7",
        "threads = [0, 1], elements = 8, group = 32",
        "threads = [1, 0], elements = 2, group = 32",
        "threads = [1], serial = [0], group = 64",
        "threads = [1], elements = 4, serial = [0], group = 2",
        "serial = [1, 0], group = 1",
        "threads = [0], reduce = {loops = [1], threads = 8}, group = 32",
        "atomic, threads = [0, 1], group = 64",
    ],
    "sums": [
        "threads = [0, 2], serial = [1], group = 64",
        "threads = [0], serial = [2, 1], group = 64",
        "threads = [0], serial = [1, 2], group = 64",
        "serial = [1, 0, 2], group = 1",
        "threads = [0, 2], reduce = {loops = [1], threads = 8}, group = 32",
        "threads = [0, 2], reduce = {loops = [1], threads = 8, columns}, group = 32",
        "threads = [0, 2], reduce = {loops = [1], threads = 4, columns, parts = 3}, group = 32",
        "threads = [0, 2], elements = 8, reduce = {loops = [1], threads = 2, parts = 5}, group = 2",
        "threads = [0, 2], reduce = {loops = [1], threads = 1}, group = 8",
        "threads = [2], reduce = {loops = [0], threads = 2}, serial = [1], group = 8",
    ],
    "largest": [
        "threads = [0], elements = 4, reduce = {loops = [1], threads = 32}, group = 64",
        "threads = [0], reduce = {loops = [1], threads = 4, columns}, group = 32",
        "threads = [0], elements = 2, serial = [1], group = 3",
    ],
    "rounded": ["threads = [0], elements = 8, reduce = {loops = [1], threads = 4, parts = 2}, group = 32", "threads = [0], serial = [1], group = 6"],
    "product": [
        "threads = [0, 1, 2], serial = [3], group = 32",
        "threads = [0], tile = {loops = [1, 2, 3], size = [8, 8, 4], thread = [2, 4]}, group = 8",
        "threads = [0], tile = {loops = [1, 2, 3], size = [16, 16, 16], thread = [1, 2]}, group = 128",
        "threads = [0, 1, 2], reduce = {loops = [3], threads = 4}, group = 32",
    ],
    "transposed": [
        "threads = [0, 1, 2], group = 64",
        "threads = [1, 0, 2], transpose = {loop = 0, side = 8}, group = 16",
        "threads = [0, 1, 2], transpose = {loop = 0, side = 16}, group = 256",
        "threads = [0, 1, 2], transpose = {loop = 0, side = 4}, group = 4",
    ],
    "padded": ["threads = [0, 1], group = 256", "threads = [0, 1], elements = 2, group = 256", "threads = [1], serial = [0], group = 128"],
    "odd": ["threads = [0], elements = 4, group = 8", "threads = [0], elements = 16, group = 1", "threads = [0], elements = 8, group = 256"],
    "counts": ["serial = [0], group = 1", "threads = [0], atomic, group = 32"],
    "weights": ["serial = [0], group = 1"],
}
REFUSED = [
    ("rows", "threads = [0], group = 32", "loops [0], but loop 1 is not among them"),
    ("rows", "threads = [0, 2], serial = [1], group = 32", "loop 2, but the nest has 2"),
    ("rows", "threads = [1, 0], elements = 4, group = 32", "4 elements per thread, but the 6 iterations of loop 0 are no multiple of that"),
    ("rows", "serial = [0, 1], elements = 4, group = 1", "4 elements per thread, but there is no loop that threads share"),
    ("sums", "threads = [0, 1, 2], group = 32", "threads that share loop 1, but its iterations may write the same element"),
    ("sums", "threads = [0, 1, 2], atomic, group = 32", "threads that share loop 1, but its iterations may write the same element, with values that are not"),
    (
        "sums",
        "threads = [0], reduce = {loops = [1], threads = 4}, serial = [2], group = 32",
        "4 threads that reduce loops [1] together, but result 0 is written",
    ),
    ("largest", "threads = [0], reduce = {loops = [1], threads = 4, parts = 99}, group = 32", "99 parts, but there are 44 iterations"),
    (
        "sums",
        "threads = [0, 2], elements = 2, reduce = {loops = [1], threads = 4, columns}, group = 32",
        "2 elements per thread, but threads that reduce columns",
    ),
    (
        "sums",
        "tile = {loops = [0, 2, 1], size = [4, 4, 4], thread = [1, 1]}, group = 16",
        "tiles of loops [0, 2, 1], but the nest is no sum of products of two factors",
    ),
    (
        "product",
        "threads = [0], tile = {loops = [2, 1, 3], size = [4, 4, 4], thread = [1, 1]}, group = 16",
        "tiles of loops [2, 1, 3], but rows are of [1], columns of [2], and the sum is over 3",
    ),
    (
        "product",
        "threads = [0], tile = {loops = [1, 2, 3], size = [256, 256, 32], thread = [16, 16]}, group = 256",
        "tiles of loops [1, 2, 3], but the factors of a tile take 66560 bytes, more than 32768",
    ),
    (
        "transposed",
        "threads = [2, 1, 0], transpose = {loop = 1, side = 8}, group = 16",
        "transposing along loop 1, but nothing is read with a stride along loop 0",
    ),
    ("rows", "threads = [0, 1], transpose = {loop = 1, side = 8}, group = 16", "transposing along loop 1, but that is not among the threads' loops"),
    ("weights", "threads = [0], atomic, group = 32", "threads that share loop 0, but its iterations may write the same element, with values that are not"),
]
MALFORMED = [
    ("lanes = 4", "a schedule for GPUs has no entry 'lanes'"),
    ("threads = [0], threads = [1]", "there already is 'threads'"),
    ("reduce = {loops = [0]}", "threads is missing"),
    ("reduce = {loops = [0], threads = 3}, group = 32", "3 threads must be a power of two that divides group = 32"),
    ("threads = [0], serial = [0]", "a loop is named twice"),
    ("elements = 3", "elements = 3 must be a power of two"),
    ("group = 2048", "group = 2048 must be from 1 to 1024"),
    ("transpose = {loop = 0, side = 8}, group = 12", "group = 12 must be whole rows of a square of side 8"),
    ("positions = i16", "expected i32 or i64, found 'i16'"),
    ("tile = {loops = [0, 1, 2], size = [8, 8, 8], thread = [3, 2]}", "8 by 8 results are not divided by 3 by 2"),
    ("tile = {loops = [0, 1, 2], size = [8, 8, 8], thread = [2, 2]}, group = 32", "16 threads have the results of a tile, group = 32"),
]


def scheduled(program: str, text: str) -> ModuleOp:
    """The kernel-level module whose nest has a schedule, written into its text."""
    module = parse_pipeline(TO_NESTS).run(parse_module(PROGRAMS[program]))
    (nest,) = [op for op in module.walk() if isinstance(op, NestOp)]
    nest.properties["gpu_schedule"] = GpuScheduleAttr(GpuSchedule(group=77))
    edited = print_module(module).replace("gpu_schedule<group = 77, positions = i64>", f"gpu_schedule<{text}>")
    return parse_module(edited, "by_hand.mlir")


def arguments(module: ModuleOp) -> list[np.ndarray]:
    (function,) = module.ops
    random = np.random.default_rng(7)
    types = [a.type for a in function.body.block.args]
    kinds = [str(t.element_type).replace("f", "float") if str(t.element_type) != "i32" else "int32" for t in types]
    drawn = [random.integers(0, 5, t.get_shape()) if kind == "int32" else random.standard_normal(t.get_shape()) for t, kind in zip(types, kinds, strict=True)]
    return [x.astype(kind) for x, kind in zip(drawn, kinds, strict=True)]


@pytest.mark.parametrize(("program", "text"), [(program, text) for program, texts in OBEYED.items() for text in texts])
def test_obeyed(program: str, text: str) -> None:
    module = scheduled(program, text)
    inputs = arguments(module)
    expected = run(module, inputs)
    (group,) = [op.gpu_schedule.data.group for op in module.walk() if isinstance(op, NestOp)]
    launched = parse_pipeline(TO_GPU).run(module)
    verify(launched)
    assert group in [block_size(op)[0] for op in launched.walk() if isinstance(op, LaunchOp)]
    for seen, wanted in zip(run(launched, inputs), expected, strict=True):
        np.testing.assert_allclose(np.asarray(seen, float), np.asarray(wanted, float), rtol=1e-5 if seen.dtype.itemsize > 2 else 2e-3, atol=1e-6)


@pytest.mark.parametrize(("program", "text", "reason"), REFUSED)
def test_refused(program: str, text: str, reason: str) -> None:
    with pytest.raises(DiagnosticError, match=r"by_hand.mlir:\d+:\d+: error: the schedule asks for " + re.escape(reason)):
        parse_pipeline(TO_GPU).run(scheduled(program, text))


@pytest.mark.parametrize(("text", "reason"), MALFORMED)
def test_malformed(text: str, reason: str) -> None:
    with pytest.raises(DiagnosticError, match=r"by_hand.mlir:\d+:\d+: error: .*" + re.escape(reason)):
        verify(scheduled("rows", text))


def test_strict_programs_add_up_in_order() -> None:
    module = scheduled("sums", "threads = [0, 2], reduce = {loops = [1], threads = 8}, group = 32")
    with pytest.raises(DiagnosticError, match="8 threads that reduce together, but a strict program adds up in order"):
        parse_pipeline("schedule{target=gpu strict=true}").run(module)


def test_a_strict_program_has_no_sum_in_another_order() -> None:
    text = PROGRAMS["sums"].replace("6x40x9", "2x400x9").replace("6x9", "2x9")
    module = parse_pipeline(gpu_lowering(strict=True)).run(parse_pipeline("to-core").run(parse_module(text)))
    inputs = [np.random.default_rng(7).standard_normal((2, 400, 9)).astype(np.float32)]
    np.testing.assert_array_equal(run(module, inputs)[0], np.add.accumulate(inputs[0], axis=1)[:, -1])


def test_a_schedule_that_is_there_is_kept() -> None:
    module = scheduled("rows", "threads = [1, 0], group = 7, positions = i64")
    before = print_module(module)
    assert print_module(parse_pipeline("collapse-loops,schedule{target=sm_90}").run(module)) == before


def test_a_nest_without_a_schedule_is_refused() -> None:
    module = parse_pipeline(f"{TO_NESTS},bufferize{{target=gpu}}").run(parse_module(PROGRAMS["rows"], "by_hand.mlir"))
    with pytest.raises(DiagnosticError, match="this nest has no schedule for a GPU"):
        parse_pipeline("kernels-to-gpu").run(module)
