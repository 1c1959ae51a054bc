"""The verifier: dominance, symbols, functions, terminators, structure; all errors at once, with places and hints."""

from __future__ import annotations

import pytest
from reference_programs import needs_corpus, share, texts
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from wengert.dialects import stablehlo
from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.location.locations import Role, derived
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import f64, tensor
from wengert.ir.verification.verifier import MAX_ERRORS, verify


def errors(text: str) -> list[Diagnostic]:
    """What the verifier finds in a text."""
    module = parse_module(text, "t.mlir")
    try:
        verify(module, text, "t.mlir")
    except DiagnosticError as error:
        return list(error.diagnostics)
    return []


def only(text: str) -> Diagnostic:
    """The one thing that the verifier finds."""
    diagnostics = errors(text)
    assert len(diagnostics) == 1, "\n".join(map(str, diagnostics))
    return diagnostics[0]


# -- dominance


def test_use_before_definition_in_a_block() -> None:
    diagnostic = only("""func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %a = stablehlo.sine %b : tensor<f64>
  %b = stablehlo.cosine %x : tensor<f64>
  return %a : tensor<f64>
}""")
    assert diagnostic.message == "stablehlo.sine: operand #0 is '%b', which is defined later"
    assert diagnostic.place == "t.mlir:2:3"
    assert [(note.place, note.message) for note in diagnostic.notes] == [("t.mlir:3:3", "defined here")]


def test_use_before_definition_from_a_region() -> None:
    diagnostic = only("""func.func @f(%p: tensor<i1>, %x: tensor<f64>) -> tensor<f64> {
  %r = "stablehlo.if"(%p) ({
    "stablehlo.return"(%b) : (tensor<f64>) -> ()
  }, {
    "stablehlo.return"(%x) : (tensor<f64>) -> ()
  }) : (tensor<i1>) -> tensor<f64>
  %b = stablehlo.cosine %x : tensor<f64>
  return %r : tensor<f64>
}""")
    assert diagnostic.message == "stablehlo.return: operand #0 is '%b', which is defined later"


def graft(use_in: str, define_in: str) -> list[Diagnostic]:
    """A module where the op named 'use' uses the value of the op named 'define', which the text cannot say."""
    text = f"""func.func @f(%p: tensor<i1>, %x: tensor<f64>) -> tensor<f64> {{
  %r = "stablehlo.if"(%p) ({{
    {"%u = stablehlo.sine %x : tensor<f64>" if use_in == "true" else ""}
    {"%d = stablehlo.cosine %x : tensor<f64>" if define_in == "true" else ""}
    "stablehlo.return"(%x) : (tensor<f64>) -> ()
  }}, {{
    {"%u = stablehlo.sine %x : tensor<f64>" if use_in == "false" else ""}
    "stablehlo.return"(%x) : (tensor<f64>) -> ()
  }}) : (tensor<i1>) -> tensor<f64>
  {"%u = stablehlo.sine %x : tensor<f64>" if use_in == "body" else ""}
  return %r : tensor<f64>
}}
func.func private @g(%y: tensor<f64>) -> tensor<f64> {{
  {"%d = stablehlo.cosine %y : tensor<f64>" if define_in == "g" else ""}
  return %y : tensor<f64>
}}"""
    module = parse_module(text, "t.mlir")
    user = next(op for op in module.walk() if isinstance(op, stablehlo.SineOp))
    definer = next(op for op in module.walk() if isinstance(op, stablehlo.CosineOp if define_in != "if" else stablehlo.IfOp))
    user.operands = [definer.results[0]]
    try:
        verify(module, text)
    except DiagnosticError as error:
        return list(error.diagnostics)
    return []


@pytest.mark.parametrize(
    ("use_in", "define_in", "why"),
    [
        ("false", "true", "which is defined in a region that does not enclose this op"),
        ("body", "true", "which is defined in a region that does not enclose this op"),
        ("true", "true", "which is defined later"),
        ("true", "if", "which is a result of the op around it"),
        ("body", "g", "which belongs to the function @g; functions do not see each other's values"),
        ("true", "g", "which belongs to the function @g; functions do not see each other's values"),
    ],
)
def test_values_that_are_not_visible(use_in: str, define_in: str, why: str) -> None:
    (diagnostic,) = graft(use_in, define_in)
    assert diagnostic.message.startswith("stablehlo.sine: operand #0 is ")
    assert diagnostic.message.endswith(why)


