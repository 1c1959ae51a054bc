"""Residual policies: what a derivative keeps for its linear part, and what that computes again.

A policy is a value of the request: ``vjp{residuals=recompute-all}``. It decides at every *site*, a block whose linear part is to run apart
from it: the body of the function that is linearized, of a counted loop, of a loop with a condition, of a branch.

====================  ==========================================================================================================
``auto``              in a function everything is kept, since joined halves have it at hand; in loops and branches as
                      ``recompute-cheap``
``save-all``          every residual is kept as it is
``recompute-cheap``   what follows from residuals by cheap ops is computed again (:mod:`wengert.transforms.ad.residuals.plan`)
``recompute-all``     the arguments of the block are kept, and all else is computed again, but for what must not run twice
====================  ==========================================================================================================

Constants are never kept, whatever the policy. A policy that asks for recomputation in a function has the linear part
marked (``ad.recompute``), so that no later pass shares with the forward part what was to be computed twice. In loops and branches no mark is
needed: the halves are closed regions of two ops, and nothing is shared between those. A policy with a budget of bytes would be one class
more: a site says how often what it keeps is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, RecursiveMemoryEffect

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.ir.diagnostics import did_you_mean, one_of
from wengert.ir.locations import error_at
from wengert.transforms.ad.residuals.plan import Plan, plan, recomputation
from wengert.transforms.core.closing import FREE_OPS, free_values
from wengert.transforms.optimize.effects import is_pure, is_shareable


class Site(Struct, frozen=True):
    """A block whose values its linear part needs."""

    block: Block
    residuals: Sequence[SSAValue]
    """The values that the linear part uses, in order of first use."""
    given: Sequence[SSAValue] = ()
    """What the linear part has at hand anyway: the iteration and the constants of a loop, the inputs of a branch."""
    kind: Literal["function", "loop", "branch"] = "function"
    times: int | None = 1
    """How often the block runs, and so how often what is kept is kept; None if nobody knows."""


class Policy(Struct, frozen=True):
    """Decides what is kept at a site."""

    @property
    def name(self) -> str:
        """The policy as an option of a pass."""
        raise NotImplementedError

    @property
    def marks(self) -> bool:
        """Whether recomputation in a function is asked for, and not only allowed."""
        return False

    def plan(self, site: Site) -> Plan:
        """What is kept of the site's values, and the ops that compute the other residuals from it."""
        raise NotImplementedError


class SaveAll(Policy, frozen=True):
    """Keeps every residual."""

    @property
    def name(self) -> str:
        return "save-all"

    def plan(self, site: Site) -> Plan:
        at_hand = set(site.given)
        kept = [value for value in site.residuals if value not in at_hand and not isinstance(value.owner, FREE_OPS)]
        return Plan(kept, recomputation(site.block, site.residuals, {*kept, *at_hand}))


class RecomputeCheap(Policy, frozen=True):
    """Computes again what costs about as much as reading it."""

    @property
    def name(self) -> str:
        return "recompute-cheap"

    @property
    def marks(self) -> bool:
        return True

    def plan(self, site: Site) -> Plan:
        return plan(site.block, site.residuals, site.given)


class RecomputeAll(Policy, frozen=True):
    """Keeps arguments, and what must not run twice (random numbers, for example)."""

    @property
    def name(self) -> str:
        return "recompute-all"

    @property
    def marks(self) -> bool:
        return True

    def plan(self, site: Site) -> Plan:
        at_hand = set(site.given)
        kept: dict[SSAValue, None] = {}
        seen: set[SSAValue] = set()
        pending = list(reversed(site.residuals))
        while pending:
            value = pending.pop()
            if value in seen or value in at_hand:
                continue
            seen.add(value)
            owner = value.owner
            if isinstance(owner, Operation) and _can_run_again(owner):
                pending.extend(reversed(owner.operands))
            else:
                kept[value] = None
        return Plan(list(kept), recomputation(site.block, site.residuals, {*kept, *at_hand}))


class Auto(Policy, frozen=True):
    """What costs least where nothing is asked for."""

    @property
    def name(self) -> str:
        return "auto"

    def plan(self, site: Site) -> Plan:
        return (SaveAll() if site.kind == "function" else RecomputeCheap()).plan(site)


AUTO = Auto()
POLICIES: dict[str, Policy] = {policy.name: policy for policy in (AUTO, SaveAll(), RecomputeCheap(), RecomputeAll())}
"""The policies by the names that requests have for them."""


def policy_named(name: str, location: LocationAttr = UNKNOWN_LOC) -> Policy:
    """The policy of this name. Raises a DiagnosticError that names the option and what it may be."""
    if name not in POLICIES:
        raise error_at(location, f"residuals must be {one_of(list(POLICIES))}, not '{name}'", hint=did_you_mean(name, POLICIES))
    return POLICIES[name]


_TAPE_OPS = (core.TapePushOp, core.TapeExtendOp, core.TapeSizeOp, core.TapeSetOp)


def _can_run_again(op: Operation) -> bool:
    """Whether an op of a site that runs twice gives the same twice, and nobody notices.

    A tape may be filled twice if it is begun twice. One that was kept is only good for being read: it lies at the end of a record, among
    those of other iterations, so that its size is not what it was.
    """
    if isinstance(op, _TAPE_OPS):
        return False
    consumed = op.initial if isinstance(op, core.ForOp | core.WhileOp) else op.operands if op.regions else ()
    for value in consumed:
        if isinstance(value.type, core.TapeType) and not (isinstance(value.owner, Operation) and _can_run_again(value.owner)):
            return False
    return _is_repeatable(op)


def _is_repeatable(op: Operation) -> bool:
    """Whether an op depends on nothing but its operands, whatever stands in its regions."""
    if not op.regions:
        return isinstance(op, (hlo.OptimizationBarrierOp, core.TapeCreateOp, *_TAPE_OPS)) or is_shareable(op)
    if not (is_pure(type(op)) or op.has_trait(RecursiveMemoryEffect)) or free_values(op.regions):
        return False
    inner = [inner for region in op.regions for block in region.blocks for inner in block.ops]
    return all(op.has_trait(IsTerminator) or _is_repeatable(op) for op in inner)
