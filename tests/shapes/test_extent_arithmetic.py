"""The pass ``refine-shapes`` evaluates arithmetic on extents as the interpreter computes it: expressions that are drawn at random."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg
from wengert.dialects import stablehlo
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import all_ops
from wengert.runtime.interpreter import run

Expression = tuple[str, ...]
BINARY = ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum")


def expressions() -> st.SearchStrategy[object]:
    leaves = st.one_of(st.sampled_from([("extent", 0), ("extent", 1)]), st.tuples(st.just("number"), st.integers(-3, 7)))

    def grow(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
        return st.one_of(
            st.tuples(st.sampled_from(BINARY), inner, inner),
            st.tuples(st.just("select"), inner, inner, inner, inner),
            st.tuples(st.just("clamp"), inner, inner, inner),
            st.tuples(st.just("narrow"), inner),
            st.tuples(st.just("list"), inner, inner),
            st.tuples(st.just("sum"), inner, inner, inner),
            st.tuples(st.just("negate"), inner),
        )

    return st.recursive(leaves, grow, max_leaves=8)


class Writer:
    """An expression as StableHLO on scalars of i64."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def put(self, text: str) -> str:
        self.lines.append(f"  %v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def number(self, value: int) -> str:
        return self.put(f"stablehlo.constant dense<{value}> : tensor<i64>")

    def one(self, x: str) -> str:
        return self.put(f"stablehlo.reshape {x} : (tensor<i64>) -> tensor<1xi64>")

    def write(self, e: object) -> str:
        kind, *parts = e  # type: ignore[misc]
        if kind == "number":
            return self.number(parts[0])
        if kind == "extent":
            n = self.put(f"stablehlo.get_dimension_size %x, dim = {parts[0]} : (tensor<?x?xf64>) -> tensor<i32>")
            return self.put(f"stablehlo.convert {n} : (tensor<i32>) -> tensor<i64>")
        x = [self.write(part) for part in parts]
        if kind in (*BINARY, "negate"):
            return self.put(f"stablehlo.{kind} {', '.join(x)} : tensor<i64>")
        if kind == "clamp":
            return self.put(f"stablehlo.clamp {', '.join(x)} : tensor<i64>")
        if kind == "select":
            p = self.put(f"stablehlo.compare LT, {x[0]}, {x[1]} : (tensor<i64>, tensor<i64>) -> tensor<i1>")
            return self.put(f"stablehlo.select {p}, {x[2]}, {x[3]} : tensor<i1>, tensor<i64>")
        if kind == "narrow":
            n = self.put(f"stablehlo.convert {x[0]} : (tensor<i64>) -> tensor<i32>")
            return self.put(f"stablehlo.convert {n} : (tensor<i32>) -> tensor<i64>")
        ones = [self.one(v) for v in x]
        n = len(ones)
        types = ", ".join(["tensor<1xi64>"] * n)
        whole = self.put(f"stablehlo.concatenate {', '.join(ones)}, dim = 0 : ({types}) -> tensor<{n}xi64>")
        if kind == "list":
            part = self.put(f"stablehlo.slice {whole} [1:2] : (tensor<{n}xi64>) -> tensor<1xi64>")
            return self.put(f"stablehlo.reshape {part} : (tensor<1xi64>) -> tensor<i64>")
        zero = self.number(0)
        return self.put(f"stablehlo.reduce({whole} init: {zero}) applies stablehlo.add across dimensions = [0] : (tensor<{n}xi64>, tensor<i64>) -> tensor<i64>")


@given(expressions(), st.integers(0, 5), st.integers(1, 5))
@settings(max_examples=60)
def test_arithmetic_on_extents_is_what_the_interpreter_computes(expression: object, a: int, b: int) -> None:
    writer = Writer()
    result = writer.write(expression)
    text = "\n".join(["func.func public @main(%x: tensor<?x?xf64>) -> tensor<i64> {", *writer.lines, f"  return {result} : tensor<i64>", "}"])
    x = np.zeros((a, b))
    with np.errstate(all="ignore"):
        (expected,) = run(parse_module(text), [x])
    special = wg.parse(text).specialize((a, b))
    (actual,) = special.compile("interpreter")(x)
    assert actual == expected
    if "divide" not in text and "remainder" not in text:  # division by zero is left to those who run it
        kinds = {type(op) for op in all_ops(special.module)} & {stablehlo.AddOp, stablehlo.SelectOp, stablehlo.ReduceOp, stablehlo.ClampOp, stablehlo.ConvertOp}
        assert not kinds
