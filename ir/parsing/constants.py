"""Reading dense constants: decimal, hexadecimal and boolean elements, nested lists, splats, and raw bytes in hex.

The literal's brackets are compared with those that its type's shape asks for as strings, and its elements are converted all
at once, so that a literal of a million numbers is read at the speed of ``float``. A hexadecimal element of a floating-point
constant is its bit pattern (that is how MLIR writes infinities and NaNs).
"""

from __future__ import annotations

import re
import sys
from math import prod
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    MemRefType,
    RankedStructure,
    Signedness,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute

from wengert.ir.parsing.cursor import SPACE
from wengert.ir.parsing.types import TypeReader
from wengert.ir.tensor_types import dtype_of, extent_in_bytes, i1, i64, is_complex, is_integer, is_unsigned, real_element, tensor

Array = np.ndarray[Any, np.dtype[Any]]

MOST_BYTES = sys.maxsize
"""The bytes that NumPy's arrays extend over at most, where extents of zero count as one."""
_DENSE = re.compile(SPACE + r"dense(?=\s*<)")
_HEX = re.compile(r"0x[0-9A-Fa-f]+", re.ASCII)
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?)|true|false")
_ELEMENTS = re.compile(r"[^\[\],]+")
_PAIR = re.compile(r"\(([^(),]*),([^(),]*)\)")
_STRANGE = re.compile(r"[^-+0-9a-zA-Z.,\[\]() \t\r\n]|[nN]|inf|(?<![0-9])\.|(?<![eE])\+")
_BODY = re.compile(r'\s*"0x([0-9a-fA-F]*)"\s*')
_COMMENT = re.compile(r"//[^\n]*")
_SIGN = re.compile(r"-\s+(?=[0-9])")


def _skeleton(shape: tuple[int, ...]) -> str:
    """The brackets and commas of a literal of this shape."""
    text = ""
    for position, extent in enumerate(reversed(shape)):
        text = "[" + ("," * (extent - 1) if position == 0 else ",".join([text] * extent)) + "]"
    return text


