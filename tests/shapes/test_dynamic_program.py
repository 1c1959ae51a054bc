"""Programs of open extents as values: what is called, compiled, derived, batched and analysed at several sizes, and what is refused."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.cli.main import main as cli
from wengert.runtime.dynamic_program import DerivedProgram, DynamicProgram
from wengert.runtime.errors import InputError

TEXT = """func.func public @main(%x: tensor<?x2xf64>, %w: tensor<2xf64>) -> (tensor<?xf64> {jax.result_info = "y"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<?x2xf64>, tensor<2xf64>) -> tensor<?xf64>
  %1 = stablehlo.tanh %0 : tensor<?xf64>
  return %1 : tensor<?xf64>
}
"""
W = np.array([0.5, -0.25])


@pytest.fixture
def program() -> wg.Program:
    return wg.parse(TEXT, "open.mlir")


def points(n: int) -> np.ndarray[Any, Any]:
    return np.cos(np.arange(2.0 * n)).reshape(n, 2)


def test_is_a_program(program: wg.Program) -> None:
    assert isinstance(program, wg.Program)
    assert isinstance(program, DynamicProgram)
    assert str(program).count("?") == str(wg.parse(TEXT)).count("?") > 0
    assert str(program.signature) == "(tensor<?x2xf64>, tensor<2xf64>) -> (y: tensor<?xf64>)"


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_runs_at_every_size(program: wg.Program, backend: str) -> None:
    compiled = program.compile(backend)
    for n in (0, 1, 4):
        np.testing.assert_allclose(compiled(points(n), W)[0], np.tanh(points(n) @ W), rtol=1e-14)
    assert compiled.stats is not None
    np.testing.assert_allclose(program([[1.0, 2.0]], [1, 1])[0], np.tanh([3.0]))


def test_a_specialisation_is_made_once(program: wg.Program) -> None:
    assert program.specialize((3, 2)) is program.specialize([3, 2], None) is program.specialized_for([points(3), W])
    assert program.specialize((3, 2)) is not program.specialize((4, 2))
    static = program.specialize((3, 2))
    assert static.specialize((3, 2), (2,)) is static
    with pytest.raises(InputError, match="cannot have the shape"):
        static.specialize((4, 2))


def test_derivatives_of_any_order(program: wg.Program) -> None:
    for n in (1, 3):
        x, y_bar = points(n), np.ones(n)
        static = program.specialize((n, 2))
        pairs = [
            (program.vjp(), static.vjp(), (x, W, y_bar)),
            (program.vjp(strategy="direct", wrt=1), static.vjp(wrt=1), (x, W, y_bar)),
            (program.jvp(wrt=0), static.jvp(wrt=0), (x, W, x)),
            (program.vjp().jvp(wrt=(0,)), static.vjp().jvp(wrt=(0,)), (x, W, y_bar, x)),
            (program.jvp(wrt=0).vjp(wrt=(0, 1)), static.jvp(wrt=0).vjp(wrt=(0, 1)), (x, W, x, y_bar, y_bar)),
            (program.jacfwd(wrt=1), static.jacfwd(wrt=1), (x, W)),
            (program.jacrev(), static.jacrev(), (x, W)),
            (program.hessian(wrt=1), static.hessian(wrt=1), (x, W)),
            (program.compressed_jacobian(wrt=0), static.compressed_jacobian(wrt=0), (x, W)),
        ]
        for ours, theirs, inputs in pairs:
            assert isinstance(ours, DerivedProgram)
            actual, expected = ours.compile("interpreter")(*inputs), theirs.compile("interpreter")(*inputs)
            assert len(ours.signature.results) == len(expected)
            assert [p.name for p in ours.signature.results] == [p.name for p in theirs.signature.results]
            assert [p.name for p in ours.signature.arguments] == [p.name for p in theirs.signature.arguments]
            for a, b in zip(actual, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)


def test_batches(program: wg.Program) -> None:
    for n, size in ((2, 3), (4, 1)):
        xs = np.stack([points(n) * (i + 1) for i in range(size)])
        expected = np.tanh(xs @ W)
        np.testing.assert_allclose(program.vmap((0, None))(xs, W)[0], expected)
        np.testing.assert_allclose(program.vmap((1, None), 1)(xs.swapaxes(0, 1), W)[0], expected.T)
        np.testing.assert_allclose(program.vmap((0, None), size=size)(xs, W)[0], expected)
        np.testing.assert_allclose(program.vmap((None, 0))(xs[0], np.stack([W] * size))[0], np.stack([expected[0]] * size))
        bars = np.ones((size, n))
        by_hand = np.stack([program.vjp()(x, W, b)[1] for x, b in zip(xs, bars, strict=True)])
        np.testing.assert_allclose(program.vjp().vmap((0, None, 0))(xs, W, bars)[1], by_hand)
        np.testing.assert_allclose(program.vmap((0, None)).vjp()(xs, W, bars)[1], by_hand)
        only_bars = program.vjp().vmap((None, None, 0))(xs[0], W, bars)
        np.testing.assert_allclose(only_bars[1], np.stack([by_hand[0]] * size))
    with pytest.raises(InputError, match="one number of batch elements: 2 by argument 0, 3 by argument 1"):
        program.vmap()(np.zeros((2, 1, 2)), np.zeros((3, 2)))


def test_text_comes_with_the_shapes(program: wg.Program, tmp_path: Path) -> None:
    derived = program.vjp()
    with pytest.raises(InputError, match=r"vjp of open.mlir leaves extents open \(argument 0: tensor<\?x2xf64>\): .* specialize\(\(3, 2\)\), or --shapes 3x2"):
        str(derived)
    with pytest.raises(InputError, match="leaves extents open"):
        derived.save(tmp_path / "d.mlir")
    assert "tensor<5x2xf64>" in str(derived.specialize((5, 2)))
    assert derived.specialize((5, 2)).signature == derived.specialize((5, 2), None, (5,)).signature
    with pytest.raises(InputError, match=r"argument 2 \(cotangent of y\).* cannot have the shape \(6,\)"):
        derived.specialize((5, 2), None, (6,))
    assert "vjp of open.mlir" in repr(derived)
    assert "?" in derived._repr_html_()


def test_linear_maps_need_shapes(program: wg.Program) -> None:
    with pytest.raises(InputError, match="leaves extents open"):
        program.linearize()
    linear = program.specialize((3, 2)).linearize(wrt=1)
    _, residuals = linear.run([points(3), W])
    (w_bar,) = linear.pull(residuals, [np.ones(3)])
    np.testing.assert_allclose(w_bar, program.vjp(wrt=1)(points(3), W, np.ones(3))[1])


def test_costs_and_checks(program: wg.Program) -> None:
    small, large = (program.costs(shapes=[(n, 2)]).primal.cost.flops for n in (2, 20))
    assert 0 < 5 * small < large
    assert program.costs(inputs=[points(2), W]).primal.cost.flops == small
    assert program.check(points(3), W)
    assert program.check(shapes=[(3, 2)])
    for analyse in (program.costs, program.check):
        with pytest.raises(InputError, match="the shape of argument 0: tensor<\\?x2xf64> is not given"):
            analyse()
    assert "?" in program.draw().dot


def test_copies(program: wg.Program) -> None:
    assert copy.deepcopy(program) is program
    for original in (program, program.vjp(), program.vmap((0, None)).jvp(wrt=0)):
        again = pickle.loads(pickle.dumps(original))
        assert again.signature == original.signature
    x = points(3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(program.vjp()))(x, W, np.ones(3))[1], program.vjp()(x, W, np.ones(3))[1])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((), "expected 2 inputs, found 0"),
        ((np.zeros((2, 3)), W), r"argument 0 must be float64\[\?, 2\], found float64\[2, 3\]"),
        ((np.zeros(2), W), r"argument 0 must be float64\[\?, 2\], found float64\[2\]"),
        ((np.zeros((2, 2), np.float32), W), r"argument 0 must be float64\[2, 2\], found float32"),
        (([[1.0], [1.0, 2.0]], W), "rows of the list have different lengths"),
        (("x", W), "argument 0 must be float64"),
        ((points(2), np.zeros(3)), r"argument 1 must be float64\[2\], found float64\[3\]"),
    ],
)
def test_inputs_that_do_not_fit(program: wg.Program, inputs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        program(*inputs)
    with pytest.raises(InputError, match=message):
        program.compile("interpreter")(*inputs)


@pytest.mark.parametrize("shapes", [((3,),), ((3, 2), (2,), (1,)), ("3x2",), ((-1, 2),), ((True, 2),), ((2**64, 2),), ()])
def test_shapes_that_do_not_fit(program: wg.Program, shapes: Any) -> None:
    with pytest.raises(InputError):
        program.specialize(*shapes)


def test_positions_and_options_are_checked_before_shapes(program: wg.Program) -> None:
    with pytest.raises(InputError, match="there is no argument 2"):
        program.vjp(wrt=2)
    with pytest.raises(InputError, match="there is no backend 'gpu'"):
        program.compile("gpu")
    with pytest.raises(InputError, match="in_axes has 3 entries"):
        program.vmap((0, 0, 0))


def test_open_inside_only() -> None:
    """Arguments that leave nothing open: there is one static program, and its derivatives have texts."""
    program = wg.parse("""func.func public @main(%x: tensor<4xf64>) -> tensor<?xf64> {
  %s = stablehlo.constant dense<2> : tensor<2xi32>
  %0 = stablehlo.dynamic_reshape %x, %s : (tensor<4xf64>, tensor<2xi32>) -> tensor<?x?xf64>
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<?x?xf64>, tensor<f64>) -> tensor<?xf64>
  return %1 : tensor<?xf64>
}""")
    assert "?" in str(program)
    assert "tensor<2xf64>" in str(program.vjp())
    np.testing.assert_array_equal(program([1.0, 2.0, 3.0, 4.0])[0], [4.0, 6.0])
    assert program.costs().primal.cost.flops > 0
    assert program.linearize().run([np.ones(4)])[0][0].shape == (2,)


def test_an_unmet_assertion_on_elements_is_left_to_those_who_run_it() -> None:
    program = wg.parse("""func.func public @main(%x: tensor<?xf64>, %p: tensor<i1>) -> tensor<?xf64> {
  stablehlo.custom_call @shape_assertion(%p) {error_message = "not so", has_side_effect = true} : (tensor<i1>) -> ()
  return %x : tensor<?xf64>
}""")
    assert program([1.0], True)[0].shape == (1,)
    with pytest.raises(Exception, match="not so"):
        program([1.0], False)


def test_other_frameworks(program: wg.Program) -> None:
    torch = pytest.importorskip("torch")
    function = program.to_torch()
    for n in (2, 3):
        x = torch.tensor(points(n), requires_grad=True)
        (y,) = function(x, torch.tensor(W))
        y.sum().backward()
        np.testing.assert_allclose(x.grad, program.vjp(wrt=0)(points(n), W, np.ones(n))[1])


def test_as_a_jax_function(program: wg.Program) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    function = program.to_jax()
    for n in (2, 3):
        actual = jax.grad(lambda x: function(x, jax.numpy.asarray(W))[0].sum())(points(n))
        np.testing.assert_allclose(actual, program.vjp(wrt=0)(points(n), W, np.ones(n))[1])


class TestTheCommandLine:
    @pytest.fixture
    def file(self, tmp_path: Path) -> str:
        path = tmp_path / "open.mlir"
        path.write_text(TEXT)
        np.savez(tmp_path / "in.npz", in_0=points(3), in_1=W)
        return str(path)

    @pytest.mark.parametrize("command", ["run", "check", "costs"])
    def test_with_inputs(self, file: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli([command, file, "--inputs", file.replace("open.mlir", "in.npz")]) == 0
        assert capsys.readouterr().out

    @pytest.mark.parametrize("command", ["run", "check", "costs", "jvp", "vjp", "draw"])
    def test_with_shapes(self, file: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli([command, file, "--shapes", "3x2,keep"]) == 0
        assert "?" not in capsys.readouterr().out.replace(file, "")

    @pytest.mark.parametrize("command", ["run", "check", "costs", "jvp", "vjp"])
    def test_without_either(self, file: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli([command, file]) == 1
        assert "--shapes 3x2" in capsys.readouterr().err

    @pytest.mark.parametrize("shapes", ["3x", "a", "3x2,2,1", "3x3"])
    def test_with_wrong_shapes(self, file: str, shapes: str) -> None:
        assert cli(["run", file, "--shapes", shapes]) in (1, 2)

    def test_a_program_that_cannot_be_refined(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "data.mlir"
        path.write_text("""func.func public @main(%s: tensor<1xi32>) -> tensor<?xf64> {
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}""")
        assert cli(["run", str(path)]) == 1
        assert "data.mlir:2:3: error: stablehlo.dynamic_iota: output_shape is computed" in capsys.readouterr().err
        with pytest.raises(DiagnosticError):
            wg.load(path).costs()


def test_threads_share_the_specialisations(program: wg.Program) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(i: int) -> tuple[Any, float]:
        n = 1 + i % 3
        return program.specialize((n, 2)), float(program.vjp().compile("interpreter")(points(n), W, np.ones(n))[1].sum())

    with ThreadPoolExecutor(6) as pool:
        specialised = list(pool.map(work, range(24)))
    assert len({id(static) for static, _ in specialised}) == 3
    assert len({total for _, total in specialised}) == 3
