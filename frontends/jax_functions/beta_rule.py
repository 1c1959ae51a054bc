"""The derivative of the incomplete beta function ``betainc(a, b, x)``: JAX's rule in x, and that of JAX's loop in a and b, for which JAX has none.

The derivatives in a and b are computed by themselves, forward along the loop, and then multiplied by tangents: where these are absent, so are they.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

NAME = "regularized_incomplete_beta"
"""JAX's primitive."""


def beta_rule(eqn: Any) -> Any:
    """The rule of this equation as a closed jaxpr: (a, b, x, a_dot, b_dot, x_dot) -> (y, y_dot)."""
    jax: Any = import_module("jax")

    def rule(a: Any, b: Any, x: Any, a_dot: Any, b_dot: Any, x_dot: Any) -> list[Any]:
        def in_x(x: Any) -> Any:
            return eqn.primitive.bind(a, b, x, **eqn.params)

        y, along_x = jax.jvp(in_x, (x,), (x_dot,))
        in_a, in_b = _partials(a, b, x)
        return [y, along_x + in_a * a_dot + in_b * b_dot]

    specs = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type) for v in eqn.invars]
    return jax.make_jaxpr(rule)(*specs, *specs)


def _partials(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """The derivatives in a and in b, element by element; those of numbers of 16 bits are computed in 32, as the function is.

    At both ends the function is 0 and 1 for all a and b, while the loop's derivative is a product of zero and infinity.
    """
    jax: Any = import_module("jax")
    evaluate = import_module("jax._src.lax.special").regularized_incomplete_beta_impl
    dtype = x.dtype if x.dtype.itemsize > 2 else jax.numpy.dtype("float32")
    wide = jax.numpy.broadcast_arrays(*(v.astype(dtype) for v in (a, b, x)))  # JAX keeps literals scalar beside arrays
    one, zero = jax.numpy.ones_like(wide[0]), jax.numpy.zeros_like(wide[0])

    def of_parameters(a: Any, b: Any) -> Any:
        return evaluate(a, b, wide[2], dtype=dtype)

    partials = [jax.jvp(of_parameters, tuple(wide[:2]), dots)[1] for dots in ((one, zero), (zero, one))]
    inside = (wide[2] != 0) & (wide[2] != 1)
    in_a, in_b = (jax.numpy.where(inside, partial, zero).astype(x.dtype) for partial in partials)
    return in_a, in_b
