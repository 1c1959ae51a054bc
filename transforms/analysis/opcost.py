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
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2, prod
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import ComplexType, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects import chlo, core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.facts import Facts, MissingFactsError, Traffic, Work, facts_of
from wengert.dialects.kernel.memory import byte_size
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import dtype_of, element, is_complex, is_float, shape, size
from wengert.transforms.core import compound, functions


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


Formula = Callable[[Any], "tuple[int, int]"]
FORMULAS: dict[type[Operation], Formula] = {}
"""Flops and transcendentals of the ops whose facts say that there is a formula."""


def _costs(*classes: type[Operation]) -> Callable[[Formula], Formula]:
    def register(formula: Formula) -> Formula:
        FORMULAS.update(dict.fromkeys(classes, formula))
        return formula

    return register


def cost(op: Operation) -> Cost:
    """The cost of executing this op once, without what its regions or callees do where those are executed themselves.

    Raises:
        MissingFactsError: nobody has declared what the op costs.
    """
    flops, transcendentals = work(op)
    read, written = moved(op)
    return Cost(flops, transcendentals, read, written)


def work(op: Operation) -> tuple[int, int]:
    """Flops and transcendental functions of one execution."""
    facts = facts_of(type(op))
    if facts.work is Work.ELEMENTS:
        return _elements(op, facts)
    if facts.work is Work.FORMULA:
        return FORMULAS[type(op)](op)
    if facts.work is Work.BODY:
        from wengert.transforms.analysis.kernel_cost import kernel_work

        return kernel_work(op)
    return _expanded(op) if facts.work is Work.EXPANSION else (0, 0)


def _elements(op: Operation, facts: Facts) -> tuple[int, int]:
    if not _is_floating(op.operands[-1]):
        return 0, 0
    n = size(op.results[0])
    flops = facts.flops[is_complex(element(op.operands[0]))]
    return n * flops, n if facts.transcendental else 0


