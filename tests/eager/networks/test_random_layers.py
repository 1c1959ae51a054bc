"""Layers and losses beside PyTorch's with hyperparameters that are drawn at random: values, gradients, states of modules, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from layer_calls import Call, calls, state_of

import wengert.eager as eager

SEEDS = 12
TOLERANCE = 1e-8


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    before = torch.get_default_dtype(), eager.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    eager.set_default_dtype(eager.float64)
    yield
    torch.set_default_dtype(before[0])
    eager.set_default_dtype(before[1])


def _flat(values: Any) -> list[Any]:
    if isinstance(values, list | tuple):
        return [x for value in values for x in _flat(value)]
    return [values] if hasattr(values, "detach") else []


def _run(T: Any, call: Call, arrays: dict[str, Any], state: dict[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """All values and gradients by name, and the state that a module had before."""
    space = {name: T.tensor(array.tolist(), requires_grad=call.inputs[name].moves) for name, array in arrays.items()}
    space |= {"T": T, "F": T.nn.functional, "N": T.nn}
    before: dict[str, Any] = {}
    if call.module:
        space["m"] = eval(call.module, space)
        before = {name: state_of(value) for name, value in space["m"].state_dict().items()}
        if state is not None:
            space["m"].load_state_dict(state)
    results = _flat(eval(call.line, space))
    moving = [(y * y.detach().cos()).sum() for y in results if y.requires_grad]
    if moving:
        sum(moving[1:], moving[0]).backward()
    seen = {f"result {i}": y.detach().numpy() for i, y in enumerate(results)}
    seen |= {f"input {name}": space[name].detach().numpy() for name in arrays}
    seen |= {f"gradient of {name}": space[name].grad for name in arrays}
    if call.module:
        seen |= {f"gradient of {name}": p.grad for name, p in space["m"].named_parameters()}
        seen |= {f"state {name}": state_of(value) for name, value in space["m"].state_dict().items()}
    return {name: x.numpy() if hasattr(x, "detach") else x for name, x in seen.items()}, before


def _complaint(call: Call, seed: int) -> str:
    rng = np.random.default_rng(seed)
    arrays = {name: np.round(rng.uniform(x.low, x.high, x.extents), 3) for name, x in call.inputs.items()}
    text = f"{call.module} {call.line} of { ({name: x.extents for name, x in call.inputs.items()}) }, seed {seed}"
    torch.manual_seed(seed)
    try:
        expected, state = _run(torch, call, arrays, None)
    except Exception as refusal:
        try:
            _run(eager, call, arrays, None)
        except Exception:
            return ""
        return f"{text}: PyTorch refuses it: {refusal}"
    try:
        actual, _ = _run(eager, call, arrays, state)
    except Exception as error:
        return f"{text}: {error!r}"
    for name, wanted in expected.items():
        got = actual.get(name)
        if wanted is None or got is None:
            if wanted is not None or got is not None:
                return f"{text}: {name} is {got}, expected {wanted}"
        elif got.shape != wanted.shape or got.dtype != wanted.dtype:
            return f"{text}: {name} is {got.dtype}{got.shape}, expected {wanted.dtype}{wanted.shape}"
        elif not np.allclose(got, wanted, rtol=TOLERANCE, atol=TOLERANCE * max(1.0, float(np.abs(wanted).max(initial=0.0))), equal_nan=True):
            return f"{text}: {name} is {got.ravel()[:4]}, expected {wanted.ravel()[:4]}"
    return ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_layers(seed: int) -> None:
    complaints = [text for number, call in enumerate(calls(seed)) if (text := _complaint(call, 1000 * seed + number))]
    assert not complaints, "\n".join(complaints)


def test_a_wrong_layer_is_seen() -> None:
    call = Call("F.relu(x) * (1.0 if T.__name__ == 'torch' else 1.001)", calls(0)[0].inputs)
    assert "result 0" in _complaint(call, 0)
    assert "refuses" in _complaint(Call("T.sin(x) if T.__name__ != 'torch' else x.nothing", calls(0)[0].inputs), 0)
