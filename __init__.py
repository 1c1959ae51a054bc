"""wengert: a laboratory for automatic differentiation on MLIR.

    >>> import wengert as wg
    >>> p = wg.load("examples/mlp.mlir")          # doctest: +SKIP
    >>> outputs = p(*inputs)                      # doctest: +SKIP
    >>> gradient = p.vjp(wrt=(0, 1)).compile()    # doctest: +SKIP

    >>> @wg.jit
    ... def f(x): return wengert.numpy.sum(x * x)  # doctest: +SKIP

This is the whole public API, with the array namespace :mod:`wengert.numpy`. Names are imported when first used, so ``import wengert`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wengert.ir.collector import paused

if TYPE_CHECKING:
    from wengert.frontends.implicit.equations import custom_fixed_point, custom_linear_solve, custom_root
    from wengert.frontends.implicit.krylov import bicgstab, cg, gmres
    from wengert.frontends.jax_programs import from_exported, from_jax
    from wengert.frontends.stochastic.curvature import fisher_product, gauss_newton_product
    from wengert.frontends.stochastic.estimates import forward_gradient, hutchinson_diagonal, hutchinson_trace
    from wengert.frontends.torch_programs.module import TorchModule, from_torch
    from wengert.frontends.tracing.errors import TracingError
    from wengert.frontends.tracing.signatures import ArraySpec
    from wengert.frontends.transforms.batching import vmap
    from wengert.frontends.transforms.control_flow import cond, fori_loop, scan, switch, while_loop
    from wengert.frontends.transforms.derivatives import Transform, grad, hvp, jvp, value_and_grad
    from wengert.frontends.transforms.differentiation_control import checkpoint, custom_jvp, custom_vjp, stop_gradient
    from wengert.frontends.transforms.jacobians import hessian, jac, jacfwd, jacobian, jacrev
    from wengert.frontends.transforms.jit import Jit, Traceable, explain_retrace, jit
    from wengert.frontends.transforms.linear_maps import linearize, vjp
    from wengert.frontends.transforms.shapes import eval_shape
    from wengert.frontends.transforms.sparse_jacobians import sparse_hessian, sparse_jacobian
    from wengert.frontends.transforms.taylor import taylor
    from wengert.ir.diagnostics import Diagnostic, DiagnosticError
    from wengert.ir.pipeline.actions import may_rewrite
    from wengert.ir.plugins import Plugin, PluginError, load_plugin
    from wengert.lab.bisect.bisection import Bisection, bisect
    from wengert.lab.checkpoint.table import checkpoints
    from wengert.lab.diff.difference import Difference, diff
    from wengert.lab.draw.drawing import Drawing, draw
    from wengert.lab.provenance.explain import explain
    from wengert.lab.provenance.explanation import Explanations
    from wengert.lab.strategies.table import StrategyTable, strategies
    from wengert.lab.sweep.in_python import sweep
    from wengert.lab.sweep.series import SweepReport
    from wengert.runtime.compiled_program import CompiledProgram
    from wengert.runtime.derived.linear_program import LinearProgram
    from wengert.runtime.errors import ExecutionError, InputError
    from wengert.runtime.loading import load, parse
    from wengert.runtime.program import Program
    from wengert.runtime.signature import Parameter, Signature
    from wengert.runtime.spmd.global_program import SpmdProgram, spmd
    from wengert.transforms.ad.residuals.policies import Policy as ResidualPolicy
    from wengert.transforms.ad.strategies import PipelineStrategy, Strategy
    from wengert.transforms.optimize.keep_apart import keep_apart
    from wengert.transforms.plugins import Pass, register

__version__ = "0.1.0"

__all__ = [
    "ArraySpec",
    "Bisection",
    "CompiledProgram",
    "Diagnostic",
    "DiagnosticError",
    "Difference",
    "Drawing",
    "ExecutionError",
    "Explanations",
    "InputError",
    "Jit",
    "LinearProgram",
    "Parameter",
    "Pass",
    "PipelineStrategy",
    "Plugin",
    "PluginError",
    "Program",
    "ResidualPolicy",
    "Signature",
    "SpmdProgram",
    "Strategy",
    "StrategyTable",
    "SweepReport",
    "TorchModule",
    "Traceable",
    "TracingError",
    "Transform",
    "__version__",
    "bicgstab",
    "bisect",
    "cg",
    "checkpoint",
    "checkpoints",
    "cond",
    "custom_fixed_point",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "diff",
    "draw",
    "eval_shape",
    "explain",
    "explain_retrace",
    "fisher_product",
    "fori_loop",
    "forward_gradient",
    "from_exported",
    "from_jax",
    "from_torch",
    "gauss_newton_product",
    "gmres",
    "grad",
    "hessian",
    "hutchinson_diagonal",
    "hutchinson_trace",
    "hvp",
    "jac",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "keep_apart",
    "linearize",
    "load",
    "load_plugin",
    "may_rewrite",
    "parse",
    "register",
    "scan",
    "sparse_hessian",
    "sparse_jacobian",
    "spmd",
    "stop_gradient",
    "strategies",
    "sweep",
    "switch",
    "taylor",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

_HOMES = {
    "ArraySpec": "wengert.frontends.tracing.signatures",
    "Bisection": "wengert.lab.bisect.bisection",
    "CompiledProgram": "wengert.runtime.compiled_program",
    "Diagnostic": "wengert.ir.diagnostics",
    "DiagnosticError": "wengert.ir.diagnostics",
    "Difference": "wengert.lab.diff.difference",
    "Drawing": "wengert.lab.draw.drawing",
    "ExecutionError": "wengert.runtime.errors",
    "Explanations": "wengert.lab.provenance.explanation",
    "InputError": "wengert.runtime.errors",
    "Jit": "wengert.frontends.transforms.jit",
    "LinearProgram": "wengert.runtime.derived.linear_program",
    "Parameter": "wengert.runtime.signature",
    "Pass": "wengert.transforms.plugins",
    "PipelineStrategy": "wengert.transforms.ad.strategies",
    "Plugin": "wengert.ir.plugins",
    "PluginError": "wengert.ir.plugins",
    "Program": "wengert.runtime.program",
    "ResidualPolicy": "wengert.transforms.ad.residuals.policies",
    "Signature": "wengert.runtime.signature",
    "SpmdProgram": "wengert.runtime.spmd.global_program",
    "Strategy": "wengert.transforms.ad.strategies",
    "StrategyTable": "wengert.lab.strategies.table",
    "SweepReport": "wengert.lab.sweep.series",
    "TorchModule": "wengert.frontends.torch_programs.module",
    "Traceable": "wengert.frontends.transforms.jit",
    "TracingError": "wengert.frontends.tracing.errors",
    "Transform": "wengert.frontends.transforms.derivatives",
    "bicgstab": "wengert.frontends.implicit.krylov",
    "bisect": "wengert.lab.bisect.bisection",
    "cg": "wengert.frontends.implicit.krylov",
    "checkpoint": "wengert.frontends.transforms.differentiation_control",
    "checkpoints": "wengert.lab.checkpoint.table",
    "cond": "wengert.frontends.transforms.control_flow",
    "custom_fixed_point": "wengert.frontends.implicit.equations",
    "custom_jvp": "wengert.frontends.transforms.differentiation_control",
    "custom_linear_solve": "wengert.frontends.implicit.equations",
    "custom_root": "wengert.frontends.implicit.equations",
    "custom_vjp": "wengert.frontends.transforms.differentiation_control",
    "diff": "wengert.lab.diff.difference",
    "draw": "wengert.lab.draw.drawing",
    "eval_shape": "wengert.frontends.transforms.shapes",
    "explain": "wengert.lab.provenance.explain",
    "explain_retrace": "wengert.frontends.transforms.jit",
    "fisher_product": "wengert.frontends.stochastic.curvature",
    "fori_loop": "wengert.frontends.transforms.control_flow",
    "forward_gradient": "wengert.frontends.stochastic.estimates",
    "from_exported": "wengert.frontends.jax_programs",
    "from_jax": "wengert.frontends.jax_programs",
    "from_torch": "wengert.frontends.torch_programs.module",
    "gauss_newton_product": "wengert.frontends.stochastic.curvature",
    "gmres": "wengert.frontends.implicit.krylov",
    "grad": "wengert.frontends.transforms.derivatives",
    "hessian": "wengert.frontends.transforms.jacobians",
    "hutchinson_diagonal": "wengert.frontends.stochastic.estimates",
    "hutchinson_trace": "wengert.frontends.stochastic.estimates",
    "hvp": "wengert.frontends.transforms.derivatives",
    "jac": "wengert.frontends.transforms.jacobians",
    "jacfwd": "wengert.frontends.transforms.jacobians",
    "jacobian": "wengert.frontends.transforms.jacobians",
    "jacrev": "wengert.frontends.transforms.jacobians",
    "jit": "wengert.frontends.transforms.jit",
    "jvp": "wengert.frontends.transforms.derivatives",
    "keep_apart": "wengert.transforms.optimize.keep_apart",
    "linearize": "wengert.frontends.transforms.linear_maps",
    "load": "wengert.runtime.loading",
    "load_plugin": "wengert.ir.plugins",
    "may_rewrite": "wengert.ir.pipeline.actions",
    "parse": "wengert.runtime.loading",
    "register": "wengert.transforms.plugins",
    "scan": "wengert.frontends.transforms.control_flow",
    "sparse_hessian": "wengert.frontends.transforms.sparse_jacobians",
    "sparse_jacobian": "wengert.frontends.transforms.sparse_jacobians",
    "spmd": "wengert.runtime.spmd.global_program",
    "stop_gradient": "wengert.frontends.transforms.differentiation_control",
    "strategies": "wengert.lab.strategies.table",
    "sweep": "wengert.lab.sweep.in_python",
    "switch": "wengert.frontends.transforms.control_flow",
    "taylor": "wengert.frontends.transforms.taylor",
    "value_and_grad": "wengert.frontends.transforms.derivatives",
    "vjp": "wengert.frontends.transforms.linear_maps",
    "vmap": "wengert.frontends.transforms.batching",
    "while_loop": "wengert.frontends.transforms.control_flow",
}

_OTHER_NAMES = {"ResidualPolicy": "Policy"}
"""The names of what is called something else where it is defined."""


def __getattr__(name: str) -> Any:
    home = "wengert.numpy" if name == "numpy" else _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'wengert' has no attribute {name!r}")
    with paused():  # a hundred modules of classes, all of which stay
        module = import_module(home)
    if name == "numpy":
        return module
    value = getattr(module, _OTHER_NAMES.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
