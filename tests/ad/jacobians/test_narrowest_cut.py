"""The narrowest cut separates arguments from results with the fewest elements, whatever goes around it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import wengert as wg
from wengert import numpy as wnp
from wengert.frontends.transforms.control_flow import fori_loop
from wengert.transforms.ad.jacobians.cut import narrowest_cut
from wengert.transforms.ad.requests.request import function_named, make_request


def _cut(function, *shapes: tuple[int, ...], wrt=None, of=None):
    program = wg.jit(function).program(*[np.zeros(shape) for shape in shapes])
    return narrowest_cut(make_request(function_named(program.optimized_module, "main"), wrt, of))


def test_a_bottleneck_is_the_cut():
    assert _cut(lambda x, w, u: u @ wnp.tanh(w @ x), (9,), (2, 9), (7, 2), wrt=(0,)).size == 2


def test_what_goes_around_a_bottleneck_is_cut_too():
    cut = _cut(lambda x, w, u: u @ wnp.tanh(w @ x) + x[0], (9,), (2, 9), (7, 2), wrt=(0,))
    assert cut.size == 3
    assert len(cut.values) == 2


def test_without_a_bottleneck_it_is_the_narrower_end():
    assert _cut(wnp.sin, (5,)).size == 5
    assert _cut(lambda x: wnp.sum(wnp.sin(x)), (5,)).size == 1
    assert _cut(lambda x: wnp.sin(x) * wnp.ones((8, 5)), (5,)).size == 5


def test_an_argument_may_be_cut():
    cut = _cut(lambda x, a: wnp.sum(x * x) * a * wnp.ones(6), (5,), ())
    assert cut.size <= 2


def test_integers_carry_no_derivative():
    assert _cut(lambda x: wnp.astype(wnp.astype(wnp.sum(x), np.int64), np.float64) * wnp.ones(3), (5,)).values == ()


def test_a_loop_is_one_node():
    cut = _cut(lambda x, w: fori_loop(0, 3, lambda i, y: wnp.sin(y) + 0.1, w @ x) * wnp.ones((4, 2)), (9,), (2, 9), wrt=(0,))
    assert cut.size == 2


@pytest.mark.parametrize("seed", range(8))
def test_no_smaller_set_of_values_separates(seed: int):
    """Against all sets of values, on random functions of few values."""
    generator = np.random.default_rng(seed)
    choices = [(int(generator.integers(1, 4)), [int(k) for k in generator.integers(0, 3 + n, 2)]) for n in range(4)]

    def function(x, y, z):
        values = [x, y, z]
        for width, (a, b) in choices:
            values.append(wnp.sin(wnp.sum(values[a]) + wnp.sum(values[b])) * wnp.ones(width) + 0.1)
        return values[-1] * wnp.sum(values[-2])

    request_of = wg.jit(function).program(np.zeros(3), np.zeros(1), np.zeros(2)).optimized_module
    request = make_request(function_named(request_of, "main"), (0, 1, 2), (0,))
    values = [*request.block.args, *(value for op in request.ops for value in op.results if "f64" in str(value.type))]

    def separates(chosen) -> bool:
        reached = {arg for arg in request.block.args if arg not in chosen}
        for op in request.ops:
            if any(operand in reached for operand in op.operands):
                reached.update(result for result in op.results if result not in chosen)
        return request.results[0] not in reached

    cut = narrowest_cut(request)
    assert separates(set(cut.values))
    smaller = [s for count in range(1, 4) for s in combinations(values, count) if sum(int(np.prod(v.type.get_shape())) for v in s) < cut.size]
    assert not any(separates(set(s)) for s in smaller)
