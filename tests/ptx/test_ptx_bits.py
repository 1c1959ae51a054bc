"""Logic, shifts and bit fields against Python's integers, with the definitions of the PTX ISA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ptx_programs import applied

RNG = np.random.default_rng(3)


def drawn(bits: int, count: int = 128) -> Any:
    limit = (1 << bits) - 1
    edges = np.array([0, 1, limit, limit >> 1, (limit >> 1) + 1, limit - 1, 2, 3], f"u{bits // 8}")
    return np.concatenate(
        [
            edges,
            RNG.integers(0, limit, count - len(edges), dtype=f"u{bits // 8}", endpoint=True)
            >> RNG.integers(0, bits, count - len(edges)).astype(f"u{bits // 8}"),
        ]
    )


def check(instruction: str, result: int, wanted: Callable[..., int], *operands: Any, forms: str | None = None) -> None:
    got = applied(instruction, np.dtype(f"u{result // 8}"), operands, forms=forms)
    arrays = [o for o in operands if not isinstance(o, str)]
    assert got.tolist() == [wanted(*map(int, row)) % (1 << result) for row in zip(*arrays)]


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_logic(bits: int) -> None:
    x, y = drawn(bits), drawn(bits)[::-1].copy()
    check(f"and.b{bits}", bits, lambda a, b: a & b, x, y)
    check(f"or.b{bits}", bits, lambda a, b: a | b, x, y)
    check(f"xor.b{bits}", bits, lambda a, b: a ^ b, x, y)
    check(f"not.b{bits}", bits, lambda a: ~a, x)
    check(f"cnot.b{bits}", bits, lambda a: a == 0, x)


def test_logic_of_predicates() -> None:
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    for opcode, function in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
        np.testing.assert_array_equal(applied(f"{opcode}.pred", "pred", [x, y]), function(x, y))
    np.testing.assert_array_equal(applied("not.pred", "pred", [x]), ~x)


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts(bits: int) -> None:
    x = drawn(bits)
    amount = np.concatenate([RNG.integers(0, bits + 3, 120), [bits - 1, bits, bits + 1, 255, 256, 1 << 31, 0, 1]]).astype(np.uint32)
    check(f"shl.b{bits}", bits, lambda a, n: a << min(n, bits), x, amount)
    check(f"shr.u{bits}", bits, lambda a, n: a >> n, x, amount)
    check(f"shr.b{bits}", bits, lambda a, n: a >> n, x, amount)
    check(f"shr.s{bits}", bits, lambda a, n: signed(a, bits) >> n, x, amount)


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_funnel_shifts(mode: str) -> None:
    low, high = drawn(32), drawn(32)[::-1].copy()
    amount = RNG.integers(0, 70, 128).astype(np.uint32)
    by = (lambda n: n % 32) if mode == "wrap" else (lambda n: min(n, 32))
    check(f"shf.l.{mode}.b32", 32, lambda a, b, n: (((b << 32) | a) << by(n)) >> 32, low, high, amount)
    check(f"shf.r.{mode}.b32", 32, lambda a, b, n: ((b << 32) | a) >> by(n), low, high, amount)


def extracted(x: int, start: int, length: int, bits: int, is_signed: bool) -> int:
    """The text of the PTX ISA, bit for bit."""
    start, length = start & 255, length & 255
    top = bits - 1
    sign = 0 if not is_signed or length == 0 else x >> min(start + length - 1, top) & 1
    return sum(((x >> (start + i) & 1) if i < length and start + i <= top else sign) << i for i in range(bits))


@pytest.mark.parametrize("bits", [32, 64])
def test_bit_fields(bits: int) -> None:
    x, y = drawn(bits), drawn(bits)[::-1].copy()
    start = np.concatenate([RNG.integers(0, bits + 4, 120), [0, 31, 32, 63, 64, 255, 256, 1]]).astype(np.uint32)
    length = np.concatenate([RNG.integers(0, bits + 4, 120), [0, 32, 0, 64, 1, 255, 1, 300]]).astype(np.uint32)
    for kind in "us":
        check(f"bfe.{kind}{bits}", bits, lambda a, p, n, kind=kind: extracted(a, p, n, bits, kind == "s"), x, start, length)

    def inserted(field: int, into: int, p: int, n: int) -> int:
        for i in range(n & 255):
            if (p & 255) + i < bits:
                at = 1 << ((p & 255) + i)
                into = (into & ~at) | (at if field >> i & 1 else 0)
        return into

    check(f"bfi.b{bits}", bits, inserted, x, y, start, length)


@pytest.mark.parametrize("bits", [32, 64])
def test_counts(bits: int) -> None:
    x = drawn(bits)
    check(f"popc.b{bits}", 32, lambda a: a.bit_count(), x)
    check(f"clz.b{bits}", 32, lambda a: bits - a.bit_length(), x)
    check(f"brev.b{bits}", bits, lambda a: int(f"{a:0{bits}b}"[::-1], 2), x)
    check(f"bfind.u{bits}", 32, lambda a: a.bit_length() - 1, x)
    check(f"bfind.s{bits}", 32, lambda a: (~signed(a, bits) if signed(a, bits) < 0 else a).bit_length() - 1, x)
    check(f"bfind.shiftamt.u{bits}", 32, lambda a: bits - a.bit_length() if a else -1, x)


@pytest.mark.parametrize("table", [0x00, 0x96, 0xE8, 0xCA, 0x1B, 0xFF])
def test_three_inputs(table: int) -> None:
    x, y, z = drawn(32), drawn(32)[::-1].copy(), RNG.permutation(drawn(32))

    def wanted(a: int, b: int, c: int) -> int:
        return sum((table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i for i in range(32))

    check("lop3.b32", 32, wanted, x, y, z, forms=f"{{d}}, {{0}}, {{1}}, {{2}}, {table:#x}")


def test_bytes_are_picked() -> None:
    def wanted(a: int, b: int, selector: int) -> int:
        source = [(a | b << 32) >> (8 * k) & 255 for k in range(8)]
        picks = [selector >> (4 * k) & 15 for k in range(4)]
        return sum((source[p & 7] if p < 8 else 255 * (source[p & 7] >> 7)) << (8 * k) for k, p in enumerate(picks))

    check("prmt.b32", 32, wanted, drawn(32), drawn(32)[::-1].copy(), RNG.integers(0, 1 << 16, 128).astype(np.uint32))
