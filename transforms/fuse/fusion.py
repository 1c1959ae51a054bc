"""Chooses which ops are computed together in one loop nest, and which values go through memory.

Groups are kept in the order in which they will run. An op joins a group only if everything it reads from elsewhere is
made by an earlier group, so there is never a cycle to look for, and the cost is linear in the program:

1. *Placement* (forward). An op whose operands are made at the same element by the latest group that it depends on joins
   that group; an op that needs other elements of a value (through a transpose, say, or a reduction) must run later.
2. *Sinking* (backward). A value that only one later group uses, element for element, is computed there instead.
3. *Storage* (forward). A value that other groups need is computed again in each of them if that is cheap, as it is
   outside of the inner loops; otherwise its group writes it to memory. Views and constants are never stored for a kernel.

Of long sums of products the partial ones are stored too, as they come (:mod:`wengert.transforms.fuse.partial_sums`).

Multi-output kernels, reductions with fused producers, and the recomputation of broadcasts all come out of these rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel.positions import index
from wengert.ir.attributes import ints
from wengert.ir.elements import is_splat
from wengert.ir.tensor_types import shape, size
from wengert.ir.traversal import all_ops, operands_of, result_of
from wengert.transforms.fuse.contractions import strided
from wengert.transforms.fuse.joins import is_read_in_place
from wengert.transforms.fuse.partial_sums import as_they_come, partial_sums
from wengert.transforms.fuse.plan import Copy, Group, Member, Part, Plan, Update
from wengert.transforms.fuse.roles import Role, role
from wengert.transforms.fuse.storage import Demand, Storage
from wengert.transforms.fuse.updates.whole_stacks import unread_operands
from wengert.transforms.fuse.views import keeps_position, repeats_rows, reshaped

GROUP_LIMIT = 1024
"""Members of one group: code generation is superlinear in the size of a function. But what is split goes through memory between its parts: an eliminated
Jacobian of 800 products at each of many points takes a third of the time in one piece."""
VIEW_DEPTH = 16
"""Views in a row inside one kernel; every so many a view is stored, so that no chain is too long to compose."""
SMALL_CONSTANT = 4096
"""Constants are stored in the program up to this many elements; larger splats are filled in at run time."""


def plan(block: Block, *, empty_stacks: bool = True) -> Plan:
    """The fusion plan of a block of tensor ops that ends in a return. Arrays that a loop overwrites whole need no first contents if ``empty_stacks``."""
    return _Fusion(block, empty_stacks).run()


def reduces_whole_loops(op: core.ReduceOp, loops: tuple[int, ...]) -> bool:
    """Whether each of these loops, over the reduction's operand reshaped, is reduced or kept as a whole: in a loop that is
    partly both (``d1 mod 3`` of the result) neighbouring iterations would write on one element."""
    at = reshaped(tuple([index(d) for d in range(len(loops))]), loops, shape(op.operand), loops)
    dropped = set(ints(op.dimensions))
    return all(position.is_affine() for d, position in enumerate(at) if d not in dropped)


class _Fusion:
    def __init__(self, block: Block, empty_stacks: bool):
        self.block = block
        self.ops = list(block.ops)
        self.unread = {op: unread for op in self.ops if empty_stacks and (unread := unread_operands(op))}
        self.roles: dict[Operation, Role] = {}
        self.groups: list[Group] = []
        self.home: dict[SSAValue, int] = {}
        self.ready: dict[SSAValue, tuple[int, int]] = dict.fromkeys(block.args, (0, 0))
        self.latest: dict[tuple[int, ...], int] = {}
        self.alias: dict[SSAValue, SSAValue] = {}
        self.fences: dict[SSAValue, int] = {}
        self.in_memory: set[SSAValue] = set()
        self.copied: dict[SSAValue, int] = {}
        self.demands: dict[SSAValue, Demand] = {}
        self.forced: set[SSAValue] = set()
        self.parts: dict[tuple[Operation, int], int] = {}

    def run(self) -> Plan:
        for op in self.ops:
            self.roles[op] = role(op)
        self._mark_memory()
        self._add_up_early()
        self._read_joins_in_place()
        self._break_long_chains()
        for op in self.ops:
            self._place(op)
        self._sink()
        stored = Storage(self.roles, self.home, self.in_memory, self._demand, self.resolve).choose(self.ops)
        return Plan(self.groups, self.home, stored, self.alias, self.unread)

    def resolve(self, value: SSAValue) -> SSAValue:
        """The value behind barriers."""
        while value in self.alias:
            value = self.alias[value]
        return value

    # -- what must be in memory whatever the fusion does

    def _mark_memory(self) -> None:
        for op in self.ops:
            if self.roles[op] is Role.BARRIER:
                self.alias.update(zip(op.results, operands_of(op), strict=False))  # an update has more operands
        for op in self.ops:
            if self.roles[op] is Role.BARRIER:  # kept to compute others from it: not computed anew from what it was made of
                for operand in map(self.resolve, operands_of(op)):
                    if self.roles.get(operand.owner) is Role.SCALAR:  # pyright: ignore[reportArgumentType]
                        self._needs_memory(operand)
        for op in self.ops:
            if self.roles[op] in (Role.OPAQUE, Role.CONTROL):
                unread = self.unread.get(op, ())
                for number, operand in enumerate(operands_of(op)):
                    if number not in unread:
                        self._needs_memory(operand)
                for value in captured(op):
                    self._needs_memory(value)
            elif self.roles[op] is Role.UPDATE or isinstance(op, stablehlo.DynamicSliceOp | stablehlo.GatherOp):
                self._needs_memory(operands_of(op)[0])
            elif self.roles[op] is Role.CONTRACT:
                for operand in operands_of(op):
                    self._needs_memory(strided(operand, self.resolve).base)

    def _add_up_early(self) -> None:
        early = partial_sums(self.ops, self.roles)
        if early:
            self.ops = as_they_come(self.ops, early)
            for op in early:
                self._needs_memory(result_of(op))

    def _read_joins_in_place(self) -> None:
        for op in self.ops:
            if isinstance(op, stablehlo.ConcatenateOp) and op.result not in self.in_memory and is_read_in_place(op, self.roles, self.resolve):
                self.roles[op] = Role.VIEW

    def _break_long_chains(self) -> None:
        depth: dict[SSAValue, int] = {}
        for op in self.ops:
            if self.roles[op] is Role.VIEW:
                value = result_of(op)
                depth[value] = 1 + max([depth.get(self.resolve(operand), 0) for operand in operands_of(op)])
                if depth[value] > VIEW_DEPTH:
                    depth[value] = 0
                    self.forced.add(value)

    def _needs_memory(self, value: SSAValue) -> None:
        self.in_memory.add(self._buffer(value))

    def _buffer(self, value: SSAValue) -> SSAValue:
        """The value whose buffer this one shares: itself, without reshapes."""
        value = self.resolve(value)
        while isinstance(owner := value.owner, stablehlo.ReshapeOp):
            value = self.resolve(owner.operand)
        return value

    # -- placement

    def _place(self, op: Operation) -> None:
        kind = self.roles[op]
        if kind is Role.SCALAR:
            self._place_member(op, shape(result_of(op)), operands_of(op))
        elif kind is Role.REDUCE:
            assert isinstance(op, core.ReduceOp)
            self._place_member(op, shape(op.operand), operands_of(op), op)
            group = self.home[result_of(op)]
            self.ready[result_of(op)] = (group + 1, group + 1)
        elif kind is Role.VIEW:
            self._place_view(op)
        elif kind is Role.BARRIER:
            self.fences.update(dict.fromkeys(op.results, len(self.groups)))
        elif kind is Role.SOURCE:
            self.ready[result_of(op)] = (0, 0)
            self._copy_if_needed(op)
        elif kind is Role.CONCATENATE:
            self._place_concatenate(op)
        elif kind is Role.UPDATE:
            self._place_update(op)
        elif kind in (Role.OPAQUE, Role.CONTRACT, Role.CONTROL) and op is not self.block.last_op:
            self.groups.append(Group(None, [op]))
            done = len(self.groups)
            self.ready.update((value, (done, done)) for value in op.results)

    def _available(self, value: SSAValue) -> tuple[int, int]:
        """The first group that can read the value, in the loop that makes it and from memory; behind a barrier none that was there before it, so that what is
        to be computed again is not computed beside the first time."""
        fence = max([self.fences[behind] for behind in self._barriers(value)], default=0)
        same, other = self.ready[self.resolve(value)]
        return max(same, fence), max(other, fence)

    def _barriers(self, value: SSAValue) -> Iterator[SSAValue]:
        """The results of barriers that a value is."""
        while value in self.alias:
            yield value
            value = self.alias[value]

    def _stored_at(self, value: SSAValue) -> int:
        """The first group that can read the value from memory."""
        value = self._buffer(value)
        return self.copied[value] + 1 if value in self.copied else self.ready[value][1]

    def _place_view(self, op: Operation) -> None:
        value = result_of(op)
        if keeps_position(op):
            self.ready[value] = self._available(operands_of(op)[0])
        else:
            latest = max([self._available(operand)[1] for operand in operands_of(op)])
            if isinstance(op, stablehlo.DynamicSliceOp | stablehlo.GatherOp):
                latest = max(latest, self._stored_at(op.operand))
            self.ready[value] = (latest, latest)
        self._copy_if_needed(op)

    def _copy_if_needed(self, op: Operation) -> None:
        value = result_of(op)
        if (value not in self.in_memory and value not in self.forced) or (isinstance(op, stablehlo.ConstantOp) and is_stored_constant(op)):
            return
        group = self._join(shape(value), [value])
        self.groups[group].members.append(Copy(value))
        self.copied[value] = group
        if value in self.forced:
            self.ready[value] = (group + 1, group + 1)

    def _place_member(self, op: Operation, domain: tuple[int, ...], operands: Iterable[SSAValue], reduction: core.ReduceOp | None = None) -> None:
        group = self._join(domain, operands, reduction=reduction)
        self.groups[group].members.append(op)
        for value in op.results:
            self.home[value] = group
            self.ready[value] = (group, group + 1)

    def _place_concatenate(self, op: Operation) -> None:
        assert isinstance(op, stablehlo.ConcatenateOp)
        done = 0
        for number, operand in enumerate(operands_of(op)):
            if size(operand):
                group = self._join(shape(operand), [operand])
                self.groups[group].members.append(Part(op, number))
                self.parts[op, number] = group
                done = max(done, group + 1)
        self.ready[result_of(op)] = (done, done)

    def _place_update(self, op: Operation) -> None:
        assert isinstance(op, stablehlo.DynamicUpdateSliceOp | core.ScatterOp)
        update = Update(op)
        before = max([self._stored_at(op.operand), *[self._available(value)[1] for value in update.indices]])
        group = self._join(shape(update.value), [update.value], before)
        self.groups[group].members.append(update)
        self.parts[op, 0] = group
        self.ready[result_of(op)] = (group + 1, group + 1)

    def _join(self, domain: tuple[int, ...], operands: Iterable[SSAValue], before: int = 0, reduction: core.ReduceOp | None = None) -> int:
        """The group that a member with these loops and operands joins: the earliest that it may (not before a given
        one), else the last with equal loops, else a new one."""
        available = [self._available(operand) for operand in operands]
        first = max([same for same, _ in available], default=0)
        first = max(first, before)
        if first < len(self.groups) and self._fits(first, domain, any(same == first < other for same, other in available), reduction):
            return first
        last = self.latest.get(domain, -1)
        if last >= first and self._fits(last, domain, False):
            return last
        self.groups.append(Group(domain))
        self.latest[domain] = len(self.groups) - 1
        return len(self.groups) - 1

    def _fits(self, number: int, domain: tuple[int, ...], reads_it: bool, reduction: core.ReduceOp | None = None) -> bool:
        group = self.groups[number]
        if group.domain is None or len(group.members) >= GROUP_LIMIT:
            return False
        if group.domain == domain:
            return True
        return reads_it and prod(group.domain) == prod(domain) and (reduction is None or reduces_whole_loops(reduction, group.domain))

    # -- uses of values

    def _demand(self, value: SSAValue) -> Demand:
        value = self.resolve(value)
        demand = self.demands.get(value)
        if demand is None:
            demand = self.demands[value] = Demand()
        return demand

    def _sink(self) -> None:
        """Walks backward, collecting demands, and moves values to their only user's group."""
        for op in reversed(self.ops):
            kind = self.roles[op]
            if kind is Role.SCALAR:
                self._sink_one(op)
                self._use_scalar(op)
            elif kind is Role.REDUCE:
                self._demand(operands_of(op)[0]).same.add(self.home[result_of(op)])
            elif kind in (Role.VIEW, Role.SOURCE):
                value = result_of(op)
                if value in self.copied:
                    self._demand(value).same.add(self.copied[value])
                if kind is Role.VIEW:
                    self._use_view(op)
            elif kind is Role.CONCATENATE:
                self._use_parts(op)
            elif kind is Role.UPDATE:
                self._use_update(op)
        self._drop_moved()

    def _use_scalar(self, op: Operation) -> None:
        group = self.home[result_of(op)]
        extents = shape(result_of(op))
        for operand in operands_of(op):
            demand = self._demand(operand)
            (demand.same if shape(operand) == extents else demand.hoisted).add(group)

    def _use_view(self, op: Operation) -> None:
        demand = self._demand(result_of(op))
        for operand in operands_of(op):
            inner = self._demand(operand)
            if keeps_position(op):
                inner.same |= demand.same
                inner.hoisted |= demand.hoisted
                inner.other |= demand.other
            elif size(operand) == 1 or repeats_rows(op):
                inner.hoisted |= demand.same | demand.hoisted
                (inner.hoisted if size(operand) == 1 else inner.other).update(demand.other)
            else:
                inner.other |= demand.same | demand.hoisted | demand.other

    def _use_parts(self, op: Operation) -> None:
        for number, operand in enumerate(operands_of(op)):
            if (op, number) in self.parts:
                self._demand(operand).same.add(self.parts[op, number])

    def _use_update(self, op: Operation) -> None:
        assert isinstance(op, stablehlo.DynamicUpdateSliceOp | core.ScatterOp)
        update, group = Update(op), self.parts[op, 0]
        self._demand(update.value).same.add(group)
        for value in update.indices:
            demand = self._demand(value)
            (demand.hoisted if size(value) == 1 else demand.other).add(group)

    def _sink_one(self, op: Operation) -> None:
        value = result_of(op)
        demand = self._demand(value)
        if value in self.in_memory or demand.other or demand.hoisted or len(demand.same) != 1:
            return
        (target,) = demand.same
        if target != self.home[value] and len(self.groups[target].members) < GROUP_LIMIT:
            self.home[value] = target
            self.groups[target].members.append(op)

    def _drop_moved(self) -> None:
        """Removes sunk members from where they were, and puts the members of each group in program order."""
        order = {op: number for number, op in enumerate(self.ops)}

        def place(member: Member) -> int:
            if isinstance(member, Part | Update):
                return order[member.op]
            if isinstance(member, Copy):
                owner = member.value.owner
                assert isinstance(owner, Operation)
                return order[owner]
            return order[member]

        for number, group in enumerate(self.groups):
            if group.domain is not None:
                kept = [m for m in group.members if not isinstance(m, Operation) or self.home[result_of(m)] == number]
                group.members = sorted(kept, key=place)


def is_stored_constant(op: stablehlo.ConstantOp) -> bool:
    """Whether the constant is kept in memory as it is (a large splat is filled in instead)."""
    return size(op.output) <= SMALL_CONSTANT or not is_splat(op.value)


def captured(op: Operation) -> list[SSAValue]:
    """Values from outside that the op's regions use, each once, in order of use."""
    if not op.regions:
        return []
    every = all_ops(op)
    inside = set(every)
    blocks = {block for inner in every for region in inner.regions for block in region.blocks}
    used = [operand for inner in every[1:] for operand in inner.operands]
    return list(dict.fromkeys(operand for operand in used if operand.owner not in inside and operand.owner not in blocks))
