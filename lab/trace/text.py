"""A trace as text and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wengert.lab.draw.escaping import markup
from wengert.lab.trace.first_bad import BadOp, FirstBad
from wengert.lab.trace.loops import Iteration
from wengert.lab.trace.summary import number

if TYPE_CHECKING:
    from wengert.lab.trace.trace import Trace, TracedValue

_OTHERS = 5
"""Other places at which NaN or infinity begin that are listed."""
_HEADER = ("value", "op", "type", "range", "mean", "", "source")


def render(trace: Trace) -> str:
    """A row for each value, then what the results are and where NaN and infinity begin."""
    lines = [f"{trace.program}: {_values(trace)}", "", *_rows(trace), ""]
    lines += [f"{name}: {summary}" for name, summary in trace.results]
    return "\n".join([*lines, verdict(trace)])


def _values(trace: Trace) -> str:
    count = len({id(v) if v.times == 1 else (v.name, v.number) for v in trace.values})
    return "1 value" if count == 1 else f"{count} values"


def verdict(trace: Trace) -> str:
    """One line about NaN and infinity."""
    if trace.first is None:
        return "no value is NaN, and none infinite"
    begins = trace.first.begins
    reach = "reaches a result" if trace.first.reaches else "reaches no result"
    return f"{begins.what} begins at {begins.place} ({begins.op}) and {reach}; --first-nan says more"


def _rows(trace: Trace) -> list[str]:
    in_loops = any(value.iteration for value in trace.values)
    header = (_HEADER[0], "iteration", *_HEADER[1:]) if in_loops else _HEADER
    return _aligned([header, *(_cells(value, in_loops) for value in trace.values)], right={header.index("range"), header.index("mean")})


def _aligned(rows: Sequence[Sequence[str]], right: set[int]) -> list[str]:
    """Rows with their cells below each other, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [[cell.rjust(w) if at in right else cell.ljust(w) for at, (cell, w) in enumerate(zip(row, widths, strict=True))] for row in rows]
    return ["  ".join(cells).rstrip() for cells in lines]


def _cells(value: TracedValue, in_loops: bool) -> list[str]:
    summary = value.summary
    mean = "-" if summary.mean is None or summary.text else number(summary.mean)
    problems = summary.problems
    if value.iteration and value.bad:
        problems = f"{problems + '; ' if problems else ''}not finite in {value.bad} of {value.times}"
    source = f"{value.place}{f', {value.derivation}' if value.derivation else ''}"
    cells = [value.op, summary.type, summary.range, mean, problems, source]
    iteration = [f"{iteration_text(value.iteration)}" if value.iteration else ""] if in_loops else []
    return [value.name, *iteration, *cells]


def iteration_text(iteration: Iteration) -> str:
    """``2.5``: iteration 2 of the outer loop, 5 of the inner one."""
    return ".".join(map(str, iteration))


def render_first(first: FirstBad) -> str:
    """Writes where NaN or infinity begin, what the op was given, and what came of it."""
    lines = [f"{first.begins.what} begins {_where(first.begins)}", *_described(first.begins)]
    if first.times > 1:
        lines.append(f"  this happens {first.times} times")
    if first.becomes_nan is not None:
        lines += [f"it becomes NaN {_where(first.becomes_nan)}", *_described(first.becomes_nan)]
    lines.append(f"it reaches {'; '.join(first.reaches)}" if first.reaches else "it reaches no result")
    if first.others:
        shown = first.others[:_OTHERS]
        lines += ["elsewhere begin:", *(f"  {line}" for line in shown)]
        lines += [f"  and at {len(first.others) - len(shown)} more ops"] if len(first.others) > len(shown) else []
    return "\n".join(lines)


def _where(bad: BadOp) -> str:
    part = "in the primal" if bad.role == "primal" else f"in the derivative ({bad.role})"
    loop = f", in iteration {iteration_text(bad.iteration)}" if bad.iteration else ""
    return f"at {bad.place}, {part}{loop}" if bad.op != "argument" else f"in {bad.line}, which is given so"


def _described(bad: BadOp) -> list[str]:
    lines = [f"    {bad.source}"] if bad.source and bad.source != bad.line else []
    if bad.op != "argument":
        lines.append(f"    {bad.line}")
    at = f"element [{', '.join(map(str, bad.index))}]" if bad.index else "it"
    call = f" = {bad.op}({', '.join(bad.inputs)})" if bad.inputs and all(bad.inputs) else ""
    lines.append(f"  {at} is {bad.element}{call}; {bad.result.problems} of {bad.result.type}")
    width = max((len(name) for name, _ in bad.operands), default=0)
    return [*lines, *(f"  operand {name:{width}}  {summary}" for name, summary in bad.operands)]


def html_of(trace: Trace) -> str:
    """The trace as a fragment of HTML."""
    in_loops = any(value.iteration for value in trace.values)
    header = (_HEADER[0], "iteration", *_HEADER[1:]) if in_loops else _HEADER
    rows = "".join(f"<tr>{''.join(f'<td>{markup(cell)}</td>' for cell in _cells(value, in_loops))}</tr>" for value in trace.values)
    head = "".join(f"<th>{markup(cell)}</th>" for cell in header)
    first = f"<pre>{markup(str(trace.first))}</pre>" if trace.first is not None else ""
    return f"<div><p><b>{markup(trace.program)}</b>: {markup(verdict(trace))}</p>{first}<table><tr>{head}</tr>{rows}</table></div>"
