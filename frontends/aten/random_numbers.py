"""Random numbers: from the state of a generator (Threefry: Salmon et al. 2011), which is an argument and, as each op leaves it, a result.

They have the distributions that PyTorch's have, and other values: PyTorch's generators are no part of an export.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p, pi, sqrt
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from wengert.dialects import chlo, core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import Value
from wengert.dialects.stablehlo import attributes as sa
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import Number, means
from wengert.frontends.aten.ordering import ordered
from wengert.frontends.aten.result_types.rules import asked, same
from wengert.frontends.aten.result_types.views import chosen, integers, made, noisy, with_mask
from wengert.frontends.aten.result_types.views import normal as normal_numbers
from wengert.ir.tensor_types import element, f32, f64, i1, i64, is_float, shape, tensor, ui32, ui64


def _bits(b: AtenBuilder, type: TensorType[Any]) -> Value:
    if b.random_state is None:
        raise b.refuse(
            "random numbers come from the state of a generator, which this program does not have",
            "give it one: wg.from_torch(exported, seed=0); or export the module in eval mode, or pass random numbers as an input",
        )
    algorithm = sa.RngAlgorithmAttr(sa.RngAlgorithm.THREE_FRY)
    b.random_state, bits = b.create(hlo.RngBitGeneratorOp, (b.random_state,), (b.random_state.type, type), {"rng_algorithm": algorithm})
    return bits


def _uniform(b: AtenBuilder, extents: Sequence[int], element_type: Any) -> Value:
    """Numbers of [0, 1): multiples of 2^-53 (2^-24 for floats of at most 32 bits)."""
    wide = element_type == f64
    bits = _bits(b, tensor(extents, ui64 if wide else ui32))
    kept = b.like(hlo.ShiftRightLogicalOp, bits, b.full_like(bits, 11 if wide else 8))
    uniform = b.convert(kept, f64 if wide else f32)
    return b.convert(b.multiply(uniform, b.full_like(uniform, 2.0**-53 if wide else 2.0**-24)), element_type)


def _normal(b: AtenBuilder, extents: Sequence[int], element_type: Any) -> Value:
    """Numbers of the standard normal distribution, by its inverse."""
    exact = f64 if element_type == f64 else f32
    u = _uniform(b, extents, exact)
    # The middle of each step: never 0 or 1, where the inverse is infinite.
    centred = b.subtract(b.multiply(u, b.full_like(u, 2)), b.full_like(u, 1 - (2.0**-53 if exact == f64 else 2.0**-24)))
    standard = b.multiply(b.like(chlo.ErfInvOp, centred), b.full_like(u, sqrt(2)))
    return b.convert(standard, element_type)


def _stretched(b: AtenBuilder, x: Value, scale: Value | Number, start: Value | Number) -> Value:
    return b.add(b.multiply(x, b.fitted(scale)), b.fitted(start))


@means("rand.default(size, *, dtype=None)", "rand_like.default(self, *, dtype=None)", results=made)
def rand(b: AtenBuilder, *_: Any, **__: Any) -> Value:
    """Uniform in [0, 1)."""
    return _uniform(b, b.extents, b.element_type)


@means("uniform.default(self, from=0.0, to=1.0)", results=same)
def uniform(b: AtenBuilder, x: Value, low: Number = 0, high: Number = 1, **_: Any) -> Value:
    """Uniform in [low, high)."""
    return _stretched(b, _uniform(b, b.extents, b.element_type), high - low, low)


@means("randn.default(size, *, dtype=None)", "randn_like.default(self, *, dtype=None)", results=made)
def randn(b: AtenBuilder, *_: Any, **__: Any) -> Value:
    """Normal, with mean 0 and variance 1."""
    return _normal(b, b.extents, b.element_type)


@means("normal_functional.default(self, mean=0.0, std=1.0)", results=same)
def normal_functional(b: AtenBuilder, x: Value, mean: Number = 0, std: Number = 1, **_: Any) -> Value:
    """Normal."""
    return _stretched(b, _normal(b, b.extents, b.element_type), std, mean)


@means(
    "normal.Tensor_Tensor(mean, std)",
    "normal.Tensor_float(mean, std=1.0)",
    "normal.float_Tensor(mean, std)",
    "normal.float_float(mean, std, size, *, dtype=None)",
    results=normal_numbers,
)
def normal(b: AtenBuilder, mean: Value | Number, std: Value | Number = 1, *_: Any, **__: Any) -> Value:
    """Normal; as in PyTorch a constant for derivatives."""
    drawn = _stretched(b, _normal(b, b.extents, b.element_type), std, mean)
    return b.stopped(drawn)


@means("exponential.default(self, lambd=1.0)", results=same)
def exponential(b: AtenBuilder, x: Value, rate: Number = 1, **_: Any) -> Value:
    """Exponentially distributed."""
    u = _uniform(b, b.extents, b.element_type)
    return b.divide(b.negate(b.log_plus_one(b.negate(u))), b.full_like(u, rate))


@means("log_normal.default(self, mean=1, std=2)", results=same)
def log_normal(b: AtenBuilder, x: Value, mean: Number = 1, std: Number = 2, **_: Any) -> Value:
    """Numbers whose logarithms are normal."""
    return b.exponential(_stretched(b, _normal(b, b.extents, b.element_type), std, mean))


@means("cauchy.default(self, median=0, sigma=1)", results=same)
def cauchy(b: AtenBuilder, x: Value, median: Number = 0, sigma: Number = 1, **_: Any) -> Value:
    """Cauchy's distribution: the tangent of a uniform angle."""
    angle = _stretched(b, _uniform(b, b.extents, b.element_type), pi, -pi / 2)
    return _stretched(b, b.tan(angle), sigma, median)


