"""The outcome for the reverse derivative of one program by one strategy: whether it is right, and its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from wengert.lab.plain import plain

FIGURES = ("ops", "flops", "kept", "arena", "seconds", "compile_seconds")
"""The figures that are compared; less is better in all of them."""
Status = Literal["right", "wrong", "refused", "failed"]


@dataclass(frozen=True)
class Outcome:
    """One program in one precision by one strategy.

    Attributes:
        status: ``right``: outputs and cotangents are those of the corpus within its tolerance; ``wrong``: they are not; ``refused``: a diagnostic says
            that something is not covered; ``failed``: any other exception, or the process ended.
        error, tolerance: the largest difference from the stored cotangents, relative to the largest number of its array, and the largest that is right.
        reason: what is wrong, refused or failed; of a right one, why a figure is missing.
        equal_to: the first strategy, where the derivative is structurally equal to that one's after clean-up.
        ops, flops: executed ops and floating-point operations, counted on the core-level IR before fusion.
        kept: bytes that wait in the arena where it is fullest (mostly what the forward part keeps for the reverse part), and those on tapes.
        arena: bytes of the arena of the compiled program.
        seconds: the least time of a call, measured in turns with the other strategies.
        samples, calls: seconds per call, one for each round; and of how many calls each is the mean.
        yardstick: seconds per call of the yardstick in the same rounds.
        norms: the Euclidean norms of the results.
        derived: the hash of the derivative's IR after optimisation.
        compile_seconds: what making and compiling the derivative of the optimised program took: the less of two times, for the first may have to import.
    """

    program: str
    precision: str
    strategy: str
    status: Status
    error: float | None = None
    tolerance: float | None = None
    reason: str = ""
    equal_to: str = ""
    ops: int | None = None
    flops: int | None = None
    kept: int | None = None
    arena: int | None = None
    seconds: float | None = None
    compile_seconds: float | None = None
    samples: tuple[float, ...] = ()
    calls: int = 0
    yardstick: tuple[float, ...] = ()
    norms: tuple[float, ...] = ()
    derived: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The program, the precision and the strategy."""
        return self.program, self.precision, self.strategy

    def figure(self, name: str) -> float | None:
        """One of FIGURES; None where it is not known."""
        return getattr(self, name)

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON; numbers that are not finite are text."""
        return plain(self)

    def __str__(self) -> str:
        return f"{self.program} {self.precision} {self.strategy}: {self.status}" + (f": {self.reason}" if self.reason else "")
