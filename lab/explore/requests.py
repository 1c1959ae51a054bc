"""Requests of the live page: a program's text, the derivative or the passes, and what is to be computed beside them.

A request is JSON of a known form and size. It names no file: the text is all that is read, and passes of plug-ins are those that the user loaded at the start.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from wengert.lab.inspection.subject import Request
from wengert.lab.report.assemble import Wanted

MOST_BYTES = 2 << 20
"""The largest request."""
Mode = Literal["vjp", "jvp", "hvp", "primal"]


class Positions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Positions of arguments and results; none for all."""

    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None


class Posted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request.

    Attributes:
        text: the program in MLIR.
        name: what diagnostics call it.
        entry: the function that is the program.
        mode: the derivative, or the program alone.
        positions: the arguments and results to differentiate.
        strategy, residuals: how the derivative is made.
        pipeline: passes behind it; the way to LLVM text follows if there are none.
        code: whether that way is gone.
        analyses: what is computed beside the stages; nothing that runs a program is.
        pair: two stages to compare.
    """

    text: str
    name: str = "program.mlir"
    entry: str = "main"
    mode: Mode = "vjp"
    positions: Positions = Positions()
    strategy: str = "transpose"
    residuals: str = "auto"
    pipeline: str = ""
    code: bool = True
    analyses: tuple[Literal["costs", "diff", "kept", "memory", "strategies"], ...] = ()
    pair: tuple[int, int] | None = None

    def wanted(self) -> Wanted:
        """What the document is to be about."""
        at = self.positions
        request = None if self.mode == "primal" else Request(self.mode, at.wrt, at.of, self.strategy, self.residuals)
        return Wanted(request, self.pipeline, code=self.code, compiled=False, pair=self.pair)


class Answer(msgspec.Struct, frozen=True):
    """An answer: the document as JSON, or the diagnostics for which there is none."""

    document: msgspec.Raw | None = None
    diagnostics: tuple[dict[str, object], ...] = ()


def read_posted(data: bytes) -> Posted:
    """The request in these bytes. Raises ValueError for what is none."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"the request has {len(data)} bytes; at most {MOST_BYTES} are taken")
    return msgspec.json.decode(data, type=Posted)
