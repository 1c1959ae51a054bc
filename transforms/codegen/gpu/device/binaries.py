"""The pass ``gpu-module-to-binary``: modules of devices become what devices load.

Before and after ``gpu-module-to-binary{format=isa}``::

    gpu.module @kernels [#nvvm.target<chip = "sm_90", features = "+ptx80">] { gpu.func @k(...) kernel { ... } }

    gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90", features = "+ptx80">, assembly = "...">]

The formats have upstream's names; ``fatbin`` is not there. For NVIDIA's devices ``isa`` is what their driver compiles, and ``bin`` is machine code by
NVIDIA's assembler, if it is installed; for SPIR-V ``bin`` is the last format; for AMD's it is a code object if LLVM's linker ``ld.lld`` is in the
path, else an object file, which is still to be linked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from wengert.dialects import gpu
from wengert.ir.construction import erase, insert_before
from wengert.ir.location.places import error_at
from wengert.ir.traversal import ops_in
from wengert.transforms.codegen.gpu.device import nvjitlink
from wengert.transforms.codegen.gpu.device.compilation import Processor, targets_of
from wengert.transforms.codegen.gpu.device.objects import DeviceCompileError
from wengert.transforms.codegen.gpu.device.targets import NVPTX

Format = Literal["llvm", "offload", "isa", "assembly", "bin", "binary"]

_OFFLOAD = (gpu.ObjectFormat.OFFLOAD, Processor.bitcode)
_ISA = (gpu.ObjectFormat.ASSEMBLY, Processor.assembly)
_BIN = (gpu.ObjectFormat.BIN, Processor.binary)
_FORMATS: dict[Format, tuple[gpu.ObjectFormat, Callable[[Processor, str], str | bytes]]] = {
    "llvm": _OFFLOAD,
    "offload": _OFFLOAD,
    "isa": _ISA,
    "assembly": _ISA,
    "bin": _BIN,
    "binary": _BIN,
}


@dataclass(frozen=True)
class GpuModuleToBinaryPass(ModulePass):
    """Compiles modules of devices for each of their targets, and puts the objects in their places."""

    name = "gpu-module-to-binary"

    format: Format = "isa"
    """``llvm`` or ``offload``: LLVM bitcode; ``isa`` or ``assembly``: PTX and the like as text; ``bin`` or ``binary``: SPIR-V, or machine code."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        modules = [module for module in ops_in(op.body.block) if isinstance(module, gpu.ModuleOp)]
        made = [gpu.BinaryOp.named(module.sym_name.data, [self._object(module, *target) for target in targets_of(module)]) for module in modules]
        for module, binary in zip(modules, made, strict=True):
            binary.location = module.location
            if module.handler is not None:
                binary.handler = module.handler
            insert_before(module, binary)
            erase(module)

    def _object(self, module: gpu.ModuleOp, target: Attribute, processor: Processor) -> gpu.ObjectAttr:
        kind, compile = _FORMATS[self.format]
        if kind is gpu.ObjectFormat.BIN and processor.family is NVPTX and not nvjitlink.available():
            hint = f"{nvjitlink.INSTALL}; or format=isa: that is PTX, which their driver takes"
            raise error_at(module, "machine code of NVIDIA's devices is made by NVIDIA's assembler, which is not installed", hint)
        try:
            return gpu.ObjectAttr.of(target, kind, compile(processor, processor.text(module)))
        except DeviceCompileError as error:
            raise error_at(module, f"@{module.sym_name.data} cannot be compiled for {processor.family.name}: {error}") from None
