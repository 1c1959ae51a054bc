"""JAX as an oracle: StableHLO's own parser and verifier, and XLA on the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

import wengert as wg
from fuzz.case import lowered
from fuzz.xla.process import XLA
from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, is_boolean, is_complex, is_integer, is_unsigned, largest_integer, shape
from wengert.lab.agreement.agreement import Mismatch
from wengert.runtime.interpreter.execution import run
from wengert.runtime.interpreter.watcher import Watcher


class NotThereError(Exception):
    """XLA on the CPU does not have an op, or computes another value than the specification's."""


@lru_cache(maxsize=1)
def is_there() -> bool:
    """Whether JAX is installed."""
    from importlib.util import find_spec

    return find_spec("jax") is not None


def parse(text: str, what: str) -> str:
    """The text as JAX prints it, or a Mismatch if it is refused."""
    kind, said = XLA.ask("parse", text)
    if kind == "refused":
        raise Mismatch(f"JAX refuses {what}", said)
    if kind != "ok":
        raise RuntimeError(f"JAX's parser of {what}: {kind}: {said}")
    return str(said)


AT_POSITIONS = {"stablehlo.dynamic_slice": 1, "stablehlo.dynamic_update_slice": 2, "stablehlo.gather": 1, "stablehlo.scatter": None}
"""Ops that read or write at computed positions, and which of their operands are the first positions; of a scatter it depends on how many operands it has."""
SLICES = ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice", "stablehlo.gather")
"""Slices, among them gathers, which are slices where they are at one position."""


def has_narrow_positions(text: str) -> bool:
    """Whether positions are of an integer type that does not hold all positions of the operand: XLA clamps in that type, so it starts elsewhere.

    So it does where slices start at unsigned constants of which the highest bit is set, which it takes for negative numbers.
    """
    for op in wg.parse(text).module.walk():
        if op.name in AT_POSITIONS:
            first = AT_POSITIONS[op.name] or len(op.operands) // 2
            if max(shape(op.operands[0]), default=0) > largest_integer(element(op.operands[first])):
                return True
            if op.name in SLICES and is_unsigned(element(op.operands[first])):
                return True
    return False


def has_slices_of_slices(text: str) -> bool:
    """Whether a dynamic slice is taken of another: XLA adds up their positions before it keeps the first one within its operand."""
    slices = [op for op in wg.parse(text).module.walk() if op.name == "stablehlo.dynamic_slice"]
    return any(getattr(op.operands[0].owner, "name", "") == op.name for op in slices)


COMBINING = ("stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.scatter", "stablehlo.select_and_scatter")
"""Ops that combine elements by a region."""


def combines_in_a_wider_type(text: str) -> bool:
    """Whether elements are combined in a wider type than they have, which XLA fails on in several ways."""
    ops = [op for op in wg.parse(text).module.walk() if op.name in COMBINING]
    return any(element(op.operands[0]) != element(op.results[0]) for op in ops)


def known_ops(text: str) -> Iterator[Operation]:
    """The ops whose operands are computed from constants alone, which XLA computes by itself."""
    known = set[SSAValue]()
    for op in wg.parse(text).module.walk():
        if not op.regions and all(operand in known for operand in op.operands):
            known.update(op.results)
            yield op


def adds_known_booleans(text: str) -> bool:
    """Whether two booleans are added that are computed from constants alone: XLA folds them as numbers of one bit, so that true and true are false."""
    return any(op.name == "stablehlo.add" and is_boolean(element(op.results[0])) for op in known_ops(text))


def convolves_known_integers(text: str) -> bool:
    """Whether integers computed from constants alone are convolved in batch groups: XLA folds them to the nearest number of the type, where sums wrap around."""
    convolutions = [op for op in known_ops(text) if isinstance(op, stablehlo.ConvolutionOp)]
    return any(is_integer(element(op.result)) and int_of(op.batch_group_count) > 1 for op in convolutions)


def _vanishes(x: Any) -> bool:
    return bool(np.any(np.abs(x) < np.finfo(x.dtype).tiny))


def _is_small(x: Any) -> bool:
    return bool(np.any(np.abs(x) < 0.1))


def _is_large(x: Any) -> bool:
    return bool(np.any(np.abs(x) > -np.log(np.finfo(x.dtype).tiny) / 4))


def _has_a_small_part(x: Any) -> bool:
    return any(bool(np.any((part != 0) & (np.abs(part) < 1e-3))) for part in (x.real, x.imag))


INEXACT = {
    "stablehlo.power": _vanishes,
    "stablehlo.sine": _is_small,
    "chlo.sinh": _is_small,
    "stablehlo.cosine": _has_a_small_part,
    "chlo.cosh": _has_a_small_part,
    "stablehlo.log_plus_one": _is_large,
    "chlo.atan": _is_large,
    "chlo.atanh": _is_large,
}
"""Complex functions that XLA computes wrongly, and of which results: a power that is zero or subnormal, which without optimisation is NaN, sines near zero,
and cosines where a part is, which it takes from differences of exponentials, and logarithms near a singularity, where the square of the distance underflows and the result is infinite."""


DEFECTS = (has_narrow_positions, combines_in_a_wider_type, has_slices_of_slices, adds_known_booleans, convolves_known_integers)
"""Programs that XLA computes wrongly, whatever their inputs are."""


class _InexactResults(Watcher):
    """Sees whether a run has any of them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def executed(self, op: Operation, results: Sequence[Any] = (), operands: Sequence[Any] = ()) -> None:
        if op.name in INEXACT and np.iscomplexobj(results[0]):
            self.seen |= INEXACT[op.name](np.asarray(results[0]))


def has_inexact_functions(text: str, inputs: Sequence[Any]) -> bool:
    """Whether there is a result of complex functions that XLA computes wrongly, or may be, where a run cannot be watched."""
    module = wg.parse(text).module
    functions = [op for op in module.walk() if op.name in INEXACT and is_complex(element(op.results[0]))]
    if not functions:
        return False
    if any(getattr(op.parent_op(), "name", "") not in ("func.func", "stablehlo.while", "stablehlo.if", "stablehlo.case") for op in functions):
        return True
    watcher = _InexactResults()
    run(lowered(wg.Program(module)), inputs, counter=watcher)
    return watcher.seen


def execute(text: str, inputs: Sequence[Any]) -> list[Any]:
    """The results that XLA computes.

    Raises:
        NotThereError: it has no such op, is known to compute something else, or broke an assertion of its own.
    """
    if any(defect(text) for defect in DEFECTS) or has_inexact_functions(text, inputs):
        raise NotThereError
    parse(text, "the printed text")
    kind, results = XLA.ask("execute", text, [np.asarray(x) for x in inputs])
    if kind in ("not there", "ended"):
        raise NotThereError(results)
    if kind != "ok":
        raise RuntimeError(results)
    return list(results)
