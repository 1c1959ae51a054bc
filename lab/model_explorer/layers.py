"""A function as a graph in nested layers: the part of the derivative, a stretch of source lines, the line (and the lines of calls on the way to it), and
regions of ops inside.

Values flow along edges as they do in a run: into a loop's body through its arguments, and from the end of the body to the loop's own node, whose results
others use.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.ir.location.locations import Certainty, Role, Source, provenance, sources
from wengert.ir.location.places import describe
from wengert.ir.printing.printer import printed_names
from wengert.ir.traversal import operands_of
from wengert.ir.unregistered import written_name
from wengert.lab.draw.graph import Kind, details, is_combiner, region_title, short_constant, short_name, short_type, without_dialect
from wengert.lab.draw.origins import Part, Stretches, is_derived, lines_of, part_of, stretches_of
from wengert.lab.draw.style import LOOKS, SAVED
from wengert.lab.kept.parts import inside
from wengert.lab.kept.residuals import ResidualFacts
from wengert.lab.model_explorer.nested import BYTES, FLOPS, KEPT, Edge, KeptEdge, LayeredGraph, LayeredNode, Value
from wengert.lab.tables import size
from wengert.runtime.functions import names_of
from wengert.runtime.signature import Signature
from wengert.transforms.analysis.opcost import work
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of

_KINDS = {Part.WHOLE: Kind.OP, Part.FORWARD: Kind.FORWARD, Part.TANGENT: Kind.TANGENT, Part.REVERSE: Kind.BACKWARD}


def layered(
    function: FuncOp,
    name: str,
    title: str,
    kept: Sequence[ResidualFacts] = (),
    signature: Signature | None = None,
    stretches: Stretches | None = None,
    facts: Mapping[str, str] | None = None,
) -> LayeredGraph:
    """The graph of a function.

    Args:
        function: the function.
        name: the graph's name.
        title: the program's name.
        kept: the residuals of a reverse derivative, as values of this function.
        signature: names of the arguments and results, where the function itself has none.
        stretches: those of the program that this is the derivative of, so that both have the same layers.
        facts: what else is said of the graph.
    """
    reader = _Reader(function, kept, stretches or stretches_of(function.body.block.ops))
    arguments, results = names_of(function)
    if signature is not None:
        arguments, results = [p.name for p in signature.arguments], [p.name for p in signature.results]
    reader.function(function, arguments, results)
    graph = LayeredGraph(name, function.sym_name.data, reader.linked(), {}, reader.kept_edges())
    said = {"program": title, "function": f"@{graph.function}", "ops": str(reader.ops), FLOPS: f"{graph.total(FLOPS):,} of one execution of each op"}
    said |= {KEPT: size(graph.total(KEPT))} if kept else {}
    return LayeredGraph(graph.name, graph.function, graph.nodes, {**said, **(facts or {})}, graph.kept)


class _Reader:
    """Makes the nodes of a function and notes which node stands for which op and value."""

    def __init__(self, function: FuncOp, kept: Sequence[ResidualFacts], stretches: Stretches):
        self.ops = 0
        self._nodes: dict[str, LayeredNode] = {}
        self._seen: Counter[str] = Counter()
        self._node_of: dict[Operation, str] = {}
        self._made: dict[SSAValue, tuple[str, int]] = {}
        self._names = printed_names(function)
        self._derived = is_derived(function)
        self._stretches = stretches
        self._kept: dict[SSAValue, list[ResidualFacts]] = {}
        for residual in kept:
            self._kept.setdefault(residual.value, []).append(residual)

    def function(self, function: FuncOp, arguments: Sequence[str | None], results: Sequence[str | None]) -> None:
        """Reads a function's body; its terminator is a node for each result."""
        for number, argument in enumerate(function.body.block.args):
            named = arguments[number] if number < len(arguments) else None
            self._argument(argument, f"argument {number}", named or argument.name_hint or f"argument {number}", ())
        for op in function.body.block.ops:
            if isinstance(op, ReturnOp):
                for number, value in enumerate(op.operands):
                    named = results[number] if number < len(results) else None
                    edges = self._edges([value])
                    self._add(LayeredNode(f"result {number}", named or f"result {number}", edges=edges, attributes={"role": "result"}), Kind.RESULT, ())
            else:
                self._op(op, ())

    def _argument(self, value: BlockArgument, name: str, label: str, layers: tuple[str, ...], edges: tuple[Edge, ...] = ()) -> None:
        kind = Kind.BACKWARD if label.startswith("cotangent of ") else Kind.TANGENT if label.startswith("tangent of ") else Kind.ARGUMENT
        self._add(LayeredNode(name, label, layers, {"role": "argument"}, edges=edges), kind, (value,))

    def _op(self, op: Operation, around: tuple[str, ...]) -> None:
        self.ops += 1
        layers = (*around, *self._layers(op, top=not around))
        name = self._fresh(_base(op))
        blocks = [] if is_combiner(op) else [(n, block) for n, region in enumerate(op.regions) for block in region.blocks]
        edges = self._edges(operands_of(op))
        if blocks:
            layers = (*layers, layer(name))
            for number, block in blocks:
                edges += self._region(op, number, block, layers, len(edges))
        kind = Kind.CONSTANT if isinstance(op, hlo.ConstantOp) else _KINDS[part_of(op) if self._derived else Part.WHOLE]
        called = (op.callee.string_value(),) if isinstance(op, CallOp) else ()
        flops = _flops(op)
        node = LayeredNode(name, short_name(op), layers, _said(op), edges=edges, numbers={} if flops is None else {FLOPS: flops}, functions=called)
        self._add(node, kind, op.results)
        self._node_of[op] = name

    def _region(self, op: Operation, number: int, block: Block, layers: tuple[str, ...], first: int) -> tuple[Edge, ...]:
        """Reads a region's block; the edges from what it ends with to the op."""
        title = region_title(op, number)
        within = (*layers, title) if len(op.regions) > 1 else layers
        for argument in block.args:
            edges = self._edges(_entering(op, argument))
            label = argument.name_hint or f"{title} argument {argument.index}"
            self._argument(argument, self._fresh(f"{title} argument {argument.index} of {_base(op)}"), label, within, edges)
        for inner in list(block.ops)[:-1]:
            self._op(inner, within)
        return self._edges(operands_of(block.last_op), first) if block.last_op is not None else ()

    def _layers(self, op: Operation, *, top: bool) -> tuple[str, ...]:
        """The layers of an op in those that it is in anyway."""
        lines = lines_of(op.location)
        if not top:
            return ()
        part = (part_of(op).value,) if self._derived else ()
        if not lines:
            return part
        stretch = (layer(self._stretches.of(lines[0])),) if self._stretches.width > 1 else ()
        return (*part, *stretch, *(layer(f"line {line.number}") for line in lines))

    def _add(self, node: LayeredNode, kind: Kind, values: Sequence[SSAValue]) -> None:
        """Enters a node that defines these values, with what they cost."""
        kept = [residual for value in values for residual in self._kept.get(value, ())]
        numbers = {**node.numbers, **({BYTES: sum(map(_bytes, values))} if values else {})}
        attributes = dict(node.attributes)
        if kept:
            attributes["kept for the reverse part"] = "; ".join(map(_kept_text, kept))
            numbers[KEPT] = sum(int(count) for residual in kept if residual.where == "memory" and (count := residual.bytes.constant) is not None)
        attributes |= {measure: f"{number:,}" if measure == FLOPS else size(number) for measure, number in numbers.items()}
        results = tuple(Value(self._names.get(value, ""), short_type(value.type), _bytes(value)) for value in values)
        look = LOOKS[kind]
        self._nodes[node.name] = replace(node, attributes=attributes, numbers=numbers, results=results, fill=look.fill, border=SAVED if kept else look.border)
        self._made.update({value: (node.name, number) for number, value in enumerate(values)})

    def _edges(self, values: Sequence[SSAValue], first: int = 0) -> tuple[Edge, ...]:
        made = ((number, self._made[value], value) for number, value in enumerate(values, first) if value in self._made)
        return tuple(Edge(source, result, number, short_type(value.type)) for number, (source, result), value in made)

    def _fresh(self, name: str) -> str:
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name} #{self._seen[name]}"

    def linked(self) -> tuple[LayeredNode, ...]:
        """The nodes; those of derived ops name the op that they were derived from, and that one names them."""
        from_: dict[str, str] = {}
        for op, name in self._node_of.items():
            source = sources(op.location, op.name)[0]
            primal = _written(source)
            if source.role not in (None, Role.PRIMAL) and primal in self._nodes:
                from_[name] = primal
        back: dict[str, list[str]] = {}
        for name, primal in from_.items():
            back.setdefault(primal, []).append(name)
        links = {name: {"derived from": (primal,)} for name, primal in from_.items()} | {
            primal: {"derived ops": tuple(names)} for primal, names in back.items()
        }
        return tuple(replace(node, links=links.get(name, {})) for name, node in self._nodes.items())

    def kept_edges(self) -> tuple[KeptEdge, ...]:
        """From what is kept to the ops of the reverse part that need it."""
        edges: dict[tuple[str, str], KeptEdge] = {}
        for value, kept in self._kept.items():
            source = self._made.get(value)
            for residual in kept:
                for user in residual.users:
                    target = self._node_of.get(user)
                    if source is not None and target is not None:
                        edges[source[0], target] = KeptEdge(source[0], target, _kept_text(residual))
        return tuple(edges.values())


