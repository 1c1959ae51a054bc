"""JAX's parser judges our spellings: what it takes we take with the same meaning, what it refuses we refuse with a place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from spellings.attributes import ATTRIBUTES
from spellings.differences import ANOTHER_TEXT, ELEMENTS_WITHOUT_CONSTANTS, NOT_TAKEN, TAKEN_BESIDES
from spellings.ops import ARGUMENTS, MODULES, OPS

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.transforms.pipelines import parse_pipeline

Judge = Callable[[str], str]
CALLEE = "func.func private @callee(%v: tensor<4xf32>) -> tensor<4xf32> {\n  return %v : tensor<4xf32>\n}\n"
IN_FULL = "algorithm = #stablehlo.dot_algorithm<"
"""A short form that may be written in full here, and not in JAX."""
UNKNOWN_DIALECTS = ("foo.", "foo<", "quant.", '"foo"', "#mhlo.")
UNKNOWN_OPS = ("unary_einsum", "constant_like")


@pytest.fixture(scope="module")
def jax_meaning() -> Judge:
    """A text in JAX's own generic form, or an empty string for what it refuses."""
    pytest.importorskip("jax")
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    context = mlir.make_ir_context()

    def meaning(text: str) -> str:
        with context:
            try:
                return ir.Module.parse(text).operation.get_asm(print_generic_op_form=True)
            except (ir.MLIRError, ValueError):
                return ""

    return meaning


def judge(text: str, meaning: Judge, *, spelled: str) -> None:
    """Both readers agree on a text."""
    wanted = meaning(text)
    try:
        module = parse_module(text, "t.mlir")
        verify(module, text)
        if "vhlo." in spelled:
            converted = parse_pipeline("vhlo-to-stablehlo").applied(module)  # VHLO is verified as what it is converted to
            verify(converted, text)
    except DiagnosticError as error:
        refused = error.diagnostic
    else:
        known_besides = spelled in TAKEN_BESIDES or IN_FULL in spelled or any(name in spelled for name in UNKNOWN_DIALECTS)
        assert wanted or known_besides, "JAX refuses this"
        for generic in (False, True):
            printed = print_module(module, generic=generic)
            assert print_module(parse_module(printed), generic=generic) == printed
            assert not wanted or meaning(printed) == wanted or any(words in spelled for words in ANOTHER_TEXT)
        return
    assert refused.file == "t.mlir"
    assert refused.line > 0
    known_refusal = spelled in NOT_TAKEN or "vhlo" in spelled or any(name in spelled for name in UNKNOWN_OPS)
    without = spelled.startswith("dense<") and any(f"tensor<{n}{element}>" in spelled for n in ("", "2x") for element in ELEMENTS_WITHOUT_CONSTANTS)
    assert not wanted or known_refusal or without, f"JAX takes this; we say: {refused}"


@pytest.mark.oracle
@pytest.mark.parametrize("spelled", ATTRIBUTES)
def test_attributes(spelled: str, jax_meaning: Judge) -> None:
    judge(f"func.func @f() attributes {{a = {spelled}}} {{ return }}", jax_meaning, spelled=spelled)


@pytest.mark.oracle
@pytest.mark.parametrize("spelled", OPS)
def test_ops(spelled: str, jax_meaning: Judge) -> None:
    judge(f"func.func @main({ARGUMENTS}) {{\n  {spelled}\n  return\n}}\n{CALLEE}", jax_meaning, spelled=spelled)


@pytest.mark.oracle
@pytest.mark.parametrize("spelled", MODULES, ids=range(len(MODULES)))
def test_modules(spelled: str, jax_meaning: Judge) -> None:
    judge(spelled, jax_meaning, spelled=spelled)


RESOURCES = """func.func @main() -> (tensor<2xf32>, tensor<3xi1>) {
  %0 = stablehlo.constant dense_resource<r> : tensor<2xf32>
  %1 = stablehlo.constant dense_resource<"an other"> : tensor<3xi1>
  return %0, %1 : tensor<2xf32>, tensor<3xi1>
}
{-#
  external_resources: { mlir_reproducer: { pipeline: "builtin.module()", verify_each: true } },
  dialect_resources: { builtin: { r: "0x040000000000803F00000040", "an other": "0x01000000010001" } }
#-}
"""


def test_resources_are_constants() -> None:
    x, p = wg.parse(RESOURCES)()
    assert np.array_equal(x, np.array([1.0, 2.0], np.float32))
    assert np.array_equal(p, np.array([True, False, True]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("803F", "80", "holds 7 bytes"),
        ('"0x0400', '"04', "is not a string of hexadecimal digits"),
        ("builtin", "other", "should be of base attribute dense"),
        ("#-}", "", "the text ends here"),
        ("{ r:", "{ r", "expected ':'"),
    ],
)
def test_resources_with_mistakes(old: str, new: str, message: str) -> None:
    with pytest.raises(wg.DiagnosticError, match=message):
        wg.parse(RESOURCES.replace(old, new), "t.mlir")


def test_ops_that_vhlo_does_not_have_are_refused_by_name() -> None:
    with pytest.raises(wg.DiagnosticError, match=r"t\.mlir:1:1: error: .*'vhlo\.add_v7'"):
        wg.parse('"vhlo.add_v7"() : () -> ()', "t.mlir")
