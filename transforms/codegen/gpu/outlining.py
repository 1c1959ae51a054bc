"""The pass ``gpu-kernel-outlining``: bodies of launches become kernels of a module that is compiled for the device.

Before and after::

    func.func public @main(%x: memref<64xf32>, %y: memref<64xf32> {kernel.result}) {
      ...
      gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%sx = %m, %sy = %one, %sz = %one) {
        %1 = memref.load %0[%tx] : memref<64xf32, 1>
        ...
        gpu.terminator
      }

    gpu.module @kernels {
      gpu.func @main_k0(%0: memref<64xf32, 1>, ...) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
        %1 = gpu.thread_id x
        %2 = memref.load %0[%1] : memref<64xf32, 1>
        ...
        gpu.return
      }
    }
    func.func public @main(%x: memref<64xf32>, %y: memref<64xf32> {kernel.result}) {
      ...
      gpu.launch_func @kernels::@main_k0 blocks in (%n, %one, %one) threads in (%m, %one, %one) args(%0 : memref<64xf32, 1>, ...)

It is upstream's pass of this name, with three differences: all kernels are in one module (there, each has its own), launches whose bodies are equal share a
kernel (so the size of the grid is not noted on it), and a kernel is named after its function, its number, and what it computes if its location says so.
Constants are copied into kernels, for which upstream has a pass of its own, ``gpu-launch-sink-index-computations``; everything else that a body uses from
outside is an argument. What is known of a buffer (``llvm.noalias``, ``llvm.readonly``) is noted on its argument.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, complex
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, LocationAttr, ModuleOp, NameLoc, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.gpu import CONTAINER, LaunchFuncOp, LaunchOp, ReturnOp, TerminatorOp, block_size
from wengert.dialects.gpu import FuncOp as DeviceFuncOp
from wengert.dialects.gpu import ModuleOp as DeviceModuleOp
from wengert.dialects.gpu.attributes import Dimension
from wengert.dialects.gpu.functions import attribution_count
from wengert.dialects.gpu.ids import BlockDimOp, BlockIdOp, GridDimOp, ThreadIdOp
from wengert.ir.location.locations import flat, provenance, unmarked
from wengert.ir.symbols import symbol_name, symbols_of
from wengert.transforms.codegen.gpu.aliasing import argument_attributes
from wengert.transforms.codegen.gpu.fingerprints import entries, fingerprint

_IDS = [cls.along(dimension).clone for cls in (BlockIdOp, ThreadIdOp, GridDimOp, BlockDimOp) for dimension in Dimension]
"""What makes the ops that take the place of the first arguments of a launch's body."""
_CONSTANTS = (arith.ConstantOp, complex.ConstantOp)
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class GpuKernelOutliningPass(ModulePass):
    """Makes kernels of the bodies of launches, in a module for the device; equal ones are one kernel."""

    name = "gpu-kernel-outlining"

    module: str = "kernels"
    """The name of the module that the kernels are put in; it is made if it is not there."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        launches = [inner for inner in op.walk() if isinstance(inner, LaunchOp)]
        if not launches:
            return
        kernels = _Kernels(op, self.module)
        for launch in launches:
            kernels.outline(launch)
        kernels.drop_constants()
        kernels.take_functions()
        op.attributes[CONTAINER] = UnitAttr()


class _Kernels:
    """The module that kernels are put in."""

    def __init__(self, host: ModuleOp, name: str):
        self.host = host
        taken = symbols_of(host.body.block)
        module = taken.get(name)
        if not isinstance(module, DeviceModuleOp):
            module = DeviceModuleOp.named(_unused(name, taken))
            module.location = host.location
            first = host.body.block.first_op
            assert first is not None
            host.body.block.insert_op_before(module, first)
        self.module = module
        self._made: dict[Hashable, str] = {}
        self._copied: dict[Operation, None] = {}

    def outline(self, launch: LaunchOp) -> None:
        """Replaces a launch by one of a kernel."""
        captured = _close(launch, self._copied)
        attributes = argument_attributes(captured, launch.body)
        sizes = block_size(launch)
        types = tuple(value.type for value in captured)
        key = (sizes, types, tuple(attributes), attribution_count(launch), entries(launch.attributes), fingerprint(launch.body))
        name = self._made.get(key)
        if name is None:
            name = self._made[key] = _unused(_name(launch, len(self._made)), symbols_of(self.module.body.block))
            self.module.body.block.add_op(_kernel(launch, name, captured, attributes, sizes))
        operands = launch.operands
        made = LaunchFuncOp.of(cast(str, symbol_name(self.module)), name, operands[:3], operands[3:6], captured)
        made.location = launch.location
        assert launch.parent is not None
        launch.parent.insert_op_before(made, launch)
        launch.detach()
        launch.erase(safe_erase=False)

    def drop_constants(self) -> None:
        """Erases the constants of the host that only kernels used."""
        for op in self._copied:
            if not op.results[0].uses.get_length():
                op.detach()
                op.erase()

    def take_functions(self) -> None:
        """Gives the module the functions that its kernels call; the host loses those that are only theirs."""
        functions = {name: op for name, op in symbols_of(self.host.body.block).items() if isinstance(op, FuncOp)}
        own = set(symbols_of(self.module.body.block))
        wanted = _called(self.module)
        first = self.module.body.block.first_op
        while missing := sorted((wanted - own) & functions.keys()):
            for name in missing:
                copy = functions[name].clone()
                if first is not None:
                    self.module.body.block.insert_op_before(copy, first)
                wanted |= _called(copy)
            own |= set(missing)
        kept = _called(self.host, but=self.module)
        for name in wanted & functions.keys() - kept:
            function = functions[name]
            if function.sym_visibility is not None and function.sym_visibility.data == "private":
                function.detach()
                function.erase()


def _called(root: Operation, but: Operation | None = None) -> set[str]:
    """The functions that ops inside of an op call, but for those inside of another."""
    names: set[str] = set()
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                if op is not but:
                    if isinstance(op, CallOp):
                        names.add(op.callee.string_value())
                    names |= _called(op, but)
    return names


def _close(launch: LaunchOp, copied: dict[Operation, None]) -> list[SSAValue]:
    """Makes what a body uses from outside its last arguments, in the order of first uses. Constants are copied into it, and noted in ``copied``."""
    body = launch.body.block
    arguments: dict[SSAValue, SSAValue] = {}
    copies: dict[SSAValue, SSAValue] = {}
    made: list[Operation] = []
    for op in launch.body.walk():
        for index, value in enumerate(op.operands):
            owner = value.owner
            block = owner if isinstance(owner, Block) else owner.parent
            if block is not None and launch.body.is_ancestor(block):
                continue
            if isinstance(owner, _CONSTANTS):
                if value not in copies:
                    copy = owner.clone()
                    copied[owner] = None
                    made.append(copy)
                    copies[value] = copy.results[0]
                op.operands[index] = copies[value]
            else:
                if value not in arguments:
                    argument = body.insert_arg(value.type, len(body.args))
                    argument.name_hint, argument.location = value.name_hint, launch.location
                    arguments[value] = argument
                op.operands[index] = arguments[value]
    first = body.first_op
    assert first is not None
    body.insert_ops_before(made, first)
    return list(arguments)


def _kernel(launch: LaunchOp, name: str, captured: Sequence[SSAValue], known: Sequence[DictionaryAttr], sizes: Sequence[int] | None) -> DeviceFuncOp:
    """The kernel of a launch whose body is closed; the body is taken from it."""
    region: Region = launch.detach_region(launch.body)
    block = region.block
    _replace_ids(block, launch.location)
    _put_first(block, len(captured))
    end = block.last_op
    assert isinstance(end, TerminatorOp), "the verifier wants one"
    block.insert_op_before(ReturnOp.create(location=end.location), end)
    end.detach()
    end.erase()
    made = DeviceFuncOp.of_kernel(name, [value.type for value in captured], region, workgroup=attribution_count(launch), block_size=sizes or ())
    if any(attributes.data for attributes in known):
        made.properties["arg_attrs"] = ArrayAttr(known)
    made.attributes.update(launch.attributes)
    made.location = launch.location
    return made


def _replace_ids(block: Block, location: LocationAttr) -> None:
    """Makes ops of the numbers and sizes that the body of a launch takes as its first arguments."""
    first = block.first_op
    assert first is not None
    for argument, make in zip(block.args[:12], _IDS, strict=True):
        if argument.uses.get_length():
            op = make()
            op.location = location
            op.results[0].name_hint = argument.name_hint
            block.insert_op_before(op, first)
            argument.replace_all_uses_with(op.results[0])
    for argument in tuple(block.args[:12]):
        block.erase_arg(argument)


def _put_first(block: Block, count: int) -> None:
    """Moves the last arguments of a block, so many, in front of the others: a kernel's inputs come before its buffers."""
    for number, argument in enumerate(tuple(block.args[len(block.args) - count :])):
        moved = block.insert_arg(argument.type, number, argument.location)
        moved.name_hint = argument.name_hint
        argument.replace_all_uses_with(moved)
        block.erase_arg(argument)


def _name(launch: LaunchOp, number: int) -> str:
    """``main_k3_softmax``: the function, the kernel's number, and what its location says that it computes; or what the launch itself says."""
    if launch.function is not None:
        return launch.function.data
    function = launch.parent_op()
    while function is not None and not isinstance(function, FuncOp):
        function = function.parent_op()
    within = re.sub(r"\W", "_", function.sym_name.data) if function is not None else "device"
    word = _described(launch.location)
    return f"{within}_k{number}{f'_{word}' if word else ''}"


def _described(location: LocationAttr) -> str:
    """What a location says about an op besides its place, the first source of several: the name that somebody gave it, or the op that it was derived from."""
    location = unmarked(flat(location)[0][0])[1]
    known = provenance(location)
    if known is not None:
        return known.op_name.partition(".")[2]
    if isinstance(location, NameLoc):
        words = [word for word in _WORD.findall(location.desc.data) if word not in ("jit", "main")]
        return words[-1] if words else ""
    return ""


def _unused(name: str, taken: dict[str, Operation]) -> str:
    candidate, number = name, 0
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate
