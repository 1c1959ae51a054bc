"""Jacobians by both modes: reverse from a cut back to the arguments, forward from there to the results.

Where the function is narrow somewhere, y = h(v) with v = g(x) of few elements, its Jacobian is h'(v) g'(x): the rows of g' take as many directions of reverse
mode as v has elements, the columns of h' as many of forward mode, and their product is far less work than the directions of either mode through all of the
function (Griewank, Walther, "Evaluating Derivatives", 2nd ed., ch. 9 and 10: elimination on both sides
of a small separator). The cut is the narrowest there is (:mod:`wengert.transforms.ad.jacobians.cut`)::

    func @main(%x: tensor<200xf64>) -> tensor<200x200xf64> {
      %v = call @main_before(%x) : (tensor<200xf64>) -> tensor<3xf64>
      %rows = call @main_before_jacobian(%x) : (tensor<200xf64>) -> tensor<3x200xf64>
      %columns = call @main_behind_jacobian(%x, %v) : (tensor<200xf64>, tensor<3xf64>) -> tensor<200x3xf64>
      %0 = stablehlo.dot_general %columns, %rows, contracting_dims = [1] x [0]
      return %0 : tensor<200x200xf64>
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import append, copy_module, copy_op
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import element, shape, size, tensor
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.direct.activity import active_in
from wengert.transforms.ad.function import begin_function, finish_body, finish_function, function_of, terminator_operands
from wengert.transforms.ad.jacobians.cut import ANY, Cut, Nearest, Sides, cheapest_cut, narrowest_cut, regional_ops
from wengert.transforms.ad.jacobians.dense import jacobian
from wengert.transforms.ad.jacobians.joined import joined_jacobian
from wengert.transforms.ad.requests.request import Request, fresh_name, function_named, make_request
from wengert.transforms.core.inline import inline
from wengert.transforms.core.symbol_dce import symbol_dce

NAME = "mixed-jacobian"
MANY_LOOPS = 8
"""Cuts are looked for at so many loops and branches."""


@dataclass(frozen=True)
class MixedJacobianPass(ModulePass):
    """Replaces a function by its Jacobian, in reverse mode from its narrowest cut back to the arguments, and in forward mode from there on."""

    name = NAME

    cut: Literal["arguments", "results", "cheapest"] = "arguments"
    """Which of the narrowest cuts: that nearest to the arguments, or to the results; or the cheapest one, however wide."""
    reverse: tuple[int, ...] = ()
    """Loops and branches, by their number among those of the function, from 0, that are gone through in reverse: the cut is the narrowest behind them."""
    forward: tuple[int, ...] = ()
    """Those that are gone through forward: the cut is the narrowest before them."""
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mixed_jacobian(op, self.fn, self.wrt, self.of, self.cut, Sides(self.reverse, self.forward))


def mixed_jacobian(
    module: ModuleOp,
    fn: str = "main",
    wrt: Sequence[int] | None = None,
    of: Sequence[int] | None = None,
    which: Literal["arguments", "results", "cheapest"] = "arguments",
    sides: Sides = ANY,
) -> None:
    """Replaces ``fn`` by its Jacobian, in place: ``(inputs) -> one array for each result in of and each argument in wrt``, as ``jacfwd``.

    Raises DiagnosticError for what cannot be differentiated or batched, by name and place; also where no result depends on an argument,
    and where there is no cut with ``sides``: of a loop that is not there, or of loops that lie the other way around.
    """
    prepare(module)
    primal = function_named(module, fn)
    request = make_request(primal, wrt, of)
    _check_sides(request, sides)
    cut = cheapest_cut(request) if which == "cheapest" else narrowest_cut(request, which, sides)
    if not cut.values:
        raise error_at(primal, f"no result of @{fn} depends on the arguments: there is no cut between them")
    before, behind = _before(request, cut), _behind(request, cut)
    made = [_copied(part, f"{part.sym_name.data}_jacobian") for part in (before, behind)]
    rows, columns = (function.sym_name.data for function in made)
    for function in (before, behind, *made):
        module.body.block.insert_op_before(function, primal)
    count, parts = len(request.block.args), len(cut.values)
    upstream, downstream = _dependences(before, request.wrt, range(parts)), _dependences(behind, range(count, count + parts), range(len(request.of)))
    _jacobian(module, "reverse", rows, request.wrt, range(parts), upstream)
    _jacobian(module, "forward", columns, range(count, count + parts), range(len(request.of)), downstream)
    through = [[[i for i in range(parts) if downstream[k][i] and upstream[i][j]] for j in range(len(request.wrt))] for k in range(len(request.of))]
    whole = _product(request, cut, before, function_named(module, rows), function_named(module, columns), through)
    primal.properties["sym_name"] = StringAttr(fresh_name(module, f"{fn}_primal"))
    module.body.block.insert_op_before(whole, primal)
    for function in (primal, before, behind, function_named(module, rows), function_named(module, columns)):
        function.properties["sym_visibility"] = StringAttr("private")  # public so far: whoever prepares a module drops what nobody calls
    inline(module, keep_custom=True)
    symbol_dce(module)


def _dependences(function: FuncOp, wrt: Sequence[int], of: Sequence[int]) -> list[list[bool]]:
    """For each result in ``of`` and each argument in ``wrt``, whether the one depends on the other."""
    block = function.body.block
    results = terminator_operands(block)
    return [[block.args[i] in active_in(block, [block.args[i]], [results[j]]) for i in wrt] for j in of]


def _jacobian(module: ModuleOp, mode: Literal["forward", "reverse"], name: str, wrt: Sequence[int], of: Sequence[int], depends: list[list[bool]]) -> None:
    """Replaces a function by its Jacobian: in one batch if every result depends on every argument, and else in one for each, so that directions go only
    through what they reach."""
    if all(all(row) for row in depends):
        joined_jacobian(module, mode, name, wrt, of)
    else:
        jacobian(module, "jacrev" if mode == "reverse" else "jacfwd", name, wrt, of)


def _check_sides(request: Request, sides: Sides) -> None:
    count, name = len(regional_ops(request)), request.function.sym_name.data
    for number in (*sides.before, *sides.behind):
        if not 0 <= number < count:
            hint = f"they have the numbers 0 to {count - 1}" if count > 1 else "the only one has the number 0" if count else "it has none"
            raise error_at(request.function, f"there is no loop or branch {number} in @{name}", hint=hint)
    if both := set(sides.before) & set(sides.behind):
        raise error_at(request.function, f"loop or branch {min(both)} of @{name} cannot be gone through both in reverse and forward")


def cuts_at_loops(module: ModuleOp, wrt: Sequence[int], of: Sequence[int], fn: str = "main") -> list[tuple[int, Sides]]:
    """Cuts that are wider than the narrowest, or lie elsewhere, and have a loop or branch on one side of them: their sizes, the narrowest first. Every set of
    values is there once; those of :func:`cuts` are not."""
    request = make_request(function_named(module, fn), wrt, of)
    seen = {narrowest_cut(request).values, narrowest_cut(request, "results").values}
    listed: list[tuple[int, Sides]] = []
    for number in range(min(len(regional_ops(request)), MANY_LOOPS)):
        for sides in (Sides(before=(number,)), Sides(behind=(number,))):
            cut = narrowest_cut(request, sides=sides)
            if cut.values and cut.values not in seen:
                seen.add(cut.values)
                listed.append((cut.size, sides))
    return sorted(listed, key=lambda pair: pair[0])


def cheapest(module: ModuleOp, wrt: Sequence[int], of: Sequence[int], fn: str = "main") -> int | None:
    """How many elements the cheapest cut of a function at core level has; None where it is one of :func:`cuts` or of :func:`cuts_at_loops`, or is empty."""
    module = copy_module(module)
    prepare(module)
    request = make_request(function_named(module, fn), wrt, of)
    cut = cheapest_cut(request)
    known = [
        narrowest_cut(request),
        narrowest_cut(request, "results"),
        *(narrowest_cut(request, sides=sides) for _, sides in cuts_at_loops(module, wrt, of, fn)),
    ]
    return None if not cut.values or any(set(cut.values) == set(other.values) for other in known) else cut.size


def cuts(module: ModuleOp, wrt: Sequence[int], of: Sequence[int], fn: str = "main") -> tuple[int, tuple[Nearest, ...]]:
    """How many directions the mixed Jacobian of a function at core level takes in each mode, 0 if no result depends on an argument; and the narrowest cuts, one
    or two of them."""
    request = make_request(function_named(module, fn), wrt, of)
    first, last = narrowest_cut(request), narrowest_cut(request, "results")
    return first.size, ("arguments",) if set(first.values) == set(last.values) else ("arguments", "results")


def _before(request: Request, cut: Cut) -> FuncOp:
    """The function from the arguments to the cut."""
    values: dict[SSAValue, SSAValue] = {}
    block = _begun(request, values)
    return _finished(request, block, [values[value] for value in cut.values], "before")


def _behind(request: Request, cut: Cut) -> FuncOp:
    """The function from the cut to the results. It is given the arguments too, for what does not vary; the values of the cut come after them."""
    values: dict[SSAValue, SSAValue] = {}
    block = Block(arg_types=[*(x.type for x in request.block.args), *(v.type for v in cut.values)])
    given: dict[SSAValue, SSAValue] = dict(zip(cut.values, block.args[len(request.block.args) :], strict=True))
    for old, new in zip(request.block.args, block.args, strict=False):
        values[old] = given.get(old, new)
    _copy_ops(request, block, values, given)
    return _finished(request, block, [values[request.results[j]] for j in request.of], "behind")


def _begun(request: Request, values: dict[SSAValue, SSAValue]) -> Block:
    """A copy of the function's body, without its return."""
    block = Block(arg_types=[x.type for x in request.block.args])
    values.update(zip(request.block.args, block.args, strict=True))
    _copy_ops(request, block, values, {})
    return block


