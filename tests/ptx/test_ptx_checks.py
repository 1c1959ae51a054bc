"""Errors that are reported while a kernel runs: each is reported where it happens, and kernels without it are not accused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ptx_programs import image_of, lane_address, launched, module_text

from wengert.runtime import ptx

FIRST = lane_address("%d1", "p0", 4)
SHARED = ".shared .align 16 .b8 words[1024]; .shared .align 16 .b8 others[1024]; .local .align 4 .b8 depot[16];"
MINE = "mov.u32 %r20, %tid.x; mov.u32 %r21, words; mad.lo.u32 %r22, %r20, 4, %r21;"
WORDS = np.arange(256, dtype=np.uint32)


def fault(
    body: str, kind: str, message: str = "", *, threads: int = 64, blocks: int = 2, check: str | None = None, arrays: Any = (WORDS,), **options: Any
) -> ptx.Fault:
    """The fault of a kernel, which is not there if the check for it is off."""
    options.setdefault("variables", SHARED)
    with pytest.raises(ptx.Fault, match=f"{kind}: .*{message}") as caught:
        launched(body, arrays, threads=threads, blocks=blocks, **options)
    assert caught.value.kind == kind
    assert caught.value.diagnostic.line > 0
    if check:
        others = {name: True for name in ("bounds", "initialized", "races", "barriers", "registers") if name != check}
        launched(body, arrays, threads=threads, blocks=blocks, checks=ptx.Checks(**{check: False, **others}), **options)
    return caught.value


def accepted(body: str, *, threads: int = 64, blocks: int = 2, arrays: Any = (WORDS,), **options: Any) -> None:
    options.setdefault("variables", SHARED)
    launched(body, arrays, threads=threads, blocks=blocks, **options)


# -- addresses


def test_an_access_behind_an_allocation() -> None:
    reported = fault(f"{FIRST} st.global.u32 [%d1+12], 0; ret;", "out of bounds", "write of 4 bytes", check="bounds", arrays=[WORDS[:128]])
    assert (reported.thread, reported.block) == ((61, 0, 0), (1, 0, 0))
    assert "st.global.u32" in reported.render()
    assert "test.ptx:" in reported.render()


def test_an_access_before_an_allocation() -> None:
    reported = fault(f"{FIRST} ld.global.u32 %r1, [%d1+-8]; ret;", "out of bounds", "read of 4 bytes")
    assert (reported.thread, reported.block) == ((0, 0, 0), (0, 0, 0))


def test_addresses_that_are_none() -> None:
    fault("mov.u64 %d1, 0; ld.global.u32 %r1, [%d1]; ret;", "out of bounds", "0x0 lie outside of global memory")
    fault(f"{FIRST} cvt.u32.u64 %r1, %d1; cvt.u64.u32 %d2, %r1; ld.global.u32 %r1, [%d2]; ret;", "out of bounds", "outside of global memory")
    fault("mov.u32 %r1, 0; ld.shared.u32 %r1, [%r1]; ret;", "out of bounds", "of shared memory")
    fault("mov.u64 %d1, depot; cvta.local.u64 %d2, %d1; st.local.u32 [%d2], 0; ret;", "out of bounds", "outside of local memory")


def test_an_access_beyond_a_variable() -> None:
    fault(f"{MINE} st.shared.u32 [%r22+1020], %r20; ret;", "out of bounds", "belong to no variable", check="bounds")
    fault("mov.u64 %d1, depot; st.local.u32 [%d1+16], 0; ret;", "out of bounds", "of local memory")


def test_words_that_are_not_aligned() -> None:
    fault(f"{FIRST} ld.global.u32 %r1, [%d1+2]; ret;", "misaligned", "4 bytes at")
    fault(f"{FIRST} ld.global.v2.u32 {{%r1, %r2}}, [%d1+4]; ret;", "misaligned", "8 bytes at", threads=32, blocks=1)


def test_constants_cannot_be_written() -> None:
    fault(
        "mov.u64 %d1, table; st.global.u32 [%d1], 0; ret;", "read only", check="bounds", before=".const .align 4 .u32 table[2] = {1, 2};", threads=1, blocks=1
    )


def test_memory_that_was_given_back() -> None:
    image, memory = image_of(module_text(f"{FIRST} ld.global.u32 %r1, [%d1]; ret;"))
    address = memory.put(WORDS)
    image.launch("kernel", grid=1, block=64, arguments=[address])
    memory.free(address)
    with pytest.raises(ptx.Fault, match="out of bounds"):
        image.launch("kernel", grid=1, block=64, arguments=[address])


# -- contents


def test_memory_that_nobody_wrote() -> None:
    fault(
        f"{FIRST} ld.global.u32 %r1, [%d1]; ret;",
        "uninitialized",
        "global memory, to which nothing was written",
        check="initialized",
        arrays=[(np.uint32, 128)],
    )
    fault(f"{MINE} ld.shared.u32 %r1, [%r22]; ret;", "uninitialized", "shared memory", check="initialized")
    fault("mov.u64 %d1, depot; ld.local.u32 %r1, [%d1+4]; ret;", "uninitialized", "local memory", check="initialized")


def test_words_of_a_vector_that_nobody_looks_at() -> None:
    """LLVM loads four words where three are wanted; the fourth may be anything that is there."""
    three = "mov.u32 %r20, words; st.shared.u32 [%r20], 1; st.shared.u32 [%r20+4], 2; st.shared.u32 [%r20+8], 3; ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r20];"
    accepted(f"{three} add.u32 %r5, %r1, %r2; add.u32 %r6, %r5, %r3; st.shared.u32 [%r20], %r6; ret;", threads=1, blocks=1)
    fault(f"{three} add.u32 %r5, %r1, %r4; st.shared.u32 [%r20], %r5; ret;", "uninitialized", "shared memory", threads=1, blocks=1, check="initialized")


def test_shared_memory_is_fresh_in_every_block() -> None:
    """What one batch of blocks leaves behind, the next one must not read."""
    body = f"""{MINE} mov.u32 %r1, %ctaid.x; setp.lt.u32 %p1, %r1, 250; @%p1 st.shared.u32 [%r22], 1; ld.shared.u32 %r2, [%r22]; ret;"""
    reported = fault(body, "uninitialized", blocks=300, arrays=())
    assert reported.block == (250, 0, 0)


def test_padding_may_be_read_by_vectors() -> None:
    """A vector that reaches beyond the last element, within 16 bytes, as LLVM loads arrays of three."""
    accepted("ld.param.u64 %d1, [p0]; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1]; ret;", arrays=[WORDS[:3]])
    fault("ld.param.u64 %d1, [p0]; st.global.v4.u32 [%d1], {1, 1, 1, 1}; ret;", "read only", arrays=[WORDS[:3]])


def test_registers_that_were_not_written() -> None:
    head = f"{FIRST} setp.lt.u32 %p1, %r32, 10;"
    reported = fault(f"{head} @%p1 mov.u32 %r1, 5; st.global.u32 [%d1], %r1; ret;", "undefined register", "'%r1' is read before", check="registers", blocks=1)
    assert reported.thread == (10, 0, 0)
    fault(f"{head} @%p1 bra skip; mov.u32 %r1, 5; skip: add.u32 %r2, %r1, 1; ret;", "undefined register", check="registers")
    accepted(f"{head} @%p1 mov.u32 %r1, 5; @!%p1 mov.u32 %r1, 6; st.global.u32 [%d1], %r1; ret;")
    accepted(
        f"{head} mov.u32 %r2, 0; loop: setp.gt.u32 %p2, %r2, 0; @%p2 add.u32 %r3, %r1, 1; mov.u32 %r1, 5; add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 3; @%p3 bra loop; ret;"
    )


# -- races

NEIGHBOUR = "xor.b32 %r23, %r20, 33; mad.lo.u32 %r23, %r23, 4, %r21;"


def test_a_barrier_that_is_missing() -> None:
    """Each thread reads what one of another warp writes."""
    body = f"{MINE} {NEIGHBOUR} st.shared.u32 [%r22], %r20; BARRIER ld.shared.u32 %r1, [%r23]; ret;"
    accepted(body.replace("BARRIER", "bar.sync 0;"))
    reported = fault(body.replace("BARRIER", ""), "race", r"are read while thread \(\d+, 0, 0\) of block \(0, 0, 0\) may use them", check="races")
    assert reported.block == (0, 0, 0)


def test_a_write_after_a_read() -> None:
    body = f"{MINE} {NEIGHBOUR} st.shared.u32 [%r22], %r20; bar.sync 0; ld.shared.u32 %r1, [%r23]; BARRIER st.shared.u32 [%r22], %r1; ret;"
    accepted(body.replace("BARRIER", "bar.sync 0;"))
    fault(body.replace("BARRIER", ""), "race", "are written while", check="races")


def test_two_writes_of_one_word() -> None:
    fault(f"{MINE} st.shared.u32 [words], %r20; ret;", "race", "are written while", check="races")
    fault(f"{MINE} shr.u32 %r1, %r20, 1; mad.lo.u32 %r1, %r1, 4, %r21; st.shared.u32 [%r1], 0; ret;", "race")
    accepted(
        f"{MINE} setp.eq.u32 %p1, %r20, 0; @%p1 st.shared.u32 [words], %r20; bar.sync 0; setp.eq.u32 %p1, %r20, 40; @%p1 st.shared.u32 [words], %r20; ret;"
    )


def test_many_readers_and_one_writer() -> None:
    """The word that all read is written by one of them, and by one whose own read was not the last."""
    for writer in (0, 5, 63):
        body = f"{MINE} setp.eq.u32 %p1, %r20, {writer}; @%p1 st.shared.u32 [words], 1; bar.sync 0; ld.shared.u32 %r1, [words]; BARRIER @%p1 st.shared.u32 [words], 2; ret;"
        fault(body.replace("BARRIER", ""), "race")
        accepted(body.replace("BARRIER", "bar.sync 0;"))


def test_threads_of_a_warp_are_ordered_by_their_barrier_only() -> None:
    body = f"{MINE} xor.b32 %r23, %r20, 1; mad.lo.u32 %r23, %r23, 4, %r21; st.shared.u32 [%r22], %r20; BARRIER ld.shared.u32 %r1, [%r23]; ret;"
    accepted(body.replace("BARRIER", "bar.warp.sync -1;"))
    fault(body.replace("BARRIER", ""), "race")
    fault(body.replace("BARRIER", "bar.warp.sync -1;").replace("%r20, 1;", "%r20, 32;"), "race")


def test_barriers_of_some_warps_order_only_them() -> None:
    body = f"{MINE} xor.b32 %r23, %r20, WHO; mad.lo.u32 %r23, %r23, 4, %r21; st.shared.u32 [%r22], %r20; shr.u32 %r2, %r20, 6; add.u32 %r2, %r2, 1; bar.sync %r2, 64; ld.shared.u32 %r1, [%r23]; ret;"
    accepted(body.replace("WHO", "32"), threads=128)
    fault(body.replace("WHO", "64"), "race", threads=128)


def test_races_in_global_memory() -> None:
    """Between threads of a block, between blocks, and between blocks that do not run side by side."""
    parameter = "ld.param.u64 %d2, [p0];"
    fault(f"{parameter} st.global.u32 [%d2], 1; ret;", "race", check="races", blocks=1)
    fault(
        f"{parameter} mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%d2], 1; ret;", "race", r"block \(1, 0, 0\) may use them", check="races"
    )
    body = f"{parameter} mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; or.b32 %r1, %r1, %r2; setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%d2], 1;"
    accepted(f"{body} ret;", blocks=500)
    reported = fault(f"{body} setp.eq.u32 %p2, %r2, 499; @%p2 ld.global.u32 %r3, [%d2]; ret;", "race", r"block \(0, 0, 0\) may use them", blocks=500)
    assert reported.block == (499, 0, 0)


def test_launches_are_in_order() -> None:
    image, memory = image_of(module_text(f"{FIRST} xor.b64 %d2, %d1, 64; ld.global.u32 %r1, [%d1]; st.global.u32 [%d1], %r1; ret;"))
    address = memory.put(WORDS)
    for _ in range(3):
        image.launch("kernel", grid=2, block=64, arguments=[address])


def test_bytes_beside_each_other_do_not_race() -> None:
    accepted(f"{lane_address('%d1', 'p0', 1)} st.global.u8 [%d1], 1; ret;", arrays=[WORDS])
    accepted(f"{MINE} add.u32 %r1, %r21, %r20; st.shared.u8 [%r1], 1; ret;")


def test_atomic_operations_do_not_race_with_each_other() -> None:
    parameter = "ld.param.u64 %d2, [p0];"
    accepted(f"{parameter} red.global.add.u32 [%d2], 1; atom.global.max.u32 %r1, [%d2], 7; ret;")
    accepted(f"{parameter} st.volatile.global.u32 [%d2], 1; ld.relaxed.gpu.global.u32 %r1, [%d2]; ret;")
    fault(f"{parameter} red.global.add.u32 [%d2], 1; ld.global.u32 %r1, [%d2]; ret;", "race", "are read")
    fault(f"{parameter} ld.global.u32 %r1, [%d2]; red.global.add.u32 [%d2], 1; ret;", "race", "are written")
    fault(f"{MINE} setp.eq.u32 %p1, %r20, 0; @%p1 st.shared.u32 [words], 0; @!%p1 red.shared.add.u32 [words], 1; ret;", "race", check="races")


def test_the_first_guess_of_a_loop_of_compare_and_swap_does_not_race() -> None:
    loop = "again: add.u32 %r3, %r2, 1; atom.global.cas.b32 %r4, [%d2], %r2, %r3; setp.ne.b32 %p1, %r4, %r2; mov.b32 %r2, %r4; @%p1 bra again; ret;"
    accepted(f"ld.param.u64 %d2, [p0]; ld.global.b32 %r2, [%d2]; {loop}")
    fault(f"ld.param.u64 %d2, [p0]; ld.global.b32 %r2, [%d2]; ld.param.u64 %d3, [p0]; ld.global.b32 %r5, [%d3]; {loop}", "race", "are written")


# -- barriers


def test_a_barrier_that_some_threads_pass_by() -> None:
    body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, LIMIT; @%p1 bra skip; bar.sync 0; skip: ret;"
    for limit in ("32", "7", "63"):
        fault(body.replace("LIMIT", limit), "divergence", "does not reach, since it has ended", check="barriers")
    accepted(body.replace("LIMIT", "0"))
    accepted(body.replace("LIMIT", "64"))


def test_two_barriers_for_two_sides_of_a_branch() -> None:
    body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, LIMIT; @%p1 bra other; bar.sync 0; ret; other: bar.sync 0; ret;"
    for limit in ("32", "7"):
        fault(body.replace("LIMIT", limit), "divergence", "wait at the barriers of lines", check="barriers")
    accepted(body.replace("LIMIT", "64"))


def test_threads_that_wait_for_ever() -> None:
    head = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;"
    fault(f"{head} @%p1 bra skip; bar.sync 1; ret; skip: bar.sync 2; ret;", "deadlock", "to which others do not come")
    fault(f"{head} bar.sync 1, 96; ret;", "deadlock")
    half = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16;"
    fault(f"{half} @%p1 bra low; bar.warp.sync -1; ret; low: bar.warp.sync -1; ret;", "deadlock", "wait for others of their mask", threads=32)
    fault(f"{half} @%p1 bra low; bar.warp.sync 0xFFFF; ret; low: bar.warp.sync 0xFFFF; ret;", "invalid operand", "leaves out the thread", threads=32)


def test_a_shuffle_waits_for_the_other_side_of_a_branch() -> None:
    """The threads of a warp come to the shuffle on two ways, one of them by a jump back."""
    body = f"""{FIRST} setp.lt.u32 %p1, %r32, 16; bra start;
    meet: shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1; st.global.u32 [%d1], %r2; ret;
    start: mov.u32 %r1, 7; @%p1 bra meet; mov.u32 %r1, 8; bra meet;"""
    assert launched(body, [WORDS[:32]])[0].tolist() == [8] * 16 + [7] * 16


def test_no_checks_at_all() -> None:
    body = f"{FIRST} add.u32 %r1, %r2, 1; st.global.u32 [%d1], 3; ld.param.u64 %d2, [p0]; st.global.u32 [%d2], 3; ret;"
    assert launched(body, [(np.uint32, 128)], threads=64, blocks=2, checks=ptx.Checks.none())[0].tolist() == [3] * 128
