"""What LLVM's NVPTX backend makes of each family of its instructions, executed."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ptx_programs import compiled, image_of

from wengert.runtime import ptx

RNG = np.random.default_rng(29)
IDS = """
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %dim = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %base = mul i32 %cta, %dim
  %i = add i32 %base, %tid
"""


def kernel(body: str, arrays: list[Any], *, before: str = "", threads: int = 64, blocks: int = 1, shared_bytes: int = 0) -> list[Any]:
    """The arrays ``%a``, ``%b`` and so on after a kernel, in which ``%i`` is the number of the thread; intrinsics are declared as they are called."""
    names = "abcdefg"[: len(arrays)]
    parameters = ", ".join(f"ptr addrspace(1) align 16 %{name}" for name in names)
    text = f"{before}\ndefine ptx_kernel void @kernel({parameters}) {{{IDS}{body}\n  ret void\n}}\n"
    calls = re.findall(r"call (?:\w+ )*?((?:<[^>]*>|\{[^}]*\}|\w+)) (@llvm\.[\w.]+)\(([^\n]*)\)", text)
    declared = dict.fromkeys(f"declare {result} {name}({_types(operands)})" for result, name, operands in calls)
    image, memory = image_of(compiled(text + "\n".join(declared)))
    places = [memory.put(a) for a in arrays]
    image.launch("kernel", grid=blocks, block=threads, arguments=places, shared_bytes=shared_bytes)
    return [memory.read(place, a.shape, a.dtype) for place, a in zip(places, arrays)]


def _types(operands: str) -> str:
    """The types of a list of operands."""
    parts = [p.strip() for p in re.split(r",(?![^<{(]*[>})])", operands)] if operands else []
    return ", ".join(p.rsplit(" ", 1)[0] for p in parts)


def at(name: str, type: str, index: str = "%i") -> str:
    return f"%p{name} = getelementptr {type}, ptr addrspace(1) %{name}, i32 {index}"


def elementwise(body: str, type: str, x: Any, y: Any, result: Any, result_type: str | None = None) -> Any:
    """``%r`` of a body that has elements %x and %y."""
    text = f"""{at("a", type)}\n {at("b", type)}\n {at("c", result_type or type)}
  %x = load {type}, ptr addrspace(1) %pa
  %y = load {type}, ptr addrspace(1) %pb
{body}
  store {result_type or type} %r, ptr addrspace(1) %pc"""
    return kernel(text, [x, y, np.zeros(len(x), result)])[2]


def test_wide_integers() -> None:
    """128 bits: products, sums, shifts and quotients are made of words, with carries, upper halves and loops."""
    x, y = (np.array([int.from_bytes(RNG.bytes(16), "little") >> int(RNG.integers(0, 100)) for _ in range(64)], object) for _ in range(2))
    y[y == 0] = 1
    words = [np.array([[v & (2**64 - 1), v >> 64] for v in z], np.uint64).reshape(-1) for z in (x, y)]
    for opcode, function in (
        ("add", lambda a, b: a + b),
        ("sub", lambda a, b: a - b),
        ("mul", lambda a, b: a * b),
        ("udiv", lambda a, b: a // b),
        ("urem", lambda a, b: a % b),
        ("xor", lambda a, b: a ^ b),
    ):
        body = f"""{at("a", "i128")}\n {at("b", "i128")}\n %x = load i128, ptr addrspace(1) %pa\n %y = load i128, ptr addrspace(1) %pb
  %r = {opcode} i128 %x, %y\n store i128 %r, ptr addrspace(1) %pa"""
        got = kernel(body, [words[0], words[1]])[0].reshape(-1, 2)
        assert [int(low) | int(high) << 64 for low, high in got] == [function(a, b) % 2**128 for a, b in zip(x, y)]
    body = f"""{at("a", "i128")}\n %x = load i128, ptr addrspace(1) %pa\n %n = zext i32 %tid to i128\n %r = ashr i128 %x, %n\n store i128 %r, ptr addrspace(1) %pa"""
    got = kernel(body, [words[0]])[0].reshape(-1, 2)
    signed = [v - 2**128 if v >> 127 else v for v in x]
    assert [int(low) | int(high) << 64 for low, high in got] == [(v >> i) % 2**128 for i, v in enumerate(signed)]


@pytest.mark.parametrize(("type", "dtype"), [("half", np.float16), ("bfloat", ml_dtypes.bfloat16), ("float", np.float32), ("double", np.float64)])
def test_arithmetic_of_floats(type: str, dtype: Any) -> None:
    x, y = RNG.normal(size=64).astype(dtype), RNG.normal(size=64).astype(dtype)
    for opcode, function in (("fadd", np.add), ("fsub", np.subtract), ("fmul", np.multiply), ("fdiv", np.divide)):
        np.testing.assert_array_equal(elementwise(f"%r = {opcode} {type} %x, %y", type, x, y, dtype), function(x, y))
    suffix = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}[type]
    for name, function in (("minimum", np.minimum), ("maximum", np.maximum), ("copysign", np.copysign)):
        np.testing.assert_array_equal(elementwise(f"%r = call {type} @llvm.{name}.{suffix}({type} %x, {type} %y)", type, x, y, dtype), function(x, y))
    for name, function in (("fabs", np.abs), ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("rint", np.rint)):
        np.testing.assert_array_equal(elementwise(f"%r = call {type} @llvm.{name}.{suffix}({type} %x)", type, x * dtype(4), y, dtype), function(x * dtype(4)))


@pytest.mark.parametrize(("type", "dtype"), [("half", np.float16), ("bfloat", ml_dtypes.bfloat16)])
def test_pairs_of_halves(type: str, dtype: Any) -> None:
    x, y = RNG.normal(size=128).astype(dtype), RNG.normal(size=128).astype(dtype)
    suffix = {"half": "v2f16", "bfloat": "v2bf16"}[type]
    body = f"""  %s = fadd <2 x {type}> %x, %y
  %m = call <2 x {type}> @llvm.maximum.{suffix}(<2 x {type}> %s, <2 x {type}> %x)
  %less = fcmp olt <2 x {type}> %m, %y
  %r = select <2 x i1> %less, <2 x {type}> %m, <2 x {type}> %s"""
    text = f"""{at("a", f"<2 x {type}>")}\n {at("b", f"<2 x {type}>")}\n {at("c", f"<2 x {type}>")}
  %x = load <2 x {type}>, ptr addrspace(1) %pa\n %y = load <2 x {type}>, ptr addrspace(1) %pb\n{body}\n  store <2 x {type}> %r, ptr addrspace(1) %pc"""
    got = kernel(text, [x, y, np.zeros_like(x)])[2]
    total = x + y
    most = np.maximum(total, x)
    np.testing.assert_array_equal(got, np.where(most < y, most, total))


def test_vectors_of_four() -> None:
    x, y = RNG.normal(size=256).astype(np.float32), RNG.normal(size=256).astype(np.float32)
    text = f"""{at("a", "<4 x float>")}\n {at("b", "<4 x float>")}
  %x = load <4 x float>, ptr addrspace(1) %pa, align 16\n %y = load <4 x float>, ptr addrspace(1) %pb, align 16
  %r = call contract <4 x float> @llvm.fma.v4f32(<4 x float> %x, <4 x float> %y, <4 x float> %y)\n store <4 x float> %r, ptr addrspace(1) %pa, align 16"""
    np.testing.assert_array_equal(kernel(text, [x, y])[0], (x.astype(np.float64) * y + y).astype(np.float32))


def test_small_integers_and_booleans() -> None:
    x, y = RNG.integers(-128, 128, 64).astype(np.int8), RNG.integers(-128, 128, 64).astype(np.int8)
    np.testing.assert_array_equal(elementwise("%r = add i8 %x, %y", "i8", x, y, np.int8), x + y)
    np.testing.assert_array_equal(elementwise("%r = ashr i8 %x, 3", "i8", x, y, np.int8), x >> 3)
    np.testing.assert_array_equal(elementwise("%less = icmp slt i8 %x, %y\n %r = zext i1 %less to i8", "i8", x, y, np.uint8), (x < y).astype(np.uint8))
    np.testing.assert_array_equal(elementwise("%r = sitofp i8 %x to float", "i8", x, y, np.float32, "float"), x.astype(np.float32))
    np.testing.assert_array_equal(elementwise("%r = call i8 @llvm.smax.i8(i8 %x, i8 %y)", "i8", x, y, np.int8), np.maximum(x, y))


def test_bits() -> None:
    x, y = RNG.integers(0, 1 << 32, 64, dtype=np.uint32), RNG.integers(0, 32, 64, dtype=np.uint32)
    cases = {
        "ctpop.i32(i32 %x)": lambda a, b: int(a).bit_count(),
        "ctlz.i32(i32 %x, i1 false)": lambda a, b: 32 - int(a).bit_length(),
        "cttz.i32(i32 %x, i1 false)": lambda a, b: (int(a) & -int(a)).bit_length() - 1,
        "bitreverse.i32(i32 %x)": lambda a, b: int(f"{int(a):032b}"[::-1], 2),
        "bswap.i32(i32 %x)": lambda a, b: int.from_bytes(int(a).to_bytes(4, "little"), "big"),
        "fshl.i32(i32 %x, i32 %x, i32 %y)": lambda a, b: ((int(a) << int(b)) | (int(a) >> (32 - int(b)))) % 2**32,
    }
    for call, function in cases.items():
        assert elementwise(f"%r = call i32 @llvm.{call}", "i32", x, y, np.uint32).tolist() == [function(a, b) for a, b in zip(x, y)]


def test_a_jump_table_and_a_loop() -> None:
    cases = "\n".join(f"    i32 {k}, label %case{k}" for k in range(6))
    blocks = "\n".join(f"case{k}:\n  %v{k} = mul i32 %i, {k + 3}\n  br label %end" for k in range(6))
    values = ", ".join(f"[%v{k}, %case{k}]" for k in range(6))
    text = f"""{at("a", "i32")}\n  %n = urem i32 %i, 7\n  switch i32 %n, label %other [\n{cases} ]\n{blocks}
