"""Appends the ops that a kernel's body is made of: ``scf`` around ``arith``, ``math``, ``complex`` and ``memref``.

Positions are numbers of type ``index``, or Python integers where they are known. An op on positions that was asked for before, where it is still known, is not
written again. Constants stand at the beginning of the body.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.ir.attributes import int_attr
from wengert.ir.construction import append, block_with, insert_before
from wengert.ir.tensor_types import i1, is_float
from wengert.ir.traversal import result_of as result

INDEX = IndexType()
Index = int | SSAValue
"""A position: a number that is known, or a value of type ``index``."""
Values = list[SSAValue]
_PREDICATES = {name: int_attr(n) for n, name in enumerate(("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"))}
_NONE: Mapping[str, Attribute] = {}


class Loop(Struct):
    """A loop that is being written: its index, what it carries, what the next iteration gets (``next``, to be set), and at last its results."""

    index: SSAValue
    carried: Sequence[SSAValue]
    next: Sequence[SSAValue]
    results: Sequence[SSAValue] = ()


class Code:
    """Appends ops to the body of a kernel, which is ``entry``, or to a region inside of it."""

    def __init__(self, entry: Block):
        self.entry = entry
        self._blocks = [entry]
        self._constants: dict[tuple[str, Attribute], SSAValue] = {}
        self._made: list[Operation] = []
        self._known: list[dict[tuple[Any, ...], SSAValue]] = [{}]

    @property
    def block(self) -> Block:
        """Where ops go."""
        return self._blocks[-1]

    def finish(self) -> None:
        """Puts the constants in front."""
        first = self.entry.first_op
        for op in self._made:
            if first is None:
                append(self.entry, op)
            else:
                insert_before(first, op)
        self._made.clear()

    def op(self, cls: type[Operation], operands: Sequence[SSAValue], type: Attribute, properties: Mapping[str, Attribute] = _NONE) -> SSAValue:
        """The result of a new op."""
        made = cls.create(operands=operands, result_types=[type], properties=dict(properties))
        append(self.block, made)
        return result(made)

    def act(self, cls: type[Operation], operands: Sequence[SSAValue] = (), properties: Mapping[str, Attribute] = _NONE) -> None:
        """A new op without a result."""
        append(self.block, cls.create(operands=operands, properties=dict(properties)))

    # -- constants

    def constant(self, value: float, type: Attribute) -> SSAValue:
        """An integer or a float of a type without a sign."""
        attribute = FloatAttr(value, type) if is_float(type) else IntegerAttr(int(value), type)  # pyright: ignore[reportArgumentType, reportCallIssue]
        return self.literal(attribute, type)

    def literal(self, attribute: Attribute, type: Attribute, cls: type[Operation] = arith.ConstantOp) -> SSAValue:
        """A constant that stands at the beginning of the body, once."""
        key = (str(attribute), type)
        made = self._constants.get(key)
        if made is None:
            op = cls.create(result_types=[type], properties={"value": attribute})
            self._made.append(op)
            made = self._constants[key] = result(op)
        return made

    def value(self, at: Index) -> SSAValue:
        """A position as a value."""
        return self.literal(IntegerAttr(at, INDEX), INDEX) if isinstance(at, int) else at

    # -- positions

    def shared(self, cls: type[Operation], operands: Sequence[SSAValue], type: Attribute, properties: Mapping[str, Attribute] = _NONE) -> SSAValue:
        """The result of an op without effects, which may have been written before; it goes to the outermost region that knows its operands."""
        key = (cls, type, *operands, *properties.values())
        depth = max([self._depth(value) for value in operands])
        made = self._known[depth].get(key)
        if made is None:
            op = cls.create(operands=operands, result_types=[type], properties=dict(properties))
            append(self._blocks[depth], op)
            made = self._known[depth][key] = result(op)
        return made

    def _depth(self, value: SSAValue) -> int:
        """How deep in regions a value is made; what the kernel is given is as good as made in the entry."""
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        return next((depth for depth in range(len(self._blocks) - 1, 0, -1) if self._blocks[depth] is block), 0)

    def plus(self, x: Index, y: Index) -> Index:
        """The sum."""
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        return y if x == 0 else x if y == 0 else self.shared(arith.AddiOp, [self.value(x), self.value(y)], INDEX, _WRAPS)

    def times(self, x: Index, factor: int) -> Index:
        """The product with a number that is known."""
        if isinstance(x, int):
            return x * factor
        return 0 if factor == 0 else x if factor == 1 else self.shared(arith.MuliOp, [x, self.value(factor)], INDEX, _WRAPS)

    def quotient(self, x: Index, by: int) -> Index:
        """The quotient of a number that is not negative."""
        if isinstance(x, int):
            return x // by
        return x if by == 1 else self.shared(arith.DivUIOp, [x, self.value(by)], INDEX)

    def remainder(self, x: Index, by: int) -> Index:
        """The remainder of a number that is not negative."""
        if isinstance(x, int):
            return x % by
        return 0 if by == 1 else self.shared(arith.RemUIOp, [x, self.value(by)], INDEX)

    def below(self, x: Index, bound: Index) -> SSAValue:
        """Whether a position is in [0, bound); one that is negative is not."""
        return self.compare("ult", self.value(x), self.value(bound))

    def compare(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """A comparison of two integers or positions."""
        return self.shared(arith.CmpiOp, [x, y], i1, {"predicate": _PREDICATES[predicate]})

    def both(self, conditions: Sequence[SSAValue]) -> SSAValue:
        """Whether all conditions hold; there is at least one."""
        holds = conditions[0]
        for other in conditions[1:]:
            holds = self.shared(arith.AndIOp, [holds, other], i1)
        return holds

    def selected(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        """One of two positions."""
        return self.shared(arith.SelectOp, [condition, x, y], INDEX)

    # -- memory

    def load(self, buffer: SSAValue, at: Index) -> SSAValue:
        """An element of a flat buffer."""
        type: Any = buffer.type
        return self.op(memref.LoadOp, [buffer, self.value(at)], type.element_type)

    def store(self, value: SSAValue, buffer: SSAValue, at: Index) -> None:
        """Writes an element of a flat buffer."""
        self.act(memref.StoreOp, [value, buffer, self.value(at)])

    # -- control

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Ops go to the block of a region."""
        self._blocks.append(block)
        self._known.append({})
        yield
        self._known.pop()
        self._blocks.pop()

    @contextmanager
    def loop(self, start: Index, stop: Index, step: Index, carried: Sequence[SSAValue] = ()) -> Generator[Loop]:
        """``for index in range(start, stop, step)``."""
        block = block_with([INDEX, *[value.type for value in carried]])
        loop = Loop(block.args[0], block.args[1:], block.args[1:])
        bounds = [self.value(at) for at in (start, stop, step)]
        with self.inside(block):
            yield loop
            self.act(scf.YieldOp, loop.next)
        made = scf.ForOp.create(operands=[*bounds, *carried], result_types=[value.type for value in carried], regions=[Region(block)])
        append(self.block, made)
        loop.results = made.results

    @contextmanager
    def when(self, condition: SSAValue | None) -> Generator[None]:
        """What is only done where the condition holds; None: always."""
        if condition is None:
            yield
            return
        block = Block()
        with self.inside(block):
            yield
            self.act(scf.YieldOp)
        append(self.block, scf.IfOp.create(operands=[condition], regions=[Region(block), Region()]))

    def choose(self, condition: SSAValue | None, then: Callable[[], Values], otherwise: Callable[[], Values]) -> Values:
        """Values that are computed where the condition holds, or else others; None: it always does."""
        if condition is None:
            return then()
        blocks, ends = (Block(), Block()), list[Values]()
        for block, compute in zip(blocks, (then, otherwise), strict=True):
            with self.inside(block):
                ends.append(compute())
                self.act(scf.YieldOp, ends[-1])
        if not ends[0]:
            blocks = (blocks[0],)
        regions = [Region(blocks[0]), Region(blocks[1:])]
        made = scf.IfOp.create(operands=[condition], result_types=[value.type for value in ends[0]], regions=regions)
        append(self.block, made)
        return list(made.results)

    def either(self, condition: SSAValue, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """One thing or another is done, which both have effects alone."""
        blocks = (Block(), Block())
        for block, write in zip(blocks, (then, otherwise), strict=True):
            with self.inside(block):
                write()
                self.act(scf.YieldOp)
        append(self.block, scf.IfOp.create(operands=[condition], regions=[Region(block) for block in blocks]))

    def as_long_as(self, condition: Callable[[], SSAValue], body: Callable[[], None]) -> None:
        """A loop that carries nothing and ends where a condition fails, which is computed before every iteration."""
        before, after = Block(), Block()
        with self.inside(before):
            self.act(scf.ConditionOp, [condition()])
        with self.inside(after):
            body()
            self.act(scf.YieldOp)
        append(self.block, scf.WhileOp.create(regions=[Region(before), Region(after)]))


_WRAPS: Mapping[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}
