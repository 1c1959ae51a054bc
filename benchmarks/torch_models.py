"""How PyTorch's models fare: ``python -m benchmarks.torch_models`` compares values and gradients of each with PyTorch's, in both precisions.

The reference is PyTorch in double precision, with the weights of the compared precision, so that an error in f32 is that of who made it;
PyTorch's own is beside ours. An error is the largest difference of a gradient, relative to its largest element (or a thousandth of the largest of
all gradients, for those that are zero but for rounding). A model that computes in f32 inside, whatever its dtype is, counts as f32.

``--speed 1`` has times of a loss with all gradients instead; ``python -m benchmarks.torch_library.table`` makes the tables of the documentation.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.harness.timing import interleaved
from benchmarks.torch_library import kinks
from benchmarks.torch_library.catalogue import MODELS, Model, make

import wengert as wg
from wengert.runtime.cpu import pool

LIMIT = {"f64": 1e-9, "f32": 1e-5}
"""The largest error that counts as right; in f32 four times PyTorch's, if that is more."""
DTYPES = {"f64": torch.float64, "f32": torch.float32}


def gradients_of(model: Any, inputs: tuple[Any, ...]) -> dict[str, Any]:
    """PyTorch's gradients by all parameters, and the loss under an empty name."""
    model.zero_grad(set_to_none=True)
    loss = model(*inputs)
    loss.backward()
    return {"": loss.detach(), **{n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in model.named_parameters()}}


def error(actual: dict[str, Any], reference: dict[str, Any]) -> float:
    """The largest relative difference."""
    sizes = {n: float(np.abs(np.asarray(x)).max(initial=0)) for n, x in reference.items()}
    floor = 1e-3 * max(sizes[n] for n in sizes if n) + 1e-300
    if set(actual) != set(reference):
        return float("inf")
    worst = [float(np.abs(np.asarray(actual[n], np.float64) - np.asarray(x)).max(initial=0)) / max(sizes[n], floor) for n, x in reference.items()]
    return float(np.max(worst))  # NaN stays


def compared(model: Model, precision: str) -> dict[str, Any]:
    """Errors, times of export, import and compilation, and counts; or what is refused."""
    dtype = DTYPES[precision]
    try:
        built, inputs = make(model, dtype)
    except ImportError as missing:
        return {"skipped": str(missing)}
    except Exception as failure:
        return {"unmade": f"{type(failure).__name__}: {str(failure).splitlines()[0]}"}
    start = time.perf_counter()
    try:
        exported = torch.export.export(built, inputs)
    except Exception as failure:
        return {"export": f"{type(failure).__name__}: {str(failure).splitlines()[0]}"}
    exporting = time.perf_counter()
    try:
        module = wg.from_torch(exported, seed=0)
        importing = time.perf_counter()
        loss, gradients = module.value_and_grad(*inputs)
    except Exception as failure:
        return {"refused": f"{type(failure).__name__}: {str(failure).splitlines()[0]}"}
    done = time.perf_counter()
    graphs = [part.graph for part in exported.graph_module.modules() if hasattr(part, "graph")]
    narrow = any(getattr(node.meta.get("val"), "dtype", None) == torch.float32 for graph in graphs for node in graph.nodes)
    ours = {"": loss, **gradients}
    wide = deepcopy(built).double()
    theirs = {n: x.detach().clone().numpy() for n, x in gradients_of(built, inputs).items()}
    reference = {n: x.detach().numpy() for n, x in gradients_of(wide, tuple(x.double() if x.is_floating_point() else x for x in inputs)).items()}
    errors: dict[str, Any] = {"ours": error(ours, reference), "torch": error(theirs, reference)}
    if precision == "f32" and max(errors.values()) > LIMIT["f32"]:
        errors |= _across_kinks(built, wide, inputs, {"ours": ours, "torch": theirs})
    return {
        **errors,
        "computes_in_f32": narrow,
        "export_s": exporting - start,
        "import_s": importing - exporting,
        "compile_s": done - importing,
        "parameters": sum(p.numel() for p in built.parameters()),
        "ops": sum(1 for _ in module.program.module.walk()),
    }


