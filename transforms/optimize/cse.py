"""Common subexpression elimination: of equal ops, the one that dominates stays.

A forward walk keeps a table of the ops seen so far by class, operands, properties and result types; a pure op that is in the
table already is replaced by the one there. A nested region sees the ops before its own op (a closed one sees nothing outside), and
what it adds is forgotten after it, so an op is only ever shared with one that runs before it whenever it runs. Ops with regions are equal if their
regions are, up to the names of the values inside. The op that stays has the locations of all.

Before and after::

    %0 = stablehlo.sine %x          %0 = stablehlo.sine %x
    %1 = stablehlo.sine %x          %1 = stablehlo.add %0, %0
    %2 = stablehlo.add %0, %1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.facts import Facts, Work
from wengert.ir.construction import erase, replace_uses
from wengert.ir.location.fused import merged
from wengert.ir.pipeline import changes
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.traversal import all_ops, operands_of, ops_in
from wengert.transforms.optimize.effects import is_shareable
from wengert.transforms.optimize.flows import CLOSED


@dataclass(frozen=True)
class CsePass(ModulePass):
    """Computes equal things once."""

    name = "cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        cse(op)


def cse(module: Operation) -> bool:
    """Shares equal ops under an op (a module or a function), in place; returns whether there were any."""
    sharer = _Sharer()
    changed = [sharer.share(block, ({},)) for region in module.regions for block in region.blocks]
    return any(changed)


def repeated_ops(module: Operation) -> int:
    """The number of ops under an op (a module or a function) that compute something and that :func:`cse` would remove, since an equal one stands before them.

    Constants and movements of elements do not count. Nothing is changed.
    """
    counter = _Counter()
    for region in module.regions:
        for block in region.blocks:
            counter.share(block, ({},))
    return counter.repeated


Tables = tuple[dict[Any, Operation], ...]
"""Ops by key: the innermost block's first, then those of the blocks around it."""


