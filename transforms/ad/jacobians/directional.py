"""A function's derivatives along the directions that colours are, in either mode or both, and a function that is made of them.

All directions of a mode are one batch, or those of forward mode are differentiated one by one (:mod:`wengert.transforms.ad.jacobians.one_by_one`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import copy_op
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import element, i64, is_complex, shape_of_type, tensor
from wengert.transforms.ad.colouring.columns import Colours, count
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.jacobians.batched import BatchedDerivative, Mode, Type, batched_derivative, size_of, starts_of
from wengert.transforms.ad.jacobians.compression import Directions
from wengert.transforms.ad.jacobians.computed_columns import Cut
from wengert.transforms.ad.requests.expand import expand_ad
from wengert.transforms.ad.requests.request import Request, fresh_name, make_request


class Along:
    """Derivatives along directions.

    Args:
        b: a builder for the function that they are computed in.
        directions: the directions.
        derivatives: the derivatives in each mode that there are directions of.
        inputs: what they are called with.
        numbers: for each argument that is differentiated, the numbers of its columns in the whole Jacobian, as a vector; None where they are its own.

    Attributes:
        of: by mode, for each type that derivatives are of, a tensor with a dimension for the directions in front.
        arguments, results: the types of what is differentiated.
    """

    def __init__(
        self, b: OpBuilder, directions: Directions, derivatives: dict[Mode, BatchedDerivative], inputs: Sequence[Value], numbers: Sequence[Value] | None
    ):
        self.b, self.derivatives, self.numbers = b, derivatives, numbers
        known = next(iter(derivatives.values()))
        self.arguments, self.results = known.arguments, known.results
        self.of: dict[Mode, Sequence[Value]] = {
            mode: _along(b, derivative, inputs, directions.columns if mode == "forward" else directions.rows) for mode, derivative in derivatives.items()
        }


Emit = Callable[[Along], Sequence[Value]]
"""What a function returns, made of its derivatives."""


def derivative_along(module: ModuleOp, pass_name: str, request: Request, directions: Directions, strategy: str, emit: Emit, cut: Cut | None = None) -> None:
    """Replaces the function of a request by one that returns what ``emit`` makes of its derivatives, in place. With a cut these are those of the function that
    is cut. DiagnosticError where arguments or results are complex."""
    fn, primal = request.function.sym_name.data, request.function
    if any(is_complex(element(x)) for x in (*(request.block.args[i] for i in request.wrt), *(request.results[j] for j in request.of))):
        raise error_at(primal, f"{pass_name}: @{fn} has complex arguments or results, which have no one derivative each")
    differentiated = request if cut is None else cut.request
    derivatives: dict[Mode, BatchedDerivative] = {}
    for mode in ("forward", "reverse"):
        if (directions.forward if mode == "forward" else directions.reverse) or (mode == "forward" and not directions.reverse):
            name = fresh_name(module, f"{fn}_{mode}")
            copy = copy_op(differentiated.function, {})
            copy.properties["sym_name"] = StringAttr(name)
            module.body.block.insert_op_before(copy, primal)
            derivatives[mode] = batched_derivative(module, mode, make_request(copy, differentiated.wrt, differentiated.of), strategy)
    block, b = begun(request, pass_name)
    gathered, numbers = ([], None) if cut is None else cut.read(b, block)
    function = finish_function(block, emit(Along(b, directions, derivatives, [*block.args, *gathered], numbers)), fn, primal)
    put_in_place(module, request, function)
    if cut is not None and cut.request.module is module:
        _erase(cut.request.function)
    for derivative in derivatives.values():
        derivative.function.properties["sym_visibility"] = StringAttr("private")
    expand_ad(module)


def begun(request: Request, pass_name: str) -> tuple[Block, OpBuilder]:
    """A block with the arguments of a function, and a builder for its ops."""
    block = Block(arg_types=[x.type for x in request.block.args])
    for old, new in zip(request.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
    return block, begin_function(block, request.function, pass_name)


def put_in_place(module: ModuleOp, request: Request, function: FuncOp) -> None:
    """Puts a function in the place of that of a request, which is erased."""
    function.arg_attrs = request.function.arg_attrs
    module.body.block.insert_op_before(function, request.function)
    _erase(request.function)


def _erase(function: FuncOp) -> None:
    function.detach()
    function.erase()


def _along(b: OpBuilder, derivative: BatchedDerivative, inputs: Sequence[Value], colours: Colours) -> Sequence[Value]:
    directions = count(colours)
    seeds = [
        _seed(b, type, colours[start : start + size_of(type)], directions) for start, type in zip(starts_of(derivative.moved), derivative.moved, strict=True)
    ]
    return derivative.along(b, derivative.function.sym_name.data, inputs, seeds, directions)


def _seed(b: OpBuilder, type: Type, colours: Colours, directions: int) -> Value:
    """For each direction, ones in the elements that have its colour."""
    square = tensor([directions, size_of(type)], i64)
    mine = b.broadcast_in_dim(b.constant(colours), [1], [directions, size_of(type)])
    return b.reshape(b.convert(b.compare("EQ", b.iota(0, square), mine), type.get_element_type()), [directions, *shape_of_type(type)])
