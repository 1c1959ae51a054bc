"""All models, by family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.models import bert, gpt, graph_network, llama, lstm, neural_ode, residual, unet, vit, wavenet
from benchmarks.problems.workloads import Workload

FAMILIES: tuple[Any, ...] = (gpt, residual, vit, bert, llama, unet, wavenet, graph_network, neural_ode, lstm)
"""Modules with the ``SIZES`` that are measured, a ``TINY`` one, and ``workload``, which makes the training step of a size."""


def models(quick: bool, only: Callable[[str], bool] = lambda name: True) -> list[Workload]:
    """The training steps whose names are asked for; of each family the sizes that are measured, or the tiny one."""
    sized = [(family, size) for family in FAMILIES for size in ((family.TINY,) if quick else family.SIZES)]
    return [family.workload(size) for family, size in sized if only(size.name)]
