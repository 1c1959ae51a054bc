"""The printer: a module as text that JAX's parser reads, in the style that JAX prints.

Text is built directly, a few string operations per op. Values are named as MLIR names them: ``%0``, ``%1``, ... in every
function, ``%cst`` and ``%c`` for constants, ``%arg0`` for arguments; a name that the program's author gave is kept. The values
of a nested region are numbered after all those of the region around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import DictionaryAttr, IntegerType, LocationAttr, ModuleOp, UnregisteredOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator

from wengert.ir.printing.attributes import AttributeWriter, symbol
from wengert.ir.verification.structure import has_all_parts, verify_carried

_NUMBERED = re.compile(r"_\d+$")


class Unwritable(Exception):
    """The op has something that its syntax has no place for; it is written in the generic form."""


_MALFORMED = (Unwritable, KeyError, IndexError, AttributeError, TypeError, ValueError, AssertionError, StopIteration)
"""The exceptions that a syntax may raise on an op that is not as its definition wants it."""


class _Names:
    """The names of the values that are in scope."""

    def __init__(self) -> None:
        self.of: dict[int, str] = {}
        self.next_value = self.next_argument = self.next_conflict = 0
        self.used: set[str] = set()

    def state(self) -> tuple[int, int, int, set[str]]:
        return self.next_value, self.next_argument, self.next_conflict, self.used

    def restore(self, state: tuple[int, int, int, set[str]]) -> None:
        self.next_value, self.next_argument, self.next_conflict, self.used = state

    def unique(self, name: str) -> str:
        """The name, or one with a number that makes it another. A name that has such a number counts as if it got it here: text stays as it is printed."""
        base, _, number = name.rpartition("_")
        if number.isdecimal() and len(number) < 10 and base in self.used and name not in self.used:
            self.next_conflict = max(self.next_conflict, int(number) + 1)
        candidate = name
        while candidate in self.used:
            candidate = f"{name}_{self.next_conflict}"
            self.next_conflict += 1
        self.used.add(candidate)
        return candidate


def _is_well_formed(op: Operation) -> bool:
    """Whether an op of xDSL's dialects is what these define: only then does its short form, which leaves types out, say all of it."""
    try:
        op.verify(verify_nested_ops=False)
        verify_carried(op)
    except Exception:  # their verifiers read what they have not checked
        return False
    return True


