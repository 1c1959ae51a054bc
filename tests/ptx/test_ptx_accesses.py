"""Loads, stores and atomic operations."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ptx_programs import HEADER, image_of, lane_address, launched, module_text

from wengert.runtime import ptx

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("space", ["global", "shared", "local", "generic"])
def test_words_of_each_width(space: str, bits: int) -> None:
    register = {8: "%h", 16: "%h", 32: "%r", 64: "%d"}[bits]
    size = bits // 8
    body = f"""{lane_address("%d1", "p0", size)} {lane_address("%d2", "p1", size)}
    ld.global.b{bits} {register}11, [%d1];
    mov.b64 %d4, {"buffer" if space != "local" else "depot"}; mov.u32 %r5, %tid.x; mul.wide.u32 %d5, %r5, {size};
    add.u64 %d4, %d4, {"%d5" if space != "local" else "0"};"""
    if space == "global":
        body += f"mov.b64 {register}12, {register}11;" if bits == 64 else f"mov.b{max(bits, 16)} {register}12, {register}11;"
    elif space == "generic":
        body += f"cvta.shared.u64 %d6, %d4; st.b{bits} [%d6], {register}11; ld.b{bits} {register}12, [%d6];"
    else:
        body += f"st.{space}.b{bits} [%d4], {register}11; ld.{space}.b{bits} {register}12, [%d4];"
    body += f"st.global.b{bits} [%d2], {register}12; ret;"
    x = RNG.integers(0, np.iinfo(f"u{size}").max, 128, dtype=f"u{size}", endpoint=True)
    variables = f".shared .align 8 .b8 buffer[{64 * size}]; .local .align 8 .b8 depot[8];"
    np.testing.assert_array_equal(launched(body, [x, (x.dtype, 128)], threads=64, blocks=2, variables=variables)[1], x)


def test_vectors_and_extension() -> None:
    body = f"""{lane_address("%d1", "p0", 4)} {lane_address("%d2", "p1", 16)}
    ld.global.v4.s8 {{%r1, %r2, %r3, %r4}}, [%d1];
    st.global.v4.b32 [%d2], {{%r1, %r2, %r3, %r4}};
    ret;"""
    x = np.arange(-64, 64).astype(np.int8)
    np.testing.assert_array_equal(launched(body, [x, (np.int32, 128)])[1], x)


def test_generic_addresses_of_several_spaces_at_once() -> None:
    """Even threads write to shared memory and odd ones to global memory, by one instruction."""
    body = f"""{lane_address("%d1", "p0", 4)}
    mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; mov.b64 %d3, buffer; add.u64 %d3, %d3, %d2;
    st.shared.b32 [%d3], 7; cvta.shared.u64 %d4, %d3; cvta.global.u64 %d5, %d1;
    and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; selp.b64 %d6, %d4, %d5, %p1;
    st.b32 [%d6], %r1; isspacep.shared %p2, %d6; isspacep.global %p3, %d6;
    ld.b32 %r3, [%d6];
    selp.b32 %r4, 100, 0, %p2; selp.b32 %r5, 1000, 0, %p3; add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5;
    ld.shared.b32 %r6, [%d3]; @!%p1 add.u32 %r3, %r3, %r6;
    st.global.b32 [%d1], %r3;
    ret;"""
    got = launched(body, [(np.uint32, 32)], variables=".shared .align 4 .b8 buffer[128];")[0]
    assert got.tolist() == [i + (100 if i % 2 == 0 else 1007) for i in range(32)]


def test_variables_of_a_module() -> None:
    before = """
    .const .align 8 .b8 table[24] = {0, 0, 0, 0, 0, 0, 240, 63, 0, 0, 0, 0, 0, 0, 0, 64};
    .global .align 4 .u32 numbers[3] = {10, 20, 30};
    .global .align 8 .u64 pointer = generic(numbers) + 4;
    .global .f32 half = 0.5;"""
    body = f"""{lane_address("%d1", "p0", 8)}
    mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 8; mov.b64 %d3, table; add.u64 %d3, %d3, %d2;
    ld.const.f64 %d4, [%d3];
    ld.global.u64 %d5, [pointer]; ld.global.u32 %r2, [%d5]; cvt.rn.f64.u32 %d6, %r2; add.rn.f64 %d4, %d4, %d6;
    ld.global.f32 %r3, [half]; cvt.f64.f32 %d7, %r3; add.rn.f64 %d4, %d4, %d7;
    ld.const.b8 %r4, [table+7]; cvt.rn.f64.u32 %d8, %r4; add.rn.f64 %d4, %d4, %d8;
    st.global.f64 [%d1], %d4; ret;"""
    assert launched(body, [(np.float64, 3)], threads=3, before=before)[0].tolist() == [1 + 20.5 + 63, 2 + 20.5 + 63, 20.5 + 63]


def test_arguments_of_every_kind() -> None:
    parameters = ".param .u64 p0, .param .f32 p1, .param .align 8 .b8 p2[12], .param .u8 p3, .param .s16 p4"
    text = f"""{HEADER}.visible .entry kernel({parameters}) {{
    .reg .b64 %d<3>; .reg .b32 %r<6>; .reg .b16 %h<2>;
    ld.param.u64 %d1, [p0]; ld.param.f32 %r1, [p1]; ld.param.b32 %r2, [p2+8]; ld.param.u8 %r3, [p3]; ld.param.s16 %r4, [p4];
    mov.b64 %d2, p2; ld.param.b32 %r5, [%d2+4];
    st.global.f32 [%d1], %r1; st.global.b32 [%d1+4], %r2; st.global.b32 [%d1+8], %r3; st.global.b32 [%d1+12], %r4; st.global.b32 [%d1+16], %r5; ret; }}"""
    image, memory = image_of(text)
    out = memory.allocate(20)
    image.launch("kernel", grid=1, block=1, arguments=[out, np.float32(2.5), np.array([1, 2, 3], np.int32), 200, -5])
    words = memory.read(out, 5, np.int32)
    assert words[0:1].view(np.float32).tolist() == [2.5]
    assert words[1:].tolist() == [3, 200, -5, 2]


def test_shared_memory_of_the_launch() -> None:
    body = f"""{lane_address("%d1", "p0", 4)}
    mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; mov.b64 %d3, pool; add.u64 %d3, %d3, %d2;
    st.shared.u32 [%d3], %r1; mov.u32 %r2, %dynamic_smem_size;
    ld.shared.u32 %r3, [%d3]; add.u32 %r3, %r3, %r2; st.global.u32 [%d1], %r3; ret;"""
    text = module_text(body, before=".extern .shared .align 16 .b8 pool[];")
    image, memory = image_of(text)
    out = memory.allocate(128)
    image.launch("kernel", grid=1, block=32, arguments=[out], shared_bytes=128)
    assert memory.read(out, 32, np.uint32).tolist() == [128 + i for i in range(32)]
    with pytest.raises(ptx.Fault, match=r"out of bounds: .* of shared memory"):
        image.launch("kernel", grid=1, block=32, arguments=[out], shared_bytes=64)


# -- atomic operations


def atomics(operation: str, type: str, start: Any, values: Any, *, space: str = "global", old: bool = True) -> tuple[Any, Any]:
    """What is left of an array after each thread has applied its value to element ``thread % len``, and what the threads saw."""
    size = start.dtype.itemsize
    r = {2: "%h", 4: "%r", 8: "%d"}[size]
    number = len(start)
    body = f"""{lane_address("%d1", "p1", size)} {lane_address("%d2", "p2", size)}
    mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, {number}; ld.param.u64 %d3, [p0]; mul.wide.u32 %d4, %r2, {size};
    add.u64 %d5, %d3, %d4; mov.b64 %d6, buffer; add.u64 %d6, %d6, %d4; ld.global.b{8 * size} {r}7, [%d1];"""
    if space == "shared":
        body += f"setp.lt.u32 %p1, %r1, {number}; @%p1 ld.global.b{8 * size} {r}8, [%d5]; @%p1 st.shared.b{8 * size} [%d6], {r}8; bar.sync 0;"
    place = "%d6" if space == "shared" else "%d5"
    body += (
        f"atom.{space}.{operation}.{type} {r}9, [{place}], {r}7; st.global.b{8 * size} [%d2], {r}9;"
        if old
        else f"red.{space}.{operation}.{type} [{place}], {r}7;"
    )
    if space == "shared":
        body += f"bar.sync 0; @%p1 ld.shared.b{8 * size} {r}8, [%d6]; @%p1 st.global.b{8 * size} [%d5], {r}8;"
    results = launched(f"{body} ret;", [start, values, np.zeros_like(values)], threads=len(values), variables=".shared .align 8 .b8 buffer[256];")
    return results[0], results[2]


def in_turn(start: Any, values: Any, function: Any) -> tuple[Any, Any]:
    left, seen = start.copy(), np.zeros_like(values)
    for k, value in enumerate(values):
        seen[k] = left[k % len(left)]
        left[k % len(left)] = function(left[k % len(left)], value)
    return left, seen


OPERATIONS = {
    "add": lambda a, b: a + b,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "exch": lambda a, b: b,
    "inc": lambda a, b: 0 if a >= b else a + 1,
    "dec": lambda a, b: b if a == 0 or a > b else a - 1,
}


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_atomic_integers(operation: str, space: str) -> None:
    bitwise = operation in ("and", "or", "xor", "exch")
    for type in ("u32",) if operation in ("inc", "dec") else ("b32", "b64") if bitwise else ("u32", "s32", "u64", *(("s64",) if operation != "add" else ())):
        dtype = np.dtype(f"{'i' if type[0] == 's' else 'u'}{int(type[1:]) // 8}")
        limits = np.iinfo(dtype)
        start = RNG.integers(limits.min, limits.max, 5, dtype=dtype)
        values = RNG.integers(limits.min, limits.max, 64, dtype=dtype)
        left, seen = atomics(operation, type, start, values, space=space)
        wanted, wanted_seen = in_turn(start, values, OPERATIONS[operation])
        np.testing.assert_array_equal(left, wanted)
        np.testing.assert_array_equal(seen, wanted_seen)
        if operation != "exch":
            np.testing.assert_array_equal(atomics(operation, type, start, values, space=space, old=False)[0], wanted)


@pytest.mark.parametrize("space", ["global", "shared"])
def test_atomic_sums_of_floats(space: str) -> None:
    for dtype, type in ((np.float32, "f32"), (np.float64, "f64")):
        start, values = RNG.normal(size=3).astype(dtype), RNG.normal(size=64).astype(dtype)
        wanted, seen = in_turn(start, values, lambda a, b: a + b)
        got = atomics("add", type, start, values, space=space)
        np.testing.assert_array_equal(got[0], wanted)
        np.testing.assert_array_equal(got[1], seen)
        np.testing.assert_array_equal(atomics("add", type, start, values, space=space, old=False)[0], wanted)


@pytest.mark.parametrize(("type", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_atomic_sums_of_halves(type: str, dtype: Any) -> None:
    start, values = RNG.normal(size=6).astype(dtype), RNG.normal(size=128).astype(dtype)
    single = atomics("add.noftz", type, start[:3].view(np.uint16), values.view(np.uint16)[:64])[0]
    np.testing.assert_array_equal(single.view(dtype), in_turn(start[:3], values[:64], lambda a, b: a + b)[0])
    packed = atomics("add.noftz", f"{type}x2", start.view(np.uint32), values.view(np.uint32))[0].view(dtype)
    for half in (0, 1):
        np.testing.assert_array_equal(packed[half::2], in_turn(start[half::2], values[half::2], lambda a, b: a + b)[0])


def test_global_sums_flush_subnormal_numbers_and_shared_ones_do_not() -> None:
    tiny = np.float32(1e-40)
    start, values = np.zeros(1, np.float32), np.full(4, tiny, np.float32)
    assert atomics("add", "f32", start, values)[0][0] == 0
    assert atomics("add", "f32", start, values, space="shared")[0][0] == 4 * tiny


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_compare_and_swap_takes_turns(bits: int) -> None:
    """Only one thread finds the word free; each of the others sees it taken."""
    r = {16: "%h", 32: "%r", 64: "%d"}[bits]
    body = f"""{lane_address("%d1", "p1", bits // 8)} ld.param.u64 %d2, [p0];
    mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1; cvt.u{bits}.u32 {r}8, %r2;
    atom.global.cas.b{bits} {r}9, [%d2], 0, {r}8; st.global.b{bits} [%d1], {r}9; ret;"""
    dtype = np.dtype(f"u{bits // 8}")
    word, seen = launched(body, [np.zeros(1, dtype), (dtype, 32)])
    assert word.tolist() == [1]
    assert seen.tolist() == [0] + [1] * 31


def test_a_loop_of_compare_and_swap() -> None:
    """The maximum of floats, as LLVM writes it."""
    body = f"""{lane_address("%d1", "p1", 4)} ld.param.u64 %d2, [p0]; ld.global.b32 %r1, [%d1]; ld.relaxed.gpu.global.b32 %r2, [%d2];
    again: max.f32 %r3, %r2, %r1; atom.relaxed.sys.global.cas.b32 %r4, [%d2], %r2, %r3;
    setp.ne.b32 %p1, %r4, %r2; mov.b32 %r2, %r4; @%p1 bra again; ret;"""
    values = RNG.normal(size=64).astype(np.float32)
    assert launched(body, [np.full(1, -100, np.float32), values], threads=32, blocks=2)[0][0] == values.max()
