"""Counts how often each block of a program runs, as a polynomial.

A block in loops whose iterations are known runs as often as the sum of the innermost one's iterations over those of all around it (for triangular
loops: Faulhaber's formula), or as the tables of constants say that its iterations are read from. A loop of which nothing is known has a symbol for its
iterations in all, whatever is around it, and so has each branch.
A function runs as often as all calls of it together.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct, field
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation

from wengert.dialects import stablehlo
from wengert.transforms.analysis.liveness import BRANCHES, LOOPS
from wengert.transforms.analysis.symbolic.extents import Extents
from wengert.transforms.analysis.symbolic.integers import Extent
from wengert.transforms.analysis.symbolic.loop_counts import Integers, Values, counters, iterations
from wengert.transforms.analysis.symbolic.polynomial import ONE, ZERO, Polynomial
from wengert.transforms.analysis.symbolic.summation import summed
from wengert.transforms.analysis.symbolic.tabulated import Tabulated
from wengert.transforms.analysis.symbolic.unknowns import Unknown, Unknowns, path_of


class Context(Struct, frozen=True):
    """The surroundings of a block: inside of something that runs ``times`` in all, and there in loops, by the symbol of their index with their iterations."""

    times: Polynomial
    loops: tuple[tuple[str, Polynomial], ...] = ()

    def inside(self, index: str, count: Extent) -> Context:
        """The body of another loop."""
        return Context(self.times, (*self.loops, (index, Polynomial.of(count))))

    @property
    def executions(self) -> Polynomial | None:
        """How often the block runs; None where there is no formula."""
        total: Polynomial | None = ONE
        for index, count in reversed(self.loops):
            total = summed(total, index, count) if total is not None else None
        return None if total is None else total * self.times


class Executions(Struct):
    """The number of times that each block of a program runs.

    Attributes:
        blocks: each block with the number of times that it runs.
        unknown: the symbols in that, each with the blocks that run so often.
        alternatives: the symbols of the branches of a case, with how often they are taken together.
        bodies: how often the bodies of loops run, by what is around the loop and its location; None where there are several.
    """

    blocks: list[tuple[Block, Polynomial]] = field(default_factory=list[tuple[Block, Polynomial]])
    unknown: dict[Unknown, list[Block]] = field(default_factory=dict[Unknown, list[Block]])
    alternatives: dict[tuple[str, ...], Polynomial] = field(default_factory=dict[tuple[str, ...], Polynomial])
    bodies: dict[Hashable, Polynomial | None] = field(default_factory=dict[Hashable, "Polynomial | None"])

    def note(self, loop: Operation, times: Polynomial) -> None:
        """Remembers how often a loop's body runs."""
        place = (path_of(loop), loop.location)
        self.bodies[place] = times if place not in self.bodies else None


def executions(module: ModuleOp, entry: str, extents: Extents, unknowns: Unknowns) -> Executions:
    """How often each block of the entry and of what it calls runs."""
    return _Walk(module, extents, unknowns).run(entry)