def test_own_result() -> None:
    block = Block(arg_types=[tensor((), f64)])
    sine = stablehlo.SineOp.create(operands=[block.args[0]], result_types=[tensor((), f64)])
    sine.operands = [sine.results[0]]
    block.add_ops([sine, ReturnOp(sine.results[0])])
    module = ModuleOp([FuncOp("f", ([tensor((), f64)], [tensor((), f64)]), Region(block))])
    with pytest.raises(DiagnosticError, match="which is its own result"):
        verify(module)


def test_value_of_an_op_that_was_removed() -> None:
    block = Block(arg_types=[tensor((), f64)])
    sine = stablehlo.SineOp.create(operands=[block.args[0]], result_types=[tensor((), f64)])
    block.add_op(ReturnOp(sine.results[0]))
    module = ModuleOp([FuncOp("f", ([tensor((), f64)], [tensor((), f64)]), Region(block))])
    with pytest.raises(DiagnosticError, match="which is defined outside of the module"):
        verify(module)


def test_captures_are_allowed() -> None:
    assert not errors("""func.func @f(%p: tensor<i1>, %x: tensor<f64>) -> tensor<f64> {
  %c = stablehlo.cosine %x : tensor<f64>
  %r = "stablehlo.if"(%p) ({
    %q = "stablehlo.if"(%p) ({
      "stablehlo.return"(%c) : (tensor<f64>) -> ()
    }, {
      "stablehlo.return"(%x) : (tensor<f64>) -> ()
    }) : (tensor<i1>) -> tensor<f64>
    "stablehlo.return"(%q) : (tensor<f64>) -> ()
  }, {
    "stablehlo.return"(%c) : (tensor<f64>) -> ()
  }) : (tensor<i1>) -> tensor<f64>
  return %r : tensor<f64>
}""")


CFG = """func.func @f(%p: i1, %x: tensor<f64>) -> tensor<f64> {{
  "cf.cond_br"(%p)[^a, ^b] <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : (i1) -> ()
^a:
  %a = stablehlo.sine %x : tensor<f64>
  "cf.br"()[^c] : () -> ()
^b:
  %b = stablehlo.cosine %x : tensor<f64>
  "cf.br"()[^c] : () -> ()
^c:
  func.return {} : tensor<f64>
}}"""


def test_blocks_see_what_dominates_them() -> None:
    assert not errors(CFG.format("%x"))
    diagnostic = only(CFG.format("%a"))
    assert diagnostic.message == "func.return: operand #0 is '%a', which is defined in a block that does not dominate this one"


# -- symbols and functions


def test_call_of_an_unknown_function() -> None:
    diagnostic = only(
        "func.func @main(%x: tensor<f64>) { func.call @norn(%x) : (tensor<f64>) -> () return }\nfunc.func private @norm(%x: tensor<f64>) { return }"
    )
    assert diagnostic.message == "func.call: there is no symbol @norn in this module"
    assert diagnostic.hint == "did you mean @norm?"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("func.call @g(%x, %x) : (tensor<f64>, tensor<f64>) -> tensor<f64>", "@g has 1 arguments (tensor<f64>), found 2: (tensor<f64>, tensor<f64>)"),
        ("func.call @g(%y) : (tensor<2xf64>) -> tensor<f64>", "argument #0 of @g has the type tensor<f64>, found tensor<2xf64>"),
        ("func.call @g(%x) : (tensor<f64>) -> tensor<2xf64>", "result #0 of @g has the type tensor<f64>, found tensor<2xf64>"),
        ("func.call @g(%x) : (tensor<f64>) -> ()", "@g has 1 results (tensor<f64>), found 0: ()"),
    ],
)
def test_call_with_other_types(call: str, message: str) -> None:
    left = "" if call.endswith("()") else "%r = "
    diagnostic = only(
        f"func.func @f(%x: tensor<f64>, %y: tensor<2xf64>) {{ {left}{call} return }}\n"
        "func.func private @g(%x: tensor<f64>) -> tensor<f64> { return %x : tensor<f64> }"
    )
    assert diagnostic.message == f"func.call: {message}"


def test_functions_must_not_call_themselves() -> None:
    diagnostic = only("""func.func @f(%x: tensor<f64>) { func.call @g(%x) : (tensor<f64>) -> () return }
func.func private @g(%x: tensor<f64>) { func.call @h(%x) : (tensor<f64>) -> () return }
func.func private @h(%x: tensor<f64>) { func.call @g(%x) : (tensor<f64>) -> () return }""")
    assert diagnostic.message == "func.call: functions must not call themselves, but @g -> @h -> @g"
    assert diagnostic.line == 3
    assert "stablehlo.while" in diagnostic.hint


