"""A frame of the interpreter whose ops err, each in the ways that are open to its kind."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of, ints
from wengert.ir.location.locations import provenance
from wengert.ir.tensor_types import element, is_complex, shape
from wengert.lab.agreement.noise.backward_error import backward_error, inverse_by
from wengert.lab.agreement.noise.disturbance import per_batch
from wengert.lab.agreement.noise.floats import are_near, as_array, bits, finfo, has_few_bits, part, wider
from wengert.lab.agreement.noise.kinds import (
    ARITHMETIC,
    CENTRED,
    COMBINING,
    EXACT,
    EXTREMES,
    FACTORED,
    HALVING,
    OF_AN_ORDER,
    REFLECTED,
    SATURATING,
    batch_rank,
    combines_exactly,
    drift,
    is_inexact,
    is_named,
    is_product,
    multiplies,
    overflows_by_order,
)
from wengert.lab.agreement.noise.machine import NoisyMachine
from wengert.runtime.interpreter.machine import Frame
from wengert.runtime.interpreter.ops.windows import windows_of

FOLDS = ("reduce", "reduce_window", "window_reduce", "cumulative")
"""Ops that combine elements which lie along dimensions."""


class NoisyFrame(Frame):
    """A frame whose ops err."""

    machine: NoisyMachine

    def function(self, op: Operation) -> Callable[..., Any]:
        exact = super().function(op)
        if self.machine.noise.flushing and any(is_inexact(v) for v in op.results) and not op.regions:
            exact = self._after(exact, lambda x: self.machine.noise.flushed(np.asarray(x))[()])
        name = op.name.split(".", 1)[-1]
        if name == "bitcast_convert" and is_inexact(op.operands[0]):
            return self._scrambled(op, exact)
        if isinstance(op, stablehlo.ReducePrecisionOp) and self.machine.other_terms and provenance(op.location) is not None:
            return self._of_other_terms(op, exact)
        if isinstance(op, stablehlo.ReduceOp | stablehlo.ReduceWindowOp) and not is_named(op):
            exact = self._in_any_order(op, exact)
        if name in EXACT or op.name.startswith(("ad.", "func.")) or not any(is_inexact(v) for v in op.results):
            return exact
        if name in EXTREMES:
            return self._after(exact, self.machine.noise.signs)
        if name == "divide" and self.machine.noise.flushing:
            exact = self._quotients(exact)
        if name == "atan2" and self.machine.noise.flushing:
            exact = self._angles(exact)
        if name in HALVING and self.machine.noise.flushing and is_complex(element(op.operands[0])):
            exact = self._of_halves(exact)
        if name in ("add", "subtract") and any(map(is_product, op.operands)):
            exact = self._contracted(op, exact)
        if name in ARITHMETIC:
            if name in ("multiply", "divide", "square", "sqrt") and any(is_complex(element(v)) for v in op.results):
                return self._complex(exact)
            return self._after(exact, lambda x: self.machine.noise.off(x, self.machine.noise.ulps, True))
        if name in COMBINING:
            if combines_exactly(op):
                return self._after(exact, self.machine.noise.signs)
            few = name not in FACTORED
            if isinstance(op, stablehlo.TriangularSolveOp):
                exact = self._by_inverse(op, exact)
            if name in FOLDS and multiplies(op):
                exact = self._with_partial_products(op, exact)
            if name in FOLDS and overflows_by_order(op):
                exact = self._after(exact, self.machine.noise.overflown)
            batch = batch_rank(op)
            if name == "convolution" or not few:
                exact = self._with_holes(exact, batch)
            if isinstance(op, stablehlo.FftOp):
                return self._transform(op, exact, batch)
            return self._around(name, exact, spared=1 if name == "select_and_scatter" else 0, few=few, batch=batch)
        if name == "power":
            exact = self._powers(exact)
        elif name in REFLECTED or name in CENTRED:
            if isinstance(op, stablehlo.BatchNormInferenceOp):
                exact = self._scaled_first(op, exact)
            elif isinstance(op, stablehlo.BatchNormTrainingOp):
                exact = self._by_moments(op, exact)
            exact = self._with_operands_off(exact, spared=1 if name in OF_AN_ORDER else 0)
        return self._after(exact, lambda x: self.machine.noise.off(x, 4 * self.machine.noise.ulps, False, units=name in SATURATING))

    def _after(self, exact: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
        def noisy(*operands: Any) -> Any:
            results = exact(*operands)
            changed = tuple(map(change, results)) if isinstance(results, tuple) else change(results)
            return self.machine.noise.signs_of_nans(self.machine.noise.rng, operands, changed)

        return noisy

    def _complex(self, exact: Callable[..., Any]) -> Callable[..., Any]:
        """Complex arithmetic, which is exact on numbers of few bits only: there are several formulas for it."""

        def noisy(*operands: Any) -> Any:
            few = all(has_few_bits(part).all() for x in map(np.asarray, operands) for part in (x.real, x.imag))
            return self.machine.noise.off(exact(*operands), 2 * self.machine.noise.ulps, few)

        return noisy

    def _quotients(self, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A quotient that may be lost where its denominator is extreme: XLA divides (x / y) / z by y z, which overflows or vanishes."""

        def noisy(x: Any, y: Any) -> Any:
            result = as_array(exact(x, y))
            if result.dtype.kind not in "fcV":
                return result[()]
            info, size = finfo(part(result.dtype)), np.abs(np.asarray(y).astype(wider(result.dtype)))
            great, small = (
                far & (self.machine.noise.coins(result.shape) | (not self.machine.noise.rounds))
                for far in (size > float(info.max) ** 0.5, size < float(info.smallest_normal) ** 0.5)
            )
            with np.errstate(all="ignore"):
                above = np.where(self.machine.noise.coins(result.shape), result * np.inf, result * 0)
                return np.where(small, above, np.where(great, result * 0, result)).astype(result.dtype)[()]

        return noisy

    def _angles(self, exact: Callable[..., Any]) -> Callable[..., Any]:
        """The angle of two subnormal numbers, which is none where their quotient is one of zeros."""

        def noisy(y: Any, x: Any) -> Any:
            result = as_array(exact(y, x))
            if result.dtype.kind == "c":
                return result[()]
            small = float(finfo(result.dtype).smallest_normal)
            flushed = [(v != 0) & (np.abs(np.asarray(v).astype(wider(result.dtype))) < small) for v in (y, x)]
            lost = flushed[0] & flushed[1] & self.machine.noise.coins(result.shape)
            return np.where(lost, np.nan, result).astype(result.dtype)[()]

        return noisy

    def _of_halves(self, exact: Callable[..., Any]) -> Callable[..., Any]:
        """An inverse function whose formula begins with half of its operand: parts that are subnormal then may be lost."""

        def noisy(x: Any) -> Any:
            x = as_array(x)
            return exact((2 * self.machine.noise.flushed(x / 2)).astype(x.dtype)[()])

        return noisy

    def _contracted(self, op: Operation, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A sum of products that may be one operation: the product is not rounded before it is added to, and one beyond the largest number is none."""
        of_product = [is_product(v) for v in op.operands]

        def noisy(x: Any, y: Any) -> Any:
            result = as_array(exact(*[self.machine.noise.off(v, self.machine.noise.ulps, True) if p else v for v, p in zip((x, y), of_product, strict=True)]))
            if result.dtype.kind not in "fV" or np.isfinite(result).all():
                return result[()]
            most = float(finfo(result.dtype).max)
            moved = [v.astype(np.longdouble) for v in (as_array(x), as_array(y))]
            for number in (n for n, product in enumerate(of_product) if product):
                beyond = np.isinf(moved[number]) & self.machine.noise.coins(np.shape(moved[number]))
                sizes = np.longdouble(most) * (1 + self.machine.noise.rng.random(np.shape(beyond)))
                moved[number] = np.where(beyond, np.copysign(sizes, moved[number]), moved[number])
            with np.errstate(all="ignore"):
                total = moved[0] + moved[1] if op.name.endswith("add") else moved[0] - moved[1]
                return np.where(np.isfinite(result), result, total.astype(result.dtype)).astype(result.dtype)[()]

        return noisy

    def _with_operands_off(self, exact: Callable[..., Any], spared: int) -> Callable[..., Any]:
        """The function of operands that have errors themselves, but for the first ``spared`` ones."""

        def noisy(*operands: Any) -> Any:
            return exact(*operands[:spared], *[self.machine.noise.off(x, self.machine.noise.ulps, False) for x in operands[spared:]])

        return noisy

    def _powers(self, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A power, which multiplies the errors of a logarithm by the exponent; complex ones may overflow on the way."""

        def noisy(x: Any, y: Any) -> Any:
            if np.asarray(x).dtype.kind != "c":
                return exact(x, y)
            result = as_array(exact(self.machine.noise.off(x, self.machine.noise.ulps, False), self.machine.noise.off(y, self.machine.noise.ulps, False)))
            turns = np.abs(y) * np.maximum(np.abs(np.log(np.asarray(x))), 1)
            lost = (turns > 1 / float(finfo(result.dtype).eps)) | np.isnan(turns)
            return np.where(lost & self.machine.noise.coins(result.shape), np.nan, result).astype(result.dtype)[()]

        return noisy

    def _scrambled(self, op: Operation, exact: Callable[..., Any]) -> Callable[..., Any]:
        """The bits of a float: where it is not the same in all runs, its bits say nothing."""

        def noisy(x: Any) -> Any:
            given = np.array(x)
            turn = self.machine.runs[op]
            self.machine.runs[op] += 1
            first = self.machine.taken.setdefault((op, turn), given)
            result = as_array(exact(x))
            if first.shape != given.shape:
                return result[()]
            other = bits(first) != bits(given)
            if result.ndim > other.ndim:
                other = np.broadcast_to(other[..., None], result.shape)
            elif result.ndim < other.ndim:
                other = other.any(-1)
            if result.dtype.kind in "fcV":
                return np.where(other, self.machine.noise.anything(result), result).astype(result.dtype)[()]
            return (result ^ (other * self.machine.noise.rng.integers(0, 127, result.shape)).astype(result.dtype))[()]

        return noisy

    def _transform(self, op: stablehlo.FftOp, exact: Callable[..., Any], batch: int) -> Callable[..., Any]:
        """A Fourier transform, whose error is bounded by the norm of what is transformed (Higham 2002, theorem 24.2)."""

        def noisy(x: Any) -> Any:
            result = as_array(exact(x))
            axes = tuple(range(batch, np.ndim(x)))
            size = np.sqrt(np.sum(np.abs(np.where(np.isfinite(x), x, 0).astype(wider(x.dtype))) ** 2, axis=axes, keepdims=True))
            if op.fft_type.data in ("IFFT", "IRFFT"):  # an inverse divides by the length
                size = size / max(np.prod(ints(op.fft_length)), 1)
            return self.machine.noise.spread(self.machine.noise.signs(self.machine.noise.transformed(result, size)), [x], batch)

        return noisy

    def _around(self, name: str, exact: Callable[..., Any], spared: int, few: bool, batch: int) -> Callable[..., Any]:
        """The function with errors of its operands, which stand for those of partial sums, and of its results; the first operands may be spared."""

        def noisy(*operands: Any) -> Any:
            exactly = few and all(map(are_near, operands))
            moved = [*operands[:spared], *(self.machine.noise.off(x, self.machine.noise.ulps, exactly, units=few) for x in operands[spared:])]
            moved = [self.machine.noise.off_by_size(x, backward_error(name, x)) for x in moved]
            results = exact(*moved)
            off = [
                self.machine.noise.spread(
                    self.machine.noise.signs(self.machine.noise.off(r, self.machine.noise.ulps * drift(operands, r), exactly)), operands, batch, folds=few
                )
                for r in (results if isinstance(results, tuple) else (results,))
            ]
            return tuple(off) if isinstance(results, tuple) else off[0]

        return noisy

    def _with_partial_products(self, op: Operation, exact: Callable[..., Any]) -> Callable[..., Any]:
        """Products of elements of which some together overflow, or vanish though others are large: in another order they may meet a zero or an infinity."""
        dims = tuple(ints(op.properties["dimensions"])) if op.name.endswith(".reduce") else None

        def noisy(*operands: Any) -> Any:
            results = exact(*operands)
            xs = [as_array(x) for x in operands[: len(op.results)]]
            made = [self._of_partial_products(x, as_array(r), dims) for x, r in zip(xs, results if isinstance(results, tuple) else (results,), strict=True)]
            return tuple(made) if isinstance(results, tuple) else made[0]

        return noisy

    def _of_partial_products(self, x: Any, result: Any, dims: tuple[int, ...] | None) -> Any:
        if x.dtype.kind not in "fcV" or not x.size:
            return result[()]
        info = finfo(part(x.dtype))
        with np.errstate(all="ignore"):
            size = np.log2(np.abs(np.where(np.isfinite(x), x, 1)).astype(np.float64))
            size = np.where(np.isfinite(size), size, 0.0)
            large, small = (f(size, 0.0).sum(axis=dims) for f in (np.maximum, np.minimum))
        undecided = (large > np.log2(float(info.max))) | ((small < np.log2(float(info.smallest_normal))) & (large > 0))
        drawn = self.machine.noise.rng.choice([np.nan, np.inf, -np.inf, 0.0, 1.0], result.shape)
        with np.errstate(all="ignore"):
            other = np.where(drawn == 1.0, result, drawn).astype(result.dtype)
        return np.where(np.broadcast_to(undecided, result.shape), other, result).astype(result.dtype)[()]

    def _in_any_order(self, op: stablehlo.ReduceOp | stablehlo.ReduceWindowOp, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A reduction by a region of any kind: neighbours before of their results in some of the runs, and the initial value in front, behind, or nowhere.

        The specification leaves open over which tree elements are combined, and where and how often the initial value is among them.
        """
        body, n = self.scalar_region(op.body), len(op.results)

        def noisy(*operands: Any) -> Any:
            xs, inits = operands[:n], operands[n:]
            if xs[0].size == 0 or self.machine.noise.rng.random() < 0.5:
                return exact(*operands)
            rows = _rows(op, xs, inits)
            if not rows or not np.size(rows[0][0]):
                return exact(*operands)
            kept = np.shape(rows[0][0])
            while len(rows) > 1:
                pairs = [body(*a, *b) for a, b in zip(rows[::2], rows[1::2], strict=False)]
                rows = pairs + rows[len(pairs) * 2 :]
            first, place = [np.broadcast_to(init, kept) for init in inits], self.machine.noise.rng.integers(0, 3)
            ends = rows[0] if place == 0 else body(*first, *rows[0]) if place == 1 else body(*rows[0], *first)
            results = tuple([np.asarray(y).astype(x.dtype)[()] for x, y in zip(xs, ends, strict=True)])
            return results if n > 1 else results[0]

        return noisy

    def _by_inverse(self, op: stablehlo.TriangularSolveOp, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A system solved by substitution, or, in some of the runs, by a product with the inverse of the matrix, as XLA does."""
        left = bool(int_of(op.left_side))

        def noisy(a: Any, b: Any) -> Any:
            if b.size == 0 or self.machine.noise.rng.random() < 0.5:
                return exact(a, b)
            inverse = self.machine.noise.off(inverse_by(exact, a, b.shape[-1 if left else -2], left), self.machine.noise.ulps, False, units=True)
            return np.asarray(inverse @ b if left else b @ inverse).astype(b.dtype)[()]

        return noisy

    def _of_other_terms(self, op: stablehlo.ReducePrecisionOp, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A term of a derivative rounded to few bits: off by a unit in the last of them where other terms are rounded instead."""
        bits_kept = int_of(op.mantissa_bits)

        def off(x: Any) -> Any:
            units = 2.0 ** max(int(finfo(as_array(x).dtype).nmant) - bits_kept, 0) if self.machine.noise.rounds else 0.0
            return self.machine.noise.off(x, units, False, units=True)

        return self._after(exact, off)

    def _scaled_first(self, op: stablehlo.BatchNormInferenceOp, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A normalisation by a given mean and variance, or, in some of the runs, x and the mean times one factor, as XLA does: either product may overflow."""
        dimension, epsilon = int_of(op.feature_index), float(op.epsilon.value.data)

        def noisy(x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
            if self.machine.noise.rng.random() < 0.5:
                return exact(x, scale, offset, mean, variance)
            along = (-1, *(1,) * (np.ndim(x) - 1 - dimension))
            with np.errstate(all="ignore"):
                factor = scale / np.sqrt(variance + np.asarray(epsilon, x.dtype))
                return np.asarray(x * factor.reshape(along) + (offset - mean * factor).reshape(along)).astype(x.dtype)

        return noisy

    def _by_moments(self, op: stablehlo.BatchNormTrainingOp, exact: Callable[..., Any]) -> Callable[..., Any]:
        """A normalisation by the mean and variance of its operand, or, in some of the runs, by a variance that is the mean square less the squared mean, as
        XLA's: of equal numbers it is as large as the rounding of their squares, and may be negative."""
        dimension, epsilon = int_of(op.feature_index), float(op.epsilon.value.data)

        def noisy(x: Any, scale: Any, offset: Any) -> Any:
            if np.size(x) == 0 or self.machine.noise.rng.random() < 0.5:
                return exact(x, scale, offset)
            others = tuple(d for d in range(np.ndim(x)) if d != dimension)
            along = (-1, *(1,) * (np.ndim(x) - 1 - dimension))
            with np.errstate(all="ignore"):
                mean = np.mean(x, axis=others).astype(x.dtype)
                variance = (self.machine.noise.off(np.mean(x * x, axis=others), self.machine.noise.ulps, False, units=True) - mean * mean).astype(x.dtype)
                factor = scale / np.sqrt(variance + np.asarray(epsilon, x.dtype))
                output = (x - mean.reshape(along)) * factor.reshape(along) + offset.reshape(along)
            return output.astype(x.dtype), mean, variance

        return noisy

    def _with_holes(self, exact: Callable[..., Any], batch: int) -> Callable[..., Any]:
        """A convolution or factorization of numbers that are not finite: whether they meet zeros (of padding, dilation, half a matrix) is left open."""

        def noisy(*operands: Any) -> Any:
            results = exact(*operands)
            finite = [np.isfinite(x).all(axis=tuple(range(batch, np.ndim(x)))) for x in operands if np.asarray(x).dtype.kind in "fcV"]
            met = ~np.all(finite, axis=0)
            if not met.any():
                return results
            return tuple([drawn(r, met) for r in results]) if isinstance(results, tuple) else drawn(results, met)

        def drawn(result: Any, met: Any) -> Any:
            result = as_array(result)
            if result.dtype.kind not in "fcV":
                return result
            chosen = 2 if self.machine.noise.skips_holes else self.machine.noise.rng.integers(0, 3, result.shape)
            return np.choose(np.where(per_batch(met, result), chosen, 0), [result, np.full_like(result, np.nan), np.zeros_like(result)])

        return noisy


def _rows(op: stablehlo.ReduceOp | stablehlo.ReduceWindowOp, xs: tuple[Any, ...], inits: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """What a reduction combines, in order: for each place within what is reduced the elements there, of each operand."""
    if isinstance(op, stablehlo.ReduceWindowOp):
        windows = windows_of(op, np.ndim(xs[0]), shape(op.results[0]))
        surrounded = [windows.padded(x, init) for x, init in zip(xs, inits, strict=True)]
        return [tuple(x[position] for x in surrounded) for position in windows.positions()]
    dims = sorted(ints(op.dimensions))
    kept = [extent for d, extent in enumerate(xs[0].shape) if d not in dims]
    return list(zip(*[np.moveaxis(x, dims, range(len(dims))).reshape((-1, *kept)) for x in xs], strict=True))
