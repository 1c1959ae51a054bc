"""Elements that rounding moves across the kink of an activation: whether these explain an error in single precision.

A gradient in f32 may take the other branch of a ReLU where the operand is within rounding of the kink; no accuracy avoids that, and which elements it
meets is chance. What lies near is looked up in the double precision run: within four times the largest f32 error of PyTorch at the same place. The
reference is then taken with such an element on the other side, one after the other, as long as that brings it nearer.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import torch

MOST = 40
"""The most elements that are tried."""
Place = tuple[str, int, int]
"""A module, the number of its call, and the flat position of an element of its operand."""
Gradients = dict[str, Any]


def _kinks(module: Any) -> tuple[float, ...]:
    """Where an activation has kinks."""
    if isinstance(module, torch.nn.Hardtanh):  # and ReLU6
        return module.min_val, module.max_val
    return (
        (0.0,)
        if isinstance(module, torch.nn.ReLU | torch.nn.LeakyReLU)
        else (-3.0, 3.0)
        if isinstance(module, torch.nn.Hardswish | torch.nn.Hardsigmoid)
        else ()
    )


@contextmanager
def _operands(model: Any, change: Callable[[str, int, Any], Any]) -> Any:
    """While it is open, operands of activations are what ``change`` makes of them."""
    calls: dict[str, int] = {}

    def hook(name: str) -> Any:
        def run(module: Any, given: tuple[Any, ...]) -> Any:
            number = calls[name] = calls.get(name, -1) + 1
            return (change(name, number, given[0]), *given[1:])

        return run

    handles = [module.register_forward_pre_hook(hook(name)) for name, module in model.named_modules() if _kinks(module)]
    # An operand is changed out of place: what follows must not overwrite it.
    inplace = {module: module.inplace for module in model.modules() if getattr(module, "inplace", False)}
    for module in inplace:
        module.inplace = False
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        for module, value in inplace.items():
            module.inplace = value


def _seen(model: Any, run: Callable[[Any], Gradients]) -> dict[tuple[str, int], Any]:
    kept: dict[tuple[str, int], Any] = {}

    def keep(name: str, number: int, x: Any) -> Any:
        kept[name, number] = x.detach().double().clone()
        return x

    with _operands(model, keep):
        run(model)
    return kept


def near(wide: Any, narrow: Any, run_wide: Callable[[Any], Gradients], run_narrow: Callable[[Any], Gradients]) -> list[tuple[Place, float]]:
    """The elements of operands that are within rounding of a kink, nearest first (by what rounding is there), and the kink."""
    exact, rounded = _seen(wide, run_wide), _seen(narrow, run_narrow)
    modules = dict(wide.named_modules())
    near: list[tuple[float, Place, float]] = []
    for (name, number), x in exact.items():
        bound = 4 * float((x - rounded[name, number]).abs().max())
        for kink in _kinks(modules[name]):
            distance = (x - kink).abs().flatten()
            near += [(float(distance[i]) / bound, (name, number, int(i)), kink) for i in (distance <= bound).nonzero().flatten() if bound]
    return [(place, kink) for _, place, kink in sorted(near)[:MOST]]


def moved(model: Any, chosen: dict[Place, float], run: Callable[[Any], Gradients]) -> Gradients:
    """The gradients with these elements of operands on the other side of their kinks, as far from them."""

    def change(name: str, number: int, x: Any) -> Any:
        shift = torch.zeros_like(x).flatten()
        for (module, call, position), kink in chosen.items():
            if (module, call) == (name, number):
                shift[position] = 2 * (kink - x.detach().flatten()[position])
        return x + shift.view_as(x) if bool(shift.any()) else x

    with _operands(model, change):
        return run(model)


def explained(
    wide: Any, narrow: Any, run_wide: Callable[[Any], Gradients], run_narrow: Callable[[Any], Gradients], error: Callable[[Gradients], float]
) -> tuple[float, int]:
    """The error beside the nearest reference that differs by elements near kinks alone, and how many those are."""
    chosen: dict[Place, float] = {}
    least = error(run_wide(wide))
    for place, kink in near(wide, narrow, run_wide, run_narrow):
        other = error(moved(wide, {**chosen, place: kink}, run_wide))
        if other < 0.9 * least:
            chosen, least = {**chosen, place: kink}, other
    return least, len(chosen)
