"""Rules for the types of results whose shapes are not those of operands: positions, windows, factors, statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType

from wengert.dialects.builder import Value
from wengert.frontends.aten.axes import axis
from wengert.frontends.aten.meanings import Results
from wengert.frontends.aten.result_types.promotion import complex_of, promoted_element, tensors
from wengert.frontends.aten.result_types.rules import Types, default_element, floating, promoted
from wengert.ir.tensor_types import element, i32, i64, real_element, shape, tensor, type_of

Given = Mapping[str, Any]


def _self(given: Given) -> Value:
    return tensors(given.values())[0]


def _with_extent(x: Value, dim: int, extent: int) -> tuple[int, ...]:
    d = axis(dim, len(shape(x)))
    return tuple(extent if i == d else n for i, n in enumerate(shape(x)))


def divided(given: Given) -> Types:
    """A quotient: real unless it is rounded."""
    return (floating if given["rounding_mode"] is None else promoted)({k: x for k, x in given.items() if k != "rounding_mode"})


def positions(given: Given) -> Types:
    """A position for each element."""
    return (tensor(shape(_self(given)), i64),)


def at_index(given: Given) -> Types:
    """An element for each position."""
    return (tensor(shape(given["index"]), element(given["self"])),)


def selected(given: Given) -> Types:
    """As many elements along a dimension as there are positions."""
    count = shape(given["index"])
    return (tensor(_with_extent(given["self"], given["dim"], count[0] if count else 1), element(given["self"])),)


def rows(given: Given) -> Types:
    """A row for each index."""
    return (tensor((*shape(given["indices"]), *shape(given["weight"])[1:]), element(given["weight"])),)


def first_k(given: Given) -> Types:
    """k elements along a dimension, and their positions."""
    x = given["self"]
    extents = _with_extent(x, given["dim"], given["k"]) if shape(x) else ()
    return tensor(extents, element(x)), tensor(extents, i64)


def unfolded(given: Given) -> Types:
    """Windows along a dimension, their elements along a new last one."""
    x, length = given["self"], given["size"]
    if not shape(x):
        return (tensor((length,), element(x)),)
    count = (shape(x)[axis(given["dimension"], len(shape(x)))] - length) // given["step"] + 1
    return (tensor((*_with_extent(x, given["dimension"], count), length), element(x)),)


def repeated(given: Given) -> Types:
    """Tiles."""
    x, times = given["self"], given["repeats"]
    own = (1,) * (len(times) - len(shape(x))) + shape(x)
    return (tensor(tuple(n * m for n, m in zip(own, times, strict=True)), element(x)),)


def padded(given: Given) -> Types:
    """A border, whose widths begin with the last dimension."""
    x, pad = given["self"], given["pad"]
    extents = list(shape(x))
    for i in range(len(pad) // 2):
        extents[len(extents) - 1 - i] += pad[2 * i] + pad[2 * i + 1]
    return (tensor(tuple(extents), element(x)),)


def joined(given: Given) -> Types:
    """Side by side; an empty row joins with anything."""
    parts = [x for x in given["tensors"] if shape(x) != (0,)] or given["tensors"]
    d = axis(given["dim"], len(shape(parts[0])))
    return (tensor(_with_extent(parts[0], d, sum(shape(x)[d] for x in parts)), promoted_element(given["tensors"], default_element(given))),)


def stacked(given: Given) -> Types:
    """Side by side along a new dimension."""
    parts = given["tensors"]
    own = list(shape(parts[0]))
    own.insert(axis(given["dim"], len(own) + 1), len(parts))
    return (tensor(tuple(own), promoted_element(parts, default_element(given))),)


def part_of_complex(given: Given) -> Types:
    """The parts of complex numbers."""
    x = _self(given)
    return (tensor(shape(x), real_element(element(x))),)


# -- normalisation


def layer_normalised(given: Given) -> Types:
    """x, and mean and inverse deviation with extents of one."""
    x = given["input"]
    kept = shape(x)[: len(shape(x)) - len(given["normalized_shape"])]
    statistic = tensor((*kept, *(1 for _ in given["normalized_shape"])), element(x))
    return type_of(x), statistic, statistic


def group_normalised(given: Given) -> Types:
    """x, and mean and inverse deviation of each group."""
    x = given["input"]
    statistic = tensor((given["N"], given["group"]), element(x))
    return type_of(x), statistic, statistic


# -- windows


def _several(value: int | Sequence[int], n: int) -> list[int]:
    return [value] * n if isinstance(value, int) else list(value) * (n if len(value) == 1 else 1)


def _windows(given: Given, n: int) -> TensorType[Any]:
    x = given["self"]
    own = shape(x)[len(shape(x)) - n :]
    kernel, padding, dilation = (_several(given.get(k, 1), n) for k in ("kernel_size", "padding", "dilation"))
    stride = _several(given["stride"], n) if given["stride"] != [] else kernel
    counts: list[int] = []
    for m, k, s, p, d in zip(own, kernel, stride, padding, dilation, strict=True):
        reach = m + 2 * p - d * (k - 1) - 1
        count = (-(-reach // s) if given["ceil_mode"] else reach // s) + 1
        # The last window begins inside of the input or the border before it.
        counts.append(count - 1 if given["ceil_mode"] and (count - 1) * s >= m + p else count)
    return tensor((*shape(x)[: len(shape(x)) - n], *counts), element(x))


def averages(n: int) -> Results:
    """A number for each window over the last n dimensions."""
    return lambda given: (_windows(given, n),)


def extremes(n: int) -> Results:
    """An element and its position for each window over the last n dimensions."""

    def rule(given: Given) -> Types:
        made = _windows(given, n)
        return made, tensor(made.get_shape(), i64)

    return rule


def bins(n: int) -> Results:
    """A number for each of the bins that are asked for."""

    def rule(given: Given) -> Types:
        x = given["self"]
        asked = _several(given["output_size"], n)
        return (tensor((*shape(x)[: len(shape(x)) - n], *asked), element(x)),)

    return rule


# -- linear algebra, of matrices along the last two dimensions


def with_info(given: Given) -> Types:
    """As many elements, and what failed for each matrix."""
    x = _self(given)
    return type_of(x), tensor(shape(x)[:-2], i32)


def eigen_symmetric(given: Given) -> Types:
    """Real eigenvalues, and eigenvectors."""
    x = _self(given)
    return tensor(shape(x)[:-1], real_element(element(x))), tensor(shape(x) if given["compute_v"] else (0,), element(x))


def eigen_general(given: Given) -> Types:
    """Complex eigenvalues, and eigenvectors."""
    x = _self(given)
    wide = complex_of(real_element(element(x)))
    return tensor(shape(x)[:-1], wide), tensor(shape(x), wide)


def orthogonal(given: Given) -> Types:
    """The factors of a QR factorisation; with mode "r" only the second."""
    x, mode = _self(given), given["mode"]
    *batch, m, n = shape(x)
    inner = m if mode == "complete" else min(m, n)
    first = (0,) if mode == "r" else (*batch, m, inner)
    return tensor(first, element(x)), tensor((*batch, inner, n), element(x))
