"""Translations: what ends a pipeline and writes text that is no MLIR, as ``mlir-translate`` does.

A translation reads a module, or the text of the translation before it, and writes text. It is a frozen dataclass like a pass: its class
attribute ``name`` is kebab-case and its fields are its options. So one pipeline leads from a program to assembly::

    to-core,fuse,schedule,bufferize,emit-llvm,optimize-llvm,emit-asm
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from xdsl.dialects.builtin import ModuleOp

Form = Literal["mlir", "ll", "s", "isa"]
"""The form of a stage of a compilation, by the extension of its file: MLIR, LLVM text, assembly, assembly of a device (PTX)."""

WORDS: dict[Form, str] = {"mlir": "MLIR", "ll": "LLVM text", "s": "assembly", "isa": "assembly of a device"}
COMMENTS: dict[Form, str] = {"mlir": "//", "ll": ";", "s": "#", "isa": "//"}
"""The start of a comment in each form."""


@dataclasses.dataclass(frozen=True)
class Translation(ABC):
    """From a module, or from text, to text of another form."""

    name: ClassVar[str]
    reads: ClassVar[Form]
    writes: ClassVar[Form]

    @abstractmethod
    def translate(self, source: ModuleOp | str) -> str:
        """The text for a module (if ``reads`` is "mlir") or for a text. A DiagnosticError says what is wrong with the source."""
        ...

    @property
    def next(self) -> str:
        """The translations that mostly come behind this one, as a pipeline: what a dump says to go on with where nothing else was asked for."""
        return ""

    @classmethod
    def required_fields(cls) -> set[str]:
        """The options that have no default values."""
        missing = dataclasses.MISSING
        return {f.name for f in dataclasses.fields(cls) if f.init and f.default is missing and f.default_factory is missing}
