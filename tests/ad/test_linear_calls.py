"""``ad.linear_call`` and ``ad.not_differentiable`` in text."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.ir.diagnostics import DiagnosticError
from wengert.runtime.loading import parse
from wengert.runtime.program import Program

T = "tensor<2xf64>"
DIVISION = f"""
func.func public @main(%a: {T}, %b: {T}) -> {T} {{
  %0 = stablehlo.multiply %a, %a : {T}
  %1 = ad.linear_call @f(%0, %b) linear = 1, TRANSPOSE : ({T}, {T}) -> {T}
  return %1 : {T}
}}
func.func private @f(%a: {T}, %b: {T}) -> {T} {{
  %0 = stablehlo.divide %b, %a : {T}
  return %0 : {T}
}}
func.func private @f_t(%a: {T}, %b: {T}) -> {T} {{
  %0 = stablehlo.constant dense<7.0> : {T}
  %1 = stablehlo.multiply %b, %0 : {T}
  return %1 : {T}
}}
"""
A, B, ONE = np.array([1.0, 2.0]), np.array([3.0, 5.0]), np.ones(2)


def program(transpose: str) -> Program:
    return Program(parse(DIVISION.replace("TRANSPOSE", transpose), "linear.mlir").module)


def test_the_declared_transpose_is_called() -> None:
    """It is taken at its word: this one is wrong on purpose. Forward mode calls the function, and the transpose of the transpose is the function."""
    p = program("transpose = @f_t")
    for backend in ("interpreter", "cpu"):
        np.testing.assert_allclose(p.compile(backend)(A, B)[0], B / A**2)
        np.testing.assert_allclose(p.vjp(wrt=1).compile(backend)(A, B, ONE)[1], 7 * ONE)
        np.testing.assert_allclose(p.jvp(wrt=1).compile(backend)(A, B, ONE)[1], 1 / A**2)
    twice = p.vjp(wrt=1).vjp(wrt=2, of=1)
    np.testing.assert_allclose(twice(A, B, ONE, ONE)[-1], 1 / A**2)
    batched = p.vmap([0, 0], size=2).vjp(wrt=1)
    np.testing.assert_allclose(batched(np.stack([A, B]), np.stack([B, A]), np.ones((2, 2)))[1], 7 * np.ones((2, 2)))


def test_derivatives_by_other_arguments_are_those_of_the_function() -> None:
    p = program("transpose = @f_t")
    _, a_bar, b_bar = p.vjp()(A, B, ONE)
    np.testing.assert_allclose(a_bar, -2 * B / A**3)
    np.testing.assert_allclose(b_bar, 1 / A**2)


def test_calls_without_a_transpose() -> None:
    p = program('because = "nobody knows"')
    np.testing.assert_allclose(p.jvp(wrt=1)(A, B, ONE)[1], 1 / A**2)
    with pytest.raises(DiagnosticError, match=r"linear.mlir:4:\d+: error: ad.linear_call of @f has no transpose: nobody knows"):
        p.vjp(wrt=1).text()


def test_functions_of_other_types_are_refused() -> None:
    for text in ("transpose = @nothing", "transpose = @main_of_three"):
        with pytest.raises(DiagnosticError, match=text.removeprefix("transpose = @")):
            Program(parse(DIVISION.replace("TRANSPOSE", text) + f"func.func private @main_of_three(%a: {T}) -> {T}", "linear.mlir").module).compile(
                "interpreter"
            )


def test_operands_that_are_refused() -> None:
    text = f"""
func.func public @main(%a: {T}, %b: {T}) -> {T} {{
  %0 = call @g(%a, %b) : ({T}, {T}) -> {T}
  return %0 : {T}
}}
func.func private @g(%a: {T}, %b: {T}) -> {T} attributes {{ad.custom_jvp = @g_jvp, ad.not_differentiable = ["", "it is given"]}} {{
  %0 = stablehlo.multiply %a, %b : {T}
  return %0 : {T}
}}
func.func private @g_jvp(%a: {T}, %b: {T}, %a_dot: {T}, %b_dot: {T}) -> ({T}, {T}) {{
  %0 = stablehlo.multiply %a, %b : {T}
  %1 = stablehlo.multiply %a_dot, %b : {T}
  return %0, %1 : {T}, {T}
}}
"""
    p = Program(parse(text, "refused.mlir").module)
    np.testing.assert_allclose(p(A, B)[0], A * B)
    np.testing.assert_allclose(p.vjp(wrt=0)(A, B, ONE)[1], B)
    for derivative in (p.vjp, lambda: p.jvp(wrt=1), lambda: p.vjp(wrt=1, strategy="direct")):
        with pytest.raises(DiagnosticError, match=r"refused.mlir:3:\d+: error: func.call of @g is not differentiable by operand #1: it is given"):
            derivative().text()
