"""Emits the innermost loop as the schedule asks for: in versions, in pieces, several registers at once, and its remainder."""

from __future__ import annotations

from collections.abc import Mapping

from wengert.dialects.kernel import Guard
from wengert.dialects.kernel.schedule import Piece, Version
from wengert.transforms.codegen.cpu.nest.addresses import Addresses
from wengert.transforms.codegen.cpu.nest.body import Body
from wengert.transforms.codegen.cpu.nest.context import Context, parts_of, regroup
from wengert.transforms.codegen.cpu.nest.guards import Guards
from wengert.transforms.codegen.cpu.nest.reductions import Reductions
from wengert.transforms.codegen.cpu.nest.registers import Registers
from wengert.transforms.codegen.cpu.nest.writes import Writes
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import element_of, vector
from wengert.transforms.schedule.versions import guard_values, uniform_guard


class Innermost:
    """Writes the innermost loop."""

    def __init__(self, nest: Context, registers: Registers, addresses: Addresses, guards: Guards, body: Body, writes: Writes, reductions: Reductions):
        self.nest = nest
        self.schedule = nest.schedule
        self.registers = registers
        self.addresses = addresses
        self.guards = guards
        self.body = body
        self.writes = writes
        self.reductions = reductions

    def emit(self) -> None:
        """Emits all iterations of the loop, and the reductions that end with it."""
        if self.schedule.version is not None:
            self._in_two_versions(self.schedule.version)
        else:
            self._one_version()

    # -- versions and pieces

    def _in_two_versions(self, version: Version) -> None:
        """The loop for the iterations of outer loops for which these guards hold, or fail, throughout; and the loop for all others."""
        uniform = {
            guard: uniform_guard(guard, at, self.nest.inner, self.nest.extents, value=guard in version.holds)
            for guard, at in self.nest.placed.guards
            if guard in version.holds or guard in version.fails
        }
        tests: list[str] = []
        for position, bound, value in dict.fromkeys(uniform.values()):
            tests.append(self.nest.out.icmp("ult" if value else "uge", "i64", self.addresses.position(position), bound))
        while len(tests) > 1:
            tests.append(self.nest.out.binary("and", "i1", tests.pop(0), tests.pop(0)))
        with self.nest.out.conditional(tests[0]) as branches:
            with self.registers.scope({}):
                self.nest.known = {guard: test.value for guard, test in uniform.items()}
                self._one_version()
            branches.otherwise()
            with self.registers.scope({}):
                self.nest.known = {}
                self._one_version()

    def _one_version(self) -> None:
        totals = self.reductions.start()
        if self.schedule.pieces:
            known = self.nest.known
            for piece in self.schedule.pieces:
                self._piece(piece, known)
            self.nest.known = known
            return
        lanes = self.nest.lanes
        self.reductions.finish(self._unsplit(totals))
        self.nest.lanes = lanes

    def _piece(self, piece: Piece, known: Mapping[Guard, bool]) -> None:
        """One piece. An iteration computes a whole register, so that the last one may compute elements again."""
        lanes, nest = self.nest.lanes, self.nest
        count = -(-piece.length // lanes)
        if piece.masked:
            nest.known = known
            self._iterations([], min(piece.start, nest.extents[nest.inner] - count * lanes), count, 1)
            return
        nest.known = {**known, **{guard: value for guard, value in guard_values(nest.placed.guards, nest.inner, piece).items() if value is not None}}
        if piece.length % lanes:
            self._repeating(count, piece.stop - lanes, piece.start)
        else:
            self._iterations([], piece.start, count, 1)

    # -- the whole loop

    def _unsplit(self, totals: list[Value]) -> list[Value]:
        """The loop, not split; the totals after it."""
        extent, lanes = self.nest.extents[self.nest.inner], self.nest.lanes
        count, rest = divmod(extent, lanes)
        copies, done = self.schedule.accumulators, 0
        if copies > 1:
            totals = self._iterations(totals, done, count // copies, copies)
            done, count = done + count // copies * copies * lanes, count % copies
        if rest and self.schedule.remainder == "repeated":
            self._repeating(count + 1, extent - lanes)
            return totals
        totals = self._iterations(totals, done, count, 1)
        if rest and self.schedule.interleave > 1 and not self.reductions.slots:
            totals = self.reductions.halved(totals)
            self.nest.lanes //= 2
            if rest >= self.nest.lanes:
                totals = self.one(totals, extent - rest, self.nest.lanes)
                rest -= self.nest.lanes
        return self.one(totals, extent - rest, rest) if rest else totals

    def _repeating(self, count: int, last: int, start: int = 0) -> None:
        """Iterations of whole registers, the last of which starts early enough to end with the loop, or with a piece of it."""
        with self.nest.out.rotated_loop(start + count * self.nest.lanes, start=start, step=self.nest.lanes) as loop:
            self.one([], self.nest.out.intrinsic("umin", "i64", loop.index, last), self.nest.lanes)

    def _iterations(self, totals: list[Value], start: int, count: int, copies: int) -> list[Value]:
        """Emits ``count`` iterations of ``copies`` registers each, from index ``start`` on; the totals after them."""
        lanes = self.nest.lanes
        if count == 0:
            return totals
        active = self.reductions.in_registers
        sets = [totals] + [[self.reductions.neutral(r, lanes) for r in active] for _ in range(copies - 1)]
        if count == 1:
            return self.reductions.merged([self.one(sets[c], start + c * lanes, lanes) for c in range(copies)])
        kinds = [vector(element_of(r.write.value.type).register, lanes) for r in active]
        carried = [(kind, part) for values in sets for kind, value in zip(kinds, values, strict=True) for part in parts_of(value)]
        out, after = self.nest.out, list[list[Value]]()
        with out.rotated_loop(start + count * copies * lanes, carried, start=start, step=lanes * copies) as loop:
            names = iter(loop.values)
            inside = [[regroup(names, value) for value in values] for values in sets]
            for copy in range(copies):
                at = loop.index if copy == 0 else out.binary("add nuw nsw", "i64", loop.index, copy * lanes)
                after.append(self.one(inside[copy], at, lanes))
            loop.carry(*[part for values in after for value in values for part in parts_of(value)])
        return self.reductions.merged(after)

    def one(self, totals: list[Value], at: str | int, active: int) -> list[Value]:
        """Emits one iteration at an index, with so many active lanes; the totals after it."""
        nest = self.nest
        with self.registers.scope({("index", nest.inner): at}):
            nest.index = at
            known = nest.known
            nest.known = {**known, **self.guards.known_at(active)}
            self.body.emit(nest.inner, nest.lanes, active)
            self.writes.emit(nest.lanes, active)
            after = self.reductions.combined(totals, active)
        nest.known = known
        return after
