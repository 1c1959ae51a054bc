"""Launches: a body that all threads of a grid run, and the same as a kernel of a module.

::

    gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %m, %sy = %c1, %sz = %c1) { ... }

Grids and work-groups are static: their sizes are constants. ``gpu-kernel-outlining`` makes a ``gpu.launch_func`` of a ``gpu.launch``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.dialects.builtin import ModuleOp as Module
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, region_def, traits_def, var_operand_def
from xdsl.traits import HasParent, IsTerminator
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import DEVICE
from wengert.dialects.gpu.base import DeviceOp, shown
from wengert.dialects.gpu.functions import CONTAINER, BinaryOp, FuncOp, ModuleOp, attribution_count, expect_attributions
from wengert.dialects.gpu.launch_text import LaunchFuncText, LaunchText
from wengert.dialects.gpu.text import ATTRIBUTIONS, INDEX
from wengert.ir.attributes import int_attr, int_of, ints
from wengert.ir.diagnostics import did_you_mean
from wengert.ir.operations import op_definition
from wengert.ir.symbols import symbol_name, symbols_of
from wengert.ir.syntax import parts as sx
from wengert.ir.verification.structure import is_built_as_defined
from wengert.ir.verification.typing_rules import TypingError

Sizes = tuple[int, int, int]


@op_definition
class LaunchOp(DeviceOp):
    """Runs its body in all threads of a grid.

    The arguments of the body are the numbers of the work-group, of the thread in it, the sizes of grid and work-group (three each), then buffers that
    the threads of a work-group share, then those that each has. ``module`` and ``function`` name what outlining makes of it.
    """

    name = "gpu.launch"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(LaunchText())
    grid_x = operand_def(IndexType)
    grid_y = operand_def(IndexType)
    grid_z = operand_def(IndexType)
    block_x = operand_def(IndexType)
    block_y = operand_def(IndexType)
    block_z = operand_def(IndexType)
    module = opt_prop_def(StringAttr)
    function = opt_prop_def(StringAttr)
    workgroup_attributions = opt_prop_def(IntegerAttr)
    body = region_def()

    @classmethod
    def of(cls, grid: Sequence[SSAValue], block: Sequence[SSAValue], workgroup: Sequence[Attribute] = (), private: Sequence[Attribute] = ()) -> LaunchOp:
        """A launch of three sizes each, with an empty body that has its arguments; it ends in ``gpu.terminator``, which is still to be added."""
        body = Region(Block(arg_types=[INDEX] * 12 + [*workgroup, *private]))
        properties: dict[str, Attribute] = {ATTRIBUTIONS: int_attr(len(workgroup))} if workgroup else {}
        return cls.create(operands=[*grid, *block], properties=properties, regions=[body])

    @property
    def block_ids(self) -> Sequence[BlockArgument]:
        """The work-group's number along x, y, z."""
        return self.body.blocks[0].args[:3]

    @property
    def thread_ids(self) -> Sequence[BlockArgument]:
        """The thread's number in its work-group along x, y, z."""
        return self.body.blocks[0].args[3:6]

    @property
    def workgroup_buffers(self) -> Sequence[BlockArgument]:
        """The buffers that the threads of a work-group share."""
        return self.body.blocks[0].args[12 : 12 + attribution_count(self)]

    @property
    def private_buffers(self) -> Sequence[BlockArgument]:
        """The buffers that each thread has."""
        return self.body.blocks[0].args[12 + attribution_count(self) :]

    def verify_(self) -> None:
        entry = self.body.first_block
        if entry is None or tuple(entry.arg_types)[:12] != (INDEX,) * 12:
            raise VerifyException("the body takes 12 indices first: number of the work-group, number of the thread, sizes of grid and work-group")
        expect_attributions(self.workgroup_buffers, self.private_buffers, attribution_count(self))


@op_definition
class TerminatorOp(DeviceOp):
    """Ends the body of a launch."""

    name = "gpu.terminator"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(sx.AttributeDictionary())
    traits = traits_def(HasParent(LaunchOp), IsTerminator())