def _across_kinks(built: Any, wide: Any, inputs: tuple[Any, ...], made: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Errors beside references with elements on the other side of a kink that is within rounding of them, and how many elements."""

    def as_arrays(run: dict[str, Any]) -> dict[str, Any]:
        return {n: x.detach().double().numpy() for n, x in run.items()}

    def run_wide(model: Any) -> dict[str, Any]:
        return as_arrays(gradients_of(model, tuple(x.double() if x.is_floating_point() else x for x in inputs)))

    def run_narrow(model: Any) -> dict[str, Any]:
        return as_arrays(gradients_of(model, inputs))

    figures: dict[str, Any] = {}
    for name, gradients in made.items():
        least, count = kinks.explained(wide, built, run_wide, run_narrow, lambda reference, gradients=gradients: error(gradients, reference))
        figures[f"{name}_beside_kinks"], figures[f"{name}_kinks"] = least, count
    return figures


def timed(model: Model, threads: int, seconds: float, compiling: bool) -> dict[str, Any]:
    """Seconds for a loss and all gradients in f32, interleaved: ours, PyTorch as it is, and ``torch.compile`` if asked for.

    The clock is processor time on one thread, and the wall on several. Compile times are by the wall: ours is that of the first call.
    """
    torch.set_num_threads(threads)
    pool.set_threads(threads)
    built, inputs = make(model)
    module = wg.from_torch(torch.export.export(built, inputs), seed=0)
    calls = {"ours": lambda: module.value_and_grad(*inputs), "eager": lambda: gradients_of(built, inputs)}
    figures: dict[str, Any] = {"threads": threads}
    if compiling:
        faster = torch.compile(built)
        calls["compiled"] = lambda: gradients_of(faster, inputs)
    for name, call in calls.items():
        start = time.perf_counter()
        call()
        figures[f"{name}_first_s"] = time.perf_counter() - start
    times = interleaved(list(calls.values()), seconds, clock=time.process_time if threads == 1 else time.perf_counter)
    return {**figures, **{f"{name}_s": t.least for name, t in zip(calls, times, strict=True)}}


def verdict(figures: dict[str, Any], precision: str) -> str:
    """In a word. An error that elements within rounding of an activation's kink explain is no one's: "across a kink"."""
    for key, word in (("skipped", "skipped"), ("unmade", "not made"), ("export", "not exported"), ("refused", "refused")):
        if key in figures:
            return word
    limit = max(LIMIT["f32"], 4 * figures["torch"]) if figures["computes_in_f32"] else LIMIT["f64"]
    if figures["ours"] <= limit:
        return "right"
    beside = max(LIMIT["f32"], 4 * min(figures["torch"], figures.get("torch_beside_kinks", figures["torch"])))
    return "across a kink" if figures.get("ours_kinks") and figures["ours_beside_kinks"] <= beside else "WRONG"


def _show_times(model: Model, figures: dict[str, Any], path: Path | None) -> None:
    ours = figures["ours_s"]
    peers = {"PyTorch": figures["eager_s"], **({"torch.compile": figures["compiled_s"]} if "compiled_s" in figures else {})}
    beside = ", ".join(f"{name} {1e3 * t:.2f} ms ({ours / t:.2f} of it)" for name, t in peers.items())
    print(f"{model.name:28} {figures['threads']} threads  {1e3 * ours:.2f} ms, {beside}; first call {figures['ours_first_s']:.1f} s", flush=True)
    _write(path, {"model": model.name, **figures})


def _write(path: Path | None, figures: dict[str, Any]) -> None:
    if path:
        with path.open("a") as file:
            file.write(json.dumps(figures) + "\n")


def main() -> int:
    """Compares models, and writes what came out of each as a line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_models", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="models (all where none is named)")
    parser.add_argument("--dtype", choices=[*DTYPES], action="append")
    parser.add_argument("--speed", type=int, action="append", metavar="THREADS", help="times instead of errors, on this many threads")
    parser.add_argument("--compiled", action="store_true", help="times beside torch.compile too, which takes minutes")
    parser.add_argument("--seconds", type=float, default=3, help="for each side of a time")
    parser.add_argument("--json", type=Path, help="a file to which results are appended, a line each")
    options = parser.parse_args()
    unknown = set(options.names) - {m.name for m in MODELS}
    if unknown:
        parser.error(f"there is no model {', '.join(sorted(unknown))}; there are {', '.join(m.name for m in MODELS)}")
    warnings.simplefilter("ignore")
    chosen = [m for m in MODELS if not options.names or m.name in options.names]
    if options.speed:
        for model in chosen:
            for threads in options.speed:
                _show_times(model, timed(model, threads, options.seconds, options.compiled), options.json)
        return 0
    wrong = 0
    for model in chosen:
        for precision in options.dtype or DTYPES:
            torch.set_num_threads(1)
            figures = compared(model, precision)
            word = verdict(figures, precision)
            wrong += word == "WRONG"
            shown = next(str(value) for value in figures.values())
            if "ours" in figures:
                shown = f"{figures['ours']:.1e} (PyTorch {figures['torch']:.1e}), {figures['import_s']:.0f} + {figures['compile_s']:.0f} s"
            if figures.get("ours_kinks"):
                shown += f"; {figures['ours_beside_kinks']:.1e} with {figures['ours_kinks']} element(s) on the other side of a kink"
            print(f"{model.name:28} {precision}  {word:12} {shown}", flush=True)
            _write(options.json, {"model": model.name, "library": model.library, "dtype": precision, "verdict": word, **figures})
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
