"""Building IR: appending ops to a block, sharing equal ones, and recording where each comes from.

The builder *hash-conses*: asked for a pure op that it already made with the same operands and properties, it returns
the results of that one. A derivative repeats itself a lot, so this removes most of what CSE would have to find later,
for the price of one dictionary look-up.

Provenance is recorded here and nowhere else, so that no derivative rule can forget it: every op made inside
``with builder.deriving(op, role)`` carries a location that names the op it was derived from and its role.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.ir.construction import append, copy_region
from wengert.ir.locations import Role, derived
from wengert.ir.traits import is_pure

Properties = Mapping[str, Attribute]
_NO_PROPERTIES: dict[str, Attribute] = {}
Key = tuple[Any, ...]


class BlockBuilder:
    """Appends ops to one block. A builder for a nested block sees the ops that its parent has made so far."""

    def __init__(self, block: Block, *, parent: BlockBuilder | None = None, location: LocationAttr = UNKNOWN_LOC, pass_name: str = ""):
        self.block = block
        self.parent = parent
        self.location = location
        self.pass_name = pass_name or (parent.pass_name if parent else "")
        self._made: dict[Key, list[Operation]] = {}

    def child(self, block: Block) -> BlockBuilder:
        """A builder for a block nested in the one being built."""
        return type(self)(block, parent=self, location=self.location)

    def _find(self, key: Key, results: Sequence[Attribute], properties: Properties) -> Operation | None:
        """An op made before, by this builder or one of those around it, that is the same."""
        builder: BlockBuilder | None = self
        while builder is not None:
            for op in builder._made.get(key, ()):
                if self._may_share(op) and _same(op, results, properties):
                    return op
            builder = builder.parent
        return None

    def _may_share(self, op: Operation) -> bool:
        """Whether an op that was made before still counts."""
        return True

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
                return made.results
        op = cls.create(operands=operands, result_types=results, properties=properties, regions=regions, location=self.location)
        self.place(op)
        if key is not None:
            self._made.setdefault(key, []).append(op)
        return op.results

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

    @contextmanager
    def at(self, location: LocationAttr) -> Generator[None]:
        """Ops made inside carry this location."""
        before, self.location = self.location, location
        try:
            yield
        finally:
            self.location = before

    @contextmanager
    def deriving(self, op: Operation, role: Role) -> Generator[None]:
        """Ops made inside are derived from ``op`` and play this role in the derivative."""
        before, self.location = self.location, derived(op, role, self.pass_name)
        try:
            yield
        finally:
            self.location = before


def _same(op: Operation, results: Sequence[Attribute], properties: Properties) -> bool:
    """Whether an op has results of these types and these properties."""
    return op.properties == properties and len(op.results) == len(results) and all(a.type == b for a, b in zip(op.results, results, strict=True))
