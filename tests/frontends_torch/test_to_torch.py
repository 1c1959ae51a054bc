"""Programs as functions of PyTorch tensors: values, gradients of the first and second order, memory that is shared."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch_cases import exported

import wengert as wg

TEXT = """func.func public @main(%x: tensor<3xf64>, %n: tensor<3xi64>, %y: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xi64>, tensor<f64>) {
  %0 = stablehlo.sine %x : tensor<3xf64>
  %1 = stablehlo.multiply %0, %y : tensor<3xf64>
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [0] x [0] : (tensor<3xf64>, tensor<3xf64>) -> tensor<f64>
  return %1, %n, %2 : tensor<3xf64>, tensor<3xi64>, tensor<f64>
}
"""
KEPT = """func.func public @main(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %0 = stablehlo.exponential %x : tensor<3xf64>
  %1 = stablehlo.sine %0 : tensor<3xf64>
  %2 = stablehlo.sine %1 : tensor<3xf64>
  return %2, %0 : tensor<3xf64>, tensor<3xf64>
}
"""
COMPLEX = """func.func public @main(%z: tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>> {
  %0 = stablehlo.exponential %z : tensor<2xcomplex<f64>>
  %1 = stablehlo.multiply %0, %z : tensor<2xcomplex<f64>>
  return %1 : tensor<2xcomplex<f64>>
}
"""


def test_gradcheck() -> None:
    f = wg.parse(TEXT).to_torch()
    n = torch.tensor([1, 2, 3])
    x, y = (torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(lambda x, y: f(x, n, y)[::2], (x, y))
    assert torch.autograd.gradgradcheck(lambda x, y: f(x, n, y)[::2], (x, y))
    actual = f(x, n, y)
    assert torch.equal(actual[1], n)
    assert not actual[1].requires_grad
    torch.testing.assert_close(actual[0], x.sin() * y, rtol=1e-12, atol=0)


def test_only_what_is_asked_is_differentiated() -> None:
    f = wg.parse(TEXT).to_torch()
    x, n, y = torch.randn(3, dtype=torch.float64, requires_grad=True), torch.ones(3, dtype=torch.int64), torch.randn(3, dtype=torch.float64)
    (x_bar,) = torch.autograd.grad(f(x, n, y)[0].sum(), x)
    torch.testing.assert_close(x_bar, x.cos().detach() * y)
    assert not any(r.requires_grad for r in f(x.detach(), n, y))


def _tensors() -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    return torch.randn(3, dtype=torch.float64), torch.tensor([1, 2, 3]), torch.randn(3, dtype=torch.float64)


def _plain(x: Any, n: Any, y: Any) -> Any:
    return x.sin() * y, n, ((x.sin() * y) * x).sum()


TRANSFORMED = {
    "grad": lambda f: torch.func.grad(f, argnums=(0, 1)),
    "vmap": lambda f: lambda x, y: torch.func.vmap(f, in_dims=(1, None))(torch.stack([x, y, x * y], 1), y),
    "vmap of vmap of grad": lambda f: (
        lambda x, y: torch.func.vmap(torch.func.vmap(torch.func.grad(f), (None, 0)), (0, None))(torch.stack([x, y]), torch.stack([y, x, x]))
    ),
    "grad of grad": lambda f: torch.func.grad(lambda x, y: (torch.func.grad(f)(x, y) ** 2).sum()),
    "hessian": lambda f: torch.func.hessian(f),
    "reverse over forward": lambda f: torch.func.jacrev(torch.func.jacfwd(f), argnums=1),
    "jvp of vjp": lambda f: lambda x, y: torch.func.jvp(lambda x: torch.func.vjp(f, x, y)[1](torch.ones((), dtype=x.dtype))[1], (x,), (y,)),
}


OLD_JIT = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
"""PyTorch's own forward mode still uses it."""


@OLD_JIT
@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_of_functions(name: str) -> None:
    program = wg.parse(TEXT).to_torch()
    x, n, y = _tensors()
    actual, expected = (TRANSFORMED[name](lambda x, y, f=f: f(x, n, y)[2] + f(x, n, y)[0][1])(x, y) for f in (program, _plain))
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-12)


@OLD_JIT
def test_forward_mode() -> None:
    x, n, y = _tensors()
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        duals = [f(forward.make_dual(x, y), n, y)[2] for f in (wg.parse(TEXT).to_torch(), _plain)]
        torch.testing.assert_close(*(forward.unpack_dual(d).tangent for d in duals), rtol=1e-12, atol=0)


def test_batched_gradients_are_refused() -> None:
    x, n, y = _tensors()
    x.requires_grad_()
    with pytest.raises(wg.InputError, match=r"take torch\.func\.vmap"):
        torch.autograd.grad(wg.parse(TEXT).to_torch()(x, n, y)[0], x, torch.eye(3, dtype=x.dtype), is_grads_batched=True)


