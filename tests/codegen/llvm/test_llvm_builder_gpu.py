"""The LLVM builder for another target: address spaces, and mathematics in PTX."""

from __future__ import annotations

import pytest
from file_check import file_check
from machine_code import assembly

from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.math import SUPPORTED, emit
from wengert.transforms.codegen.llvm.module import AddressSpaces, ModuleBuilder


def test_address_spaces_of_a_gpu() -> None:
    """A kernel whose pointers are global, with a table in constant memory, as PTX: nothing but the numbers of the spaces is NVIDIA's."""
    module = ModuleBuilder(AddressSpaces(constants=4))
    builder = FunctionBuilder(module, index_type="i32")
    builder.address_spaces.update({"%x": 1, "%y": 1})
    thread = builder.op("call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
    table = builder.constant("table", "[4 x float]", "[float 1.0, float 2.0, float 3.0, float 4.0]", align=16)
    with builder.loop(0, "%n", [("float", "0.0")]) as loop:
        factor = builder.load("float", builder.offset(table, "float", builder.binary("and", "i32", loop.index, "3")), 4)
        value = builder.load("float", builder.offset("%x", "float", builder.linear([(thread, "%n")], loop.index)), 4)
        loop.carry(builder.op(f"call float @llvm.fma.f32(float {factor}, float {value}, float {loop.values[0]})"))
    builder.store("float", loop.results[0], builder.offset("%y", "float", thread), 4)
    text = module.text() + builder.definition("kernel", ["ptr addrspace(1) %x", "ptr addrspace(1) %y", "i32 %n"], head="ptx_kernel")
    file_check(
        assembly(text, "nvptx64-nvidia-cuda", "sm_90", "+ptx80"),
        """
        CHECK: .const .align 16 .b8 table
        CHECK: .visible .entry kernel
        CHECK: ld.const.b32
        CHECK: ld.global.b32
        CHECK: fma.rn.f32
        CHECK: st.global.b32
        """,
    )


def test_the_stack_of_a_gpu() -> None:
    builder = FunctionBuilder(ModuleBuilder(AddressSpaces(stack=5)))
    builder.store("i64", 1, builder.offset(builder.alloca("[4 x i64]"), "i64", "%i"))
    file_check(
        "\n".join(builder.body()),
        """
        CHECK:      [[SLOT:%slot[0-9]+]] = alloca [4 x i64], addrspace(5)
        CHECK-NEXT: [[PLACE:%[0-9]+]] = getelementptr i64, ptr addrspace(5) [[SLOT]], i64 %i
        CHECK-NEXT: store i64 1, ptr addrspace(5) [[PLACE]]
        """,
    )


@pytest.mark.parametrize(("function", "element"), [("sin", "f32"), ("cos", "f64"), ("tanh", "f32"), ("pow", "f64"), ("lgamma", "f32"), ("erf", "f64")])
def test_mathematics_of_a_gpu(function: str, element: str) -> None:
    """Scalar functions at one lane are the same text on a GPU: no library, and the digits of 2/pi in constant memory."""
    builder = FunctionBuilder(ModuleBuilder(AddressSpaces(constants=4)))
    builder.address_spaces["%x"] = 1
    kind = "float" if element == "f32" else "double"
    place = builder.offset("%x", kind, builder.cast("zext", builder.op("call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"), "i32", "i64"))
    value = builder.load(kind, place)
    builder.store(kind, emit(function, element, 1, [value] * SUPPORTED[function, element], builder), place)
    text = assembly(builder.module.text() + builder.definition("kernel", ["ptr addrspace(1) %x"], head="ptx_kernel"), "nvptx64-nvidia-cuda", "sm_90", "+ptx80")
    assert ".visible .entry kernel" in text
    assert ".extern" not in text
    assert ("ld.const.b64" in text) == (function in ("sin", "cos"))
