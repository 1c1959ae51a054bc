"""Modules and functions of a device, and what a device loads of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, FunctionType, IntegerAttr, MemRefType, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region
from xdsl.irdl import opt_prop_def, prop_def, region_def, traits_def, var_operand_def
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import DEVICE
from wengert.dialects.gpu import text
from wengert.dialects.gpu.base import DeviceOp, shown
from wengert.dialects.gpu.memory import DeviceSpace, device_space
from wengert.dialects.gpu.objects import ObjectAttr
from wengert.ir.attributes import int_attr, int_of, ints
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx
from wengert.ir.tensor_types import i32

CONTAINER = "gpu.container_module"
"""The attribute of a module that holds modules of a device, and functions that launch their kernels."""


@op_definition
class ModuleOp(DeviceOp):
    """A unit of compilation for a device: kernels, the functions that they call, and the targets that it is compiled for."""

    name = "gpu.module"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(text.ModuleText())
    sym_name = prop_def(StringAttr)
    targets = opt_prop_def(ArrayAttr)
    handler = opt_prop_def(Attribute, prop_name=text.HANDLER)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable())

    @classmethod
    def named(cls, name: str, ops: Sequence[Operation] = (), targets: Sequence[Attribute] = ()) -> ModuleOp:
        """A module of this name."""
        properties: dict[str, Attribute] = {"sym_name": StringAttr(name)}
        if targets:
            properties["targets"] = ArrayAttr(targets)
        return cls.create(properties=properties, regions=[Region(Block(ops))])

    def verify_(self) -> None:
        if self.targets is not None and not self.targets.data:
            raise VerifyException("a list of targets names at least one")


@op_definition
class FuncOp(DeviceOp):
    """A function of a device. A kernel is launched by the host; its buffers of a work-group's memory are arguments that the launch does not give.

    ``known_block_size`` says with how many threads per work-group it is launched, so that registers can be shared out.
    """

    name = "gpu.func"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(text.FunctionText())
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    kernel = opt_prop_def(UnitAttr, prop_name=text.KERNEL)
    workgroup_attributions = opt_prop_def(IntegerAttr)
    known_block_size = opt_prop_def(DenseArrayBase)
    known_grid_size = opt_prop_def(DenseArrayBase)
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), HasParent(ModuleOp), SymbolOpInterface())

    @classmethod
    def of_kernel(cls, name: str, inputs: Sequence[Attribute], body: Region, *, workgroup: int = 0, block_size: Sequence[int] = ()) -> FuncOp:
        """A kernel whose body's arguments are its inputs, so many buffers of its work-group, and buffers of each thread."""
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "function_type": FunctionType.from_lists(inputs, []),
            text.KERNEL: text.UNIT,
        }
        if workgroup:
            properties[text.ATTRIBUTIONS] = int_attr(workgroup)
        if block_size:
            properties["known_block_size"] = DenseArrayBase.from_list(i32, block_size)
        return cls.create(properties=properties, regions=[body])

    @property
    def is_kernel(self) -> bool:
        """Whether the host launches it."""
        return self.kernel is not None

    @property
    def inputs(self) -> Sequence[BlockArgument]:
        """The arguments that a launch or a call gives."""
        return self.body.blocks[0].args[: len(self.function_type.inputs)]

    @property
    def workgroup_buffers(self) -> Sequence[BlockArgument]:
        """The buffers that the threads of a work-group share."""
        first = len(self.function_type.inputs)
        return self.body.blocks[0].args[first : first + attribution_count(self)]

    @property
    def private_buffers(self) -> Sequence[BlockArgument]:
        """The buffers that each thread has."""
        return self.body.blocks[0].args[len(self.function_type.inputs) + attribution_count(self) :]

    def verify_(self) -> None:
        entry = self.body.first_block
        if entry is None:
            raise VerifyException("a function of a device has a body")
        types, given = entry.arg_types, self.function_type.inputs.data
        if tuple(types[: len(given)]) != given:
            raise VerifyException(f"the body takes arguments of the types ({_listed(types)}), but the function's type says ({_listed(given)})")
        if self.is_kernel and self.function_type.outputs.data:
            raise VerifyException("a kernel returns nothing")
        expect_attributions(self.workgroup_buffers, self.private_buffers, attribution_count(self))
        for key, sizes in (("known_block_size", self.known_block_size), ("known_grid_size", self.known_grid_size)):
            if sizes is not None and (sizes.elt_type != i32 or len(sizes) != 3 or min(ints(sizes)) < 1):
                raise VerifyException(f"'{key}' holds three positive i32 numbers, found {sizes}")


@op_definition
class ReturnOp(DeviceOp):
    """Ends a function of a device."""

    name = "gpu.return"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(sx.OptionalOperandTypes())
    values = var_operand_def()
    traits = traits_def(IsTerminator())

    def verify_(self) -> None:
        function = self.parent_op()
        if not isinstance(function, FuncOp):
            raise VerifyException("must be directly inside a gpu.func")
        types = tuple(value.type for value in self.values)
        if types != function.function_type.outputs.data:
            raise VerifyException(f"@{function.sym_name.data} returns ({_listed(function.function_type.outputs.data)}), found ({_listed(types)})")


@op_definition
class BinaryOp(DeviceOp):
    """A module as a device loads it: an object for each target."""

    name = "gpu.binary"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(text.BinaryText())
    sym_name = prop_def(StringAttr)
    handler = opt_prop_def(Attribute, prop_name=text.HANDLER)
    objects = prop_def(ArrayAttr)
    traits = traits_def(SymbolOpInterface())

    @classmethod
    def named(cls, name: str, objects: Sequence[ObjectAttr]) -> BinaryOp:
        """A binary of this name."""
        return cls.create(properties={"sym_name": StringAttr(name), "objects": ArrayAttr(objects)})

    def verify_(self) -> None:
        if not self.objects.data or not all(isinstance(item, ObjectAttr) for item in self.objects):
            raise VerifyException("a binary holds a list of #gpu.object, at least one")


def attribution_count(op: Operation) -> int:
    """The number of buffers that a function or a launch has in the memory of its work-group."""
    count = op.properties.get(text.ATTRIBUTIONS)
    return 0 if count is None else int_of(count)


def expect_attributions(workgroup: Sequence[BlockArgument], private: Sequence[BlockArgument], count: int) -> None:
    """Buffers of a work-group and of threads are static memrefs in their spaces."""
    if len(workgroup) != count:
        raise VerifyException(f"{count} buffers of the work-group are counted, found {len(workgroup)}")
    for buffer, space, word in [(b, DeviceSpace.WORKGROUP, "workgroup") for b in workgroup] + [(b, DeviceSpace.PRIVATE, "private") for b in private]:
        type = cast("MemRefType[Any]", buffer.type)
        if not isinstance(buffer.type, MemRefType) or device_space(type) is not space or min(type.get_shape(), default=0) < 0:
            number = {DeviceSpace.WORKGROUP: "3", DeviceSpace.PRIVATE: "5"}[space]
            raise VerifyException(f"{word} buffer #{buffer.index} must be a static memref in space {number}, found {shown(type)}")


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(shown, types))
