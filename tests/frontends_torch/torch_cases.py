"""Comparison of exported PyTorch modules with PyTorch itself: values and, through random cotangents, gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


@dataclass(frozen=True)
class Case:
    """A function of tensors. Each has inputs of its own, so that a wrong gradient names its case."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[Any, ...]


class Family(torch.nn.Module):
    """All cases of a family as one module: one export, one program."""

    def __init__(self, cases: Sequence[Case]):
        super().__init__()
        self.cases = cases

    def forward(self, *inputs: Any) -> Any:
        given = iter(inputs)
        return tuple(case.function(*(next(given) for _ in case.inputs)) for case in self.cases)


def exported(module: Any, *inputs: Any) -> Any:
    """An export; what PyTorch warns of on the way is not ours to change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(module, inputs)


def imported(module: Any, *inputs: Any) -> Any:
    """The module as a program."""
    return wg.from_torch(exported(module, *inputs))


def flat(tree: Any) -> list[Any]:
    return torch.utils._pytree.tree_flatten(tree)[0]


def distance(actual: Any, expected: Any) -> float:
    """The largest difference, relative to the largest element where that is above 1."""
    expected = np.asarray(expected.detach().resolve_conj().resolve_neg() if hasattr(expected, "detach") else expected)
    actual = np.asarray(actual)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    assert actual.dtype == expected.dtype, f"dtype {actual.dtype}, expected {expected.dtype}"
    if expected.dtype.kind not in "fc":
        return 0.0 if np.array_equal(actual, expected) else np.inf
    if not np.array_equal(np.isnan(actual), np.isnan(expected)):
        return np.inf
    with np.errstate(invalid="ignore"):
        difference = np.where(actual == expected, 0, np.abs(actual - expected))
    scale = max(1.0, float(np.max(np.abs(expected[np.isfinite(expected)]), initial=0)))
    return float(np.nanmax(difference, initial=0)) / scale


def compare_family(cases: Sequence[Case], tolerance: float, seed: int = 0) -> None:
    """Values of all cases, and gradients by all float inputs for random cotangents of all float results; complex ones as PyTorch has them."""
    inputs = [x for case in cases for x in case.inputs]
    owners = [case.name for case in cases for _ in case.inputs]
    module = imported(Family(cases), *inputs)
    leaves = [x.detach().clone().requires_grad_(x.is_floating_point() or x.is_complex()) for x in inputs]
    expected = [(case.name, leaf) for case, y in zip(cases, Family(cases)(*leaves), strict=True) for leaf in flat(y)]
    of = [j for j, (_, y) in enumerate(expected) if y.requires_grad]
    wrt = [i for i, x in enumerate(leaves) if x.requires_grad] if of else []
    generator = torch.Generator().manual_seed(seed)
    bars = [torch.randn(expected[j][1].shape, generator=generator, dtype=expected[j][1].dtype) for j in of]
    program = module.program.vjp(wrt, of) if of else module.program
    # The interpreter, as it is the translations that are in question; the models are compiled.
    actual = program.compile("interpreter")(*module.arguments(*inputs), *(b.conj().resolve_conj().numpy() for b in bars))
    distances = [(name, distance(x, y)) for (name, y), x in zip(expected, actual[: len(expected)], strict=True)]
    if of:
        gradients = torch.autograd.grad([expected[j][1] for j in of], [leaves[i] for i in wrt], bars, allow_unused=True)
        references = [torch.zeros_like(leaves[i]) if g is None else g for i, g in zip(wrt, gradients, strict=True)]
        distances += [(f"gradient of {owners[i]}", distance(x, y)) for i, x, y in zip(wrt, map(np.conj, actual[len(expected) :]), references, strict=True)]
    wrong = {name: d for name, d in distances if d > tolerance}
    assert not wrong, f"distances: {wrong}"
