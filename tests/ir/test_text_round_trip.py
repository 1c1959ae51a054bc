"""Texts are read, printed and read again without losing anything: structure, constants, places."""

from __future__ import annotations

import pytest
from reference_programs import needs_corpus, share, texts
from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, ModuleOp, NameLoc
from xdsl.ir import Operation

from wengert.dialects.registry import make_context
from wengert.ir.location.places import describe
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module

CONTEXT = make_context()

PROGRAM = """module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf64> {mhlo.sharding = "{replicated}"}, %arg1: tensor<f64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<4> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = call @norm(%arg0) : (tensor<8xf64>) -> tensor<f64>
    %1:2 = stablehlo.while(%iterArg = %c_0, %iterArg_1 = %0) : tensor<i64>, tensor<f64>
     cond {
      %3 = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %3 = func.call @norm(%arg0) : (tensor<8xf64>) -> tensor<f64>
      %4 = stablehlo.multiply %iterArg_1, %3 : tensor<f64>
      %c_2 = stablehlo.constant dense<1> : tensor<i64>
      %5 = stablehlo.add %iterArg, %c_2 : tensor<i64>
      stablehlo.return %5, %4 : tensor<i64>, tensor<f64>
    }
    %2 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %3 = stablehlo.compare LT, %arg2, %arg3, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }) : (tensor<8xf64>) -> tensor<8xf64>
    return %1#1 : tensor<f64>
  }
  func.func private @norm(%arg0: tensor<8xf64>) -> tensor<f64> {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<8xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8xf64>, tensor<f64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
}
"""


def places(module: ModuleOp) -> list[LocationAttr]:
    """The locations of all ops and block arguments."""
    locations: list[LocationAttr] = []
    for op in module.walk():
        locations.append(op.location)
        locations += [argument.location for region in op.regions for block in region.blocks for argument in block.args]
    return locations


FORMS = [(generic, locations) for generic in (False, True) for locations in (False, True)]


def check(text: str, forms: list[tuple[bool, bool]] = FORMS) -> None:
    """Reads, prints in these forms (generic, with locations) and reads again."""
    module = parse_module(text, "f.mlir", CONTEXT)
    for generic, locations in forms:
        again = parse_module(print_module(module, generic=generic, locations=locations), "g.mlir", CONTEXT)
        assert again.is_structurally_equivalent(module)
        if locations:
            assert places(again) == places(module)


def test_what_jax_prints_is_printed_again() -> None:
    assert print_module(parse_module(PROGRAM)) == PROGRAM
    check(PROGRAM)


def test_the_generic_form_prints_as_the_pretty_form() -> None:
    assert print_module(parse_module(print_module(parse_module(PROGRAM), generic=True))) == PROGRAM


def test_every_op_has_the_place_where_it_is_written() -> None:
    module = parse_module(PROGRAM, "f.mlir")
    lines = PROGRAM.split("\n")
    for op in module.walk():
        assert isinstance(op.location, FileLineColLoc)
        line, column = op.location.line.data, op.location.column.data
        start = lines[line - 1][column - 1 :]
        assert start.startswith(("module", "func.func", "%", "stablehlo.return", "return")), (op.name, start)
        assert lines[line - 1][: column - 1].strip() == ""
    names = [describe(a.location) for a in next(op for op in module.walk() if op.name == "func.func").regions[0].block.args]
    assert names == [f"f.mlir:2:{lines[1].index(name) + 1}" for name in ("%arg0", "%arg1")]


def by_name(module: ModuleOp, name: str) -> Operation:
    return next(op for op in module.walk() if op.name == name)


@pytest.mark.parametrize(
    ("location", "kind", "shown"),
    [
        ("loc(unknown)", LocationAttr, "<unknown>"),
        ('loc("a.py":3:4)', FileLineColLoc, "a.py:3:4"),
        ('loc("a.py":3:4 to :9)', FileLineColLoc, "a.py:3:4"),
        ('loc("a.py":3:4 to 5:9)', FileLineColLoc, "a.py:3:4"),
        ('loc("name")', NameLoc, "<unknown>"),
        ('loc("name"("a.py":3:4))', NameLoc, "a.py:3:4"),
        ('loc(fused["a.py":3:4, "b.py":5:6])', FusedLoc, "a.py:3:4"),
        ('loc(fused<"why">["a.py":3:4])', FusedLoc, "a.py:3:4"),
        ('loc(callsite("a.py":3:4 at "b.py":5:6))', CallSiteLoc, None),
        ("loc(#later)", NameLoc, "z.py:7:8"),
        ("loc(#earlier)", FileLineColLoc, "y.py:1:2"),
        ('loc(callsite(#later at fused[#earlier, "x"]))', CallSiteLoc, None),
    ],
)
def test_written_locations(location: str, kind: type[LocationAttr], shown: str | None) -> None:
    text = f"""#earlier = loc("y.py":1:2)
func.func @f(%a: tensor<f64> {location}) {{
  %0 = stablehlo.sine %a : tensor<f64> {location}
  return
}}
#later = loc("outer"(#last))
#last = loc("z.py":7:8)
"""
    location_read = by_name(parse_module(text, "f.mlir"), "stablehlo.sine").location
    assert isinstance(location_read, kind)
    if shown is not None:
        assert describe(location_read) == shown
    check(text)


