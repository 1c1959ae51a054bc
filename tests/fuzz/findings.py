"""Findings on disk: a folder for each fault, with what reproduces it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from fuzz.generator import Program
from fuzz.trial import Finding
from wengert import parse


def signature(finding: Finding, program: Program) -> str:
    """What two findings of the same fault have in common: the check, what it says, and the ops of the reduced program."""
    ops = sorted(set(re.findall(r"\b(?:stablehlo|chlo|func)\.(?!return|constant|func)(\w+)", program.text)))
    return f"{finding.fault} [{' '.join(ops)}]"


def save(folder: Path, finding: Finding, program: Program) -> Path:
    """Writes program.mlir, inputs.npz and about.txt, which holds the command that shows the fault again."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.mlir").write_text(program.text)
    arrays = {f"arg{i}": _storable(np.asarray(x)) for i, x in enumerate(program.inputs)}
    np.savez(folder / "inputs.npz", **arrays, smooth=np.array(program.smooth), seed=np.array(-1 if program.seed is None else program.seed))
    about = f"seed {program.seed}\ncheck {finding.check}\n{finding.what}\n{finding.details}\n\nPYTHONPATH=tests python -m fuzz --replay {folder} --check {finding.check}\n"
    (folder / "about.txt").write_text(about)
    return folder


def annotated(program: Program) -> str:
    """The text with its inputs as comments, for small programs that are kept: see ``reduced/``."""
    rows = [json.dumps(_plain(np.asarray(x))) for x in program.inputs]
    return "".join(f"// input {row}\n" for row in rows) + program.text


def _plain(x: np.ndarray) -> Any:
    if x.dtype.kind == "c":
        return [_plain(x.real), _plain(x.imag)]
    return (x if x.dtype.kind in "iub" else x.astype(np.float64)).tolist()


def read_annotated(path: Path) -> Program:
    """A program with its inputs as comments."""
    text = path.read_text()
    rows = [json.loads(line.removeprefix("// input ")) for line in text.splitlines() if line.startswith("// input ")]
    inputs: list[np.ndarray] = []
    for row, argument in zip(rows, parse(text).signature.arguments, strict=True):
        part = np.float64 if argument.dtype.kind in "cfV" else argument.dtype
        array = np.array(row, part).reshape(((2,) if argument.dtype.kind == "c" else ()) + argument.shape)
        inputs.append(array[0] + 1j * array[1] if argument.dtype.kind == "c" else array)
        inputs[-1] = np.asarray(inputs[-1]).astype(argument.dtype)
    return Program(text, tuple(inputs))


def load(folder: Path) -> Program:
    """The program of a finding."""
    if folder.is_file():
        return read_annotated(folder)
    text = (folder / "program.mlir").read_text()
    with np.load(folder / "inputs.npz") as arrays:
        inputs = [arrays[f"arg{i}"] for i in range(len(arrays.files) - 2)]
        smooth, seed = bool(arrays["smooth"]), int(arrays["seed"])
    expected = [a.dtype for a in parse(text).signature.arguments]
    return Program(text, tuple(x.view(d) if x.dtype != d else x for x, d in zip(inputs, expected, strict=True)), None if seed < 0 else seed, smooth)


def _storable(x: np.ndarray) -> np.ndarray:
    """16-bit brain floats as integers of their bits: npz files have no name for them."""
    return x.view(np.uint16) if x.dtype == ml_dtypes.bfloat16 else x