class ConstantReader(TypeReader):
    """Reads what stands between ``dense`` and the end of the constant's type."""

    def dense(self, given: Attribute | None = None) -> DenseIntOrFPElementsAttr[Any]:
        """Reads ``<...> : type`` after the word ``dense`` (``<...>`` alone if the type is given)."""
        self.need("<")
        start = self.here
        end = self._end_of_literal(start)
        self.here = end + 1
        type = given
        if type is None:
            self.need(":")
            type_at = self.skip()
            type = self.type()
            self.check_type(type, type_at)
        shape = tuple(cast("RankedStructure[Any]", type).get_shape())
        data = self._data(start, end, shape, cast("RankedStructure[Any]", type).get_element_type())
        return _constant(type, data)

    def scalar(self, start: int, end: int, element: Attribute) -> DenseIntOrFPElementsAttr[Any]:
        """The constant of rank 0 whose only element is written between two positions."""
        type = tensor((), element)
        self.check_type(type, start)
        return _constant(type, self._data(start, end, (), element))

    def sparse(self) -> DenseIntOrFPElementsAttr[Any]:
        """Reads ``<positions, values> : type`` after the word ``sparse``: a constant of zeros but for the elements at these positions."""
        self.need("<")
        start = self.here
        end = self._end_of_literal(start)
        self.here = end + 1
        self.need(":")
        type_at = self.skip()
        type = self.type()
        self.check_type(type, type_at)
        shaped = cast("RankedStructure[Any]", type)
        shape, element = tuple(shaped.get_shape()), shaped.get_element_type()
        full = np.zeros(shape, dtype_of(element))
        if self.text[start:end].strip():
            places, values_at = self._positions(start, end, shape)
            values: Array = np.frombuffer(self._data(values_at, end, (len(places),), element), full.dtype)
            full[tuple(places.T)] = values
        data = full.tobytes()
        return _constant(type, data[: full.itemsize] if full.size > 1 and data == data[: full.itemsize] * full.size else data)

    def _positions(self, start: int, end: int, shape: tuple[int, ...]) -> tuple[Array, int]:
        """The positions of a sparse constant, a row for each element, and where its values begin. A single number stands for all of a row."""
        depth = 0
        for comma in range(start, end):
            letter = self.text[comma]
            depth += (letter == "[") - (letter == "]")
            if letter == "," and depth == 0:
                break
        else:
            self.fail("a sparse constant needs positions and values: sparse<[[0, 0], [1, 1]], [1.0, 2.0]>", start)
        body = self.text[start:comma].strip()
        rank = len(shape)
        count = body.count("[") - 1 if body.startswith("[") and body[1:].lstrip().startswith("[") else 1
        asked = (count, rank) if body.startswith("[") and "[" in body[1:] else (rank,) if body.startswith("[") else ()
        places: Array = np.broadcast_to(np.frombuffer(self._data(start, comma, asked, i64), np.int64), (count * rank,) if rank else (0,))
        if count * rank != places.size or np.any((rows := places.reshape(count, rank)) < 0) or np.any(rows >= np.array(shape, np.int64)):
            self.fail(f"the positions {body} do not lie in the shape {list(shape)}", start)
        return rows, comma + 1

    def _end_of_literal(self, start: int) -> int:
        """The position where the literal ends; comments in it are blanked, so that places stay what they are."""
        while True:
            end = self.text.find(">", start)
            comment = _COMMENT.search(self.text, start, end if end >= 0 else len(self.text))
            if comment is not None:
                comment = _COMMENT.match(self.text, comment.start())
                assert comment is not None
                self.text = self.text[: comment.start()] + " " * len(comment.group()) + self.text[comment.end() :]
            elif end < 0:
                self.fail("unclosed 'dense<'", start - 1, hint="the text may be truncated")
            else:
                return end

    def accept_dense(self) -> bool:
        """Moves past ``dense`` if a dense constant comes next."""
        match = _DENSE.match(self.text, self.here)
        if match is not None:
            self.here = match.end()
        return match is not None

    def check_type(self, type: Attribute, position: int) -> None:
        """Fails where a type is not one of constants."""
        if not isinstance(type, TensorType | VectorType | MemRefType):
            self.fail(f"a dense constant needs a tensor or vector type, found {type}", position)
        shaped = cast("RankedStructure[Any]", type)
        if any(extent < 0 for extent in shaped.get_shape()):
            self.fail(f"a dense constant needs a static shape, found {type}", position)
        try:
            extent = extent_in_bytes(shaped)
        except KeyError:
            self.fail(f"constants of element type {shaped.get_element_type()} are not supported", position)
        if extent > MOST_BYTES:
            self.fail(f"no array has the extents of {type}", position)

    def _data(self, start: int, end: int, shape: tuple[int, ...], element: Attribute) -> bytes:
        count = prod(shape)
        raw = _BODY.fullmatch(self.text, start, end)
        if raw is not None:
            return self._raw(raw.group(1), count, element, start)
        body = _SIGN.sub("-", self.text[start:end].strip())
        if not body:
            if count:
                self.fail(f"an empty literal for {count} elements", start - 1)
            return b""
        if _STRANGE.search(body) is not None:
            self._bad_element([word for word in re.split(r"[\[\](),\s]", body) if word], start, end, element)
        if not body.startswith("["):
            values = self._complex(body, start, end, element) if is_complex(element) else self._values([body], start, end, element)
            return values.tobytes() if count else b""
        flat = _PAIR.sub("c", body) if is_complex(element) else body
        skeleton = _ELEMENTS.sub("", flat)
        if count > len(body) or len(shape) > len(body) or skeleton != _skeleton(shape):
            self._misshapen(skeleton, shape, start)
        if not count:
            return b""
        if is_complex(element):
            values = self._complex(body, start, end, element)
        else:
            values = self._values(body.replace("[", "").replace("]", "").split(","), start, end, element)
        data = values.tobytes()
        width = values.dtype.itemsize
        return data[:width] if count > 1 and data == data[:width] * count else data

    def _misshapen(self, skeleton: str, shape: tuple[int, ...], start: int) -> None:
        lengths, text = list[int](), skeleton
        while text.startswith("["):
            depth, items = 0, 1
            for c in text[1:]:
                depth += (c == "[") - (c == "]")
                if depth < 0:
                    break
                items += c == "," and depth == 0
            lengths.append(items if text[1:2] != "]" else 0)
            text = text[1:]
        if _skeleton(tuple(lengths)) == skeleton:
            self.fail(f"the literal has shape {lengths}, its type has shape {list(shape)}", start)
        self.fail(f"the literal's lists do not fit the shape {list(shape)} of its type", start)

    def _raw(self, digits: str, count: int, element: Attribute, start: int) -> bytes:
        if len(digits) % 2:
            self.fail("the hexadecimal string has an odd number of digits", start)
        return self._of_bytes(bytes.fromhex(digits), count, element, start)

    def constant_of_bytes(self, type: Attribute, data: bytes, start: int) -> DenseIntOrFPElementsAttr[Any]:
        """The constant of a type whose elements are these bytes."""
        shaped = cast("RankedStructure[Any]", type)
        return _constant(type, self._of_bytes(data, prod(shaped.get_shape()), shaped.get_element_type(), start))

    def _of_bytes(self, data: bytes, count: int, element: Attribute, start: int) -> bytes:
        if is_integer(element) and element.width.data in (2, 4):  # stored without their sign
            data = _from_low_bits(data, element.width.data, not is_unsigned(element)).astype(dtype_of(element)).tobytes()
        width = dtype_of(element).itemsize
        if len(data) not in (width, width * count):
            self.fail(f"the hexadecimal string holds {len(data)} bytes; {count} elements of {element} need {width * count}", start)
        if not count:
            return b""
        return data[:width] if count > 1 and data == data[:width] * (len(data) // width) else data

    def _complex(self, body: str, start: int, end: int, element: Attribute) -> Array:
        parts = [part for pair in _PAIR.findall(body) for part in pair]
        if not parts or _PAIR.sub("", body).strip("[], \t\r\n"):
            self.fail("complex elements are written (real, imaginary)", start)
        pairs = self._values(parts, start, end, real_element(element))
        return pairs.view(dtype_of(element))

    def _values(self, tokens: list[str], start: int, end: int, element: Attribute) -> Array:
        """The elements that are written as these words."""
        dtype = dtype_of(element)
        if is_integer(element) or isinstance(element, IndexType):
            return self._integers(tokens, start, end, element, dtype)
        try:
            text = self.text[start:end]
            if "x" not in text:
                if text.count(".") < len(tokens):
                    self._bad_element(tokens, start, end, element)
                with np.errstate(over="ignore"):  # numbers beyond a type's are infinities
                    return np.array(list(map(float, tokens)), np.float64).astype(dtype)
        except ValueError:
            self._bad_element(tokens, start, end, element)
        return np.array([self._float(token, start, end, element, dtype) for token in tokens], dtype)

    def _float(self, token: str, start: int, end: int, element: Attribute, dtype: np.dtype[Any]) -> Any:
        word = token.strip()
        if not word.startswith("0x"):
            if _NUMBER.fullmatch(word) is None or "." not in word:
                self._bad_element([token], start, end, element)
            with np.errstate(over="ignore"):
                return dtype.type(float(word))
        if _HEX.fullmatch(word) is None:
            self._bad_element([token], start, end, element)
        bits = int(word, 16)
        if bits >> (8 * dtype.itemsize):
            self.fail(f"the bit pattern {word} has more bits than {element}", self.text.find(word, start, end))
        return np.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype)[0]

    def _integers(self, tokens: list[str], start: int, end: int, element: IntegerType | IndexType, dtype: np.dtype[Any]) -> Array:
        text = self.text[start:end]
        try:
            if "x" in text or "e" in text:
                values = [_boolean_or_int(token.strip()) for token in tokens]
            else:
                values = list(map(int, tokens))
        except ValueError:
            self._bad_element(tokens, start, end, element)
        if element != i1 and ("t" in text or "l" in text):
            self._bad_element(tokens, start, end, element)
        low, high = _limits(element)
        for index, value in enumerate(values) if values and not (low <= min(values) and max(values) <= high) else ():
            if not low <= value <= high:
                word = tokens[index].strip()
                self.fail(f"{word} does not fit {element}", max(start, text.find(word) + start))
        if dtype == np.bool_:
            return np.array([value & 1 for value in values], np.bool_)
        try:
            wide = np.array(values, np.int64)
        except OverflowError:
            wide = np.array([value & (2**64 - 1) for value in values], np.uint64)
        return wide.astype(dtype)

    def _bad_element(self, tokens: list[str], start: int, end: int, element: Attribute) -> NoReturn:
        for token in tokens:
            word = token.strip()
            integral = isinstance(element, IntegerType | IndexType)
            position = max(self.text.find(word, start, end), start) if word else start
            if _NUMBER.fullmatch(word) is None or ("." in word and integral) or word.startswith("-0x") > integral:
                self.fail(f"'{word[:40]}' is not an element of type {element}" if word else "an element is missing", position)
            if word.removeprefix("-").isdecimal() and not integral:
                hint = f"add a point: {word[:40]}.0"
                self.fail(f"'{word[:40]}' is an integer, but {element} is a floating-point type", position, hint=hint)
            if word in ("true", "false") and element != i1:
                self.fail(f"'{word}' is not an element of type {element}", self.text.find(word, start, end))
        self.fail(f"the literal holds something that is not an element of type {element}", start)


def _constant(type: Attribute, data: bytes) -> DenseIntOrFPElementsAttr[Any]:
    """The attribute, made without the checks of its constructor: they were done here."""
    constant: DenseIntOrFPElementsAttr[Any] = object.__new__(DenseIntOrFPElementsAttr)
    vars(constant).update(type=type, data=BytesAttr(data))
    return constant


def _from_low_bits(data: bytes, width: int, signed: bool) -> Array:
    """The numbers in bytes of which only the low bits count."""
    low = np.frombuffer(data, np.uint8) & ((1 << width) - 1)
    half = 1 << (width - 1)
    return (low.astype(np.int8) ^ half) - half if signed else low


def _boolean_or_int(word: str) -> int:
    if word in ("true", "false"):
        return int(word == "true")
    return int(word, 16) if "0x" in word else int(word)


def _limits(element: IntegerType | IndexType) -> tuple[int, int]:
    if isinstance(element, IndexType):
        return -(2**63), 2**63 - 1
    width = element.width.data
    if element.signedness.data is Signedness.UNSIGNED:
        return 0, 2**width - 1
    return -(2 ** (width - 1)), 2**width - 1 if element.signedness.data is Signedness.SIGNLESS else 2 ** (width - 1) - 1
