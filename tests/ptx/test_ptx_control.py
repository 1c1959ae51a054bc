"""Branches, calls, barriers, and how many blocks and threads there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ptx_programs import HEADER, image_of, lane_address, launched, module_text

from wengert.runtime import ptx

FIRST = lane_address("%d1", "p0", 4)


def outcome(body: str, threads: int = 32, blocks: int = 1, **options: Any) -> list[int]:
    """%r9 of every thread after a body that has the thread's number in %r1."""
    text = f"{FIRST} mov.u32 %r1, %r30; {body} st.global.u32 [%d1], %r9; ret;"
    return launched(text, [(np.uint32, threads * blocks)], threads=threads, blocks=blocks, **options)[0].tolist()


def test_loops_of_different_lengths() -> None:
    body = """mov.u32 %r2, %r1; mov.u32 %r9, 0; setp.eq.u32 %p1, %r2, 1; @%p1 bra end;
    loop: and.b32 %r3, %r2, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra even;
    mad.lo.u32 %r2, %r2, 3, 1; bra.uni next;
    even: shr.u32 %r2, %r2, 1;
    next: add.u32 %r9, %r9, 1; setp.gt.u32 %p1, %r2, 1; @%p1 bra loop;
    end:"""

    def collatz(n: int) -> int:
        steps = 0
        while True:
            if n == 1 and not steps:
                return 0
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
            if n <= 1:
                return steps

    assert outcome(body, 64, 3) == [collatz(i) for i in range(192)]


def test_branches_by_index() -> None:
    body = """rem.u32 %r2, %r1, 3; table: .branchtargets a, b, c; brx.idx %r2, table;
    c: mov.u32 %r9, 30; bra end; a: mov.u32 %r9, 10; bra end; b: mov.u32 %r9, 20; end:"""
    assert outcome(body, 40) == [10 * (1 + i % 3) for i in range(40)]
    with pytest.raises(ptx.Fault, match="invalid operand: index 2 of a table of 2 branches, by thread"):
        outcome(body.replace("a, b, c;", "a, b;"))


def test_guarded_instructions() -> None:
    body = "setp.lt.u32 %p1, %r1, 10; mov.u32 %r9, 1; @%p1 mov.u32 %r9, 2; @!%p1 add.u32 %r9, %r9, 10; @%p1 bra end; add.u32 %r9, %r9, 100; end:"
    assert outcome(body) == [2] * 10 + [111] * 22


def test_threads_that_end_early() -> None:
    body = "mov.u32 %r9, 1; st.global.u32 [%d1], %r9; setp.lt.u32 %p1, %r1, 20; @%p1 exit; mov.u32 %r9, 2;"
    assert outcome(body) == [1] * 20 + [2] * 12


FUNCTIONS = """
.func (.param .b32 result) power(.param .b32 base, .param .b32 exponent)
{
  .reg .b32 %r<4>; .reg .pred %p1;
  ld.param.b32 %r1, [base]; ld.param.b32 %r2, [exponent]; mov.b32 %r3, 1;
loop: setp.eq.u32 %p1, %r2, 0; @%p1 bra done;
  mul.lo.u32 %r3, %r3, %r1; sub.u32 %r2, %r2, 1; bra loop;
done: st.param.b32 [result], %r3; ret;
}
.func store(.param .b64 place, .param .align 4 .b8 pair[8])
{
  .reg .b32 %r<4>; .reg .b64 %d<2>; .reg .pred %p1;
  ld.param.b64 %d1, [place]; ld.param.b32 %r1, [pair]; ld.param.b32 %r2, [pair+4];
  setp.gt.u32 %p1, %r1, 100; @%p1 ret;
  { .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %r2; st.param.b32 [b], 2; call.uni (c), power, (a, b); ld.param.b32 %r2, [c]; }
  add.u32 %r3, %r1, %r2; st.global.u32 [%d1], %r3; ret;
}
"""


def test_functions_call_functions() -> None:
    body = f"""{FIRST} mov.u32 %r1, %r30; mov.u32 %r9, 0; st.global.u32 [%d1], %r9;
    {{ .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], 3; st.param.b32 [b], %r1; call (c), power, (a, b); ld.param.b32 %r2, [c]; }}
    setp.lt.u32 %p1, %r1, 8;
    {{ .param .b64 a; .param .align 4 .b8 b[8]; st.param.b64 [a], %d1; st.param.b32 [b], %r2; st.param.b32 [b+4], %r1; @%p1 call store, (a, b); }}
    ret;"""
    got = launched(body, [(np.uint32, 32)], before=FUNCTIONS)[0].tolist()
    assert got == [3**i + i * i if i < 8 and 3**i <= 100 else 0 for i in range(32)]


