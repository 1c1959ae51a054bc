"""Every attribute of every op left out, or replaced by one of another kind: refused with a diagnostic, or accepted, printed and read again.

A quarter of the ops, another one from day to day; all with WENGERT_TEST_ALL=1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from operator import itemgetter

import pytest
from mutant_checks import check_printed, check_program, is_refused, said
from mutant_sources import SOURCES, programs_in_upstream_dialects, programs_of_tests
from reference_programs import TAKE_ALL, comes_up
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.traversal import all_ops
from wengert.ir.verification.verifier import verify

KINDS: tuple[Attribute | None, ...] = (
    None,
    UnitAttr(),
    StringAttr("s"),
    IntegerAttr(1, i64),
    FloatAttr(1.5, f64),
    i64,
    FunctionType.from_lists([], []),
    ArrayAttr([]),
    ArrayAttr([UnitAttr()]),
    DictionaryAttr({}),
    DenseArrayBase.from_list(i64, [0, 1]),
    DenseIntOrFPElementsAttr.from_list(TensorType(i64, [1]), [0]),
    SymbolRefAttr("main"),
    SymbolRefAttr("nothing"),
)


def variants(modules: Iterable[ModuleOp]) -> Generator[tuple[str, ModuleOp]]:
    """The modules with one attribute replaced or left out, each op's attributes in the first place where they are seen; they are restored afterwards."""
    seen: Counter[tuple[str, str, Attribute | None]] = Counter()
    for _, module in sorted(
        ((len(list(all_ops(module))), module) for module in modules), key=itemgetter(0)
    ):  # small ones first: each is read once for every attribute
        for op in [op for op in all_ops(module) if comes_up(op.name, 4)]:
            for attributes in (op.properties, op.attributes):
                for name, attribute in list(attributes.items()):
                    for kind in KINDS:
                        seen[op.name, name, kind] += 1
                        if name == "op_name__" or seen[op.name, name, kind] > 1:  # op_name__: the name of an op that is not registered
                            continue
                        if kind is None:
                            del attributes[name]
                        else:
                            attributes[name] = kind
                        yield f"{name} = {kind} of {op.name}", module
                    attributes[name] = attribute


def written(modules: Iterable[ModuleOp]) -> Generator[tuple[str, str]]:
    """These as texts in the generic form."""
    for what, module in variants(modules):
        yield what, print_module(module, generic=True)


def read(text: str) -> None:
    """Reads and verifies a text."""
    verify(parse_module(text))


def test_of_the_ops_that_programs_are_written_in() -> None:
    refused = accepted = 0
    for number, (what, text) in enumerate(written(parse_module(source) for source in SOURCES)):
        with said(what):
            if is_refused(wg.parse, text):
                refused += 1
            else:
                accepted += 1
                check_program(text, number)
    assert refused > (1200 if TAKE_ALL else 100)
    assert accepted > (20 if TAKE_ALL else 0)


def test_of_the_ops_that_programs_are_lowered_to() -> None:
    results: list[bool] = []
    for what, text in written(programs_of_tests()):
        with said(what):
            results.append(is_refused(read, text))
            if not results[-1]:
                check_printed(parse_module(text))
    assert len(results) > (2500 if TAKE_ALL else 250)
    assert {*results} == {True, False}


def test_of_the_ops_of_upstream_mlir() -> None:
    """What the verifier lets through is converted to a program that is verified again, or refused by the conversion."""
    refused = accepted = 0
    for what, text in written(programs_in_upstream_dialects()):
        with said(what):
            if is_refused(wg.parse, text):
                refused += 1
            else:
                accepted += 1
                module = wg.parse(text).module
                verify(module)
                check_printed(module)
    assert refused > (1000 if TAKE_ALL else 100)
    assert accepted > (50 if TAKE_ALL else 0)


CHILDREN: Sequence[tuple[str, str]] = (
    ("sym_name = unit", "attribute 'sym_name'"),
    ("function_type = 3 : i64", "attribute 'function_type'"),
)


@pytest.mark.parametrize(("attribute", "message"), CHILDREN)
def test_what_is_in_an_op_that_cannot_be_read_is_not_checked(attribute: str, message: str) -> None:
    """One error for the function, and none for its return, which would be compared with the function's type."""
    attributes = {"sym_name": 'sym_name = "f"', "function_type": "function_type = () -> tensor<2xf32>"} | {attribute.split(" = ")[0]: attribute}
    text = f'"func.func"() <{{{", ".join(attributes.values())}}}> ({{\n"func.return"() : () -> ()\n}}) : () -> ()\nfunc.func @main() {{\nreturn\n}}'
    with pytest.raises(DiagnosticError, match=message) as caught:
        wg.parse(text)
    assert "func.return" not in str(caught.value)
