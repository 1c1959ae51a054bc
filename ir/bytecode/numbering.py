"""The strings, attributes and types of a file that is written, each once and numbered.

An attribute is the same as another if both are encoded alike, which tells apart what compares equal as a value, such as 0.0 and -0.0. It is encoded as pieces,
bytes and other entries; the entries get numbers in the end, when all are known: by dialect, what is used often first, since small numbers are short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Attribute, TypeAttribute

from wengert.ir.bytecode.fields import Encoding, Layout
from wengert.ir.bytecode.output import Output

BUILTIN = "builtin"


class Entry:
    """An attribute or type of the file.

    Attributes:
        dialect: the dialect that encodes it.
        is_type: whether it stands among the types.
        is_coded: whether its dialect encodes it, and it is not text.
        pieces: what it is encoded as.
        uses: how often it is referred to.
        number: its number in the file, once that is known.
    """

    __slots__ = ("dialect", "is_coded", "is_type", "number", "pieces", "uses")

    def __init__(self, dialect: str, is_type: bool, is_coded: bool, pieces: tuple[bytes | Entry, ...]):
        self.dialect, self.is_type, self.is_coded, self.pieces = dialect, is_type, is_coded, pieces
        self.uses = self.number = 0


class EntryOutput(Output):
    """Writes the fields of an entry."""

    def __init__(self, numbering: Numbering):
        super().__init__()
        self._numbering = numbering
        self._pieces: list[bytes | Entry] = []

    def string(self, text: str) -> None:
        """Writes the number of a string."""
        self.varint(self._numbering.string(text))

    def attribute(self, attribute: Attribute) -> None:
        """Writes the number of an attribute."""
        self._refer(self._numbering.attribute(attribute))

    def type(self, type: Attribute) -> None:
        """Writes the number of a type."""
        self._refer(self._numbering.type(type))

    def _refer(self, entry: Entry) -> None:
        self._pieces += (bytes(self.data), entry)
        self.data.clear()

    def resource(self, name: str) -> None:
        """Writes the number of a resource."""
        self.varint(self._numbering.resource(name))

    def pieces(self) -> tuple[bytes | Entry, ...]:
        """All that was written."""
        return (*self._pieces, bytes(self.data))


class Numbering:
    """The numbers of a file's strings, dialects, attributes, types and resources.

    Args:
        encoding: the encoding of a dialect by its name.
        text: an attribute or type in MLIR's assembly format.
    """

    def __init__(self, encoding: Callable[[str], Encoding | None], text: Callable[[Attribute], str]):
        self._encoding, self._text = encoding, text
        self.strings: dict[str, int] = {}
        self.dialects: dict[str, int] = {}
        self.resources: dict[str, int] = {}
        self._attributes: dict[int, tuple[Entry, Attribute]] = {}
        self._types: dict[int, tuple[Entry, Attribute]] = {}
        self._entries: dict[tuple[Any, ...], Entry] = {}
        self._layouts: dict[tuple[type, bool], list[tuple[str, Layout]]] = {}

    def string(self, text: str) -> int:
        """The number of a string."""
        return self.strings.setdefault(text, len(self.strings))

    def dialect(self, name: str) -> int:
        """The number of a dialect."""
        self.string(name)
        return self.dialects.setdefault(name, len(self.dialects))

    def resource(self, name: str) -> int:
        """The number of a resource."""
        self.string(name)
        return self.resources.setdefault(name, len(self.resources))

    def attribute(self, attribute: Attribute) -> Entry:
        """The entry of an attribute. A type that stands for an attribute has one of its own."""
        known = self._attributes.get(id(attribute))
        if known is None:
            known = self._attributes[id(attribute)] = self._entry(attribute, False), attribute
        known[0].uses += 1
        return known[0]

    def type(self, type: Attribute) -> Entry:
        """The entry of a type."""
        known = self._types.get(id(type))
        if known is None:
            known = self._types[id(type)] = self._entry(type, True), type
        known[0].uses += 1
        return known[0]

    def _entry(self, attribute: Attribute, is_type: bool) -> Entry:
        cls: type[Attribute] = attribute.__class__  # a location that is still put together says its class only so
        output = EntryOutput(self)
        for dialect, layout in self._layouts_of(cls, is_type):
            values = layout.parts(attribute)
            if values is not None:
                output.varint(layout.code)
                for field, value in zip(layout.fields, values, strict=True):
                    field.write(output, value)
                return self._shared(Entry(dialect, is_type, True, output.pieces()))
        name: str = getattr(getattr(attribute, "attr_name", None), "data", attribute.name)
        dialect, dot, _ = name.partition(".")
        output.text(self._text(attribute))
        return self._shared(Entry(dialect if dot else BUILTIN, is_type, False, output.pieces()))

    def _layouts_of(self, cls: type[Attribute], is_type: bool) -> list[tuple[str, Layout]]:
        key = (cls, is_type)
        layouts = self._layouts.get(key)
        if layouts is None:
            wraps = not is_type and issubclass(cls, TypeAttribute)
            name = BUILTIN if wraps else _dialect_of(cls)
            encoding = self._encoding(name)
            known = () if encoding is None else encoding.types if is_type else encoding.attributes
            wanted = TypeAttribute if wraps else cls
            layouts = self._layouts[key] = [(name, layout) for layout in known if layout.cls is wanted]
        return layouts

    def _shared(self, entry: Entry) -> Entry:
        """The entry that was made before for what is encoded alike, or this one."""
        self.dialect(entry.dialect)
        return self._entries.setdefault((entry.dialect, entry.is_type, entry.is_coded, entry.pieces), entry)

    def finish(self) -> tuple[bytes, bytes]:
        """Gives every entry its number in the file: the sections of attributes and types and of their places."""
        order = sorted(self._entries.values(), key=lambda entry: (entry.is_type, self.dialects[entry.dialect], -entry.uses))
        attributes = [entry for entry in order if not entry.is_type]
        types = [entry for entry in order if entry.is_type]
        for entries in (attributes, types):
            for number, entry in enumerate(entries):
                entry.number = number
        contents, places = Output(), Output()
        places.varint(len(attributes))
        places.varint(len(types))
        for entries in (attributes, types):
            self._write_groups(entries, contents, places)
        return bytes(contents.data), bytes(places.data)

    def _write_groups(self, entries: Sequence[Entry], contents: Output, places: Output) -> None:
        start = 0
        while start < len(entries):
            dialect = entries[start].dialect
            end = next((at for at in range(start, len(entries)) if entries[at].dialect != dialect), len(entries))
            places.varint(self.dialects[dialect])
            places.varint(end - start)
            for entry in entries[start:end]:
                before = contents.size
                for piece in entry.pieces:
                    if isinstance(piece, Entry):
                        contents.varint(piece.number)
                    else:
                        contents.put(piece)
                places.flagged(contents.size - before, entry.is_coded)
            start = end


def _dialect_of(cls: type[Attribute]) -> str:
    dialect, dot, _ = str(getattr(cls, "name", "")).partition(".")
    return dialect if dot else BUILTIN