@means("geometric.default(self, p)", results=same)
def geometric(b: AtenBuilder, x: Value, p: float, **_: Any) -> Value:
    """How many trials it takes until one succeeds that does with the probability p."""
    u = _uniform(b, b.extents, b.element_type if is_float(b.element_type) else f32)
    trials = b.ceil(b.divide(b.log_plus_one(b.negate(u)), b.full_like(u, log1p(-p) if p < 1 else float("-inf"))))
    return b.convert(b.maximum(trials, b.full_like(u, 1)), b.element_type)


@means("multinomial.default(self, num_samples, replacement=False)", results=chosen)
def multinomial(b: AtenBuilder, weights: Value, count: int, replacement: bool = False, **_: Any) -> Value:
    """Positions along the last dimension, with probabilities in proportion to weights: the largest of log(weight) + Gumbel noise, or the first so many."""
    extents = shape(weights)
    last = len(extents) - 1
    logs = b.log(b.stopped(weights))
    wide = (*extents[:last], count, extents[last]) if replacement else extents
    noise = b.negate(b.log(b.negate(b.log_plus_one(b.negate(_uniform(b, wide, element(weights)))))))
    if replacement:
        return b.argreduce(core.Extreme.max, b.add(b.broadcast_in_dim(logs, [*range(last), last + 1], wide), noise), last + 1, i64)[1]
    order = ordered(b, b.add(logs, noise), last, True)[1]
    return b.slice(order, [0] * (last + 1), [*extents[:last], count])


@means("rrelu_with_noise_functional.default(self, noise, lower=0.125, upper=0.3333333333333333, training=False)", results=noisy)
def rrelu_with_noise(
    b: AtenBuilder, x: Value, noise: Value, lower: Number = 0.125, upper: Number = 1 / 3, training: bool = False, **_: Any
) -> tuple[Value, Value]:
    """x where it is positive, else a random multiple of it, or the mean one; and the multiples."""
    positive = b.compare("GT", x, b.full_like(x, 0))
    if not training:
        return b.select(positive, x, b.multiply(x, b.full_like(x, (lower + upper) / 2))), noise
    slopes = b.select(positive, b.full_like(x, 1), _stretched(b, _uniform(b, shape(x), element(x)), upper - lower, lower))
    return b.multiply(x, slopes), slopes


