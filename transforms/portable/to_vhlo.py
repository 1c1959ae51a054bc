"""``stablehlo-to-vhlo``: a program of StableHLO and func as one of VHLO in the version of a target.

Before and after::

    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {        "vhlo.func_v1"() <{function_type = ..., sym_name = #vhlo.string_v1<"main">, ...}> ({
      %0 = stablehlo.tanh %x : tensor<2xf32>                       ^bb0(%x: !vhlo.tensor_v1<2x!vhlo.f32_v1>):
      return %0 : tensor<2xf32>                                      %0 = "vhlo.tanh_v1"(%x) : (...) -> !vhlo.tensor_v1<2x!vhlo.f32_v1>
    }                                                                "vhlo.return_v1"(%0) : (...) -> ()
                                                                 })

Of an op that VHLO has two versions of, the one that the target knows is written. What the target does not have is refused by name and place: an op or a type
that came later, a property that is not the default where the first version of an op lacks it. Ops and attributes of other dialects stay as they are for
targets since 1.11, with casts around them; earlier ones hold none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnrealizedConversionCastOp,
    UnregisteredAttr,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.passes import ModulePass

from wengert.dialects.quant import UniformQuantizedType
from wengert.dialects.stablehlo.annotations import OutputOperandAliasAttr, ResultAccuracyAttr
from wengert.dialects.stablehlo.attributes import ChannelHandleAttr
from wengert.dialects.vhlo.attributes import CustomCallApiVersion, CustomCallApiVersionAttr, VhloAttribute, vhlo_type
from wengert.dialects.vhlo.operations import vhlo_class
from wengert.dialects.vhlo.tables import FUNCTIONS, LACKING, RECORDS, parameters, vhlo_properties
from wengert.dialects.vhlo.versions import (
    CURRENT,
    DICTIONARY_CONFIGURATIONS,
    FIRST,
    MIXED,
    PER_AXIS,
    SECOND,
    TYPES,
    WIDER_REDUCTIONS,
    Version,
    op_version,
    read_version,
)
from wengert.ir.attributes import bool_attr, bools, int_attr, int_of, ints
from wengert.ir.construction import append, block_with
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import i1, i64
from wengert.ir.unregistered import written_name
from wengert.transforms.portable.defaults import booleans, default, integers, lacking_default

_OURS = ("core", "ad", "kernel", "arith", "func", "builtin")
"""Dialects whose ops nobody is to find in an artifact: ours, and those that programs of StableHLO do not mix with."""

_ONE_OPERAND = ("all_gather", "all_reduce", "all_to_all")
_REDUCTIONS = ("reduce", "reduce_window", "all_reduce", "reduce_scatter", "scatter", "select_and_scatter")
_API_VERSIONS = list(CustomCallApiVersion)


@dataclass(frozen=True)
class StablehloToVhloPass(ModulePass):
    """Writes a program in VHLO."""

    name = "stablehlo-to-vhlo"

    target: str = "current"
    """The version, such as ``1.0.0``."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        converted = to_vhlo(op, read_version(self.target))
        region = converted.detach_region(0)
        op.detach_region(0)
        op.add_region(region)


def to_vhlo(module: ModuleOp, target: Version = CURRENT) -> ModuleOp:
    """A module of StableHLO in VHLO, as a new module.

    Raises:
        DiagnosticError: there is an op of another dialect, or what the target does not have; names the op and its place.
    """
    converted = ModuleOp([], dict(module.attributes), module.sym_name)
    converted.location = module.location
    values: dict[SSAValue, SSAValue] = {}
    for op in module.body.block.ops:
        for made in _Conversion(target, op).results(values):
            append(converted.body.block, made)
    return converted


