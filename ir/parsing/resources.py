"""Reading the end of a text, ``{-# ... #-}``: the bytes of the constants that are written ``dense_resource<name>``.

A resource is a string of hexadecimal digits: four bytes that say its alignment, then its elements. Other resources, such as the options of
MLIR's reproducers, mean nothing here and are passed over.
"""

from __future__ import annotations

import re

from wengert.ir.parsing.builtins import BuiltinReader

_HEXADECIMAL = re.compile(r"0x((?:[0-9a-fA-F]{2})*)")
_ALIGNMENT = 4


class ResourceReader(BuiltinReader):
    """Reads resources, which stand behind what uses them."""

    _resources: dict[str, tuple[str, int]] | None = None

    def resource_bytes(self, name: str) -> bytes | None:
        if self._resources is None:
            self._resources = {}
            start = self.text.rfind("{-#")
            if start >= 0:
                back, self.here = self.here, start
                self.metadata()
                self.here = back
        if name not in self._resources:
            return None
        text, position = self._resources[name]
        match = _HEXADECIMAL.fullmatch(text)
        if match is None or len(match.group(1)) < 2 * _ALIGNMENT:
            self.fail(f"resource '{name}' is not a string of hexadecimal digits such as \"0x040000000000803F\"", position)
        return bytes.fromhex(match.group(1))[_ALIGNMENT:]

    def metadata(self) -> None:
        """Reads ``{-# section: {dialect: {name: value}} #-}``."""
        resources: dict[str, tuple[str, int]] = {}
        self.need("{-#")
        while not self.accept("#-}"):
            section = self._key()
            for entry in self._group(section == "dialect_resources"):
                resources.setdefault(*entry)
            if not self.accept(","):
                self.need("#-}")
                break
        self._resources = resources

    def _group(self, taken: bool) -> list[tuple[str, tuple[str, int]]]:
        """The entries of ``{dialect: {name: value}}``; those of MLIR's own dialect if they are taken."""
        entries: list[tuple[str, tuple[str, int]]] = []

        def dialect() -> None:
            owner = self._key()

            def entry() -> None:
                name = self._key()
                position = self.skip()
                value = self.string() if self.peek() == '"' else self.word("the value of a resource")
                if taken and owner == "builtin":
                    entries.append((name, (value, position)))

            self.listed("{", "}", entry)

        self.listed("{", "}", dialect)
        return entries

    def _key(self) -> str:
        key = self.string() if self.peek() == '"' else self.word("the name of a resource")
        self.need(":")
        return key
