"""Every function of the standard over dtypes, special values and shapes: at once as array-api-strict, traced as at once, gradients as differences.

A third of the functions each day on the interpreter, and another share on the CPU backend; all with WENGERT_TEST_ALL=1.
"""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import pytest

strict = pytest.importorskip("array_api_strict", reason="the standard's reference implementation")
from benchmarks.array_api import __main__ as command
from benchmarks.array_api.table import ENTRIES, Row, row
from reference_programs import share

import wengert.numpy as wnp

strict.set_array_api_strict_flags(api_version="2024.12")


def run(entry: Any, backend: str) -> Row:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return row(entry, backend, strict)


@pytest.mark.parametrize("entry", share(ENTRIES, 3), ids=lambda entry: entry.name)
def test_function(entry: Any) -> None:
    result = run(entry, "interpreter")
    assert result.failures == []
    assert result.at_once.passed + len(result.at_once.known) == result.at_once.total > 0
    shown = next(line for line in command.DOCUMENT.read_text().splitlines() if line.startswith(f"| `{entry.name}` |"))
    assert shown == f"| {' | '.join(result.cells())} |", "run: python -m benchmarks.array_api --write"


@pytest.mark.parametrize("entry", share(ENTRIES[::-1], 9), ids=lambda entry: entry.name)
def test_compiled_function(entry: Any) -> None:
    assert run(entry, "cpu").failures == []


def test_the_table_has_every_function_of_the_standard() -> None:
    names = {
        n for n in strict.__all__ if callable(getattr(strict, n)) and not isinstance(getattr(strict, n), type) and "flags" not in n and not n.startswith("_")
    }
    names |= {f"{extension}.{n}" for extension in ("linalg", "fft") for n in getattr(strict, extension).__all__}
    without_operands = {"Device", "from_dlpack", "bool"} | {"broadcast_shapes", "isin"}  # the latter two are of version 2025.12
    assert names - {entry.name for entry in ENTRIES} - without_operands - {n for n in names if re.fullmatch(r"u?int\d+|float\d+|complex\d+", n)} == set()


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["array_api", "square", "unique_counts"])
    with warnings.catch_warnings():
        assert command.main() == 0
    output = capsys.readouterr().out
    assert "| `unique_counts` | 26 | refused |  | the shape of the result depends on the elements of a traced array |" in output
    assert re.search(r"2 functions; calls that agree: \d+ of \d+ at once", output)
    monkeypatch.setattr("sys.argv", ["array_api", "sqware"])
    with pytest.raises(SystemExit):
        command.main()
    assert "the standard has no function sqware" in capsys.readouterr().err


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


@pytest.mark.parametrize("extension", ["", "linalg", "fft"])
def test_arguments_have_the_names_and_places_of_the_standard(extension: str) -> None:
    """What is positional in the standard is at the same place, and what has a name has it and its default."""
    theirs, ours = (getattr(n, extension) if extension else n for n in (strict, wnp))
    names = [n for n in theirs.__all__ if inspect.isfunction(getattr(theirs, n)) and "flags" not in n and not n.startswith("_")]
    assert len(names) > 12
    for name in names:
        wanted, given = parameters(getattr(theirs, name)), parameters(getattr(ours, name))
        for place, (key, parameter) in enumerate(wanted.items()):
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                assert list(given)[place] == key or list(given.values())[place].kind is inspect.Parameter.POSITIONAL_ONLY, (name, key)
            elif parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
                assert key in given, (name, key)
                assert given[key].kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD), (name, key)
                if isinstance(parameter.default, str | int | float | None) and (name, key) != ("expand_dims", "axis"):
                    assert given[key].default == parameter.default, (name, key)


@pytest.mark.parametrize(
    "create", [lambda d: wnp.zeros(3, device=d), lambda d: wnp.asarray([1.0], device=d), lambda d: wnp.astype(wnp.ones(1), wnp.float32, device=d)]
)
def test_the_only_device_is_the_cpu(create: Any) -> None:
    assert create("cpu").device == create(None).device == "cpu"
    with pytest.raises(ValueError, match="there is no device 'gpu', only 'cpu'"):
        create("gpu")