class _Conversion:
    """The conversion of one op."""

    def __init__(self, target: Version, op: Operation):
        self._target, self._op = target, op
        dialect, _, name = op.name.partition(".")
        self._name = FUNCTIONS.get(op.name, name if dialect == "stablehlo" else "")
        if not self._name and (target < MIXED or dialect in _OURS or op.successors):
            known = f"version {target} of StableHLO does" if dialect not in _OURS and target < MIXED else "portable artifacts do"
            hint = (
                "the pass from-core writes core-level IR in StableHLO"
                if dialect in _OURS
                else f"versions since {MIXED} hold it as it is"
                if target < MIXED
                else ""
            )
            self._refuse(f"'{written_name(op)}' is not of StableHLO, and {known} not hold it", hint)

    def _refuse(self, why: str, hint: str = "") -> Any:
        raise error_at(self._op, why, hint)

    def results(self, values: dict[SSAValue, SSAValue]) -> list[Operation]:
        """The op of VHLO, with what is inside of it; an op of another dialect between casts."""
        return [self._result(values)] if self._name else self._foreign(values)

    def _foreign(self, values: dict[SSAValue, SSAValue]) -> list[Operation]:
        op = self._op
        before = [
            UnrealizedConversionCastOp.create(operands=[x], result_types=[old.type], location=op.location)
            for x, old in zip(self._operands(values), op.operands, strict=True)
        ]
        made = type(op).create(
            operands=[made.results[0] for made in before],
            result_types=[result.type for result in op.results],
            properties=op.properties,
            attributes=op.attributes,
            regions=[self._region(region, values, foreign=True) for region in op.regions],
            location=op.location,
        )
        after = [UnrealizedConversionCastOp.create(operands=[x], result_types=[self._type(x.type)], location=op.location) for x in made.results]
        values.update(zip(op.results, [made.results[0] for made in after], strict=True))
        return [*before, made, *after]

    def _result(self, values: dict[SSAValue, SSAValue]) -> Operation:
        op, version = self._op, op_version(self._name, self._target)
        if version is None:
            self._refuse(f"'{op.name}' came with version {FIRST[self._name]} of StableHLO, {self._target} does not have it")
        assert version is not None
        given = self._given(version)
        names = vhlo_properties(self._name, version)
        self._check(given)
        made = vhlo_class(f"{self._name}_v{version}").create(
            operands=self._operands(values),
            result_types=[self._type(result.type) for result in op.results],
            properties={name: _wrapped(given.pop(name)) for name in names},
            attributes={name: _wrapped(value) for name, value in given.items()},
            regions=[self._region(region, values) for region in op.regions],
            location=op.location,
        )
        values.update(zip(op.results, made.results, strict=True))
        return made

    def _operands(self, values: dict[SSAValue, SSAValue]) -> list[SSAValue]:
        if any(operand not in values for operand in self._op.operands):
            self._refuse(f"'{self._op.name}' uses a value before it is defined")
        return [values[operand] for operand in self._op.operands]

    # -- properties

    def _given(self, version: int) -> dict[str, Attribute]:
        """The attributes of the op in this version, with defaults."""
        given: dict[str, Attribute] = {}
        for name, value in {**self._op.attributes, **self._op.properties}.items():
            given.update(self._converted(name, value))
        for name in vhlo_properties(self._name, 2 if self._name in SECOND else 1):
            if name not in given:
                value = default(self._name, name, given)
                given[name] = self._missing(name) if value is None else value
        if version == 1:
            for name in LACKING.get(self._name, ()) if self._name in SECOND else ():
                self._leave_out(name, given)
            if self._name == "dynamic_conv":
                given["padding"] = cast(Attribute, default("dynamic_conv", "padding", given))
        return given

    def _missing(self, name: str) -> Attribute:
        return self._refuse(f"'{self._op.name}' has no '{name}', which portable artifacts need")

    def _leave_out(self, name: str, given: dict[str, Attribute]) -> None:
        value = given.pop(name, None)
        if value is not None and value != lacking_default(self._name, name, given):
            self._refuse(f"'{name}' of '{self._op.name}' came with version {SECOND[self._name]} of StableHLO, {self._target} does not have it")

    def _converted(self, name: str, value: Attribute) -> dict[str, Attribute]:
        """An attribute as those of VHLO that stand for it."""
        record = RECORDS.get((self._name, name))
        if record is not None and isinstance(value, record):
            return {key: _parameter(part) for key, part in zip(parameters(record), value.parameters, strict=True)}
        if name == "channel_handle" and isinstance(value, ChannelHandleAttr):
            channel: dict[str, Attribute] = {"channel_id": value.handle}
            return {**channel, "channel_type": value.type} if self._name in ("send", "recv") else channel
        if name == "use_global_device_ids":
            return {name: bool_attr(True)}
        if name == "api_version" and self._name == "custom_call":
            return {name: CustomCallApiVersionAttr(_API_VERSIONS[int_of(value)])}
        if name in ("operandSegmentSizes", "resultSegmentSizes"):
            return {}
        return {name: self._portable(name, value)}

    def _portable(self, name: str, value: Attribute) -> Attribute:
        """An attribute as one that VHLO has a counterpart of."""
        if isinstance(value, ArrayAttr):
            return ArrayAttr([self._portable(name, item) for item in cast("ArrayAttr[Attribute]", value)])
        if isinstance(value, DictionaryAttr):
            return DictionaryAttr({key: self._portable(key, item) for key, item in value.data.items()})
        if isinstance(value, DenseArrayBase) and (kind := cast("Any", value).elt_type) in (i1, i64):
            array = cast(Attribute, value)
            return booleans(list(bools(array))) if kind == i1 else integers(list(ints(array)))
        if isinstance(value, SymbolRefAttr) and not value.nested_references.data:
            return value.root_reference
        if isinstance(value, TypeAttribute):
            self._type(value)
        elif isinstance(value, IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr):
            self._type(cast("Any", value).type)
        elif self._target >= MIXED and isinstance(value, UnregisteredAttr) and value.attr_name.data.partition(".")[0] != "stablehlo":
            return value
        elif not isinstance(value, StringAttr | OutputOperandAliasAttr | ResultAccuracyAttr | EnumAttribute):
            self._refuse(f"attribute '{name}' of '{self._op.name}' cannot be in a portable artifact: {value}")
        return cast(Attribute, value)

    def _check(self, given: Mapping[str, Attribute]) -> None:
        """Refuses what only later versions allow without another op or type for it."""
        target, op = self._target, self._op
        if isinstance(given.get("backend_config"), DictionaryAttr) and target < DICTIONARY_CONFIGURATIONS:
            self._refuse(f"a dictionary configures custom calls since version {DICTIONARY_CONFIGURATIONS} of StableHLO, {target} does not have it")
        if self._name in _ONE_OPERAND and len(op.operands) != 1 and op_version(self._name, target) == 1:
            self._refuse(f"'{op.name}' has several operands since version {SECOND[self._name]} of StableHLO, {target} does not have it")
        if self._name in _REDUCTIONS and target < WIDER_REDUCTIONS and _is_wider(op):
            self._refuse(f"'{op.name}' may sum in wider numbers since version {WIDER_REDUCTIONS} of StableHLO, {target} does not have it")

    # -- types and regions

    def _type(self, type: Attribute) -> Attribute:
        try:
            converted = vhlo_type(type)
        except ValueError as error:
            return self._refuse(str(error))
        for element in _elements(type):
            since = PER_AXIS if isinstance(element, UniformQuantizedType) and element.axis is not None else TYPES.get(str(element))
            if since is not None and self._target < since:
                self._refuse(f"type {element} came with version {since} of StableHLO, {self._target} does not have it")
        return converted

    def _region(self, region: Region, values: dict[SSAValue, SSAValue], foreign: bool = False) -> Region:
        """A region with what is inside of it converted; the arguments of a foreign op's blocks keep their types, and are cast."""
        blocks = list(region.blocks)
        made = [self._foreign_block(block, values) if foreign else self._block(block, values) for block in blocks]
        for block, new in zip(blocks, made, strict=True):
            for op in block.ops:
                if op.successors:
                    self._refuse(f"'{op.name}' jumps, which portable artifacts cannot hold")
                for inner in _Conversion(self._target, op).results(values):
                    append(new, inner)
        converted = Region()
        converted.add_block(made)
        return converted

    def _foreign_block(self, block: Block, values: dict[SSAValue, SSAValue]) -> Block:
        made = block_with([argument.type for argument in block.args])
        for old, new in zip(block.args, made.args, strict=True):
            new.location = old.location
            cast_argument = UnrealizedConversionCastOp.create(operands=[new], result_types=[self._type(old.type)], location=old.location)
            append(made, cast_argument)
            values[old] = cast_argument.results[0]
        return made

    def _block(self, block: Block, values: dict[SSAValue, SSAValue]) -> Block:
        made = block_with([self._type(argument.type) for argument in block.args])
        for old, new in zip(block.args, made.args, strict=True):
            new.location = old.location
            values[old] = new
        return made


