"""Making IR quickly: what xDSL's constructors do, without the checks that hold by how we use them.

A compiler mostly makes ops. xDSL's ``Operation.create`` takes five times as long as what is below, and its ``Block.add_op`` walks
up all parents to see that an op is not put into itself. Ops of our dialects derive from :class:`DialectOperation`, so that
everybody who makes one, xDSL included, gets the quick way; the objects that come out are the same. This module and
:mod:`wengert.ir.traversal` alone touch what xDSL keeps private (its version is pinned, and ``tests/ir/test_construction.py``
compares the results with xDSL's own).
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, OpResult, ParametrizedAttribute, Region, SSAValue, Use
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, OptionalDef
from xdsl.irdl.operations import BaseAccessor, BeforeVariadicSingleAccessor, UniqueVariadicAccessor, VarIRConstruct

Op = TypeVar("Op", bound=Operation)
A = TypeVar("A", bound=ParametrizedAttribute)
Attributes = Mapping[str, Attribute]
_NONE: dict[str, Attribute] = {}
_new = object.__new__

# xDSL hashes values and ops by methods in Python that return their identity. object's own hash is the same in C, and dictionaries of
# values are what passes are made of.
SSAValue.__hash__ = object.__hash__


class OperationType(ABCMeta):
    """The type of our op classes: ``isinstance`` is the language's own, since nobody registers virtual subclasses of an op, and named
    operands, results and regions are read in one step where xDSL takes five."""

    __instancecheck__ = type.__instancecheck__

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, _direct(value) if isinstance(value, BaseAccessor) else value)


def _direct(accessor: BaseAccessor) -> BaseAccessor | property:
    """A property that reads what an accessor reads, or the accessor where sizes of several segments have to be looked up."""
    if isinstance(accessor, BeforeVariadicSingleAccessor) and accessor.construct in _ONE:
        return property(_ONE[accessor.construct](accessor.idx))
    if isinstance(accessor, UniqueVariadicAccessor) and accessor.num_defs == 1 and accessor.construct in _ALL:
        return property(_ALL[accessor.construct])
    return accessor


_item = tuple[Any, ...].__getitem__
_ONE: dict[VarIRConstruct, Callable[[int], Callable[[Operation], Any]]] = {
    VarIRConstruct.OPERAND: lambda index: lambda op: _item(op._operands, index),
    VarIRConstruct.RESULT: lambda index: lambda op: _item(op.results, index),
    VarIRConstruct.REGION: lambda index: lambda op: op.regions[index],
}
_ALL: dict[VarIRConstruct, Callable[[Operation], Any]] = {
    VarIRConstruct.OPERAND: lambda op: op._operands,
    VarIRConstruct.RESULT: lambda op: op.results,
    VarIRConstruct.REGION: lambda op: op.regions,
}


class DialectOperation(IRDLOperation, metaclass=OperationType):
    """An operation of a dialect of ours: made quickly, hashed by identity."""

    __hash__ = object.__hash__

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Attributes = _NONE,
        attributes: Attributes = _NONE,
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        """An op from its parts, as xDSL's method of this name."""
        op = _new(cls)
        op._operands, op._operand_uses = _used(op, operands)
        results: list[OpResult[Any]] = []
        for index, kind in enumerate(result_types):
            result: OpResult[Any] = _new(OpResult)
            result._type, result.op, result.index = kind, op, index
            results.append(result)
        op.results = SSAValues(results)
        op.properties = dict(properties)
        op.attributes = dict(attributes)
        op.location = UNKNOWN_LOC if location is None else location
        op.regions = tuple(regions)
        for region in regions:
            if region.parent is not None:
                raise ValueError("a region of another op cannot become one of this one")
            region.parent = op
        if successors:
            op.successors = successors
        defaults = _DEFAULTS.get(cls)
        for name, value in _defaults(cls) if defaults is None else defaults:
            op.properties.setdefault(name, value)
        return op


def _used(op: Operation, operands: Sequence[SSAValue]) -> tuple[SSAValues[Any], tuple[Use, ...]]:
    """The operands of an op that has none yet, each told of its new use."""
    uses: list[Use] = []
    for index, value in enumerate(operands):
        use = _new(Use)
        first = value.first_use
        use._operation, use._index, use._prev_use, use._next_use = op, index, None, first
        if first is not None:
            first._prev_use = use
        value.first_use = use
        uses.append(use)
    return SSAValues(operands), tuple(uses)


_DEFAULTS: dict[type[IRDLOperation], tuple[tuple[str, Attribute], ...]] = {}
"""By class: the properties that an op has if nobody gives it another."""


def _defaults(cls: type[IRDLOperation]) -> tuple[tuple[str, Attribute], ...]:
    definition = cls.get_irdl_definition()
    assert all(d.default_value is None for d in definition.attributes.values() if not isinstance(d, OptionalDef)), f"{cls}: defaults are for properties"
    found = {n: d.default_value for n, d in definition.properties.items() if not isinstance(d, OptionalDef)}
    _DEFAULTS[cls] = tuple((name, value) for name, value in found.items() if value is not None)
    return _DEFAULTS[cls]


def unverified(cls: type[A], **parameters: Attribute) -> A:
    """An attribute of parameters that are known to be right by what made them; to verify a location takes longer than to make an op."""
    made = _new(cls)
    for name, value in parameters.items():
        object.__setattr__(made, name, value)
    return made


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
    copied = type(op).create(
        operands=[get(value, value) for value in op._operands],
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
    copied = Block(arg_types=[argument._type for argument in block._args])
    for old, new in zip(block._args, copied._args, strict=True):
        new.location, new._name = old.location, old._name
        values[old] = new
    op = block._first_op
    while op is not None:
        append(copied, copy_op(op, values))
        op = op._next_op
    return Region(copied)


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


def erase(op: Operation) -> None:
    """Takes an op out of its block for good. Nothing outside of it may use its results."""
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
    op.drop_all_references()
