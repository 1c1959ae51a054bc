"""Generated matrix products against numpy.einsum, with every operand and the result ending or starting at an inaccessible page."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from product_checks import AVX2, HOST, TYPES, Array, check_guarded, compiled, einsum, planned, product_by, values

import wengert as wg
from wengert.dialects.kernel.product_elements import UnsupportedMatmul
from wengert.transforms.codegen.cpu import matmul
from wengert.transforms.schedule.products.plan import MatmulPlan
from wengert.transforms.schedule.target import TARGETS, Target


def check(
    a: Array,
    b: Array,
    element: str,
    contracting: tuple[tuple[int, ...], tuple[int, ...]],
    batch: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
    target: Target = HOST,
) -> MatmulPlan:
    """Compares the generated product with einsum; the operands may be views of contiguous arrays with permuted dimensions."""
    plan = planned(
        a.shape, b.shape, element, lhs_batch=batch[0], rhs_batch=batch[1], lhs_contracting=contracting[0], rhs_contracting=contracting[1],
        target=target, lhs_strides=[s // a.itemsize for s in a.strides], rhs_strides=[s // b.itemsize for s in b.strides],
    )  # fmt: skip
    check_guarded(compiled(plan), plan.scratch_bytes, a, b, einsum(a, b, batch, contracting), element)
    return plan


def matrices(m: int, n: int, k: int, element: str, turn_a: bool, turn_b: bool) -> tuple[Array, Array, tuple[tuple[int], tuple[int]]]:
    """Operands for C[m, n] whose memory is row-major or column-major, and their contracted dimensions."""
    a = values((k, m) if turn_a else (m, k), element, 1)
    b = values((n, k) if turn_b else (k, n), element, 2)
    return a, b, ((0 if turn_a else 1,), (1 if turn_b else 0,))


SIZES = (1, 2, 3, 5, 7, 8, 13, 16, 19, 33)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
def test_small_sizes_in_all_layouts(element: str, layout: str) -> None:
    rng = np.random.default_rng(["NN", "NT", "TN", "TT"].index(layout) * 2 + (element == "f64"))
    for _ in range(24):
        m, n, k = (int(x) for x in rng.choice(SIZES, 3))
        a, b, contracting = matrices(m, n, k, element, layout[0] == "T", layout[1] == "T")
        check(a, b, element, contracting)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(("m", "n", "k"), [(8, 700, 600), (15, 501, 512), (20, 610, 300), (33, 200, 1024), (48, 130, 517)])
def test_few_rows_by_a_transposed_matrix(element: str, m: int, n: int, k: int) -> None:
    a, b, contracting = matrices(m, n, k, element, False, True)
    plan = check(a, b, element, contracting)
    assert plan.exchanged
    assert plan.method == "packed"


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 64, 20000), (8, 512, 20000), (20, 600, 20011), (16, 300, 3001), (300, 40, 9000)])
def test_errors_of_long_sums_do_not_grow_with_their_length(m: int, n: int, k: int, turned: bool) -> None:
    """Of positive terms, whose partial sums are as large as they can be: a chain of 20,000 of them loses four times as much as is allowed."""
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(0, 1, shape).astype(np.float32) for shape in ((m, k), (n, k) if turned else (k, n)))
    kinds = (f"tensor<{m}x{k}xf32>", f"tensor<{'x'.join(map(str, b.shape))}xf32>", f"tensor<{m}x{n}xf32>")
    program = wg.parse(f"""func.func @main(%a: {kinds[0]}, %b: {kinds[1]}) -> {kinds[2]} {{
      %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [{int(turned)}] : ({kinds[0]}, {kinds[1]}) -> {kinds[2]}
      return %c : {kinds[2]}
    }}""")
    exact = a.astype(np.float64) @ (b.T if turned else b).astype(np.float64)
    assert np.abs(program(a, b)[0] / exact - 1).max() < 2e-6


@pytest.mark.parametrize(("m", "n", "k"), [(20, 200, 1500), (128, 90, 700), (30, 1300, 257)])
@pytest.mark.parametrize("turned", [False, True])
def test_terms_that_come_next_are_fetched_within_and_beyond_the_operands(m: int, n: int, k: int, turned: bool) -> None:
    a, b, contracting = matrices(m, n, k, "f32", True, turned)
    plan = check(a, b, "f32", contracting)
    assert plan.blocks is not None
    assert plan.k > plan.blocks.depth


@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (1, 1, 100), (1, 100, 37), (100, 1, 37), (100, 37, 1), (1, 37, 1), (64, 3, 65), (3, 64, 65), (2, 2, 200)])
def test_vectors_dots_and_outer_products(layout: str, m: int, n: int, k: int) -> None:
    a, b, contracting = matrices(m, n, k, "f32", layout[0] == "T", layout[1] == "T")
    check(a, b, "f32", contracting)


@pytest.mark.parametrize(("m", "n", "k"), [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0), (1, 1, 0)])
@pytest.mark.parametrize("element", ["f32", "i32", "c64"])
def test_empty_dimensions(m: int, n: int, k: int, element: str) -> None:
    a, b, contracting = matrices(m, n, k, element, False, False)
    check(a, b, element, contracting)


@pytest.mark.parametrize(("a", "b", "batch", "contracting"), [
    ((5, 0, 1), (1, 5, 0), ((2,), (0,)), ((1, 0), (2, 1))),
    ((2, 0, 0), (0, 0, 2), ((), ()), ((1, 0, 2), (0, 2, 1))),
])  # fmt: skip
def test_nothing_is_copied_for_empty_sums(a: Any, b: Any, batch: Any, contracting: Any) -> None:
    numbers = {"lhs_batch": batch[0], "rhs_batch": batch[1], "lhs_contracting": contracting[0], "rhs_contracting": contracting[1]}
    plan = planned(a, b, "f32", **numbers, lhs_element="f16")
    assert (plan.method, plan.scratch_bytes) == ("zero", 0)


@pytest.mark.parametrize("element", sorted(TYPES))
def test_element_types(element: str) -> None:
    for turn_a, turn_b in itertools.product((False, True), repeat=2):
        a, b, contracting = matrices(7, 18, 33, element, turn_a, turn_b)
        check(a, b, element, contracting)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_register_tiles_of_every_target(target: Target) -> None:
    for m, n, k in ((29, 41, 19), (6, 70, 20), (50, 5, 21)):
        for turn_b in (False, True):
            a, b, contracting = matrices(m, n, k, "f32", False, turn_b)
            check(a, b, "f32", contracting, target=target)


@pytest.mark.parametrize(
    ("sizes", "layout", "method", "exchanged"),
    [
        ((53, 140, 150), "NN", "packed", False),
        ((53, 40, 50), "NN", "rows", False),
        ((53, 40, 50), "NT", "packed", False),
        ((5, 40, 50), "NT", "dot", False),
        ((5, 7, 6), "NT", "packed", False),
        ((5, 5, 3), "NT", "gathered", False),
        ((60, 3, 70), "NN", "dot", False),
        ((60, 3, 70), "TN", "rows", True),
        ((60, 1, 70), "TN", "rows", True),
        ((60, 1, 70), "NN", "dot", False),
        ((4, 4, 0), "NN", "zero", False),
    ],
)
def test_method_by_shape(sizes: tuple[int, int, int], layout: str, method: str, exchanged: bool) -> None:
    a, b, contracting = matrices(*sizes, "f32", layout[0] == "T", layout[1] == "T")
    plan = check(a, b, "f32", contracting, target=AVX2)
    assert (plan.method, plan.exchanged) == (method, exchanged)


def test_few_columns_in_a_batch() -> None:
    for turn_a, turn_b in itertools.product((False, True), repeat=2):
        a = values((3, 40, 30) if turn_a else (3, 30, 40), "f64", 1)
        b = values((3, 2, 40) if turn_b else (3, 40, 2), "f64", 2)
        check(a, b, "f64", ((1 if turn_a else 2,), (2 if turn_b else 1,)), ((0,), (0,)))


@pytest.mark.parametrize("target", ["host", *TARGETS])
@pytest.mark.parametrize("element", ["f32", "f64", "i32"])
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
def test_large_products_are_computed_in_blocks(element: str, layout: str, target: str) -> None:
    a, b, contracting = matrices(301, 290, 317, element, layout[0] == "T", layout[1] == "T")
    if TARGETS.get(target, HOST).family not in (HOST.family, ""):
        plan = planned(a.shape, b.shape, element, target=TARGETS[target], lhs_contracting=contracting[0], rhs_contracting=contracting[1])
    else:
        plan = check(a, b, element, contracting, target=TARGETS.get(target, HOST))
    assert plan.method == "blocked"
    assert plan.symbols == ()


@pytest.mark.parametrize("sizes", [(16, 700, 500), (700, 40, 300), (257, 1030, 129), (1000, 64, 65)])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_blocks_at_edges(sizes: tuple[int, int, int], element: str) -> None:
    a, b, contracting = matrices(*sizes, element, True, True)
    assert check(a, b, element, contracting).method == "blocked"


@pytest.mark.parametrize("layout", ["NN", "NT", "TN"])
@pytest.mark.parametrize(
    ("stored", "element"),
    [("bf16", "bf16"), ("f16", "f16"), ("bf16", "f32"), ("f32", "f64"), ("i8", "i32"), ("ui8", "ui32"), ("i16", "i64"), ("f16", "f64")],
)
def test_panels_convert_what_they_copy(stored: str, element: str, layout: str) -> None:
    kinds = {**TYPES, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
    a, b, contracting = matrices(201, 210, 300, "f32", layout[0] == "T", layout[1] == "T")
    given = [
        (x if stored.endswith("16") and stored[0] != "i" else 20 * x if stored[0] in "iu" else x).astype(np.int32 if stored[0] in "iu" else np.float64)
        for x in (a, b)
    ]
    a, b = ((abs(x) if stored[0] == "u" else x).astype(kinds[stored]) for x in given)
    numbers = {"lhs_contracting": contracting[0], "rhs_contracting": contracting[1], "lhs_element": stored, "rhs_element": stored}
    plan = planned(a.shape, b.shape, element, **numbers)
    assert (plan.method, plan.copy_a, plan.copy_b) == ("blocked", None, None)
    result, scratch = np.empty((201, 210), kinds[element]), np.empty(plan.scratch_bytes + 64, np.uint8)
    compiled(plan)(a.ctypes.data, b.ctypes.data, result.ctypes.data, scratch.ctypes.data + -scratch.ctypes.data % 64)
    wide = np.float64 if element in ("bf16", "f16", "f32", "f64") else np.int64
    expected = (a.T if layout[0] == "T" else a).astype(wide) @ (b.T if layout[1] == "T" else b).astype(wide)
    tolerance = {"bf16": 2.0**-8, "f16": 2.0**-10, "f32": 1e-5, "f64": 1e-13}.get(element, 0.0)
    np.testing.assert_allclose(result.astype(wide), expected, rtol=tolerance, atol=tolerance * 0.1 * float(abs(expected).max()))


@pytest.mark.parametrize("layout", ["NN", "NT", "TN"])
def test_infinities_stay_in_their_rows_and_subnormals_are_not_lost(layout: str) -> None:
    a, b, contracting = matrices(301, 290, 200, "f32", layout[0] == "T", layout[1] == "T")
    rows, columns = a.T if layout[0] == "T" else a, b.T if layout[1] == "T" else b
    rows[:] = np.float32(2.0) ** -130
    rows[300, 7], columns[3, 289] = np.inf, np.nan
    columns[7] = np.abs(columns[7]) + 1
    got = product_by(planned(a.shape, b.shape, "f32", lhs_contracting=contracting[0], rhs_contracting=contracting[1]), a, b, (301, 290))
    assert np.isposinf(got[300, :289]).all()
    assert np.isnan(got[:, 289]).all()
    expected = rows[:300].astype(np.float64) @ columns[:, :289].astype(np.float64)
    np.testing.assert_allclose(got[:300, :289], expected, rtol=1e-2, atol=2.0**-142)
    assert (np.abs(expected) < np.finfo(np.float32).tiny).any()


@pytest.mark.parametrize(
    ("shape_a", "shape_b", "batch", "contracting"),
    [
        ((5, 4, 3), (5, 3, 6), ((0,), (0,)), ((2,), (1,))),
        ((4, 5, 3), (3, 6, 5), ((1,), (2,)), ((2,), (0,))),
        ((2, 3, 4, 5), (2, 3, 5, 6), ((0, 1), (0, 1)), ((3,), (2,))),
        ((2, 4, 3, 5), (3, 5, 2, 6), ((0, 2), (2, 0)), ((3,), (1,))),
        ((3, 4, 5, 6), (5, 6, 7), ((), ()), ((2, 3), (0, 1))),
        ((3, 4, 5, 6), (6, 5, 7), ((), ()), ((2, 3), (1, 0))),
        ((5, 3, 6, 4), (7, 6, 5), ((), ()), ((0, 2), (2, 1))),
        ((5, 3, 6, 4), (6, 7, 5, 2), ((), ()), ((0, 2), (2, 0))),
        ((3, 9, 4), (2, 9, 5), ((), ()), ((1,), (1,))),
        ((6,), (6,), ((), ()), ((0,), (0,))),
        ((3, 2), (4, 5), ((), ()), ((), ())),
        ((2, 3), (2, 3), ((0, 1), (0, 1)), ((), ())),
        ((2, 1, 3), (2, 1, 4), ((0,), (0,)), ((1,), (1,))),
    ],
)  # fmt: skip
@pytest.mark.parametrize("element", ["f32", "c128", "i16"])
def test_dimension_numbers(shape_a: Any, shape_b: Any, batch: Any, contracting: Any, element: str) -> None:
    check(values(shape_a, element, 1), values(shape_b, element, 2), element, contracting, batch)


@pytest.mark.parametrize("seed", range(30))
def test_random_dimension_numbers(seed: int) -> None:
    """Any number of batching, contracting and free dimensions in any order."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, 4)
    sizes = [[int(x) for x in rng.integers(1, 6, count)] for count in counts]
    batch, contracted, free_a, free_b = sizes
    place_a = [int(x) for x in rng.permutation(len(batch) + len(contracted) + len(free_a))]
    place_b = [int(x) for x in rng.permutation(len(batch) + len(contracted) + len(free_b))]
    shape_a, shape_b = [0] * len(place_a), [0] * len(place_b)
    for shape, places, own in ((shape_a, place_a, [*batch, *contracted, *free_a]), (shape_b, place_b, [*batch, *contracted, *free_b])):
        for place, size in zip(places, own, strict=True):
            shape[place] = size
    first, second = len(batch), len(batch) + len(contracted)
    numbers = [(tuple(place_a[low:high]), tuple(place_b[low:high])) for low, high in ((0, first), (first, second))]
    check(values(tuple(shape_a), "f64", 1), values(tuple(shape_b), "f64", 2), "f64", numbers[1], numbers[0])


