"""Names for what only a run tells: total iterations of loops, and how often branches were taken.

``T0`` is how many iterations a loop makes in all, over the whole run; ``B0_1`` how often branch 1 of a case was taken. The loops that a derivative
has of one loop of the program (forward, backward, computed again) run equally often where they stand in the same loops and branches, so they share
a name; they are recognised by their locations, which name the op that they derive from. Where the text gives two loops one location, each has a
name of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import LocationAttr, ModuleOp, NameLoc, UnknownLoc
from xdsl.ir import Operation

from wengert.dialects.kernel import buffers
from wengert.ir.location.locations import flat, provenance, unmarked
from wengert.ir.location.places import describe
from wengert.ir.traversal import ops_of
from wengert.transforms.analysis.liveness import BRANCHES, LOOPS

CONTROL = (*LOOPS, *BRANCHES, buffers.ForOp, buffers.WhileOp, buffers.CaseOp)
"""Loops and branches of all levels: a kernel is in the loop that the op is in of which it was made."""

Key = tuple[Hashable, ...]


class Unknown(Struct, frozen=True):
    """A symbol, the place in the source of the loop or branch, and the number of the branch (None for a loop)."""

    name: str
    place: str
    branch: int | None = None

    def __str__(self) -> str:
        what = "iterations in all of the loop" if self.branch is None else f"how often branch {self.branch} was taken"
        return f"{self.name}: {what} at {self.place}"


class Unknowns:
    """The symbols of some programs that are compared: those of a loop and of what derives from it are one."""

    def __init__(self) -> None:
        self._loops: dict[Key, Unknown] = {}
        self._cases: dict[Key, int] = {}
        self._ambiguous: set[Key] = set()
        self.keeps: list[ModuleOp] = []  # ops are told apart by their identity

    def prepare(self, module: ModuleOp) -> None:
        """Looks for loops and branches of a module that their locations do not tell apart."""
        self.keeps.append(module)
        times = Counter((path_of(op), op.location) for op in ops_of(module, *CONTROL))
        self._ambiguous |= {(*path, _source(location)) for (path, location), count in times.items() if count > 1}

    def total(self, loop: Operation) -> Unknown:
        """The symbol for a loop's iterations in all."""
        key = self._key(loop)
        if key not in self._loops:
            self._loops[key] = Unknown(f"T{len(self._loops)}", describe(loop.location))
        return self._loops[key]

    def taken(self, case: Operation, branch: int) -> Unknown:
        """The symbol for how often a branch was taken."""
        number = self._cases.setdefault(self._key(case), len(self._cases))
        return Unknown(f"B{number}_{branch}", describe(case.location), branch)

    def _key(self, op: Operation) -> Key:
        path = (*path_of(op), _source(op.location))
        return (*path, id(op)) if path in self._ambiguous or any(isinstance(part, UnknownLoc) for part in path) else path


def path_of(op: Operation) -> Key:
    """The sources of the loops and branches around an op, from the innermost."""
    path: list[Hashable] = []
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, CONTROL):
            path.append(_source(parent.location))
        parent = parent.parent_op()
    return tuple(path)


def _source(location: LocationAttr) -> LocationAttr:
    """The location of what an op was derived from or rewritten from, and of the first of several that were merged."""
    while True:
        location = unmarked(flat(location)[0][0])[1]
        if not isinstance(location, NameLoc) or provenance(location) is None:
            return location
        location = cast(LocationAttr, location.location)
