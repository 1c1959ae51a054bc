"""Axes of sweeps, and what their figures say: growth as a power, and where modes cross."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.lab.sweep.axes import axis, points, read_axes, read_axis
from wengert.lab.sweep.crossover import crossover
from wengert.lab.sweep.fit import growth
from wengert.runtime.errors import InputError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=2..16", (2, 4, 8, 16)),
        ("n=3..20", (3, 6, 12)),
        ("n=2..8:+2", (2, 4, 6, 8)),
        ("n=2..4096:*8", (2, 16, 128, 1024)),
        ("n=4,8,32", (4, 8, 32)),
        ("n = 7", (7,)),
        ("dtype=float64,float32", ("float64", "float32")),
        ("mode=transpose,direct", ("reverse", "direct")),
    ],
)
def test_axes(text: str, values: tuple[Any, ...]) -> None:
    assert read_axis(text).values == values


@pytest.mark.parametrize("text", ["n", "n=", "=2", "n=8..2", "n=0..4", "n=2..8:+0", "n=2..8:*1", "2=n", "mode=forwrd", "n=1..100000:+1"])
def test_texts_that_are_no_axes(text: str) -> None:
    with pytest.raises(InputError):
        read_axis(text)


def test_small_sizes_come_first() -> None:
    axes, modes = read_axes([axis("d", [3, 5]), axis("mode", "forward"), axis("n", "2..4")])
    assert modes == ("forward",)
    assert list(points(axes)) == [{"d": d, "n": n} for d in (3, 5) for n in (2, 4)]
    axes, modes = read_axes([axis("dtype", ["a", "b"]), axis("n", "2..4")])
    assert list(points(axes)) == [{"dtype": t, "n": n} for n in (2, 4) for t in ("a", "b")]
    assert modes == ("primal", "forward", "reverse")
    with pytest.raises(InputError, match="twice"):
        read_axes([axis("n", [3]), axis("n", [4])])


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_growth_of_powers(power: float) -> None:
    sizes = [2.0**k for k in range(1, 13)]
    fitted = growth(sizes, [7 * x**power for x in sizes])
    assert fitted is not None
    assert fitted.exponent == pytest.approx(power)
    assert fitted.error == pytest.approx(0, abs=1e-12)
    assert fitted.sizes == tuple(sizes[6:])


def test_growth_looks_at_large_sizes_and_has_an_error() -> None:
    sizes = [2.0**k for k in range(1, 13)]
    fitted = growth(sizes, [1e4 + x**2 for x in sizes])
    assert fitted is not None
    assert 1.5 < fitted.exponent < 2
    assert fitted.error is not None
    assert fitted.error > 0.03
    noise = np.random.default_rng(0).standard_normal((200, 12))
    fits = [growth(sizes, list(np.array(sizes) * np.exp(0.1 * row))) for row in noise]
    off = [abs(fit.exponent - 1) / fit.error for fit in fits if fit is not None and fit.error]
    assert 0.85 < np.mean([o < 2.776 for o in off]) <= 1  # Student's t with 4 degrees of freedom: 95 %
    assert growth([2.0], [3.0]) is None
    assert growth([2.0, 4.0], [3.0, 0.0]) is None
    two = growth([2.0, 4.0], [3.0, 6.0])
    assert two is not None
    assert (str(two), two.error) == ("1.00", None)


def test_crossovers_of_powers() -> None:
    sizes = [2.0**k for k in range(1, 8)]
    seen = crossover(("forward", "reverse"), {n: n**2 for n in sizes}, {n: 40 * n for n in sizes})
    [crossing] = seen.crossings
    assert crossing.size == pytest.approx(40)
    assert (crossing.below, crossing.above, crossing.before, crossing.after) == (32, 64, "forward", "reverse")
    assert str(seen) == "at 40 (forward below, reverse above)"
    never = crossover(("a", "b"), {2.0: 1.0, 4.0: 1.0}, {2.0: 3.0, 4.0: 5.0})
    assert str(never) == "none: a takes less (3 times at 2, 5 times at 4)"
    noise = crossover(("a", "b"), dict.fromkeys(sizes, 1.0), {n: 1 + 0.04 * (-1) ** k for k, n in enumerate(sizes)})
    assert (noise.crossings, str(noise)) == ((), "none: a tie within 5 % at all sizes")
    late = crossover(("a", "b"), dict.fromkeys(sizes, 1.0), {n: 1.01 if n < 64 else 0.5 for n in sizes})
    assert str(late) == "none: b takes less (a tie at 2, 2 times at 128)"
    between = crossover(("a", "b"), dict.fromkeys((2.0, 4.0, 8.0, 16.0), 1.0), {2.0: 2.0, 4.0: 1.02, 8.0: 0.98, 16.0: 0.5})
    assert [(c.below, c.above) for c in between.crossings] == [(4, 8)]
    assert str(crossover(("a", "b"), {2.0: 1.0}, {2.0: 1.0})) == "none: the same at all sizes"
    assert str(crossover(("a", "b"), {2.0: 1.0}, {})) == "not known"