def test_functions_with_barriers_and_shared_memory() -> None:
    """All threads of a block meet within a function, which has one shared variable for all its calls."""
    before = """.func (.param .b32 result) turned(.param .b32 value) {
    .reg .b32 %r<9>; .shared .align 4 .b8 words[256];
    ld.param.b32 %r1, [value]; mov.u32 %r2, %tid.x; mov.u32 %r3, words; mad.lo.u32 %r4, %r2, 4, %r3; st.shared.b32 [%r4], %r1; bar.sync 0;
    mov.u32 %r5, %ntid.x; sub.u32 %r5, %r5, 1; sub.u32 %r5, %r5, %r2; mad.lo.u32 %r6, %r5, 4, %r3; ld.shared.b32 %r7, [%r6]; bar.sync 0;
    st.param.b32 [result], %r7; ret; }"""
    call = "{ .param .b32 a; .param .b32 c; st.param.b32 [a], %r9; call (c), turned, (a); ld.param.b32 %r9, [c]; }"
    assert outcome(f"mov.u32 %r9, %r1; {call}", 64, 2, before=before) == [*range(63, -1, -1), *range(127, 63, -1)]
    assert outcome(f"mov.u32 %r9, %r1; {call} {call}", 64, 2, before=before) == list(range(128))


def test_recursion_and_foreign_functions_are_refused() -> None:
    recursive = ".func f() { call f, (); ret; }"
    with pytest.raises(ptx.UnsupportedError, match="'f' calls itself"):
        launched("call f, (); ret;", before=recursive)
    with pytest.raises(ptx.UnsupportedError, match="function 'g' has no body in this module"):
        launched("call g, (); ret;", before=".extern .func g();")
    with pytest.raises(ptx.ParseError, match="'f' takes 0 arguments and gives 0 results, not 1 and 0"):
        launched("{ .param .b32 a; call f, (a); } ret;", before=".func f() { ret; }")


SHARED = ".shared .align 4 .b8 words[4096];"
MINE = "mov.u32 %r20, %tid.x; mov.u32 %r21, words; mad.lo.u32 %r22, %r20, 4, %r21;"


@pytest.mark.parametrize("threads", [32, 96, 100, 256])
def test_a_sum_over_a_block(threads: int) -> None:
    """A tree of sums with a barrier after each step; the number of threads need be no power of two."""
    body = f"""{MINE} st.shared.u32 [%r22], %r1; mov.u32 %r2, 512;
    loop: bar.sync 0; add.u32 %r3, %r20, %r2; mov.u32 %r5, %ntid.x; setp.lt.u32 %p1, %r3, %r5; setp.lt.and.u32 %p1, %r20, %r2, %p1;
    shl.b32 %r4, %r2, 2; add.u32 %r4, %r22, %r4; @!%p1 bra skip;
    ld.shared.u32 %r6, [%r4]; ld.shared.u32 %r7, [%r22]; add.u32 %r7, %r7, %r6; st.shared.u32 [%r22], %r7;
    skip: shr.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra loop;
    bar.sync 0; ld.shared.u32 %r9, [words];"""
    numbers = np.arange(3 * threads).reshape(3, threads)
    assert outcome(body, threads, 3, variables=SHARED) == np.repeat(numbers.sum(1), threads).tolist()


def test_named_barriers_of_some_warps() -> None:
    """Warps 0 and 1 exchange by barrier 1, warps 2 and 3 by barrier 2."""
    body = f"""{MINE} st.shared.u32 [%r22], %r1; shr.u32 %r2, %r20, 6; add.u32 %r3, %r2, 1; bar.sync %r3, 64;
    xor.b32 %r4, %r20, 32; mad.lo.u32 %r5, %r4, 4, %r21; ld.shared.u32 %r9, [%r5];"""
    assert outcome(body, 128, 2, variables=SHARED) == [i ^ 32 for i in range(256)]


def test_producers_and_consumers() -> None:
    """Warp 1 writes and arrives, warp 0 waits and reads; warp 1 does not wait."""
    body = f"""{MINE} mov.u32 %r9, 5; setp.ge.u32 %p1, %r20, 32; @%p1 bra produce;
    bar.sync 1, 64; ld.shared.u32 %r9, [%r22+128]; bra end;
    produce: st.shared.u32 [%r22], %r1; bar.arrive 1, 64; end:"""
    assert outcome(body, 64, variables=SHARED) == [*range(32, 64), *[5] * 32]


