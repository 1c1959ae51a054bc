"""The derivative of a function along several directions at once, of which the passes make whole Jacobians that choose their directions themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal, cast

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from wengert.dialects import ad
from wengert.dialects.ad_parts import forget_parts
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_array
from wengert.ir.tensor_types import shape_of_type
from wengert.transforms.ad.batching.function import batched_type
from wengert.transforms.ad.derive import differentiate
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.requests.expand import expand_ad
from wengert.transforms.ad.requests.request import Request, fresh_name, function_named
from wengert.transforms.core.tapes_to_stacks import tapes_to_stacks

Mode = Literal["forward", "reverse"]
Type = TensorType[Any]


class BatchedDerivative(Struct, frozen=True):
    """The JVP (forward) or VJP (reverse) of a function, and the types that it is about.

    Attributes:
        mode: which of the two.
        function: what takes the place of the function in its module; a Jacobian takes that of it (:meth:`replaced`).
        inputs, outputs: all arguments and results of the function.
        arguments, results: those that are differentiated.
    """

    mode: Mode
    function: FuncOp
    inputs: Sequence[Type]
    outputs: Sequence[Type]
    arguments: Sequence[Type]
    results: Sequence[Type]

    @property
    def moved(self) -> Sequence[Type]:
        """What directions are of: arguments, or in reverse mode results."""
        return self.arguments if self.mode == "forward" else self.results

    @property
    def seen(self) -> Sequence[Type]:
        """What derivatives are of."""
        return self.results if self.mode == "forward" else self.arguments

    def along(self, b: OpBuilder, callee: str, inputs: Sequence[Value], seeds: Sequence[Value], count: int) -> Sequence[Value]:
        """The derivatives of each type in ``seen`` along ``count`` directions, which are the first dimension of the seeds and of the results."""
        out_axes = [-1] * len(self.outputs) + [0] * len(self.seen)
        properties = {"callee": SymbolRefAttr(callee), "in_axes": int_array([-1] * len(inputs) + [0] * len(seeds)), "out_axes": int_array(out_axes)}
        types = [*self.outputs, *(batched_type(y, 0, count) for y in self.seen)]
        return b.create(ad.BatchOp, [*inputs, *seeds], types, properties)[len(self.outputs) :]

    def replaced(self, module: ModuleOp, pass_name: str, emit: Callable[[OpBuilder, str, Sequence[Value]], Sequence[Value]]) -> None:
        """Puts a Jacobian in the derivative's place: ``emit`` is given a builder, the name under which the derivative is called, and the inputs, and returns
        the blocks, results first."""
        fn = self.function.sym_name.data
        name = fresh_name(module, f"{fn}_derivative")
        block = Block(arg_types=self.inputs)
        for old, new in zip(self.function.body.block.args, block.args, strict=False):
            new.name_hint = old.name_hint
        b = begin_function(block, self.function, pass_name)
        jacobian = finish_function(block, emit(b, name, block.args), fn, self.function)
        self.function.properties["sym_name"], self.function.properties["sym_visibility"] = StringAttr(name), StringAttr("private")
        module.body.block.insert_op_before(jacobian, self.function)
        expand_ad(module)


def batched_derivative(module: ModuleOp, mode: Mode, request: Request, strategy: str) -> BatchedDerivative:
    """Replaces the function of a request by its derivative, in place."""
    inputs, outputs = _types(request.block.args), _types(request.results)
    arguments, results = [inputs[i] for i in request.wrt], [outputs[j] for j in request.of]
    fn = request.function.sym_name.data
    differentiate(module, "jvp" if mode == "forward" else "vjp", fn, request.wrt, request.of, strategy)
    derivative = function_named(module, fn)
    forget_parts(derivative)
    tapes_to_stacks(derivative)
    return BatchedDerivative(mode, derivative, inputs, outputs, arguments, results)


def size_of(type: Type) -> int:
    """The number of elements."""
    return prod(shape_of_type(type))


def starts_of(types: Sequence[Type]) -> list[int]:
    """The beginnings of each type's elements among those of all."""
    return [sum(size_of(type) for type in types[:k]) for k in range(len(types))]


def _types(values: Sequence[Value]) -> list[Type]:
    return [cast(Type, value.type) for value in values]
