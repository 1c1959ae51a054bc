"""Convolutions as nests that sum products over the window and the channels.

For an input x, a kernel w, a stride s, a dilation e of the window and b of the input, and padding of l in front, along each spatial dimension::

    y[n, o, i] = sum over k, c of x[n, c, (i s + k e - l) / b] w[o, c, k]

where elements between those of a dilated input, and in the padding, are 0 (and take part: 0 times infinity is not a number). Groups of
features and of batch elements choose c and n by o.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.core import Kind
from wengert.dialects.kernel import Guard, Write
from wengert.dialects.kernel.positions import Position, flatten
from wengert.dialects.stablehlo.convolution_windows import Windows, windows_of
from wengert.ir.tensor_types import element, i1, shape, tensor
from wengert.transforms.fuse.roles import combines
from wengert.transforms.kernel.native_nests.body import Body
from wengert.transforms.kernel.native_nests.place import Place, accumulator


def convolution(place: Place, op: stablehlo.ConvolutionOp, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """A nest with a loop for each dimension of the result, then those over the window and the channels of a group; nothing if elements of the result's
    type do not add up in nests."""
    type = element(op.result)
    if type == i1 or not combines(type, Kind.add):
        return []
    w, out = windows_of(op), shape(op.result)
    body = Body([*out, *[shape(op.rhs)[d] for d in _summed(op, w)]], operands)
    read, guards = _input_position(body, op, w)
    factors = [body.load_or(0, read, guards, 0), body.load(1, _kernel_position(body, op, w))]
    wide = accumulator(type)
    product = body.apply("multiply", wide, *[body.converted(factor, wide) for factor in factors])
    write = Write(product, flatten(body.loops()[: len(out)], out), "add", 0)
    return [place.converted(place.put(body.nest([write], [tensor(out, wide)]))[0], type)]


def _summed(op: stablehlo.ConvolutionOp, w: Windows) -> list[int]:
    """The kernel's dimensions that are summed over, the inner loops last.

    A window with more positions than there are in the result, as in the gradient of a kernel, is a sum that threads share: then they read neighbours if
    the loops are in the order of the input's dimensions.
    """
    pairs = list(zip(w.lhs[1:], (w.rhs[0], *w.rhs[2:]), strict=True))
    is_shared = prod(shape(op.rhs)[d] for d in w.rhs[2:]) > prod(shape(op.result)[d] for d in w.out[2:])
    return [d for _, d in (sorted(pairs) if is_shared else (*pairs[1:], pairs[0]))]


def _summed_loops(body: Body, op: stablehlo.ConvolutionOp, w: Windows) -> dict[int, Position]:
    """The loop of each of the kernel's dimensions that are summed over."""
    return dict(zip(_summed(op, w), body.loops()[len(w.rhs) :], strict=True))


def _input_position(body: Body, op: stablehlo.ConvolutionOp, w: Windows) -> tuple[Position, list[Guard]]:
    """The position of the input's element, and the guards that hold where there is one."""
    extents, loops, summed = shape(op.lhs), body.loops(), _summed_loops(body, op, w)
    at: dict[int, Position] = {}
    guards: list[Guard] = []
    for n, d in enumerate(w.lhs[2:]):
        position = loops[w.out[2 + n]].times(w.strides[n]).plus(summed[w.rhs[2 + n]].times(w.dilations[n])).shifted(-w.low[n])
        position, rest = body.divided(position, w.base[n])
        guards += [(rest, 0, 1), (position, 0, extents[d])]
        at[d] = position
    feature, channels = loops[w.out[1]], shape(op.rhs)[w.rhs[0]]
    group, _ = body.divided(feature, shape(op.result)[w.out[1]] // w.groups)
    at[w.lhs[1]] = summed[w.rhs[0]].plus(group.times(channels))
    lot, _ = body.divided(feature, shape(op.result)[w.out[1]] // w.batch_groups)
    at[w.lhs[0]] = loops[w.out[0]].plus(lot.times(shape(op.result)[w.out[0]]))
    return flatten([at[d] for d in range(len(at))], extents), guards


def _kernel_position(body: Body, op: stablehlo.ConvolutionOp, w: Windows) -> Position:
    """The position of the kernel's element; along a dimension that is reversed, from its end."""
    extents, at = shape(op.rhs), _summed_loops(body, op, w)
    at[w.rhs[1]] = body.loop(w.out[1])
    for d, flip in zip(w.rhs[2:], w.flips, strict=True):
        if flip:
            at[d] = at[d].times(-1).shifted(extents[d] - 1)
    return flatten([at[d] for d in range(len(at))], extents)
