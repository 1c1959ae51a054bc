"""Programs with tuples and tokens anywhere: they run, differentiate and batch with tuples flattened and tokens gone.

The interpreter runs them as they are written, with tuples as values; compiled code and derivatives come from the flattened program, so that each run
compares the two.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.frontends.transforms.program_calls import apply_program
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.traversal import all_ops
from wengert.ir.verification.verifier import verify

T, PAIR, NESTED = "!stablehlo.token", "tuple<tensor<2xf64>, tensor<i32>>", "tuple<tensor<2xf64>, tuple<!stablehlo.token, tensor<2xf64>>, tensor<i32>>"
X = np.array([0.3, -0.7])

ARGUMENT = f"""
func.func public @main(%t: {NESTED}, %k: {T}, %y: tensor<2xf64>) -> tensor<2xf64> {{
  %0 = stablehlo.get_tuple_element %t[0] : ({NESTED}) -> tensor<2xf64>
  %1 = stablehlo.get_tuple_element %t[1] : ({NESTED}) -> tuple<{T}, tensor<2xf64>>
  %2 = stablehlo.get_tuple_element %1[1] : (tuple<{T}, tensor<2xf64>>) -> tensor<2xf64>
  %3 = stablehlo.get_tuple_element %1[0] : (tuple<{T}, tensor<2xf64>>) -> {T}
  %4 = stablehlo.after_all %3, %k : {T}
  %5 = stablehlo.multiply %0, %2 : tensor<2xf64>
  %6 = stablehlo.sine %5 : tensor<2xf64>
  %7 = stablehlo.add %6, %y : tensor<2xf64>
  return %7 : tensor<2xf64>
}}
"""

RESULT = f"""
func.func public @main(%x: tensor<2xf64>, %i: tensor<i32>) -> ({NESTED}, {T}, tensor<2xf64>) {{
  %0 = stablehlo.create_token : {T}
  %1 = stablehlo.sine %x : tensor<2xf64>
  %2 = stablehlo.tuple %0, %1 : tuple<{T}, tensor<2xf64>>
  %3 = stablehlo.tuple %x, %2, %i : {NESTED}
  %4 = stablehlo.cosine %x : tensor<2xf64>
  return %3, %0, %4 : {NESTED}, {T}, tensor<2xf64>
}}
"""

LOOP = f"""
func.func public @main(%x: tensor<2xf64>) -> tensor<2xf64> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %start = stablehlo.create_token : {T}
  %begin = stablehlo.tuple %x, %zero : {PAIR}
  %r:2 = "stablehlo.while"(%begin, %start) ({{
  ^bb0(%t: {PAIR}, %k: {T}):
    %i = stablehlo.get_tuple_element %t[1] : ({PAIR}) -> tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }}, {{
  ^bb0(%t: {PAIR}, %k: {T}):
    %v = stablehlo.get_tuple_element %t[0] : ({PAIR}) -> tensor<2xf64>
    %i = stablehlo.get_tuple_element %t[1] : ({PAIR}) -> tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %w = stablehlo.sine %v : tensor<2xf64>
    %next = stablehlo.tuple %w, %j : {PAIR}
    %later = stablehlo.after_all %k : {T}
    stablehlo.return %next, %later : {PAIR}, {T}
  }}) : ({PAIR}, {T}) -> ({PAIR}, {T})
  %y = stablehlo.get_tuple_element %r#0[0] : ({PAIR}) -> tensor<2xf64>
  return %y : tensor<2xf64>
}}
"""

BRANCHES = f"""
func.func public @main(%b: tensor<i1>, %t: {PAIR}) -> (tensor<2xf64>, tensor<i32>) {{
  %r:2 = "stablehlo.if"(%b) ({{
    %k = stablehlo.create_token : {T}
    stablehlo.return %t, %k : {PAIR}, {T}
  }}, {{
    %x = stablehlo.get_tuple_element %t[0] : ({PAIR}) -> tensor<2xf64>
    %i = stablehlo.get_tuple_element %t[1] : ({PAIR}) -> tensor<i32>
    %y = stablehlo.multiply %x, %x : tensor<2xf64>
    %u = stablehlo.tuple %y, %i : {PAIR}
    %k = stablehlo.create_token : {T}
    stablehlo.return %u, %k : {PAIR}, {T}
  }}) : (tensor<i1>) -> ({PAIR}, {T})
  %z = stablehlo.get_tuple_element %r#0[0] : ({PAIR}) -> tensor<2xf64>
  %n = stablehlo.get_tuple_element %r#0[1] : ({PAIR}) -> tensor<i32>
  return %z, %n : tensor<2xf64>, tensor<i32>
}}
"""

CALLS = f"""
func.func public @main(%t: {PAIR}) -> {PAIR} {{
  %k = stablehlo.create_token : {T}
  %0:2 = call @g(%t, %k) : ({PAIR}, {T}) -> ({T}, {PAIR})
  %1:2 = call @g(%0#1, %0#0) : ({PAIR}, {T}) -> ({T}, {PAIR})
  return %1#1 : {PAIR}
}}
func.func private @g(%t: {PAIR}, %k: {T}) -> ({T}, {PAIR}) {{
  %x = stablehlo.get_tuple_element %t[0] : ({PAIR}) -> tensor<2xf64>
  %i = stablehlo.get_tuple_element %t[1] : ({PAIR}) -> tensor<i32>
  %y, %l = stablehlo.optimization_barrier %x, %k : tensor<2xf64>, {T}
  %z = stablehlo.exponential %y : tensor<2xf64>
  %u = stablehlo.tuple %z, %i : {PAIR}
  return %l, %u : {T}, {PAIR}
}}
"""

CUSTOM_CALL = f"""
func.func public @main(%x: tensor<2xf64>, %k: {T}) -> tensor<2xf64> {{
  %0 = stablehlo.custom_call @Sharding(%x) : (tensor<2xf64>) -> tensor<2xf64>
  %1 = stablehlo.sine %0 : tensor<2xf64>
  return %1 : tensor<2xf64>
}}
"""

FOUR = np.int32(4)
PROGRAMS: dict[str, tuple[str, list[object], int]] = {
    "argument": (ARGUMENT, [X, X + 1, FOUR, X], 1),
    "result": (RESULT, [X, FOUR], 4),
    "loop": (LOOP, [X], 1),
    "branches": (BRANCHES, [np.True_, X, FOUR], 2),
    "other branch": (BRANCHES, [np.False_, X, FOUR], 2),
    "calls": (CALLS, [X, FOUR], 2),
    "custom call": (CUSTOM_CALL, [X], 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_backends_agree(name: str) -> None:
    text, inputs, count = PROGRAMS[name]
    p = wg.parse(text)
    actual, expected = p(*inputs), p.compile("interpreter")(*inputs)
    assert len(actual) == len(expected) == count
    for a, b in zip(actual, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_right(name: str) -> None:
    text, inputs, _ = PROGRAMS[name]
    report = wg.parse(text).check(*inputs)
    assert report.ok, str(report)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_batch_is_its_elements(name: str) -> None:
    text, inputs, _ = PROGRAMS[name]
    p = wg.parse(text)
    rows = [inputs, [x * 2 if np.asarray(x).dtype.kind == "f" else x for x in inputs]]
    batched = p.vmap(size=2)(*[np.stack(column) for column in zip(*rows, strict=True)])
    for i, row in enumerate(rows):
        for a, b in zip(batched, p(*row), strict=True):
            np.testing.assert_allclose(a[i], b, rtol=1e-14)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_nested_is_left(name: str) -> None:
    module = wg.parse(PROGRAMS[name][0]).core_module
    verify(module)
    assert not [op.name for op in all_ops(module) for v in (*op.operands, *op.results) if not str(v.type).startswith("tensor")]


def test_text_stays_as_it_was_written() -> None:
    p = wg.parse(ARGUMENT)
    assert f"%t: {NESTED}" in str(p) or f"%arg0: {NESTED}" in str(p)
    assert "tuple" not in str(p.vjp())
    assert str(wg.parse(str(p))) == str(p)


def test_signature_and_names_are_those_of_the_tensors() -> None:
    text = ARGUMENT.replace(f"%t: {NESTED}", f'%t: {NESTED} {{wengert.name = "state", tf.aliasing_output = 0 : i32}}')
    p = wg.parse(text.replace("%y: tensor<2xf64>", '%y: tensor<2xf64> {wengert.name = "y"}'))
    assert [(a.name, str(a.type)) for a in p.signature.arguments] == [
        ("state[0]", "tensor<2xf64>"),
        ("state[1][1]", "tensor<2xf64>"),
        ("state[2]", "tensor<i32>"),
        ("y", "tensor<2xf64>"),
    ]
    with pytest.raises(wg.InputError, match=r"expected 4 inputs, found 3: argument 3 \(y\)"):
        p(X, X, FOUR)
    x_bar = p.vjp(wrt=1)(X, X + 1, FOUR, X, np.ones(2))[1]
    np.testing.assert_allclose(x_bar, np.cos(X * (X + 1)) * X)


def test_a_custom_rule_of_a_function_of_tuples() -> None:
    """Functions with rules of their own are not inlined: their calls are flattened too."""
    text = CALLS.replace("func.func private @g", "func.func private @g").replace(
        f"@g(%t: {PAIR}, %k: {T}) -> ({T}, {PAIR}) {{", f"@g(%t: {PAIR}, %k: {T}) -> ({T}, {PAIR}) attributes {{ad.custom_jvp = @rule}} {{"
    )
    text += """
func.func private @rule(%x: tensor<2xf64>, %i: tensor<i32>, %x_dot: tensor<2xf64>) -> (tensor<2xf64>, tensor<i32>, tensor<2xf64>) {
  %y = stablehlo.exponential %x : tensor<2xf64>
  %three = stablehlo.constant dense<3.0> : tensor<2xf64>
  %y_dot = stablehlo.multiply %three, %x_dot : tensor<2xf64>
  return %y, %i, %y_dot : tensor<2xf64>, tensor<i32>, tensor<2xf64>
}
"""
    actual = wg.parse(text).jvp()(X, FOUR, np.ones(2))
    np.testing.assert_allclose(actual[0], np.exp(np.exp(X)))
    np.testing.assert_allclose(actual[2], [9.0, 9.0])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"stablehlo.outfeed"(%x, %k) : (tensor<2xf64>, !stablehlo.token) -> !stablehlo.token', "writes for the host to read"),
        (
            '"stablehlo.send"(%x, %k) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf64>, !stablehlo.token) -> !stablehlo.token',
            "a program here has no channels",
        ),
    ],
)
def test_what_reaches_out_is_refused_with_its_place(line: str, message: str) -> None:
    p = wg.parse(f"func.func public @main(%x: tensor<2xf64>, %k: {T}) -> tensor<2xf64> {{\n  %0 = {line}\n  return %x : tensor<2xf64>\n}}\n", "sends.mlir")
    name = line.split('"')[1]
    for run in (lambda: p(X), p.jvp, p.vjp, lambda: p.vmap(size=2)):
        with pytest.raises(DiagnosticError, match=rf"sends\.mlir:2:3: error: {name} .*{message}"):
            run()
    with pytest.raises(wg.ExecutionError, match=rf"sends\.mlir:2:3.*'{name}' .*{message}"):
        p.compile("interpreter")(X)
    assert name in str(p)


def test_drawn_as_it_is_written() -> None:
    assert "get_tuple_element" in wg.parse(ARGUMENT).draw().dot


@pytest.mark.parametrize("name", ["argument", "calls"])
def test_called_from_traced_python(name: str) -> None:
    text, inputs, count = PROGRAMS[name]
    p = wg.parse(text)
    actual = wg.jit(lambda *xs: apply_program(p, xs))(*inputs)
    assert len(actual) == count
    np.testing.assert_allclose(actual[0], p(*inputs)[0], rtol=1e-14)
