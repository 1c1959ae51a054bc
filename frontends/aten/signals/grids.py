"""Images sampled at computed places (M. Jaderberg et al., "Spatial transformer networks", 2015), in two and in three dimensions.

A place is a vector of numbers in [-1, 1], the last dimension of the image first. It becomes a position among the elements; where that is outside, it is
moved back (``border``, ``reflection``) or reads zeros. Each place reads the elements around it, its *taps*, by one gather, and sums them with weights.
Derivatives by the place are those of the weights, and of the way back: 0 on and beyond a border, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType

from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.indexing import rows_at
from wengert.frontends.aten.meanings import means
from wengert.ir.tensor_types import dtype_of, element, i64, shape, tensor

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
_CUBIC = -0.75
"""The slope of the cubic kernel at distance 1 (R. Keys, "Cubic convolution interpolation for digital image processing", 1981), as PyTorch chooses it."""


def sampled(given: Mapping[str, Any]) -> tuple[TensorType[Any]]:
    """The channels of each image at each place."""
    x, grid = given["input"], given["grid"]
    return (tensor((*shape(x)[:2], *shape(grid)[1:-1]), element(x)),)


def grid_of_places(given: Mapping[str, Any]) -> tuple[TensorType[Any]]:
    """A vector for each element of the images."""
    theta, (n, _, *spatial) = given["theta"], given["size"]
    return (tensor((n, *spatial, len(spatial)), element(theta)),)


# -- positions


def _number(b: AtenBuilder, x: Value, y: float) -> Value:
    return b.full_like(x, y)


def _position(b: AtenBuilder, place: Value, n: int, align_corners: bool) -> Value:
    """From [-1, 1] to [0, n - 1], or, where the borders of elements are meant and not their centres, to [-1/2, n - 1/2]."""
    moved = b.add(place, _number(b, place, 1))
    if align_corners:
        return b.multiply(moved, _number(b, place, (n - 1) / 2))
    return b.divide(b.subtract(b.multiply(moved, _number(b, place, n)), _number(b, place, 1)), _number(b, place, 2))


def _clipped(b: AtenBuilder, x: Value, n: int) -> Value:
    low, high = _number(b, x, 0), _number(b, x, n - 1)
    inside = b.and_(b.compare("GT", x, low), b.compare("LT", x, high))
    return b.select(inside, x, b.stopped(b.clamp(low, x, high)))


def _reflected(b: AtenBuilder, x: Value, n: int, align_corners: bool) -> Value:
    """x mirrored at the first and the last element, or at their borders, as often as it takes."""
    low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
    if not span:
        return _number(b, x, 0)
    shifted = b.subtract(x, _number(b, x, low))
    away = b.select(b.compare("LT", shifted, _number(b, x, 0)), b.negate(shifted), shifted)
    flips = b.stopped(b.floor(b.divide(away, _number(b, x, span))))
    rest = b.subtract(away, b.multiply(flips, _number(b, x, span)))
    odd = b.compare("NE", b.remainder(flips, _number(b, x, 2)), _number(b, x, 0))
    return b.add(b.select(odd, b.subtract(_number(b, x, span), rest), rest), _number(b, x, low))


def _brought_back(b: AtenBuilder, x: Value, n: int, padding: int, align_corners: bool) -> Value:
    if padding == _ZEROS:
        return x
    return _clipped(b, _reflected(b, x, n, align_corners) if padding == _REFLECTION else x, n)


# -- taps: whole positions along one dimension, and their weights


def _linear_taps(b: AtenBuilder, x: Value) -> list[tuple[Value, Value]]:
    first = b.stopped(b.floor(x))
    part = b.subtract(x, first)
    one = _number(b, x, 1)
    return [(first, b.subtract(one, part)), (b.add(first, one), part)]


def _cubic_taps(b: AtenBuilder, x: Value) -> list[tuple[Value, Value]]:
    first = b.stopped(b.floor(x))
    part = b.subtract(x, first)

    def polynomial(t: Value, *coefficients: float) -> Value:
        made = _number(b, t, coefficients[0])
        for c in coefficients[1:]:
            made = b.add(b.multiply(made, t), _number(b, t, c))
        return made

    def near(t: Value) -> Value:
        return polynomial(t, _CUBIC + 2, -(_CUBIC + 3), 0, 1)

    def far(t: Value) -> Value:
        return polynomial(t, _CUBIC, -5 * _CUBIC, 8 * _CUBIC, -4 * _CUBIC)

    one = _number(b, x, 1)
    other = b.subtract(one, part)
    weights = [far(b.add(part, one)), near(part), near(other), far(b.add(other, one))]
    return [(b.add(first, _number(b, x, i - 1)), w) for i, w in enumerate(weights)]


def _nearest_taps(b: AtenBuilder, x: Value) -> list[tuple[Value, Value]]:
    return [(b.round_nearest_even(b.stopped(x)), _number(b, x, 1))]


_TAPS: dict[int, Callable[[AtenBuilder, Value], list[tuple[Value, Value]]]] = {_BILINEAR: _linear_taps, _NEAREST: _nearest_taps, _BICUBIC: _cubic_taps}


# -- images


def _sample(b: AtenBuilder, x: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> Value:
    """x: [n, c, *s] at grid: [n, *o, d] -> [n, c, *o], for d = len(s)."""
    (images, channels, *spatial), outer = shape(x), shape(grid)[:-1]
    d = len(spatial)
    if not prod(outer) or not prod(shape(x)):
        return b.full(0, b.type)
    along: list[list[tuple[Value, Value]]] = []
    for k, n in enumerate(spatial):
        place = b.slice(grid, [0] * len(outer) + [d - 1 - k], [*outer, d - k])
        position = _position(b, b.reshape(place, outer), n, align_corners)
        if mode == _BICUBIC:  # each tap is brought back for itself
            taps = _cubic_taps(b, position)
            along.append([(b.stopped(_brought_back(b, i, n, padding, align_corners)), w) for i, w in taps])
        else:
            along.append(_TAPS[mode](b, _brought_back(b, position, n, padding, align_corners)))
    rows = b.reshape(b.transpose(x, [0, *range(2, 2 + d), 1]), [images * prod(spatial), channels])
    image = b.iota(0, tensor(outer, i64))
    total: Value | None = None
    for taps in product(*along):
        weight, flat, inside = _combined(b, taps, spatial, image)
        read = rows_at(b, rows, flat)  # [n, *o, c]
        read = b.select(b.along(read, inside, [len(outer)]), read, b.full_like(read, 0))
        term = read if mode == _NEAREST else b.multiply(read, b.along(read, weight, [len(outer)]))
        total = term if total is None else b.add(total, term)
    assert total is not None
    return b.transpose(total, [0, len(outer), *range(1, len(outer))])


def _combined(b: AtenBuilder, taps: Sequence[tuple[Value, Value]], spatial: Sequence[int], image: Value) -> tuple[Value, Value, Value]:
    """The weight of taps along all dimensions, the element's place among all elements of all images, and whether there is one."""
    weight = taps[0][1]
    for _, w in taps[1:]:
        weight = b.multiply(weight, w)
    flat, inside = image, None
    for (position, _), n in zip(taps, spatial, strict=True):
        valid = b.and_(b.compare("GE", position, _number(b, position, 0)), b.compare("LT", position, _number(b, position, n)))
        whole = b.convert(b.stopped(b.select(valid, position, _number(b, position, 0))), i64)
        flat = b.add(b.multiply(flat, b.full_like(flat, n)), whole)
        inside = valid if inside is None else b.and_(inside, valid)
    assert inside is not None
    return weight, flat, inside


