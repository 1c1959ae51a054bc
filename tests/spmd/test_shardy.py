"""Programs with sharding annotations: partitioned by Shardy's passes, or run as they are; imports from JAX."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("jaxlib")

ANNOTATED = """module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%x: tensor<4x4xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}, %w: tensor<4xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) -> (tensor<4xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %1 = stablehlo.tanh %0 : tensor<4xf64>
    return %1 : tensor<4xf64>
  }
}
"""


def test_annotations_are_partitioned() -> None:
    p, rng = wg.parse(ANNOTATED), np.random.default_rng(0)
    x, w, y_bar = rng.standard_normal((4, 4)), rng.standard_normal(4), rng.standard_normal(4)
    whole = wg.spmd(p)
    assert whole.mesh.size == 4
    assert [a.shape for a in whole.local.signature.arguments] == [(2, 2), (2,)]
    for run in (p, whole):
        np.testing.assert_allclose(run(x, w)[0], np.tanh(x @ w), rtol=1e-14)
    for got, wanted in zip(whole.vjp()(x, w, y_bar), p.vjp()(x, w, y_bar), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-13)


UNEVEN = """sdy.mesh @mesh = <["a"=2]>
func.func public @main(%x: tensor<3xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<3xf64> {
  %0 = stablehlo.tanh %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}
"""


def test_what_shardy_refuses_is_said() -> None:
    p = wg.parse(UNEVEN, "uneven.mlir")
    np.testing.assert_array_equal(p(np.zeros(3))[0], np.zeros(3))
    with pytest.raises(wg.InputError, match=r"uneven\.mlir: Shardy's passes refuse the program"):
        wg.spmd(p)


IMPORT = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp, numpy as np, wengert as wg
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
mesh = Mesh(np.array(jax.devices()), ("x",))
w, x = np.arange(3.0) / 3, np.arange(12.0).reshape(4, 3) / 12
f = jax.shard_map(lambda w, x: jax.lax.psum(jnp.sum(jnp.tanh(x @ w)), "x"), mesh=mesh, in_specs=(P(), P("x")), out_specs=P())
imported = wg.from_jax(f, w, x)
whole = wg.spmd(imported)
assert whole.mesh.axes == (("x", 2),)
g = jax.jit(lambda w, x: jnp.sum(jnp.tanh(x @ w)), in_shardings=(NamedSharding(mesh, P()), NamedSharding(mesh, P("x"))), out_shardings=NamedSharding(mesh, P()))
for program in (whole, wg.spmd(wg.from_jax(g, w, x))):
    assert program.mesh.axes == (("x", 2),)
    np.testing.assert_allclose(program(w, x)[0], f(w, x), rtol=1e-14)
    np.testing.assert_allclose(program.vjp(wrt=0)(w, x, 1.0)[1], jax.grad(f)(w, x), rtol=1e-13)
np.testing.assert_allclose(imported(w, x), f(w, x), rtol=1e-14)
"""


def test_imports_from_jax_keep_the_mesh() -> None:
    env = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr


RULES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp, numpy as np, pytest, wengert as wg
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
split = NamedSharding(Mesh(np.array(jax.devices()), ("x",)), P("x"))
clipped = jax.custom_vjp(lambda x: x * 2)
clipped.defvjp(lambda x: (clipped(x), None), lambda _, g: (jnp.clip(g, -1, 1),))
x = np.arange(4.0)
whole = wg.spmd(wg.from_jax(jax.jit(clipped, in_shardings=split), x))
np.testing.assert_array_equal(whole(x)[0], 2 * x)
with pytest.raises(wg.InputError, match="Shardy's passes do not keep the rules of"):
    whole.vjp()
with pytest.warns(UserWarning, match="do not keep the rules of relu"):
    wg.spmd(wg.from_jax(jax.jit(jax.nn.relu, in_shardings=split), x)).vjp()
"""


def test_rules_that_partitioning_loses_are_not_lost_silently() -> None:
    done = subprocess.run([sys.executable, "-c", RULES], capture_output=True, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"}, check=False)
    assert done.returncode == 0, done.stderr
