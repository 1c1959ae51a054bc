"""Orthogonal polynomials by their recurrences, and Bessel and Airy functions: without derivatives, as in PyTorch."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from wengert.eager.library.by_hand import of_reals
from wengert.eager.library.calling import Function
from wengert.frontends.aten.special_functions.recurrences import RECURRENCES, Step


def _polynomial(first: Callable[[Any], Any], step: Step) -> Callable[[Any, Any], Any]:
    """The polynomial whose degree 0 is 1 and degree 1 is ``first(x)``, for degrees that may be an array; 0 below degree 0."""

    def values(x: Any, degree: Any) -> Any:
        x, degree = numpy.broadcast_arrays(numpy.asarray(x, numpy.float64), numpy.asarray(degree).astype(numpy.int64))
        before, now = numpy.ones_like(x), first(x)
        result = numpy.where(degree == 0, before, numpy.where(degree == 1, now, 0.0))
        for k in range(1, int(degree.max(initial=0))):
            before, now = now, step(x, now, before, k)
            result = numpy.where(degree == k + 1, now, result)
        return result

    return values


def _shifted(values: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, degree: values(2 * numpy.asarray(x, numpy.float64) - 1, degree)


def _of_scipy(name: str, number: int | None = None) -> Callable[[Any], Any]:
    def values(x: Any) -> Any:
        import scipy.special

        made = getattr(scipy.special, name)(x)
        return made if number is None else made[number]

    return values


def _spherical(x: Any) -> Any:
    import scipy.special

    return scipy.special.spherical_jn(0, x)


_CHEBYSHEV = {name: kind for name, kind in RECURRENCES.items() if name.startswith("chebyshev")}
POLYNOMIALS: dict[str, Function] = {
    **{name: of_reals(f"special.{name}", _polynomial(*kind)) for name, kind in RECURRENCES.items()},
    **{
        f"shifted_{name}": of_reals(f"special.shifted_{name}", _shifted(_polynomial(*kind)))
        for name, kind in RECURRENCES.items()
        if name.startswith("chebyshev")
    },
    "airy_ai": of_reals("special.airy_ai", _of_scipy("airy", 0)),
    "spherical_bessel_j0": of_reals("special.spherical_bessel_j0", _spherical),
    **{f"bessel_{n}": of_reals(f"special.bessel_{n}", _of_scipy(n)) for n in ("j0", "j1", "y0", "y1")},
    **{f"modified_bessel_{n}": of_reals(f"special.modified_bessel_{n}", _of_scipy(n)) for n in ("i0", "i1", "k0", "k1")},
    **{f"scaled_modified_bessel_{n}": of_reals(f"special.scaled_modified_bessel_{n}", _of_scipy(f"{n}e")) for n in ("k0", "k1")},
}
