"""A graph whose nodes lie in nested layers, as Model Explorer shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Value:
    """A result of an op, or an argument: its name, its type as text (``f64[2,3]``), and its bytes."""

    name: str
    type: str
    bytes: int


@dataclass(frozen=True)
class Edge:
    """A use: the node and the number of its result that goes into an input of this number, and the type."""

    source: str
    result: int
    input: int
    type: str


@dataclass(frozen=True)
class LayeredNode:
    """An op, argument or result.

    Attributes:
        name: unique in its graph. Ops of a program have the same names in the graph of its derivative, which links the selection of both.
        label: what it shows.
        layers: the layers that it is in, from the outermost.
        attributes: what is said of it, in order.
        links: names of nodes that it is about, by what they are to it.
        edges: its inputs.
        results: what it defines.
        numbers: costs, by the names in :data:`MEASURES`; a missing one is not known.
        fill, border: its colours.
        functions: the names of the functions that it calls.
    """

    name: str
    label: str
    layers: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    edges: tuple[Edge, ...] = ()
    results: tuple[Value, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])
    fill: str = ""
    border: str = ""
    functions: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeptEdge:
    """A value that the forward part keeps for an op of the reverse part, with the text on its edge."""

    source: str
    target: str
    text: str


@dataclass(frozen=True)
class LayeredGraph:
    """A function.

    Attributes:
        name: unique among the graphs of a file.
        function: the function's name.
        nodes: in the order of the program.
        facts: what is said of all of it.
        kept: edges from what is kept to what needs it.
    """

    name: str
    function: str
    nodes: tuple[LayeredNode, ...]
    facts: Mapping[str, str]
    kept: tuple[KeptEdge, ...] = ()

    def total(self, measure: str, layers: tuple[str, ...] = ()) -> int:
        """The sum of a measure over the nodes in a layer, those deeper inside among them."""
        return sum(node.numbers.get(measure, 0) for node in self.nodes if node.layers[: len(layers)] == layers)


FLOPS, BYTES, KEPT = "flops", "bytes", "kept bytes"
MEASURES = {
    FLOPS: "floating point operations of one execution of an op",
    BYTES: "bytes of the results of an op",
    KEPT: "bytes that a value takes in memory because the reverse part needs it",
}
"""What is measured of nodes, each in a sentence."""
