"""What has no derivative is refused with its name and place, and only where the derivative needs it."""

from __future__ import annotations

import pytest

import wengert as wg

TEXT = """func.func public @main(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.custom_call @somewhere(%x) : (tensor<4xf64>) -> tensor<4xf64>
  %1 = stablehlo.multiply %0, %y : tensor<4xf64>
  return %1 : tensor<4xf64>
}"""


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_refused_by_name_and_place(mode: str) -> None:
    with pytest.raises(wg.DiagnosticError, match=r"p\.mlir:2:\d+: error: stablehlo.custom_call"):
        getattr(wg.parse(TEXT, "p.mlir"), mode)()


def test_inactive_ops_need_no_rule() -> None:
    program = wg.parse(TEXT)
    derivative = program.vjp(wrt=1)
    assert any(op.name == "stablehlo.custom_call" for op in derivative.module.walk())
    with pytest.raises(wg.DiagnosticError):
        program.vjp(wrt=0)


def test_a_call_that_nobody_answers_is_an_error_with_a_place() -> None:
    for backend in ("cpu", "interpreter"):
        with pytest.raises((wg.DiagnosticError, wg.ExecutionError, wg.InputError), match=r"p\.mlir:2:\d+: error: .*custom_call"):
            wg.parse(TEXT, "p.mlir").compile(backend)([1.0] * 4, [1.0] * 4)
