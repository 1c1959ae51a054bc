"""Systems by LU factors: what is recognised as one, what is not, and that derivatives are those of systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.dialects import stablehlo as hlo
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import shape
from wengert.runtime.derived.derivation import runnable
from wengert.transforms.core.recognisers.arrangements import arrangement, even, is_in_place, source_of
from wengert.transforms.core.to_core import to_core

WATCHED = (
    "core.cholesky",
    "core.cholesky_solve",
    "core.lu",
    "core.lu_diagonal",
    "core.lu_solve",
    "core.pivots_to_permutation",
    "core.for",
    "stablehlo.triangular_solve",
    "stablehlo.dot_general",
)


def counts(module: Any) -> dict[str, int]:
    """How many of the watched ops a module holds."""
    ops_by_name = Counter(op.name for op in module.walk() if op.name in WATCHED)
    return {name.split(".")[1]: ops_by_name[name] for name in WATCHED if ops_by_name[name]}


# -- from what JAX writes

SOLVE = {"lu": 1, "lu_solve": 1, "pivots_to_permutation": 1}
BY_CHOLESKY = {"cholesky": 1, "cholesky_solve": 1}
TWICE = SOLVE | {"lu_solve": 2, "dot_general": 1}


def _jax_functions() -> dict[str, tuple[Callable[..., Any], str, dict[str, int]]]:
    import jax
    import jax.numpy as jnp
    from jax.scipy import linalg as jl

    solve = jnp.linalg.solve
    return {
        "vector": (solve, "5x5 5", SOLVE),
        "matrix": (solve, "4x4 4x3", SOLVE),
        "batched": (solve, "2x4x4 2x4x3", SOLVE),
        "batched twice": (solve, "2x3x4x4 2x3x4x1", SOLVE),
        "one matrix": (solve, "4x4 3x4x2", SOLVE),
        "complex": (solve, "z4x4 z4x2", SOLVE),
        "order 1": (solve, "1x1 1", SOLVE),
        "inverse": (jnp.linalg.inv, "3x3", SOLVE),
        "vmap of both": (jax.vmap(solve), "3x4x4 3x4", SOLVE),
        "vmap of matrices": (jax.vmap(solve, (0, None)), "3x4x4 4", SOLVE),
        "vmap of sides": (jax.vmap(solve, (None, 0)), "4x4 3x4", SOLVE),
        "vmaps of each": (jax.vmap(jax.vmap(solve, (None, 0)), (0, None)), "3x4x4 2x4", SOLVE),
        "vmaps of sides": (jax.vmap(jax.vmap(solve, (None, 0)), (None, 0)), "4x4 3x2x4x5", SOLVE),
        "transposed": (lambda a, b: jl.lu_solve(jl.lu_factor(a), b, trans=1), "4x4 4x2", SOLVE),
        "adjoint": (lambda a, b: jl.lu_solve(jl.lu_factor(a), b, trans=2), "z4x4 z4", SOLVE),
        "derivative": (lambda a, b, c: jax.vjp(solve, a, b)[1](c), "4x4 4x3 4x3", TWICE),
        "twice": (lambda a, b: solve(a, b) + jnp.sin(solve(a, b)) + jl.lu_solve(jl.lu_factor(a), b, trans=1), "4x4 4", SOLVE | {"lu_solve": 2}),
        "determinant": (lambda a: jnp.linalg.slogdet(a)[1], "4x4", {"lu": 1, "lu_diagonal": 1}),
        "determinants": (jax.vmap(lambda a: jnp.linalg.slogdet(a)[1]), "3x4x4", {"lu": 1, "lu_diagonal": 1}),
        "rectangular": (lambda a: jax.lax.linalg.lu(a)[2], "5x3", {"lu": 1, "pivots_to_permutation": 1}),
        "positive": (lambda a, b: jl.solve(_positive(a), b, assume_a="pos"), "4x4 4x2", BY_CHOLESKY | {"dot_general": 1}),
        "positive, upper": (lambda a, b: jl.cho_solve(jl.cho_factor(_positive(a)), b), "4x4 4", BY_CHOLESKY | {"dot_general": 1}),
        "positive, batched": (jax.vmap(lambda a, b: jl.cho_solve(jl.cho_factor(_positive(a), lower=True), b)), "3x4x4 3x4", BY_CHOLESKY | {"dot_general": 1}),
        "positive, complex": (lambda a, b: jl.cho_solve(jl.cho_factor(_positive(a), lower=True), b), "z4x4 z4", BY_CHOLESKY | {"dot_general": 1}),
        "positive, vmap of sides": (
            jax.vmap(lambda a, b: jl.cho_solve(jl.cho_factor(_positive(a)), b), (None, 0)),
            "4x4 3x4",
            BY_CHOLESKY | {"dot_general": 1},
        ),
        "factor used otherwise": (
            lambda a, b: jnp.vdot(b, jl.cho_solve((c := jnp.linalg.cholesky(_positive(a)), True), b)) + c[1, 0],
            "4x4 4",
            BY_CHOLESKY | {"dot_general": 2},
        ),
        "scan": (lambda a, b: jax.lax.scan(lambda c, x: (solve(a + jnp.outer(c, c), x),) * 2, b[0], b)[1], "4x4 3x4", SOLVE | {"for": 1}),
    }


def _positive(a: Any) -> Any:
    return a @ a.conj().T + 4 * np.eye(4)


NAMES = (
    *("vector", "matrix", "batched", "batched twice", "one matrix", "complex", "order 1", "inverse", "vmap of both", "vmap of matrices", "vmap of sides"),
    *(
        "vmaps of each",
        "vmaps of sides",
        "transposed",
        "adjoint",
        "derivative",
        "twice",
        "determinant",
        "determinants",
        "rectangular",
        "positive",
        "positive, upper",
        "positive, batched",
    ),
    *("positive, complex", "positive, vmap of sides", "factor used otherwise", "scan"),
)


def _argument(text: str, rng: np.random.Generator) -> np.ndarray:
    extents = [int(n) for n in text.removeprefix("z").split("x")]
    x = rng.normal(size=extents)
    return x + 1j * rng.normal(size=extents) if text.startswith("z") else x


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_what_jax_writes(name: str, xla: Any) -> None:
    """Recognised; and its derivative agrees between strategies and backends, and with XLA, which runs its text."""
    jax = pytest.importorskip("jax")
    functions = _jax_functions()
    assert tuple(functions) == NAMES
    function, arguments, wanted = functions[name]
    rng = np.random.default_rng(1)
    inputs = [_argument(text, rng) for text in arguments.split()]
    with jax.enable_x64(True):
        lowered = jax.jit(function).lower(*inputs)
        expected = jax.tree.leaves(lowered.compile()(*inputs))
    program = wg.parse(lowered.as_text())
    assert counts(program.optimized_module) == wanted
    for mine, theirs in zip(program.compile("interpreter")(*inputs), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    if name == "rectangular":
        return
    derivative = program.vjp()
    seeds = [np.asarray(rng.normal(size=y.shape), y.dtype) for y in expected]
    results = derivative.compile("interpreter")(*inputs, *seeds)
    others = [program.vjp(strategy="direct"), wg.parse(str(derivative))]
    for actual in (derivative(*inputs, *seeds), xla(str(derivative))([*inputs, *seeds]), *(other.compile("interpreter")(*inputs, *seeds) for other in others)):
        for mine, theirs in zip(actual, results, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-8)


# -- derivatives

SYSTEM = """
func.func public @main(%a: tensor<4x4xf64>, %b: tensor<4x2xf64>) -> tensor<4x2xf64> {
  %lu, %pivots, %info = "core.lu"(%a) : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xi32>, tensor<i32>)
  %p = "core.pivots_to_permutation"(%pivots) : (tensor<4xi32>) -> tensor<4xi32>
  %x = "core.lu_solve"(%a, %lu, %p, %b) <{transpose = false}> : (tensor<4x4xf64>, tensor<4x4xf64>, tensor<4xi32>, tensor<4x2xf64>) -> tensor<4x2xf64>
  return %x : tensor<4x2xf64>
}
"""


def test_factors_are_not_differentiated() -> None:
    """One factorisation; a solve more for each derivative, and a product or two for the matrix."""
    program = wg.parse(SYSTEM)
    for derivative in (program.vjp(), program.vjp(strategy="direct"), program.jvp()):
        assert counts(derivative.optimized_module) == TWICE
    assert counts(program.vjp(wrt=[1]).optimized_module) == SOLVE | {"lu_solve": 2}
    second = counts(program.vjp().jvp(wrt=[0, 1]).optimized_module)
    assert second == SOLVE | {"lu_solve": 4, "dot_general": 5}


def test_batch_elements_with_one_matrix_are_one_system() -> None:
    batched = wg.parse(SYSTEM).vmap([None, 0], size=3)
    (op,) = [op for op in batched.optimized_module.walk() if op.name == "core.lu_solve"]
    assert [shape(x) for x in op.operands] == [(4, 4), (4, 4), (4,), (4, 6)]


def test_loops_do_not_keep_matrices() -> None:
    """A loop that solves a system in each iteration, run backward: factors are kept, and the matrix neither kept nor computed again."""
    text = """
    func.func public @main(%s: tensor<3x4x4xf64>, %b: tensor<4x1xf64>) -> tensor<4x1xf64> {
      %n = stablehlo.constant dense<3> : tensor<i64>
      %r = core.for %i to %n constants(%t = %s: tensor<3x4x4xf64>) carried(%x = %b: tensor<4x1xf64>) {
        %z = stablehlo.constant dense<0> : tensor<i64>
        %0 = stablehlo.dynamic_slice %t, %i, %z, %z, sizes = [1, 4, 4] : (tensor<3x4x4xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x4x4xf64>
        %1 = stablehlo.reshape %0 : (tensor<1x4x4xf64>) -> tensor<4x4xf64>
        %a = stablehlo.tanh %1 : tensor<4x4xf64>
        %lu, %pivots, %info = "core.lu"(%a) : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xi32>, tensor<i32>)
        %p = "core.pivots_to_permutation"(%pivots) : (tensor<4xi32>) -> tensor<4xi32>
        %y = "core.lu_solve"(%a, %lu, %p, %x) <{transpose = false}> : (tensor<4x4xf64>, tensor<4x4xf64>, tensor<4xi32>, tensor<4x1xf64>) -> tensor<4x1xf64>
        stablehlo.return %y : tensor<4x1xf64>
      }
      return %r : tensor<4x1xf64>
    }
    """
    derivative = wg.parse(text).vjp(wrt=[1]).optimized_module
    kept = [[shape(x) for x in op.results] for op in runnable(derivative).walk() if op.name == "core.for"]
    assert [sorted(loop) for loop in kept] == [[(3, 4), (3, 4, 4), (4, 1)], [(4, 1)]]


# -- what is left alone

LOOP = str(wg.parse(SYSTEM.replace("return %x : tensor<4x2xf64>", "return %p : tensor<4xi32>").replace("-> tensor<4x2xf64> {", "-> tensor<4xi32> {", 1)))
OTHERWISE = {
    "other rows": ("stablehlo.iota dim = 0 : tensor<4xi32>", "stablehlo.constant dense<2> : tensor<4xi32>"),
    "fewer trips": ("stablehlo.constant dense<4> : tensor<i64>", "stablehlo.constant dense<3> : tensor<i64>"),
    "other pivots": ("stablehlo.constant dense<1> : tensor<4xi32>", "stablehlo.constant dense<2> : tensor<4xi32>"),
    "the same element twice": ("(%6, %3, %7)", "(%6, %3, %8)"),
    "the first write lost": ("(%6, %3, %7)", "(%iterArg_2, %3, %7)"),
    "elements added": ("stablehlo.return %arg1 : tensor<i32>", "%9 = stablehlo.add %arg0, %arg1 : tensor<i32>\n stablehlo.return %9 : tensor<i32>"),
    "no pivots": ("stablehlo.dynamic_slice %0,", "stablehlo.dynamic_slice %iterArg_2,"),
}


def test_the_loop_that_is_written_is_read() -> None:
    module = parse_module(LOOP)
    to_core(module)
    assert counts(module) == {"lu": 1, "pivots_to_permutation": 1}


@pytest.mark.parametrize("name", OTHERWISE)
def test_other_loops_stay(name: str) -> None:
    old, new = OTHERWISE[name]
    text = LOOP.replace("%7 = stablehlo.reshape %4", "%8 = stablehlo.reshape %5 : (tensor<1xi32>) -> tensor<i32>\n %7 = stablehlo.reshape %4").replace(
        '%8 = "', '%10 = "'
    )
    assert text.count(old) >= 1, text
    module = parse_module(text.replace(old, new, 1).replace("%9, %8 :", "%9, %10 :"))
    to_core(module)
    assert counts(module)["for"] == 1


# -- arrangements


def test_arrangements() -> None:
    """A list of pairs says where an element comes from; where it says a value is in place, it is."""
    rng, in_place = np.random.default_rng(0), 0
    for _ in range(200):
        extents = [2, 3, 4, 1]
        lines, x, names = ["%0 = stablehlo.negate %a : tensor<2x3x4x1xf64>"], np.arange(24).reshape(extents), 0
        for _ in range(rng.integers(0, 4)):
            before = "x".join(map(str, x.shape))
            if rng.integers(2):
                order = [int(d) for d in rng.permutation(x.ndim)]
                x = x.transpose(order)
                lines.append(
                    f"%{names + 1} = stablehlo.transpose %{names}, dims = {order} : (tensor<{before}xf64>) -> tensor<{'x'.join(map(str, x.shape))}xf64>"
                )
            else:
                x = x.reshape([(24,), (2, 12), (6, 4), (4, 6), (2, 3, 4, 1), (8, 3), (1, 12, 2)][rng.integers(7)])
                lines.append(f"%{names + 1} = stablehlo.reshape %{names} : (tensor<{before}xf64>) -> tensor<{'x'.join(map(str, x.shape))}xf64>")
            names += 1
        kind = f"tensor<{'x'.join(map(str, x.shape))}xf64>"
        text = "\n".join(lines)
        module = parse_module(f"func.func public @main(%a: tensor<2x3x4x1xf64>) -> {kind} {{\n{text}\nreturn %{names} : {kind}\n}}")
        last = next(op for op in module.walk() if op.name == "func.return")
        source, moves = source_of(last.operands[0])
        assert isinstance(source.owner, hlo.NegateOp)
        assert is_in_place(shape(source), moves) == (x.shape == (2, 3, 4, 1) and bool((x.ravel() == np.arange(24)).all()))
        in_place += is_in_place(shape(source), moves)
        dims = arrangement(shape(source), moves)
        if dims is not None:
            place = np.zeros(1, int)
            for dim in dims:
                for extent, step in dim:
                    place = (place[:, None] + step * np.arange(extent)).ravel()
            np.testing.assert_array_equal(place, x.ravel())
    assert 0 < in_place < 200
    assert even((2, 1, 3)) == [[(2, 3)], [], [(3, 1)]]
