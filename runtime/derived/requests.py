"""Requests for derivatives: how they are asked for, by names that plug-ins may add to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from wengert.ir.diagnostics import did_you_mean
from wengert.runtime.errors import InputError

Mode = Literal["jvp", "vjp"]
Strategy = str
"""The name of the strategy by which a function is differentiated: ``transpose`` (linearized, transposed and joined), ``direct`` (by the adjoint of every
op), or that of a plug-in (:mod:`wengert.transforms.ad.strategies`)."""
DEFAULT = "transpose"
Residuals = str
"""The name of the policy for what is kept for a linear part, and what it computes again (:mod:`wengert.transforms.ad.residuals.policies`): ``auto``,
``save-all``,
``recompute-cheap``, ``recompute-all``, ``sqrt``, ``binomial-8`` with any number, or that of a plug-in."""


def chosen(strategy: Strategy, residuals: Residuals) -> tuple[object, ...]:
    """What a strategy and a policy stand for, for keys of caches: a name that a plug-in registers again stands for something else. An InputError lists the
    names where there is none of this one."""
    if strategy == DEFAULT and residuals in _OURS:
        return strategy, residuals
    from wengert.ir.pipeline.passes import PASSES
    from wengert.transforms.ad.residuals.policies import is_policy, policy_named, policy_names
    from wengert.transforms.ad.strategies import strategy_named, strategy_names

    check_choice("strategy", strategy, strategy_names())
    if not is_policy(residuals):
        check_choice("residuals", residuals, policy_names())
    return strategy_named(strategy), policy_named(residuals), PASSES.version


_OURS = ("auto", "save-all", "recompute-cheap", "recompute-all")


def check_choice(option: str, name: str, names: Sequence[str]) -> None:
    """Raises an InputError that lists the names an option may have."""
    if name not in names:
        near = did_you_mean(name, names)
        raise InputError(f"{option}: there is no '{name}'; {option}: {', '.join(names)}" + (f"; {near}" if near else ""))


def positions_text(values: Sequence[int]) -> str:
    """``0,1``, as pass options hold positions."""
    return ",".join(str(v) for v in values)