class Writer(AttributeWriter):
    """The writer that syntaxes write ops with."""

    def __init__(self, locations: bool = False, generic: bool = False):
        super().__init__()
        self.out: list[str] = []
        self.write = self.out.append
        self.locations = locations
        self.generic = generic
        self.indent = "\n"
        self.names = _Names()
        self._entered: dict[int, tuple[int, int, int, set[str]]] = {}

    # -- values

    def value(self, value: SSAValue) -> str:
        """``%name``."""
        return self.names.of.get(id(value)) or self._stray(value)

    def _stray(self, value: SSAValue) -> str:
        """A name for a value that is defined outside of what is printed, or by a region that is not yet entered."""
        if isinstance(value, BlockArgument) and (region := value.block.parent) is not None and id(region) not in self._entered:
            self._enter(region, "arg")
            return self.names.of[id(value)]
        name = self.names.of[id(value)] = "%" + self.names.unique(value.name_hint or "outside")
        return name

    def values(self, values: Iterable[SSAValue]) -> str:
        """``%a, %b``."""
        names = self.names.of
        try:
            return ", ".join([names[id(value)] for value in values])
        except KeyError:
            return ", ".join([self.value(value) for value in values])

    def name_argument(self, value: BlockArgument, hint: str) -> str:
        """Names a block argument ahead of its region."""
        block = value.block
        region = block.parent
        assert region is not None
        self._enter(region, hint)
        return self.value(value)

    def share_name(self, value: SSAValue, name: str) -> None:
        """Gives a value the name of another one, which is not in scope where this one is."""
        self.names.of[id(value)] = name

    # -- types and attributes

    def types(self, types: Iterable[Attribute]) -> str:
        """``T, U``."""
        return ", ".join([self.attribute_text(type) for type in types])

    def function_type(self, inputs: Iterable[Attribute], outputs: Sequence[Attribute]) -> str:
        """``(T, U) -> V``."""
        results = self.types(outputs)
        if len(outputs) != 1 or results.startswith("("):
            results = f"({results})"
        return f"({self.types(inputs)}) -> {results}"

    def symbol(self, name: str) -> str:
        """``@name``."""
        return symbol(name)

    def attribute_dictionary(self, op: Operation, keyword: bool = False) -> None:
        """Writes the attributes, and the properties that the op's syntax leaves out."""
        properties = op.properties
        if not op.attributes and not properties:
            return
        written = self._syntax(op).properties
        shown = [(key, value) for key, value in properties.items() if key not in written]
        shown += op.attributes.items()
        if shown:
            self.write(f"{' attributes' if keyword else ''} {self.dictionary_body(shown)}")

    # -- locations

    def _location_of(self, value: BlockArgument) -> str:
        return f" loc({self.reference(value.location)})" if self.locations else ""

    def hides_location(self, op: Operation, inner: Operation) -> bool:
        """Whether leaving out the op's region would lose places that differ from the op's own."""
        if not self.locations:
            return False
        block = inner.parent
        assert block is not None
        return any(o.location != op.location for o in block.ops) or any(a.location != op.location for a in block.args)

    # -- operations

    def _syntax(self, op: Operation) -> Any:
        syntax = getattr(op, "SYNTAX", None)
        if syntax is None:
            from wengert.ir.syntax.functions import SYNTAXES

            syntax = SYNTAXES.get(op.name)
        return syntax

    def operation(self, op: Operation) -> None:
        """Writes an op with its results, without the line break."""
        if op.results:
            count = len(op.results)
            name = self.value(op.results[0])
            self.write(f"{name} = " if count == 1 else f"{name.partition('#')[0]}:{count} = ")
        syntax = None if self.generic else self._syntax(op)
        if self.generic:
            self._generic(op)
        elif not has_all_parts(op):
            self._all_generic(op)
        elif syntax is None:
            if type(op).print is Operation.print or isinstance(op, UnregisteredOp) or not _is_well_formed(op):
                self._generic(op)
            else:
                self._by_xdsl(op)
        else:
            mark, indent = len(self.out), self.indent
            self.write(self._shown_name(op))
            try:
                syntax.write(op, self)
            except _MALFORMED:
                self.indent = indent
                del self.out[mark:]
                self._leave(op)
                self._all_generic(op)
        if self.locations:
            self.write(f" loc({self.reference(op.location)})")

    def _shown_name(self, op: Operation) -> str:
        name = getattr(op, "mnemonic", op.name)
        if name.startswith("func.") and name != "func.func":
            parent = op.parent_op()
            return name[5:] if parent is not None and parent.name == "func.func" else name
        return "module" if name == "builtin.module" else name

    def _generic(self, op: Operation) -> None:
        name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
        self.write(f'"{name}"({self.values(op.operands)})')
        if op.successors:
            self.write(f" [{', '.join(self.block_name(block) for block in op.successors)}]")
        attributes = op.attributes
        if isinstance(op, UnregisteredOp):
            attributes = {k: v for k, v in attributes.items() if v is not op.op_name}
        if op.properties:
            self.write(f" <{self.dictionary_body(op.properties.items())}>")
        if op.regions:
            self.write(" (")
            for number, region in enumerate(op.regions):
                if number:
                    self.write(", ")
                self.region(region, space="")
            self.write(")")
        if attributes:
            self.write(f" {self.dictionary_body(attributes.items())}")
        self.write(f" : {self.function_type(op.operand_types, op.result_types)}")

    def _all_generic(self, op: Operation) -> None:
        """Writes an op that its short form cannot hold; that of ops inside of it may need what that form says."""
        self.generic = True
        try:
            self._generic(op)
        finally:
            self.generic = False

    def _by_xdsl(self, op: Operation) -> None:
        """Writes an op in the form that xDSL's dialects define."""
        from wengert.ir.syntax.foreign import ForeignPrinter

        self.write(op.name)
        op.print(ForeignPrinter(self))

    # -- regions

    def newline(self, text: str, region: Region | None) -> None:
        """Writes a word on a line of its own; with a region, the region after it."""
        self.write(self.indent)
        self.write(text)
        if region is not None:
            self.region(region, arguments=False)

    def block_argument(self, value: BlockArgument, attributes: DictionaryAttr | None = None) -> str:
        """``%name: T``, with the attributes and the location that it may have."""
        name = self.name_argument(value, "arg")
        return f"{name}: {self.attribute_text(value.type)}{self.dictionary_text(attributes)}{self._location_of(value)}"

    def region(self, region: Region, arguments: bool = True, space: str = " ", terminators: bool = True) -> None:
        """Writes ``{ ... }``. Without ``arguments``, those of the entry block are written elsewhere; without ``terminators``, the
        ops that end blocks are implied."""
        before, indent = self._enter(region, "arg"), self.indent
        self.write(f"{space}{{")
        self.indent = indent + "  "
        for number, block in enumerate(region.blocks):
            if number or (arguments and (block.args or block.first_op is None)):
                self.write(f"{indent}{self.block_name(block)}")
                if block.args:
                    self.write(f"({', '.join(self.block_argument(a) for a in block.args)})")
                self.write(":")
            inner, write = self.indent, self.write
            op = block.first_op
            while op is not None and (terminators or op.next_op is not None or not op.has_trait(IsTerminator, value_if_unregistered=False)):
                write(inner)
                self.operation(op)
                op = op.next_op
        self.indent = indent
        self.write(f"{indent}}}")
        del self._entered[id(region)]
        self.names.restore(before)

    def _leave(self, op: Operation) -> None:
        """Takes back the names of regions that were not written to their end."""
        for region in op.regions:
            before = self._entered.pop(id(region), None)
            if before is not None:
                self.names.restore(before)

    def block_name(self, block: Block) -> str:
        """``^bb1``."""
        region = block.parent
        return f"^bb{list(region.blocks).index(block)}" if region is not None else "^invalid"

    def _enter(self, region: Region, hint: str) -> tuple[int, int, int, set[str]]:
        """Names all values that a region's blocks define; the state of the names before."""
        before = self._entered.get(id(region))
        if before is not None:
            return before
        names = self.names
        self._entered[id(region)] = before = names.state()
        parent = region.parent
        named_anew = parent is not None and parent.has_trait(IsolatedFromAbove, value_if_unregistered=False) and not getattr(parent, "DISTINCT_NAMES", False)
        names.used = set() if named_anew else set(names.used)
        if named_anew:
            names.next_value = names.next_argument = names.next_conflict = 0
        for block in region.blocks:
            self._name_arguments(block, hint)
            op = block.first_op
            while op is not None:
                if op.results:
                    self._name_results(op)
                op = op.next_op
        return before

    def _name_arguments(self, block: Block, hint: str) -> None:
        names = self.names
        for argument in block.args:
            if (given := names.of.get(id(argument))) is not None:
                names.unique(_NUMBERED.sub("", given[1:]))  # numbers after it go on as if it had been named here
                names.used.add(given[1:])
                names.next_argument += given == f"%arg{names.next_argument}"
                continue
            name = argument.name_hint
            if name is None and hint == "arg":
                name = f"arg{names.next_argument}"
                names.next_argument += 1
            names.of[id(argument)] = "%" + names.unique(name or hint)

    def _name_results(self, op: Operation) -> None:
        names, results = self.names, op.results
        name = results[0].name_hint
        if name is None and op.name == "stablehlo.constant":
            name = "c" if isinstance(getattr(results[0].type, "element_type", None), IntegerType) else "cst"
        if name is None:
            name = str(names.next_value)
            names.next_value += 1
        else:
            name = names.unique(name)
        if len(results) == 1:
            names.of[id(results[0])] = "%" + name
        else:
            for number, result in enumerate(results):
                names.of[id(result)] = f"%{name}#{number}"

    # -- whole texts

    def finish(self) -> str:
        """The text, with the definitions of location aliases if locations are printed."""
        return "".join(self.out) + "\n"


