"""Op classes of our dialects: defined when they are first used, made quickly, their parts read in one step.

There are 180 of them and a program uses a few dozen, so xDSL reads what a class declares (operands, results, properties, traits) at
its first use and not when the module is imported. Its ``Operation.create`` takes five times as long as the one below; everybody
who makes an op of ours, xDSL included, gets the quick way, and the objects that come out are the same.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from threading import RLock
from typing import Any, Self, TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, OpDef, OptionalDef, irdl_op_definition
from xdsl.irdl.operations import (
    BaseAccessor,
    BaseAttrAccessor,
    BeforeVariadicSingleAccessor,
    OptionalAttrAccessor,
    OptionalPropertyAccessor,
    PropertyAccessor,
    SameOptionalAccessor,
    SingleAttrAccessor,
    UniqueVariadicAccessor,
    VariadicAttrAccessor,
    VarIRConstruct,
)
from xdsl.traits import OpTrait

from wengert.ir.attributes import ints

OpClass = TypeVar("OpClass", bound="type[DialectOperation]")
Trait = TypeVar("Trait", bound=OpTrait)
Attributes = Mapping[str, Attribute]
_NONE: dict[str, Attribute] = {}
_new = object.__new__

# xDSL hashes values and ops by methods in Python that return their identity. object's own hash is the same in C, and dictionaries of
# values are what passes are made of.
SSAValue.__hash__ = object.__hash__

# A value's type is asked for more often than anything else: xDSL's property in Python is one in C here.
SSAValue.type = property(attrgetter("_type"))  # pyright: ignore[reportAttributeAccessIssue]

_item = tuple[Any, ...].__getitem__


def _value_or_values(values: SSAValues[Any], index: Any) -> Any:
    """What xDSL's method of this name gives, which takes four calls for it."""
    return _item(values, index) if index.__class__ is int else SSAValues(_item(values, index))


SSAValues.__getitem__ = _value_or_values  # pyright: ignore[reportAttributeAccessIssue]


class OperationType(ABCMeta):
    """The type of our op classes: ``isinstance`` is the language's own, since nobody registers virtual subclasses of an op, and named
    operands, results and regions are read in one step where xDSL takes five."""

    __instancecheck__ = type.__instancecheck__

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, _direct(value) if isinstance(value, _ACCESSORS) else value)


_ACCESSORS = (BaseAccessor, BaseAttrAccessor, OptionalPropertyAccessor, PropertyAccessor)


def _direct(accessor: Any) -> Any:
    """A property that reads what an accessor of xDSL reads, or the accessor itself if it is of a kind that is hardly ever asked."""
    if isinstance(accessor, BeforeVariadicSingleAccessor) and accessor.construct in _ONE:
        return property(_ONE[accessor.construct](accessor.idx))
    if isinstance(accessor, UniqueVariadicAccessor) and accessor.num_defs == 1 and accessor.construct in _ALL:
        return property(_ALL[accessor.construct])
    if isinstance(accessor, SameOptionalAccessor) and accessor.construct in _ALL:
        return property(_last(accessor.idx, accessor.num_defs, _ALL[accessor.construct]))
    if isinstance(accessor, PropertyAccessor):
        return _named(accessor.property_name)
    if isinstance(accessor, OptionalPropertyAccessor):
        return _named_or(accessor.property_name, accessor.default_value)
    if isinstance(accessor, BaseAttrAccessor) and accessor.construct in _ALL and accessor.option.as_property:
        return property(_segment(accessor, _ALL[accessor.construct]))
    return accessor


def _named(name: str) -> property:
    """An attribute that an op always has."""

    def write(op: Operation, value: Attribute) -> None:
        op.properties[name] = value

    return property(lambda op: op.properties[name], write)


def _named_or(name: str, default: Attribute | None) -> property:
    """An attribute that an op may have; None takes it away."""

    def write(op: Operation, value: Attribute | None) -> None:
        if value is None:
            op.properties.pop(name, None)
        else:
            op.properties[name] = value

    return property(lambda op: op.properties.get(name, default), write)


def _last(index: int, most: int, read: Callable[[Operation], Any]) -> Callable[[Operation], Any]:
    """Reads the one operand (or result, or region) that an op may have."""

    def optional(op: Operation) -> Any:
        values = read(op)
        return _item(values, index) if len(values) == most else None

    return optional


