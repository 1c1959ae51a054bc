"""Views of buffers: where an element of a view is in its root, and views as tensors, read from their root and put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

from msgspec import Struct
from xdsl.dialects.builtin import AffineMapAttr, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr

from wengert.dialects.upstream import UpstreamOp
from wengert.dialects.upstream.arities import SEGMENTS
from wengert.dialects.upstream.forms import dense
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import DYNAMIC, i32, tensor
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.convert.tensors import groups_of
from wengert.transforms.upstream.writer import Writer


def tensor_of(type: Attribute) -> Attribute:
    """The tensor type of a buffer's contents."""
    buffer = cast("MemRefType[Any]", type)
    return tensor(buffer.get_shape(), buffer.element_type)


class Step(Protocol):
    """One step from a view to what it is a view of (its parent)."""

    def place(self, w: Writer, at: Sequence[SSAValue], parent: SSAValue) -> list[SSAValue]:
        """Where an element is in the parent, whose contents are ``parent``."""
        ...

    def get(self, w: Writer, parent: SSAValue, type: Attribute) -> SSAValue:
        """The view's contents as a tensor of a type."""
        ...

    def put(self, w: Writer, parent: SSAValue, value: SSAValue) -> SSAValue:
        """The parent's contents after the view's have become ``value``."""
        ...


def cast_to(w: Writer, value: SSAValue, type: Attribute) -> SSAValue:
    """The tensor with more or fewer of its extents in its type."""
    return value if value.type == type else w.one("tensor.cast", (value,), type)


class Cast(Struct, frozen=True):
    """Another type for the same buffer."""

    def place(self, w: Writer, at: Sequence[SSAValue], parent: SSAValue) -> list[SSAValue]:
        return list(at)

    def get(self, w: Writer, parent: SSAValue, type: Attribute) -> SSAValue:
        return cast_to(w, parent, type)

    def put(self, w: Writer, parent: SSAValue, value: SSAValue) -> SSAValue:
        return cast_to(w, value, parent.type)


class Subview(Struct, frozen=True):
    """A slice: offsets, sizes and strides as of ``tensor.extract_slice``."""

    op: UpstreamOp

    @property
    def _static(self) -> dict[str, Attribute]:
        return {key: self.op.attributes[key] for key in ("static_offsets", "static_sizes", "static_strides")}

    def _segments(self, first: int) -> dict[str, Attribute]:
        sizes = [len(group) for group in self.op.groups()[1:]]
        return {**self._static, SEGMENTS: dense([*([1] * first), *sizes], i32)}

    def kept(self) -> list[int]:
        """The dimensions of the parent that the view has."""
        sizes = ints(self.op.attributes["static_sizes"])
        target = list(cast("MemRefType[Any]", self.op.results[0].type).get_shape())
        surplus, kept = len(sizes) - len(target), list[int]()
        for d, size in enumerate(sizes):
            if surplus and size == 1 and target[len(kept) : len(kept) + 1] != [1]:
                surplus -= 1
            else:
                kept.append(d)
        for d in [d for d in kept if sizes[d] == 1][:surplus]:
            kept.remove(d)
        return kept

    def place(self, w: Writer, at: Sequence[SSAValue], parent: SSAValue) -> list[SSAValue]:
        _, offsets, _, strides = self.op.groups()
        starts = mixed(w, ints(self.op.attributes["static_offsets"]), offsets)
        steps = mixed(w, ints(self.op.attributes["static_strides"]), strides)
        for d, i in zip(self.kept(), at, strict=True):
            starts[d] = w.add(starts[d], w.multiply(i, steps[d]))
        return starts

    def get(self, w: Writer, parent: SSAValue, type: Attribute) -> SSAValue:
        return w.ops("tensor.extract_slice", [parent, *self.op.operands[1:]], [type], **self._segments(1)).results[0]

    def put(self, w: Writer, parent: SSAValue, value: SSAValue) -> SSAValue:
        return w.ops("tensor.insert_slice", [value, parent, *self.op.operands[1:]], [parent.type], **self._segments(2)).results[0]