def _alias_locations(writer: Writer, op: Operation) -> list[str]:
    """Gives every location that occurs an alias; the lines that define them."""
    lines: list[str] = []
    aliases = writer._aliases  # pyright: ignore[reportPrivateUsage]

    def visit(location: LocationAttr) -> None:
        if location in aliases:
            return
        inner = [getattr(location, field, None) for field in ("location", "callee", "caller")]
        for part in (*inner, *getattr(location, "locations", ())):
            if isinstance(part, LocationAttr):
                visit(part)
        text = writer.location(location)
        if text == "unknown":
            return
        aliases[location] = name = f"#loc{len(aliases) or ''}"
        lines.append(f"{name} = loc({text})")

    for inner in op.walk():
        visit(inner.location)
        for region in inner.regions:
            for block in region.blocks:
                for argument in block.args:
                    visit(argument.location)
    return lines


def print_module(module: ModuleOp | Operation, *, locations: bool = False, generic: bool = False) -> str:
    """A module (or any op) as text that :func:`wengert.ir.parsing.parser.parse_module` and JAX read.

    With ``locations``, every op and block argument says its place; with ``generic``, every op has MLIR's generic form.
    """
    writer = Writer(locations, generic)
    lines = _alias_locations(writer, module) if locations else []
    writer.operation(module)
    text = writer.finish()
    return text + "".join(line + "\n" for line in lines)


def printed_names(op: Operation) -> dict[SSAValue, str]:
    """The name, such as ``%12`` or ``%12#1``, that :func:`print_module` gives each value in an op. Values in regions next to each other may have the same."""
    writer = Writer()
    writer.operation(op)
    names = writer.names.of
    named: dict[SSAValue, str] = {}
    for inner in op.walk():
        arguments = (argument for region in inner.regions for block in region.blocks for argument in block.args)
        named.update((value, name) for value in (*arguments, *inner.results) if (name := names.get(id(value))) is not None)
    return named
