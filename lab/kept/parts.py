"""The two parts of a reverse derivative: the forward part, and the reverse part behind it, which begins with the first op that a cotangent reaches.

What the reverse part computes again from arguments and residuals (behind a barrier, or in the bodies of its loops) belongs to it though no cotangent
reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.kernel.level import holds_kernels
from wengert.ir.attributes import int_of
from wengert.ir.traversal import operands_of, ops_in
from wengert.runtime.errors import InputError
from wengert.runtime.functions import entry_function
from wengert.runtime.program import Program
from wengert.transforms.ad.forward.activity import active_values

COTANGENT = "cotangent of "


@dataclass(frozen=True)
class Parts:
    """A reverse derivative and where its reverse part begins.

    Attributes:
        program: the derivative.
        function: its entry, at core level.
        cotangents: the arguments that are cotangents.
        results: how many results are those of the primal.
    """

    program: Program
    function: FuncOp
    cotangents: tuple[BlockArgument, ...]
    results: int

    @property
    def block(self) -> Block:
        """The entry's body."""
        return self.function.body.block

    @cached_property
    def ops(self) -> list[Operation]:
        """The ops of the body, without the terminator."""
        return ops_in(self.block)[:-1]

    @cached_property
    def returned(self) -> Sequence[SSAValue]:
        """The values that are results of the primal."""
        last = self.block.last_op
        assert last is not None
        return operands_of(last)[: self.results]

    @cached_property
    def reached(self) -> set[SSAValue]:
        """The values of the body that depend on a cotangent."""
        return active_values(self.block, self.cotangents)

    @cached_property
    def first(self) -> int:
        """The number of the op with which the reverse part begins: the first that a cotangent reaches, or the barrier in front of what is computed again."""
        needed = _needed(self.returned)
        for number, op in enumerate(self.ops):
            if any(result in self.reached for result in op.results) or (isinstance(op, hlo.OptimizationBarrierOp) and op not in needed):
                return number
        return len(self.ops)

    @property
    def forward(self) -> list[Operation]:
        """The ops of the forward part, those among them that compute coefficients."""
        return self.ops[: self.first]

    @property
    def reverse(self) -> list[Operation]:
        """The ops of the reverse part."""
        return self.ops[self.first :]


def is_reverse_derivative(program: Program) -> bool:
    """Whether a program is a reverse derivative as it stands: by the names of its arguments."""
    return any((p.name or "").startswith(COTANGENT) for p in program.signature.arguments)


def parts_of(derivative: Program, primal: Program | None = None) -> Parts:
    """The parts of a reverse derivative. Without its primal, cotangents are told by the names that :meth:`wengert.Program.vjp` gives its arguments.

    Raises:
        InputError: the program is no reverse derivative, or one that is made of kernels.
    """
    if holds_kernels(derivative.module):
        raise InputError(f"{derivative.name} holds kernels, which have no forward and reverse part; a dump of an earlier stage has, such as that behind vjp")
    function = entry_function(derivative.core_module, "main")
    arguments = function.body.block.args
    if primal is not None:
        given, results = len(primal.signature.arguments), len(primal.signature.results)
        named = [n for n, p in enumerate(derivative.signature.arguments) if (p.name or "").startswith(COTANGENT)]
        numbers = [n for n in named if n >= given] or list(range(given, len(arguments)))
        return Parts(derivative, function, tuple(arguments[n] for n in numbers), results)
    numbers = [n for n, p in enumerate(derivative.signature.arguments) if (p.name or "").startswith(COTANGENT)]
    if not is_reverse_derivative(derivative):
        raise InputError(f"{derivative.name} is no reverse derivative: no argument is called 'cotangent of ...'; --vjp looks at that of a program")
    results = sum(not (p.name or "").startswith(COTANGENT) for p in derivative.signature.results)
    return Parts(derivative, function, tuple(arguments[n] for n in numbers), results)


def _needed(values: Sequence[SSAValue]) -> set[Operation]:
    """The ops that values depend on, those of the same block."""
    needed: set[Operation] = set()
    pending = [value.owner for value in values]
    while pending:
        op = pending.pop()
        if isinstance(op, Operation) and op not in needed:
            needed.add(op)
            pending.extend(operand.owner for operand in operands_of(op))
    return needed


def inside(op: Operation, number: int) -> Iterator[BlockArgument]:
    """The arguments of an op's regions that stand for its operand of this number."""
    if isinstance(op, core.ForOp) and number >= 1:
        yield op.body.block.args[number]
    elif isinstance(op, core.WhileOp):
        yield op.body.block.args[number]
        yield op.condition.block.args[number]
    elif isinstance(op, core.CaseOp) and number >= 1:
        yield from (region.block.args[number - 1] for region in op.branches)


def carried(op: core.ForOp | core.WhileOp) -> list[tuple[SSAValue, BlockArgument, SSAValue]]:
    """The carried values of a loop: each result, the argument of the body that stands for it, and the value that the body ends with."""
    body = op.body.block
    last = body.last_op
    assert last is not None
    start = len(body.args) - len(op.results)
    return list(zip(op.results, body.args[start:], operands_of(last), strict=True))


def reached_inside(op: Operation, reached: set[SSAValue]) -> Iterator[tuple[Block, set[SSAValue]]]:
    """The bodies of a loop or branch, each with the values in it that depend on cotangents, where its operands in ``reached`` do."""
    flags = [operand in reached for operand in operands_of(op)]
    if isinstance(op, core.CaseOp):
        for region in op.branches:
            yield region.block, active_values(region.block, [a for a, flag in zip(region.block.args, flags[1:], strict=True) if flag])
    elif isinstance(op, core.ForOp | core.WhileOp):
        body, first, constants = op.body.block, 1 if isinstance(op, core.ForOp) else 0, int_of(op.constants)
        results = {argument for result, argument, _ in carried(op) if result in reached}
        fixed = {a for a, flag in zip(body.args[first : first + constants], flags[first : first + constants], strict=True) if flag}
        yield body, active_values(body, fixed | results)
