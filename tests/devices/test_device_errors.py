"""What a user is told where there is no device, or one that cannot do what is asked; and that nothing is half done then."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from device_backends import BACKENDS, needs_opencl

import wengert as wg
from wengert.lab.cli.main import main as command_line
from wengert.runtime.devices import opencl
from wengert.runtime.devices.compile import device_for
from wengert.runtime.devices.interface import Buffer, Device, DeviceError
from wengert.runtime.errors import InputError

TEXT = """func.func @main(%x: tensor<300xELEMENT>) -> tensor<300xELEMENT> {
  %0 = stablehlo.sine %x : tensor<300xELEMENT>
  return %0 : tensor<300xELEMENT> }"""


def sine(element: str = "f32") -> wg.Program:
    return wg.parse(TEXT.replace("ELEMENT", element))


@pytest.fixture(autouse=True)
def other_drivers() -> Iterator[None]:
    """Devices that a test makes up are forgotten."""
    opencl.device_named.cache_clear()
    yield
    opencl.device_named.cache_clear()


class DriverError(Exception):
    """What a made-up binding raises."""


class MadeUp:
    """A device of a made-up driver: what it is not given, its driver does not know."""

    def __init__(self, name: str, **known: Any):
        self.name, self.platform, self.known = name, SimpleNamespace(name="Made-up driver"), known

    def __getattr__(self, name: str) -> Any:
        if name in self.known:
            return self.known[name]
        raise DriverError("INVALID_VALUE")


def use(monkeypatch: pytest.MonkeyPatch, *platforms: Any) -> None:
    """Puts drivers in the place of those that are there."""

    def get_platforms() -> list[Any]:
        if not platforms:
            raise DriverError("PLATFORM_NOT_FOUND_KHR")
        return list(platforms)

    made_up = SimpleNamespace(Error=DriverError, get_platforms=get_platforms, device_svm_capabilities=SimpleNamespace(COARSE_GRAIN_BUFFER=1))
    monkeypatch.setattr(opencl, "binding", lambda: made_up)


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    """The error of a program, of the command line, and of the list of devices, which all say the same."""
    program = sine()
    with pytest.raises(InputError) as refused:
        program.compile("opencl")
    said = str(refused.value)
    assert command_line(["devices"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("opencl")]
    assert " ".join(line.split()) == f"opencl none {said}"
    x = np.ones(300, np.float32)
    np.testing.assert_array_equal(program(x)[0], program.compile("cpu")(x)[0])
    return said


def test_without_the_binding(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    assert refusal(capsys).startswith("backend 'opencl' needs the package pyopencl: pip install")


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    use(monkeypatch)
    said = refusal(capsys)
    assert said.startswith("no OpenCL driver offers a device that takes SPIR-V; pip install")
    assert "there are" not in said


def test_drivers_that_lack_something(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def none() -> list[Any]:
        raise DriverError("DEVICE_NOT_FOUND")

    old = MadeUp("Abacus")
    newer = MadeUp("Slide rule", il_version="", svm_capabilities=1)
    apart = MadeUp("Punch card", il_version="SPIR-V_1.2", svm_capabilities=0)
    use(monkeypatch, SimpleNamespace(get_devices=none), SimpleNamespace(get_devices=lambda: [old, newer]), SimpleNamespace(get_devices=lambda: [apart]))
    said = refusal(capsys)
    listed = "Abacus (Made-up driver) takes no SPIR-V; Slide rule (Made-up driver) takes no SPIR-V; Punch card (Made-up driver) does not share virtual memory"
    assert said.endswith(f"(there are: {listed})")


@pytest.mark.skipif("not hasattr(__import__('os'), 'fork')", reason="the loader of another system finds drivers elsewhere")
@needs_opencl
def test_the_loader_finds_nothing(tmp_path: Path) -> None:
    """The true binding, with a folder of drivers that is empty."""
    environment = {**os.environ, "OCL_ICD_VENDORS": str(tmp_path)}
    (tmp_path / "p.mlir").write_text(TEXT.replace("ELEMENT", "f32"))
    command = [sys.executable, "-m", "wengert", "run", "p.mlir", "--random", "0", "--backend", "opencl"]
    made = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 1
    assert made.stdout == ""
    assert made.stderr.startswith("error: no OpenCL driver offers a device that takes SPIR-V")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_device_without_room(backend: str, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory ends in the middle: the program is refused, and compiled when there is room again."""
    device = device_for(backend)
    allocate, left = type(device).allocate, [after]

    def limited(self: Device, size: int) -> Buffer:
        left[0] -= 1
        if left[0] < 0:
            raise DeviceError(f"{self.name} has no room for {size} bytes")
        return allocate(self, size)

    program, x = wg.parse(TEXT.replace("ELEMENT", "f32")).vjp(), np.linspace(0, 1, 300, dtype=np.float32)
    with monkeypatch.context() as patched:
        patched.setattr(type(device), "allocate", limited)
        for _ in range(2):
            left[0] = after
            with pytest.raises(DeviceError, match="has no room for 1200 bytes"):
                program.compile(backend)
    np.testing.assert_array_equal(program.compile(backend)(x, x)[1], program(x, x)[1])