other:\n  br label %loop
loop:\n  %k = phi i32 [0, %other], [%k2, %loop]\n  %s = phi i32 [1, %other], [%s2, %loop]\n  %s2 = mul i32 %s, 5\n  %k2 = add i32 %k, 1\n  %go = icmp ult i32 %k2, %i
  br i1 %go, label %loop, label %end
end:\n  %r = phi i32 {values}, [%s2, %loop]\n  store i32 %r, ptr addrspace(1) %pa"""
    got = kernel(text, [np.zeros(64, np.uint32)])[0]
    assert got.tolist() == [i * (i % 7 + 3) if i % 7 < 6 else pow(5, i, 2**32) for i in range(64)]


def test_calls_and_the_stack() -> None:
    """A function that is not inlined, with a table on its stack that is written and read at computed places."""
    before = """define internal i32 @pick(i32 %i, {i32, i64} %pair) noinline {
  %table = alloca [8 x i32]
  br label %loop
loop:
  %k = phi i32 [0, %0], [%k2, %loop]
  %p = getelementptr i32, ptr %table, i32 %k
  %v = mul i32 %k, %i
  store i32 %v, ptr %p
  %k2 = add i32 %k, 1
  %go = icmp ult i32 %k2, 8
  br i1 %go, label %loop, label %end
end:
  %at = and i32 %i, 7
  %q = getelementptr i32, ptr %table, i32 %at
  %r = load i32, ptr %q
  %wide = extractvalue {i32, i64} %pair, 1
  %narrow = trunc i64 %wide to i32
  %sum = add i32 %r, %narrow
  ret i32 %sum
}"""
    text = f"""{at("a", "i32")}
  %r1 = call i32 @pick(i32 %i, {{i32, i64}} {{i32 1, i64 1000}})
  %r2 = call i32 @pick(i32 %r1, {{i32, i64}} {{i32 1, i64 5}})
  store i32 %r2, ptr addrspace(1) %pa"""

    def pick(i: int, more: int) -> int:
        return (i & 7) * i + more

    assert kernel(text, [np.zeros(64, np.uint32)], before=before)[0].tolist() == [pick(pick(i, 1000), 5) for i in range(64)]


@pytest.mark.parametrize("space", ["", ", addrspace(5)"])
def test_the_stack_has_generic_addresses(space: str) -> None:
    """LLVM 22.1 makes right code of an alloca without an address space; one in the local space it converts to generic addresses, and uses these as local ones."""
    pointer = "ptr addrspace(5)" if space else "ptr"
    text = f"""{at("a", "i32")}
  %s = alloca [8 x i32]{space}
  %n = and i32 %i, 7
  %q = getelementptr i32, {pointer} %s, i32 %n
  store i32 %i, {pointer} %q
  %v = load i32, {pointer} %q
  store i32 %v, ptr addrspace(1) %pa"""
    if space:
        with pytest.raises(ptx.Fault, match="lie outside of local memory"):
            kernel(text, [np.zeros(64, np.uint32)])
    else:
        assert kernel(text, [np.zeros(64, np.uint32)])[0].tolist() == list(range(64))


def test_shared_memory_and_barriers() -> None:
    before = "@tile = internal addrspace(3) global [64 x float] poison, align 16"
    text = f"""{at("a", "float")}
  %x = load float, ptr addrspace(1) %pa
  %s = getelementptr [64 x float], ptr addrspace(3) @tile, i32 0, i32 %tid
  store float %x, ptr addrspace(3) %s
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %j = sub i32 63, %tid
  %t = getelementptr [64 x float], ptr addrspace(3) @tile, i32 0, i32 %j
  %g = addrspacecast ptr addrspace(3) %t to ptr
  %y = load float, ptr %g
  store float %y, ptr addrspace(1) %pa"""
    x = RNG.normal(size=192).astype(np.float32)
    np.testing.assert_array_equal(kernel(text, [x], before=before, blocks=3)[0], x.reshape(3, 64)[:, ::-1].reshape(-1))


def test_atomics() -> None:
    text = f"""{at("b", "float")}
  %x = load float, ptr addrspace(1) %pb
  %o1 = atomicrmw fadd ptr addrspace(1) %a, float %x monotonic
  %p1 = getelementptr float, ptr addrspace(1) %a, i32 1
  %o2 = atomicrmw fmax ptr addrspace(1) %p1, float %x monotonic
  %p2 = getelementptr i32, ptr addrspace(1) %a, i32 2
  %o3 = atomicrmw add ptr addrspace(1) %p2, i32 %i seq_cst
  %p3 = getelementptr i32, ptr addrspace(1) %a, i32 3
  %o4 = atomicrmw umax ptr addrspace(1) %p3, i32 %i acq_rel
  %p4 = getelementptr i32, ptr addrspace(1) %a, i32 4
  %o5 = atomicrmw nand ptr addrspace(1) %p4, i32 %i monotonic
  %p5 = getelementptr i32, ptr addrspace(1) %a, i32 5
  %o6 = cmpxchg ptr addrspace(1) %p5, i32 0, i32 %i monotonic monotonic"""
    x = RNG.integers(-9, 9, 128).astype(np.float32)
    got = kernel(text, [np.zeros(6, np.uint32), x], blocks=2)[0]
    assert got[:2].view(np.float32).tolist() == [x.sum(), max(x.max(), 0)]
    nand = 0
    for i in range(128):
        nand = ~(nand & i) % 2**32
    assert got[2:].tolist() == [127 * 64, 127, nand, 1]


def test_exchange_within_a_warp() -> None:
    text = f"""{at("a", "float")}
  %x0 = load float, ptr addrspace(1) %pa
