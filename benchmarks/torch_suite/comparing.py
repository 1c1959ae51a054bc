"""PyTorch's test classes and helpers for our tensors: what they compare is given to PyTorch's comparison as its own tensors."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np
import torch

import wengert.eager as eager

DTYPES = {torch.tensor([], dtype=t).numpy().dtype: t for t in (
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128,
)}  # fmt: skip
OURS = {theirs: ours for ours, theirs in DTYPES.items()}


def theirs(value: Any) -> Any:
    """A value with our tensors as PyTorch's, and our dtypes as its dtypes."""
    if isinstance(value, eager.Tensor):
        return torch.from_numpy(np.array(value.detach().numpy()))
    if isinstance(value, np.dtype):
        return DTYPES.get(value, value)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(theirs(v) for v in value)
    if isinstance(value, dict):
        return {k: theirs(v) for k, v in value.items()}
    return value


def ours(value: Any) -> Any:
    """PyTorch's tensors and dtypes as ours."""
    if isinstance(value, torch.Tensor):
        return eager.tensor(value.detach().numpy()).requires_grad_(value.requires_grad)
    if isinstance(value, torch.dtype):
        return OURS[value]
    if isinstance(value, list | tuple):
        return type(value)(ours(v) for v in value)
    return value


def make_tensor(*shape: Any, **keywords: Any) -> Any:
    """``torch.testing.make_tensor``, as a tensor of ours."""
    from torch.testing import make_tensor as make

    return ours(make(*shape, **theirs(keywords)))


def _comparing(base: type) -> type:
    compare: Any = base.assertEqual  # pyright: ignore[reportAttributeAccessIssue]

    class Comparing(base):
        """The test class, whose comparisons take our tensors."""

        def assertEqual(self, x: Any, y: Any, *args: Any, **keywords: Any) -> None:  # noqa: N802
            compare(self, theirs(x), theirs(y), *args, **keywords)

    Comparing.__name__ = base.__name__
    return Comparing


def _of_types(decorator: Any) -> Any:
    """A decorator that takes dtypes, for dtypes of ours: tests are made for PyTorch's and called with ours."""

    @functools.wraps(decorator)
    def taking(*dtypes: Any, **keywords: Any) -> Any:
        def decorated(test: Any) -> Any:
            @functools.wraps(test)
            def run(self: Any, *args: Any, **given: Any) -> Any:
                return test(self, *args, **{k: ours(v) if isinstance(v, torch.dtype) else v for k, v in given.items()})

            return decorator(*theirs(dtypes), **keywords)(run)

        return decorated

    return taking


def names(module: str) -> dict[str, Any]:
    """What stands in the place of PyTorch's in one of its modules for tests."""
    internal: Any = importlib.import_module(module)
    if module.endswith("common_utils"):
        checks = {"gradcheck": eager.autograd.gradcheck, "gradgradcheck": eager.autograd.gradgradcheck}
        return {**checks, "TestCase": _comparing(internal.TestCase)}
    if module.endswith("common_device_type"):
        return {name: _of_types(getattr(internal, name)) for name in ("dtypes", "dtypesIfCUDA", "dtypesIfMPS")}
    if module.endswith("common_methods_invocations"):
        return {"mask_not_all_zeros": lambda shape: ours(internal.mask_not_all_zeros(shape))}
    return {}
