"""``wengert reduce``: programs and inputs become smaller as long as a predicate holds."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.reduce.annotated import annotated, read_annotated
from wengert.lab.reduce.candidate import Candidate
from wengert.lab.reduce.reducer import Reducer

TEXT = """module @large attributes {mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<6x8xf32> {jax.buffer_donor = true}, %w: tensor<8x5xf32>) -> (tensor<6x5xf32>, tensor<6x8xf32>) {
    %0 = func.call @scaled(%x) : (tensor<6x8xf32>) -> tensor<6x8xf32>
    %1 = stablehlo.tanh %0 {mine.mark = 1 : i64} : tensor<6x8xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
    %start = stablehlo.constant dense<0> : tensor<i32>
    %3:2 = stablehlo.while(%i = %start, %h = %2) : tensor<i32>, tensor<6x5xf32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %step = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %step : tensor<i32>
      %b = stablehlo.cosine %h : tensor<6x5xf32>
      %d = stablehlo.sine %b : tensor<6x5xf32>
      stablehlo.return %j, %d : tensor<i32>, tensor<6x5xf32>
    }
    return %3#1, %1 : tensor<6x5xf32>, tensor<6x8xf32>
  }
  func.func private @scaled(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
    %c = stablehlo.constant dense<2.0> : tensor<6x8xf32>
    %0 = stablehlo.multiply %x, %c : tensor<6x8xf32>
    return %0 : tensor<6x8xf32>
  }
}
"""


def inputs() -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(0)
    return tuple(generator.standard_normal(shape).astype(np.float32) for shape in ((6, 8), (8, 5)))


def reduced(wanted: str) -> tuple[list[str], Candidate]:
    best = Reducer(Candidate(TEXT, inputs()), lambda candidate: wanted in candidate.text, 60).reduce()
    return [op.name for op in wg.parse(best.text).module.walk() if op.name not in ("builtin.module", "func.func", "func.return")], best


@pytest.mark.parametrize("wanted", ["tanh", "dot_general", "multiply", "cosine"])
def test_one_op_is_left_with_the_smallest_extents_and_inputs(wanted: str) -> None:
    ops, best = reduced(f"stablehlo.{wanted}")
    assert ops == [f"stablehlo.{wanted}"]
    assert all(x.size == 1 and not x.any() for x in best.inputs)
    assert "mine.mark" not in best.text
    assert "jax.buffer_donor" not in best.text


def test_loops_stay_where_they_are_needed() -> None:
    ops, _ = reduced("stablehlo.while")
    assert "stablehlo.while" in ops
    assert not {"stablehlo.sine", "stablehlo.cosine", "stablehlo.tanh"} & set(ops)


def test_inputs_keep_what_shows_the_fault() -> None:
    def is_interesting(candidate: Candidate) -> bool:
        return any(x.shape == (6, 8) and x[2, 3] > 0.5 for x in candidate.inputs)

    x = np.abs(inputs()[0]) + 1
    text = """func.func public @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %0 = stablehlo.sine %x : tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}"""
    best = Reducer(Candidate(text, (x,)), lambda c: is_interesting(c) and bool(c.inputs[0].sum() != c.inputs[0].size), 30).reduce()
    assert best.inputs[0][2, 3] > 0.5
    assert np.count_nonzero(best.inputs[0]) < 48


def test_every_candidate_is_verified() -> None:
    seen: list[Candidate] = []

    def is_interesting(candidate: Candidate) -> bool:
        program = wg.parse(candidate.text)
        assert [(a.shape, a.dtype) for a in program.signature.arguments] == [(x.shape, x.dtype) for x in candidate.inputs]
        seen.append(candidate)
        return "cosine" in candidate.text

    Reducer(Candidate(TEXT, inputs()), is_interesting, 60).reduce()
    assert len(seen) > 10


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.complex64, np.int8, np.uint64, np.bool_])
def test_inputs_are_read_back_to_the_bit(dtype: type) -> None:
    x = np.array([[0, 1, 3], [2, 5, 7]]).astype(dtype)
    if np.dtype(dtype).kind in "fV":
        x = np.array([[0.1, np.inf, np.nan], [-0.0, 5e-5, 7]]).astype(dtype)
    element = {
        "float64": "f64",
        "float32": "f32",
        "float16": "f16",
        "bfloat16": "bf16",
        "complex64": "complex<f32>",
        "int8": "i8",
        "uint64": "ui64",
        "bool": "i1",
    }
    kind = f"tensor<2x3x{element[x.dtype.name]}>"
    program = wg.parse(f"func.func public @main(%x: {kind}) -> {kind} {{\n return %x : {kind}\n}}")
    (again,) = read_annotated("\n".join(f"// {line}" for line in annotated([x])), program.signature)
    assert again.dtype == x.dtype
    np.testing.assert_array_equal(again.view(np.uint8), x.view(np.uint8))


def test_a_command_says_what_is_interesting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, small = tmp_path / "p.mlir", tmp_path / "small.mlir"
    path.write_text(TEXT)
    assert main(["reduce", str(path), "--random", "0", "--predicate", "grep -q cosine {}", "-o", str(small), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["before"], made["reproducer"]["ops"]) == (9, 1)
    assert small.read_text().startswith(f"// grep -q cosine {small}\n")
    assert main(["run", str(small), "--inputs", str(small)]) == 0


def test_what_is_not_interesting_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(TEXT)
    assert main(["reduce", str(path), "--random", "0", "--predicate", "false"]) == 1
    assert "is not interesting (the exit code of 'false' is not 0)" in capsys.readouterr().err
    assert main(["reduce", str(path), "--random", "0", "--crash", "-p", "to-core"]) == 1
    assert "does not crash" in capsys.readouterr().err
    assert main(["reduce", str(path), "--predicate", "true", "--vjp"]) == 2
