"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, Protocol

from wengert.ir.byte_counts import byte_count
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.sources import read_standard_input
from wengert.lab.cli.usage import check_choice
from wengert.lab.inputs import Array, random_inputs, read_inputs, read_point, shaped
from wengert.runtime.backends import BACKENDS, unknown_backend
from wengert.runtime.bytecode import program_text
from wengert.runtime.loading import load, parse
from wengert.runtime.program import Program
from wengert.transforms.shapes.argument_shapes import Shape, read_shape


class Printable(Protocol):
    """A result that commands print as text or as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        ...


def integers(text: str) -> tuple[int, ...]:
    """``0,2,3`` as a tuple."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected integers separated by commas, found {text!r}") from None


def names(text: str) -> tuple[str, ...]:
    """``a,b`` as a tuple."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def positive(text: str) -> int:
    """A whole number above zero."""
    value = int(text) if text.lstrip("+-").isdigit() else 0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"expected a positive integer, found {text!r}")
    return value


def byte_amount(text: str) -> int:
    """``64MB`` as a number of bytes."""
    try:
        return byte_count(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def backend(text: str) -> str:
    """The name of a backend."""
    if text not in BACKENDS:
        raise argparse.ArgumentTypeError(str(unknown_backend(text)))
    return text


def add_backend(parser: argparse.ArgumentParser, what: str = "what runs it") -> None:
    """Adds the option that chooses a backend."""
    known = f"{', '.join(BACKENDS[1:-1])} or {BACKENDS[-1]}"
    parser.add_argument("--backend", type=backend, default="cpu", metavar="NAME", help=f"{what}: cpu (default), {known}")


def add_program(parser: argparse.ArgumentParser, shapes: Callable[[str], Any] | None = None, shapes_help: str = "") -> None:
    """The program's file and entry. A command whose shapes may say more reads them by itself."""
    parser.add_argument("program", metavar="PROGRAM.mlir", help="StableHLO text, pretty or generic; - for stdin")
    parser.add_argument("--entry", default="main", metavar="NAME", help="the function to start at (default: main)")
    parser.add_argument(
        "--shapes",
        type=shapes or static_shapes,
        metavar="2x3,keep,4",
        help=f"the shape of each argument of a program that leaves extents open; 'keep' for one whose type says it; inputs tell them too{shapes_help}",
    )


def add_positions(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose the arguments and results of a derivative."""
    parser.add_argument("--wrt", type=integers, metavar="I,J", help="positions of the arguments to differentiate by (default: every float or complex one)")
    parser.add_argument("--of", type=integers, metavar="I,J", help="positions of the results to differentiate (default: every float or complex one)")


def add_strategy(parser: argparse.ArgumentParser) -> None:
    """Adds the option that chooses how derivatives are made."""
    parser.add_argument(
        "--strategy", default="transpose", metavar="NAME", help="how derivatives are made: transpose (default), direct, or one that --load brings"
    )


def check_strategy(options: argparse.Namespace) -> None:
    """Raises a UsageError, which lists them, for strategies that are not known."""
    from wengert.transforms.ad.strategies import strategy_names

    check_choice(options, "strategy", (options.strategy,) if isinstance(options.strategy, str) else options.strategy, strategy_names())


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say where the inputs come from."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--inputs", metavar="FILE.npz", help="arrays under the keys in_0, in_1, ... (or arg0, arr_0, or the arguments' names)")
    group.add_argument("--random", type=int, metavar="SEED", help="draw inputs: standard normal floats, integers in [0, 4)")


def static_shapes(text: str) -> tuple[Shape | None, ...]:
    """``2x3,keep,4`` as (2, 3), None, (4,)."""
    try:
        return tuple(read_shape(part) for part in text.split(","))
    except DiagnosticError as error:
        raise argparse.ArgumentTypeError(f"{error.diagnostic.message}; {error.diagnostic.hint}") from None


def read_program(options: argparse.Namespace) -> Program:
    """The program that the command names, for the shapes that it gives."""
    if options.program == "-":
        program = parse(program_text(read_standard_input(), "<stdin>"), "<stdin>", entry=options.entry)
    else:
        program = load(options.program, entry=options.entry)
    return program if options.shapes is None else program.specialize(*options.shapes)


def inputs_of(options: argparse.Namespace, program: Program, default_seed: int = 0) -> list[Array]:
    """The inputs that the command names; drawn at random where it names none, which is said."""
    if options.inputs is None:
        program = shaped(program)
    if options.inputs is not None:
        return read_inputs(options.inputs, program.signature)
    return _drawn(options, program, default_seed)


def point_of(options: argparse.Namespace, program: Program, default_seed: int = 0) -> list[Array]:
    """The same for a program or a derivative at the inputs of its program: tangents and cotangents that are not given are ones, which is said."""
    if options.inputs is None:
        return _drawn(options, shaped(program), default_seed)
    arrays, ones = read_point(options.inputs, program.signature)
    if ones:
        print(f"{', '.join(ones)}: not in {options.inputs}, taken to be ones", file=sys.stderr)
    return arrays


def _drawn(options: argparse.Namespace, program: Program, default_seed: int) -> list[Array]:
    seed = options.random if options.random is not None else default_seed
    if options.random is None and program.signature.arguments:
        print(f"no inputs are given: drawn at random with seed {seed}", file=sys.stderr)
    return random_inputs(program.signature, seed)
