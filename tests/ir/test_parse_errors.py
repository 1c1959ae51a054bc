"""Every kind of mistake in a text: where it is reported, what is said, and what is suggested."""

from __future__ import annotations

import json

import pytest

from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean
from wengert.ir.parsing.parser import parse_module

HEAD = "func.func @f(%a: tensor<2xf32>, %b: tensor<f64>) {\n  "


def error(text: str | bytes) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text, "t.mlir")
    return caught.value.diagnostic


IN_FUNCTION = {
    "undefined value": ("%0 = stablehlo.add %a, %aa : tensor<2xf32>\n}", "2:26", "use of undefined value '%aa'", "did you mean '%a'?"),
    "undefined value in a foreign op": ("%0 = arith.addf %a, %aa : tensor<2xf32>\n}", "2:23", "use of undefined value '%aa'", "did you mean '%a'?"),
    "undefined result of many": ("%0 = stablehlo.abs %a#1 : tensor<2xf32>", "2:22", "'%a#1' does not exist: '%a' has 1 value", ""),
    "defined twice": ("%a = stablehlo.abs %a : tensor<2xf32>", "2:3", "'%a' is defined twice", ""),
    "type of a use": ("%0 = stablehlo.add %a, %b : tensor<2xf32>", "2:26", "'%b' is used here as tensor<2xf32>, but its type is tensor<f64>", ""),
    "number of types": ("%0 = stablehlo.add %a, %a : (tensor<2xf32>) -> tensor<2xf32>", "2:31", "2 operands but 1 operand type", ""),
    "number of results": ("%0:2 = stablehlo.abs %a : tensor<2xf32>", "2:3", "'stablehlo.abs' has 1 result, but 2 are named", ""),
    "list of results": ("%0, %1 = stablehlo.abs %a : tensor<2xf32>", "2:3", "'stablehlo.abs' has 1 result, but 2 are named", ""),
    "results without =": ("%0 stablehlo.abs %a : tensor<2xf32>", "2:6", "expected '=' after the names of the results, found 'stablehlo.abs'", ""),
    "unknown op": ("%0 = stablehlo.ad %a, %a : tensor<2xf32>", "2:8", "unknown operation 'stablehlo.ad'", "did you mean 'stablehlo.add'?"),
    "unknown generic op": (
        '%0 = "stablehlo.sinus"(%a) : (tensor<2xf32>) -> tensor<2xf32>',
        "2:8",
        "unknown operation 'stablehlo.sinus'",
        "did you mean 'stablehlo.sine'?",
    ),
    "unknown chlo op": ("%0 = chlo.erfcc %a : tensor<2xf32> -> tensor<2xf32>", "2:8", "unknown operation 'chlo.erfcc'", "did you mean 'chlo.erfc'?"),
    "unknown core op": (
        "%0 = core.reduc add %a across [0] : (tensor<2xf32>) -> tensor<f32>",
        "2:8",
        "unknown operation 'core.reduc'",
        "did you mean 'core.reduce'?",
    ),
    "misspelt dialect": ("%0 = stabelhlo.sine %a : tensor<2xf32>", "2:8", "unknown operation 'stabelhlo.sine'", "did you mean 'stablehlo.sine'?"),
    "op without a dialect": ("%0 = cal @f(%a) : (tensor<2xf32>) -> ()", "2:8", "unknown operation 'cal'", "did you mean 'call'?"),
    "pretty form of an unknown dialect": ("%0 = foo.bar %a : tensor<2xf32>", "2:8", "unknown operation 'foo.bar'", "read in the generic form"),
    "keyword": ("%0 = stablehlo.broadcast_in_dim %a, dim = [0] : (tensor<2xf32>) -> tensor<3x2xf32>", "2:39", "unknown keyword 'dim'", "did you mean 'dims'?"),
    "missing keyword": ("%0 = stablehlo.transpose %a : (tensor<2xf32>) -> tensor<2xf32>", "2:31", "'stablehlo.transpose' needs 'dims = ...'", ""),
    "keyword given twice": ("%0 = stablehlo.reverse %a, dims = [0], dims = [0] : tensor<2xf32>", "2:42", "'dims' is given twice", ""),
    "enumeration": (
        "%0 = stablehlo.compare LTE, %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>",
        "2:26",
        "unknown comparison direction 'LTE'",
        "did you mean 'LT'?",
    ),
    "visibility": ("}\nfunc.func publc @g() {", "3:11", "unknown visibility 'publc'", "did you mean 'public'?"),
    "attribute key": (
        '%0 = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dim = [1]>}> : (tensor<2xf32>, tensor<f64>) -> tensor<f32>',
        "2:75",
        "unknown key 'offset_dim' in #stablehlo.gather; did you mean 'offset_dims'?",
        "",
    ),
    "property name": (
        '%0 = "stablehlo.transpose"(%a) <{permutations = array<i64: 0>}> : (tensor<2xf32>) -> tensor<2xf32>',
        "2:36",
        "'stablehlo.transpose' has no property 'permutations'",
        "did you mean 'permutation'?",
    ),
    "attribute given twice": ("%0 = stablehlo.abs %a {x = 1, x = 2} : tensor<2xf32>", "2:33", "attribute 'x' is given twice", ""),
    "missing attribute": ("%0 = stablehlo.abs %a {x = } : tensor<2xf32>", "2:30", "expected an attribute, found '}'", ""),
    "missing comma": ("%0 = stablehlo.add %a %a : tensor<2xf32>", "2:25", "expected ':', found '%a'", ""),
    "unexpected token": ("%0 = stablehlo.add %a, %a ; tensor<2xf32>", "2:29", "expected ':', found ';'", ""),
    "element type": ("%0 = stablehlo.abs %a : tensor<2xf33>", "2:36", "unknown element type 'f33'", "did you mean 'f32'?"),
    "type": ("%0 = stablehlo.abs %a : tensr<2xf32>", "2:27", "expected a type, found 'tensr'", "did you mean 'tensor'?"),
    "integer": ("%0 = stablehlo.iota dim = x : tensor<2xi32>", "2:29", "expected an integer, found 'x'", ""),
    "integers": ("%0 = stablehlo.transpose %a, dims = [0, y] : (tensor<2xf32>) -> tensor<2xf32>", "2:43", "expected an integer, found 'y'", ""),
    "endless integer": (f"%0 = stablehlo.iota dim = {'9' * 5000} : tensor<2xi32>", "2:29", "99999999999999999999... does not fit i64", ""),
    "range": ("%0 = stablehlo.slice %a [0:] : (tensor<2xf32>) -> tensor<2xf32>", "2:28", "'0:' is not a range such as '0:4' or '0:8:2'", ""),
    "format": ("%0 = stablehlo.reduce_precision %a, format = 8 : tensor<2xf32>", "2:48", "expected a format such as 'e8m7', found '8'", ""),
    "complex type": ("%0 = stablehlo.complex %a, %a : tensor<2xf32>", "2:35", "expected a tensor of complex numbers, found tensor<2xf32>", ""),
    "carried values": ("%0 = stablehlo.while(%x = %a, %y = %b) : tensor<2xf32>\n cond {} do {}", "2:44", "2 values are carried, but 1 types are given", ""),
    "location alias": ("%0 = stablehlo.abs %a : tensor<2xf32> loc(#loc9)", "2:45", "undefined location alias '#loc9'", ""),
    "location": ("%0 = stablehlo.abs %a : tensor<2xf32> loc(unknwn)", "2:45", "unknown location 'unknwn'", "did you mean 'unknown'?"),
    "shape of a literal": ("%0 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<2xf32>", "2:33", "the literal has shape [3], its type has shape [2]", ""),
    "ragged literal": (
        "%0 = stablehlo.constant dense<[[1, 2], [3]]> : tensor<2x2xi32>",
        "2:33",
        "the literal's lists do not fit the shape [2, 2] of its type",
        "",
    ),
    "empty literal": ("%0 = stablehlo.constant dense<> : tensor<2xf32>", "2:32", "an empty literal for 2 elements", ""),
    "missing element": ("%0 = stablehlo.constant dense<[1, ]> : tensor<2xi32>", "2:33", "an element is missing", ""),
    "integer out of range": ("%0 = stablehlo.constant dense<[1, 300]> : tensor<2xi8>", "2:37", "300 does not fit i8", ""),
    "negative unsigned": ("%0 = stablehlo.constant dense<-1> : tensor<ui8>", "2:33", "-1 does not fit ui8", ""),
    "word as a number": ("%0 = stablehlo.constant dense<[1.0, foo]> : tensor<2xf32>", "2:39", "'foo' is not an element of type f32", ""),
    "word nan": ("%0 = stablehlo.constant dense<nan> : tensor<f32>", "2:33", "'nan' is not an element of type f32", ""),
    "underscore in a number": ("%0 = stablehlo.constant dense<1_0> : tensor<i32>", "2:33", "'1_0' is not an element of type i32", ""),
    "fraction as an integer": ("%0 = stablehlo.constant dense<[1.5, 2.0]> : tensor<2xi32>", "2:34", "'1.5' is not an element of type i32", ""),
    "truth as an integer": ("%0 = stablehlo.constant dense<true> : tensor<i8>", "2:33", "'true' is not an element of type i8", ""),
    "truth as a number": ("%0 = stablehlo.constant dense<true> : tensor<f32>", "2:33", "'true' is not an element of type f32", ""),
    "bit pattern": ("%0 = stablehlo.constant dense<0x1FFFFFFFF> : tensor<f32>", "2:33", "the bit pattern 0x1FFFFFFFF has more bits than f32", ""),
    "bytes": ('%0 = stablehlo.constant dense<"0x00"> : tensor<f32>', "2:33", "the hexadecimal string holds 1 bytes; 1 elements of f32 need 4", ""),
    "complex as a number": ("%0 = stablehlo.constant dense<1.0> : tensor<complex<f32>>", "2:33", "complex elements are written (real, imaginary)", ""),
    "dynamic constant": ("%0 = stablehlo.constant dense<1.0> : tensor<?xf32>", "2:40", "a dense constant needs a static shape, found tensor<?xf32>", ""),
    "type of a constant": ("%0 = stablehlo.constant dense<1.0> : f32", "2:40", "a dense constant needs a tensor or vector type, found f32", ""),
    "not a constant": ("%0 = stablehlo.constant @f", "2:27", "expected a constant such as 'dense<0.0> : tensor<f32>'", ""),
    "unclosed literal": ("%0 = stablehlo.constant dense<[1.0, 2", "2:32", "unclosed 'dense<'", "the text may be truncated"),
    "unclosed region": ("%0 = stablehlo.abs %a : tensor<2xf32>", "1:50", "this '{' is never closed", "the text may be truncated"),
    "too many braces": ("return\n}\n}", "4:1", "expected an operation, found '}'", ""),
    "NUL": ("\0", "2:3", "expected an operation, found the character '\\x00'", ""),
    "undefined block": ('"cf.br"() [^bb7] : () -> ()\n}', "2:14", "block '^bb7' is not defined in this region", ""),
    "block defined twice": ('"cf.br"() [^x] : () -> ()\n^x:\n  return\n^x:\n  return\n}', "5:1", "block '^x' is defined twice", ""),
    "argument without a name": ("}\nfunc.func @g(tensor<f32>) { return }", "3:13", "the arguments of a function with a body need names", ""),
    "reducer": (
        "%0 = stablehlo.reduce(%a init: %b) across dimensions = [0] : (tensor<2xf32>, tensor<f64>) -> tensor<f32> reducer(%x: tensor<f32>) {}",
        "2:115",
        "a reducer takes pairs of arguments: (%a: T, %b: T)",
        "",
    ),
}