"""
    for k, by in enumerate((16, 8, 4, 2, 1)):
        text += f"  %y{k} = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %x{k}, i32 {by}, i32 31)\n  %x{k + 1} = fadd float %x{k}, %y{k}\n"
    text += f"""  store float %x5, ptr addrspace(1) %pa\n {at("b", "i32")}
  %c = fcmp ogt float %x0, 0.0
  %v = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %c)
  %s = call i32 @llvm.nvvm.redux.sync.add(i32 %i, i32 -1)
  %m = xor i32 %v, %s
  store i32 %m, ptr addrspace(1) %pb"""
    x = RNG.integers(-50, 50, 64).astype(np.float32)
    got = kernel(text, [x, np.zeros(64, np.uint32)])
    np.testing.assert_array_equal(got[0], np.repeat(x.reshape(2, 32).sum(1), 32))
    ballots = ((x > 0).reshape(2, 32).astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(1)
    sums = np.arange(64).reshape(2, 32).sum(1)
    assert got[1].tolist() == np.repeat(ballots ^ sums.astype(np.uint64), 32).tolist()


def test_a_tile_of_a_product() -> None:
    """Asynchronous copies to shared memory, ldmatrix, mma: C = A B^T for 16 by 16 and 8 by 16 of bf16, by one warp."""
    before = """@ta = internal addrspace(3) global [256 x bfloat] poison, align 16
