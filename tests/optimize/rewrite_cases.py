"""One case or more for every rewrite: a program in which it applies, and the ops that are left of the program.

``T`` stands for a tensor of 121 floats (all pairs of 11 special values), ``I`` for one of integers, ``B`` of booleans.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TYPES = {"T": "tensor<121xf64>", "S": "tensor<121xf32>", "I": "tensor<121xi32>", "U": "tensor<121xui8>", "B": "tensor<121xi1>", "Z": "tensor<121xcomplex<f64>>"}


@dataclass(frozen=True)
class Case:
    """A function of these arguments and body, and the names of its ops after simplification, in order."""

    rewrite: str
    arguments: str
    body: str
    left: str
    assume: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The case as a module."""
        results = re.findall(r"return .* : (.*)", self.body)[-1]
        text = f"func.func public @main({self.arguments}) -> ({results}) {{\n{self.body}\n}}"
        return re.sub(r"\b([TSIUBZ])\b", lambda m: TYPES[m.group()], text)

    @property
    def id(self) -> str:
        return self.rewrite + "/" + (self.left.replace(" ", "+") or "nothing")


def case(rewrite: str, arguments: str, *lines: str, left: str = "", assume: str = "") -> Case:
    *ops, last = lines
    body = [f"  %{i} = {op}" if not op.startswith("%") else f"  {op}" for i, op in enumerate(ops)]
    return Case(rewrite, arguments, "\n".join([*body, f"  return {last}"]), left, tuple(assume.split()))


def constant(value: str, type: str = "T") -> str:
    return f"stablehlo.constant dense<{value}> : {type}"


def binary(name: str, lhs: str, rhs: str, type: str = "T") -> str:
    return f"stablehlo.{name} {lhs}, {rhs} : {type}"


def unary(name: str, x: str, type: str = "T") -> str:
    return f"stablehlo.{name} {x} : {type}"


X, XY, N, B = "%x: T", "%x: T, %y: T", "%x: I", "%x: B"
NSZ, FINITE = "no-signed-zeros", "finite"
LESS = "stablehlo.compare LT, %x, %y, FLOAT : (T, T) -> B"

