"""What must be true of every program: the table of checks, each named.

A check takes a case and raises a Mismatch; any other exception but a documented refusal is a finding too. Cheap checks are made of every program,
the others of a share that the seed determines.
"""

from __future__ import annotations

from fuzz.checks import batching, checkpoints, compiled, derivatives, eliminations, extents, oracle, programs
from fuzz.checks.check import Check

CHECKS: list[Check] = [
    *programs.check,
    *derivatives.check,
    *batching.check,
    *compiled.check,
    *oracle.check,
    *checkpoints.check,
    *eliminations.check,
    *extents.check,
]
"""In this order: the place of a check says which seeds it is made of."""
