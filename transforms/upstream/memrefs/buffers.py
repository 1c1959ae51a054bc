"""Root buffers and their contents: reading and writing elements and whole views."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects.upstream import UpstreamOp
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.memrefs.views import Step, cast_to, tensor_of
from wengert.transforms.upstream.writer import Writer


class View:
    """A view of a buffer, or a buffer itself.

    Attributes:
        type: the tensor type of its contents.
        parent: what it is a view of; None for a root.
        step: how it is made of that.
        number: the position of the argument that a root is, else None.
        is_constant: whether a root is never written.
    """

    def __init__(self, type: Attribute, parent: View | None = None, step: Step | None = None, *, number: int | None = None, is_constant: bool = False):
        self.type, self.parent, self.step = type, parent, step
        self.number, self.is_constant = number, is_constant

    @property
    def root(self) -> View:
        """The buffer that it is a view of."""
        return self if self.parent is None else self.parent.root


class Buffers:
    """The views that buffers' values are, and what is in the roots now."""

    def __init__(self) -> None:
        self.views: dict[SSAValue, View] = {}
        self.contents: dict[View, SSAValue] = {}

    def view(self, op: Operation, value: SSAValue) -> View:
        """The view that a value is; an error where it is not known statically."""
        view = self.views.get(value)
        if view is None:
            raise refusal(
                op, "which buffer this is, is not known where the program is read", "a buffer that is chosen, carried or returned by a region is not supported"
            )
        return view

    def new_root(self, value: SSAValue, contents: SSAValue, **facts: object) -> View:
        """Makes a value a root buffer with these contents."""
        root = self.views[value] = View(tensor_of(value.type), **facts)  # pyright: ignore[reportArgumentType]
        self.contents[root] = contents
        return root

    # -- elements

    def place(self, w: Writer, view: View, at: Sequence[SSAValue]) -> list[SSAValue]:
        """Where an element of a view is in its root."""
        if view.parent is None or view.step is None:
            return list(at)
        return self.place(w, view.parent, view.step.place(w, at, self.read(w, view.parent)))

    def load(self, w: Writer, view: View, at: Sequence[SSAValue], element: Attribute) -> SSAValue:
        """An element."""
        return w.one("tensor.extract", [self.contents[view.root], *self.place(w, view, at)], element)

    def store(self, w: Writer, op: Operation, view: View, at: Sequence[SSAValue], value: SSAValue) -> None:
        """Another element in its place."""
        root = self.writable(op, view)
        before = self.contents[root]
        self.contents[root] = w.one("tensor.insert", [value, before, *self.place(w, view, at)], before.type)

    # -- whole views

    def read(self, w: Writer, view: View) -> SSAValue:
        """A view's contents as a tensor."""
        if view.parent is None or view.step is None:
            return self.contents[view]
        return view.step.get(w, self.read(w, view.parent), view.type)

    def write(self, w: Writer, op: Operation, view: View, value: SSAValue) -> None:
        """Other contents of a view."""
        self.writable(op, view)
        if view.parent is None or view.step is None:
            self.contents[view] = cast_to(w, value, view.type)
        else:
            self.write(w, op, view.parent, view.step.put(w, self.read(w, view.parent), value))

    def writable(self, op: Operation, view: View) -> View:
        """The root of a view that is written; an error where it may not be."""
        if view.root.is_constant:
            raise refusal(op, "a global is written", "only globals that are read are supported")
        return view.root


def is_buffer(value: SSAValue) -> bool:
    """Whether a value is a buffer."""
    return isinstance(value.type, MemRefType)


def buffers_of(op: Operation) -> list[SSAValue]:
    """The buffers among an op's operands."""
    return [operand for operand in op.operands if is_buffer(operand)]


def written_by(op: UpstreamOp) -> list[SSAValue]:
    """The buffers that an op itself writes."""
    if op.name.startswith("enzyme."):
        return [value for value in op.operands if is_buffer(value)]
    if op.name.startswith("linalg."):
        groups = op.groups()
        outs = groups[1] if len(groups) >= 2 else op.operands[len(op.operands) // 2 if op.name == "linalg.reduce" else -1 :]
        return [value for value in outs if is_buffer(value)]
    position = WRITES.get(op.name)
    return [op.operands[position]] if position is not None and is_buffer(op.operands[position]) else []


WRITES = {
    "memref.store": 1,
    "memref.copy": 1,
    "memref.atomic_rmw": 1,
    "memref.generic_atomic_rmw": 0,
    "bufferization.materialize_in_destination": 1,
}
"""The operand that an op writes."""
