"""The cases of every op: those that are well-typed, and those that are not, each with a part of the message that rejects it."""

from __future__ import annotations

from typing_cases import (
    bounded,
    communication,
    compound,
    contraction,
    control,
    core,
    dynamic,
    elementwise,
    indexing,
    linalg,
    quantized,
    reduction,
    shape,
    values,
)
from typing_cases.ill_forms import ILL_FORMS

FAMILIES = (bounded, elementwise, compound, shape, contraction, linalg, reduction, indexing, control, dynamic, quantized, communication, core, values)
WELL_TYPED = [text for family in FAMILIES for text in family.WELL_TYPED]
ILL_TYPED = [*[given for family in FAMILIES for given in family.ILL_TYPED], *ILL_FORMS]
