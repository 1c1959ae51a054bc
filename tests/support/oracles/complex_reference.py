"""Complex functions in arbitrary precision, and the values at which they are hard."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

ZERO = mp.mpf(10) ** -900
"""What a zero counts as beside a branch cut."""


def _logistic(z: Any) -> Any:
    return 1 / (1 + mp.exp(-z)) if mp.re(z) > 0 else mp.exp(z) / (1 + mp.exp(z))


EXACT: dict[str, Callable[[Any], Any]] = {
    "exponential": mp.exp,
    "exponential_minus_one": lambda z: mp.exp(z) - 1,
    "log": mp.log,
    "log_plus_one": lambda z: mp.log(1 + z),
    "sqrt": mp.sqrt,
    "rsqrt": lambda z: 1 / mp.sqrt(z),
    "cbrt": lambda z: mp.exp(mp.log(z) / 3),
    "logistic": _logistic,
    "sine": mp.sin,
    "cosine": mp.cos,
    "tan": mp.tan,
    "tanh": mp.tanh,
    "sign": lambda z: z / abs(z),
    "abs": lambda z: mp.mpc(abs(z)),
    "chlo.square": lambda z: z * z,
    "chlo.sinh": mp.sinh,
    "chlo.cosh": mp.cosh,
    "chlo.asin": mp.asin,
    "chlo.acos": mp.acos,
    "chlo.atan": mp.atan,
    "chlo.asinh": mp.asinh,
    "chlo.acosh": mp.acosh,
    "chlo.atanh": mp.atanh,
}
"""Functions of one complex number by their ops' names."""

CUT = frozenset(("log", "log_plus_one", "sqrt", "rsqrt", "cbrt", *(f"chlo.{name}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh"))))
"""Those with branch cuts, on which the sign of a zero says which side is meant."""
POLES: dict[str, tuple[complex, ...]] = {"log_plus_one": (-1,), "chlo.atan": (1j, -1j), "chlo.atanh": (1, -1)}
"""Where functions are infinite on their cuts."""


def exactly(name: str, z: complex) -> Any:
    """The function's value as mpmath has it, with digits enough for what cancels; None at zero and at poles."""
    if z == 0 or z in POLES.get(name, ()):
        return None
    size = sum(abs(np.log10(abs(part))) for part in (z.real, z.imag) if part != 0)  # a small part is lost in the square of a large one
    on_cut = name in CUT and 0 in (z.real, z.imag)
    with mp.workdps(int(40 + 2.2 * (size + (900 if on_cut else 0)))):
        try:
            return EXACT[name](mp.mpc(*(_signed(part) if on_cut else mp.mpf(part) for part in (z.real, z.imag))))
        except (ZeroDivisionError, ValueError):
            return None


def _signed(part: float) -> Any:
    return mp.mpf(part) if part else (-ZERO if np.signbit(part) else ZERO)


@cache
def extremes(double: bool) -> tuple[float, ...]:
    """Sizes of a part: zero, subnormal, near the ends of the range and its roots, around one, and where exp overflows."""
    kind: Any = np.finfo(np.float64 if double else np.float32)
    least, tiny, largest, eps = float(kind.smallest_subnormal), float(kind.tiny), float(kind.max), float(kind.eps)
    edge = float(np.log(largest))
    return (
        *(0.0, least, tiny * 0.75, tiny, tiny**0.5 / 3, tiny**0.5 * 7, eps**2, eps / 3, eps**0.5, 1e-3, 0.3, 0.5, 0.6, 0.8, 1 - eps / 2, 1.0, 1 + eps),
        *(1.5, float(np.pi) / 2, 2.0, float(np.pi), 9.5, 20.0, edge * 0.999, edge * 1.001, edge * 1.9, 1e4, 1 / eps, largest**0.5 / 5, largest**0.5 * 3),
        *(largest / 4.5, largest / 1.7, largest),
    )


def numbers(double: bool, seed: int, count: int) -> Array:
    """Complex numbers of extreme parts and signs, of all sizes, near the unit circle, and near 0 and -2 on the unit circle about -1."""
    rng = np.random.default_rng(seed)
    dtype = np.complex128 if double else np.complex64
    sizes = np.array(extremes(double))
    signs = lambda n: np.where(rng.integers(0, 2, n), 1.0, -1.0)  # noqa: E731
    parts = [rng.choice(sizes, count) * signs(count) for _ in range(2)]
    spread = 300 if double else 37
    parts = [np.concatenate([p, 10 ** rng.uniform(-spread, spread, count // 4) * signs(count // 4), rng.normal(size=count // 4) * 2]) for p in parts]
    angle = rng.uniform(-np.pi, np.pi, count // 4)
    circle = np.exp(1j * angle) * (1 + rng.normal(size=count // 4) * 10.0 ** rng.integers(-17, 0, count // 4))
    z = np.concatenate([_complex(*parts), circle, circle - 1, np.exp(1j * angle / 1e4) - 1])
    with np.errstate(over="ignore"):
        return z.astype(dtype)


def _complex(re: Array, im: Array) -> Array:
    z = np.empty(re.shape, np.complex128)
    z.real, z.imag = re, im
    return z
