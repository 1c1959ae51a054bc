"""Messages in place of gathers: which blocks are made so, that values and derivatives are the same, and what stays a gather."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg


def program(rows: str, width: int = 8, devices: int = 4) -> wg.Program:
    """What each device runs that gathers blocks of two rows, makes ``%r`` of these, and takes its own two rows of that."""
    starts = ", ".join(str(2 * d) for d in range(devices))
    group = ", ".join(str(d) for d in range(devices))
    groups = f"replica_groups = dense<[[{group}]]> : tensor<1x{devices}xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
    return wg.parse(f"""module attributes {{mhlo.num_partitions = {devices} : i32, mhlo.num_replicas = 1 : i32}} {{
  func.func public @main(%x: tensor<2xf64>) -> tensor<2xf64> {{
    %g = "stablehlo.all_gather"(%x) <{{all_gather_dim = 0 : i64, {groups}, use_global_device_ids}}> : (tensor<2xf64>) -> tensor<{2 * devices}xf64>
{rows}
    %i = stablehlo.partition_id : tensor<ui32>
    %table = stablehlo.constant dense<[{starts}]> : tensor<{devices}xi64>
    %at = stablehlo.dynamic_slice %table, %i, sizes = [1] : (tensor<{devices}xi64>, tensor<ui32>) -> tensor<1xi64>
    %start = stablehlo.reshape %at : (tensor<1xi64>) -> tensor<i64>
    %y = stablehlo.dynamic_slice %r, %start, sizes = [2] : (tensor<{width}xf64>, tensor<i64>) -> tensor<2xf64>
    return %y : tensor<2xf64>
  }}
}}
""")


def collectives(p: wg.Program) -> list[str]:
    return [op.name.removeprefix("stablehlo.") for op in p.module.walk() if "all_" in op.name or "collective" in op.name]


def rolled(by: int, n: int = 8) -> str:
    """The text of ``roll(%g, by)`` for 0 < by < n."""
    return f"""    %a = stablehlo.slice %g [{n - by}:{n}] : (tensor<{n}xf64>) -> tensor<{by}xf64>
    %b = stablehlo.slice %g [0:{n - by}] : (tensor<{n}xf64>) -> tensor<{n - by}xf64>
    %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<{by}xf64>, tensor<{n - by}xf64>) -> tensor<{n}xf64>"""


def padded(low: int, high: int) -> str:
    return f"""    %z = stablehlo.constant dense<0.0> : tensor<f64>
    %r = stablehlo.pad %g, %z, low = [{low}], high = [{high}], interior = [0] : (tensor<8xf64>, tensor<f64>) -> tensor<{8 + low + high}xf64>"""


@pytest.mark.parametrize(
    ("rows", "width", "messages"),
    [
        (rolled(1), 8, 1),
        (rolled(7), 8, 1),
        (rolled(2), 8, 1),
        (rolled(3), 8, 2),
        (padded(1, 0), 9, 1),
        (padded(2, 1), 11, 1),
        ("    %r = stablehlo.negate %g : tensor<8xf64>", 8, None),
    ],
    ids=["forward", "backward", "whole blocks", "two neighbours", "zeros", "zeros of a block", "not a movement"],
)
def test_messages_have_the_values_and_derivatives_of_gathers(rows: str, width: int, messages: int | None) -> None:
    p = program(rows, width)
    q = p.apply("exchanges")
    assert collectives(q) == (["all_gather"] if messages is None else ["collective_permute"] * messages)
    rng = np.random.default_rng(0)
    x, moving, y_bar = rng.standard_normal((3, 4, 2))
    for backend in ("cpu", "interpreter"):
        for f, g, given in (
            (p, q, (x,)),
            (p.jvp(), q.jvp(), (x, moving)),
            *((p.vjp(strategy=s), q.vjp(strategy=s), (x, y_bar)) for s in ("transpose", "direct")),
        ):
            for wanted, got in zip(f.distribute(4, backend=backend)(*given), g.distribute(4, backend=backend)(*given), strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-15, atol=1e-15)


def test_two_devices_exchange_in_one_message() -> None:
    assert collectives(program(rolled(1, 4), 4, devices=2).apply("exchanges")) == ["collective_permute"]
    two = program("    %r = stablehlo.concatenate %g, %g, dim = 0 : (tensor<4xf64>, tensor<4xf64>) -> tensor<8xf64>", 8, devices=2)
    assert collectives(two.apply("exchanges")) == []  # each device has its own rows


def test_rows_at_other_places_on_other_devices_are_gathered() -> None:
    clamped = """    %a = stablehlo.slice %g [0:1] : (tensor<8xf64>) -> tensor<1xf64>
    %b = stablehlo.slice %g [0:7] : (tensor<8xf64>) -> tensor<7xf64>
    %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xf64>, tensor<7xf64>) -> tensor<8xf64>"""
    every_other = """    %c = stablehlo.concatenate %g, %g, dim = 0 : (tensor<8xf64>, tensor<8xf64>) -> tensor<16xf64>
    %r = stablehlo.slice %c [0:16:2] : (tensor<16xf64>) -> tensor<8xf64>"""
    for rows in (clamped, every_other):
        assert collectives(program(rows).apply("exchanges")) == ["all_gather"]


def test_messages_are_located_at_what_they_stand_for() -> None:
    (op,) = (op for op in program(rolled(1)).apply("exchanges").module.walk() if op.name == "stablehlo.collective_permute")
    assert "exchanges" in str(op.location)
