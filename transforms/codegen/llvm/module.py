"""Collects what functions of one LLVM module share: definitions that it contains once, declarations of what it calls, and address spaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

SHARED = 'noinline "wengert-shared"'
"""Attributes of a function that any program may call, which depends on types and tile sizes only: compiled once where the target's linker can do that."""


class AddressSpaces(Struct, frozen=True):
    """The numbers of the address spaces in which a target keeps constants and the stack; 0 is the generic one, which is all that a CPU has."""

    constants: int = 0
    stack: int = 0


class Abilities(Struct, frozen=True):
    """The instructions of LLVM that a target's back end has, and right; what it has not is written out.

    Attributes:
        i128: integers of 128 bits.
        extremes: ``llvm.maximum`` and ``llvm.minimum``, which hand NaN on and tell zeros apart.
        remainder: ``frem``, exact for all quotients, with the sign of its first operand.
        saturation: ``llvm.fptosi.sat`` and ``llvm.fptoui.sat``, which make 0 of NaN.
        long_shifts: shifts of 64 bits that look at all bits of the amount where it was compared with 64.
    """

    i128: bool = True
    extremes: bool = True
    remainder: bool = True
    saturation: bool = True
    long_shifts: bool = True


class ModuleBuilder:
    """Collects the definitions of a module by their symbols, in the order in which they are asked for.

    Attributes:
        definitions: the text of globals, constants and helper functions.
        externals: declarations of functions from outside of the module.
        address_spaces: where constants and the stack lie.
        abilities: what the target's back end has instructions for.
    """

    def __init__(self, address_spaces: AddressSpaces | None = None, abilities: Abilities | None = None):
        self.address_spaces = AddressSpaces() if address_spaces is None else address_spaces
        self.abilities = Abilities() if abilities is None else abilities
        self.definitions: dict[str, str] = {}
        self.externals: dict[str, str] = {}

    def once(self, symbol: str, make: Callable[[], str]) -> str:
        """The symbol, which is defined if it is not yet."""
        if symbol not in self.definitions:
            self.definitions[symbol] = make()
        return symbol

    def external(self, symbol: str, result: str, parameters: Sequence[str]) -> str:
        """The symbol of a function from outside of the module, declared with these types."""
        self.externals[symbol] = f"declare {result} @{symbol}({', '.join(parameters)})"
        return symbol

    def constant(self, symbol: str, type: str, initializer: str, *, linkage: str = "internal", align: int = 0) -> str:
        """The symbol of a constant in memory."""
        if symbol not in self.definitions:
            space = f"addrspace({self.address_spaces.constants}) " if self.address_spaces.constants else ""
            aligned = f", align {align}" if align else ""
            self.definitions[symbol] = f"@{symbol} = {linkage} {space}constant {type} {initializer}{aligned}\n"
        return symbol

    def text(self) -> str:
        """Declarations and definitions."""
        return "".join([f"{text.rstrip()}\n" for text in (*self.externals.values(), *self.definitions.values())])