def test_complex_gradients_follow_pytorch() -> None:
    f = wg.parse(COMPLEX).to_torch()
    z = torch.randn(2, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: f(z)[0], (z,))
    assert torch.autograd.gradgradcheck(lambda z: f(z)[0], (z,))


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "i1"])
def test_dtypes(dtype: str) -> None:
    f = wg.parse(f"func.func @main(%x: tensor<4x{dtype}>) -> tensor<4x{dtype}> {{ return %x : tensor<4x{dtype}> }}").to_torch()
    x = torch.tensor([0.5, 1.0, -2.0, 0.0]).to({"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i1": torch.bool}[dtype])
    (y,) = f(x)
    assert y.dtype == x.dtype
    assert torch.equal(x, y)


def test_memory_is_shared() -> None:
    """Results are the arrays that the program made."""
    from wengert.frontends.torch_programs.arrays import to_array, to_tensor

    x = torch.randn(1000)
    assert to_array(x).__array_interface__["data"][0] == x.data_ptr()
    assert to_tensor(to_array(x)).data_ptr() == x.data_ptr()
    b = x.bfloat16()
    assert to_tensor(to_array(b)).data_ptr() == b.data_ptr()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((torch.ones(3),), "takes 3 arguments, found 1"),
        ((1.0, torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.float64)), "must be a tensor, found float"),
        ((torch.ones(3), torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.float64)), r"must be float64\[3\], found float32\[3\]"),
    ],
)
def test_wrong_inputs(inputs: Any, message: str) -> None:
    with pytest.raises(wg.InputError, match=message):
        wg.parse(TEXT).to_torch()(*inputs)


def test_there_and_back() -> None:
    """A model, as a program, as a function: the gradients that PyTorch gives without the detour."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
    x = torch.randn(5, 3, dtype=torch.float64)
    f = wg.from_torch(exported(model, x)).program.to_torch()
    parameters = list(model.parameters())
    actual = torch.autograd.grad(f(*parameters, x)[0].square().mean(), parameters)
    expected = torch.autograd.grad(model(x).square().mean(), parameters)
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)


def test_the_backward_pass_computes_nothing_again() -> None:
    """What the linear map needs is kept; arguments and results among it are not copied."""
    program = wg.parse(KEPT)
    linear = program.linearize(0, shared=True)
    assert sorted(linear.sources) == [("kept", 0), ("kept", 1), ("result", 1)]  # the cosines, and the exponential
    text = str(linear.transposed((0, 1)))
    assert "stablehlo.multiply" in text
    assert not any(op in text for op in ("exponential", "sine", "tanh"))
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    y, e = program.to_torch()(x)
    assert [t.data_ptr() for t in y.grad_fn.saved_tensors[:2]] == [x.data_ptr(), e.data_ptr()]
    (x_bar,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(x_bar, (x.exp().sin().cos() * x.exp().cos() * x.exp()).detach())
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y.sum(), x)
    with torch.no_grad():
        assert program.to_torch()(x)[0].grad_fn is None


def test_what_was_kept_may_not_change() -> None:
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    y, e = wg.parse(KEPT).to_torch()(x)
    e.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(y.sum(), x)


def test_a_result_that_is_not_used_takes_no_part() -> None:
    """The derivative of the second result is infinite at 0."""
    f = wg.parse("""func.func public @main(%x: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
      %0 = stablehlo.sine %x : tensor<f64>
      %1 = stablehlo.sqrt %x : tensor<f64>
      return %0, %1 : tensor<f64>, tensor<f64>
    }""").to_torch()
    x = torch.zeros((), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(f(x)[0], x)[0] == 1.0
    (x_bar,) = torch.autograd.grad(f(x)[0], x, create_graph=True)
    assert torch.autograd.grad(x_bar, x)[0] == 0.0


def test_an_uncounted_loop_is_run_again() -> None:
    """Its tape is no array, which autograd could keep."""
    f = wg.parse("""func.func public @main(%x: tensor<f64>) -> tensor<f64> {
      %c = stablehlo.constant dense<9.0> : tensor<f64>
      %0 = stablehlo.while(%a = %x) : tensor<f64>
       cond {
        %1 = stablehlo.compare LT, %a, %c : (tensor<f64>, tensor<f64>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %1 = stablehlo.multiply %a, %a : tensor<f64>
        stablehlo.return %1 : tensor<f64>
      }
      return %0 : tensor<f64>
    }""").to_torch()
    x = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: f(x)[0], (x,))
    assert torch.autograd.gradgradcheck(lambda x: f(x)[0], (x,))
