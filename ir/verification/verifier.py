"""The verifier: structure, typing rules, dominance, symbols, terminators and function types, in one walk of the module.

It finds all errors (up to a limit), not just the first one. What it knows of an op class is compiled once, and an op
without regions whose class, types and properties were accepted before in the same module is not looked at again; so
verification costs a few microseconds per op.

    >>> from wengert.ir.parsing.parser import parse_module
    >>> verify(parse_module("func.func @main(%x: tensor<2xf64>) -> tensor<3xf64> { return %x : tensor<2xf64> }"))
    Traceback (most recent call last):
    ...
    wengert.ir.diagnostics.DiagnosticError: <string>:1:56: error: func.return: ...
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException

from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean, one_of
from wengert.ir.location.locations import provenance
from wengert.ir.location.places import place_around
from wengert.ir.location.source_lines import line_of
from wengert.ir.symbols import (
    VISIBILITIES,
    CallsFunction,
    NamesFunctions,
    called_symbol,
    recursive_calls,
    signature,
    symbol_name,
    symbols_of,
    symbols_used,
)
from wengert.ir.traversal import operands_of
from wengert.ir.unregistered import written_name
from wengert.ir.verification.dominance import Scope, dominating_values, explain, name_of
from wengert.ir.verification.structure import Structure, is_built_as_defined, structure_of, verify_carried
from wengert.ir.verification.typing_rules import CONSTANT_RULES, TYPING_RULES, TypingError, TypingRule, rule_of_attribute

MAX_ERRORS = 20
"""After so many errors the verifier stops looking."""


def verify(module: ModuleOp, text: str | None = None, filename: str = "<string>") -> None:
    """Raises DiagnosticError with every error found (at most MAX_ERRORS) if the module is not well-formed.

    ``text`` is what the module was parsed from under the name ``filename``, to show source lines; those of other files that
    locations name are read there, where they exist.
    """
    errors = _Verifier(text, filename).run(module)
    if errors:
        raise DiagnosticError(*errors)


class _OpClass(Struct, frozen=True):
    """The facts about an op's class that the walk needs."""

    rule: TypingRule | None
    constants: TypingRule | None
    structure: Structure | None
    registered: bool
    is_terminator: bool
    needs_terminator: bool
    isolated: bool
    symbol_table: bool
    own_check: bool
    calls: bool
    names_functions: bool


@lru_cache(maxsize=4096)
def _class_of(cls: type[Operation]) -> _OpClass:
    registered = not issubclass(cls, UnregisteredOp)

    def has(trait: Any) -> bool:
        return registered and cls.has_trait(trait)

    rule = TYPING_RULES.get(cls)
    own_check = cls in (ModuleOp, FuncOp, CallOp, ReturnOp)
    return _OpClass(
        rule=rule,
        constants=CONSTANT_RULES.get(cls),
        structure=structure_of(cls) if (rule is not None or own_check) and issubclass(cls, IRDLOperation) else None,
        registered=registered,
        is_terminator=not registered or has(IsTerminator),
        needs_terminator=registered and not has(NoTerminator),
        isolated=has(IsolatedFromAbove),
        symbol_table=has(SymbolTable),
        own_check=own_check,
        calls=cls is CallOp or bool(registered and cls.get_traits_of_type(CallsFunction)),
        names_functions=bool(registered and cls.get_traits_of_type(NamesFunctions)),
    )


class _TooManyErrorsError(Exception):
    """Ends the walk."""


