"""Runs of a program in which every inexact op errs by a few units in the last place, at random: how far results may be apart.

Two right implementations differ by rounding, and what becomes of that depends on the program. So a tolerance is not a number here: where two
results differ, the program is run with errors in every op that may have them (Vignes, "A stochastic arithmetic for reliable scientific
computation", 1993). A result that two implementations may disagree on, for whatever reason (cancellation, a comparison at a tie, a sort of equal
keys), differs among these runs; one that does not differ among them must be the same in both.

What is exact stays so: moves and selections, and arithmetic whose results have few significant bits, so that ties between small integers are ties
in every run.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import dtype_of, element, is_complex
from wengert.lab.agreement.backward_error import backward_error, inverse_by
from wengert.lab.agreement.nans import convention_of_nans
from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.machine import Frame, Machine

Array = np.ndarray[Any, np.dtype[Any]]

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
REFLECTED = frozenset(("digamma", "lgamma", "polygamma", "zeta"))
"""Functions that are computed from their values elsewhere, and amplify the rounding of an operand near their poles."""
CENTRED = frozenset(("batch_norm_inference", "batch_norm_training", "batch_norm_grad"))
"""Ops that subtract a mean, which one implementation does before it scales and another, such as XLA, when each of the two has been scaled and rounded."""
FEW = {np.dtype(np.float64): 30, np.dtype(np.float32): 12, np.dtype(np.float16): 5, np.dtype(ml_dtypes.bfloat16): 3}
"""How many of the last bits are zero in a number of few significant bits."""


EXACT_EVERY = 4
"""In one of so many runs nothing is rounded otherwise, and only what else is open is drawn: near a singularity all rounding may lead away from it."""

Taken = dict[tuple[Operation, int], Array]
"""What ops that take floats apart were given in the first of several runs, by op and by how often it was run before."""


def noisy_run(module: ModuleOp, inputs: Sequence[Array], seed: int, scale: float = 2.0, *, flushing: bool = False, taken: Taken | None = None) -> list[Array]:
    """The results of @main with errors of this many units in the last place; the same ones for the same seed.

    ``flushing``: small numbers may become zero, as where subnormal ones are not kept. ``taken`` is shared by the runs of one program.
    """
    machine = NoisyMachine(module, np.random.default_rng(seed), seed, scale, flushing=flushing, taken={} if taken is None else taken)
    with np.errstate(all="ignore"):
        results = machine.function("main", counting=False)(*[machine.flushed(np.asarray(x))[()] for x in inputs])
    return [np.array(r) for r in results]


class NoisyMachine(Machine):
    """A machine whose ops err."""

    def __init__(self, module: ModuleOp, noise: np.random.Generator, turn: int, scale: float, *, flushing: bool, taken: Taken):
        super().__init__(module)
        self.rounds = turn % EXACT_EVERY != EXACT_EVERY - 1
        self.noise, self.scale, self.flushing, self.taken = noise, scale if self.rounds else 0.0, flushing, taken
        self.signs_of_nans = convention_of_nans(turn)
        self.runs: Counts[Operation] = Counts()
        self.skips_holes = bool(noise.random() < 0.3)
        """Whether no op of this run multiplies by zeros of padding and dilation: several of them in a row are seldom drawn alike."""

    def frame(self, counter: Counter | None) -> Frame:
        return NoisyFrame(self, counter)

    def flushed(self, x: Array) -> Array:
        """Some runs have zeros for subnormal numbers."""
        if not self.flushing or x.dtype.kind not in "fcV" or self.noise.random() < 0.3:
            return x
        if x.dtype.kind == "c":
            return (self.flushed(x.real) + 1j * self.flushed(x.imag)).astype(x.dtype)
        return np.where(np.abs(x) < _finfo(x.dtype).smallest_normal, np.copysign(np.zeros_like(x), x), x).astype(x.dtype)


class NoisyFrame(Frame):
    """A frame whose ops err."""

    machine: NoisyMachine

    def function(self, op: Operation) -> Callable[..., Any]:
        exact = super().function(op)
        if self.machine.flushing and any(is_inexact(v) for v in op.results) and not op.regions:
            exact = self._after(exact, lambda x: self.machine.flushed(np.asarray(x))[()])
        name = op.name.split(".", 1)[-1]
        if name == "bitcast_convert" and is_inexact(op.operands[0]):
            return self._scrambled(op, exact)
        if isinstance(op, stablehlo.ReduceOp) and not _is_named(op):
            exact = self._in_any_order(op, exact)
        if name in EXACT or op.name.startswith(("ad.", "func.")) or not any(is_inexact(v) for v in op.results):
            return exact
        if name in EXTREMES:
            return self._after(exact, self._signs)
        if name == "divide" and self.machine.flushing:
            exact = self._quotients(exact)
        if name in ARITHMETIC:
            if name in ("multiply", "divide", "square", "sqrt") and any(is_complex(element(v)) for v in op.results):
                return self._complex(exact)
            return self._after(exact, lambda x: self._off(x, self.machine.scale, True))
        if name in COMBINING:
            if _combines_exactly(op):
                return self._after(exact, self._signs)
            few = name not in FACTORED
            if isinstance(op, stablehlo.TriangularSolveOp):
                exact = self._by_inverse(op, exact)
            if name == "reduce" and (len(op.results) > 1 or _has_a_formula(op)):
                exact = self._after(exact, self._overflown)
            return self._around(
                name, self._with_holes(exact) if name == "convolution" or not few else exact, spared=1 if name == "select_and_scatter" else 0, few=few
            )
        if name == "power":
            exact = self._powers(exact)
        elif name in REFLECTED or name in CENTRED:
            exact = self._with_operands_off(exact)
        return self._after(exact, lambda x: self._off(x, 4 * self.machine.scale, False, units=name in SATURATING))

    def _after(self, exact: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
        def noisy(*operands: Any) -> Any:
            results = exact(*operands)
            changed = tuple(map(change, results)) if isinstance(results, tuple) else change(results)
            return self.machine.signs_of_nans(self.machine.noise, operands, changed)

        return noisy

    def _complex(self, exact: Callable[..., Any]) -> Callable[..., Any]:
        """Complex arithmetic, which is exact on numbers of few bits only: there are several formulas for it."""

        def noisy(*operands: Any) -> Any:
            few = all(_has_few_bits(part).all() for x in map(np.asarray, operands) for part in (x.real, x.imag))
            return self._off(exact(*operands), 2 * self.machine.scale, few)

        return noisy

    def _quotients(self, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A quotient that may be lost where its denominator is extreme: XLA divides (x / y) / z by y z, which overflows or vanishes."""

        def noisy(x: Any, y: Any) -> Any:
            result = _array(exact(x, y))
            if result.dtype.kind not in "fcV":
                return result[()]
            info, size = _finfo(_part(result.dtype)), np.abs(np.asarray(y).astype(_wider(result.dtype)))
            great, small = (
                far & (self._coins(result.shape) | (not self.machine.rounds))
                for far in (size > float(info.max) ** 0.5, size < float(info.smallest_normal) ** 0.5)
            )
            with np.errstate(all="ignore"):
                above = np.where(self._coins(result.shape), result * np.inf, result * 0)
                return np.where(small, above, np.where(great, result * 0, result)).astype(result.dtype)[()]

        return noisy

    def _with_operands_off(self, exact: Callable[..., Any]) -> Callable[..., Any]:
        """The function of operands that have errors themselves."""
        return lambda *operands: exact(*[self._off(x, self.machine.scale, False) for x in operands])

    def _powers(self, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A power, which multiplies the errors of a logarithm by the exponent; complex ones may overflow on the way."""

        def noisy(x: Any, y: Any) -> Any:
            if np.asarray(x).dtype.kind != "c":
                return exact(x, y)
            result = _array(exact(self._off(x, self.machine.scale, False), self._off(y, self.machine.scale, False)))
            turns = np.abs(y) * np.maximum(np.abs(np.log(np.asarray(x))), 1)
            lost = (turns > 1 / float(_finfo(result.dtype).eps)) | np.isnan(turns)
            return np.where(lost & self._coins(result.shape), np.nan, result).astype(result.dtype)[()]

        return noisy

    def _scrambled(self, op: Operation, exact: Callable[..., Any]) -> Callable[..., Any]:
        """The bits of a float: where it is not the same in all runs, its bits say nothing."""

        def noisy(x: Any) -> Any:
            given = np.array(x)
            turn = self.machine.runs[op]
            self.machine.runs[op] += 1
            first = self.machine.taken.setdefault((op, turn), given)
            result = _array(exact(x))
            if first.shape != given.shape:
                return result[()]
            other = _bits(first) != _bits(given)
            if result.ndim > other.ndim:
                other = np.broadcast_to(other[..., None], result.shape)
            elif result.ndim < other.ndim:
                other = other.any(-1)
            if result.dtype.kind in "fcV":
                return np.where(other, self._anything(result), result).astype(result.dtype)[()]
            return (result ^ (other * self.machine.noise.integers(0, 127, result.shape)).astype(result.dtype))[()]

        return noisy

    def _anything(self, like: Any) -> Any:
        """Floats of which nothing is known: any bits, NaN, or the ends of the range, so that no finite number is farther from another than some of these."""
        kind = self.machine.noise.random()
        if kind < 0.5:
            return np.frombuffer(self.machine.noise.bytes(like.nbytes), like.dtype).reshape(like.shape)
        if kind < 0.7:
            return np.full_like(like, np.nan)
        end = np.asarray(_finfo(_part(like.dtype)).max, like.dtype)
        return np.where(self.machine.noise.random(like.shape) < 0.5, end, -end).astype(like.dtype)

    def _around(self, name: str, exact: Callable[..., Any], spared: int, few: bool) -> Callable[..., Any]:
        """The function with errors of its operands, which stand for those of partial sums, and of its results; the first operands may be spared."""

        def noisy(*operands: Any) -> Any:
            exactly = few and all(map(_are_near, operands))
            moved = [*operands[:spared], *(self._off(x, self.machine.scale, exactly, units=few) for x in operands[spared:])]
            moved = [self._off_by_size(x, backward_error(name, x)) for x in moved]
            results = exact(*moved)
            off = [
                self._spread(self._signs(self._off(r, self.machine.scale * _drift(operands, r), exactly)), operands)
                for r in (results if isinstance(results, tuple) else (results,))
            ]
            return tuple(off) if isinstance(results, tuple) else off[0]

        return noisy

    def _in_any_order(self, op: stablehlo.ReduceOp, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A reduction by a region of any kind: neighbours before of their results in some of the runs, and the initial value in front, behind, or nowhere.

        The specification leaves open over which tree elements are combined, and where and how often the initial value is among them.
        """
        body, dims, n = self.scalar_region(op.body), sorted(ints(op.dimensions)), len(op.results)

        def noisy(*operands: Any) -> Any:
            xs, inits = operands[:n], operands[n:]
            if xs[0].size == 0 or self.machine.noise.random() < 0.5:
                return exact(*operands)
            kept = [extent for d, extent in enumerate(xs[0].shape) if d not in dims]
            rows = list(zip(*[np.moveaxis(x, dims, range(len(dims))).reshape((-1, *kept)) for x in xs], strict=True))
            while len(rows) > 1:
                pairs = [body(*a, *b) for a, b in zip(rows[::2], rows[1::2], strict=False)]
                rows = pairs + rows[len(pairs) * 2 :]
            first, place = [np.broadcast_to(init, kept) for init in inits], self.machine.noise.integers(0, 3)
            ends = rows[0] if place == 0 else body(*first, *rows[0]) if place == 1 else body(*rows[0], *first)
            results = tuple([np.asarray(y).astype(x.dtype)[()] for x, y in zip(xs, ends, strict=True)])
            return results if n > 1 else results[0]

        return noisy

    def _by_inverse(self, op: stablehlo.TriangularSolveOp, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A system solved by substitution, or, in some of the runs, by a product with the inverse of the matrix, as XLA does."""
        left = bool(int_of(op.left_side))

        def noisy(a: Any, b: Any) -> Any:
            if b.size == 0 or self.machine.noise.random() < 0.5:
                return exact(a, b)
            inverse = self._off(inverse_by(exact, a, b.shape[-1 if left else -2], left), self.machine.scale, False, units=True)
            return np.asarray(inverse @ b if left else b @ inverse).astype(b.dtype)[()]

        return noisy

    def _with_holes(self, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A convolution or factorization of numbers that are not finite: whether they meet zeros (of padding, dilation, half a matrix) is left open."""

        def noisy(*operands: Any) -> Any:
            results = exact(*operands)
            if all(np.isfinite(x).all() for x in operands if np.asarray(x).dtype.kind in "fcV"):
                return results
            return tuple(map(drawn, results)) if isinstance(results, tuple) else drawn(results)

        def drawn(result: Any) -> Any:
            result = _array(result)
            if result.dtype.kind not in "fcV":
                return result
            if self.machine.skips_holes:
                return np.zeros_like(result)
            return np.choose(self.machine.noise.integers(0, 3, result.shape), [result, np.full_like(result, np.nan), np.zeros_like(result)])

        return noisy

    def _spread(self, x: Any, operands: Sequence[Any]) -> Any:
        """The result made undecided where sums in another order would overflow."""
        largest = [float(np.max(np.abs(v[np.isfinite(v)]), initial=0)) for v in map(np.asarray, operands) if v.dtype.kind in "fcV"]
        x = _array(x)
        if x.dtype.kind in "fcV" and largest and np.prod([max(v, 1.0) for v in largest]) * 64 > (most := float(_finfo(_part(x.dtype)).max)):
            if self.machine.noise.random() < 0.4:  # as if nothing overflowed
                return np.nan_to_num(x.astype(_wider(x.dtype)), nan=0.0, posinf=most / 64, neginf=-most / 64).astype(x.dtype)[()]
            # a sum that ended in NaN may have met an infinity first
            anything = self.machine.noise.choice([np.nan, np.inf, -np.inf], x.shape).astype(_part(x.dtype))
            factor = self.machine.noise.choice([1.0, np.nan, np.inf], x.shape).astype(_part(x.dtype))
            return np.where(np.isnan(x), anything, x * factor).astype(x.dtype)[()]
        return x[()]

    def _overflown(self, x: Any) -> Any:
        """Anything in place of what is not finite: where several numbers are combined, an order in which elements overflow decides what becomes of them."""
        x = _array(x)
        if x.dtype.kind not in "fcV" or np.isfinite(x).all():
            return x[()]
        drawn = self.machine.noise.choice([np.nan, np.inf, -np.inf, 0.0], x.shape).astype(x.dtype)
        return np.where(np.isfinite(x), x, drawn).astype(x.dtype)[()]

    def _signs(self, x: Any) -> Any:
        """Zeros and NaNs of either sign."""
        x = _array(x)
        if x.dtype.kind not in "fV":
            return x[()]
        flip = ((x == 0) | np.isnan(x)) & self._coins(x.shape)
        return np.where(flip, -x, x)[()]

    def _off(self, x: Any, ulps: float, keeps_few: bool, units: bool = False) -> Any:
        """x with an error of this many units in the last place at most; a one or minus one of a function is exact, but not where ``units`` are summed."""
        x = _array(x)
        if x.dtype.kind == "c":
            kept = (_has_few_bits(x.real) & _has_few_bits(x.imag)) if keeps_few else (x == 0)
            info = _finfo(x.dtype)
            size = np.maximum(np.abs(x) * float(info.eps), float(info.smallest_subnormal)) * ulps
            error = (self._uniform(x.shape) + 1j * self._uniform(x.shape)) * size
            return np.where(kept | ~np.isfinite(x), x, (x + error).astype(x.dtype))[()]
        if x.dtype.kind not in "fV":
            return x[()]
        kept = _has_few_bits(x) if keeps_few else (x == 0) | ((np.abs(x) == 1) & (not units))
        info = _finfo(x.dtype)
        wide = x.astype(np.float64)
        size = np.maximum(np.abs(wide) * float(info.eps), float(info.smallest_subnormal)) * ulps
        moved = (wide + self._uniform(x.shape) * size).astype(x.dtype)
        moved = np.where(kept | ~np.isfinite(x), x, moved)
        nan = np.isnan(x)
        return (np.where(nan & self._coins(x.shape), -x, moved) if nan.any() else moved)[()]

    def _off_by_size(self, x: Any, size: Any) -> Any:
        """x with an error of this many times its rounding unit at most; zeros stay in some of the runs."""
        if size is None:
            return x
        info = _finfo(x.dtype)
        error = self._uniform(x.shape) * size * (float(info.eps) * self.machine.scale)
        kept = ~np.isfinite(x) | ((x == 0) & (self.machine.noise.random() < 0.5))
        return np.where(kept, x, x + error).astype(x.dtype)

    def _coins(self, shape: tuple[int, ...]) -> Array:
        """Some elements, all, or none: an implementation may give all NaNs the other sign."""
        return self.machine.noise.random(shape) < self.machine.noise.choice([0.0, 0.5, 1.0])

    def _uniform(self, shape: tuple[int, ...]) -> Array:
        return self.machine.noise.uniform(-1, 1, shape)


def _combines_exactly(op: Operation) -> bool:
    """Whether what is combined is only chosen, as by a maximum."""
    if "kind" in op.properties:
        return str(getattr(op.properties["kind"], "data", "")).rsplit(".", 1)[-1] in ("max", "min", "set", "and", "or", "xor", "and_", "or_")
    regions = op.regions[-1:] if op.name == "stablehlo.select_and_scatter" else op.regions
    names = {inner.name.split(".", 1)[-1] for region in regions for inner in region.walk()}
    return bool(regions) and names <= {"compare", "select", "maximum", "minimum", "and", "or", "xor", "not", "return", "constant"}


def _is_named(op: stablehlo.ReduceOp) -> bool:
    """Whether a reduction combines its two elements by one op that is commutative, and associative but for rounding."""
    inner, *others = op.body.block.ops
    if len(op.results) > 1 or len(others) != 1 or inner.name.split(".", 1)[-1] not in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"):
        return False
    return set(inner.operands) == set(op.body.block.args) and tuple(others[0].operands) == tuple(inner.results)


def _has_a_formula(op: Operation) -> bool:
    """Whether a reduction combines two elements by more than one op, so that what overflows depends on the order."""
    return any(len(region.block.ops) > 2 for region in op.regions)


def is_inexact(value: SSAValue) -> bool:
    """Whether a value holds floats or complex numbers."""
    return isinstance(value.type, TensorType) and dtype_of(element(value)).kind in "fcV"


def _part(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _drift(operands: Sequence[Any], result: Any) -> float:
    """By how much more a sum of very many numbers errs than one addition: added up in order, equal numbers are rounded in one direction many times."""
    terms = max((np.size(x) for x in operands), default=1) / max(np.size(result), 1)
    return terms / 16 if terms > 256 else 1.0


def _are_near(x: Any) -> bool:
    """Whether sums of some of these numbers, if they have few bits, have not many more."""
    sizes = np.abs(np.asarray(x).astype(np.complex128 if np.asarray(x).dtype.kind == "c" else np.float64))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return sizes.size == 0 or bool(sizes.max() <= 256 * sizes.min())


def _bits(x: Array) -> Array:
    """The bytes of each element, as one number for each part."""
    parts = np.ascontiguousarray(x).view(_part(x.dtype))
    bits = parts.view(f"u{parts.dtype.itemsize}")
    return bits.reshape(x.shape) if x.dtype.kind != "c" else bits.reshape(*x.shape, 2).astype(np.uint64) @ np.array([1, 3], np.uint64)


def _wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def _array(x: Any) -> Any:
    """An array of what a step of the interpreter gives."""
    return np.asarray(x)


def _finfo(dtype: Any) -> Any:
    """The limits of a float or complex type, those of ``ml_dtypes`` included."""
    return cast(Any, ml_dtypes).finfo(dtype)


def _has_few_bits(x: Array) -> Array:
    bits = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").reshape(x.shape)
    return (bits & ((1 << FEW.get(x.dtype, 1)) - 1)) == 0
