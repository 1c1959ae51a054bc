"""``vhlo-to-stablehlo``: a program of VHLO, of any version, as one of StableHLO and func.

The first version of an op becomes what it stands for today. Properties that have their defaults are left out, as StableHLO's own tools leave them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, ModuleOp, NoneType, StringAttr, SymbolRefAttr, UnitAttr, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.bytecode.properties import properties_of
from wengert.dialects.registry import make_context
from wengert.dialects.stablehlo.attributes import ChannelHandleAttr, dimensions
from wengert.dialects.vhlo.attributes import CustomCallApiVersion, VhloAttribute, VhloType
from wengert.dialects.vhlo.operations import VhloOperation
from wengert.dialects.vhlo.tables import ARRAYS, LACKING, RECORDS, SYMBOLS, parameters, stablehlo_name
from wengert.ir.attributes import bool_array, int_array, int_attr
from wengert.ir.construction import append, block_with, copy_op
from wengert.ir.location.places import error_at
from wengert.ir.parsing.operations import property_names
from wengert.ir.tensor_types import i1
from wengert.ir.traversal import all_ops
from wengert.transforms.portable.defaults import default, lacking_default

_API_VERSIONS = list(CustomCallApiVersion)
_UNIT = UnitAttr()


@dataclass(frozen=True)
class VhloToStablehloPass(ModulePass):
    """Writes a program of VHLO in StableHLO."""

    name = "vhlo-to-stablehlo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        converted = from_vhlo(op)
        region = converted.detach_region(0)
        op.detach_region(0)
        op.add_region(region)


def has_vhlo(module: Operation) -> bool:
    """Whether there is an op of VHLO in a module."""
    return any(isinstance(op, VhloOperation) for op in all_ops(module))


def from_vhlo(module: ModuleOp) -> ModuleOp:
    """A module of VHLO in StableHLO and func, as a new module. Ops of other dialects stay as they are, in functions that are not of VHLO.

    Raises:
        DiagnosticError: an op lacks a property; names the op and its place.
    """
    converted = ModuleOp([], dict(module.attributes), module.sym_name)
    converted.location = module.location
    reader = _Reader(make_context())
    for op in module.body.block.ops:
        reader.append(converted.body.block, op, "builtin.module")
    return converted


class _Reader:
    """Converts ops; values that were converted are known."""

    def __init__(self, context: Context):
        self._context = context
        self._values: dict[SSAValue, SSAValue] = {}
        self._known: dict[tuple[Any, ...], tuple[tuple[Attribute, ...], dict[str, Attribute]]] = {}
        self._classes: dict[tuple[str, bool], tuple[type[Operation], frozenset[str]]] = {}

    def append(self, block: Block, op: Operation, around: str) -> None:
        """Puts what an op stands for at the end of a block: the value of a cast for its result, an op of another dialect as it is."""
        if isinstance(op, VhloOperation):
            append(block, self._operation(op, around))
        elif isinstance(op, UnrealizedConversionCastOp) and len(op.operands) == len(op.results):
            self._values.update(zip(op.results, self._operands(op), strict=True))
        else:
            append(block, self._foreign(op))

    def _class(self, op: str, in_function: bool) -> tuple[type[Operation], frozenset[str]]:
        """The class of the op of StableHLO or func, and the names of its properties."""
        known = self._classes.get((op, in_function))
        if known is None:
            cls = self._context.get_optional_op("stablehlo.return" if op == "return" and not in_function else stablehlo_name(op))
            assert cls is not None
            known = self._classes[op, in_function] = cls, property_names(cls)
        return known

    def _foreign(self, op: Operation) -> Operation:
        """An op of another dialect, with what is inside of it converted."""
        if not op.regions:
            return copy_op(op, self._values)
        made = type(op).create(
            operands=self._operands(op),
            result_types=[result.type for result in op.results],
            properties=op.properties,
            attributes=op.attributes,
            regions=[self._region(region, op.name) for region in op.regions],
            location=op.location,
        )
        self._values.update(zip(op.results, made.results, strict=True))
        return made

    def _operands(self, op: Operation) -> list[SSAValue]:
        try:
            return [self._values[operand] for operand in op.operands]
        except KeyError:
            raise error_at(op, f"'{op.name}' uses a value before it is defined") from None

    def _operation(self, op: VhloOperation, around: str) -> Operation:
        """The op of StableHLO that one of VHLO stands for; ``around`` is the name of the op around it."""
        cls, known = self._class(op.OP, around == "func.func")
        try:
            given = self._attributes(op)
        except (VerifyException, ValueError, TypeError, AttributeError, LookupError) as error:  # what no op of StableHLO can have
            raise error_at(op, f"the properties of '{op.name}' do not fit it: {' '.join(str(error).split())}") from None
        made = cls.create(
            operands=self._operands(op),
            result_types=[_type(result.type) for result in op.results],
            properties={key: value for key, value in given.items() if key in known},
            attributes={key: value for key, value in given.items() if key not in known},
            regions=[self._region(region, cls.name) for region in op.regions],
            location=op.location,
        )
        for old, new in zip(op.results, made.results, strict=True):
            self._values[old] = new
        return made

    def _region(self, region: Region, around: str) -> Region:
        blocks = list(region.blocks)
        made = [self._block(block) for block in blocks]
        for block, new in zip(blocks, made, strict=True):
            for op in block.ops:
                self.append(new, op, around)
        converted = Region()
        converted.add_block(made)
        return converted

    def _block(self, block: Block) -> Block:
        made = block_with([_type(argument.type) for argument in block.args])
        for old, new in zip(block.args, made.args, strict=True):
            new.location = old.location
            self._values[old] = new
        return made

    def _attributes(self, op: VhloOperation) -> dict[str, Attribute]:
        """The attributes of the op of StableHLO. Ops with the same properties have them converted once."""
        given = dict(op.properties)
        kept: dict[str, Attribute] = {}
        for key, value in op.attributes.items():
            if key in op.PROPERTY_NAMES:
                given.setdefault(key, value)
            else:
                kept[key] = _unwrapped(value)
        if not given and not op.PROPERTY_NAMES:
            return kept
        seen = (op.name, *(id(value) for value in given.values()))
        known = self._known.get(seen)
        if known is None:
            known = self._known[seen] = tuple(given.values()), _stablehlo_properties(op, given)
        return {**known[1], **kept}


def _unwrapped(value: Attribute) -> Attribute:
    return value.of if isinstance(value, VhloAttribute) else value


def _stablehlo_properties(op: VhloOperation, given: Mapping[str, Attribute]) -> dict[str, Attribute]:
    written = {key: _unwrapped(value) for key, value in given.items()}
    missing = next((key for key in sorted(op.PROPERTY_NAMES) if key not in written), None)
    if missing is not None:
        raise error_at(op, f"'{op.name}' has no '{missing}'")
    if op.VERSION == 1:
        for key in LACKING.get(op.OP, ()):
            written.setdefault(key, lacking_default(op.OP, key, written))
    if op.OP == "dynamic_conv":
        written.pop("padding", None)
    return _with_records(op.OP, {key: value for key, value in written.items() if default(op.OP, key, written) != value and not _is_empty(key, value)})


def _is_empty(key: str, value: Attribute) -> bool:
    """Whether these are attributes of arguments or results, and none has any."""
    return key in ("arg_attrs", "res_attrs") and not any(getattr(entry, "data", True) for entry in getattr(value, "data", ()))


def _with_records(op: str, given: dict[str, Attribute]) -> dict[str, Attribute]:
    """Properties of VHLO as those of StableHLO."""
    converted: dict[str, Attribute] = {}
    for (owner, name), record in RECORDS.items():
        if owner == op and any(key in given for key in parameters(record)):
            converted[name] = record.new([_parameter(given.pop(key, None)) for key in parameters(record)])
    if "channel_id" in given:
        converted["channel_handle"] = ChannelHandleAttr.new([given.pop("channel_id"), given.pop("channel_type", int_attr(0))])
    for name, value in given.items():
        converted[name] = _property(name, value, op)
    wanted = properties_of(stablehlo_name(op)) or ()
    return {key: value for key, value in converted.items() if not (isinstance(value, NoneType) and f"{key}?" in wanted)}


def _parameter(value: Attribute | None) -> Attribute:
    if value is None:
        return dimensions(())
    return dimensions(_integers(value)) if isinstance(value, DenseIntOrFPElementsAttr) else value


def _integers(value: Any) -> list[int]:
    """The integers of a constant of one dimension."""
    count = value.type.get_shape()[0]
    data: bytes = value.data.data
    integers = [int.from_bytes(data[at : at + 8], "little", signed=True) for at in range(0, len(data), 8)]
    return integers * count if len(integers) == 1 else integers


def _property(name: str, value: Attribute, op: str) -> Attribute:
    """A property of StableHLO from the one of VHLO that has the same name."""
    if name == "api_version" and op == "custom_call":
        return int_attr(_API_VERSIONS.index(cast("Any", value).data), 32)
    if name == "use_global_device_ids":
        return _UNIT
    if name in SYMBOLS:
        return _symbols(value)
    if name in ARRAYS and isinstance(value, DenseIntOrFPElementsAttr):
        constant = cast("Any", value)
        if constant.type.element_type != i1:
            return int_array(_integers(constant))
        flags = [bool(flag) for flag in constant.data.data]
        return bool_array(flags * constant.type.get_shape()[0] if len(flags) == 1 else flags)
    return value


def _symbols(value: Attribute) -> Attribute:
    if isinstance(value, ArrayAttr):
        return ArrayAttr([_symbols(item) for item in cast("ArrayAttr[Attribute]", value)])
    return SymbolRefAttr(value) if isinstance(value, StringAttr) else value


def _type(type: Attribute) -> Attribute:
    return type.of if isinstance(type, VhloType) else type
