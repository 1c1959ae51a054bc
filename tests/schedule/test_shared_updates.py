"""Updates at computed positions that threads share: every element sees them in their order, so that the bits are those of one thread, in strict programs too."""

import re
from collections.abc import Generator
from random import Random

import numpy as np
import pytest

from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.schedule import Schedule, ScheduleAttr
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.runtime.cpu import compile, pool
from wengert.runtime.cpu.thread_count import default_threads
from wengert.runtime.errors import InputError
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import parse_pipeline
from wengert.transforms.schedule import chunks
from wengert.transforms.schedule import parallel as sharing

DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "bf16": np.float32}
ROWS = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
"""Rows of a matrix are updated."""
COLUMNS = "update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1"
"""Elements of each row are updated, all rows alike."""
BATCHED = "inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2"
"""Elements of each row are updated, each in places of its own."""
PARTS = "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1"
"""Windows that may overlap in part."""


def scatter(kind: str, element: str, numbers: str, x: tuple[int, ...], i: tuple[int, ...], u: tuple[int, ...]) -> str:
    types = [f"tensor<{'x'.join(map(str, extents))}x{kind}>" for extents, kind in ((x, element), (i, "i32"), (u, element))]
    return f"""func.func public @main(%x: {types[0]}, %i: {types[1]}, %u: {types[2]}) -> {types[0]} {{
      %0 = "core.scatter"(%x, %i, %u) <{{kind = #core<kind {kind}>, indices_are_sorted = false, unique_indices = false,
        scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> : ({", ".join(types)}) -> {types[0]}
      return %0 : {types[0]}
    }}"""


def drawn(random: Random, numbers: str, kind: str, element: str) -> tuple[str, list[tuple[int, ...]]]:
    """A random program, and the shapes of its arguments."""
    rows, width, count = random.randint(2, 40), random.choice((1, 3, 16, 33, 70)), random.randint(1, 60)
    x = (rows, width) if numbers == ROWS else (random.randint(2, 20), width + 3)
    shapes = {
        ROWS: [x, (count, 1), (count, width)],
        COLUMNS: [x, (count, 1), (x[0], count)],
        BATCHED: [x, (x[0], count, 1), (x[0], count)],
        PARTS: [x, (count, 2), (count, random.randint(1, 2), width)],
    }[numbers]
    return scatter(kind, element, numbers, *shapes), shapes


