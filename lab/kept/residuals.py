"""Residuals: the values of the forward part that the reverse part uses, and those of it that the reverse part computes again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.facts import facts_of
from wengert.ir.traversal import all_ops, operands_of
from wengert.lab.kept.fused import in_memory, origins
from wengert.lab.kept.parts import Parts, carried, reached_inside
from wengert.lab.kept.recomputation import LOOPS, Again, Recomputation, TooLongError, keeping_seconds
from wengert.lab.kept.records import Readers, entries
from wengert.transforms.ad.residuals.policies import can_run_again
from wengert.transforms.analysis.symbolic.executions import executions
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of
from wengert.transforms.analysis.symbolic.polynomial import ONE, ZERO, Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknown, Unknowns
from wengert.transforms.core.closing import FREE_OPS

Where = Literal["memory", "result", "input", "kernels"]
"""Where a residual is: in memory of its own; in that of a result or of an input, which are there anyway; or computed by every kernel that uses it."""


@dataclass(frozen=True)
class ResidualFacts:
    """A residual, and all that is known about it.

    Attributes:
        value: the value; of a loop's record, the value in its body that is written in each iteration.
        holder: the value that the reverse part is given: the same, or the loop's record.
        each: the bytes of the value.
        times: how many of them are kept: 1, or the iterations that record one.
        where: the memory that it is in.
        users: the ops of the reverse part that need it.
        again: what computing it again would cost, None where that cannot be.
        verdict, why: ``kept``, ``recomputed``, ... and the reason.
    """

    value: SSAValue
    holder: SSAValue
    each: int
    times: Polynomial
    where: Where
    users: tuple[Operation, ...]
    again: Again | None
    verdict: str
    why: str
    far: bool = False
    """Whether computing it again would take more ops than are looked at."""

    @property
    def bytes(self) -> Polynomial:
        """Bytes of all that is kept of it."""
        return self.times * self.each


class Residuals:
    """The residuals of a reverse derivative."""

    def __init__(self, parts: Parts, unknowns: Unknowns | None = None):
        self.parts = parts
        self.unknowns = unknowns if unknowns is not None else Unknowns()
        self._readers = Readers(parts.function)
        self._recomputation = Recomputation(self._readers.number)
        self._there: dict[Block, set[SSAValue]] = {}
        self._runs = executions(parts.program.core_module, parts.function.sym_name.data, STATIC, self.unknowns)

    @property
    def symbols(self) -> list[Unknown]:
        """The symbols that iterations have which only a run tells."""
        return list(self._runs.unknown)

    @cached_property
    def _times(self) -> dict[Block, Polynomial]:
        return dict(self._runs.blocks)

    @cached_property
    def _after(self) -> int:
        """The number of the first op of the reverse part."""
        reverse = self.parts.reverse
        return self._readers.number(reverse[0]) if reverse else len(all_ops(self.parts.function))

    @cached_property
    def stored(self) -> set[SSAValue]:
        """The values of the body that go through memory."""
        return in_memory(self.parts.block)

    @cached_property
    def crossing(self) -> list[SSAValue]:
        """The values of the forward part, arguments among them, that ops of the reverse part use; constants are none."""
        used = {operand: None for op in self.parts.reverse for operand in operands_of(op)}
        before = {result for op in self.parts.forward for result in op.results} | {a for a in self.parts.block.args if a not in self.parts.cotangents}
        return [value for value in used if value in before and not isinstance(value.owner, hlo.ConstantOp)]

    @cached_property
    def kept(self) -> list[ResidualFacts]:
        """What is kept: what crosses to the reverse part, and what kernels there compute such values from."""
        listed = [one for value in self.crossing for one in self._of(value)]
        return listed + [self._source(value, made) for value, made in self.behind.items()]

    @cached_property
    def behind(self) -> dict[SSAValue, list[SSAValue]]:
        """The values in memory that kernels of the reverse part read to compute values that cross, which are not stored: each with these."""
        there = dict.fromkeys(self.crossing)
        behind: dict[SSAValue, list[SSAValue]] = {}
        for value in there:
            if value not in self.stored:
                for origin in origins(value, self.stored):
                    if origin not in there:
                        behind.setdefault(origin, []).append(value)
        return behind

    @property
    def bytes(self) -> Polynomial:
        """The bytes of what is kept in memory of its own."""
        total = ZERO
        for value in (*self.crossing, *self.behind):
            if self._where(value) == "memory":
                recorded = entries(value)
                for entry in recorded:
                    each, times = self._size_in_loop(value, entry)
                    total = total + times * each
                total = total if recorded else total + bytes_of(STATIC, value)
        return total

    def _of(self, value: SSAValue) -> Iterator[ResidualFacts]:
        recorded = entries(value)
        if recorded:
            yield from (self._recorded(value, entry) for entry in recorded)
            return
        users = tuple(self._readers.of(value, self._after))
        where: Where = self._where(value)
        yield self._facts(value, where, users)

    def _source(self, value: SSAValue, made: list[SSAValue]) -> ResidualFacts:
        """What is kept since kernels of the reverse part compute other values from it."""
        users = tuple(owner for v in made if isinstance(owner := v.owner, Operation))
        where: Where = self._where(value)
        return self._facts(value, where, users)

    def _facts(self, value: SSAValue, where: Where, users: tuple[Operation, ...]) -> ResidualFacts:
        again, far = self._again(value, self._available)
        verdict, why = self._judged(value, where, again, bytes_of(STATIC, value), far)
        return ResidualFacts(value, value, bytes_of(STATIC, value), ONE, where, users, again, verdict, why, far)

    def _again(self, value: SSAValue, available: set[SSAValue]) -> tuple[Again | None, bool]:
        """What computing a value again costs, and whether that is too far to look at."""
        if isinstance(value, BlockArgument):
            return None, False
        try:
            return self._recomputation.of(value, available), False
        except TooLongError:
            return None, True

    @cached_property
    def _available(self) -> set[SSAValue]:
        """What the reverse part has anyway when one residual is not kept: arguments and the other residuals."""
        return {*self.parts.block.args, *(v for v in self.crossing if v in self.stored), *self.behind} - set(self.parts.cotangents)

    def _where(self, value: SSAValue) -> Where:
        if isinstance(value, BlockArgument):
            return "input"
        if value in self.parts.returned:
            return "result"
        return "memory" if value in self.stored else "kernels"

    def _recorded(self, record: SSAValue, entry: SSAValue) -> ResidualFacts:
        """An entry that a loop writes in every iteration."""
        body, (each, times) = _block_of(entry), self._size_in_loop(record, entry)
        users = tuple(self._readers.of(record, self._after))
        again, far = self._again(entry, self._in_body(body, record, entry))
        verdict, why = self._judged_in_loop(entry, again, each, far)
        return ResidualFacts(entry, record, each, times, "memory", users, again, verdict, why, far)

    def _size_in_loop(self, record: SSAValue, entry: SSAValue) -> tuple[int, Polynomial]:
        """The bytes of an entry, and how many of them are kept."""
        each, times = bytes_of(STATIC, entry), self._times.get(_block_of(entry), ONE)
        whole = bytes_of(STATIC, record)
        if whole and each and (times.constant is None or times * each != whole):
            return each, Polynomial.of(whole) / each  # an array that the program itself fills in part
        return each, times

    def _in_body(self, body: Block, record: SSAValue, entry: SSAValue) -> set[SSAValue]:
        """What the reverse iteration has anyway: the iteration, the constants of the loop, what else the loop records."""
        loop = body.parent_op()
        others: set[SSAValue] = set()
        if isinstance(loop, LOOPS):
            moving = {argument for _, argument, end in carried(loop) if argument is not end}
            others = {a for a in body.args if a not in moving}
            others |= {e for result, _, _ in carried(loop) if result is not record for e in entries(result)}
        return others - {entry}

    # -- verdicts

    def _judged(self, value: SSAValue, where: Where, again: Again | None, size: int, far: bool) -> tuple[str, str]:
        if where == "input":
            return "input", "held by the caller"
        if where == "result":
            return "result", "returned anyway"
        if where == "kernels":
            return "not stored", "its kernels compute it"
        return self._worth(value, again, size, far)

    def _judged_in_loop(self, value: SSAValue, again: Again | None, size: int, far: bool) -> tuple[str, str]:
        if isinstance(value, BlockArgument):
            return "kept", "carried by the loop"
        return self._worth(value, again, size, far)

    def _worth(self, value: SSAValue, again: Again | None, size: int, far: bool) -> tuple[str, str]:
        owner = value.owner
        assert isinstance(owner, Operation)
        if far:
            return "kept", "its origins are far"
        if again is None:
            must = not can_run_again(owner)
            return "kept", "must not run twice" if must else "needs earlier iterations"
        if again.seconds is not None and again.seconds <= keeping_seconds(size):
            return "cheaper again", "no slower than memory"
        if not facts_of(type(owner)).recompute:
            return "kept", "not cheap"
        return "kept", "slower than memory"

    # -- what is computed again

    @cached_property
    def recomputed(self) -> list[ResidualFacts]:
        """The values that the reverse part computes again: no cotangent reaches them, and ops that one reaches use them."""
        return list(self._again_in(self.parts.block, self.parts.reverse, self.parts.reached))

    def _again_in(self, block: Block, ops: list[Operation], reached: set[SSAValue]) -> Iterator[ResidualFacts]:
        there = {*ops}
        for op in ops:
            if any(result in reached for result in op.results):
                for body, inside in reached_inside(op, reached):
                    yield from self._again_in(body, [inner for inner in body.ops if inner.next_op is not None], inside)
            elif _counts(op):
                for result in op.results:
                    users = tuple(u for u in self._readers.of(result) if any(r in reached for r in u.results) or (u not in there and u.parent is not block))
                    if users:
                        yield self._computed_again(block, result, users)

    def _computed_again(self, block: Block, value: SSAValue, users: tuple[Operation, ...]) -> ResidualFacts:
        if block not in self._there:
            read = {result for op in block.ops if isinstance(op, _READS) for result in op.results}
            forward = (op for op in self.parts.forward if not isinstance(op, FREE_OPS)) if block is self.parts.block else ()
            self._there[block] = {*block.args, *read, *(result for op in forward for result in op.results)}
        again, far = self._again(value, self._there[block])
        where: Where = "memory" if isinstance(value.owner, LOOPS) else "kernels"
        return ResidualFacts(
            value, value, bytes_of(STATIC, value), self._times.get(block, ONE), where, users, again, "recomputed", "the reverse part computes it", far
        )


def _block_of(value: SSAValue) -> Block:
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    assert block is not None
    return block


_READS = (hlo.OptimizationBarrierOp, core.TapeReadOp, hlo.DynamicSliceOp)
_MOVEMENT = (hlo.OptimizationBarrierOp, hlo.ConstantOp, hlo.IotaOp, hlo.DynamicSliceOp, hlo.ReshapeOp, core.TapeReadOp, core.TapeGetOp, core.TapeCreateOp)


def _counts(op: Operation) -> bool:
    """Whether an op of the reverse part computes something anew: it is of float type, and does more than read."""
    return not isinstance(op, _MOVEMENT) and any(bytes_of(STATIC, result) for result in op.results)
