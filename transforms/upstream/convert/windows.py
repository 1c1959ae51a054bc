"""Convolutions and reductions over windows among structured ops.

An input that is indexed by ``stride * i + dilation * k``, with ``i`` a dimension of the output and ``k`` one that is reduced, is read through
windows. With a filter over ``k`` and products that are added up it is a convolution; without one, and with a sum or an extreme, a reduction over
windows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap

from wengert.dialects import stablehlo as hlo
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo import attributes as sa
from wengert.ir import elements
from wengert.ir.attributes import int_array, int_attr
from wengert.ir.tensor_types import element, is_boolean, is_float, shape, tensor
from wengert.transforms.upstream.convert.contractions import cast_through, sum_of_products
from wengert.transforms.upstream.convert.converter import Converter, Value
from wengert.transforms.upstream.convert.maps import arranged, linear_form, projected, single_dim
from wengert.transforms.upstream.convert.structured import Structured, combination, is_zero


class Window(Struct, frozen=True):
    """One dimension of an input: ``stride * out + dilation * reduced``."""

    out: int
    reduced: int
    stride: int
    dilation: int


def _windows(map: AffineMap, s: Structured) -> list[int | Window] | None:
    """What each dimension of an input is indexed by: one dimension of the space, or a window; None for anything else, or where there is no window."""
    listed: list[int | Window] = []
    for expr in map.results:
        d = single_dim(expr)
        form = linear_form(expr)
        if d is not None:
            listed.append(d)
        elif form is not None and form[1] == 0 and len(form[0]) == 2 and all(n > 0 for n in form[0].values()):
            out = [d for d in form[0] if s.parallel[d]]
            reduced = [d for d in form[0] if not s.parallel[d]]
            if len(out) != 1 or len(reduced) != 1:
                return None
            listed.append(Window(out[0], reduced[0], form[0][out[0]], form[0][reduced[0]]))
        else:
            return None
    dims = [e for d in listed for e in ((d.out, d.reduced) if isinstance(d, Window) else (d,))]
    return listed if len(set(dims)) == len(dims) and any(isinstance(d, Window) for d in listed) else None


def convolution(c: Converter, s: Structured, extents: Sequence[int]) -> list[Value] | None:
    """The output of a convolution; None where the op is none."""
    product = sum_of_products(s)
    if product is None or is_boolean(element(s.outs[0])) or not is_float(element(s.outs[0])):
        return None
    for x, y, casts_x, casts_y in ((product.x, product.y, product.casts_x, product.casts_y), (product.y, product.x, product.casts_y, product.casts_x)):
        image, kernel, out = _windows(s.maps[x], s), projected(s.maps[y]), projected(s.maps[-1])
        if image is None or kernel is None or out is None:
            continue
        roles = _roles(image, kernel, out, s)
        if roles is not None:
            total = _convolved(c, cast_through(c, s, x, casts_x), cast_through(c, s, y, casts_y), roles, extents, (image, kernel, out))
            return [total if is_zero(s.outs[0]) else c.b.add(s.outs[0], total)]
    return None


class Roles(Struct, frozen=True):
    """The dimensions of a convolution's iteration space by what they are; windows in the order of the input."""

    batch: list[int]
    groups: list[int]
    features: list[int]
    filters: list[int]
    windows: list[Window]


def _roles(image: list[int | Window], kernel: list[int], out: list[int], s: Structured) -> Roles | None:
    windows = [d for d in image if isinstance(d, Window)]
    plain = [d for d in image if not isinstance(d, Window)]
    batch = [d for d in plain if d in out and d not in kernel]
    groups = [d for d in plain if d in out and d in kernel]
    features = [d for d in plain if d not in out and d in kernel]
    filters = [d for d in kernel if d in out and d not in plain]
    covered = {*batch, *groups, *features, *filters, *(e for w in windows for e in (w.out, w.reduced))}
    kernel_dims = {*groups, *features, *filters, *(w.reduced for w in windows)}
    out_dims = {*batch, *groups, *filters, *(w.out for w in windows)}
    if covered != set(range(len(s.parallel))) or kernel_dims != set(kernel) or out_dims != set(out):
        return None
    return Roles(batch, groups, features, filters, windows)


Indexed = tuple[list[int | Window], list[int], list[int]]


