"""Devices in one process: what is noticed when they do not meet, errors, many calls at once."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from spmd_programs import groups, one_op, reducer

import wengert as wg
from wengert.dialects.stablehlo.process_groups import Grid
from wengert.runtime.errors import CommunicationError
from wengert.runtime.spmd.device import Call, current
from wengert.runtime.spmd.threads import ThreadDevice, run_on_threads

HERE, THERE = Call("all_reduce add of tensor<2xf64>", "f.mlir:3:5"), Call("all_gather of tensor<2xf64>", "f.mlir:7:5")
BRANCH = f"""module attributes {{mhlo.num_partitions = 2 : i32}} {{
  func.func public @main(%x: tensor<2xf64>, %c: tensor<i1>) -> tensor<2xf64> {{
    %y = "stablehlo.if"(%c) ({{
      stablehlo.return %x : tensor<2xf64>
    }}, {{
      %z = "stablehlo.all_reduce"(%x) <{{{groups([[0, 1]])}}}> {reducer("add")} : (tensor<2xf64>) -> tensor<2xf64>
      stablehlo.return %z : tensor<2xf64>
    }}) : (tensor<i1>) -> tensor<2xf64>
    return %y : tensor<2xf64>
  }}
}}"""


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_a_device_that_does_not_come_is_named_at_once(backend: str) -> None:
    p, before = wg.parse(BRANCH.replace("num_partitions", "num_replicas"), "branch.mlir"), time.monotonic()
    q = p.distribute(2, backend=backend)
    with pytest.raises(CommunicationError, match=r"(?s)device 1 for device 0 in all_reduce.*branch\.mlir:6:7.*device 0 has run to the end"):
        q(np.ones((2, 2)), np.array([True, False]))
    assert time.monotonic() - before < 60
    np.testing.assert_array_equal(q(np.ones((2, 2)), np.array([False, False]))[0], np.full((2, 2), 2.0))


def test_devices_at_different_collectives_are_told_apart() -> None:
    def run(device: ThreadDevice) -> None:
        device.gather((0, 1, 2), np.zeros(2), THERE if device.number == 1 else HERE)

    with pytest.raises(CommunicationError, match=r"(?s)different collectives.*devices 0, 2: all_reduce.*3:5.*device 1: all_gather.*7:5"):
        run_on_threads(Grid(3), run)


def test_devices_that_wait_in_a_circle_are_noticed() -> None:
    def run(device: ThreadDevice) -> None:
        device.gather(((0, 1), (1, 2), (2, 0))[device.number], np.zeros(2), HERE)

    with pytest.raises(CommunicationError, match=r"(?s)wait for each other.*device 0 for device 1.*device 1 for device 2.*device 2 for device 0"):
        run_on_threads(Grid(3), run)


def test_a_message_that_nobody_takes_is_an_error() -> None:
    def run(device: ThreadDevice) -> None:
        if device.number == 0:
            device.pass_on(np.zeros(2), None, 1, HERE)

    with pytest.raises(CommunicationError, match="device 0 sends to device 1, which does not receive"):
        run_on_threads(Grid(2), run)


def test_what_one_device_raises_is_raised_with_its_number() -> None:
    def run(device: ThreadDevice) -> None:
        if device.number == 2:
            raise ValueError("no")
        device.gather((0, 1, 2), np.zeros(2), HERE)

    with pytest.raises(ValueError, match="no") as caught:
        run_on_threads(Grid(3), run)
    assert "on device 2" in caught.value.__notes__
    assert current() is None


def test_what_is_sent_may_be_written_to_afterwards() -> None:
    def run(device: ThreadDevice) -> tuple[float, float]:
        mine = np.full(3, float(device.number))
        others = device.gather((0, 1), mine, HERE)
        received = device.pass_on(mine, 1 - device.number, 1 - device.number, HERE)
        mine[:] = 9
        device.gather((0, 1), mine, HERE)
        assert received is not None
        return float(others[1 - device.number][0]), float(received[0])

    assert run_on_threads(Grid(2), run) == [(1.0, 1.0), (0.0, 0.0)]


def test_calls_from_several_threads_do_not_mix() -> None:
    q = wg.parse(one_op("all_reduce", groups([[0, 1]]), "4xf64", "4xf64", reducer("add"))).distribute(2)
    results: dict[int, np.ndarray] = {}

    def call(number: int) -> None:
        for _ in range(20):
            results[number] = q(np.full((2, 4), number / 8))[0]

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, y in results.items():
        np.testing.assert_allclose(y, np.sin(number / 4))


def test_inputs_that_do_not_fit_are_named() -> None:
    p = wg.load("examples/data_parallel_loss.mlir")
    with pytest.raises(wg.InputError, match=r"argument 0.*expected float64\[2, 3\], a part for each of 2 devices, found float64\[3\]"):
        p.distribute(2)(np.zeros(3), np.zeros((2, 4, 3)), np.zeros((2, 4)))
    with pytest.raises(wg.InputError, match=r"for 2 devices .*not for 3"):
        p.distribute(3)
    with pytest.raises(wg.InputError, match="no engine 'thread'; did you mean 'threads'"):
        p.distribute(2, engine="thread")
    with pytest.raises(wg.InputError, match="engine cuda needs a GPU for each process"):
        p.distribute(2, engine="cuda")
    with pytest.raises(wg.InputError, match="backend opencl runs on one device"):
        p.distribute(2, backend="opencl")
    with pytest.raises(wg.InputError, match="names device 3 and so needs 4 devices, not 2"):
        wg.parse(one_op("all_reduce", groups([[0, 1], [2, 3]]), "4xf64", "4xf64", reducer("add"))).distribute(2)
