"""Products in blocks with subnormal operands, whose panels are multiplied by a power of two: they are those of exact sums, and none is lost or overflows."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from product_checks import TYPES, Array, product_by

from wengert.dialects.kernel.product_schedule import Blocks, ProductSchedule, Tile
from wengert.transforms.codegen.cpu.matmul.normalisation import RANGES
from wengert.transforms.schedule.products.operands import Product, product
from wengert.transforms.schedule.products.plan import MatmulPlan, plan_of

SCHEDULE = ProductSchedule("blocked", tile=Tile(6, 2, 8), blocks=Blocks(24, 32, 40), normalised=True)
M, N, K = 45, 51, 97


def operands(layout: str, element: str, seed: int = 0, sizes: tuple[int, int, int] = (M, N, K)) -> tuple[Array, Array, Array, Array]:
    """Random operands in memory, and as the matrices that they are: changing one changes the other."""
    random, (m, n, k) = np.random.default_rng(seed), sizes
    a = random.normal(size=(k, m) if layout[0] == "T" else (m, k)).astype(TYPES[element])
    b = random.normal(size=(n, k) if layout[1] == "T" else (k, n)).astype(TYPES[element])
    return a, b, a.T if layout[0] == "T" else a, b.T if layout[1] == "T" else b


def of(a: Array, b: Array, layout: str, element: str) -> Product:
    return product(a.shape, b.shape, element, lhs_contracting=(0 if layout[0] == "T" else 1,), rhs_contracting=(1 if layout[1] == "T" else 0,))


def exact(rows: Array, columns: Array) -> Array:
    """The product in long double, rounded to the elements' type."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return (rows.astype(np.longdouble) @ columns.astype(np.longdouble)).astype(rows.dtype)


def close(got: Array, rows: Array, columns: Array) -> None:
    """Each element is right but for the rounding of its terms, and of subnormal sums."""
    info = np.finfo(rows.dtype)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        allowed = 8 * float(info.eps) * (abs(rows).astype(np.longdouble) @ abs(columns).astype(np.longdouble)) + rows.shape[1] * float(info.smallest_subnormal)
    expected = exact(rows, columns)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(got), finite)
    np.testing.assert_array_equal(got[~finite], expected[~finite])
    assert (abs(got[finite].astype(np.longdouble) - expected[finite]) <= allowed[finite]).all()


def run(plan: MatmulPlan, a: Array, b: Array) -> Array:
    return product_by(plan, a, b, (plan.m, plan.n))


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("sides", ["a", "b", "ab"])
def test_subnormal_operands(layout: str, element: str, sides: str) -> None:
    a, b, rows, columns = operands(layout, element)
    small = float(np.finfo(TYPES[element]).tiny)
    if "a" in sides:
        rows[10:17] *= small / 8
        rows[20, ::3] = 0
    if "b" in sides:
        columns[:, 20] *= small / 64
        columns[3] *= small * 1e-3
        columns[4, ::5] = -0.0
    plan = plan_of(of(a, b, layout, element), SCHEDULE)
    got = run(plan, a, b)
    close(got, rows, columns)
    assert (abs(got[(got != 0)]) < small).any() == ("a" in sides or "b" in sides)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_panels_of_numbers_as_large_as_they_get(element: str) -> None:
    a, b, rows, columns = operands("NN", element)
    info = np.finfo(TYPES[element])
    rows[3] *= info.tiny / 16  # this panel is multiplied
    rows[20] *= info.tiny / 16
    rows[21, 5] = info.max / 4  # this one is not: some elements are too large for it
    columns[:, 7] *= info.max / 64  # tiles with this panel take the first one as it was
    columns[:, 40] = np.inf
    columns[2, 41] = np.nan
    close(run(plan_of(of(a, b, "NN", element), SCHEDULE), a, b), rows, columns)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_both_panels_of_a_tile_reach_the_limit(element: str) -> None:
    a, b, rows, columns = operands("NN", element)
    limits = RANGES[element]
    most = 2.0 ** (limits.most - limits.shift) * (1 - 2.0**-20)
    rows[:], columns[:] = most, -most
    rows[:, 0], columns[1] = np.finfo(TYPES[element]).smallest_subnormal, np.finfo(TYPES[element]).smallest_subnormal
    close(run(plan_of(of(a, b, "NN", element), SCHEDULE), a, b), rows, columns)


@pytest.mark.parametrize("seed", range(12))
def test_random_magnitudes_and_blocks(seed: int) -> None:
    random = np.random.default_rng(seed)
    element, layout = random.choice(["f32", "f64"]), random.choice(["NN", "NT", "TN", "TT"])
    sizes = tuple(int(x) for x in random.integers(1, 70, 3))
    a, b, rows, columns = operands(layout, element, seed, sizes)  # pyright: ignore[reportArgumentType]
    info = np.finfo(TYPES[element])
    for matrix in (rows, columns):
        exponents = random.integers(info.minexp - 20, info.maxexp // 2 - 8, size=3)
        with np.errstate(under="ignore"):
            matrix *= np.ldexp(1.0, random.choice([0, 0, 0, *exponents], size=(matrix.shape[0], 1))).astype(np.longdouble)
    tile = Tile(int(random.integers(1, 8)), int(random.integers(1, 3)), int(random.choice([1, 2, 3, 4, 8])))
    blocks = Blocks(*(int(x) for x in random.integers(1, 60, 3)))
    close(run(plan_of(of(a, b, layout, element), replace(SCHEDULE, tile=tile, blocks=blocks)), a, b), rows, columns)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_blocks_make_no_difference(element: str) -> None:
    a, b, rows, _ = operands("TN", element)
    rows[10:30] *= np.finfo(TYPES[element]).tiny / 32
    made = of(a, b, "TN", element)
    results = [run(plan_of(made, replace(SCHEDULE, blocks=Blocks(r, n, 40))), a, b).tobytes() for r, n in ((6, 16), (24, 32), (48, 64))]
    assert len(set(results)) == 1


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_normal_numbers_give_the_same_bits(element: str) -> None:
    a, b, *_ = operands("NN", element)
    plan = plan_of(of(a, b, "NN", element), SCHEDULE)
    np.testing.assert_array_equal(run(plan, a, b), run(plan_of(of(a, b, "NN", element), replace(SCHEDULE, normalised=False)), a, b))
