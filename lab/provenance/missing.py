"""Why an argument, or a value of a program, has no cotangent: the paths from it that could carry one, and the op at which each ends.

A value has a cotangent if it varies with what is differentiated by, and if a result that is differentiated depends on it through ops whose derivatives
are not zero everywhere. So from the value its uses are followed until a result is reached, or an op at which nothing goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

import wengert.transforms.ad.rules  # noqa: F401  # pyright: ignore[reportUnusedImport]  (fills the table of rules)
from wengert.dialects import ad
from wengert.ir.location.locations import written_op
from wengert.ir.location.places import describe
from wengert.lab.draw.graph import short_type
from wengert.lab.inspection.printed import printed
from wengert.lab.inspection.selectors import Names
from wengert.lab.inspection.subject import Request, Subject
from wengert.lab.plain import plain
from wengert.lab.provenance.recording import record
from wengert.runtime.errors import InputError
from wengert.transforms.ad.forward.tangents import has_tangent
from wengert.transforms.ad.rule import INACTIVE
from wengert.transforms.optimize.flows import flow_of


@dataclass(frozen=True)
class End:
    """The end of a path.

    Attributes:
        place: ``file:line:column``; empty for the value itself.
        op: the op at which it ends.
        name: the value that goes in there.
        why: the reason.
    """

    place: str
    op: str
    name: str
    why: str

    def __str__(self) -> str:
        at = f"{self.place}: " if self.place else ""
        what = f"{self.op}({self.name}): " if self.op else ""
        return f"{at}{what}{self.why}"


@dataclass(frozen=True)
class Missing:
    """Why a value has no cotangent, or that it has one.

    Attributes:
        value: the value, as it was asked for, with its name and type.
        exists: whether it has a cotangent.
        verdict: the answer in one sentence.
        ends: where the paths from it end.
        results: the results that it reaches.
    """

    value: str
    exists: bool
    verdict: str
    ends: tuple[End, ...]
    results: tuple[int, ...]

    def __str__(self) -> str:
        lines = [f"{self.value}: {self.verdict}", *(f"  {end}" for end in self.ends[:12])]
        return "\n".join([*lines, *([f"  and {len(self.ends) - 12} more"] if len(self.ends) > 12 else [])])

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return plain(self)


def missing(subject: Subject, selector: str) -> Missing:
    """Says why what a selector names has no cotangent in the VJP of a program (or whether it has one).

    Args:
        subject: the program, with the derivative that is asked for (the VJP by all arguments otherwise).
        selector: ``arg:1``, ``%12``, or any other that names one value of the program.

    Raises:
        InputError: it names nothing, or the subject is no program.
    """
    program, request = subject.primal, subject.request or Request("vjp")
    if program is None:
        raise InputError(f"{subject.name} is no program")
    wrt, of = program.resolve(wrt=request.wrt, of=request.of)
    module = record(program).module
    names = Names(module, "main", dict(subject.sources))
    selected = names.select(selector)[0]
    value = selected.value
    if value is None:
        raise InputError(f"{selector} names {selected.op.name}, which has no value")
    function = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    called = "" if selector == selected.name else f"{selected.name}, "
    return _Search(function, wrt, of).answer(value, f"{selector} ({called}{short_type(value.type)})")


class _Search:
    """Follows the uses of a value."""

    def __init__(self, function: FuncOp, wrt: Sequence[int], of: Sequence[int]):
        self.function, self.wrt, self.of = function, wrt, of
        self.names = printed(function)
        self.ends: dict[End, None] = {}
        self.results: set[int] = set()

    def answer(self, value: SSAValue, label: str) -> Missing:
        """The answer for a value of the function."""
        if not has_tangent(value.type):
            return Missing(label, False, "it has no cotangent: its elements are integers or truth values, which have no derivative", (), ())
        if isinstance(value, BlockArgument) and value.block is self.function.body.block and value.index not in self.wrt:
            why = f"the derivative is by {_numbered('argument', self.wrt)}; ask with --wrt {value.index}"
            return Missing(label, False, f"it has no cotangent: {why}", (), ())
        if not self._varies(value):
            return Missing(label, False, f"it has no cotangent: it does not vary differentiably with {_numbered('argument', self.wrt)}", (), ())
        self._follow([value])
        ends, reached, others = tuple(self.ends), sorted(self.results & set(self.of)), sorted(self.results - set(self.of))
        if reached:
            depend = f"{_numbered('result', reached)} {'depends' if len(reached) == 1 else 'depend'} on it differentiably"
            return Missing(label, True, f"it has a cotangent: {depend}", ends, tuple(reached))
        if others:
            only = f"only {_numbered('result', others)}, not differentiated here, {'depends' if len(others) == 1 else 'depend'} on it (--of says which are)"
            return Missing(label, False, f"its cotangent is zero: {only}", ends, ())
        why = "every path from it to a result ends" if ends else "nothing uses it"
        return Missing(label, False, f"its cotangent is zero: {why}", ends, ())

    def _follow(self, values: Iterable[SSAValue]) -> None:
        seen: set[SSAValue] = set()
        pending = list(values)
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            for use in value.uses:
                pending += self._through(value, use.operation, use.index)

    def _through(self, value: SSAValue, op: Operation, index: int) -> Iterator[SSAValue]:
        """The values to which a tangent goes on from an operand; notes where it does not."""
        parent = op.parent_op()
        if op.next_op is None and parent is self.function:
            self.results.add(index)
            return
        if op.next_op is None and parent is not None and (outer := flow_of(parent)) is not None:
            yield from _returned(parent, outer, op, index)
            return
        why = _why_it_ends(op)
        if why:
            self._end(value, op, why)
        elif (flow := flow_of(op) if op.regions else None) is not None:
            if index < flow.own_operands:
                self._end(value, op, "it decides how often or which branch runs, which is not differentiable")
            else:
                for block in flow.blocks:
                    yield block.args[flow.own_arguments + index - flow.own_operands]
        else:
            varying = [result for result in op.results if has_tangent(result.type)]
            if varying:
                yield from varying
            else:
                self._end(value, op, f"its result is {short_type(op.results[0].type) if op.results else 'nothing'}, which has no derivative")

    def _end(self, value: SSAValue, op: Operation, why: str) -> None:
        self.ends[End(describe(op.location), written_op(op), self.names.name_of(value), why)] = None

    def _varies(self, value: SSAValue) -> bool:
        """Whether a value depends differentiably on an argument that is differentiated by."""
        starts = {self.function.body.block.args[i] for i in self.wrt}
        seen: set[SSAValue] = set()
        pending = [value]
        while pending:
            one = pending.pop()
            if one in starts:
                return True
            if one in seen or not has_tangent(one.type):
                continue
            seen.add(one)
            owner = one.owner
            holder = owner.parent_op() if isinstance(owner, Block) else owner
            if holder is not None and holder is not self.function and not _why_it_ends(holder):
                pending += holder.operands
                pending += [operand for inner in holder.walk() if inner is not holder for operand in inner.operands]
        return False


def _why_it_ends(op: Operation) -> str:
    """Why no tangent goes through an op; empty if one does."""
    if isinstance(op, ad.StopGradientOp):
        return "stop_gradient: the derivative is zero by definition"
    if type(op) in INACTIVE:
        return "its derivative is zero wherever it exists"
    return ""


def _returned(parent: Operation, flow: Any, end: Operation, index: int) -> Iterator[SSAValue]:
    """The values that what a region returns goes on to: results, and of loops the carried argument."""
    if end not in flow.returning():
        return
    yield parent.results[index]
    if flow.is_loop:
        for block in flow.blocks:
            yield block.args[flow.own_arguments + flow.constants + index]


def _numbered(what: str, numbers: Sequence[int]) -> str:
    return f"{what} {numbers[0]}" if len(numbers) == 1 else f"{what}s {', '.join(map(str, numbers))}"
