"""``scf``: loops and branches as StableHLO's.

A loop with constant bounds whose body needs its counter as a size is unrolled; every other ``scf.for`` is a counted ``while``. A branch or a loop
whose condition or bounds are known is taken, or left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects import stablehlo as hlo
from wengert.dialects.upstream import UpstreamOp
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import DYNAMIC, element, i32
from wengert.transforms.core.counting import constant_integer
from wengert.transforms.upstream.convert import integers
from wengert.transforms.upstream.convert.converter import Converter, Value, handles, refuses
from wengert.transforms.upstream.convert.errors import NeedsConstantError, needs_constant, refusal
from wengert.transforms.upstream.convert.tensors import inserted

Body = Callable[[Value, Sequence[Value]], Sequence[Value]]
"""What an iteration makes: from the counter and the values carried to their next values."""

MOST_UNROLLED = 4096
"""Iterations that are unrolled in one function at most."""


# -- loops that count


def counted(c: Converter, op: Operation, bounds: tuple[Value, Value, Value], initial: Sequence[Value], body: Body, *, unsigned: bool = False) -> list[Value]:
    """A loop from a lower bound to an upper one by a step; the values that it carries at its end."""
    lower, upper, step = (constant_integer(bound) for bound in bounds)
    if lower is not None and upper is not None and step is not None and step > 0:
        count = max(0, -(-(upper - lower) // step))
        if count == 0:
            return list(initial)
        if count == 1:
            return list(body(bounds[0], initial))
        try:
            return _while(c, op, bounds, initial, body, unsigned)
        except NeedsConstantError:
            if c.unrolled + count > MOST_UNROLLED:
                raise
        return _unrolled(c, range(lower, upper, step), bounds[0], initial, body)
    return _while(c, op, bounds, initial, body, unsigned)


def _unrolled(c: Converter, counters: range, like: Value, initial: Sequence[Value], body: Body) -> list[Value]:
    carried = list(initial)
    c.unrolled += len(counters)
    for counter in counters:
        carried = list(body(c.b.scalar(counter, element(like)), carried))
    return carried


def _while(c: Converter, op: Operation, bounds: tuple[Value, Value, Value], initial: Sequence[Value], body: Body, unsigned: bool) -> list[Value]:
    lower, upper, step = bounds
    types = [lower.type, *(value.type for value in initial)]

    def condition(arguments: Sequence[Value]) -> Sequence[Value]:
        return [integers.compare(c, "ult" if unsigned else "slt", arguments[0], upper)]

    def iteration(arguments: Sequence[Value]) -> Sequence[Value]:
        counter, *carried = arguments
        results = body(counter, carried)
        _same_shapes(op, carried, results)
        return [integers.binary(c, "add", counter, step), *results]

    regions = [c.region(types, condition), c.region(types, iteration)]
    return list(c.b.create(hlo.WhileOp, [lower, *initial], types, regions=regions)[1:])


def _same_shapes(op: Operation, before: Sequence[Value], after: Sequence[Value]) -> None:
    for old, new in zip(before, after, strict=True):
        if old.type != new.type:
            message = f"a value that the loop carries changes from {old.type} to {new.type}"
            raise NeedsConstantError(*refusal(op, message, "loops with constant bounds are unrolled then").diagnostics)


@handles("scf.for")
def _for(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    lower, upper, step, *initial = c.operands(op)
    block = op.regions[0].block
    return counted(c, op, (lower, upper, step), initial, lambda i, carried: c.block(block, [i, *carried]), unsigned="unsignedCmp" in op.attributes)


def nest(
    c: Converter, op: Operation, bounds: Sequence[tuple[Value, Value, Value]], initial: Sequence[Value], body: Callable[..., Sequence[Value]]
) -> list[Value]:
    """Loops in each other, the first one outermost; ``body`` takes all counters and the carried values."""

    def level(depth: int, counters: list[Value], carried: Sequence[Value]) -> Sequence[Value]:
        if depth == len(bounds):
            return body(counters, carried)
        return counted(c, op, bounds[depth], carried, lambda i, values: level(depth + 1, [*counters, i], values))

    return list(level(0, [], initial))


@handles("scf.parallel")
def _parallel(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    lower, upper, step, initial = ([c[value] for value in group] for group in op.groups())
    block = op.regions[0].block
    reduce = block.last_op
    assert reduce is not None

    def body(counters: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        values = c.block(block, list(counters))
        return [_combined(c, region.block, acc, value) for region, acc, value in zip(reduce.regions, carried, values, strict=True)]

    return nest(c, op, list(zip(lower, upper, step, strict=True)), initial, body)


def _combined(c: Converter, block: Block, first: Value, second: Value) -> Value:
    return c.block(block, [first, second])[0]


@handles("scf.forall")
def _forall(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    *dynamic, shared = op.groups()
    bounds: list[list[Value]] = []
    for key, group in zip(("staticLowerBound", "staticUpperBound", "staticStep"), dynamic, strict=True):
        rest = iter(group)
        bounds.append([c[next(rest)] if n == DYNAMIC else c.index(n) for n in ints(op.attributes[key])])
    block = op.regions[0].block
    count = len(bounds[0])
    ending = block.last_op
    assert ending is not None

    def body(counters: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        c.block(block, [*counters, *carried])
        outs = dict(zip(block.args[count:], carried, strict=True))
        for insert in (op for region in ending.regions for op in region.block.ops):
            if not isinstance(insert, UpstreamOp) or insert.name != "tensor.parallel_insert_slice":
                raise refusal(insert, "only tensor.parallel_insert_slice may stand at the end of scf.forall")
            target = insert.operands[1]
            outs[target] = inserted(c, insert, outs[target])  # pyright: ignore[reportArgumentType]
        return list(outs.values())

    return nest(c, op, list(zip(*bounds, strict=True)), [c[value] for value in shared], body)


# -- while


@handles("scf.while")
def _scf_while(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    before, after = (region.block for region in op.regions)
    initial = c.operands(op)
    if _only_forwards(before):
        return _plain_while(c, op, before, after, initial)
    return _rotated_while(c, op, before, after, initial)


def _only_forwards(before: Block) -> bool:
    """Whether the condition region passes its arguments on as they are."""
    last = before.last_op
    return last is not None and tuple(last.operands[1:]) == tuple(before.args)


def _plain_while(c: Converter, op: UpstreamOp, before: Block, after: Block, initial: Sequence[Value]) -> list[Value]:
    types = [value.type for value in initial]

    def iteration(carried: Sequence[Value]) -> Sequence[Value]:
        results = c.block(after, carried)
        _same_shapes(op, carried, results)
        return results

    regions = [c.region(types, lambda carried: c.block(before, carried)[:1]), c.region(types, iteration)]
    return list(c.b.create(hlo.WhileOp, initial, types, regions=regions))


def _rotated_while(c: Converter, op: UpstreamOp, before: Block, after: Block, initial: Sequence[Value]) -> list[Value]:
    """The condition region runs once ahead and at the end of each iteration; the loop carries its flag and what it passes on."""
    first = c.block(before, initial)
    types = [value.type for value in first]

    def iteration(carried: Sequence[Value]) -> Sequence[Value]:
        results = c.block(before, c.block(after, carried[1:]))
        _same_shapes(op, carried, results)
        return results

    regions = [c.region(types, lambda carried: carried[:1]), c.region(types, iteration)]
    return list(c.b.create(hlo.WhileOp, first, types, regions=regions)[1:])


# -- branches


@handles("scf.if")
def _if(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    condition = c[op.operands[0]]
    on_true, on_false = op.regions
    chosen = constant_integer(condition)
    if chosen is not None:
        region = on_true if chosen else on_false
        return c.block(region.block) if region.blocks else []
    if not op.results:
        return []
    return branches(c, op, condition, [on_true.block, on_false.block])


def branches(c: Converter, op: Operation, condition: Value, blocks: Sequence[Block]) -> list[Value]:
    """One of two blocks without arguments."""
    regions = [c.region([], lambda _, block=block: c.block(block)) for block in blocks]
    return list(c.b.create(hlo.IfOp, [condition], _result_types(op, regions), regions=regions))


def _result_types(op: Operation, regions: Sequence[Region]) -> list[Attribute]:
    types = [[value.type for value in last.operands] for region in regions if (last := region.block.last_op) is not None]
    if any(other != types[0] for other in types):
        raise needs_constant(op, "a size of a branch's results")
    return types[0]


@handles("scf.index_switch")
def _switch(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    value, (default, *cases) = c[op.operands[0]], op.regions
    numbers = ints(op.attributes["cases"])
    known = constant_integer(value)
    if known is not None:
        return c.block((cases[numbers.index(known)] if known in numbers else default).block)
    if not op.results or not cases:
        return c.block(default.block) if op.results else []
    chosen = c.b.scalar(len(cases), i32)
    for position, number in reversed(list(enumerate(numbers))):
        matches = c.b.compare("EQ", value, c.b.full_like(value, number))
        chosen = c.b.select(matches, c.b.scalar(position, i32), chosen)
    regions = [c.region([], lambda _, block=region.block: c.block(block)) for region in (*cases, default)]
    return list(c.b.create(hlo.CaseOp, [chosen], _result_types(op, regions), regions=regions))


@handles("scf.execute_region", "memref.alloca_scope")
def _execute(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    if len(op.regions[0].blocks) != 1:
        raise refusal(op, "a region of several blocks is not supported", "mlir-opt --lift-cf-to-scf makes structured control flow of it")
    return c.block(op.regions[0].block)


@handles("cf.assert")
def _assert(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    """Left out: a program whose assertions hold does not need them."""
    return []


_LIFT = "mlir-opt --lift-cf-to-scf makes structured control flow of it"
for _name in ("cf.br", "cf.cond_br", "cf.switch"):
    refuses(_name, "jumps between blocks are not supported", _LIFT)