def _is_floating(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and (is_float(element(value)) or is_complex(element(value)))


def bytes_of(value: SSAValue) -> int:
    """The size of a tensor; tokens and tuples have none."""
    if not isinstance(value.type, TensorType):
        return 0
    return size(value) * dtype_of(element(value)).itemsize


def moved(op: Operation) -> tuple[int, int]:
    """Bytes read and written by one execution."""
    traffic = facts_of(type(op)).traffic
    if traffic is Traffic.WHOLE:
        return sum(map(bytes_of, op.operands)), sum(map(bytes_of, op.results))
    if traffic is Traffic.NONE:
        return 0, 0
    return _PARTS[traffic](op)


def _slice(op: Operation) -> tuple[int, int]:
    written = bytes_of(op.results[0])
    return written + sum(map(bytes_of, op.operands[1:])), written


def _update(op: Operation) -> tuple[int, int]:
    return sum(map(bytes_of, op.operands[1:])), bytes_of(op.operands[1])


def _scattered(op: Operation) -> tuple[int, int]:
    inputs = len(op.results)
    touched = sum(map(bytes_of, op.operands[inputs + 1 :]))
    return 2 * touched + bytes_of(op.operands[inputs]), touched


def _written_on_tape(op: Operation) -> tuple[int, int]:
    return bytes_of(op.operands[-1]), bytes_of(op.operands[-1])


def _copied(op: Operation) -> tuple[int, int]:
    return byte_size(op.operands[0]), byte_size(op.operands[1])


def _in_body(op: Operation) -> tuple[int, int]:
    kernel = op.regions[0].block.first_op
    assert kernel is not None
    return moved(kernel)


_PARTS: dict[Traffic, Callable[[Operation], tuple[int, int]]] = {
    Traffic.COPY: _copied,
    Traffic.BODY: _in_body,
    Traffic.SLICE: _slice,
    Traffic.UPDATE: _update,
    Traffic.SCATTER: _scattered,
    Traffic.TAPE: _written_on_tape,
}


def region_work(region: Region) -> tuple[int, int]:
    """Flops and transcendental functions of one application of a scalar region."""
    works = [work(op) for op in region.block.ops if not op.regions]
    return sum(flops for flops, _ in works), sum(functions for _, functions in works)


def _times(count: int, region: Region) -> tuple[int, int]:
    flops, transcendentals = region_work(region)
    return count * flops, count * transcendentals


def _combination(kind: core.Kind, value: SSAValue) -> int:
    """Flops of combining two elements."""
    if not _is_floating(value) or kind is core.Kind.set:
        return 0
    if is_complex(element(value)):
        return 6 if kind is core.Kind.mul else 2
    return 1


@_costs(stablehlo.ReduceOp)
def _reduce(op: stablehlo.ReduceOp) -> tuple[int, int]:
    return _times(max(0, size(op.inputs[0]) - size(op.results[0])), op.body)


@_costs(stablehlo.ReduceWindowOp)
def _reduce_window(op: stablehlo.ReduceWindowOp) -> tuple[int, int]:
    return _times(size(op.results[0]) * max(0, prod(ints(op.window_dimensions)) - 1), op.body)


@_costs(stablehlo.SelectAndScatterOp)
def _select_and_scatter(op: stablehlo.SelectAndScatterOp) -> tuple[int, int]:
    window = prod(ints(op.window_dimensions)) if op.window_dimensions is not None else 1
    selected, scattered = _times(size(op.source) * max(0, window - 1), op.select), _times(size(op.source), op.scatter)
    return selected[0] + scattered[0], selected[1] + scattered[1]


@_costs(stablehlo.MapOp)
def _map(op: stablehlo.MapOp) -> tuple[int, int]:
    return _times(size(op.result), op.computation)


@_costs(stablehlo.ScatterOp)
def _scatter(op: stablehlo.ScatterOp) -> tuple[int, int]:
    return _times(size(op.updates[0]), op.update_computation)


@_costs(stablehlo.SortOp)
def _sort(op: stablehlo.SortOp) -> tuple[int, int]:
    extents = shape(op.inputs[0])
    line = extents[op.dimension.value.data if op.dimension is not None else -1] if extents else 1
    return _times(size(op.inputs[0]) * ceil(log2(max(line, 1))), op.comparator)


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
    return sum(flops for flops, _ in works), sum(functions for _, functions in works)


@_costs(chlo.ScanOp)
def _scan(op: chlo.ScanOp) -> tuple[int, int]:
    return _times(shape((*op.inputs, *op.outputs)[0])[op.dimension.value.data], op.body)


@_costs(chlo.TopKOp)
def _top_k(op: chlo.TopKOp) -> tuple[int, int]:
    return (size(op.operand) * ceil(log2(max(shape(op.operand)[-1], 1))) if _is_floating(op.operand) else 0), 0


@_costs(core.ReduceOp)
def _core_reduce(op: core.ReduceOp) -> tuple[int, int]:
    return max(0, size(op.operand) - size(op.result)) * _combination(op.kind.data, op.operand), 0


@_costs(core.ArgReduceOp)
def _argreduce(op: core.ArgReduceOp) -> tuple[int, int]:
    return (max(0, size(op.operand) - size(op.value)) if _is_floating(op.operand) else 0), 0


@_costs(core.WindowReduceOp)
def _window_reduce(op: core.WindowReduceOp) -> tuple[int, int]:
    return size(op.result) * max(0, prod(ints(op.window_dimensions)) - 1) * _combination(op.kind.data, op.operand), 0


@_costs(core.CumulativeOp)
def _cumulative(op: core.CumulativeOp) -> tuple[int, int]:
    n, line = size(op.operand), shape(op.operand)[op.dimension.value.data]
    return (n - n // line if line else 0) * _combination(op.kind.data, op.operand), 0


@_costs(core.TapeAddOp)
def _tape_add(op: core.TapeAddOp) -> tuple[int, int]:
    return size(op.value) * _combination(core.Kind.add, op.value), 0


@_costs(core.ScatterOp)
def _core_scatter(op: core.ScatterOp) -> tuple[int, int]:
    return size(op.updates) * _combination(op.kind.data, op.operand), 0


def _product(element_type: Attribute) -> int:
    """Flops of a multiplication and an addition."""
    return 8 if is_complex(element_type) else 2 if is_float(element_type) else 0


@_costs(stablehlo.DotGeneralOp)
def _dot_general(op: stablehlo.DotGeneralOp) -> tuple[int, int]:
    contracted = prod(shape(op.lhs)[d] for d in op.dot_dimension_numbers.dims("lhs_contracting_dimensions"))
    return _product(element(op.result)) * size(op.result) * contracted, 0


@_costs(stablehlo.ConvolutionOp)
def _convolution(op: stablehlo.ConvolutionOp) -> tuple[int, int]:
    out_features = shape(op.rhs)[op.dimension_numbers.roles[1][1]]
    return _product(element(op.result)) * size(op.result) * (size(op.rhs) // max(out_features, 1)), 0


@_costs(stablehlo.FftOp)
def _fft(op: stablehlo.FftOp) -> tuple[int, int]:
    length = prod(ints(op.fft_length))
    real_side = op.operand if op.fft_type.data == "RFFT" else op.result
    half = 2 if op.fft_type.data in ("RFFT", "IRFFT") else 1
    return round(5 * size(real_side) * log2(max(length, 1)) / half), 0


@_costs(stablehlo.CholeskyOp)
def _cholesky(op: stablehlo.CholeskyOp) -> tuple[int, int]:
    return _factor("potrf", op.a), 0


@_costs(stablehlo.TriangularSolveOp)
def _triangular_solve(op: stablehlo.TriangularSolveOp) -> tuple[int, int]:
    return size(op.b) * shape(op.a)[-1] * (4 if is_complex(element(op.a)) else 1), 0


_CUBIC: dict[str, Callable[[int, int], float]] = {
    "potrf": lambda m, n: n**3 / 3,
    "getrf": lambda m, n: m * n * min(m, n) - (m + n) * min(m, n) ** 2 / 2 + min(m, n) ** 3 / 3,
    "geqrf": lambda m, n: 2 * m * n**2 - 2 * n**3 / 3 if m >= n else 2 * n * m**2 - 2 * m**3 / 3,
    "orgqr": lambda m, n: 2 * m * n**2 - 2 * n**3 / 3,
    "ungqr": lambda m, n: 2 * m * n**2 - 2 * n**3 / 3,
    "gehrd": lambda m, n: 10 * n**3 / 3,
    "sytrd": lambda m, n: 4 * n**3 / 3,
    "hetrd": lambda m, n: 4 * n**3 / 3,
    "syevd": lambda m, n: 9 * n**3,
    "heevd": lambda m, n: 9 * n**3,
    "geev": lambda m, n: 25 * n**3,
    "gees": lambda m, n: 25 * n**3,
    "gesdd": lambda m, n: 22 * min(m, n) ** 2 * max(m, n),
    "gesvd": lambda m, n: 22 * min(m, n) ** 2 * max(m, n),
}


def _factor(name: str, matrices: SSAValue) -> int:
    *batch, m, n = shape(matrices)
    formula = _CUBIC.get(name)
    scale = 4 if isinstance(element(matrices), ComplexType) else 1
    return scale * prod(batch) * round(formula(m, n)) if formula else 0


_CORE_FACTORS: dict[type[Operation], tuple[str, ...]] = {
    core.CholeskyOp: ("potrf",),
    core.LuOp: ("getrf",),
    core.QrOp: ("geqrf", "orgqr"),
    core.EighOp: ("syevd",),
    core.SvdOp: ("gesdd",),
    core.EigOp: ("geev",),
}


@_costs(*_CORE_FACTORS)
def _core_factors(op: Operation) -> tuple[int, int]:
    return sum(_factor(name, op.operands[0]) for name in _CORE_FACTORS[type(op)]), 0


@_costs(core.CholeskySolveOp, core.LuSolveOp)
def _by_factors(op: core.CholeskySolveOp | core.LuSolveOp) -> tuple[int, int]:
    return 2 * size(op.b) * shape(op.a)[-1] * (4 if is_complex(element(op.a)) else 1), 0


@_costs(core.TridiagonalSolveOp)
def _tridiagonal(op: core.TridiagonalSolveOp) -> tuple[int, int]:
    # a quotient and a product less per row; then per row and side a product less, two products less and a quotient
    *batch, rows, sides = shape(op.b)
    scale = 4 if isinstance(element(op.b), ComplexType) else 1
    return scale * prod(batch) * rows * (3 + 7 * sides), 0


@_costs(stablehlo.CustomCallOp)
def _custom_call(op: stablehlo.CustomCallOp) -> tuple[int, int]:
    """By the LAPACK routine that the target names; calls of other targets count no flops."""
    target = op.call_target_name.data
    if not op.inputs or not isinstance(op.inputs[0].type, TensorType):
        return 0, 0
    name = target.removesuffix("_ffi").removeprefix("cusolver_")
    name = name[len("lapack_d") :] if name.startswith("lapack_") else name
    if name == "trsm":
        return size(op.inputs[1]) * shape(op.inputs[0])[-1] * (4 if is_complex(element(op.inputs[0])) else 1), 0
    return (_factor(name, op.inputs[0]) if len(shape(op.inputs[0])) >= 2 else 0), 0


def total(costs: list[Cost]) -> Cost:
    """The sum of costs."""
    return Cost(*(sum(cast(int, getattr(c, f)) for c in costs) for f in ("flops", "transcendentals", "bytes_read", "bytes_written")))