class _Verifier:
    def __init__(self, text: str | None, filename: str):
        self.lines = text.splitlines() if text is not None else None
        self.filename = filename
        self.errors: list[Diagnostic] = []
        self.accepted: set[tuple[object, ...]] = set()
        self.scope = Scope()
        self.symbols: dict[str, Operation] = {}
        self.function: str | None = None
        self.calls: dict[str, list[tuple[str, Operation]]] = {}

    def run(self, module: ModuleOp) -> list[Diagnostic]:
        try:
            if len(module.body.blocks) > 1:
                self.report(module, f"a module has one block, found {len(module.body.blocks)}")
            if any(block.args for block in module.body.blocks):
                self.report(module, "a module has no arguments")
            self.op(module, _class_of(ModuleOp))
            self.check_recursion()
        except _TooManyErrorsError:
            pass
        except RecursionError:
            self.errors.append(Diagnostic("regions are nested too deeply"))
        return self.errors

    # -- reporting

    def diagnostic(self, op: Operation, message: str, severity: str = "error", hint: str = "") -> Diagnostic:
        place = place_around(op)
        if place is None:
            return Diagnostic(message, severity=severity, hint=hint)
        file, line, column = place.filename.data, place.line.data, place.column.data
        source = self.source_line(file, line)
        named = source.find(op.name.removeprefix("func."), column - 1)
        length = named + len(op.name.removeprefix("func.")) - column + 1 if named >= 0 else 1
        return Diagnostic(message, file, line, column, severity, source, length, hint)

    def source_line(self, file: str, line: int) -> str:
        if self.lines is not None and file == self.filename:
            return self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return line_of(file, line)

    def report(self, op: Operation, message: str, hint: str = "", notes: Sequence[Diagnostic] = ()) -> None:
        error = self.diagnostic(op, f"{written_name(op)}: {message}", hint=hint)
        derived = provenance(op.location)
        if derived is not None:
            source = f"derived by {derived.pass_name} from {derived.op_name} (as its {derived.role})"
            notes = (*notes, Diagnostic(source, error.file, error.line, error.column, "note"))
        self.errors.append(Diagnostic(error.message, error.file, error.line, error.column, "error", error.source_line, error.length, hint, tuple(notes)))
        if len(self.errors) >= MAX_ERRORS:
            raise _TooManyErrorsError

    # -- the walk

    def region(self, region: Region, parent: Operation, known: _OpClass, sound: bool) -> None:
        blocks = region.blocks
        first = region.first_block
        if first is None:
            return
        inherited = dominating_values(region) if first.next_block is not None else None
        for block in blocks:
            mark = self.scope.enter()
            if inherited is not None:
                self.scope.define(inherited[block])
            self.block(block, parent, known, sound)
            self.scope.leave(mark)

    def block(self, block: Block, parent: Operation, known: _OpClass, sound: bool) -> None:
        scope = self.scope
        visible = scope.visible
        scope.define(block.args)
        op = block.first_op
        last_class = None
        while op is not None:
            for value in operands_of(op):
                if id(value) not in visible:
                    self.report_undominated(op, value)
            last_class = _class_of(type(op))
            self.op(op, last_class)
            scope.define(op.results)
            following = op.next_op
            if following is not None and last_class.registered and last_class.is_terminator:
                self.report(op, "a terminator must be the last operation of its block", notes=[self.diagnostic(following, "this op follows it", "note")])
            op = following
        if known.needs_terminator and sound and (last_class is None or not last_class.is_terminator):
            self.report_no_terminator(block, parent)
        elif isinstance(parent, FuncOp):
            self.check_returned(block, parent)

    def op(self, op: Operation, known: _OpClass) -> None:
        sound = True
        try:
            self.check(op, known)
        except VerifyException as error:
            sound = False
            self.report(op, str(error), error.hint if isinstance(error, TypingError) else "")
        if op.regions and (sound or is_built_as_defined(op)):
            self.regions(op, known, sound)

    def regions(self, op: Operation, known: _OpClass, sound: bool) -> None:
        scope, symbols, function = self.scope, self.symbols, self.function
        if known.isolated:
            self.scope = Scope()
        if known.symbol_table:
            self.enter_symbols(op)
        elif isinstance(op, FuncOp):
            self.function = op.sym_name.data
            self.calls.setdefault(self.function, [])
        for region in op.regions:
            self.region(region, op, known, sound)
        self.scope, self.symbols, self.function = scope, symbols, function
        if known.symbol_table:
            self.accepted.clear()

    # -- one op

    def check(self, op: Operation, known: _OpClass) -> None:
        """Structure, symbols and typing rule of one op."""
        if not known.registered:
            return
        if known.calls:
            self.check_call(op)
        if known.own_check:
            self.check_builtin(op, known)
            return
        if known.structure is None or known.rule is None:
            _verify_by_class(op)
            self.check_symbols(op)
            return
        key = None if op.regions else _signature(op)
        if key is None or key not in self.accepted:
            known.structure.check(op)
            self.check_symbols(op)
            known.rule(op)
            if key is not None:
                self.accepted.add(key)
        if known.names_functions:
            self.check_named_functions(op)
        if known.constants is not None:
            known.constants(op)

    def check_builtin(self, op: Operation, known: _OpClass) -> None:
        """Modules, functions, calls and returns, whose other checks are spread over this class."""
        if known.structure is not None:
            known.structure.check(op)
        if isinstance(op, FuncOp):
            visibility = op.sym_visibility.data if op.sym_visibility is not None else "public"
            if visibility not in VISIBILITIES:
                raise TypingError(f"the visibility must be {one_of(VISIBILITIES)}, found '{visibility}'", did_you_mean(visibility, VISIBILITIES))
            entry = op.body.first_block
            if entry is not None and tuple(entry.arg_types) != op.function_type.inputs.data:
                arguments, expected = listed(entry.arg_types), listed(op.function_type.inputs.data)
                raise VerifyException(f"the body takes arguments of the types {arguments}, but the function's type says {expected}")
            for name, attribute in op.attributes.items():
                if (rule := rule_of_attribute(name)) is not None:
                    rule(op, attribute)
        elif isinstance(op, ReturnOp) and not isinstance(op.parent_op(), FuncOp):
            raise TypingError("must be directly inside a func.func", "the regions of ops end in stablehlo.return")

    def check_returned(self, block: Block, function: FuncOp) -> None:
        """Checks that a function returns values of the types of its signature."""
        end = block.last_op
        if end is None or end.successors:
            return
        types, expected = [v.type for v in end.operands], function.function_type.outputs.data
        if len(types) != len(expected):
            self.report(end, f"@{function.sym_name.data} returns {len(expected)} values {listed(expected)}, found {len(types)}: {listed(types)}")
            return
        for i, (a, b) in enumerate(zip(types, expected, strict=True)):
            if a is not b and a != b:
                self.report(end, f"value #{i} must have the type {b} of result #{i} of @{function.sym_name.data}, found {a}")

    # -- symbols

    def enter_symbols(self, op: Operation) -> None:
        self.accepted.clear()
        block = op.regions[0].first_block if op.regions else None
        self.symbols = {} if block is None else symbols_of(block)
        for other in block.ops if block is not None else ():
            name = symbol_name(other)
            if name is not None and self.symbols[name] is not other:
                self.report(other, f"the symbol @{name} is defined twice", notes=[self.diagnostic(self.symbols[name], "the first definition", "note")])

    def check_symbols(self, op: Operation) -> None:
        for reference in symbols_used(op):
            self.resolve(reference.root_reference.data)

    def resolve(self, name: str) -> Operation:
        target = self.symbols.get(name)
        if target is None:
            raise TypingError(f"there is no symbol @{name} in this module", did_you_mean(f"@{name}", [f"@{s}" for s in self.symbols], ""))
        return target

    def check_call(self, op: Operation) -> None:
        """The callee exists and has the types of the call."""
        name = called_symbol(op)
        if name is None:
            raise VerifyException("a call must name its callee")
        types = signature(self.resolve(name))
        if types is None:
            raise VerifyException(f"@{name} is not a function")
        if self.function is not None:
            self.calls[self.function].append((name, op))
        for what, given, expected in (("argument", [v.type for v in op.operands], types[0]), ("result", [r.type for r in op.results], types[1])):
            if len(given) != len(expected):
                raise VerifyException(f"@{name} has {len(expected)} {what}s {listed(expected)}, found {len(given)}: {listed(given)}")
            for i, (a, b) in enumerate(zip(given, expected, strict=True)):
                if a is not b and a != b:
                    raise VerifyException(f"{what} #{i} of @{name} has the type {b}, found {a}")

    def check_named_functions(self, op: Operation) -> None:
        """The functions that an op names have the types that it says, and do not contain it."""
        for name, inputs, outputs, more in NamesFunctions.of(op):
            types = signature(self.resolve(name))
            if types is None:
                raise VerifyException(f"@{name} is not a function")
            if self.function is not None:
                self.calls[self.function].append((name, op))
            returned = types[1][: len(outputs)] if more else types[1]
            for verb, given, expected in (("take", types[0], inputs), ("return", returned, outputs)):
                if tuple(given) != tuple(expected):
                    raise VerifyException(f"@{name} must {verb} {listed(expected)}, found {listed(given)}")

    def check_recursion(self) -> None:
        for op, cycle in recursive_calls(self.calls):
            path = " -> ".join(f"@{name}" for name in cycle)
            self.report(op, f"functions must not call themselves, but {path}", "a loop is written with stablehlo.while")

    # -- other errors

    def report_undominated(self, op: Operation, value: SSAValue) -> None:
        index = next(i for i, v in enumerate(op.operands) if v is value)
        why, definer = explain(op, value)
        notes = [self.diagnostic(definer, "defined here", "note")] if definer is not None and definer is not op else []
        self.report(op, f"operand #{index} is {name_of(value)}, {why}", notes=notes)

    def report_no_terminator(self, block: Block, parent: Operation) -> None:
        end = block.last_op
        hint = "a function ends in func.return" if isinstance(parent, FuncOp) else "the regions of StableHLO ops end in stablehlo.return"
        if end is None:
            self.report(parent, "a block of its regions is empty; it must end in a terminator", hint)
        else:
            self.report(end, f"the last operation of a block of {written_name(parent)} must be a terminator", hint)


def _verify_by_class(op: Operation) -> None:
    """Raises VerifyException where the op's class does not accept it; verifiers of xDSL's dialects read parts of an op that they have not looked for."""
    try:
        op.verify_()
        verify_carried(op)
    except VerifyException:
        raise
    except Exception as error:
        if not type(op).__module__.startswith("xdsl."):
            raise
        raise VerifyException(f"is not what its dialect defines: {error}") from None


def _signature(op: Operation) -> tuple[object, ...]:
    """The key under which an op without regions was found well-typed: all that decides it, by identity (the objects live as long as the module does)."""
    return (
        type(op),
        *[id(v.type) for v in operands_of(op)],
        None,
        *[id(r.type) for r in op.results],
        *[(name, id(value)) for name, value in op.properties.items()],
    )


def listed(types: Sequence[Attribute]) -> str:
    """Types in messages."""
    return f"({', '.join(map(str, types))})"