@pytest.mark.parametrize(("mode", "wanted"), [("popc.u32", 40), ("and.pred", 0), ("or.pred", 1)])
def test_barriers_that_count(mode: str, wanted: int) -> None:
    target = "%r9" if mode.startswith("popc") else "%p2"
    body = f"setp.lt.u32 %p1, %r1, 40; bar.red.{mode} {target}, 0, %p1;" + ("" if target == "%r9" else "selp.b32 %r9, 1, 0, %p2;")
    assert outcome(body, 64) == [wanted] * 64


def test_coordinates() -> None:
    """Three dimensions of blocks and of threads, more blocks than run side by side."""
    body = """mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z;
    mov.u32 %r7, %ntid.x; mov.u32 %r8, %ntid.y; mov.u32 %r9, %ntid.z; mov.u32 %r10, %nctaid.x; mov.u32 %r11, %nctaid.y;
    mad.lo.u32 %r12, %r3, %r8, %r2; mad.lo.u32 %r12, %r12, %r7, %r1; mad.lo.u32 %r13, %r6, %r11, %r5; mad.lo.u32 %r13, %r13, %r10, %r4;
    mul.lo.u32 %r14, %r7, %r8; mul.lo.u32 %r14, %r14, %r9; mad.lo.u32 %r15, %r13, %r14, %r12;
    ld.param.u64 %d1, [p0]; mul.wide.u32 %d2, %r15, 4; add.u64 %d1, %d1, %d2;
    mul.lo.u32 %r16, %r4, 1000000; mad.lo.u32 %r16, %r5, 10000, %r16; mad.lo.u32 %r16, %r1, 100, %r16; mad.lo.u32 %r16, %r2, 10, %r16; add.u32 %r16, %r16, %r3;
    st.global.u32 [%d1], %r16; ret;"""
    image, memory = image_of(module_text(body))
    grid, block = (70, 3, 2), (5, 4, 3)
    out = memory.allocate(4 * 70 * 6 * 60)
    image.launch("kernel", grid=grid, block=block, arguments=[out])
    got = memory.read(out, (2, 3, 70, 3, 4, 5), np.uint32)
    _, by, bx, tz, ty, tx = np.indices(got.shape)
    np.testing.assert_array_equal(got, bx * 1000000 + by * 10000 + tx * 100 + ty * 10 + tz)


def test_more_blocks_than_run_side_by_side() -> None:
    assert outcome("mov.u32 %r9, %r1;", 256, 300) == list(range(256 * 300))


def test_launches_that_do_not_fit() -> None:
    image, memory = image_of(module_text("ret;", directives=".reqntid 64, 1, 1"))
    image.launch("kernel", grid=1, block=64, arguments=[0])
    for grid, block, arguments, message in [
        (1, 32, [0], "is for blocks of"),
        (1, 64, [], "takes 1 arguments, not 0"),
        (1, 64, [np.float32(1)], "'p0' has 8 bytes, its argument 4"),
        (1, 64, [1.5], "NumPy scalar"),
        (1, 64, [1 << 64], "'p0' has 8 bytes"),
        (0, 64, [0], "one to three positive extents"),
        ((1, 70000), 64, [0], "at most 65535 blocks"),
    ]:
        with pytest.raises(ptx.LaunchError, match=message):
            image.launch("kernel", grid=grid, block=block, arguments=arguments)
    with pytest.raises(ptx.LaunchError, match="no kernel 'kernal': did you mean 'kernel'"):
        image.launch("kernal", grid=1, block=64, arguments=[0])
    image, _ = image_of(module_text("ret;", directives=".maxntid 128", variables=".shared .b8 much[240000];"), memory)
    for block, message in ((256, "at most 128 threads"), (64, "240000 bytes of shared memory")):
        with pytest.raises(ptx.LaunchError, match=message):
            image.launch("kernel", grid=1, block=block, arguments=[0])
    image, _ = image_of(module_text("ret;"))
    with pytest.raises(ptx.LaunchError, match="at most 1024 threads"):
        image.launch("kernel", grid=1, block=2048, arguments=[0])


def test_endless_loops_are_ended() -> None:
    image, _ = image_of(module_text("loop: bra loop;", parameters=()))
    with pytest.raises(ptx.Fault, match="step limit: more than 1000 instructions") as caught:
        image.launch("kernel", grid=1, block=32, arguments=[], limit=1000)
    assert caught.value.kind == "step limit"


def test_traps() -> None:
    body = f"{HEADER}.visible .entry kernel() {{ .reg .b32 %r1; .reg .pred %p1; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 7; @%p1 trap; ret; }}"
    image, _ = image_of(body)
    with pytest.raises(ptx.Fault, match=r"trap: .*by thread \(7, 0, 0\) of block \(0, 0, 0\)"):
        image.launch("kernel", grid=1, block=32, arguments=[])
