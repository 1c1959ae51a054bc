"""The translations that end a pipeline for a device: from a gpu.module to LLVM text for its first target, and on to assembly (PTX for NVIDIA's devices).

The pass ``gpu-module-to-binary`` goes the same way, and keeps the host's program beside what it makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from wengert.dialects import gpu
from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean
from wengert.ir.pipeline.translations import Translation
from wengert.ir.traversal import ops_in
from wengert.transforms.codegen.gpu.device.compilation import Processor, targets_of
from wengert.transforms.codegen.gpu.device.objects import DeviceCompileError
from wengert.transforms.codegen.gpu.device.targets import FAMILIES


@dataclass(frozen=True)
class EmitGpuLlvm(Translation):
    """Writes the kernels of a gpu.module as LLVM text for its first target."""

    name = "emit-gpu-llvm"
    reads = "mlir"
    writes = "ll"

    module: str = ""
    """The name of the gpu.module; it need not be said where there is one."""

    def translate(self, source: ModuleOp | str) -> str:
        assert isinstance(source, ModuleOp)
        module = self._module(source)
        _, processor = targets_of(module)[0]
        return processor.text(module)

    @property
    def next(self) -> str:
        return f"{OptimizeGpuLlvm.name},{EmitGpuAsm.name}"

    def _module(self, source: ModuleOp) -> gpu.ModuleOp:
        known = {op.sym_name.data: op for op in ops_in(source.body.block) if isinstance(op, gpu.ModuleOp)}
        if not self.module and len(known) == 1:
            return next(iter(known.values()))
        if self.module in known:
            return known[self.module]
        if not known:
            raise DiagnosticError(Diagnostic("there is no gpu.module: nothing of this program runs on a device", hint="gpu-kernel-outlining makes one"))
        listed = ", ".join(f"@{name}" for name in known)
        if not self.module:
            raise DiagnosticError(Diagnostic(f"there are {len(known)} gpu.modules: {listed}", hint="emit-gpu-llvm{module=NAME} writes one"))
        raise DiagnosticError(Diagnostic(f"there is no gpu.module @{self.module}", hint=did_you_mean(self.module, known) or f"there are: {listed}"))


@dataclass(frozen=True)
class OptimizeGpuLlvm(Translation):
    """Runs the passes of LLVM that the compiler runs for devices; the text says for which device it is."""

    name = "optimize-gpu-llvm"
    reads = "ll"
    writes = "ll"

    O: int = 2  # noqa: E741
    """LLVM's level."""

    def translate(self, source: ModuleOp | str) -> str:
        return _accepted(Processor.optimized, source, self.O)

    @property
    def next(self) -> str:
        return EmitGpuAsm.name


@dataclass(frozen=True)
class EmitGpuAsm(Translation):
    """Writes the assembly of a device, which is PTX for NVIDIA's, for LLVM text as it stands; the text says for which device it is."""

    name = "emit-gpu-asm"
    reads = "ll"
    writes = "isa"

    def translate(self, source: ModuleOp | str) -> str:
        return _accepted(Processor.assembly, source, 0)


def processor_of(text: str, level: int = 2) -> Processor:
    """The processor that LLVM text names: by its triple, and by what its functions say; a DiagnosticError if it is none that is known."""
    triple = _word(r'^target triple = "([^"]*)"', text)
    family = next((family for family in FAMILIES.values() if family.triple.partition("-")[0] == triple.partition("-")[0]), None)
    if family is None:
        listed = ", ".join(family.triple for family in FAMILIES.values())
        raise DiagnosticError(Diagnostic(f"the text is for '{triple}', which is no device that is known here", hint=f"known are {listed}"))
    return Processor(family, _word(r'"target-cpu"="([^"]*)"', text), _word(r'"target-features"="([^"]*)"', text), level)


def _word(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match.group(1) if match else ""


def _accepted(work: Callable[[Processor, str], str], source: ModuleOp | str, level: int) -> str:
    """What LLVM makes of a text; a DiagnosticError if it does not accept it."""
    assert isinstance(source, str)
    try:
        return work(processor_of(source, level), source)
    except DeviceCompileError as error:
        raise DiagnosticError(Diagnostic(str(error))) from None
