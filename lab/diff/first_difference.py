"""The first value in which two programs differ when they are run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wengert.lab.plain import plain


@dataclass(frozen=True)
class ValuePair:
    """A value of each of two programs that should be equal, and is not.

    Attributes:
        a, b: the lines of the ops that make it.
        place: where in the source they come from.
        execution: how often the ops had run before, in loops.
        largest: the largest difference of two elements.
        allowed: the difference that is tolerated there.
        at: the index of that element.
        a_value, b_value: the two elements.
        differing: how many elements differ by more than is tolerated, of how many.
        count: the number of elements.
        problem: what differs if it is not the elements: shapes, or one of the ops was not executed.
    """

    a: str
    b: str
    place: str
    execution: int = 0
    largest: float = 0.0
    allowed: float = 0.0
    at: tuple[int, ...] = ()
    a_value: str = ""
    b_value: str = ""
    differing: int = 0
    count: int = 0
    problem: str = ""

    def __str__(self) -> str:
        loop = f", in execution {self.execution}" if self.execution else ""
        head = f"  {self.b}\n    at {self.place}{loop}: "
        if self.problem:
            return head + self.problem
        element = f"[{', '.join(map(str, self.at))}]" if self.at else "it"
        wrong = f"{self.differing} of {self.count} elements differ by more than {self.allowed:.1e}, the largest by {self.largest:.3e}"
        return f"{head}{element} is {self.a_value} and {self.b_value}; {wrong}"


@dataclass(frozen=True)
class FirstDifference:
    """The outcome of running two programs on the same inputs.

    Attributes:
        compared: how many pairs of values were compared.
        first: the first pair that differs, in the order of the second program; None if none does.
        differing: how many pairs differ.
        results: the results that differ, each with its largest difference.
        skipped: what was not compared, and why.
    """

    compared: int
    first: ValuePair | None = None
    differing: int = 0
    results: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether no value differs."""
        return self.first is None and not self.results

    def __str__(self) -> str:
        if self.first is None:
            lines = [f"values: {self.compared} pairs compared, all equal within the tolerance"]
        else:
            lines = [f"values: {self.differing} of {self.compared} pairs differ; the first one is", str(self.first)]
            if not self.results:
                lines.append("  the results are equal within the tolerance")
        lines += [f"  {line}" for line in (*self.results, *self.skipped)]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        return {**plain(self), "equal": self.equal}
