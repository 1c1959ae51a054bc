"""Conversions to floats of 16 bits that the engine of torch-mlir lacks: each double becomes the nearest one."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.lab.stock_mlir.bindings_worker import narrowed

EDGES = [0.0, -0.0, np.inf, -np.inf, 65504.0, 65519.9, 65520.0, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2.0**-14, 1e-300, 1e300, 1.00048828125]


def test_f16() -> None:
    draw = np.random.default_rng(0)
    values = np.concatenate([draw.standard_normal(4000) * 10.0 ** draw.integers(-9, 6, 4000), EDGES])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16).view(np.uint16)
    assert [narrowed(float(x), 11) for x in values] == expected.tolist()


@pytest.mark.parametrize(
    ("x", "bits"),
    [(1.0, 0x3F80), (-2.5, 0xC020), (9.21875, 0x4114), (9.218749859473082, 0x4113), (9.218750000000002, 0x4114), (2.0**-133, 1), (2.0**-134, 0), (1.5 * 2.0**-134, 1), (3.4e38, 0x7F80), (3.39e38, 0x7F7F), (-np.inf, 0xFF80)],
)  # fmt: skip
def test_bf16(x: float, bits: int) -> None:
    """Once: a number just below a tie, which rounding to 32 bits first would make one, goes down."""
    assert narrowed(x, 8) == bits


def test_nan() -> None:
    assert [narrowed(float("nan"), digits) for digits in (8, 11)] == [0x7FC0, 0x7E00]
