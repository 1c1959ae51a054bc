"""Windows are padded beforehand and folded by dimensions where that saves steps; values are those of the interpreter."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native_checks import check

from wengert.dialects.core import WindowReduceOp
from wengert.ir.attributes import ints
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.transforms.lowering import lower

Window = dict[str, list[int]]


def text_of(kind: str, extents: list[int], window: Window, element: str = "f64") -> str:
    low, high = window["padding"][::2], window["padding"][1::2]
    result: list[int] = []
    parts = zip(extents, window["window"], window["strides"], window["base_dilations"], window["window_dilations"], low, high, strict=True)
    for n, w, s, bd, wd, lo, hi in parts:
        result.append((lo + (n - 1) * bd + 1 + hi - ((w - 1) * wd + 1)) // s + 1)
    x, y = (f"tensor<{'x'.join(map(str, shape))}x{element}>" for shape in (extents, result))
    keys = ", ".join(f"{name} = {values}" for name, values in window.items())
    return f"""func.func @main(%x: {x}) -> {y} {{
      %0 = core.window_reduce {kind} %x, {keys} : ({x}) -> {y}
      return %0 : {y}
    }}"""


def window(extents: list[int], **parts: list[int]) -> Window:
    ones = [1] * len(extents)
    whole: Any = {"window": ones, "strides": ones, "base_dilations": ones, "window_dilations": ones, "padding": [0] * (2 * len(ones))}
    return whole | {"window": extents} | parts


def windows_of(text: str, *, reassociate: bool = True) -> list[tuple[int, ...]]:
    return [ints(op.window_dimensions) for op in ops_of(lower(parse_module(text), reassociate=reassociate), WindowReduceOp)]


@pytest.mark.parametrize(
    ("kind", "given_window", "reassociate", "expected"),
    [
        ("add", window([7, 7]), True, [(7, 1), (1, 7)]),
        ("add", window([7, 7]), False, [(7, 7)]),
        ("max", window([7, 7]), False, [(7, 1), (1, 7)]),
        ("add", window([2, 2]), True, [(2, 2)]),
        ("max", window([2, 2], strides=[2, 2]), True, [(2, 2)]),
        ("add", window([1, 9]), True, [(1, 9)]),
    ],
)
def test_folding_by_dimensions(kind: str, given_window: Window, reassociate: bool, expected: list[tuple[int, ...]]) -> None:
    text = text_of(kind, [30, 40], given_window)
    assert windows_of(text, reassociate=reassociate) == expected
    check(text, [np.random.default_rng(0).normal(size=(30, 40))], 1e-12)


@pytest.mark.parametrize("base", [1, 2])
def test_strides_of_windows_of_one_element_are_kept(base: int) -> None:
    parts = window([3, 1, 3], strides=[1, 2, 1], base_dilations=[1, base, 1], window_dilations=[1, 3, 1], padding=[0, 2, 1, 1, 0, 0])
    check(text_of("add", [5, 4, 7], parts), [np.random.default_rng(0).normal(size=(5, 4, 7))], 1e-12)


def test_sums_of_narrow_floats_are_rounded_once() -> None:
    assert windows_of(text_of("add", [30, 40], window([7, 7]), "bf16")) == [(7, 7)]


def test_padding_is_written_first() -> None:
    text = text_of("add", [30, 40], window([3, 3], padding=[1, 1, 1, 1]))
    (op,) = ops_of(lower(parse_module(text), reassociate=False), WindowReduceOp)
    assert set(ints(op.padding)) == {0}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_random_windows(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 4))

    def drawn(low: int, high: int, count: int = rank) -> list[int]:
        return data.draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    extents = drawn(2, 12)
    element = data.draw(st.sampled_from(["f64", "f32", "i32"]))
    parts = window(drawn(1, 4), strides=drawn(1, 3), base_dilations=drawn(1, 2), window_dilations=drawn(1, 2), padding=drawn(-1, 3, 2 * rank))
    reach = [(w - 1) * d + 1 for w, d in zip(parts["window"], parts["window_dilations"], strict=True)]
    whole = [(n - 1) * d + 1 for n, d in zip(extents, parts["base_dilations"], strict=True)]
    if any(r > n + lo + hi for r, n, lo, hi in zip(reach, whole, parts["padding"][::2], parts["padding"][1::2], strict=True)):
        return  # a window that fits nowhere is refused by the verifier
    values = 3 * np.random.default_rng(0).normal(size=extents)
    dtype = {"f64": np.float64, "f32": np.float32, "i32": np.int32}[element]
    check(
        text_of(data.draw(st.sampled_from(["add", "max", "min", "mul"])), extents, parts, element), [values.astype(dtype)], 1e-4 if element == "f32" else 1e-11
    )