class Expand(Struct, frozen=True):
    """Dimensions split into several."""

    op: UpstreamOp

    @property
    def _groups(self) -> Attribute:
        return self.op.attributes["reassociation"]

    def place(self, w: Writer, at: Sequence[SSAValue], parent: SSAValue) -> list[SSAValue]:
        sizes = mixed(w, ints(self.op.attributes["static_output_shape"]), self.op.operands[1:])
        return [linear(w, [at[d] for d in group], [sizes[d] for d in group]) for group in groups_of(self._groups)]

    def get(self, w: Writer, parent: SSAValue, type: Attribute) -> SSAValue:
        shape = self.op.attributes["static_output_shape"]
        return w.ops("tensor.expand_shape", [parent, *self.op.operands[1:]], [type], reassociation=self._groups, static_output_shape=shape).results[0]

    def put(self, w: Writer, parent: SSAValue, value: SSAValue) -> SSAValue:
        return w.one("tensor.collapse_shape", [value], parent.type, reassociation=self._groups)


class Collapse(Struct, frozen=True):
    """Several dimensions joined to one."""

    groups: Attribute

    def place(self, w: Writer, at: Sequence[SSAValue], parent: SSAValue) -> list[SSAValue]:
        sizes = extents_of(w, parent)
        return [i for group, index in zip(groups_of(self.groups), at, strict=True) for i in digits(w, index, [sizes[d] for d in group])]

    def get(self, w: Writer, parent: SSAValue, type: Attribute) -> SSAValue:
        return w.one("tensor.collapse_shape", [parent], type, reassociation=self.groups)

    def put(self, w: Writer, parent: SSAValue, value: SSAValue) -> SSAValue:
        shape = cast("MemRefType[Any]", parent.type).get_shape()
        sizes = [size for n, size in zip(shape, extents_of(w, parent), strict=True) if n == DYNAMIC]
        return w.ops("tensor.expand_shape", [value, *sizes], [parent.type], reassociation=self.groups, static_output_shape=dense(list(shape))).results[0]


class Transpose(Struct, frozen=True):
    """Dimensions in another order: dimension i of the view is dimension ``order[i]`` of the parent."""

    order: list[int]

    def place(self, w: Writer, at: Sequence[SSAValue], parent: SSAValue) -> list[SSAValue]:
        return [at[self.order.index(d)] for d in range(len(self.order))]

    def get(self, w: Writer, parent: SSAValue, type: Attribute) -> SSAValue:
        return transposed(w, parent, self.order, type)

    def put(self, w: Writer, parent: SSAValue, value: SSAValue) -> SSAValue:
        return transposed(w, value, [self.order.index(d) for d in range(len(self.order))], parent.type)


class Reshape(Struct, frozen=True):
    """The same elements in row-major order in another shape, which the type says or a list of sizes."""

    sizes: list[SSAValue]

    def place(self, w: Writer, at: Sequence[SSAValue], parent: SSAValue) -> list[SSAValue]:
        return digits(w, linear(w, at, self.sizes), extents_of(w, parent))

    def get(self, w: Writer, parent: SSAValue, type: Attribute) -> SSAValue:
        return reshaped(w, parent, self.sizes, type)

    def put(self, w: Writer, parent: SSAValue, value: SSAValue) -> SSAValue:
        return reshaped(w, value, extents_of(w, parent), parent.type)


class Strided(Struct, frozen=True):
    """Elements at ``offset + sum of index * stride`` of the parent in row-major order; all at once only if they are consecutive."""

    op: UpstreamOp

    def place(self, w: Writer, at: Sequence[SSAValue], parent: SSAValue) -> list[SSAValue]:
        _, offsets, _, strides = self.op.groups()
        (total,) = mixed(w, ints(self.op.attributes["static_offsets"]), offsets)
        for i, stride in zip(at, mixed(w, ints(self.op.attributes["static_strides"]), strides), strict=True):
            total = w.add(total, w.multiply(i, stride))
        return digits(w, total, extents_of(w, parent))

    def get(self, w: Writer, parent: SSAValue, type: Attribute) -> SSAValue:
        raise refusal(self.op, "a buffer with another layout is read and written element by element only", "memref.subview keeps the layout known")

    def put(self, w: Writer, parent: SSAValue, value: SSAValue) -> SSAValue:
        raise refusal(self.op, "a buffer with another layout is read and written element by element only", "memref.subview keeps the layout known")


