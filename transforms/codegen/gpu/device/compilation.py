"""Compiles a gpu.module for one of its targets: from the target attribute to the family of devices, the processor and LLVM's level."""

from __future__ import annotations

from msgspec import Struct
from xdsl.ir import Attribute

from wengert.dialects import gpu
from wengert.dialects.gpu.targets import LLVMTarget
from wengert.ir.location.places import error_at
from wengert.transforms.codegen.gpu.device import lld, nvjitlink, objects
from wengert.transforms.codegen.gpu.device.modules import module_text
from wengert.transforms.codegen.gpu.device.targets import AMDGPU, NVPTX, DeviceTarget, family_of

HINT = "nvvm-attach-target, rocdl-attach-target and spirv-attach-target give it one"


class Processor(Struct, frozen=True):
    """The description of a target for LLVM.

    Attributes:
        family: the family of devices.
        chip, features: LLVM's words; empty for SPIR-V, which is for any device.
        level: of LLVM's passes, 0 to 3.
    """

    family: DeviceTarget
    chip: str = ""
    features: str = ""
    level: int = 2

    @classmethod
    def of(cls, target: Attribute) -> Processor | None:
        """What a target attribute stands for; None if there is no back end for it."""
        family = family_of(target)
        if family is None:
            return None
        return cls(family, target.chip, target.features, target.level) if isinstance(target, LLVMTarget) else cls(family)

    def text(self, module: gpu.ModuleOp) -> str:
        """The LLVM text of a module. Its functions say for which processor they are, as Clang's do."""
        return module_text(module, self.family, self.chip, self.features)

    def optimized(self, text: str) -> str:
        """LLVM text after LLVM's passes."""
        return objects.optimized(text, self.family, self.chip, self.features, level=self.level)

    def bitcode(self, text: str) -> bytes:
        """LLVM text after LLVM's passes, as bitcode."""
        return objects.bitcode(text, self.family, self.chip, self.features, level=self.level)

    def assembly(self, text: str) -> str:
        """PTX or other assembly from LLVM text."""
        return objects.assembly(text, self.family, self.chip, self.features, level=self.level)

    def binary(self, text: str) -> bytes:
        """SPIR-V, or machine code: by NVIDIA's assembler for its devices, linked for AMD's if there is a linker, else an object file of theirs."""
        if self.family is NVPTX:
            return nvjitlink.assembled(self.assembly(text), self.chip).code
        made = self._object(text)
        return lld.linked(made) if self.family is AMDGPU and lld.available() else made

    def _object(self, text: str) -> bytes:
        return objects.binary(text, self.family, self.chip, self.features, level=self.level)


def targets_of(module: gpu.ModuleOp) -> list[tuple[Attribute, Processor]]:
    """The targets of a module, at least one.

    Raises:
        DiagnosticError: it has none, or one that there is no back end for.
    """
    name = module.sym_name.data
    if module.targets is None:
        raise error_at(module, f"the module @{name} does not say what it is compiled for", HINT)
    known: list[tuple[Attribute, Processor]] = []
    for target in module.targets:
        processor = Processor.of(target)
        if processor is None:
            raise error_at(module, f"the module @{name} has a target that nothing is compiled for here: {target}", HINT)
        known.append((target, processor))
    return known
