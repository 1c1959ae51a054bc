"""Describes families of devices, as far as LLVM text for them differs: one table, and nowhere else does code ask which device it is for.

Address spaces 1 (global) and 3 (work-group) have the same numbers everywhere; those of constants and of the stack differ. How a thread
learns its place, how threads wait for one another and how an entry point is marked is spelt by each target in its own way (LLVM's "User
Guide for NVPTX Back-end", "User Guide for AMDGPU Backend" and "SPIR-V Target User Guide").
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.ir import Attribute

from wengert.dialects.gpu.targets import NVVMTargetAttr, ROCDLTargetAttr, SPIRVTargetAttr
from wengert.transforms.codegen.llvm.instruction_builder import InstructionBuilder
from wengert.transforms.codegen.llvm.module import Abilities, AddressSpaces

GLOBAL, WORKGROUP = 1, 3
"""The address spaces of buffers and of what the threads of a work-group share."""


class DeviceTarget(Struct, frozen=True):
    """A family of devices.

    Attributes:
        name: as ``compile(backend=...)`` and messages have it.
        triple: LLVM's.
        convention: the calling convention of entry points.
        address_spaces: where constants and the stack lie.
        ids: the function that says where a thread is, by what is asked (``thread``, ``block``, ``block_size``, ``grid_size``), with ``{d}`` for the
            dimension; its result is ``id_type``.
        id_type: the type of such a number.
        id_argument: whether the dimension is an argument of the function instead of a part of its name.
        barrier: the instructions with which the threads of a work-group wait for one another.
        attributes: function attributes of an entry point, with ``{size}`` for the threads of a work-group.
        level: LLVM's level when it writes the object.
        abilities: what its back end has instructions for.
        wide_beside_barriers: whether kernels with barriers compute positions in 64 bits, whatever would suffice.
    """

    name: str
    triple: str
    convention: str
    address_spaces: AddressSpaces
    ids: dict[str, str]
    id_type: str
    id_argument: bool
    barrier: Sequence[str]
    declarations: Sequence[str]
    attributes: str = ""
    level: int = 3
    abilities: Abilities = Abilities()
    wide_beside_barriers: bool = False

    def id(self, builder: InstructionBuilder, what: str, dimension: int) -> str:
        """Appends the question where a thread is; the number, as the builder's index type."""
        function = self.ids[what].format(d="xyz"[dimension])
        result = f"{'spir_func ' if self.id_argument else ''}{self.id_type}"
        builder.module.externals[function] = f"declare {result} @{function}({'i32' if self.id_argument else ''})"
        number = builder.shared(f"call {result} @{function}({f'i32 {dimension}' if self.id_argument else ''})")
        if self.id_type == builder.index_type:
            return number
        return builder.shared(f"{'zext' if self.id_type == 'i32' else 'trunc'} {self.id_type} {number} to {builder.index_type}")

    def wait(self, builder: InstructionBuilder) -> None:
        """Appends a barrier of the work-group."""
        for text in self.declarations:
            builder.module.externals[text] = text
        for text in self.barrier:
            builder.line(text)


_NVPTX_IDS = {"thread": "tid", "block": "ctaid", "block_size": "ntid", "grid_size": "nctaid"}
NVPTX = DeviceTarget(
    name="nvptx",
    triple="nvptx64-nvidia-cuda",
    convention="ptx_kernel",
    address_spaces=AddressSpaces(constants=4),
    ids={what: f"llvm.nvvm.read.ptx.sreg.{register}.{{d}}" for what, register in _NVPTX_IDS.items()},
    id_type="i32",
    id_argument=False,
    barrier=("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",),
    declarations=("declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",),
    attributes='"nvvm.reqntid"="{x},{y},{z}"',
    # frem is x - trunc(x / y) y there, and LLVM 22.1 makes one instruction of a shift and its guard, which takes the low half of the amount
    abilities=Abilities(remainder=False, long_shifts=False),
)
AMDGPU = DeviceTarget(
    name="amdgpu",
    triple="amdgcn-amd-amdhsa",
    convention="amdgpu_kernel",
    address_spaces=AddressSpaces(constants=4, stack=5),
    ids={"thread": "llvm.amdgcn.workitem.id.{d}", "block": "llvm.amdgcn.workgroup.id.{d}"},
    id_type="i32",
    id_argument=False,
    barrier=('fence syncscope("workgroup") release', "call void @llvm.amdgcn.s.barrier()", 'fence syncscope("workgroup") acquire'),
    declarations=("declare void @llvm.amdgcn.s.barrier()",),
    attributes='"amdgpu-flat-work-group-size"="{size},{size}"',
    abilities=Abilities(remainder=False),
)
SPIRV = DeviceTarget(
    name="spirv",
    triple="spirv64v1.4-unknown-unknown",
    convention="spir_kernel",
    address_spaces=AddressSpaces(constants=2),
    ids={
        "thread": "_Z12get_local_idj",
        "block": "_Z12get_group_idj",
        "block_size": "_Z14get_local_sizej",
        "grid_size": "_Z14get_num_groupsj",
    },
    id_type="i64",
    id_argument=True,
    barrier=("call spir_func void @_Z7barrierj(i32 3)",),
    declarations=("declare spir_func void @_Z7barrierj(i32) convergent",),
    level=0,  # at 1 and above LLVM 22.1 writes wrong SPIR-V for ((x << 4) & 240) << 2; its middle end runs before and is right
    # OpenCL's fmax drops NaN, its fmod is the driver's, and Intel's driver makes the greatest ui32 of NaN
    abilities=Abilities(i128=False, extremes=False, remainder=False, saturation=False),
    # Intel's compiler for processors (2026.2) runs wrong threads where LLVM has made (flag | id) == 0 in 32 bits of a branch on a flag and a thread's number
    wide_beside_barriers=True,
)
FAMILIES = {target.name: target for target in (NVPTX, AMDGPU, SPIRV)}
"""The families by name."""


def family_of(attribute: Attribute) -> DeviceTarget | None:
    """The family that a target attribute of a gpu.module stands for; None if it is none of these."""
    return _OF_ATTRIBUTE.get(type(attribute))


_OF_ATTRIBUTE: dict[type[Attribute], DeviceTarget] = {NVVMTargetAttr: NVPTX, ROCDLTargetAttr: AMDGPU, SPIRVTargetAttr: SPIRV}