def _copy_ops(request: Request, block: Block, values: dict[SSAValue, SSAValue], given: dict[SSAValue, SSAValue]) -> None:
    """Appends copies of the ops; what they compute of ``given`` is replaced by that."""
    for op in request.ops:
        append(block, copy_op(op, values))
        values.update((result, given[result]) for result in op.results if result in given)


def _finished(request: Request, block: Block, results: Sequence[SSAValue], part: str) -> FuncOp:
    return function_of(finish_body(block, results), fresh_name(request.module, f"{request.function.sym_name.data}_{part}"), request.function)


def _copied(function: FuncOp, name: str) -> FuncOp:
    copy = copy_op(function, {})
    assert isinstance(copy, FuncOp)
    copy.properties["sym_name"] = StringAttr(name)
    return copy


def _product(request: Request, cut: Cut, before: FuncOp, rows: FuncOp, columns: FuncOp, through: list[list[list[int]]]) -> FuncOp:
    """The function that multiplies the columns of what is behind the cut with the rows of what is before it: of each result and argument those of the values
    of the cut that ``through`` names."""
    block = Block(arg_types=[x.type for x in request.block.args])
    for old, new in zip(request.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
    b = begin_function(block, request.function, NAME)
    values = _called(block, before, block.args)
    right = _called(block, rows, block.args)
    left = _called(block, columns, [*block.args, *values])
    arguments, results, count = [request.block.args[i] for i in request.wrt], [request.results[j] for j in request.of], len(cut.values)
    sizes = [size(value) for value in cut.values]

    def part(k: int, j: int, chosen: Sequence[int]) -> Value:
        y, x = results[k], arguments[j]
        extents = [*shape(y), *shape(x)]
        if not chosen:
            return b.zeros(tensor(extents, element(y)))
        across = _joined(b, [b.reshape(left[k * count + i], [size(y), sizes[i]]) for i in chosen], 1)
        down = _joined(b, [b.reshape(right[i * len(arguments) + j], [sizes[i], size(x)]) for i in chosen], 0)
        return b.reshape(b.dot_general(across, b.convert(down, element(across)), ([1], [0])), extents)

    blocks = [part(k, j, through[k][j]) for k in range(len(results)) for j in range(len(arguments))]
    function = finish_function(block, blocks, request.function.sym_name.data, request.function)
    function.arg_attrs = request.function.arg_attrs
    return function


def _called(block: Block, function: FuncOp, operands: Sequence[SSAValue]) -> Sequence[Value]:
    call = CallOp(function.sym_name.data, operands, list(function.function_type.outputs))
    call.location = function.location
    append(block, call)
    return call.results


def _joined(b: OpBuilder, parts: Sequence[Value], dimension: int) -> Value:
    return parts[0] if len(parts) == 1 else b.concatenate(parts, dimension)
