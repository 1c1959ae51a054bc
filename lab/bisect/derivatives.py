"""Checks the results of derivative passes.

Each expectation takes the module before a pass and the one behind it, and inputs; it draws tangents or cotangents, which are the further inputs behind the
pass, and compares: forward mode with differences, reverse mode with forward mode by dot products, Jacobians along directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.ad_parts import linear_arguments
from wengert.ir.pipeline.passes import Step
from wengert.lab.bisect.faults import Fault
from wengert.lab.bisect.halves import as_one, halves_of
from wengert.lab.check.checker import Checker
from wengert.lab.check.comparison import dot_product
from wengert.lab.check.precision import epsilon_of, working_precision
from wengert.lab.check.report import Finding
from wengert.lab.check.rounding import Rounding
from wengert.lab.inputs import random_like
from wengert.lab.recorded_ops import MANY
from wengert.runtime.derived.positions import choose
from wengert.runtime.derived.requests import positions_text
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.runtime.signature import Parameter
from wengert.transforms.ad.requests.request import has_requests

Array = np.ndarray[Any, np.dtype[Any]]
Expectation = Callable[[ModuleOp, Step, ModuleOp, Sequence[Array], int], "tuple[tuple[Array, ...], Fault | None]"]
"""(module before, pass, module behind, inputs, seed) to the inputs for the module behind, and what is wrong with it."""


class NotComparedError(Exception):
    """Nothing is known to compare the results of a pass with; the message says why."""


def as_given(module: ModuleOp, name: str = "stage") -> Program:
    """A program that is run and differentiated as it stands. Raises NotComparedError if it asks for derivatives that are not expanded yet."""
    if has_requests(module):
        raise NotComparedError("requests for derivatives are not expanded yet")
    program = Program(as_one(module), name=name)
    program.as_given = True
    return program


def positions(program: Program, step: Step) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The arguments and results that a derivative pass is about."""
    if getattr(step, "fn", "main") not in ("", "main"):
        raise NotComparedError("it is about another function than @main")
    try:
        chosen: tuple[Any, Any] = (getattr(step, "wrt", None), getattr(step, "of", None))
        return choose("wrt", chosen[0], program.signature.arguments), choose("of", chosen[1], program.signature.results)
    except InputError as error:
        raise NotComparedError(str(error)) from None


def parameters(program: Program, wrt: Sequence[int], of: Sequence[int]) -> tuple[list[Parameter], list[Parameter]]:
    """The arguments and results at these positions."""
    return [program.signature.arguments[i] for i in wrt], [program.signature.results[j] for j in of]


def drawn(program: Program, count: int, seed: int) -> list[Array]:
    """Tangents or cotangents for the arguments of a derivative behind the first ``count``."""
    generator = np.random.default_rng([seed, 4])
    return [random_like(parameter, generator) for parameter in program.signature.arguments[count:]]


def forward(before: ModuleOp, step: Step, after: ModuleOp, inputs: Sequence[Array], seed: int) -> tuple[tuple[Array, ...], Fault | None]:
    """``jvp`` and ``linearize``: tangents are differences."""
    program, derivative = as_given(before), as_given(after)
    wrt, of = positions(program, step)
    if (fault := _ill_typed(program, derivative, *parameters(program, wrt, of))) is not None:
        return tuple(inputs), fault
    checker = Checker(program, list(inputs), wrt, of, seed, "interpreter", {"values", "differences"}, jvp=derivative)
    return (*inputs, *drawn(derivative, len(inputs), seed)), _worst(checker, wrt)


def reverse(before: ModuleOp, step: Step, after: ModuleOp, inputs: Sequence[Array], seed: int) -> tuple[tuple[Array, ...], Fault | None]:
    """``vjp``: cotangents times directions are cotangents times differences, and times what ``jvp`` makes."""
    program, derivative = as_given(before), as_given(after)
    wrt, of = positions(program, step)
    if (fault := _ill_typed(program, derivative, *reversed(parameters(program, wrt, of)))) is not None:
        return tuple(inputs), fault
    jvp = program.apply(f"jvp{{wrt={positions_text(wrt)} of={positions_text(of)}}}")
    checker = Checker(program, list(inputs), wrt, of, seed, "interpreter", {"values", "differences", "dot product"}, jvp=jvp, vjp=derivative)
    return (*inputs, *drawn(derivative, len(inputs), seed)), _worst(checker, wrt)