ALGEBRA = [
    case("add-nothing", X, constant("-0.0"), binary("add", "%x", "%0"), "%1 : T"),
    case("add-nothing", X, constant("-0.0"), binary("add", "%0", "%x"), "%1 : T"),
    case("add-nothing", N, constant("0", "I"), binary("add", "%x", "%0", "I"), "%1 : I"),
    case("add-nothing", B, constant("false", "B"), binary("add", "%x", "%0", "B"), "%1 : B"),
    case("add-zero", X, constant("0.0"), binary("add", "%x", "%0"), "%1 : T", assume=NSZ),
    case("subtract-nothing", X, constant("0.0"), binary("subtract", "%x", "%0"), "%1 : T"),
    case("subtract-zero", X, constant("-0.0"), binary("subtract", "%x", "%0"), "%1 : T", assume=NSZ),
    case("subtract-from-nothing", X, constant("-0.0"), binary("subtract", "%0", "%x"), "%1 : T", left="negate"),
    case("subtract-from-nothing", N, constant("0", "I"), binary("subtract", "%0", "%x", "I"), "%1 : I", left="negate"),
    case("subtract-from-zero", X, constant("0.0"), binary("subtract", "%0", "%x"), "%1 : T", left="negate", assume=NSZ),
    case("subtract-integer-from-itself", N, binary("subtract", "%x", "%x", "I"), "%0 : I", left="constant"),
    case("subtract-from-itself", X, binary("subtract", "%x", "%x"), "%0 : T", left="constant", assume=FINITE),
    case("add-negated", XY, unary("negate", "%y"), binary("add", "%x", "%0"), "%1 : T", left="subtract"),
    case("add-negated", XY, unary("negate", "%y"), binary("add", "%0", "%x"), "%1 : T", left="subtract"),
    case("subtract-negated", XY, unary("negate", "%y"), binary("subtract", "%x", "%0"), "%1 : T", left="add"),
    case(
        "add-integer-constants",
        N,
        constant("2147483647", "I"),
        constant("5", "I"),
        binary("add", "%x", "%0", "I"),
        binary("add", "%1", "%2", "I"),
        "%3 : I",
        left="constant add",
    ),
    case("subtract-integer-constant", N, constant("-2147483648", "I"), binary("subtract", "%x", "%0", "I"), "%1 : I", left="constant add"),
    case("multiply-by-one", X, constant("1.0"), binary("multiply", "%0", "%x"), "%1 : T"),
    case("multiply-by-one", N, constant("1", "I"), binary("multiply", "%x", "%0", "I"), "%1 : I"),
    case("multiply-by-one", B, constant("true", "B"), binary("multiply", "%x", "%0", "B"), "%1 : B"),
    case("multiply-by-minus-one", X, constant("-1.0"), binary("multiply", "%x", "%0"), "%1 : T", left="negate"),
    case("multiply-by-minus-one", N, constant("-1", "I"), binary("multiply", "%x", "%0", "I"), "%1 : I", left="negate"),
    case("multiply-integer-by-zero", N, constant("0", "I"), binary("multiply", "%x", "%0", "I"), "%1 : I", left="constant"),
    case("multiply-by-zero", X, constant("0.0"), binary("multiply", "%x", "%0"), "%1 : T", left="constant", assume=f"{NSZ} {FINITE}"),
    case("multiply-negated", XY, unary("negate", "%x"), unary("negate", "%y"), binary("multiply", "%0", "%1"), "%2 : T", left="multiply"),
    case("multiply-negated", X, unary("negate", "%x"), constant("3.0"), binary("multiply", "%1", "%0"), "%2 : T", left="constant multiply"),
    case("negate-multiple", X, constant("3.0"), binary("multiply", "%x", "%0"), unary("negate", "%1"), "%2 : T", left="constant multiply"),
    case(
        "multiply-integer-constants",
        N,
        constant("65537", "I"),
        constant("65539", "I"),
        binary("multiply", "%0", "%x", "I"),
        binary("multiply", "%2", "%1", "I"),
        "%3 : I",
        left="constant multiply",
    ),
    case("divide-by-one", X, constant("1.0"), binary("divide", "%x", "%0"), "%1 : T"),
    case("divide-by-one", N, constant("1", "I"), binary("divide", "%x", "%0", "I"), "%1 : I"),
    case("divide-by-minus-one", X, constant("-1.0"), binary("divide", "%x", "%0"), "%1 : T", left="negate"),
    case("divide-by-power-of-two", X, constant("8.0"), binary("divide", "%x", "%0"), "%1 : T", left="constant multiply"),
    case("divide-by-power-of-two", "%x: S", constant("-0.25", "S"), binary("divide", "%x", "%0", "S"), "%1 : S", left="constant multiply"),
    case("divide-negated", XY, unary("negate", "%x"), unary("negate", "%y"), binary("divide", "%0", "%1"), "%2 : T", left="divide"),
    case("divide-negated", X, unary("negate", "%x"), constant("3.0"), binary("divide", "%0", "%1"), "%2 : T", left="constant divide"),
    case("divide-negated", X, unary("negate", "%x"), constant("3.0"), binary("divide", "%1", "%0"), "%2 : T", left="constant divide"),
    case("integer-remainder-by-one", N, constant("1", "I"), binary("remainder", "%x", "%0", "I"), "%1 : I", left="constant"),
    case("power-of-constant-exponent", X, constant("2.0"), binary("power", "%x", "%0"), "%1 : T", left="multiply"),
    case("power-of-constant-exponent", X, constant("1.0"), binary("power", "%x", "%0"), "%1 : T"),
    case("power-of-constant-exponent", X, constant("0.0"), binary("power", "%x", "%0"), "%1 : T", left="constant"),
    case("power-of-constant-exponent", X, constant("-1.0"), binary("power", "%x", "%0"), "%1 : T", left="constant divide"),
    case("double-negation", X, unary("negate", "%x"), unary("negate", "%0"), "%1 : T"),
    case("negate-difference", XY, binary("subtract", "%x", "%y"), unary("negate", "%0"), "%1 : T", left="subtract", assume=NSZ),
    case("negate-integer-difference", "%x: I, %y: I", binary("subtract", "%x", "%y", "I"), unary("negate", "%0", "I"), "%1 : I", left="subtract"),
    case("even-function", X, unary("negate", "%x"), unary("abs", "%0"), "%1 : T", left="abs"),
    case("even-function", X, unary("negate", "%x"), unary("cosine", "%0"), "%1 : T", left="cosine"),
    case("square-of-absolute", X, unary("abs", "%x"), "chlo.square %0 : T -> T", "%1 : T", left="square"),
    case("idempotent", X, unary("floor", "%x"), unary("ceil", "%0"), "%1 : T", left="floor"),
    case("idempotent", X, unary("abs", "%x"), unary("abs", "%0"), "%1 : T", left="abs"),
    case("extreme-of-itself", X, binary("maximum", "%x", "%x"), "%0 : T"),
    case("extreme-with-infinity", X, constant("0xFFF0000000000000"), binary("maximum", "%x", "%0"), "%1 : T"),
    case("extreme-with-infinity", X, constant("0x7FF0000000000000"), binary("minimum", "%0", "%x"), "%1 : T"),
    case("extreme-with-infinity", N, constant("2147483647", "I"), binary("minimum", "%x", "%0", "I"), "%1 : I"),
    case("extreme-with-infinity", "%x: U", constant("0", "U"), binary("maximum", "%x", "%0", "U"), "%1 : U"),
    case(
        "extreme-within-range",
        N,
        constant("3", "I"),
        binary("maximum", "%x", "%0", "I"),
        constant("9", "I"),
        binary("minimum", "%1", "%2", "I"),
        constant("1", "I"),
        binary("maximum", "%3", "%4", "I"),
        binary("minimum", "%2", "%5", "I"),
        "%6 : I",
        left="constant maximum constant minimum",
    ),
]