def test_names_that_the_author_gave_are_kept() -> None:
    text = """module {
  func.func @f(%weights: tensor<2xf64>, %x_1: tensor<2xf64>) -> tensor<2xf64> {
    %hidden = stablehlo.multiply %weights, %x_1 : tensor<2xf64>
    %pair:2 = stablehlo.optimization_barrier %hidden, %x_1 : tensor<2xf64>, tensor<2xf64>
    return %pair#1 : tensor<2xf64>
  }
}
"""
    assert print_module(parse_module(text)) == text


def test_equal_names_are_told_apart() -> None:
    module = parse_module("func.func @f(%x: tensor<f64>) {\n  %y = stablehlo.sine %x : tensor<f64>\n  return\n}")
    by_name(module, "stablehlo.sine").results[0].name_hint = "x"
    assert "%x_0 = stablehlo.sine %x :" in print_module(module)


def test_comments_spacing_and_a_module_that_is_not_written() -> None:
    text = "// first\nfunc.func @f (%a : tensor<f64>)->tensor<f64>{//x\n%0=stablehlo.sine%a:tensor<f64>// y\n\n  func.return\n%0:tensor<f64>}"
    module = parse_module(text)
    assert (
        print_module(module)
        == "module {\n  func.func @f(%a: tensor<f64>) -> tensor<f64> {\n    %0 = stablehlo.sine %a : tensor<f64>\n    return %0 : tensor<f64>\n  }\n}\n"
    )


def test_an_op_that_its_syntax_cannot_express_is_printed_in_the_generic_form() -> None:
    module = parse_module('func.func @f(%a: tensor<f64>) {\n  "stablehlo.transpose"(%a) : (tensor<f64>) -> ()\n  return\n}')
    assert '"stablehlo.transpose"(%a) : (tensor<f64>) -> ()' in print_module(module)


def test_values_used_before_their_definition_are_the_same_values() -> None:
    module = parse_module("func.func @f(%a: tensor<f64>) {\n  %0 = stablehlo.sine %1 : tensor<f64>\n  %1 = stablehlo.sine %a : tensor<f64>\n  return\n}")
    first, second = (op for op in module.walk() if op.name == "stablehlo.sine")
    assert first.operands[0] is second.results[0]


@needs_corpus
@pytest.mark.parametrize(
    "pattern", ["dev/*/f64.mlir", "dev/*/f64.generic.mlir", "dev/*/f32.mlir", "dev/*/f32.generic.mlir", "survey/*/pretty.mlir", "survey/*/generic.mlir"]
)
def test_reference_programs(pattern: str) -> None:
    for number, path in enumerate(share(texts(pattern), 3)):
        check(path.read_text(), [FORMS[number % 4]])


@needs_corpus
def test_derivatives_that_jax_printed() -> None:
    for number, path in enumerate(share(texts("dev/*/*.jax_*.mlir"), 32)):  # they are large
        check(path.read_text(), [FORMS[number % 4]])


@needs_corpus
@pytest.mark.parametrize("pattern", ["dev/*/f64.mlir", "survey/*/pretty.mlir"])
def test_jax_reads_what_is_printed_of_the_reference_programs(pattern: str) -> None:
    """JAX's reading of what we print equals its reading of the original; both are compared in its own generic form."""
    pytest.importorskip("jax")
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    def meaning(text: str) -> str:
        return ir.Module.parse(text).operation.get_asm(print_generic_op_form=True)

    with mlir.make_ir_context():
        for number, path in enumerate(share(texts(pattern), 3)):
            text = path.read_text()
            want = meaning(text)
            module = parse_module(text, path.name, CONTEXT)
            assert meaning(print_module(module)) == want, path
            if number % 4 == 0:
                assert meaning(print_module(module, generic=True)) == want, path
                assert meaning(print_module(module, locations=True)) == want, path
