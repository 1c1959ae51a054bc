"""Findings on disk: a folder for each fault, with what reproduces it."""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np

from fuzz.generator import Program
from fuzz.trial import Finding


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


def load(folder: Path) -> Program:
    """The program of a finding."""
    text = (folder / "program.mlir").read_text()
    with np.load(folder / "inputs.npz") as arrays:
        inputs = [arrays[f"arg{i}"] for i in range(len(arrays.files) - 2)]
        smooth, seed = bool(arrays["smooth"]), int(arrays["seed"])
    from wengert import parse

    expected = [a.dtype for a in parse(text).signature.arguments]
    return Program(text, tuple(x.view(d) if x.dtype != d else x for x, d in zip(inputs, expected, strict=True)), None if seed < 0 else seed, smooth)


def _storable(x: np.ndarray) -> np.ndarray:
    """16-bit brain floats as integers of their bits: npz files have no name for them."""
    return x.view(np.uint16) if x.dtype == ml_dtypes.bfloat16 else x