class _Sharer:
    """One walk. Attributes are compared by number: hashing a type takes longer than all else that is done for an op."""

    def __init__(self) -> None:
        self._numbers: dict[Attribute, int] = {}
        self._known: dict[int, tuple[int, Attribute]] = {}
        self._bodies: dict[Any, int] = {}
        self._closed: dict[Operation, int] = {}
        self._shareable: dict[Operation, bool] = {}
        self._sizes: dict[Operation, int] = {}

    def share(self, block: Block, tables: Tables) -> bool:
        """Shares the block's ops with one another and with those in the tables, the first of which is the block's own."""
        changed = False
        op = block.first_op
        while op is not None:
            following = op.next_op
            for region in op.regions:
                around = () if type(op) in CLOSED else tables
                for inner in region.blocks:
                    changed |= self.share(inner, ({}, *around))
            if is_shareable(op, self._shareable):
                earlier = self._equal_before(op, tables)
                if earlier is not None and self._may_merge(op):
                    self._merge(op, earlier)
                    changed = True
            op = following
        return changed

    def _may_merge(self, op: Operation) -> bool:
        return may_rewrite("share-equal-op", op)

    def _merge(self, op: Operation, earlier: Operation) -> None:
        """Shares an op with an equal one before it."""
        _replace(op, earlier)

    def _number(self, attribute: Attribute) -> int:
        known = self._known.get(id(attribute))
        if known is None:
            known = self._known[id(attribute)] = (self._numbers.setdefault(attribute, len(self._numbers)), attribute)
        return known[0]

    def _key(self, op: Operation, inner: dict[SSAValue, int]) -> Any:
        """Equal for ops that compute the same. Values in ``inner`` were defined in the region being keyed: their number counts."""
        number = self._number
        operands = self._operands(op)
        if inner:
            operands = tuple([inner.get(o, o) for o in operands])
        properties = self._named(op.properties) if op.properties else ()
        attributes = self._named(op.attributes) if op.attributes else ()
        regions: Any = self._regions_key(op, inner) if op.regions else ()
        return type(op), operands, properties, attributes, regions, tuple([number(r.type) for r in op.results])

    def _operands(self, op: Operation) -> Sequence[SSAValue]:
        """The operands of an op, by which it is known to be equal to another."""
        return operands_of(op)

    def _named(self, attributes: Mapping[str, Attribute]) -> tuple[tuple[str, int], ...]:
        return tuple([(name, self._number(attributes[name])) for name in (sorted(attributes) if len(attributes) > 1 else attributes)])

    def _equal_before(self, op: Operation, tables: Tables) -> Operation | None:
        """The op in the tables that is equal to this one, which is put there if there is none."""
        if op.regions and type(op) not in CLOSED:
            return self._equal_around_regions(op, tables)
        key = self._key(op, {})
        for table in tables:
            if (earlier := table.get(key)) is not None:
                return earlier
        tables[0][key] = op
        return None

    def _equal_around_regions(self, op: Operation, tables: Tables) -> Operation | None:
        """As :meth:`_equal_before`, for regions that use values from outside. What is in them is keyed only where another op looks the same from outside:
        it would be keyed again at every level at which such ops are nested."""
        outside = ("outside", self._key_outside(op), self._size(op))
        key = None
        for table in tables:
            first = table.get(outside)
            if first is None:
                continue
            table.setdefault(self._key(first, {}), first)
            key = key or self._key(op, {})
            if (earlier := table.get(key)) is not None:
                return earlier
        if outside in tables[0]:
            tables[0][key] = op
        else:
            tables[0][outside] = op
        return None

    def _size(self, op: Operation) -> int:
        """The number of ops in an op whose insides the walk has left."""
        size = self._sizes.get(op)
        if size is None:
            size = self._sizes[op] = 1 + sum(self._size(inner) if inner.regions else 1 for region in op.regions for b in region.blocks for inner in ops_in(b))
        return size

    def _key_outside(self, op: Operation) -> Any:
        """Equal for ops that are equal but for what is in their regions."""
        return type(op), self._operands(op), self._named(op.properties), self._named(op.attributes), tuple([self._number(r.type) for r in op.results])

    def _body_number(self, op: Operation) -> int:
        """The number of what is in an op with closed regions, equal for equal ones. It is asked for when the walk has been there, so that it stays the same for
        the ops around."""
        number = self._closed.get(op)
        if number is None:
            key = tuple([self._region_key(region, {}) for region in op.regions])
            number = self._closed[op] = self._bodies.setdefault(key, len(self._bodies))
        return number

    def _regions_key(self, op: Operation, inner: dict[SSAValue, int]) -> Any:
        return self._body_number(op) if type(op) in CLOSED else tuple([self._region_key(region, dict(inner)) for region in op.regions])

    def _region_key(self, region: Region, inner: dict[SSAValue, int]) -> Any:
        keys: list[Any] = []
        for block in region.blocks:
            for argument in block.args:
                inner[argument] = len(inner)
            keys.append(tuple([self._number(a.type) for a in block.args]))
            for op in ops_in(block):
                keys.append(self._key(op, inner))
                for result in op.results:
                    inner[result] = len(inner)
        return tuple(keys)


class _Counter(_Sharer):
    """A walk that counts equal ops, and changes nothing: it remembers which value each result would be replaced by."""

    def __init__(self) -> None:
        super().__init__()
        self.repeated = 0
        self._same: dict[SSAValue, SSAValue] = {}

    def _may_merge(self, op: Operation) -> bool:
        return True

    def _merge(self, op: Operation, earlier: Operation) -> None:
        facts: Facts | None = getattr(type(op), "FACTS", None)
        self.repeated += facts is None or facts.work is not Work.NONE
        self._same.update(zip(op.results, earlier.results, strict=True))

    def _operands(self, op: Operation) -> Sequence[SSAValue]:
        return tuple([self._same.get(operand, operand) for operand in operands_of(op)])


def _replace(op: Operation, earlier: Operation) -> None:
    if changes.RECORDER is not None:
        changes.RECORDER.merged(op, earlier)
    if op.regions:
        for inner, same in zip(all_ops(op), all_ops(earlier), strict=True):
            same.location = merged(same.location, inner.location, CsePass.name, inner.name)
    else:
        earlier.location = merged(earlier.location, op.location, CsePass.name, op.name)
    for result, same in zip(op.results, earlier.results, strict=True):
        replace_uses(result, same)
    erase(op)
