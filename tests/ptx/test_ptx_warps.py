"""Exchange within warps, and matrix products of warps."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ptx_programs import lane_address, launched

from wengert.runtime import ptx

RNG = np.random.default_rng(17)


def exchanged(body: str, values: Any, result: Any = np.uint32, threads: int = 64, **options: Any) -> Any:
    """%r9 after a body that has the thread's value in %r1 and its lane in %r2."""
    text = f"""{lane_address("%d1", "p0", 4)} {lane_address("%d2", "p1", 4)}
    ld.global.b32 %r1, [%d1]; mov.u32 %r2, %laneid; {body} st.global.b32 [%d2], %r9; ret;"""
    return launched(text, [values, (result, len(values))], threads=threads, blocks=len(values) // threads, **options)[1]


def shuffled(mode: str, values: Any, by: int, clamp: int) -> tuple[list[int], list[bool]]:
    """The text of the PTX ISA, lane for lane."""
    results, valid = [], []
    for thread in range(len(values)):
        lane, warp = thread % 32, thread // 32 * 32
        segment, limit = clamp >> 8 & 31, clamp & 31
        last, first = (lane & segment) | (limit & ~segment), lane & segment
        source = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": first | (by & ~segment)}[mode]
        inside = source >= last if mode == "up" else source <= last
        results.append(int(values[warp + (source if inside else lane)]))
        valid.append(inside)
    return results, valid


@pytest.mark.parametrize("width", [32, 16, 8])
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode: str, width: int) -> None:
    x = RNG.integers(0, 1 << 32, 128, dtype=np.uint32)
    clamp = ((32 - width) << 8) | (0 if mode == "up" else 31)
    for by in (0, 1, 3, 8, 31):
        wanted, valid = shuffled(mode, x, by, clamp)
        assert exchanged(f"shfl.sync.{mode}.b32 %r9, %r1, {by}, {clamp}, -1;", x).tolist() == wanted
        flags = exchanged(f"shfl.sync.{mode}.b32 %r8|%p1, %r1, {by}, {clamp}, -1; selp.b32 %r9, 1, 0, %p1;", x)
        assert flags.tolist() == valid


