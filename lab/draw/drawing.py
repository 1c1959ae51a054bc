"""``wg.draw(p)``: the computation graph of a program, derivatives included, as DOT and SVG.

drawing = wg.draw(p.vjp())
drawing.dot                      # text for Graphviz
drawing.save("derivative.svg")
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from xdsl.dialects.func import FuncOp

from wengert.lab.draw.dot import dot_of
from wengert.lab.draw.folding import FOLDS, Fold, folded, readable
from wengert.lab.draw.graph import Graph, graph_of
from wengert.lab.draw.svg import svg_of
from wengert.runtime.dump_folders import PathLike
from wengert.runtime.errors import InputError
from wengert.runtime.functions import entry_function, functions, names_of
from wengert.runtime.program import Program, own_program

LIMIT = 500
"""Nodes that are drawn unless asked otherwise; of more, no picture can be read."""


@dataclass(frozen=True)
class Drawing:
    """A picture of a function: ``dot`` is text and always there; ``svg()`` needs grandalf, the extra ``draw``."""

    graph: Graph

    @cached_property
    def dot(self) -> str:
        """The graph in Graphviz's language."""
        return dot_of(self.graph)

    @cached_property
    def _svg(self) -> str:
        return svg_of(self.graph)

    def svg(self) -> str:
        """The picture as an SVG document; raises InputError where grandalf is not installed."""
        return self._svg

    def save(self, path: PathLike) -> None:
        """Writes the picture: as SVG (``.svg``) or DOT (``.dot``, ``.gv``); raises InputError for another suffix."""
        suffix = Path(path).suffix.lower()
        if suffix not in (".svg", ".dot", ".gv"):
            raise InputError(f"a drawing is saved as .svg, .dot or .gv, found {str(path)!r}; Graphviz makes others of DOT")
        Path(path).write_text(self.svg() if suffix == ".svg" else self.dot, encoding="utf-8")

    def _repr_svg_(self) -> str | None:
        """For notebooks; without grandalf they show ``repr``, which says what is missing."""
        try:
            return self.svg()
        except InputError:
            return None

    def __repr__(self) -> str:
        return f"<Drawing of {self.graph.title}: {len(self.graph.nodes)} nodes; .dot is text for Graphviz, .svg() needs grandalf>"


def draw(program: Program, *, function: str | None = None, limit: int = LIMIT, fold: Fold = "auto") -> Drawing:
    """The computation graph of a function of the program.

    Ops are boxes with their name, what matters of their attributes, and their type; regions are boxes in boxes. Of a derivative the
    forward, tangent and backward parts have colours of their own, and the values of the forward part that the backward part uses
    have a thick border. Of a large program the ops of a source line, or of a stretch of lines, are one box.

    Args:
        program: the program; a derivative is one too.
        function: the name of the function to draw; the entry by default.
        limit: the largest number of boxes to draw.
        fold: what is a box: ``none`` for an op, ``line`` for the ops of a source line, ``stretch`` for those of a stretch of lines, in each part of a
            derivative; ``auto`` for the finest of them that can be read.

    Raises:
        InputError: it is no program, there is no function of this name, or there are more boxes than ``limit``.
    """
    given = own_program(program)
    if not isinstance(given, Program):
        hint = "of a traced function it is f.program(*args)" if callable(getattr(given, "program", None)) else "such as wg.parse gives"
        raise InputError(f"draw takes a program, found {type(given).__name__}; {hint}")
    if fold not in FOLDS:
        raise InputError(f"fold is one of {', '.join(FOLDS)}, found {fold!r}")
    drawn = entry_function(given.module, given.entry if function is None else function)
    level = readable(drawn) if fold == "auto" else fold
    title = f"{given.name}: @{drawn.sym_name.data}"
    if level == "none":
        count = sum(op.name not in ("func.func", "func.return") for op in drawn.walk())
        _check(given, drawn, count, f"{count} ops", limit, ["fold them (fold='line')"] if fold == "none" else [])
        return Drawing(graph_of(drawn, title, *names_of(drawn)))
    graph = folded(drawn, title, *names_of(drawn), level)
    coarser = ["fold it further (fold='stretch')"] if level == "line" else []
    _check(given, drawn, graph.size, f"{graph.size} boxes, folded by {level},", limit, coarser)
    return Drawing(graph)


def _check(program: Program, drawn: FuncOp, count: int, said: str, limit: int, ways: list[str]) -> None:
    """Refuses more boxes than may be drawn."""
    if count <= limit:
        return
    others = [name for name in functions(program.module) if name != drawn.sym_name.data]
    parts = [f"draw one of its functions (function={others[0]!r}, one of {len(others)})"] if others else []
    listed = ", ".join([*ways, *parts, f"raise limit={count}", "or read the text: print(p)"])
    raise InputError(f"@{drawn.sym_name.data} has {said} and a drawing shows at most {limit}: {listed}".replace(" ops and", " ops, and"))
