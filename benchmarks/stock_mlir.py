"""How much of a corpus stock MLIR takes: programs and derivatives, written by ``to-linalg``, read, compiled and run by its tools, against stored results.

    python -m benchmarks.stock_mlir FOLDER [--kind out jvp vjp] [--precision f64 f32] [--only NAME ...] [--json]

FOLDER is a corpus of programs in StableHLO, or in upstream dialects; each of its programs is counted at the last stage that it comes through.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.upstream_runner import derived

import wengert as wg
from wengert.ir.construction import copy_module
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.printing.printer import print_module
from wengert.lab.corpus import CorpusProgram, array_error, read_corpus
from wengert.lab.stock_mlir.running import compiled, executed
from wengert.lab.stock_mlir.tools import MISSING, StockError, StockMLIR, installed
from wengert.transforms.pipelines import TO_UPSTREAM, parse_pipeline

Array = np.ndarray[Any, np.dtype[Any]]
KINDS, PRECISIONS = ("out", "jvp", "vjp"), ("f64", "f32")
STAGES = ("refused", "written", "read", "compiled", "right")
SMALL = {"float64": np.float32, "complex128": np.complex64}


class Case(NamedTuple):
    """A program or a derivative: its inputs, the positions of results that are known, these, and how near is near enough."""

    name: str
    program: wg.Program
    inputs: Sequence[Array]
    positions: Sequence[int]
    references: Sequence[Array]
    tolerance: float


class Outcome(NamedTuple):
    """The last stage that was reached, and what was in the way of the next one."""

    stage: str
    said: str = ""


def case_of_upstream(folder: Path, kind: str, precision: str) -> Case | None:
    """A program in upstream dialects of a corpus; None if it is not there in a precision."""
    meta = json.loads((folder / "meta.json").read_text())
    if precision not in meta["precisions"]:
        return None
    with np.load(folder / "f64.npz") as file:
        stored = {key: file[key] for key in file.files}

    def arrays(prefix: str) -> dict[int, Array]:
        return {int(key.removeprefix(prefix)): stored[key] for key in sorted(stored, key=_number) if key.startswith(prefix)}

    def given(prefix: str) -> list[Array]:
        narrow = precision == "f32"
        return [value.astype(SMALL.get(value.dtype.name, value.dtype)) if narrow else value for value in arrays(prefix).values()]

    options: dict[str, Any] = {}
    if kind != "out":
        options = {
            "wrt": list(arrays("vjp_")),
            "of": list(arrays("jvp_")),
            "tangents" if kind == "jvp" else "cotangents": given("tan_" if kind == "jvp" else "cot_"),
        }
    program, inputs, positions = derived((folder / f"{precision}.mlir").read_text(), given("in_"), meta, **options)
    return Case(meta["name"], program, inputs, positions, list(arrays(f"{kind}_").values()), meta["tolerance"][kind][precision])


def _number(key: str) -> int:
    return int(key.rpartition("_")[2])


def case_of_stablehlo(entry: CorpusProgram, kind: str, precision: str) -> Case | None:
    """A program in StableHLO of a corpus; None if it is not there in a precision."""
    if precision not in entry.precisions:
        return None
    known, program = entry.reference(precision), wg.parse(entry.path(precision).read_text(), entry.name)
    inputs, tolerance = list(known.inputs), entry.tolerance("primal" if kind == "out" else kind, precision)
    if kind == "out":
        return Case(entry.name, program, inputs, range(len(known.outputs)), known.outputs, tolerance)
    first = len(known.outputs)
    if kind == "jvp":
        made = program.jvp(wrt=list(known.tangents), of=list(known.jvp))
        return Case(entry.name, made, [*inputs, *known.tangents.values()], range(first, first + len(known.jvp)), list(known.jvp.values()), tolerance)
    made = program.vjp(wrt=list(known.vjp), of=list(known.cotangents))
    return Case(entry.name, made, [*inputs, *known.cotangents.values()], range(first, first + len(known.vjp)), list(known.vjp.values()), tolerance)


def cases(folder: Path, kind: str, precision: str, only: Sequence[str] = ()) -> Iterator[Case | DiagnosticError]:
    """The cases of a corpus; an error for a program that is not read or differentiated."""
    entries = json.loads((folder / "manifest.json").read_text())["programs"]
    upstream = all(isinstance(entry, str) for entry in entries)
    programs: list[Any] = [folder / name for name in entries] if upstream else read_corpus(folder)
    for program in programs:
        if only and program.name not in only:
            continue
        try:
            case = case_of_upstream(program, kind, precision) if upstream else case_of_stablehlo(program, kind, precision)
        except DiagnosticError as error:
            yield error
            continue
        if case is not None:
            yield case


def outcome(mlir: StockMLIR, case: Case) -> Outcome:
    """How far a case comes."""
    try:
        module = parse_pipeline(TO_UPSTREAM).run(copy_module(case.program.core_module))
    except DiagnosticError as error:
        return Outcome("refused", error.render().splitlines()[0])
    stage = "written"
    try:
        mlir.after(print_module(module))
        stage = "read"
        lowered = compiled(mlir, module, case.inputs)
        stage = "compiled"
        results = executed(mlir, module, lowered)
    except StockError as error:
        return Outcome(stage, str(error))
    worst = max((array_error(results[j], value) for j, value in zip(case.positions, case.references, strict=True)), default=0.0)
    return Outcome("right") if worst <= case.tolerance else Outcome(stage, f"off by {worst:.1e}, {case.tolerance:.0e} is allowed")


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; 1 if something did not come through."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stock_mlir", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a corpus")
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=list(KINDS), help="what is computed (default: all)")
    parser.add_argument("--precision", nargs="+", choices=PRECISIONS, default=list(PRECISIONS), help="in which precision (default: both)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these programs")
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args(argv)
    mlir = installed()
    if mlir is None:
        parser.error(MISSING)
    if not (options.folder / "manifest.json").is_file():
        parser.error(f"{options.folder} is not a corpus: it has no manifest.json")
    rows: list[dict[str, Any]] = []
    for kind in options.kind:
        for precision in options.precision:
            for case in cases(options.folder, kind, precision, options.only):
                result = Outcome("refused", case.render().splitlines()[0]) if isinstance(case, DiagnosticError) else outcome(mlir, case)
                name = "?" if isinstance(case, DiagnosticError) else case.name
                rows.append({"program": name, "kind": kind, "precision": precision, "stage": result.stage, "said": result.said})
    print(json.dumps({"mlir": mlir.name, "rows": rows}, indent=1) if options.json else table(mlir, rows))
    return int(any(row["stage"] != "right" for row in rows))


def table(mlir: StockMLIR, rows: Sequence[dict[str, Any]]) -> str:
    """The counts of programs that came through each stage, and what is in the way of the others."""
    lines = [mlir.name, f"{'':10}{'of':>6}" + "".join(f"{stage:>10}" for stage in STAGES[1:])]
    for kind, precision in dict.fromkeys((row["kind"], row["precision"]) for row in rows):
        stages = Counter(STAGES.index(row["stage"]) for row in rows if (row["kind"], row["precision"]) == (kind, precision))
        counts = [sum(count for stage, count in stages.items() if stage >= least) for least in range(len(STAGES))]
        lines.append(f"{kind} {precision:<{9 - len(kind)}}{counts[0]:>6}" + "".join(f"{count:>10}" for count in counts[1:]))
    lines += [f"{row['program']} {row['kind']} {row['precision']}: {row['stage']}; {row['said']}" for row in rows if row["stage"] != "right"]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
