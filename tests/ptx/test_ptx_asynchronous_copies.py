"""Copies from global to shared memory that a thread waits for."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_programs import lane_address, launched

from wengert.runtime import ptx

SHARED = ".shared .align 16 .b8 ring[4096];"
HEAD = f"""{lane_address("%d1", "p0", 16)} {lane_address("%d2", "p1", 4)}
mov.u32 %r20, %tid.x; mov.u32 %r21, ring; mad.lo.u32 %r22, %r20, 16, %r21; mad.lo.u32 %r23, %r20, 4, %r21;"""
X = np.arange(256, dtype=np.uint32)


def copied(body: str, threads: int = 64) -> list[int]:
    """The first 64 words of shared memory that a body has filled."""
    text = f"{HEAD} {body} ld.shared.u32 %r9, [%r23]; st.global.u32 [%d2], %r9; ret;"
    return launched(text, [X, (np.uint32, 64)], threads=threads, variables=SHARED)[1].tolist()


@pytest.mark.parametrize("kind", ["ca.shared.global", "cg.shared::cta.global", "cg.shared.global.L2::128B"])
def test_copies(kind: str) -> None:
    body = f"cp.async.{kind} [%r22], [%d1], 16; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;"
    assert copied(body) == list(range(64))
    assert copied(body.replace("cp.async.commit_group; cp.async.wait_group 0", "cp.async.wait_all")) == list(range(64))


def test_bytes_that_do_not_count_are_zero() -> None:
    body = "and.b32 %r1, %r20, 1; shl.b32 %r1, %r1, 3; cp.async.ca.shared.global [%r22], [%d1], 16, %r1; cp.async.wait_all; bar.sync 0;"
    assert copied(body) == [i if i % 8 in (4, 5) else 0 for i in range(64)]


def test_how_many_bytes_count_is_read_at_once() -> None:
    """The register changes while the copy is under way."""
    body = "mov.u32 %r1, 8; cp.async.ca.shared.global [%r22], [%d1], 16, %r1; mov.u32 %r1, 0; cp.async.wait_all; bar.sync 0;"
    assert copied(body) == [i if i % 4 < 2 else 0 for i in range(64)]


def test_a_ring_of_two_stages() -> None:
    """Each thread copies four words in turn; the last group may still be on its way."""
    steps = "".join(
        f"cp.async.ca.shared.global [%r23+{256 * (k % 2)}], [%d3+{4 * k}], 4; cp.async.commit_group;"
        + (f"cp.async.wait_group 1; ld.shared.u32 %r5, [%r23+{256 * ((k - 1) % 2)}]; mad.lo.u32 %r6, %r6, 3, %r5;" if k else "")
        for k in range(4)
    )
    text = f"{HEAD} mov.u64 %d3, %d1; mov.u32 %r6, 0; {steps} cp.async.wait_group 0; ld.shared.u32 %r5, [%r23+256]; mad.lo.u32 %r6, %r6, 3, %r5; st.global.u32 [%d2], %r6; ret;"
    wanted = X.reshape(64, 4) @ np.array([27, 9, 3, 1])
    assert launched(text, [X, (np.uint32, 64)], threads=64, variables=SHARED)[1].tolist() == wanted.tolist()


@pytest.mark.parametrize("waiting", ["", "cp.async.wait_group 0;", "cp.async.commit_group; cp.async.wait_group 1;"])
def test_data_that_have_not_come(waiting: str) -> None:
    """Without a wait, with a wait for committed groups before the commit, and with one group too many left."""
    with pytest.raises(ptx.Fault, match=r"uninitialized: .* of shared memory"):
        copied(f"cp.async.ca.shared.global [%r22], [%d1], 16; {waiting} bar.sync 0;")


def test_a_wait_is_no_barrier() -> None:
    with pytest.raises(ptx.Fault, match=r"race: .* of shared memory"):
        copied("cp.async.ca.shared.global [%r22], [%d1], 16; cp.async.wait_all;")


def test_sources_are_checked() -> None:
    with pytest.raises(ptx.Fault, match="out of bounds"):
        copied("cp.async.ca.shared.global [%r22], [%d1+16], 16; cp.async.wait_all; bar.sync 0;")
    with pytest.raises(ptx.Fault, match="misaligned"):
        copied("cp.async.ca.shared.global [%r22], [%d1+8], 16; cp.async.wait_all; bar.sync 0;")
