"""Numbers of devices that nobody can list are refused where they are said."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError

SUM = """
module attributes {{{devices}}} {{
  {mesh}
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
    %r = "stablehlo.all_reduce"(%x) <{{replica_groups = {groups}}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<2xf32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }}
}}"""
ALL = "dense<> : tensor<0x0xi64>"
ALONG_X = '#stablehlo.replica_group_mesh_axes<mesh = {}, axes = [#stablehlo.axis_ref<name = "x">]>'
INLINE = '#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 4294967296>]>'


@pytest.mark.parametrize(
    ("devices", "mesh", "groups", "message"),
    [
        (
            "",
            'sdy.mesh @mesh = <["x"=4294967296]>',
            ALONG_X.format("@mesh"),
            "3:3: error: sdy.mesh: the mesh has 4294967296 devices, and may have 1048576 at most",
        ),
        ("", 'sdy.mesh @mesh = <["x"=2147483648], device_ids=[0, 1]>', ALL, "the mesh has 2147483648 devices"),
        ("", "", ALONG_X.format(INLINE), "has 4294967296 devices, and may have 1048576 at most"),
        ("mhlo.num_partitions = 2147483647 : i32, mhlo.num_replicas = 1 : i32", "", ALL, "the module is for 1 x 2147483647 devices"),
        ("mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2147483647 : i32", "", ALL, "the module is for 2147483647 x 1 devices"),
        ("mhlo.num_partitions = 1 : i32, mhlo.num_replicas = -1 : i32", "", ALL, "the module is for -1 x 1 devices"),
    ],
)
def test_refusals(devices: str, mesh: str, groups: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        wg.parse(SUM.format(devices=devices, mesh=mesh, groups=groups))(np.ones(2, np.float32))
    assert message in str(caught.value)
