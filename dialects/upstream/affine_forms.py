"""The custom forms of ``affine``: maps of values, written where they are used or by name."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, ArrayAttr, IndexType
from xdsl.ir import Attribute, Region
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr

from wengert.dialects.upstream.forms import (
    Form,
    Operand,
    body,
    bracketed,
    dense,
    dictionary,
    element_of,
    ended,
    integer,
    mixed,
    segments,
    types_if,
    use,
)
from wengert.dialects.upstream.loop_forms import assignments, named_arguments
from wengert.dialects.upstream.tensor_forms import indexes, one_yield
from wengert.ir.elements import from_numpy
from wengert.ir.parsing.cursor import SPACE
from wengert.ir.parsing.operations import OpState, Reader

INDEX = IndexType()
_OPERATOR = re.compile(SPACE + r"(\+|-(?!>)|\*|floordiv\b|ceildiv\b|mod\b)")
REDUCTIONS = ("addf", "addi", "assign", "maximumf", "maxs", "maxu", "minimumf", "mins", "minu", "mulf", "muli", "ori", "andi", "maxnumf", "minnumf", "xori")
"""The kinds of ``arith::AtomicRMWKind`` by number."""


class Expressions:
    """Reads affine expressions of values: ``%i + 2 * %j``, ``symbol(%n) floordiv 4``. Each value becomes a dimension or a symbol."""

    def __init__(self, reader: Reader):
        self.reader = reader
        self.dims: list[Operand] = []
        self.symbols: list[Operand] = []

    def expression(self, lowest: int = 0) -> AffineExpr:
        """Reads an expression: sums (0), products (1), or one factor."""
        left = self._factor()
        while True:
            match = _OPERATOR.match(self.reader.text, self.reader.here)
            if match is None or (strength := 0 if match.group(1) in "+-" else 1) < lowest:
                return left
            self.reader.here = match.end()
            left = _combined(match.group(1), left, self.expression(strength + 1))

    def _factor(self) -> AffineExpr:
        reader = self.reader
        mark = reader.peek()
        if mark == "(":
            reader.need("(")
            inner = self.expression()
            reader.need(")")
            return inner
        if mark == "%":
            return AffineDimExpr(_place(self.dims, reader.operand()))
        if reader.accept_word("symbol"):
            reader.need("(")
            symbol = AffineSymExpr(_place(self.symbols, reader.operand()))
            reader.need(")")
            return symbol
        if mark == "-" and not reader.text[reader.skip() + 1 : reader.here + 2].isdigit():
            reader.accept("-")
            return self._factor() * -1
        return AffineConstantExpr(reader.integer())

    def map(self, results: list[AffineExpr]) -> AffineMapAttr:
        """The map of the values read so far to these expressions."""
        return AffineMapAttr(AffineMap(len(self.dims), len(self.symbols), tuple(results)))

    @property
    def values(self) -> list[Operand]:
        """The values, dimensions first."""
        return [*self.dims, *self.symbols]


def _combined(operator: str, left: AffineExpr, right: AffineExpr) -> AffineExpr:
    if operator == "+":
        return left + right
    if operator == "-":
        return left + right * -1
    if operator == "*":
        return left * right
    return left // right if operator == "floordiv" else left % right if operator == "mod" else left.ceil_div(right)


def _place(known: list[Operand], operand: Operand) -> int:
    for place, (name, index, _) in enumerate(known):
        if (name, index) == operand[:2]:
            return place
    known.append(operand)
    return len(known) - 1


def _map_and_values(reader: Reader) -> tuple[Any, list[Operand]]:
    """Reads ``#map(%i)[%n]``."""
    position = reader.skip()
    map = reader.attribute()
    if not isinstance(map, AffineMapAttr | AffineSetAttr):
        reader.fail("expected an affine map or set", position)
    return map, [*bracketed(reader), *bracketed(reader, "[", "]")]


def _apply(reader: Reader, state: OpState) -> None:
    state.attributes["map"], reached = _map_and_values(reader)
    dictionary(reader, state)
    indexes(state, reached)
    state.result_types = [INDEX]


def _bound(reader: Reader, lower: bool) -> tuple[AffineMapAttr, list[Operand]]:
    reader.accept_word("max" if lower else "min")
    if reader.peek() == "%":
        return AffineMapAttr(AffineMap(0, 1, (AffineSymExpr(0),))), [reader.operand()]
    if reader.peek() == "#" or reader.next_word() == "affine_map":
        return _map_and_values(reader)
    return AffineMapAttr(AffineMap(0, 0, (AffineConstantExpr(reader.integer()),))), []


def _for(reader: Reader, state: OpState) -> None:
    variable = reader.operand()
    reader.need("=")
    lower, first = _bound(reader, True)
    reader.need_word("to")
    upper, last = _bound(reader, False)
    step = reader.integer() if reader.accept_word("step") else 1
    names, values, types = list[Operand](), list[Operand](), list[Attribute]()
    if reader.accept_word("iter_args"):
        names, values = assignments(reader)
        types = types_if(reader)
    indexes(state, first + last)
    use(state, values, types)
    state.attributes.update(lowerBoundMap=lower, upperBoundMap=upper, step=integer(step, INDEX))
    segments(state, len(first), len(last), len(values))
    state.regions.append(body(reader, named_arguments([variable, *names], [INDEX, *types]), "" if types else "affine.yield"))
    dictionary(reader, state)
    state.result_types = types


