"""Why an op is there: where it comes from, by which rule, what it computes with, what it feeds, and which passes touched it.

>>> import wengert as wg
>>> p = wg.load("examples/mlp.mlir")                       # doctest: +SKIP
>>> print(p.explain("op:tanh", vjp=True))                  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from wengert.dialects.stablehlo import OptimizationBarrierOp
from wengert.ir.location.locations import Certainty, Role, Source, left_off, provenance, sources
from wengert.ir.location.places import describe
from wengert.ir.pipeline.changes import Change, Kind
from wengert.ir.traversal import all_ops
from wengert.lab.draw.graph import short_type
from wengert.lab.inspection.printed import Printed, printed
from wengert.lab.inspection.selectors import select
from wengert.lab.inspection.sources import Sources
from wengert.lab.inspection.subject import Mode, Request, Subject, subject_of
from wengert.lab.provenance.explanation import SHOWN, Explanation, Explanations, Origin, Value
from wengert.lab.provenance.recording import Recording, record
from wengert.lab.provenance.rules import DeclaredRule, rule_of, sum_of_uses
from wengert.runtime.derived.positions import Positions
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.ad.rule import RULES, STEPS
from wengert.transforms.pipelines import BACK


def explain(
    program: Program,
    *selectors: str,
    jvp: bool = False,
    vjp: bool = False,
    hvp: bool = False,
    wrt: Positions = None,
    of: Positions = None,
    strategy: str = "transpose",
    residuals: str = "auto",
    pipeline: str = "",
) -> Explanations:
    """Explains ops of a program, or of a derivative of it.

    Args:
        program: the program.
        selectors: what to explain: ``%12``, ``result:0``, ``12`` (a line), ``op:tanh``, ``role:cotangent``, ...
        jvp: look at the forward derivative.
        vjp: look at the reverse derivative.
        hvp: look at the forward derivative of the reverse one.
        wrt: positions of the arguments to differentiate by; every float or complex one by default.
        of: positions of the results to differentiate; every float or complex one by default.
        strategy: how the derivative is made, by name.
        residuals: the policy for what is kept, by name.
        pipeline: passes to run behind it.

    Raises:
        InputError: a selector names nothing, or two derivatives are asked for.
        DiagnosticError: what the derivative or a pass raises.
    """
    modes: list[Mode] = [mode for mode, flag in (("jvp", jvp), ("vjp", vjp), ("hvp", hvp)) if flag]  # pyright: ignore[reportAssignmentType]
    if len(modes) > 1:
        raise InputError(f"{' and '.join(modes)}: ask for one derivative")
    request = Request(modes[0], wrt, of, strategy, residuals) if modes else None
    return explain_subject(subject_of(program, request, pipeline), *selectors)


def explain_subject(subject: Subject, *selectors: str) -> Explanations:
    """Explains what selectors name in a subject. Raises InputError as :func:`explain`."""
    if not selectors:
        raise InputError("nothing is selected: name a value (%12), a line, op:tanh, role:cotangent or result:0")
    view = View(subject)
    chosen = {s.op: None for selector in selectors for s in select(view.module, selector, entry="main", sources=subject.sources)}
    explained = tuple(view.explanation(op) for op in chosen if not isinstance(op, ModuleOp) and op in view.text.starts)
    return Explanations(subject.title, " ".join(selectors), explained)


class View:
    """A program as it is printed, with what was recorded of every op."""

    def __init__(self, subject: Subject):
        program = subject.primal
        if program is None or subject.form != "mlir":
            _ = subject.program  # says what it is instead
            raise InputError(f"{subject.name} is no program")
        self.subject = subject
        self.recording: Recording = _recorded(program, subject)
        self.module = self.recording.module
        self.text: Printed = printed(self.module)
        self._sources = Sources(subject.sources)
        self._again = _computed_again(self.module)

    def explanation(self, op: Operation) -> Explanation:
        """What is known of an op."""
        known = sources(op.location, op.name)
        derived = next((source for source in known if source.role is not None), None)
        role = known[0].role or (Role.PRIMAL if self.subject.request else "")
        operands = [self._operand(value, op) for value in dict.fromkeys(op.operands)]
        is_linear = role not in ("", Role.PRIMAL, Role.COEFFICIENT)
        linear = [value for value, flag in operands if flag and is_linear]
        factors = [value for value, flag in operands if not (flag and is_linear)]
        name = self.text.name_of(op.results[0]) if op.results else op.name
        return Explanation(
            name,
            op.name,
            self.text.line_of(op),
            self.text.number_of(op),
            str(role),
            tuple(map(self._origin, known)),
            left_off(op.location),
            self._rule(derived) if derived is not None else None,
            tuple(linear),
            tuple(factors),
            tuple(self._users(op)),
            tuple(self._history(op)),
        )

    def _origin(self, source: Source) -> Origin:
        place = source.place
        callers = tuple(describe(caller) for caller in source.callers)
        inferred = source.certainty is Certainty.INFERRED
        what = (source.op_name or "an op") if not source.derived else f"{' of the '.join(step.role for step in source.derived)} of {source.op_name}"
        what = f"by way of {source.op_name}" if inferred else what
        if not isinstance(place, FileLineColLoc):
            return Origin(what, describe(place), source.certainty, "", 0, source.op_name, callers)
        return Origin(what, describe(place), source.certainty, self._line(place), place.column.data, source.op_name, callers)

    def _line(self, place: FileLineColLoc) -> str:
        return self._sources.line((place.filename.data, place.line.data, place.column.data))

    def _rule(self, source: Source) -> DeclaredRule | None:
        """The rule of the op that a derived one comes from."""
        name = source.derived[0].op_name
        if source.role is Role.ACCUMULATION:
            return sum_of_uses()
        strategy = self.subject.request.strategy if self.subject.request else "transpose"
        there = self.recording.core.get((source.place, name), [])
        cls = next((cls for known in (STEPS, RULES) for cls in there if cls in known), None)
        return None if cls is None else rule_of(cls, strategy)

    def _operand(self, value: SSAValue, user: Operation) -> tuple[Value, bool]:
        """An operand, and whether it is a tangent or cotangent."""
        name, type = self.text.name_of(value), short_type(value.type)
        if isinstance(value, BlockArgument):
            step = provenance(value.location)
            inner = not _is_entry(value.block)
            what = f"{step.role} of {step.op_name.replace('#', ' ')}" if step else ("carried in" if inner else f"argument {value.index}")
            linear = step is not None or (inner and provenance(user.location) is not None and self._is_reverse(value))
            return Value(name, what, type, "argument" if not inner else "of the region", ""), linear
        op = value.owner
        assert isinstance(op, Operation)
        step = provenance(op.location)
        linear = step is not None and step.role in (Role.TANGENT, Role.COTANGENT, Role.ACCUMULATION) and bool(op.operands)
        what = f"{step.role} of {step.op_name}" if step else op.name
        state = "" if linear or provenance(user.location) is None else self._state(op)
        return Value(name, what, type, state, describe(op.location)), linear

    def _is_reverse(self, value: BlockArgument) -> bool:
        parent = value.block.parent_op()
        step = None if parent is None else provenance(parent.location)
        return step is not None and step.role in (Role.TANGENT, Role.COTANGENT) and any(provenance(use.operation.location) for use in value.uses)

    def _state(self, op: Operation) -> str:
        """How a factor comes to where it is used."""
        if not op.operands:
            return "constant"
        if self.subject.request is None or self.subject.request.mode == "jvp":
            return ""
        return "recomputed" if op in self._again else "kept"

    def _users(self, op: Operation) -> list[Value]:
        users: dict[Operation, None] = {use.operation: None for result in op.results for use in result.uses}
        shown: list[Value] = []
        for user in users:
            step = provenance(user.location)
            what = f"{step.role} of {step.op_name}" if step else user.name
            if user.has_trait(IsTerminator, value_if_unregistered=False):
                numbers = [str(n) for n, operand in enumerate(user.operands) if operand in op.results]
                listed = ", ".join(numbers) if len(numbers) < SHOWN else f"{', '.join(numbers[:SHOWN])}, ..."
                shown.append(Value("", f"result {listed}", "", "", ""))
            else:
                name = self.text.name_of(user.results[0]) if user.results else user.name
                shown.append(Value(name, what, short_type(user.results[0].type) if user.results else "", "", describe(user.location)))
        return shown

    def _history(self, op: Operation) -> list[str]:
        history = self.recording.changes.of(op)
        made = provenance(op.location)
        lines = [] if made is None else [f"{made.pass_name}: made, as {made.role} of {made.op_name}"]
        if made is None:
            first = sources(op.location, op.name)[0]
            lines += [f"{pass_name}: written for {first.op_name}" for pass_name in dict.fromkeys(first.passes)]
            history = [change for change in history if change.kind is not Kind.MADE]
        merges = [change for change in history if change.kind is Kind.MERGED]
        lines += [_said(change) for change in history if change.kind is not Kind.MERGED and not (made and change.kind is Kind.MADE)]
        lines = list(dict.fromkeys(lines))
        for (pass_name, why), count in _counted(merges).items():
            lines.append(f"{pass_name}: is also {count} other{'s' if count != 1 else ''} ({why})")
        return lines


def _said(change: Change) -> str:
    why = f" ({change.why})" if change.why else ""
    if change.kind is Kind.REWRITTEN:
        return f"{change.pass_name}: written for {change.op_name} at {describe(change.location)}{why}"
    return f"{change.pass_name}: {change.kind}{why}"


def _counted(changes: Sequence[Change]) -> Mapping[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for change in changes:
        counts[change.pass_name, change.why] = counts.get((change.pass_name, change.why), 0) + 1
    return counts


def _recorded(program: Program, subject: Subject) -> Recording:
    """The program taken to what the subject prints, recorded."""
    behind = [subject.pipeline] if subject.pipeline else [BACK] if _is_written_out(subject) else []
    return record(program, subject.request, behind=behind, optimised=subject.request is not None)


def _is_written_out(subject: Subject) -> bool:
    """Whether what is printed is more than what was derived: core ops are written as StableHLO."""
    return subject.printed is not subject.module


def _is_entry(block: Block) -> bool:
    parent = block.parent_op()
    return parent is not None and parent.name == "func.func"


def _computed_again(module: ModuleOp) -> set[Operation]:
    """The ops that are computed from what passed a barrier, or in a region of the reverse part."""
    again: set[Operation] = set()
    for op in all_ops(module):
        parent = op.parent_op()
        step = None if parent is None else provenance(parent.location)
        inside = step is not None and step.role in (Role.COTANGENT, Role.TANGENT)
        behind = any(isinstance(v.owner, OptimizationBarrierOp) or v.owner in again for v in op.operands)
        if inside or behind:
            again.add(op)
    return again