def test_votes() -> None:
    x = (RNG.random(128) < 0.9).astype(np.uint32)
    x[:32] = 1
    x[32:64] = 0
    head = "setp.ne.u32 %p1, %r1, 0;"
    warps = x.reshape(-1, 32)
    ballots = (warps.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(1)
    np.testing.assert_array_equal(exchanged(f"{head} vote.sync.ballot.b32 %r9, %p1, -1;", x), np.repeat(ballots, 32))
    for mode, answer in (("all", warps.all(1)), ("any", warps.any(1)), ("uni", warps.all(1) | ~warps.any(1))):
        np.testing.assert_array_equal(exchanged(f"{head} vote.sync.{mode}.pred %p2, %p1, -1; selp.b32 %r9, 1, 0, %p2;", x), np.repeat(answer, 32))


def test_votes_of_half_a_warp() -> None:
    """Each half votes among itself, after a branch."""
    body = """setp.lt.u32 %p3, %r2, 16; @%p3 bra low; setp.ge.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r9, %p1, 0xFFFF0000; bra end;
    low: setp.ge.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r9, %p1, 0xFFFF; end:"""
    x = RNG.integers(0, 10, 64).astype(np.uint32)
    bits = ((x >= 5).reshape(-1, 2, 16).astype(np.uint64) << np.arange(32, dtype=np.uint64).reshape(2, 16)).sum(2)
    np.testing.assert_array_equal(exchanged(body, x), np.repeat(bits.reshape(-1), 16))


@pytest.mark.parametrize(
    ("operation", "type", "function"), [("add", "u32", np.add), ("min", "s32", np.minimum), ("max", "u32", np.maximum), ("xor", "b32", np.bitwise_xor)]
)
def test_reductions(operation: str, type: str, function: Any) -> None:
    x = RNG.integers(0, 1 << 32, 128, dtype=np.uint32)
    typed = x.view(np.int32) if type == "s32" else x
    wanted = np.repeat(function.reduce(typed.reshape(-1, 32), axis=1, dtype=typed.dtype), 32).view(np.uint32)
    np.testing.assert_array_equal(exchanged(f"redux.sync.{operation}.{type} %r9, %r1, -1;", x), wanted)


def test_matches() -> None:
    x = RNG.integers(0, 4, 128).astype(np.uint32)
    x[:32] = 2
    warps = x.reshape(-1, 32)
    bits = np.uint64(1) << np.arange(32, dtype=np.uint64)
    wanted = np.array([[((row == v) * bits).sum() for v in row] for row in warps]).reshape(-1)
    np.testing.assert_array_equal(exchanged("match.any.sync.b32 %r9, %r1, -1;", x), wanted)
    alike = np.repeat((warps == warps[:, :1]).all(1), 32)
    np.testing.assert_array_equal(exchanged("match.all.sync.b32 %r9|%p1, %r1, -1;", x), np.where(alike, 0xFFFFFFFF, 0))


def test_what_a_thread_knows_of_its_warp() -> None:
    x = np.zeros(96, np.uint32)
    lane = np.arange(96) % 32
    assert exchanged("mov.u32 %r9, %lanemask_lt;", x, threads=96).tolist() == [(1 << i) - 1 for i in lane]
    assert exchanged("mov.u32 %r9, %lanemask_ge;", x, threads=96).tolist() == [0xFFFFFFFF & ~((1 << i) - 1) for i in lane]
    assert (
        exchanged("mov.u32 %r8, %warpid; mov.u32 %r7, %nwarpid; mad.lo.u32 %r9, %r7, 10, %r8;", x, threads=96).tolist() == (30 + np.arange(96) // 32).tolist()
    )
    assert exchanged("mov.u32 %r9, WARP_SZ;", x, threads=96).tolist() == [32] * 96
    assert exchanged("activemask.b32 %r9;", x, threads=96).tolist() == [0xFFFFFFFF] * 96


def test_a_sum_over_a_warp_that_ends_early() -> None:
    """The mask names threads that have ended: the others do not wait for them, but may not read their values."""
    body = "setp.ge.u32 %p1, %r2, 16; @%p1 ret; shfl.sync.idx.b32 %r9, %r1, 3, 31, -1;"
    x = np.arange(32, dtype=np.uint32)
    assert exchanged(body, x, threads=32)[:16].tolist() == [3] * 16
    with pytest.raises(ptx.Fault, match="invalid operand: a shuffle from lane 20, which does not take part"):
        exchanged(body.replace("3, 31", "20, 31"), x, threads=32)


# -- matrices


def fragments(matrix: Any, rows: Any, columns: Any) -> Any:
    return matrix[..., rows, columns]


LANE = np.arange(32)
ROW, COLUMN = LANE // 4, LANE % 4


def halves(matrix: Any, places: list[tuple[Any, Any]]) -> Any:
    """Registers of two halves: u32[registers, lanes]."""
    bits = matrix.view(np.uint16).astype(np.uint32)
    return np.stack([bits[r, c] | (bits[r2, c2] << np.uint32(16)) for (r, c), (r2, c2) in places])


def registers_of_factors(a: Any, b: Any, type: str) -> tuple[Any, Any]:
    k = a.shape[1]
    if type == "tf32":
        left = [a[ROW + 8 * (i % 2), COLUMN + 4 * (i // 2)] for i in range(k // 2)]
        right = [b[COLUMN + 4 * i, ROW] for i in range(k // 4)]
        return np.stack(left).view(np.uint32), np.stack(right).view(np.uint32)
    left = [((ROW + 8 * (i % 2), 2 * COLUMN + 8 * (i // 2)), (ROW + 8 * (i % 2), 2 * COLUMN + 8 * (i // 2) + 1)) for i in range(k // 4)]
    right = [((2 * COLUMN + 8 * i, ROW), (2 * COLUMN + 8 * i + 1, ROW)) for i in range(k // 8)]
    return halves(a, left), halves(b, right)


@pytest.mark.parametrize(
    ("shape", "type"), [("m16n8k16", "bf16"), ("m16n8k16", "f16"), ("m16n8k8", "bf16"), ("m16n8k8", "f16"), ("m16n8k8", "tf32"), ("m16n8k4", "tf32")]
)
def test_products_of_matrices(shape: str, type: str) -> None:
    k = int(shape[5:].removeprefix("k"))
    dtype = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "tf32": np.float32}[type]
    a, b = (RNG.integers(-8, 9, size).astype(dtype) / dtype(4) for size in ((16, k), (k, 8)))
    c = RNG.normal(size=(16, 8)).astype(np.float32)
    left, right = registers_of_factors(a, b, type)
    places = [(ROW + 8 * (i // 2), 2 * COLUMN + i % 2) for i in range(4)]
    sums = np.stack([c[p] for p in places])
    na, nb = len(left), len(right)
    loads = "".join(f"ld.global.b32 %r{1 + i}, [%d1+{128 * i}];" for i in range(na)) + "".join(f"ld.global.b32 %r{8 + i}, [%d2+{128 * i}];" for i in range(nb))
    loads += "".join(f"ld.global.b32 %r{12 + i}, [%d3+{128 * i}];" for i in range(4))
    names = [", ".join(f"%r{start + i}" for i in range(count)) for start, count in ((1, na), (8, nb), (12, 4))]
    stores = "".join(f"st.global.b32 [%d4+{128 * i}], %r{20 + i};" for i in range(4))
    body = f"""{"".join(lane_address(f"%d{i + 1}", f"p{i}", 4) for i in range(4))} {loads}
    mma.sync.aligned.{shape}.row.col.f32.{type}.{type}.f32 {{%r20, %r21, %r22, %r23}}, {{{names[0]}}}, {{{names[1]}}}, {{{names[2]}}}; {stores} ret;"""
    got = launched(body, [left.reshape(-1), right.reshape(-1), sums.reshape(-1), (np.float32, 128)])[3].reshape(4, 32)
    wanted = (a.astype(np.float64) @ b.astype(np.float64) + c).astype(np.float32)
    np.testing.assert_array_equal(got, np.stack([wanted[p] for p in places]))


def test_products_of_doubles() -> None:
    a, b, c = RNG.normal(size=(8, 4)), RNG.normal(size=(4, 8)), RNG.normal(size=(8, 8))
    body = f"""{"".join(lane_address(f"%d{i + 1}", f"p{i}", 8) for i in range(4))}
    ld.global.f64 %d10, [%d1]; ld.global.f64 %d11, [%d2]; ld.global.f64 %d12, [%d3]; ld.global.f64 %d13, [%d3+256];
    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{%d14, %d15}}, {{%d10}}, {{%d11}}, {{%d12, %d13}};
    st.global.f64 [%d4], %d14; st.global.f64 [%d4+256], %d15; ret;"""
    places = [(ROW, 2 * COLUMN + i) for i in range(2)]
    arrays = [a[ROW, COLUMN], b[COLUMN, ROW], np.concatenate([c[p] for p in places]), (np.float64, 64)]
    wanted, size = a @ b + c, np.abs(a) @ np.abs(b) + np.abs(c)  # five roundings, each of what is summed at most
    error = np.abs(launched(body, arrays)[3] - np.concatenate([wanted[p] for p in places]))
    assert (error <= 5 * np.finfo(np.float64).eps * np.concatenate([size[p] for p in places])).all()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_fragments_are_loaded_and_stored(count: int, turned: bool) -> None:
    """Matrices from global memory to shared memory, by ldmatrix to registers, by stmatrix to shared memory, and back."""
    names = ", ".join(f"%r{10 + i}" for i in range(count))
    trans = ".trans" if turned else ""
    body = f"""{lane_address("%d1", "p0", 16)} {lane_address("%d2", "p1", 4)} {lane_address("%d3", "p2", 16)}
    mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; mov.u32 %r3, buffer; add.u32 %r4, %r3, %r2; setp.lt.u32 %p1, %r1, {8 * count};
    @%p1 ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%d1]; @%p1 st.shared.v4.b32 [%r4], {{%r5, %r6, %r7, %r8}}; bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{names}}}, [%r4];
    {"".join(f"st.global.b32 [%d2+{128 * i}], %r{10 + i};" for i in range(count))}
    bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r4+512], {{{names}}}; bar.warp.sync -1;
    @%p1 ld.shared.v4.b32 {{%r5, %r6, %r7, %r8}}, [%r4+512]; @%p1 st.global.v4.b32 [%d3], {{%r5, %r6, %r7, %r8}}; ret;"""
    matrices = RNG.integers(0, 1 << 16, (count, 8, 8)).astype(np.uint16)
    arrays = [matrices.reshape(-1).view(np.uint32), (np.uint32, 32 * count), (np.uint16, 64 * count)]
    _, registers, back = launched(body, arrays, variables=".shared .align 16 .b8 buffer[1024];")
    seen = matrices.transpose(0, 2, 1) if turned else matrices
    wanted = np.stack([seen[:, ROW, 2 * COLUMN], seen[:, ROW, 2 * COLUMN + 1]], -1)
    np.testing.assert_array_equal(registers.view(np.uint16).reshape(count, 32, 2), wanted)
    np.testing.assert_array_equal(back.reshape(count, 8, 8), matrices)
