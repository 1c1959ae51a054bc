"""The models of the benchmark: gradients of ours and of PyTorch's beside JAX's, in double precision at tiny sizes, and what their products take."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from reference_programs import share

ROOT = Path(__file__).parents[2]
FAMILIES = ("bert", "gpt", "graph_network", "llama", "lstm", "neural_ode", "residual", "unet", "vit", "wavenet")

pytestmark = pytest.mark.oracle

GRADIENTS = """
import json, sys
from dataclasses import replace
from importlib import import_module
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
from benchmarks.harness.measure import _worst
from benchmarks.harness.peers import exact, ours, torch_eager
family = import_module("benchmarks.models." + sys.argv[1])
workload = family.workload(family.TINY)
workload = replace(workload, inputs=tuple(x.astype(np.float64) if x.dtype == np.float32 else x for x in workload.inputs))
wanted = exact(workload)
zeros = [n for n, gradient in enumerate(wanted[1:]) if not np.abs(gradient).max() > 1e-12]
sides = [ours(workload), torch_eager(workload)]
print(json.dumps({"errors": {side.name: _worst(side.results, wanted) for side in sides}, "zeros": zeros, "memory": [side.memory for side in sides]}))
"""


@pytest.mark.parametrize("family", share(FAMILIES, 3))
def test_gradients(family: str) -> None:
    """By all weights, none of which is without effect."""
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", GRADIENTS, family], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert max(said["errors"].values()) < 1e-11, said
    assert not said["zeros"]
    assert all(said["memory"])


def test_all_families_are_measured() -> None:
    script = "from benchmarks.models.catalogue import FAMILIES; print(*sorted(family.__name__.rpartition('.')[2] for family in FAMILIES))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == list(FAMILIES), done.stderr


def test_flops_of_products() -> None:
    """As counted by hand: of products by weights three times those of the value, twice where the other operand is data, through loops."""
    script = """
import jax.numpy as jnp, numpy as np
from jax import lax
from benchmarks.models import gpt, residual
from benchmarks.models.products import product_flops

def recurrent(w, u, xs):
    return lax.scan(lambda h, x: (jnp.tanh(h @ w + x @ u), None), jnp.zeros((3, 4)), xs)[0].sum()

arrays = [np.ones(s, np.float32) for s in ((4, 4), (5, 4), (7, 3, 5))]
assert product_flops(recurrent, arrays, (0, 1)) == 7 * (3 * 2 * 3 * 4 * 4 + 2 * 2 * 3 * 5 * 4)
assert product_flops(recurrent, arrays, ()) == 7 * (2 * 3 * 4 * 4 + 2 * 3 * 5 * 4)
size = gpt.Size(4, 128, 256, 4)
places, d = 4 * 128, 256
products = places * (12 * size.layers * d * d + d * size.vocabulary) + 2 * size.layers * places * 128 * d
assert gpt.workload(size).floats == 6.0 * products, (gpt.workload(size).floats, products)
small = residual.Size(2, 8, 3)
convolutions = 2 * 2 * 64 * 9 * 32 * (2 * 3 + 3 * 2 * 3 * 32) + 3 * 2 * 2 * 32 * 10
assert residual.workload(small).floats == convolutions
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
