"""The costs of one op, from its facts and types alone: flops, transcendental functions, bytes.

Which ops count by elements, by a formula or not at all is a fact of each (:mod:`wengert.dialects.facts`); here are the formulas.

Flops count floating-point operations, whatever the width; integer work counts none. A complex addition is 2, a product
6, a quotient 11. The formulas, with n elements in the result unless said otherwise:

=====================================  ==============================================================================
elementwise arithmetic, compare        n (clamp 2n, logistic and rsqrt likewise count as their parts)
transcendental functions               n, and n transcendentals
select, convert, bits, shapes          0
reduce, window_reduce, cumulative      one body per combination: inputs - outputs; outputs * (window - 1); n - lines
dot_general                            2 * batch * m * n * k (complex: 8)
convolution                            2 * n * kernel elements * input features per group
ops that are defined by others         what those do
scatter, select_and_scatter            one body per update (and one selection per element of a window but the first)
sort, top_k                            one comparison for each of m * ceil(log2 m) steps per line of length m
fft                                    5 N log2 N per complex transform, half for a real one
cholesky                               n^3 / 3; triangular_solve: n^2 per right-hand side, by factors 2 n^2
getrf, geqrf, orgqr, gehrd, sytrd      2 n^3/3, 2 m n^2 - 2 n^3/3, the same, 10 n^3/3, 4 n^3/3 (LAPACK Working Note 41)
syevd, geev, gees, gesdd               9, 25, 25 and 22 n^3: estimates (Golub, Van Loan, Matrix Computations, 8.6, 7.5)
=====================================  ==============================================================================

Bytes are those of the operands read and the results written, except that indexing ops read and write only what they
touch (a slice of a large array costs the slice; an update in place costs the update, as a compiler would do it), and
calls, control flow, tuples and barriers move nothing themselves: what their regions do is counted there.

Constants and terminators are not executed (:func:`is_executed`): a constant lies in the program, and who reads it counts its bytes. The counting interpreter
follows the same convention.

The formulas compute with whatever :class:`~wengert.transforms.analysis.symbolic.extents.Extents` gives: integers for the types as they are written,
polynomials where costs are asked for as functions of sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from wengert.dialects import chlo, core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.facts import Facts, MissingFactsError, Traffic, Work, facts_of
from wengert.dialects.kernel.memory import byte_size
from wengert.ir.tensor_types import element, is_complex, is_float
from wengert.transforms.analysis.factorization_flops import CUBIC, factorization, routine_of, scale
from wengert.transforms.analysis.symbolic.extents import STATIC, Extents, bytes_of, size
from wengert.transforms.analysis.symbolic.integers import Extent, ceil_log2, larger, product, times_log2
from wengert.transforms.core import compound, functions
from wengert.transforms.core.offloads import FETCH, OFFLOAD
from wengert.transforms.core.recognisers.shardings import IDENTITIES


class Cost(Struct, frozen=True):
    """The cost of executing an op once."""

    flops: int = 0
    transcendentals: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    @property
    def bytes(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written


Pair = tuple[Extent, Extent]
"""Flops and transcendental functions, or bytes read and written."""
Formula = Callable[[Any, Extents], Pair]
FORMULAS: dict[type[Operation], Formula] = {}
"""Flops and transcendentals of the ops whose facts say that there is a formula."""


def _costs(*classes: type[Operation]) -> Callable[[Formula], Formula]:
    def register(formula: Formula) -> Formula:
        FORMULAS.update(dict.fromkeys(classes, formula))
        return formula

    return register


def is_constant(op: Operation) -> bool:
    """Whether an op stands for numbers that are part of the program."""
    return isinstance(op, stablehlo.ConstantOp | chlo.ConstantOp)


def is_executed(op: Operation) -> bool:
    """Whether an op counts as executed: all but constants and terminators, which name what a region returns."""
    return not is_constant(op) and not op.has_trait(IsTerminator, value_if_unregistered=False)


def cost(op: Operation) -> Cost:
    """The cost of executing this op once, without what its regions or callees do where those are executed themselves.

    Raises:
        MissingFactsError: nobody has declared what the op costs.
    """
    flops, transcendentals = work(op)
    read, written = moved(op)
    return Cost(int(flops), int(transcendentals), int(read), int(written))


def work(op: Operation, extents: Extents = STATIC) -> Pair:
    """Flops and transcendental functions of one execution."""
    facts = facts_of(type(op))
    if facts.work is Work.ELEMENTS:
        return _elements(op, facts, extents)
    if facts.work is Work.FORMULA:
        return FORMULAS[type(op)](op, extents)
    if facts.work is Work.BODY:
        from wengert.transforms.analysis.kernel_cost import kernel_work

        return kernel_work(op)
    if facts.work is Work.EXPANSION:
        return extents.function(op, lambda op: _expanded(op)[0]), extents.function(op, lambda op: _expanded(op)[1])
    return 0, 0


def _elements(op: Operation, facts: Facts, extents: Extents) -> Pair:
    if not _is_floating(op.operands[-1]):
        return 0, 0
    n = size(extents, op.results[0])
    flops = facts.flops[is_complex(element(op.operands[0]))]
    return n * flops, n if facts.transcendental else 0


def _is_floating(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and (is_float(element(value)) or is_complex(element(value)))


def moved(op: Operation, extents: Extents = STATIC) -> Pair:
    """Bytes read and written by one execution."""
    traffic = facts_of(type(op)).traffic
    if traffic is Traffic.WHOLE:
        return _all_bytes(op.operands, extents), _all_bytes(op.results, extents)
    if traffic is Traffic.NONE:
        return 0, 0
    return _PARTS[traffic](op, extents)


def _all_bytes(values: Sequence[SSAValue], extents: Extents) -> Extent:
    return sum([bytes_of(extents, value) for value in values])


def _slice(op: Operation, extents: Extents) -> Pair:
    written = bytes_of(extents, op.results[0])
    return written + _all_bytes(op.operands[1:], extents), written


def _update(op: Operation, extents: Extents) -> Pair:
    return _all_bytes(op.operands[1:], extents), bytes_of(extents, op.operands[1])


def _scattered(op: Operation, extents: Extents) -> Pair:
    inputs = len(op.results)
    touched = _all_bytes(op.operands[inputs + 1 :], extents)
    return 2 * touched + bytes_of(extents, op.operands[inputs]), touched


def _written_on_tape(op: Operation, extents: Extents) -> Pair:
    return bytes_of(extents, op.operands[-1]), bytes_of(extents, op.operands[-1])


def _copied(op: Operation, extents: Extents) -> Pair:
    return byte_size(op.operands[0]), byte_size(op.operands[1])


def _in_body(op: Operation, extents: Extents) -> Pair:
    kernel = op.regions[0].block.first_op
    assert kernel is not None
    return moved(kernel, extents)


_PARTS: dict[Traffic, Callable[[Operation, Extents], Pair]] = {
    Traffic.COPY: _copied,
    Traffic.BODY: _in_body,
    Traffic.SLICE: _slice,
    Traffic.UPDATE: _update,
    Traffic.SCATTER: _scattered,
    Traffic.TAPE: _written_on_tape,
}


def region_work(region: Region, extents: Extents = STATIC) -> Pair:
    """Flops and transcendental functions of one application of a scalar region."""
    works = [work(op, extents) for op in region.block.ops if not op.regions]
    return sum(flops for flops, _ in works), sum(functions for _, functions in works)


def _times(count: Extent, region: Region, extents: Extents) -> Pair:
    flops, transcendentals = region_work(region, extents)
    return count * flops, count * transcendentals


def _combination(kind: core.Kind, value: SSAValue) -> int:
    """Flops of combining two elements."""
    if not _is_floating(value) or kind is core.Kind.set:
        return 0
    if is_complex(element(value)):
        return 6 if kind is core.Kind.mul else 2
    return 1


def _fewer(whole: SSAValue, part: SSAValue, extents: Extents) -> Extent:
    """How many elements one value has more than another one."""
    return larger(size(extents, whole) - size(extents, part), 0)


def _beyond_first(window: Sequence[Extent]) -> Extent:
    """The elements of a window but one."""
    return larger(product(window) - 1, 0)


@_costs(stablehlo.ReduceOp)
def _reduce(op: stablehlo.ReduceOp, extents: Extents) -> Pair:
    return _times(_fewer(op.inputs[0], op.results[0], extents), op.body, extents)


@_costs(stablehlo.ReduceWindowOp)
def _reduce_window(op: stablehlo.ReduceWindowOp, extents: Extents) -> Pair:
    return _times(size(extents, op.results[0]) * _beyond_first(extents.ints(op, "window_dimensions")), op.body, extents)


@_costs(stablehlo.SelectAndScatterOp)
def _select_and_scatter(op: stablehlo.SelectAndScatterOp, extents: Extents) -> Pair:
    source = size(extents, op.source)
    others = _beyond_first(extents.ints(op, "window_dimensions")) if op.window_dimensions is not None else 0
    selected, scattered = _times(source * others, op.select, extents), _times(source, op.scatter, extents)
    return selected[0] + scattered[0], selected[1] + scattered[1]


@_costs(stablehlo.MapOp)
def _map(op: stablehlo.MapOp, extents: Extents) -> Pair:
    return _times(size(extents, op.result), op.computation, extents)


@_costs(stablehlo.ScatterOp)
def _scatter(op: stablehlo.ScatterOp, extents: Extents) -> Pair:
    return _times(size(extents, op.updates[0]), op.update_computation, extents)


@_costs(stablehlo.SortOp)
def _sort(op: stablehlo.SortOp, extents: Extents) -> Pair:
    shape = extents.shape(op.inputs[0])
    line = shape[op.dimension.value.data if op.dimension is not None else -1] if shape else 1
    return _times(product(shape) * ceil_log2(line), op.comparator, extents)


def _expanded(op: Operation) -> tuple[int, int]:
    """The work of the ops of the expansion together."""
    block = Block(arg_types=[value.type for value in op.operands])
    copy = op.clone(value_mapper=dict(zip(op.operands, block.args, strict=True)))
    expand = functions.EXPANSIONS.get(type(op)) or (compound.expand if type(op) in compound.EXPANSIONS else None)
    if expand is None:
        raise MissingFactsError(f"by its facts '{op.name}' costs what it is written out in, but nobody writes it out (wengert.transforms.core.functions)")
    if expand(OpBuilder(block), copy) is None:
        return 0, 0
    works = [work(inner) for inner in block.ops]
    return int(sum(flops for flops, _ in works)), int(sum(functions for _, functions in works))


@_costs(chlo.ScanOp)
def _scan(op: chlo.ScanOp, extents: Extents) -> Pair:
    return _times(extents.shape((*op.inputs, *op.outputs)[0])[op.dimension.value.data], op.body, extents)


@_costs(chlo.TopKOp)
def _top_k(op: chlo.TopKOp, extents: Extents) -> Pair:
    return (size(extents, op.operand) * ceil_log2(extents.shape(op.operand)[-1]) if _is_floating(op.operand) else 0), 0


@_costs(core.ReduceOp)
def _core_reduce(op: core.ReduceOp, extents: Extents) -> Pair:
    return _fewer(op.operand, op.result, extents) * _combination(op.kind.data, op.operand), 0


@_costs(core.ArgReduceOp)
def _argreduce(op: core.ArgReduceOp, extents: Extents) -> Pair:
    return (_fewer(op.operand, op.value, extents) if _is_floating(op.operand) else 0), 0


@_costs(core.WindowReduceOp)
def _window_reduce(op: core.WindowReduceOp, extents: Extents) -> Pair:
    others = _beyond_first(extents.ints(op, "window_dimensions"))
    return size(extents, op.result) * others * _combination(op.kind.data, op.operand), 0


@_costs(core.CumulativeOp)
def _cumulative(op: core.CumulativeOp, extents: Extents) -> Pair:
    shape, along = extents.shape(op.operand), op.dimension.value.data
    lines = product([extent for d, extent in enumerate(shape) if d != along])
    return lines * larger(shape[along] - 1, 0) * _combination(op.kind.data, op.operand), 0


@_costs(core.TapeAddOp)
def _tape_add(op: core.TapeAddOp, extents: Extents) -> Pair:
    return size(extents, op.value) * _combination(core.Kind.add, op.value), 0


@_costs(core.ScatterOp)
def _core_scatter(op: core.ScatterOp, extents: Extents) -> Pair:
    return size(extents, op.updates) * _combination(op.kind.data, op.operand), 0


def _product(element_type: Attribute) -> int:
    """Flops of a multiplication and an addition."""
    return 8 if is_complex(element_type) else 2 if is_float(element_type) else 0


@_costs(stablehlo.DotGeneralOp)
def _dot_general(op: stablehlo.DotGeneralOp, extents: Extents) -> Pair:
    shape = extents.shape(op.lhs)
    contracted = product([shape[d] for d in op.dot_dimension_numbers.dims("lhs_contracting_dimensions")])
    return _product(element(op.result)) * size(extents, op.result) * contracted, 0


@_costs(stablehlo.ConvolutionOp)
def _convolution(op: stablehlo.ConvolutionOp, extents: Extents) -> Pair:
    out_features = op.dimension_numbers.roles[1][1]
    kernel = product([extent for d, extent in enumerate(extents.shape(op.rhs)) if d != out_features])
    return _product(element(op.result)) * size(extents, op.result) * kernel, 0


@_costs(stablehlo.FftOp)
def _fft(op: stablehlo.FftOp, extents: Extents) -> Pair:
    real_side = op.operand if op.fft_type.data == "RFFT" else op.result
    half = 2 if op.fft_type.data in ("RFFT", "IRFFT") else 1
    return times_log2(size(extents, real_side) * Fraction(5, half), product(extents.ints(op, "fft_length"))), 0


@_costs(stablehlo.CholeskyOp)
def _cholesky(op: stablehlo.CholeskyOp, extents: Extents) -> Pair:
    return factorization("potrf", op.a, extents), 0


def _triangular(matrix: SSAValue, sides: SSAValue, extents: Extents) -> Extent:
    return size(extents, sides) * extents.shape(matrix)[-1] * scale(matrix)


@_costs(stablehlo.TriangularSolveOp)
def _triangular_solve(op: stablehlo.TriangularSolveOp, extents: Extents) -> Pair:
    return _triangular(op.a, op.b, extents), 0


_CORE_FACTORS: dict[type[Operation], tuple[str, ...]] = {
    core.CholeskyOp: ("potrf",),
    core.LuOp: ("getrf",),
    core.QrOp: ("geqrf", "orgqr"),
    core.EighOp: ("syevd",),
    core.SvdOp: ("gesdd",),
    core.EigOp: ("geev",),
}


@_costs(*_CORE_FACTORS)
def _core_factors(op: Operation, extents: Extents) -> Pair:
    return sum([factorization(name, op.operands[0], extents) for name in _CORE_FACTORS[type(op)]]), 0


@_costs(core.CholeskySolveOp, core.LuSolveOp)
def _by_factors(op: core.CholeskySolveOp | core.LuSolveOp, extents: Extents) -> Pair:
    return 2 * _triangular(op.a, op.b, extents), 0


@_costs(core.TridiagonalSolveOp)
def _tridiagonal(op: core.TridiagonalSolveOp, extents: Extents) -> Pair:
    # a quotient and a product less per row; then per row and side a product less, two products less and a quotient
    *batch, rows, sides = extents.shape(op.b)
    return scale(op.b) * product(batch) * rows * (3 + 7 * sides), 0


@_costs(stablehlo.CustomCallOp)
def _custom_call(op: stablehlo.CustomCallOp, extents: Extents) -> Pair:
    """By the LAPACK routine that the target names; calls of other targets count no flops (:func:`is_of_unknown_cost`)."""
    if not op.inputs or not isinstance(op.inputs[0].type, TensorType):
        return 0, 0
    name = routine_of(op)
    if name == "trsm":
        return _triangular(op.inputs[0], op.inputs[1], extents), 0
    return (factorization(name, op.inputs[0], extents) if len(extents.shape(op.inputs[0])) >= 2 else 0), 0


def is_of_unknown_cost(op: Operation) -> bool:
    """Whether an op calls code for floating-point numbers that nothing is known of, so that its flops are in no count."""
    if not isinstance(op, stablehlo.CustomCallOp) or op.call_target_name.data in (*IDENTITIES, OFFLOAD, FETCH):
        return False
    return any(map(_is_floating, op.inputs)) and routine_of(op) not in (*CUBIC, "trsm")


def total(costs: list[Cost]) -> Cost:
    """The sum of costs."""
    return Cost(*(sum(cast(int, getattr(c, f)) for c in costs) for f in ("flops", "transcendentals", "bytes_read", "bytes_written")))