@tb = internal addrspace(3) global [128 x bfloat] poison, align 16"""
    four, regs = "{float, float, float, float}", "{i32, i32, i32, i32}"
    text = f"""
  %chunk = mul i32 %tid, 8
  %ga = getelementptr bfloat, ptr addrspace(1) %a, i32 %chunk
  %sa = getelementptr bfloat, ptr addrspace(3) @ta, i32 %chunk
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %sa, ptr addrspace(1) %ga)
  %few = icmp ult i32 %tid, 16
  br i1 %few, label %more, label %go
more:
  %gb = getelementptr bfloat, ptr addrspace(1) %b, i32 %chunk
  %sb = getelementptr bfloat, ptr addrspace(3) @tb, i32 %chunk
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %sb, ptr addrspace(1) %gb)
  br label %go
go:
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %row = and i32 %tid, 15
  %half = lshr i32 %tid, 4
  %r16 = mul i32 %row, 16
  %h8 = mul i32 %half, 8
  %oa = add i32 %r16, %h8
  %pa = getelementptr bfloat, ptr addrspace(3) @ta, i32 %oa
  %ra = call {regs} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %pa)
  %rb8 = and i32 %tid, 7
  %rb16 = mul i32 %rb8, 16
  %hb = and i32 %tid, 8
  %ob = add i32 %rb16, %hb
  %pb = getelementptr bfloat, ptr addrspace(3) @tb, i32 %ob
  %rb = call {{i32, i32}} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %pb)