def layer(text: str) -> str:
    """A text as the name of a layer: Model Explorer separates them by slashes, and its font in the picture has no dashes."""
    return text.replace("/", "|").replace("–", "-").replace(";", ",")


def _written(source: Source) -> str:
    """The name of the node of an op as it was written."""
    return f"{without_dialect(source.op_name)} at {os.path.basename(describe(source.place))}"


def _base(op: Operation) -> str:
    """What a node's name begins with: of an op of the program what was written, in its derivative too."""
    source = sources(op.location, op.name)[0]
    if source.certainty is Certainty.UNKNOWN:
        return short_name(op)
    if source.role not in (None, Role.PRIMAL):
        return f"{source.role} of {_written(source)}: {short_name(op)}"
    # What a derivative adds to a loop, such as its stacks, has the loop's location.
    stands_for = op.name == source.op_name or bool(op.regions) or (source.role is None and not isinstance(op, hlo.ConstantOp))
    return _written(source) if stands_for else f"{_written(source)}: {short_name(op)}"


def _said(op: Operation) -> dict[str, str]:
    known = provenance(op.location)
    said = {"op": written_name(op), "role": str(known.role) if known is not None else "primal", "source": describe(op.location)}
    if known is not None:
        said["derived by"] = f"{known.pass_name} from {known.op_name}"
    if isinstance(op, hlo.ConstantOp):
        return {**said, "value": short_constant(op.properties["value"])}
    attributes = " ".join(details(op))
    return {**said, **({"attributes": attributes} if attributes else {})}


def _entering(op: Operation, argument: BlockArgument) -> list[SSAValue]:
    """The operands that an argument of a region begins with."""
    operands = operands_of(op)
    if isinstance(op, hlo.WhileOp):
        return [operands[argument.index]]
    return [operand for number, operand in enumerate(operands) if any(a is argument for a in inside(op, number))]


def _kept_text(residual: ResidualFacts) -> str:
    each = f"{residual.bytes} bytes" if residual.bytes.constant is None else size(int(residual.bytes))
    where = {"memory": "in memory", "result": "in a result", "input": "in an argument", "kernels": "computed again by the kernels that use it"}[residual.where]
    return f"{each}, {where}"


def _bytes(value: SSAValue) -> int:
    if not isinstance(value.type, TensorType):
        return 0
    try:
        return int(bytes_of(STATIC, value))
    except Exception:  # an element type without a size in memory, an extent that is open
        return 0


def _flops(op: Operation) -> int | None:
    """Operations of one execution, None where they are not known; an op that holds regions has those of the ops inside."""
    if any(region.blocks for region in op.regions) and not is_combiner(op):
        return None
    try:
        return int(work(op)[0])
    except Exception:  # levels below the core have ops of which nothing is declared
        return None
