"""The kernel level by itself: fusion decisions, verification, printing and parsing, and its NumPy meaning."""

import io

import numpy as np
import pytest
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.kernel import Kernel, MatmulOp, NestOp
from wengert.dialects.registry import make_context
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.interpreter import run
from wengert.transforms.lowering import lower


def function(arguments: str, results: str, body: str) -> str:
    return f"func.func public @main({arguments}) -> ({results}) {{\n{body}\n}}"


SOFTMAX = function(
    "%x: tensor<8x128xf32>",
    "tensor<8x128xf32>",
    """
    %lo = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%x init: %lo) applies stablehlo.maximum across dimensions = [1] : (tensor<8x128xf32>, tensor<f32>) -> tensor<8xf32>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x128xf32>
    %d = stablehlo.subtract %x, %mb : tensor<8x128xf32>
    %e = stablehlo.exponential %d : tensor<8x128xf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x128xf32>, tensor<f32>) -> tensor<8xf32>
    %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x128xf32>
    %y = stablehlo.divide %e, %sb : tensor<8x128xf32>
    return %y : tensor<8x128xf32>""",
)


def lowered(text: str):
    module = lower(core_form(parse_module(text)))
    module.verify()
    return module


def nests(text: str) -> list[NestOp]:
    return [op for op in lowered(text).walk() if isinstance(op, NestOp)]


def test_softmax_is_three_nests() -> None:
    kernels = nests(SOFTMAX)
    assert [len(op.outputs) for op in kernels] == [1, 2, 1]
    assert [w.kind for op in kernels for w in op.writes] == ["max", "store", "add", "store"]


def test_elementwise_chain_is_one_nest_with_one_store() -> None:
    body = "\n".join(f"%{i + 1} = stablehlo.tanh %{i} : tensor<100xf64>" for i in range(50))
    (op,) = nests(function("%0: tensor<100xf64>", "tensor<100xf64>", f"{body}\nreturn %50 : tensor<100xf64>"))
    assert len(op.outputs) == 1
    assert sum(inner.name == "kernel.load" for inner in op.body.block.ops) == 1


def test_expensive_value_is_not_computed_twice_but_cheap_one_is() -> None:
    def text(op: str) -> str:
        return function(
            "%x: tensor<64x32xf32>",
            "tensor<64x32xf32>, tensor<32x64xf32>",
            f"""%a = stablehlo.{op} %x : tensor<64x32xf32>
            %b = stablehlo.add %a, %x : tensor<64x32xf32>
            %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
            return %b, %t : tensor<64x32xf32>, tensor<32x64xf32>""",
        )

    count = {
        op: sum(inner.name == "kernel.apply" and inner.function.data == op for n in nests(text(op)) for inner in n.body.block.ops) for op in ("tanh", "negate")
    }
    assert count == {"tanh": 1, "negate": 2}


def test_reshape_and_transpose_of_operands_of_a_product_are_not_copied() -> None:
    module = lowered(
        function(
            "%x: tensor<6x4xf32>, %y: tensor<2x3x5xf32>",
            "tensor<4x5xf32>",
            """%t = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
            %r = stablehlo.reshape %y : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
            %d = stablehlo.dot_general %t, %r, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
            return %d : tensor<4x5xf32>""",
        )
    )
    assert not [op for op in module.walk() if isinstance(op, NestOp)]
    (product,) = [op for op in module.walk() if isinstance(op, MatmulOp)]
    assert product.lhs_strides.get_values() == (1, 4)


def test_concatenate_writes_each_operand_in_place() -> None:
    text = function(
        "%x: tensor<4x8xf32>, %y: tensor<2x8xf32>",
        "tensor<6x8xf32>",
        """%a = stablehlo.exponential %x : tensor<4x8xf32>
        %c = stablehlo.concatenate %a, %y, dim = 0 : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<6x8xf32>
        return %c : tensor<6x8xf32>""",
    )
    first, second = nests(text)
    assert [w.kind for w in first.writes] == ["store"], "the exponential goes straight into the result"
    assert str(second.writes[0].at) == "d0 + 32"


def test_prints_and_parses() -> None:
    module = lowered(SOFTMAX)
    context = make_context()
    if context.get_optional_dialect("kernel") is None:
        context.load_dialect(Kernel)
    text = str(module)
    again = Parser(context, text).parse_module()
    out = io.StringIO()
    Printer(out).print_op(again)
    assert out.getvalue().strip() == text.strip()
    x = np.random.default_rng(0).standard_normal((8, 128)).astype(np.float32)
    np.testing.assert_array_equal(run(again, [x])[0], run(module, [x])[0])


def test_means_what_the_program_does() -> None:
    module = parse_module(SOFTMAX)
    x = np.random.default_rng(0).standard_normal((8, 128)).astype(np.float32)
    np.testing.assert_allclose(run(lowered(SOFTMAX), [x])[0], run(module, [x])[0], rtol=1e-6)


def test_position_outside_of_the_buffer_does_not_verify() -> None:
    text = str(lowered(SOFTMAX)).replace("[d0, d1]", "[d0 * 128 + d1 + 1]", 1)
    context = make_context()
    if context.get_optional_dialect("kernel") is None:
        context.load_dialect(Kernel)
    with pytest.raises(VerifyException, match="outside of"):
        Parser(context, text).parse_module().verify()


def test_dynamic_shapes_are_refused_with_their_place() -> None:
    module = parse_module("func.func public @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n  return %x : tensor<?xf32>\n}", "dynamic.mlir")
    with pytest.raises(DiagnosticError, match="argument 0 of @main has type"):
        lower(module)


def test_a_product_with_a_constant_of_equal_elements() -> None:
    """The interpreter holds such a constant as one number."""
    module = lowered(
        function(
            "%x: tensor<3x2xf32>",
            "tensor<2xf32>",
            """%h = stablehlo.constant dense<0.5> : tensor<3xf32>
            %y = stablehlo.dot_general %h, %x, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3x2xf32>) -> tensor<2xf32>
            return %y : tensor<2xf32>""",
        )
    )
    assert [op for op in module.walk() if isinstance(op, MatmulOp)]
    np.testing.assert_array_equal(run(module, [np.arange(6, dtype=np.float32).reshape(3, 2)])[0], [3.0, 4.5])
