"""Typing rule of calls out of the program: anything may go in and out, but what is said about layouts and aliases has to fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DictionaryAttr, IndexType, MemRefType, StringAttr, SymbolRefAttr, TensorType, TupleType
from xdsl.ir import Attribute

from wengert.dialects.stablehlo import control as ops
from wengert.dialects.stablehlo.annotations import OutputOperandAliasAttr
from wengert.dialects.stablehlo.typing.checks import Tensor, expect_in_range, fail
from wengert.dialects.stablehlo.typing.values import Kind, expect_values
from wengert.ir.attributes import int_of
from wengert.ir.elements import to_numpy
from wengert.ir.verification.typing_rules import typing_rule

TYPED_FFI = 4
"""The version of the interface whose backend_config is a dictionary."""


@typing_rule(ops.CustomCallOp)
def check_custom_call(op: ops.CustomCallOp) -> None:
    """Layouts come one per operand and result; aliases lead to parts of one type."""
    expect_values(op, ~Kind.NONE)
    check_backend_config(op)
    for symbol in cast("ArrayAttr[Attribute]", op.properties.get("called_computations", ArrayAttr([]))):
        if not isinstance(symbol, SymbolRefAttr) or symbol.nested_references.data:
            fail(f"called_computations must hold names of functions, found {symbol}")
    check_layouts(op)
    for alias in cast("ArrayAttr[Attribute]", op.properties.get("output_operand_aliases", ArrayAttr([]))):
        check_alias(op, alias)
    check_buffers(op)


def check_backend_config(op: ops.CustomCallOp) -> None:
    """Text; a dictionary where the version of the interface takes one."""
    version, config = int_of(op.properties["api_version"]) if "api_version" in op.properties else 1, op.properties.get("backend_config")
    if not 0 <= version <= TYPED_FFI:
        fail(f"api_version must be between 0 and {TYPED_FFI}, found {version}")
    if config is None:
        return
    expected, what = (DictionaryAttr, "a dictionary") if version == TYPED_FFI else (StringAttr, "a string")
    if not isinstance(config, expected):
        fail(f"backend_config must be {what} where api_version is {version}, found {config}")


def check_layouts(op: ops.CustomCallOp) -> None:
    """Both lists or none; each layout is an order of the dimensions."""
    lists = [cast("ArrayAttr[Attribute] | None", op.properties.get(name)) for name in ("operand_layouts", "result_layouts")]
    if lists[0] is None and lists[1] is None:
        return
    if lists[0] is None or lists[1] is None:
        fail("there must be both operand_layouts and result_layouts or neither of them")
    operands, results = [v.type for v in op.operands], [v.type for v in op.results]
    if len(results) == 1 and isinstance(results[0], TupleType):
        results = list(cast("Sequence[Attribute]", results[0].types))
    for kind, types, layouts in (("operand", operands, lists[0].data), ("result", results, lists[1].data)):
        if len(layouts) != len(types):
            fail(f"{kind}_layouts must hold a layout for each of the {len(types)} {kind}s, found {len(layouts)}")
        for i, (type, layout) in enumerate(zip(types, layouts, strict=True)):
            check_layout(f"the layout of {kind} #{i}", type, layout)


def check_layout(what: str, type: Attribute, layout: Attribute) -> None:
    """An order of the tensor's dimensions; nothing for what is no tensor."""
    layout_type = cast(Tensor, cast("DenseIntOrFPElementsAttr[Any]", layout).type) if isinstance(layout, DenseIntOrFPElementsAttr) else None
    if layout_type is None or not isinstance(layout_type.element_type, IndexType) or len(layout_type.get_shape()) != 1:
        fail(f"{what} must be a list of type tensor<?xindex>, found {layout}")
    if isinstance(type, TupleType):
        fail(f"{what} is that of a tuple, which has none", "a single tuple as the result has the layouts of its parts")
    rank = len(cast(Tensor, type).get_shape()) if isinstance(type, TensorType) else 0
    # a splat may claim more entries than there is memory for, so that they are counted before they are looked at
    (count,) = layout_type.get_shape()
    if (isinstance(type, TensorType) or count) and (
        count != rank or sorted(int(d) for d in to_numpy(cast("DenseIntOrFPElementsAttr[Any]", layout))) != list(range(rank))
    ):
        fail(f"{what} must be an order of the {rank} dimensions of {type}, found {layout}")


