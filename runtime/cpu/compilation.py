"""Compiles a core-level module: to kernels, kernels on buffers, LLVM text, machine code, and a callable."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects import sdy
from wengert.dialects.kernel import MatmulOp, NativeOp, NestOp
from wengert.dialects.kernel.level import holds_kernels
from wengert.dialects.kernel.memory import byte_size
from wengert.ir import elements
from wengert.ir.construction import copy_module, erase
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.pipeline.stages import stage
from wengert.ir.traversal import all_ops, ops_of
from wengert.runtime.cpu import kept, shared_functions
from wengert.runtime.cpu.entry import CompiledFunction, Stats
from wengert.runtime.cpu.fallback import Fallback
from wengert.runtime.cpu.linking import linked
from wengert.runtime.cpu.objects import ObjectFile, object_files
from wengert.runtime.cpu.options import Options, options_of
from wengert.runtime.errors import InputError
from wengert.runtime.functions import entry_function, signature_of
from wengert.runtime.memory import excess, plain
from wengert.runtime.signature import Signature
from wengert.transforms.codegen.cpu.machine_code import CompileError, Tier, emit_object
from wengert.transforms.codegen.cpu.parts import parts_of
from wengert.transforms.codegen.cpu.program import ProgramText, generate
from wengert.transforms.core import compound
from wengert.transforms.lowering import alone, function, remaining
from wengert.transforms.pipelines import emission, joined, lowering, parse_pipeline, placing
from wengert.transforms.schedule.host import host

Array = np.ndarray[Any, np.dtype[Any]]


@stage(last=True)
def compile(
    module: ModuleOp,
    *,
    entry: str = "main",
    before: str = "",
    strict: bool = False,
    opt: Tier = "best",
    flush_subnormals: bool | None = None,
    debug_lines: bool | None = None,
    identity: str | None = None,
) -> CompiledFunction:
    """Compiles a function of the module to a callable on NumPy arrays.

    Args:
        module: a program of StableHLO, CHLO and core ops with static shapes; calls are inlined and regions recognised on
            a copy where that has not been done (``to-core``). Or one of kernels, which are compiled as they stand.
        entry: the function to compile.
        before: a pipeline that the function goes through first, on the copy that is lowered.
        strict: no reassociation of sums and no contraction to fused multiply-add.
        opt: "best" or "fast": code that runs fast, or code that is compiled fast (less than half of LLVM's time, for loops that may take several
            times as long). Results may differ in the last bit, since the tiers contract differently.
        flush_subnormals: subnormal numbers count as zeros, as operands and as results, as they do in XLA. On processors that compute with
            them slowly (many of Intel's) this saves much where values fade away; it is not IEEE arithmetic. None: as the environment variable
            WENGERT_FLUSH_SUBNORMALS says, 1 or 0, which is the default.
        debug_lines: the machine code says which lines of the user's program it comes from, for debuggers and profilers; each kernel is then code of its
            own. None: as the environment variable WENGERT_DEBUG_LINES says, 1 or 0, which is the default.
        identity: keeps what is compiled on disk as that of the program of this identity (:mod:`wengert.runtime.cpu.kept`).

    Raises:
        InputError: there is no such function or tier, or a type in it that cannot be compiled; or this processor has no mode for subnormal numbers
            that is known here.
        CompileError: LLVM rejected the generated code (a defect).
    """
    return _Compilation(module, entry, before, options_of(strict, opt, flush_subnormals, debug_lines), identity).run()


def compile_with_dumps(
    module: ModuleOp,
    before: str,
    folder: Path,
    *,
    strict: bool = False,
    opt: Tier = "best",
    flush_subnormals: bool | None = None,
    debug_lines: bool | None = None,
) -> CompiledFunction:
    """Compiles @main of a module, which is changed in place, and writes the IR after every pass, the LLVM text and the assembly to a folder.

    The passes run once, and the module that they leave is compiled.
    """
    from wengert.ir.pipeline.dumps import Dumper

    options = options_of(strict, opt, flush_subnormals, debug_lines)
    lowered = "" if holds_kernels(module) else lowering(reassociate=not strict)
    pipeline = parse_pipeline(joined(before, lowered, emission(strict=strict, opt=opt, flush_subnormals=options.flush, debug_lines=options.debug_lines)))
    dumper = Dumper(folder)
    with _refusals():
        pipeline.run(module, observer=dumper)
        pipeline.translate(module, observer=dumper)
    return _Compilation(module, "main", "", options).run()


def compile_text(module: ModuleOp, text: str, *, strict: bool = False, opt: Tier = "best", flush_subnormals: bool = False) -> CompiledFunction:
    """Compiles LLVM text that was emitted for a module on buffers: a stage of the compiler, run by itself.

    Args:
        module: what ``bufferize`` left, which has one function, @main.
        text: what ``emit-llvm`` makes of it, with the same options, or ``optimize-llvm`` of that.
        strict: as given to ``emit-llvm``.
        opt: the tier of the code generator: with "fast" nothing is inlined or promoted to registers behind the text.
        flush_subnormals: as given to ``emit-llvm``.

    Raises:
        CompileError: LLVM does not accept the text.
    """
    compilation = _Compilation(module, "main", "", Options(strict, opt, flush_subnormals))
    code = generate(module, host().target, strict=strict, flush=flush_subnormals, check_schedules=False)
    return compilation.load(code, [ObjectFile(emit_object(text, opt), False, "")], module, signature_of(entry_function(module, "main")))


@contextmanager
def _refusals() -> Generator[None]:
    """Turns diagnostics of passes into errors of the program."""
    try:
        yield
    except DiagnosticError as error:
        raise InputError(f"{error.diagnostic.place}: error: {error.diagnostic.message}") from None


class _Compilation:
    def __init__(self, module: ModuleOp, entry: str, before: str, options: Options, identity: str | None = None):
        self.module = module
        self.entry = entry
        self.before = before
        self.options = options
        self.identity = identity
        self.times: dict[str, float] = {}
        self._shared: list[shared_functions.Kept] = []

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """Adds the time spent inside to a phase."""
        start = time.perf_counter()
        yield
        self.times[name] = self.times.get(name, 0.0) + 1e3 * (time.perf_counter() - start)

    def run(self) -> CompiledFunction:
        entry_function(self.module, self.entry)  # raises if there is none
        with self.phase("core"):
            module = self._core()
        signature = signature_of(entry_function(module, self.entry))
        with self.phase("fuse"), _refusals():
            strict = self.options.strict
            pipeline = parse_pipeline(joined(remaining(module, reassociate=not strict), placing(strict=strict)))
            lowered = pipeline.applied(module) if module is self.module else pipeline.run(module, original=self._core)
        with self.phase("codegen"), _refusals():
            code = self._generated(lowered, share=self.options.opt == "best")
        self._check_memory(code, signature)
        with self.phase("llvm"):
            made = self._objects(code)
        compiled = self.load(code, made, lowered, signature)
        if self.identity is not None and not code.interpreted:
            kept.keep(self.identity, self.options, [part.name for part in made], code.symbols, self._shared, constants_of(code), compiled.stats)
        return compiled

    def _generated(self, lowered: ModuleOp, *, share: bool) -> ProgramText:
        options = self.options
        return generate(lowered, host().target, strict=options.strict, flush=options.flush, check_schedules=False, debug_lines=options.debug_lines, share=share)

    def _objects(self, code: ProgramText) -> list[ObjectFile]:
        """The object files of the parts of a program. Those of functions that it shares and that are not known yet are made beside them, and loaded."""
        opt = self.options.opt
        parts, missing = parts_of(code.text, inlining=opt == "best"), shared_functions.missing(code.shared)
        made = object_files([*parts, *[function.text for function in missing]], opt)
        self._shared = shared_functions.load(code.shared, dict(zip([function.symbol for function in missing], made[len(parts) :], strict=True)))
        return made[: len(parts)]

    def load(self, code: ProgramText, made: Sequence[ObjectFile], lowered: ModuleOp, signature: Signature) -> CompiledFunction:
        """The callable of object files, which were made of this code."""
        with self.phase("load"):
            library = linked([part.image for part in made], code.symbols, debug_lines=self.options.debug_lines)
            constants = constants_of(code)
            fallback = Fallback(code.interpreted) if code.interpreted else None
        stats = self._stats(code, lowered, constants, signature, all(part.is_cached for part in made))
        return CompiledFunction(library, signature, constants, code.memory.arena, fallback, stats, lambda: (self._whole_text(code, lowered), lowered))

    def _whole_text(self, code: ProgramText, lowered: ModuleOp) -> str:
        """The LLVM text with the functions that are shared, to be read."""
        return self._generated(lowered, share=False).text if code.shared else code.text

    def _core(self) -> ModuleOp:
        """The function alone, in core form or made of kernels: the module itself if that holds nothing else, or a new one, which is lowered in place."""
        module = parse_pipeline(self.before).applied(self.module) if self.before else self.module
        module = core_form(module)
        mine = function(module, self.entry)
        others = [op for op in module.ops if op is not mine]
        if module is self.module:
            return alone(module, self.entry) if others else module
        for other in others:
            erase(other)
        return module

    def _check_memory(self, code: ProgramText, signature: Signature) -> None:
        """Refuses a program that this machine cannot hold; nothing has been allocated yet."""
        results = [prod(r.shape) * r.dtype.itemsize for r in signature.results]
        constants = [byte_size(op.memref) for op in code.constants]
        missing = excess(sum(results) + sum(constants) + code.memory.arena)
        if missing:
            parts = [
                *zip(results, [f"{r.label}, {r.given}" for r in signature.results], strict=True),
                *zip(constants, [f"the constant of {op.value.type}" for op in code.constants], strict=True),
                (code.memory.arena, "values in between"),
            ]
            largest, what = max(parts, key=lambda part: part[0])
            raise InputError(f"@{self.entry} needs {missing}; {plain(largest)} of it for {what}")

    def _stats(self, code: ProgramText, lowered: ModuleOp, constants: list[Array], signature: Signature, cache_hit: bool) -> Stats:
        interpreted = Counter(op.body.block.first_op.name for op in code.interpreted if op.body.block.first_op is not None)
        calls = len(ops_of(lowered, NestOp, MatmulOp, NativeOp))
        results = sum(prod(r.shape) * r.dtype.itemsize for r in signature.results)
        return Stats(code.kernels, calls, dict(interpreted), code.memory.arena, sum(a.nbytes for a in constants), results, cache_hit, self.times)


_NOT_CORE = compound.NAMES | frozenset(
    (
        "stablehlo.while",
        "stablehlo.case",
        "stablehlo.if",
        "func.call",
        "stablehlo.map",
        "stablehlo.reduce",
        "stablehlo.scatter",
        "stablehlo.reduce_window",
        "stablehlo.composite",
        *(op.name for op in sdy.IDENTITIES),
    )
)


def constants_of(code: ProgramText) -> list[Array]:
    """The arrays that the code reads beside the arguments."""
    return [np.ascontiguousarray(elements.to_numpy(op.value)) for op in code.constants]


def core_form(module: ModuleOp) -> ModuleOp:
    """The module itself if it is at kernel level, or has no calls and no regions that ``to-core`` would recognise; else a copy in core form."""
    if not any(op.name in _NOT_CORE for op in all_ops(module)) or holds_kernels(module):
        return module
    from wengert.transforms.core.to_core import to_core

    copy = copy_module(module)
    to_core(copy)
    return copy


__all__ = ["CompileError", "CompiledFunction", "Options", "compile"]
