"""Rules for the types of results of views, and of tensors that are made from extents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, prod
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from wengert.frontends.aten.axes import axes, axis
from wengert.frontends.aten.result_types.promotion import category, complex_of, promoted_element, tensors
from wengert.frontends.aten.result_types.rules import Types, default_element
from wengert.ir.tensor_types import element, element_of, i1, i64, is_boolean, real_element, shape, tensor, type_of

Given = Mapping[str, Any]
Extents = Callable[[Given], tuple[int, ...]]


def _of(extents: Extents) -> Callable[[Given], Types]:
    """The first tensor's elements in other extents."""
    return lambda given: (tensor(extents(given), element(tensors(given.values())[0])),)


def _own(given: Given) -> tuple[int, ...]:
    return shape(tensors(given.values())[0])


def _viewed(given: Given) -> tuple[int, ...]:
    asked = list(given["size"] if "size" in given else given["shape"])
    if -1 in asked:
        rest = prod(n for n in asked if n != -1)
        asked[asked.index(-1)] = prod(_own(given)) // rest if rest else 0
    return tuple(asked)


def _squeezed(given: Given) -> tuple[int, ...]:
    own, dim = _own(given), given.get("dim")
    gone = range(len(own)) if dim is None else axes(dim, len(own)) if own else []
    return tuple(n for d, n in enumerate(own) if n != 1 or d not in gone)


def _unsqueezed(given: Given) -> tuple[int, ...]:
    own = list(_own(given))
    own.insert(axis(given["dim"], len(own) + 1), 1)
    return tuple(own)


def _exchanged(given: Given) -> tuple[int, ...]:
    own = list(_own(given))
    if own:
        i, j = (axis(given.get(name, default), len(own)) for name, default in (("dim0", 0), ("dim1", -1)))
        own[i], own[j] = own[j], own[i]
    return tuple(own)


def _expanded(given: Given) -> tuple[int, ...]:
    own, asked = _own(given), list(given["size"])
    first = len(asked) - len(own)
    return tuple(own[d - first] if n == -1 else n for d, n in enumerate(asked))


def _diagonal(given: Given) -> tuple[int, ...]:
    own, offset = _own(given), given["offset"]
    i, j = (axis(given[name], len(own)) for name in ("dim1", "dim2"))
    count = min(own[i], own[j] - offset) if offset >= 0 else min(own[i] + offset, own[j])
    return (*(n for d, n in enumerate(own) if d not in (i, j)), max(count, 0))


def _sliced(given: Given) -> tuple[int, ...]:
    own = list(_own(given))
    d = axis(given["dim"], len(own))
    own[d] = len(range(*slice(given["start"], given["end"], given["step"]).indices(own[d])))
    return tuple(own)


def _without(given: Given) -> tuple[int, ...]:
    own = _own(given)
    d = axis(given["dim"], len(own))
    return tuple(n for i, n in enumerate(own) if i != d)


viewed, squeezed, unsqueezed, exchanged = map(_of, (_viewed, _squeezed, _unsqueezed, _exchanged))
permuted = _of(lambda given: tuple(_own(given)[axis(d, len(_own(given)))] for d in given["dims"]))
expanded, diagonal, sliced, without = map(_of, (_expanded, _diagonal, _sliced, _without))


def pieces(given: Given) -> Types:
    """Pieces of given sizes along a dimension, or of one size and what is left."""
    x = tensors(given.values())[0]
    d = axis(given["dim"], len(shape(x)))
    extent = shape(x)[d]
    if "split_sizes" in given:
        sizes = list(given["split_sizes"])
    else:
        size = given["split_size"]
        sizes = [min(size, extent - start) for start in range(0, extent, size)] if extent else [0]
    return tuple(tensor(tuple(n if i == d else m for i, m in enumerate(shape(x))), element(x)) for n in sizes)


def positions_of(given: Given) -> Types:
    """Every position along a dimension."""
    (one,) = without(given)
    return (one,) * _own(given)[axis(given["dim"], len(_own(given)))]


def indexed(given: Given) -> Types:
    """x[indices]: the common extents of the indices in the place of those dimensions that they stand for."""
    x, indices = given["self"], given["indices"]
    own = shape(x)
    dims = [d for d, index in enumerate(indices) if index is not None]
    if any(is_boolean(element(index)) for index in indices if index is not None):
        raise ValueError("the shape of x[mask] depends on the elements of the mask")
    common = np.broadcast_shapes(*(shape(index) for index in indices if index is not None))
    kept = [n for d, n in enumerate(own) if d not in dims]
    first = dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0
    return (tensor((*kept[:first], *common, *kept[first:]), element(x)),)


# -- complex numbers as pairs


