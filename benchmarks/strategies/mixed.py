"""Both modes around bottlenecks beside the pure modes: predicted flops and measured processor time."""

# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.strategies import Section

import wengert as wg
from wengert import numpy as wnp

MODES = ("jacfwd", "jacrev")
ROUNDS, CALLS = 25, 20


def mixed() -> Section:
    """Rows for both modes and for elimination of functions with one bottleneck, with two, and with loops on either side."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    chance = np.random.default_rng(0)
    for name, (function, sizes) in functions(chance).items():
        program = wg.jit(function).program(*[np.zeros(size) for size in sizes])
        rows = [row for row in wg.strategies(program, measure=False).rows if row.name.startswith(("mixed", *MODES)) or row.name == "eliminated"]
        inputs = [chance.normal(size=size) for size in sizes]
        calls = {row.name: row.compile() for row in rows}
        times: dict[str, list[float]] = {row.name: [] for row in rows}
        for _ in range(ROUNDS):
            for row, call in calls.items():
                call(*inputs)
                start = time.process_time()
                for _ in range(CALLS):
                    call(*inputs)
                times[row].append((time.process_time() - start) / CALLS)
        here = {row.name: {"flops": float(row.flops.constant or 0), "least": min(times[row.name]), "median": float(np.median(times[row.name]))} for row in rows}
        pure = {key: min(here[row][key] for row in here if row.startswith(MODES)) for key in ("flops", "least")}
        best = min((row for row in here if row.startswith("mixed")), key=lambda row: here[row]["least"])
        lines.append(f"{name}: {best} takes {here[best]['flops'] / pure['flops']:.2f} of the flops and {here[best]['least'] / pure['least']:.2f} of the time")
        lines += [f"  {row}: {of['flops']:.0f} flops, {1e6 * of['least']:.1f} us, median {1e6 * of['median']:.1f}" for row, of in here.items()]
        numbers[name] = here
    return lines, numbers


def functions(chance: np.random.Generator) -> dict[str, tuple[Callable[..., Any], list[int]]]:
    """The functions, with the lengths of their arguments."""

    def matrix(rows: int, columns: int) -> Any:
        return chance.normal(size=(rows, columns)) / np.sqrt(columns)

    def stepped(m, x, steps):
        return wg.fori_loop(0, steps, lambda i, s: wnp.tanh(m @ s) + s, x)

    into, small, out = matrix(3, 120), matrix(3, 3) / 2, matrix(90, 3)
    first, widening, second, last = matrix(4, 200), matrix(150, 4), matrix(5, 150), matrix(180, 5)
    wide, narrowing, spreading, back = matrix(100, 100) / 2, matrix(4, 100), matrix(120, 4), matrix(120, 120) / 2
    left, right, one, other = matrix(3, 100), matrix(4, 110), matrix(90, 3), matrix(80, 4)

    def of_uses(x):
        s = wnp.tanh(into @ x)
        return wnp.sin(out @ s) * wnp.cos(out @ s) + wnp.exp(out @ wnp.sin(s))

    return {
        "120 to 3 to 90": (lambda x: wnp.sin(out @ wnp.tanh(into @ x)), [120]),
        "a loop at the bottleneck": (lambda x: wnp.sin(out @ stepped(small, wnp.tanh(into @ x), 40)), [120]),
        "two bottlenecks, 200 to 4 to 150 to 5 to 180": (
            lambda x: wnp.sin(last @ wnp.tanh(second @ wnp.sin(widening @ wnp.tanh(first @ x)))),
            [200],
        ),
        "the same, 150 more arguments between": (
            lambda x, w: wnp.sin(last @ wnp.tanh(second @ (wnp.sin(widening @ wnp.tanh(first @ x)) * w))),
            [200, 150],
        ),
        "a loop over 100 before the bottleneck": (lambda x: wnp.sin(spreading @ wnp.tanh(narrowing @ stepped(wide, x, 30))), [100]),
        "a loop over 120 behind the bottleneck": (lambda x: stepped(back, wnp.sin(spreading @ wnp.tanh(narrowing @ x)), 30), [100]),
        "two bottlenecks side by side": (lambda x, y: (wnp.sin(one @ wnp.tanh(left @ x)), wnp.sin(other @ wnp.tanh(right @ y))), [100, 110]),
        "a bottleneck that is used three times": (of_uses, [120]),
    }
