"""The Jacobian by both modes from a cut is that of one mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import numpy as wnp
from wengert.frontends.transforms.control_flow import fori_loop
from wengert.ir.diagnostics import DiagnosticError
from wengert.transforms.ad.jacobians.cut import Cut, Sides, cheapest_cut, narrowest_cut
from wengert.transforms.ad.jacobians.direction_costs import direction_costs
from wengert.transforms.ad.jacobians.mixed import cheapest, cuts, cuts_at_loops
from wengert.transforms.ad.requests.request import function_named, make_request

CASES: list[tuple[Callable[..., Any], list[tuple[int, ...]], tuple[int, ...]]] = [
    (lambda x, w, u: wnp.sin(u @ wnp.tanh(w @ x)), [(9,), (2, 9), (7, 2)], (0,)),
    (lambda x, w, u: u @ wnp.tanh(w @ x) + wnp.sin(x[0]), [(9,), (2, 9), (7, 2)], (0,)),
    (lambda x, y: (wnp.sum(x * x) * y, wnp.exp(-wnp.sum(x * x)) * wnp.ones((2, 3)), y[0]), [(6,), (4,)], (0, 1)),
    (lambda x, w: fori_loop(0, 3, lambda i, y: wnp.sin(y) * y[0] + 0.1, w @ x) * wnp.ones((4, 2)), [(9,), (2, 9)], (0,)),
    (lambda x: wnp.where(wnp.sum(x) > x[1], wnp.sum(x) ** 2, wnp.cos(wnp.sum(x))) * wnp.ones(5) * wnp.astype(x[0] > 0.0, np.float64), [(6,)], (0,)),
    (wnp.sin, [(4,)], (0,)),
    (lambda x, y, w, v: (wnp.sin(w.T @ wnp.tanh(w @ x)), wnp.cos(v.T @ (v @ y)), wnp.sum(w @ x) * y), [(6,), (5,), (2, 6), (1, 5)], (0, 1)),
]


@pytest.mark.parametrize(("function", "shapes", "wrt"), CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_is_the_jacobian(function: Callable[..., Any], shapes: list[tuple[int, ...]], wrt: tuple[int, ...], dtype: Any):
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(shape).astype(dtype) for shape in shapes]
    program = wg.jit(function).program(*inputs)
    of = ",".join(map(str, range(len(program.signature.results))))
    cuts = ("arguments", "results", "cheapest")
    mixed, late, cheapest = (program.apply(f"mixed-jacobian{{cut={cut} wrt={','.join(map(str, wrt))} of={of}}},simplify,cse,dce") for cut in cuts)
    expected = program.jacfwd(wrt)
    tolerance = 1e-12 if dtype is np.float64 else 1e-5
    for blocks in (mixed(*inputs), mixed.compile("interpreter")(*inputs), late(*inputs), cheapest(*inputs)):
        for block, reference in zip(blocks, expected(*inputs), strict=True):
            assert block.shape == reference.shape
            assert block.dtype == reference.dtype
            np.testing.assert_allclose(block, reference, rtol=tolerance, atol=tolerance)


def test_it_takes_as_many_directions_as_the_cut_has_elements():
    program = wg.jit(lambda x, w, u: wnp.sin(u @ wnp.tanh(w @ x))).program(np.zeros(40), np.zeros((3, 40)), np.zeros((30, 3)))
    text = str(program.apply("mixed-jacobian{wrt=0 of=0},simplify,cse,dce").core_module)
    assert "tensor<3x40xf64>" in text
    assert "tensor<40x40x" not in text
    assert "tensor<30x30x" not in text


def test_what_is_between_two_cuts_is_gone_through_in_either_mode():
    m = np.array([[0.3, -0.4], [0.2, 0.5]])
    inputs = (np.linspace(0, 1, 40), np.full((2, 40), 0.1), np.full((30, 2), 0.5))
    program = wg.jit(lambda x, w, u: wnp.sin(u @ fori_loop(0, 9, lambda i, s: wnp.tanh(m @ s) + s, wnp.tanh(w @ x)))).program(*inputs)
    directions, where = cuts(program.optimized_module, [0], [0])
    assert (directions, where) == (2, ("arguments", "results"))
    rows = {row.name: row for row in wg.strategies(program, wrt=0, measure=False).rows}
    early, late = rows["mixed"], rows["mixed late"]
    assert early.seconds is not None
    assert early.seconds.constant != (late.seconds and late.seconds.constant)
    expected = rows["jacrev"].compile()(*inputs)
    for row in (early, late):
        assert float(row.flops.constant or 0) < float(rows["jacrev"].flops.constant or 0)
        np.testing.assert_allclose(row.compile()(*inputs)[0], expected[0], rtol=1e-12, atol=1e-14)


def loop_between_cuts() -> tuple[wg.Program, np.ndarray[Any, Any]]:
    """Three numbers before a loop over eight, two behind it: the narrowest cut has the loop before it, and the wider one behind it."""
    chance = np.random.default_rng(0)
    into, widening, m, narrowing, out = (chance.standard_normal(shape) / 3 for shape in ((3, 30), (8, 3), (8, 8), (2, 8), (20, 2)))
    x = np.linspace(0, 1, 30)

    def function(x: Any) -> Any:
        s = fori_loop(0, 5, lambda i, s: s + wnp.tanh(m @ s), widening @ wnp.tanh(into @ x))
        return wnp.sin(out @ wnp.tanh(narrowing @ s))

    return wg.jit(function).program(x), x


def test_a_wider_cut_has_the_loop_on_its_other_side_and_is_a_row():
    program, x = loop_between_cuts()
    assert cuts(program.optimized_module, [0], [0])[0] == 2
    assert cuts_at_loops(program.optimized_module, [0], [0]) == [(3, Sides(behind=(0,)))]
    rows = {row.name: row for row in wg.strategies(program, measure=False).rows}
    row = rows["mixed loop 0 forward"]
    np.testing.assert_allclose(row.compile()(x), rows["jacrev"].compile()(x), rtol=1e-12, atol=1e-14)
    texts = {side: str(program.apply(f"mixed-jacobian{{{side}=0}},simplify,cse,dce").core_module) for side in ("forward", "reverse")}
    assert "tensor<3x30xf64>" in texts["forward"]
    assert "tensor<5x8xf64>" not in texts["forward"]  # what iterations record is for reverse mode
    assert "tensor<5x8xf64>" in texts["reverse"]


def cheapest_of(program: wg.Program) -> Cut:
    return cheapest_cut(make_request(function_named(program.optimized_module, "main"), None, None))


def test_bottlenecks_side_by_side_take_directions_of_their_own():
    into, out = np.full((3, 40), 0.1), np.full((30, 3), 0.2)
    program = wg.jit(lambda x, y: (wnp.sin(out @ wnp.tanh(into @ x)), wnp.cos(out @ wnp.tanh(into @ y)))).program(np.zeros(40), np.zeros(40))
    text = str(program.apply("mixed-jacobian,simplify,cse,dce").core_module)
    assert "tensor<6x40xf64>" not in text
    assert "tensor<30x6xf64>" not in text
    rows = {row.name: row for row in wg.strategies(program, measure=False).rows}
    assert float(rows["mixed"].flops.constant or 0) < float(min(rows[mode].flops.constant or 0 for mode in ("jacfwd", "jacrev")))


def test_costs_of_directions_are_those_of_the_linear_part_and_its_transpose():
    w, m = np.full((3, 8), 0.1), np.full((3, 3), 0.2)
    program = wg.jit(lambda x: fori_loop(0, 5, lambda i, s: wnp.tanh(m @ s), w @ x)[:2] * 2.0).program(np.zeros(8))
    request = make_request(function_named(program.optimized_module, "main"), None, None)
    costs = {op.name: cost for op, cost in direction_costs(request).items()}
    product, loop = costs["stablehlo.dot_general"], costs["core.for"]
    assert (product.forward, product.reverse, product.recorded) == (48, 48, 0)
    each = 18 + 3 + 6  # the product, the coefficient, and 1 - tanh^2
    assert (loop.forward, loop.reverse) == (5 * each, 5 * each)
    assert loop.recorded >= 5 * 3 * 8 * 2  # a number for each tanh, written and read
    assert "core.tape" not in str(program.optimized_module)


def test_the_cheapest_cut_is_wider_where_records_cost_more_than_directions():
    into, between, out = np.full((4, 30), 0.1), np.full((400, 4), 0.1), np.full((20, 3), 0.2)

    def function(x: Any) -> Any:
        s = fori_loop(0, 50, lambda i, s: s + wnp.tanh(s), between @ wnp.tanh(into @ x))
        return wnp.sin(out @ wnp.tanh(s[:3]))

    program = wg.jit(function).program(np.zeros(30))
    request = make_request(function_named(program.optimized_module, "main"), None, None)
    assert (narrowest_cut(request).size, cheapest_of(program).size) == (3, 4)
    loop = next(op for op in request.ops if op.regions)
    assert loop not in [value.owner for value in cheapest_of(program).values]


def test_the_cheapest_cut_is_the_narrowest_where_directions_cost_the_same():
    program, _ = loop_between_cuts()
    assert cheapest_of(program).size in (2, 3)
    straight = wg.jit(lambda x, w, u: wnp.sin(u @ wnp.tanh(w @ x))).program(np.zeros(40), np.zeros((3, 40)), np.zeros((30, 3)))
    request = make_request(function_named(straight.optimized_module, "main"), [0], None)
    assert cheapest_cut(request).size == 3
    assert cheapest(straight.optimized_module, [0], [0]) is None


def test_reductions_by_any_region_are_rewritten_before_costs_are_counted():
    program = wg.parse("""func.func @main(%x: tensor<12xf64>) -> tensor<9xf64> {
      %zero = stablehlo.constant dense<0.0> : tensor<f64>
      %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        %1 = stablehlo.multiply %a, %a : tensor<f64>
        %2 = stablehlo.multiply %b, %b : tensor<f64>
        %3 = stablehlo.add %1, %2 : tensor<f64>
        %4 = stablehlo.sqrt %3 : tensor<f64>
        stablehlo.return %4 : tensor<f64>
      }) : (tensor<12xf64>, tensor<f64>) -> tensor<f64>
      %5 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<9xf64>
      %6 = stablehlo.iota dim = 0 : tensor<9xf64>
      %7 = stablehlo.multiply %5, %6 : tensor<9xf64>
      %8 = stablehlo.sine %7 : tensor<9xf64>
      return %8 : tensor<9xf64>
    }""")
    assert cuts(program.optimized_module, [0], [0])[0] == 1
    x = np.random.default_rng(0).uniform(0.5, 1.5, 12)
    (chosen,), (dense,) = program.jacobian(measure=False)(x), program.jacfwd()(x)
    np.testing.assert_allclose(chosen, dense, rtol=1e-12)
    np.testing.assert_allclose(chosen, np.outer(np.arange(9) * np.cos(np.arange(9) * np.linalg.norm(x)), x / np.linalg.norm(x)), rtol=1e-12)


def test_loops_that_are_not_there_or_on_both_sides_are_refused():
    program, _ = loop_between_cuts()
    with pytest.raises(DiagnosticError, match="there is no loop or branch 1 in @main"):
        program.apply("mixed-jacobian{reverse=1}")
    with pytest.raises(DiagnosticError, match="loop or branch 0 of @main cannot be gone through both in reverse and forward"):
        program.apply("mixed-jacobian{reverse=0 forward=0}")
    straight = wg.jit(wnp.sin).program(np.ones(3))
    with pytest.raises(DiagnosticError, match="there is no loop or branch 0 in @main"):
        straight.apply("mixed-jacobian{forward=0}")


def test_results_that_do_not_depend_on_arguments_are_refused():
    program = wg.jit(lambda x: wnp.astype(wnp.astype(x, np.int64), np.float64)).program(np.zeros(3))
    with pytest.raises(DiagnosticError, match="no result of @main depends on the arguments"):
        program.apply("mixed-jacobian")
