"""Making IR quickly: what xDSL's constructors do, without the checks that hold by how we use them.

A compiler mostly makes ops, and copies and moves them. xDSL's ``Block.add_op`` walks up all parents to see that an op is not put
into itself, its ``clone`` makes every op by way of its checks; the objects that come out here are the same. This module,
:mod:`wengert.ir.operations` and :mod:`wengert.ir.traversal` alone touch what xDSL keeps private (its version is pinned, and
``tests/ir/test_construction.py`` compares the results with xDSL's own).
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.core import SSAValues

Op = TypeVar("Op", bound=Operation)
A = TypeVar("A", bound=Attribute)
Attributes = Mapping[str, Attribute]
_NONE: dict[str, Attribute] = {}
_new = object.__new__


def unverified(cls: type[A], **parameters: object) -> A:
    """An attribute of parameters that are known to be right by what made them; to verify a location takes longer than to make an op."""
    made = _new(cls)
    for name, value in parameters.items():
        object.__setattr__(made, name, value)
    return made


def block_with(types: Iterable[Attribute]) -> Block:
    """A block with arguments of these types."""
    block = Block()
    arguments: list[BlockArgument] = []
    for index, type in enumerate(types):
        argument = _new(BlockArgument)
        argument._type, argument.block, argument.index, argument.location = type, block, index, UNKNOWN_LOC
        arguments.append(argument)
    block._args = tuple(arguments)
    return block


def add_argument(block: Block, type: Attribute) -> BlockArgument:
    """A new last argument of a block."""
    argument = _new(BlockArgument)
    argument._type, argument.block, argument.index, argument.location = type, block, len(block._args), UNKNOWN_LOC
    block._args = (*block._args, argument)
    return argument


def erase_arguments(block: Block, erased: Iterable[SSAValue]) -> None:
    """Removes arguments of a block that nothing uses, together, since xDSL moves all behind for each one.

    Raises:
        ValueError: one of them is another block's, or is used.
    """
    gone = set(erased)
    for argument in gone:
        if not isinstance(argument, BlockArgument) or argument.block is not block:
            raise ValueError("an argument to be erased is another block's")
        if argument.first_use is not None:
            raise ValueError("an argument to be erased is used")
    block._args = tuple([argument for argument in block._args if argument not in gone])
    for index, argument in enumerate(block._args):
        argument.index = index


def append(block: Block, op: Operation) -> None:
    """Puts an op that was just made, and so is nowhere yet, at the end of a block."""
    last = block._last_op
    op.parent, op._prev_op = block, last
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
    block._last_op = op


def insert_before(anchor: Operation, op: Operation) -> None:
    """Puts an op that was just made in front of another."""
    block, before = anchor.parent, anchor._prev_op
    assert block is not None, "the anchor stands in a block"
    op.parent, op._prev_op, op._next_op = block, before, anchor
    anchor._prev_op = op
    if before is None:
        block._first_op = op
    else:
        before._next_op = op


def copy_module(module: ModuleOp) -> ModuleOp:
    """A copy of a module, as ``module.clone()`` makes it."""
    return copy_op(module, {})


def copy_op(op: Op, values: dict[SSAValue, SSAValue]) -> Op:
    """A copy of an op and all that is in it.

    Args:
        op: what to copy. Values in it are defined before they are used, as dominance demands of what has no branches.
        values: what stands for values from outside; receives the values of the copy.
    """
    if op._successors:
        return op.clone(values)
    get = values.get
    operands = op._operands
    copied = type(op).create(
        operands=[get(value, value) for value in operands] if operands else (),
        result_types=[result._type for result in op.results],
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
        regions=[copy_region(region, values) for region in op.regions] if op.regions else (),
    )
    for old, new in zip(op.results, copied.results, strict=True):
        values[old] = new
        if old._name is not None:
            new._name = old._name
    return copied


def copy_region(region: Region, values: dict[SSAValue, SSAValue] | None = None) -> Region:
    """A copy of a region; what it captures stays as it is unless ``values`` says otherwise."""
    values = {} if values is None else values
    block = region._first_block
    if block is None or block is not region._last_block:
        branching = Region()
        region.clone_into(branching, 0, values)
        return branching
    copied = block_with([argument._type for argument in block._args])
    for old, new in zip(block._args, copied._args, strict=True):
        new.location, new._name = old.location, old._name
        values[old] = new
    op = block._first_op
    while op is not None:
        append(copied, copy_op(op, values))
        op = op._next_op
    return Region(copied)


def retype(value: SSAValue, type: Attribute) -> None:
    """Gives a value another type."""
    value._type = type


def replace_uses(old: SSAValue, new: SSAValue) -> None:
    """Uses one value wherever another is used; a name that only the old one has goes over too."""
    if old is new:
        return
    use, old.first_use = old.first_use, None
    while use is not None:
        following, op = use._next_use, use._operation
        operands: list[SSAValue] = list(op._operands)
        operands[use._index] = new
        op._operands = SSAValues(operands)
        first = new.first_use
        use._prev_use, use._next_use = None, first
        if first is not None:
            first._prev_use = use
        new.first_use = use
        use = following
    if new._name is None:
        new._name = old._name


def rename_operands(op: Operation, names: Mapping[SSAValue, SSAValue]) -> None:
    """Makes an op use other values in place of those that have another name."""
    operands = op._operands
    renamed = [names.get(value, value) for value in operands]
    for use, old, new in zip(op._operand_uses, operands, renamed, strict=True):
        if new is old:
            continue
        before, after, first = use._prev_use, use._next_use, new.first_use
        if before is None:
            old.first_use = after
        else:
            before._next_use = after
        if after is not None:
            after._prev_use = before
        use._prev_use, use._next_use = None, first
        if first is not None:
            first._prev_use = use
        new.first_use = use
    op._operands = SSAValues(renamed)


def erase(op: Operation) -> None:
    """Takes an op out of its block for good. Nothing outside of it may use its results."""
    detach(op)
    destroy(op)


def destroy(op: Operation) -> None:
    """Destroys an op that stands in no block any more, with all that is in it. Nothing outside of it may use its results.

    An op and its results, neighbouring ops, and blocks and what is in them refer to each other. These cycles are broken here, so that their memory is free at
    once: the collector would find them only by looking through everything else too.
    """
    for region in op.regions:
        block = region._first_block
        while block is not None:
            empty(block)
            following, block._next_block, block._prev_block, block.parent = block._next_block, None, None, None
            block = following
        region._first_block = region._last_block = region.parent = None
    op.drop_all_references()
    for result in op.results:
        result.op = None  # pyright: ignore[reportAttributeAccessIssue]


def empty(block: Block) -> None:
    """Destroys all ops of a block that is given up."""
    op, block._first_op, block._last_op = block._first_op, None, None
    while op is not None:
        following, op._next_op, op._prev_op = op._next_op, None, None
        destroy(op)
        op = following
    for argument in block._args:
        argument.block = None  # pyright: ignore[reportAttributeAccessIssue]


def detach(op: Operation) -> None:
    """Takes an op out of its block, to be put elsewhere."""
    block, before, after = op.parent, op._prev_op, op._next_op
    assert block is not None, "what is erased stands in a block"
    if before is None:
        block._first_op = after
    else:
        before._next_op = after
    if after is None:
        block._last_op = before
    else:
        after._prev_op = before
    op.parent = op._prev_op = op._next_op = None
