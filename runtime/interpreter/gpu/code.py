"""Kernels prepared to run: each op becomes a step on a batch of work-groups, in the lanes that a mask leaves.

Control flow is structured, so a mask says all: a branch is run by the lanes that take it, a loop as long as a lane is in it. Values of lanes that do
not take part are whatever they are; nobody looks at them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct
from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects.gpu.scalars import Meaning, meaning
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.gpu import scalars
from wengert.runtime.interpreter.gpu.batch import Array, Batch, Mask

Step = Callable[[Batch, Mask], None]
Rule = Callable[[Any, "Code"], Step]
RULES: dict[type[Operation], Rule] = {}
"""For each op class how one op of it becomes a step; scalar ops need none."""


def steps_of(*classes: type[Operation]) -> Callable[[Rule], Rule]:
    """Registers a rule for ops of these classes."""

    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(classes, rule))
        return rule

    return register


class Body(Struct, frozen=True):
    """A block as steps, with the slots of its arguments and of what its terminator hands on."""

    arguments: Sequence[int]
    steps: Sequence[Step]
    returned: Sequence[int]

    def run(self, batch: Batch, mask: Mask) -> None:
        """Runs the steps."""
        for step in self.steps:
            step(batch, mask)


class Code:
    """The slots of a kernel's values, and the preparation of its blocks. ``functions`` are those that it may call, by name."""

    def __init__(self, functions: Mapping[str, Operation], written: Iterable[SSAValue] = ()):
        self.functions = functions
        self.written = set(written)
        self._slots: dict[SSAValue, int] = {}
        self._open: list[str] = []

    @property
    def size(self) -> int:
        """How many slots there are."""
        return len(self._slots)

    def slot(self, value: SSAValue) -> int:
        """The value's slot."""
        return self._slots.setdefault(value, len(self._slots))

    def slots(self, values: Iterable[SSAValue]) -> list[int]:
        """The values' slots."""
        return [self.slot(value) for value in values]

    def region(self, region: Region) -> Body:
        """The only block of a region."""
        if len(region.blocks) != 1:
            raise UnsupportedOpError(region.parent_op() or region.blocks[0].first_op, "has a region of several blocks")  # pyright: ignore[reportArgumentType]
        return self.block(region.block)

    def block(self, block: Block) -> Body:
        """A block, whose last op ends it."""
        *ops, end = block.ops
        arguments = self.slots(block.args)
        return Body(arguments, [self.step(op) for op in ops], self.slots(end.operands))

    def called(self, name: str, op: Operation) -> Body | None:
        """The body of a function that an op calls; None for a declaration."""
        function = self.functions.get(name)
        if function is None or name in self._open:
            raise UnsupportedOpError(op, f"calls @{name}, which {'calls itself' if name in self._open else 'is not in its module'}")
        if not function.regions[0].blocks:
            return None
        self._open.append(name)
        body = self.region(function.regions[0])
        self._open.pop()
        return body

    def step(self, op: Operation) -> Step:
        """The step that runs an op."""
        try:
            return self._step(op)
        except KeyError as missing:
            raise UnsupportedOpError(op, f"has a type or an attribute that is not supported: {missing.args[0]}") from None

    def _step(self, op: Operation) -> Step:
        rule = RULES.get(type(op))
        if rule is not None:
            return rule(op, self)
        known = meaning(op)
        if known is not None:
            return self.scalar(op, known)
        own = scalars.own_function(op) if op.operands and len(op.results) == 1 else None
        if own is None:
            raise UnsupportedOpError(op, "is not implemented by the interpreter of kernels")
        return self.applied(op, own)

    def scalar(self, op: Operation, known: Meaning) -> Step:
        """A scalar function on the op's operands."""
        return self.applied(op, scalars.function_of(known), scalars.work_of(known))

    def applied(self, op: Operation, function: Callable[..., Any], work: tuple[int, int] = (0, 0)) -> Step:
        """A function of arrays on the op's operands, which takes so many flops and transcendental functions. What is computed from values that are not
        defined is not either."""
        operands, (result,), check = self.slots(op.operands), self.slots(op.results), scalars.CHECKS.get(type(op))
        flops, transcendentals = work

        def step(batch: Batch, mask: Mask) -> None:
            values, undefined = batch.values, batch.undefined
            arrays = [values[slot] for slot in operands]
            if check is not None:
                check(op, batch, mask, arrays)
            values[result] = function(*arrays)
            undefined[result] = union([undefined[slot] for slot in operands])
            if batch.counter is not None and flops:
                count = batch.count(mask)
                batch.counter.flops += flops * count
                batch.counter.transcendentals += transcendentals * count

        return step


def union(masks: Sequence[Mask]) -> Mask:
    """The lanes of any of the masks, where None has none."""
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    result = given[0]
    for mask in given[1:]:
        result = result | mask
    return result


def move(batch: Batch, source: Sequence[int], target: Sequence[int]) -> None:
    """Gives slots the values of others, all at once."""
    values, undefined = batch.values, batch.undefined
    moved = [(values[slot], undefined[slot]) for slot in source]
    for slot, (value, mask) in zip(target, moved, strict=True):
        values[slot], undefined[slot] = value, mask


def merge(batch: Batch, where: Array, source: Sequence[int], target: Sequence[int]) -> None:
    """Gives slots the values of others, all at once, in the lanes where the mask holds."""
    values, undefined = batch.values, batch.undefined
    merged = [_merged(batch, where, source_slot, target_slot) for source_slot, target_slot in zip(source, target, strict=True)]
    for slot, (value, mask) in zip(target, merged, strict=True):
        values[slot], undefined[slot] = value, mask


def _merged(batch: Batch, where: Array, source: int, target: int) -> tuple[Array, Mask]:
    values, undefined = batch.values, batch.undefined
    given, kept = undefined[source], undefined[target]
    mask = None
    if given is not None or kept is not None:
        none = np.zeros(1, np.bool_)
        mask = np.where(where, none if given is None else given, none if kept is None else kept)
    return cast(Array, np.where(where, values[source], values[target])), mask
