"""Checks of the types of upstream ops, for the families of ops whose operands and results are alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from wengert.dialects.upstream import scalar_forms
from wengert.dialects.upstream.forms import boolean, element_of
from wengert.dialects.upstream.scalar_forms import real_of
from wengert.ir.tensor_types import is_complex, is_float, is_integer

Check = Callable[[Sequence[Attribute], Sequence[Attribute]], str]
_FLOATS = ("addf", "divf", "maximumf", "maxnumf", "minimumf", "minnumf", "mulf", "negf", "remf", "subf")


def problem_of(op: Operation) -> str:
    """The fault of an op's types, or nothing."""
    check = CHECKS.get(op.name)
    return check([operand.type for operand in op.operands], [result.type for result in op.results]) if check is not None else ""


def _alike(count: int, kind: Callable[[Attribute], bool], noun: str) -> Check:
    def check(operands: Sequence[Attribute], results: Sequence[Attribute]) -> str:
        if len(operands) != count or len(results) != 1:
            return f"expected {count} operands and one result"
        if any(type != operands[0] for type in (*operands, *results)):
            return f"operands and result must have one type, found {', '.join(map(str, operands))} and {results[0]}"
        return "" if kind(element_of(operands[0])) else f"expected {noun}, found {operands[0]}"

    return check


def _cast(before: Callable[[Attribute], bool], after: Callable[[Attribute], bool]) -> Check:
    def check(operands: Sequence[Attribute], results: Sequence[Attribute]) -> str:
        if len(operands) != 1 or len(results) != 1:
            return "expected one operand and one result"
        (source,), (target,) = operands, results
        shapes = [type.get_shape() if isinstance(type, TensorType) else None for type in (source, target)]
        if shapes[0] != shapes[1] or not before(element_of(source)) or not after(element_of(target)):
            return f"{source} is not cast to {target} by this op"
        return ""

    return check


def _compared(operands: Sequence[Attribute], results: Sequence[Attribute]) -> str:
    if len(operands) != 2 or operands[0] != operands[1]:
        return f"operands must have one type, found {', '.join(map(str, operands))}"
    return "" if results[0] == boolean(operands[0]) else f"the result must be {boolean(operands[0])}, found {results[0]}"


def _part(operands: Sequence[Attribute], results: Sequence[Attribute]) -> str:
    if not is_complex(element_of(operands[0])):
        return f"expected a complex number, found {operands[0]}"
    return "" if results[0] == real_of(operands[0]) else f"the result must be {real_of(operands[0])}, found {results[0]}"


def _whole(type: Attribute) -> bool:
    return is_integer(type) or type == scalar_forms.INDEX


_ARITH = scalar_forms.ARITH_SAME.split()
_MATH_INTEGERS = ("absi", "ctlz", "ctpop", "cttz", "ipowi")
_TERNARY = ("fma",)
_BINARY_MATH = ("atan2", "copysign", "ipowi", "powf")
_UNARY_COMPLEX = ("conj", "cos", "exp", "expm1", "log", "log1p", "neg", "rsqrt", "sign", "sin", "sqrt", "tan", "tanh")

CHECKS: dict[str, Check] = {
    **{f"arith.{n}": _alike(1 if n == "negf" else 2, is_float, "floats") if n in _FLOATS else _alike(2, _whole, "integers") for n in _ARITH},
    **{
        f"math.{n}": _alike(3 if n in _TERNARY else 2 if n in _BINARY_MATH else 1, *((_whole, "integers") if n in _MATH_INTEGERS else (is_float, "floats")))
        for n in scalar_forms.MATH_SAME.split()
    },
    **{f"complex.{n}": _alike(1 if n in _UNARY_COMPLEX else 2, is_complex, "complex numbers") for n in scalar_forms.COMPLEX_SAME.split()},
    **{f"complex.{n}": _part for n in ("abs", "angle", "im", "re")},
    **{f"arith.{n}": _cast(is_float, is_float) for n in ("extf", "truncf")},
    **{f"arith.{n}": _cast(is_integer, is_integer) for n in ("extsi", "extui", "trunci")},
    **{f"arith.{n}": _cast(is_integer, is_float) for n in ("sitofp", "uitofp")},
    **{f"arith.{n}": _cast(is_float, is_integer) for n in ("fptosi", "fptoui")},
    **{f"arith.{n}": _cast(_whole, _whole) for n in ("index_cast", "index_castui")},
    "arith.cmpf": _compared,
    "arith.cmpi": _compared,
}
"""What is wrong with the types of operands and results, by op."""
