"""Ops that change the element type or its precision: convert, bitcast_convert, reduce_precision."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute

from wengert.dialects import stablehlo
from wengert.dialects.stablehlo.typing.checks import bit_width
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import dtype_of, element, f64, is_boolean, is_complex, is_float, is_integer, is_unsigned, real_element, shape
from wengert.runtime.interpreter.numerics.integers import bits
from wengert.runtime.interpreter.numerics.precision import rounded, working_dtype
from wengert.runtime.interpreter.rules import Array, Function, Unary, evaluates

_finfo: Any = ml_dtypes.finfo
_where: Any = np.where  # its stubs cannot type elements that are Any


@evaluates(stablehlo.ConvertOp)
def convert(op: stablehlo.ConvertOp) -> Unary:
    """Conversion by value. Floats become integers by truncation, saturating, NaN as 0; complex numbers lose their
    imaginary part first; any real number but zero is true."""
    source, target = element(op.operand), element(op.result)
    if source == target:
        return lambda x: x
    if is_complex(source) and not is_complex(target):
        of_real = _of_real(real_element(source), target)
        return lambda x: of_real(x.real)
    return _of_real(source, target)


def _of_real(source: Attribute, target: Attribute) -> Unary:
    """The conversion of what is not complex, or stays so."""
    dtype = dtype_of(target)
    if is_boolean(target):
        return lambda x: x != 0
    if is_float(source) and is_integer(target):
        return _float_to_integer(target)
    if source == f64 and is_float(target):
        return lambda x: rounded(x, dtype)
    if working_dtype(source) != dtype_of(source):  # not all pairs of narrow types have a conversion of their own
        return _through(working_dtype(source), dtype)
    return _through(dtype, dtype)


def _through(wide: np.dtype[Any], dtype: np.dtype[Any]) -> Unary:
    def converted(x: Any) -> Any:
        return x.astype(wide).astype(dtype)

    return converted


def _float_to_integer(element_type: Attribute) -> Unary:
    dtype = dtype_of(element_type)
    limits, wide = ml_dtypes.iinfo(dtype), working_dtype(element_type).type
    lowest, beyond = float(limits.min), float(limits.max) + 1.0  # both are exact, unlike float(limits.max)

    def converted(x: Any) -> Any:
        whole = np.trunc(x.astype(np.float64))
        low, high = whole < lowest, whole >= beyond
        inside = _where(low | high | np.isnan(whole), 0.0, whole).astype(wide)
        return _where(low, wide(limits.min), _where(high, wide(limits.max), inside)).astype(dtype)

    return converted


@evaluates(stablehlo.BitcastConvertOp)
def bitcast_convert(op: stablehlo.BitcastConvertOp) -> Function:
    """The same bits. A narrower element adds a last dimension, a wider one removes it; the first part is the lowest."""
    source, target, result = element(op.operand), element(op.result), shape(op.result)
    if source != target and (bit_width(source) % 8 or bit_width(target) % 8):

        def repack(x: Any) -> Array:
            return _from_bits(_to_bits(x, bit_width(source)).reshape(-1, bit_width(target)), target).reshape(result)

        return repack
    narrow, dtype = dtype_of(target).itemsize < dtype_of(source).itemsize, dtype_of(target)

    def cast(x: Any) -> Any:
        parts = np.ascontiguousarray(x)
        if narrow and parts.ndim == 0:
            parts = parts.reshape(1)
        return parts.view(dtype).reshape(result)

    return cast


def _to_bits(x: Any, width: int) -> Array:
    """The bits of each element, the lowest first; elements of fewer than eight are stored in the low bits of a byte."""
    octets = np.ascontiguousarray(x).reshape(-1, 1).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little")[:, :width]


def _from_bits(rows: Array, element_type: Attribute) -> Array:
    """The elements that rows of bits are."""
    dtype, width = dtype_of(element_type), rows.shape[1]
    if width >= 8:
        return np.packbits(rows, axis=1, bitorder="little").view(dtype).reshape(-1)
    low = np.packbits(rows, axis=1, bitorder="little").reshape(-1)
    if not is_integer(element_type):
        return low.view(dtype)
    return (
        low.astype(dtype)
        if is_boolean(element_type) or is_unsigned(element_type)
        else ((low.astype(np.int8) ^ (1 << (width - 1))) - (1 << (width - 1))).astype(dtype)
    )


@evaluates(stablehlo.ReducePrecisionOp)
def reduce_precision(op: stablehlo.ReducePrecisionOp) -> Function:
    """Rounds to nearest even in a format of fewer bits: overflow gives infinity, what would be subnormal gives zero.

    Floats of 8 bits are taken for f16, of which they are a part (for f32, those of powers of two), and rounded to their own format after.
    """
    own = dtype_of(element(op.operand))
    dtype = own if own.itemsize > 1 else np.dtype(np.float32 if _finfo(own).nmant == 0 else np.float16)
    info: Any = _finfo(dtype)
    exponent, mantissa = min(int_of(op.exponent_bits), info.nexp), min(int_of(op.mantissa_bits), info.nmant)
    cut, top = info.nmant - mantissa, info.nexp + info.nmant
    bias = (1 << (info.nexp - 1)) - 1
    small = (1 << (exponent - 1)) - 1

    def rounded(operand: Any) -> Any:
        x = operand.astype(dtype)
        word = bits(x)
        unsigned = word.dtype.type
        exponents, sign = unsigned(((1 << info.nexp) - 1) << info.nmant), word & unsigned(1 << top)
        if cut:
            tie = (word >> unsigned(cut)) & unsigned(1)
            word = (word + tie + unsigned((1 << (cut - 1)) - 1)) & ~unsigned((1 << cut) - 1)
        if exponent < info.nexp:
            biased = word & exponents
            word = _where(biased > unsigned((bias + small) << info.nmant), sign | exponents, word)
            word = _where(biased <= unsigned((bias - small) << info.nmant), sign, word)
        nan = x if mantissa else np.asarray(sign | exponents).view(x.dtype)  # without mantissa bits there is no NaN
        return _where(np.isnan(x), nan, np.asarray(word).view(x.dtype)).astype(own)

    return rounded
