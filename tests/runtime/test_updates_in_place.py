"""Updates in place: made where nobody can see them, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.dialects import stablehlo
from wengert.runtime.interpreter.rules import EVALUATION_RULES

T = "tensor<3x2xf64>"
ROW = "tensor<1x2xf64>"


def program(body: str, returned: str, types: str, arguments: str = f"%x: {T}, %u: {ROW}, %i: tensor<i32>") -> wg.Program:
    signature = types if "," not in types else f"({types})"
    return wg.parse(
        f"func.func public @main({arguments}) -> {signature} {{\n%z = stablehlo.constant dense<0> : tensor<i32>\n{body}\nreturn {returned} : {types}\n}}"
    )


def update(result: str, operand: str, row: str = "%u", at: str = "%i") -> str:
    return f"{result} = stablehlo.dynamic_update_slice {operand}, {row}, {at}, %z : ({T}, {ROW}, tensor<i32>, tensor<i32>) -> {T}\n"


def loop(body: str, carried: str = "%f", count: int = 3) -> str:
    return f"""%n = stablehlo.constant dense<{count}> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %f = stablehlo.sine %x : {T}
    %r:2 = stablehlo.while(%k = %z, %s = {carried}) : tensor<i32>, {T}
     cond {{
      %p = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }} do {{
      %k1 = stablehlo.add %k, %one : tensor<i32>
      {body}
      stablehlo.return %k1, %t : tensor<i32>, {T}
    }}
    """


def scatter(result: str, operand: str, combine: str = "stablehlo.return %new : tensor<f64>", at: str = "%k") -> str:
    return f"""%row = stablehlo.reshape %u : ({ROW}) -> tensor<2xf64>
    %at = stablehlo.reshape {at} : (tensor<i32>) -> tensor<1xi32>
    {result} = "stablehlo.scatter"({operand}, %at, %row) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0]>, indices_are_sorted = false, unique_indices = false}}> ({{
     ^bb0(%old: tensor<f64>, %new: tensor<f64>):
      {combine}
    }}) : ({T}, tensor<1xi32>, tensor<2xf64>) -> {T}
    """


ADD = "%sum = stablehlo.add %old, %new : tensor<f64>\nstablehlo.return %sum : tensor<f64>"
SINE = f"%s = stablehlo.sine %x : {T}\n"
HALF = f"%v = stablehlo.slice %s [1:2, 0:2] : ({T}) -> {ROW}\n"
PROGRAMS = {
    # name: (program, how often the operand is copied)
    "an argument": (program(update("%a", "%x"), "%a", T), 1),
    "a value of nobody else": (program(SINE + update("%a", "%s"), "%a", T), 0),
    "updates one after the other": (program(SINE + update("%a", "%s") + update("%b", "%a", at="%z"), "%b", T), 0),
    "an operand that is used later": (program(SINE + update("%a", "%s"), "%a, %s", f"{T}, {T}"), 1),
    "an operand with a view": (program(f"{SINE}%v = stablehlo.transpose %s, dims = [1, 0] : ({T}) -> tensor<2x3xf64>\n" + update("%a", "%s"), "%a, %v", f"{T}, tensor<2x3xf64>"), 1),
    "an operand that is a view": (program(f"{SINE}%v = stablehlo.slice %s [0:3, 0:2] : ({T}) -> {T}\n" + update("%a", "%v"), "%a", T), 1),
    "a part of itself": (program(SINE + HALF + update("%a", "%s", "%v"), "%a", T), 1),
    "two names": (program(f"{SINE}%o:2 = stablehlo.optimization_barrier %s, %s : {T}, {T}\n" + update("%a", "%o#0"), "%a, %o#1", f"{T}, {T}"), 1),
    "a constant": (program(f"%c = stablehlo.constant dense<1.0> : {T}\n" + update("%a", "%c"), "%a, %c", f"{T}, {T}"), 1),
    "a carried stack": (program(loop(update("%t", "%s", at="%k")), "%r#1", T), 1),
    "a carried stack that is kept outside": (program(loop(update("%t", "%s", at="%k")), "%r#1, %f", f"{T}, {T}"), 1),
    "a carried stack and its old row": (program(loop(HALF + f"%w = stablehlo.add %v, %u : {ROW}\n" + update("%t", "%s", "%w", "%k")), "%r#1", T), 1),
    "a captured value": (program(loop(update("%q", "%f", at="%k") + f"%t = stablehlo.add %q, %s : {T}"), "%r#1", T), 3),
    "a scattered row": (program(SINE + scatter("%a", "%s", at="%i"), "%a", T), 0),
    "a scattered row of what is used later": (program(SINE + scatter("%a", "%s", at="%i"), "%a, %s", f"{T}, {T}"), 1),
    "a carried stack with scattered sums": (program(loop(scatter("%t", "%s", ADD)), "%r#1", T), 1),
    "a turned stack with scattered rows": (program(f"%w = stablehlo.transpose %x, dims = [1, 0] : ({T}) -> tensor<2x3xf64>\n%v = stablehlo.sine %w : tensor<2x3xf64>\n"
        f"%m = stablehlo.transpose %v, dims = [1, 0] : (tensor<2x3xf64>) -> {T}\n%s = stablehlo.cosine %m : {T}\n" + scatter("%a", "%s", at="%i"), "%a", T), 0),
    "no iteration": (program(loop(update("%t", "%s", at="%k"), count=0), "%r#1", T), 0),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_copies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    p, copies = PROGRAMS[name]
    made = list[int]()

    def counted(right: Any) -> Any:
        def rule(op: Any, scope: Any) -> Any:
            function = right(op, scope)

            def copying(*operands: Any) -> Any:
                made.append(1)
                return function(*operands)

            return copying

        return rule

    x, u = np.arange(6.0).reshape(3, 2), np.array([[7.0, 8.0]])
    given = [x.copy(), u.copy(), np.int32(1)]
    wanted = p.compile("cpu")(*given)
    for op in (stablehlo.DynamicUpdateSliceOp, stablehlo.ScatterOp):
        monkeypatch.setitem(EVALUATION_RULES, op, counted(EVALUATION_RULES[op]))
    compiled = p.compile("interpreter")
    for _ in range(2):  # a second run finds nothing of the first
        made.clear()
        for actual, right_one in zip(compiled(*given), wanted, strict=True):
            np.testing.assert_allclose(actual, right_one, rtol=1e-15)
        assert len(made) == copies
        np.testing.assert_array_equal(given[0], x)
        np.testing.assert_array_equal(given[1], u)


def test_what_is_counted_does_not_depend_on_it() -> None:
    """Each value counts as an array of its own, but constants: the operand and the result of an update live at the same time."""
    p, _ = PROGRAMS["a value of nobody else"]
    compiled: Any = p.compile("interpreter")
    compiled(np.zeros((3, 2)), np.zeros((1, 2)), np.int32(0))
    sizes = {"x": 48, "u": 16, "i": 4, "sine": 48, "updated": 48}
    assert compiled.stats.peak_bytes == sum(sizes.values())


def test_core_loops() -> None:
    """Loops in core form, as derivatives have them."""
    p = PROGRAMS["a carried stack and its old row"][0].vjp()
    given = [np.arange(6.0).reshape(3, 2), np.array([[7.0, 8.0]]), np.int32(1), np.ones((3, 2))]
    for actual, wanted in zip(p.compile("interpreter")(*given), p.compile("cpu")(*given), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-14)
