"""Models of other libraries beside PyTorch: values and gradients by all parameters, in double precision (``python -m benchmarks.torch_models`` has more)."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("torch")

from benchmarks.torch_library.catalogue import MODELS
from benchmarks.torch_models import compared, verdict

SMALL = ("GPT2LMHeadModel", "LlamaForCausalLM", "T5ForConditionalGeneration", "BertForMaskedLM", "MlpMixer (timm)", "vision_transformer", "swin_transformer")


@pytest.mark.parametrize("name", SMALL)
def test_model(name: str) -> None:
    model = next(m for m in MODELS if m.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = compared(model, "f64")
    if "skipped" in figures:
        pytest.skip(f"{model.library} cannot be imported ({figures['skipped']}): pip install 'wengert[torch-models]'")
    assert verdict(figures, "f64") == "right", figures


def test_names_are_unique() -> None:
    names = [m.name for m in MODELS]
    assert len(set(names)) == len(names) >= 45
