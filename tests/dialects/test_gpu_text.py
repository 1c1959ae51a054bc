"""The text of the gpu level: what is printed means what was read, in every form, for stock xDSL too. (RUN lines are for tests/passes/test_mlir_files.py.)"""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.ir import Attribute
from xdsl.parser import Parser

from wengert.dialects.gpu import GPU, ObjectAttr, ObjectFormat
from wengert.dialects.gpu.atomics import AtomicRMWOp, AtomicYieldOp, GenericAtomicRMWOp
from wengert.dialects.gpu.memory import DeviceSpace, device_memref, device_space, signless
from wengert.dialects.gpu.targets import NVVMTargetAttr, ROCDLTargetAttr, SPIRVTargetAttr
from wengert.dialects.registry import make_context
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.tensor_types import f32, i8, i32, ui8, ui32
from wengert.ir.verification.verifier import verify

FILES = sorted((Path(__file__).parent / "gpu").glob("ops*.mlir"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_form_reads_back(path: Path) -> None:
    module = parse_module(path.read_text(), path.name)
    verify(module)
    pretty, generic = print_module(module), print_module(module, generic=True)
    located = print_module(module, locations=True)
    for text in (pretty, generic, located):
        again = parse_module(text)
        verify(again, text)
        assert print_module(again) == pretty
        assert print_module(again, generic=True) == generic
    assert Parser(make_context(), str(module)).parse_module().is_structurally_equivalent(module), "stock xDSL"
    assert [op.location for op in parse_module(located).walk()] == [op.location for op in module.walk()]
    assert '"gpu.' not in pretty
    assert '"memref.' not in pretty


def test_the_file_has_every_op() -> None:
    used = {type(op) for path in FILES for op in parse_module(path.read_text()).walk()}
    assert {op.name for op in (*GPU.operations, AtomicRMWOp, AtomicYieldOp, GenericAtomicRMWOp)} <= {cls.name for cls in used}


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (NVVMTargetAttr.of(), '#nvvm.target<chip = "sm_75">'),
        (NVVMTargetAttr.of(O=3, chip="sm_90", features="+ptx80"), '#nvvm.target<O = 3, chip = "sm_90", features = "+ptx80">'),
        (ROCDLTargetAttr.of(chip="gfx942", features="", abi="600"), '#rocdl.target<chip = "gfx942">'),
        (SPIRVTargetAttr.of(), "#spirv.target_env<#spirv.vce<v1.0, [], []>, #spirv.resource_limits<>>"),
        (
            SPIRVTargetAttr.of("v1.4", ("Kernel",), ("SPV_E",), "OpenCL", ("Intel", "CPU")),
            "#spirv.target_env<#spirv.vce<v1.4, [Kernel], [SPV_E]>, api=OpenCL, Intel:CPU, #spirv.resource_limits<>>",
        ),
    ],
)
def test_targets_are_written_with_what_is_not_usual(target: Attribute, text: str) -> None:
    assert str(target) == text
    assert Parser(make_context(), text).parse_attribute() == target


def test_targets_that_differ_are_not_equal() -> None:
    assert NVVMTargetAttr.of(chip="sm_80") != NVVMTargetAttr.of(chip="sm_90")
    assert ROCDLTargetAttr.of(chip="gfx90a") != ROCDLTargetAttr.of(chip="gfx942")
    assert SPIRVTargetAttr.of("v1.0") != SPIRVTargetAttr.of("v1.4")
    assert len({NVVMTargetAttr.of(chip="sm_80"), NVVMTargetAttr.of(chip="sm_90"), NVVMTargetAttr.of(chip="sm_80")}) == 2


def test_what_a_target_does_not_say_is_usual() -> None:
    target = Parser(make_context(), "#nvvm.target").parse_attribute()
    assert isinstance(target, NVVMTargetAttr)
    assert (target.level, target.triple, target.chip, target.features, dict(target.flags)) == (2, "nvptx64-nvidia-cuda", "sm_75", "", {})
    with pytest.raises(ValueError, match=r"#nvvm\.target has no key 'abi'"):
        NVVMTargetAttr.of(abi="600")


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x00\xff\xfe\n", bytes(range(256)), b'text with "quotes" and \\'])
def test_an_object_holds_any_bytes(data: bytes) -> None:
    made = ObjectAttr.of(NVVMTargetAttr.of(), ObjectFormat.BIN, data)
    module = parse_module(f"module {{ gpu.binary @b [{print_attribute(made)}] }}")
    binary = module.body.block.first_op
    assert binary is not None
    again = binary.properties["objects"].data[0]  # pyright: ignore
    assert isinstance(again, ObjectAttr)
    assert (again.data, again.kind) == (data, ObjectFormat.BIN)


def print_attribute(attribute: Attribute) -> str:
    from wengert.ir.printing.printer import Writer

    return Writer().attribute_text(attribute)


def test_memory_of_devices() -> None:
    assert print_attribute(device_memref(4810, f32)) == "memref<4810xf32, 1>"
    assert print_attribute(device_memref(2, ui32, DeviceSpace.WORKGROUP)) == "memref<2xi32, 3>"
    assert print_attribute(device_memref(2, ui8, DeviceSpace.PRIVATE)) == "memref<2xi8>"
    assert [device_space(device_memref(2, i32, space)) for space in DeviceSpace] == list(DeviceSpace)
    assert (signless(ui8), signless(i32), signless(f32)) == (i8, i32, f32)
