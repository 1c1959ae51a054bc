"""The computation graph of a function, as data that is then drawn: nodes with lines of text, edges, and nested graphs for regions.

In a derivative, where every op's location says what it was derived from and in which role, nodes are told apart by what they are
for, and the values of the forward part that the backward part uses are marked: they are what reverse mode has to keep.

A value from outside that a region uses appears inside as a node of its own (*capture*), and the edge from outside ends at the op
that holds the region. So every graph is closed, and nested ones can be laid out on their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from wengert.ir import elements
from wengert.ir.attributes import ints
from wengert.ir.location.locations import Role, provenance
from wengert.ir.location.places import describe
from wengert.ir.tensor_types import DYNAMIC, shape_of_type
from wengert.ir.unregistered import written_name

LONGEST = 32
"""Characters of an attribute or a constant that are shown."""
_HIDDEN = {"precision_config", "indices_are_sorted", "unique_indices", "compare_type", "operandSegmentSizes", "resultSegmentSizes", "value", "api_version"}
_DIALECTS = ("stablehlo.", "chlo.", "core.", "func.")


class Kind(StrEnum):
    """The kind of a node, which its colour shows."""

    ARGUMENT = "argument"
    RESULT = "result"
    CONSTANT = "constant"
    CAPTURE = "capture"
    OP = "op"
    FORWARD = "forward"
    TANGENT = "tangent"
    BACKWARD = "backward"


_KINDS = {
    Role.PRIMAL: Kind.FORWARD,
    Role.COEFFICIENT: Kind.FORWARD,
    Role.TANGENT: Kind.TANGENT,
    Role.COTANGENT: Kind.BACKWARD,
    Role.ACCUMULATION: Kind.BACKWARD,
}


@dataclass(frozen=True)
class Node:
    """One op, argument, result or capture; ``saved`` where the backward part uses its value."""

    name: str
    kind: Kind
    lines: tuple[str, ...]
    tooltip: str = ""
    saved: bool = False
    regions: tuple[Graph, ...] = ()
    row: int = -1
    """Of folded ops, the place of their lines among all, from the top."""


@dataclass(frozen=True)
class Graph:
    """Nodes in the order of the program, and edges as pairs of names; an edge occurs once for every use, and where ops are folded once for every value."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]
    folded: bool = False

    @property
    def size(self) -> int:
        """The number of nodes, nested ones included."""
        return sum(1 + sum(region.size for region in node.regions) for node in self.nodes)

    @property
    def kinds(self) -> set[Kind]:
        """The kinds of all nodes, nested ones included."""
        return {kind for node in self.nodes for kind in ({node.kind}.union(*(g.kinds for g in node.regions)))}


def graph_of(function: FuncOp, title: str, argument_names: Sequence[str | None] = (), result_names: Sequence[str | None] = ()) -> Graph:
    """The graph of a function; names of arguments and results are those of its signature."""
    derived = any(provenance(op.location) is not None for op in function.walk())
    return _Reader(derived).read(function.body.block, title, argument_names, result_names, None)


