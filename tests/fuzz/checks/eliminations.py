"""What must be true of Jacobians by elimination: they are those of the modes, whatever is eliminated in whatever order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuzz.case import Case, interpreted, noise_of
from fuzz.checks.check import Array, Family
from fuzz.judgement import assert_agree

check = Family()
WAYS = (
    "order=best",
    "order=forward granularity=tensors",
    "order=reverse granularity=tensors",
    "order=markowitz granularity=tensors",
    "order=reverse-markowitz granularity=scalars",
    "order=relative-markowitz granularity=tensors",
    "order=widest granularity=tensors",
    "order=search steps=20 granularity=tensors",
    "order=best method=edges granularity=tensors",
    "order=markowitz method=faces granularity=tensors",
)
FEW, MANY = 60, 3000
"""Programs with more elements of arguments and results go without graphs of elements, or Jacobians with more elements are left out."""


@check("elimination", one_in=3, needs="differentiable")
def elimination(case: Case) -> None:
    """A Jacobian by elimination is that of one of the modes, and has the types of forward mode."""
    signature = case.program.signature
    moving, asked = [signature.arguments[i] for i in case.moving], [signature.results[j] for j in case.asked]
    columns, rows = (sum(int(np.prod(p.shape)) for p in side) for side in (moving, asked))
    if any(p.dtype.kind == "c" for p in (*moving, *asked)) or columns * rows > MANY:
        return
    way = WAYS[case.seed % len(WAYS)]
    if columns + rows > FEW:
        way = way.replace("scalars", "tensors") if "granularity" in way else f"{way} granularity=tensors"
    made = case.program.jacobian(wrt=case.moving, of=case.asked, strategy=f"eliminate{{{way}}}")
    given = interpreted(made, case.inputs)
    modes = [case.program.jacfwd(case.moving, case.asked), case.program.jacrev(case.moving, case.asked)]
    run = [interpreted(mode, case.inputs) for mode in modes]
    # The modes differ from each other where products of local derivatives are rounded to few bits on the way, as constants and ``reduce_precision`` do:
    # they multiply in opposite orders, and an elimination in any order between. So as far as they are apart is rounding.
    nearer = min((0, 1), key=lambda n: _distance(given, run[n]))
    types = [y.dtype for y in run[0]]
    expected, other = (_of_types(run[n], types) for n in (nearer, 1 - nearer))
    noisy, own = noise_of(modes[nearer], case.inputs), noise_of(made, case.inputs, other_terms=True)

    def rounded(seed: int) -> list[Array]:
        """A mode with errors, and in turn with those that the elimination has: it may add up products of which the mode multiplies a sum, where the sum cancels."""
        if seed == 0:
            return other
        if seed % 2:
            return _of_types(noisy(seed), types)
        with np.errstate(all="ignore"):
            return [np.asarray(e + (y - x), e.dtype) for e, x, y in zip(expected, given, own(seed), strict=True)]

    assert_agree(
        f"Jacobian by eliminate{{{way}}} against that of {('forward', 'reverse')[nearer]} mode",
        given,
        expected,
        rounded,
        singular=case.singular_in((modes[nearer], list(case.inputs)), (made, list(case.inputs))),
    )


def _of_types(results: Sequence[Array], types: Sequence[np.dtype[Any]]) -> list[Array]:
    """Results of a mode in the types of forward mode."""
    with np.errstate(over="ignore"):  # what is too large for a narrow type is infinite in it
        return [np.asarray(x, dtype) for x, dtype in zip(results, types, strict=True)]


def _distance(given: list[Array], expected: list[Array]) -> float:
    """How far apart results are, where both are finite."""
    with np.errstate(all="ignore"):
        apart = [np.abs(np.asarray(x, np.longdouble) - np.asarray(y, np.longdouble)) for x, y in zip(given, expected, strict=True)]
    return max((float(a[np.isfinite(a)].max(initial=0)) for a in apart), default=0.0)
