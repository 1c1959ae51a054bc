"""Selectors: what they select in programs, derivatives and kernels, and what they say when there is nothing."""

from __future__ import annotations

import pytest

import wengert as wg
from wengert.lab.inspection.selectors import select
from wengert.runtime.errors import InputError

TEXT = """func.func public @main(%x: tensor<3xf64>, %n: tensor<i32>) -> (tensor<3xf64>, tensor<i32>) {
  %70 = stablehlo.sine %x : tensor<3xf64>
  %5 = stablehlo.multiply %70, %70 : tensor<3xf64>
  %0:2 = func.call @twice(%5, %n) : (tensor<3xf64>, tensor<i32>) -> (tensor<3xf64>, tensor<i32>)
  %wave = stablehlo.tanh %0#0 : tensor<3xf64>
  return %wave, %0#1 : tensor<3xf64>, tensor<i32>
}
func.func private @twice(%a: tensor<3xf64>, %m: tensor<i32>) -> (tensor<3xf64>, tensor<i32>) {
  %0 = stablehlo.add %a, %a : tensor<3xf64>
  return %0, %m : tensor<3xf64>, tensor<i32>
}
"""
SOURCES = {"dir/p.mlir": TEXT}
PROGRAM = wg.parse(TEXT, "dir/p.mlir")
VJP = PROGRAM.vjp()


def names(selector: str, program: wg.Program = PROGRAM) -> list[str]:
    """What is selected: the names of ops, those of arguments as they are printed."""
    return [s.op.name if s.name.startswith("%") and not s.name.startswith("%x") else s.name for s in select(program.module, selector, sources=SOURCES)]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("%70", ["stablehlo.sine"]),  # as the user wrote it: what is printed begins with %0
        ("%wave", ["stablehlo.tanh"]),
        ("@main/%2#0", ["func.call"]),
        ("%2#1", ["func.call"]),
        ("@twice/%0", ["stablehlo.add"]),
        ("result:0", ["stablehlo.tanh"]),
        ("result:1", ["func.call"]),
        ("arg:0", ["%x"]),
        ("argument:1", ["func.func"]),
        ("op:tanh", ["stablehlo.tanh"]),
        ("op:stablehlo.s*", ["stablehlo.sine"]),
        ("dir/p.mlir:3", ["stablehlo.multiply"]),
        ("p.mlir:3:3", ["stablehlo.multiply"]),
        ("3", ["stablehlo.multiply"]),
        ("3:3", ["stablehlo.multiply"]),
        ('loc("dir/p.mlir":9:3)', ["stablehlo.add"]),
        ("@twice", ["@twice"]),
        ("@twice/op:add", ["stablehlo.add"]),
    ],
)
def test_programs(selector: str, expected: list[str]) -> None:
    assert names(selector) == expected


def test_names_as_they_are_printed_come_first() -> None:
    assert names("%0") == ["stablehlo.sine", "stablehlo.add"]  # in both functions
    assert names("%1") == ["stablehlo.multiply"]


def test_derivatives() -> None:
    assert names("op:cosine", VJP) == ["stablehlo.cosine"]
    assert set(names("p.mlir:2", VJP)) == {"stablehlo.sine", "stablehlo.cosine", "stablehlo.multiply"}
    assert names("%70", VJP) == ["stablehlo.sine"]  # the primal op that was written under this name
    roles = {role: len(select(VJP.module, f"role:{role}")) for role in ("cotangent", "coefficient")}
    assert all(roles.values())
    assert "stablehlo.cosine" in names('loc("vjp/coefficient/stablehlo.sine")', VJP)
    inlined = select(VJP.module, "9", sources=SOURCES)  # written in @twice, called at line 4
    assert {s.op for s in inlined} <= {s.op for s in select(VJP.module, "4", sources=SOURCES)}


def test_places_and_names_of_what_is_selected() -> None:
    (sine,) = select(PROGRAM.module, "op:sine")
    assert (sine.name, sine.place) == ("%0", "dir/p.mlir:2:3")
    assert str(sine) == "%0 (stablehlo.sine, dir/p.mlir:2:3)"


def test_kernels() -> None:
    kernels = PROGRAM.apply("to-core,fuse,schedule,bufferize")
    assert select(kernels.module, "op:kernel.launch")
    assert [str(s).partition(",")[0] for s in select(kernels.module, "op:tanh")] == ["%5 (kernel.tanh"]


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("%9", "there is no value %9; near it: "),
        ("%wav", "%wave"),
        ("result:2", r"@main has no result 2: it has 2 results, 0 to 1"),
        ("arg:5", "has no argument 5"),
        ("op:tahn", "did you mean 'tanh'"),
        ("op:cosine", "there is no op cosine; did you mean"),
        ("role:cotangent", "the program is no derivative"),
        ("p.mlir:99", "nothing comes from p.mlir:99; nearest: dir/p.mlir:10, dir/p.mlir:9"),
        ("q.mlir:1", "nothing comes from q.mlir:1: what there is comes from dir/p.mlir"),
        ('loc("vjp")', "no op has a location with 'vjp'"),
        ("@man", "did you mean 'main'"),
        ("@twice/op:sine", "selects nothing in @twice"),
        ("tanh", "did you mean 'op:tanh'"),
        ("wave", "did you mean '%wave'"),
        ("", "a selector is"),
    ],
)
def test_nothing_selected(selector: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        select(PROGRAM.module, selector, sources=SOURCES)
