"""Estimates from random directions: gradients by forward mode, traces and diagonals of matrices that are given by products.

With directions v of mean 0 and unit covariance, ``E[(g . v) v] = g`` (forward gradients: A. G. Baydin et al., "Gradients without Backpropagation", 2022),
``E[v . A v] = tr A`` (M. F. Hutchinson, "A stochastic estimator of the trace of the influence matrix", 1990) and
``E[v * A v] = diag A`` (C. Bekas, E. Kokiopoulou, Y. Saad, "An estimator for the diagonal of a matrix", 2007). All samples run as one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.frontends.pytrees import flatten, unflatten
from wengert.frontends.stochastic.directions import Distribution, random_directions
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.function import name_of
from wengert.frontends.tracing.signatures import ArraySpec, is_array_leaf, spec_of
from wengert.frontends.transforms.batching import vmap
from wengert.frontends.transforms.derivatives import Transform, argument_position, jvp
from wengert.frontends.transforms.emission import as_tuple
from wengert.numpy import mean, tensordot
from wengert.numpy import sum as total

Function = Callable[..., Any]


def forward_gradient(function: Function, argnums: int | Sequence[int] = 0, *, samples: int = 1, directions: Distribution = "rademacher") -> Transform:
    """A function ``(seed, *args)`` that estimates the gradient of a scalar function by forward mode along random directions.

    Args:
        function: returns a real scalar.
        argnums: positions of the arguments to differentiate by, as for :func:`~wengert.grad`.
        samples: the number of directions, which run as one batch.
        directions: ``"rademacher"`` (signs) or ``"normal"``.

    The estimate is unbiased. Of n elements, its mean square error is ``(n - 1) / samples`` times the squared norm of the gradient with signs, and
    ``(n + 1) / samples`` times with normal directions. Nothing of the function is kept.

    Raises (when called):
        TracedTypeError: an argument has elements that are no real floats, or the result is no scalar.
    """

    def estimate(seed: Any, *args: Any) -> Any:
        chosen = [argument_position(function, args, k) for k in as_tuple(argnums)]
        leaves, spec = flatten(tuple(args[k] for k in chosen))
        drawn = random_directions(seed, _specs(leaves, name_of(function)), samples, directions)

        def slope(*tangents: Any) -> Any:
            return _along(function, args, chosen, unflatten(spec, tangents))

        slopes = vmap(slope)(*drawn)
        if slopes.shape != (samples,):
            raise type_error(f"a gradient needs a scalar result, but {name_of(function)} returns shape {slopes.shape[1:]}")
        gradients = unflatten(spec, [tensordot(slopes, v, axes=1) / samples for v in drawn])
        return gradients if isinstance(argnums, Sequence) else gradients[0]

    estimate.__name__ = f"forward_gradient_of_{name_of(function)}"
    return Transform(estimate)


def _along(function: Function, args: Sequence[Any], chosen: Sequence[int], tangents: Sequence[Any]) -> Any:
    """The derivative of a function by some arguments, along tangents."""

    def partially(*moving: Any) -> Any:
        given = list(args)
        for k, value in zip(chosen, moving, strict=True):
            given[k] = value
        return function(*given)

    return jvp(partially, tuple(args[k] for k in chosen), tuple(tangents))[1]


def _specs(leaves: Sequence[Any], name: str) -> list[ArraySpec]:
    for leaf in leaves:
        if not is_array_leaf(leaf) or spec_of(leaf).dtype.kind != "f":
            raise type_error(f"{name} is estimated along real numbers, found {spec_of(leaf) if is_array_leaf(leaf) else repr(leaf)}")
    return [spec_of(leaf) for leaf in leaves]


def hutchinson_trace(matvec: Function, like: Any, *, samples: int = 1, directions: Distribution = "rademacher") -> Transform:
    """A function of a seed that estimates the trace of a matrix that is given by products.

    Args:
        matvec: a linear function from trees like ``like`` to such trees.
        like: a tree of real arrays (or :class:`~wengert.ArraySpec`), of which only shapes and dtypes count.
        samples: the number of products, which run as one batch.
        directions: signs, whose variance is ``2 / samples`` times the sum of squares off the diagonal of a symmetric matrix; with normal directions
            that of all elements.

    Raises (when called):
        TracedTypeError, TracedValueError: ``matvec`` does not return a tree like that.
    """

    def estimate(seed: Any) -> Any:
        drawn, products = _products(matvec, like, seed, samples, directions)
        return mean(sum(total(v * p, axis=tuple(range(1, v.ndim))) for v, p in zip(drawn, products, strict=True)))

    estimate.__name__ = f"trace_of_{name_of(matvec)}"
    return Transform(estimate)


def hutchinson_diagonal(matvec: Function, like: Any, *, samples: int = 1, directions: Distribution = "rademacher") -> Transform:
    """A function of a seed that estimates the diagonal of a matrix that is given by products, as a tree like ``like``; see :func:`hutchinson_trace`."""

    def estimate(seed: Any) -> Any:
        drawn, products = _products(matvec, like, seed, samples, directions)
        return unflatten(flatten(like)[1], [mean(v * p, axis=0) for v, p in zip(drawn, products, strict=True)])

    estimate.__name__ = f"diagonal_of_{name_of(matvec)}"
    return Transform(estimate)


def _products(matvec: Function, like: Any, seed: Any, samples: int, directions: Distribution) -> tuple[list[Any], list[Any]]:
    """Directions, and the products with them."""
    leaves, spec = flatten(like)
    drawn = random_directions(seed, _specs(leaves, name_of(matvec)), samples, directions)
    products, returned = flatten(vmap(lambda *v: matvec(unflatten(spec, v)))(*drawn))
    if returned != spec or [p.shape for p in products] != [v.shape for v in drawn]:
        raise value_error(f"{name_of(matvec)} must return what it is given, shapes {[v.shape[1:] for v in drawn]}, found {[p.shape[1:] for p in products]}")
    return drawn, products
