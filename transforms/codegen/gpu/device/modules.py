"""A gpu.module as LLVM text for one of its targets."""

from __future__ import annotations

from wengert.dialects import gpu
from wengert.ir.traversal import ops_in
from wengert.transforms.codegen.gpu.device.functions import KernelEmitter
from wengert.transforms.codegen.gpu.device.targets import DeviceTarget
from wengert.transforms.codegen.llvm.module import ModuleBuilder


def module_text(module: gpu.ModuleOp, target: DeviceTarget, chip: str = "", features: str = "") -> str:
    """The LLVM text of all kernels of a module, and of what they share. The kernels say for which processor they are, where that is known.

    Raises:
        DiagnosticError: an op has no code for a device, at its place.
    """
    shared = ModuleBuilder(target.address_spaces, target.abilities)
    said = " ".join(f'"{key}"="{value}"' for key, value in (("target-cpu", chip), ("target-features", features)) if value)
    kernels = [KernelEmitter(op, target, shared, said).text() for op in ops_in(module.body.block) if isinstance(op, gpu.FuncOp)]
    return f'target triple = "{target.triple}"\n\n{shared.text()}\n' + "\n".join(kernels)
