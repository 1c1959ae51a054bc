"""Bytecode encodings of CHLO's attributes: two enumerations; all others are written in MLIR's assembly format."""

from __future__ import annotations

from wengert.dialects.bytecode.records import words
from wengert.dialects.chlo.attributes import ChloComparisonDirectionAttr, ChloComparisonTypeAttr
from wengert.ir.bytecode.fields import Encoding

ENCODING = Encoding((words(0, ChloComparisonDirectionAttr), words(1, ChloComparisonTypeAttr)))
