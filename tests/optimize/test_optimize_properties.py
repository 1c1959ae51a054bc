"""Random programs keep every bit of their results through each pass, and passes have nothing left to do the second time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bitwise import assert_same_bits, special_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_lines import random_program
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.core.from_core import from_core
from wengert.transforms.core.to_core import to_core
from wengert.transforms.optimize.cse import cse
from wengert.transforms.optimize.dce import dce
from wengert.transforms.optimize.simplify import simplify

ARGUMENTS = [((2, 3), np.dtype(np.float64)), ((3, 1), np.dtype(np.float64)), ((2, 3), np.dtype(np.int32)), ((2, 3), np.dtype(np.bool_))]


def strictly(module: ModuleOp) -> None:
    simplify(module, assume=())


def there_and_back(module: ModuleOp) -> None:
    to_core(module)
    verify(module)
    from_core(module)


def everything(module: ModuleOp) -> None:
    for transform in (to_core, cse, strictly, cse, dce, from_core):
        transform(module)
        verify(module)


PASSES: dict[str, Callable[[ModuleOp], Any]] = {
    "simplify": strictly,
    "cse": cse,
    "dce": dce,
    "to-core": to_core,
    "from-core": from_core,
    "there-and-back": there_and_back,
    "all": everything,
}


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 40))
def test_bits_are_kept(name: str, seed: int, size: int) -> None:
    module = random_program(seed, size, regions=True)
    verify(module)
    before = module.clone()
    PASSES[name](module)
    verify(module)
    for draw in (0, 1):
        inputs = special_inputs(ARGUMENTS, draw)
        for x, y in zip(run(before, inputs), run(module, inputs), strict=True):
            # Which zero is the larger one is left open, so the start of a maximum may decide the sign of a zero.
            assert_same_bits(x, y, signed_zeros=name in ("simplify", "cse", "dce", "from-core"))


@pytest.mark.parametrize("name", ["cse", "dce"])
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 40))
def test_nothing_is_left_to_do(name: str, seed: int, size: int) -> None:
    module = random_program(seed, size, regions=True)
    PASSES[name](module)
    once = print_module(module)
    assert PASSES[name](module) is False
    assert print_module(module) == once


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 40))
def test_no_pass_adds_ops(seed: int, size: int) -> None:
    module = random_program(seed, size)
    for transform in (cse, dce):
        before = sum(1 for _ in module.walk())
        transform(module)
        assert sum(1 for _ in module.walk()) <= before
