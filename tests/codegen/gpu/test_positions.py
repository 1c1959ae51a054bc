"""Positions are computed in 32 bits where these suffice, and in 64 where a buffer has more elements."""

from __future__ import annotations

import pytest
from large_programs import PROGRAMS, large_program
from xdsl.dialects.builtin import ModuleOp, StringAttr

import wengert as wg
from wengert.dialects.gpu import FuncOp
from wengert.ir.traversal import ops_of
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.derived.derivation import runnable
from wengert.transforms.codegen.gpu.kernels_to_gpu import POSITIONS
from wengert.transforms.lowering import alone
from wengert.transforms.pipelines import gpu_lowering, parse_pipeline


def positions(module: ModuleOp) -> list[str]:
    """The integers in which each kernel computes positions."""
    kernels = parse_pipeline(gpu_lowering("sm_90")).run(alone(core_form(runnable(module)), "main"))
    seen = [op.attributes[POSITIONS] for op in ops_of(kernels, FuncOp) if op.is_kernel]
    return [attribute.data for attribute in seen if isinstance(attribute, StringAttr)]


@pytest.mark.parametrize("kind", ["primal", "vjp"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_large_shapes(name: str, kind: str) -> None:
    widths = positions(large_program(name, kind).optimized_module)
    assert widths
    assert set(widths) == {"i32"}


@pytest.mark.parametrize(("rows", "width"), [(16_000, "i32"), (17_000, "i64")])
def test_buffers_of_a_thousand_million_elements(rows: int, width: str) -> None:
    text = f"""func.func @main(%x: tensor<{rows}x65536xi8>) -> tensor<{rows}x65536xi8> {{
  %0 = stablehlo.negate %x : tensor<{rows}x65536xi8>
  return %0 : tensor<{rows}x65536xi8> }}"""
    assert positions(wg.parse(text).optimized_module) == [width]