def _convolved(c: Converter, x: Value, w: Value, roles: Roles, extents: Sequence[int], indexed: Indexed) -> Value:
    """The convolution in StableHLO's arrangement: [batch, groups and features, windows], [groups and filters, features, windows]."""
    b = c.b
    image, kernel, out = indexed

    def count(dims: Sequence[int]) -> int:
        return int(np.prod([extents[d] for d in dims], dtype=np.int64))

    x_order = [image.index(d) for d in (*roles.batch, *roles.groups, *roles.features, *roles.windows)]
    w_order = [kernel.index(d) for d in (*roles.groups, *roles.filters, *roles.features, *(v.reduced for v in roles.windows))]
    spatial = [shape(x)[image.index(v)] for v in roles.windows]
    x = b.reshape(b.transpose(x, x_order), (count(roles.batch), count(roles.groups) * count(roles.features), *spatial))
    w = b.reshape(b.transpose(w, w_order), (count(roles.groups) * count(roles.filters), count(roles.features), *(extents[v.reduced] for v in roles.windows)))
    used = [(extents[v.out] - 1) * v.stride + (extents[v.reduced] - 1) * v.dilation + 1 for v in roles.windows]
    x = b.slice(x, [0] * (2 + len(used)), [*shape(x)[:2], *used])  # what no window reads
    result = _convolve(c, x, w, roles, count(roles.groups), [extents[v.out] for v in roles.windows])
    order = [*roles.batch, *roles.groups, *roles.filters, *(v.out for v in roles.windows)]
    return arranged(c, b.reshape(result, [extents[d] for d in order]), order, out)


def _convolve(c: Converter, x: Value, w: Value, roles: Roles, groups: int, extents: Sequence[int]) -> Value:
    count = len(roles.windows)
    spatial = range(2, 2 + count)
    properties: dict[str, Attribute] = {
        "window_strides": int_array([v.stride for v in roles.windows]),
        "padding": elements.from_numpy(np.zeros((count, 2), np.int64)),
        "rhs_dilation": int_array([v.dilation for v in roles.windows]),
        "dimension_numbers": sa.ConvDimensionNumbersAttr.of((0, 1, spatial), (1, 0, spatial), (0, 1, spatial)),
        "feature_group_count": int_attr(groups),
        "batch_group_count": int_attr(1),
    }
    type = tensor((shape(x)[0], shape(w)[0], *extents), element(x))
    return c.b.one(hlo.ConvolutionOp, (x, w), type, **properties)


_WINDOW_KINDS = (Kind.add, Kind.max, Kind.min, Kind.mul)


def window_reduction(c: Converter, s: Structured, extents: Sequence[int]) -> list[Value] | None:
    """The output of a sum or an extreme over windows; None where the op is none."""
    if len(s.outs) != 1 or not s.reduced:
        return None
    end = combination(s, 0)
    out = projected(s.maps[-1])
    place = next((i for i in range(len(s.ins)) if end is not None and s.block.args[i] is end.value), None)
    if end is None or place is None or out is None or len(list(s.block.ops)) != 2 or end.kind not in _WINDOW_KINDS or end.is_negated:
        return None
    image = _windows(s.maps[place], s)
    if image is None or {e for d in image for e in ((d.out, d.reduced) if isinstance(d, Window) else (d,))} != set(range(len(extents))):
        return None
    plain = [d for d in image if not isinstance(d, Window)]
    if any(not s.parallel[d] for d in plain) or is_boolean(element(s.outs[0])):
        return None
    parts = [(extents[d.reduced], d.stride, d.dilation) if isinstance(d, Window) else (1, 1, 1) for d in image]
    used = [
        (extents[d.out] - 1) * d.stride + (extents[d.reduced] - 1) * d.dilation + 1 if isinstance(d, Window) else n
        for d, n in zip(image, shape(s.ins[place]), strict=True)
    ]
    x = c.b.slice(s.ins[place], [0] * len(used), used)
    ones = [1] * len(used)
    total = c.b.window_reduce(end.kind, x, [p[0] for p in parts], [p[1] for p in parts], ones, [p[2] for p in parts], [(0, 0)] * len(used))
    order = [d.out if isinstance(d, Window) else d for d in image]
    return [end.combine(c.b, s.outs[0], arranged(c, total, order, out))]
