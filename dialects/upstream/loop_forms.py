"""The custom forms of ``scf`` and ``cf``."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Region

from wengert.dialects.upstream import written_forms as written
from wengert.dialects.upstream.forms import (
    Argument,
    Form,
    Operand,
    body,
    bracketed,
    dense,
    dictionary,
    ended,
    keyword,
    mixed,
    operands,
    segments,
    types_if,
    use,
)
from wengert.dialects.upstream.tensor_forms import one_yield
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.tensor_types import i1

INDEX = IndexType()


def assignments(reader: Reader) -> tuple[list[Operand], list[Operand]]:
    """Reads ``(%a = %x, %b = %y)``: names of block arguments, and operands."""
    names, values = list[Operand](), list[Operand]()

    def pair() -> None:
        names.append(reader.operand())
        reader.need("=")
        values.append(reader.operand())

    reader.listed("(", ")", pair)
    return names, values


def named_arguments(names: list[Operand], types: list[Attribute]) -> list[Argument]:
    """Block arguments of these names and types."""
    return [(name, type, position, None) for (name, _, position), type in zip(names, types, strict=False)]


def _for(reader: Reader, state: OpState) -> None:
    keyword(reader, state, "unsigned", "unsignedCmp")
    variable = reader.operand()
    reader.need("=")
    bounds = [reader.operand()]
    for word in ("to", "step"):
        reader.need_word(word)
        bounds.append(reader.operand())
    names, values, types = list[Operand](), list[Operand](), list[Attribute]()
    if reader.accept_word("iter_args"):
        names, values = assignments(reader)
        types = types_if(reader)
    counter = reader.type() if reader.accept(":") else INDEX
    use(state, bounds, [counter] * 3)
    use(state, values, types)
    given = named_arguments([variable, *names], [counter, *types])
    state.regions.append(body(reader, given, "" if types else "scf.yield"))
    dictionary(reader, state)
    state.result_types = types


def _if(reader: Reader, state: OpState) -> None:
    use(state, [reader.operand()], [i1])
    state.result_types = types_if(reader)
    state.regions.append(ended(reader, reader.region(), "scf.yield"))
    state.regions.append(ended(reader, reader.region(), "scf.yield") if reader.accept_word("else") else Region())
    dictionary(reader, state)


def _while(reader: Reader, state: OpState) -> None:
    names, values = assignments(reader) if reader.peek() == "(" else ([], [])
    reader.need(":")
    inputs, outputs = reader.function_type()
    use(state, values, inputs)
    state.regions.append(body(reader, named_arguments(names, list(inputs))))
    reader.need_word("do")
    state.regions.append(reader.region())
    if reader.accept_word("attributes"):
        dictionary(reader, state)
    state.result_types = outputs


def _condition(reader: Reader, state: OpState) -> None:
    use(state, bracketed(reader), [i1])
    one_yield(reader, state)


def _parallel(reader: Reader, state: OpState) -> None:
    names = reader.listed("(", ")", reader.operand)
    reader.need("=")
    groups = [bracketed(reader)]
    for word in ("to", "step"):
        reader.need_word(word)
        groups.append(bracketed(reader))
    initial = bracketed(reader) if reader.accept_word("init") else []
    types = types_if(reader)
    for group in groups:
        use(state, group, [INDEX] * len(group))
    use(state, initial, types)
    segments(state, *map(len, groups), len(initial))
    state.regions.append(body(reader, named_arguments(names, [INDEX] * len(names)), "scf.reduce"))
    dictionary(reader, state)
    state.result_types = types


def _reduce(reader: Reader, state: OpState) -> None:
    if reader.accept("("):
        one_yield(reader, state)
        reader.need(")")
        state.regions.append(reader.region())
        while reader.accept(","):
            state.regions.append(reader.region())


def _forall(reader: Reader, state: OpState) -> None:
    names = reader.listed("(", ")", reader.operand)
    count = len(names)
    bounds: list[tuple[list[int], list[Operand]]] = []
    if reader.accept_word("in"):
        upper = mixed(reader, "(", ")")
        bounds = [([0] * count, []), upper, ([1] * count, [])]
    else:
        reader.need("=")
        bounds.append(mixed(reader, "(", ")"))
        for word in ("to", "step"):
            reader.need_word(word)
            bounds.append(mixed(reader, "(", ")"))
    for key, (static, dynamic) in zip(("staticLowerBound", "staticUpperBound", "staticStep"), bounds, strict=True):
        state.attributes[key] = dense(static)
        use(state, dynamic, [INDEX] * len(dynamic))
    shared, values, types = list[Operand](), list[Operand](), list[Attribute]()
    if reader.accept_word("shared_outs"):
        shared, values = assignments(reader)
        types = types_if(reader)
    use(state, values, types)
    segments(state, *(len(dynamic) for _, dynamic in bounds), len(values))
    state.regions.append(body(reader, named_arguments([*names, *shared], [INDEX] * count + types), "scf.forall.in_parallel"))
    dictionary(reader, state)
    state.result_types = types


def _in_parallel(reader: Reader, state: OpState) -> None:
    state.regions.append(reader.region())
    dictionary(reader, state)


def _execute(reader: Reader, state: OpState) -> None:
    keyword(reader, state, "no_inline")
    state.result_types = types_if(reader)
    state.regions.append(ended(reader, reader.region(), "scf.yield"))
    dictionary(reader, state)


def _switch(reader: Reader, state: OpState) -> None:
    use(state, [reader.operand()], [INDEX])
    dictionary(reader, state)
    state.result_types = types_if(reader)
    cases, regions = list[int](), list[Region]()
    while reader.accept_word("case"):
        cases.append(reader.integer())
        regions.append(ended(reader, reader.region(), "scf.yield"))
    reader.need_word("default")
    state.regions += [ended(reader, reader.region(), "scf.yield"), *regions]
    state.attributes["cases"] = dense(cases)


def _assert(reader: Reader, state: OpState) -> None:
    use(state, [reader.operand()], [i1])
    reader.need(",")
    state.attributes["msg"] = reader.attribute()
    dictionary(reader, state)


def _successor(reader: Reader, state: OpState) -> list[Operand]:
    state.successors = [*state.successors, reader.successor()]
    known = list[Operand]()
    if reader.accept("("):
        known = operands(reader)
        reader.need(":")
        use(state, known, reader.types())
        reader.need(")")
    return known


def _branch(reader: Reader, state: OpState) -> None:
    _successor(reader, state)
    dictionary(reader, state)


def _conditional(reader: Reader, state: OpState) -> None:
    use(state, [reader.operand()], [i1])
    reader.need(",")
    first = _successor(reader, state)
    reader.need(",")
    second = _successor(reader, state)
    segments(state, 1, len(first), len(second))
    dictionary(reader, state)


def _switch_of_blocks(reader: Reader, state: OpState) -> None:
    reader.fail("'cf.switch' is read in the generic form only", hint="mlir-opt --lift-cf-to-scf makes structured control flow of it")


FORMS: dict[str, Form] = {
    "cf.assert": Form(_assert),
    "cf.br": Form(_branch),
    "cf.cond_br": Form(_conditional),
    "cf.switch": Form(_switch_of_blocks),
    "scf.condition": Form(_condition, written.condition),
    "scf.execute_region": Form(_execute),
    "scf.for": Form(_for, written.loop),
    "scf.forall": Form(_forall),
    "scf.forall.in_parallel": Form(_in_parallel),
    "scf.if": Form(_if, written.branch),
    "scf.index_switch": Form(_switch),
    "scf.parallel": Form(_parallel),
    "scf.reduce": Form(_reduce),
    "scf.reduce.return": Form(one_yield),
    "scf.while": Form(_while, written.while_loop),
    "scf.yield": Form(one_yield, written.plain),
}
