"""The pipelines behind :class:`wengert.runtime.program.Program`: core form, derivatives, and plain StableHLO again.

Each is an ordinary pipeline of registered passes, so what a Program does can be repeated with ``wengert-opt -p``.
Programs are optimised before they are differentiated: what is simplified in the primal is saved in every derivative
(Moses, Churavy, "Instead of Rewriting Foreign Code for Machine Learning, Automatically Synthesize Fast Gradients", 2020).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp

from wengert.dialects import stablehlo
from wengert.dialects.ad_implicit import IMPLICIT
from wengert.dialects.core import ForOp
from wengert.dialects.kernel.level import holds_kernels
from wengert.dialects.registry import has_upstream
from wengert.dialects.stablehlo.attributes import ReplicaGroupMeshAxesAttr
from wengert.ir.construction import copy_module
from wengert.ir.pipeline.observers import Observer
from wengert.ir.pipeline.stages import stage
from wengert.ir.plugins import is_foreign
from wengert.ir.traversal import all_ops, ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime.derived.requests import DEFAULT, Mode, Residuals, Strategy, positions_text
from wengert.runtime.errors import InputError
from wengert.runtime.known_ops import check_known, check_values
from wengert.transforms import finishing as finish
from wengert.transforms.ad.requests.request import has_requests
from wengert.transforms.core.functions import is_written_out
from wengert.transforms.finishing import finishing
from wengert.transforms.pipelines import BACK, FINISH, FRONT, INVARIANT, OPTIMIZE, STACKS, joined, parse_pipeline
from wengert.transforms.shapes.argument_shapes import shape_text

if TYPE_CHECKING:
    from wengert.runtime.program import Program
    from wengert.transforms.ad.jacobians.sparse import SparsePlan


def derivative_pipeline(mode: Mode, wrt: Sequence[int], of: Sequence[int], strategy: Strategy = "transpose", residuals: Residuals = "auto") -> str:
    """The pipeline that turns optimised core-level IR into its derivative: ``vjp{wrt=0,1 of=0},tapes-to-stacks,simplify,cse,dce``.

    The passes of a strategy that is a pipeline are written out. Raises DiagnosticError for a strategy that does not exist, or takes no policy.
    """
    return joined(_asked(mode, wrt, of, strategy, residuals), STACKS if mode == "vjp" else "", OPTIMIZE)


def _asked(mode: Mode, wrt: Sequence[int], of: Sequence[int], strategy: Strategy, residuals: Residuals) -> str:
    """The passes that make the derivative."""
    if strategy != DEFAULT:
        from wengert.transforms.ad.strategies import strategy_named  # with both modes, which programs do without that are not differentiated

        passes = strategy_named(strategy).pipeline(mode, "main", wrt, of, residuals)
        if passes is not None:
            return str(passes)
    chosen = ("" if strategy == DEFAULT else f" strategy={strategy}") + ("" if residuals == "auto" else f" residuals={residuals}")
    return f"{mode}{{wrt={positions_text(wrt)} of={positions_text(of)}{chosen}}}"


@stage()
def core_form(module: ModuleOp, entry: str) -> ModuleOp:
    """The entry as ``@main`` of a new module, its calls inlined and known regions recognised."""
    return parse_pipeline("" if holds_kernels(module) else FRONT).run(with_main(module, entry), original=lambda: with_main(module, entry))


@stage()
def derive(core: ModuleOp, mode: Mode, wrt: Sequence[int], of: Sequence[int], strategy: Strategy = "transpose", residuals: Residuals = "auto") -> ModuleOp:
    """The derivative of an optimised core-level module as a new module."""
    return applied(derivative_pipeline(mode, wrt, of, strategy, residuals), core)


def applied(text: str, module: ModuleOp, observer: Observer | None = None) -> ModuleOp:
    """Runs a pipeline on a copy of a module. Warns (UndoneWarning) where a later pass undoes what that of a plug-in did."""
    pipeline = parse_pipeline(text)
    if not any(is_foreign(pass_) or getattr(pass_, "strategy", DEFAULT) not in (DEFAULT, "direct") for pass_ in pipeline.passes):
        return pipeline.applied(module, observer=observer)
    from wengert.transforms.optimize.undone import watched

    with watched(pipeline, observer) as watching:
        return pipeline.applied(module, observer=watching)


def derive_with_dumps(
    module: ModuleOp,
    entry: str,
    mode: Mode,
    wrt: Sequence[int],
    of: Sequence[int],
    observer: Observer,
    strategy: Strategy = "transpose",
    residuals: Residuals = "auto",
) -> ModuleOp:
    """The same from the module as it was written, watched from the first pass on."""
    return parse_pipeline(joined(preparation_of(module), derivative_pipeline(mode, wrt, of, strategy, residuals))).run(
        with_main(module, entry), observer=observer
    )


def apply(module: ModuleOp, text: str, folder: Path | None) -> ModuleOp:
    """Runs a pipeline on a copy of a module and verifies what it leaves; with dumps where there is a folder. Warns as :func:`applied`.

    Raises:
        InputError: the pipeline ends in text that is no MLIR.
        DiagnosticError: the text is no pipeline, a pass refuses the program, or what is left is not valid.
    """
    pipeline = parse_pipeline(text)
    if pipeline.translations:
        raise InputError(f"'{pipeline.translations[0].name}' writes text, not a program: leave it out, or use wengert-opt")
    observer = None
    if folder is not None:
        from wengert.ir.pipeline.dumps import Dumper

        observer = Dumper(folder)
    made = applied(text, module, observer)
    verify(made)
    return made


def transform(core: ModuleOp, text: str, folder: Path | None) -> ModuleOp:
    """An optimised core-level module after another pass, optimised again, as a new module; with dumps where there is a folder."""
    observer = None
    if folder is not None:
        from wengert.ir.pipeline.dumps import Dumper

        observer = Dumper(folder)
    return parse_pipeline(f"{text},{OPTIMIZE}").applied(core, observer=observer)


def sparse_elements(core: ModuleOp, plan: SparsePlan, wrt: Sequence[int], of: Sequence[int]) -> ModuleOp:
    """The optimised program of the elements of a sparse Jacobian by a plan that is known, as a new module."""
    from wengert.transforms.ad.jacobians.sparse import sparse_jacobian

    made = copy_module(core)
    sparse_jacobian(made, plan.compression.colouring, wrt=wrt, of=of, plan=plan)
    return parse_pipeline(OPTIMIZE).applied(made)


def plain_text(module: ModuleOp, *, locations: bool = False, generic: bool = False) -> str:
    """The module as plain StableHLO text that JAX reads: core ops are written out again. Kernels are written as they are."""
    from wengert.ir.printing.printer import print_module

    return print_module(plain_module(module), locations=locations, generic=generic)


def plain_module(module: ModuleOp) -> ModuleOp:
    """The module in which core ops are written out again, as a new module; the module itself where there is nothing to write out."""
    check_known(module)
    if holds_kernels(module):
        return module
    if needs_ad_lowering(module) or any(op.name.startswith("core.") or is_written_out(op) for op in all_ops(module)):
        return parse_pipeline(BACK).applied(module)
    return module


def with_main(module: ModuleOp, entry: str) -> ModuleOp:
    """A copy of the module in which the entry is ``@main``, and the only function that is public."""
    check_known(module)
    check_values(module)
    copy = copy_module(module)
    names = {op.sym_name.data for op in copy.body.block.ops if isinstance(op, FuncOp)}
    renamed = {entry: "main"}
    if entry != "main" and "main" in names:
        renamed["main"] = next(name for i in range(len(names) + 1) if (name := f"main_{i}") not in names)
    for op in ops_of(copy, FuncOp, CallOp):
        if isinstance(op, FuncOp):
            op.sym_visibility = StringAttr("public" if op.sym_name.data == entry else "private")
            op.sym_name = StringAttr(renamed.get(op.sym_name.data, op.sym_name.data))
        elif op.callee.string_value() in renamed:
            op.callee = SymbolRefAttr(renamed[op.callee.string_value()])
    return copy


@stage()
def optimized_form(module: ModuleOp, entry: str) -> ModuleOp:
    """The core form of the entry with fewer ops; requests for derivatives are expanded, of functions that were optimised."""
    optimized = parse_pipeline(preparation_of(module)).run(with_main(module, entry), original=lambda: with_main(module, entry))
    return parse_pipeline(f"expand-ad,{OPTIMIZE}").run(optimized) if has_requests(optimized) else optimized


def counted_form(optimized: ModuleOp) -> ModuleOp:
    """An optimised module in which every value that an equation gives is the call of its solver, inlined; the module itself where there is none."""
    return parse_pipeline(FINISH).applied(optimized) if ops_of(optimized, *IMPLICIT) else optimized


def preparation_of(module: ModuleOp) -> str:
    """The pipeline that turns a module as it was written into core form with fewer ops; nothing for kernels, which are beyond it."""
    if holds_kernels(module):
        return ""
    return f"{FRONT},{OPTIMIZE},{INVARIANT}" if ops_of(module, stablehlo.WhileOp, ForOp) else f"{FRONT},{OPTIMIZE}"


def specialized_form(module: ModuleOp, entry: str, shapes: Sequence[Sequence[int] | None]) -> ModuleOp:
    """The static form of the entry for arguments of these shapes, as ``@main`` of a new module."""
    name = "from-upstream" if has_upstream(module) else "refine-shapes"
    text = f"{name}{{shapes={','.join(json.dumps(shape_text(s)) for s in shapes)}}}" if shapes else name
    return parse_pipeline(text).run(with_main(module, entry), original=lambda: with_main(module, entry))


def needs_ad_lowering(module: ModuleOp) -> bool:
    """Whether a module has anything of the ad dialect, so that it cannot be run or printed as plain StableHLO as it stands."""
    return any(op.name.startswith("ad.") or any(key.startswith("ad.") for key in op.attributes) for op in all_ops(module))


def runs_at_core_level_only(module: ModuleOp) -> bool:
    """Whether a module holds what the interpreter does not run as it is written: derivatives, computations on the blocks of devices, groups of a mesh."""
    return needs_ad_lowering(module) or any(
        op.name == "sdy.manual_computation" or isinstance(op.properties.get("replica_groups"), ReplicaGroupMeshAxesAttr) for op in all_ops(module)
    )


def runnable(core: ModuleOp, *, as_given: bool = False, devices: int | None = None) -> ModuleOp:
    """A core-level module as it is run: the module itself, or a copy after what :func:`wengert.transforms.finishing.finishing` says."""
    return finish.runnable(core, as_given=as_given, devices=devices)


def source_of(program: Program) -> tuple[ModuleOp, str]:
    """A program as it was written, as ``@main`` of a new module, and the pipeline from there to what is lowered: for dumps, which show all of it."""
    if program.origin is None:
        return with_main(program.module, program.entry), preparation(program)
    written, pipeline = program.origin
    front = "" if written.core_module is written.module or holds_kernels(written.module) else FRONT
    return with_main(written.module, written.entry), joined(front, pipeline, finishing(program.core_module, as_given=True))


def preparation(program: Program) -> str:
    """The pipeline from a program as it was written to what is lowered: what :attr:`Program.optimized_module` and then :func:`runnable` do."""
    if program.as_given:
        front = "" if program.core_module is program.module or holds_kernels(program.module) else FRONT
        return joined(front, finishing(program.core_module, as_given=True))
    if program.optimized_module is program.module:
        return finishing(program.module)
    requests = f"expand-ad,{OPTIMIZE}" if has_requests(program.core_module) else ""
    return joined(preparation_of(program.module), requests, finishing(program.optimized_module))
