"""VJPs have no more collectives than JAX's: of the reference programs, if WENGERT_CORPUS has them, with the text that JAX has written for its own."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from collective_counts import Count, collectives, more, on_devices
from reference_programs import CORPUS, needs_corpus, share

import wengert as wg

ROOT = CORPUS / "spmd"
NAMES = sorted(path.parent.name for path in ROOT.glob("*/f64.jax_vjp.mlir"))


@needs_corpus
@pytest.mark.parametrize("name", share(NAMES, 6))
def test_a_vjp_has_no_more_collectives_than_the_one_of_jax(name: str) -> None:
    folder = ROOT / name
    wrt, of, text = positions(folder, "vjp"), positions(folder, "cot"), (folder / "f64.mlir").read_text()
    whole, theirs = wg.spmd(wg.parse(text)), count_of_jax(text, (folder / "f64.jax_vjp.mlir").read_text())
    for strategy in ("transpose", "direct"):
        ours = on_devices(whole.vjp(wrt=wrt, of=of, strategy=strategy))
        assert not more(ours, theirs), f"{ours} by {strategy}, JAX has {theirs}"


def positions(folder: Path, kind: str) -> tuple[int, ...]:
    """The arguments, or the results, of which there are arrays of a kind."""
    with np.load(folder / "f64.npz") as archive:
        return tuple(sorted(int(key.rpartition("_")[2]) for key in archive.files if re.fullmatch(rf"{kind}_\d+", key)))


def count_of_jax(primal: str, derivative: str) -> Count:
    """The collectives of JAX's derivative: those in its text; where that has annotations only, those that Shardy's passes give it, with results split as
    the program has them, which JAX does not write."""
    if "sdy.manual_computation" in derivative:
        return collectives(wg.parse(derivative).module)
    for result, sharding in re.findall(r'(jax\.result_info = "[^"]*"), (sdy\.sharding = #sdy\.sharding<[^>]*>)', primal):
        derivative = derivative.replace(result + "}", f"{result}, {sharding}}}")
    return on_devices(wg.spmd(wg.parse(derivative)))