BOOLEANS = [
    case("double-complement", N, unary("not", "%x", "I"), unary("not", "%0", "I"), "%1 : I"),
    case("complement-of-comparison", XY, "stablehlo.compare EQ, %x, %y, FLOAT : (T, T) -> B", unary("not", "%0", "B"), "%1 : B", left="compare"),
    case(
        "complement-of-comparison",
        "%x: I, %y: I",
        "stablehlo.compare LT, %x, %y, SIGNED : (I, I) -> B",
        unary("not", "%0", "B"),
        "%1 : B",
        left="compare",
    ),
    case("bits-with-itself", N, binary("and", "%x", "%x", "I"), "%0 : I"),
    case("and-with-constant", N, constant("-1", "I"), binary("and", "%x", "%0", "I"), "%1 : I"),
    case("and-with-constant", B, constant("false", "B"), binary("and", "%0", "%x", "B"), "%1 : B", left="constant"),
    case("or-with-constant", "%x: U", constant("255", "U"), binary("or", "%x", "%0", "U"), "%1 : U", left="constant"),
    case("or-with-constant", B, constant("false", "B"), binary("or", "%0", "%x", "B"), "%1 : B"),
    case("xor-with-constant", N, binary("xor", "%x", "%x", "I"), "%0 : I", left="constant"),
    case("xor-with-constant", N, constant("-1", "I"), binary("xor", "%x", "%0", "I"), "%1 : I", left="not"),
    case("xor-with-constant", B, constant("false", "B"), binary("xor", "%x", "%0", "B"), "%1 : B"),
    case("shift-by-nothing", N, constant("0", "I"), binary("shift_left", "%x", "%0", "I"), "%1 : I"),
    case("compare-with-itself", N, "stablehlo.compare LE, %x, %x, SIGNED : (I, I) -> B", "%0 : B", left="constant"),
    case("compare-with-itself", X, "stablehlo.compare LT, %x, %x, FLOAT : (T, T) -> B", "%0 : B", left="constant"),
    case("compare-boolean-with-constant", B, constant("false", "B"), "stablehlo.compare EQ, %x, %0, UNSIGNED : (B, B) -> B", "%1 : B", left="not"),
    case("compare-boolean-with-constant", B, constant("true", "B"), "stablehlo.compare EQ, %0, %x, UNSIGNED : (B, B) -> B", "%1 : B"),
    case(
        "compare-converted-boolean",
        B,
        "stablehlo.convert %x : (B) -> I",
        constant("0", "I"),
        "stablehlo.compare NE, %0, %1, SIGNED : (I, I) -> B",
        "%2 : B",
    ),
    case("select-known", XY, constant("true", "tensor<i1>"), "stablehlo.select %0, %x, %y : tensor<i1>, T", "%1 : T"),
    case("select-known", XY, constant("false", "B"), "stablehlo.select %0, %x, %y : B, T", "%1 : T"),
    case("select-known", "%p: B, %x: T", "stablehlo.select %p, %x, %x : B, T", "%0 : T"),
    case(
        "select-between-booleans",
        "%p: B",
        constant("true", "B"),
        constant("false", "B"),
        "stablehlo.select %p, %1, %0 : B, B",
        "%2 : B",
        left="not",
    ),
    case("select-by-complement", "%p: B, %x: T, %y: T", unary("not", "%p", "B"), "stablehlo.select %0, %x, %y : B, T", "%1 : T", left="select"),
    case(
        "select-of-select",
        "%p: B, %x: T, %y: T",
        "stablehlo.select %p, %x, %y : B, T",
        "stablehlo.select %p, %0, %x : B, T",
        "stablehlo.select %p, %y, %1 : B, T",
        "%2 : T",
        left="select",
    ),
    case(
        "select-by-splat-broadcast",
        "%p: tensor<i1>, %x: T, %y: T",
        "stablehlo.broadcast_in_dim %p, dims = [] : (tensor<i1>) -> B",
        "stablehlo.select %0, %x, %y : B, T",
        "%1 : T",
        left="select",
    ),
    case(
        "clamp-by-infinities",
        X,
        constant("0xFFF0000000000000", "tensor<f64>"),
        constant("0x7FF0000000000000", "tensor<f64>"),
        "stablehlo.clamp %0, %x, %1 : (tensor<f64>, T, tensor<f64>) -> T",
        "%2 : T",
    ),
]

