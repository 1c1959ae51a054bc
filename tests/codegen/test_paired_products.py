"""Products in blocks whose panels hold pairs: those of floats have the bits of products without pairs, whatever the elements are, those of integers are exact."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from msgspec.structs import replace
from product_checks import HOST, Array, Guarded, compiled

from wengert.dialects.kernel.product_schedule import Blocks, ProductSchedule, Tile
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run
from wengert.transforms.codegen.cpu.matmul.pairs import SMALLEST
from wengert.transforms.schedule.products.choice import choose
from wengert.transforms.schedule.products.legality import problem_of
from wengert.transforms.schedule.products.operands import Product, product
from wengert.transforms.schedule.products.plan import plan_of
from wengert.transforms.schedule.target import TARGETS

TYPES: dict[str, Any] = {"bf16": ml_dtypes.bfloat16, "i8": np.int8, "ui8": np.uint8, "i16": np.int16}
SCHEDULE = ProductSchedule("blocked", tile=Tile(6, 2, 16), blocks=Blocks(24, 64, 40), paired=True)
LAYOUTS = ["NN", "NT", "TN", "TT"]
pairs_of_floats = pytest.mark.skipif(not HOST.bf16_pairs, reason="the processor has no instruction for pairs of bf16")
pairs_of_integers = pytest.mark.skipif(not HOST.i16_pairs, reason="the processor has no instruction for pairs of 16-bit integers")


def of(a: Array, b: Array, layout: str, elements: tuple[str, str], result: str) -> Product:
    numbers = {"lhs_contracting": (0 if layout[0] == "T" else 1,), "rhs_contracting": (1 if layout[1] == "T" else 0,)}
    return product(a.shape, b.shape, result, lhs_element=elements[0], rhs_element=elements[1], **numbers)


def laid_out(rows: Array, columns: Array, layout: str) -> tuple[Array, Array]:
    """Two matrices as they are in memory."""
    return np.ascontiguousarray(rows.T if layout[0] == "T" else rows), np.ascontiguousarray(columns.T if layout[1] == "T" else columns)


def computed(rows: Array, columns: Array, layout: str, elements: tuple[str, str], schedule: ProductSchedule, result: str = "f32") -> Array:
    """The product under a schedule, with all memory between inaccessible pages."""
    a, b = laid_out(rows, columns, layout)
    what = of(a, b, layout, elements, result)
    assert problem_of(what, schedule, HOST) is None
    plan, dtype = plan_of(what, schedule), {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i32": np.int32}[result]
    got = np.empty((rows.shape[0], columns.shape[1]), dtype)
    function = compiled(plan)
    for at_end in (True, False):
        memory = Guarded(at_end)
        c = memory.copy(got)
        function(memory.copy(a), memory.copy(b), c, memory.address(plan.scratch_bytes))
        got = np.frombuffer(ctypes.string_at(c, got.nbytes), dtype).reshape(got.shape).copy()
        memory.release()
    return got


def same_bits(rows: Array, columns: Array, layout: str = "NN", schedule: ProductSchedule = SCHEDULE) -> Array:
    """The product by pairs, which has the bits of that by multiply-adds of f32 where that is a number."""
    got, wanted = (computed(rows, columns, layout, ("bf16", "bf16"), each) for each in (schedule, replace(schedule, paired=False)))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(got[numbers].view(np.uint32), wanted[numbers].view(np.uint32))
    return got


def normal(shape: tuple[int, ...], seed: int, scale: float = 1.0) -> Array:
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(ml_dtypes.bfloat16)


@pairs_of_floats
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [(45, 51, 97), (24, 64, 40), (7, 33, 1), (18, 96, 130), (5, 200, 71)])
def test_layouts_and_sizes(layout: str, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    rows, columns = normal((m, k), 1), normal((k, n), 2)
    got = same_bits(rows, columns, layout)
    np.testing.assert_allclose(got, rows.astype(np.float64) @ columns.astype(np.float64), rtol=0, atol=1e-5 * k)


@pairs_of_floats
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_registers_of_all_sizes(lanes: int) -> None:
    same_bits(normal((30, 75), 3), normal((75, 50), 4), schedule=replace(SCHEDULE, tile=Tile(5, 3, lanes)))


@pairs_of_floats
@pytest.mark.parametrize(("a_scale", "b_scale"), [(2.0**-63, 2.0**-63), (2.0**-128, 1.0), (1.0, 2.0**-130), (2.0**-50, 2.0**-50), (2.0**-100, 2.0**90)])
def test_subnormal_operands_and_sums_count(a_scale: float, b_scale: float) -> None:
    rows, columns = normal((45, 97), 5), normal((97, 70), 6)
    rows[10:20] = (rows[10:20].astype(np.float32) * np.float32(a_scale)).astype(rows.dtype)
    columns[:, 40:] = (columns[:, 40:].astype(np.float64) * b_scale).astype(columns.dtype)
    rows[3, ::2], columns[5, ::3] = 0, -0.0
    got = same_bits(rows, columns)
    assert got[10:20, 40:].any()


@pairs_of_floats
@pytest.mark.parametrize("seed", range(4))
def test_all_bit_patterns(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows, columns = (random.integers(0, 1 << 16, shape).astype(np.uint16).view(ml_dtypes.bfloat16) for shape in ((45, 33), (33, 70)))
    rows[~np.isfinite(rows.astype(np.float32)) & (random.random(rows.shape) < 0.9)] = 1
    columns[~np.isfinite(columns.astype(np.float32)) & (random.random(columns.shape) < 0.9)] = 1
    same_bits(rows, columns)


@pairs_of_floats
def test_infinities_and_sums_that_overflow_on_the_way() -> None:
    rows, columns = normal((24, 40), 7), normal((40, 64), 8)
    rows[1, 3], rows[2, 4], columns[6, 5], rows[7, 8] = np.inf, -np.inf, np.inf, np.nan
    rows[9], columns[:, 9] = 2.0**100, 0
    columns[:4, 9] = 2.0**27, 2.0**27, -(2.0**27), -(2.0**27)
    got = same_bits(rows, columns)
    assert got[9, 9] == np.inf, "the first two terms overflow, in their order"


@pairs_of_floats
@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_the_least_panels_for_the_instruction(offset: int) -> None:
    """Sums that cancel to the last place, by elements of the smallest exponents with which the instruction is taken, and one below and above."""
    exponent = SMALLEST + offset
    a, b = exponent // 2 - 127, exponent - exponent // 2 - 127
    random = np.random.default_rng(9)
    rows, columns = ((1 + random.integers(0, 128, shape) / 128) * 2.0**e for shape, e in (((24, 40), a), ((40, 64), b)))
    rows[:, 1::2] = -rows[:, ::2] * (1 + random.integers(0, 2, (24, 20)) / 128)
    columns[1::2] = columns[::2]
    same_bits(rows.astype(ml_dtypes.bfloat16), columns.astype(ml_dtypes.bfloat16))


@pairs_of_floats
def test_results_that_are_rounded() -> None:
    rows, columns = normal((45, 97), 1), normal((97, 70), 2)
    got = computed(rows, columns, "NT", ("bf16", "bf16"), SCHEDULE, "bf16")
    np.testing.assert_array_equal(got, computed(rows, columns, "NT", ("bf16", "bf16"), SCHEDULE).astype(ml_dtypes.bfloat16))


@pairs_of_integers
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("elements", [("i8", "i8"), ("ui8", "i8"), ("i8", "ui8"), ("i16", "i16"), ("i16", "ui8")])
def test_integers_are_exact_and_wrap(layout: str, elements: tuple[str, str]) -> None:
    random, shapes = np.random.default_rng(3), ((45, 97), (97, 51))
    rows, columns = (
        random.integers(np.iinfo(TYPES[name]).min, np.iinfo(TYPES[name]).max, shape, endpoint=True).astype(TYPES[name])
        for name, shape in zip(elements, shapes, strict=True)
    )
    rows[0], columns[:, 0] = np.iinfo(rows.dtype).min, np.iinfo(columns.dtype).min
    got = computed(rows, columns, layout, elements, SCHEDULE, "i32")
    np.testing.assert_array_equal(got, (rows.astype(np.int64) @ columns.astype(np.int64)).astype(np.int32))


@pytest.mark.parametrize(
    ("change", "target", "reason"),
    [
        ({"kernel": "rows", "blocks": None, "tile": Tile()}, "zen4", "the kernel 'rows' has no panels"),
        ({"normalised": True}, "zen4", "panels of pairs are not multiplied by anything"),
        ({"blocks": Blocks(24, 64, 41)}, "zen4", "a pair is divided after 41 terms"),
        ({"tile": Tile(6, 2, 12)}, "zen4", "their sums fill 4, 8, 16 lanes, not 12"),
        ({}, "avx512", "the processor 'avx512' has no instruction for 16 pairs of bf16"),
        ({}, "neon", "the processor 'neon' has no instruction for 16 pairs of bf16"),
        ({"copied": ("lhs",)}, "zen4", "there are none for f32 and bf16 with sums in f32"),
    ],
)
def test_refused(change: dict[str, Any], target: str, reason: str) -> None:
    what = product((200, 100), (100, 200), "f32", lhs_element="bf16", rhs_element="bf16", lhs_contracting=(1,), rhs_contracting=(0,))
    schedule = replace(SCHEDULE, **change)
    if change.get("kernel") == "rows":
        what = product((200, 100), (100, 200), "f32", lhs_contracting=(1,), rhs_contracting=(0,))
    problem = problem_of(what, schedule, TARGETS[target])
    assert problem is not None
    assert problem[1] == reason


@pytest.mark.parametrize(
    ("elements", "result", "paired"), [("bf16", "f32", True), ("f16", "f32", False), ("i8", "i32", True), ("f32", "f32", False), ("i16", "i64", False)]
)
def test_what_is_chosen(elements: str, result: str, paired: bool) -> None:
    what = product((300, 300), (300, 300), result, lhs_element=elements, rhs_element=elements, lhs_contracting=(1,), rhs_contracting=(0,))
    assert choose(what, TARGETS["zen4"]).paired == paired
    for name in ("avx2", "avx512", "neon"):
        assert not choose(what, TARGETS[name]).paired


@pytest.mark.parametrize(("element", "result"), [("bf16", "bf16"), ("bf16", "f32"), ("i8", "i32")])
def test_programs_on_this_processor(element: str, result: str) -> None:
    x, y, z = f"tensor<130x121x{element}>", f"tensor<121x150x{element}>", f"tensor<130x150x{result}>"
    module = parse_module(
        f"func.func @main(%x: {x}, %y: {y}) -> {z} {{ %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({x}, {y}) -> {z}\n return %0 : {z} }}"
    )
    random = np.random.default_rng(0)
    inputs = [random.integers(-128, 128, shape).astype(np.int8) if element == "i8" else normal(shape, 1) for shape in ((130, 121), (121, 150))]
    (got,), (wanted,) = compile(module)(*inputs), run(module, inputs)
    np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=2.0**-7 if result == "bf16" else 0, atol=1e-4)
