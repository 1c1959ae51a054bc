"""Assembly for processors by name, whatever machine writes it: programs of all kinds of kernels, and names that there are not."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.transforms.pipelines import parse_pipeline

RETURNS = {"sse2": "retq", "avx2": "retq", "avx512": "retq", "zen4": "retq", "neon": "ret"}
REGISTERS = {"sse2": "%xmm", "avx2": "%ymm", "avx512": "%zmm", "zen4": "%zmm", "neon": ".4s"}


def program(x: jax.Array, w: jax.Array) -> tuple[jax.Array, ...]:
    y = jnp.tanh(x @ w)
    return jax.nn.softmax(y), jnp.sort(y, axis=0), jnp.fft.fft(y), jnp.cumsum(y, axis=1)


@pytest.mark.parametrize("target", RETURNS)
def test_all_kinds_of_kernels(target: str) -> None:
    text: str = jax.jit(program).lower(np.zeros((48, 40), np.float32), np.zeros((40, 32), np.float32)).as_text()
    options = f"{{target={target}}}"
    emission = ",".join(f"{name}{options}" for name in ("schedule", "bufferize", "emit-llvm", "optimize-llvm", "emit-asm"))
    pipeline = parse_pipeline(f"to-core,fuse,{emission}")
    assembly = pipeline.translate(pipeline.run(parse_module(text)))
    assert "entry:" in assembly
    assert RETURNS[target] in assembly.split()
    assert REGISTERS[target] in assembly


def test_unknown_targets() -> None:
    with pytest.raises(DiagnosticError, match="there is no target 'avx3'; did you mean 'avx2'"):
        parse_pipeline("emit-asm{target=avx3}").translate("define void @f() {\nret void\n}\n")
