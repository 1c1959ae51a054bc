"""Networks: levels one around the other, such as cores of a node and nodes of a cluster, and the plan of a collective that takes the least time on one.

.. code-block:: toml

    [[level]]              # the innermost first
    name = "node"
    ranks = 8              # ranks on a node
    alpha = 5e-7           # seconds for a message
    beta = 1e-11           # seconds for a byte

    [[level]]
    name = "rack"
    ranks = 16             # nodes in a rack
    alpha = 1.5e-6
    beta = 4e-11

    [[level]]              # the outermost has no bound
    alpha = 3e-6
    beta = 8e-11

Ranks are placed one after the other. A group of neighbours runs at the pace of the innermost level that holds all of it; groups of others, and
permutations, at that of the level which holds all ranks. Where a group is made of several full parts of a level, a sum over it may be one within
each part and one across parts, of a share each: so libraries avoid the slow level. Every rank is taken to have a link of its own on every level.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from wengert.ir.diagnostics import did_you_mean
from wengert.lab.costs.network.algorithms import fastest
from wengert.lab.tables import seconds
from wengert.runtime.errors import InputError

ALPHA, BETA = 2e-6, 4e-11
"""Seconds for a message, and for a byte, of a network that nothing is said of: 25 GB/s."""


class Level(Struct, frozen=True):
    """A level of a network: ``alpha`` seconds for a message, ``beta`` seconds for a byte.

    ``ranks`` is how many ranks, or parts of the level within, are one part of it; None for all there are.
    """

    alpha: float
    beta: float
    ranks: int | None = None
    name: str = ""

    def __str__(self) -> str:
        rate = f", {1 / self.beta / 1e9:.3g} GB/s" if self.beta else ""
        return f"{seconds(self.alpha) if self.alpha else '0'} a message{rate}"


class Plan(Struct, frozen=True):
    """The way in which a collective is done: the algorithm, or those of its steps; rounds, the bytes that a rank sends one round after the other, seconds."""

    algorithm: str
    rounds: int
    sent: float
    seconds: float


class Network(Struct, frozen=True):
    """A network, its innermost level first. ``origin`` says where its figures come from."""

    levels: tuple[Level, ...]
    origin: str = ""

    @staticmethod
    def flat(alpha: float, beta: float, origin: str = "") -> Network:
        """A network of one level."""
        return Network((Level(alpha, beta),), origin)

    def capacity(self, level: int) -> int | None:
        """How many ranks one part of a level has; None for all there are."""
        sizes = [one.ranks for one in self.levels[: level + 1]]
        return None if None in sizes else prod(size for size in sizes if size is not None)

    def holding(self, ranks: int) -> Level:
        """The innermost level that holds so many ranks; the outermost, where none does."""
        for index, level in enumerate(self.levels):
            capacity = self.capacity(index)
            if capacity is None or capacity >= ranks:
                return level
        return self.levels[-1]

    def plan(self, collective: str, group: int, bytes: float, span: int) -> Plan:
        """The plan that takes the least time, for groups that lie within ``span`` ranks, each with an operand of so many bytes."""
        level = self.holding(span)
        algorithm = fastest(collective, group, bytes, level.alpha, level.beta)
        sent = algorithm.blocks(group) * bytes / group
        flat = Plan(algorithm.name, algorithm.rounds(group), sent, algorithm.seconds(group, bytes, level.alpha, level.beta))
        return min([flat, *self._in_steps(collective, group, bytes, span)], key=lambda plan: plan.seconds)

    def _in_steps(self, collective: str, group: int, bytes: float, span: int) -> Iterator[Plan]:
        """Plans of one step within the parts of a level, and another across them."""
        for index in range(len(self.levels) - 1):
            inner = self.capacity(index)
            if inner is None or span != group or inner < 2 or group <= inner or group % inner:
                continue
            steps = _STEPS.get(collective)
            if steps is not None:
                outer = group // inner
                yield _together([self._step(name, within, inner, outer, _brought(bytes, what, inner, outer), span) for name, within, what in steps])

    def _step(self, collective: str, within: bool, inner: int, outer: int, bytes: float, span: int) -> Plan:
        return self.plan(collective, inner, bytes, inner) if within else self.plan(collective, outer, bytes, span)

    def __str__(self) -> str:
        if len(self.levels) == 1:
            return str(self.levels[0])
        told = [f"{level.name or f'level {i}'}{f' of {level.ranks}' if level.ranks is not None else ''}: {level}" for i, level in enumerate(self.levels)]
        return "; ".join(told)


def _together(steps: Sequence[Plan]) -> Plan:
    return Plan(" + ".join(s.algorithm for s in steps), sum(s.rounds for s in steps), sum(s.sent for s in steps), sum(s.seconds for s in steps))


_STEPS: dict[str, tuple[tuple[str, bool, str], ...]] = {
    "all_reduce": (("reduce_scatter", True, "whole"), ("all_reduce", False, "share"), ("all_gather", True, "share")),
    "reduce_scatter": (("reduce_scatter", True, "whole"), ("reduce_scatter", False, "share")),
    "all_gather": (("all_gather", False, "whole"), ("all_gather", True, "gathered")),
    "collective_broadcast": (("collective_broadcast", False, "whole"), ("collective_broadcast", True, "whole")),
}
"""The steps of a collective on two levels: what is done, whether within the parts of the inner level, and what of the operand each rank brings: the whole, a
share of the part's ranks, or what was gathered across parts."""


def _brought(bytes: float, what: str, inner: int, outer: int) -> float:
    """The bytes that a rank brings to a step."""
    return bytes / inner if what == "share" else bytes * outer if what == "gathered" else bytes


# -- files

_FIELDS = ("name", "ranks", "alpha", "beta")


def read_network(path: str) -> Network:
    """The network that a file describes. Raises InputError, with what is wrong, and OSError."""
    try:
        fields = tomllib.loads(Path(path).read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    levels: Any = fields.get("level")
    if not isinstance(levels, list) or not levels or set(fields) != {"level"}:
        unknown = next((name for name in fields if name != "level"), None)
        raise InputError(f"{path}: expected [[level]] tables, the innermost first{f', found {unknown}' if unknown else ''}")
    given = cast("list[Any]", levels)
    made = tuple(_level(path, index, one, is_last=index == len(given) - 1) for index, one in enumerate(given))
    return Network(made, path)


def _level(path: str, index: int, fields: Any, *, is_last: bool) -> Level:
    where = f"{path}: level {index + 1}"
    for name in fields:
        if name not in _FIELDS:
            raise InputError(f"{where} has no {name!r}; {did_you_mean(name, _FIELDS) or 'there are: ' + ', '.join(_FIELDS)}")
    for name in ("alpha", "beta"):
        value = fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise InputError(f"{where}: {name} is a number of seconds, found {value!r}")
    ranks, name = fields.get("ranks"), fields.get("name", "")
    if ranks is None and not is_last:
        raise InputError(f"{where} needs ranks, how many are one part of it: only the outermost level is without bound")
    if ranks is not None and (isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1):
        raise InputError(f"{where}: ranks is a number of at least one, found {ranks!r}")
    return Level(float(fields["alpha"]), float(fields["beta"]), ranks, str(name))
