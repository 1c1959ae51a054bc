"""Products and convolutions whose results have wider elements than their operands, of every small number of rows, columns and terms."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert as wg

TYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui32": np.uint32,
}  # fmt: skip
WIDER = [
    ("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64"),
    ("i8", "i16"), ("i8", "i32"), ("i8", "i64"), ("i16", "i32"), ("i16", "i64"), ("i32", "i64"), ("ui8", "ui32"),
]  # fmt: skip
MOST = 18
"""One more than the lanes of the widest registers, and one more: with fewer, parts of a register are read as well."""


def whole(rng: np.random.Generator, shape: tuple[int, ...], element: str) -> Any:
    """Small whole numbers, whose sums and products are exact in every type."""
    return rng.integers(0, 4, shape).astype(TYPES[element])


def kind(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def check(lines: list[tuple[str, Any, Any, str]], narrow: str, wide: str, expected: list[Any]) -> None:
    """Compares the results of one program of many ops, each with two arguments of its own, with what they are exactly."""
    arguments, body, results = list[str](), list[str](), list[str]()
    for i, ((op, a, b, _), value) in enumerate(zip(lines, expected, strict=True)):
        kinds = kind(a.shape, narrow), kind(b.shape, narrow)
        arguments += [f"%a{i}: {kinds[0]}", f"%b{i}: {kinds[1]}"]
        results.append(kind(value.shape, wide))
        body.append(f"  %r{i} = {op.format(a=f'%a{i}', b=f'%b{i}')} : ({', '.join(kinds)}) -> {results[-1]}")
    names = ", ".join(f"%r{i}" for i in range(len(lines)))
    text = f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n" + "\n".join(body) + f"\n  return {names} : {', '.join(results)}\n}}"
    compiled = wg.parse(text)(*[x for _, a, b, _ in lines for x in (a, b)])
    for (_, _, _, what), value, wanted in zip(lines, compiled, expected, strict=True):
        assert value.dtype == TYPES[wide]
        np.testing.assert_array_equal(value.astype(np.float64), wanted, what)


@pytest.mark.parametrize(("narrow", "wide"), WIDER)
def test_products(narrow: str, wide: str) -> None:
    rng = np.random.default_rng(WIDER.index((narrow, wide)))
    lines, expected = list[tuple[str, Any, Any, str]](), list[Any]()
    for columns in range(1, MOST + 1):
        for turned_a, turned_b in [(False, False), (False, True), (True, False), (True, True)]:
            rows, terms = (int(n) for n in rng.integers(1, MOST + 1, 2))
            a = whole(rng, (terms, rows) if turned_a else (rows, terms), narrow)
            b = whole(rng, (columns, terms) if turned_b else (terms, columns), narrow)
            op = f"stablehlo.dot_general {{a}}, {{b}}, contracting_dims = [{int(not turned_a)}] x [{int(turned_b)}]"
            lines.append((op, a, b, f"{rows}x{columns} of {terms} terms, {turned_a=}, {turned_b=}"))
            left, right = a.astype(np.float64), b.astype(np.float64)
            expected.append((left.T if turned_a else left) @ (right.T if turned_b else right))
    check(lines, narrow, wide, expected)


@pytest.mark.parametrize(("narrow", "wide"), WIDER)
def test_convolutions(narrow: str, wide: str) -> None:
    rng = np.random.default_rng(WIDER.index((narrow, wide)))
    lines, expected = list[tuple[str, Any, Any, str]](), list[Any]()
    for channels in range(1, MOST + 1):
        batch, height, width, features = (int(n) for n in rng.integers([1, 3, 3, 1], [3, 8, MOST, 5]))
        x, w = whole(rng, (batch, height, width, features), narrow), whole(rng, (2, 3, features, channels), narrow)
        op = "stablehlo.convolution({a}, {b}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{}}"
        lines.append((f"{op} {{{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}}}", x, w, f"{x.shape} by {w.shape}"))
        windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (2, 3), (1, 2))
        expected.append(np.einsum("bhwfij,ijfc->bhwc", windows, w.astype(np.float64)))
    check(lines, narrow, wide, expected)
