"""Tracing: what is traced again and why, weak numbers, captured and leaked values, lines, and errors at the user's line."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

X = np.arange(3.0)


def _branches(x: Any) -> Any:
    if x > 0:
        return x
    return -x


def _writes(x: Any) -> Any:
    x[0] = 1.0
    return x


ERRORS = {
    "branch": (_branches, (1.0,), TypeError, r"a condition .* needs the elements", r"wg\.cond"),
    "shape": (lambda n: wnp.zeros(n), (3,), TypeError, "a shape needs Python integers", "static_argnums"),
    "list index": (lambda i: [1, 2, 3][i], (1,), TypeError, "an index of a Python list", r"wengert\.numpy\.take"),
    "float": (float, (1.0,), TypeError, r"float\(\) needs", "astype"),
    "numpy": (np.asarray, (X,), TypeError, "a function of NumPy", r"wengert\.numpy"),
    "unknown numpy": (np.median, (X,), TypeError, r"np\.median does not take traced values", ""),
    "shapes": (lambda x: x + np.ones(4), (X,), ValueError, r"the shapes \(3,\) and \(4,\) do not fit", "equal or 1"),
    "matmul": (lambda x: x @ np.ones((4, 2)), (X,), ValueError, r"\(3,\) and \(4, 2\) do not fit", ""),
    "mask": (lambda x: x[x > 0], (X,), TypeError, r"x\[mask\] depends on the elements", r"where\(mask"),
    "slice": (lambda x, n: x[:n], (X, 2), TypeError, "the bounds of a slice must be known", "static argument"),
    "out of range": (lambda x: x[5], (X,), IndexError, "index 5 is out of range for dimension 0 of extent 3", ""),
    "floor division of booleans": (lambda x: x // x, (X > 0,), TypeError, "floor_divide of two arrays of booleans", "astype"),
    "remainder of booleans": (lambda x: x % x, (X > 0,), TypeError, "remainder of two arrays of booleans", "astype"),
    "power of booleans": (lambda x: x**x, (X > 0,), TypeError, "power of two arrays of booleans", "astype"),
    "shift of booleans": (lambda x: x << x, (X > 0,), TypeError, "left_shift of two arrays of booleans", "astype"),
    "difference of booleans": (lambda x: x - x, (X > 0,), TypeError, "subtract of two arrays of booleans", r"\^ and ~"),
    "negative of booleans": (lambda x: -x, (X > 0,), TypeError, "booleans have no negative", "~"),
    "assignment": (_writes, (X,), TypeError, "cannot be changed in place", r"\.at\[index\]\.set"),
    "integer": (lambda x: wnp.astype(x, wnp.int8) + 300, (X,), ValueError, "300 does not fit int8", "astype"),
    "result": (lambda x: "text", (X,), TypeError, "returns 'text' of type str", ""),
    "axis": (lambda x: wnp.sum(x, axis=1), (X,), ValueError, "axis 1 is out of range", ""),
    "reshape": (lambda x: wnp.reshape(x, (2, 2)), (X,), ValueError, "has 3 elements and cannot have the shape", ""),
    "channels": (lambda x: wnp.special.convolution(x[None, :, None], wnp.ones((1, 2, 1))), (X,), ValueError, "do not go together in 1 groups", ""),
    "window": (lambda x: wnp.special.convolution(x[None, None], wnp.ones((1, 1, 4))), (X,), ValueError, r"the window \[4\] is larger", ""),
    "gradient of an array": (wg.grad(lambda x: x * x), (X,), TypeError, r"needs a scalar result, but f returns float64\[3\]", r"wg\.jacrev"),
    "gradient by an integer": (wg.grad(lambda x: x * x), (3,), TypeError, "cannot be differentiated by an argument of int64", "1.0 instead of 1"),
    "no argument": (wg.grad(lambda x: x, argnums=1), (1.0,), ValueError, "there is no argument 1", ""),
    "branches": (lambda x: wg.cond(x[0] > 0, lambda: x, lambda: x[:2]), (X,), TypeError, r"different types: f float64\[2\], f float64\[3\]", "agree"),
    "carry": (lambda x: wg.fori_loop(0, 3, lambda i, s: s[:2], x), (X,), TypeError, r"carries float64\[2\] where it began with float64\[3\]", "begin with"),
    "carry structure": (lambda x: wg.scan(lambda c, _: ((c, c), c), x, None, 2), (X,), TypeError, "the body of scan carries", "same structure"),
    "sizes": (wg.vmap(lambda x, y: x + y), (X, np.ones(4)), ValueError, "one number of batch elements: found 3 and 4", ""),
    "axes": (wg.vmap(lambda x, y: x + y, in_axes=(0,)), (X, X), ValueError, "in_axes has 1 entries for 2 arguments", ""),
    "rows": (lambda x: wg.scan(lambda c, r: (c, r), 0.0, (x, np.ones(4))), (X,), ValueError, "one number of rows, found 3 and 4", ""),
    "complex": (wg.grad(lambda x: x), (1j,), TypeError, "returns a complex number", "holomorphic"),
    "tangent": (lambda x: wg.jvp(wnp.sin, (x,), (wnp.ones(2),)), (X,), ValueError, r"of shape \(3,\) has the shape \(2,\)", ""),
    "hashing": (lambda x: {x: 1}, (X,), TypeError, "unhashable", None),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_to_write(name: str) -> None:
    function, arguments, kind, message, hint = ERRORS[name]
    with pytest.raises(kind, match=message) as caught:
        wg.jit(function)(*arguments)
    if hint is None:
        return
    assert isinstance(caught.value, wg.TracingError)
    assert re.search(hint, caught.value.diagnostic.hint)


def test_errors_are_at_the_users_line() -> None:
    with pytest.raises(wg.TracingError) as caught:
        wg.jit(_branches)(1.0)
    lines, first = inspect.getsourcelines(_branches)
    diagnostic = caught.value.diagnostic
    assert (diagnostic.file, diagnostic.line, diagnostic.source_line.strip()) == (__file__, first + 1, lines[1].strip())
    assert diagnostic.source_line[diagnostic.column - 1 :].startswith("x > 0")


def test_ops_carry_the_users_line() -> None:
    def f(x: Any) -> Any:
        y = wnp.sin(x)
        return wnp.var(y)

    line = inspect.getsourcelines(f)[1]
    text = wg.jit(f).program(X).text(locations=True)
    assert f'{__file__}":{line + 1}:' in text
    assert f'{__file__}":{line + 2}:' in text
    assert "numpy_namespace" not in text


def test_values_that_outlive_their_trace_are_refused() -> None:
    kept: list[Any] = []
    wg.jit(lambda x: kept.append(x) or x)(X)
    for use in (lambda: kept[0] + 1, lambda: wg.jit(lambda x: x + kept[0])(X), lambda: wg.jit(wnp.sin)(kept[0])):
        with pytest.raises(wg.TracingError, match="is used after the function, branch or loop that it belongs to"):
            use()


def test_values_of_another_branch_are_refused() -> None:
    kept: list[Any] = []
    with pytest.raises(wg.TracingError, match="is used after"):
        wg.jit(lambda x: wg.cond(x[0] > 0, lambda: kept[0], lambda: kept.append(x * 2) or x))(X)


def test_traced_again_when_types_change() -> None:
    f = wg.jit(lambda x, n, *, k=2, mode="a": x * n + k if mode == "a" else x, static_argnames="n")
    calls = [
        ((X, 2), {}), ((X, 2), {}), ((X, 3), {}), ((np.ones(4), 3), {}), ((np.ones(4, np.float32), 3), {}),
        ((X, 2), {"k": 1.5}), ((X, 2), {"k": 2.5}), ((X, 2), {"mode": "b"}), ((X, 2.0), {}), ((X[::-1], 2), {}),
    ]  # fmt: skip
    for args, kwargs in calls:
        f(*args, **kwargs)
    report = str(wg.explain_retrace(f))
    assert f.traces == 7
    expected = [
        "the first call",
        "static n was 2, is 3",
        "x was float64[3], is float64[4]",
        "x was float64[3], is float32[4]",
        "k is new",
        "mode is new",
        "static n was 2, is 2.0",
    ]
    for line, reason in zip(report.splitlines()[1:], expected, strict=True):
        assert reason in line
        assert f"{__file__}:" in line


def test_results_and_arguments_are_trees() -> None:
    f = wg.jit(lambda p, *, flag: {"y": (p["a"] * p["b"][0], None), "z": [flag + 1]})
    actual = f({"a": X, "b": (2.0, "ignored")}, flag=1)
    np.testing.assert_array_equal(actual["y"][0], 2 * X)
    assert actual["y"][1] is None
    assert actual["z"][0].dtype == np.int64
    assert f.program({"a": X, "b": (2.0, "ignored")}, flag=1).signature.arguments[1].name == "p['b'][0]"


@pytest.mark.parametrize(
    "result", [lambda x, y: x * y, lambda x, y: (x * y, y), lambda x, y: {"a": x, "b": [y]}, lambda x, y: (x,)], ids=["one", "pair", "tree", "1-tuple"]
)
def test_repeated_calls_take_any_arguments(result: Any) -> None:
    """The path straight to machine code hands everything else back."""
    f = wg.jit(result)
    import optree

    for x, y in [(X, X), (X, X), (X[:2], 2.0), (X, X), (X[::-1], X), (np.float32(1), X), ([1.0, 2.0][0], X), (X, X)]:
        for actual, wanted in zip(optree.tree_leaves(f(x, y)), optree.tree_leaves(result(np.asarray(x), y)), strict=True):
            np.testing.assert_array_equal(actual, wanted)
    np.testing.assert_array_equal(optree.tree_leaves(f(X, y=X))[0], optree.tree_leaves(result(X, X))[0])
    with pytest.raises(TypeError):
        f(X)


def test_python_numbers_are_weak() -> None:
    x32 = np.ones(3, np.float32)
    assert wg.jit(lambda x, a: x * a)(x32, 2.0).dtype == np.float32
    assert wg.jit(lambda x, a: x * (a + 1))(x32, 2).dtype == np.float32
    assert wg.jit(lambda x, a: x * wnp.sin(a))(x32, 2.0).dtype == np.float64  # an array, as without tracing
    assert wg.jit(lambda x, a: x * a)(x32, np.float64(2.0)).dtype == np.float64
    assert wg.jit(lambda x: wg.fori_loop(0, 3, lambda i, s: s + wnp.sum(x), 0.0))(x32).dtype == np.float32
    assert wg.jit(lambda x: x * 1.5 + 2)(np.ones(2, wnp.bfloat16)).dtype == wnp.bfloat16


def test_numpy_functions_take_traced_values() -> None:
    f = lambda x: np.sin(x) + np.sum(x) + np.linalg.norm(x) + np.concatenate([x, x])[: np.shape(x)[0]] + np.float64(2.0) * x + np.ones(3) ** x
    np.testing.assert_allclose(wg.jit(f)(X), f(X), rtol=1e-15)


def test_control_flow_outside_of_a_trace_is_pythons() -> None:
    assert wg.cond(True, lambda: 1, lambda: 2) == 1
    assert wg.switch(5, [lambda: "a", lambda: "b"]) == "b"
    assert wg.while_loop(lambda s: s < 10, lambda s: s * 2, 1) == 16
    assert wg.fori_loop(2, 5, lambda i, s: s + i, 0) == 9
    carry, rows = wg.scan(lambda c, x: (c + x, {"r": c}), 0.0, X, reverse=True)
    assert carry == 3.0
    np.testing.assert_array_equal(rows["r"], [3.0, 2.0, 0.0])
    traced = wg.jit(lambda xs: wg.scan(lambda c, x: (c + x, {"r": c}), 0.0, xs, reverse=True))(X)
    np.testing.assert_array_equal(traced[1]["r"], rows["r"])


def test_loops_with_traced_bounds() -> None:
    f = wg.jit(lambda a, b, x: wg.fori_loop(a, b, lambda i, s: s * 1.5 + i, x))
    for a, b in [(0, 4), (2, 3), (3, 1)]:
        assert f(a, b, 1.0) == wg.fori_loop(a, b, lambda i, s: s * 1.5 + i, 1.0)
    slope = wg.jit(wg.grad(lambda x, n: wg.fori_loop(0, n, lambda i, s: s * x, 1.0)))
    np.testing.assert_allclose(slope(1.5, 4), 4 * 1.5**3, rtol=1e-15)
    count = wg.grad(lambda x: wg.while_loop(lambda s: s < 50.0, lambda s: s * x, x))
    np.testing.assert_allclose(count(2.0), 6 * 2.0**5, rtol=1e-14)


def test_convolution_at_once() -> None:
    x, w = np.random.default_rng(0).standard_normal((2, 4, 6, 5)), np.random.default_rng(1).standard_normal((6, 2, 3, 2))
    f = lambda x, w: wnp.special.convolution(x, w, stride=(2, 1), padding=1, dilation=(1, 2), groups=2)
    np.testing.assert_allclose(f(x, w), wg.jit(f)(x, w), rtol=1e-12)


def test_arrays_are_updated_traced_or_not() -> None:
    index, y = np.array([2, 0, 2]), np.array([1.0, 2.0, 3.0])
    for name, wanted in {"set": None, "add": [2.0, 1.0, 6.0], "multiply": [0.0, 1.0, 6.0], "max": [2.0, 1.0, 3.0], "min": [0.0, 1.0, 1.0]}.items():
        f = lambda x, i, y, name=name: getattr(wnp.at(x)[i], name)(y)
        for actual in (f(X, index, y), wg.jit(f)(X, index, y), wg.jit(lambda y, f=f: f(X, index, y))(y)):
            if wanted is not None:
                np.testing.assert_array_equal(actual, wanted)
            else:
                assert (actual[0], actual[1], actual[2] in (1.0, 3.0)) == (2.0, 1.0, True)
    with pytest.raises(wg.TracingError, match=r"elements of shape \(2,\) cannot be updated with an array of shape \(3,\)"):
        wg.jit(lambda x, y: x.at[:2].set(y))(X, y)
    np.testing.assert_array_equal(wg.jit(lambda i: wnp.take(X, i))(2), 2.0)


def test_inspection() -> None:
    f = wg.grad(lambda x: wnp.sum(wnp.sin(x) * x))
    assert "ad.vjp @f" in f.ir(X, stage="traced")
    assert "core.reduce" in wg.jit(lambda x: wnp.sum(x)).ir(X, stage="core")
    text = f.ir(wg.ArraySpec((3,), "float64"))
    assert "ad." not in text
    assert "stablehlo.cosine" in text
    assert f.costs(X).primal.cost.flops > 0
    assert "wengert" not in wg.jit(wnp.sin).ir(X)
    np.testing.assert_allclose(wg.parse(text)(X)[0], f(X), rtol=1e-15)


def test_vjp_and_linearize_outside_of_traces() -> None:
    value, pullback = wg.vjp(lambda p, n: {"y": wnp.sin(p["x"]) * n, "k": n}, {"x": X}, 2)
    np.testing.assert_allclose(value["y"], 2 * np.sin(X))
    p_bar, n_bar = pullback({"y": np.ones(3), "k": None})
    np.testing.assert_allclose(p_bar["x"], 2 * np.cos(X))
    assert n_bar is None
    value, push, aux = wg.linearize(lambda x: (x**2, x.sum()), X, has_aux=True)
    np.testing.assert_allclose(push(np.ones(3)), 2 * X)
    assert aux == 3.0
    _, pull = wg.vjp(lambda x: wg.while_loop(lambda s: s < 50.0, lambda s: s * x, x), 2.0)  # on a tape
    np.testing.assert_allclose(pull(1.0)[0], 6 * 2.0**5)


def test_linear_maps_show_what_they_run() -> None:
    def f(p: Any, n: Any) -> Any:
        return {"y": wnp.sin(p["x"]) * n}

    value, pullback = wg.vjp(f, {"x": X}, 2)
    _, push = wg.linearize(f, {"x": X}, 2)
    forward, linear = pullback.program("forward"), pullback.program()
    for text in (pullback.ir(), pullback.ir(stage="core"), push.ir()):
        assert "sine" not in text
        assert 'jax.arg_info = "residual 0"' in text
    assert "jax.arg_info = \"cotangent of result[0]['y']\"" in pullback.ir()
    assert "jax.result_info = \"tangent of result[0]['y']\"" in push.ir()
    assert "stablehlo.cosine" in pullback.ir("forward")
    y, *residuals = forward(X, 2)
    np.testing.assert_array_equal(y, value["y"])
    for kept, residual in zip(residuals, pullback.residuals, strict=True):
        np.testing.assert_array_equal(kept, residual)
    np.testing.assert_array_equal(wg.parse(pullback.ir())(*residuals, X)[0], pullback({"y": X})[0]["x"])
    np.testing.assert_array_equal(push.program()(*push.residuals, X)[0], push({"x": X}, None)["y"])
    assert pullback.costs().primal.cost.flops < pullback.costs("forward").primal.cost.flops
    assert [p.name for p in linear.signature.results] == ["cotangent of p['x']"]
    with pytest.raises(wg.TracingError, match="ask for the IR of the traced function"):
        wg.jit(lambda x: wg.vjp(wnp.sin, x)[1].ir())(1.0)


@pytest.mark.parametrize("f", [lambda x: wnp.sin(x) ** 2, lambda x: wg.while_loop(lambda s: s < 50.0, lambda s: s * x, x)], ids=["residuals", "tape"])
def test_linear_maps_of_concrete_points_may_be_traced(f: Any) -> None:
    _, pull = wg.vjp(f, 2.0)
    _, push = wg.linearize(f, 2.0)
    slope = float(pull(1.0)[0])
    np.testing.assert_allclose(wg.vmap(pull)(X)[0], slope * X, rtol=1e-15)
    np.testing.assert_allclose(wg.jit(lambda v: push(v) + v)(1.5), slope * 1.5 + 1.5, rtol=1e-15)


def test_repeated_jvps_do_not_trace_again() -> None:
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return wnp.sin(x)

    for _ in range(3):
        wg.jvp(f, (X,), (X,))
        wg.vjp(f, X)[1](X)
    assert len(calls) <= 4


def test_custom_rules_refuse_what_they_cannot_see() -> None:
    def outer(y: Any) -> Any:
        f = wg.custom_jvp(lambda x: x * y)
        f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
        return f(1.0)

    with pytest.raises(wg.TracingError, match="uses a traced value from outside"):
        wg.jit(outer)(2.0)
    with pytest.raises(wg.TracingError, match="has no derivative yet"):
        wg.custom_vjp(lambda x: x)(1.0)


def test_methods_are_compiled_too() -> None:
    class Model:
        scale = 2.0

        @wg.jit
        def __call__(self, x: Any) -> Any:
            return x * self.scale

    np.testing.assert_array_equal(Model()(X), 2 * X)
