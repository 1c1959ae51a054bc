"""Cotangents of slices: put beside each other where they do not overlap, however many there are, and right in any case."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg

Bounds = tuple[tuple[int, int], ...]


def program(extents: tuple[int, ...], slices: list[Bounds]) -> wg.Program:
    """The slices of an argument, each of them a result."""
    kind = f"tensor<{'x'.join(map(str, extents))}xf64>"
    lines, types = list[str](), list[str]()
    for number, bounds in enumerate(slices):
        types.append(f"tensor<{'x'.join(str(stop - start) for start, stop in bounds)}xf64>")
        lines.append(f"  %s{number} = stablehlo.slice %x [{', '.join(f'{a}:{b}' for a, b in bounds)}] : ({kind}) -> {types[-1]}")
    names = ", ".join(f"%s{number}" for number in range(len(slices)))
    return wg.parse(f"func.func public @main(%x: {kind}) -> ({', '.join(types)}) {{\n" + "\n".join(lines) + f"\n  return {names} : {', '.join(types)}\n}}")


def check(extents: tuple[int, ...], slices: list[Bounds], strategy: str = "transpose") -> Counter[str]:
    """Compares the cotangent with the sum of the slices' own, and counts the ops of the derivative."""
    derivative = program(extents, slices).vjp(strategy=strategy)  # pyright: ignore[reportArgumentType]
    rng = np.random.default_rng(0)
    cotangents = [rng.normal(size=tuple(b - a for a, b in bounds)) for bounds in slices]
    expected = np.zeros(extents)
    for bounds, cotangent in zip(slices, cotangents, strict=True):
        expected[tuple(slice(a, b) for a, b in bounds)] += cotangent
    for backend in ("cpu", "interpreter"):
        actual = derivative.compile(backend)(np.zeros(extents), *cotangents)[-1]
        np.testing.assert_allclose(actual, expected, rtol=1e-14, atol=1e-15)
    return Counter(op.name.removeprefix("stablehlo.") for op in derivative.optimized_module.walk())


@pytest.mark.parametrize("strategy", ["transpose", "direct"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_vector_taken_entry_by_entry(strategy: str, order: int):
    counts = check((40,), [((n, n + 1),) for n in range(40)][::order], strategy)
    assert counts["concatenate"] == 1
    assert counts["pad"] == counts["add"] == 0


def test_a_matrix_taken_entry_by_entry():
    counts = check((5, 4), [((i, i + 1), (j, j + 1)) for i in range(5) for j in range(4)])
    assert counts["concatenate"] == 6  # five rows, and the matrix
    assert counts["pad"] == counts["add"] == 0


def test_small_gaps_are_zeros():
    counts = check((9,), [((0, 3),), ((4, 6),), ((7, 9),)])
    assert (counts["concatenate"], counts["pad"], counts["add"]) == (1, 0, 0)


def test_what_is_mostly_zeros_stays_a_sum():
    counts = check((100,), [((0, 1),), ((99, 100),), ((50, 52),)])
    assert (counts["concatenate"], counts["pad"], counts["add"]) == (0, 3, 2)


def test_neighbours_are_joined_whatever_is_far_away():
    counts = check((100,), [((0, 2),), ((2, 3),), ((90, 95),), ((95, 100),)])
    assert (counts["concatenate"], counts["pad"], counts["add"]) == (2, 2, 1)


def test_what_overlaps_is_added():
    counts = check((10,), [((0, 9),), ((1, 10),)])
    assert (counts["concatenate"], counts["pad"], counts["add"]) == (0, 2, 1)


def test_what_overlaps_something_may_be_joined_with_something_else():
    counts = check((10,), [((0, 5),), ((2, 8),), ((5, 10),)])
    assert (counts["concatenate"], counts["pad"], counts["add"]) == (1, 1, 1)


def test_many_real_and_imaginary_parts():
    """Each pair becomes a complex number; twenty of them are added up."""
    lines = [f"  %r{n} = stablehlo.real %x : (tensor<3xcomplex<f64>>) -> tensor<3xf64>" for n in range(20)]
    lines += [f"  %i{n} = stablehlo.imag %x : (tensor<3xcomplex<f64>>) -> tensor<3xf64>" for n in range(20)]
    names = [f"%{part}{n}" for part in "ri" for n in range(20)]
    text = "\n".join(["func.func public @main(%x: tensor<3xcomplex<f64>>) -> (" + ", ".join(["tensor<3xf64>"] * 40) + ") {", *lines])
    derivative = wg.parse(f"{text}\n  return {', '.join(names)} : {', '.join(['tensor<3xf64>'] * 40)}\n}}").vjp()
    cotangents = list(np.random.default_rng(0).normal(size=(40, 3)))
    actual = derivative(np.zeros(3, np.complex128), *cotangents)[-1]
    np.testing.assert_allclose(actual, sum(cotangents[:20]) - 1j * sum(cotangents[20:]), rtol=1e-14, atol=1e-14)


@st.composite
def cut(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Bounds]]:
    """A tensor and slices of it, most of which lie on a grid."""
    extents = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))

    def bounds(n: int) -> tuple[int, int]:
        start = draw(st.integers(0, n - 1))
        return start, draw(st.integers(start + 1, n)) if draw(st.booleans()) else start + 1

    return extents, [tuple(bounds(n) for n in extents) for _ in range(draw(st.integers(1, 20)))]


@settings(max_examples=25, deadline=None)
@given(cut())
def test_random_slices(case: tuple[tuple[int, ...], list[Bounds]]):
    check(*case)
