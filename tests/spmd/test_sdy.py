"""Shardy's ops: both forms, verification, and what they mean on whole tensors."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.dialects.sdy_shardings import Axis, Mesh, ShardingError, gather_groups, local_shape, sharding_of, shardings_of
from wengert.ir.printing.printer import print_module

TEXT = """sdy.mesh @m = <["x"=2, "y"=4]>
func.func public @main(%x: tensor<8x4xf64> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x4xf64> {
  %0 = sdy.all_gather [{"x"}, {}] %x out_sharding=<@m, [{}, {}]> : tensor<8x4xf64>
  %1 = sdy.all_slice [{}, {"y"}] %0 out_sharding=<@m, [{}, {"y"}]> : tensor<8x4xf64>
  %2 = sdy.all_to_all [{"y"}: 1->0] %1 out_sharding=<@m, [{"y"}, {}]> : tensor<8x4xf64>
  %3 = sdy.collective_permute %2 out_sharding=<@m, [{"y":(1)2}, {}]> : tensor<8x4xf64>
  %4 = sdy.all_reduce {"x"} %3 out_sharding=<@m, [{"y"}, {}]> : tensor<8x4xf64>
  %5 = sdy.reduce_scatter [{}, {"x"}] %4 out_sharding=<@m, [{"y"}, {"x", ?}]> : tensor<8x4xf64>
  %6 = sdy.reshard %5 <@m, [{}, {?}p1], replicated={"x"}> : tensor<8x4xf64>
  %7 = sdy.sharding_constraint %6 <mesh<["z"=2]>, [{"z"}, {}]> : tensor<8x4xf64>
  return %7 : tensor<8x4xf64>
}
"""
MANUAL = """sdy.mesh @m = <["x"=2]>
func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf64>) {
    %1 = stablehlo.sine %b : tensor<2xf64>
    sdy.return %1 : tensor<2xf64>
  } : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
"""


@pytest.mark.parametrize("text", [TEXT, MANUAL])
def test_both_forms(text: str) -> None:
    module = wg.parse(text).module
    pretty, generic = print_module(module), print_module(module, generic=True)
    assert '"sdy.' in generic
    for again in (pretty, generic):
        assert print_module(wg.parse(again).module) == pretty


def test_on_whole_tensors_they_are_the_identity() -> None:
    x = np.arange(32.0).reshape(8, 4)
    p = wg.parse(TEXT)
    for run in (p, p.compile("interpreter")):
        np.testing.assert_array_equal(run(x)[0], x)
    np.testing.assert_array_equal(p.vjp()(x, x)[1], x)
    np.testing.assert_allclose(wg.parse(MANUAL)(x[:4, 0])[0], np.sin(x[:4, 0]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('out_sharding=<@m, [{"y"}, {}]> : t', 'out_sharding=<@m, [{"z"}, {}]> : t', 'names an axis "z" that the mesh does not have (it has x, y)'),
        ('[{"y"}, {"x", ?}]', '[{"y"}, {"y"}]', 'out_sharding uses the axis "y" twice'),
        ('"y":(1)2', '"y":(1)3', 'takes a part "y":(1)3 of an axis of size 4, which it does not divide'),
        ("<@m, [{}, {?}p1]", "<@n, [{}, {?}p1]", "there is no mesh @n in this module (meshes: @m)"),
        ("[{}, {?}p1]", "[{}]", "has 1 dimensions for a tensor of rank 2"),
        ('"y"=4', '"x"=4', "names an axis twice: x, x"),
        ('"y"=4', '"y"=0', 'has an axis "y" of size 0'),
        ('"y"=4]', '"y"=4], device_ids=[0, 1]', "must list each of its devices 0 to 7 once"),
        ('replicated={"x"}', 'shared={"x"}', "expected 'replicated' or 'unreduced', found 'shared'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(old: str, new: str, message: str) -> None:
    with pytest.raises(wg.DiagnosticError) as caught:
        wg.parse(TEXT.replace(old, new), "f.mlir")
    assert message in str(caught.value)
    assert "f.mlir:" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tensor<2xf64>", "tensor<3xf64>", "must have the shape [2], found tensor<3xf64>"),
        ('in_shardings=[<@m, [{"x"}]>]', "in_shardings=[]", "found 1 operands, 0 shardings, 1 blocks"),
        ("tensor<4xf64>", "tensor<5xf64>", "the extent 5 of dimension 0 cannot be split in 2 equal parts"),
        ('manual_axes={"x"}', 'manual_axes={"q"}', "manual_axes names an axis that the mesh does not have: q"),
    ],
)
def test_blocks_are_those_of_the_values_outside(old: str, new: str, message: str) -> None:
    with pytest.raises(wg.DiagnosticError) as caught:
        wg.parse(MANUAL.replace(old, new))
    assert message in str(caught.value)


def test_parts_of_axes() -> None:
    mesh = Mesh((("x", 8),))
    halves, quarters = Axis("x", 1, 2), Axis("x", 2, 4)
    places = mesh.positions()
    assert [mesh.along(halves, place) for place in places] == [0] * 4 + [1] * 4
    assert [mesh.along(quarters, place) for place in places] == [0, 1, 2, 3] * 2
    assert gather_groups([halves], mesh) == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert gather_groups([quarters], mesh) == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert gather_groups([quarters, halves], mesh) == [(0, 4, 1, 5, 2, 6, 3, 7)]


def test_attributes_as_values() -> None:
    module = wg.parse(TEXT).module
    last = [op for op in module.walk() if op.name.startswith("sdy.") and "sharding" in op.properties]
    sharding = sharding_of(last[0].properties["sharding"])
    assert sharding.replicated == (Axis("x"),)
    assert sharding.open == (False, True)
    assert sharding_of(last[1].properties["sharding"]).mesh == Mesh((("z", 2),))
    manual = next(op for op in wg.parse(MANUAL).module.walk() if op.name == "sdy.manual_computation")
    (split,) = shardings_of(manual.properties["in_shardings"])
    assert local_shape((4,), split, Mesh((("x", 2),))) == (2,)
    with pytest.raises(ShardingError, match="cannot be split in 3 equal parts"):
        local_shape((4,), split, Mesh((("x", 3),)))


def test_a_mesh_that_is_not_there_is_said_with_its_place() -> None:
    text = """func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%y: tensor<2xf64>) {
    sdy.return %y : tensor<2xf64>
  } : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
"""
    with pytest.raises(wg.DiagnosticError, match=r"f\.mlir:2:3: error: sdy\.manual_computation: there is no mesh @m in this module"):
        wg.parse(text, "f.mlir")(np.zeros(4))