@pytest.mark.parametrize("case", IN_FUNCTION)
def test_mistakes_in_a_function(case: str) -> None:
    body, place, message, hint = IN_FUNCTION[case]
    diagnostic = error(HEAD + body)
    assert (f"{diagnostic.line}:{diagnostic.column}", diagnostic.message[: len(message)]) == (place, message)
    assert hint in diagnostic.hint
    assert diagnostic.source_line == (HEAD + body).split("\n")[diagnostic.line - 1]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "t.mlir:1:1", "the text holds no operation"),
        ("  \n// nothing here\n", "t.mlir:1:1", "the text holds no operation"),
        (b"module {\n \xff}", "t.mlir:2:2", "the text is not UTF-8: byte 0xff at offset 10"),
        ("\ufefffunc.func @main() { return }", "t.mlir:1:1", "expected an operation, found a byte order mark, which MLIR does not read"),
        ("\x7fELF\x01\x02", "t.mlir:1:1", "expected an operation, found the character '\\x7f'"),
        ("module {", "t.mlir:1:8", "this '{' is never closed"),
        ("module", "t.mlir:1:6", "expected '{', but the text ends here"),
        ("module {} }", "t.mlir:1:11", "expected an operation, found '}'"),
        ('"a.b"() ({\n' * 100, "t.mlir:65:10", "regions nest deeper than 64 levels"),
        (f"module attributes {{a = {'[' * 3000}", "t.mlir:1:24", "the text nests too deeply"),
        (f"func.func @f(%a: {'tuple<' * 3000}", "t.mlir:1:18", "the text nests too deeply"),
        ("#a = 1 : i32\n#a = 2 : i32\nmodule {}", "t.mlir:2:1", "alias '#a' is defined twice"),
    ],
)
def test_mistakes_in_a_text(text: str | bytes, place: str, message: str) -> None:
    diagnostic = error(text)
    assert (diagnostic.place, diagnostic.message) == (place, message)


