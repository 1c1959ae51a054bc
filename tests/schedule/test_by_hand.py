"""Schedules that are written by hand are obeyed, with right results, or refused with the reason."""

import re

import numpy as np
import pytest

from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.schedule import Schedule, ScheduleAttr
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.runtime.cpu import compile
from wengert.runtime.errors import InputError
from wengert.runtime.interpreter import run
from wengert.transforms.codegen.cpu.program import generate
from wengert.transforms.pipelines import parse_pipeline
from wengert.transforms.schedule.target import TARGETS, Target

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
    "totals": """func.func @main(%x: tensor<6x43xf32>) -> tensor<6xf32> {
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<6x43xf32>, tensor<f32>) -> tensor<6xf32>
        return %0 : tensor<6xf32> }""",
    "transposed": """func.func @main(%x: tensor<21x5x37xf32>) -> tensor<37x5x21xf32> {
        %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<21x5x37xf32>) -> tensor<37x5x21xf32>
        return %0 : tensor<37x5x21xf32> }""",
    "padded": """func.func @main(%x: tensor<6x40xf32>) -> tensor<9x90xf32> {
        %c = stablehlo.constant dense<0.5> : tensor<f32>
        %0 = stablehlo.pad %x, %c, low = [2, 7], high = [1, 43], interior = [0, 0] : (tensor<6x40xf32>, tensor<f32>) -> tensor<9x90xf32>
        return %0 : tensor<9x90xf32> }""",
    "flat": """func.func @main(%x: tensor<103xf64>) -> tensor<103xf64> {
        %0 = stablehlo.negate %x : tensor<103xf64>
        return %0 : tensor<103xf64> }""",
}
OBEYED = {
    "rows": [
        "",
        "order = [1, 0]",
        "order = [1, 0], lanes = 2",
        "lanes = 8",
        "lanes = 16, interleave = 2",
        "lanes = 4, interleave = 4",
        "lanes = 2, interleave = 2, remainder = repeated",
        "lanes = 64",
        "cut = {loop = 1, size = 8}, lanes = 4",
        "cut = {loop = 1, size = 7, overlapping}, lanes = 4",
        "cut = {loop = 0, size = 4, overlapping}",
        "parallel = {chunk = 2, nanoseconds = 50000}, lanes = 8",
        "parallel = {chunk = 4, nanoseconds = 50000}",
        "cut = {loop = 1, size = 7, overlapping}, parallel = {chunk = 2, nanoseconds = 50000}, lanes = 2",
        "order = [1, 0], cut = {loop = 1, size = 20}, parallel = {chunk = 1, nanoseconds = 50000}",
        "lanes = 16, pieces = [0 to 16, 16 to 40 masked]",
    ],
    "sums": [
        "",
        "order = [0, 2, 1]",
        "order = [0, 2, 1], lanes = 8, accumulators = 2",
        "order = [1, 0, 2], lanes = 4",
        "order = [1, 2, 0], lanes = 4",
        "order = [2, 1, 0]",
        "cut = {loop = 1, size = 10}, lanes = 2",
        "cut = {loop = 2, size = 3}, lanes = 2",
        "parallel = {chunk = 2, nanoseconds = 50000}, lanes = 8",
        "cut = {loop = 0, size = 3}, parallel = {chunk = 1, nanoseconds = 50000}, lanes = 8",
    ],
    "totals": [
        "",
        "lanes = 4",
        "lanes = 8, accumulators = 4",
        "lanes = 4, accumulators = 2",
        "lanes = 4, interleave = 2, accumulators = 2",
        "lanes = 8, interleave = 4",
        "order = [1, 0], lanes = 4",
        "accumulators = 4",
        "cut = {loop = 1, size = 1}, lanes = 4",
    ],
    "transposed": [
        "",
        "lanes = 8",
        "order = [1, 0, 2], lanes = 8, tiled",
        "order = [1, 0, 2], lanes = 16, tiled",
        "order = [1, 0, 2], lanes = 2, tiled",
        "order = [1, 0, 2], lanes = 4, tiled, parallel = {chunk = 1, nanoseconds = 50000}",
        "order = [2, 0, 1], lanes = 4",
        "order = [1, 0, 2], lanes = 8, remainder = repeated",
    ],
    "padded": [
        "",
        "lanes = 8",
        "lanes = 8, pieces = [0 to 7 masked, 7 to 47, 47 to 90]",
        "lanes = 4, pieces = [0 to 30 masked, 30 to 40, 40 to 60 masked, 60 to 90]",
        "lanes = 8, version = {holds = (0 <= d0 - 2 < 6)}",
        "version = {fails = (0 <= d0 - 2 < 6)}",
        "lanes = 8, version = {holds = (0 <= d0 - 2 < 6)}, pieces = [0 to 7 masked, 7 to 47, 47 to 90]",
        "order = [1, 0], lanes = 4",
        "lanes = 16, remainder = repeated",
    ],
    "flat": ["", "lanes = 8, interleave = 2", "cut = {loop = 0, size = 10, overlapping}, lanes = 4, remainder = repeated", "cut = {loop = 0, size = 103}"],
}
REFUSED = [
    ("rows", "order = [0]", "an order of 1 loops, but the nest has 2"),
    ("rows", "cut = {loop = 2, size = 4}", "ranges of 4 iterations of loop 2, but the nest has 2 loops"),
    ("rows", "cut = {loop = 1, size = 7}", "ranges of 7 iterations of loop 1, but its 40 are no multiple of that, and ranges are not overlapping"),
    ("rows", "cut = {loop = 0, size = 7, overlapping}", "ranges of 7 iterations of loop 0, but that has 6"),
    ("rows", "interleave = 2", "2 registers at once, but there is one lane"),
    ("rows", "lanes = 4, accumulators = 2", "2 accumulators, but nothing is summed over the innermost loop"),
    ("rows", "lanes = 8, tiled", "tiles, but nothing is read with a stride along the innermost loop that is contiguous along the one around it"),
    ("rows", "version = {holds = (0 <= d0 < 3)}", "a version where 0 <= d0 < 3 holds throughout, but the nest has no such guard"),
    ("rows", "lanes = 64, remainder = repeated", "a repeated remainder, but the innermost loop does not fill a register of 64 lanes"),
    ("rows", "pieces = [0 to 30]", "pieces up to 30, but the innermost loop has 40 iterations"),
    ("sums", "order = [1, 0, 2], parallel = {chunk = 1, nanoseconds = 9}", "a parallel loop, but the iterations of the outermost loop do not write different"),
    ("sums", "cut = {loop = 1, size = 7, overlapping}", "overlapping ranges, but the nest combines values, or writes at computed positions"),
    ("totals", "lanes = 4, remainder = repeated", "a repeated remainder, but the nest combines values"),
    ("transposed", "lanes = 8, tiled", "tiles, but nothing is read with a stride"),
    ("transposed", "order = [1, 0, 2], lanes = 32, tiled", "tiles of 32 by 32 iterations, but a side is one register, and not longer than the loops"),
    ("padded", "lanes = 8, pieces = [0 to 8, 8 to 90 masked]", "a piece 0 to 8 that is not masked, but 0 <= d1 - 7 < 40 changes in it"),
    ("padded", "lanes = 8, interleave = 2", "2 registers at once, but something is read with a stride, with a guard, or at computed positions"),
    ("padded", "lanes = 8, version = {holds = (0 <= d1 - 7 < 40)}", "a version where 0 <= d1 - 7 < 40 holds throughout, but outer loops have no part in it"),
    ("flat", "parallel = {chunk = 10, nanoseconds = 9}", "a parallel loop, but there is no loop around those that a thread runs; cut one"),
]


