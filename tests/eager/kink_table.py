"""The table of docs/kinks.md: functions at special places, as traced code and JAX have them and as define-by-run code and PyTorch do.

``python tests/eager/kink_table.py`` prints it, and with ``--write`` puts it in the document.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

DOCUMENT = Path(__file__).parents[2] / "docs" / "kinks.md"
BEGIN, END = "<!-- special values -->\n", "<!-- end of special values -->\n"
Function = Callable[..., Any]
inf, nan = float("inf"), float("nan")


@dataclass(frozen=True)
class Row:
    """A function at a place: what is written in the table, the function of a NumPy namespace, the function of a PyTorch one, where, and the order of
    the derivative. ``jax`` is what JAX gives where traced code gives something else."""

    text: str
    traced: Function
    eager: Function
    at: tuple[Any, ...]
    order: int = 0
    jax: tuple[float, ...] | None = None


def _both(text: str, name: str, *at: Any, order: int = 0) -> Row:
    def call(namespace: Any, *xs: Any) -> Any:
        return getattr(namespace, name)(*xs)

    return Row(text, call, call, at, order)


def _operator(text: str, function: Function, *at: Any, order: int = 0) -> Row:
    return Row(text, lambda _, *xs: function(*xs), lambda _, *xs: function(*xs), at, order)


ROWS = [
    _both("`sign(nan)`", "sign", nan),
    Row("`rsqrt(-0.0)`", lambda N, x: _lax(N).rsqrt(x), lambda T, x: T.rsqrt(x), (-0.0,)),
    _operator("`remainder(1, -inf)`", lambda x, y: x % y, 1.0, -inf),
    _operator("`remainder(-1, inf)`", lambda x, y: x % y, -1.0, inf),
    Row("`softmax([inf, 1])`", lambda N, x: _nn(N).softmax(x), lambda T, x: T.softmax(x, 0), ([inf, 1.0],)),
    Row("`clip(nan, 0, 1)`", lambda N, x: N.clip(x, 0, 1), lambda T, x: T.clamp(x, 0, 1), (nan,)),
    _both("`abs` at 0", "abs", 0.0, order=1),
    _both("`abs` at NaN", "abs", nan, order=1),
    _both("`maximum(x, x)`", "maximum", 1.0, 1.0, order=1),
    _both("`maximum(nan, 1)`", "maximum", nan, 1.0, order=1),
    Row("`clip(x, 0, 1)` at 0", lambda N, x: N.clip(x, 0, 1), lambda T, x: T.clamp(x, 0, 1), (0.0,), 1),
    Row("`clip(x, 0, 1)` at NaN", lambda N, x: N.clip(x, 0, 1), lambda T, x: T.clamp(x, 0, 1), (nan,), 1),
    Row("`max` of `[1, 1]`", lambda N, x: N.max(x), lambda T, x: T.max(x), ([1.0, 1.0],), 1),
    Row("`max` of `[1, nan]`", lambda N, x: N.max(x), lambda T, x: T.max(x), ([1.0, nan],), 1, (nan, nan)),
    Row("`amax` of `[1, nan]`", lambda N, x: N.max(x), lambda T, x: T.amax(x, 0), ([1.0, nan],), 1, (nan, nan)),
    Row("`prod` of `[0, 2]`", lambda N, x: N.prod(x), lambda T, x: T.prod(x), ([0.0, 2.0],), 1),
    Row("`prod` of `[1, nan]`", lambda N, x: N.prod(x), lambda T, x: T.prod(x), ([1.0, nan],), 1),
    _operator("`x ** y` at (0, 0)", lambda x, y: x**y, 0.0, 0.0, order=1),
    _operator("`x ** y` at (0, 2)", lambda x, y: x**y, 0.0, 2.0, order=1),
    _operator("`x ** y` at (0, -1)", lambda x, y: x**y, 0.0, -1.0, order=1),
    Row("`atan2(0, 0)`", lambda N, y, x: N.atan2(y, x), lambda T, y, x: T.atan2(y, x), (0.0, 0.0), 1),
    Row("Euclidean norm of `[0, 0]`", lambda N, x: N.linalg.norm(x), lambda T, x: T.norm(x), ([0.0, 0.0],), 1),
    Row("`std` of `[1, 1]`", lambda N, x: N.std(x), lambda T, x: T.std(x, correction=0), ([1.0, 1.0],), 1),
    _operator("`x ** y` at (0, 0)", lambda x, y: x**y, 0.0, 0.0, order=2),
    Row("`atan2(0, 0)`", lambda N, y, x: N.atan2(y, x), lambda T, y, x: T.atan2(y, x), (0.0, 0.0), 2),
    Row("Euclidean norm of `[0, 0]`", lambda N, x: N.linalg.norm(x), lambda T, x: T.norm(x), ([0.0, 0.0],), 2),
]


def _lax(numpy: Any) -> Any:
    import jax
    import jax.numpy as jnp

    import wengert.numpy as wnp

    return jax.lax if numpy is jnp else _Own(wnp)


class _Own:
    """What the traced namespace has in place of ``jax.lax.rsqrt`` and ``jax.nn.softmax``."""

    def __init__(self, numpy: Any):
        self.numpy = numpy

    def rsqrt(self, x: Any) -> Any:
        return 1 / self.numpy.sqrt(x)

    def softmax(self, x: Any) -> Any:
        weights = self.numpy.exp(x - self.numpy.max(x))
        return weights / self.numpy.sum(weights)


def _nn(numpy: Any) -> Any:
    import jax
    import jax.numpy as jnp

    return jax.nn if numpy is jnp else _Own(numpy)


def traced(row: Row, N: Any, grad: Any) -> list[float]:
    """The value or the derivatives by all arguments, flat, by the NumPy namespace and the grad of traced code or of JAX. Second derivatives are those of
    the sum of the first ones."""

    def value(*xs: Any) -> Any:
        return row.traced(N, *xs)

    places = tuple(range(len(row.at)))

    def slope(*xs: Any) -> Any:
        return sum(N.sum(g) for g in grad(value, places)(*xs))

    given = [np.asarray(a) for a in row.at]
    functions = [value, grad(value, places), grad(slope, places)]
    return _flat(functions[row.order](*given))


def eager(row: Row, T: Any) -> list[float]:
    """The same for a namespace as PyTorch's."""
    xs = [T.tensor(np.asarray(a, np.float64)).requires_grad_() for a in row.at]
    y = row.eager(T, *xs)
    for _ in range(row.order):
        slopes = [T.zeros_like(x) if g is None else g for x, g in zip(xs, T.autograd.grad(y, xs, create_graph=True, allow_unused=True), strict=True)]
        y = sum(s.sum() for s in slopes)
    return _flat([s.detach().numpy() for s in (slopes if row.order else [y])])


