"""Faults that a step of a pipeline can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["wrong result", "wrong derivative", "invalid IR", "exception", "refusal", "crash", "no end"]
"""``exception``: the step, or the interpreter on what it left, raises what no program may raise. ``crash``: compiled code ends the process."""


@dataclass(frozen=True)
class Fault:
    """The fault behind a step.

    Attributes:
        kind: the kind of fault.
        what: what differs from what, or what is raised, in one line.
        details: values, a traceback, or a diagnostic with its place.
        test: of a wrong derivative, the test that fails: ``values``, ``differences`` or ``dot product``.
    """

    kind: Kind
    what: str
    details: str = ""
    test: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"

    def is_like(self, other: Fault | None) -> bool:
        """Whether another fault is of the same kind."""
        return other is not None and self.kind == other.kind and (self.test == other.test or "values" not in (self.test, other.test))

    def may_come_of(self, other: Fault | None) -> bool:
        """Whether the fault of a whole may come of the fault of a part. What a part refuses is no reason, unless the whole is refused."""
        return other is not None and (other.kind != "refusal" or self.kind == "refusal")