def scheduled(program: str, text: str):
    """The kernel-level module whose nest has a schedule, written into its text."""
    module = parse_pipeline("to-core,fuse,collapse-loops").run(parse_module(PROGRAMS[program]))
    (nest,) = [op for op in module.walk() if isinstance(op, NestOp)]
    nest.properties["schedule"] = ScheduleAttr(Schedule(lanes=32))
    edited = print_module(module).replace("schedule<lanes = 32>", f"schedule<{text}>")
    return parse_module(edited, "by_hand.mlir")


def arguments(module) -> list[np.ndarray]:
    (function,) = module.ops
    random = np.random.default_rng(7)
    return [random.standard_normal(a.type.get_shape()).astype(str(a.type.element_type).replace("f", "float")) for a in function.body.block.args]


@pytest.mark.parametrize(("program", "text"), [(program, text) for program, texts in OBEYED.items() for text in texts])
def test_obeyed(program: str, text: str) -> None:
    module = scheduled(program, text)
    inputs = arguments(module)
    for actual, expected in zip(compile(module)(*inputs), run(module, inputs), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("program", "text", "reason"), REFUSED)
def test_refused(program: str, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=r"by_hand.mlir:\d+:\d+: error: the schedule asks for " + re.escape(reason)):
        compile(scheduled(program, text))


