"""Bytecode and portable artifacts are those of MLIR and StableHLO: either side reads what the other one writes, and both mean the same."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from named_linalg_programs import program
from reference_programs import needs_corpus, share, texts
from stablehlo_bytes import StablehloBytes

from wengert.dialects.bytecode.files import read_module, write_module
from wengert.dialects.registry import has_upstream
from wengert.dialects.vhlo.versions import CURRENT, MINIMUM, bytecode_version, read_version
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.runtime.bytecode import read_module as read_program
from wengert.runtime.bytecode import write
from wengert.transforms.portable.to_vhlo import to_vhlo

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.mlir"))
PROGRAMS = texts("dev/*/*.mlir", "spmd/*/*.mlir")
TARGETS = ("0.9.0", "0.11.0", "0.14.0", "0.17.0", "1.0.0", "1.3.0", "1.6.0", "1.9.0", "1.10.0", "1.12.0", str(CURRENT))
EVERY_KIND = """
func.func public @main(%x: tensor<2x3xf32> {jax.arg_info = "x"}, %i: tensor<i32>) -> (tensor<2x3xf32> {jax.result_info = "r"}) {
  %c = stablehlo.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
  %0 = stablehlo.select %c, %x, %x : tensor<2x3xi1>, tensor<2x3xf32>
  %1 = stablehlo.exponential %0 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<2x3xf32>
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [1] x [1], precision = [HIGH, DEFAULT] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %z = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
  %4 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>,
    slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<i32>) -> tensor<3xf32>
  %5:2 = stablehlo.while(%a = %i, %b = %x) : tensor<i32>, tensor<2x3xf32>
    cond {
      %6 = stablehlo.compare LT, %a, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %6 = func.call @helper(%b) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      stablehlo.return %a, %6 : tensor<i32>, tensor<2x3xf32>
    }
  %7 = stablehlo.custom_call @foreign(%5#1) {api_version = 4 : i32, backend_config = {k = 1 : i64}, called_computations = [@helper],
    output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %8 = "stablehlo.sort"(%7) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %9 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %9 : tensor<i1>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %8 : tensor<2x3xf32>
}
func.func private @helper(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  return %x : tensor<2x3xf32>
}
"""


def agree(oracle: StablehloBytes, text: str, name: str) -> None:
    """Bytecode of a program in versions 0, 4 and 6: theirs is read as their text is, ours is read by them as our text is."""
    printed = oracle.text(text)
    wanted = parse_module(printed, name)
    ours = parse_module(text, name)
    for version in (0, 4, 6):
        assert read_module(oracle.bytecode(text, version), name).is_structurally_equivalent(wanted)
        assert oracle.text(write_module(ours, version=version)) == printed


def agree_on_artifacts(oracle: StablehloBytes, text: str, name: str, target: str) -> bool:
    """Portable artifacts of a program: written for a target by both or none, and read alike. Whether there is one."""
    theirs = oracle.artifact(text, target, mixed=read_version(target) >= (1, 11, 0))
    module = parse_module(text, name)
    if theirs is None:
        with pytest.raises(DiagnosticError, match=r"StableHLO|portable"):
            _write_as_it_is(module, target)
        return False
    printed = oracle.of_artifact(theirs)
    assert read_program(theirs, name).is_structurally_equivalent(parse_module(printed, name))
    assert oracle.of_artifact(_write_as_it_is(module, target)) == printed
    return True


def _write_as_it_is(module, target: str) -> bytes:  # pyright: ignore
    """An artifact in which CHLO's ops are not written out first."""

    version = read_version(target)
    return write_module(to_vhlo(module, version), version=bytecode_version(version), producer=f"StableHLO_v{target}")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(stablehlo_bytes: StablehloBytes, path: Path) -> None:
    agree(stablehlo_bytes, path.read_text(), path.name)
    assert agree_on_artifacts(stablehlo_bytes, path.read_text(), path.name, str(CURRENT))


@pytest.mark.parametrize("version", range(7))
def test_every_kind_of_op_in_every_version(stablehlo_bytes: StablehloBytes, version: int) -> None:
    printed = stablehlo_bytes.text(EVERY_KIND)
    assert read_module(stablehlo_bytes.bytecode(EVERY_KIND, version)).is_structurally_equivalent(parse_module(printed))
    assert stablehlo_bytes.text(write_module(parse_module(EVERY_KIND), version=version)) == printed


@pytest.mark.parametrize("target", TARGETS)
def test_every_kind_of_op_for_every_target(stablehlo_bytes: StablehloBytes, target: str) -> None:
    assert agree_on_artifacts(stablehlo_bytes, EVERY_KIND, "f.mlir", target) == (read_version(target) >= (1, 3, 0))


