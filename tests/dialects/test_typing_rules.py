"""Typing rules: every op has well-typed cases, and ill-typed ones that are rejected with the right words."""

from __future__ import annotations

import pytest
from typing_cases.every_op import ILL_TYPED, WELL_TYPED
from typing_cases.facts import ILL, WELL
from typing_cases.ill_forms import UNREADABLE
from typing_cases.notation import name_of, verdict

from wengert.dialects.chlo import Chlo
from wengert.dialects.core import Core
from wengert.dialects.stablehlo import StableHLO
from wengert.ir.verification.typing_rules import TYPING_RULES

WELL_TYPED = [*WELL_TYPED, *WELL]
ILL_TYPED = [*ILL_TYPED, *ILL]
ALL_OPS = {op.name: op for dialect in (StableHLO, Chlo, Core) for op in dialect.operations}
WITHOUT_OWN_ERRORS = {"stablehlo.return"}
"""Ops that can be wrong only together with the op around them."""


def numbered(texts: list[str]) -> list[str]:
    return [f"{i}-{name_of(text).split('.')[-1]}" for i, text in enumerate(texts)]


@pytest.mark.parametrize("text", WELL_TYPED, ids=numbered(WELL_TYPED))
def test_well_typed(text: str) -> None:
    assert not verdict(text)


@pytest.mark.parametrize(("text", "message"), ILL_TYPED, ids=numbered([text for text, _ in ILL_TYPED]))
def test_ill_typed(text: str, message: str) -> None:
    refusal = verdict(text)
    assert message in refusal
    assert name_of(text) in refusal


@pytest.mark.parametrize(("text", "message"), UNREADABLE, ids=numbered([text for text, _ in UNREADABLE]))
def test_attributes_and_types_are_checked_when_they_are_read(text: str, message: str) -> None:
    assert message in verdict(text)


def test_every_op_has_a_rule_and_cases() -> None:
    well, ill = {name_of(text) for text in WELL_TYPED}, {name_of(text) for text, _ in ILL_TYPED}
    assert not [name for name, op in ALL_OPS.items() if op not in TYPING_RULES]
    assert not set(ALL_OPS) - well - WITHOUT_OWN_ERRORS
    assert not set(ALL_OPS) - ill - WITHOUT_OWN_ERRORS
