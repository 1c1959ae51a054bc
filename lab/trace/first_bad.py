"""The place where NaN or infinity begin, as it is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation

from wengert.ir.location.locations import provenance
from wengert.ir.location.places import describe, origin
from wengert.lab.inspection.printed import Printed
from wengert.lab.inspection.sources import Sources
from wengert.lab.plain import plain
from wengert.lab.trace.loops import Iteration
from wengert.lab.trace.origins import Event, Origin, Origins
from wengert.lab.trace.summary import Summary


@dataclass(frozen=True)
class BadOp:
    """An op that has made NaN or infinity.

    Attributes:
        what: ``NaN`` or ``infinity``.
        op: its name; ``argument`` for an argument.
        line: the op as it is printed.
        place: ``file:line:col`` of its source.
        source: that line.
        role: ``primal``, or the role in the derivative with the op that it was derived from (``cotangent of stablehlo.log``).
        iteration: the iterations of the loops around it.
        result: what it made.
        operands: the name and summary of each operand.
        index: the first element that is not finite.
        element: what that is.
        inputs: the elements of the operands there, where they have that element.
    """

    what: str
    op: str
    line: str
    place: str
    source: str
    role: str
    iteration: Iteration
    result: Summary
    operands: tuple[tuple[str, Summary], ...]
    index: tuple[int, ...] = ()
    element: str = ""
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class FirstBad:
    """The places where NaN or infinity begin.

    Attributes:
        begins: the op, constant or argument at which they do.
        becomes_nan: the op that makes NaN of an infinity from there.
        reaches: the results that they reach, with how many elements are not finite.
        times: how often they begin there, in loops.
        others: the other ops at which they begin, and the results that they reach from there.
    """

    begins: BadOp
    becomes_nan: BadOp | None = None
    reaches: tuple[str, ...] = ()
    times: int = 1
    others: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The op as it is printed."""
        return self.begins.line

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        return plain(self)

    def __str__(self) -> str:
        from wengert.lab.trace.text import render_first

        return render_first(self)


Reached = tuple[str, Summary, frozenset[Origin]]
"""A result's name and summary, and where what is not finite in it comes from."""


def first_bad(origins: Origins, results: Sequence[Reached], text: Printed, sources: Sources) -> FirstBad | None:
    """The origin to report: the first one in the order of the run that reaches a result, or else the first one at all; None if all is finite.

    A constant that holds an infinity, such as the mask of an attention, is only reported where it reaches a result.
    """
    reaching = {origin for _, summary, known in results if not summary.finite for origin in known}
    ordered = [o for o in origins.all if o in reaching] or [o for o in origins.all if o.kind != "constant"]
    if not ordered:
        return None
    first = next((o for o in ordered if o.kind != "constant"), ordered[0])
    turned = None if first.becomes_nan is None else _bad_op(first.becomes_nan, text, sources)
    others = tuple(_short(o, _reached(o, results)) for o in origins.all if o is not first and o.kind != "constant")
    return FirstBad(_bad_op(first.event, text, sources), turned, _reached(first, results), first.times, others)


def _reached(origin: Origin, results: Sequence[Reached]) -> tuple[str, ...]:
    return tuple(f"{name}: {summary.problems} of {_count(summary)}" for name, summary, known in results if origin in known)


def _short(origin: Origin, reached: Sequence[str]) -> str:
    """One line about an origin."""
    event = origin.event
    what, reach = "NaN" if event.result.nan else "infinity", "; ".join(line.partition(":")[0] for line in reached)
    role = "" if isinstance(event.value, BlockArgument) or (said := _role(event.op)) == "primal" else f", {said}"
    name = "an argument" if isinstance(event.value, BlockArgument) else event.op.name
    return f"{what} at {describe(event.op.location)} ({name}{role}), which reaches {reach or 'no result'}"


def _count(summary: Summary) -> int:
    count = 1
    for extent in summary.shape:
        count *= extent
    return count


def _bad_op(event: Event, text: Printed, sources: Sources) -> BadOp:
    is_argument = isinstance(event.value, BlockArgument)
    location = event.value.location if isinstance(event.value, BlockArgument) else event.op.location
    place = origin(location)
    key = (place.filename.data, place.line.data, place.column.data) if isinstance(place, FileLineColLoc) else ("", 0, 0)
    line = f"argument {text.name_of(event.value)}" if is_argument else text.line_of(event.op).removesuffix(" {")
    operands = tuple(zip([text.name_of(v) for v in event.op.operands], event.operands, strict=False)) if not is_argument else ()
    return BadOp(
        "NaN" if event.result.nan else "infinity",
        "argument" if is_argument else event.op.name,
        line,
        describe(location),
        sources.line(key).strip(),
        "primal" if is_argument else _role(event.op),
        event.iteration,
        event.result,
        operands,
        event.index,
        event.element,
        event.inputs,
    )


def _role(op: Operation) -> str:
    """The role of an op in the derivative, with what it was derived from; that of the op around it for what has none of its own."""
    current: Operation | None = op
    while current is not None and not isinstance(current, FuncOp):
        known = provenance(current.location)
        if known is not None and known.role != "primal":
            return f"{known.role} of {known.op_name}"
        current = current.parent_op()
    return "primal"