def _wrapped(value: Attribute) -> Attribute:
    """An attribute of VHLO; one of another dialect stays what it is."""
    return value if isinstance(value, UnregisteredAttr) else VhloAttribute(value)


def _parameter(part: Attribute) -> Attribute:
    """A parameter of a record as a property of VHLO."""
    if isinstance(part, ArrayAttr):
        return integers([int_of(item) for item in cast("ArrayAttr[Attribute]", part)])
    return part if isinstance(part, TypeAttribute) or getattr(part, "type", None) == i1 else int_attr(int_of(part))


def _elements(type: Any) -> tuple[Attribute, ...]:
    """The element types in a type."""
    inner = [getattr(type, name, None) for name in ("element_type", "storage", "expressed")]
    lists = [getattr(getattr(type, name, None), "data", ()) for name in ("inputs", "outputs", "types")]
    parts = [part for part in (*inner, *(part for parts in lists for part in parts)) if isinstance(part, Attribute)]
    return (type, *(element for part in parts for element in _elements(part)))


def _is_wider(op: Operation) -> bool:
    """Whether the region of a reduction computes in other types than the op is given."""
    if not op.regions or not op.regions[-1].blocks:
        return False
    given = {getattr(operand.type, "element_type", None) for operand in op.operands}
    return any(getattr(argument.type, "element_type", None) not in given for argument in op.regions[-1].block.args)
