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
from wengert.transforms.ad.jacobians.cut import Sides
from wengert.transforms.ad.jacobians.mixed import cuts, cuts_at_loops

CASES: list[tuple[Callable[..., Any], list[tuple[int, ...]], tuple[int, ...]]] = [
    (lambda x, w, u: wnp.sin(u @ wnp.tanh(w @ x)), [(9,), (2, 9), (7, 2)], (0,)),
    (lambda x, w, u: u @ wnp.tanh(w @ x) + wnp.sin(x[0]), [(9,), (2, 9), (7, 2)], (0,)),
    (lambda x, y: (wnp.sum(x * x) * y, wnp.exp(-wnp.sum(x * x)) * wnp.ones((2, 3)), y[0]), [(6,), (4,)], (0, 1)),
    (lambda x, w: fori_loop(0, 3, lambda i, y: wnp.sin(y) * y[0] + 0.1, w @ x) * wnp.ones((4, 2)), [(9,), (2, 9)], (0,)),
    (lambda x: wnp.where(wnp.sum(x) > x[1], wnp.sum(x) ** 2, wnp.cos(wnp.sum(x))) * wnp.ones(5) * wnp.astype(x[0] > 0.0, np.float64), [(6,)], (0,)),
    (wnp.sin, [(4,)], (0,)),
]


@pytest.mark.parametrize(("function", "shapes", "wrt"), CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_is_the_jacobian(function: Callable[..., Any], shapes: list[tuple[int, ...]], wrt: tuple[int, ...], dtype: Any):
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(shape).astype(dtype) for shape in shapes]
    program = wg.jit(function).program(*inputs)
    of = ",".join(map(str, range(len(program.signature.results))))
    mixed, late = (program.apply(f"mixed-jacobian{{cut={cut} wrt={','.join(map(str, wrt))} of={of}}},simplify,cse,dce") for cut in ("arguments", "results"))
    expected = program.jacfwd(wrt)
    tolerance = 1e-12 if dtype is np.float64 else 1e-5
    for blocks in (mixed(*inputs), mixed.compile("interpreter")(*inputs), late(*inputs)):
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
