"""Device memory as the host sees it."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.runtime import ptx


def test_arrays_go_in_and_out() -> None:
    memory = ptx.Memory(1 << 16)
    x, y = np.arange(6, dtype=np.int16).reshape(2, 3), np.float64([1.5, -2.5])
    a, b = memory.put(x), memory.put(y.reshape(2, 1)[::-1])
    assert a % 256 == b % 256 == 0
    assert a > 1 << 32
    np.testing.assert_array_equal(memory.read(a, (2, 3), np.int16), x)
    np.testing.assert_array_equal(memory.read(b, 2, np.float64), y[::-1])
    memory.write(a + 2, np.int16([9]))
    assert memory.read(a, 6, np.int16).tolist() == [0, 9, 2, 3, 4, 5]


def test_what_was_not_written_cannot_be_read() -> None:
    memory = ptx.Memory(1 << 16)
    a = memory.allocate(16)
    with pytest.raises(ptx.MemoryAccessError, match="nothing was written to byte 0 of the 8 bytes"):
        memory.read(a, 1, np.float64)
    memory.fill(a, 8, 0)
    assert memory.read(a, 1, np.float64).tolist() == [0.0]
    with pytest.raises(ptx.MemoryAccessError, match="byte 8 of the 16 bytes"):
        memory.read(a, 2, np.float64)
    memory.poison(a, 4)
    with pytest.raises(ptx.MemoryAccessError, match="byte 0"):
        memory.read(a, 1, np.float64)
    assert memory.contents(a, 4).tolist() == [255] * 4


def test_copies_keep_what_is_known() -> None:
    memory = ptx.Memory(1 << 16)
    a, b = memory.allocate(8), memory.allocate(8)
    memory.write(a, np.float32([2.5]))
    memory.copy(a, b, 8)
    assert memory.read(b, 1, np.float32).tolist() == [2.5]
    with pytest.raises(ptx.MemoryAccessError, match="byte 4"):
        memory.read(b, 2, np.float32)


def test_accesses_outside_of_allocations() -> None:
    memory = ptx.Memory(1 << 16)
    a = memory.allocate(100)
    for address, count in ((a, 101), (a - 1, 2), (0, 1), (a + 5000, 1), (1 << 60, 1)):
        with pytest.raises(ptx.MemoryAccessError, match=f"{count} bytes at 0x[0-9a-f]+ are not allocated"):
            memory.write(address, np.zeros(count, np.uint8))


def test_memory_is_given_back_and_ends() -> None:
    memory = ptx.Memory(4096)
    places = [memory.allocate(500) for _ in range(4)]
    with pytest.raises(ptx.MemoryAccessError, match="1000 bytes do not fit in a memory of 4096 bytes"):
        memory.allocate(1000)
    for place in reversed(places[1:]):
        memory.free(place)
    with pytest.raises(ptx.MemoryAccessError, match="not the address of an allocation"):
        memory.free(places[1])
    assert memory.allocate(1000) == places[1]
    memory.free(places[0])
    with pytest.raises(ptx.MemoryAccessError, match="are not allocated"):
        memory.read(places[0], 1, np.uint8)
