"""Classes of element types, as bits, so that an op can say which set of them it takes."""

from __future__ import annotations

BOOLEAN, SIGNED, UNSIGNED, FLOAT, COMPLEX, QUANTIZED = 1, 2, 4, 8, 16, 32
INTEGER = SIGNED | UNSIGNED
LOGICAL = BOOLEAN | INTEGER
REAL = FLOAT | QUANTIZED
INEXACT = FLOAT | COMPLEX | QUANTIZED
NUMBER = INTEGER | INEXACT
ANY = BOOLEAN | NUMBER
