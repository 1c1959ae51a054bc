"""What must be true of compiled derivatives and batches, and of the kernels that they are compiled from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.context import Context

import wengert as wg
from fuzz.case import Case
from fuzz.checks.batching import batch_of, batched
from fuzz.checks.check import Family
from fuzz.execution import assert_executes, compiled
from wengert.ir.verification.verifier import verify
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.interpreter import run
from wengert.transforms.fuse.distribution.distribute_products import DistributeProductsPass
from wengert.transforms.pipelines import LOWER, parse_pipeline

check = Family()

DISTRIBUTING = DistributeProductsPass(least=1, smallest=1, reassociate=True)


@check("kernels", one_in=6, executes=True)
def kernels(case: Case) -> None:
    """Kernels on buffers, interpreted: unlike machine code, the interpreter refuses positions outside of a buffer."""
    assert_executes("kernels on buffers, interpreted", _by_kernels, case.program, case.inputs)


@check("kernels-vjp", one_in=12, needs="differentiable", executes=True)
def kernels_vjp(case: Case) -> None:
    assert_executes("kernels of the VJP, interpreted", _by_kernels, case.vjp, [*case.inputs, *case.y_bars])


@check("verified-lowering", one_in=15, needs="differentiable")
def verified_lowering(case: Case) -> None:
    """What each pass leaves of the VJP on the way down is well typed."""
    module = case.vjp.module.clone()
    parse_pipeline(f"{LOWER},schedule,bufferize").run(module, verify_each=True)


@check("distributed-products", one_in=6, needs="differentiable", executes=True)
def distributed_products(case: Case) -> None:
    """Products of any size that leave the loops of the VJP have the same results there."""
    if DISTRIBUTING.changes(runnable(case.vjp.optimized_module)):
        assert_executes("products outside of loops, interpreted", _by_distribution, case.vjp, [*case.inputs, *case.y_bars])


def _by_distribution(program: wg.Program, inputs: Sequence[Any]) -> Any:
    module = runnable(program.optimized_module).clone()
    DISTRIBUTING.apply(Context(), module)
    verify(module)
    return [np.asarray(y) for y in run(module, inputs)]


def _by_kernels(program: wg.Program, inputs: Sequence[Any]) -> Any:
    module = runnable(program.optimized_module).clone()
    parse_pipeline(f"{LOWER},schedule,bufferize").run(module)
    return [np.asarray(y) for y in run(module, inputs)]


@check("compiled-jvp", one_in=6, needs="differentiable", executes=True)
def compiled_jvp(case: Case) -> None:
    given = [*case.inputs, *case.x_dots]
    assert_executes("compiled JVP", compiled, case.jvp, given)


@check("compiled-vjp", one_in=3, needs="differentiable", executes=True)
def compiled_vjp(case: Case) -> None:
    given = [*case.inputs, *case.y_bars]
    assert_executes("compiled VJP", compiled, case.vjp, given)


@check("compiled-direct", one_in=8, needs="differentiable", executes=True)
def compiled_direct(case: Case) -> None:
    given = [*case.inputs, *case.y_bars]
    assert_executes("compiled VJP by adjoints", compiled, case.direct, given)


MOST_OF_A_JACOBIAN = 4000
"""Elements of Jacobians that are made."""


@check("chosen-jacobian", one_in=12, needs="differentiable", executes=True)
def chosen_jacobian(case: Case) -> None:
    """The Jacobian by the way that is chosen without measuring is well typed, and its compiled code agrees. (Ways agree with each other in ``fuzz.rows``.)"""
    xs, ys = [case.inputs[i] for i in case.moving], [np.asarray(case.outputs[j]) for j in case.asked]
    if any(np.iscomplexobj(z) for z in (*xs, *ys)) or sum(x.size for x in xs) * sum(y.size for y in ys) > MOST_OF_A_JACOBIAN:
        return
    made = case.program.jacobian(measure=False)
    verify(made.module)
    assert_executes("compiled Jacobian", compiled, made, case.inputs)


@check("compiled-vmap", one_in=8, executes=True)
def compiled_vmap(case: Case) -> None:
    if case.inputs:
        each, flags = batch_of(case)
        assert_executes("compiled vmap", compiled, *batched(case.program, each, flags))
