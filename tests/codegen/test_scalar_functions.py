"""Compiled code computes an elementwise op on the elements for which its facts state an effort, and on no others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects.chlo import Chlo
from wengert.dialects.core import Core
from wengert.dialects.facts import Work, facts_of
from wengert.dialects.kernel import ApplyOp, InterpretOp
from wengert.dialects.scalar_functions import function_facts, scalar_name
from wengert.dialects.stablehlo import StableHLO
from wengert.dialects.stablehlo.base import BinaryOp
from wengert.ir.element_classes import BOOLEAN, COMPLEX, FLOAT, SIGNED, UNSIGNED
from wengert.ir.tensor_types import c64, f32, f64, i1, i32, tensor, ui8
from wengert.runtime.cpu import compile
from wengert.transforms.core.functions import EXPANSIONS, ON_SOME_TYPES
from wengert.transforms.lowering import lower

ELEMENTS: tuple[tuple[int, Attribute], ...] = ((FLOAT, f64), (FLOAT, f32), (SIGNED, i32), (UNSIGNED, ui8), (BOOLEAN, i1), (COMPLEX, c64))
OPS = [
    op
    for dialect in (StableHLO, Chlo, Core)
    for op in dialect.operations
    if facts_of(op).one_type and facts_of(op).work is Work.ELEMENTS and op not in EXPANSIONS
]


def program(op: type[Operation], elements: Sequence[Attribute]) -> ModuleOp:
    """The op on tensors of each of the element types."""
    operands = 2 if issubclass(op, BinaryOp) else 1
    types = [tensor((5,), element) for element in elements]
    block = Block(arg_types=[type for type in types for _ in range(operands)])
    made = [op.create(operands=block.args[operands * n : operands * (n + 1)], result_types=[type]) for n, type in enumerate(types)]
    block.add_ops([*made, ReturnOp(*(one.results[0] for one in made))])
    return ModuleOp([FuncOp("main", (block.arg_types, types), Region([block]), "public")])


def is_written_out(op: type[Operation], element: Attribute) -> bool:
    """Whether the op is other ops on this type, which have kernels."""
    return op in ON_SOME_TYPES and any(ON_SOME_TYPES[op][0](inner) for inner in program(op, [element]).walk() if isinstance(inner, op))


@pytest.mark.parametrize("op", OPS, ids=[op.name for op in OPS])
def test_the_elements_that_an_op_has_a_kernel_for(op: type[Operation]) -> None:
    facts = facts_of(op)
    taken = [element for bits, element in ELEMENTS if facts.takes & bits]
    for element in taken:
        kernels = list(lower(program(op, [element])).walk())
        functions = [inner.function.data for inner in kernels if isinstance(inner, ApplyOp)]
        interpreted = any(isinstance(inner, InterpretOp) for inner in kernels)
        if is_written_out(op, element):
            assert facts.effort(element) is None, f"on {element}"
            assert not interpreted, f"on {element}"
            continue
        assert interpreted == (facts.effort(element) is None), f"on {element}"
        assert scalar_name(op) in functions or interpreted, f"on {element}"
        assert all(function_facts(name).effort(element) for name in functions)
    compiled = compile(program(op, [element for element in taken if facts.effort(element) is not None]), opt="fast")
    assert not compiled.stats.interpreted