@needs_corpus
@pytest.mark.parametrize("path", share(PROGRAMS, 25), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_programs_of_the_corpus(stablehlo_bytes: StablehloBytes, path: Path) -> None:
    agree(stablehlo_bytes, path.read_text(), path.name)


@needs_corpus
@pytest.mark.parametrize("target", ["0.9.0", "1.0.0", "1.9.0", str(CURRENT)])
@pytest.mark.parametrize("path", share(PROGRAMS, 60), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_artifacts_of_the_corpus(stablehlo_bytes: StablehloBytes, path: Path, target: str) -> None:
    agree_on_artifacts(stablehlo_bytes, path.read_text(), path.name, target)


def test_the_versions_that_are_known(stablehlo_bytes: StablehloBytes) -> None:
    if read_version("current") != read_version(stablehlo_bytes.current):
        pytest.skip(f"jaxlib has version {stablehlo_bytes.current} of StableHLO")
    text = "func.func @main(%x: tensor<f64>) -> tensor<f64> {\n  return %x : tensor<f64>\n}"
    for minor in range(9, 21):
        assert agree_on_artifacts(stablehlo_bytes, text, "f.mlir", f"0.{minor}.0")
    for minor in range(CURRENT.minor + 1):
        assert agree_on_artifacts(stablehlo_bytes, text, "f.mlir", f"1.{minor}.0")
    assert stablehlo_bytes.artifact(text, "0.8.0") is None
    assert MINIMUM == (0, 9, 0)


@pytest.mark.parametrize(
    ("op", "since"),
    [
        ("%r = stablehlo.tan %x : tensor<4xf32>", "1.4.0"),
        ("%r = stablehlo.tanh %x {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>", "1.10.0"),
        ('%r = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>', "0.16.0"),
        ('%r = stablehlo.custom_call @f(%x) {api_version = 4 : i32, backend_config = {a = 1 : i32}} : (tensor<4xf32>) -> tensor<4xf32>', "1.3.0"),
        ("%t = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E4M3FNUZ>\n %r = stablehlo.convert %t : (tensor<4xf8E4M3FNUZ>) -> tensor<4xf32>", "0.10.0"),
        ("%t = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi2>\n %r = stablehlo.convert %t : (tensor<4xi2>) -> tensor<4xf32>", "1.2.0"),
        ("%r = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>", "1.11.0"),
    ],
)  # fmt: skip
def test_what_came_with_a_version(stablehlo_bytes: StablehloBytes, op: str, since: str) -> None:
    text = f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n {op}\n return %r : tensor<4xf32>\n}}"
    version = read_version(since)
    before = f"{version.major}.{version.minor - 1}.0"
    assert agree_on_artifacts(stablehlo_bytes, text, "f.mlir", since)
    assert not agree_on_artifacts(stablehlo_bytes, text, "f.mlir", before)
    with pytest.raises(DiagnosticError) as refused:
        write(parse_module(text, "f.mlir"), portable=before)
    assert refused.value.diagnostic.line == 2
    assert since in refused.value.render()


MLIR_OPT = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")


@needs_corpus
@pytest.mark.skipif(MLIR_OPT is None, reason="there is no mlir-opt on the path")
@pytest.mark.parametrize("path", share(texts("upstream/*/*.mlir"), 12), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_upstream_programs(path: Path) -> None:
    def opt(source: bytes, *options: str) -> bytes:
        assert MLIR_OPT is not None
        return subprocess.run([MLIR_OPT, "--allow-unregistered-dialect", *options], input=source, capture_output=True, check=True).stdout

    wanted = parse_module(opt(path.read_bytes(), "--mlir-print-op-generic"), path.name)
    assert has_upstream(wanted)
    for version in (4, 6):
        read = read_module(opt(path.read_bytes(), "--emit-bytecode", f"--emit-bytecode-version={version}"), path.name)
        assert print_module(read, generic=True) == print_module(wanted, generic=True)


@pytest.mark.skipif(MLIR_OPT is None, reason="there is no mlir-opt on the path")
def test_named_ops_of_linalg_are_written_with_the_regions_that_mlir_gives_them(tmp_path: Path) -> None:
    """Every named op, and ``linalg.generic`` with iterators in words: what MLIR reads of our bytecode is what it reads of the text."""
    text = program()
    assert text.count("func.func") > 80
    module = parse_module(text, "f.mlir")
    read = [_as_mlir_reads(data, tmp_path) for data in (text.encode(), write(module))]
    differing = [ours for theirs, ours in zip(*(text.splitlines() for text in read), strict=False) if theirs != ours]
    assert not differing, "\n".join(differing)
    assert read[0] == read[1]
    assert print_module(parse_module(text, "f.mlir")) == print_module(module)  # it was written from a copy


def _as_mlir_reads(data: bytes, folder: Path) -> str:
    assert MLIR_OPT is not None
    file = folder / "p"
    file.write_bytes(data)
    done = subprocess.run([MLIR_OPT, "--mlir-print-op-generic", file], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.skipif(MLIR_OPT is None, reason="there is no mlir-opt on the path")
def test_comparisons_of_indices_are_written_as_mlir_reads_them(tmp_path: Path) -> None:
    assert MLIR_OPT is not None
    words = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
    lines = [f"  %{i} = index.cmp {word}(%a, %b)" for i, word in enumerate(words)]
    text = "\n".join(["func.func @main(%a: index, %b: index) {", *lines, "  return", "}"])
    file = tmp_path / "p.mlirbc"
    file.write_bytes(write(parse_module(text)))
    read = subprocess.run([MLIR_OPT, file], capture_output=True, text=True, check=True).stdout
    assert [line.split()[3].partition("(")[0] for line in read.splitlines() if "index.cmp" in line] == list(words)
