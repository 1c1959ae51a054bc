"""Predictions for devices follow from figures of kernels and of the device: more bytes take longer, faster memory less long, and loops count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wengert as wg
from wengert.lab.cli.main import main as command_line
from wengert.lab.device_costs import device_report
from wengert.runtime.errors import InputError
from wengert.transforms.analysis.gpu.devices import PUBLISHED
from wengert.transforms.analysis.gpu.roofline import LAUNCH_SECONDS

STREAM = """func.func @main(%x: tensor<Nxf32>) -> tensor<Nxf32> {
  %0 = stablehlo.multiply %x, %x : tensor<Nxf32>
  return %0 : tensor<Nxf32> }"""
PRODUCT = """func.func @main(%x: tensor<2048x2048xELEMENT>, %y: tensor<2048x2048xELEMENT>) -> tensor<2048x2048xELEMENT> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2048x2048xELEMENT>, tensor<2048x2048xELEMENT>) -> tensor<2048x2048xELEMENT>
  return %0 : tensor<2048x2048xELEMENT> }"""
LOOP = """func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<7> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4096xf32>
    cond { %c = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }
    do { %n = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.sine %v : tensor<4096xf32>
      stablehlo.return %n, %s : tensor<i32>, tensor<4096xf32> }
  return %0#1 : tensor<4096xf32> }"""
SOLVER = """func.func @main(%a: tensor<300x300xf64>) -> tensor<300x300xf64> {
  %0 = stablehlo.cholesky %a, lower = true : tensor<300x300xf64>
  return %0 : tensor<300x300xf64> }"""


@pytest.mark.parametrize("name", PUBLISHED)
def test_streams_take_as_long_as_their_bytes(name: str) -> None:
    device = PUBLISHED[name]
    (row,) = device_report(wg.parse(STREAM.replace("N", str(1 << 27))), name).rows[0].kernels
    assert row.moved == 2 * 4 << 27
    assert row.prediction.bound == "memory"
    assert row.seconds == pytest.approx(LAUNCH_SECONDS + row.moved / device.bandwidth)


def test_small_programs_wait_for_launches() -> None:
    (row,) = device_report(wg.parse(STREAM.replace("N", "1024")), "h100").rows[0].kernels
    assert row.prediction.bound == "launch"
    assert row.seconds < 2 * LAUNCH_SECONDS


def test_products_are_arithmetic() -> None:
    times: dict[str, float] = {}
    for element in ("f32", "f64"):
        (row,) = device_report(wg.parse(PRODUCT.replace("ELEMENT", element)), "a100").rows[0].kernels
        assert row.launched.cost.flops[element] == 2 * 2048**3
        times[element] = row.prediction.arithmetic
        assert row.prediction.arithmetic >= 2 * 2048**3 / PUBLISHED["a100"].peak(element)
    assert times["f64"] > times["f32"]


def test_loops_count() -> None:
    report = device_report(wg.parse(LOOP), "h100")
    primal = report.rows[0]
    assert not primal.uncounted
    assert any(row.launched.times == 7 for row in primal.kernels)
    assert primal.launches == sum(row.launched.times for row in primal.kernels)


def test_what_the_host_runs_is_named() -> None:
    report = device_report(wg.parse(SOLVER), "mi300x")
    host = sum(report.rows[0].host.values())
    assert ("on the host, not counted" in str(report)) == (host > 0)


def test_json_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(STREAM.replace("N", "100000"))
    assert command_line(["costs", str(path), "--device", "h100", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert (read["device"], read["measured"]) == ("h100", False)
    assert [kernel["kernel"] for kernel in read["programs"]["primal"]["kernels"]] == ["main_k0"]
    assert read["programs"]["primal"]["kernels"][0]["bytes"] == 800_000
    assert command_line(["costs", str(path), "--device", "h100"]) == 0
    printed = capsys.readouterr().out
    assert "nothing was measured" in printed
    assert "reverse (VJP)" in printed


def test_a_device_that_is_not_described() -> None:
    with pytest.raises(InputError, match="no description of a device 'h10'"):
        device_report(wg.parse(STREAM.replace("N", "10")), "h10")