def arguments(rng: np.random.Generator, element: str, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Values, and positions some of which are outside."""
    x, i, u = shapes
    values = [rng.normal(size=each) * 3 for each in (x, u)]
    if element == "bf16":
        import ml_dtypes

        x_values, u_values = (each.astype(ml_dtypes.bfloat16) for each in values)
    else:
        x_values, u_values = (each.astype(DTYPES[element]) for each in values)
    return [x_values, rng.integers(-1, max(x) + 1, i).astype(np.int32), u_values]


@pytest.fixture
def _fine(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Small kernels are shared."""
    monkeypatch.setattr(chunks, "GRAIN_NS", 1.0)
    monkeypatch.setattr(chunks, "LEAST_NS", 2.0)
    monkeypatch.setattr(sharing, "OWNED_NS", 0.0)
    yield
    pool.set_threads(default_threads())


@pytest.mark.usefixtures("_fine")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kind", ["add", "set", "max", "min", "mul"])
@pytest.mark.parametrize("numbers", [ROWS, COLUMNS, BATCHED, PARTS], ids=["rows", "columns", "batched", "parts"])
def test_any_number_of_threads_gives_the_bits_of_one(numbers: str, kind: str, strict: bool) -> None:
    for seed in range(4):
        random, element = Random(seed), ("f32", "f64", "i32", "bf16")[seed]
        text, shapes = drawn(random, numbers, kind, element)
        operands = arguments(np.random.default_rng(seed), element, shapes)
        module = parse_module(text)
        (expected,) = run(module, operands)
        program = compile(module, strict=strict)
        for threads in (1, 2, 3, 8):
            pool.set_threads(threads)
            (result,) = program(*operands)
            np.testing.assert_array_equal(result, expected, err_msg=f"{threads} threads, seed {seed}")


def schedules(text: str) -> list[Schedule]:
    """The schedules of a program's nests."""
    module = parse_pipeline("to-core,fuse,collapse-loops,schedule{target=avx2}").run(parse_module(text))
    return [op.schedule.data for op in module.walk() if isinstance(op, NestOp) and op.schedule is not None]


def test_rows_are_shared_by_ranges_of_the_array_and_batches_by_themselves() -> None:
    assert [s.owned for s in schedules(scatter("add", "f32", ROWS, (1000, 256), (512, 1), (512, 256)))] == [4096]
    assert [s.owned for s in schedules(scatter("add", "f32", ROWS, (1000, 16), (8192, 1), (8192, 16)))] == [0], (
        "going through all positions is most of the work"
    )
    (batched,) = schedules(scatter("add", "f32", BATCHED, (64, 1000), (64, 5000, 1), (64, 5000)))
    assert batched.owned == 0
    assert batched.parallel is not None
    assert all(s.parallel is None for s in schedules(scatter("add", "f32", PARTS, (1000, 256), (5000, 2), (5000, 2, 200)))), (
        "windows are rows of their own nowhere"
    )


def by_hand(text: str, schedule: str):
    """The kernel-level module whose nest has a schedule, written into its text."""
    module = parse_pipeline("to-core,fuse,collapse-loops").run(parse_module(text))
    (nest,) = [op for op in module.walk() if isinstance(op, NestOp)]
    nest.properties["schedule"] = ScheduleAttr(Schedule(lanes=32))
    return parse_module(print_module(module).replace("schedule<lanes = 32>", f"schedule<{schedule}>"), "by_hand.mlir")


PARALLEL = "parallel = {chunk = 1, nanoseconds = 50000}"
MATRIX = scatter("add", "f32", ROWS, (12, 40), (30, 1), (30, 40))


@pytest.mark.parametrize(
    "text",
    [f"owned = 40, {PARALLEL}", f"owned = 80, {PARALLEL}, lanes = 8", f"owned = 4000, {PARALLEL}", f"cut = {{loop = 1, size = 10}}, {PARALLEL}, lanes = 4"],
)
def test_obeyed(text: str) -> None:
    operands = arguments(np.random.default_rng(3), "f32", [(12, 40), (30, 1), (30, 40)])
    (expected,) = run(parse_module(MATRIX), operands)
    for strict in (False, True):
        program = compile(by_hand(MATRIX, text), strict=strict)
        for threads in (1, 3):
            pool.set_threads(threads)
            np.testing.assert_array_equal(program(*operands)[0], expected)
    pool.set_threads(default_threads())


@pytest.mark.parametrize(("program", "text", "reason"), [
    (MATRIX, "owned = 40", "ranges of 40 elements, but no 'parallel' shares them"),
    (MATRIX, f"owned = 60, {PARALLEL}", "ranges of 60 elements, but what is updated at once lies within 40"),
    (MATRIX, PARALLEL, "a parallel loop, but the iterations of the outermost loop do not write different elements"),
    (MATRIX, f"owned = 40, cut = {{loop = 1, size = 10}}, {PARALLEL}", "ranges of 40 elements, but nothing is updated at computed positions"),
    (scatter("add", "f32", PARTS, (12, 40), (30, 2), (30, 2, 9)), f"owned = 40, {PARALLEL}", "ranges of 40 elements, but nothing is updated"),
    ("func.func @main(%x: tensor<103xf64>) -> tensor<103xf64> {\n%0 = stablehlo.negate %x : tensor<103xf64>\nreturn %0 : tensor<103xf64> }",
     f"owned = 1, {PARALLEL}", "ranges of 1 elements, but nothing is updated at computed positions"),
])  # fmt: skip
def test_refused(program: str, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=r"by_hand.mlir:\d+:\d+: error: the schedule asks for " + re.escape(reason)):
        compile(by_hand(program, text))
