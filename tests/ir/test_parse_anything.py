"""No text whatever makes the parser fail in another way than with a diagnostic, and what it accepts it can print."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_programs import needs_corpus, share, texts

from wengert.dialects.registry import make_context
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module

CONTEXT = make_context()
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^]?[\w$.]+|->|\s+|.', re.DOTALL)

PROGRAMS = [
    """#loc1 = loc("f.py":1:2)
module @m attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x4xf64> {jax.arg_info = "x"} loc("x"), %arg1: tensor<f64>) -> (tensor<4xf64> {jax.result_info = "r"}) {
    %cst = stablehlo.constant dense<[[1.0, 0x7FF0000000000000], [2.5e-3, -4.0]]> : tensor<2x2xf64>
    %c = stablehlo.constant {note = [1, "a", @f::@g, #stablehlo<precision DEFAULT>]} dense<true> : tensor<i1>
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf64>, tensor<f64>) -> tensor<4xf64>
    %1 = stablehlo.dot_general %arg0, %arg0, batching_dims = [] x [], contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
    %2:2 = stablehlo.while(%a = %0, %b = %arg1) : tensor<4xf64>, tensor<f64> attributes {x}
     cond {
      stablehlo.return %c : tensor<i1>
    } do {
      %5 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f64>) -> tensor<4xf64>
      stablehlo.return %5, %b : tensor<4xf64>, tensor<f64>
    }
    %3 = "stablehlo.case"(%c) ({
      stablehlo.return %2#0 : tensor<4xf64>
    }) {n = dense<"0x00000000"> : tensor<1xi32>} : (tensor<i1>) -> tensor<4xf64> loc(callsite(#loc1 at fused<"m">["a":1:2, unknown]))
    %4 = stablehlo.slice %1 [0:2, 0:4:2] : (tensor<4x4xf64>) -> tensor<2x2xf64>
    %6 = stablehlo.compare LT, %4, %4, FLOAT : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xi1>
    stablehlo.custom_call @sink(%6) {backend_config = {k = 1.5 : f32}} : (tensor<2x2xi1>) -> ()
    return %3 : tensor<4xf64>
  }
}
""",
    """func.func @f(%w: tensor<1x4x4x2xf32>, %k: tensor<3x3x2x2xf32>, %n: tensor<i64>, %i: i32, %z: tensor<4xcomplex<f32>>) {
  %0 = stablehlo.convolution(%w, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x4x4x2xf32>
  %1 = core.for %j to %n constants(%c = %w: tensor<1x4x4x2xf32>) carried(%e = %n: tensor<i64>) {
    stablehlo.return %e : tensor<i64>
  }
  %2 = arith.addi %i, %i : i32
  "test.op"(%i)[^bb1] ({
  ^bb0(%x: i32):
    "test.end"() {a = #test.x<[(<"y">)]>, b = !test.t<1>, c = affine_map<(d0) -> (d0 + 1)>, d = array<i64: 1, 2>} : () -> ()
  }) : (i32) -> ()
^bb1:
  %3 = "stablehlo.gather"(%k, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<3x3x2x2xf32>, tensor<i64>) -> tensor<f32>
  %4 = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
  %5 = chlo.top_k(%z, k = 2) : tensor<4xcomplex<f32>> -> (tensor<2xf32>, tensor<2xi32>)
  sdy.mesh @mesh = <["x"=2]> {a = 1}
  return
}
""",
]
WORDS = [
    *'()[]{}<>,:=%@#!^-"',
    "->",
    "<{",
    "}>",
    "0",
    "-1",
    "99999999999999999999999",
    "0x",
    "1.5",
    "tensor<2xf32>",
    "%0",
    "%arg0",
    "dense<",
    "loc(",
    "stablehlo.add",
    "module",
    "é",
    "\0",
    "\u2028",
]


def is_foreseen(error: DiagnosticError) -> None:
    """The parser itself found the mistake, and says what it is."""
    assert error.__cause__ is None
    assert error.diagnostic.message
    assert error.render()


def survives(text: str | bytes) -> None:
    """Parses; what is accepted is printed in both forms."""
    try:
        module = parse_module(text, "t.mlir", CONTEXT)
    except DiagnosticError as error:
        is_foreseen(error)
        return
    print_module(module, locations=True)
    print_module(module, generic=True)


def mutate(tokens: list[str], random: random.Random) -> list[str]:
    """Deletes, doubles, replaces, swaps or inserts a few tokens, or cuts the text short."""
    tokens = list(tokens)
    for _ in range(random.choice((1, 1, 2, 3))):
        if not tokens:
            break
        at = random.randrange(len(tokens))
        kind = random.randrange(6)
        if kind == 0:
            del tokens[at]
        elif kind == 1:
            tokens.insert(at, tokens[at])
        elif kind == 2:
            tokens[at] = random.choice(WORDS)
        elif kind == 3:
            tokens.insert(at, random.choice(WORDS))
        elif kind == 4:
            other = random.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            word = tokens[at]
            cut = random.randrange(len(word) + 1)
            tokens[at] = word[:cut] + random.choice(WORDS) + word[cut:]
    return tokens if random.randrange(8) else tokens[: random.randrange(len(tokens) + 1)]


@pytest.mark.parametrize("program", range(len(PROGRAMS)))
def test_the_programs_themselves_parse_to_their_end(program: int) -> None:
    survives(PROGRAMS[program])


@pytest.mark.parametrize("program", range(len(PROGRAMS)))
def test_programs_with_mistakes(program: int) -> None:
    tokens = TOKEN.findall(PROGRAMS[program])
    for seed in range(400):
        text = "".join(mutate(tokens, random.Random(seed)))
        try:
            survives(text)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {text}") from error


@needs_corpus
def test_reference_programs_with_mistakes() -> None:
    small = [path for path in texts("*/*/*.mlir") if path.stat().st_size < 8000]
    for seed, path in enumerate(share(small, 7)):
        text = "".join(mutate(TOKEN.findall(path.read_text()), random.Random(seed)))
        try:
            survives(text)
        except Exception as error:
            raise AssertionError(f"{path}, seed {seed}") from error


@given(st.binary(max_size=200))
@settings(max_examples=200)
def test_any_bytes(data: bytes) -> None:
    survives(data)


@given(st.lists(st.sampled_from([*WORDS, *TOKEN.findall(PROGRAMS[0])]), max_size=40).map(" ".join))
@settings(max_examples=300)
def test_any_words(text: str) -> None:
    survives(text)
