"""Kinds of ops by the error they may have: exact, rounded correctly, combining many elements, or with several formulas."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects import stablehlo
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import dtype_of, element, shape

EXACT = frozenset(
    [
        "constant",
        "iota",
        "broadcast_in_dim",
        "broadcast",
        "reshape",
        "transpose",
        "slice",
        "pad",
        "concatenate",
        "reverse",
        "select",
        "compare",
        "abs",
        "negate",
        "sign",
        "floor",
        "ceil",
        "round_nearest_afz",
        "round_nearest_even",
        "gather",
        "dynamic_slice",
        "dynamic_update_slice",
        "sort",
        "top_k",
        "bitcast_convert",
        "real",
        "imag",
        "complex",
        "conj",
        "is_finite",
        "is_inf",
        "is_pos_inf",
        "is_neg_inf",
        "while",
        "case",
        "if",
        "for",
        "call",
        "optimization_barrier",
        "argreduce",
        "while_loop",
        "reduce_precision",
        "guard",
    ]
)
"""Ops whose results are not rounded; those with regions err within these."""
EXTREMES = frozenset(("maximum", "minimum", "clamp"))
"""Ops that are exact but for the sign of zeros and NaNs."""
ARITHMETIC = frozenset(["add", "subtract", "multiply", "divide", "remainder", "sqrt", "square", "convert"])
"""Ops that are correctly rounded, so exact where the result has few bits."""
COMBINING = frozenset(
    [
        "dot_general",
        "dot",
        "convolution",
        "reduce",
        "reduce_window",
        "window_reduce",
        "cumulative",
        "scatter",
        "select_and_scatter",
        "fft",
        "cholesky",
        "triangular_solve",
        "einsum",
        "cholesky_solve",
        "lu",
        "lu_solve",
        "qr",
        "eigh",
        "svd",
        "eig",
        "tridiagonal_solve",
        "custom_call",
        "ragged_dot",
        "window_scatter",
    ]
)
"""Ops that sum or multiply many elements in some order."""
FACTORED = frozenset(
    ["fft", "cholesky", "triangular_solve", "cholesky_solve", "lu", "lu_solve", "qr", "eigh", "svd", "eig", "tridiagonal_solve", "custom_call"]
)
"""Those of them that also multiply by roots, roots of unity or quotients, so that they are not exact on any numbers."""
SATURATING = frozenset(("tanh", "erf", "erfc", "logistic"))
"""Functions that come so near to one that some implementations are there and others are not."""
HALVING = frozenset(("acos", "acosh", "asin", "asinh"))
"""Complex functions that are computed from half of their operand."""
REFLECTED = frozenset(("digamma", "lgamma", "polygamma", "zeta"))
"""Functions that are computed from their values elsewhere, and amplify the rounding of an operand near their poles."""
OF_AN_ORDER = frozenset(("polygamma", "zeta"))
"""Those of them whose first operand is a whole number, or the result is NaN."""
CENTRED = frozenset(("batch_norm_inference", "batch_norm_training", "batch_norm_grad"))
"""Ops that subtract a mean, which one implementation does before it scales and another, such as XLA, when each of the two has been scaled and rounded."""


def batch_rank(op: Operation) -> int:
    """How many of the first dimensions of operands and results number separate transforms, products or matrices, each of which is computed alone."""
    if isinstance(op, stablehlo.DotGeneralOp):
        numbers = op.dot_dimension_numbers
        left, right = numbers.dims("lhs_batching_dimensions"), numbers.dims("rhs_batching_dimensions")
        return len(left) if tuple(left) == tuple(right) == tuple(range(len(left))) else 0
    if isinstance(op, stablehlo.FftOp):
        return len(shape(op.operands[0])) - len(ints(op.fft_length))
    if op.name.split(".", 1)[-1] not in FACTORED - {"custom_call"}:
        return 0
    return max(min(len(shape(v)) for v in op.operands) - 2, 0)


def combines_exactly(op: Operation) -> bool:
    """Whether what is combined is only chosen, as by a maximum."""
    if "kind" in op.properties:
        return str(getattr(op.properties["kind"], "data", "")).rsplit(".", 1)[-1] in ("max", "min", "set", "and", "or", "xor", "and_", "or_")
    regions = op.regions[-1:] if op.name == "stablehlo.select_and_scatter" else op.regions
    names = {inner.name.split(".", 1)[-1] for region in regions for inner in region.walk()}
    return bool(regions) and names <= {"compare", "select", "maximum", "minimum", "and", "or", "xor", "not", "return", "constant"}


def overflows_by_order(op: Operation) -> bool:
    """Whether what becomes of numbers that overflow or vanish on the way depends on the order in which an op combines them: products, of which a part may
    be zero before it meets an infinity, sums of products, which may be one operation with them or products of sums, and anything by more than one op."""
    return any(is_product(v) or is_contraction(v) for v in op.operands) or len(op.results) > 1 or has_a_formula(op) or multiplies(op)


def multiplies(op: Operation) -> bool:
    """Whether elements that an op combines are multiplied with each other."""
    if "kind" in op.properties:
        return str(getattr(op.properties["kind"], "data", "")).rsplit(".", 1)[-1] == "mul"
    return any(isinstance(inner, stablehlo.MultiplyOp) for region in op.regions for inner in region.walk())


PASSED_ON = (
    stablehlo.BroadcastInDimOp,
    stablehlo.ConcatenateOp,
    stablehlo.NegateOp,
    stablehlo.ReshapeOp,
    stablehlo.ReverseOp,
    stablehlo.SliceOp,
    stablehlo.TransposeOp,
)
"""Ops whose results are elements of their operands, negated at most."""


CONTRACTIONS = (stablehlo.ConvolutionOp, stablehlo.DotGeneralOp, stablehlo.DotOp, stablehlo.EinsumOp)
"""Ops whose results are sums of products of elements."""


def is_product(value: SSAValue) -> bool:
    """Whether elements are products, which may be one operation with a sum of them: also if they were moved or negated since."""
    return _is_made_by(value, (stablehlo.MultiplyOp,))


def is_contraction(value: SSAValue) -> bool:
    """Whether elements are sums of products, which a sum of them may be taken out of: also if they were moved or negated since."""
    return _is_made_by(value, CONTRACTIONS)


def _is_made_by(value: SSAValue, kinds: tuple[type[Operation], ...]) -> bool:
    seen, waiting = {value}, [value]
    while waiting:
        op = waiting.pop().owner
        if isinstance(op, kinds):
            return True
        if isinstance(op, PASSED_ON):
            new = [x for x in op.operands if x not in seen]
            seen.update(new)
            waiting += new
    return False


def is_named(op: stablehlo.ReduceOp | stablehlo.ReduceWindowOp) -> bool:
    """Whether a reduction combines its two elements by one op that is commutative, and associative but for rounding."""
    inner, *others = op.body.block.ops
    if len(op.results) > 1 or len(others) != 1 or inner.name.split(".", 1)[-1] not in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"):
        return False
    return set(inner.operands) == set(op.body.block.args) and tuple(others[0].operands) == tuple(inner.results)


def has_a_formula(op: Operation) -> bool:
    """Whether a reduction combines two elements by more than one op, so that what overflows depends on the order."""
    return any(len(region.block.ops) > 2 for region in op.regions)


def is_inexact(value: SSAValue) -> bool:
    """Whether a value holds floats or complex numbers."""
    return isinstance(value.type, TensorType) and dtype_of(element(value)).kind in "fcV"


def drift(operands: Sequence[Any], result: Any) -> float:
    """By how much more a sum of very many numbers errs than one addition: added up in order, equal numbers are rounded in one direction many times."""
    terms = max((np.size(x) for x in operands), default=1) / max(np.size(result), 1)
    return terms / 16 if terms > 256 else 1.0
