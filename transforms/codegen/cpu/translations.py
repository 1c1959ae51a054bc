"""The translations that end a pipeline for the CPU: from kernels to LLVM text, and on to assembly.

The compiler itself goes the same way (:mod:`wengert.runtime.cpu.compilation`), but emits an object file instead of assembly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from wengert.dialects.kernel.buffers import is_bufferized
from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.location.places import error_at
from wengert.ir.pipeline.options import print_pass
from wengert.ir.pipeline.translations import Translation
from wengert.transforms.bufferize.bufferize import check_kernel_level
from wengert.transforms.codegen.cpu.machine_code import CompileError, Tier, assembly, optimized
from wengert.transforms.codegen.cpu.program import generate
from wengert.transforms.codegen.cpu.subnormals import can_flush
from wengert.transforms.lowering import alone
from wengert.transforms.schedule.host import HOST, target_named


@dataclass(frozen=True)
class EmitLlvm(Translation):
    """Writes a function on buffers as LLVM text for a processor; ``strict`` keeps the order of operations."""

    name = "emit-llvm"
    reads = "mlir"
    writes = "ll"

    fn: str = "main"
    target: str = HOST
    """As for the pass ``schedule``."""
    strict: bool = False
    flush_subnormals: bool = False
    debug_lines: bool = False
    """Instructions say the lines of the user's program that they come from, in LLVM's debug metadata."""

    def translate(self, source: ModuleOp | str) -> str:
        assert isinstance(source, ModuleOp)
        module = alone(source, self.fn)
        (function,) = [op for op in module.ops if isinstance(op, FuncOp)]
        if not is_bufferized(function):
            check_kernel_level(function)
            raise error_at(function, f"the values of @{self.fn} have no memory yet", "the pass 'bufferize' gives them theirs")
        target = target_named(self.target)
        if self.flush_subnormals and not can_flush(target):
            raise DiagnosticError(Diagnostic(f"flush-subnormals: it is not known how a processor of the family '{target.family}' is told"))
        return generate(module, target, strict=self.strict, flush=self.flush_subnormals, debug_lines=self.debug_lines, describe=True).text

    @property
    def next(self) -> str:
        return f"{print_pass(OptimizeLlvm(self.target))},{print_pass(EmitAsm(target=self.target))}"


@dataclass(frozen=True)
class OptimizeLlvm(Translation):
    """Runs LLVM's passes that the compiler runs: inlines what is marked for it, and makes registers of small stack memory."""

    name = "optimize-llvm"
    reads = "ll"
    writes = "ll"

    target: str = HOST
    """As for the pass ``schedule``."""

    def translate(self, source: ModuleOp | str) -> str:
        return _accepted(lambda text: optimized(text, self.target), source)

    @property
    def next(self) -> str:
        return print_pass(EmitAsm(target=self.target))


@dataclass(frozen=True)
class EmitAsm(Translation):
    """Writes the assembly of a processor for LLVM text as it stands; ``opt`` is the tier of LLVM's code generator."""

    name = "emit-asm"
    reads = "ll"
    writes = "s"

    opt: Tier = "best"
    target: str = HOST
    """As for the pass ``schedule``; also processors of other families than this machine's."""

    def translate(self, source: ModuleOp | str) -> str:
        return _accepted(lambda text: assembly(text, self.opt, self.target), source)


def _accepted(work: Callable[[str], str], source: ModuleOp | str) -> str:
    """What LLVM makes of a text; a DiagnosticError if it does not accept it."""
    assert isinstance(source, str)
    try:
        return work(source)
    except CompileError as error:
        raise DiagnosticError(Diagnostic(str(error))) from None
