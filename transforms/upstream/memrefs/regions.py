"""Control flow around buffers: what is written in a region becomes a value that the op carries or returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects.upstream import UpstreamOp, upstream_class
from wengert.ir.attributes import ints
from wengert.ir.construction import add_argument, erase, insert_before, replace_uses
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.memrefs.buffers import Buffers, View, is_buffer
from wengert.transforms.upstream.memrefs.views import cast_to, mixed
from wengert.transforms.upstream.writer import Writer, replaced


class Threading(Protocol):
    """The values that go through blocks with the contents of buffers."""

    buffers: Buffers

    def block(self, block: Block) -> None:
        """Threads buffers through the ops of a block, but for its terminator."""
        ...

    def op(self, op: UpstreamOp) -> None:
        """Threads buffers through an op."""
        ...

    def resolve_region(self, op: Operation) -> list[View]:
        """The roots that exist before an op and that ops in its regions write."""
        ...


def _refuse_buffers(op: Operation) -> None:
    """Refuses an op that carries, chooses or returns buffers."""
    values = [*op.operands, *op.results]
    if any(is_buffer(value) for value in values):
        raise refusal(op, "it carries or returns a buffer", "which buffer is meant has to be known where the program is read")


def read_only(t: Threading, op: UpstreamOp) -> None:
    """An op whose regions may read buffers but not write them."""
    _refuse_buffers(op)
    if t.resolve_region(op):
        raise refusal(op, "buffers are written in a region of this op")
    for region in op.regions:
        for block in region.blocks:
            t.block(block)


def _extended(t: Threading, op: UpstreamOp, roots: Sequence[View], operands: Sequence[SSAValue]) -> UpstreamOp:
    """The same op with other operands and with the contents of roots as further results; the regions move to it."""
    types = [*(result.type for result in op.results), *(root.type for root in roots)]
    regions = [op.detach_region(region) for region in list(op.regions)]
    made = type(op).create(operands=operands, result_types=types, attributes=op.attributes, regions=regions, location=op.location)
    insert_before(op, made)
    return made


def _finish(t: Threading, op: UpstreamOp, made: UpstreamOp, roots: Sequence[View]) -> None:
    """The contents of roots are the results of the new op from here on."""
    count = len(op.results)
    for root, value in zip(roots, made.results[count:], strict=True):
        t.buffers.contents[root] = value
    replaced(op, made.results[:count])


def _enter(t: Threading, block: Block, roots: Sequence[View]) -> None:
    """The contents of roots are further arguments of a block."""
    for root in roots:
        t.buffers.contents[root] = add_argument(block, root.type)


def _through(t: Threading, block: Block, roots: Sequence[View]) -> None:
    """Threads buffers through a block that passes the contents of roots on."""
    t.block(block)
    last = block.last_op
    assert last is not None
    w = Writer(last)
    last.operands = [*last.operands, *(cast_to(w, t.buffers.contents[root], root.type) for root in roots)]


def _initial(t: Threading, op: Operation, roots: Sequence[View]) -> list[SSAValue]:
    return [cast_to(Writer(op), t.buffers.contents[root], root.type) for root in roots]


def _for(t: Threading, op: UpstreamOp) -> None:
    _refuse_buffers(op)
    roots = t.resolve_region(op)
    made = _extended(t, op, roots, [*op.operands, *_initial(t, op, roots)])
    block = made.regions[0].block
    _enter(t, block, roots)
    _through(t, block, roots)
    _finish(t, op, made, roots)


def _while(t: Threading, op: UpstreamOp) -> None:
    _refuse_buffers(op)
    roots = t.resolve_region(op)
    made = _extended(t, op, roots, [*op.operands, *_initial(t, op, roots)])
    for region in made.regions:
        _enter(t, region.block, roots)
        _through(t, region.block, roots)
    _finish(t, op, made, roots)


def _branches(t: Threading, op: UpstreamOp) -> None:
    """Regions of which one runs."""
    _refuse_buffers(op)
    roots = t.resolve_region(op)
    made = _extended(t, op, roots, op.operands)
    before = dict(t.buffers.contents)
    for region in made.regions:
        if not region.blocks and not roots:
            continue
        if not region.blocks:
            region.add_block(Block([upstream_class("scf.yield").create(location=op.location)]))
        t.buffers.contents = dict(before)
        _through(t, region.block, roots)
    t.buffers.contents = before
    _finish(t, op, made, roots)


def _parallel(t: Threading, op: UpstreamOp) -> None:
    """A parallel loop that writes buffers, as loops in each other; its reductions are carried along."""
    _refuse_buffers(op)
    if not t.resolve_region(op):
        read_only(t, op)
        return
    lower, upper, step, initial = op.groups()
    block = op.regions[0].block
    end = block.last_op
    assert end is not None

    def combine(accumulators: Sequence[SSAValue]) -> list[SSAValue]:
        results: list[SSAValue] = []
        for region, accumulator, value in zip(list(end.regions), accumulators, list(end.operands), strict=True):
            results.append(_inlined(end, region, [accumulator, value]))
        return results

    loop = _nest(op, list(zip(lower, upper, step, strict=True)), initial, block, combine, list(op.results))
    t.op(loop)


def _inlined(end: Operation, region: Region, values: Sequence[SSAValue]) -> SSAValue:
    """The value of a region, its ops put in front of an op."""
    block = region.block
    for argument, value in zip(block.args, values, strict=True):
        replace_uses(argument, value)
    *ops, last = block.ops
    for inner in ops:
        inner.detach()
        insert_before(end, inner)
    return last.operands[0]


Bounds = tuple[SSAValue, SSAValue, SSAValue]
Combine = Callable[[Sequence[SSAValue]], list[SSAValue]]


def _nest(op: UpstreamOp, bounds: Sequence[Bounds], initial: Sequence[SSAValue], block: Block, combine: Combine, results: Sequence[SSAValue]) -> UpstreamOp:
    """``scf.for`` in each other around the ops of a block, in place of an op; the outermost one."""
    types = [value.type for value in initial]
    loops: list[UpstreamOp] = []
    carried = list(initial)
    counters: list[SSAValue] = []
    anchor: Operation = op
    for start, stop, step in bounds:
        inner = Block(arg_types=[start.type, *types])
        loop = upstream_class("scf.for").create(operands=[start, stop, step, *carried], result_types=types, regions=[Region(inner)], location=op.location)
        insert_before(anchor, loop)
        ending = upstream_class("scf.yield").create(operands=[], location=op.location)
        inner.add_op(ending)
        if loops:
            _yields(anchor, loop.results)
        loops.append(loop)
        counters.append(inner.args[0])
        carried, anchor = list(inner.args[1:]), ending
    for argument, counter in zip(block.args, counters, strict=False):
        replace_uses(argument, counter)
    *ops, end = block.ops
    for inner_op in ops:
        inner_op.detach()
        insert_before(anchor, inner_op)
    end.detach()
    insert_before(anchor, end)
    _yields(anchor, combine(carried))
    erase(end)
    for old, new in zip(results, loops[0].results, strict=True):
        replace_uses(old, new)
    erase(op)
    return loops[0]


def _yields(ending: Operation, values: Sequence[SSAValue]) -> None:
    ending.operands = list(values)


def _forall(t: Threading, op: UpstreamOp) -> None:
    """``scf.forall`` that writes buffers, as loops in each other."""
    _refuse_buffers(op)
    if not t.resolve_region(op):
        read_only(t, op)
        return
    *dynamic, shared = op.groups()
    if shared:
        raise refusal(op, "a loop that writes buffers and has shared outputs is not supported")
    w = Writer(op)
    bounds = [mixed(w, ints(op.attributes[key]), group) for key, group in zip(("staticLowerBound", "staticUpperBound", "staticStep"), dynamic, strict=True)]
    loop = _nest(op, list(zip(*bounds, strict=True)), [], op.regions[0].block, lambda _: [], [])
    t.op(loop)


STRUCTURES: dict[str, Callable[[Threading, UpstreamOp], None]] = {
    "memref.alloca_scope": _branches,
    "scf.execute_region": _branches,
    "scf.for": _for,
    "scf.forall": _forall,
    "scf.if": _branches,
    "scf.index_switch": _branches,
    "scf.parallel": _parallel,
    "scf.while": _while,
}
"""How buffers go through control flow."""
