"""What kernels of the gpu level compute: every scalar op as the function that it means, control flow by lane, threads together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device_kernels import GRID, run_kernel
from xdsl.dialects import complex
from xdsl.ir import Attribute, Block, Operation

from wengert.dialects.gpu import scalars
from wengert.dialects.gpu.scalars import Meaning, meaning, meaning_of_name, signature_of, type_name, type_named
from wengert.dialects.kernel import functions
from wengert.dialects.registry import make_context
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import bf16, c64, c128, dtype_of, f16, f32, f64, i1, i8, i32, i64, is_boolean, is_complex, is_integer, ui8, ui32, ui64
from wengert.ir.verification.verifier import verify
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter import run
from wengert.runtime.interpreter.ops.kernels import apply

Array = np.ndarray[Any, np.dtype[Any]]
COUNT = 24


def values(type: Attribute, seed: int) -> Array:
    """Numbers of an element type, with what is special among them."""
    draw, dtype = np.random.default_rng(seed), dtype_of(type)
    if is_boolean(type):
        return draw.random(COUNT) < 0.5
    if is_integer(type):
        made = draw.integers(0, 256, (COUNT, dtype.itemsize), np.uint8).view(dtype).reshape(-1)
        made[:3] = np.array([0, 1, -1]).astype(dtype)
        return made
    if is_complex(type):
        return (draw.normal(size=COUNT) + 1j * draw.normal(size=COUNT)).astype(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
    return np.concatenate([draw.permutation(special), draw.normal(size=COUNT - len(special)) * 3]).astype(dtype)


def kernel_text(name: str, operands: list[Attribute], result: Attribute, *, predicate: str = "", types: str = "") -> tuple[str, str]:
    """A body that applies an op (or calls a function) to elements, and the kernel's arguments."""
    loads = [f"%v{n} = memref.load %x{n}[%g] : memref<{COUNT}x{type}, 1>" for n, type in enumerate(operands)]
    used = ", ".join(f"%v{n}" for n in range(len(operands)))
    if name.startswith("@"):
        apply_ = f"%r = func.call {name}({used}) : ({', '.join(map(str, operands))}) -> {result}"
    else:
        apply_ = f"%r = {name} {predicate}{used} : {types}"
    body = "\n".join([*loads, apply_, f"memref.store %r, %y[%g] : memref<{COUNT}x{result}, 1>"])
    buffers = [f"%x{n}: memref<{COUNT}x{type}, 1>" for n, type in enumerate(operands)]
    return body, "; ".join([*buffers, f"%y: memref<{COUNT}x{result}, 1>"])


def check(known: Meaning, body: str, arguments: str, functions_text: str = "") -> None:
    """A kernel's results are those of the scalar function."""
    inputs = [values(type, number) for number, type in enumerate(known.operands)]
    taken, given = signature_of(known)
    result = run_kernel(body, arguments, [x.view(dtype_of(type)) for x, type in zip(inputs, taken, strict=True)], grid=3, functions=functions_text)
    expected = apply(known.function, inputs, known.operands, known.result)
    assert result.dtype == dtype_of(given)
    np.testing.assert_array_equal(result.view(np.uint8), np.ascontiguousarray(expected).view(np.uint8))


FLOAT_TABLES = [(op, type) for op in scalars.FLOAT_FUNCTIONS for type in (f32, f64, bf16)]
INTEGER_TABLES = [(op, type) for table in (scalars.SIGNED_FUNCTIONS, scalars.UNSIGNED_FUNCTIONS) for op in table for type in (i32, i8)]
COMPLEX_TABLES = [(op, c64) for op in scalars.COMPLEX_FUNCTIONS if op not in (complex.CreateOp, complex.EqualOp, complex.NotEqualOp, complex.Atan2Op)]
TABLES: list[tuple[type[Operation], Attribute]] = [*FLOAT_TABLES, *INTEGER_TABLES, *[(op, i1) for op in scalars.BOOLEAN_FUNCTIONS], *COMPLEX_TABLES]