def _segment(accessor: BaseAttrAccessor, read: Callable[[Operation], Any]) -> Callable[[Operation], Any]:
    """Reads one of several groups of operands (or results, or regions), whose sizes are an attribute."""
    name, index = accessor.option.attribute_name, accessor.idx

    def several(op: Operation) -> Any:
        sizes = ints(op.properties[name])
        begin = sum(sizes[:index])
        return read(op)[begin : begin + sizes[index]]

    def one(op: Operation) -> Any:
        sizes = ints(op.properties[name])
        return _item(read(op), sum(sizes[:index])) if sizes[index] else None

    assert isinstance(accessor, SingleAttrAccessor | OptionalAttrAccessor | VariadicAttrAccessor)
    return several if isinstance(accessor, VariadicAttrAccessor) else one


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


def op_definition(cls: OpClass) -> OpClass:
    """Marks a class as the definition of an op, as xDSL's ``irdl_op_definition`` does, which is called at the first use of the class."""
    cls.get_irdl_definition = classmethod(_defined)  # pyright: ignore[reportAttributeAccessIssue]
    return cls


_DEFINING = RLock()


def _defined(cls: type[DialectOperation]) -> OpDef:
    """The definition of a class that nobody asked for before. xDSL puts accessors where the declarations stood, so only one thread may."""
    with _DEFINING:
        waiting = getattr(cls.get_irdl_definition, "__func__", None) is _defined
        return irdl_op_definition(cls).get_irdl_definition() if waiting else cls.get_irdl_definition()


class DialectOperation(IRDLOperation, metaclass=OperationType):
    """An operation of a dialect of ours: defined at its first use, made quickly, hashed by identity."""

    __hash__ = object.__hash__

    @classmethod
    def get_trait(cls, trait: type[Trait] | Trait) -> Trait | None:
        """As xDSL's: traits of base classes are known once the class is defined."""
        cls.get_irdl_definition()
        return super().get_trait(trait)

    @classmethod
    def get_traits_of_type(cls, trait_type: type[Trait]) -> list[Trait]:
        """As xDSL's: traits of base classes are known once the class is defined."""
        cls.get_irdl_definition()
        return super().get_traits_of_type(trait_type)

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
        for kind in result_types:
            result: OpResult[Any] = _new(OpResult)
            result._type, result.op, result.index = kind, op, len(results)
            results.append(result)
        op.results = SSAValues(results)
        op.properties = dict(properties) if properties else {}
        op.attributes = dict(attributes) if attributes else {}
        op.location = UNKNOWN_LOC if location is None else location
        op.regions = tuple(regions) if regions else ()
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
    if not operands:
        return _NO_VALUES, ()
    uses: list[Use] = []
    for value in operands:
        use = _new(Use)  # its class says that no use is before or behind it
        use._operation, use._index = op, len(uses)
        first = value.first_use
        if first is not None:
            use._next_use = first
            first._prev_use = use
        value.first_use = use
        uses.append(use)
    return SSAValues(operands), tuple(uses)


_NO_VALUES: SSAValues[Any] = SSAValues()


def set_operands(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Gives an op other operands."""
    for operand, use in zip(op._operands, op._operand_uses, strict=True):
        operand.remove_use(use)
    op._operands, op._operand_uses = _used(op, operands)


_DEFAULTS: dict[type[IRDLOperation], tuple[tuple[str, Attribute], ...]] = {}
"""By class: the properties that an op has if nobody gives it another."""


def made_quickly(cls: type[Operation]) -> None:
    """Has a class that xDSL knows no definition of made as :class:`DialectOperation` is: without defaults."""
    _DEFAULTS[cls] = ()  # pyright: ignore[reportArgumentType]
    cls.create = classmethod(DialectOperation.create.__func__)  # pyright: ignore[reportAttributeAccessIssue]


def _defaults(cls: type[IRDLOperation]) -> tuple[tuple[str, Attribute], ...]:
    definition = cls.get_irdl_definition()
    assert all(d.default_value is None for d in definition.attributes.values() if not isinstance(d, OptionalDef)), f"{cls}: defaults are for properties"
    defaults = {n: d.default_value for n, d in definition.properties.items() if not isinstance(d, OptionalDef)}
    _DEFAULTS[cls] = tuple((name, value) for name, value in defaults.items() if value is not None)
    return _DEFAULTS[cls]
