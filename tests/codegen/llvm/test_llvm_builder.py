"""The LLVM builder: what it writes runs, and has the shape that it promises. Names and addresses, vectors, memory, modules."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from machine_code import callable_of, integer_function

from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.module import ModuleBuilder

I64, I32, F64, POINTER = ctypes.c_int64, ctypes.c_int32, ctypes.c_double, ctypes.c_void_p


# -- names and addresses


def test_results_have_fresh_names() -> None:
    builder = FunctionBuilder()
    names = [builder.fresh(), builder.op("add i64 1, 2"), builder.fresh(), builder.binary("mul", "i64", "%x", "%y")]
    assert len(set(names)) == 4
    assert builder.label("loop") != builder.label("loop")


def test_arithmetic_on_known_numbers_writes_nothing() -> None:
    builder = FunctionBuilder()
    assert builder.linear([(3, 4), ("%i", 0), (0, "%j")], 5) == 17
    assert builder.add("%i", 0) == "%i"
    assert builder.multiply(1, "%i") == "%i"
    assert builder.offset("%p", "double", 0) == "%p"
    assert builder.lines == []


def test_index_arithmetic() -> None:
    f = integer_function(["%i", "%j"], lambda b: str(b.linear([("%i", 10), (2, 3), ("%j", "%i")], 1)))
    assert f(4, -5) == 40 + 6 - 20 + 1


def test_addresses_are_shared_where_they_are_known() -> None:
    builder = FunctionBuilder()
    outer = builder.shared_offset("%p", "float", "%i", 8, 3)
    with builder.repeat(4) as k:
        assert builder.shared_offset("%p", "float", "%i", 8, 3) == outer
        inner = builder.shared_offset("%p", "float", k, 8)
        assert builder.shared_offset("%p", "float", k, 8) == inner
    assert builder.shared_offset("%p", "float", k, 8) != inner, "what a loop's body computes is not known after it"


def test_an_alternative_does_not_know_what_another_one_has_computed() -> None:
    builder = FunctionBuilder()
    with builder.conditional("%c") as branches:
        first = builder.shared_offset("%p", "float", "%i")
        branches.otherwise()
        second = builder.shared_offset("%p", "float", "%i")
    with builder.when("%c"):
        third = builder.shared_offset("%p", "float", "%i")
    assert len({first, second, third, builder.shared_offset("%p", "float", "%i")}) == 4


# -- vectors and memory


def test_vectors() -> None:
    builder = FunctionBuilder()
    x = builder.load("<4 x double>", "%p", 8)
    turned = builder.shuffle("double", 4, x, builder.splat("double", "%s", 4), [3, 2, 4, 0])
    changed = builder.insert("double", 4, turned, builder.extract("double", 4, x, 1), 3)
    builder.store("<4 x double>", changed, "%p", 8)
    f = callable_of(builder.definition("f", ["ptr %p", "double %s"], head=""), "f", None, POINTER, F64)
    memory = np.array([1.0, 2.0, 3.0, 4.0])
    f(memory.ctypes.data, 9.0)
    assert memory.tolist() == [4.0, 3.0, 9.0, 2.0]


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_squares_are_transposed_in_registers(lanes: int) -> None:
    builder = FunctionBuilder()
    kind = f"<{lanes} x i64>"
    rows = [builder.load(kind, builder.offset("%p", kind, row), 8) for row in range(lanes)]
    for row, value in enumerate(builder.transposed("i64", rows)):
        builder.store(kind, value, builder.offset("%p", kind, row), 8)
    f = callable_of(builder.definition("f", ["ptr %p"], head=""), "f", None, POINTER)
    memory = np.arange(lanes * lanes).reshape(lanes, lanes)
    wanted = memory.T.copy()
    f(memory.ctypes.data)
    np.testing.assert_array_equal(memory, wanted)


def test_bytes_are_set_and_moved() -> None:
    builder = FunctionBuilder()
    builder.set_bytes("%p", 4, 7)
    builder.move_bytes("%p", builder.offset("%p", "i8", 2), "%n")
    f = callable_of(builder.definition("f", ["ptr %p", "i64 %n"], head=""), "f", None, POINTER, I64)
    memory = np.arange(8, dtype=np.uint8)
    f(memory.ctypes.data, 5)
    assert memory.tolist() == [7, 7, 7, 7, 7, 7, 4, 7]


def test_the_stack_is_taken_at_the_beginning() -> None:
    """An alloca within a loop does not take memory in every iteration."""
    builder = FunctionBuilder()
    with builder.loop(0, "%n", [("i64", "0")]) as loop:
        slot = builder.alloca("i64", 8)
        builder.store("i64", loop.index, slot)
        loop.carry(builder.binary("add", "i64", loop.values[0], builder.load("i64", slot)))
    text = builder.definition("f", ["i64 %n"], result="i64", returns=loop.results[0], head="")
    assert text.splitlines()[1].endswith("alloca i64, align 8")
    assert callable_of(text, "f", I64, I64)(5) == 10


# -- modules


def test_a_module_contains_a_helper_once() -> None:
    module = ModuleBuilder()

    def helper() -> str:
        body = FunctionBuilder(module)
        return body.definition("twice", ["i64 %x"], result="i64", returns=str(body.add("%x", "%x")))

    def fails() -> str:
        raise AssertionError("made twice")

    builder = FunctionBuilder(module)
    x = builder.call(module.once("twice", helper), "i64", [("i64", "%x")])
    y = builder.call(module.once("twice", fails), "i64", [("i64", x)])
    three = builder.load("i64", builder.offset(builder.constant("table", "[2 x i64]", "[i64 1, i64 3]", align=8), "i64", 1))
    module.external("labs", "i64", ["i64"])
    total = builder.add(builder.call("labs", "i64", [("i64", y)]), three)
    text = module.text() + builder.definition("f", ["i64 %x"], result="i64", returns=str(total), head="")
    assert text.count("define internal i64 @twice") == 1
    assert callable_of(text, "f", I64, I64)(-5) == 23
