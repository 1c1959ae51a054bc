"""Costs of computing a value again: the ops that lead to it from what is there anyway, as a small program that is counted and predicted."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from wengert.dialects import core
from wengert.ir.construction import append, block_with, copy_op
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.printing.printer import print_module
from wengert.ir.traversal import operands_of
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.features import CACHES, kernel_features
from wengert.lab.costs.time_model import machine_model
from wengert.runtime.cpu.thread_count import default_threads
from wengert.runtime.errors import InputError
from wengert.runtime.program import static_program
from wengert.transforms.ad.residuals.policies import can_run_again
from wengert.transforms.analysis.opcost import is_executed
from wengert.transforms.analysis.program_cost import program_cost
from wengert.transforms.analysis.symbolic.polynomial import ZERO, Polynomial
from wengert.transforms.core.closing import FREE_OPS
from wengert.transforms.schedule.host import host

LONGEST = 100
"""Chains of more ops are not looked at: nobody computes so much again for one value, and in a long program there are many."""
_OFFSETS = re.compile(r"\[\d+:\d+")


@dataclass(frozen=True)
class Again:
    """The costs of computing a value again, once for each time that it is kept.

    Attributes:
        ops, flops, transcendentals: what is executed, with the iterations of loops.
        seconds: by the machine model, without what a call takes; None where it depends on what only a run tells, or there is no such code.
        origins: the values that it is computed from.
    """

    ops: Polynomial
    flops: Polynomial
    transcendentals: Polynomial
    seconds: float | None
    origins: tuple[SSAValue, ...]


class TooLongError(Exception):
    """A value is more than :data:`LONGEST` ops away from what is there."""


class Recomputation:
    """The costs of computing values of some blocks again; equal chains of ops are looked at once."""

    def __init__(self, order: Callable[[Operation], int]):
        self._order = order
        self._known: dict[str, tuple[Polynomial, Polynomial, Polynomial, float | None]] = {}

    def of(self, value: SSAValue, available: Container[SSAValue]) -> Again | None:
        """What it costs to compute a value from what is available and from constants.

        None if that cannot be: it depends on something else, such as what a loop carries, or on an op that must not run twice. Raises TooLongError.
        """
        chain = chain_of(value, available)
        if chain is None:
            return None
        ops, origins = sorted(chain[0], key=self._order), chain[1]
        module = _program(ops, origins, value)
        key = _OFFSETS.sub("[:", print_module(module))
        if key not in self._known:
            self._known[key] = _costs(module)
        return Again(*self._known[key], tuple(origins))


def chain_of(value: SSAValue, available: Container[SSAValue]) -> tuple[set[Operation], list[SSAValue]] | None:
    """The ops of a value's block that compute it from other values that are available, and which of these they use; None if there is no such chain."""
    needed: set[Operation] = set()
    origins: dict[SSAValue, None] = {}
    pending = [value]
    while pending:
        current = pending.pop()
        if current in available and current is not value:
            origins[current] = None
            continue
        owner = current.owner
        if isinstance(current, BlockArgument) or not isinstance(owner, Operation) or not can_run_again(owner):
            return None
        if owner not in needed:
            needed.add(owner)
            if len(needed) > LONGEST:
                raise TooLongError
            pending.extend(reversed(operands_of(owner)))
    return needed, list(origins)


def _program(ops: list[Operation], origins: list[SSAValue], value: SSAValue) -> ModuleOp:
    """The ops as a program of the values that they start from."""
    block = block_with([origin.type for origin in origins])
    values: dict[SSAValue, SSAValue] = dict(zip(origins, block.args, strict=True))
    for op in ops:
        append(block, copy_op(op, values))
    append(block, ReturnOp(values[value]))
    function = FuncOp("main", ([origin.type for origin in origins], [value.type]), Region([block]))
    return ModuleOp([function])


def _costs(module: ModuleOp) -> tuple[Polynomial, Polynomial, Polynomial, float | None]:
    counted = program_cost(module)
    return counted.count, counted.flops, counted.transcendentals, _seconds(module)


def _seconds(module: ModuleOp) -> float | None:
    """The predicted time of the kernels of a program, without that of the call; None where it is not known."""
    if not any(is_executed(op) and not isinstance(op, FREE_OPS) for op in module.walk() if op.name not in ("builtin.module", "func.func")):
        return 0.0
    program = static_program(module, "recomputation")
    program.core_module = program.optimized_module = module
    try:
        cost = compiled(program)
    except (DiagnosticError, InputError):
        return None
    features: dict[str, Polynomial] = {}
    for kernel in cost.kernels:
        for name, count in kernel_features(kernel, default_threads()).items():
            if name != "launch":
                features[name] = features.get(name, ZERO) + kernel.times * count
    time = machine_model().total(features).constant
    return None if time is None else float(time)


def keeping_seconds(size: int) -> float:
    """The predicted time of writing so many bytes and reading them again."""
    registers = -(-size // host().target.vector_bytes)
    features = {"store": Polynomial.of(registers), "load": Polynomial.of(registers)}
    level = next((name for name, most in reversed(CACHES) if size > most), None)
    if level is not None:
        features[f"byte from {level}"] = Polynomial.of(2 * size)
    time = machine_model().total(features).constant
    assert time is not None
    return float(time)


LOOPS = (core.ForOp, core.WhileOp)
"""The loops of core-level IR."""