def transposed(before: ModuleOp, step: Step, after: ModuleOp, inputs: Sequence[Array], seed: int) -> tuple[tuple[Array, ...], Fault | None]:
    """``transpose`` of the linear half of a derivative: a dot product for each argument."""
    parts = halves_of(before)
    if parts is None or halves_of(after) is None or getattr(step, "wrt", None) is not None:
        raise NotComparedError("it is not the linear part of a derivative that is transposed")
    program, derivative = as_given(before), as_given(after)
    moving = len(linear_arguments(parts.linear) or ())
    fixed, directions = list(inputs[: len(inputs) - moving]), list(inputs[len(inputs) - moving :])
    y_bars = drawn(derivative, len(fixed), seed)
    outputs = len(program.signature.results) - len(y_bars)
    x_bars = derivative.compile("interpreter")(*fixed, *y_bars)[outputs:]
    slack = min(1e4 * epsilon_of(working_precision(program)), 0.1)
    for i, (x_dot, x_bar) in enumerate(zip(directions, x_bars, strict=True)):
        alone = [x if k == i else np.zeros_like(x) for k, x in enumerate(directions)]
        y_dots = program.compile("interpreter")(*fixed, *alone)[outputs:]
        finding = dot_product(y_bars, y_dots, [x_bar], [x_dot], slack)
        if finding.verdict == "MISMATCH":
            return (*fixed, *y_bars), _fault(f"linear argument {i}", finding)
    return (*fixed, *y_bars), None


def jacobian(before: ModuleOp, step: Step, after: ModuleOp, inputs: Sequence[Array], seed: int) -> tuple[tuple[Array, ...], Fault | None]:
    """``jacfwd`` and ``jacrev``: the Jacobian along a direction is a difference."""
    program, derivative = as_given(before), as_given(after)
    wrt, of = positions(program, step)
    checker = Checker(program, list(inputs), wrt, of, seed, "interpreter", {"differences"}, jvp=program)
    blocks, rounding = checker.run(derivative, inputs), Rounding(derivative, inputs)
    for k, i in enumerate(wrt):
        v = checker.direction(i)

        def tangent(j: int, blocks: Sequence[Array], k: int = k, v: Array = v[k]) -> Array:
            return _along(blocks[j * len(wrt) + k], v, checker.outputs[of[j]].shape)

        tangents = [tangent(j, blocks) for j in range(len(of))]
        finding = checker.differences(v, tangents, lambda j, tangent=tangent: rounding.through(lambda moved: tangent(j, moved)))
        if finding.verdict == "MISMATCH":
            return tuple(inputs), _fault(program.signature.arguments[i].label, finding)
    return tuple(inputs), None


def _along(block: Array, v: Array, shape: tuple[int, ...]) -> Array:
    """A Jacobian times a direction."""
    return (block.reshape((*shape, -1)) @ v.reshape(-1)).reshape(shape)


def _ill_typed(program: Program, derivative: Program, taken: Sequence[Parameter], given: Sequence[Parameter]) -> Fault | None:
    """A fault if a derivative does not take the inputs and then values of the types of ``taken``, or not return the outputs and then those of ``given``."""
    signature, derived = program.signature, derivative.signature
    wanted = [*signature.arguments, *taken], [*signature.results, *given]
    if all([str(p.type) for p in a] == [str(p.type) for p in b] for a, b in zip(wanted, (derived.arguments, derived.results), strict=True)):
        return None
    return Fault("invalid IR", f"it leaves a function {derived}, which is no derivative of {signature}")


def _worst(checker: Checker, wrt: Sequence[int]) -> Fault | None:
    """The first fault. The arguments of a long program are moved all at once at first: where that shows nothing, they are not looked at one by one."""
    is_long = len(wrt) > 1 and sum(1 for _ in checker.program.module.walk()) > MANY
    if is_long and all(finding.verdict != "MISMATCH" for finding in checker.together().findings):
        return None
    for i in wrt:
        checked = checker.argument(i)
        for finding in checked.findings:
            if finding.verdict == "MISMATCH":
                return _fault(checked.argument, finding)
    return None


def _fault(argument: str, finding: Finding) -> Fault:
    left = f"{finding.left}, {finding.right}" + (f" at {finding.where}" if finding.where else "")
    what = f"{argument}, {finding.test}: {left} (error {finding.error:.1e}, bound {finding.bound:.1e})"
    return Fault("wrong derivative", what, str(finding), finding.test)


EXPECTATIONS: dict[str, Expectation] = {
    "jvp": forward,
    "linearize": forward,
    "vjp": reverse,
    "vjp-direct": reverse,
    "transpose": transposed,
    "jacfwd": jacobian,
    "jacrev": jacobian,
}
"""By the names of passes."""
