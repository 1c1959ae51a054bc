"""Requests for derivatives: of which function, with respect to which arguments, of which results."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects import ad
from wengert.dialects import stablehlo as hlo
from wengert.ir.diagnostics import DiagnosticError, did_you_mean
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import is_differentiable
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.forward.tangents import has_zero
from wengert.transforms.shapes.dynamism import require_static

REQUESTS = (ad.JvpOp, ad.VjpOp, ad.LinearizeOp, ad.TransposedCallOp, ad.PushforwardOp, ad.PullbackOp, ad.BatchOp)
"""The ops that request a derivative or a batched version of a function."""
LINEAR_REQUESTS = (ad.TransposedCallOp, ad.PushforwardOp)
"""Requests that are linear ops with transposes, and stay until their linear part is transposed."""


def replace_request(op: Operation, values: Sequence[SSAValue]) -> None:
    """Replaces the results of an op by these values, and erases the op."""
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


def has_requests(module: ModuleOp) -> bool:
    """Whether the module has requests that are not expanded yet."""
    return bool(ops_of(module, *REQUESTS))


class Request(Struct, frozen=True):
    """A function with one block, and the positions of the arguments and results to differentiate."""

    function: FuncOp
    wrt: tuple[int, ...]
    of: tuple[int, ...]

    @property
    def module(self) -> ModuleOp:
        """The module of the function, and of the functions that it refers to."""
        parent = self.function.parent_op()
        assert isinstance(parent, ModuleOp)
        return parent

    @property
    def block(self) -> Block:
        return self.function.body.block

    @property
    def ops(self) -> list[Operation]:
        """The ops of the body, without the terminator."""
        return [op for op in self.block.ops if not isinstance(op, ReturnOp | hlo.ReturnOp)]

    @property
    def results(self) -> Sequence[SSAValue]:
        """The values that the function returns."""
        last = self.block.last_op
        assert isinstance(last, ReturnOp | hlo.ReturnOp)
        return last.operands


def function_named(module: ModuleOp, name: str) -> FuncOp:
    """The function of this name. Raises a DiagnosticError that suggests the most similar name."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    if name not in functions:
        raise no_function(module, name)
    return functions[name]


def no_function(module: ModuleOp, name: str) -> DiagnosticError:
    """The error to raise for a name that no function of the module has."""
    functions = [op.sym_name.data for op in module.body.block.ops if isinstance(op, FuncOp)]
    return error_at(module, f"there is no function @{name}", hint=did_you_mean(name, functions))


def fresh_name(module: ModuleOp, base: str) -> str:
    """A name that no function of the module has: ``base``, with a number appended if it is taken."""
    taken = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp)}
    name, n = base, 0
    while name in taken:
        name, n = f"{base}_{n}", n + 1
    return name


def make_request(function: FuncOp, wrt: Sequence[int] | None = None, of: Sequence[int] | None = None) -> Request:
    """Checks ``wrt`` and ``of``; by default they are all arguments and results of real or complex floating point."""
    if len(function.body.blocks) != 1:
        raise error_at(function, f"@{function.sym_name.data} has {len(function.body.blocks)} blocks; differentiation needs a body of one block")
    require_static(function, "a derivative")
    inputs, outputs = list(function.function_type.inputs), list(function.function_type.outputs)
    return Request(function, _positions(function, "wrt", "argument", inputs, wrt), _positions(function, "of", "result", outputs, of))


def _positions(function: FuncOp, option: str, noun: str, types: Sequence[Attribute], chosen: Sequence[int] | None) -> tuple[int, ...]:
    active = dict.fromkeys(i for i, type in enumerate(types) if is_differentiable(type))
    for i in active if chosen is None else [i for i in chosen if i in active]:
        if not has_zero(types[i]):
            raise _bad(function, f"{noun} {i} of @{function.sym_name.data} has type {types[i]}, which has no zero, so that derivatives have no meaning in it")
    if chosen is None:
        return tuple(active)
    for i in chosen:
        if not 0 <= i < len(types):
            raise _bad(function, f"{option}={i} is out of range: @{function.sym_name.data} has {len(types)} {noun}s")
        if i not in active:
            raise _bad(function, f"{option}={i} is not differentiable: {noun} {i} of @{function.sym_name.data} has type {types[i]}")
    if len(set(chosen)) != len(chosen):
        raise _bad(function, f"{option}={','.join(map(str, chosen))} names a {noun} twice")
    return tuple(chosen)


def _bad(function: FuncOp, message: str) -> DiagnosticError:
    return error_at(function, message)
