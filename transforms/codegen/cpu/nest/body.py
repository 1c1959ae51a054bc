"""Emits the body of a nest: each op in the innermost loop that it depends on, and addresses before the loops that use them."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import STORE, ApplyOp, ConstantOp, IndexOp, LoadOp, WithinOp
from wengert.dialects.kernel.positions import Position, dimensions
from wengert.ir.elements import splat_value
from wengert.ir.traversal import operands_of, result_of
from wengert.transforms.codegen.cpu.long_code import begins_block, is_long, stored_before
from wengert.transforms.codegen.cpu.nest.addresses import INDEX, Addresses
from wengert.transforms.codegen.cpu.nest.context import Context
from wengert.transforms.codegen.cpu.nest.guards import Guards
from wengert.transforms.codegen.cpu.nest.loads import Loads
from wengert.transforms.codegen.cpu.nest.registers import Registers
from wengert.transforms.codegen.cpu.nest.tiles import Tiles
from wengert.transforms.codegen.cpu.nest.writes import Writes
from wengert.transforms.codegen.llvm.debug_lines import mark
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import Element, element_of, literal, splat
from wengert.transforms.codegen.llvm.vector_builder import real_value
from wengert.transforms.schedule.contraction import shared_products
from wengert.transforms.schedule.placement import deepest


class Body:
    """Computes the values of a nest's body at the current point of the loops."""

    def __init__(self, nest: Context, registers: Registers, addresses: Addresses, guards: Guards, loads: Loads, tiles: Tiles, writes: Writes):
        self.nest = nest
        self.registers = registers
        self.addresses = addresses
        self.guards = guards
        self.loads = loads
        self.tiles = tiles
        self.writes = writes
        self.depth = nest.placed.depth
        self.contracted = {} if nest.strict else shared_products(nest.placed.ops, nest.placed.writes)

    def emit(self, level: int, lanes: int, active: int) -> None:
        """Emits the ops of one loop (-1: outside of all), many of them in several blocks."""
        ops = self.nest.placed.levels[level + 1]
        stores_early = is_long(len(ops)) and level == self.nest.inner
        for number, op in enumerate(ops):
            value = result_of(op)
            if stores_early:
                self.writes.emit_early(lanes, active, [result_of(ops[before]) for before in stored_before(number)])
            if begins_block(number):
                self.nest.out.next_block()
            if self.nest.debug_lines and (line := mark(op.location)) is not None:
                self.nest.out.line(line)
            self.registers.remember(value, self._value(op, lanes, active))
            if lanes == 1 and self.nest.inner >= 0 and self.depth[value] < self.nest.inner:
                self._prepare_based(value)
            if lanes == 1 and self.nest.inner >= 0 and self.nest.lanes > 1 and not isinstance(op, ConstantOp) and self._used_inside(value):
                self.registers.remember((value, self.nest.lanes), self.registers.in_lanes(value, self.nest.lanes))

    # -- values

    def _value(self, op: Operation, lanes: int, active: int) -> Value:
        if type(op) is ApplyOp:
            chosen = self._known_choice(op)
            return self._apply(op, lanes) if chosen is None else self.registers.get(chosen, lanes)
        if type(op) is ConstantOp:
            return _literal(op)
        if isinstance(op, IndexOp):
            return self._index(op, lanes)
        if isinstance(op, WithinOp):
            unknown = self.guards.unknown(op.where.data)
            return self.guards.all_hold(unknown, lanes) if unknown else splat("i1", "false" if unknown is None else "true", lanes)
        assert isinstance(op, LoadOp)
        return self.tiles.load(op, lanes) if lanes > 1 and op in self.tiles.slots else self.loads.emit(op, lanes, active)

    def _apply(self, op: ApplyOp, lanes: int) -> Value:
        arguments = operands_of(op)
        operands = [self.registers.get(operand, lanes) for operand in arguments]
        if (at := self.contracted.get(op)) is not None and self.depth[arguments[at]] == self.depth[result_of(op)]:
            return self._contracted(op, at, operands[1 - at], lanes)
        return self.nest.arithmetic(lanes).apply(op.function.data, operands, [element_of(o.type) for o in arguments], element_of(result_of(op).type))

    def _contracted(self, op: ApplyOp, at: int, other: Value, lanes: int) -> Value:
        """x y + z, z - x y or x y - z, where the product is operand ``at``."""
        product = op.operands[at].owner
        assert isinstance(product, ApplyOp)
        x, y = [real_value(self.registers.get(factor, lanes)) for factor in product.operands]
        z, register, scalars = real_value(other), element_of(result_of(op).type).register, self.nest.arithmetic(lanes)
        if op.function.data == "subtract":
            z, x = (z, scalars.negate(register, x)) if at else (scalars.negate(register, z), x)
        return scalars.intrinsic("fmuladd", register, x, y, z)

    def _known_choice(self, op: ApplyOp) -> SSAValue | None:
        """The operand that a selection chooses, where its guards are known for this piece of the innermost loop; else None."""
        if not self.nest.known or op.function.data != "select" or not isinstance(guard := op.operands[0].owner, WithinOp):
            return None
        unknown = self.guards.unknown(guard.where.data)
        return op.operands[2] if unknown is None else None if unknown else op.operands[1]

    def _index(self, op: IndexOp, lanes: int) -> Value:
        at, target = self.nest.placed.loops[op.at.data], element_of(op.result.type)
        if lanes == 1:
            inner = self.nest.index if self.nest.inner >= 0 and self.nest.inner in dimensions(at) else None
            return self.nest.exact(1).convert(str(self.addresses.position(at, inner)), INDEX, target)
        number, element = self.addresses.lane_numbers(at)
        return self.nest.exact(lanes).convert(number, element, target)

    # -- addresses of the innermost loop, computed outside of it

    def prepare_inner(self, level: int) -> None:
        """Computes the addresses that the innermost loop starts from, at the level that they depend on."""
        for op in self.nest.placed.levels[-1]:
            if (load := self.nest.loads.get(op)) is not None and load.base is None and op not in self.tiles.slots:
                self._prepare(load.pointer, load.element, load.at, level)
                shared = self.guards.shared(load.guards)
                if load.guards and max(deepest(self.addresses.outer(load.at)), self.nest.placed.guard_depth(shared)) == level:
                    self.loads.base_inside(load, load.pointer)
        for write in self.nest.placed.writes:
            at = self.nest.placed.loops[write.at]
            if write.base is None and (write.kind == STORE or at.coefficient(self.nest.inner)):
                self._prepare(f"%q{write.target}", element_of(write.value.type), at, level)

    def _prepare(self, pointer: str, element: Element, at: Position, level: int) -> None:
        if deepest(self.addresses.outer(at)) == level:
            self.addresses.inner_base(pointer, element, at)

    def _prepare_based(self, value: SSAValue) -> None:
        """Moves the pointers of the innermost loop that a computed position shifts, as soon as it is known."""
        last = self.nest.op.body.block.last_op
        for use in value.uses:
            user = use.operation
            if (load := self.nest.loads.get(user)) is not None and load.base is value and self.depth[result_of(user)] == self.nest.inner:
                self.addresses.based(load.pointer, load.element, value)
            elif user is last and use.index >= len(self.nest.placed.writes):
                for write in self.nest.placed.writes:
                    if write.base is value:
                        self.addresses.based(f"%q{write.target}", element_of(write.value.type), value)

    def _used_inside(self, value: SSAValue) -> bool:
        """Whether the innermost loop uses the value in all lanes."""
        last = self.nest.op.body.block.last_op
        for use in value.uses:
            user = use.operation
            if (user is last and use.index >= len(self.nest.placed.writes)) or isinstance(user, LoadOp):
                continue
            if user is last or self.depth[result_of(user)] == self.nest.inner:
                return True
        return False


def _literal(op: ConstantOp) -> Value:
    element = element_of(op.result.type)
    value = splat_value(op.value)
    if element.kind == "c":
        return literal(value.real, element), literal(value.imag, element)
    return literal(value, element)