@means(
    "grid_sampler.default(input, grid, interpolation_mode, padding_mode, align_corners)",
    "grid_sampler_2d.default(input, grid, interpolation_mode, padding_mode, align_corners)",
    "grid_sampler_3d.default(input, grid, interpolation_mode, padding_mode, align_corners)",
    results=sampled,
)
def grid_sampler(b: AtenBuilder, x: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> Value:
    """x: [n, c, h, w] at grid: [n, p, q, 2], or with one dimension more each."""
    if shape(grid)[-1] != len(shape(x)) - 2 or shape(grid)[0] != shape(x)[0]:
        raise ValueError(f"grid_sampler takes places of {len(shape(x)) - 2} numbers for each of {shape(x)[0]} images, found a grid of shape {shape(grid)}")
    if mode == _BICUBIC and len(shape(x)) != 4:
        raise ValueError("grid_sampler has bicubic interpolation for images of two dimensions")
    return _sample(b, x, grid, mode, padding, align_corners)


@means("affine_grid_generator.default(theta, size, align_corners)", results=grid_of_places)
def affine_grid_generator(b: AtenBuilder, theta: Value, size: Sequence[int], align_corners: bool) -> Value:
    """The places theta (x, y, 1) for all elements (x, y) of images of this size, theta: [n, 2, 3], or with one dimension more."""
    spatial = size[2:]
    steps = [np.linspace(-1, 1, n) * (1 if align_corners else (n - 1) / n) if n > 1 else np.zeros(n) for n in spatial]
    places = np.stack([*reversed(np.meshgrid(*steps, indexing="ij")), np.ones(spatial)], -1).reshape(-1, len(spatial) + 1)
    made = b.dot_general(b.constant(places.astype(dtype_of(element(theta)))), theta, ((1,), (2,)), ((), ()))  # [places, n, d]
    return b.reshape(b.transpose(made, [1, 0, 2]), b.extents)
