"""Meshes and shardings of Shardy as values: what their text says.

A mesh is named axes with sizes; devices are numbered along them in row-major order, unless ``device_ids`` says otherwise. A sharding says for each dimension of
a tensor along which axes it is split, the first one outermost: ``<@mesh, [{"x"}, {"y", ?}], replicated={"z"}>``. An axis may be a part of one:
``"x":(2)4`` is its part of size 4 behind parts of size 2 (Shardy, "Sharding representation").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import product
from math import prod
from typing import Any

from msgspec import Struct
from xdsl.dialects.builtin import UnregisteredAttr
from xdsl.ir import Attribute, Operation

from wengert.ir.traversal import all_ops

MOST_DEVICES = 1 << 20
"""How many devices a mesh may have, and how many numbers a table of devices may hold: both say any number in a few characters."""


class ShardingError(ValueError):
    """A mesh or a sharding that says nothing, or what cannot be."""


class Axis(Struct, frozen=True):
    """An axis of a mesh, or a part of one: ``size`` devices behind ``before`` others. ``size`` 0: all of it."""

    name: str
    before: int = 1
    size: int = 0

    def __str__(self) -> str:
        return f'"{self.name}":({self.before}){self.size}' if self.size else f'"{self.name}"'


Spec = tuple[tuple[Axis, ...], ...]
"""The axes along which each dimension is split."""


class Mesh(Struct, frozen=True):
    """Named axes with their sizes, and the numbers of the devices where they are not 0, 1, ..."""

    axes: tuple[tuple[str, int], ...]
    device_ids: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of devices."""
        return prod([size for _, size in self.axes])

    def extent(self, axis: Axis) -> int:
        """The number of devices along an axis."""
        return axis.size or dict(self.axes)[axis.name]

    def extents(self, axes: Sequence[Axis]) -> int:
        """The number of devices along several axes."""
        return prod([self.extent(axis) for axis in axes])

    def device(self, position: int) -> int:
        """The number of the device at a position in row-major order."""
        return self.device_ids[position] if self.device_ids else position

    def positions(self) -> list[dict[str, int]]:
        """The places of the devices along the axes, by the numbers of the devices."""
        places = [dict(zip([name for name, _ in self.axes], at, strict=True)) for at in product(*(range(size) for _, size in self.axes))]
        by_number = {self.device(position): place for position, place in enumerate(places)}
        return [by_number[number] for number in sorted(by_number)]

    def along(self, axis: Axis, place: dict[str, int]) -> int:
        """The place along an axis, or a part of one."""
        whole = dict(self.axes)[axis.name]
        return place[axis.name] if not axis.size else place[axis.name] // (whole // (axis.before * axis.size)) % axis.size

    def index(self, axes: Sequence[Axis], place: dict[str, int]) -> int:
        """The place along several axes together, the first one outermost."""
        number = 0
        for axis in axes:
            number = number * self.extent(axis) + self.along(axis, place)
        return number

    def text(self) -> str:
        """As Shardy writes it, within the brackets."""
        axes = ", ".join(f'"{name}"={size}' for name, size in self.axes)
        return f"[{axes}]" + (f", device_ids=[{', '.join(map(str, self.device_ids))}]" if self.device_ids else "")