def _flat(values: Any) -> list[float]:
    many: Sequence[Any] = values if isinstance(values, tuple | list) else [values]
    return [float(v) for part in many for v in np.ravel(np.asarray(part))]


def same(actual: Sequence[float], expected: Sequence[float]) -> bool:
    """Whether numbers are the same; the sign of a zero counts nowhere."""
    return bool(np.allclose(actual, expected, rtol=1e-12, atol=0, equal_nan=True))


def table() -> str:
    """The table, from what is computed now."""
    import wengert as wg
    import wengert.eager
    import wengert.numpy as wnp

    lines = ["| | traced code, as JAX | define by run, as PyTorch |", "|---|---|---|"]
    for order, name in enumerate(("values", "first derivatives", "second derivatives")):
        lines.append(f"| *{name}* | | |")
        for row in ROWS:
            if row.order == order:
                other = f" (JAX: {_shown(row.jax)})" if row.jax else ""
                lines.append(f"| {row.text} | {_shown(traced(row, wnp, wg.grad))}{other} | {_shown(eager(row, wengert.eager))} |")
    return "\n".join(lines) + "\n"


def _shown(values: Sequence[float]) -> str:
    return ", ".join({nan: "NaN"}.get(v, "NaN" if v != v else f"{v + 0:.3g}".replace("inf", "∞")) for v in values)


def main() -> None:
    text = table()
    if "--write" in sys.argv:
        document = DOCUMENT.read_text()
        before, _, rest = document.partition(BEGIN)
        DOCUMENT.write_text(before + BEGIN + text + END + rest.partition(END)[2])
    else:
        print(text)


if __name__ == "__main__":
    main()
