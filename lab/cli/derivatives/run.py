"""``wengert run p.mlir --inputs x.npz -o out.npz``; on many devices ``--devices 4``, or ``mpiexec -n 4 wengert run p.mlir --mpi``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.lab.cli import arguments, many_devices, resuming
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.plain import plain
from wengert.runtime.arguments import bind, describe
from wengert.runtime.resumable.devices import OneDevice
from wengert.runtime.signature import Parameter


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    arguments.add_program(parser)
    arguments.add_inputs(parser)
    arguments.add_backend(parser)
    many_devices.add_devices(parser)
    resuming.add_checkpoints(parser)
    parser.add_argument("-o", "--output", metavar="FILE.npz", help="write the results as out_0, out_1, ... instead of printing them")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--stats", action="store_true", help="print what the backend counted to stderr, as JSON")
    parser.add_argument("--dump-dir", metavar="DIR", help="write the IR after every stage of the compilation")


def execute(options: argparse.Namespace) -> int:
    """Runs the program."""
    resuming.check_checkpoints(options)
    if many_devices.runs_on_many(options):
        given = many_devices.results_on_many(options)
        if given is not None:
            _write(options, *given)
            resuming.remove_checkpoint(options)
        return Exit.OK
    program = arguments.read_program(options)
    inputs = arguments.inputs_of(options, program)
    if options.checkpoint is not None:
        (results,) = resuming.run_resumably(options, program, OneDevice(options.backend), inputs, [bind(program.signature, inputs)], 1)
        _write(options, program.signature.results, results)
        resuming.remove_checkpoint(options)
        return Exit.OK
    compiled = program.compile(options.backend, dump_dir=options.dump_dir)
    _write(options, program.signature.results, compiled(*inputs))
    if options.stats:
        print(json.dumps(plain(compiled.stats), indent=1), file=sys.stderr)
    return Exit.OK


def _write(options: argparse.Namespace, parameters: Sequence[Parameter], results: Sequence[np.ndarray[Any, np.dtype[Any]]]) -> None:
    """Prints the results, or writes them to a file."""
    if options.json:
        print(json.dumps([result_json(p, r) for p, r in zip(parameters, results, strict=True)]))
    elif options.output is None:
        for parameter, result in zip(parameters, results, strict=True):
            print(f"{parameter.label}: {describe(result.shape, result.dtype)}")
            print(np.array2string(result, threshold=64, precision=8, separator=", "))
    if options.output is not None:
        stored: dict[str, Any] = {f"out_{j}": storable(result) for j, result in enumerate(results)}
        np.savez(options.output, **stored)


def result_json(parameter: Parameter, result: np.ndarray[Any, np.dtype[Any]]) -> dict[str, Any]:
    """A result as what JSON holds: numbers that are not finite as text, complex ones as pairs."""
    values: Any = np.stack([np.real(result), np.imag(result)], -1) if result.dtype.kind == "c" else result
    return {"name": parameter.label, "dtype": str(result.dtype), "shape": list(result.shape), "values": plain(storable(values).tolist())}


def storable(array: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """An array in a dtype that .npz keeps: bfloat16 is stored as float32, without loss."""
    return array.astype(np.float32) if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array