def part(what: str, type: Attribute, indices: Sequence[int]) -> Attribute:
    """The part of a nested tuple that the indices lead to."""
    for index in indices:
        if not isinstance(type, TupleType):
            fail(f"{what} leads into {type}, which is no tuple")
        parts = tuple(cast("Sequence[Attribute]", type.types))
        expect_in_range(what, (index,), len(parts), "the tuple's length")
        type = parts[index]
    return type


def check_alias(op: ops.CustomCallOp, alias: Attribute) -> None:
    """An operand and an output, or parts of them, have one type."""
    if not isinstance(alias, OutputOperandAliasAttr):
        fail(f"output_operand_aliases must hold #stablehlo.output_operand_alias<...>, found {alias}")
    index = int_of(alias.operand_index)
    expect_in_range("operand_index", (index,), len(op.operands), "the number of operands")
    source = part("operand_tuple_indices", op.operands[index].type, [int_of(i) for i in alias.operand_tuple_indices])
    outputs, indices = [v.type for v in op.results], [int_of(i) for i in alias.output_tuple_indices]
    if len(outputs) != 1 and not indices:
        fail(f"output_tuple_indices must say which of the {len(outputs)} results the operand is aliased with")
    output = outputs[0] if len(outputs) == 1 else TupleType(cast(Any, outputs))
    target = part("output_tuple_indices", output, indices)
    if source != target:
        fail(f"operand_index = {index} is aliased with an output of another type: {source} with {target}")


# -- buffers: of a buffer that goes out it is known which one that came in it is

_BUFFER_CALLS = {"CreateBuffer": (0, None, MemRefType), "Pin": (1, TensorType, MemRefType), "Unpin": (1, MemRefType, TensorType)}
"""Calls that make buffers and give them up: how many operands there are, and the types of the operand and of the result."""


def check_buffers(op: ops.CustomCallOp) -> None:
    """A buffer is made by a call that does nothing else; any other call gives each buffer that it takes once, as an alias."""
    target = cast(StringAttr, op.properties["call_target_name"]).data
    if target in _BUFFER_CALLS:
        check_buffer_call(op, target)
        return
    used: dict[tuple[str, tuple[int, ...]], int] = {}
    for alias in cast("ArrayAttr[OutputOperandAliasAttr]", op.properties.get("output_operand_aliases", ArrayAttr([]))):
        source = (int_of(alias.operand_index), *(int_of(i) for i in alias.operand_tuple_indices))
        for place in (("operand", source), ("result", _absolute(op, [int_of(i) for i in alias.output_tuple_indices]))):
            used[place] = used.get(place, 0) + 1
    for kind, values in (("operand", op.operands), ("result", op.results)):
        for place in (place for i, value in enumerate(values) for place in buffers(value.type, (i,))):
            count = used.get((kind, place), 0)
            if count > 1 or (kind == "result" and not count):
                often = "once" if kind == "result" else "at most once"
                fail(f"the buffer at {list(place)} of the {kind}s must be in output_operand_aliases {often}, found {count}")


def _absolute(op: ops.CustomCallOp, indices: list[int]) -> tuple[int, ...]:
    """A path into the results, which begins with the number of the result."""
    return tuple(indices) if len(op.results) != 1 else (0, *indices)


def buffers(type: Attribute, at: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The places of buffers in a nested tuple, or in a type by itself."""
    if isinstance(type, MemRefType):
        yield at
    elif isinstance(type, TupleType):
        for i, part in enumerate(cast("Sequence[Attribute]", type.types)):
            yield from buffers(part, (*at, i))


def check_buffer_call(op: ops.CustomCallOp, target: str) -> None:
    """Operands and result of a call that makes a buffer or gives it up; both hold the same elements."""
    count, taken, given = _BUFFER_CALLS[target]
    if len(op.operands) != count or len(op.results) != 1:
        fail(f"{target} takes {count} operand{'' if count == 1 else 's'} and gives 1 result, found {len(op.operands)} and {len(op.results)}")
    types = [cast(Any, v.type) for v in (*op.operands, *op.results)]
    if not isinstance(types[-1], given) or (taken is not None and not isinstance(types[0], taken)):
        what = {TensorType: "a tensor", MemRefType: "a buffer", None: "nothing"}
        fail(f"{target} makes {what[given]} of {what[taken]}, found ({', '.join(map(str, types[:-1]))}) -> {op.results[0].type}")
    x, y = cast("list[Any]", [op.operands[0].type if taken else op.results[0].type, op.results[0].type])
    if x.element_type != y.element_type or x.get_shape() != y.get_shape():
        fail(f"{target} keeps shape and elements, found {x} and {y}")
