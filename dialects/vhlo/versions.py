"""Versions of VHLO: which there are, and since which of them (or up to which) an op or a type is there.

The history is that of StableHLO's ``VhloDialect.td``: a version adds ops and types, or a second version of an op. The bytecode of an artifact is of the
version that MLIR wrote at that time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wengert.ir.diagnostics import Diagnostic, DiagnosticError

_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})")


class Version(NamedTuple):
    """``major.minor.patch``."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


CURRENT = Version(1, 17)
"""The latest version that is known here."""

MINIMUM = Version(0, 9)
"""The first version that artifacts are compatible with."""

_BYTECODE = ((Version(0, 15), 6), (Version(0, 14), 4), (Version(0, 12), 3), (Version(0, 10), 1), (Version(0, 9), 0))

SECOND: dict[str, Version] = {
    **dict.fromkeys(("all_gather", "all_reduce", "all_to_all"), Version(1, 5)),
    **dict.fromkeys(("gather", "dynamic_gather", "scatter"), Version(1, 1)),
    **dict.fromkeys(("send", "recv"), Version(1, 12)),
    **dict.fromkeys(("cbrt", "cosine", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine", "sqrt", "tan", "tanh"), Version(1, 10)),
    "composite": Version(1, 14),
    "dot_general": Version(1, 6),
    "dynamic_conv": Version(0, 20),
    "exponential": Version(1, 9),
}
"""The version that brought the second version of an op, which alone is valid since then."""

FIRST: dict[str, Version] = {"collective_broadcast": Version(0, 16), "composite": Version(0, 19), "tan": Version(1, 4)}
"""The version that brought an op, of those that were not there from the beginning."""

TYPES: dict[str, Version] = {
    **dict.fromkeys(("f8E4M3FNUZ", "f8E5M2FNUZ"), Version(0, 10)),
    "f8E4M3B11FNUZ": Version(0, 11),
    **dict.fromkeys(("i2", "ui2"), Version(1, 2)),
    "tf32": Version(1, 6),
    **dict.fromkeys(("f8E4M3", "f8E3M4"), Version(1, 7)),
    **dict.fromkeys(("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E8M0FNU"), Version(1, 8)),
}
"""The version that brought an element type, by how it is written in StableHLO."""

PER_AXIS = Version(0, 18)
"""The version that brought quantized types with a scale for each index of a dimension."""

DICTIONARY_CONFIGURATIONS = Version(1, 3)
"""The version since which a custom call is configured by a dictionary."""

MIXED = Version(1, 11)
"""The version since which ops and attributes of other dialects may stand in a program of VHLO, with casts between the types."""

WIDER_REDUCTIONS = Version(0, 17)
"""The version since which reductions may sum in wider numbers than they are given."""


def read_version(text: str) -> Version:
    """The version that a text says; ``current`` and ``minimum`` are versions too.

    Raises:
        DiagnosticError: it is none, or one that nothing is known of.
    """
    named = {"current": CURRENT, "minimum": MINIMUM}
    if text in named:
        return named[text]
    match = _VERSION.fullmatch(text)
    if match is None:
        raise DiagnosticError(Diagnostic(f"'{text}' is not a version of StableHLO", "<target>", hint=f"write it as in 1.0.0, from {MINIMUM} to {CURRENT}"))
    version = Version(*map(int, match.groups()))
    if not MINIMUM <= (*version[:2], 0) <= CURRENT:
        raise DiagnosticError(Diagnostic(f"version {version} of StableHLO is not known", "<target>", hint=f"there are those from {MINIMUM} to {CURRENT}"))
    return version


def bytecode_version(target: Version) -> int:
    """The version of bytecode that artifacts of a version are written in."""
    return next(bytecode for since, bytecode in _BYTECODE if since <= target)


def op_version(op: str, target: Version) -> int | None:
    """The version of an op in a version of VHLO, None where it is not there."""
    if target < FIRST.get(op, MINIMUM):
        return None
    return 2 if op in SECOND and target >= SECOND[op] else 1
