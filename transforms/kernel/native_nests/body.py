"""Writes the body of a nest scalar by scalar: loads at positions that guards may forbid, constants, functions, and the writes at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects.kernel import ApplyOp, ConstantOp, Guard, IndexOp, LoadOp, NestOp, WhereAttr, WithinOp, Write, at_attr, nest, string, yielded
from wengert.dialects.kernel.positions import ZERO, Position, divide, index, span
from wengert.ir.construction import append
from wengert.ir.elements import splat
from wengert.ir.tensor_types import i1, tensor, type_of
from wengert.ir.traversal import result_of

FUNCTIONS = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum", "and": "and", "or": "or"}
"""The scalar function that combines two elements, by the kind of a write."""


class Body:
    """The body of a nest with these loop bounds that reads these tensors."""

    def __init__(self, bounds: Sequence[int], inputs: Sequence[SSAValue]):
        self.bounds = tuple(bounds)
        self.inputs = list(inputs)
        self.block = Block(arg_types=[value.type for value in inputs])

    def load(self, number: int, at: Position, guards: Sequence[Guard] = (), base: SSAValue | None = None) -> SSAValue:
        """The element of an input at a flat position (plus a computed one); anything where the guards do not hold."""
        argument = self.block.args[number]
        properties: dict[str, Attribute] = {"at": at_attr(at)}
        if guards:
            properties["where"] = WhereAttr(tuple(guards))
        operands = [argument] if base is None else [argument, base]
        return self._add(LoadOp.create(operands=operands, result_types=[type_of(argument).element_type], properties=properties))

    def load_or(self, number: int, at: Position, guards: Sequence[Guard], other: Any) -> SSAValue:
        """The element of an input at a flat position, or a constant where the guards do not hold."""
        needed = self.needed(guards)
        loaded = self.load(number, at, needed)
        if not needed:
            return loaded
        return self.apply("select", loaded.type, self.within(needed), loaded, self.constant(other, loaded.type))

    def needed(self, guards: Sequence[Guard]) -> tuple[Guard, ...]:
        """The guards that do not hold in every iteration."""
        spans = [(guard, *span(guard[0], self.bounds)) for guard in guards]
        return tuple(dict.fromkeys([guard for guard, least, most in spans if least < guard[1] or most >= guard[2]]))

    def within(self, guards: Sequence[Guard]) -> SSAValue:
        """Whether the guards hold."""
        return self._add(WithinOp.create(result_types=[i1], properties={"where": WhereAttr(tuple(guards))}))

    def constant(self, value: Any, type: Attribute) -> SSAValue:
        """A NumPy scalar as a constant of a type."""
        return self._add(ConstantOp.create(result_types=[type], properties={"value": splat(value, tensor((), type))}))

    def number(self, at: Position, type: Attribute) -> SSAValue:
        """An expression of loop indices as a number."""
        return self._add(IndexOp.create(result_types=[type], properties={"at": at_attr(at)}))

    def apply(self, function: str, type: Attribute, *operands: SSAValue) -> SSAValue:
        """A scalar function of scalars."""
        return self._add(ApplyOp.create(operands=operands, result_types=[type], properties={"function": string(function)}))

    def converted(self, value: SSAValue, type: Attribute) -> SSAValue:
        """A scalar in another type; itself if it is of that type."""
        return value if value.type == type else self.apply("convert", type, value)

    def loop(self, number: int) -> Position:
        """The index of a loop, which is 0 if there is one iteration."""
        return index(number) if self.bounds[number] != 1 else ZERO

    def loops(self) -> list[Position]:
        """The indices of all loops."""
        return [self.loop(number) for number in range(len(self.bounds))]

    def divided(self, at: Position, divisor: int) -> tuple[Position, Position]:
        """Quotient and remainder of a position."""
        return divide(at, divisor, self.bounds)

    def nest(self, writes: Sequence[Write], results: Sequence[Attribute]) -> NestOp:
        """The nest that writes this to results of these types."""
        append(self.block, yielded(writes))
        return nest(self.inputs, [], results, self.bounds, [-1] * len(results), self.block)

    def _add(self, op: Operation) -> SSAValue:
        append(self.block, op)
        return result_of(op)
