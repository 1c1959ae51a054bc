"""Large programs as pictures that can be read: one node for all ops of a line of the source, or of a stretch of lines, in each part of a derivative.

Ops that hold regions keep a node of their own, with their regions folded inside. Constants are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.lab.draw.graph import Graph, Kind, Node, cut, is_combiner, is_seed, region_title, short_name, short_type
from wengert.lab.draw.origins import Line, Part, is_derived, lines_of, part_of, stretches_of
from wengert.lab.tables import count, size
from wengert.transforms.analysis.opcost import work
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of

Fold = Literal["auto", "none", "line", "stretch"]
FOLDS: tuple[Fold, ...] = ("auto", "none", "line", "stretch")
"""What is one node: what is readable; an op; the ops of a line; those of a stretch of lines."""
MOST_OPS, MOST_LINES = 40, 40
"""Ops, and groups of ops by line, that a picture is readable with."""
KINDS = {Part.WHOLE: Kind.OP, Part.FORWARD: Kind.FORWARD, Part.TANGENT: Kind.TANGENT, Part.REVERSE: Kind.BACKWARD}


def readable(function: FuncOp) -> Fold:
    """The finest folding with which the picture of a function can be read."""
    drawn = [op for op in function.walk() if not isinstance(op, hlo.ConstantOp | FuncOp | ReturnOp)]
    if len(drawn) <= MOST_OPS:
        return "none"
    outer = [op for op in drawn if op.parent_op() is function]
    return "line" if len({(part_of(op), lines_of(op.location)[:1]) for op in outer}) <= MOST_LINES else "stretch"


def folded(function: FuncOp, title: str, arguments: Sequence[str | None], results: Sequence[str | None], fold: Fold) -> Graph:
    """The graph of a function in which ops of a line or of a stretch of lines are one node.

    Args:
        function: the function.
        title: the title of the picture.
        arguments: the names of its arguments.
        results: the names of its results.
        fold: ``line`` or ``stretch``.
    """
    return _Folder(is_derived(function), fold == "stretch").read(function.body.block, title, arguments, results, whole=True)


@dataclass
class _Group:
    """Ops that are one node."""

    name: str
    part: Part
    row: int
    title: str
    ops: list[Operation] = field(default_factory=list[Operation])


class _Folder:
    """Makes the names of nodes, which are unique over all nested graphs."""

    def __init__(self, derived: bool, by_stretch: bool):
        self._derived, self._by_stretch = derived, by_stretch
        self._count = 0

    def _fresh(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def read(self, block: Block, title: str, arguments: Sequence[str | None], results: Sequence[str | None], *, whole: bool) -> Graph:
        """The graph of a block; ``whole`` of a function, whose arguments and results are nodes."""
        made: dict[SSAValue, str] = {}
        nodes = self._arguments(block, arguments, made) if whole else self._inner_arguments(block, made)
        groups = self._groups(block, made)
        nodes += [self._node(group) for group in groups]
        edges: dict[tuple[SSAValue, str], str] = {}
        for group in groups:
            for op in group.ops:
                edges.update({(value, group.name): made[value] for value in _used(op) if made.get(value, group.name) != group.name})
        last = block.last_op
        if whole and last is not None:
            for number, value in enumerate(last.operands):
                label = (results[number] if number < len(results) else None) or f"result {number}"
                nodes.append(Node(self._fresh(), Kind.RESULT, (label, short_type(value.type))))
                edges.update({(value, nodes[-1].name): made[value]} if value in made else {})
        return Graph(title, tuple(nodes), tuple((start, end) for (_, end), start in edges.items()), folded=True)

    def _arguments(self, block: Block, names: Sequence[str | None], made: dict[SSAValue, str]) -> list[Node]:
        nodes: list[Node] = []
        for number, value in enumerate(block.args):
            label = (names[number] if number < len(names) else None) or value.name_hint or f"argument {number}"
            kind = Kind.BACKWARD if label.startswith("cotangent of ") else Kind.TANGENT if is_seed(label) else Kind.ARGUMENT
            made[value] = self._fresh()
            nodes.append(Node(made[value], kind, (label, short_type(value.type)), saved=self._derived and not is_seed(label) and self._is_saved(value)))
        return nodes

    def _inner_arguments(self, block: Block, made: dict[SSAValue, str]) -> list[Node]:
        """All arguments of a region as one node."""
        if not block.args:
            return []
        name = self._fresh()
        made.update(dict.fromkeys(block.args, name))
        types = ", ".join(short_type(value.type) for value in block.args)
        return [Node(name, Kind.ARGUMENT, (f"{len(block.args)} arguments", cut(types)), tooltip=types)]

    def _groups(self, block: Block, made: dict[SSAValue, str]) -> list[_Group]:
        """The groups of a block's ops, in the order of the source, or of the program where that says nothing."""
        ops = [op for op in block.ops if op is not block.last_op and not isinstance(op, hlo.ConstantOp)]
        stretches = stretches_of(ops)
        rows: dict[Line | None, int] = {None: 0} | {line: number for number, line in enumerate(stretches.lines)}
        groups: dict[tuple[Part, int, int], _Group] = {}
        row, title = 0, "no line"
        for op in ops:
            lines = lines_of(op.location)
            if lines:  # one without a line goes with the op before it
                row = rows[lines[0]] // (stretches.width if self._by_stretch else 1)
                title = stretches.of(lines[0]) if self._by_stretch else f"line {lines[0].number}"
            part = part_of(op) if self._derived else Part.WHOLE
            key = (part, row, id(op) if _holds_regions(op) else 0)
            group = groups.setdefault(key, _Group(self._fresh() if key not in groups else "", part, row, title))
            group.ops.append(op)
            made.update(dict.fromkeys(op.results, group.name))
        return list(groups.values())

    def _node(self, group: _Group) -> Node:
        first = group.ops[0]
        regions: tuple[Graph, ...] = ()
        if _holds_regions(first):
            regions = tuple(self.read(block, region_title(first, n), (), (), whole=False) for n, region in enumerate(first.regions) for block in region.blocks)
        tally = Counter(short_name(op) for op in group.ops).most_common()
        listed = [f"{name} ×{n}" if n > 1 else name for name, n in tally]
        kept = sum(_bytes(value) for op in group.ops for value in op.results if self._derived and self._is_saved(value))
        lines = [group.title, cut(", ".join(listed)), self._said(group, kept)]
        if len(group.ops) == 1 and not regions:
            known = lines_of(first.location)
            title = f"line {known[0].number}: {short_name(first)}" if known else short_name(first)
            lines = [title, ", ".join(short_type(r.type) for r in first.results[:2]), *([f"{size(kept)} used backward"] if kept else [])]
        tooltip = f"{group.title}: {', '.join(listed)}"
        return Node(group.name, KINDS[group.part], tuple(line for line in lines if line), tooltip, bool(kept), regions, group.row)

    def _said(self, group: _Group, kept: int) -> str:
        ops = [inner for op in group.ops for inner in _with_inner(op)]
        flops = sum(map(_flops, ops)) if not any(map(_holds_regions, ops)) else 0
        said = [f"{len(ops)} op{'s' if len(ops) > 1 else ''}", *([f"{count(flops)} flop"] if flops else []), *([f"{size(kept)} used backward"] if kept else [])]
        return ", ".join(said)

    def _is_saved(self, value: SSAValue) -> bool:
        """Whether a value of the forward part is used in the reverse part."""
        if isinstance(value.owner, hlo.ConstantOp) or (isinstance(value.owner, Operation) and part_of(value.owner) is Part.REVERSE):
            return False
        holder = value.block.parent_op() if isinstance(value, BlockArgument) else None
        if holder is not None and not isinstance(holder, FuncOp) and part_of(holder) is Part.REVERSE:
            return False
        return any(part_of(use.operation) is Part.REVERSE for use in value.uses)


def _holds_regions(op: Operation) -> bool:
    return any(region.blocks for region in op.regions) and not is_combiner(op)


def _with_inner(op: Operation) -> Iterator[Operation]:
    """An op and those in its regions, without constants and what ends a region."""
    if isinstance(op, hlo.ConstantOp):
        return
    yield op
    if _holds_regions(op):
        for region in op.regions:
            for block in region.blocks:
                yield from (inner for each in block.ops if each is not block.last_op for inner in _with_inner(each))


def _used(op: Operation) -> Iterator[SSAValue]:
    """The values that an op and its regions use."""
    for inner in op.walk():
        yield from inner.operands


def _bytes(value: SSAValue) -> int:
    try:
        return int(bytes_of(STATIC, value)) if isinstance(value.type, TensorType) else 0
    except Exception:  # an element type without a size in memory, an extent that is open
        return 0


def _flops(op: Operation) -> int:
    try:
        return int(work(op)[0])
    except Exception:  # levels below the core have ops of which nothing is declared
        return 0
