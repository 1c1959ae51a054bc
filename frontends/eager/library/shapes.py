"""Operations on shapes and positions that are not among those with code of their own."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (tables of one-line functions, whose arguments have no types)

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations as chosen
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import numpy

from wengert.eager.containers import listed
from wengert.eager.errors import ShapeError
from wengert.eager.library.calling import Function, aten
from wengert.eager.operations.creation import as_tensor
from wengert.eager.operations.joining import cat, stack
from wengert.eager.operations.memory import complex_views, windows
from wengert.eager.operations.memory.views import check_rank, dimension
from wengert.eager.operations.reading import seen
from wengert.eager.recording import dispatch


def _extents(given: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in (given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given))


def repeat(x: Any, *sizes: Any, repeats: Any = None) -> Any:
    """x so many times along each dimension; new ones come first."""
    times = _extents(sizes if repeats is None else (repeats,))
    if len(times) < x.array.ndim:
        raise ShapeError(f"repeat: {len(times)} numbers for a tensor of {x.array.ndim} dimensions")
    own = (*(1,) * (len(times) - x.array.ndim), *x.array.shape)
    apart = [n for pair in zip((1,) * len(own), own, strict=True) for n in pair]
    wide = [n for pair in zip(times, own, strict=True) for n in pair]
    made = x.reshape(*apart).expand(*wide).reshape(*(n * m for n, m in zip(times, own, strict=True)))
    return made if made.view_of is None else made.clone()


def tile(x: Any, *dims: Any, **keywords: Any) -> Any:
    """As :func:`repeat`, with ones in front of too few numbers."""
    times = _extents(dims or (keywords["dims"],))
    return repeat(x, *((1,) * (x.array.ndim - len(times)) + times))


def roll(x: Any, shifts: Any, dims: Any = None) -> Any:
    """x with elements moved around along dimensions, or along all as one."""
    if dims is None or dims == ():
        return roll(x.reshape(-1), shifts, 0).reshape(*x.array.shape)
    if not x.array.ndim:
        raise IndexError(f"roll: dimension {dims} is out of range for a tensor without dimensions")
    for shift, dim in zip(listed(shifts), listed(dims), strict=True):
        size = x.array.shape[dim]
        if size:
            x = cat([x.narrow(dim, size - shift % size, shift % size), x.narrow(dim, 0, size - shift % size)], dim)
    return x.clone()


def movedim(x: Any, source: Any, destination: Any) -> Any:
    """x with dimensions at other places."""
    rank = x.array.ndim
    first, last = ([dimension(d, rank, "movedim") for d in listed(v)] for v in (source, destination))
    if not rank:
        return x.permute()
    rest = iter(d for d in range(rank) if d not in first)
    places = dict(zip(last, first, strict=True))
    return x.permute(*(places[d] if d in places else next(rest) for d in range(rank)))


def rot90(x: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    """x turned by quarters in a plane."""
    turned = [x.clone, lambda: x.flip(dims[1]).transpose(*dims), lambda: x.flip(*dims), lambda: x.flip(dims[0]).transpose(*dims)]
    return turned[k % 4]()


def atleast(rank: int) -> Function:
    """Tensors of at least so many dimensions."""

    def one(x: Any) -> Any:
        if x.array.ndim == 0:
            x = x.reshape(1)
        if rank >= 2 and x.array.ndim == 1:
            x = x.unsqueeze(0)
        return x.unsqueeze(-1) if rank == 3 and x.array.ndim == 2 else x

    return lambda *xs: (
        tuple(map(one, listed(xs[0]))) if len(xs) == 1 and isinstance(xs[0], list | tuple) else one(xs[0]) if len(xs) == 1 else tuple(map(one, xs))
    )


def stacked(rank: int, dim: Any) -> Function:
    """Tensors of at least so many dimensions side by side."""

    def run(tensors: Any) -> Any:
        parts = [atleast(rank)(x) for x in tensors]
        return cat(parts, dim(parts[0].array.ndim))

    return run


def tensor_split(x: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """x in so many parts, the first of which may be larger by one, or cut at positions."""
    size = x.array.shape[dim]
    given = indices_or_sections.tolist() if hasattr(indices_or_sections, "array") else indices_or_sections
    if isinstance(given, int):
        base, more = divmod(size, given)
        cuts = [0, *numpy.cumsum([base + (i < more) for i in range(given)]).tolist()]
    else:
        cuts = [0, *(min(max(i + size if i < 0 else i, 0), size) for i in given), size]
    return tuple(x.narrow(dim, start, max(stop - start, 0)) for start, stop in pairwise(cuts))


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """Coordinates on a grid."""
    xs = listed(tensors[0]) if len(tensors) == 1 else list(tensors)
    xs = [x.reshape(1) if x.array.ndim == 0 else x for x in xs]
    order = [1, 0, *range(2, len(xs))] if indexing == "xy" and len(xs) > 1 else list(range(len(xs)))
    shape = [xs[d].array.shape[0] for d in order]
    return tuple(x.reshape(*(-1 if d == order.index(i) else 1 for d in range(len(xs)))).expand(*shape) for i, x in enumerate(xs))


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Tensors in the shape that they broadcast to."""
    xs = listed(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else list(tensors)
    shape = numpy.broadcast_shapes(*(x.array.shape for x in xs))
    return tuple(x.expand(*shape) for x in xs)


def diag(x: Any, diagonal: int = 0) -> Any:
    """The diagonal of a matrix, or a matrix with this diagonal."""
    check_rank(x, "diag", 1, 2)
    return diag_embed(x, diagonal) if x.array.ndim == 1 else x.diagonal(diagonal).clone()


def diag_embed(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices with these diagonals."""
    n = x.array.shape[-1] + abs(offset)
    rows = (pad_front if offset >= 0 else pad_back)(x, abs(offset)).unsqueeze(-2).expand(*x.array.shape[:-1], n, n)
    made = rows.masked_fill(dispatch.new(~numpy.broadcast_to(numpy.eye(n, k=offset, dtype=bool), rows.array.shape)), 0)
    rank = made.array.ndim
    return made if (dim1 % rank, dim2 % rank) == (rank - 2, rank - 1) else movedim(made, (-2, -1), (dim1, dim2))


def pad_front(x: Any, count: int) -> Any:
    """x with zeros in front along the last dimension."""
    return cat([dispatch.new(numpy.zeros((*x.array.shape[:-1], count), x.array.dtype)), x], -1) if count else x


def pad_back(x: Any, count: int) -> Any:
    """x with zeros behind along the last dimension."""
    return cat([x, dispatch.new(numpy.zeros((*x.array.shape[:-1], count), x.array.dtype))], -1) if count else x


def block_diag(*tensors: Any) -> Any:
    """Matrices along the diagonal of one."""
    for x in tensors:
        check_rank(as_tensor(x), "block_diag", 0, 2)
    parts = [atleast(2)(as_tensor(x)) for x in tensors]
    width = sum(x.array.shape[1] for x in parts)
    rows: list[Any] = []
    before = 0
    for x in parts:
        rows.append(pad_front(pad_back(x, width - before - x.array.shape[1]), before))
        before += x.array.shape[1]
    return cat(rows, 0)


def combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of r elements."""
    pick = combinations_with_replacement if with_replacement else chosen
    places = numpy.array(list(pick(range(x.array.shape[0]), r)), numpy.int64).reshape(-1, r)
    return x[dispatch.new(places)]


def cartesian_prod(*tensors: Any) -> Any:
    """All choices of an element of each."""
    for x in tensors:
        check_rank(x, "cartesian_prod", 1, 1)
    if len(tensors) == 1:
        return tensors[0]
    places = numpy.array(list(product(*(range(x.array.shape[0]) for x in tensors))), numpy.int64).reshape(-1, len(tensors))
    return stack([x[dispatch.new(places[:, i])] for i, x in enumerate(tensors)], 1)


def take(x: Any, index: Any) -> Any:
    """Elements at positions counted through all."""
    return x.reshape(-1)[index.reshape(-1)].reshape(*index.array.shape)


def take_along_dim(x: Any, indices: Any, dim: int | None = None) -> Any:
    """Elements at one position along a dimension."""
    if dim is None:
        return x.reshape(-1).gather(0, indices.reshape(-1))
    shape = list(numpy.broadcast_shapes(*((*a[: dim % len(a)], 1, *a[dim % len(a) + 1 :]) for a in (x.array.shape, indices.array.shape))))
    wide = [(*shape[: dim % len(shape)], a[dim], *shape[dim % len(shape) + 1 :]) for a in (x.array.shape, indices.array.shape)]
    return x.expand(*wide[0]).gather(dim, indices.expand(*wide[1]))


def masked_select(x: Any, mask: Any) -> Any:
    """The elements where a mask holds."""
    x, mask = broadcast_tensors(x, mask)
    return x[mask]


def repeat_interleave(x: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Any:
    """Each element so many times."""
    if dim is not None and not x.array.ndim:
        raise IndexError(f"repeat_interleave: dimension {dim} is out of range for a tensor without dimensions")
    x, dim = (x.reshape(-1), 0) if dim is None else (x, dim)
    times = repeats.array if hasattr(repeats, "array") else numpy.asarray(repeats)
    size = x.array.shape[dim] if x.array.ndim else 1
    places = numpy.repeat(numpy.arange(size), numpy.broadcast_to(times, (size,)))
    return (x if x.array.ndim else x.reshape(1)).index_select(dim, dispatch.new(places))


def unflatten(x: Any, dim: int, sizes: Any) -> Any:
    """A dimension as several."""
    d = dim % x.array.ndim
    known = -int(numpy.prod(sizes))
    sizes = [x.array.shape[d] // known if n == -1 else n for n in sizes]
    return x.view(*x.array.shape[:d], *sizes, *x.array.shape[d + 1 :])


def put_along(x: Any, view: Function, source: Any) -> Any:
    """A copy of x in which a view has other elements."""
    made = x.clone()
    view(made).copy_(source)
    return made


def diff(x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours, n times."""
    x = cat([part for part in (prepend, x, append) if part is not None], dim)
    for _ in range(min(n, x.array.shape[dim])):
        size = x.array.shape[dim]
        after, before = x.narrow(dim, 1, size - 1), x.narrow(dim, 0, size - 1)
        x = (after.long() ^ before.long()).bool() if x.array.dtype.kind == "b" else after - before
    return x


def sum_to_size(x: Any, *size: Any) -> Any:
    """x summed along what was broadcast to it."""
    shape = _extents(size)
    first = x.array.ndim - len(shape)
    gone = [d for d in range(x.array.ndim) if d < first or shape[d - first] != x.array.shape[d]]
    return x.sum(gone, True).reshape(*shape) if gone else x


def _positions(narrow: bool, places: Any) -> Any:
    return dispatch.new(numpy.asarray(places, numpy.int32 if narrow else numpy.int64))


def searchsorted(sequence: Any, x: Any, *, right: bool = False, side: str | None = None, out_int32: bool = False, sorter: Any = None) -> Any:
    """The positions at which elements belong in a sorted row, or in the sorted rows of the same leading dimensions."""
    rows, values = seen(sequence), seen(as_tensor(x))
    if sorter is not None:
        rows = numpy.take_along_axis(rows, seen(sorter), -1)
    which = "right" if right or side == "right" else "left"
    if rows.ndim == 1:
        return _positions(out_int32, numpy.searchsorted(rows, values, which))
    made = numpy.empty(values.shape, numpy.int64)
    for at in numpy.ndindex(rows.shape[:-1]):
        made[at] = numpy.searchsorted(rows[at], values[at], which)
    return _positions(out_int32, made)


def _trace(x: Any) -> Any:
    check_rank(x, "trace", 2, 2)
    return x.diagonal().sum()


def _nonzero(x: Any, *, as_tuple: bool = False) -> Any:
    """The positions of elements that are not zero: as rows of a matrix, or a vector for each dimension."""
    a = seen(x)
    if as_tuple:
        return tuple(map(dispatch.new, numpy.nonzero(numpy.atleast_1d(a))))
    return dispatch.new(numpy.argwhere(a) if a.ndim else numpy.zeros((int(a != 0), 0), numpy.int64))


def vander(x: Any, N: int | None = None, *, increasing: bool = False) -> Any:  # noqa: N803  (PyTorch's name)
    """The powers of the elements of a vector, as rows: from the highest to the zeroth, or increasing."""
    check_rank(x, "vander", 1, 1)
    count = x.array.shape[0] if N is None else N
    ones = x.new_ones((x.array.shape[0], 1))
    powers = cat([ones, x.unsqueeze(1).expand(-1, count - 1).cumprod(1)], 1) if count > 1 else ones[:, :count]
    return powers if increasing else powers.flip(1)


SHAPES: dict[str, Function] = {
    **{name: aten(f"{name}.default") for name in ("grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "affine_grid_generator")},
    "repeat": repeat,
    "tile": tile,
    "roll": roll,
    "movedim": movedim,
    "moveaxis": movedim,
    "rot90": rot90,
    "swapaxes": lambda x, axis0, axis1: x.transpose(axis0, axis1),
    "swapdims": lambda x, dim0, dim1: x.transpose(dim0, dim1),
    "fliplr": lambda x: x.flip(1),
    "flipud": lambda x: x.flip(0),
    "atleast_1d": atleast(1),
    "atleast_2d": atleast(2),
    "atleast_3d": atleast(3),
    "hstack": stacked(1, lambda rank: 0 if rank == 1 else 1),
    "vstack": stacked(2, lambda rank: 0),
    "row_stack": stacked(2, lambda rank: 0),
    "dstack": stacked(3, lambda rank: 2),
    "column_stack": lambda tensors: cat([x.reshape(-1, 1) if x.array.ndim < 2 else x for x in tensors], 1),
    "concat": lambda tensors, dim=0: cat(tensors, dim),
    "concatenate": lambda tensors, dim=0: cat(tensors, dim),
    "tensor_split": tensor_split,
    "hsplit": lambda x, given: tensor_split(x, given, 0 if x.array.ndim == 1 else 1),
    "vsplit": lambda x, given: tensor_split(x, given, 0),
    "dsplit": lambda x, given: tensor_split(x, given, 2),
    "split_with_sizes": lambda x, split_sizes, dim=0: x.split(split_sizes, dim),
    "unsafe_split": lambda x, split_size, dim=0: tuple(piece.clone() for piece in x.split(split_size, dim)),
    "unsafe_split_with_sizes": lambda x, split_sizes, dim=0: tuple(piece.clone() for piece in x.split(split_sizes, dim)),
    "unsafe_chunk": lambda x, chunks, dim=0: tuple(piece.clone() for piece in x.chunk(chunks, dim)),
    "split_with_sizes_copy": lambda x, split_sizes, dim=0: tuple(v.clone() for v in x.split(split_sizes, dim)),
    "unbind_copy": lambda x, dim=0: tuple(v.clone() for v in x.unbind(dim)),
    "broadcast_to": lambda x, size: x.expand(*size),
    "broadcast_tensors": broadcast_tensors,
    "meshgrid": meshgrid,
    "diag": diag,
    "diag_embed": diag_embed,
    "diagflat": lambda x, offset=0: diag_embed(x.reshape(-1), offset),
    "block_diag": block_diag,
    "combinations": combinations,
    "vander": vander,
    "cartesian_prod": cartesian_prod,
    "take": take,
    "take_along_dim": take_along_dim,
    "masked_select": masked_select,
    "repeat_interleave": repeat_interleave,
    "unflatten": unflatten,
    "unfold": windows.unfold,
    "unfold_copy": lambda x, dimension, size, step: windows.unfold(x, dimension, size, step).clone(),
    "ravel": lambda x: x.reshape(-1),
    "reshape_as": lambda x, other: x.reshape(*other.array.shape),
    "alias_copy": lambda x: x.clone(),
    "expand_copy": lambda x, size: x.expand(*size).clone(),
    "permute_copy": lambda x, dims: x.permute(*dims).clone(),
    "squeeze_copy": lambda x, *dim: x.squeeze(*dim).clone(),
    "unsqueeze_copy": lambda x, dim: x.unsqueeze(dim).clone(),
    "t_copy": lambda x: x.t().clone(),
    "transpose_copy": lambda x, dim0, dim1: x.transpose(dim0, dim1).clone(),
    "view_copy": lambda x, size: x.reshape(*size).clone(),
    "narrow_copy": lambda x, dim, start, length: x.narrow(dim, start, length).clone(),
    "diagonal_copy": lambda x, offset=0, dim1=0, dim2=1: x.diagonal(offset, dim1, dim2).clone(),
    "detach_copy": lambda x: x.detach().clone(),
    "select_scatter": lambda x, src, dim, index: put_along(x, lambda v: v.select(dim, index), src),
    "slice_scatter": lambda x, src, dim=0, start=None, end=None, step=1: put_along(
        x, lambda v: v[(slice(None),) * (dim % v.array.ndim) + (slice(start, end, step),)], src
    ),
    "diagonal_scatter": lambda x, src, offset=0, dim1=0, dim2=1: put_along(x, lambda v: v.diagonal(offset, dim1, dim2), src),
    "index_put": lambda x, indices, values, accumulate=False: (
        aten("index_put.default")(x, list(indices), values, accumulate) if accumulate else put_along_index(x, indices, values)
    ),
    "diff": diff,
    "sum_to_size": sum_to_size,
    "adjoint": lambda x: x.transpose(-2, -1),
    "H": lambda x: x.t(),
    "mH": lambda x: x.transpose(-2, -1),
    "T": lambda x: x.t() if x.array.ndim < 3 else x.permute(*reversed(range(x.array.ndim))),
    "mT": lambda x: x.transpose(-2, -1),
    "trace": _trace,
    "item": lambda x: x.item(),
    "argwhere": _nonzero,
    "nonzero": _nonzero,
    "tril_indices": lambda row, col, offset=0, dtype=None: dispatch.new(numpy.array(numpy.tril_indices(row, offset, col), dtype or numpy.int64)),
    "triu_indices": lambda row, col, offset=0, dtype=None: dispatch.new(numpy.array(numpy.triu_indices(row, offset, col), dtype or numpy.int64)),
    "broadcast_shapes": numpy.broadcast_shapes,
    "constant_pad_nd": lambda x, pad, value=0: aten("constant_pad_nd.default")(x, list(pad), value),
    "masked_scatter": lambda x, mask, source: aten("masked_scatter.default")(x.expand(*numpy.broadcast_shapes(x.array.shape, mask.array.shape)), mask, source),
    "slice": lambda x, dim=0, start=None, end=None, step=1: x[(slice(None),) * (dim % x.array.ndim) + (slice(start, end, step),)],
    "as_strided_copy": lambda x, size, stride, storage_offset=None: aten("as_strided.default")(x, list(size), list(stride), storage_offset),
    "view_as_real": complex_views.view_as_real,
    "view_as_complex": complex_views.view_as_complex,
    "isin": lambda elements, test_elements, assume_unique=False, invert=False: dispatch.new(
        numpy.isin(seen(as_tensor(elements)), seen(as_tensor(test_elements)), invert=invert)
    ),
    "bincount": lambda x, weights=None, minlength=0: dispatch.new(numpy.bincount(seen(x), None if weights is None else seen(weights), minlength)),
    "searchsorted": searchsorted,
    "bucketize": lambda x, boundaries, *, right=False, out_int32=False: _positions(
        out_int32, numpy.searchsorted(seen(boundaries), seen(as_tensor(x)), "right" if right else "left")
    ),
}


def put_along_index(x: Any, indices: Any, values: Any) -> Any:
    """A copy of x with other elements at positions."""
    made = x.clone()
    made[tuple(indices)] = values
    return made
