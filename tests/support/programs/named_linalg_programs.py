"""Programs of named ops of linalg in their custom form, made from the table of their iteration spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wengert.dialects.upstream.named_linalg import BINARY, CONTRACTIONS, CONVOLUTIONS, POOLINGS, UNARY

NOT_IN_MLIR_22 = ("matmul_transpose_a", "matmul_transpose_b", "batch_matmul_transpose_a", "batch_matmul_transpose_b")


def function(name: str, op: str, operands: list[str], out: str, between: str = "", dimensions: str = "") -> str:
    """A function of one op, ``linalg.op between ins(...) outs(...) dimensions``."""
    arguments = ", ".join(f"%a{i}: {type}" for i, type in enumerate([*operands, out]))
    names = ", ".join(f"%a{i}" for i in range(len(operands)))
    ins = f"ins({names} : {', '.join(operands)}) outs(%a{len(operands)} : {out})"
    result = "" if dimensions else f" -> {out}"
    return f"func.func @{name}({arguments}) -> {out} {{\n  %r = linalg.{op}{between} {ins}{dimensions}{result}\n  return %r : {out}\n}}\n"


def program() -> str:
    """All of them in one module, ``@f0``, ``@f1``, ..."""
    return "".join(re.sub(r"@\w+\(", f"@f{i}(", text, count=1) for i, (_, text) in enumerate(functions()))


def functions() -> Iterator[tuple[str, str]]:
    """Names and texts of functions."""
    yield from _contractions()
    yield from _windows()
    for op in UNARY:
        yield op, function(op, op, ["tensor<2x3xf32>"], "tensor<2x3xf32>")
    for op in BINARY:
        if op in ("max_unsigned", "min_unsigned"):  # kinds of linalg.elementwise alone
            continue
        element = "i32" if op.endswith("unsigned") else "f64"
        yield op, function(op, op, [f"tensor<4x{element}>"] * 2, f"tensor<4x{element}>")
    yield "add of integers", function("add", "add", ["tensor<4xi32>"] * 2, "tensor<4xi32>")
    yield "mul of complex numbers", function("mul", "mul", ["tensor<4xcomplex<f32>>"] * 2, "tensor<4xcomplex<f32>>")
    yield "select", function("select", "select", ["tensor<4xi1>", "tensor<4xf32>", "tensor<4xf32>"], "tensor<4xf32>")
    yield "fill", function("fill", "fill", ["f32"], "tensor<2x3xf32>")
    yield "copy", function("copy", "copy", ["tensor<2x3xf32>"], "tensor<2x3xf32>")
    yield "broadcast", function("broadcast", "broadcast", ["tensor<3xf32>"], "tensor<2x3xf32>", dimensions=" dimensions = [0]")
    yield "transpose", function("transpose", "transpose", ["tensor<2x3xf32>"], "tensor<3x2xf32>", dimensions=" permutation = [1, 0]")
    maps = " indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]"
    yield "elementwise", function("f", "elementwise", ["tensor<2x3xf32>"], "tensor<2x3xf32>", " kind=#linalg.elementwise_kind<exp>")
    between = f" kind=#linalg.elementwise_kind<add>{maps}"
    yield "elementwise with maps", function("f", "elementwise", ["tensor<3xf32>", "tensor<2x3xf32>"], "tensor<2x3xf32>", between)
    maps = " indexing_maps = [affine_map<(m, k, n) -> (m, k)>, affine_map<(m, k, n) -> (k, n)>, affine_map<(m, k, n) -> (n, m)>]"
    yield "contract", function("f", "contract", ["tensor<2x3xf32>", "tensor<3x4xf32>"], "tensor<4x2xf32>", maps)
    yield "softmax", function("f", "softmax", ["tensor<2x3xf32>"], "tensor<2x3xf32>", " dimension(1)")
    body = "{\n  ^bb0(%x: f32, %y: f32):\n    %s = arith.addf %x, %y : f32\n    linalg.yield %s : f32\n  }"
    attributes = '{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}'
    yield (
        "generic",
        f"func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {{\n"
        f"  %r = linalg.generic {attributes} ins(%a : tensor<2x3xf32>) outs(%b : tensor<2xf32>) {body} -> tensor<2xf32>\n  return %r : tensor<2xf32>\n}}\n",
    )


def _contractions() -> Iterator[tuple[str, str]]:
    extents = dict(zip("bmnkpqr", range(2, 9), strict=True))
    for op, spelling in CONTRACTIONS.items():
        if op in NOT_IN_MLIR_22:
            continue
        quantized = op.startswith("quantized")
        elements = ("i8", "i8", "i32") if quantized else ("f32", "f32", "f32")
        x, y, out = ("".join(f"{extents[d]}x" for d in row) for row in spelling.split(" "))
        points = ["i32", "i32"] if quantized else []
        yield op, function(op, op, [f"tensor<{x}{elements[0]}>", f"tensor<{y}{elements[1]}>", *points], f"tensor<{out}{elements[2]}>")
    yield "matmul that widens", function("matmul", "matmul", ["tensor<2x3xf16>", "tensor<3x4xf16>"], "tensor<2x4xf32>")
    cast = " {cast = #linalg.type_fn<cast_unsigned>}"
    yield "matmul of unsigned integers", function("matmul", "matmul", ["tensor<2x3xi8>", "tensor<3x4xi8>"], "tensor<2x4xi32>", cast)


def _windows() -> Iterator[tuple[str, str]]:
    extents = {"n": 1, "c": 2, "f": 3, "g": 2, "m": 2, "h": 4, "w": 5, "d": 6, "H": 2, "W": 3, "D": 2}
    for op, spelling in {**CONVOLUTIONS, **POOLINGS}.items():
        rows = spelling.split(" ")
        windows = rows[1]
        x = "".join(f"{extents[d] + (extents[d.upper()] - 1 if d.upper() in windows else 0)}x" for d in rows[0])
        quantized, unsigned = op.endswith("_q"), op.endswith("unsigned")
        element, wide = ("i8", "i32") if quantized else ("i32", "i32") if unsigned else ("f32", "f32")
        points = ["i32", "i32"] if quantized else []
        window, out = ("".join(f"{extents[d]}x" for d in row) for row in rows[1:])
        yield op, function(op, op, [f"tensor<{x}{element}>", f"tensor<{window}{element}>", *points], f"tensor<{out}{wide}>")
