"""The CPU backend: core-level IR to machine code for this processor."""

from wengert.runtime.cpu.compile import CompiledFunction, CompileError, compile, compile_with_dumps
from wengert.runtime.cpu.entry import Stats
from wengert.runtime.cpu.options import Options, options_of

__all__ = ["CompileError", "CompiledFunction", "Options", "Stats", "compile", "compile_with_dumps", "options_of"]
