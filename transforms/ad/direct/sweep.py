"""The two sweeps: forward over a block, which emits its ops again and notes the active ones; reverse over the notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.locations import Role, derived
from wengert.transforms.ad.direct.adjoint import ADJOINTS, STEPS, Adjoint, Back, is_inactive
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.function import discard
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.rule import Tangent


class Note(Struct, frozen=True):
    """An active op as it stands in the forward sweep, and what the reverse sweep does for it."""

    results: Sequence[Value]
    back: Back
    location: LocationAttr


class Sweep:
    """State of the sweeps over a block: where each value of the old function is in the new one, and which are active."""

    def __init__(self, b: OpBuilder, module: ModuleOp, active: set[SSAValue]):
        self.b = b
        self.module = module
        self.active = active
        self.notes: list[Note] = []
        self._primals: dict[SSAValue, Value] = {}
        self._live: set[Value] = set()
        self._noted: set[Value] = set()
        self._scratch: list[Block] = []

    def bind(self, old: Sequence[SSAValue], new: Sequence[Value]) -> None:
        """Says what values of the old function are in the new one."""
        for value, primal in zip(old, new, strict=True):
            self._primals[value] = primal
            if value in self.active:
                self._live.add(primal)

    def primal(self, value: SSAValue) -> Value:
        """Where a value of the old function is in the new one."""
        return self._primals[value]

    def has_cotangent(self, new: Value) -> bool:
        """Whether a value of the new function is active."""
        return new in self._live

    def forward(self, ops: Iterable[Operation]) -> None:
        """Emits ops again, and notes the active ones."""
        for op in ops:
            active = not self.active.isdisjoint(op.results) and not is_inactive(op)
            with self.b.at(op.location):
                if not active:
                    self.bind(op.results, self.emit(op).results)
                else:
                    self._note(op)

    def reverse(self, b: OpBuilder, cotangents: Cotangents) -> None:
        """Emits the adjoints of the noted ops, from the last to the first."""
        for note in reversed(self.notes):
            y_bars = [cotangents.take(result) if self.has_cotangent(result) else None for result in note.results]
            if any(y_bar is not None for y_bar in y_bars):
                with b.at(note.location):
                    note.back(b, y_bars, cotangents)
        for block in self._scratch:
            discard(block)

    def scratch_block(self, types: Sequence[Attribute]) -> Block:
        """A block that lives until the reverse sweep is done."""
        self._scratch.append(Block(arg_types=types))
        return self._scratch[-1]

    def emit(self, op: Operation) -> Operation:
        """The op itself on the new function's values."""
        if op.regions:
            return self.b.insert(op.clone(value_mapper=dict(self._primals)))
        results = self.b.copy(op, [self._primals[operand] for operand in op.operands])
        owner = results[0].owner if results else self.b.block.last_op
        assert isinstance(owner, Operation)
        return owner

    def region(self, region: Region) -> Region:
        """A copy of a region, on the new function's values where it uses those of the old one."""
        copy = Region()
        region.clone_into(copy, value_mapper=dict(self._primals))
        return copy

    def _note(self, op: Operation) -> None:
        place = derived(op, Role.COTANGENT, self.b.pass_name)
        if (step := STEPS.get(type(op))) is not None:
            back = step(self, op)
            self.notes.append(Note([self._primals[result] for result in op.results], back, place))
            return
        rule = ADJOINTS.get(type(op))
        if rule is None or isinstance(op, CallOp):
            raise refuse(op, "has no adjoint")
        self._check_captures(op)
        new = self.emit(op)
        self.bind(op.results, new.results)
        if self._noted.isdisjoint(new.results):  # equal ops are one op in the new function, and have one adjoint
            self._noted.update(new.results)
            self.notes.append(Note(new.results, self._back(rule, new), place))

    def _back(self, rule: Adjoint, new: Operation) -> Back:
        def back(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
            needed = [self.has_cotangent(operand) for operand in new.operands]
            x_bars = rule(b, new, y_bars, needed)  # pyright: ignore[reportArgumentType]
            for operand, flag, x_bar in zip(new.operands, needed, x_bars, strict=True):
                if flag:
                    cotangents.add(operand, x_bar)

        return back

    def _check_captures(self, op: Operation) -> None:
        for inner in op.walk():
            if inner is not op and not self.active.isdisjoint(inner.operands):
                raise refuse(op, "captures a value with a cotangent in its region, which is not supported")
