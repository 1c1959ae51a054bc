"""Reading regions and blocks: scopes of values and of block names, and blocks that are used before they are defined."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.parser import Parser
from xdsl.utils.lexer import Span

from wengert.ir.construction import append
from wengert.ir.parsing.cursor import NAME, SPACE
from wengert.ir.parsing.values import ValueReader

_BLOCK = re.compile(SPACE + r"\^(" + NAME + ")", re.ASCII)
_DEPTH = 64
"""The deepest nesting of regions; Python's own stack would end at about twice that."""


class RegionReader(ValueReader):
    """Reads regions, whose ops :meth:`operation` reads."""

    _depth = 0

    def operation(self) -> Operation:
        """Reads an op with its results and its location."""
        raise NotImplementedError

    def region(self, arguments: Sequence[tuple[str, Attribute, int, LocationAttr | None]] = (), *, isolated: bool = False, named: bool = False) -> Region:
        """Reads ``{ ... }``. ``arguments`` are those of the entry block: (name, type, position, location)."""
        opened = self.skip()
        self.need("{")
        self._depth += 1
        if self._depth > _DEPTH:
            self.fail(f"regions nest deeper than {_DEPTH} levels", opened)
        outer = (self.ssa_values, self._scope, self.blocks, self.forward_block_references, self.forward_ssa_references)
        self._scope, self.blocks, self.forward_block_references = [], {}, defaultdict(list)
        self.forward_ssa_references = {}
        if isolated:
            self.ssa_values = {}
        region = Region()
        if arguments or named or (self.peek() not in ("^", "}")):
            region.add_block(self._entry_block(arguments, opened))
        while self.peek() == "^":
            region.add_block(self._labelled_block(opened))
        self._close(opened)
        if isolated:
            self.check_defined()
        for name in self._scope:
            del self.ssa_values[name]
        missing = next(iter(self.forward_block_references), None)
        if missing is not None:
            self.fail(f"block '^{missing}' is not defined in this region", self.forward_block_references[missing][0].start)
        self.ssa_values, self._scope, self.blocks, self.forward_block_references, references = outer
        if isolated:
            self.forward_ssa_references = references
        else:
            self.leave_references(references)
        self._depth -= 1
        return region

    def _close(self, opened: int) -> None:
        if self.accept("}"):
            return
        if self.skip() >= len(self.text):
            self.fail("this '{' is never closed", opened, hint="the text may be truncated")
        self.unexpected("an operation or '}'")

    def _entry_block(self, arguments: Sequence[tuple[str, Attribute, int, LocationAttr | None]], opened: int) -> Block:
        block = Block(arg_types=[type for _, type, _, _ in arguments])
        for argument, (name, _, position, location) in zip(block.args, arguments):
            argument.location = location or self.place(position)
            self.define(name, (argument,), position)
        self.block_body(block, opened)
        return block

    def _labelled_block(self, opened: int) -> Block:
        name, position = self._block_name()
        block, defined = self.blocks.get(name, (None, None))
        if defined is not None:
            self.fail(f"block '^{name}' is defined twice", position, notes=(self.diagnostic("first defined here", defined.start, severity="note"),))
        if block is None:
            block = Block()
        self.forward_block_references.pop(name, None)
        self.blocks[name] = (block, Span(position, position + 1, self.lexer.input))
        if self.peek() == "(":
            for argument_name, type, at, location in self.listed("(", ")", self.block_argument):
                argument = block.insert_arg(type, len(block.args), location or self.place(at))
                self.define(argument_name, (argument,), at)
        self.need(":")
        self.block_body(block, opened)
        return block

    def _block_name(self) -> tuple[str, int]:
        match = _BLOCK.match(self.text, self.here)
        if match is None:
            self.unexpected("the name of a block")
        self.here = match.end()
        return match.group(1), match.start(1) - 1

    def successor(self) -> Block:
        """Reads ``^name``: the block, which may be defined later."""
        name, position = self._block_name()
        if name not in self.blocks:
            self.blocks[name] = (Block(), None)
            self.forward_block_references[name] = [Span(position, position + 1, self.lexer.input)]
        return self.blocks[name][0]

    def block_argument(self) -> tuple[str, Attribute, int, LocationAttr | None]:
        """Reads ``%name: type``, and a location if there is one."""
        name, _, position = self.operand()
        self.need(":")
        return name, self.type(), position, self.location()

    def block_body(self, block: Block, opened: int) -> None:
        """Reads ops until the block ends."""
        text, read = self.text, self.operation
        while True:
            mark = text[self.skip() : self.here + 1]
            if mark == "}" or mark == "^":
                return
            if not mark:
                self.fail("this '{' is never closed", opened, hint="the text may be truncated")
            append(block, read())

    # -- what xDSL's code calls

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        self.from_tokens()
        if self.peek() != "{":
            return None
        given = [(a.name.text[1:], a.type, a.name.start, a.location) for a in arguments or ()]
        region = self.region(given, named=arguments is not None)
        self.to_tokens()
        return region
