"""The backend for NVIDIA's devices: what it asks of the driver, on an interpreter of PTX in the driver's place; and on a device where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from device_backends import missing
from fake_cuda import Graph, GraphBuilder, View, World, installed

import wengert as wg
from wengert.lab.cli.main import main as command_line
from wengert.runtime.devices import cuda
from wengert.runtime.devices.interface import DeviceError

ROWS = """func.func @main(%x: tensor<5x300xf32>, %y: tensor<5xf32>) -> (tensor<5xf32>, tensor<5x300xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5x300xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = stablehlo.add %0, %y : tensor<5xf32>
  %2 = stablehlo.tanh %x : tensor<5x300xf32>
  return %1, %2 : tensor<5xf32>, tensor<5x300xf32> }"""
LOOP = """func.func @main(%x: tensor<4xf64>, %n: tensor<i32>) -> tensor<4xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf64>
    cond { %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }
    do { %m = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.sine %v : tensor<4xf64>
      stablehlo.return %m, %s : tensor<i32>, tensor<4xf64> }
  return %0#1 : tensor<4xf64> }"""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A machine with two devices."""
    with installed(World(("NVIDIA A100-SXM4-80GB", (8, 0)), ("NVIDIA H100 80GB HBM3", (9, 0))), monkeypatch) as made:
        yield made


def arguments() -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((5, 300)).astype(np.float32), rng.standard_normal(5).astype(np.float32)]


def test_results(world: World) -> None:
    program = wg.parse(ROWS)
    compiled = program.compile("cuda", poison=True)
    for _ in range(2):
        for result, expected in zip(compiled(*arguments()), program(*arguments()), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    assert world.kernels == compiled.stats.kernels, "a kernel is looked up once"


def test_a_program_is_one_graph(world: World) -> None:
    program, given = wg.parse(ROWS), arguments()
    compiled = program.compile("cuda")
    launched = Graph.total
    for _ in range(3):
        compiled(*given)
    assert compiled.stats.recorded
    assert world.launches == compiled.stats.launches, "kernels are enqueued once, when the graph is made"
    assert Graph.total == launched + 3


def test_loops_and_derivatives(world: World) -> None:
    program = wg.parse(LOOP).jvp(wrt=(0,))
    x, t = np.linspace(0, 1, 4), np.ones(4)
    for result, expected in zip(program.compile("cuda")(x, np.int32(5), t), program(x, np.int32(5), t), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_arrays_on_the_device_stay_there(world: World) -> None:
    program = wg.parse(ROWS)
    x, y = arguments()
    compiled = program.compile("cuda")
    for given in ([world.put(x), world.put(y)], [x, world.put(y)]):
        results = compiled(*given)
        assert all(isinstance(result, View) for result in results)
        for result, expected in zip(results, program(x, y), strict=True):
            np.testing.assert_allclose(world.array(result), expected, rtol=1e-5, atol=1e-5)
    again: list[Any] = [compiled(world.put(x), y)[1] for _ in range(2)]
    assert again[0].ptr != again[1].ptr, "every call has results of its own"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": (300, 5)}, r"argument 0.*must be float32\[5, 300\], found float32\[300, 5\] on the device"),
        ({"dtype": np.dtype(np.int32)}, r"must be float32\[5, 300\], found int32\[5, 300\] on the device"),
        ({"strides": (1, 5)}, "do not lie side by side"),
        ({"device_id": 1}, "found an object of type View"),
    ],
)
def test_arrays_that_do_not_fit(world: World, change: dict[str, Any], message: str) -> None:
    x, y = arguments()
    lent = world.put(x)
    for name, value in change.items():
        setattr(lent, name, value)
    with pytest.raises(wg.InputError, match=message):
        wg.parse(ROWS).compile("cuda")(lent, world.put(y))


def test_the_device_is_chosen_by_name(world: World) -> None:
    assert "A100" in wg.parse(ROWS).compile("cuda").stats.device
    assert "H100" in wg.parse(ROWS).compile("cuda", device="h100").stats.device
    with pytest.raises(wg.InputError, match=r"no NVIDIA device is named 'V100'; there are: NVIDIA A100.*H100"):
        wg.parse(ROWS).compile("cuda", device="V100")


@pytest.mark.parametrize(("capability", "chip"), [((8, 0), "sm_80"), ((8, 6), "sm_86"), ((9, 0), "sm_90"), ((10, 0), "sm_90"), ((12, 1), "sm_90")])
def test_kernels_are_for_the_chip(capability: tuple[int, int], chip: str) -> None:
    assert cuda.chip_of(capability) == chip


