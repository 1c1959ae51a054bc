"""Where devices sum: minimum vertex cuts, and sums that move through linear ops and loops."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from collective_counts import Count, collectives
from hypothesis import given, settings
from hypothesis import strategies as st
from spmd_programs import DEVICES, groups, reducer
from xdsl.dialects.func import FuncOp

import wengert as wg
from wengert.dialects.stablehlo.process_groups import Grid
from wengert.transforms.spmd.place_sums import place_sums
from wengert.transforms.spmd.vertex_cut import VertexCut

SUM = reducer("add")


@st.composite
def graphs(draw):
    """The sources of up to six nodes, each of which has only nodes behind it, and their costs."""
    n = draw(st.integers(1, 6))
    behind = [draw(st.none() | st.lists(st.integers(i + 1, n - 1), unique=True)) if i < n - 1 else None for i in range(n)]
    return behind, [draw(st.integers(0, 5)) for _ in range(n)], draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))


def separates(cut, behind, demands):
    """Whether no path from a demand to a root avoids the cut."""
    pending, seen = [node for node in demands if node not in cut], set()
    while pending:
        node = pending.pop()
        if behind[node] is None:
            return False
        seen.add(node)
        pending += [other for other in behind[node] if other not in cut and other not in seen]
    return True


@given(graphs())
@settings(max_examples=200, deadline=None)
def test_a_minimum_vertex_cut_is_one_of_the_cheapest(graph) -> None:
    behind, costs, demands = graph
    cut = VertexCut(demands, behind.__getitem__, costs.__getitem__)
    sets = itertools.chain.from_iterable(itertools.combinations(range(len(behind)), size) for size in range(len(behind) + 1))
    cheapest = min(sum(costs[node] for node in nodes) for nodes in sets if separates(nodes, behind, demands))
    assert separates(cut.cut, behind, demands)
    assert cut.cost == cheapest == sum(costs[node] for node in cut.cut)
    assert not cut.cut & cut.open


def all_reduce(x: str, type: str, table: list[list[int]]) -> str:
    return f'"stablehlo.all_reduce"({x}) <{{{groups(table)}, {DEVICES}}}> {SUM} : (tensor<{type}>) -> tensor<{type}>'


ALL, PAIRS = [[0, 1, 2, 3]], [[0, 1], [2, 3]]


def module(arguments: str, body: str, returned: str, types: str) -> str:
    return (
        "module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n"
        f"  func.func public @main({arguments}) -> ({types}) {{\n{body}\n    return {returned} : {types}\n  }}\n}}"
    )


def check(text: str, before: int, after: int, *inputs: np.ndarray) -> str:
    """The text after the pass; it has so many collectives, and gives the same results."""
    p = wg.parse(text)
    plain, placed = p.apply("to-core,simplify,cse,dce"), p.apply("to-core,place-sums,simplify,cse,dce")
    assert (collectives(plain.module).everywhere, collectives(placed.module).everywhere) == (before, after)
    for backend in ("cpu", "interpreter"):
        for wanted, actual in zip(p.distribute(4)(*inputs), placed.distribute(4, backend=backend)(*inputs), strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-13)
    return str(placed.core_module)


RNG = np.random.default_rng(0)


def test_two_sums_of_one_value_are_one() -> None:
    body = f"""    %c = stablehlo.constant dense<[2.0, -3.0]> : tensor<2xf64>
    %t = stablehlo.sine %x : tensor<2xf64>
    %u = stablehlo.multiply %t, %c : tensor<2xf64>
    %v = stablehlo.negate %t : tensor<2xf64>
    %w = stablehlo.add %v, %c : tensor<2xf64>
    %0 = {all_reduce("%u", "2xf64", ALL)}
    %1 = {all_reduce("%w", "2xf64", ALL)}"""
    check(module("%x: tensor<2xf64>", body, "%0, %1", "tensor<2xf64>, tensor<2xf64>"), 2, 1, RNG.standard_normal((4, 2)))


@pytest.mark.parametrize(("coefficient", "after"), [("%s", 1), ("%y", 2)])
def test_a_coefficient_has_to_be_the_same_on_the_devices_of_a_group(coefficient: str, after: int) -> None:
    body = f"""    %s = stablehlo.constant dense<1.5> : tensor<f64>
    %u = stablehlo.multiply %x, {coefficient} : tensor<f64>
    %0 = {all_reduce("%u", "f64", PAIRS)}
    %1 = {all_reduce("%x", "f64", PAIRS)}"""
    check(module("%x: tensor<f64>, %y: tensor<f64>", body, "%0, %1", "tensor<f64>, tensor<f64>"), 2, after, RNG.standard_normal(4), RNG.standard_normal(4))


def test_sums_over_other_groups_stay() -> None:
    body = f"    %0 = {all_reduce('%x', 'f64', PAIRS)}\n    %u = stablehlo.negate %x : tensor<f64>\n    %1 = {all_reduce('%u', 'f64', ALL)}"
    check(module("%x: tensor<f64>", body, "%0, %1", "tensor<f64>, tensor<f64>"), 2, 2, RNG.standard_normal(4))


def test_a_product_is_summed_where_it_has_fewest_bytes() -> None:
    body = f"""    %c = stablehlo.constant dense<0.5> : tensor<3x100000xf64>
    %p = stablehlo.dot_general %x, %c, contracting_dims = [0] x [0] : (tensor<3xf64>, tensor<3x100000xf64>) -> tensor<100000xf64>
    %0 = {all_reduce("%p", "100000xf64", ALL)}"""
    text = check(module("%x: tensor<3xf64>", body, "%0", "tensor<100000xf64>"), 1, 1, RNG.standard_normal((4, 3)))
    assert re.search(r"core\.all_reduce add .*: tensor<3xf64>", text)


def loop(body: str, after: str, returned: str, types: str) -> str:
    """A loop of five iterations that carries two scalars."""
    text = f"""    %n = stablehlo.constant dense<5> : tensor<i64>
    %k = stablehlo.constant dense<0> : tensor<i64>
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %w:3 = stablehlo.while(%i = %k, %a = %zero, %b = %x) : tensor<i64>, tensor<f64>, tensor<f64>
    cond {{
      %t = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i64>
      %j = stablehlo.add %i, %one : tensor<i64>
{body}
      stablehlo.return %j, %a1, %b1 : tensor<i64>, tensor<f64>, tensor<f64>
    }}
{after}"""
    return module("%x: tensor<f64>", text, returned, types)


def test_what_a_loop_accumulates_is_summed_in_it_where_it_is_summed_anyway() -> None:
    body = f"""      %half = stablehlo.constant dense<0.5> : tensor<f64>
      %s = stablehlo.sine %b : tensor<f64>
      %h = stablehlo.multiply %s, %half : tensor<f64>
      %r = {all_reduce("%h", "f64", ALL)}
      %a1 = stablehlo.add %a, %s : tensor<f64>
      %b1 = stablehlo.subtract %b, %r : tensor<f64>"""
    text = loop(body, f"    %0 = {all_reduce('%w#1', 'f64', ALL)}", "%0, %w#2", "tensor<f64>, tensor<f64>")
    check(text, 2, 1, RNG.standard_normal(4))


def test_what_a_loop_accumulates_is_summed_once_behind_it_otherwise() -> None:
    body = """      %b1 = stablehlo.sine %b : tensor<f64>
      %a1 = stablehlo.add %a, %b1 : tensor<f64>"""
    text = loop(body, f"    %0 = {all_reduce('%w#1', 'f64', ALL)}", "%0, %w#2", "tensor<f64>, tensor<f64>")
    check(text, 1, 1, RNG.standard_normal(4))


def test_a_running_sum_that_is_read_in_every_iteration_is_carried_as_a_sum() -> None:
    body = f"""      %t = {all_reduce("%a", "f64", ALL)}
      %u = stablehlo.add %b, %t : tensor<f64>
      %b1 = stablehlo.sine %u : tensor<f64>
      %a1 = stablehlo.add %a, %b1 : tensor<f64>"""
    text = loop(body, f"    %0 = {all_reduce('%w#1', 'f64', ALL)}", "%0, %w#2", "tensor<f64>, tensor<f64>")
    check(text, 2, 1, RNG.standard_normal(4))


def test_a_sum_behind_a_loop_moves_in_front_of_it() -> None:
    """Every value that the loop makes is linear in what comes in, with a coefficient that is the same everywhere: ten sums are one."""
    body = f"""      %half = stablehlo.constant dense<0.5> : tensor<f64>
      %b1 = stablehlo.multiply %b, %half : tensor<f64>
      %r = {all_reduce("%b1", "f64", ALL)}
      %a1 = stablehlo.add %a, %r : tensor<f64>"""
    text = loop(body, f"    %0 = {all_reduce('%w#2', 'f64', ALL)}", "%w#1, %0", "tensor<f64>, tensor<f64>")
    placed = check(text, 2, 1, RNG.standard_normal(4))
    assert collectives(wg.parse(placed).module) == Count(1, 0)


def test_sums_that_kept_results_need_stay_and_are_used() -> None:
    """Of two sums of multiples of one value the kept one is no sum of something else; the other one is made of it."""
    body = f"""    %c = stablehlo.constant dense<3.0> : tensor<f64>
    %u = stablehlo.multiply %x, %c : tensor<f64>
    %v = stablehlo.negate %u : tensor<f64>
    %0 = {all_reduce("%v", "f64", ALL)}
    %1 = {all_reduce("%u", "f64", ALL)}"""
    p = wg.parse(module("%x: tensor<f64>", body, "%1, %0", "tensor<f64>, tensor<f64>"))
    text = p.apply("to-core")
    main = next(op for op in text.module.ops if isinstance(op, FuncOp))
    assert place_sums(main, Grid(1, 4), kept=1)
    placed, x = wg.Program(text.module), RNG.standard_normal(4)
    assert collectives(placed.module).everywhere == 1
    (kept, moved), wanted = placed.distribute(4)(x), p.distribute(4)(x)
    np.testing.assert_array_equal(kept, wanted[0])
    np.testing.assert_allclose(moved, wanted[1], rtol=1e-14)


def test_a_vjp_gives_the_results_of_the_program_itself() -> None:
    body = f"""    %c = stablehlo.constant dense<3.0> : tensor<f64>
    %u = stablehlo.multiply %x, %c : tensor<f64>
    %s = {all_reduce("%u", "f64", ALL)}
    %1 = stablehlo.sine %s : tensor<f64>
    %2 = stablehlo.multiply %1, %x : tensor<f64>"""
    local = wg.parse(module("%x: tensor<f64>", body, "%1, %2", "tensor<f64>, tensor<f64>"))
    f, x = wg.spmd(local, {"x": 4}, in_specs=[None], out_specs=[None, None]), np.float64(0.3)
    np.testing.assert_array_equal(f.vjp(wrt=0)(x, np.float64(1), np.float64(1))[:2], f(x))
