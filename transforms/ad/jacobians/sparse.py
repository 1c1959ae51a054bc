"""Sparse Jacobians: the elements of the pattern alone, from few directions of forward mode, reverse mode, or both.

The pattern is known before any number is (:mod:`wengert.transforms.analysis.sparsity`); its columns, its rows, or both are coloured
(:mod:`wengert.transforms.ad.colouring`); all directions of a mode are one batch; and each element is read where it stands alone. ``(inputs) -> for each result
in of and each argument in wrt, a vector of the elements of the pattern of this block, row by row``::

    func @main(%x: tensor<1000xf64>) -> tensor<2998xf64> {      // a tridiagonal Jacobian: three colours
      %seeds = ...                                              // 3x1000: ones where a column has the colour
      %0:2 = ad.batch @main_derivative(%x, %seeds)              // 1000, 3x1000
      %1 = "stablehlo.gather"(%0#1, %places)
      return %1
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from typing import Annotated, Any, Literal, cast

import numpy as np
from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.ir import Block as IRBlock
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr
from wengert.ir.construction import copy_op
from wengert.ir.location.locations import error_at
from wengert.ir.pipeline.options import OneOf
from wengert.ir.tensor_types import element, f32, f64, i64, is_complex, shape_of_type, size, tensor
from wengert.transforms.ad.building_blocks.scatter_numbers import scatter_numbers
from wengert.transforms.ad.colouring.both_sides import coloured_on_both_sides
from wengert.transforms.ad.colouring.columns import NONE, Colours, coloured, coloured_with_fewer, count
from wengert.transforms.ad.colouring.recovery import NotRecoverableError, Recovery, read_directly, read_symmetric, substituted
from wengert.transforms.ad.colouring.symmetric import acyclic_coloured, star_coloured
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.jacobians.batched import BatchedDerivative, Mode, Type, batched_derivative, size_of, starts_of
from wengert.transforms.ad.requests.expand import expand_ad
from wengert.transforms.ad.requests.request import Request, fresh_name, function_named, make_request
from wengert.transforms.ad.strategies import DEFAULT, strategy_names
from wengert.transforms.analysis.sparsity.matrices import Pattern, csr_array
from wengert.transforms.analysis.sparsity.pattern import jacobian_pattern

NAME = "sparse-jacobian"
READ = GatherDimensionNumbersAttr(dimensions(()), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))
"""Single elements of a vector."""

Colouring = Literal["best", "columns", "rows", "both", "star", "acyclic"]
COLOURINGS: tuple[Colouring, ...] = ("best", "columns", "rows", "both", "star", "acyclic")
FEW = 4
"""So many directions of one mode are not worth a second one."""
SHARE_OF_BOTH = 0.75
SYMMETRIC: tuple[Colouring, ...] = ("star", "acyclic")


def colourings() -> list[str]:
    """The colourings, by name."""
    return list(COLOURINGS)


class Compression(Struct, frozen=True):
    """A pattern, the directions in which it is computed, and how its elements are recovered.

    Attributes:
        colouring: what is coloured.
        pattern: of the whole Jacobian.
        columns: the directions of forward mode: a colour for each column.
        rows: those of reverse mode, for each row.
        recovery: where the elements are.
    """

    colouring: Colouring
    pattern: Pattern
    columns: Colours
    rows: Colours
    recovery: Recovery

    @property
    def forward(self) -> int:
        """The directions of forward mode."""
        return count(self.columns)

    @property
    def reverse(self) -> int:
        """The directions of reverse mode."""
        return count(self.rows)


class Block(Struct, frozen=True):
    """A block of a Jacobian: of one result and one argument.

    Attributes:
        result, argument: their types.
        elements: the numbers of its elements among those of the whole pattern, which go row by row.
        rows, columns: where they are in the block.
    """

    result: Type
    argument: Type
    elements: Colours
    rows: Colours
    columns: Colours


@dataclass(frozen=True)
class SparseJacobianPass(ModulePass):
    """Replaces a function by the elements of its Jacobian that may be other than zero, from few directions of either mode or both."""

    name = NAME

    colouring: Annotated[str, OneOf(colourings)] = "best"
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: Annotated[str, OneOf(strategy_names)] = DEFAULT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sparse_jacobian(op, cast("Colouring", self.colouring), self.fn, self.wrt, self.of, self.strategy)


def sparse_jacobian(
    module: ModuleOp,
    colouring: Colouring = "best",
    fn: str = "main",
    wrt: Sequence[int] | None = None,
    of: Sequence[int] | None = None,
    strategy: str = DEFAULT,
) -> Compression:
    """Replaces ``fn`` by the elements of its Jacobian, in place; what was coloured, and how.

    ``star`` and ``acyclic`` are for Jacobians that are symmetric, such as those of gradients. Raises DiagnosticError for what cannot be differentiated or
    batched, and for these colourings where the Jacobian is not square, by name and place.
    """
    prepare(module)
    request = make_request(function_named(module, fn), wrt, of)
    pattern = jacobian_pattern(request)
    if colouring in SYMMETRIC and pattern.shape[0] != pattern.shape[1]:
        raise error_at(
            request.function.location, f"colouring={colouring} needs a symmetric Jacobian, and that of @{fn} is {pattern.shape[0]} x {pattern.shape[1]}"
        )
    plan = compressed(pattern, colouring)
    sparse_derivative(module, NAME, request, plan, strategy, lambda b, block, values: values)
    return plan


def checked_pattern(request: Request, colouring: Colouring) -> Pattern:
    """The pattern of the Jacobian; DiagnosticError where a colouring needs a symmetric one, and this is not square."""
    pattern = jacobian_pattern(request)
    if colouring in SYMMETRIC and pattern.shape[0] != pattern.shape[1]:
        shape = f"{pattern.shape[0]} x {pattern.shape[1]}"
        raise error_at(
            request.function.location, f"a {colouring} colouring is for symmetric Jacobians, and that of @{request.function.sym_name.data} is {shape}"
        )
    return pattern


def compressed(pattern: Pattern, colouring: Colouring, colours: Colours | None = None) -> Compression:
    """The colours for a pattern, unless those of its columns or rows are known; ``best`` is the one of columns, rows and both with the fewest directions.

    The last ones are kept: a derivative asks when it is looked at, and again when its program is made.
    """
    if colours is not None:
        return _compressed(pattern, colouring, colours)
    places = blake2b(pattern.indptr.tobytes())
    places.update(pattern.indices.tobytes())
    key = colouring, pattern.shape, places.digest()
    with _LOCK:
        known = _KEPT.pop(key, None)
    made = _compressed(pattern, colouring) if known is None else known
    with _LOCK:
        _KEPT[key] = made
        if len(_KEPT) > MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
    return made


_KEPT: dict[tuple[Colouring, tuple[int, ...], bytes], Compression] = {}
_LOCK = Lock()
MOST_KEPT = 4


def forget() -> None:
    """Forgets the compressions that are kept."""
    with _LOCK:
        _KEPT.clear()


def _compressed(pattern: Pattern, colouring: Colouring, colours: Colours | None = None) -> Compression:
    if colouring == "columns":
        return one_sided(pattern, "forward", colours)
    if colouring == "rows":
        return one_sided(pattern, "reverse", colours)
    nobody = np.full(pattern.shape[0], NONE, np.int64)
    if colouring == "star":
        columns = star_coloured(pattern)
        return Compression(colouring, pattern, columns, nobody, read_symmetric(pattern, columns))
    if colouring == "acyclic":
        columns = acyclic_coloured(pattern)
        try:
            return Compression(colouring, pattern, columns, nobody, substituted(pattern, columns))
        except NotRecoverableError:  # sums that are too long
            return compressed(pattern, "star")
    if colouring == "both":
        sides = coloured_on_both_sides(pattern)
        return Compression(colouring, pattern, sides.columns, sides.rows, read_directly(pattern, sides.columns, sides.rows))
    return _best(pattern)


def _best(pattern: Pattern) -> Compression:
    """The fewer directions of the two modes; both together only where that takes clearly fewer, since each mode runs the function once more."""
    columns, turned = coloured(pattern), csr_array(pattern.T)
    same = np.array_equal(turned.indptr, pattern.indptr) and np.array_equal(turned.indices, pattern.indices)
    rows = None if same else coloured_with_fewer(turned, count(columns))
    one = compressed(pattern, "columns", columns) if rows is None else compressed(pattern, "rows", rows)
    fewest = one.forward + one.reverse
    if fewest <= FEW:
        return one
    both = compressed(pattern, "both")
    return both if both.forward + both.reverse < SHARE_OF_BOTH * fewest else one


def one_sided(pattern: Pattern, mode: Mode, colours: Colours | None = None) -> Compression:
    """The directions of one mode; with colours, by these."""
    height, width = pattern.shape
    if colours is None:
        colours = coloured(pattern if mode == "forward" else csr_array(pattern.T))
    columns = colours if mode == "forward" else np.full(width, NONE, np.int64)
    rows = colours if mode == "reverse" else np.full(height, NONE, np.int64)
    return Compression("columns" if mode == "forward" else "rows", pattern, columns, rows, read_directly(pattern, columns, rows))


# -- the function

Emit = Callable[[OpBuilder, Block, Value], Value]
"""(builder, a block, the elements of its pattern) -> the result for this block."""


def sparse_derivative(module: ModuleOp, pass_name: str, request: Request, plan: Compression, strategy: str, emit: Emit) -> None:
    """Replaces the function of a request by its Jacobian, in place, as ``emit`` makes it of the elements of the pattern."""
    fn, primal = request.function.sym_name.data, request.function
    if any(is_complex(element(x)) for x in (*(request.block.args[i] for i in request.wrt), *(request.results[j] for j in request.of))):
        raise error_at(primal.location, f"{pass_name}: @{fn} has complex arguments or results, which have no one derivative each")
    derivatives: dict[Mode, BatchedDerivative] = {}
    for mode in ("forward", "reverse"):
        if (plan.forward if mode == "forward" else plan.reverse) or (mode == "forward" and not plan.reverse):
            name = fresh_name(module, f"{fn}_{mode}")
            copy = copy_op(primal, {})
            copy.properties["sym_name"] = StringAttr(name)
            module.body.block.insert_op_before(copy, primal)
            derivatives[mode] = batched_derivative(module, mode, make_request(copy, request.wrt, request.of), strategy)
    block = IRBlock(arg_types=[x.type for x in request.block.args])
    for old, new in zip(request.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
    b = begin_function(block, primal, pass_name)
    function = finish_function(block, _Emission(b, plan, derivatives, block.args).blocks(emit), fn, primal)
    function.arg_attrs = primal.arg_attrs
    module.body.block.insert_op_before(function, primal)
    primal.detach()
    primal.erase()
    for derivative in derivatives.values():
        derivative.function.properties["sym_visibility"] = StringAttr("private")
    expand_ad(module)


class _Emission:
    """The body of the function."""

    def __init__(self, b: OpBuilder, plan: Compression, derivatives: dict[Mode, BatchedDerivative], inputs: Sequence[Value]):
        self.b, self.plan, self.derivatives, self.inputs = b, plan, derivatives, inputs
        self.known = next(iter(derivatives.values()))
        self.tops, self.lefts = starts_of(self.known.results), starts_of(self.known.arguments)
        self.common = widest([type.get_element_type() for type in (*self.known.results, *self.known.arguments)])

    def blocks(self, emit: Emit) -> list[Value]:
        """The blocks, results first."""
        parts: list[Value] = []
        self.starts: dict[Mode, list[int]] = {}
        for mode, derivative in self.derivatives.items():
            self.starts[mode] = []
            for value in self._along(derivative):
                self.starts[mode].append(sum(size(part) for part in parts))
                parts.append(self.b.convert(self.b.reshape(value, [size(value)]), self.common))
        self.parts = parts
        blocks = [self._block(j, i) for j in range(len(self.tops)) for i in range(len(self.lefts))]
        return [emit(self.b, block, self._values(block)) for block in blocks]

    def _along(self, derivative: BatchedDerivative) -> Sequence[Value]:
        colours = self.plan.columns if derivative.mode == "forward" else self.plan.rows
        directions = count(colours)
        seeds = [
            _seed(self.b, type, colours[start : start + size_of(type)], directions)
            for start, type in zip(starts_of(derivative.moved), derivative.moved, strict=True)
        ]
        return derivative.along(self.b, derivative.function.sym_name.data, self.inputs, seeds, directions)

    def _block(self, j: int, i: int) -> Block:
        y, x = self.known.results[j], self.known.arguments[i]
        pattern, top, left = self.plan.pattern, self.tops[j], self.lefts[i]
        first, last = int(pattern.indptr[top]), int(pattern.indptr[top + size_of(y)])
        columns = pattern.indices[first:last].astype(np.int64)
        rows = np.repeat(np.arange(size_of(y)), np.diff(pattern.indptr[top : top + size_of(y) + 1]))
        mine = (columns >= left) & (columns < left + size_of(x))
        return Block(y, x, first + np.flatnonzero(mine), rows[mine], columns[mine] - left)

    def _values(self, block: Block) -> Value:
        """The elements of a block: read from the derivatives, and summed where an element has several summands."""
        b, recovery, amount = self.b, self.plan.recovery, len(block.elements)
        if not amount:
            return b.zeros(tensor([0], block.result.get_element_type()))
        number = np.full(self.plan.pattern.nnz, NONE, np.int64)
        number[block.elements] = np.arange(amount)
        mine = number[recovery.elements] != NONE
        places = self._places(recovery, mine)
        values = self._read(places)
        if recovery.is_direct:
            return b.convert(values, block.result.get_element_type())
        signed = b.multiply(values, b.convert(b.constant(recovery.signs[mine].astype(np.int64)), element(values)))
        zeros = b.zeros(tensor([amount], element(values)))
        summed = b.scatter(core.Kind.add, zeros, b.constant(number[recovery.elements[mine]][:, None]), signed, scatter_numbers(READ))
        return b.convert(summed, block.result.get_element_type())

    def _read(self, places: Colours) -> Value:
        """The elements at some places of the derivatives, from the parts that have them alone; those at equal distances are a slice, which can be fused."""
        b = self.b
        ends: Colours = np.cumsum([size(part) for part in self.parts])
        first, last = (int(place) for place in np.searchsorted(ends, [int(places.min()), int(places.max())], side="right"))
        parts = self.parts[first : last + 1]
        source = parts[0] if len(parts) == 1 else b.concatenate(parts, 0)
        inside = places - (int(ends[first - 1]) if first else 0)
        step = int(inside[1] - inside[0]) if len(inside) > 1 else 1
        if step > 0 and bool(np.all(np.diff(inside) == step)):
            return b.slice(source, [int(inside[0])], [int(inside[-1]) + 1], [step])
        return b.gather(source, b.constant(inside[:, None]), READ, [1], [len(inside)])

    def _places(self, recovery: Recovery, mine: Any) -> Colours:
        """Where summands are in the derivatives, which stand one after the other."""
        colours, at, forward = recovery.colours[mine], recovery.at[mine], recovery.forward[mine]
        places = np.zeros(len(at), np.int64)
        for mode, derivative in self.derivatives.items():
            for type, first, start in zip(derivative.seen, starts_of(derivative.seen), self.starts[mode], strict=True):
                here = (forward == (mode == "forward")) & (at >= first) & (at < first + size_of(type))
                places[here] = start + colours[here] * size_of(type) + at[here] - first
        return places


def widest(types: Sequence[Attribute]) -> Attribute:
    """The type that holds the elements of all of some types of real numbers."""
    return types[0] if len(set(types)) == 1 else f64 if f64 in types else f32


def _seed(b: OpBuilder, type: Type, colours: Colours, directions: int) -> Value:
    """For each direction, ones in the elements that have its colour."""
    square = tensor([directions, size_of(type)], i64)
    mine = b.broadcast_in_dim(b.constant(colours), [1], [directions, size_of(type)])
    return b.reshape(b.convert(b.compare("EQ", b.iota(0, square), mine), type.get_element_type()), [directions, *shape_of_type(type)])
