"""Products with Gauss-Newton and Fisher matrices: one JVP, a small product at the outputs, one VJP.

For a loss ``l(f(x))`` the Gauss-Newton matrix is ``J^T H J`` with J the Jacobian of f and H the Hessian of l at the outputs (N. N. Schraudolph, "Fast
Curvature Matrix-Vector Products for Second-Order Gradient Descent", Neural Computation 14, 2002); the Fisher matrix of a model is that with H the Fisher
matrix of the distribution whose parameters f gives (J. Martens, "New Insights and Perspectives on the Natural Gradient Method", JMLR 21, 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.frontends.pytrees import map_tree
from wengert.frontends.tracing.errors import value_error
from wengert.frontends.transforms.derivatives import Transform, hvp, jvp
from wengert.frontends.transforms.linear_maps import vjp
from wengert.numpy import exp, special
from wengert.numpy import sum as total

Function = Callable[..., Any]


def gauss_newton_product(function: Function, loss: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The product of the Gauss-Newton matrix of ``loss(function(*primals))`` and a direction: a tuple of trees like ``primals``.

    Args:
        function: takes and returns trees of real arrays.
        loss: a scalar function of what that returns.
        primals: the arguments, a tuple.
        tangents: the direction, a tuple of trees like the arguments.

    Raises:
        TracedTypeError, TracedValueError: as :func:`~wengert.jvp` and :func:`~wengert.grad`.
    """
    return _product(function, lambda y, y_dot: hvp(loss, (y,), (y_dot,)), primals, tangents)


def fisher_product(function: Function, primals: Sequence[Any], tangents: Sequence[Any], distribution: str = "categorical") -> Any:
    """The product of the Fisher information matrix of a model and a direction: a tuple of trees like ``primals``.

    Args:
        function: gives the parameters of independent distributions.
        primals: the arguments, a tuple.
        tangents: the direction, a tuple of trees like the arguments.
        distribution: ``"categorical"``, logits along the last dimension; ``"bernoulli"``, logits; ``"normal"``, means, of unit variance;
            ``"poisson"``, logarithms of rates.

    Raises:
        TracedValueError: there is no such distribution; as :func:`~wengert.jvp`.
    """
    at_outputs = _FISHER.get(distribution)
    if at_outputs is None:
        raise value_error(f"there is no Fisher matrix of {distribution!r}", f"there are: {', '.join(_FISHER)}")
    return _product(function, lambda y, y_dot: map_tree(at_outputs, y, y_dot), primals, tangents)


def _product(function: Function, at_outputs: Callable[[Any, Any], Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    def product(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        y, y_dot = jvp(function, primals, tangents)
        return vjp(function, *primals)[1](at_outputs(y, y_dot))

    return Transform(product)(tuple(primals), tuple(tangents))


def _categorical(y: Any, y_dot: Any) -> Any:
    # softmax: (diag(p) - p p^T) y_dot
    p = special.softmax(y, axis=-1)
    return p * (y_dot - total(p * y_dot, axis=-1, keepdims=True))


def _bernoulli(y: Any, y_dot: Any) -> Any:
    p = 1 / (1 + exp(-y))
    return p * (1 - p) * y_dot


_FISHER: dict[str, Callable[[Any, Any], Any]] = {
    "categorical": _categorical,
    "bernoulli": _bernoulli,
    "normal": lambda y, y_dot: y_dot,
    "poisson": lambda y, y_dot: exp(y) * y_dot,
}
"""The Fisher matrix of a distribution in these parameters, times a tangent of them."""
