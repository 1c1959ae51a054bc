"""The graph of a module of MLIR, at any level."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, UnregisteredOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.ir import Block as IRBlock
from xdsl.traits import IsTerminator

from wengert.ir.location.locations import provenance
from wengert.ir.location.places import origin
from wengert.ir.unregistered import written_name
from wengert.lab.diff.graph import ARGUMENT, Block, Graph, Node, connect
from wengert.lab.inspection.printed import Printed, printed

_FUNCTIONS = frozenset(("func.func", "gpu.func", "llvm.func"))
_NAMES = frozenset(("sym_name", "function_type", "arg_attrs", "res_attrs", "sym_visibility"))
"""What a function is told by, and what is said of its arguments and results."""


def module_graph(module: ModuleOp) -> Graph:
    """The graph of a module."""
    return _Reader(printed(module)).read(module)


class _Reader:
    def __init__(self, text: Printed):
        self.text = text
        self.nodes: list[Node] = []
        self.functions: list[Node] = []
        self.of: dict[SSAValue, tuple[Node, int]] = {}
        self.waiting: list[tuple[Node, Operation]] = []

    def read(self, module: ModuleOp) -> Graph:
        for block in module.body.blocks:
            for op in block.ops:
                self._op(op, None)
        for node, op in self.waiting:
            connect(node, [self.of[value] for value in op.operands if value in self.of])
        return Graph(self.functions, self.nodes)

    def _op(self, op: Operation, block: Block | None) -> None:
        names = tuple([self.text.name_of(result) for result in op.results])
        known = provenance(op.location)
        derivation = "/".join(known) if known is not None else ""
        terminates = op.has_trait(IsTerminator, value_if_unregistered=False)
        text = self.text.line_of(op).removesuffix(" {")
        node = Node(
            len(self.nodes),
            written_name(op),
            (label_of(op), self._implied(op)),
            text,
            names,
            _place(op),
            derivation,
            block=block,
            is_terminator=terminates,
            op=op,
        )
        self.nodes.append(node)
        self.waiting.append((node, op))
        for number, result in enumerate(op.results):
            self.of[result] = (node, number)
        if block is None or isinstance(op, FuncOp) or op.name in _FUNCTIONS:
            self.functions.append(node)
        if block is not None:
            block.ops.append(node)
        for number, region in enumerate(op.regions):
            for position, inner in enumerate(region.blocks if self._is_shown(region) else ()):
                node.blocks.append(self._block(inner, Block(node, (number, position))))

    def _is_shown(self, region: Region) -> bool:
        first = region.blocks[0].first_op if region.blocks else None
        return first is None or first in self.text.starts

    def _implied(self, op: Operation) -> Hashable:
        """The ops of regions that are not written out (``applies stablehlo.add``), which are a part of the op."""
        if not op.regions:
            return ()
        return tuple([label_of(inner) for region in op.regions if not self._is_shown(region) for inner in region.walk()])

    def _block(self, ir: IRBlock, block: Block) -> Block:
        for argument in ir.args:
            block.arguments.append(self._argument(argument, block))
        for op in ir.ops:
            self._op(op, block)
        return block

    def _argument(self, value: BlockArgument, block: Block) -> Node:
        name = self.text.name_of(value)
        node = Node(len(self.nodes), ARGUMENT, value.type, f"{name}: {value.type}", (name,), block=block, op=value)
        self.nodes.append(node)
        self.of[value] = (node, 0)
        return node


def label_of(op: Operation) -> Hashable:
    """The name, attributes and result types of an op. Functions are told by their names alone: what they take and return is compared by itself."""
    name = written_name(op)
    if op.name in _FUNCTIONS:
        symbol = op.properties.get("sym_name") or op.attributes.get("sym_name")
        rest = [(key, value) for key, value in (*op.properties.items(), *op.attributes.items()) if key not in _NAMES]
        return name, str(symbol), _sorted(rest), ()
    attributes = [(key, value) for key, value in op.attributes.items() if not isinstance(op, UnregisteredOp) or value is not op.op_name]
    return name, _sorted([*op.properties.items(), *attributes]), tuple([result.type for result in op.results])


def _sorted(attributes: list[tuple[str, Attribute]]) -> tuple[tuple[str, Attribute], ...]:
    return tuple(sorted(attributes, key=lambda entry: entry[0]))


def _place(op: Operation) -> tuple[str, int, int]:
    place = origin(op.location)
    return (place.filename.data, place.line.data, place.column.data) if isinstance(place, FileLineColLoc) else ("", 0, 0)
