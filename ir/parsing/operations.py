"""Reading operations.

An op whose class declares a syntax is read by that declaration, the generic form by :meth:`Reader._generic_operation`, and any
other op by its own xDSL code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from msgspec import Struct, field
from xdsl.dialects.builtin import ArrayAttr, LocationAttr, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import UnresolvedOperand
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.lexer import Span

from wengert.ir.diagnostics import did_you_mean, nearest
from wengert.ir.parsing.cursor import NAME, SPACE
from wengert.ir.parsing.old_names import hint_of_new_name
from wengert.ir.parsing.regions import RegionReader
from wengert.ir.parsing.values import Operands, count_of
from wengert.ir.unregistered import written_name

_HEAD = re.compile(SPACE + rf"(?:%({NAME})(?::(\d{{1,6}}))?{SPACE}={SPACE})?([A-Za-z_][\w$.]*)", re.ASCII)
_RESULTS = re.compile(SPACE + rf"((?:%{NAME}(?::\d+)?\s*,\s*)*%{NAME}(?::\d+)?)\s*=", re.ASCII)
_RESULT = re.compile(rf"%({NAME})(?::(\d+))?", re.ASCII)
_OPERANDS = re.compile(SPACE + rf"(%{NAME}(?:#\d{{1,6}})?(?:\s*,\s*%{NAME}(?:#\d{{1,6}})?)*)", re.ASCII)
_EACH_OPERAND = re.compile(rf"%({NAME})(?:#(\d+))?", re.ASCII)
_NAME = re.compile(SPACE + r"([A-Za-z_][\w$.]*)", re.ASCII)
_QUOTED_NAME = re.compile(SPACE + r'"([\w$.-]*)"\s*(?=\()', re.ASCII)
_SUCCESSOR = re.compile(SPACE + r"\[(?=\s*\^)")


class OpState(Struct):
    """The parts of an op that have been read. Operands are (name, number of the result, position)."""

    cls: type[Operation]
    start: int
    operands: Operands = field(default_factory=list[tuple[str, int, int]])
    operand_types: Sequence[Attribute] = ()
    result_types: Sequence[Attribute] = ()
    types_at: int = 0
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    regions: list[Region] = field(default_factory=list[Region])
    successors: Sequence[Block] = ()
    shares_location: bool = False
    """Whether block arguments are not written in the regions, so that they take the op's location."""
    implicit_region: bool = False
    """Whether the region itself is not written either."""

    @property
    def name(self) -> str:
        """The op's name."""
        return self.cls.name

    def set_attributes(self, entries: dict[str, Attribute]) -> None:
        """Takes an attribute dictionary: entries that are properties of the op become properties."""
        if not entries:
            return
        known = property_names(self.cls)
        for key, value in entries.items():
            (self.properties if key in known and key not in self.properties else self.attributes)[key] = value

    def drop_empty_dictionaries(self) -> None:
        """Takes away what the pretty form does not write: lists of empty dictionaries for the attributes of arguments and results."""
        for key in ("arg_attrs", "res_attrs"):
            if isinstance(self.properties.get(key), ArrayAttr) and not any(getattr(entry, "data", True) for entry in getattr(self.properties[key], "data", ())):
                del self.properties[key]

    def share_location(self, location: LocationAttr) -> None:
        """Gives block arguments without a place of their own (and ops, where there is none for them either) the op's location."""
        for region in self.regions:
            for block in region.blocks:
                for argument in block.args:
                    argument.location = location
                for op in block.ops if self.implicit_region else ():
                    op.location = location


_ALSO_PROPERTIES = {"func.func": ("no_inline",), "func.call": ("no_inline", "arg_attrs", "res_attrs")}
"""Properties of MLIR's ops that xDSL's classes do not have; they are kept as attributes."""

_PROPERTY_NAMES: dict[type[Operation], frozenset[str]] = {}


def property_names(cls: type[Operation]) -> frozenset[str]:
    """The names of an op class's properties."""
    names = _PROPERTY_NAMES.get(cls)
    if names is None:
        known = cls.get_irdl_definition().properties if issubclass(cls, IRDLOperation) else getattr(cls, "PROPERTY_NAMES", frozenset[str]())
        names = _PROPERTY_NAMES[cls] = frozenset(known)
    return names


