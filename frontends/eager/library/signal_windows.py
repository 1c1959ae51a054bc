"""Windows of signal processing: ``torch.signal.windows``."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from wengert.eager.errors import ShapeError
from wengert.eager.library.calling import Function
from wengert.eager.operations.creation import tensor
from wengert.eager.operations.promotion import default_dtype

Values = Callable[..., Any]


def _window(name: str, values: Values) -> Function:
    """A window of M points: symmetric, or the first M of a symmetric one of M + 1 (``sym=False``)."""

    def make(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, **options: Any) -> Any:  # noqa: N803
        if M < 0:
            raise ShapeError(f"signal.windows.{name}: the number of points cannot be negative, found {M}")
        places = numpy.arange(M, dtype=numpy.float64)
        last = M - 1 if sym else M
        made = numpy.ones(M) if M <= 1 else values(places, last, **options)
        return tensor(made, dtype=dtype or default_dtype(), requires_grad=requires_grad)

    return make


def _cosines(coefficients: Sequence[float]) -> Values:
    """a0 - a1 cos(2 pi k / n) + a2 cos(4 pi k / n) - ..."""
    return lambda k, n: sum(((-1) ** i * a * numpy.cos(2 * numpy.pi * i * k / n) for i, a in enumerate(coefficients)), numpy.zeros_like(k))


def _general_cosine(k: Any, n: int, *, a: Sequence[float]) -> Any:
    return _cosines(a)(k, n)


def _exponential(k: Any, n: int, *, center: float | None = None, tau: float = 1.0) -> Any:
    return numpy.exp(-numpy.abs(k - (n / 2 if center is None else center)) / tau)


def _kaiser(k: Any, n: int, *, beta: float = 12.0) -> Any:
    return numpy.i0(beta * numpy.sqrt(numpy.maximum(1 - (2 * k / n - 1) ** 2, 0))) / numpy.i0(beta)


WINDOWS: dict[str, Function] = {
    name: _window(name, values)
    for name, values in {
        "bartlett": lambda k, n: 1 - numpy.abs(2 * k / n - 1),
        "blackman": _cosines([0.42, 0.5, 0.08]),
        "cosine": lambda k, n: numpy.sin(numpy.pi * (k + 0.5) / (n + 1)),
        "exponential": _exponential,
        "gaussian": lambda k, n, *, std=1.0: numpy.exp(-(((k - n / 2) / std) ** 2) / 2),
        "general_cosine": _general_cosine,
        "general_hamming": lambda k, n, *, alpha=0.54: _cosines([alpha, 1 - alpha])(k, n),
        "hamming": _cosines([0.54, 0.46]),
        "hann": _cosines([0.5, 0.5]),
        "kaiser": _kaiser,
        "nuttall": _cosines([0.3635819, 0.4891775, 0.1365995, 0.0106411]),
    }.items()
}


def _by_older_name(name: str) -> Function:
    """A window as ``torch.hann_window`` makes it: the first numbers of a longer symmetric one, unless it is not periodic."""

    def make(window_length: int, periodic: bool = True, *shape: float, **options: Any) -> Any:
        options = {**dict(zip(_SHAPES.get(name, ()), shape, strict=False)), **options}
        if name == "hamming":
            terms = [options.pop("alpha", 0.54), options.pop("beta", 0.46)]
            return WINDOWS["general_cosine"](window_length, a=terms, sym=not periodic, **options)
        return WINDOWS[name](window_length, sym=not periodic, **options)

    return make


_SHAPES = {"hamming": ("alpha", "beta"), "kaiser": ("beta",)}
"""The numbers that give a window its shape, in the order in which they may be given."""

OLDER_NAMES: dict[str, Function] = {f"{name}_window": _by_older_name(name) for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")}
"""Windows outside of ``torch.signal.windows``."""