COMPLEX = [
    case("real-of-complex", XY, "stablehlo.complex %x, %y : Z", "stablehlo.real %0 : (Z) -> T", "%1 : T"),
    case("real-of-complex", "%x: T", "stablehlo.real %x : (T) -> T", "%0 : T"),
    case("imag-of-complex", "%x: T", "stablehlo.imag %x : (T) -> T", "%0 : T", left="constant"),
    case("conjugate-of-conjugate", "%x: T", "chlo.conj %x : T -> T", "%0 : T"),
    case("real-of-complex", "%z: Z", "chlo.conj %z : Z -> Z", "stablehlo.real %0 : (Z) -> T", "%1 : T", left="real"),
    case("imag-of-complex", XY, "stablehlo.complex %x, %y : Z", "stablehlo.imag %0 : (Z) -> T", "%1 : T"),
    case("imag-of-complex", "%z: Z", "chlo.conj %z : Z -> Z", "stablehlo.imag %0 : (Z) -> T", "%1 : T", left="imag negate"),
    case(
        "complex-of-parts",
        "%z: Z",
        "stablehlo.real %z : (Z) -> T",
        "stablehlo.imag %z : (Z) -> T",
        "stablehlo.complex %0, %1 : Z",
        "%2 : Z",
    ),
    case("conjugate-of-conjugate", "%z: Z", "chlo.conj %z : Z -> Z", "chlo.conj %0 : Z -> Z", "%1 : Z"),
    case("conjugate-of-conjugate", XY, "stablehlo.complex %x, %y : Z", "chlo.conj %0 : Z -> Z", "%1 : Z", left="negate complex"),
]

CONVERSIONS = [
    case("convert-to-same-type", X, "stablehlo.convert %x : T", "%0 : T"),
    case("convert-of-lossless", "%x: S", "stablehlo.convert %x : (S) -> T", "stablehlo.convert %0 : (T) -> S", "%1 : S"),
    case("convert-of-lossless", B, "stablehlo.convert %x : (B) -> I", "stablehlo.convert %0 : (I) -> T", "%1 : T", left="convert"),
    case("convert-of-lossless", "%x: U", "stablehlo.convert %x : (U) -> I", "stablehlo.convert %0 : (I) -> S", "%1 : S", left="convert"),
    case(
        "convert-of-wrapping",
        "%x: tensor<121xi64>",
        "stablehlo.convert %x : (tensor<121xi64>) -> I",
        "stablehlo.convert %0 : (I) -> U",
        "%1 : U",
        left="convert",
    ),
    case("bitcast-of-bitcast", N, "stablehlo.bitcast_convert %x : (I) -> S", "stablehlo.bitcast_convert %0 : (S) -> I", "%1 : I"),
]

CASES = [*ALGEBRA, *BOOLEANS, *COMPLEX, *CONVERSIONS]
