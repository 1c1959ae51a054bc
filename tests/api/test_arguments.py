"""What a caller may pass: layouts, dtypes, Python numbers, and what is refused with which words."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from wengert.ir.tensor_types import DYNAMIC, bf16, c128, f32, f64, i1, i8, i32, tensor, ui8
from wengert.runtime.arguments import bind
from wengert.runtime.errors import InputError
from wengert.runtime.signature import Parameter, Signature


def bound(shape: tuple[int, ...], element: Any, value: Any, name: str | None = None) -> np.ndarray[Any, Any]:
    parameter = Parameter("argument", 0, tensor(shape, element), name)
    array = bind(Signature((parameter,), ()), [value])[0]
    assert array.dtype == parameter.dtype
    assert array.dtype.isnative
    assert array.shape == shape
    assert array.flags.c_contiguous
    assert array.flags.aligned
    return array


def refused(shape: tuple[int, ...], element: Any, value: Any, name: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        bound(shape, element, value, name)
    return str(caught.value)


X = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    "array",
    [X, X[::-1], np.asfortranarray(X), np.arange(24.0).reshape(3, 8)[:, ::2], X.astype(">f8"), X.astype("<f8"), np.broadcast_to(np.float64(2), (3, 4))],
    ids=["plain", "reversed", "fortran", "strided", "big endian", "little endian", "broadcast"],
)
def test_layouts(array: np.ndarray[Any, Any]) -> None:
    np.testing.assert_array_equal(bound((3, 4), f64, array), array)


def test_read_only_is_taken_without_a_copy() -> None:
    array = X.copy()
    array.flags.writeable = False
    assert bound((3, 4), f64, array) is array


def test_unaligned() -> None:
    raw = np.zeros(3 * 8 + 1, np.uint8)
    raw[1:] = np.arange(3.0).view(np.uint8)
    array = raw[1:].view(np.float64)
    assert not array.flags.aligned
    np.testing.assert_array_equal(bound((3,), f64, array), [0, 1, 2])


def test_rank_zero_stays_rank_zero() -> None:
    assert bound((), f64, np.array(3.0)).shape == ()
    assert bound((), f64, np.float64(3.0)) == 3.0


def test_empty() -> None:
    assert bound((0, 4), f64, np.empty((0, 4))).size == 0
    assert bound((0,), i32, []).size == 0


@pytest.mark.parametrize(
    ("element", "value", "expected"),
    [
        (f64, 3, 3.0),
        (f32, 0.1, np.float32(0.1)),
        (i32, 7, 7),
        (i1, True, True),
        (f64, True, 1.0),
        (i32, False, 0),
        (c128, 1 + 2j, 1 + 2j),
        (c128, 2, 2),
        (bf16, 1.5, 1.5),
    ],
)
def test_python_numbers(element: Any, value: Any, expected: Any) -> None:
    assert bound((), element, value) == expected


def test_lists_and_tuples() -> None:
    np.testing.assert_array_equal(bound((2, 2), f32, [[1, 2], (3, 4.5)]), [[1, 2], [3, 4.5]])


def test_float32_arrays_for_bfloat16_are_rounded() -> None:
    array = bound((2,), bf16, np.array([1.0, 1.001], np.float32))
    assert array.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(array.astype(np.float32), [1.0, 1.0])


@pytest.mark.parametrize(
    ("element", "value"),
    [
        (i32, 1.5),
        (f64, 1j),
        (i1, 1),
        (ui8, -1),
        (i8, 300),
        (i1, 0.5),
        (f64, "1"),
        (f64, None),
        (f64, {}),
        (f64, [[1], [2, 3]]),
        pytest.param(f64, object(), id="f64-object"),
    ],
    ids=str,
)
def test_what_does_not_convert(element: Any, value: Any) -> None:
    assert refused((), element, value).startswith("argument 0")


def test_wrong_dtype_names_the_cast() -> None:
    message = refused((3,), f32, np.zeros(3), "x")
    assert message == "argument 0 (x) must be float32[3], found float64[3]; inputs are not cast silently: pass x.astype('float32')"


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (np.zeros((4, 3)), "float64[4, 3]"),
        (np.zeros(12), "float64[12]"),
        (np.zeros((3, 4, 1)), "float64[3, 4, 1]"),
        (np.zeros(()), "float64[]"),
        (1.0, "float64[]"),
    ],
)
def test_wrong_shape(value: Any, described: str) -> None:
    assert f"argument 0 must be float64[3, 4], found {described}" in refused((3, 4), f64, value)


def test_nothing_is_broadcast() -> None:
    assert "nothing is broadcast: pass np.full((2,), x, 'float64')" in refused((2,), f64, 1.0)


def test_wrong_number() -> None:
    signature = Signature(tuple(Parameter("argument", i, tensor((), f64)) for i in range(2)), ())
    with pytest.raises(InputError, match=r"^expected 2 inputs, found 1: argument 1: tensor<f64> is missing$"):
        bind(signature, [1.0])
    with pytest.raises(InputError, match=r"^expected 2 inputs, found 3"):
        bind(signature, [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match=r"^expected 2 inputs, found 0: argument 0"):
        bind(signature, [])


def test_any_extent_where_the_program_says_so() -> None:
    parameter = Parameter("argument", 0, tensor((DYNAMIC, 2), f64))
    assert bind(Signature((parameter,), ()), [np.zeros((5, 2))])[0].shape == (5, 2)
    with pytest.raises(InputError, match=r"float64\[\?, 2\]"):
        bind(Signature((parameter,), ()), [np.zeros((5, 3))])
