"""The ops of both dialects as StableHLO's own Python bindings, which JAX ships, list them: each is known here, or listed with the reason why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wengert.dialects.chlo import Chlo
from wengert.dialects.stablehlo import StableHLO

pytestmark = pytest.mark.oracle

NOT_HERE: dict[str, str] = {}
"""Ops that are refused by name, with the reason."""


def listed(dialect: str) -> set[str]:
    """The names of a dialect's ops in the bindings."""
    jaxlib = pytest.importorskip("jaxlib")
    text = (Path(jaxlib.__file__).parent / f"mlir/dialects/_{dialect}_ops_gen.py").read_text()
    return set(re.findall(r'OPERATION_NAME = "([^"]+)"', text))


@pytest.mark.parametrize(("dialect", "ours"), [("stablehlo", StableHLO), ("chlo", Chlo)], ids=["stablehlo", "chlo"])
def test_every_op_is_known_or_refused_with_a_reason(dialect: str, ours: object) -> None:
    known = {op.name for op in ours.operations}  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
    names = listed(dialect)
    assert len(names) > 40
    assert names - known - set(NOT_HERE) == set()
    assert known - names == set()
