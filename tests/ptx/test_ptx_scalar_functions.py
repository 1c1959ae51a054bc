"""The compiler's scalar functions on a GPU give what they give on the CPU, bit for bit.

Both come from the same LLVM text at one lane; one goes through LLVM's NVPTX backend and the interpreter, the other one to machine code with fused
multiply-add, so that `fmuladd` is one rounding on both sides.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from gpu_math import on_device, on_processor
from ptx_programs import same_numbers
from xdsl.ir import Attribute, Operation

from wengert.dialects.chlo import Chlo
from wengert.dialects.core import Core
from wengert.dialects.facts import Work, facts_of
from wengert.dialects.scalar_functions import scalar_name
from wengert.dialects.stablehlo import RemainderOp, StableHLO
from wengert.dialects.stablehlo.base import BinaryOp
from wengert.ir.element_classes import FLOAT, SIGNED, UNSIGNED
from wengert.ir.tensor_types import dtype_of, f32, f64, i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.math import SUPPORTED, emit
from wengert.transforms.codegen.llvm.scalars import Scalars
from wengert.transforms.codegen.llvm.types import Element, element_of
from wengert.transforms.core.functions import EXPANSIONS

FUSED = llvm.get_host_cpu_features().get("fma", False) or not llvm.get_process_triple().startswith("x86_64")
RNG = np.random.default_rng(23)


def floats(dtype: Any, count: int = 448) -> Any:
    """Numbers of all exponents, numbers near 1, and those at which functions change."""
    limits = np.finfo(dtype)
    edges = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, np.inf, -np.inf, np.nan, limits.max, limits.tiny, limits.smallest_subnormal, -limits.smallest_subnormal, 1e5, 1e-5]
    bits = RNG.integers(0, np.iinfo(f"u{dtype.itemsize}").max, count // 2, dtype=f"u{dtype.itemsize}").view(dtype)
    return np.concatenate([np.array(edges), bits, RNG.normal(size=count - count // 2 - len(edges)) * 8]).astype(dtype)


def assert_same(got: Any, wanted: Any, *operands: Any) -> None:
    wrong = np.flatnonzero(~same_numbers(got, wanted)) if got.dtype.kind == "f" else np.flatnonzero(got != wanted)
    assert not len(wrong), f"{len(wrong)} differ: {[(*[o[k] for o in operands], got[k], wanted[k]) for k in wrong[:4]]}"


@pytest.mark.skipif(not FUSED, reason="this processor rounds fmuladd twice")
@pytest.mark.parametrize(("function", "element"), SUPPORTED, ids=str)
def test_mathematics(function: str, element: str) -> None:
    dtype = np.dtype(f"f{int(element[1:]) // 8}")
    kind = "float" if element == "f32" else "double"
    operands = [floats(dtype) for _ in range(SUPPORTED[function, element])]
    types = [kind] * len(operands)

    def write(builder: FunctionBuilder, values: list[str]) -> str:
        return emit(function, element, 1, values, builder)

    assert_same(on_device(write, types, kind, operands, dtype), on_processor(write, types, kind, operands, dtype), *operands)


# -- functions of StableHLO's ops, conversions and comparisons

NUMBERS: dict[str, Attribute] = {"f32": f32, "f64": f64, "i8": i8, "i16": i16, "i32": i32, "i64": i64, "ui8": ui8, "ui16": ui16, "ui32": ui32, "ui64": ui64}
OPS = [
    op
    for dialect in (StableHLO, Chlo, Core)
    for op in dialect.operations
    if facts_of(op).one_type and facts_of(op).work is Work.ELEMENTS and op not in EXPANSIONS
]


def numbers(type: Attribute, count: int = 448) -> Any:
    dtype = dtype_of(type)
    if dtype.kind == "f":
        return floats(dtype, count)
    limits = np.iinfo(dtype)
    edges = [0, 1, limits.max, limits.min, 2, 7, limits.max // 2, 31]
    drawn = np.concatenate(
        [RNG.integers(limits.min, limits.max, count // 2, dtype=dtype, endpoint=True), RNG.integers(0, 40, count - count // 2 - 8).astype(dtype)]
    )
    return np.concatenate([np.array(edges, dtype), drawn])


def compared(write: Any, types: list[Attribute], result: Attribute) -> None:
    """On both sides, with operands in all combinations of what is special about each."""
    operands = [RNG.permutation(numbers(type)) if k else numbers(type) for k, type in enumerate(types)]
    names = [element_of(type).register for type in types]
    place, dtype = element_of(result).memory, dtype_of(result)
    assert_same(on_device(write, names, place, operands, dtype), on_processor(write, names, place, operands, dtype), *operands)


@pytest.mark.skipif(not FUSED, reason="this processor rounds fmuladd twice")
@pytest.mark.parametrize("op", OPS, ids=[op.name for op in OPS])
def test_functions_of_ops(op: type[Operation]) -> None:
    """Every elementwise op on every type of number that it has code for."""
    for type in (t for name, t in NUMBERS.items() if name in ("f32", "f64", "i32", "i64", "ui8")):
        element = element_of(type)
        if op is RemainderOp and element.kind == "f":  # LLVM's NVPTX backend computes frem as x - trunc(x / y) y, which is something else
            continue
        if facts_of(op).effort(type) is None or not facts_of(op).takes & {"f": FLOAT, "i": SIGNED, "u": UNSIGNED}[element.kind]:
            continue

        def write(builder: FunctionBuilder, values: list[str], element: Element = element) -> str:
            return str(Scalars(builder, 1, False).apply(scalar_name(op), values, [element] * len(values), element))

        compared(write, [type] * (2 if issubclass(op, BinaryOp) else 1), type)


@pytest.mark.parametrize("source", NUMBERS)
def test_conversions(source: str) -> None:
    for target in NUMBERS.values():
        elements = element_of(NUMBERS[source]), element_of(target)

        def write(builder: FunctionBuilder, values: list[str], elements: tuple[Element, Element] = elements) -> str:
            return str(Scalars(builder, 1, False).convert(values[0], *elements))

        compared(write, [NUMBERS[source]], target)


@pytest.mark.parametrize("type", NUMBERS)
def test_comparisons(type: str) -> None:
    element = element_of(NUMBERS[type])
    for relation in ("eq", "ne", "lt", "le", "gt", "ge"):

        def write(builder: FunctionBuilder, values: list[str], relation: str = relation) -> str:
            answer = str(Scalars(builder, 1, False).apply(relation, values, [element] * 2, element_of(i1)))
            return builder.cast("zext", answer, "i1", "i8")

        compared(write, [NUMBERS[type]] * 2, ui8)