def pairs(given: Given) -> Types:
    """Pairs of reals along a new last dimension."""
    x = tensors(given.values())[0]
    return (tensor((*shape(x), 2), real_element(element(x))),)


def from_pairs(given: Given) -> Types:
    """A complex number for each pair along the last dimension."""
    x = tensors(given.values())[0]
    return (tensor(shape(x)[:-1], complex_of(element(x))),)


# -- made from extents


def _asked(given: Given, element_type: Attribute) -> Attribute:
    dtype = given.get("dtype")
    # PyTorch fills in its number for the default type.
    return element_type if dtype is None or isinstance(dtype, int) else dtype if isinstance(dtype, Attribute) else element_of(dtype)


def _number(given: Given, value: Any) -> Attribute:
    """The element type of a number: reals of the default type."""
    return promoted_element([value], default_element(given))


def made(given: Given) -> Types:
    """Elements of the default type in given extents; like a tensor, where there is one; of the type of the number that fills it, where there is one."""
    known = tensors(given.values())
    own = element(known[0]) if known else default_element(given)
    for name in ("fill_value", "s"):
        if not known and name in given:
            own = _number(given, given[name])
    extents = given["size"] if "size" in given else shape(known[0]) if known else ()
    return (tensor(tuple(extents), _asked(given, own)),)


def square(given: Given) -> Types:
    """A matrix of n rows and m (or n) columns."""
    return (tensor((given["n"], given.get("m", given["n"])), _asked(given, default_element(given))),)


def counted_up(given: Given) -> Types:
    """As many numbers as there are steps from start to end."""
    start, end, step = (given[k] for k in ("start", "end", "step"))
    whole = all(isinstance(v, int) for v in (start, end, step))
    return (tensor((max(ceil((end - start) / step), 0),), _asked(given, i64 if whole else default_element(given))),)


def integers(given: Given) -> Types:
    """Integers in given extents: as i64, unless another type is asked for."""
    return (tensor(tuple(given["size"]) if "size" in given else (given["n"],), _asked(given, i64)),)


def normal(given: Given) -> Types:
    """A number for each mean and each deviation."""
    known = tensors(given.values())
    if not known:
        return (tensor(tuple(given["size"]), _asked(given, default_element(given))),)
    return (tensor(np.broadcast_shapes(*map(shape, known)), promoted_element(known, default_element(given))),)


def places_in_rows(given: Given) -> Types:
    """A position for each element, as i64 or as i32."""
    return (tensor(shape(given["self"]), element_of(np.dtype(np.int32 if given["out_int32"] else np.int64))),)


def corners(given: Given) -> Types:
    """Rows and columns of a triangle."""
    rows, columns, offset = (given[k] for k in ("row", "col", "offset"))
    lower = sum(min(max(i + 1 + offset, 0), columns) for i in range(rows))
    count = lower if given.get("lower", True) else rows * columns - sum(min(max(i + offset, 0), columns) for i in range(rows))
    return (tensor((2, count), _asked(given, i64)),)


def upper_corners(given: Given) -> Types:
    """The same of an upper triangle."""
    return corners({**given, "lower": False})


def with_mask(given: Given) -> Types:
    """As many elements, and a boolean for each."""
    x = tensors(given.values())[0]
    return tensor(shape(x), element(x)), tensor(shape(x), i1)


def chosen(given: Given) -> Types:
    """So many positions along the last dimension."""
    x = tensors(given.values())[0]
    return (tensor((*shape(x)[:-1], given["num_samples"]), i64),)


def noisy(given: Given) -> Types:
    """As many elements, and what each is multiplied by."""
    x = tensors(given.values())[0]
    return type_of(x), type_of(x)


def frequencies(given: Given) -> Types:
    """n frequencies."""
    return (tensor((given["n"],), _asked(given, default_element(given))),)


def half_frequencies(given: Given) -> Types:
    """Those that are not negative."""
    return (tensor((given["n"] // 2 + 1,), _asked(given, default_element(given))),)


def transformed(given: Given) -> Types:
    """Complex numbers; with ``onesided`` of half of them along the last of the dimensions."""
    x = given["self"]
    extents = list(shape(x))
    if given.get("onesided"):
        d = axis(given["dim"][-1], len(extents))
        extents[d] = extents[d] // 2 + 1
    own = element(x)
    return (tensor(tuple(extents), own if category(own) > 2 else complex_of(own)),)


def transformed_to_reals(given: Given) -> Types:
    """Reals, of a given number along the last of the dimensions."""
    x = given["self"]
    extents = list(shape(x))
    extents[axis(given["dim"][-1], len(extents))] = given["last_dim_size"]
    return (tensor(tuple(extents), real_element(element(x))),)
