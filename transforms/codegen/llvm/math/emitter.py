"""Where the text of an expression goes: fresh SSA names, the lines so far, and the out-of-line functions that they call."""

from __future__ import annotations

from msgspec import Struct, field


class Emitter(Struct):
    """Collects the body of one LLVM function.

    `lines` is the text in order, without indentation rules.  An emitted expression may open new basic blocks (the rare path of sin
    for huge arguments does), so the caller ends the body of a loop by a branch to a latch block of its own and lets the phi of
    the loop name that latch.  `functions` maps a symbol to the text of a definition which the module must contain once.
    """

    lines: list[str] = field(default_factory=list[str])
    functions: dict[str, str] = field(default_factory=dict[str, str])
    prefix: str = "%m"
    count: int = 0

    def fresh(self) -> str:
        """A local name that this function has not used, with its percent sign."""
        self.count += 1
        return f"{self.prefix}{self.count}"

    def line(self, text: str) -> None:
        """Appends one instruction or label."""
        self.lines.append(text)