@pytest.mark.parametrize(("op", "type"), TABLES, ids=lambda part: part.name if isinstance(part, type) else str(part))
def test_scalar_ops_are_the_functions_that_they_mean(op: type[Operation], type: Attribute) -> None:

    count = len(op.get_irdl_definition().operands)  # pyright: ignore
    result = {complex.AbsOp: f32, complex.ReOp: f32, complex.ImOp: f32}.get(op, type)
    body, arguments = kernel_text(op.name, [type] * count, result, types=str(type))
    known = meaning(op.create(operands=Block(arg_types=[type] * count).args, result_types=[result]))
    assert known is not None
    check(known, body, arguments)


@pytest.mark.parametrize(("source", "target", "op"), [
    (f32, f64, "arith.extf"), (f64, f32, "arith.truncf"), (f32, bf16, "arith.truncf"), (f16, f32, "arith.extf"), (i32, f32, "arith.sitofp"), (i32, f32, "arith.uitofp"),
    (i1, f32, "arith.uitofp"), (i8, i32, "arith.extsi"), (i8, i32, "arith.extui"), (i1, i32, "arith.extui"), (i64, i32, "arith.trunci"), (f32, i32, "arith.bitcast"), (i64, f64, "arith.bitcast"),
])  # fmt: skip
def test_conversions(source: Attribute, target: Attribute, op: str) -> None:
    body, arguments = kernel_text(op, [source], target, types=f"{source} to {target}")
    module = parse_module(f"func.func @f(%x: {source}) {{ %y = {op} %x : {source} to {target} return }}", context=make_context())
    (made,) = [inner for inner in module.walk() if inner.name == op]
    known = meaning(made)
    assert known is not None
    check(known, body, arguments)


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
@pytest.mark.parametrize("type", [i8, i64, i1], ids=str)
def test_comparisons_of_integers(predicate: str, type: Attribute) -> None:
    body, arguments = kernel_text("arith.cmpi", [type, type], i1, predicate=f"{predicate}, ", types=str(type))
    x, y = values(type, 1), values(type, 2)
    result = run_kernel(body, arguments, [x, y], grid=3)
    width = {i8: 8, i64: 64, i1: 1}[type]

    def number(values: Array) -> list[int]:
        return [int(v) % (1 << width) if predicate[0] == "u" else -int(v) if type == i1 else int(v) for v in values]

    compare = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}[predicate[-2:]]
    assert result.tolist() == [getattr(a, compare)(b) for a, b in zip(number(x), number(y), strict=True)]


@pytest.mark.parametrize("predicate", ["false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"])
def test_comparisons_of_floats(predicate: str) -> None:
    body, arguments = kernel_text("arith.cmpf", [f32, f32], i1, predicate=f"{predicate}, ", types="f32")
    x, y = values(f32, 1), values(f32, 2)
    result = run_kernel(body, arguments, [x, y], grid=3)
    nan = np.isnan(x) | np.isnan(y)
    ordered = {"eq": x == y, "gt": x > y, "ge": x >= y, "lt": x < y, "le": x <= y, "ne": (x < y) | (x > y), "rd": ~nan, "no": nan}
    expected = {"false": np.zeros(COUNT, bool), "true": np.ones(COUNT, bool), "ord": ~nan, "uno": nan}.get(predicate)
    if expected is None:
        expected = ordered[predicate[1:]] | (nan if predicate[0] == "u" else False)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("op", ["arith.maxnumf", "arith.minnumf"])
def test_numbers_win_against_nan(op: str) -> None:
    body, arguments = kernel_text(op, [f32, f32], f32, types="f32")
    x, y = values(f32, 1), values(f32, 2)
    np.testing.assert_array_equal(run_kernel(body, arguments, [x, y], grid=3), (np.fmax if "max" in op else np.fmin)(x, y))


CALLS = [
    Meaning("divide", (i32, i32), i32), Meaning("divide", (ui8, ui8), ui8), Meaning("remainder", (f64, f64), f64), Meaning("lgamma", (f32,), f32), Meaning("convert", (f32,), ui32),
    Meaning("convert", (ui64,), f32), Meaning("convert", (c64,), c128), Meaning("shift_left", (i32, i32), i32), Meaning("total_lt", (f32, f32), i1), Meaning("power", (i32, i32), i32),
    Meaning("lt", (ui32, ui32), i1), Meaning("select", (i1, c64, c64), c64), Meaning("clamp", (f32, f32, f32), f32), Meaning("reduce_precision_e5m2", (f32,), f32), Meaning("exponential", (c128,), c128),
]  # fmt: skip


