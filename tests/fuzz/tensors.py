"""Types of tensors as the generator writes them, and random elements: ordinary ones, ties, and the values at which functions end."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

FLOATS = ("f64", "f32", "bf16", "f16")
COMPLEXES = ("complex<f64>", "complex<f32>")
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("ui8", "ui16", "ui32", "ui64")
INTEGERS = SIGNED + UNSIGNED
PART = {"complex<f64>": "f64", "complex<f32>": "f32"}
COMPLEX_OF = {part: whole for whole, part in PART.items()}
WIDER = {"f16": "f32", "bf16": "f32", "f32": "f64", "i8": "i32", "i16": "i64", "i32": "i64", "ui8": "ui32", "ui16": "ui64", "complex<f32>": "complex<f64>"}
"""Element types in which numbers of others may be added up."""

DTYPES: dict[str, np.dtype[Any]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "complex<f64>": np.dtype(np.complex128),
    "complex<f32>": np.dtype(np.complex64),
    "i1": np.dtype(np.bool_),
    **{name: np.dtype(name.replace("ui", "uint") if name.startswith("u") else f"int{name[1:]}") for name in INTEGERS},
}


class Type(NamedTuple):
    """A tensor type: the name of its element type, and its extents."""

    element: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{n}x' for n in self.shape)}{self.element}>"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[self.element]

    @property
    def is_float(self) -> bool:
        return self.element in FLOATS

    @property
    def is_complex(self) -> bool:
        return self.element in PART

    @property
    def is_integer(self) -> bool:
        return self.element in INTEGERS

    @property
    def is_bool(self) -> bool:
        return self.element == "i1"

    def having(self, element: str | None = None, shape: tuple[int, ...] | list[int] | None = None) -> Type:
        """The type with another element type or other extents."""
        return Type(self.element if element is None else element, self.shape if shape is None else tuple(shape))


# -- random elements

FLAVOURS = ("plain", "plain", "plain", "ties", "ties", "wide")
"""How elements of a tensor are drawn: of order one, small integers with many equal ones, or of many magnitudes."""


def random_array(rng: np.random.Generator, type: Type, flavour: str, special: float = 0.0) -> Array:
    """Elements of a flavour, of which a share is at the ends of the type: zeros of both signs, infinities, NaN, subnormal and largest numbers."""
    if type.is_complex:
        part = type.having(PART[type.element])
        made = np.empty(type.shape, type.dtype)
        made.real, made.imag = (random_array(rng, part, flavour, special) for _ in range(2))
        return made
    if type.is_bool:
        return rng.random(type.shape) < 0.5
    made = _floats(rng, type, flavour) if type.is_float else _integers(rng, type, flavour)
    if special > 0:
        ends = np.array(_ends(type), dtype=type.dtype)
        chosen = ends[rng.integers(0, len(ends), type.shape)]
        made = np.where(rng.random(type.shape) < special, chosen, made).astype(type.dtype)
    return np.asarray(made, type.dtype).reshape(type.shape)


def _floats(rng: np.random.Generator, type: Type, flavour: str) -> Array:
    if flavour == "ties":
        return rng.integers(-2, 4, type.shape).astype(np.float64)
    drawn = rng.uniform(-1.6, 1.6, type.shape)
    if flavour == "wide":
        reach = 4 if type.element in ("f16", "bf16") else 12
        return drawn * 10.0 ** rng.uniform(-reach, reach, type.shape)
    return drawn


def _integers(rng: np.random.Generator, type: Type, flavour: str) -> Array:
    limits = np.iinfo(type.dtype)
    low, high = (limits.min, limits.max) if flavour == "wide" else (max(limits.min, -3), 5 if flavour == "ties" else 20)
    return rng.integers(low, high, type.shape, dtype=type.dtype, endpoint=True)


def _ends(type: Type) -> list[Any]:
    if type.is_integer:
        limits = np.iinfo(type.dtype)
        return [limits.min, limits.max, 0, 1, limits.max - 1]
    limits = ml_dtypes.finfo(type.dtype)
    tiny, largest = float(limits.smallest_normal), float(limits.max)
    return [0.0, -0.0, np.inf, -np.inf, np.nan, tiny, -tiny, tiny / 4, -float(limits.smallest_subnormal), largest, -largest, 1.0, -1.0]


# -- text of constants


def dense(array: Array, type: Type) -> str:
    """The constant as the text of a dense attribute, exact to the bit."""
    if type.size == 0:
        return f"dense<> : {type}"
    flat = [_literal(x, type) for x in np.asarray(array).reshape(-1)]
    if len(set(flat)) == 1:
        return f"dense<{flat[0]}> : {type}"
    return f"dense<{_nested(flat, type.shape)}> : {type}"


def _nested(flat: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return flat[0]
    step = len(flat) // shape[0]
    return "[" + ", ".join(_nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])) + "]"


def _literal(x: Any, type: Type) -> str:
    if type.is_complex:
        part = Type(PART[type.element], ())
        return f"({_literal(x.real, part)}, {_literal(x.imag, part)})"
    if type.is_bool:
        return "true" if x else "false"
    if type.is_integer:
        return str(int(x))
    value = float(x)
    bits = type.dtype.itemsize * 8
    if np.isfinite(value):
        return np.format_float_scientific(value, unique=True) if value else ("-0.0" if np.signbit(value) else "0.0")
    return f"0x{int(np.asarray(x, type.dtype).view(f'u{bits // 8}')):0{bits // 4}X}"


def integers_text(values: Any) -> str:
    """``array<i64: 1, 2>``"""
    values = [int(v) for v in values]
    return "array<i64: " + ", ".join(map(str, values)) + ">" if values else "array<i64>"