def test_a_function_may_be_called_twice() -> None:
    assert not errors("""func.func @f(%x: tensor<f64>) { func.call @g(%x) : (tensor<f64>) -> () func.call @h(%x) : (tensor<f64>) -> () return }
func.func private @g(%x: tensor<f64>) { func.call @h(%x) : (tensor<f64>) -> () return }
func.func private @h(%x: tensor<f64>) { return }""")


def test_duplicate_functions() -> None:
    diagnostic = only("func.func @f() { return }\nfunc.func @f() { return }")
    assert diagnostic.message == "func.func: the symbol @f is defined twice"
    assert diagnostic.line == 2
    assert diagnostic.notes[0].line == 1


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("return %x : tensor<2xf64>", "func.return: value #0 must have the type tensor<3xf64> of result #0 of @f, found tensor<2xf64>"),
        ("return", "func.return: @f returns 1 values (tensor<3xf64>), found 0: ()"),
        ("stablehlo.return %x : tensor<2xf64>", "stablehlo.return: value #0 must have the type tensor<3xf64> of result #0 of @f, found tensor<2xf64>"),
    ],
)
def test_returns_fit_the_signature(returned: str, message: str) -> None:
    assert only(f"func.func @f(%x: tensor<2xf64>) -> tensor<3xf64> {{ {returned} }}").message == message


def test_body_arguments_fit_the_signature() -> None:
    diagnostic = only(
        '"func.func"() <{function_type = (tensor<f64>) -> (), sym_name = "f"}> ({\n^bb0(%x: tensor<f32>):\n"func.return"() : () -> ()\n}) : () -> ()'
    )
    assert diagnostic.message == "func.func: the body takes arguments of the types (tensor<f32>), but the function's type says (tensor<f64>)"


def test_return_inside_an_op() -> None:
    diagnostics = errors(
        'func.func @f(%p: tensor<i1>) { "stablehlo.if"(%p) ({ func.return }, { "stablehlo.return"() : () -> () }) : (tensor<i1>) -> () return }'
    )
    assert any("must be directly inside a func.func" in d.message and "stablehlo.return" in d.hint for d in diagnostics)


# -- terminators and structure


def test_missing_terminator() -> None:
    diagnostic = only("func.func @f(%x: tensor<f64>) { %y = stablehlo.sine %x : tensor<f64> }")
    assert diagnostic.message == "stablehlo.sine: the last operation of a block of func.func must be a terminator"
    assert diagnostic.hint == "a function ends in func.return"


def test_empty_body() -> None:
    block = Block()
    with pytest.raises(DiagnosticError, match="empty; it must end in a terminator"):
        verify(ModuleOp([FuncOp("f", ([], []), Region(block))]))


def test_terminator_in_the_middle() -> None:
    diagnostic = only('func.func @f(%x: tensor<f64>) { "func.return"() : () -> ()\n %y = stablehlo.sine %x : tensor<f64>\n return }')
    assert diagnostic.message == "func.return: a terminator must be the last operation of its block"
    assert diagnostic.notes[0].line == 2


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ('%r = "stablehlo.sine"(%x, %x) : (tensor<f64>, tensor<f64>) -> tensor<f64>', "expected 1 operand (operand), found 2"),
        ('%r:2 = "stablehlo.sine"(%x) : (tensor<f64>) -> (tensor<f64>, tensor<f64>)', "expected 1 result (result), found 2"),
        ('%r = "stablehlo.sine"(%x) ({}) : (tensor<f64>) -> tensor<f64>', "expected 0 regions, found 1"),
        ('%r = "stablehlo.transpose"(%x) : (tensor<f64>) -> tensor<f64>', "missing attribute 'permutation'"),
        ('%r = "stablehlo.transpose"(%x) <{permutation = 1 : i64}> : (tensor<f64>) -> tensor<f64>', "attribute 'permutation'"),
    ],
)
def test_structure(op: str, message: str) -> None:
    assert message in only(f"func.func @f(%x: tensor<f64>) {{\n{op}\nreturn\n}}").message


def test_unknown_property() -> None:
    module = parse_module("func.func @f(%x: tensor<f64>) {\n%y = stablehlo.transpose %x, dims = [] : (tensor<f64>) -> tensor<f64>\nreturn\n}")
    op = next(op for op in module.walk() if isinstance(op, stablehlo.TransposeOp))
    op.properties["permutatoin"] = op.permutation
    with pytest.raises(DiagnosticError, match=r"unknown attribute 'permutatoin'; did you mean 'permutation'\?"):
        verify(module)


