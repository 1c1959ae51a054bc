"""Every collective in every mode, on every shape of grid, with every kind of groups: values and derivatives against the specification in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from reference_programs import share
from spmd_programs import CHANNEL, DEVICES, groups, reducer

import wengert as wg

Array = np.ndarray[Any, np.dtype[Any]]
Table = list[list[int]]
GENERAL = "of no known kind"
"""a + b + a b, which is associative."""
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    GENERAL: lambda a, b: a + b + a * b,
}
WRITTEN = (
    "({ ^bb0(%a: tensor<f64>, %b: tensor<f64>): %p = stablehlo.multiply %a, %b : tensor<f64> "
    "%s = stablehlo.add %a, %b : tensor<f64> %r = stablehlo.add %p, %s : tensor<f64> stablehlo.return %r : tensor<f64> })"
)
ATTRIBUTES = {"replicas": "", "partitions": f", {CHANNEL}", "replicas with partitions": f", {CHANNEL}", "devices": f", {DEVICES}"}


class Case(NamedTuple):
    """A collective on a grid of replicas times partitions."""

    op: str
    kind: str
    replicas: int
    partitions: int
    mode: str
    table: Table
    declared: bool

    def __str__(self) -> str:
        grid = f"{self.replicas} x {self.partitions}{'' if self.declared else ' (not said)'}"
        return f"{self.op} {self.kind} on {grid} by {self.mode} {self.table}".replace("  ", " ")

    @property
    def size(self) -> int:
        return self.replicas * self.partitions

    def members(self) -> list[list[int]]:
        """The groups as devices, as the specification says in "Processes and process groups"."""
        count = {"replicas": self.replicas, "partitions": self.partitions, "replicas with partitions": self.replicas, "devices": self.size}[self.mode]
        table = self.table if self.table or self.op == "collective_broadcast" else [list(range(count))]
        if self.mode == "devices":
            return table
        if self.mode == "replicas":
            return [[self.device(r, p) for r in row] for row in table for p in range(self.partitions)]
        if self.mode == "partitions":
            return [[self.device(r, p) for p in row] for row in table for r in range(self.replicas)]
        return [[self.device(r, p) for p in range(self.partitions) for r in row] for row in table]

    def device(self, replica: int, partition: int) -> int:
        return replica * self.partitions + partition


def cases() -> Iterator[Case]:
    for replicas, partitions in ((4, 1), (1, 4), (2, 2), (2, 3)):
        n = replicas * partitions
        for mode in ATTRIBUTES:
            count = partitions if mode == "partitions" else n if mode == "devices" else replicas
            for table in tables(count, mode):
                uneven = len({len(row) for row in table}) > 1
                for declared in (True, False):
                    spoken = mode in ("replicas", "devices") and bool(table) and (partitions == 1) == (mode == "replicas")
                    if not declared and (not spoken or min(replicas, partitions) > 1):
                        continue
                    place = (replicas, partitions, mode, table, declared)
                    if mode != "partitions":
                        for kind in COMBINE:
                            yield Case("all_reduce", kind, *place)
                            if not uneven:
                                yield Case("reduce_scatter", kind, *place)
                        if not uneven:
                            yield Case("all_gather", "", *place)
                    if mode in ("replicas", "partitions"):
                        if not uneven:
                            yield Case("all_to_all", "", *place)
                        for some in ([row for row in table if len(row) == len(table[0])], [row for row in table[:1] if row]):
                            yield Case("collective_broadcast", "", *place[:3], some, declared)
                        yield Case("collective_permute", "", *place[:3], pairs(count), declared)
                    if mode == "replicas" and table:
                        yield Case("cross-replica-sum", "", *place)


def tables(count: int, mode: str) -> list[Table]:
    everybody = list(range(count))
    listed = [[everybody[::-1]]]
    if mode != "devices":
        listed.append([])
    if count % 2 == 0 and count > 2:
        listed.append([everybody[::2], everybody[1::2][::-1]])
    if count > 2:
        listed.append([[0, *everybody[2:][::-1]], [1]])
    return listed


def pairs(count: int) -> Table:
    """All but the last device send to the next one, and one of them to itself where there are enough."""
    return [[0, 1]] if count == 2 else [[0, 1], [1, 3 % count], [2, 2]] if count > 3 else [[i, i + 1] for i in range(count - 1)]


ALL = {str(case): case for case in cases()}
SHAPE = (2, 12)
"""Divisible by all sizes of groups."""


def meaning(case: Case, x: Array) -> Array:
    """What all devices get for what all devices have."""
    n, members = case.size, case.members()
    if case.op == "collective_permute":
        y = np.zeros_like(x)
        for s, t in case.table:
            for other in range(case.partitions if case.mode == "replicas" else case.replicas):
                source, target = (case.device(i, other) if case.mode == "replicas" else case.device(other, i) for i in (s, t))
                y[target] = x[source]
        return y
    out: list[Array] = [np.zeros(SHAPE)] * n
    for group in members:
        for place, device in enumerate(group):
            parts = [x[member] for member in group]
            total = parts[0]
            for part in parts[1:]:
                total = COMBINE[case.kind or "add"](total, part)
            if case.op in ("all_reduce", "cross-replica-sum"):
                out[device] = total
            elif case.op == "reduce_scatter":
                out[device] = np.split(total, len(group), 1)[place]
            elif case.op == "all_gather":
                out[device] = np.concatenate(parts, 1)
            elif case.op == "all_to_all":
                out[device] = np.concatenate([np.split(part, len(group), 1)[place] for part in parts], 0)
            else:
                out[device] = parts[0]
    return np.stack(out)


def text_of(case: Case) -> str:
    size = len(case.members()[0]) if case.members() and case.op != "collective_permute" else 1
    shapes = {"reduce_scatter": (2, 12 // size), "all_gather": (2, 12 * size), "all_to_all": (2 * size, 12 // size)}
    result = shapes.get(case.op, SHAPE)
    attributes = groups(case.table)
    if case.op == "collective_permute":
        attributes = f"source_target_pairs = dense<{case.table}> : tensor<{len(case.table)}x2xi64>"
    attributes += ATTRIBUTES[case.mode]
    attributes += {
        "reduce_scatter": ", scatter_dimension = 1 : i64",
        "all_gather": ", all_gather_dim = 1 : i64",
        "all_to_all": f", split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = {size} : i64",
    }.get(case.op, "")
    region = " " + (WRITTEN if case.kind == GENERAL else reducer(case.kind)) if case.kind else ""
    given, made = (f"tensor<{'x'.join(map(str, extents))}xf64>" for extents in (SHAPE, result))
    body = f"""func.func public @main(%x: {given}) -> {made} {{
  %0 = "stablehlo.{case.op}"(%x) <{{{attributes}}}>{region} : ({given}) -> {made}
  %1 = stablehlo.sine %0 : {made}
  return %1 : {made}
}}"""
    head = f"module attributes {{mhlo.num_replicas = {case.replicas} : i32, mhlo.num_partitions = {case.partitions} : i32}} {{\n"
    return f"{head}{body}\n}}\n" if case.declared else body


def directions(case: Case, x: Array) -> tuple[Array, Array, Array]:
    """A direction, and two sides of the derivative along it by central differences of the meaning."""
    rng = np.random.default_rng(2)
    x_dot = rng.standard_normal(x.shape)
    y_dot = (np.sin(meaning(case, x + 1e-6 * x_dot)) - np.sin(meaning(case, x - 1e-6 * x_dot))) / 2e-6
    return x_dot, y_dot, rng.standard_normal(y_dot.shape)


@pytest.mark.parametrize("name", share(list(ALL), 24))
def test_values_and_derivatives(name: str) -> None:
    case = ALL[name]
    p, n = wg.parse(text_of(case)), case.size
    x = np.random.default_rng(1).uniform(0.5, 1.5, (n, *SHAPE))
    wanted = np.sin(meaning(case, x))
    x_dot, y_dot, y_bar = directions(case, x)
    for backend in ("cpu", "interpreter"):
        np.testing.assert_allclose(p.distribute(n, backend=backend)(x)[0], wanted, rtol=1e-13, atol=1e-13)
        tangent = p.jvp().distribute(n, backend=backend)(x, x_dot)[1]
        np.testing.assert_allclose(tangent, y_dot, rtol=1e-5, atol=1e-7)
        for strategy in ("transpose", "direct"):
            x_bar = p.vjp(strategy=strategy).distribute(n, backend=backend)(x, y_bar)[1]
            assert np.isclose(np.vdot(x_bar, x_dot), np.vdot(y_bar, tangent), rtol=1e-11, atol=1e-11), f"the dot-product test over all devices by {strategy}"


@pytest.mark.parametrize("name", share(list(ALL), 8))
def test_batches(name: str) -> None:
    case = ALL[name]
    p, n = wg.parse(text_of(case)), case.size
    x = np.random.default_rng(1).uniform(0.5, 1.5, (n, 3, *SHAPE))
    batched = p.vmap(size=3).distribute(n)(x)[0]
    wanted = np.stack([np.sin(meaning(case, x[:, i])) for i in range(3)], 1)
    np.testing.assert_allclose(batched, wanted, rtol=1e-13, atol=1e-13)