@needs_opencl
def test_the_driver_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver itself refuses an allocation; memory that the device says it has may be in pieces."""
    device = device_for("opencl")
    with pytest.raises(DeviceError, match=f"has no room for {1 << 60} bytes: "):
        device.allocate(1 << 60)
    assert device.read(device.allocate(5)).size == 5


@needs_opencl
@pytest.mark.parametrize(("element", "missing"), [("f64", "f64"), ("f16", "f16"), ("f32", "")])
def test_types_that_a_device_has_not(element: str, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device = device_for("opencl")
    monkeypatch.setattr(device, "_extensions", [])
    made = wg.parse(TEXT.replace("ELEMENT", element).replace("stablehlo.sine", "stablehlo.negate"))
    x = np.ones(300, np.dtype(f"f{int(element[1:]) // 8}"))
    if missing:
        with pytest.raises(DeviceError, match=f"does not compute in {missing}, which the kernels of this program do"):
            made.compile("opencl")
    else:
        assert (made.compile("opencl")(x)[0] == -1).all()


@needs_opencl
def test_kernels_that_do_not_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's words, in one line; the next program is compiled."""
    device, program = device_for("opencl"), sine()
    load, empty = type(device).load, np.array([0x07230203, 0x10400, 0, 9, 0], np.uint32).tobytes()
    with monkeypatch.context() as patched:
        patched.setattr(type(device), "load", lambda self, object: load(self, empty))
        with pytest.raises(DeviceError, match=r"refused the kernels: (?!.*Build on)[^\n]*SPIR-V[^\n]*$"):
            program.compile("opencl")
    x = np.ones(300, np.float32)
    np.testing.assert_array_equal(program.compile("opencl")(x)[0], program(x)[0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_code_that_llvm_has_not(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM ends its process over a kernel: an error that names the program's place, and the next program is compiled."""
    from wengert.transforms.codegen.gpu.device.targets import DeviceTarget

    wait = DeviceTarget.wait
    program = wg.parse("""func.func @main(%x: tensor<300xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<300xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32> }""")

    def wrong(self: DeviceTarget, builder: Any) -> None:
        builder.module.externals["x"] = "declare void @llvm.amdgcn.s.barrier()\n"
        builder.line("call void @llvm.amdgcn.s.barrier()")

    with monkeypatch.context() as patched:
        patched.setattr(DeviceTarget, "wait", wrong)
        with pytest.raises(InputError, match=r"error: @kernels cannot be compiled for \w+: LLVM ended its process .*: .*amdgcn"):
            program.compile(backend)
    assert wait is DeviceTarget.wait
    assert program.compile(backend)(np.ones(300, np.float32))[0] == 300
