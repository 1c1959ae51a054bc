"""The modules that a test of define by run is put to: `wengert.eager`, and PyTorch where it is installed."""

from __future__ import annotations

from typing import Any

import pytest

import wengert.eager as eager


def _sides() -> list[Any]:
    try:
        import torch
        import torch.utils.checkpoint
    except ImportError:
        return [eager]
    return [eager, torch]


SIDES = pytest.mark.parametrize("t", _sides(), ids=lambda t: t.__name__)
"""Runs a test, whose argument is ``t``, on each of them."""
