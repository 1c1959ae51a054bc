"""Integer instructions against Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ptx_programs import applied

from wengert.runtime import ptx

DTYPES = {f"{kind}{bits}": np.dtype(f"{'u' if kind == 'u' else 'i'}{bits // 8}") for kind in "us" for bits in (8, 16, 32, 64)}
RNG = np.random.default_rng(7)


def numbers(type: str, count: int = 64) -> Any:
    dtype = DTYPES[type]
    limits = np.iinfo(dtype)
    edges = np.array([0, 1, limits.max, limits.min, limits.max - 1, limits.max // 2, 3, 7], dtype)
    drawn = RNG.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
    small = RNG.integers(0, 20, count).astype(dtype)
    return np.concatenate([np.repeat(edges, len(edges)), drawn, small]), np.concatenate([np.tile(edges, len(edges)), small, drawn])


def wrapped(value: int, dtype: Any) -> Any:
    bits = 8 * dtype.itemsize
    return np.array([value % (1 << bits)], f"u{dtype.itemsize}").view(dtype)[0]


def check(instruction: str, type: str, wanted: Callable[..., int], *operands: Any, result: str | None = None) -> None:
    dtype = DTYPES[result or type]
    got = applied(instruction, dtype, operands)
    expected = [wrapped(wanted(*map(int, row)), dtype) for row in zip(*operands)]
    np.testing.assert_array_equal(got, np.array(expected, dtype))


def quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


@pytest.mark.parametrize("type", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize(
    ("opcode", "wanted"),
    [("add", lambda x, y: x + y), ("sub", lambda x, y: x - y), ("mul.lo", lambda x, y: x * y), ("min", min), ("max", max)],
)
def test_sums_and_products(opcode: str, type: str, wanted: Callable[..., int]) -> None:
    check(f"{opcode}.{type}", type, wanted, *numbers(type))


@pytest.mark.parametrize("type", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_quotients(type: str) -> None:
    x, y = numbers(type)
    x, y = x[y != 0], y[y != 0]
    check(f"div.{type}", type, quotient, x, y)
    check(f"rem.{type}", type, lambda a, b: a - b * quotient(a, b), x, y)


@pytest.mark.parametrize("type", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_upper_halves(type: str) -> None:
    bits = int(type[1:])
    x, y = numbers(type)
    check(f"mul.hi.{type}", type, lambda a, b: (a * b) >> bits, x, y)
    check(f"mad.hi.{type}", type, lambda a, b, c: ((a * b) >> bits) + c, x, y, x[::-1].copy())
    check(f"mad.lo.{type}", type, lambda a, b, c: a * b + c, x, y, x[::-1].copy())


@pytest.mark.parametrize("type", ["u16", "s16", "u32", "s32"])
def test_wide_products(type: str) -> None:
    wide = f"{type[0]}{2 * int(type[1:])}"
    x, y = numbers(type)
    check(f"mul.wide.{type}", type, lambda a, b: a * b, x, y, result=wide)
    z = RNG.integers(np.iinfo(DTYPES[wide]).min, np.iinfo(DTYPES[wide]).max, len(x), dtype=DTYPES[wide])
    check(f"mad.wide.{type}", type, lambda a, b, c: a * b + c, x, y, z, result=wide)


@pytest.mark.parametrize("type", ["s16", "s32", "s64"])
def test_signs(type: str) -> None:
    x, _ = numbers(type)
    check(f"neg.{type}", type, lambda a: -a, x)
    check(f"abs.{type}", type, abs, x)


def test_extremes_that_are_at_least_zero() -> None:
    x, y = numbers("s32")
    check("min.relu.s32", "s32", lambda a, b: max(min(a, b), 0), x, y)
    check("max.relu.s32", "s32", lambda a, b: max(a, b, 0), x, y)


@pytest.mark.parametrize("type", ["u16", "s16"])
@pytest.mark.parametrize(("opcode", "wanted"), [("add", lambda x, y: x + y), ("min", min), ("max", max)])
def test_pairs(opcode: str, type: str, wanted: Callable[..., int]) -> None:
    x, y = (z[: len(z) // 2 * 2] for z in numbers(type))
    got = applied(f"{opcode}.{type}x2", np.uint32, [x.view(np.uint32), y.view(np.uint32)]).view(DTYPES[type])
    assert got.tolist() == [wrapped(wanted(int(a), int(b)), DTYPES[type]) for a, b in zip(x, y)]


def test_saturation() -> None:
    limits = np.iinfo(np.int32)
    x, y = numbers("s32")
    check("add.sat.s32", "s32", lambda a, b: min(max(a + b, limits.min), limits.max), x, y)
    check("sub.sat.s32", "s32", lambda a, b: min(max(a - b, limits.min), limits.max), x, y)


def wide_sum(low: str, high: str, bits: int) -> Callable[[Any, Any, Any, Any], tuple[Any, Any]]:
    """The two words of an operation on numbers of two words."""
    register = "%r" if bits == 32 else "%d"

    def run(x0: Any, x1: Any, y0: Any, y1: Any) -> tuple[Any, Any]:
        results = []
        for word in (8, 9):
            form = f"{{0}}; \n {low} {register}8, {{0}}, {{2}}; {high} {register}9, {{1}}, {{3}}; mov.b{bits} {{d}}, {register}{word}"
            results.append(applied(f"mov.b{bits}", DTYPES[f"u{bits}"], [x0, x1, y0, y1], forms=f"{{d}}, {form}"))
        return results[0], results[1]

    return run


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("name", "sign"), [("add", 1), ("sub", -1)])
def test_carries(name: str, sign: int, bits: int) -> None:
    x0, y0 = numbers(f"u{bits}")
    x1, y1 = y0[::-1].copy(), x0[::-1].copy()
    low, high = wide_sum(f"{name}.cc.u{bits}", f"{name}c.u{bits}", bits)(x0, x1, y0, y1)
    for k in range(len(x0)):
        wanted = ((int(x1[k]) << bits) + int(x0[k]) + sign * ((int(y1[k]) << bits) + int(y0[k]))) % (1 << (2 * bits))
        assert (int(high[k]) << bits) + int(low[k]) == wanted


@pytest.mark.parametrize("bits", [32, 64])
def test_long_multiplication(bits: int) -> None:
    """A product of two words from the products of words with carries."""
    x, y = numbers(f"u{bits}")
    z = x[::-1].copy()
    r = "%r" if bits == 32 else "%d"
    u = f"u{bits}"
    text = f"{{0}}; mad.lo.cc.{u} {r}8, {{0}}, {{1}}, {{2}}; madc.hi.{u} {{d}}, {{0}}, {{1}}, 0"
    got = applied(f"mov.b{bits}", DTYPES[u], [x, y, z], forms=f"{{d}}, {text}")
    assert got.tolist() == [(int(a) * int(b) + int(c)) >> bits for a, b, c in zip(x, y, z)]


def test_what_is_not_modelled_is_refused() -> None:
    x = np.arange(32, dtype=np.uint32)
    for instruction in ("add.sat.u32", "mul.wide.u64", "add.u8", "mul24.lo.u32", "add.rn.u32", "dp4a.u32.u32"):
        with pytest.raises((ptx.UnsupportedError, ptx.ParseError), match=r"test\.ptx:\d+:\d+: error: "):
            applied(instruction, np.uint32, [x, x])
