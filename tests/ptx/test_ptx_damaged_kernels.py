"""Kernels that are right, damaged in one place: the interpreter reports the damage, or the result is wrong. None of it goes by unseen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from ptx_programs import image_of, module_text

from wengert.runtime import ptx

COLUMNS, ROWS = 150, 3

ROW_SUMS = f"""
ld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mul.lo.u32 %r3, %r2, {COLUMNS}; mul.wide.u32 %d3, %r3, 4; add.u64 %d3, %d1, %d3;
mov.f32 %r10, 0f00000000; mov.u32 %r4, %r1;
LOOP: mul.wide.u32 %d4, %r4, 4; add.u64 %d4, %d3, %d4; ld.global.f32 %r11, [%d4]; add.rn.f32 %r10, %r10, %r11;
add.u32 %r4, %r4, 64; setp.lt.u32 %p1, %r4, {COLUMNS}; @%p1 bra LOOP;
mov.u32 %r5, sums; mad.lo.u32 %r6, %r1, 4, %r5; st.shared.f32 [%r6], %r10;
bar.sync 0;
mov.u32 %r7, 32;
TREE: setp.ge.u32 %p2, %r1, %r7; @%p2 bra SKIP;
mad.lo.u32 %r8, %r7, 4, %r6; ld.shared.f32 %r12, [%r8]; ld.shared.f32 %r13, [%r6]; add.rn.f32 %r13, %r13, %r12; st.shared.f32 [%r6], %r13;
SKIP: bar.sync 0;
shr.u32 %r7, %r7, 1; setp.ne.u32 %p3, %r7, 0; @%p3 bra TREE;
setp.ne.u32 %p4, %r1, 0; @%p4 bra END;
ld.shared.f32 %r14, [sums]; mul.wide.u32 %d5, %r2, 4; add.u64 %d5, %d2, %d5; st.global.f32 [%d5], %r14;
END: ret;
"""

TURNED = """
ld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.x;
mov.u32 %r4, tile;
mad.lo.u32 %r5, %r3, 256, %r1; mad.lo.u32 %r5, %r2, 16, %r5; mul.wide.u32 %d3, %r5, 4; add.u64 %d3, %d1, %d3;
mad.lo.u32 %r6, %r2, 17, %r1; mad.lo.u32 %r6, %r6, 4, %r4;
cp.async.ca.shared.global [%r6], [%d3], 4;
cp.async.commit_group;
cp.async.wait_group 0;
bar.sync 0;
mad.lo.u32 %r7, %r1, 17, %r2; mad.lo.u32 %r7, %r7, 4, %r4; ld.shared.f32 %r8, [%r7];
shl.b32 %r9, %r5, 2; cvt.u64.u32 %d4, %r9; add.u64 %d4, %d2, %d4; st.global.f32 [%d4], %r8;
ret;
"""

WARP_SCAN = """
ld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.u64 %d3, %d1, %d3; ld.global.u32 %r2, [%d3];
mov.u32 %r3, 1;
STEP: shfl.sync.up.b32 %r4|%p1, %r2, %r3, 0, -1; @%p1 add.u32 %r2, %r2, %r4; shl.b32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 32; @%p2 bra STEP;
shr.u32 %r5, %r1, 5; mov.u32 %r6, totals; mad.lo.u32 %r7, %r5, 4, %r6; and.b32 %r8, %r1, 31; setp.eq.u32 %p3, %r8, 31; @%p3 st.shared.u32 [%r7], %r2;
bar.sync 0;
setp.eq.u32 %p4, %r5, 0; @%p4 bra STORE; ld.shared.u32 %r9, [totals]; add.u32 %r2, %r2, %r9;
STORE: add.u64 %d4, %d2, 0; mul.wide.u32 %d5, %r1, 4; add.u64 %d4, %d4, %d5; st.global.u32 [%d4], %r2; ret;
"""


def run(body: str, variables: str, inputs: Any, result: Any, grid: int, block: tuple[int, ...]) -> Any:
    image, memory = image_of(module_text(body, ("u64", "u64"), variables=variables))
    out = memory.allocate(result.nbytes)
    image.launch("kernel", grid=grid, block=block, arguments=[memory.put(inputs), out], limit=20_000)
    return memory.read(out, result.shape, result.dtype)


X = np.random.default_rng(31).integers(-50, 50, (ROWS, COLUMNS)).astype(np.float32)
TILES = np.random.default_rng(32).normal(size=(2, 16, 16)).astype(np.float32)
NUMBERS = np.random.default_rng(33).integers(1, 9, 64).astype(np.uint32)
PROGRAMS: dict[str, tuple[str, str, Any, Any, int, tuple[int, ...]]] = {
    "row sums": (ROW_SUMS, ".shared .align 4 .b8 sums[256];", X, X.sum(1), ROWS, (64,)),
    "turned": (TURNED, ".shared .align 4 .b8 tile[1084];", TILES, np.ascontiguousarray(TILES.transpose(0, 2, 1)), 2, (16, 16)),
    "scan": (WARP_SCAN, ".shared .align 4 .b8 totals[8];", NUMBERS, np.cumsum(NUMBERS, dtype=np.uint32), 1, (64,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_kernels_are_right(name: str) -> None:
    body, variables, inputs, wanted, grid, block = PROGRAMS[name]
    np.testing.assert_array_equal(run(body, variables, inputs, wanted, grid, block), wanted)


Rule = tuple[str, str | Callable[[re.Match[str]], str]]
RULES: dict[str, Rule] = {
    "a barrier left out": (r"bar\.sync 0;", ""),
    "a wait left out": (r"cp\.async\.wait_group 0;", ""),
    "a commit left out": (r"cp\.async\.commit_group;", ""),
    "one iteration too many": (r"setp\.lt\.u32", "setp.le.u32"),
    "a limit too high": (r"(setp\.lt\.u32 %p1, %r4, )(\d+)", lambda m: f"{m[1]}{int(m[2]) + 64}"),
    "a factor off by one": (r"(mad\.lo\.u32 %r\d+, %r\d+, )(\d+)", lambda m: f"{m[1]}{int(m[2]) + 1}"),
    "an address off by one": (r"\[(%[rd]\d+)\]", r"[\1+4]"),
    "an address off by a byte": (r"\[(%[rd]\d+)\]", r"[\1+1]"),
    "a wide factor off": (r"(mul\.wide\.u32 %d\d+, %r\d+, )4", r"\g<1>8"),
    "a guard turned": (r"@%p", "@!%p"),
    "a guard left out": (r"@%p\d bra \w+;", ""),
    "a guarded store for all": (r"@%p3 st", "st"),
    "half of a mask": (r", -1;", ", 0xFFFF;"),
    "another lane": (r"%r3, 0, -1", "%r3, 31, -1"),
    "a register never written": (r"mov\.(?:u32|f32) %r(?:7|10|3), (?:32|0f00000000|1);", ""),
    "a variable too short": (r"sums|tile|totals", lambda m: m[0]),
}


def mutants() -> Iterator[Any]:
    for name, (body, variables, *_) in PROGRAMS.items():
        for rule, (pattern, replacement) in RULES.items():
            if rule == "a variable too short":
                yield pytest.param(name, body, re.sub(r"\[(\d+)\]", lambda m: f"[{int(m[1]) - 4}]", variables), id=f"{name}: {rule}")
                continue
            for number, match in enumerate(re.finditer(pattern, body)):
                damaged = body[: match.start()] + re.sub(pattern, replacement, match[0]) + body[match.end() :]
                yield pytest.param(name, damaged, variables, id=f"{name}: {rule} {number}")


MUTANTS = list(mutants())


@pytest.mark.parametrize(("name", "damaged", "variables"), MUTANTS)
def test_damage_is_seen(name: str, damaged: str, variables: str) -> None:
    _, _, inputs, wanted, grid, block = PROGRAMS[name]
    try:
        result = run(damaged, variables, inputs, wanted, grid, block)
    except (ptx.Fault, ptx.MemoryAccessError):
        return
    assert not np.array_equal(result, wanted)


@pytest.mark.parametrize(
    ("name", "rule", "number", "kind"),
    [
        ("row sums", "a barrier left out", 0, "race"),
        ("row sums", "a barrier left out", 1, "race"),
        ("row sums", "a limit too high", 0, "out of bounds"),
        ("row sums", "a register never written", 0, "undefined register"),
        ("turned", "a barrier left out", 0, "race"),
        ("turned", "a wait left out", 0, "uninitialized"),
        ("turned", "a commit left out", 0, "uninitialized"),
        ("turned", "an address off by a byte", 0, "misaligned"),
        ("turned", "a variable too short", 0, "out of bounds"),
        ("scan", "a barrier left out", 0, "race"),
        ("scan", "a guarded store for all", 0, "race"),
        ("scan", "half of a mask", 0, "invalid operand"),
    ],
)
def test_damage_is_named(name: str, rule: str, number: int, kind: str) -> None:
    """By what is wrong, not only by a wrong result."""
    damaged = next(m.values for m in MUTANTS if m.id in (f"{name}: {rule} {number}", f"{name}: {rule}"))
    _, _, inputs, wanted, grid, block = PROGRAMS[name]
    with pytest.raises(ptx.Fault) as caught:
        run(damaged[1], damaged[2], inputs, wanted, grid, block)
    assert caught.value.kind == kind
