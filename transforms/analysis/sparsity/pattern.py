"""The pattern of a Jacobian: which elements of results can depend on which elements of arguments, whatever the numbers are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from wengert.transforms.ad.requests.request import Request
from wengert.transforms.analysis.sparsity.known import Array, Evaluator, from_constants
from wengert.transforms.analysis.sparsity.matrices import Pattern, stacked
from wengert.transforms.analysis.sparsity.propagation import Propagation


def jacobian_pattern(request: Request, inputs: Sequence[Array] | None = None, evaluate: Evaluator = from_constants) -> Pattern:
    """The pattern of a Jacobian: which elements of the results in ``of`` (rows, one result after another) may depend on which of those in ``wrt`` (columns).

    Args:
        request: the function, at core level, and what is differentiated.
        inputs: the arguments, for the pattern at this point alone: the places that are read and the branches that are taken there.
        evaluate: computes ops on what is known; with ``inputs``, all ops.

    An element outside of the pattern is zero; one inside may be.
    """
    known: dict[SSAValue, Array] = {} if inputs is None else dict(zip(request.block.args, map(np.asarray, inputs), strict=True))
    propagation = Propagation([request.block.args[i] for i in request.wrt], evaluate, known)
    for op in request.ops:
        propagation.op(op)
    return stacked([propagation.of(request.results[j]).members() for j in request.of])
