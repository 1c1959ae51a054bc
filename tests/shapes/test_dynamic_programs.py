"""Programs of open extents against their static texts: results, derivatives and batches, on both backends, at several sizes."""

from __future__ import annotations

import numpy as np
import pytest
from dynamic_programs.composed import DYNAMIC_PROGRAMS
from dynamic_programs.computed import COMPUTED
from dynamic_programs.notation import Dynamic

import wengert as wg
from wengert.dialects.stablehlo import DynamicReshapeOp
from wengert.ir.traversal import all_ops
from wengert.lab.inputs import random_inputs
from wengert.transforms.shapes.dynamism import DYNAMIC_OPS, is_dynamic

PARAMETERS = [pytest.param(p, id=p.name) for p in DYNAMIC_PROGRAMS]


def assert_same(actual: tuple[np.ndarray, ...], expected: tuple[np.ndarray, ...]) -> None:
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", PARAMETERS)
def test_agrees_with_the_static_text(case: Dynamic) -> None:
    program = wg.parse(case.text())
    for seed, b in enumerate(case.sizes):
        static = wg.parse(case.at(b))
        inputs = random_inputs(static.signature, seed)
        assert_same(program.compile("interpreter")(*inputs), static.compile("interpreter")(*inputs))
        if case.differentiable:
            expected = static.vjp()
            given = random_inputs(expected.signature, seed)
            assert_same(program.vjp().compile("interpreter")(*given), expected.compile("interpreter")(*given))
            expected = static.jvp()
            given = random_inputs(expected.signature, seed)
            assert_same(program.jvp().compile("interpreter")(*given), expected.compile("interpreter")(*given))
    assert "?" in str(program)


@pytest.mark.parametrize("case", PARAMETERS)
def test_compiled(case: Dynamic) -> None:
    program, b = wg.parse(case.text()), case.sizes[-1]
    static = wg.parse(case.at(b))
    derived = static.vjp() if case.differentiable else static
    inputs = random_inputs(derived.signature, 7)
    assert_same((program.vjp() if case.differentiable else program)(*inputs), derived.compile("interpreter")(*inputs))


@pytest.mark.parametrize("case", [p for p in DYNAMIC_PROGRAMS if p.batched], ids=lambda p: p.name)
def test_batched(case: Dynamic) -> None:
    program, b = wg.parse(case.text()), case.sizes[0]
    expected = wg.parse(case.at(b)).vmap(size=3)
    inputs = random_inputs(expected.signature, 1)
    assert_same(program.vmap().compile("interpreter")(*inputs), expected.compile("interpreter")(*inputs))


@pytest.mark.parametrize("case", PARAMETERS)
def test_the_specialized_text_is_static(case: Dynamic) -> None:
    program = wg.parse(case.text())
    for b in case.sizes:
        static = wg.parse(case.at(b))
        shapes = [p.shape for p in static.signature.arguments]
        special = program.specialize(*shapes)
        assert "?" not in str(special)
        assert special.signature == static.signature
        assert not is_dynamic(special.module)
        wg.parse(str(special))
        assert program.specialize(*shapes) is special


@pytest.mark.parametrize("case", [p for p in COMPUTED if p.static], ids=lambda p: p.name)
def test_dynamic_ops_between_static_types(case: Dynamic) -> None:
    """Computed shapes where the types say everything: the same program, without being given shapes."""
    b = case.sizes[-1]
    program = wg.parse(Dynamic(case.name, case.signature, case.body, extents=case.extents).at(b))
    static = wg.parse(case.at(b))
    assert any(type(op) in DYNAMIC_OPS for op in all_ops(program.module))
    given = random_inputs(static.vjp().signature, 3)
    assert_same(program.vjp()(*given), static.vjp().compile("interpreter")(*given))
    assert program.costs().primal.cost.flops >= 0
    assert not any(isinstance(op, DynamicReshapeOp) for op in all_ops(program.optimized_module))
