"""Costs of compiled programs: memory is what is allocated, kernels are what is launched, and times follow a model that is fitted to measured ones."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference_programs import CORPUS, in_all_precisions, needs_corpus, share

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.corpus import CorpusProgram
from wengert.lab.costs import report
from wengert.lab.costs.bounds import excesses, read_bound
from wengert.lab.costs.calibration import Sample, features_of, fit
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.exactness import CostOutcome, cost_summary, is_good
from wengert.lab.costs.time_model import VERSION, machine_model, predicted, shipped_model, write_model
from wengert.lab.inputs import random_inputs
from wengert.runtime.errors import InputError
from wengert.runtime.machine_model import model_path
from wengert.transforms.analysis.compiled_cost import CompiledCost
from wengert.transforms.analysis.symbolic.polynomial import Polynomial

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

SOFTMAX = """func.func public @main(%x: tensor<8x16xf64>) -> tensor<8x16xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.exponential %x : tensor<8x16xf64>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf64>, tensor<f64>) -> tensor<8xf64>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<8xf64>) -> tensor<8x16xf64>
  %3 = stablehlo.divide %0, %2 : tensor<8x16xf64>
  return %3 : tensor<8x16xf64>
}"""


def assert_allocated(program: wg.Program, inputs: list[Any]) -> CompiledCost:
    """The costs, whose memory is that of the compiled program."""
    cost, function = compiled(program), program.compile()
    stats, memory = function.stats, cost.memory
    assert memory.inputs == sum(np.asarray(x).nbytes for x in inputs)
    assert memory.results == stats.result_bytes == sum(result.nbytes for result in function(*inputs))
    assert (memory.constants, memory.arena) == (stats.constant_bytes, stats.arena_bytes)
    assert memory.total == memory.inputs + stats.peak_bytes
    assert memory.kept >= 0
    assert memory.temporaries >= 0
    assert memory.gaps >= 0
    return cost


@pytest.mark.parametrize("name", ["scalar", "decay_curve", "mlp", "transformer_block"])
def test_memory_is_what_is_allocated(name: str) -> None:
    program = wg.load(EXAMPLES / f"{name}.mlir")
    for form in (program, program.jvp(), program.vjp(), program.vjp(residuals="recompute-all")):
        assert_allocated(form, random_inputs(form.signature, 0))


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 12))
def test_memory_of_reference_programs_is_what_is_allocated(program: CorpusProgram, precision: str) -> None:
    d, primal = program.reference(precision), wg.load(program.path(precision))
    wrt, of = tuple(sorted(d.tangents)), tuple(sorted(d.cotangents))
    assert_allocated(primal, d.inputs)
    assert_allocated(primal.jvp(wrt, of), [*d.inputs, *(d.tangents[i] for i in wrt)])
    for strategy in ("transpose", "direct"):
        assert_allocated(primal.vjp(wrt, of, strategy=strategy), [*d.inputs, *(d.cotangents[j] for j in of)])


def test_a_reverse_derivative_keeps_what_its_forward_part_leaves() -> None:
    chain = "".join(f"  %{i + 1} = stablehlo.{op} %{i} : tensor<64x64xf64>\n" for i, op in enumerate(["sine", "exponential"] * 2))
    matrix = "tensor<64x64xf64>"
    text = f"func.func public @main(%0: {matrix}) -> {matrix} {{\n{chain}  %5 = stablehlo.dot_general %4, %4, contracting_dims = [1] x [0] : ({matrix}, {matrix}) -> {matrix}\n"
    memory = assert_allocated(wg.parse(f"{text}  return %5 : {matrix}\n}}").vjp(), [np.ones((64, 64))] * 2).memory
    assert memory.kept >= 64 * 64 * 8
    assert memory.kept + memory.temporaries + memory.gaps == memory.arena


def test_kernels_say_what_they_do() -> None:
    cost = compiled(wg.parse(SOFTMAX, "p.mlir"))
    assert {kernel.kind for kernel in cost.kernels} == {"nest"}
    assert sum(kernel.transcendentals for kernel in cost.kernels) >= 8 * 16
    assert all(kernel.bytes_read <= 8 * 16 * 8 + 8 * 8 for kernel in cost.kernels)
    assert cost.launches == len(cost.kernels)
    assert all(kernel.place.startswith("p.mlir:") for kernel in cost.kernels)


def test_a_kernel_that_reads_a_part_moves_a_part() -> None:
    text = """func.func public @main(%x: tensor<1000xf64>) -> tensor<10xf64> {
  %0 = stablehlo.slice %x [20:30] : (tensor<1000xf64>) -> tensor<10xf64>
  %1 = stablehlo.sine %0 : tensor<10xf64>
  return %1 : tensor<10xf64>
}"""
    (kernel,) = compiled(wg.parse(text)).kernels
    assert (kernel.bytes_read, kernel.bytes_written) == (80, 80)


def test_launches_in_loops_are_counted_by_their_iterations() -> None:
    loop = wg.jit(lambda x: wg.fori_loop(0, 12, lambda i, y: y * x + 1.0, x)).program(np.zeros(500))
    assert int(compiled(loop).launches) >= 12
    endless = wg.jit(lambda x: wg.while_loop(lambda y: y[0] < 3.0, lambda y: y * x + 1.0, x)).program(np.zeros(500))
    assert compiled(endless).launches.symbols == {"T0"}


# -- times


def test_a_prediction_is_a_number_with_an_interval() -> None:
    program = wg.load(EXAMPLES / "transformer_block.mlir")
    prediction = predicted(program, compiled(program))
    assert prediction.interval is not None
    low, high = prediction.interval
    assert 0 < low < float(prediction.seconds.constant or 0) < high
    assert " to " in str(prediction)
    assert 5 < float((prediction * 7).seconds.constant or 0) / float(prediction.seconds.constant or 1) < 8


def test_a_fit_finds_the_times_that_samples_were_made_of() -> None:
    rng = np.random.default_rng(0)
    true = {"call": 80.0, "cheap": 0.3, "elementary": 6.0, "launch": 1.0, "store": 0.5}
    samples: list[Sample] = []
    for number in range(60):
        features = {"call": 1.0, "launch": float(rng.integers(1, 9)), **{name: float(10 ** rng.uniform(1, 5)) for name in ("cheap", "elementary", "store")}}
        seconds = 1e-9 * sum(true[name] * count for name, count in features.items()) * float(np.exp(rng.normal(0, 0.05)))
        samples.append(Sample(f"p{number}", f"p{number}", features, seconds))
    model = fit(samples)
    assert model.calibrated
    assert model.factor < 1.3
    for name in ("call", "elementary"):
        assert model.nanoseconds[name] == pytest.approx(true[name], rel=0.25)


def test_a_model_is_kept_by_machine_and_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    assert machine_model() == shipped_model()
    path = model_path()
    assert path is not None
    mine = type(shipped_model())({"call": 7.0}, 1.5, "mine", 1, calibrated=True)
    write_model(mine, path)
    assert machine_model() == mine
    path.write_text("{ not json")
    assert machine_model() == shipped_model()
    write_model(type(mine)({"call": 7.0}, 1.5, "mine", 1, version=VERSION + 1), path)
    assert machine_model() == shipped_model()
    monkeypatch.setenv("WENGERT_CACHE", "off")
    assert model_path() is None
    assert machine_model() == shipped_model()


def test_every_feature_of_a_program_has_a_time() -> None:
    program = wg.load(EXAMPLES / "transformer_block.mlir").vjp()
    features = features_of(program, random_inputs(program.signature, 0))
    assert set(features) <= set(shipped_model().nanoseconds)
    assert features["call"] == 1


def waits(text: str) -> float:
    return float(features_of(program := wg.parse(text), random_inputs(program.signature, 0))["sum waited for"])


def test_sums_wait_for_one_another_as_often_as_their_places_are_few() -> None:
    """Rows of three go to one of four places, in each of so many blocks: another block is no place that a row may go to."""
    text = """func.func public @main(%u: tensor<ROWSx20x3xf64>, %i: tensor<20x1xi32>) -> tensor<ROWSx4x3xf64> {
      %zero = stablehlo.constant dense<0.0> : tensor<ROWSx4x3xf64>
      %0 = "stablehlo.scatter"(%zero, %i, %u) <{indices_are_sorted = false, unique_indices = false, scatter_dimension_numbers =
          #stablehlo.scatter<update_window_dims = [0, 2], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        %s = stablehlo.add %a, %b : tensor<f64>
        stablehlo.return %s : tensor<f64>
      }) : (tensor<ROWSx4x3xf64>, tensor<20x1xi32>, tensor<ROWSx20x3xf64>) -> tensor<ROWSx4x3xf64>
      return %0 : tensor<ROWSx4x3xf64>
    }"""
    few, many = (waits(text.replace("ROWS", str(rows))) for rows in (6, 60))
    assert few == 6 * 20 / 4
    assert many == 10 * few


def test_code_of_an_unknown_kind_takes_the_time_of_its_like() -> None:
    model = shipped_model()
    other = model.total({"my.op call": Polynomial.of(1)}).constant
    assert other == Fraction(round(model.nanoseconds["other call"] * 1e6), 10**15)


def test_the_calibrate_command_shows_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    assert main(["calibrate", "--show"]) == 0
    assert "comes with the package" in capsys.readouterr().out
    assert main(["calibrate", "--show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nanoseconds"]["call"] > 0


# -- bounds


def test_bounds_are_read_with_units() -> None:
    assert read_bound("peak=64KB").most == 64000
    assert read_bound("reverse.peak=1.5MiB").most == 1.5 * 2**20
    assert read_bound("time=3ms").most == Fraction(3, 1000)
    assert read_bound("flops=1e6").most == 10**6
    for text, message in (("flops", "expected figure"), ("flop=3", "did you mean 'flops'"), ("time=3KB", "no unit 'KB' of time"), ("peak=3ms", "no unit")):
        with pytest.raises(InputError, match=message):
            read_bound(text)


def test_what_is_above_a_bound_is_said() -> None:
    costs = report(wg.load(EXAMPLES / "scalar.mlir"))
    assert not list(excesses(costs, read_bound("flops=1e6")))
    (line,) = excesses(costs, read_bound("primal.ops=1"))
    assert line.startswith("ops of the primal program is")
    assert len(list(excesses(costs, read_bound("time=1ns")))) == 3
    with pytest.raises(InputError, match="there is no row 'direct'"):
        list(excesses(costs, read_bound("direct.flops=3")))


def test_a_bound_on_what_is_not_known_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(str(wg.jit(lambda x: wg.while_loop(lambda y: y < 3.0, lambda y: y * y + 1.0, x)).program(0.5)))
    assert main(["costs", str(path), "--max", "flops=10"]) == 1
    assert "give values with --sizes" in capsys.readouterr().err
    assert main(["costs", str(path), "--max", "primal.flops=10", "--sizes", "T0=3"]) == 0
    assert main(["costs", str(path), "--max", "primal.flops=10", "--sizes", "T0=30"]) == 4
    assert "error: flops of the primal program is 91" in capsys.readouterr().err
    assert main(["costs", str(path), "--max", "primal.flop=10"]) == 2


# -- the comparison over a corpus


@needs_corpus
@pytest.mark.corpus
def test_the_comparison_over_a_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "costs.json"
    code = main(["conformance", str(CORPUS / "dev"), "--costs", "--only", "scalar_mix,agm_while,cond_piecewise", "--dtype", "f64", "--json", str(out)])
    assert code in (0, 4)  # times are not judged here
    shown = capsys.readouterr().out
    assert "counts exact: 12 of 12" in shown
    assert "memory exact: 12 of 12" in shown
    assert len(json.loads(out.read_text())["outcomes"]) == 12


def test_the_summary_of_comparisons() -> None:
    good = CostOutcome("p", "f64", "primal", True, True, 1e-6, 1.5e-6)
    slow = CostOutcome("p", "f64", "vjp", True, True, 1e-6, 3e-6)
    wrong = CostOutcome("q", "f64", "jvp", False, True, 1e-6, 1e-6, "flops 3 predicted, 4 counted")
    refused = CostOutcome("r", "f64", "jvp", reason="not yet supported", refused=True)
    lines = cost_summary([good, slow, wrong, refused])
    assert lines[:3] == ["counts exact: 2 of 3", "memory exact: 3 of 3", "refused:      1"]
    assert "2 of 3 (66.7 %)" in lines[3]
    assert is_good([good, refused])
    assert not is_good([good, slow])
    assert not is_good([good, wrong])
    assert str(wrong) == "q f64 jvp: flops 3 predicted, 4 counted"
