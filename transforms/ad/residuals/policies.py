"""Residual policies: which residuals a derivative stores for its linear part, and which it recomputes.

A policy is an option of the request: ``vjp{residuals=recompute-all}``. It decides at every *site*, a block whose linear part runs separately:
the body of the linearized function, of a counted loop, of a loop with a condition, of a branch.

====================  ==========================================================================================================
``auto``              ``save-all`` in functions, since joined halves share values; ``recompute-cheap`` in loops and branches
``save-all``          every residual is stored
``recompute-cheap``   cheap functions of other residuals are recomputed (:mod:`wengert.transforms.ad.residuals.plan`)
``recompute-all``     the arguments of the block are stored, and all else is recomputed, except ops that must not run twice
``sqrt``              as ``auto``, but a loop of n iterations keeps sqrt(n) states, and residuals of sqrt(n) iterations at a time
``binomial-8``        as ``auto``, but a loop keeps 8 states (or another number), between which iterations run again
``offload-disk``      as ``auto``, but kept values are outside of the arena between their uses, in memory-mapped files (``offload-host``: in memory of the host)
====================  ==========================================================================================================

Constants are never stored, whatever the policy. A policy that requests recomputation in a function marks the linear part
(``ad.recompute``), so that no later pass shares recomputed values with the forward part. In loops and branches no mark is
needed: the halves are closed regions of two ops, which share nothing. A loop may name a policy of its own (``ad.policy = "binomial-8"``), which is
for it and not for loops inside of it. Plug-ins register theirs (:func:`register_policy`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isqrt
from typing import Literal

from msgspec import Struct
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, RecursiveMemoryEffect

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.core.control import POLICY
from wengert.ir.location.places import error_at
from wengert.ir.plugins import POLICY_GROUP
from wengert.ir.registry import Registry
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.residuals.plan import Plan, plan, recomputation
from wengert.transforms.core.closing import FREE_OPS, free_values
from wengert.transforms.core.counting import constant_integer
from wengert.transforms.optimize.effects import is_pure, is_shareable


class Site(Struct, frozen=True):
    """A block, and the values of it that its linear part uses."""

    block: Block
    residuals: Sequence[SSAValue]
    """The values that the linear part uses, in order of first use."""
    available: Sequence[SSAValue] = ()
    """Values that are available in the linear part anyway: the iteration and the constants of a loop, the inputs of a branch."""
    kind: Literal["function", "loop", "branch"] = "function"
    times: int | None = 1
    """How many times the block runs, and so how many copies of a residual are stored; None if it is unknown."""


class Policy(Struct, frozen=True):
    """Decides which residuals are stored at a site."""

    @property
    def name(self) -> str:
        """The policy as an option of a pass."""
        raise NotImplementedError

    @property
    def marks(self) -> bool:
        """Whether recomputation in a function is requested, and not only allowed."""
        return False

    def plan(self, site: Site) -> Plan:
        """Plans which values of the site are stored, and the ops that recompute the other residuals from them."""
        raise NotImplementedError

    def slots(self, iterations: int | None) -> int | None:
        """How many states of a loop are stored at a time, from which iterations run again; None: residuals are stored in every iteration, as planned.

        Args:
            iterations: how many the loop has; None where that is known only when it runs.
        """
        return None

    def block(self, iterations: int) -> int | None:
        """How many iterations of a loop store residuals at a time, each such block running again from its first state; None: all."""
        return None


class SaveAll(Policy, frozen=True):
    """Stores every residual."""

    @property
    def name(self) -> str:
        return "save-all"

    def plan(self, site: Site) -> Plan:
        available = set(site.available)
        stored = [value for value in site.residuals if value not in available and not isinstance(value.owner, FREE_OPS)]
        return Plan(stored, recomputation(site.block, site.residuals, {*stored, *available}))


class RecomputeCheap(Policy, frozen=True):
    """Recomputes what costs about as much to compute as to read."""

    @property
    def name(self) -> str:
        return "recompute-cheap"

    @property
    def marks(self) -> bool:
        return True

    def plan(self, site: Site) -> Plan:
        return plan(site.block, site.residuals, site.available, site.times)


class RecomputeAll(Policy, frozen=True):
    """Stores arguments, and results of ops that must not run twice (random numbers, for example)."""

    @property
    def name(self) -> str:
        return "recompute-all"

    @property
    def marks(self) -> bool:
        return True

    def plan(self, site: Site) -> Plan:
        available = set(site.available)
        stored: dict[SSAValue, None] = {}
        seen: set[SSAValue] = set()
        pending = list(reversed(site.residuals))
        while pending:
            value = pending.pop()
            if value in seen or value in available:
                continue
            seen.add(value)
            owner = value.owner
            if isinstance(owner, Operation) and can_run_again(owner):
                pending.extend(reversed(owner.operands))
            else:
                stored[value] = None
        return Plan(list(stored), recomputation(site.block, site.residuals, {*stored, *available}))


class _InLoops(Policy, frozen=True):
    """The base of policies for loops: what is not in loops is stored."""

    def plan(self, site: Site) -> Plan:
        return (RecomputeAll() if site.kind == "loop" else Auto()).plan(site)


class Binomial(_InLoops, frozen=True):
    """Stores some states of every loop, and runs iterations again from them by a binomial schedule (:mod:`wengert.transforms.ad.replay`)."""

    count: int = 8
    """How many states at a time, the first one included."""

    @property
    def name(self) -> str:
        return f"binomial-{self.count}"

    def slots(self, iterations: int | None) -> int | None:
        return None if iterations is not None and iterations <= self.count else self.count


class Root(_InLoops, frozen=True):
    """Stores a state for every block of as many iterations as there are blocks, and in the reverse part all residuals of one block."""

    @property
    def name(self) -> str:
        return "sqrt"

    def plan(self, site: Site) -> Plan:
        return Auto().plan(site)

    def block(self, iterations: int) -> int | None:
        root = isqrt(iterations - 1) + 1 if iterations > 0 else 0
        divisors = [k for k in range(2, iterations) if iterations % k == 0 and root <= 2 * k <= 4 * root]
        block = min(divisors, key=lambda k: (k + iterations // k, k), default=root)
        return block if 1 < block < iterations else None


class Auto(Policy, frozen=True):
    """The default: stores everything in functions, and recomputes cheap values in loops and branches."""

    @property
    def name(self) -> str:
        return "auto"

    def plan(self, site: Site) -> Plan:
        return (SaveAll() if site.kind == "function" else RecomputeCheap()).plan(site)


class Offload(Auto, frozen=True):
    """Keeps what ``auto`` keeps, in another place (:mod:`wengert.transforms.offload`), which is decided when the whole derivative is there."""

    place: Literal["disk", "host"] = "disk"

    @property
    def name(self) -> str:
        return f"offload-{self.place}"


AUTO = Auto()


class _Policies(Registry[Policy]):
    """Policies by name, among them one for each number of slots, and those that offload, which are for whole derivatives only."""

    def named(self, name: str, location: LocationAttr = UNKNOWN_LOC) -> Policy:
        if name in _OFFLOAD:
            return _OFFLOAD[name]
        slots = _BINOMIAL.fullmatch(name)
        return super().named(name, location) if slots is None else Binomial(int(slots[1]))

    def knows(self, name: str) -> bool:
        """Whether there is a policy of this name."""
        return name in self.names() or name in _OFFLOAD or _BINOMIAL.fullmatch(name) is not None


_OFFLOAD: dict[str, Policy] = {policy.name: policy for policy in (Offload(), Offload("host"))}
_BINOMIAL = re.compile(r"binomial-([1-9]\d{0,5})")
POLICIES = _Policies("policy for residuals", "residuals", POLICY_GROUP, (AUTO, SaveAll(), RecomputeCheap(), RecomputeAll(), Root(), Binomial()))
"""All policies; any number may stand for that in ``binomial-8``."""
register_policy, policy_names, policy_named, is_policy = POLICIES.register, POLICIES.names, POLICIES.named, POLICIES.knows


def policy_choices(name: str) -> list[str]:
    """The names of the policies, among them this one if any number may stand in it."""
    return [*policy_names(), *([name] if is_policy(name) and name not in policy_names() else [])]


def policies_for(module: ModuleOp) -> list[str]:
    """The names of the policies that may differ for a program: those for loops are left out where it has none that they concern."""
    loops = ops_of(module, core.ForOp, core.WhileOp)
    counted = any(isinstance(loop, core.ForOp) and constant_integer(loop.trip_count) is not None for loop in loops)
    idle = [*([] if counted else [Root().name]), *([] if loops else [Binomial().name])]
    return [name for name in policy_names() if name not in idle]


def policy_of(loop: Operation, asked: Policy) -> Policy:
    """The policy for a loop: the one that it names itself, or that of the request. Raises a DiagnosticError for a name that is none."""
    mark = loop.attributes.get(POLICY)
    return of_a_part(policy_named(mark.data, loop.location), loop) if isinstance(mark, StringAttr) else asked


def of_a_part(policy: Policy, op: Operation) -> Policy:
    """A policy that an op of a program names for itself. Raises a DiagnosticError for one that is for whole derivatives."""
    if isinstance(policy, Offload):
        raise error_at(op, f"residuals={policy.name} is for the derivative of a whole program", hint="p.vjp(residuals=...), vjp{residuals=...}")
    return policy


_TAPE_OPS = (core.TapePushOp, core.TapeExtendOp, core.TapeSizeOp, core.TapeSetOp)


def can_run_again(op: Operation) -> bool:
    """Whether an op of a site may run twice: it then has the same results twice, and no other effect.

    A tape may be filled twice if it is created twice. One that was stored can only be read: it is part of a record that has the tapes
    of other iterations too, so that its size is a different one.
    """
    if isinstance(op, _TAPE_OPS):
        return False
    consumed = op.initial if isinstance(op, core.ForOp | core.WhileOp) else op.operands if op.regions else ()
    for value in consumed:
        if isinstance(value.type, core.TapeType) and not (isinstance(value.owner, Operation) and can_run_again(value.owner)):
            return False
    return _is_repeatable(op)


def _is_repeatable(op: Operation) -> bool:
    """Whether an op, with its regions, depends on nothing but its operands."""
    if not op.regions:
        return isinstance(op, (hlo.OptimizationBarrierOp, core.TapeCreateOp, *_TAPE_OPS)) or is_shareable(op)
    if not (is_pure(type(op)) or op.has_trait(RecursiveMemoryEffect)) or free_values(op.regions):
        return False
    inner = [inner for region in op.regions for block in region.blocks for inner in block.ops]
    return all(op.has_trait(IsTerminator) or _is_repeatable(op) for op in inner)
