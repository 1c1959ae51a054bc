"""The table of ATen meanings beside the installed PyTorch: schemas, and the types of results that PyTorch infers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import test_torch_library
import test_torch_ops
import test_torch_sampling
from torch_cases import Family, imported
from xdsl.ir import Block

from wengert.dialects.builder import OpBuilder
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.calls import call
from wengert.frontends.aten.meanings import PLACEMENT, Meaning, meanings
from wengert.ir.tensor_types import f32, f64, i64, tensor

FAMILIES = {**test_torch_ops.FAMILIES, **test_torch_library.FAMILIES, **test_torch_sampling.FAMILIES}


def overload(name: str) -> Any:
    packet, _, kind = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), kind)


@pytest.mark.parametrize("name", sorted(meanings()))
def test_schemas_are_those_of_pytorch(name: str) -> None:
    """Names, order, keywords and defaults, but for what says where memory is; defaults of dtypes are None."""
    theirs = [
        (a.name, a.kwarg_only, (None if a.name == "dtype" else a.default_value) if a.has_default_value() else "required")
        for a in overload(name)._schema.arguments
        if a.name not in PLACEMENT
    ]
    ours = [(a.name, a.keyword_only, "required" if a.is_required else a.default) for a in meanings()[name].arguments]
    assert ours == theirs


def _dtype(value: Any) -> Any:
    from wengert.frontends.torch_programs.library import element_of_dtype

    return element_of_dtype(value) if isinstance(value, torch.dtype) else value


@pytest.mark.filterwarnings("ignore:Since version 1.3.0, affine_grid", "ignore:A window was not provided", "ignore:stft with return_complex=False")
@pytest.mark.parametrize("family", FAMILIES)
def test_types_of_results_are_those_of_pytorch(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of the table infer the types that PyTorch has inferred for the nodes of an export."""
    compared: list[str] = []
    apply = Meaning.apply

    def checked(meaning: Meaning, builder: AtenBuilder, given: Mapping[str, Any]) -> Any:
        if meaning.results is not None:
            known = {name: _dtype(value) for name, value in given.items()}
            assert list(meaning.results(known)) == [t for t in builder.types if t is not None], (meaning.name, known)
            compared.append(meaning.name)
        return apply(meaning, builder, given)

    monkeypatch.setattr(Meaning, "apply", checked)
    cases = FAMILIES[family]
    imported(Family(cases), *[x for case in cases for x in case.inputs])
    assert compared


def test_every_meaning_can_be_called_without_pytorch() -> None:
    assert [name for name, meaning in meanings().items() if meaning.results is None] == []


def test_a_call_without_pytorch_infers_types() -> None:
    b = OpBuilder(block := Block(arg_types=[tensor((2, 3), f32), tensor((3,), i64), tensor((), f64)]))
    x, i, s = block.args
    assert call(b, "add.Tensor", x, i, alpha=2).type == tensor((2, 3), f32)
    assert call(b, "mul.Tensor", x, s).type == tensor((2, 3), f32)
    assert call(b, "div.Tensor", i, 2).type == tensor((3,), f32)
    assert call(b, "div.Tensor", i, 2, default=f64).type == tensor((3,), f64)
    assert call(b, "sum.dim_IntList", i, None).type == tensor((), i64)
    assert [v.type for v in call(b, "max.dim", x, 1, keepdim=True)] == [tensor((2, 1), f32), tensor((2, 1), i64)]


@pytest.mark.parametrize(
    ("name", "args", "keywords", "message"),
    [
        ("ad.Tensor", (), {}, "has no meaning"),
        ("add.Tensor", (1, 2, 3), {}, "takes 2 positional arguments, got 3"),
        ("add.Tensor", (1,), {}, "needs the argument 'other'"),
        ("add.Tensor", (1, 2), {"beta": 1}, "takes no argument 'beta'"),
    ],
)
def test_wrong_calls(name: str, args: Any, keywords: Any, message: str) -> None:
    with pytest.raises((KeyError, TypeError), match=message):
        call(OpBuilder(Block()), name, *args, **keywords)