def test_names_of_one_function_are_not_known_in_another() -> None:
    diagnostic = error(
        "func.func @f() {\n  %x = stablehlo.constant dense<1.0> : tensor<f32>\n  return\n}\nfunc.func @g() -> tensor<f32> {\n  return %x : tensor<f32>\n}"
    )
    assert (diagnostic.place, diagnostic.message) == ("t.mlir:6:10", "use of undefined value '%x'")


def test_names_of_a_region_are_not_known_after_it() -> None:
    text = HEAD + "core.for %k to %n {\n  %x = stablehlo.abs %a : tensor<2xf32>\n  stablehlo.return\n}\n return %x : tensor<2xf32>\n}"
    diagnostic = error(text.replace("%b: tensor<f64>", "%n: tensor<i64>"))
    assert (diagnostic.place, diagnostic.message) == ("t.mlir:6:9", "use of undefined value '%x'")


def test_notes_point_at_the_definition() -> None:
    diagnostic = error(HEAD + "%0 = stablehlo.abs %a : tensor<2xf32>\n  %0 = stablehlo.abs %a : tensor<2xf32>\n}")
    assert [(note.place, note.message) for note in diagnostic.notes] == [("t.mlir:2:3", "first defined here")]


def test_rendering() -> None:
    diagnostic = error(HEAD + "%0 = stablehlo.add %a, %aa : tensor<2xf32>\n}")
    assert diagnostic.render() == (
        "t.mlir:2:26: error: use of undefined value '%aa'\n    %0 = stablehlo.add %a, %aa : tensor<2xf32>\n                           ^~~\nhint: did you mean '%a'?"
    )
    assert "\x1b[" in diagnostic.render(color=True)


def test_rendering_of_endless_lines_is_short() -> None:
    diagnostic = error(HEAD + f"%0 = stablehlo.constant dense<[{'1, ' * 100000} x]> : tensor<100001xi32>")
    assert len(diagnostic.render()) < 600
    caret = diagnostic.render().split("\n")[2].index("^")
    assert diagnostic.render().split("\n")[1][caret] == "x"


def test_json() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_module(HEAD + "%0 = stablehlo.add %a, %b : tensor<2xf32>\n}", "t.mlir")
    diagnostic = json.loads(json.dumps(caught.value.to_json()))[0]
    assert (diagnostic["file"], diagnostic["line"], diagnostic["column"], diagnostic["severity"]) == ("t.mlir", 2, 26, "error")
    assert diagnostic["notes"][0]["message"] == "'%b' is defined here"


@pytest.mark.parametrize(
    ("word", "known", "hint"), [("adn", ["and", "or"], "did you mean 'and'?"), ("zzz", ["and", "or"], ""), ("ad", ["pad", "add", "and"], "did you mean 'add'?")]
)
def test_did_you_mean(word: str, known: list[str], hint: str) -> None:
    assert did_you_mean(word, known) == hint