@pytest.mark.parametrize("known", CALLS, ids=lambda known: known.name)
def test_device_functions_are_what_their_names_say(known: Meaning) -> None:
    assert meaning_of_name(known.name) == known
    operands, result = signature_of(known)
    body, arguments = kernel_text(f"@{known.name}", list(operands), result)
    check(known, body, arguments, f"func.func private @{known.name}({', '.join(map(str, operands))}) -> {result}")


def test_names_of_device_functions() -> None:
    assert [type_name(type) for type in (f32, ui8, c64, c128, bf16)] == ["f32", "ui8", "c64", "c128", "bf16"]
    assert type_named("c128") == c128
    for name in ("divide.i32.i32.i32", "wg.divide.i32.i32", "wg.nothing.f32.f32", "wg.abs.f33.f32", "wg.abs"):
        assert meaning_of_name(name) is None
    for table in (scalars.FLOAT_FUNCTIONS, scalars.SIGNED_FUNCTIONS, scalars.UNSIGNED_FUNCTIONS, scalars.BOOLEAN_FUNCTIONS, scalars.COMPLEX_FUNCTIONS):
        assert all(functions.op_class(name) is not None for name in table.values())


@pytest.mark.parametrize(("callee", "message"), [
    ("@wg.nothing.f32.f32", "has no body and is the name of no scalar function"),
    ("@wg.abs.f64.f64", "with other types than its name says"),
])  # fmt: skip
def test_a_call_of_what_nobody_knows_is_refused(callee: str, message: str) -> None:
    body, arguments = kernel_text(callee, [f32], f32)
    with pytest.raises(UnsupportedOpError, match=rf"kernel\.mlir:\d+:\d+: error: 'func\.call' calls {callee}.* {message}|{message}"):
        run_kernel(body, arguments, [np.ones(COUNT, np.float32)], grid=3, functions=f"func.func private {callee}(f32) -> f32")


def test_functions_with_bodies() -> None:
    twice = "func.func private @twice(%a: f32) -> f32 {\n  %b = arith.addf %a, %a : f32\n  return %b : f32\n}"
    body, arguments = kernel_text("@twice", [f32], f32)
    x = values(f32, 3)
    np.testing.assert_array_equal(run_kernel(body, arguments, [x], grid=3, functions=twice), x + x)


X = np.arange(1, 17, dtype=np.float32)
BUFFERS = "%x: memref<16xf32, 1>; %y: memref<16xf32, 1>"


def test_branches_by_lane() -> None:
    body = """\
%v = memref.load %x[%g] : memref<16xf32, 1>
%low = arith.cmpi ult, %t, %c2 : index
%r:2 = scf.if %low -> (f32, index) {
  %d = arith.addf %v, %v : f32
  scf.yield %d, %c1 : f32, index
} else {
  %first = arith.cmpi eq, %b, %c0 : index
  %q = scf.if %first -> (f32) {
    %n0 = arith.negf %v : f32
    scf.yield %n0 : f32
  } else {
    scf.yield %v : f32
  }
  scf.yield %q, %t : f32, index
}
%i = arith.index_cast %r#1 : index to i32
%f = arith.sitofp %i : i32 to f32
%s = arith.addf %r#0, %f : f32
memref.store %s, %y[%g] : memref<16xf32, 1>"""
    t, b = np.arange(16) % 8, np.arange(16) // 8
    expected = np.where(t < 2, 2 * X + 1, np.where(b == 0, -X, X) + t)
    np.testing.assert_array_equal(run_kernel(body, BUFFERS, [X], grid=2), expected)