@pytest.mark.parametrize("text", ["lanes = 4", "accumulators = 2", "order = [0, 2, 1], accumulators = 2"])
def test_strict_programs_add_up_in_order(text: str) -> None:
    program = "totals" if "order" not in text else "sums"
    with pytest.raises(InputError, match="a strict program adds up in order"):
        compile(scheduled(program, text), strict=True)


def test_the_order_of_a_strict_sum_may_only_change_around_it() -> None:
    text = PROGRAMS["sums"].replace("[1]", "[0, 1]").replace("tensor<6x9xf32>", "tensor<9xf32>")
    module = parse_pipeline("to-core,fuse").run(parse_module(text))
    (nest,) = [op for op in module.walk() if isinstance(op, NestOp)]
    for order, allowed in (((2, 0, 1), True), ((0, 2, 1), False), ((1, 0, 2), False), ((1, 2, 0), False)):
        nest.properties["schedule"] = ScheduleAttr(Schedule(order=order))
        inputs = arguments(module)
        if allowed:
            np.testing.assert_array_equal(compile(module, strict=True)(*inputs)[0], np.add.accumulate(inputs[0].reshape(240, 9), axis=0)[-1])
        else:
            with pytest.raises(InputError, match="this order, but a strict program adds up in order"):
                compile(module, strict=True)


def code_of(schedule: str, target: Target) -> str:
    return generate(parse_pipeline("bufferize").run(scheduled("rows", schedule)), target).text


def test_a_schedule_changes_the_code_and_nothing_else_does() -> None:
    target = TARGETS["avx2"]
    wide, narrow, sequential = (code_of(text, target) for text in ("lanes = 8", "lanes = 2", ""))
    assert "<8 x float>" in wide
    assert "<2 x float>" in narrow
    assert "<8 x float>" not in narrow
    assert "x float>" not in sequential
    assert code_of("lanes = 2", TARGETS["sse2"]) == narrow


def test_a_schedule_that_is_there_is_kept() -> None:
    module = scheduled("rows", "order = [1, 0], lanes = 2")
    before = print_module(module)
    assert print_module(parse_pipeline("collapse-loops,schedule{target=avx2}").run(module)) == before


def test_a_nest_that_runs_iterations_twice_does_not_overwrite_what_it_reads() -> None:
    """What dies here is overwritten by the second nest, unless its schedule repeats iterations."""
    text = """func.func @main(%x: tensor<103xf64>, %y: tensor<103x103xf64>) -> tensor<103xf64> {
        %0 = stablehlo.dot_general %y, %x, contracting_dims = [1] x [0] : (tensor<103x103xf64>, tensor<103xf64>) -> tensor<103xf64>
        %1 = stablehlo.add %0, %x : tensor<103xf64>
        %2 = stablehlo.dot_general %y, %1, contracting_dims = [1] x [0] : (tensor<103x103xf64>, tensor<103xf64>) -> tensor<103xf64>
        return %2 : tensor<103xf64> }"""
    arenas: list[int] = []
    for schedule in (Schedule(lanes=8), Schedule(lanes=8, remainder="repeated")):
        module = parse_pipeline("to-core,fuse,collapse-loops").run(parse_module(text))
        (nest,) = [op for op in module.walk() if isinstance(op, NestOp)]
        nest.properties["schedule"] = ScheduleAttr(schedule)
        compiled = compile(module)
        inputs = arguments(module)
        np.testing.assert_allclose(compiled(*inputs)[0], run(module, inputs)[0], rtol=1e-12)
        arenas.append(compiled.stats.arena_bytes)
    assert arenas[0] < arenas[1]