def _if(reader: Reader, state: OpState) -> None:
    state.attributes["condition"], reached = _map_and_values(reader)
    indexes(state, reached)
    state.result_types = types_if(reader)
    state.regions.append(ended(reader, reader.region(), "affine.yield"))
    state.regions.append(ended(reader, reader.region(), "affine.yield") if reader.accept_word("else") else Region())
    dictionary(reader, state)


def _subscripts(reader: Reader, state: OpState) -> Expressions:
    expressions = Expressions(reader)
    results = reader.listed("[", "]", expressions.expression)
    state.attributes["map"] = expressions.map(results)
    return expressions


def _load(reader: Reader, state: OpState) -> None:
    source = [reader.operand()]
    expressions = _subscripts(reader, state)
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, source, [type])
    indexes(state, expressions.values)
    state.result_types = [element_of(type)]


def _store(reader: Reader, state: OpState) -> None:
    value = [reader.operand()]
    reader.need(",")
    target = [reader.operand()]
    expressions = _subscripts(reader, state)
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, value + target, [element_of(type), type])
    indexes(state, expressions.values)


def _parallel_bounds(reader: Reader, expressions: Expressions) -> tuple[list[AffineExpr], list[int]]:
    """Reads ``(0, max(%a, %b))``: all expressions, and how many belong to each dimension."""
    results, groups = list[AffineExpr](), list[int]()

    def bound() -> None:
        if reader.next_word() in ("max", "min"):
            reader.word()
            group = reader.listed("(", ")", expressions.expression)
        else:
            group = [expressions.expression()]
        results.extend(group)
        groups.append(len(group))

    reader.listed("(", ")", bound)
    return results, groups


def _parallel(reader: Reader, state: OpState) -> None:
    names = reader.listed("(", ")", reader.operand)
    reader.need("=")
    for side in ("lower", "upper"):
        expressions = Expressions(reader)
        results, groups = _parallel_bounds(reader, expressions)
        state.attributes[f"{side}BoundsMap"] = expressions.map(results)
        state.attributes[f"{side}BoundsGroups"] = _numbers(groups)
        indexes(state, expressions.values)
        if side == "lower":
            reader.need_word("to")
    steps = [1] * len(names)
    if reader.accept_word("step"):
        steps = reader.listed("(", ")", reader.integer)
    kinds = list[int]()
    if reader.accept_word("reduce"):
        position = reader.skip()
        words = reader.listed("(", ")", reader.string)
        for word in words:
            if word not in REDUCTIONS:
                reader.fail(f"unknown reduction '{word}'", position)
            kinds.append(REDUCTIONS.index(word))
    types = types_if(reader)
    state.attributes["steps"] = ArrayAttr([integer(step) for step in steps])
    state.attributes["reductions"] = ArrayAttr([integer(kind) for kind in kinds])
    state.regions.append(body(reader, named_arguments(names, [INDEX] * len(names)), "" if types else "affine.yield"))
    dictionary(reader, state)
    state.result_types = types


def _numbers(values: list[int]) -> Attribute:
    return from_numpy(np.array(values, np.int32))


def _delinearize(reader: Reader, state: OpState) -> None:
    """``%i into (4, %n) : index, index``."""
    value = [reader.operand()]
    reader.need_word("into")
    static, dynamic = mixed(reader, "(", ")")
    state.attributes["static_basis"] = dense(static)
    indexes(state, value + dynamic)
    dictionary(reader, state)
    reader.need(":")
    state.result_types = reader.types()


def _linearize(reader: Reader, state: OpState) -> None:
    """``disjoint [%i, %j] by (4, %n) : index``."""
    if reader.accept_word("disjoint"):
        state.attributes["disjoint"] = integer(1)
    reached = bracketed(reader, "[", "]")
    reader.need_word("by")
    static, dynamic = mixed(reader, "(", ")")
    state.attributes["static_basis"] = dense(static)
    indexes(state, reached + dynamic)
    segments(state, len(reached), len(dynamic))
    dictionary(reader, state)
    reader.need(":")
    state.result_types = [reader.type()]


def _refused(reader: Reader, state: OpState) -> None:
    reader.fail(f"'{state.name}' is read in the generic form only, and has no meaning here")


FORMS: dict[str, Form] = {
    "affine.apply": Form(_apply),
    "affine.delinearize_index": Form(_delinearize),
    "affine.dma_start": Form(_refused),
    "affine.dma_wait": Form(_refused),
    "affine.for": Form(_for),
    "affine.if": Form(_if),
    "affine.linearize_index": Form(_linearize),
    "affine.load": Form(_load),
    "affine.max": Form(_apply),
    "affine.min": Form(_apply),
    "affine.parallel": Form(_parallel),
    "affine.prefetch": Form(_refused),
    "affine.store": Form(_store),
    "affine.vector_load": Form(_refused),
    "affine.vector_store": Form(_refused),
    "affine.yield": Form(one_yield),
}
