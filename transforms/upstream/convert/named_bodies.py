"""The regions of linalg's named ops: what each computes of its elements."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, SSAValue

from wengert.dialects.upstream import UpstreamOp, upstream_class
from wengert.dialects.upstream.forms import element_of
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
    factors = [body.cast(x, out.type), body.cast(y, out.type)]
    for i, zero in enumerate(zeros[:points]):
        factors[i] = body.binary("sub", factors[i], body.cast(zero, out.type))
    return body.finish(body.binary("add", out, body.binary("mul", *factors)))