class Sharding(Struct, frozen=True):
    """The sharding of a tensor: a mesh (a name, or the mesh itself) and the axes of each dimension."""

    mesh: str | Mesh
    spec: Spec
    open: tuple[bool, ...] = ()
    replicated: tuple[Axis, ...] = ()
    unreduced: tuple[Axis, ...] = ()

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All axes along which it is split."""
        return tuple(axis for axes in self.spec for axis in axes)


class _Reader:
    """Reads the text of meshes and shardings, piece by piece."""

    _PIECE = re.compile(r'\s*("(?:[^"\\]|\\.)*"|@(?:"[^"]*"|[\w.$-]+)|-?\d+|[A-Za-z_][\w]*|.)', re.DOTALL)

    def __init__(self, text: str):
        self.text, self.pieces, self.at = text, [match.group(1) for match in self._PIECE.finditer(text) if match.group(1).strip()], 0

    def peek(self) -> str:
        return self.pieces[self.at] if self.at < len(self.pieces) else ""

    def take(self, wanted: str = "") -> str:
        piece = self.peek()
        if not piece or (wanted and piece != wanted):
            raise ShardingError(f"expected {wanted or 'more'!r}, found {piece or 'the end'!r} in {self.text.strip()!r}")
        self.at += 1
        return piece

    def accept(self, wanted: str) -> bool:
        if self.peek() != wanted:
            return False
        self.at += 1
        return True

    def number(self) -> int:
        piece = self.take()
        if not piece.lstrip("-").isdigit():
            raise ShardingError(f"expected a number, found {piece!r} in {self.text.strip()!r}")
        return int(piece)

    def name(self) -> str:
        piece = self.take()
        if not piece.startswith('"'):
            raise ShardingError(f"expected the name of an axis in quotes, found {piece!r} in {self.text.strip()!r}")
        return piece[1:-1]

    def mesh(self) -> Mesh:
        axes, ids = list[tuple[str, int]](), list[int]()
        self.take("[")
        while not self.accept("]"):
            name = self.name()
            self.take("=")
            axes.append((name, self.number()))
            self.accept(",")
        if self.accept(","):
            self.take("device_ids")
            self.take("=")
            self.take("[")
            while not self.accept("]"):
                ids.append(self.number())
                self.accept(",")
        return Mesh(tuple(axes), tuple(ids))

    def axis(self) -> Axis:
        name = self.name()
        if not self.accept(":"):
            return Axis(name)
        self.take("(")
        before = self.number()
        self.take(")")
        return Axis(name, before, self.number())

    def axes(self) -> tuple[tuple[Axis, ...], bool]:
        """``{"x", ?}`` and whether it is open; a priority behind it is skipped."""
        listed, is_open = list[Axis](), False
        self.take("{")
        while not self.accept("}"):
            if self.accept("?"):
                is_open = True
            else:
                listed.append(self.axis())
            self.accept(",")
        if re.fullmatch(r"p\d*", self.peek()):
            self.take()
        return tuple(listed), is_open

    def dimensions(self) -> list[tuple[tuple[Axis, ...], bool]]:
        self.take("[")
        dims = list[tuple[tuple[Axis, ...], bool]]()
        while not self.accept("]"):
            dims.append(self.axes())
            self.accept(",")
        return dims

    def sharding(self) -> Sharding:
        if self.accept("mesh"):
            self.take("<")
            mesh: str | Mesh = self.mesh()
            self.take(">")
        else:
            mesh = self.take().removeprefix("@").strip('"')
        self.take(",")
        dims, more = self.dimensions(), dict[str, tuple[Axis, ...]]()
        while self.accept(","):
            word = self.take()
            if word not in ("replicated", "unreduced"):
                raise ShardingError(f"expected 'replicated' or 'unreduced', found {word!r} in {self.text.strip()!r}")
            self.take("=")
            more[word] = self.axes()[0]
        return Sharding(mesh, tuple(axes for axes, _ in dims), tuple(is_open for _, is_open in dims), more.get("replicated", ()), more.get("unreduced", ()))

    def end(self) -> None:
        if self.peek():
            raise ShardingError(f"expected the end, found {self.peek()!r} in {self.text.strip()!r}")


def _text(attribute: Attribute) -> str:
    """The text of an attribute, within its angle brackets."""
    if not isinstance(attribute, UnregisteredAttr):
        raise ShardingError(f"expected an attribute of sdy, found {attribute}")
    text = attribute.value.data.strip()
    return text[1:-1] if text.startswith("<") and text.endswith(">") else text


@cache
def _mesh(text: str) -> Mesh:
    reader = _Reader(text)
    mesh = reader.mesh()
    reader.end()
    return mesh


@cache
def _sharding(text: str) -> Sharding:
    reader = _Reader(text)
    sharding = reader.sharding()
    reader.end()
    return sharding


@cache
def _per_value(text: str) -> tuple[Sharding, ...]:
    reader, listed = _Reader(text), list[Sharding]()
    reader.take("[")
    while not reader.accept("]"):
        reader.take("<")
        listed.append(reader.sharding())
        reader.take(">")
        reader.accept(",")
    reader.end()
    return tuple(listed)


def mesh_of(attribute: Attribute) -> Mesh:
    """The mesh that an attribute says. Raises ShardingError."""
    return _mesh(_text(attribute))


def sharding_of(attribute: Attribute) -> Sharding:
    """The sharding that an attribute says. Raises ShardingError."""
    return _sharding(_text(attribute))


def shardings_of(attribute: Attribute) -> tuple[Sharding, ...]:
    """The shardings of several values that an attribute says. Raises ShardingError."""
    return _per_value(_text(attribute))


@cache
def _names(text: str) -> tuple[str, ...]:
    reader = _Reader(text.removeprefix("manual_axes"))
    axes, _ = reader.axes()
    reader.end()
    return tuple(axis.name for axis in axes)


def manual_axes_of(attribute: Attribute) -> tuple[str, ...]:
    """The names of the axes of a manual computation. Raises ShardingError."""
    return _names(_text(attribute))


def meshes_of(module: Operation) -> dict[str, Mesh]:
    """The meshes of a module by name."""
    from wengert.dialects.sdy import MeshOp

    return {op.sym_name.data: mesh_of(op.mesh) for op in all_ops(module) if isinstance(op, MeshOp)}


def resolved(sharding: Sharding, meshes: dict[str, Mesh]) -> Mesh:
    """The mesh of a sharding. Raises ShardingError where the module has none of its name."""
    if isinstance(sharding.mesh, Mesh):
        return sharding.mesh
    if sharding.mesh not in meshes:
        raise ShardingError(f"there is no mesh @{sharding.mesh} in this module (meshes: {', '.join('@' + name for name in meshes) or 'none'})")
    return meshes[sharding.mesh]


def problem_of_mesh(mesh: Mesh) -> str:
    """The fault of a mesh, or an empty text."""
    names = [name for name, _ in mesh.axes]
    if len(set(names)) != len(names):
        return f"names an axis twice: {', '.join(names)}"
    wrong = next(((name, size) for name, size in mesh.axes if size <= 0), None)
    if wrong is not None:
        return f'has an axis "{wrong[0]}" of size {wrong[1]}'
    if mesh.size > MOST_DEVICES:
        return f"has {mesh.size} devices, and may have {MOST_DEVICES} at most"
    single = not mesh.axes and len(mesh.device_ids) == 1
    if mesh.device_ids and not single and sorted(mesh.device_ids) != list(range(mesh.size)):
        return f"must list each of its devices 0 to {mesh.size - 1} once in device_ids, found {list(mesh.device_ids)}"
    return ""


def problem_of(sharding: Sharding, mesh: Mesh, rank: int) -> str:
    """The fault of the sharding of a tensor of this rank, or an empty text."""
    sizes, all_axes = dict(mesh.axes), [*sharding.axes, *sharding.replicated, *sharding.unreduced]
    if len(sharding.spec) != rank and mesh.axes:
        return f"has {len(sharding.spec)} dimensions for a tensor of rank {rank}"
    for axis in all_axes:
        if axis.name not in sizes:
            return f'names an axis "{axis.name}" that the mesh does not have (it has {", ".join(sizes) or "none"})'
        if axis.size and sizes[axis.name] % (axis.before * axis.size):
            return f"takes a part {axis} of an axis of size {sizes[axis.name]}, which it does not divide"
    whole = [axis.name for axis in all_axes if not axis.size]
    repeated = next((axis for axis in all_axes if all_axes.count(axis) > 1 or (axis.size and axis.name in whole) or whole.count(axis.name) > 1), None)
    return "" if repeated is None else f"uses the axis {repeated} twice"


def local_shape(shape: Sequence[int], sharding: Sharding, mesh: Mesh, axes: Sequence[str] | None = None) -> tuple[int, ...]:
    """The shape of a device's block, split along these axes of the mesh only (all). Raises ShardingError where it cannot be split evenly."""
    block = list[int]()
    for d, (extent, split) in enumerate(zip(shape, sharding.spec, strict=True)):
        parts = mesh.extents([axis for axis in split if axes is None or axis.name in axes])
        if extent % parts:
            raise ShardingError(f"the extent {extent} of dimension {d} cannot be split in {parts} equal parts")
        block.append(extent // parts)
    return tuple(block)


def gather_groups(split: Sequence[Axis], mesh: Mesh) -> list[tuple[int, ...]]:
    """The groups of devices that differ only along these axes, each in the order of their blocks."""
    names, by_rest = {axis.name for axis in split}, dict[tuple[tuple[str, int], ...], list[tuple[int, int]]]()
    whole = {name: [axis for axis in split if axis.name == name] for name in names}
    for device, place in enumerate(mesh.positions()):
        rest = tuple((name, at) for name, at in place.items() if name not in names)
        partly = tuple((name, _outside(whole[name], mesh, place)) for name in sorted(names))
        by_rest.setdefault(rest + partly, []).append((mesh.index(split, place), device))
    return [tuple(device for _, device in sorted(members)) for members in by_rest.values()]


def _outside(axes: Sequence[Axis], mesh: Mesh, place: dict[str, int]) -> int:
    """The place along what an axis has besides these parts of it."""
    name = axes[0].name
    if any(not axis.size for axis in axes):
        return 0
    covered = sorted((axis.before, axis.size) for axis in axes)
    number, before, size = 0, 1, dict(mesh.axes)[name]
    for start, extent in [*covered, (size, 1)]:
        if start > before:
            number = number * (start // before) + mesh.along(Axis(name, before, start // before), place)
        before = start * extent
    return number


def spec_text(spec: Spec, mesh: str) -> str:
    """A sharding as Shardy writes it, within its brackets."""
    dims = ", ".join("{" + ", ".join(str(axis) for axis in axes) + "}" for axes in spec)
    return f"@{mesh}, [{dims}]"


def as_attribute(name: str, text: str, *, opaque: bool = False) -> Attribute:
    """An attribute of sdy of this name with this text."""
    from wengert.dialects.registry import make_context

    cls: Any = make_context().get_optional_attr(name)
    return cls(name, False, opaque, text)
