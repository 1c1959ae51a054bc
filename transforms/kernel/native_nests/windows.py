"""Reductions of windows as nests: loops over the result, then over the window, in row-major order; what lies outside is the neutral element."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from wengert.dialects import core
from wengert.dialects.kernel import Guard, Write
from wengert.dialects.kernel.positions import ZERO, Position, flatten
from wengert.ir.tensor_types import element, shape, tensor
from wengert.transforms.core.kinds import neutral
from wengert.transforms.core.recognisers.windows import Window
from wengert.transforms.fuse.roles import combination_kind, combines
from wengert.transforms.kernel.native_nests.body import Body
from wengert.transforms.kernel.native_nests.place import Place, accumulator


def window_reduce(place: Place, op: core.WindowReduceOp, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """A nest with a loop for each dimension of the result and one for each of the window; nothing if elements of the type do not combine in nests."""
    type, kind, out = element(op.operand), op.kind.data, shape(op.result)
    if not combines(type, kind):
        return []
    window, rank = Window.of_core(op), len(out)
    body = Body([*out, *window.extents], operands)
    loops, at = body.loops(), list[Position]()
    guards: list[Guard] = []
    for d, extent in enumerate(shape(op.operand)):
        position = loops[d].times(window.strides[d]).plus(loops[rank + d].times(window.dilations[d])).shifted(-window.padding[d][0])
        position, rest = body.divided(position, window.base_dilations[d])
        guards += [(rest, 0, 1), (position, 0, extent)]
        at.append(position)
    wide = accumulator(type)
    value = body.converted(body.load_or(0, flatten(at, shape(op.operand)) if rank else ZERO, guards, neutral(kind, type)), wide)
    write = Write(value, flatten(loops[:rank], out) if rank else ZERO, combination_kind(kind, type), 0)
    return [place.converted(place.put(body.nest([write], [tensor(out, wide)]))[0], type)]