def test_blocks_in_a_batch() -> None:
    a, b = values((2, 210, 200), "f64", 1), values((2, 210, 190), "f64", 2)
    assert check(a, b, "f64", ((1,), (1,)), ((0,), (0,))).method == "blocked"


def test_permuted_views_are_read_in_place() -> None:
    a = values((4, 6, 10), "f32", 1).transpose(2, 0, 1)
    b = values((12, 6), "f32", 2).T
    plan = check(a, b, "f32", ((2,), (0,)))
    assert plan.copy_a is None
    assert plan.copy_b is None


def test_broadcast_operand_is_read_in_place() -> None:
    a = np.broadcast_to(values((1, 9), "f32", 1), (5, 9))
    b = values((9, 11), "f32", 2)
    plan = planned((5, 9), (9, 11), "f32", lhs_contracting=(1,), rhs_contracting=(0,), lhs_strides=(0, 1))
    c = np.empty((5, 11), np.float32)
    compiled(plan)(a.ctypes.data, b.ctypes.data, c.ctypes.data, None)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)


def test_nan_and_infinity_reach_the_result() -> None:
    a, b = np.ones((5, 9), np.float32), np.ones((9, 13), np.float32)
    a[1, 2], b[3, 4], b[5, 12] = np.nan, np.inf, -np.inf
    check_with = planned((5, 9), (9, 13), "f32", lhs_contracting=(1,), rhs_contracting=(0,))
    c = np.empty((5, 13), np.float32)
    compiled(check_with)(a.ctypes.data, b.ctypes.data, c.ctypes.data, None)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize(
    ("stored", "result"),
    [
        (ml_dtypes.bfloat16, "bf16"), (ml_dtypes.bfloat16, "f32"), (np.float16, "f16"), (np.float16, "f32"), (np.float16, "f64"),
        (np.float32, "f64"), (np.int8, "i32"), (np.uint8, "i32"), (np.uint16, "ui64"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("layout", ["NN", "TT"])
def test_converted_elements(stored: type[Any], result: str, layout: str) -> None:
    """Small whole numbers, so that every sum is exact in f32 and only the last rounding counts."""
    names = {ml_dtypes.bfloat16: "bf16", np.float16: "f16", np.float32: "f32", np.int8: "i8", np.uint8: "ui8", np.uint16: "ui16"}
    kind = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}.get(result) or TYPES[result]
    rng = np.random.default_rng(0)
    low = 0 if np.dtype(stored).kind == "u" else -15
    a, b = rng.integers(low, 16, (9, 21)), rng.integers(low, 16, (21, 19))
    plan = planned(
        (21, 9) if layout == "TT" else (9, 21), (19, 21) if layout == "TT" else (21, 19), result,
        lhs_contracting=(0,) if layout == "TT" else (1,), rhs_contracting=(1,) if layout == "TT" else (0,), lhs_element=names[stored], rhs_element=names[stored],
    )  # fmt: skip
    got = np.empty((9, 19), kind)
    scratch = np.empty(plan.scratch_bytes + 64, np.uint8)
    left, right = (np.ascontiguousarray(x.T if layout == "TT" else x).astype(stored) for x in (a, b))
    compiled(plan)(left.ctypes.data, right.ctypes.data, got.ctypes.data, scratch.ctypes.data + -scratch.ctypes.data % 64)
    np.testing.assert_array_equal(got, (a @ b).astype(np.float32).astype(kind))


def test_every_f16_and_bf16_number() -> None:
    """A product with 1 is the number itself, one with another number rounds as NumPy does."""
    for element, kind in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
        plan = planned((65536, 1), (1, 1), element, lhs_contracting=(1,), rhs_contracting=(0,))
        function = compiled(plan)
        scratch = np.empty(plan.scratch_bytes + 64, np.uint8)
        every = np.arange(65536, dtype=np.uint16).view(kind)
        for factor in (1.0, 0.335, 1.0e-3, 700.0):
            scale, got = np.array([factor], kind), np.empty(65536, kind)
            function(every.ctypes.data, scale.ctypes.data, got.ctypes.data, scratch.ctypes.data + -scratch.ctypes.data % 64)
            with np.errstate(all="ignore"):
                expected = (every.astype(np.float32) * scale.astype(np.float32)).astype(kind)
            np.testing.assert_array_equal(got.astype(np.float32), expected.astype(np.float32))


def test_unsupported_elements_are_refused() -> None:
    with pytest.raises(UnsupportedMatmul, match="f64 and f64 with a result of f32"):
        planned((2, 2), (2, 2), "f32", lhs_contracting=(1,), rhs_contracting=(0,), lhs_element="f64", rhs_element="f64")
    with pytest.raises(UnsupportedMatmul, match="f8E4M3FN"):
        planned((2, 2), (2, 2), "f8E4M3FN", lhs_contracting=(1,), rhs_contracting=(0,))


def test_text_stays_short() -> None:
    for m, n, k in itertools.product((1, 6, 29, 128), (1, 7, 24, 100), (1, 9, 64)):
        plan = planned((m, k), (k, n), "f32", lhs_contracting=(1,), rhs_contracting=(0,), target=AVX2)
        assert matmul.emit_function(plan, "product").count("\n") < 1200


@pytest.mark.parametrize(("element", "n"), [("f32", 5), ("f32", 6), ("f32", 7), ("f64", 3)])
def test_registers_have_a_power_of_two_of_lanes(element: str, n: int) -> None:
    plan = planned((4, 9), (9, n), element, lhs_contracting=(1,), rhs_contracting=(0,), target=AVX2)
    assert (plan.method, plan.tile.lanes) == ("rows", n)
    text = matmul.emit_function(plan, "product")
    lanes = 8 if n > 4 else 4
    assert f"llvm.fmuladd.v{lanes}{element}" in text
    assert f"llvm.masked.load.v{lanes}{element}" in text
    assert f"llvm.fmuladd.v{n}{element}" not in text


def test_kept_texts_are_those_that_would_be_emitted() -> None:
    plans = [planned((5, 9), (9, n), element, lhs_contracting=(1,), rhs_contracting=(0,)) for n in (1, 3, 17) for element in ("f32", "f64", "c64")]
    first, texts = [[matmul.emit_function(plan, "product", linkage) for plan in plans for linkage in ("", "internal")] for _ in range(2)]
    assert first == texts
    assert texts == [matmul.emit_function.__wrapped__(plan, "product", linkage) for plan in plans for linkage in ("", "internal")]
    assert len(set(texts)) == len(texts)
