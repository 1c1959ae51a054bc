"""What is written out for targets whose back ends lack an instruction computes what the instruction does, bit by bit."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from machine_code import callable_of

from wengert.ir.parsing.types import element_named
from wengert.ir.tensor_types import f32, f64
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.math import emit
from wengert.transforms.codegen.llvm.module import Abilities, ModuleBuilder
from wengert.transforms.codegen.llvm.scalars import Scalars
from wengert.transforms.codegen.llvm.types import element_of

NONE = Abilities(i128=False, extremes=False, remainder=False, saturation=False, long_shifts=False)
EDGES = [0.0, -0.0, 1.0, -1.5, 3.0, 1e300, -7e-310, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, np.inf, -np.inf, np.nan]


def function(name: str, double: bool) -> Any:
    """A scalar function of two floats, without the instructions."""
    element, kind = element_of(f64 if double else f32), "double" if double else "float"
    builder = FunctionBuilder(ModuleBuilder(abilities=NONE))
    result = Scalars(builder, 1, False).apply(name, ["%x", "%y"], [element, element], element)
    text = builder.definition("f", [f"{kind} %x", f"{kind} %y"], result=kind, returns=str(result), head="")
    c = ctypes.c_double if double else ctypes.c_float
    return callable_of(builder.module.text() + text, "f", c, c, c)


def pairs(double: bool, count: int) -> list[tuple[Any, Any]]:
    """Edges with one another, and numbers of all sizes."""
    dtype: Any = np.float64 if double else np.float32
    rng = np.random.default_rng(3)
    with np.errstate(over="ignore"):
        drawn = (rng.normal(size=(count, 2)) * 2.0 ** rng.integers(-1000 if double else -140, 1000 if double else 120, (count, 2))).astype(dtype)
        near = (rng.normal(size=(count, 2)) * 2.0 ** rng.integers(-3, 4, (count, 2))).astype(dtype)
        edges = np.array([(x, y) for x in EDGES for y in EDGES]).astype(dtype)
    return [(x, y) for x, y in np.concatenate([drawn, near, edges])]


@pytest.mark.parametrize("double", [True, False], ids=["f64", "f32"])
@pytest.mark.parametrize(("name", "reference"), [("remainder", np.fmod), ("maximum", np.maximum), ("minimum", np.minimum)])
def test_floats(name: str, reference: Any, double: bool) -> None:
    f, dtype = function(name, double), np.float64 if double else np.float32
    for x, y in pairs(double, 300):
        with np.errstate(all="ignore"):
            wanted, got = reference(x, y), dtype(f(float(x), float(y)))
        if name != "remainder" and x == 0 and y == 0:  # NumPy may return either zero
            wanted = dtype(-0.0 if np.signbit(x) and np.signbit(y) else 0.0) if name == "maximum" else dtype(-0.0 if np.signbit(x) or np.signbit(y) else 0.0)
        same = (np.isnan(wanted) and np.isnan(got)) or (wanted == got and np.signbit(wanted) == np.signbit(got))
        assert same, f"{name}({x!r}, {y!r}) is {wanted!r}, found {got!r}"


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_huge_arguments(name: str) -> None:
    """The product of 128 bits with 2/pi as two words."""

    def compiled(abilities: Abilities) -> Any:
        builder = FunctionBuilder(ModuleBuilder(abilities=abilities))
        text = builder.definition("f", ["double %x"], result="double", returns=emit(name, "f64", 1, ["%x"], builder), head="")
        return callable_of(builder.module.text() + text, "f", ctypes.c_double, ctypes.c_double)

    registers, words = compiled(Abilities()), compiled(NONE)
    for x in (1e22, -3.7e100, 6381956970095103 * 2.0**797, 1.7976931348623157e308, 2.0**60 + 1, *np.random.default_rng(1).normal(size=200) * 1e30):
        assert registers(x) == words(x), x


@pytest.mark.parametrize("double", [True, False], ids=["f64", "f32"])
@pytest.mark.parametrize("target", ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"])
def test_floats_as_integers(target: str, double: bool) -> None:
    source, to = element_of(f64 if double else f32), element_of(element_named(target))
    kind, of = ("double", ctypes.c_double) if double else ("float", ctypes.c_float)
    word = getattr(ctypes, f"c_{'u' if to.kind == 'u' else ''}int{to.bits}")

    def compiled(abilities: Abilities) -> Any:
        builder = FunctionBuilder(ModuleBuilder(abilities=abilities))
        result = Scalars(builder, 1, False).apply("convert", ["%x"], [source], to)
        text = builder.definition("f", [f"{kind} %x"], result=to.register, returns=str(result), head="")
        return callable_of(builder.module.text() + text, "f", word, of)

    with_instruction, written_out = compiled(Abilities()), compiled(NONE)
    powers = [sign * 2.0**n for n in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)]
    dtype: Any = np.float64 if double else np.float32
    around = [float(np.nextafter(dtype(p), dtype(s * np.inf))) for p in powers for s in (1, -1)] + [p + d for p in powers for d in (0.5, -0.5, -1.0, -1.5)]
    for x in [*powers, *around, *[float(a) for pair in pairs(double, 200) for a in pair], 0.5, -0.5, -0.99, -1.0]:
        assert written_out(x) == with_instruction(x), x


@pytest.mark.parametrize("name", ["shift_left", "shift_right_logical", "shift_right_arithmetic"])
def test_long_shifts(name: str) -> None:
    element = element_of(element_named("i64"))

    def compiled(abilities: Abilities) -> Any:
        builder = FunctionBuilder(ModuleBuilder(abilities=abilities))
        result = Scalars(builder, 1, False).apply(name, ["%x", "%y"], [element, element], element)
        text = builder.definition("f", ["i64 %x", "i64 %y"], result="i64", returns=str(result), head="")
        return callable_of(builder.module.text() + text, "f", *[ctypes.c_int64] * 3)

    with_select, with_mask = compiled(Abilities()), compiled(NONE)
    for x in (1, -1, 5, -(2**63), 2**63 - 1):
        for y in (0, 1, 31, 32, 33, 63, 64, 65, -1, -(2**63), -(2**63) + 1, 2**32, 2**32 + 1, 2**63 - 1):
            assert with_mask(x, y) == with_select(x, y), (x, y)