# -- reports


def test_all_errors_are_reported_up_to_a_limit() -> None:
    wrong = '"stablehlo.sine"(%x) : (tensor<f64>) -> tensor<f32>'
    text = "func.func @f(%x: tensor<f64>) {{\n{}\nreturn\n}}"
    assert len(errors(text.format("\n".join(f"%{i} = {wrong}" for i in range(7))))) == 7
    assert len(errors(text.format("\n".join(f"%{i} = {wrong}" for i in range(MAX_ERRORS + 9))))) == MAX_ERRORS


def test_report_shows_the_line() -> None:
    diagnostic = only("func.func @f(%x: tensor<2xf64>) {\n  %y = stablehlo.transpose %x, dims = [1] : (tensor<2xf64>) -> tensor<2xf64>\n  return\n}")
    lines = diagnostic.render().splitlines()
    assert lines[0] == "t.mlir:2:3: error: stablehlo.transpose: permutation must hold each of the dimensions 0 to 0 once, found [1]"
    assert lines[1].strip() == "%y = stablehlo.transpose %x, dims = [1] : (tensor<2xf64>) -> tensor<2xf64>"
    assert lines[2].strip() == "^" + "~" * (len("%y = stablehlo.transpose") - 1)


def test_report_names_what_an_op_was_derived_from() -> None:
    text = "func.func @f(%x: tensor<f64>) -> tensor<f64> {\n  %y = stablehlo.sine %x : tensor<f64>\n  return %y : tensor<f64>\n}"
    module = parse_module(text, "t.mlir")
    sine = next(op for op in module.walk() if isinstance(op, stablehlo.SineOp))
    wrong = stablehlo.CosineOp.create(operands=sine.operands, result_types=[tensor((2,), f64)], location=derived(sine, Role.COEFFICIENT, "vjp"))
    block = sine.parent_block()
    assert block is not None
    block.insert_op_before(wrong, sine)
    with pytest.raises(DiagnosticError) as caught:
        verify(module, text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.place == "t.mlir:2:3"
    assert "derived by vjp from stablehlo.sine (as its coefficient)" in diagnostic.notes[0].message


def test_ops_of_other_dialects_keep_their_own_checks() -> None:
    assert not errors("func.func @f(%x: f64) { %y = arith.addf %x, %x : f64 return }")
    assert errors('func.func @f(%x: f64, %z: f32) { %y = "arith.addf"(%x, %z) : (f64, f32) -> f64 return }')
    block = Block(arg_types=[tensor((), f64)])
    block.add_ops([test_dialect.TestOp(operands=[block.args[0]], result_types=[tensor((), f64)]), ReturnOp()])
    verify(ModuleOp([FuncOp("f", ([tensor((), f64)], []), Region(block))]))


def test_an_unknown_dialect_is_carried_along() -> None:
    assert not errors(
        'func.func @f(%x: tensor<f64>) { %y = "other.thing"(%x) ({ ^bb0(%a: tensor<f64>): "other.end"(%x) : (tensor<f64>) -> () }) '
        ": (tensor<f64>) -> tensor<f64> return }"
    )


def test_low_precision_and_dynamic_types_verify() -> None:
    for element_type in ("f8E4M3FN", "f8E5M2", "f4E2M1FN", "i4", "ui2", "bf16"):
        assert not errors(f"func.func @f(%x: tensor<?x2x{element_type}>) {{ %y = stablehlo.add %x, %x : tensor<?x2x{element_type}> return }}")


def test_deep_nesting_does_not_crash() -> None:
    block = Block([ReturnOp()])
    inner = stablehlo.ReturnOp.create()
    op = None
    for _ in range(2000):
        body = Block([inner] if op is None else [op, stablehlo.ReturnOp.create()])
        op = stablehlo.CaseOp.create(operands=[block.args[0]] if block.args else [], regions=[Region(body)])
    assert op is not None
    block.insert_op_before(op, block.first_op)
    with pytest.raises(DiagnosticError):
        verify(ModuleOp([FuncOp("f", ([], []), Region(block))]))


# -- real programs


@pytest.mark.corpus
@needs_corpus
def test_real_programs_verify() -> None:
    programs = texts("dev/*/f64.mlir", "dev/*/f32.generic.mlir", "survey/*/*.mlir")
    assert len(programs) > 200
    for path in [*share(programs, 2), *share(texts("dev/*/f64.jax_vjp.mlir"), 16)]:
        text = path.read_text()
        verify(parse_module(text, path.name), text)
