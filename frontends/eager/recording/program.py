"""From operations to IR and from IR to functions of arrays: a function is run in the interpreter first, compiled when it is used often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.pipeline.stages import stage
from wengert.ir.tensor_types import element_of, tensor
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.program import Program

Array = np.ndarray[Any, np.dtype[Any]]
Type = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and dtype."""
Body = Callable[[OpBuilder, Sequence[Value]], Sequence[Value]]


def module_of(types: Sequence[Type], body: Body) -> ModuleOp:
    """A module whose ``@main`` has arguments of these types and the ops that ``body`` writes."""
    module = ModuleOp([])
    _function(module, "main", [tensor(shape, element_of(dtype)) for shape, dtype in types], body, "public")
    return module


def private_function(b: OpBuilder, name: str, types: Sequence[Attribute], body: Body) -> FuncOp:
    """A function like that one in the module that the builder writes in, under a name of its own that begins with this one."""
    module = b.block.parent_op()
    while not isinstance(module, ModuleOp):
        assert module is not None
        module = module.parent_op()
    taken = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp)}
    return _function(module, next(n for n in (f"{name}_{i}" for i in count()) if n not in taken), types, body, "private")


def _function(module: ModuleOp, name: str, types: Sequence[Attribute], body: Body, visibility: str) -> FuncOp:
    block = Block(arg_types=types)
    function = FuncOp(name, (types, ()), Region([block]), visibility)
    module.body.block.add_op(function)
    results = body(OpBuilder(block), block.args)
    block.add_op(ReturnOp(*results))
    function.function_type = FunctionType.from_lists(types, [r.type for r in results])
    return function


def inline(b: OpBuilder, module: ModuleOp, arguments: Sequence[Value]) -> list[Value]:
    """Writes the ops of the module's ``@main`` with these arguments; its results."""
    block = main_block(module)
    mapped: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
    for op in block.ops:
        if isinstance(op, ReturnOp):
            return [mapped[v] for v in op.operands]
        if op.regions:
            copied = op.clone(mapped)
            copied.location = b.location
            b.insert(copied)
        else:
            mapped.update(zip(op.results, b.copy(op, [mapped[v] for v in op.operands]), strict=True))
    raise AssertionError("a function ends with its results")


def main_block(module: ModuleOp) -> Block:
    """The block of ``@main``."""
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == "main").body.block


def program_of(module: ModuleOp, name: str) -> Program:
    """The module, which is at core level, as a program."""
    program = Program(module, name=name)
    program.is_optimized = True
    return program


class Prepared:
    """A module at core level as a function of arrays, which must have the types of its arguments.

    Its first calls run in the interpreter, which needs no preparation to speak of; from then on it is native code.
    """

    def __init__(self, module: ModuleOp, name: str, compile_after: int):
        self.module = module
        self.name = name
        self.calls = 0
        self.compile_after = compile_after
        self._idle: list[Callable[..., Sequence[Any]]] = []
        """Prepared functions that no call is using: one keeps the values of a call in slots of its own."""
        self._native: Callable[..., tuple[Array, ...]] | None = None

    @property
    def is_compiled(self) -> bool:
        """Whether calls run native code."""
        return self._native is not None

    def __call__(self, *arrays: Array) -> Sequence[Array]:
        """The results: arrays that nobody else holds."""
        if self._native is not None:
            return self._native(*[a if a.flags.c_contiguous else np.array(a, order="C") for a in arrays])
        self.calls += 1
        if self.calls > self.compile_after:
            self.compile()
            return self(*arrays)
        return self._interpret(arrays)

    @stage()
    def compile(self) -> None:
        """Compiles now."""
        if self._native is None:
            self._native = program_of(self.module, self.name).compile().__call__

    def _interpret(self, arrays: Sequence[Array]) -> list[Array]:
        from wengert.runtime.interpreter import Machine  # from the package, which another thread may be importing: all families of ops are there then

        try:
            run = self._idle.pop()
        except IndexError:
            run = Machine(runnable(self.module)).function("main", counting=False)
        with np.errstate(all="ignore"):
            # Results may be views of the arguments or of constants.
            results = [np.array(r) for r in run(*[a[()] for a in arrays])]
        self._idle.append(run)
        return results