class _Walk:
    def __init__(self, module: ModuleOp, extents: Extents, unknowns: Unknowns):
        self.functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
        self.extents = extents
        self.unknowns = unknowns
        self.calls: dict[str, list[tuple[Polynomial, list[Extent | None]]]] = {}
        self.result = Executions()
        self.indices = 0
        self.calling, self.tabulated = ONE, Tabulated()
        unknowns.prepare(module)

    def run(self, entry: str) -> Executions:
        self.calls[entry] = [(ONE, [None] * len(self.functions[entry].body.block.args))]
        for name in _callers_first(self.functions, entry):
            calls, body = self.calls.get(name, []), self.functions[name].body
            if calls and body.blocks:
                times = sum((times for times, _ in calls), ZERO)
                same = [values[0] if all(value == values[0] for value in values) else None for values in zip(*(given for _, given in calls), strict=True)]
                self.calling, self.tabulated = times, Tabulated()
                self.block(body.block, Context(times), dict(zip(body.block.args, same, strict=True)))
        return self.result

    def block(self, block: Block, context: Context, values: Values) -> None:
        times = context.executions
        assert times is not None
        self.result.blocks.append((block, times))
        integers = Integers(self.extents, values, dict(context.loops))
        for op in block.ops:
            if isinstance(op, LOOPS):
                self.loop(op, context, times, integers)
            elif isinstance(op, BRANCHES):
                self.branches(op, context, times, integers)
            elif isinstance(op, CallOp):
                given = [integers.of(operand) for operand in op.operands]
                inside = {index for index, _ in context.loops}
                arguments = [None if isinstance(value, Polynomial) and value.symbols & inside else value for value in given]
                self.calls.setdefault(op.callee.string_value(), []).append((times, arguments))

    def loop(self, op: Operation, context: Context, times: Polynomial, integers: Integers) -> None:
        *condition, body = (region.block for region in op.regions)
        index = f"i{self.indices}"
        self.indices += 1
        count = iterations(op, integers)
        inner = context.inside(index, count) if count is not None else None
        if inner is None or inner.executions is None:
            in_all = self.tabulated.total(op)
            if in_all is None:
                self.unknown_loop(op, times, integers)
            else:
                self.tabulated_loop(op, self.calling * in_all, integers)
            return
        self.result.note(op, inner.executions)
        known = counters(op, integers, index)
        for block in condition:
            self.block(block, context.inside(index, Polynomial.of(count or 0) + 1), {**integers.values, **_moved(known, body, block)})
        self.block(body, inner, {**integers.values, **known})

    def tabulated_loop(self, op: Operation, total: Polynomial, integers: Integers) -> None:
        """A loop of which tables say how often its body runs in all."""
        self.result.note(op, total)
        self.block(op.regions[-1].block, Context(total), {**_outside(integers.values, integers), **_outside(counters(op, integers, "i"), integers)})

    def unknown_loop(self, op: Operation, times: Polynomial, integers: Integers) -> None:
        *condition, body = (region.block for region in op.regions)
        symbol = self.unknowns.total(op)
        total = Polynomial.symbol(symbol.name)
        self.result.note(op, total)
        self.result.unknown.setdefault(symbol, []).append(body)
        known = _outside(counters(op, integers, "i"), integers)
        for block in condition:
            self.block(block, Context(total + times), {**_outside(integers.values, integers), **_moved(known, body, block)})
        self.block(body, Context(total), {**_outside(integers.values, integers), **known})

    def branches(self, op: Operation, context: Context, times: Polynomial, integers: Integers) -> None:
        blocks = [region.block if region.blocks else None for region in op.regions]
        chosen = _chosen(op, integers, len(blocks))
        if chosen is None:
            self.result.alternatives[tuple([self.unknowns.taken(op, number).name for number in range(len(blocks))])] = times
        for number, block in enumerate(blocks):
            if block is None or chosen not in (None, number):
                continue
            given = dict(zip(block.args, [integers.of(operand) for operand in op.operands[1:]], strict=False))
            if chosen is not None:
                self.block(block, context, {**integers.values, **given})
                continue
            symbol = self.unknowns.taken(op, number)
            self.result.unknown.setdefault(symbol, []).append(block)
            self.block(block, Context(Polynomial.symbol(symbol.name)), _outside({**integers.values, **given}, integers))


def _chosen(op: Operation, integers: Integers, count: int) -> int | None:
    """The branch that is taken, where that is known: the last one for an index out of range, the first for a predicate that holds."""
    index = integers.of(op.operands[0])
    if not isinstance(index, int):
        return None
    if isinstance(op, stablehlo.IfOp):
        return 0 if index else 1
    return index if 0 <= index < count else count - 1


def _outside(values: Values, integers: Integers) -> Values:
    """What is known whatever the iteration of the loops around is."""
    changing = {"i", *integers.upper}
    return {key: None if isinstance(value, Polynomial) and value.symbols & changing else value for key, value in values.items()}


def _moved(known: Values, body: Block, block: Block) -> Values:
    """What is known of a body's arguments, of those of the condition, which are the last."""
    return {argument: known.get(other) for argument, other in zip(block.args, body.args[len(body.args) - len(block.args) :], strict=True)}


def _callers_first(functions: dict[str, FuncOp], entry: str) -> Sequence[str]:
    """The functions that the entry leads to, each after all that call it."""
    order: list[str] = []
    done: set[str] = set()
    stack = [(entry, False)]
    while stack:
        name, left = stack.pop()
        if left:
            order.append(name)
        elif name not in done and name in functions:
            done.add(name)
            stack.append((name, True))
            stack += [(op.callee.string_value(), False) for op in functions[name].walk() if isinstance(op, CallOp)]
    return order[::-1]
