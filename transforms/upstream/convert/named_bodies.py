"""The regions of linalg's named ops: what each computes of its elements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, Block, SSAValue

from wengert.dialects.upstream import UpstreamOp, upstream_class
from wengert.dialects.upstream.forms import element_of
from wengert.dialects.upstream.named_linalg import BINARY, CONTRACTIONS, CONVOLUTIONS, POOLINGS, TERNARY, UNARY
from wengert.ir.tensor_types import dtype_of, is_complex, is_float, is_integer
from wengert.transforms.upstream.convert.integers import width_of


class Body:
    """Makes the body of a named op, from the element types of its operands."""

    def __init__(self, op: UpstreamOp):
        self.op = op
        self.types = [element_of(operand.type) for operand in op.operands]
        self.block = Block(arg_types=self.types)
        self.unsigned = "unsigned" in str(op.attributes.get("cast", ""))

    @property
    def arguments(self) -> list[SSAValue]:
        return list(self.block.args)

    def make(self, name: str, operands: Sequence[SSAValue], type: Attribute, **attributes: Attribute) -> SSAValue:
        op = upstream_class(name).create(operands=operands, result_types=[type], attributes=attributes, location=self.op.location)
        self.block.add_op(op)
        return op.results[0]

    def cast(self, value: SSAValue, type: Attribute) -> SSAValue:
        """The value as an element of another type, as linalg's type functions say."""
        own = value.type
        if own == type:
            return value
        kind = "u" if self.unsigned else "s"
        if is_float(own) and is_float(type):
            name = "arith.extf" if width(own) < width(type) else "arith.truncf"
        elif is_integer(own) and is_integer(type):
            name = f"arith.ext{kind}i" if width_of(own) < width_of(type) else "arith.trunci"
        elif is_integer(own):
            name = f"arith.{kind}itofp"
        else:
            name = f"arith.fpto{kind}i"
        return self.make(name, [value], type)

    def binary(self, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """``add``, ``mul`` of elements of any kind, and the ops of :data:`_OPS`."""
        return self.make(op_name(name, x.type), [x, y], x.type)

    def finish(self, *values: SSAValue) -> Block:
        self.block.add_op(upstream_class("linalg.yield").create(operands=values, location=self.op.location))
        return self.block


def width(type: Attribute) -> int:
    """The bytes of an element, by which a conversion widens or narrows."""
    return dtype_of(type).itemsize


_FLOAT = {"add": "addf", "sub": "subf", "mul": "mulf", "div": "divf", "max": "maximumf", "min": "minimumf"}
_SIGNED = {"add": "addi", "sub": "subi", "mul": "muli", "div": "divsi", "div_unsigned": "divui", "max": "maxsi", "min": "minsi"}
_UNSIGNED = {"max_unsigned": "maxui", "min_unsigned": "minui"}


def op_name(name: str, type: Attribute) -> str:
    """The op of ``arith`` or ``complex`` that computes a named function of elements of a type."""
    if is_complex(type):
        return f"complex.{name}"
    if is_float(type):
        return "math.powf" if name == "powf" else f"arith.{_FLOAT[name.removesuffix('_unsigned')]}"
    if str(type) == "i1" and name in ("add", "mul"):
        return {"add": "arith.ori", "mul": "arith.andi"}[name]
    return f"arith.{({**_SIGNED, **_UNSIGNED})[name]}"


def product_sum(op: UpstreamOp, points: int = 0) -> Block:
    """``out + x y``, for quantized ops with the zero points subtracted."""
    body = Body(op)
    x, y, *zeros, out = body.arguments
    factors: list[SSAValue] = []
    for i, given in enumerate((x, y)):
        factor = body.cast(given, out.type)
        factors.append(body.binary("sub", factor, body.cast(zeros[i], out.type)) if i < points else factor)
    return body.finish(body.binary("add", out, body.binary("mul", *factors)))


def pooling_body(op: UpstreamOp, name: str) -> Block:
    """The sum, or an extreme, of what there is and an element."""
    kind = re.sub(r"^pooling_[a-z]+_", "", name)
    body = Body(op)
    x, _, out = body.arguments
    return body.finish(body.binary("add" if kind == "sum" else kind, out, body.cast(x, out.type)))


def copy_body(op: UpstreamOp) -> Block:
    """The first operand's element, cast to the output's type."""
    body = Body(op)
    return body.finish(body.cast(body.arguments[0], body.types[-1]))


_UNARY_OPS = {
    "negf": "arith.negf",
    "abs": "math.absf",
    **{name: f"math.{name}" for name in ("ceil", "erf", "exp", "floor", "log", "round", "rsqrt", "sqrt", "tanh")},
}


def elementwise_body(op: UpstreamOp, kind: str) -> Block:
    """The body of a named elementwise op: operands are cast to the output's element type."""
    body = Body(op)
    *inputs, out = body.arguments
    if kind == "select":
        return body.finish(body.make("arith.select", [inputs[0], *(body.cast(x, out.type) for x in inputs[1:])], out.type))
    values = [body.cast(x, out.type) for x in inputs]
    if kind == "square":
        return body.finish(body.binary("mul", values[0], values[0]))
    if kind == "reciprocal":
        one = body.make("arith.constant", [], out.type, value=FloatAttr(1.0, cast(Any, out.type)))
        return body.finish(body.binary("div", one, values[0]))
    if kind in UNARY:
        name = "math.absi" if kind == "abs" and not is_float(out.type) else _UNARY_OPS[kind]
        return body.finish(body.make(f"complex.{kind.removesuffix('f')}" if is_complex(out.type) else name, values, out.type))
    return body.finish(body.binary(kind, *values))


def elementwise_kind(op: UpstreamOp) -> str | None:
    """The function that a ``linalg.elementwise`` computes; None for a word that is not known."""
    written = str(op.attributes.get("kind"))
    return next((name for name in sorted((*UNARY, *BINARY, *TERNARY), key=len, reverse=True) if re.search(rf"\b{name}\b", written)), None)


def named_body(op: UpstreamOp) -> Block | None:
    """The region that a named op has by its definition; None for one that has none, or is not known."""
    name = op.name.removeprefix("linalg.")
    if name in CONTRACTIONS or name in CONVOLUTIONS or name == "contract":
        return product_sum(op, len(op.operands) - 3)
    if name in POOLINGS:
        return pooling_body(op, name)
    kind = elementwise_kind(op) if name == "elementwise" else name
    if kind in UNARY or kind in BINARY or kind in TERNARY:
        return elementwise_body(op, kind)
    return copy_body(op) if name in ("copy", "fill", "broadcast", "transpose") else None
