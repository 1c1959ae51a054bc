"""The pass itself: where it looks for factorisations, what it leaves alone, and that the CPU backend compiles what it makes."""

from __future__ import annotations

from collections.abc import Callable

import matrix_programs as programs
import numpy as np
import pytest
from matrix_programs import Array, by_lapack, by_loops, distance, looped, positive, random
from native_checks import function, tensor

from wengert.dialects import core
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime import interpreter
from wengert.runtime.cpu import compile
from wengert.transforms.linalg.factorizations_to_loops import FactorizationsToLoopsPass
from wengert.transforms.pipelines import parse_pipeline

IN_A_LOOP = """func.func @main(%n: tensor<i64>, %a: tensor<5x5xf64>) -> tensor<5x5xf64> {
  %0 = core.for %i to %n carried(%x = %a: tensor<5x5xf64>) {
    %1, %2 = "core.cholesky"(%x) <{lower = true}> : (tensor<5x5xf64>) -> (tensor<5x5xf64>, tensor<i32>)
    %3 = stablehlo.dot_general %1, %1, contracting_dims = [1] x [1] : (tensor<5x5xf64>, tensor<5x5xf64>) -> tensor<5x5xf64>
    stablehlo.return %3 : tensor<5x5xf64>
  }
  return %0 : tensor<5x5xf64> }"""
IN_A_BRANCH = """func.func @main(%i: tensor<i32>, %a: tensor<5x5xf64>) -> tensor<5x5xf64> {
  %0 = "core.case"(%i, %a) ({
  ^bb0(%x: tensor<5x5xf64>):
    %1, %2 = "core.qr"(%x) <{full = false}> : (tensor<5x5xf64>) -> (tensor<5x5xf64>, tensor<5x5xf64>)
    stablehlo.return %1 : tensor<5x5xf64>
  }, {
  ^bb0(%x: tensor<5x5xf64>):
    stablehlo.return %x : tensor<5x5xf64>
  }) : (tensor<i32>, tensor<5x5xf64>) -> tensor<5x5xf64>
  return %0 : tensor<5x5xf64> }"""


@pytest.mark.parametrize(("text", "number"), [(IN_A_LOOP, np.int64(3)), (IN_A_BRANCH, np.int32(0)), (IN_A_BRANCH, np.int32(1))])
def test_in_loops_and_branches(text: str, number: np.generic) -> None:
    inputs = [np.asarray(number), positive(1, (5, 5), "f64")]
    assert distance(by_loops(text, inputs)[0], by_lapack(text, inputs)[0], "f64") < 100


def test_the_text_is_read_again() -> None:
    a = positive(3, (2, 4, 4), "complex<f32>")
    module = looped(programs.eigh(a.shape, "complex<f32>"))
    again = parse_module(print_module(module))
    verify(again, "")
    for mine, theirs in zip(interpreter.run(again, [a]), interpreter.run(module, [a]), strict=True):
        assert mine.tobytes() == theirs.tobytes()


def test_what_stays() -> None:
    """General eigenvalues have no form as a loop here; a module without factorisations is not changed."""
    t, wide = tensor((3, 3), "f64"), tensor((3, 3), "complex<f64>")
    text = function([t], [tensor((3,), "complex<f64>"), wide, wide, "tensor<i32>"], '"core.eig"($in) : $type')
    module = parse_module(text)
    assert not FactorizationsToLoopsPass().changes(module)
    before = print_module(module)
    assert print_module(parse_pipeline("factorizations-to-loops").run(module)) == before
    assert FactorizationsToLoopsPass().changes(parse_module(programs.qr((3, 3), "f32")))


PROGRAMS: dict[str, tuple[Callable[..., str], Callable[..., Array]]] = {
    "lu": (programs.lu, random),
    "cholesky": (programs.cholesky, positive),
    "qr": (programs.qr, random),
    "eigh": (programs.eigh, positive),
    "svd": (programs.svd, random),
}


@pytest.mark.parametrize("element", ["f32", "complex<f64>"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cpu_backend_compiles_them(name: str, element: str) -> None:
    program, matrix = PROGRAMS[name]
    shape = (3, 6, 6)
    text, a = program(shape, element), matrix(2, shape, element)
    compiled = compile(looped(text))
    assert not compiled.stats.interpreted
    assert not ops_of(looped(text), core.EighOp)
    for mine, theirs in zip(compiled(a), by_loops(text, [a]), strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        assert distance(mine, theirs, element) < 1e4
