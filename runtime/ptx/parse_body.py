"""The body of a function: blocks, declarations, labels, instructions and their operands."""

from __future__ import annotations

import struct
from dataclasses import replace

from wengert.ir.diagnostics import did_you_mean
from wengert.runtime.ptx.cursor import Cursor, integer_of
from wengert.runtime.ptx.lexer import Token
from wengert.runtime.ptx.parse_variables import SPACES, parse_float, parse_variable
from wengert.runtime.ptx.program import (
    Address,
    Arguments,
    FloatBits,
    Guard,
    Instruction,
    Integer,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Variable,
    Vector,
)
from wengert.runtime.ptx.special import SPECIAL
from wengert.runtime.ptx.types import Scalar


class BodyParser:
    """Reads ``{ ... }``. What it collects is in the attributes ``registers``, ``variables``, ``body``, ``labels`` and ``tables``."""

    def __init__(self, cursor: Cursor):
        self.cursor = cursor
        self.registers: dict[str, Scalar] = {}
        self.variables: list[Variable] = []
        self.body: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.tables: dict[str, tuple[str, ...]] = {}
        self._scopes: list[dict[str, str]] = []
        self._unique: set[str] = set()

    def parse_block(self) -> None:
        """A block with the names that it declares."""
        cursor = self.cursor
        opening = cursor.expect("{")
        self._scopes.append({})
        self._declare_labels()
        while not cursor.accept("}"):
            if cursor.token.kind == "end":
                cursor.fail("this block does not end", opening)
            self._parse_statement()
        self._scopes.pop()

    # -- names

    def _declare(self, token: Token, name: str = "") -> str:
        """A name of the innermost block, made unique in the function."""
        name = name or token.text
        if name in self._scopes[-1]:
            self.cursor.fail(f"'{name}' is declared twice", token)
        unique, number = name, 1
        while unique in self._unique:
            unique, number = f"{name}@{number}", number + 1
        self._unique.add(unique)
        self._scopes[-1][name] = unique
        return unique

    def _resolved(self, name: str) -> str | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def _declare_labels(self) -> None:
        """Labels are known in all of their block, also before they stand there."""
        tokens, at, depth = self.cursor.tokens, self.cursor.at, 0
        while depth >= 0 and tokens[at].kind != "end":
            depth += {"{": 1, "}": -1}.get(tokens[at].text, 0)
            if depth == 0 and tokens[at].kind == "name" and tokens[at + 1].text == ":":
                self._declare(tokens[at])
            at += 1

    # -- statements

    def _parse_statement(self) -> None:
        cursor = self.cursor
        token = cursor.token
        if token.text == "{":
            self.parse_block()
        elif token.text == ".reg":
            self._parse_registers()
        elif token.text in SPACES:
            variable = parse_variable(cursor)
            cursor.expect(";")
            self.variables.append(replace(variable, name=self._declare(token, variable.name)))
        elif token.text in (".loc", ".file"):
            cursor.skip_line()
        elif token.text in (".pragma",):
            cursor.skip_past(";")
        elif token.kind == "name" and cursor.following == ":":
            self._parse_label()
        elif not cursor.accept(";"):
            self.body.append(self._parse_instruction())

    def _parse_registers(self) -> None:
        """``.reg .b32 %r<5>, %x;``."""
        cursor = self.cursor
        cursor.take()
        if cursor.text in (".v2", ".v4"):
            cursor.refuse("registers that are vectors are not modelled")
        type = cursor.type()
        while True:
            token = cursor.kind("name", "the name of a register")
            if cursor.accept("<"):
                count = cursor.integer()
                cursor.expect(">")
                for number in range(count):
                    self.registers[self._declare(token, f"{token.text}{number}")] = type
            else:
                self.registers[self._declare(token)] = type
            if not cursor.accept(","):
                break
        cursor.expect(";")

    def _parse_label(self) -> None:
        cursor = self.cursor
        name = self._resolved(cursor.take().text) or ""
        cursor.expect(":")
        if cursor.accept(".branchtargets"):
            targets = [self._label()]
            while cursor.accept(","):
                targets.append(self._label())
            cursor.expect(";")
            self.tables[name] = tuple(targets)
        elif cursor.text in (".callprototype", ".calltargets"):
            cursor.refuse("indirect calls are not modelled")
        else:
            self.labels[name] = len(self.body)

    def _label(self) -> str:
        token = self.cursor.kind("name", "a label")
        return self._resolved(token.text) or token.text

    def _parse_instruction(self) -> Instruction:
        cursor = self.cursor
        guard = None
        if cursor.accept("@"):
            negated = cursor.accept("!")
            guard = Guard(self._register(cursor.kind("name", "a predicate")), negated)
        token = cursor.kind("name", "an instruction")
        modifiers: list[str] = []
        while cursor.token.kind == "dotted":
            modifiers.append(cursor.take().text[1:])
        end = cursor.tokens[cursor.at - 1]
        operands = cursor.separated(";", self._parse_operand)
        place = replace(cursor.place(token), length=end.start + len(end.text) - token.start)
        return Instruction(token.text, tuple(modifiers), tuple(operands), guard, place)

    # -- operands

    def _parse_operand(self) -> Operand:
        cursor = self.cursor
        if cursor.accept("{"):
            return Vector(tuple(cursor.separated("}", self._parse_operand)))
        if cursor.accept("("):
            return Arguments(tuple(cursor.separated(")", self._parse_operand)))
        if cursor.accept("["):
            return self._parse_address()
        if cursor.accept("!"):
            return Negated(self._register(cursor.kind("name", "a predicate")))
        operand = self._parse_simple()
        if cursor.accept("|"):
            return Pair(operand, self._parse_simple())
        return operand

    def _parse_address(self) -> Address:
        cursor = self.cursor
        token = cursor.token
        base = self._parse_simple()
        offset = cursor.integer() if cursor.accept("+") else 0
        cursor.expect("]")
        if isinstance(base, Symbol):
            return Address(Symbol(base.name), base.offset + offset)
        if isinstance(base, Register | Integer):
            return Address(base, offset)
        cursor.fail("an address is a register, a variable or a number", token)

    def _parse_simple(self) -> Operand:
        cursor = self.cursor
        if cursor.accept("-"):
            return _minus(self._parse_simple())
        token = cursor.take()
        if token.kind == "integer":
            return Integer(integer_of(token.text))
        if token.kind == "float":
            return _float(token.text)
        if token.kind != "name":
            cursor.fail(f"expected an operand, found '{token.text}'", token)
        if token.text == "_":
            return Sink()
        name = self._resolved(token.text)
        if name is not None and name in self.registers:
            return Register(name)
        if token.text.startswith("%") or (name is None and token.text in SPECIAL):
            return self._special(token)
        return Symbol(name or token.text, self._symbol_offset())

    def _symbol_offset(self) -> int:
        """``+4`` behind a name that is not in brackets."""
        if self.cursor.text in ("+", "-") and self.cursor.following[:1].isdigit():
            self.cursor.accept("+")
            return self.cursor.integer()
        return 0

    def _special(self, token: Token) -> Special:
        cursor = self.cursor
        name = token.text
        if cursor.token.kind == "dotted":
            name += cursor.take().text
        if name not in SPECIAL:
            known = [*SPECIAL, *(n for scope in self._scopes for n in scope)]
            cursor.fail(f"register '{name}' is not declared", token, did_you_mean(name, known))
        return Special(name)

    def _register(self, token: Token) -> Register:
        name = self._resolved(token.text)
        if name is None or name not in self.registers:
            self.cursor.fail(f"register '{token.text}' is not declared", token, did_you_mean(token.text, self.registers))
        return Register(name)


def _float(text: str) -> FloatBits:
    if text[:2] in ("0f", "0F", "0d", "0D"):
        return FloatBits(int(text[2:], 16), 4 * len(text[2:]))
    return FloatBits(int.from_bytes(struct.pack("<d", parse_float(text)), "little"), 64)


def _minus(operand: Operand) -> Operand:
    if isinstance(operand, Integer):
        return Integer(-operand.value)
    if isinstance(operand, FloatBits):
        return FloatBits(operand.bits ^ (1 << (operand.width - 1)), operand.width)
    return operand
