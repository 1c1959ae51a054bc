"""XLA as an oracle: asked so that its known defects do not show."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

from fuzz.oracle import execute

LOOP = """
func.func public @main() -> tensor<i64> {{
  %start = stablehlo.constant dense<{start}> : tensor<i64>
  %end = stablehlo.while(%i = %start) : tensor<i64>
  cond {{
    %limit = stablehlo.constant dense<{limit}> : tensor<i64>
    %goes_on = stablehlo.compare {direction}, %i, %limit, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %goes_on : tensor<i1>
  }} do {{
    %stride = stablehlo.constant dense<{stride}> : tensor<i64>
    %next = stablehlo.add %i, %stride : tensor<i64>
    stablehlo.return %next : tensor<i64>
  }}
  return %end : tensor<i64>
}}
"""


@pytest.mark.parametrize(
    ("start", "direction", "limit", "stride", "end"),
    [(0, "LT", 1, 2, 2), (-1, "LT", 0, 3, 2), (3, "LT", 2, 2, 3), (2, "LE", 1, 2, 2), (0, "LT", 4, 2, 4)],
)
def test_a_stride_need_not_divide_the_distance(start: int, direction: str, limit: int, stride: int, end: int) -> None:
    (result,) = execute(LOOP.format(start=start, direction=direction, limit=limit, stride=stride), [])
    assert np.asarray(result) == end
