"""Concatenations read where they are used: which ones, and random rotations and stencils against the interpreter."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native_checks import check

from wengert.dialects.kernel import EmptyOp, NestOp
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.transforms.lowering import lower


def rotated(extents: tuple[int, ...], dimension: int, by: int, made: str = "%x", dtype: str = "f64") -> str:
    """The product of an array and what it is after a rotation along one dimension; ``made`` is what is rotated."""
    full = f"tensor<{'x'.join(map(str, extents))}x{dtype}>"
    cut = extents[dimension] - by
    ranges = [[f"0:{n}" for n in extents] for _ in range(2)]
    ranges[0][dimension], ranges[1][dimension] = f"{cut}:{extents[dimension]}", f"0:{cut}"
    shapes = [[*extents[:dimension], n, *extents[dimension + 1 :]] for n in (by, cut)]
    kinds = [f"tensor<{'x'.join(map(str, shape))}x{dtype}>" for shape in shapes]
    return f"""func.func @main(%x: {full}) -> {full} {{
      %y = stablehlo.tanh %x : {full}
      %a = stablehlo.slice {made} [{", ".join(ranges[0])}] : ({full}) -> {kinds[0]}
      %b = stablehlo.slice {made} [{", ".join(ranges[1])}] : ({full}) -> {kinds[1]}
      %c = stablehlo.concatenate %a, %b, dim = {dimension} : ({kinds[0]}, {kinds[1]}) -> {full}
      %r = stablehlo.multiply %c, %x : {full}
      return %r : {full}
    }}"""


def is_written(text: str) -> bool:
    """Whether the concatenation is an array of its own."""
    return bool(ops_of(lower(parse_module(text)), EmptyOp))


@pytest.mark.parametrize(
    ("extents", "dimension", "by", "made", "written"),
    [
        ((1000,), 0, 3, "%x", False),
        ((1000,), 0, 500, "%x", False),
        ((1000,), 0, 3, "%y", False),
        ((40, 100), 1, 1, "%x", False),
        ((40, 100), 0, 2, "%y", False),
        ((40, 100), 0, 20, "%x", True),  # half of the rows would have to choose in every element
        ((500, 20), 1, 1, "%x", True),  # rows too short to be cut
    ],
)
def test_which_are_read_in_place(extents: tuple[int, ...], dimension: int, by: int, made: str, written: bool) -> None:
    text = rotated(extents, dimension, by, made)
    check(text, [np.random.default_rng(0).normal(size=extents)], 1e-14)
    assert is_written(text) == written


def test_what_is_returned_or_computed_for_the_purpose_is_written_once() -> None:
    text = """func.func @main(%x: tensor<500xf64>, %y: tensor<500xf64>) -> (tensor<1000xf64>, tensor<1000xf64>) {
      %a = stablehlo.tanh %x : tensor<500xf64>
      %c = stablehlo.concatenate %a, %y, dim = 0 : (tensor<500xf64>, tensor<500xf64>) -> tensor<1000xf64>
      %d = stablehlo.multiply %c, %c : tensor<1000xf64>
      %e = stablehlo.concatenate %y, %x, dim = 0 : (tensor<500xf64>, tensor<500xf64>) -> tensor<1000xf64>
      return %d, %e : tensor<1000xf64>, tensor<1000xf64>
    }"""
    check(text, list(np.random.default_rng(0).normal(size=(2, 500))), 1e-14)
    assert len(ops_of(lower(parse_module(text)), EmptyOp)) == 2


def test_halves_that_change_places() -> None:
    """Rotary embeddings: the second half negated, in front of the first."""
    text = """func.func @main(%x: tensor<30x128xf32>, %s: tensor<30x128xf32>) -> tensor<30x128xf32> {
      %a = stablehlo.slice %x [0:30, 0:64] : (tensor<30x128xf32>) -> tensor<30x64xf32>
      %b = stablehlo.slice %x [0:30, 64:128] : (tensor<30x128xf32>) -> tensor<30x64xf32>
      %n = stablehlo.negate %b : tensor<30x64xf32>
      %c = stablehlo.concatenate %n, %a, dim = 1 : (tensor<30x64xf32>, tensor<30x64xf32>) -> tensor<30x128xf32>
      %m = stablehlo.multiply %c, %s : tensor<30x128xf32>
      %r = stablehlo.add %m, %x : tensor<30x128xf32>
      return %r : tensor<30x128xf32>
    }"""
    check(text, list(np.random.default_rng(0).normal(size=(2, 30, 128)).astype(np.float32)), 1e-6)
    assert len(ops_of(lower(parse_module(text)), NestOp)) == 1


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.integers(1, 90), min_size=1, max_size=3).map(tuple),
    st.data(),
    st.sampled_from(["%x", "%y"]),
    st.sampled_from(["f64", "f32"]),
)
def test_random_rotations(extents: tuple[int, ...], data: st.DataObject, made: str, dtype: str) -> None:
    dimension = data.draw(st.integers(0, len(extents) - 1))
    by = data.draw(st.integers(0, extents[dimension]))
    x = np.random.default_rng(0).normal(size=extents).astype({"f64": np.float64, "f32": np.float32}[dtype])
    check(rotated(extents, dimension, by, made, dtype), [x], 1e-14 if dtype == "f64" else 1e-6)