class _Reader:
    """Makes the names of nodes, which are unique over all nested graphs."""

    def __init__(self, derived: bool):
        self._derived = derived
        self._count = 0

    def _fresh(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def read(self, block: Block, title: str, arguments: Sequence[str | None], results: Sequence[str | None], outer: Mapping[SSAValue, str] | None) -> Graph:
        """The graph of a block. ``outer`` is None for a function, whose last op shows as one node per result."""
        nodes: list[Node] = []
        edges: list[tuple[str, str]] = []
        made: dict[SSAValue, str] = {}

        def add(kind: Kind, lines: Sequence[str], tooltip: str = "", saved: bool = False, regions: tuple[Graph, ...] = ()) -> str:
            nodes.append(Node(self._fresh(), kind, tuple(lines), tooltip, saved, regions))
            return nodes[-1].name

        def source(value: SSAValue) -> str:
            if value not in made:  # from outside
                made[value] = add(Kind.CAPTURE, (f"from outside: {_value_name(value)}", short_type(value.type)))
            return made[value]

        for i, value in enumerate(block.args):
            name = (arguments[i] if i < len(arguments) else None) or value.name_hint or f"argument {i}"
            saved = not is_seed(name) and self._is_saved(value)
            made[value] = add(self._argument_kind(name), (name, short_type(value.type)), saved=saved)
        last = block.last_op
        for op in block.ops:
            if op is last and outer is None and isinstance(op, ReturnOp):
                for i, value in enumerate(op.operands):
                    name = (results[i] if i < len(results) else None) or f"result {i}"
                    edges.append((source(value), add(Kind.RESULT, (name, short_type(value.type)))))
                continue
            used = [source(value) for value in (*op.operands, *_captured(op))]
            regions = tuple(
                self.read(inner, region_title(op, i), (), (), made) for i, region in enumerate(op.regions) for inner in region.blocks if not is_combiner(op)
            )
            name = add(self.kind(op), _lines(op), _tooltip(op), any(self._is_saved(r) for r in op.results) and self.kind(op) is not Kind.CONSTANT, regions)
            edges += [(start, name) for start in used]
            made.update(dict.fromkeys(op.results, name))
        return Graph(title, tuple(nodes), tuple(edges))

    def kind(self, op: Operation) -> Kind:
        """The kind of an op's node. All in a region of the backward part belongs to it: it is computed there, whatever it was derived as."""
        if op.name == "stablehlo.constant":
            return Kind.CONSTANT
        if not self._derived:
            return Kind.OP
        holder = op.parent_op()
        if holder is not None and not isinstance(holder, FuncOp):
            outer = self.kind(holder)
            if outer is Kind.BACKWARD or op.next_op is None:
                return outer
        known = provenance(op.location)
        return Kind.FORWARD if known is None else _KINDS[known.role]

    def _argument_kind(self, name: str) -> Kind:
        return Kind.BACKWARD if name.startswith("cotangent of ") else Kind.TANGENT if name.startswith("tangent of ") else Kind.ARGUMENT

    def _is_saved(self, value: SSAValue) -> bool:
        """Whether a value of the forward part is used in the backward part."""
        if isinstance(value.owner, Operation) and self.kind(value.owner) is Kind.BACKWARD:
            return False
        if isinstance(value, BlockArgument) and self._inside_backward(value.block):
            return False
        return any(self.kind(use.operation) is Kind.BACKWARD for use in value.uses)

    def _inside_backward(self, block: Block) -> bool:
        holder = block.parent_op()
        return holder is not None and not isinstance(holder, FuncOp) and self.kind(holder) is Kind.BACKWARD


def is_seed(name: str) -> bool:
    """Whether an argument of this name is a tangent or cotangent."""
    return name.startswith(("cotangent of ", "tangent of "))


def is_combiner(op: Operation) -> bool:
    """A reduction or sort, whose region says how two scalars combine: an attribute in all but form."""
    return op.name in ("stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.scatter", "stablehlo.select_and_scatter", "stablehlo.sort", "stablehlo.map")


_REGIONS: dict[str, tuple[str, ...]] = {
    "stablehlo.while": ("condition", "body"),
    "stablehlo.if": ("true", "false"),
    "core.while": ("condition", "body"),
    "core.for": ("body",),
}


def region_title(op: Operation, number: int) -> str:
    """The title of a region of an op: ``body``, ``condition``, ``true``, ``branch 2``, ..."""
    titles = _REGIONS.get(op.name, ())
    return titles[number] if number < len(titles) else f"{'branch' if op.name.endswith('case') else 'region'} {number}"


def _captured(op: Operation) -> list[SSAValue]:
    """The values from outside of an op that its regions use, each once."""
    inside = {id(block) for region in op.regions for block in _blocks(region)}
    captured: dict[SSAValue, None] = {}
    for region in op.regions:
        for inner in region.walk():
            for value in inner.operands:
                if id(value.owner if isinstance(value.owner, Block) else value.owner.parent) not in inside:
                    captured[value] = None
    return list(captured)


def _blocks(region: Any) -> list[Block]:
    return [b for block in region.blocks for b in (block, *(inner for op in block.walk() for r in op.regions for inner in r.blocks))]


# -- text


def short_type(type: Attribute) -> str:
    """``f64[2,3]`` for a tensor type, other types as they print."""
    if not isinstance(type, TensorType):
        return cut(str(type))
    tensor_type = cast("TensorType[Any]", type)
    extents = ",".join("?" if n == DYNAMIC else str(n) for n in shape_of_type(tensor_type))
    return f"{tensor_type.element_type}[{extents}]" if extents else str(tensor_type.element_type)


def cut(text: str) -> str:
    """A text, cut where it is long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _value_name(value: SSAValue) -> str:
    return value.name_hint or (
        value.owner.name if isinstance(value.owner, Operation) else f"argument {value.index}" if isinstance(value, BlockArgument) else "value"
    )


def short_name(op: Operation) -> str:
    """An op's name without the dialects that need no mention."""
    return without_dialect(op.name)


def without_dialect(name: str) -> str:
    """The name of an op without the dialects that need no mention."""
    return next((name[len(prefix) :] for prefix in _DIALECTS if name.startswith(prefix)), name)


def details(op: Operation) -> list[str]:
    """The attributes of an op that matter, each as ``key=value`` in few characters."""
    return [text for key, value in op.properties.items() if key not in _HIDDEN and (text := _detail(key, value))]


def _lines(op: Operation) -> list[str]:
    types = ", ".join(short_type(r.type) for r in op.results[:3]) + (f", … ({len(op.results)})" if len(op.results) > 3 else "")
    if op.name == "stablehlo.constant":
        return [short_constant(op.properties["value"]), types]
    said = details(op)
    return [short_name(op), *([cut(" ".join(said))] if said else []), *([types] if types else [])]


def short_constant(value: Attribute) -> str:
    """The value of a constant, cut where it is long."""
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return cut(str(value))
    array = elements.to_numpy(cast("DenseIntOrFPElementsAttr[Any]", value))
    if array.size == 0:
        return "empty"
    if elements.is_splat(cast("DenseIntOrFPElementsAttr[Any]", value)):
        return f"{array.flat[0]:.6g}" if array.dtype.kind == "f" else str(array.flat[0])
    shown = ", ".join(f"{x:.3g}" if array.dtype.kind == "f" else str(x) for x in array.flat[:4])
    return f"{shown}, …" if array.size > 4 else shown


def _detail(key: str, value: Attribute) -> str:
    """``key=value`` in few characters, nothing for a flag that is off."""
    if isinstance(value, DenseArrayBase):
        return f"{key}={list(ints(value))}".replace(" ", "")  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, IntegerAttr):
        number = cast("IntegerAttr[Any]", value)
        if number.type == IntegerType(1):
            return key if number.value.data else ""
        return f"{key}={number.value.data}"
    if isinstance(value, FloatAttr):
        return f"{key}={value.value.data:g}"
    if isinstance(value, StringAttr):
        return f"{key}={value.data}" if value.data else ""
    if isinstance(value, SymbolRefAttr):
        return f"@{value.string_value()}"
    data = getattr(value, "data", None)
    if isinstance(data, Enum):
        return str(data.value)
    return cut(f"{key}={value}")


def _tooltip(op: Operation) -> str:
    known = provenance(op.location)
    place = describe(op.location)
    return f"{written_name(op)} at {place}" + (f" ({known.role} of {known.op_name}, by {known.pass_name})" if known else "")