def _integers(b: AtenBuilder, low: int, high: int) -> Value:
    """Integers of [low, high): 64 random bits modulo the count, of which the smaller ones are more likely by a factor of 1 + count / 2^64."""
    bits = _bits(b, tensor(b.extents, ui64))
    remainders = b.convert(b.remainder(bits, b.full_like(bits, high - low)), i64)
    return b.convert(b.add(remainders, b.full_like(remainders, low)), b.element_type)


@means("randint.default(high, size, *, dtype=None)", results=integers)
def randint(b: AtenBuilder, high: int, *_: Any, **__: Any) -> Value:
    """Integers of [0, high)."""
    return _integers(b, 0, high)


@means("randint.low(low, high, size, *, dtype=None)", results=integers)
def randint_low(b: AtenBuilder, low: int, high: int, *_: Any, **__: Any) -> Value:
    """Integers of [low, high)."""
    return _integers(b, low, high)


@means("randint_like.default(self, high, *, dtype=None)", results=asked)
def randint_like(b: AtenBuilder, x: Value, high: int, **_: Any) -> Value:
    """Integers of [0, high)."""
    return _integers(b, 0, high)


@means("randint_like.low_dtype(self, low, high, *, dtype=None)", results=asked)
def randint_like_low(b: AtenBuilder, x: Value, low: int, high: int, **_: Any) -> Value:
    """Integers of [low, high)."""
    return _integers(b, low, high)


@means("randperm.default(n, *, dtype=None)", results=integers)
def randperm(b: AtenBuilder, n: int, **_: Any) -> Value:
    """The numbers below n in a random order: that of n random numbers."""
    return b.convert(ordered(b, _bits(b, tensor((n,), ui64)), 0)[1], b.element_type)


def _below(b: AtenBuilder, chance: Value | Number) -> Value:
    """Whether a number of [0, 1) is below a probability, drawn for each element of the result."""
    if not isinstance(chance, SSAValue):
        u = _uniform(b, b.extents, f32)
        return b.compare("LT", u, b.full_like(u, chance))
    element_type = f64 if element(chance) == f64 else f32
    return b.compare("LT", _uniform(b, b.extents, element_type), b.expanded(b.convert(b.stopped(chance), element_type), b.extents))


@means("bernoulli.default(self)", results=same)
def bernoulli(b: AtenBuilder, x: Value, **_: Any) -> Value:
    """1 with the probability x, else 0."""
    return b.convert(_below(b, x), b.element_type)


@means("bernoulli.p(self, p)", "bernoulli.Tensor(self, p)", results=same)
def bernoulli_of(b: AtenBuilder, x: Value, p: Value | Number = 0.5, **_: Any) -> Value:
    """1 with the probability p, else 0."""
    return b.convert(_below(b, p), b.element_type)


def kept_by_dropout(b: AtenBuilder, extents: Sequence[int], p: float) -> Value:
    """Whether each element of an array is kept by dropout, which drops it with the probability p."""
    u = _uniform(b, extents, f32)
    return b.compare("LT", u, b.full_like(u, 1 - p))


@means("native_dropout.default(input, p, train)", results=with_mask)
def native_dropout(b: AtenBuilder, x: Value, p: float, train: bool | None = True) -> tuple[Value, Value]:
    """x / (1 - p) with the probability 1 - p, else 0; and where it is not 0."""
    if train is False:
        return x, b.full(1, tensor(shape(x), i1))
    kept = _below(b, 1 - p)
    scaled = b.multiply(x, b.full_like(x, 1 / (1 - p))) if p < 1 else b.full_like(x, 0)
    return b.select(kept, scaled, b.full_like(x, 0)), kept


@means("dropout.default(input, p, train)", results=same)
def dropout(b: AtenBuilder, x: Value, p: float, train: bool) -> Value:
    """The same without the mask."""
    return native_dropout(b, x, p, train)[0] if train and p else x
