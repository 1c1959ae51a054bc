"""The passes ``nvvm-attach-target``, ``rocdl-attach-target`` and ``spirv-attach-target``: what modules are compiled for, with upstream's options.

Before and after ``nvvm-attach-target{chip=sm_90 features=+ptx80}``::

    gpu.module @kernels { ... }

    gpu.module @kernels [#nvvm.target<chip = "sm_90", features = "+ptx80">] { ... }

A kernel for SPIR-V whose threads exchange values within a subgroup says how many they are, ``intel_reqd_sub_group_size = 32 : i32``: devices choose
otherwise, and upstream's ``convert-gpu-to-llvm-spv`` refuses shuffles in a kernel that does not.

A module may have several targets. Libraries to link and options of tools are kept in the target, as upstream keeps them. Upstream's option
``verify-target-arch`` is not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from wengert.dialects.gpu import FuncOp, ShuffleOp, SubgroupReduceOp
from wengert.dialects.gpu import ModuleOp as DeviceModuleOp
from wengert.dialects.gpu.targets import UNKNOWN, LLVMTarget, NVVMTargetAttr, ROCDLTargetAttr, SPIRVTargetAttr
from wengert.dialects.kernel.gpu_schedule import WARP
from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.tensor_types import i32

SUBGROUP_SIZE = "intel_reqd_sub_group_size"
"""The attribute of a kernel that says how many threads a subgroup has, in LLVM's word."""


def attach(root: ModuleOp, pattern: str, target: Attribute) -> list[DeviceModuleOp]:
    """Gives the device modules of a module whose names match a regular expression (all, if it is empty) a target, if they have not got it; those modules."""
    try:
        matches = re.compile(pattern).search
    except re.error as error:
        raise DiagnosticError(Diagnostic(f"module: '{pattern}' is no regular expression: {error}")) from None
    modules = [op for op in root.ops if isinstance(op, DeviceModuleOp) and matches(op.sym_name.data)]
    for op in modules:
        known = op.targets.data if op.targets is not None else ()
        if target not in known:
            op.properties["targets"] = ArrayAttr([*known, target])
    return modules


def _fix_subgroups(module: DeviceModuleOp) -> None:
    """Notes the size of subgroups on the kernels that shuffle or reduce in them."""
    for kernel in module.body.block.ops:
        if isinstance(kernel, FuncOp) and any(isinstance(op, ShuffleOp | SubgroupReduceOp) for op in kernel.walk()):
            kernel.attributes.setdefault(SUBGROUP_SIZE, IntegerAttr(WARP, i32))


def _llvm_target(cls: type[LLVMTarget], flags: Mapping[str, bool | tuple[str, ...]], files: tuple[str, ...], **settings: str | int) -> LLVMTarget:
    """A target with the flags that are set and the files that are linked."""
    attributes: dict[str, Attribute] = {}
    if any(flags.values()):
        attributes["flags"] = DictionaryAttr({name: UnitAttr() if value is True else _strings(value) for name, value in flags.items() if value})
    if files:
        attributes["link"] = _strings(files)
    return cls.of(**settings, **attributes)


def _strings(words: tuple[str, ...]) -> ArrayAttr[StringAttr]:
    return ArrayAttr([StringAttr(word) for word in words])


@dataclass(frozen=True)
class NvvmAttachTargetPass(ModulePass):
    """Says that modules of devices are compiled for an NVIDIA GPU."""

    name = "nvvm-attach-target"

    module: str = ""
    """A regular expression: the modules that are meant (default: all)."""
    triple: str = "nvptx64-nvidia-cuda"
    """LLVM's triple."""
    chip: str = "sm_75"
    """The architecture, ``sm_80`` for an A100, ``sm_90`` for an H100."""
    features: str = ""
    """LLVM's features, above all the version of PTX: ``+ptx80``. Default: the oldest that the chip needs."""
    O: int = 2  # noqa: E741
    """LLVM's optimisation level."""
    fast: bool = False
    """Fast mathematics."""
    ftz: bool = False
    """Subnormal numbers are zeros."""
    l: tuple[str, ...] = ()  # noqa: E741
    """Files of bitcode to link."""
    ptxas_cmd_options: str = ""
    """Options for NVIDIA's assembler, separated by spaces."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        flags = {"fast": self.fast, "ftz": self.ftz, "ptxas-cmd-options": tuple(self.ptxas_cmd_options.split())}
        attach(op, self.module, _llvm_target(NVVMTargetAttr, flags, self.l, O=self.O, triple=self.triple, chip=self.chip, features=self.features))


@dataclass(frozen=True)
class RocdlAttachTargetPass(ModulePass):
    """Says that modules of devices are compiled for an AMD GPU."""

    name = "rocdl-attach-target"

    module: str = ""
    """A regular expression: the modules that are meant (default: all)."""
    triple: str = "amdgcn-amd-amdhsa"
    """LLVM's triple."""
    chip: str = "gfx900"
    """The processor, ``gfx90a`` for an MI250, ``gfx942`` for an MI300."""
    features: str = ""
    """LLVM's features."""
    abi: str = "600"
    """The version of the code object."""
    O: int = 2  # noqa: E741
    """LLVM's optimisation level."""
    wave64: bool = True
    """Subgroups have 64 threads."""
    fast: bool = False
    """Fast mathematics."""
    daz: bool = False
    """Subnormal numbers are zeros."""
    finite_only: bool = False
    """There are no infinities and NaNs."""
    unsafe_math: bool = False
    """Rewrites are allowed that change results."""
    correct_sqrt: bool = True
    """Square roots are rounded correctly."""
    l: tuple[str, ...] = ()  # noqa: E741
    """Files of bitcode to link."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        flags = {
            "no_wave64": not self.wave64,
            "fast": self.fast,
            "daz": self.daz,
            "finite_only": self.finite_only,
            "unsafe_math": self.unsafe_math,
            "unsafe_sqrt": not self.correct_sqrt,
        }
        settings: dict[str, str | int] = {"O": self.O, "triple": self.triple, "chip": self.chip, "features": self.features, "abi": self.abi}
        attach(op, self.module, _llvm_target(ROCDLTargetAttr, flags, self.l, **settings))


@dataclass(frozen=True)
class SpirvAttachTargetPass(ModulePass):
    """Says that modules of devices are compiled to SPIR-V."""

    name = "spirv-attach-target"

    module: str = ""
    """A regular expression: the modules that are meant (default: all)."""
    ver: str = "v1.0"
    """The version of SPIR-V."""
    caps: tuple[str, ...] = ()
    """The capabilities that a device must have."""
    exts: tuple[str, ...] = ()
    """The extensions that a device must have."""
    client_api: str = UNKNOWN
    """The interface through which kernels are launched: ``OpenCL``, ``Vulkan``."""
    vendor: str = UNKNOWN
    """Whose device it is."""
    device_type: str = UNKNOWN
    """What kind of device: ``CPU``, ``DiscreteGPU``."""
    device_id: int = 0
    """The vendor's number of the device; 0: any."""

    _DEVICE: ClassVar = (UNKNOWN, UNKNOWN, "0")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = [self.vendor, self.device_type, str(self.device_id)]
        while device and device[-1] == self._DEVICE[len(device) - 1]:
            device.pop()
        for module in attach(op, self.module, SPIRVTargetAttr.of(self.ver, self.caps, self.exts, self.client_api, tuple(device))):
            _fix_subgroups(module)