class Reader(RegionReader):
    """Reads operations."""

    _syntaxes: dict[str, tuple[type[Operation], Any]]
    enclosing: list[Any]
    """Data from the syntaxes of the ops around the current one for those of the ops in their regions, the innermost last."""

    # -- operations

    def operation(self) -> Operation:
        """Reads an op with its results and its location."""
        match = _HEAD.match(self.text, self.here)
        if match is None:
            return self._operation_with_other_head()
        result, count, name = match.groups()
        start = match.start(3) if result is None else match.start(1) - 1
        self.here = match.start(3)
        op = self._named_operation(name, start)
        if result is not None:
            number = int(count) if count else 1
            if number == len(op.results):
                self.define(result, op.results, start)
            else:
                self._define_results(op, [(result, number, start)])
        return op

    def _operation_with_other_head(self) -> Operation:
        """Reads an op whose results are written as a list, or whose name is quoted."""
        start = self.skip()
        results = self._result_names() if self.text.startswith("%", start) else []
        match = _NAME.match(self.text, self.here)
        op = self._generic_operation(start) if match is None else self._named_operation(match.group(1), start)
        if results:
            self._define_results(op, results)
        return op

    def _named_operation(self, name: str, start: int) -> Operation:
        syntax_of_op = self._syntaxes.get(name)
        if syntax_of_op is None:
            syntax_of_op = self._find_syntax(name, self.skip())
        cls, syntax = syntax_of_op
        if syntax is None:
            return self._foreign_operation(cls, start)
        self.here = self.skip() + len(name)
        state = OpState(cls, start)
        syntax.read(self, state)
        return self.build(state)

    def build(self, state: OpState) -> Operation:
        """The op that was read: operands resolved, and its location."""
        location = (self._has_locations and self.location()) or self.place(state.start)
        if state.shares_location:
            state.share_location(location)
        return state.cls.create(
            operands=self.resolve(state.operands, state.operand_types, state.types_at),
            result_types=state.result_types,
            properties=state.properties,
            attributes=state.attributes,
            regions=state.regions,
            successors=state.successors,
            location=location,
        )

    def _result_names(self) -> list[tuple[str, int, int]]:
        match = _RESULTS.match(self.text, self.here)
        if match is None:
            self._bad_results()
        self.here = match.end()
        start = match.start(1)
        return [(m.group(1), self._small(m.group(2) or "1", start + m.start()), start + m.start()) for m in _RESULT.finditer(match.group(1))]

    def _small(self, digits: str, position: int) -> int:
        if len(digits) > 6:
            self.fail(f"{digits[:20]}... is too many results", position)
        return int(digits)

    def _bad_results(self) -> NoReturn:
        match = _RESULT.match(self.text, self.here)
        if match is None:
            self.fail("expected the name of a value after '%'")
        self.here = match.end()
        self.unexpected("'=' after the names of the results")

    def _define_results(self, op: Operation, names: list[tuple[str, int, int]]) -> None:
        results = op.results
        if len(names) == 1 and names[0][1] == len(results):
            self.define(names[0][0], results, names[0][2])
            return
        total = sum(count for _, count, _ in names)
        if total != len(results):
            self.fail(f"'{written_name(op)}' has {count_of(len(results), 'result')}, but {total} {'is' if total == 1 else 'are'} named", names[0][2])
        first = 0
        for name, count, position in names:
            self.define(name, results[first : first + count], position)
            first += count

    def _find_syntax(self, name: str, position: int) -> tuple[type[Operation], Any]:
        full = name if "." in name else self._full_name(name, position)
        class_and_syntax = self._by_mnemonic(full)
        if class_and_syntax is None:
            cls = self.op_class(full, position)
            class_and_syntax = (cls, getattr(cls, "SYNTAX", None) or self.extra_syntax(full))
        self._syntaxes[name] = class_and_syntax
        return class_and_syntax

    def _by_mnemonic(self, name: str) -> tuple[type[Operation], Any] | None:
        """The op and syntax for a name that is not an op's own: of an op class that several names stand for, each for one value of a property."""
        dialect, _, mnemonic = name.partition(".")
        if dialect in self.refused_dialects or self._is_known(name):
            return None
        for cls in self.ctx.loaded_ops:
            by_mnemonic = getattr(cls, "by_mnemonic", None) if cls.name.startswith(f"{dialect}.") else None
            if by_mnemonic is not None and (syntax := by_mnemonic(mnemonic)) is not None:
                return cls, syntax
        return None

    def extra_syntax(self, name: str) -> Any:
        """Our syntax for an op of xDSL, or None."""
        return None

    def _full_name(self, name: str, position: int) -> str:
        for dialect in ("builtin", "func"):
            if self.ctx.get_optional_op(f"{dialect}.{name}") not in (None, *()) and self._is_known(f"{dialect}.{name}"):
                return f"{dialect}.{name}"
        self.fail(f"unknown operation '{name}'", position, hint=self._op_hint(name))

    def _is_known(self, name: str) -> bool:
        cls = self.ctx.get_optional_op(name)
        return cls is not None and not issubclass(cls, UnregisteredOp)

    def op_class(self, name: str, position: int) -> type[Operation]:
        """The class of the op of this name; unknown ops of dialects that are known as a whole are errors."""
        dialect = name.partition(".")[0]
        self.check_dialect(dialect, position)
        try:
            cls = self.ctx.get_optional_op(name)
        except ImportError as error:
            self.fail(f"the dialect '{dialect}' cannot be loaded: {error}", position)
        if cls is None or (issubclass(cls, UnregisteredOp) and dialect in self.closed_dialects):
            self.fail(f"unknown operation '{name}'", position, hint=self._op_hint(name))
        return cls

    def _op_hint(self, name: str) -> str:
        """The known op that was meant: of the same dialect, or by its short name, or of a dialect with a name like this one."""
        if old := hint_of_new_name(name):
            return old
        dialect, dot, short = name.partition(".")
        known = {op.name for op in self.ctx.loaded_ops if not issubclass(op, UnregisteredOp)}
        if not dot:
            return did_you_mean(name, ["module", "call", "return", *known]) or did_you_mean(name, known)
        dialect = next(iter(get_close_matches(dialect, list(self.ctx.registered_dialect_names), 1, 0.7)), dialect)
        self.ctx.get_optional_dialect(dialect)
        of_dialect = [op.name.partition(".")[2] for op in self.ctx.loaded_ops if op.name.startswith(f"{dialect}.") and not issubclass(op, UnregisteredOp)]
        for cls in self.ctx.loaded_ops:
            of_dialect += getattr(cls, "mnemonics", tuple[str, ...])() if cls.name.startswith(f"{dialect}.") else ()
        near = nearest(short, of_dialect)
        return f"did you mean '{dialect}.{near}'?" if near else ""

    def _foreign_operation(self, cls: type[Operation], start: int) -> Operation:
        if issubclass(cls, UnregisteredOp):
            name = self.next_word()
            generic = f'ops of dialects that are not known are read in the generic form: "{name}"(...)'
            self.fail(f"unknown operation '{name}'", hint=self._op_hint(name) or generic)
        with self.foreign(f"'{cls.name}'"):
            self._parser_state.dialect_stack.append(cls.dialect_name())
            self._consume_token()
            op = cls.parse(self)
            self._parser_state.dialect_stack.pop()
        op.location = self.location() or self.place(start)
        return op

    def _generic_operation(self, start: int) -> Operation:
        match = _QUOTED_NAME.match(self.text, self.here)
        if match is None:
            self.unexpected("an operation")
        self.here = match.end()
        cls = self.op_class(match.group(1), match.start(1) - 1)
        state = OpState(cls, start)
        self.need("(")
        if not self.accept(")"):
            self.operands(state)
            self.need(")")
        if _SUCCESSOR.match(self.text, self.here):
            state.successors = self.listed("[", "]", self.successor)
        properties_at = self.skip()
        state.properties = self.properties()
        if state.properties and match.group(1).partition(".")[0] in self.closed_dialects and not getattr(cls, "ANY_PROPERTIES", False):
            self._check_properties(state, properties_at)
        if self.accept("("):
            self._generic_regions(state)
        state.set_attributes(self.dictionary())
        self.need(":")
        state.types_at = self.skip()
        state.operand_types, state.result_types = self.function_type()
        state.drop_empty_dictionaries()
        return self.build(state)

    def _check_properties(self, state: OpState, position: int) -> None:
        known = property_names(state.cls)
        also = _ALSO_PROPERTIES.get(state.name, ())
        for key in list(state.properties):
            if key in also:
                state.attributes[key] = state.properties.pop(key)
            elif key not in known:
                use = re.compile(rf"\b{re.escape(key)}\b").search(self.text, position)
                self.fail(f"'{state.name}' has no property '{key}'", use.start() if use else position, hint=did_you_mean(key, known))

    def _generic_regions(self, state: OpState) -> None:
        isolated = state.cls.has_trait(IsolatedFromAbove, value_if_unregistered=False)
        while True:
            state.regions.append(self.region(isolated=isolated))
            if not self.accept(","):
                break
        self.need(")")

    def operands(self, state: OpState) -> None:
        """Reads ``%a, %b#1`` (one or more operands); each is noted at the start of the list, errors look for it from there."""
        match = _OPERANDS.match(self.text, self.here)
        if match is None:
            self.unexpected("an operand")
        self.here = match.end()
        start = match.start(1)
        state.operands += [(name, int(index) if index else 0, start) for name, index in _EACH_OPERAND.findall(match.group(1))]

    # -- what xDSL's code calls

    def parse_operation(self) -> Operation:
        self.from_tokens()
        op = self.operation()
        self.to_tokens()
        return op

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> SSAValue[Any]:
        return self.resolve([(operand.operand_name, operand.index, operand.span.start)], [type], operand.span.start)[0]

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        self.define(name, values, span.start)
