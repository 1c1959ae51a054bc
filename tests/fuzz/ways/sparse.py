"""Jacobians by patterns and by cuts, of random programs: sparse ones by each colouring, compressed ones, both modes from the cheapest cut.

The same programs are also tried with tables in place of arguments, of which they read rows at computed positions, and batched, so that rows do not mix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from ad.random_programs import RandomProgram, of_one_number
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region, SSAValue

from fuzz.ways.nearness import Array, Way, assert_near
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr
from wengert.ir.construction import append, copy_op, erase
from wengert.ir.tensor_types import f64, i32, rank, shape, tensor
from wengert.runtime.derived.requests import positions_text
from wengert.runtime.program import Program

ROWS, BATCH = 5, 3
"""So many rows a table has more than are read, and so many elements a batch."""


def sparse(made: RandomProgram) -> Iterator[Way]:
    """Sparse derivatives by each colouring."""
    yield from _sparse("", Program(made.module), Program(of_one_number(made).module), made.inputs)


def reads(made: RandomProgram) -> Iterator[Way]:
    """The same of programs that read their arguments at computed positions: cut behind the reads."""
    whole, one = of_rows(made), of_rows(of_one_number(made))
    if len(whole.inputs) == len(made.inputs):  # all arguments are numbers
        return
    program = Program(one.module)
    yield from _sparse(" of reads", Program(whole.module), program, whole.inputs)
    for colouring in ("best", "star", "acyclic"):

        def check(colouring: str = colouring) -> None:
            wrt, of = program.resolve()
            triples = program.apply(f"to-core,sparse-hessian{{colouring={colouring} wrt={positions_text(wrt)} of={positions_text(of)}}},simplify,cse,dce")
            elements, down, across = map(np.asarray, triples.compile("interpreter")(*one.inputs))
            expected = _matrix(program, program.jacrev().jacfwd(), one.inputs, second=True)
            added = np.zeros_like(expected)
            np.add.at(added, (down, across), elements)
            assert_near([added], [expected])

        yield f"sparse-hessian: {colouring}", check


def cheapest_cuts(made: RandomProgram) -> Iterator[Way]:
    """Both modes from the cheapest cut, be it a row of the table or not."""
    for name, program in (("jacobian", Program(made.module)), ("gradient", Program(of_one_number(made).module))):

        def check(program: Program = program) -> None:
            wrt, of = map(positions_text, program.resolve())
            mixed = program.apply(f"to-core,mixed-jacobian{{cut=cheapest wrt={wrt} of={of}}},simplify,cse,dce")
            assert_near(mixed.compile("interpreter")(*made.inputs), program.jacfwd().compile("interpreter")(*made.inputs))

        yield f"cheapest cut: {name}", check


def compressed(made: RandomProgram) -> Iterator[Way]:
    """Compressed Jacobians, which are sums over the rows of arguments: of programs whose rows mix, of batches, and of rows of tables."""
    rng = np.random.default_rng(made.seed)
    one = of_one_number(made)

    def check(program: Program, inputs: Sequence[Any]) -> None:
        wrt, of = program.resolve()
        actual = program.compressed_jacobian().compile("interpreter")(*inputs)
        dense = [np.asarray(block) for block in program.jacfwd().compile("interpreter")(*inputs)]
        results, moved = [program.signature.results[j].shape for j in of], [program.signature.arguments[i].shape for i in wrt]
        expected: list[Array] = []
        for j, result in enumerate(results):
            blocks = dense[j * len(moved) : (j + 1) * len(moved)]
            summed = [b.reshape(*result, *(m[:1] or (1,)), int(np.prod(m[1:]))).sum(len(result)) for b, m in zip(blocks, moved, strict=True)]
            expected.append(np.concatenate(summed, -1))
        assert_near(actual, expected)

    for name, each in (("", made), (" of one number", one)):
        batch = [x if x.dtype.kind == "i" else x + rng.uniform(-0.1, 0.1, (BATCH, *x.shape)) for x in each.inputs]
        axes = [None if x.dtype.kind == "i" else 0 for x in each.inputs]
        yield f"compressed jacobian{name}", lambda each=each: check(Program(each.module), each.inputs)
        yield f"compressed jacobian{name}, batched", lambda each=each, axes=axes, batch=batch: check(Program(each.module).vmap(axes, size=BATCH), batch)

        def of_tables(each: RandomProgram = each, axes: list[int | None] = axes, batch: list[Array] = batch) -> None:
            picked = of_rows(RandomProgram(Program(each.module).vmap(axes, size=BATCH).optimized_module, batch, each.seed))
            check(Program(picked.module), picked.inputs)

        yield f"compressed jacobian{name}, rows of tables", of_tables


def of_rows(made: RandomProgram) -> RandomProgram:
    """The same program with a table in place of each float argument that has rows, of which it reads these, and with positions behind all arguments."""
    module, rng = made.module.clone(), np.random.default_rng(made.seed)
    (main,) = (op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    old, inputs = main.body.block, list(made.inputs)
    read = [at for at, x in enumerate(old.args) if inputs[at].dtype.kind == "f" and rank(x)]
    types = [tensor((shape(x)[0] + ROWS, *shape(x)[1:]), f64) if at in read else x.type for at, x in enumerate(old.args)]
    block = Block(arg_types=[*types, *(tensor((shape(old.args[at])[0], 1), i32) for at in read)])
    values: dict[SSAValue, SSAValue] = dict(zip(old.args, block.args, strict=False))
    for at, positions in zip(read, block.args[len(types) :], strict=True):
        x, table = old.args[at], block.args[at]
        count, rest = shape(x)[0], shape(x)[1:]
        numbers = GatherDimensionNumbersAttr(dimensions(range(1, rank(x))), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))
        values[x] = OpBuilder(block).gather(table, positions, numbers, [1, *rest], [count, *rest])
        inputs[at] = rng.uniform(-1.2, 1.2, shape(table))
        inputs.append(rng.integers(0, count + ROWS, (count, 1)).astype(np.int32))
    for op in old.ops:
        append(block, copy_op(op, values))
    function = FuncOp("main", FunctionType.from_lists([x.type for x in block.args], list(main.function_type.outputs)), Region([block]), "public")
    module.body.block.insert_op_before(function, main)
    erase(main)
    return RandomProgram(module, inputs, made.seed)


def _sparse(of_what: str, whole: Program, one: Program, inputs: Sequence[Any]) -> Iterator[Way]:
    def check(program: Program, colouring: Any, *, second: bool) -> None:
        derivative = program.sparse_hessian(colouring=colouring) if second else program.sparse_jacobian(colouring=colouring)
        expected = _matrix(program, program.jacrev().jacfwd() if second else program.jacfwd(), inputs, second=second)
        assert_near([derivative.assembled(derivative.program.compile("interpreter")(*inputs)).toarray()], [expected])

    for colouring in ("columns", "rows", "both"):
        yield f"sparse jacobian{of_what}: {colouring}", lambda colouring=colouring: check(whole, colouring, second=False)
    for colouring in ("star", "acyclic"):
        yield f"sparse hessian{of_what}: {colouring}", lambda colouring=colouring: check(one, colouring, second=True)


def _matrix(program: Program, derivative: Program, inputs: Sequence[Any], *, second: bool) -> Array:
    """The blocks of a dense derivative as one matrix."""
    dense = derivative.compile("interpreter")(*inputs)
    wrt, of = program.resolve()
    across = [int(np.prod(program.signature.arguments[i].shape)) for i in wrt]
    down = across if second else [int(np.prod(program.signature.results[j].shape)) for j in of]
    blocks = [np.asarray(dense[j * len(across) + i]).reshape(m, n) for j, m in enumerate(down) for i, n in enumerate(across)]
    return np.block([blocks[k : k + len(across)] for k in range(0, len(blocks), len(across))])