# -- index arithmetic


def mixed(w: Writer, static: Sequence[int], dynamic: Sequence[SSAValue]) -> list[SSAValue]:
    """Numbers of which some are operands, as values."""
    rest = iter(dynamic)
    return [next(rest) if n == DYNAMIC else w.index(n) for n in static]


def extents_of(w: Writer, value: SSAValue) -> list[SSAValue]:
    """The extents of a tensor, as values."""
    shape = cast("MemRefType[Any]", value.type).get_shape()
    return [w.one("tensor.dim", (value, w.index(d))) if n == DYNAMIC else w.index(n) for d, n in enumerate(shape)]


def linear(w: Writer, at: Sequence[SSAValue], sizes: Sequence[SSAValue]) -> SSAValue:
    """The position in row-major order."""
    total: SSAValue | None = None
    for i, size in zip(at, sizes, strict=True):
        total = i if total is None else w.add(w.multiply(total, size), i)
    return w.index(0) if total is None else total


def digits(w: Writer, position: SSAValue, sizes: Sequence[SSAValue]) -> list[SSAValue]:
    """The indices of a position in row-major order."""
    known: list[SSAValue] = []
    for size in reversed(sizes[1:]):
        quotient = w.one("arith.divsi", (position, size))
        known.append(w.one("arith.subi", (position, w.multiply(quotient, size))))
        position = quotient
    return [position, *reversed(known)] if sizes else []


def transposed(w: Writer, value: SSAValue, order: Sequence[int], type: Attribute) -> SSAValue:
    """A tensor with its dimensions in another order."""
    extents = extents_of(w, value)
    shape = cast("MemRefType[Any]", type).get_shape()
    empty = w.one("tensor.empty", [extents[d] for d, n in zip(order, shape, strict=True) if n == DYNAMIC], type)
    return w.ops("linalg.transpose", [value, empty], [type], permutation=dense(list(order)), **{SEGMENTS: dense([1, 1], i32)}).results[0]


def reshaped(w: Writer, value: SSAValue, sizes: Sequence[SSAValue], type: Attribute) -> SSAValue:
    """A tensor in another shape."""
    listed = w.one("tensor.from_elements", sizes, tensor((len(sizes),), w.index(0).type))
    return w.one("tensor.reshape", (value, listed), type)


# -- which op makes which view


def step_of(w: Writer, op: UpstreamOp, listed: list[SSAValue] | None = None) -> Step | None:
    """The step of an op that makes a view; None for other ops. ``listed`` are the sizes that the operand of ``memref.reshape`` holds."""
    if op.name in ("memref.cast", "memref.memory_space_cast", "memref.assume_alignment"):
        return Cast()
    if op.name == "memref.subview":
        return Subview(op)
    if op.name == "memref.expand_shape":
        return Expand(op)
    if op.name == "memref.collapse_shape":
        return Collapse(op.attributes["reassociation"])
    if op.name == "memref.transpose":
        map = cast(AffineMapAttr, op.attributes["permutation"]).data
        return Transpose([expr.position for expr in map.results if isinstance(expr, AffineDimExpr)])
    if op.name == "memref.reinterpret_cast":
        return _reinterpreted(w, op)
    return Reshape(listed) if op.name == "memref.reshape" and listed is not None else None


def _reinterpreted(w: Writer, op: UpstreamOp) -> Step:
    """A reshape where the elements are all of the buffer's, or may be; else elements at strides."""
    static = [ints(op.attributes[f"static_{key}"]) for key in ("offsets", "sizes", "strides")]
    if all(n != DYNAMIC for group in static for n in group):
        strides, step = list[int](), 1
        for n in reversed(static[1]):
            strides.insert(0, step)
            step *= n
        source = cast("MemRefType[Any]", op.operands[0].type).get_shape()
        total = 1
        for n in source:
            total *= n
        if list(static[2]) == strides and static[0] == (0,) and (total == step or DYNAMIC in source):
            return Reshape([w.index(n) for n in static[1]])
    return Strided(op)


VIEWS = (
    "memref.assume_alignment",
    "memref.cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.memory_space_cast",
    "memref.reinterpret_cast",
    "memref.reshape",
    "memref.subview",
    "memref.transpose",
)
"""Ops that make views."""
