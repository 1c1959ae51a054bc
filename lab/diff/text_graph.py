"""The graphs of texts that are no MLIR: LLVM's instructions with their operands, and assembly, of which only the lines are known."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wengert.ir.pipeline.translations import COMMENTS, Form
from wengert.lab.diff.graph import Block, Graph, Node, connect

_NAME = re.compile(r'%(?:"[^"]*"|[\w$.-]+)')
_NUMBERED = re.compile(r"([!#])\d+")
_RESULT = re.compile(r'\s*(%(?:"[^"]*"|[\w$.-]+)) = ')
_LABEL = re.compile(r'(?:"[^"]*"|[\w$.@-]+):(?:\s|$)')
_FUNCTION = re.compile(r'define\b.*?@("[^"]*"|[\w$.-]+)\((.*)\)')


def text_graph(text: str, form: Form, name: str = "") -> Graph:
    """The graph of LLVM text, or of assembly. Places are those of the text itself, under the name that is given."""
    reader = _Reader(name)
    (reader.llvm if form == "ll" else reader.assembly)(list(_lines(text, COMMENTS[form])))
    return Graph(reader.functions, reader.nodes, form)


def _lines(text: str, comment: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers."""
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith(comment):
            yield number, stripped


class _Reader:
    def __init__(self, name: str):
        self.name = name
        self.nodes: list[Node] = []
        self.functions: list[Node] = []

    def llvm(self, lines: list[tuple[int, str]]) -> None:
        """Functions with instructions; what stands outside of functions are declarations."""
        outside, block, made, waiting = self.function("declarations", 0), None, dict[str, Node](), list[Node]()
        for number, line in lines:
            if line.startswith("define "):
                block, made, waiting = self.begin(line, number)
            elif line == "}" and block is not None:
                self.resolve(waiting, made)
                block = None
            elif block is not None and _LABEL.match(line) is None:
                waiting.append(self.instruction(line, number, block, made))
            elif block is None:
                self.line(line, number, outside)

    def begin(self, line: str, number: int) -> tuple[Block, dict[str, Node], list[Node]]:
        """A function and its arguments."""
        match = _FUNCTION.search(line)
        block = self.function(f"@{match[1]}" if match else line, number, line)
        made: dict[str, Node] = {}
        for name in _NAME.findall(match[2]) if match else ():
            argument = Node(len(self.nodes), "argument", "argument", name, (name,), block=block)
            block.arguments.append(argument)
            self.nodes.append(argument)
            made[name] = argument
        return block, made, []

    def function(self, label: str, number: int, line: str = "") -> Block:
        node = Node(len(self.nodes), "define", label, line or label, origin=(self.name, number, 1))
        block = Block(node, (0, 0))
        node.blocks.append(block)
        self.nodes.append(node)
        self.functions.append(node)
        return block

    def instruction(self, line: str, number: int, block: Block, made: dict[str, Node]) -> Node:
        result = _RESULT.match(line)
        body = line[result.end() :] if result else line
        node = self.line(line, number, block, _NUMBERED.sub(r"\1", _NAME.sub("%", body)), body.split(" ", 1)[0], (result[1],) if result else ())
        if result:
            made[result[1]] = node
        return node

    def line(self, line: str, number: int, block: Block, label: str = "", name: str = "line", names: tuple[str, ...] = ()) -> Node:
        node = Node(len(self.nodes), name, label or _NUMBERED.sub(r"\1", line), line, names, (self.name, number, 1), block=block)
        node.is_terminator = name in ("ret", "unreachable")
        block.ops.append(node)
        self.nodes.append(node)
        return node

    @staticmethod
    def resolve(waiting: list[Node], made: dict[str, Node]) -> None:
        """Gives instructions their operands: those that are no labels."""
        for node in waiting:
            body = node.text[len(node.names[0]) :] if node.names else node.text
            connect(node, [(made[name], 0) for name in _NAME.findall(body) if name in made])

    def assembly(self, lines: list[tuple[int, str]]) -> None:
        """Lines under the symbols before them."""
        block = self.function("beginning", 0)
        for number, line in lines:
            symbol = _LABEL.match(line)
            if symbol is not None and not line.startswith("."):
                block = self.function(symbol[0].strip(), number, line)
            else:
                self.line(line, number, block)
