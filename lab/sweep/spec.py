"""A sweep as a file: ``wengert sweep spec.toml``.

.. code-block:: toml

    program = "model.py:layer"      # or "p.mlir"; relative to this file; or a list of several
    shapes = "nxd,d"                # where the command line would have --shapes
    measure = true
    records = "layer.db"
    pipeline = ["cse,dce", "fuse"]  # each of several in turn; one as a text
    dask = true                     # or "tcp://host:8786"

    [over]
    n = "2..4096"
    d = [16, 64]
    mode = ["forward", "reverse"]

Every option of the command line may stand in it, by its name; what the command line gives comes before what the file says.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from wengert.ir.diagnostics import did_you_mean
from wengert.lab.sweep.axes import Axis, axis
from wengert.lab.sweep.cluster.client import LOCAL
from wengert.runtime.errors import InputError

KINDS: dict[str, tuple[type, ...]] = {
    "program": (str, list),
    "shapes": (str,),
    "dtype": (str,),
    "entry": (str,),
    "wrt": (list,),
    "of": (list,),
    "measure": (bool,),
    "rounds": (int,),
    "budget": (int, float),
    "seed": (int,),
    "backend": (str,),
    "pipeline": (str, list),
    "records": (str,),
    "resume": (bool,),
    "dask": (bool, str),
    "plot": (str,),
    "figure": (list, str),
    "jobs": (int,),
    "timeout": (int, float),
}
"""The options, and what they are in the file."""
_FILES = ("records", "plot")


@dataclass(frozen=True)
class Spec:
    """The contents of a sweep's file: the programs, the axes, and values of options by name."""

    programs: tuple[str, ...]
    axes: tuple[Axis, ...]
    options: dict[str, Any] = field(default_factory=dict[str, Any])


def read_spec(path: str) -> Spec:
    """The sweep that a file describes. Raises InputError, with the place where there is one, and OSError."""
    try:
        fields = tomllib.loads(Path(path).read_text())
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason}") from None
    over = fields.pop("over", {})
    if not isinstance(over, dict):
        raise InputError(f"{path}: over is a table, as in [over] and n = '2..4096'")
    for name, value in fields.items():
        _check(path, name, value)
    if "program" not in fields:
        raise InputError(f"{path} names no program: program = 'model.py:layer', or 'p.mlir'")
    folder = Path(path).parent
    axes = tuple(axis(name, values) for name, values in cast("dict[str, Any]", over).items())
    if "pipeline" in fields:
        fields["pipeline"] = tuple(dict.fromkeys(_texts(path, "pipeline", fields["pipeline"])))
    if isinstance(fields.get("dask"), bool):
        fields["dask"] = LOCAL if fields["dask"] else None
    options = {name: str(folder / value) if name in _FILES else value for name, value in fields.items() if name != "program"}
    return Spec(tuple(_beside(folder, program) for program in _texts(path, "program", fields["program"])), axes, options)


def _texts(path: str, name: str, value: str | list[Any]) -> list[str]:
    """One text or several; raises InputError for a list of something else, or of nothing."""
    values: list[Any] = [value] if isinstance(value, str) else value
    if not values or not all(isinstance(one, str) for one in values):
        raise InputError(f"{path}: {name} is a text or a list of texts, found {value!r}")
    return values


def _check(path: str, name: str, value: Any) -> None:
    if name not in KINDS:
        raise InputError(f"{path} has an option {name!r}, which there is not; {did_you_mean(name, [*KINDS, 'over']) or 'there are: ' + ', '.join(KINDS)}")
    if not isinstance(value, KINDS[name]) or (isinstance(value, bool) and bool not in KINDS[name]):
        words = {str: "a text", list: "a list", bool: "true or false", int: "a number", float: "a number"}
        raise InputError(f"{path}: {name} is {words[KINDS[name][0]]}, found {value!r}")


def _beside(folder: Path, program: str) -> str:
    """The program, a file of which is beside the spec; a module is where Python finds it."""
    where, colon, name = program.rpartition(":")
    if program.endswith(".mlir"):
        return str(folder / program)
    return f"{folder / where}{colon}{name}" if where.endswith(".py") else program
