"""A reverse derivative as a graph of numbered ops: what each reads, how large its results are, what it takes to compute them again.

Ops are numbered as they stand in the block. The *reverse part* are the ops that depend on a cotangent, and what the program asks to be computed again there
(behind an optimization barrier: ``ad.checkpoint``, ``jax.checkpoint``, ``residuals=recompute-all``), which stays as it is. All else is the *forward part*,
of which every op may be computed again that may run twice and whose cost is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.ir.location.locations import Role, provenance
from wengert.ir.location.places import error_at
from wengert.ir.traversal import all_ops, operands_of, ops_in, ops_of
from wengert.transforms.ad.residuals.policies import can_run_again
from wengert.transforms.analysis.opcost import is_executed, work
from wengert.transforms.analysis.symbolic.executions import executions
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of
from wengert.transforms.analysis.symbolic.unknowns import Unknowns
from wengert.transforms.core.closing import FREE_OPS, free_values

COTANGENT = "cotangent of "
"""How the names of arguments begin that are cotangents."""
_VIEWS = (hlo.BroadcastInDimOp, hlo.ReshapeOp, hlo.TransposeOp, hlo.SliceOp, hlo.ReverseOp, hlo.OptimizationBarrierOp)


class Graph:
    """The ops of a reverse derivative's block, by number.

    Attributes:
        function: the derivative.
        ops: the ops of its block, without the terminator.
        operands: for each op the numbers of the ops whose results it reads, those that its regions read among them.
        returned: the numbers of the ops whose results are returned.
        bytes: the bytes of each op's results; 0 for constants and what takes no memory of its own.
        work: the flops of each op, transcendental functions among them; None where only a run tells.
        reverse: whether each op belongs to the reverse part.
    """

    def __init__(self, module: ModuleOp, fn: str = "main"):
        self.module = module
        self.function = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == fn)
        *self.ops, last = ops_in(self.function.body.block)
        self.number = {op: n for n, op in enumerate(self.ops)}
        self.operands = [self._read(op) for op in self.ops]
        self.returned = self._numbers(operands_of(last))
        self.bytes = [0 if isinstance(op, (*FREE_OPS, *_VIEWS)) else sum(bytes_of(STATIC, value) for value in op.results) for op in self.ops]
        self.work = self._work()
        self.reverse = self._reverse_part()

    def _read(self, op: Operation) -> tuple[int, ...]:
        return self._numbers([*operands_of(op), *(free_values(op.regions) if op.regions else ())])

    def _numbers(self, values: Sequence[SSAValue]) -> tuple[int, ...]:
        owners = dict.fromkeys(value.owner for value in values if isinstance(value.owner, Operation))
        return tuple(self.number[op] for op in owners if op in self.number)

    def _work(self) -> list[int | None]:
        runs = executions(self.module, self.function.sym_name.data, STATIC, Unknowns())
        total: list[int | None] = [0] * len(self.ops)
        block = self.function.body.block
        for inside, times in runs.blocks:
            op = inside.parent_op()
            top = None if inside is block else op
            while top is not None and top.parent is not block:
                top = top.parent_op()
            if top is None and inside is not block:
                continue
            for each in inside.ops:
                if not is_executed(each):
                    continue
                n = self.number[each if top is None else top]
                known, count = total[n], times.constant
                total[n] = None if known is None or count is None else known + int(count) * sum(map(int, work(each)))
        return total

    def _reverse_part(self) -> list[bool]:
        """Ops that depend on a cotangent, or on a barrier that no result of the forward part needs."""
        given = set(self.cotangents)
        needed = self.ancestors(self.returned_forward)
        marked = [False] * len(self.ops)
        for n, op in enumerate(self.ops):
            asked_again = isinstance(op, hlo.OptimizationBarrierOp) and n not in needed
            reads = any(value in given for value in (*operands_of(op), *(free_values(op.regions) if op.regions else ())))
            marked[n] = asked_again or reads or any(marked[m] for m in self.operands[n])
        return marked

    @cached_property
    def cotangents(self) -> list[BlockArgument]:
        """The arguments that are cotangents: by their locations, else by their names.

        Raises:
            DiagnosticError: there is none.
        """
        arguments = self.function.body.block.args
        placed = [a for a in arguments if (known := provenance(a.location)) is not None and known.role is Role.COTANGENT]
        named = [a for a, name in zip(arguments, self._argument_names, strict=True) if name.startswith(COTANGENT)]
        listed = placed or named
        if not listed:
            hint = "plans of what is kept are made behind vjp: vjp,tapes-to-stacks,simplify,cse,dce,checkpoint{budget=65536}"
            raise error_at(self.function, f"@{self.function.sym_name.data} is no reverse derivative: no argument is a cotangent", hint=hint)
        return listed

    @property
    def _argument_names(self) -> list[str]:
        function = self.function
        names = ["" for _ in function.body.block.args]
        for n, attributes in enumerate(function.arg_attrs.data if function.arg_attrs is not None else ()):
            for key in ("jax.arg_info", "jax.arg_name"):
                name = attributes.data.get(key)
                if isinstance(name, StringAttr):
                    names[n] = name.data
        return [name or (argument.name_hint or "") for name, argument in zip(names, function.body.block.args, strict=True)]

    @cached_property
    def forward_results(self) -> int:
        """How many results are those of the forward part: all but one for each argument that a cotangent is returned of, which are the last."""
        last = self.function.body.block.last_op
        assert last is not None
        reached = self._reached_by_cotangents()
        values = operands_of(last)
        count = len(values)
        while count and (values[count - 1] in reached or isinstance(values[count - 1].owner, FREE_OPS)):
            count -= 1
        return count

    def _reached_by_cotangents(self) -> set[SSAValue]:
        reached: set[SSAValue] = set(self.cotangents)
        for op in self.ops:
            if any(inner in reached for each in (all_ops(op) if op.regions else (op,)) for inner in each.operands):
                reached.update(op.results)
        return reached

    def ancestors(self, numbers: Sequence[int]) -> set[int]:
        """These ops, and all that they depend on."""
        needed: set[int] = set()
        pending = list(numbers)
        while pending:
            n = pending.pop()
            if n not in needed:
                needed.add(n)
                pending.extend(self.operands[n])
        return needed

    @cached_property
    def returned_forward(self) -> tuple[int, ...]:
        """The numbers of the ops whose results are results of the forward part."""
        last = self.function.body.block.last_op
        assert last is not None
        return self._numbers(operands_of(last)[: self.forward_results])

    @cached_property
    def grows(self) -> bool:
        """Whether it has tapes without a known length, which are allocated as they grow."""
        return any(op.tape.type.static_length is None for op in ops_of(self.module, core.TapeCreateOp))

    @cached_property
    def forward(self) -> list[int]:
        """The ops of the forward part."""
        return [n for n, flag in enumerate(self.reverse) if not flag]

    @cached_property
    def backward(self) -> list[int]:
        """The ops of the reverse part."""
        return [n for n, flag in enumerate(self.reverse) if flag]

    @cached_property
    def repeatable(self) -> frozenset[int]:
        """The ops of the forward part that may be computed again: they have the same results twice, and what they cost is known."""
        return frozenset(n for n in self.forward if self.work[n] is not None and not isinstance(self.ops[n], FREE_OPS) and self._can_run_again(n))

    def _can_run_again(self, n: int) -> bool:
        op = self.ops[n]
        return not any(isinstance(value.type, core.TapeType) for value in (*op.operands, *op.results)) and can_run_again(op)

    @cached_property
    def free(self) -> frozenset[int]:
        """Constants: they take no memory and are never computed again."""
        return frozenset(n for n, op in enumerate(self.ops) if isinstance(op, FREE_OPS))

    @cached_property
    def residuals(self) -> frozenset[int]:
        """The ops of the forward part whose results the reverse part reads."""
        return frozenset(m for n in self.backward for m in self.operands[n] if not self.reverse[m] and m not in self.free)
