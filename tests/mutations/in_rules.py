"""Mistakes in derivatives: rules, transposes of linear ops, adjoints of the direct strategy, and how cotangents are put together."""

from __future__ import annotations

from mutations.mutation import Mutation
from mutations.programs import ELEMENTWISE, INDEXING, LOOP, MOVEMENTS, PERMUTED, PRODUCTS

_RULES = "wengert.transforms.ad.rules."
_ADJOINTS = "wengert.transforms.ad.direct.adjoints."
HLO = "stablehlo."


def _rule(name: str, function: str, old: str, new: str, op: str, program: str = ELEMENTWISE) -> Mutation:
    """A wrong rule."""
    return Mutation(name, _RULES + function, old, new, program, "vjp", ("rule", op), "vjp")


def _transpose(name: str, function: str, old: str, new: str, op: str, program: str) -> Mutation:
    """A wrong transpose of a linear op."""
    return Mutation(name, _RULES + function, old, new, program, "vjp", ("transpose", op), "vjp")


def _adjoint(name: str, function: str, old: str, new: str, op: str, program: str) -> Mutation:
    """A wrong adjoint of the direct strategy."""
    return Mutation(name, _ADJOINTS + function, old, new, program, "vjp", ("adjoint", op), "vjp", "direct")


MUTATIONS = (
    _rule("tanh: wrong sign", "elementwise:tanh", "b.subtract(b.full_like(y, 1)", "b.add(b.full_like(y, 1)", HLO + "tanh"),
    _rule("sqrt: wrong coefficient", "elementwise:sqrt", "0.5", "2", HLO + "sqrt"),
    _rule("cosine: missing sign", "elementwise:cosine", "b.negate(b.sine(x))", "b.sine(x)", HLO + "cosine"),
    _rule("multiply: wrong factor", "elementwise:multiply", "scale(x2), scale(x1)", "scale(x1), scale(x1)", HLO + "multiply"),
    _rule("power: missing term", "elementwise:power", "scale(base), scale(exponent)", "scale(base), None", HLO + "power"),
    _rule("logistic: wrong factor", "elementwise:logistic", "b.subtract(b.full_like(y, 1), y)", "y", "stablehlo.logistic"),
    _rule("maximum: wrong winner", "elementwise:extremum", '"GT" if', '"LT" if', HLO + "maximum"),
    _rule("atan2: operands exchanged", "elementwise:atan2", "b.divide(x2, square_radius())", "b.divide(x1, square_radius())", HLO + "atan2"),
    _rule(
        "largest element: not divided among ties",
        "reduction:reduce",
        "lb.divide(lb.reduce_sum(chosen(lb, x_dot), dims), count)",
        "lb.reduce_sum(x_dot, dims)",
        "core.reduce",
        PRODUCTS,
    ),
    _transpose("transpose: not inverted", "shape:transpose_", "permutation.index(d)", "permutation[d]", HLO + "transpose", PERMUTED),
    _transpose("slice: strides forgotten", "shape:slice_", "covered = [max(n - 1, 0) * s + min(n, 1)", "covered = [n + 0 * s", HLO + "slice", MOVEMENTS),
    _transpose("concatenate: wrong start", "shape:concatenate", "start += extent", "start += 0", HLO + "concatenate", MOVEMENTS),
    _transpose("reverse: forgotten", "shape:reverse", "b.reverse(y_bars[0], ints(op.dimensions))", "y_bars[0]", HLO + "reverse", MOVEMENTS),
    _transpose(
        "update: the overwritten part kept",
        "indexing:dynamic_update_slice",
        "b.dynamic_update_slice(y_bar, b.zeros(type_of(op.update)), starts) if linear[0]",
        "y_bar if linear[0]",
        HLO + "dynamic_update_slice",
        MOVEMENTS,
    ),
    _transpose(
        "contraction: contracted dimensions in the order of the wrong side",
        "contraction:_dot_transpose",
        "return b.transpose(product, [at.index(d) for d in range(len(at))])",
        "return b.reverse(b.transpose(product, [at.index(d) for d in range(len(at))]), [0]) if side else b.transpose(product, [at.index(d) for d in range(len(at))])",
        HLO + "dot_general",
        PRODUCTS,
    ),
    _transpose(
        "convolution: kernel not reversed",
        "contraction:_input_cotangent",
        "tuple(not r for r in window.reversal)",
        "window.reversal",
        HLO + "convolution",
        PRODUCTS,
    ),
    _transpose(
        "gather: cotangents doubled", "indexing:gather", "y_bars[0], numbers, sorted", "b.add(y_bars[0], y_bars[0]), numbers, sorted", HLO + "gather", INDEXING
    ),
    _adjoint("direct sine: wrong function", "elementwise:sine", "b.cosine(x)", "b.sine(x)", HLO + "sine", LOOP),
    _adjoint("direct sum: wrong dimensions", "reduction:broadcast_reduced", "if d not in dims", "if d in dims", "core.reduce", ELEMENTWISE),
)
