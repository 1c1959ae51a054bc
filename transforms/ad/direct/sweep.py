"""The two sweeps: a forward sweep, which emits the ops of a block and lists the active ones, and a reverse sweep over this list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.location.locations import Role, derived, rewritten
from wengert.transforms.ad.direct.adjoint import ADJOINTS, STEPS, Adjoint, Pullback, is_inactive
from wengert.transforms.ad.errors import no_rule, refuse
from wengert.transforms.ad.forward.tangents import check_has_zero
from wengert.transforms.ad.function import discard
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.rule import Tangent


class ActiveOp(Struct, frozen=True):
    """An active op: its results in the new function, and its pullback."""

    results: Sequence[Value]
    pullback: Pullback
    location: LocationAttr


class Sweep:
    """The forward and the reverse sweep over a block, with a map from old values to new ones and the set of active values."""

    def __init__(self, b: OpBuilder, module: ModuleOp, active: set[SSAValue]):
        self.b = b
        self.module = module
        self.active = active
        self.active_ops: list[ActiveOp] = []
        self._primals: dict[SSAValue, Value] = {}
        self._active_new: set[Value] = set()
        self._differentiated: set[Value] = set()
        self._scratch: list[Block] = []

    def bind(self, old: Sequence[SSAValue], new: Sequence[Value]) -> None:
        """Maps values of the old function to values of the new one."""
        for value, primal in zip(old, new, strict=True):
            self._primals[value] = primal
            if value in self.active:
                self._active_new.add(primal)

    def primal(self, value: SSAValue) -> Value:
        """The value of the new function that an old one is mapped to."""
        return self._primals[value]

    def has_cotangent(self, new: Value) -> bool:
        """Whether a value of the new function is active."""
        return new in self._active_new

    def forward(self, ops: Iterable[Operation]) -> None:
        """Emits ops in the new function, and lists the active ones."""
        for op in ops:
            active = not self.active.isdisjoint(op.results) and not is_inactive(op)
            if not active:
                self.bind(op.results, self.emit(op).results)
            else:
                self._emit_active(op)

    def reverse(self, b: OpBuilder, cotangents: Cotangents) -> None:
        """Emits the adjoints of the active ops, from the last to the first."""
        for entry in reversed(self.active_ops):
            y_bars = [cotangents.take(result) if self.has_cotangent(result) else None for result in entry.results]
            if any(y_bar is not None for y_bar in y_bars):
                with b.at(entry.location):
                    entry.pullback(b, y_bars, cotangents)
        for block in self._scratch:
            discard(block)

    def scratch_block(self, types: Sequence[Attribute]) -> Block:
        """Returns a scratch block that is discarded after the reverse sweep."""
        self._scratch.append(Block(arg_types=types))
        return self._scratch[-1]

    def emit(self, op: Operation) -> Operation:
        """Emits the op on the values of the new function."""
        if op.regions:
            return self.b.insert(op.clone(value_mapper=dict(self._primals)))
        results = self.b.copy(op, [self._primals[operand] for operand in op.operands])
        owner = results[0].owner if results else self.b.block.last_op
        assert isinstance(owner, Operation)
        return owner

    def region(self, region: Region) -> Region:
        """Copies a region, with captured values mapped to the new function."""
        copy = Region()
        region.clone_into(copy, value_mapper=dict(self._primals))
        return copy

    def _emit_active(self, op: Operation) -> None:
        location = derived(op, Role.COTANGENT, self.b.pass_name)
        if (step := STEPS.get(type(op))) is not None:
            with self.b.at(rewritten(op.location, op.name, self.b.pass_name)):
                pullback = step(self, op)
            self.active_ops.append(ActiveOp([self._primals[result] for result in op.results], pullback, location))
            return
        rule = ADJOINTS.get(type(op))
        if rule is None or isinstance(op, CallOp):
            raise no_rule(op, "adjoint")
        self._check_captures(op)
        for result in op.results:
            check_has_zero(op, result.type)
        new = self.emit(op)
        self.bind(op.results, new.results)
        if self._differentiated.isdisjoint(new.results):  # equal ops are one op in the new function, and have one adjoint
            self._differentiated.update(new.results)
            self.active_ops.append(ActiveOp(new.results, self._pullback_of(rule, new), location))

    def _pullback_of(self, rule: Adjoint, new: Operation) -> Pullback:
        def pullback(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
            needed = [self.has_cotangent(operand) for operand in new.operands]
            x_bars = rule(b, new, y_bars, needed)  # pyright: ignore[reportArgumentType]
            for operand, flag, x_bar in zip(new.operands, needed, x_bars, strict=True):
                if flag:
                    cotangents.add(operand, x_bar)

        return pullback

    def _check_captures(self, op: Operation) -> None:
        for inner in op.walk():
            if inner is not op and not self.active.isdisjoint(inner.operands):
                raise refuse(op, "captures a value with a cotangent in its region, which is not supported")
