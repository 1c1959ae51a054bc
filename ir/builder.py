"""Building IR: appending ops to a block, sharing equal ones, and recording where each comes from.

The builder *hash-conses*: asked for a pure op that it already made with the same operands and properties, it returns
the results of that one. A derivative repeats itself a lot, so this removes most of what CSE would have to find later,
for the price of one dictionary look-up.

Provenance is recorded here and nowhere else, so that no derivative rule can forget it: every op made inside
``with builder.deriving(op, role)`` carries a location that names the op it was derived from and its role. An op that is asked for at several
places has all of them in its location.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.ir.construction import append, copy_region, destroy, detach, replace_uses
from wengert.ir.location.fused import merged
from wengert.ir.location.locations import Role, derived
from wengert.ir.pipeline import changes
from wengert.ir.traits import is_pure
from wengert.ir.traversal import operands_of

Properties = Mapping[str, Attribute]
_NO_PROPERTIES: dict[str, Attribute] = {}
Key = tuple[Any, ...]
_NONE: tuple[Operation, ...] = ()
_FEW = 16
"""More ops of one class and operands are looked up by their properties, which are slow to hash."""


class _Index:
    """Ops of one key by their properties: the first ``seen`` that were made."""

    __slots__ = ("ops", "seen")

    def __init__(self) -> None:
        self.seen = 0
        self.ops: dict[frozenset[tuple[str, Attribute]], list[Operation]] = {}


class BlockBuilder:
    """Appends ops to one block. A builder for a nested block sees the ops that its parent has made so far."""

    def __init__(self, block: Block, *, parent: BlockBuilder | None = None, location: LocationAttr = UNKNOWN_LOC, pass_name: str = ""):
        self.block = block
        self.parent = parent
        self.location = location
        self.pass_name = pass_name or (parent.pass_name if parent else "")
        self._made: dict[Key, list[Operation]] = {}
        self._indices: dict[Key, _Index] = {}

    def child(self, block: Block) -> BlockBuilder:
        """A builder for a block nested in the one being built."""
        return type(self)(block, parent=self, location=self.location)

    def _find(self, key: Key, results: Sequence[Attribute], properties: Properties) -> Operation | None:
        """An op made before, by this builder or one of those around it, that is the same."""
        builder: BlockBuilder | None = self
        while builder is not None:
            made = builder._made.get(key, _NONE)
            for op in made if len(made) <= _FEW else builder._with_properties(key, made, properties):
                if self._may_share(op) and _same(op, results, properties):
                    return op
            builder = builder.parent
        return None

    def _with_properties(self, key: Key, made: Sequence[Operation], properties: Properties) -> Sequence[Operation]:
        """Those among many ops of a key that have these properties: a thousand slices of one value are not compared with each other."""
        known = self._indices.setdefault(key, _Index())
        for op in made[known.seen :]:
            known.ops.setdefault(frozenset(op.properties.items()), []).append(op)
        known.seen = len(made)
        return known.ops.get(frozenset(properties.items()), _NONE)

    def _forget(self) -> None:
        """Shares nothing with what was made so far."""
        self._made.clear()
        self._indices.clear()

    def _may_share(self, op: Operation) -> bool:
        """Whether an op that was made before still counts: it may have been erased since."""
        return op.parent is not None

    def create(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
        properties: Properties = _NO_PROPERTIES,
        regions: Sequence[Region] = (),
    ) -> Sequence[SSAValue]:
        """The results of an op of this class: of a new one, or of an equal one made before."""
        key = None
        if not regions and is_pure(cls):
            # Values hash by identity, which is quick. Attributes hash by all that is in them, so those are compared, unless there is nothing else.
            key = (cls, *operands) if operands else (cls, *properties.values())
            if (made := self._find(key, results, properties)) is not None:
                if made.location is not self.location:
                    self._share(made, self.location)
                return made.results
        op = cls.create(operands=operands, result_types=results, properties=properties, regions=regions, location=self.location)
        self.place(op)
        if key is not None:
            self._made.setdefault(key, []).append(op)
        return op.results

    def _share(self, made: Operation, location: LocationAttr) -> None:
        """Notes that an op which was made before is also what was asked for at a location."""
        made.location = merged(made.location, location, self.pass_name, made.name)
        if changes.RECORDER is not None:
            changes.RECORDER.shared(location, made)

    def remember(self, op: Operation) -> None:
        """Counts an op that stands in the block already among those that were made: an equal one is not made again."""
        if not op.regions and is_pure(type(op)):
            self._made.setdefault(_key(op), []).append(op)

    def take(self, op: Operation) -> None:
        """Moves an op from another block to the end of this one, unless there is an equal one, which then has its uses."""
        detach(op)
        if not op.regions and is_pure(type(op)):
            key = _key(op)
            if (made := self._find(key, [result.type for result in op.results], op.properties)) is not None:
                for old, new in zip(op.results, made.results, strict=True):
                    replace_uses(old, new)
                if made.location is not op.location:
                    self._share(made, op.location)
                destroy(op)
                return
            self._made.setdefault(key, []).append(op)
        self.place(op)

    def place(self, op: Operation) -> None:
        """Puts a new op where this builder builds: at the end of its block."""
        append(self.block, op)

    def insert(self, op: Operation) -> Operation:
        """Appends an op that was made elsewhere (it is not shared), keeping its location if it has one."""
        if op.location == UNKNOWN_LOC:
            op.location = self.location
        self.place(op)
        return op

    def copy(self, op: Operation, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The op again with other operands (regions are cloned; the values they capture stay as they are)."""
        if not op.regions and is_pure(type(op)) and not op.attributes:
            with self.at(op.location):
                return self.create(type(op), operands, [r.type for r in op.results], op.properties)
        clone = type(op).create(
            operands=operands,
            result_types=[r.type for r in op.results],
            properties=op.properties,
            attributes=op.attributes,
            regions=[copy_region(region) for region in op.regions],
            location=op.location,
        )
        self.place(clone)
        return clone.results

    def at(self, location: LocationAttr) -> AbstractContextManager[None]:
        """Ops made inside carry this location."""
        return _At(self, location)

    def deriving(self, op: Operation, role: Role) -> AbstractContextManager[None]:
        """Ops made inside are derived from ``op`` and play this role in the derivative."""
        return _At(self, derived(op, role, self.pass_name))


class _At:
    """Another location for a builder for a while: entered for every op that a derivative is made of, and so no generator."""

    __slots__ = ("before", "builder", "location")

    def __init__(self, builder: BlockBuilder, location: LocationAttr):
        self.builder, self.location = builder, location

    def __enter__(self) -> None:
        self.before, self.builder.location = self.builder.location, self.location

    def __exit__(self, *error: object) -> None:
        self.builder.location = self.before


def _key(op: Operation) -> Key:
    """The key by which :meth:`BlockBuilder.create` looks an op up."""
    operands = operands_of(op)
    return (type(op), *operands) if operands else (type(op), *op.properties.values())


def _same(op: Operation, results: Sequence[Attribute], properties: Properties) -> bool:
    """Whether an op has results of these types and these properties."""
    made = op.results
    if len(made) != len(results):
        return False
    for result, type in zip(made, results, strict=True):
        if result.type is not type and result.type != type:  # most types are shared
            return False
    return op.properties == properties