""" + "".join(f"  %a{k} = extractvalue {regs} %ra, {k}\n" for k in range(4))
    text += "".join(f"  %b{k} = extractvalue {{i32, i32}} %rb, {k}\n" for k in range(2))
    operands = ", ".join(f"i32 %{n}" for n in ("a0", "a1", "a2", "a3", "b0", "b1")) + ", float 0.0" * 4
    text += f"  %d = call {four} @llvm.nvvm.mma.m16n8k16.row.col.bf16({operands})\n"
    text += "  %g = lshr i32 %tid, 2\n  %t = and i32 %tid, 3\n  %t2 = mul i32 %t, 2\n  %g8 = mul i32 %g, 8\n  %o = add i32 %g8, %t2\n"
    for k in range(4):
        text += f"  %d{k} = extractvalue {four} %d, {k}\n  %o{k} = add i32 %o, {64 * (k // 2) + k % 2}\n"
        text += f"  %q{k} = getelementptr float, ptr addrspace(1) %c, i32 %o{k}\n  store float %d{k}, ptr addrspace(1) %q{k}\n"
    a, b = RNG.normal(size=(16, 16)).astype(ml_dtypes.bfloat16), RNG.normal(size=(8, 16)).astype(ml_dtypes.bfloat16)
    got = kernel(text, [a, b, np.zeros((16, 8), np.float32)], before=before, threads=32)[2]
    np.testing.assert_array_equal(got, (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float32))