def test_loops_by_lane() -> None:
    body = """\
%v = memref.load %x[%g] : memref<16xf32, 1>
%zero = arith.constant 0.0 : f32
%r:2 = scf.for %i = %b to %t step %c2 iter_args(%sum = %zero, %last = %v) -> (f32, f32) {
  %k = arith.index_cast %i : index to i32
  %f = arith.sitofp %k : i32 to f32
  %s = arith.addf %sum, %f : f32
  scf.yield %s, %sum : f32, f32
}
%p = arith.mulf %r#0, %r#1 : f32
memref.store %p, %y[%g] : memref<16xf32, 1>"""
    expected: list[float] = []
    for g in range(16):
        total, last = 0.0, float(X[g])
        for i in range(g // 8, g % 8, 2):
            total, last = total + i, total
        expected.append(total * last)
    np.testing.assert_array_equal(run_kernel(body, BUFFERS, [X], grid=2), expected)


def test_while_loops_by_lane() -> None:
    body = """\
%v = memref.load %x[%g] : memref<16xf32, 1>
%ten = arith.constant 10.0 : f32
%r:2 = scf.while (%a = %v, %k = %c0) : (f32, index) -> (f32, index) {
  %go = arith.cmpf olt, %a, %ten : f32
  scf.condition(%go) %a, %k : f32, index
} do {
^bb0(%a: f32, %k: index):
  %twice = arith.addf %a, %a : f32
  %next = arith.addi %k, %c1 : index
  scf.yield %twice, %next : f32, index
}
%i = arith.index_cast %r#1 : index to i32
%f = arith.sitofp %i : i32 to f32
%s = arith.addf %r#0, %f : f32
memref.store %s, %y[%g] : memref<16xf32, 1>"""
    expected: list[float] = []
    for x in X.tolist():
        count = 0
        while x < 10:
            x, count = 2 * x, count + 1
        expected.append(x + count)
    np.testing.assert_array_equal(run_kernel(body, BUFFERS, [X], grid=2), expected)


@pytest.mark.parametrize(("mode", "offset", "source"), [
    ("xor", 3, lambda lane: lane ^ 3), ("down", 1, lambda lane: lane + 1), ("up", 2, lambda lane: lane - 2), ("idx", 5, lambda lane: lane * 0 + 5),
])  # fmt: skip
def test_shuffles(mode: str, offset: int, source: Callable[[Array], Array]) -> None:
    body = f"""\
%v = memref.load %x[%g] : memref<16xf32, 1>
%o = arith.constant {offset} : i32
%w = arith.constant 8 : i32
%s, %ok = gpu.shuffle {mode} %v, %o, %w : f32
scf.if %ok {{
  memref.store %s, %y[%g] : memref<16xf32, 1>
}} else {{
  memref.store %v, %y[%g] : memref<16xf32, 1>
}}"""
    lane = np.arange(16) % 8
    from_ = source(lane)
    there = (from_ >= 0) & (from_ < 8)
    expected = np.where(there, X[np.where(there, np.arange(16) - lane + from_, 0)], X)
    np.testing.assert_array_equal(run_kernel(body, BUFFERS, [X], grid=2), expected)


def test_a_shuffle_reduction_needs_nothing_of_lanes_that_are_not_there() -> None:
    steps = "\n".join(
        f"%o{n} = arith.constant {n} : i32\n%s{n}, %k{n} = gpu.shuffle down %v{2 * n}, %o{n}, %w : f32\n%v{n} = arith.addf %v{2 * n}, %s{n} : f32"
        for n in (4, 2, 1)
    )
    body = f"%v8 = memref.load %x[%g] : memref<16xf32, 1>\n%w = arith.constant 32 : i32\n{steps}\n%first = arith.cmpi eq, %t, %c0 : index\nscf.if %first {{\n  memref.store %v1, %y[%b] : memref<2xf32, 1>\n}}"
    result = run_kernel(body, "%x: memref<16xf32, 1>; %y: memref<2xf32, 1>", [X], grid=2)
    np.testing.assert_array_equal(result, X.reshape(2, 8).sum(1))


@pytest.mark.parametrize(("kind", "clusters", "expected"), [
    ("add", "", lambda x: x.sum(1, keepdims=True)), ("maximumf", "", lambda x: x.max(1, keepdims=True)), ("mul", " cluster(size = 2)", lambda x: np.repeat(x[:, ::2] * x[:, 1::2], 2, 1)),
    ("minnumf", " cluster(size = 2, stride = 4)", lambda x: np.tile(np.minimum(x[:, :4], x[:, 4:]), 2)),
])  # fmt: skip
def test_reductions_of_subgroups(kind: str, clusters: str, expected: Callable[[Array], Array]) -> None:
    body = (
        f"%v = memref.load %x[%g] : memref<16xf32, 1>\n%r = gpu.subgroup_reduce {kind} %v{clusters} : (f32) -> f32\nmemref.store %r, %y[%g] : memref<16xf32, 1>"
    )
    np.testing.assert_array_equal(run_kernel(body, BUFFERS, [X], grid=2), np.broadcast_to(expected(X.reshape(2, 8)), (2, 8)).reshape(-1))


ATOMICS = [("addf", np.add), ("mulf", np.multiply), ("maximumf", np.maximum), ("minimumf", np.minimum), ("maxnumf", np.fmax)]


@pytest.mark.parametrize(("kind", "function"), ATOMICS)
def test_atomics(kind: str, function: np.ufunc) -> None:
    """All threads update two elements; what they see of them are the totals so far."""
    body = f"""\
%v = memref.load %x[%g] : memref<16xf32, 1>
%f = arith.constant 1.0 : f32
%at = arith.remui %t, %c2 : index
%start = arith.cmpi ult, %g, %c2 : index
scf.if %start {{
  memref.store %f, %y[%g] : memref<4xf32, 1>
}}
gpu.barrier
%o = memref.atomic_rmw {kind} %v, %y[%at] : (f32, memref<4xf32, 1>) -> f32
%last = arith.constant 14 : index
%late = arith.cmpi uge, %g, %last : index
scf.if %late {{
  %p = arith.addi %at, %c2 : index
  memref.store %o, %y[%p] : memref<4xf32, 1>
}}"""
    result = run_kernel(body, "%x: memref<16xf32, 1>; %y: memref<4xf32, 1>", [X], grid=1, block=16)
    rows = np.concatenate([np.ones((1, 2), np.float32), X.reshape(8, 2)])
    np.testing.assert_array_equal(result, np.concatenate([function.reduce(rows), function.reduce(rows[:-1])]))


def test_generic_atomics() -> None:
    body = """\
%v = memref.load %x[%g] : memref<16xf32, 1>
%zero = arith.constant 0.0 : f32
%first = arith.cmpi eq, %g, %c0 : index
scf.if %first {
  memref.store %zero, %y[%c0] : memref<1xf32, 1>
}
gpu.barrier
%o = memref.generic_atomic_rmw %y[%c0] : memref<1xf32, 1> {
^bb0(%current: f32):
  %half = arith.constant 0.5 : f32
  %s = arith.mulf %current, %half : f32
  %n1 = arith.addf %s, %v : f32
  memref.atomic_yield %n1 : f32
}"""
    expected = np.float32(0)
    for x in X:
        expected = expected * np.float32(0.5) + x
    np.testing.assert_array_equal(run_kernel(body, "%x: memref<16xf32, 1>; %y: memref<1xf32, 1>", [X], block=16), [expected])


@pytest.mark.parametrize("lanes", [1, 12, 50, 1 << 14])
def test_grids_of_three_dimensions_in_batches(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch whose body uses what is around it; however many work-groups run at once, the results are the same."""
    monkeypatch.setattr("wengert.runtime.interpreter.gpu.launch.LANES", lanes)
    module = parse_module(GRID)
    verify(module)
    x = np.arange(120, dtype=np.int32)
    (result,) = run(module, [x])
    bz, _, tz, _, _ = np.unravel_index(np.arange(120), (2, 5, 2, 2, 3))
    np.testing.assert_array_equal(result, x + bz * 2 + tz)


def test_what_is_not_implemented_is_said() -> None:
    body = "%v = vector.load %x[%c0] : memref<16xf32, 1>, vector<4xf32>"
    with pytest.raises(UnsupportedOpError, match=r"'vector\.load' is not implemented by the interpreter of kernels"):
        run_kernel(body, BUFFERS, [X])