def test_devices_that_are_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(World(("Tesla V100", (7, 0))), monkeypatch), pytest.raises(DeviceError, match=r"need compute capability 8\.0 or later; the device has 7\.0"):
        wg.parse(ROWS).compile("cuda")


def test_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(World(("small", (9, 0)), size=1 << 12), monkeypatch), pytest.raises(DeviceError, match="small has no room for"):
        wg.parse(ROWS).compile("cuda")
    with installed(World(("small", (9, 0))), monkeypatch), pytest.raises(DeviceError, match=r"needs .* of memory, of which small has 64.0 MiB"):
        wg.parse("func.func @main(%x: tensor<8000x8000xf32>) -> tensor<8000x8000xf32> { return %x : tensor<8000x8000xf32> }").compile("cuda")


def test_what_the_driver_says(world: World) -> None:
    device = cuda.device_named()
    buffer = device.allocate(16)
    device.write(buffer, np.zeros(16, np.uint8))
    with pytest.raises(DeviceError, match=r"A100.* failed: CUDA_ERROR_INVALID_VALUE: as the driver says it"):
        device.read(buffer.part(1 << 30, 16))
    with pytest.raises(DeviceError, match="refused the kernels: CUDA_ERROR_INVALID_PTX"):
        device.load(".version 8.0 nonsense")


def test_calls_from_several_threads(world: World) -> None:
    program, given = wg.parse(ROWS), arguments()
    compiled = program.compile("cuda")
    expected = compiled(*given)
    with ThreadPoolExecutor(3) as pool:
        for results in pool.map(lambda _: compiled(*given), range(6)):
            np.testing.assert_array_equal(results[1], expected[1])
    assert world.threads >= 2, "every thread makes the device its own"


def test_the_command_that_lists_devices(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["devices"]) == 0
    assert "NVIDIA H100 80GB HBM3" in capsys.readouterr().out


def test_without_a_driver() -> None:
    if not missing("cuda"):
        pytest.skip("there is a device")
    with pytest.raises(wg.InputError, match=r"(no NVIDIA device with a driver is there|needs the package cuda-core: pip install ')"):
        wg.parse(ROWS).compile("cuda")


def test_names_are_those_of_the_packages() -> None:
    core, driver = pytest.importorskip("cuda.core"), pytest.importorskip("cuda.bindings.driver")
    fake = World(("any", (9, 0)))
    for name in vars(fake.core):
        assert hasattr(core, name)
    for made, real in (
        (fake.core.Device.get_all_devices()[0], core.Device),
        (cuda_stream(), core.Stream),
        (GraphBuilder(fake.stream), core.graph.GraphBuilder),
        (View(0, (), None), core.utils.StridedMemoryView),
        (fake.core.ObjectCode, core.ObjectCode),
        (fake.driver, driver),
    ):
        own = {*vars(type(made)), *vars(made)} if not isinstance(made, type) else set(dir(made)) - {"image", "world", *dir(object), "__dict__", "__weakref__"}
        for name in own - {"actions", "world", "memory", "stream", "of", "syncs", "do", "captured"}:
            assert name.startswith("_") or hasattr(real, name), f"{real} has no {name}"


def cuda_stream() -> Any:
    return World(("any", (9, 0))).core.Device.get_all_devices()[0].create_stream()


@pytest.mark.gpu
@pytest.mark.skipif(bool(missing("cuda")), reason=missing("cuda"))
class TestOnADevice:
    """What only a device shows."""

    def test_results(self) -> None:
        program = wg.parse(ROWS)
        compiled = program.compile("cuda", poison=True)
        for _ in range(3):
            for result, expected in zip(compiled(*arguments()), program(*arguments()), strict=True):
                np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)

    def test_arrays_on_the_device_stay_there(self) -> None:
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("this PyTorch has no CUDA")
        x, y = arguments()
        results = wg.parse(ROWS).compile("cuda")(torch.asarray(x, device="cuda"), torch.asarray(y, device="cuda"))
        for result, expected in zip(map(torch.from_dlpack, results), wg.parse(ROWS)(x, y), strict=True):
            assert result.is_cuda
            np.testing.assert_allclose(result.cpu().numpy(), expected, rtol=1e-5, atol=1e-5)
