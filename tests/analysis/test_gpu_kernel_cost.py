"""The figures of kernels at the gpu level, beside what one counts by hand."""

from __future__ import annotations

import pytest

from wengert.dialects import gpu
from wengert.dialects.gpu.memory import DeviceSpace
from wengert.ir.parsing.parser import parse_module
from wengert.transforms.analysis.gpu.kernel_cost import Access, KernelCost, kernel_cost


def cost_of(body: str, groups: int = 10, arguments: str = "%x: memref<4096xf32, 1>, %y: memref<4096xf32, 1>") -> KernelCost:
    """The figures of a kernel in groups of 64 threads, which may use %t, %b, %i (the number of the thread in the grid) and some constants."""
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 4, 8, 10, 32, 64, 600))
    text = f"""gpu.module @kernels {{
      gpu.func @k({arguments}) workgroup(%s: memref<64xf32, 3>) kernel attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
        {constants}
        %t = gpu.thread_id x
        %b = gpu.block_id x
        %first = arith.muli %b, %c64 : index
        %i = arith.addi %first, %t : index
        {body}
        gpu.return
      }}
    }}"""
    (kernel,) = [op for op in parse_module(text).walk() if isinstance(op, gpu.FuncOp)]
    return kernel_cost(kernel, groups)


def of_buffer(cost: KernelCost, name: str) -> list[Access]:
    """The accesses to a buffer."""
    return [access for access in cost.accesses if access.buffer == name]


def test_a_stream() -> None:
    cost = cost_of("""%in = arith.cmpi ult, %i, %c600 : index
        scf.if %in {
          %v = memref.load %x[%i] : memref<4096xf32, 1>
          %w = arith.mulf %v, %v : f32
          %e = math.exp %w : f32
          memref.store %e, %y[%i] : memref<4096xf32, 1>
        }""")
    (read,), (written,) = of_buffer(cost, "0"), of_buffer(cost, "1")
    assert (read.stride, read.width, read.count, read.asked, read.writes) == (1, 4, 600, 2400, False)
    assert (written.stride, written.sectors, written.writes) == (1, 2400, True)
    assert (cost.moved, cost.needed, cost.flops["f32"], cost.transcendentals) == (4800, 4800, 1200, 600)
    assert (cost.groups, cost.threads, cost.workgroup_bytes) == (10, 64, 256)


def test_neighbours_of_a_thread_are_one_access() -> None:
    loads = "\n".join(f"%p{n} = arith.addi %at, %c{n} : index\n%v{n} = memref.load %x[%p{n}] : memref<4096xf32, 1>" for n in (3, 0, 1, 2))
    (access,) = of_buffer(cost_of(f"%at = arith.muli %i, %c4 : index\n{loads}"), "0")
    assert (access.elements, access.width, access.stride, access.asked) == (4, 16, 1, 640 * 16)


@pytest.mark.parametrize(("position", "stride", "asked"), [("%b", 0, 80), ("%t", 1, 2560), ("%s3", 3, 2560), ("%s32", 32, 2560)])
def test_strides(position: str, stride: int, asked: int) -> None:
    cost = cost_of(f"""%s3 = arith.muli %t, %c3 : index
        %s32 = arith.muli %t, %c32 : index
        %v = memref.load %x[{position}] : memref<4096xf32, 1>""")
    (access,) = cost.accesses
    assert (access.stride, access.asked) == (stride, asked)
    assert bool(cost.crooked) == (stride > 1)


def test_rows_of_ten() -> None:
    """Threads with ten neighbours each read them by five instructions of two."""
    loads = "\n".join(
        f"%k{n} = arith.constant {n} : index\n%p{n} = arith.addi %at, %k{n} : index\n%v{n} = memref.load %x[%p{n}] : memref<4096xf32, 1>" for n in range(10)
    )
    (access,) = of_buffer(cost_of(f"%at = arith.muli %t, %c10 : index\n{loads}"), "0")
    assert (access.elements, access.width, access.stride, access.is_straight) == (10, 8, 5, False)


def test_positions_that_depend_on_data() -> None:
    cost = cost_of(
        """%p = memref.load %x[%i] : memref<4096xi32, 1>
        %at = arith.index_cast %p : i32 to index
        %v = memref.load %y[%at] : memref<4096xf32, 1>""",
        arguments="%x: memref<4096xi32, 1>, %y: memref<4096xf32, 1>",
    )
    (access,) = of_buffer(cost, "1")
    assert (access.stride, access.sectors) == (None, 640 * 32)


def test_loops() -> None:
    """Threads of a group read rows of other lengths: 64 - t iterations each."""
    cost = cost_of("""scf.for %k = %t to %c64 step %c1 {
          %v = memref.load %s[%k] : memref<64xf32, 3>
          %w = arith.addf %v, %v : f32
        }""")
    assert cost.flops["f32"] == 10 * sum(64 - t for t in range(64))
    (access,) = cost.accesses
    assert (access.space, access.buffer, access.count) == (DeviceSpace.WORKGROUP, "shared0", 10 * sum(64 - t for t in range(64)))


def test_what_is_read_twice() -> None:
    """A buffer that no cache holds moves as often as it is read; a smaller one once."""
    body = """scf.for %k = %c0 to %c2 step %c1 {
          %v = memref.load %x[%i] : memref<SIZExf32, 1>
        }"""
    for size, groups, excess in ((1 << 20, 1 << 14, 2.0), (1 << 16, 1 << 10, 1.0)):
        cost = cost_of(body.replace("SIZE", str(size)), groups, f"%x: memref<{size}xf32, 1>, %y: memref<4096xf32, 1>")
        assert cost.excess == pytest.approx(excess)


def test_groups_that_are_not_evaluated() -> None:
    """Of a million groups a part is evaluated; totals are those of all, but for the branch that one in ten takes."""
    cost = cost_of(
        """%n = arith.remui %b, %c10 : index
        %tenth = arith.cmpi eq, %n, %c3 : index
        scf.if %tenth {
          %v = memref.load %x[%i] : memref<64000000xf32, 1>
        }
        memref.store %one, %y[%i] : memref<64000000xf32, 1>""".replace("%one", "%f").replace("%n = ", "%f = arith.constant 1.0 : f32\n%n = ", 1),
        1_000_000,
        "%x: memref<64000000xf32, 1>, %y: memref<64000000xf32, 1>",
    )
    (read,), (written,) = of_buffer(cost, "0"), of_buffer(cost, "1")
    assert written.count == pytest.approx(64e6)
    assert read.count == pytest.approx(6.4e6, rel=0.03)


def test_loops_without_a_known_end_are_counted_once() -> None:
    cost = cost_of(
        """%p = memref.load %x[%i] : memref<4096xi32, 1>
        %end = arith.index_cast %p : i32 to index
        scf.for %k = %c0 to %end step %c1 {
          memref.store %p, %x[%i] : memref<4096xi32, 1>
        }""",
        arguments="%x: memref<4096xi32, 1>",
    )
    assert cost.uncounted
    assert [access.count for access in cost.accesses] == [640, 640]
