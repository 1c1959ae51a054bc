"""One operand, result or region more or fewer in every op: refused with a diagnostic, or accepted, printed and read again.

A quarter of the ops, another one from day to day; all with WENGERT_TEST_ALL=1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from mutant_checks import check_printed, is_refused, said
from mutant_sources import SOURCES, programs_of_tests
from reference_programs import TAKE_ALL, comes_up
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

import wengert as wg
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.traversal import all_ops

MORE: Attribute = TensorType(f32, [2])


class Parts(NamedTuple):
    """What an op is made of; ``regions`` is by how many it has more."""

    what: str
    operands: Sequence[SSAValue]
    results: Sequence[Attribute]
    regions: int = 0


def changes(op: Operation) -> Generator[Parts]:
    """The parts of the op with one more or fewer, as far as nothing else refers to it."""
    operands, results = list(op.operands), [result.type for result in op.results]
    yield Parts("a result more", operands, [*results, MORE])
    yield Parts("a region more", operands, results, 1)
    if results and not op.results[-1].uses:
        yield Parts("a result less", operands, results[:-1])
    if operands:
        yield Parts("an operand more", [*operands, operands[0]], results)
        yield Parts("an operand less", operands[:-1], results)
        yield Parts("no operands", [], results)
    if op.regions:
        yield Parts("a region less", operands, results, -1)


def rebuilt(op: Operation, parts: Parts) -> Operation:
    """An op of the same class, attributes and place, made of other parts."""
    regions = [region.clone() for region in op.regions]
    regions = [*regions, Region(Block())] if parts.regions > 0 else regions[:-1] if parts.regions < 0 else regions
    made = type(op).create(
        operands=parts.operands, result_types=parts.results, properties=op.properties, attributes=op.attributes, regions=regions, successors=op.successors
    )
    made.location = op.location
    return made


@contextmanager
def replaced(op: Operation, other: Operation) -> Generator[None]:
    """The other op in place of this one."""
    block = op.parent
    assert block is not None
    uses = [(use, old, new) for old, new in zip(op.results, other.results, strict=False) for use in list(old.uses)]
    block.insert_op_before(other, op)
    for use, _, new in uses:
        use.operation.operands[use.index] = new
    op.detach()
    yield
    block.insert_op_before(op, other)
    for use, old, _ in uses:
        use.operation.operands[use.index] = old
    other.detach()


def texts(modules: Iterable[ModuleOp]) -> Generator[tuple[str, str]]:
    """The modules with one op of other parts, each op with and without operands in the first place where it is seen."""
    seen: Counter[tuple[str, bool, str]] = Counter()
    for module in modules:
        for op in list(all_ops(module)):
            for parts in changes(op) if op.parent is not None and comes_up(op.name, 4) else ():
                seen[op.name, bool(op.operands), parts.what] += 1
                if seen[op.name, bool(op.operands), parts.what] == 1:
                    with replaced(op, rebuilt(op, parts)):
                        text = print_module(module, generic=True)
                    yield f"{op.name} with {parts.what}", text


def check(text: str) -> bool:
    """Whether a text is refused; what is read is printed in both forms and read again."""
    if is_refused(parse_module, text):
        return True
    check_printed(parse_module(text))
    return is_refused(wg.parse, text)


def test_other_counts() -> None:
    results: list[bool] = []
    for what, text in texts([*map(parse_module, SOURCES), *programs_of_tests()]):
        with said(what):
            results.append(check(text))
    assert results.count(True) > (1000 if TAKE_ALL else 200)
    assert results.count(False) > (10 if TAKE_ALL else 0)
