"""The LLVM builder's loops and branches: what they compute, and the blocks that they are."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from file_check import file_check
from machine_code import callable_of, integer_function

from wengert.transforms.codegen.llvm.builder import FunctionBuilder

I64, I32, F64, POINTER = ctypes.c_int64, ctypes.c_int32, ctypes.c_double, ctypes.c_void_p
FACTORS = (3, -2, 7)


# -- loops


@pytest.mark.parametrize("n", [-3, 0, 1, 2, 9])
def test_a_loop_carries_values(n: int) -> None:
    def write(b: FunctionBuilder) -> str:
        with b.loop(0, "%n", [("i64", "0"), ("i64", "1")]) as loop:
            x, y = loop.values
            loop.carry(y, str(b.add(x, y)))
        return loop.results[0]

    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
    assert integer_function(["%n"], write)(n) == fibonacci[max(n, 0)]


@pytest.mark.parametrize(
    ("start", "end", "step", "down"), [(2, 11, 3, False), (0, 0, 1, False), (5, 2, 1, False), (2, 7, 1, True), (2, 7, 2, True), (3, 3, 1, True)]
)
def test_the_indices_of_a_loop(start: int, end: int, step: int, down: bool) -> None:
    def write(b: FunctionBuilder) -> str:
        with b.loop("%start", "%end", [("i64", "0")], step=step, downward=down) as loop:
            loop.carry(str(b.add(b.multiply(loop.values[0], 100), b.add(loop.index, 1))))
        return loop.results[0]

    indices = list(range(end - 1, start - 1, -step) if down else range(start, end, step))
    wanted = 0
    for index in indices:
        wanted = 100 * wanted + index + 1
    assert integer_function(["%start", "%end"], write)(start, end) == wanted


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_rotated_loop(n: int) -> None:
    def write(b: FunctionBuilder) -> str:
        with b.rotated_loop("%n", [("i64", "5")]) as loop:
            loop.carry(str(b.add(loop.values[0], b.multiply(loop.index, loop.index))))
        return loop.results[0]

    assert integer_function(["%n"], write)(n) == 5 + sum(i * i for i in range(n))


def test_a_rotated_loop_has_one_test_at_its_end() -> None:
    builder = FunctionBuilder()
    with builder.rotated_loop("%n", [("float", "0.0")], start=8, step=4) as loop:
        loop.carry(builder.binary("fadd", "float", loop.values[0], "%x"))
    file_check(
        "\n".join(builder.lines),
        """
        CHECK:      br label %loop1.before
        CHECK-NEXT: loop1.before:
        CHECK-NEXT: br label %loop1
        CHECK-NEXT: loop1:
        CHECK-NEXT: [[INDEX:%[0-9]+]] = phi i64 [8, %loop1.before], [[[NEXT:%[0-9]+]], %loop1.latch]
        CHECK-NEXT: [[SUM:%[0-9]+]] = phi float [0.0, %loop1.before], [[[MORE:%[0-9]+]], %loop1.latch]
        CHECK-NEXT: [[MORE]] = fadd float [[SUM]], %x
        CHECK-NEXT: br label %loop1.latch
        CHECK-NEXT: loop1.latch:
        CHECK-NEXT: [[NEXT]] = add nuw nsw i64 [[INDEX]], 4
        CHECK-NEXT: [[TEST:%[0-9]+]] = icmp ult i64 [[NEXT]], %n
        CHECK-NEXT: br i1 [[TEST]], label %loop1, label %loop1.after
        CHECK-NEXT: loop1.after:
        """,
    )


@pytest.mark.parametrize("extents", [(), (1,), (3,), (2, 1, 3), (2, 0, 3)])
def test_loops_over_a_box(extents: tuple[int, ...]) -> None:
    builder = FunctionBuilder()
    with builder.loops(extents) as at:
        place = builder.offset("%p", "i64", builder.linear(list(zip(at, [3, 3, 1][: len(at)], strict=True))))
        builder.store("i64", builder.binary("add", "i64", builder.load("i64", place), "1"), place)
    f = callable_of(builder.definition("f", ["ptr %p"], head=""), "f", None, POINTER)
    counts = np.zeros(9, np.int64)
    f(counts.ctypes.data)
    wanted = np.zeros(9, np.int64)
    for at in np.ndindex(*extents):
        wanted[sum(i * s for i, s in zip(at, [3, 3, 1], strict=False))] += 1
    np.testing.assert_array_equal(counts, wanted)


def test_nested_loops_with_blocks_between() -> None:
    """Pairs i < j < n with an even sum, counted: loops and branches inside of a loop do not disturb what it carries."""

    def write(b: FunctionBuilder) -> str:
        with b.loop(0, "%n", [("i64", "0")]) as outer:
            with b.loop(b.add(outer.index, 1), "%n", [("i64", outer.values[0])]) as inner:
                odd = b.cast("trunc", b.add(outer.index, inner.index), "i64", "i1")
                with b.conditional(odd, ["i64"]) as branches:
                    branches.give(inner.values[0])
                    branches.otherwise()
                    branches.give(str(b.add(inner.values[0], 1)))
                inner.carry(branches.results[0])
            outer.carry(inner.results[0])
        return outer.results[0]

    f = integer_function(["%n"], write)
    assert [f(n) for n in range(7)] == [sum((i + j) % 2 == 0 for j in range(n) for i in range(j)) for n in range(7)]


def test_a_while_loop_ends_at_its_first_test_that_fails() -> None:
    """The number of halvings until a number is odd or small, and what is left."""

    def write(b: FunctionBuilder) -> str:
        with b.while_loop([("i64", "%x"), ("i64", 0)]) as loop:
            x, count = loop.values
            loop.test(b.icmp("sgt", "i64", x, "%least"))
            loop.test(b.icmp("eq", "i64", b.binary("and", "i64", x, 1), 0))
            loop.carry(b.binary("ashr", "i64", x, 1), str(b.add(count, 1)))
        return str(b.linear([(loop.values[0], 100)], loop.values[1]))

    f = integer_function(["%x", "%least"], write)
    assert [f(*x) for x in ((40, 0), (40, 12), (7, 0), (0, 0))] == [503, 1002, 700, 0]


def test_a_loop_that_forgets_to_carry_is_refused() -> None:
    builder = FunctionBuilder()
    with pytest.raises(AssertionError, match="carries on"), builder.loop(0, 3, [("i64", "0")]):
        pass


# -- branches


def test_when() -> None:
    builder = FunctionBuilder()
    with builder.when(builder.icmp("sgt", "i64", "%x", 0)):
        builder.store("i64", "%x", "%p")
    f = callable_of(builder.definition("f", ["ptr %p", "i64 %x"], head=""), "f", None, POINTER, I64)
    memory = np.array([-1], np.int64)
    f(memory.ctypes.data, -5)
    assert memory[0] == -1
    f(memory.ctypes.data, 5)
    assert memory[0] == 5


@pytest.mark.parametrize("unless", [False, True])
def test_a_function_may_be_left_early(unless: bool) -> None:
    def write(b: FunctionBuilder) -> str:
        with b.loop(0, "%n", [("i64", 1)]) as loop:
            product = str(b.multiply(loop.values[0], b.add(loop.index, 1)))
            condition = b.icmp("sle" if unless else "sgt", "i64", product, 100)
            with b.leaving(condition, unless=unless):
                b.line("ret i64 -1")
            loop.carry(product)
        return loop.results[0]

    f = integer_function(["%n"], write)
    assert [f(n) for n in (0, 1, 4, 5)] == [1, 1, 24, -1]


def test_a_condition_may_be_said_to_be_rare() -> None:
    builder = FunctionBuilder()
    with builder.when("%c", '!prof !{!"branch_weights", i32 1, i32 4000}'):
        pass
    file_check("\n".join(builder.lines), 'CHECK: br i1 %c, label %when1.then, label %when1.after, !prof !{!"branch_weights", i32 1, i32 4000}')


def test_a_switch_gives_values() -> None:
    def write(b: FunctionBuilder) -> str:
        with b.switch("i64", "%x", ["i64", "i64"]) as switch:
            switch.case(0)
            switch.give("10", "%x")
            switch.case(2, 5)
            with b.loop(0, "%x", [("i64", "0")]) as loop:
                loop.carry(str(b.add(loop.values[0], 3)))
            switch.give(loop.results[0], "1")
            switch.default()
            switch.give("-1", "-1")
        return str(b.add(b.multiply(switch.results[0], 100), switch.results[1]))

    f = integer_function(["%x"], write)
    assert [f(x) for x in (0, 1, 2, 5, 6)] == [1000, -101, 601, 1501, -101]


def test_a_switch_without_values_may_do_nothing() -> None:
    builder = FunctionBuilder()
    with builder.switch("i64", "%x") as switch:
        for number, factor in enumerate(FACTORS):
            switch.case(number)
            builder.store("i64", factor, "%p")
    f = callable_of(builder.definition("f", ["ptr %p", "i64 %x"], head=""), "f", None, POINTER, I64)
    memory = np.zeros(1, np.int64)
    for x in (*range(len(FACTORS)), 99):
        f(memory.ctypes.data, x)
        assert memory[0] == FACTORS[min(x, 2)]


def test_what_is_rarely_done() -> None:
    def write(b: FunctionBuilder) -> str:
        def anew() -> list[str]:
            with b.loop(0, "%x", [("i64", "1")]) as loop:
                loop.carry(str(b.multiply(loop.values[0], 2)))
            return [loop.results[0]]

        return b.rarely(b.icmp("sgt", "i64", "%x", 3), [("i64", "%x")], anew)[0]

    f = integer_function(["%x"], write)
    assert [f(x) for x in (1, 3, 4, 6)] == [1, 3, 16, 64]


def test_a_phi_of_blocks_that_one_writes_oneself() -> None:
    def write(b: FunctionBuilder) -> str:
        here, there, end = b.label("here"), b.label("there"), b.label("end")
        b.line(f"br label %{here}")
        b.line(f"{here}:")
        b.line(f"br i1 {b.icmp('slt', 'i64', '%x', 0)}, label %{there}, label %{end}")
        b.line(f"{there}:")
        minus = b.binary("sub", "i64", "0", "%x")
        b.line(f"br label %{end}")
        b.line(f"{end}:")
        return b.phi("i64", [("%x", here), (minus, there)])

    f = integer_function(["%x"], write)
    assert (f(-4), f(4)) == (4, 4)