@op_definition
class LaunchFuncOp(DeviceOp):
    """Runs a kernel of a module in all threads of a grid."""

    name = "gpu.launch_func"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(LaunchFuncText())
    grid_x = operand_def(IndexType)
    grid_y = operand_def(IndexType)
    grid_z = operand_def(IndexType)
    block_x = operand_def(IndexType)
    block_y = operand_def(IndexType)
    block_z = operand_def(IndexType)
    arguments = var_operand_def()
    kernel = prop_def(SymbolRefAttr)

    @classmethod
    def of(cls, module: str, kernel: str, grid: Sequence[SSAValue], block: Sequence[SSAValue], arguments: Sequence[SSAValue]) -> LaunchFuncOp:
        """A launch of ``@module::@kernel`` with three sizes each."""
        return cls.create(operands=[*grid, *block, *arguments], properties={"kernel": SymbolRefAttr(module, [kernel])})

    @property
    def module_name(self) -> str:
        """The name of the module that holds the kernel."""
        return self.kernel.root_reference.data

    @property
    def kernel_name(self) -> str:
        """The kernel's name in its module."""
        return self.kernel.nested_references.data[-1].data if self.kernel.nested_references.data else ""

    def verify_(self) -> None:
        host = _host_module(self)
        if host is None:
            return
        if CONTAINER not in host.attributes:
            raise TypingError("launches a kernel from a module that does not say that it holds modules of devices", f"add attributes {{{CONTAINER}}}")
        if len(self.kernel.nested_references.data) != 1:
            raise VerifyException(f"names a kernel as @module::@kernel, found {self.kernel}")
        module = symbols_of(host.body.block).get(self.module_name)
        if isinstance(module, ModuleOp):
            if is_built_as_defined(module):
                self._verify_kernel(module)
        elif module is not None and not isinstance(module, BinaryOp):
            raise VerifyException(f"@{self.module_name} is neither a gpu.module nor a gpu.binary")

    def _verify_kernel(self, module: ModuleOp) -> None:
        known = symbols_of(module.body.block)
        kernel = known.get(self.kernel_name)
        if not isinstance(kernel, FuncOp) or not kernel.is_kernel:
            kernels = [f"@{symbol_name(op)}" for op in known.values() if isinstance(op, FuncOp) and op.is_kernel]
            raise TypingError(f"there is no kernel @{self.kernel_name} in @{self.module_name}", did_you_mean(f"@{self.kernel_name}", kernels, ""))
        if not is_built_as_defined(kernel):  # which is an error of its own
            return
        given, expected = [value.type for value in self.arguments], kernel.function_type.inputs.data
        if len(given) != len(expected):
            raise VerifyException(f"@{self.kernel_name} takes {len(expected)} argument{'s' * (len(expected) != 1)}, found {len(given)}")
        for number, (type, wanted) in enumerate(zip(given, expected, strict=True)):
            if type != wanted:
                raise VerifyException(f"argument #{number} of @{self.kernel_name} has the type {shown(wanted)}, found {shown(type)}")
        known_sizes, sizes = kernel.known_block_size, block_size(self)
        if known_sizes is not None and sizes is not None and ints(known_sizes) != sizes:
            raise VerifyException(f"@{self.kernel_name} is compiled for work-groups of {ints(known_sizes)} threads, found {sizes}")


LAUNCHES = (LaunchOp, LaunchFuncOp)


def _host_module(op: Operation) -> Module | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, Module):
        parent = parent.parent_op()
    return parent


def grid_size(op: LaunchOp | LaunchFuncOp) -> Sizes | None:
    """The sizes of the grid along x, y, z, if they are constants."""
    return _constants(op.operands[:3])


def block_size(op: LaunchOp | LaunchFuncOp) -> Sizes | None:
    """The sizes of a work-group along x, y, z, if they are constants."""
    return _constants(op.operands[3:6])


def _constants(values: Sequence[SSAValue]) -> Sizes | None:
    sizes = [int_of(value.owner.value) for value in values if isinstance(value.owner, ConstantOp)]
    return cast(Sizes, tuple(sizes)) if len(sizes) == 3 else None
