"""Conversions and comparisons."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, trunc
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from exact_rounding import FORMATS, drawn, rounded, special
from ptx_programs import applied, same_numbers

from wengert.runtime import ptx

RNG = np.random.default_rng(5)
INTEGERS = {f"{kind}{bits}": np.dtype(f"{'u' if kind == 'u' else 'i'}{bits // 8}") for kind in "us" for bits in (8, 16, 32, 64)}


def bits_of(x: Any) -> Any:
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


def in_register(type: str) -> Any:
    """The dtype of a register that has the type: there are none of 8 bits."""
    return np.dtype(f"u{max(INTEGERS[type].itemsize, 2)}")


def integers(type: str) -> Any:
    limits = np.iinfo(INTEGERS[type])
    edges = [limits.min, limits.max, 0, 1, limits.max // 2, limits.max - 1, limits.min + 1, limits.max // 3]
    return np.concatenate([np.array(edges, INTEGERS[type]), RNG.integers(limits.min, limits.max, 56, dtype=INTEGERS[type], endpoint=True)])


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_integers_to_integers(source: str, target: str) -> None:
    x = integers(source)
    register = x.astype(in_register(source).str.replace("u", "i") if source[0] == "s" else in_register(source)).view(in_register(source))
    bits = int(target[1:])
    wide = 8 * in_register(target).itemsize
    got = applied(f"cvt.{target}.{source}", in_register(target), [register])

    def extended(value: int) -> int:
        value %= 1 << bits
        if target[0] == "s" and value >> (bits - 1):
            value -= 1 << bits
        return value % (1 << wide)

    assert got.tolist() == [extended(int(v)) for v in x]
    limits = np.iinfo(INTEGERS[target])
    if limits.min <= np.iinfo(INTEGERS[source]).min and np.iinfo(INTEGERS[source]).max <= limits.max:
        with pytest.raises(ptx.UnsupportedError, match="every number has its like"):
            applied(f"cvt.sat.{target}.{source}", in_register(target), [register])
        return
    clamped = applied(f"cvt.sat.{target}.{source}", in_register(target), [register])
    assert clamped.tolist() == [min(max(int(v), limits.min), limits.max) % (1 << wide) for v in x]


ROUND = {"rzi": trunc, "rmi": floor, "rpi": ceil, "rni": round}


@pytest.mark.parametrize("mode", ROUND)
@pytest.mark.parametrize(("source", "target"), [(s, t) for s in FORMATS for t in INTEGERS if s != "bf16" or INTEGERS[t].itemsize > 1])
def test_floats_to_integers(source: str, target: str, mode: str) -> None:
    """The nearest integer of the type; NaN as the PTX ISA says."""
    bits = int(target[1:])
    limits = np.iinfo(INTEGERS[target])
    near = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, -128.5, 2.0**31, 2.0**32, -(2.0**31), 2.0**63, 2.0**64, -(2.0**63), 65535.5, 1e9]).astype(
        FORMATS[source]
    )
    x = np.concatenate([special(source), near, drawn(source, 32)])
    got = applied(f"cvt.{mode}.{target}.{source}", in_register(target), [bits_of(x)])

    def wanted(value: float) -> int:
        if value != value:
            return 1 << (bits - 1) if source == "f64" or bits == 64 else 0
        if value in (float("inf"), -float("inf")):
            return limits.max if value > 0 else limits.min
        return min(max(ROUND[mode](Fraction(value)), limits.min), limits.max)

    wide = 8 * in_register(target).itemsize
    expected = [wanted(float(v)) for v in x]
    if target[0] == "s":
        expected = [e - (1 << bits) if e > limits.max else e for e in expected]
    assert got.tolist() == [e % (1 << wide) for e in expected]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("target", ["f16", "f32", "f64"])
@pytest.mark.parametrize("source", INTEGERS)
def test_integers_to_floats(source: str, target: str, mode: str) -> None:
    x = integers(source)
    register = x.astype(in_register(source).str.replace("u", "i") if source[0] == "s" else in_register(source)).view(in_register(source))
    word = np.dtype(f"u{FORMATS[target].itemsize}")
    got = applied(f"cvt.{mode}.{target}.{source}", word, [register]).view(FORMATS[target])
    wanted = np.array([rounded(Fraction(int(v)), target, mode) for v in x]).astype(FORMATS[target])
    assert same_numbers(got, wanted).all()


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(("source", "target"), [("f64", "f32"), ("f64", "f16"), ("f32", "f16"), ("f32", "bf16"), ("f64", "bf16")])
def test_floats_to_narrower_floats(source: str, target: str, mode: str) -> None:
    with np.errstate(all="ignore"):
        middle = (drawn(target, 64).astype(np.float64) * (1 + 2.0 ** -{"f32": 24, "f16": 11, "bf16": 8}[target])).astype(FORMATS[source])
    x = np.concatenate([special(source), drawn(source, 80), drawn(target, 96).astype(FORMATS[source]), middle])
    word = np.dtype(f"u{FORMATS[target].itemsize}")
    got = applied(f"cvt.{mode}.{target}.{source}", word, [bits_of(x)]).view(FORMATS[target])
    values = x.astype(np.float64)
    expected = [rounded(Fraction(float(v)), target, mode, float(v)) if np.isfinite(v) else float(v) for v in values]
    assert same_numbers(got, np.array(expected).astype(FORMATS[target])).all()


@pytest.mark.parametrize(("source", "target"), [("f16", "f32"), ("f16", "f64"), ("f32", "f64"), ("bf16", "f32")])
def test_floats_to_wider_floats(source: str, target: str) -> None:
    x = np.concatenate([special(source), drawn(source, 48)])
    word = np.dtype(f"u{FORMATS[target].itemsize}")
    got = applied(f"cvt.{target}.{source}", word, [bits_of(x)]).view(FORMATS[target])
    assert same_numbers(got, x.astype(FORMATS[target])).all()


def test_floats_to_whole_floats() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.7, 2.7, 1e30], np.float32)
    for mode, function in (("rni", np.rint), ("rzi", np.trunc), ("rmi", np.floor), ("rpi", np.ceil)):
        assert same_numbers(applied(f"cvt.{mode}.f32.f32", np.float32, [x]), function(x)).all()


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_pairs_from_two_numbers(type: str) -> None:
    high, low = drawn("f32", 128), drawn("f32", 128)
    with np.errstate(all="ignore"):
        got = applied(f"cvt.rn.{type}x2.f32", np.uint32, [high, low]).view(FORMATS[type]).reshape(-1, 2)
        assert same_numbers(got, np.stack([low, high], 1).astype(FORMATS[type])).all()
        got = applied(f"cvt.rn.relu.{type}x2.f32", np.uint32, [high, low]).view(FORMATS[type]).reshape(-1, 2)
        wanted = np.stack([low, high], 1).astype(FORMATS[type])
    np.testing.assert_array_equal(got, np.where(wanted > 0, wanted, np.zeros_like(wanted)))


def test_tf32() -> None:
    x = np.float32(1) + np.arange(64, dtype=np.float32) * np.float32(2.0**-13)
    got = applied("cvt.rna.tf32.f32", np.uint32, [x])
    assert not (got & np.uint32(0x1FFF)).any()
    wanted = [float(floor(Fraction(float(v)) * 1024 + Fraction(1, 2))) / 1024 for v in x]
    assert got.view(np.float32).tolist() == wanted


RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def relation(name: str, x: float, y: float) -> bool:
    if name in ("num", "nan"):
        return (x != x or y != y) == (name == "nan")
    unordered = len(name) == 3
    if x != x or y != y:
        return unordered
    return bool(eval(f"x {RELATIONS[name[:2]]} y", {"x": x, "y": y}))


@pytest.mark.parametrize("type", FORMATS)
@pytest.mark.parametrize("name", [*RELATIONS, *(n + "u" for n in RELATIONS), "num", "nan"])
def test_comparisons_of_floats(name: str, type: str) -> None:
    x = np.repeat(special(type), 16)
    y = np.tile(special(type), 16)
    got = applied(f"setp.{name}.{type}", "pred", [bits_of(x), bits_of(y)])
    assert got.tolist() == [relation(name, float(a), float(b)) for a, b in zip(x, y)]


@pytest.mark.parametrize("type", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_comparisons_of_integers(type: str) -> None:
    x = integers(type)
    y = np.where(RNG.random(64) < 0.3, x, x[::-1])
    for name in RELATIONS:
        got = applied(f"setp.{name}.{type}", "pred", [x, y])
        assert got.tolist() == [relation(name, int(a), int(b)) for a, b in zip(x, y)]
    if type[0] == "u":
        for name, plain in (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")):
            np.testing.assert_array_equal(applied(f"setp.{name}.{type}", "pred", [x, y]), applied(f"setp.{plain}.{type}", "pred", [x, y]))


def test_comparisons_with_a_predicate() -> None:
    x, y = np.arange(8, dtype=np.int32) % 4, np.full(8, 2, np.int32)
    p = np.arange(8) >= 4
    for name, function in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
        np.testing.assert_array_equal(applied(f"setp.lt.{name}.s32", "pred", [x, y, p]), function(x < y, p))
        np.testing.assert_array_equal(applied(f"setp.lt.{name}.s32", "pred", [x, y, p], forms="{d}, {0}, {1}, !{2}"), function(x < y, ~p))
        both = applied(f"setp.lt.{name}.s32", "pred", [x, y, p], forms="%p9|{d}, {0}, {1}, {2}")
        np.testing.assert_array_equal(both, function(x >= y, p))


def test_comparisons_of_pairs() -> None:
    x = np.array([1, 5, 3, 3, 9, 0, 2, 2], np.float16)
    y = np.array([2, 4, 3, 4, 9, 1, 1, 3], np.float16)
    low = applied("setp.lt.f16x2", "pred", [x.view(np.uint32), y.view(np.uint32)], forms="{d}|%p9, {0}, {1}")
    high = applied("setp.lt.f16x2", "pred", [x.view(np.uint32), y.view(np.uint32)], forms="%p9|{d}, {0}, {1}")
    np.testing.assert_array_equal(np.stack([low, high], 1).reshape(-1), x < y)
    words = [v.astype(ml_dtypes.bfloat16).view(np.uint32) for v in (x, y)]
    np.testing.assert_array_equal(applied("setp.lt.bf16x2", "pred", words, forms="{d}|%p9, {0}, {1}"), low)


def test_comparisons_as_numbers() -> None:
    x, y = np.array([1, 2, np.nan, 4], np.float32), np.array([1, 3, 1, 0], np.float32)
    assert applied("set.le.u32.f32", np.uint32, [x, y]).tolist() == [0xFFFFFFFF, 0xFFFFFFFF, 0, 0]
    assert applied("set.leu.f32.f32", np.float32, [x, y]).tolist() == [1, 1, 1, 0]


def test_selections() -> None:
    x, y = np.arange(8, dtype=np.float64), -np.arange(8, dtype=np.float64)
    p = np.arange(8) % 3 == 0
    assert applied("selp.f64", x.dtype, [x, y, p]).tolist() == np.where(p, x, y).tolist()
    c = np.array([1, -1, 0, -0.0, np.nan, np.inf, -np.inf, 2], np.float32)
    assert applied("slct.f64.f32", x.dtype, [x, y, c]).tolist() == np.where(c >= 0, x, y).tolist()


def test_kinds_of_numbers() -> None:
    x = np.array([1, np.inf, np.nan, 1e-40, 0, -np.inf, -2, -1e-41], np.float32)
    finite, tiny = np.isfinite(x), (np.abs(x) < np.finfo(np.float32).smallest_normal) & (x != 0)
    wanted = {
        "finite": finite,
        "infinite": np.isinf(x),
        "number": ~np.isnan(x),
        "notanumber": np.isnan(x),
        "subnormal": tiny,
        "normal": finite & ~tiny & (x != 0),
    }
    for name, expected in wanted.items():
        np.testing.assert_array_equal(applied(f"testp.{name}.f32", "pred", [x]), expected)


def test_words_are_taken_apart_and_put_together() -> None:
    x = RNG.integers(0, 1 << 63, 32, dtype=np.uint64)
    high = applied("mov.b64", np.uint32, [x], forms="{{%r9, {d}}}, {0}")
    low = applied("mov.b64", np.uint32, [x], forms="{{{d}, _}}, {0}")
    np.testing.assert_array_equal(applied("mov.b64", np.uint64, [low, high], forms="{d}, {{{0}, {1}}}"), x)
    halves = x.view(np.uint16).reshape(-1, 4)
    quarters = [np.ascontiguousarray(halves[:, k]) for k in range(4)]
    np.testing.assert_array_equal(applied("mov.b64", np.uint64, quarters, forms="{d}, {{{0}, {1}, {2}, {3}}}"), x)
    np.testing.assert_array_equal(applied("mov.b32", np.uint32, quarters[:2], forms="{d}, {{{0}, {1}}}"), low)
