"""Reads a PTX module: directives, variables and functions.

The grammar is that of the PTX ISA (version 8.x), chapters 4 and 5, without debug information, which is skipped, and without textures,
surfaces, samplers and clusters, which are refused.
"""

from __future__ import annotations

from wengert.runtime.ptx.cursor import Cursor
from wengert.runtime.ptx.parse_body import BodyParser
from wengert.runtime.ptx.parse_variables import LINKAGE, SPACES, parse_variable
from wengert.runtime.ptx.program import Function, Module, Source, Variable

_NUMBERS = (".minnctapersm", ".maxnctapersm", ".maxnreg")
"""Directives of a function that change how it is compiled and not what it computes."""


def parse(text: str, name: str = "<ptx>") -> Module:
    """The module that a text stands for; ``name`` is the file's name in messages.

    Raises:
        ParseError: the text is not PTX.
        UnsupportedError: a directive that is not modelled.
    """
    return _ModuleParser(Cursor(Source(name, text, tuple(text.split("\n"))))).parse()


class _ModuleParser:
    def __init__(self, cursor: Cursor):
        self.cursor = cursor
        self.functions: dict[str, Function] = {}
        self.variables: list[Variable] = []
        self.version = (0, 0)
        self.target: tuple[str, ...] = ()

    def parse(self) -> Module:
        while self.cursor.token.kind != "end":
            self._parse_directive()
        if self.version == (0, 0):
            self.cursor.fail("a module begins with .version")
        return Module(self.cursor.source, self.version, self.target, self.functions, tuple(self.variables))

    def _parse_directive(self) -> None:
        cursor = self.cursor
        linkage = ""
        while cursor.text in LINKAGE:
            linkage = cursor.take().text
        token = cursor.token
        if token.text == ".version":
            cursor.take()
            major, _, minor = cursor.kind("float", "a version").text.partition(".")
            self.version = int(major), int(minor or 0)
        elif token.text == ".target":
            self._parse_target()
        elif token.text == ".address_size":
            cursor.take()
            if cursor.integer() != 64:
                cursor.refuse("only addresses of 64 bits are modelled", token)
        elif token.text in (".entry", ".func"):
            self._parse_function()
        elif token.text in SPACES:
            variable = parse_variable(cursor)
            cursor.expect(";")
            self._declare(variable, linkage)
        elif token.text in (".file", ".loc"):
            cursor.skip_line()
        elif token.text == ".pragma":
            cursor.skip_past(";")
        elif token.text == ".section":
            self._skip_section()
        elif token.kind == "dotted" and token.text[1:] in ("alias", "tex", "surfref", "samplerref", "texref"):
            cursor.refuse(f"'{token.text}' is not modelled")
        else:
            cursor.fail(f"expected a directive, found {cursor.described()}")

    def _parse_target(self) -> None:
        cursor = self.cursor
        cursor.take()
        names = [cursor.kind("name", "a target").text]
        while cursor.accept(","):
            names.append(cursor.kind("name", "a target").text)
        self.target = tuple(names)

    def _skip_section(self) -> None:
        self.cursor.skip_past("{")
        depth = 1
        while depth:
            token = self.cursor.take()
            if token.kind == "end":
                self.cursor.fail("this section does not end", token)
            depth += {"{": 1, "}": -1}.get(token.text, 0)

    def _declare(self, variable: Variable, linkage: str) -> None:
        if any(v.name == variable.name for v in self.variables):
            self.cursor.fail(f"'{variable.name}' is declared twice")
        if linkage == ".extern" and variable.space != "shared":
            self.cursor.refuse(f"'{variable.name}' lies in another module: linking is not modelled")
        self.variables.append(variable)

    # -- functions

    def _parse_function(self) -> None:
        cursor = self.cursor
        is_entry = cursor.take().text == ".entry"
        results = self._parse_parameters() if not is_entry and cursor.text == "(" else ()
        token = cursor.kind("name", "the name of a function")
        parameters = self._parse_parameters() if cursor.text == "(" else ()
        threads, most = self._parse_limits()
        body = BodyParser(cursor)
        declaration = cursor.accept(";")
        if not declaration:
            body.parse_block()
        earlier = self.functions.get(token.text)
        if earlier is not None and not earlier.is_declaration:
            if not declaration:
                cursor.fail(f"'{token.text}' is defined twice", token)
            return
        self.functions[token.text] = Function(
            token.text,
            is_entry,
            parameters,
            results,
            body.registers,
            tuple(body.variables),
            tuple(body.body),
            body.labels,
            body.tables,
            cursor.place(token),
            declaration,
            threads,
            most,
        )

    def _parse_parameters(self) -> tuple[Variable, ...]:
        cursor = self.cursor
        cursor.expect("(")

        def parameter() -> Variable:
            if cursor.text == ".reg":
                cursor.refuse("parameters in registers are not modelled")
            if cursor.text != ".param":
                cursor.fail(f"expected '.param', found {cursor.described()}")
            return parse_variable(cursor)

        return tuple(cursor.separated(")", parameter))

    def _parse_limits(self) -> tuple[tuple[int, int, int] | None, tuple[int, int, int] | None]:
        cursor = self.cursor
        threads = most = None
        while cursor.token.kind == "dotted":
            word = cursor.take().text
            if word == ".reqntid":
                threads = cursor.extents()
            elif word == ".maxntid":
                most = cursor.extents()
            elif word in _NUMBERS:
                cursor.integer()
            elif word == ".pragma":
                cursor.skip_past(";")
            elif word != ".noreturn":
                cursor.refuse(f"functions with '{word}' are not modelled", cursor.tokens[cursor.at - 1])
        return threads, most
