"""Convolutions whose window is as wide as their input is dilated are matrix products."""

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run

NUMBERS = {
    "images": ("[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]", (2, 3, 4, 5), (3, 2, 6, 5), [[2, 2], [1, 1]], (3, 2)),
    "channels first": ("[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", (2, 5, 3, 4), (6, 5, 3, 2), [[2, 2], [1, 1]], (3, 2)),
    "cut and padded": ("[b, 0, 1, f]x[0, 1, i, o]->[f, 1, b, 0]", (2, 3, 4, 5), (4, 3, 5, 6), [[1, 5], [4, 0]], (4, 3)),
    "one dimension": ("[f, b, 0]x[i, 0, o]->[b, 0, f]", (5, 2, 7), (5, 8, 3), [[7, 7]], (8,)),
    "along one of two": ("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", (2, 3, 4, 5), (1, 4, 5, 6), [[0, 0], [3, 3]], (1, 4)),
}


@pytest.mark.parametrize("flips", [True, False])
@pytest.mark.parametrize(("t", "dtype"), [("f64", np.float64), ("f32", np.float32)])
@pytest.mark.parametrize("case", NUMBERS)
def test_patches(case: str, t: str, dtype: type[np.floating], flips: bool) -> None:
    dims, lhs, rhs, padding, base = NUMBERS[case]
    n = len(base)
    roles, out = dims.split("->")[1].strip("[]").split(", "), {}
    x_roles, k_roles = (part.strip("[]").split(", ") for part in dims.split("->")[0].split("x"))
    for role in roles:
        if role == "b":
            out[role] = lhs[x_roles.index("b")]
        elif role == "f":
            out[role] = rhs[k_roles.index("o")]
        else:
            m, k, (low, high) = lhs[x_roles.index(role)], rhs[k_roles.index(role)], padding[int(role)]
            out[role] = (m - 1) * base[int(role)] + 1 + low + high - k + 1
    types = ["x".join(map(str, extents)) + f"x{t}" for extents in (lhs, rhs, [out[role] for role in roles])]
    module = parse_module(f"""func.func @main(%x: tensor<{types[0]}>, %w: tensor<{types[1]}>) -> tensor<{types[2]}> {{
        %y = stablehlo.convolution(%x, %w) dim_numbers = {dims},
          window = {{stride = {[1] * n}, pad = {padding}, lhs_dilate = {list(base)}, rhs_dilate = {[1] * n}, reverse = [{", ".join([str(flips).lower()] * n)}]}}
          {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : (tensor<{types[0]}>, tensor<{types[1]}>) -> tensor<{types[2]}>
        return %y : tensor<{types[2]}> }}""")
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=lhs).astype(dtype), rng.normal(size=rhs).astype(dtype)
    compiled = compile(module)
    assert "kernel.matmul" in str(compiled.kernel_module)
    assert "stablehlo.convolution" not in str(compiled.kernel_module)
    np.testing.assert_allclose(compiled(x, w)[0], run(module, [x, w])[0], rtol=1e-12 if t == "f64" else 1e-5, atol=1e-12 if t == "f64" else 1e-5)
