"""Running the same code on PyTorch and on wengert.eager, and comparing what comes out.

Most of it is in snippets: functions that take the namespace T, which is torch or wengert.eager, and return what is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import wengert.eager as eager

torch.set_num_threads(1)

Snippet = Callable[[Any], Any]


class Snippets(list[Snippet]):
    """The snippets of a file; as a decorator it adds one."""

    def __call__(self, function: Snippet) -> Snippet:
        self.append(function)
        return function


def leaf(T: Any, *values: float) -> Any:
    return T.tensor(list(values), requires_grad=True)


ERRORS = [
    ("backward through the graph a second time", "FreedTapeError"),
    ("modified by an inplace operation", "ModifiedError"),
    ("grad can be implicitly created only for scalar", "NonScalarError"),
    ("grad can be implicitly created only for real scalar", "NonScalarError"),
    ("A view was created in inference mode", "InPlaceError"),
    ("Inplace update to inference tensor outside InferenceMode", "InPlaceError"),
    ("This view was created inside a custom Function", "InPlaceError"),
    ("does not require grad and does not have a grad_fn", "NotTrackedError"),
    ("One of the differentiated Tensors does not require grad", "NotTrackedError"),
    ("cannot register a hook on a tensor that doesn't require gradient", "NotTrackedError"),
    ("can't retain_grad on Tensor that has requires_grad=False", "NotTrackedError"),
    ("post accumulate grad hooks cannot be registered on non-leaf", "NotTrackedError"),
    ("leaf Variable that requires grad is being used in an in-place", "LeafModifiedError"),
    ("leaf Variable that requires grad has been used in an in-place", "LeafModifiedError"),
    ("appears to not have been used in the graph", "UnusedInputError"),
    ("Inference tensors cannot be saved for backward", "InferenceTensorError"),
    ("view of a leaf Variable that requires grad is being used in an in-place", "LeafModifiedError"),
    ("is a view and is being modified inplace", "InPlaceError"),
    ("is a view of a leaf", "InPlaceError"),
    ("A view was created in no_grad mode and is being modified inplace", "InPlaceError"),
    ("more than one element of the written-to tensor", "InPlaceError"),
    ("can't be cast to the desired output type", "InPlaceError"),
    ("doesn't match the broadcast shape", "InPlaceError"),
    ("Mismatch in shape: grad_output", "ShapeError"),
    ("must match the size of tensor", "ShapeError"),
    ("size mismatch", "ShapeError"),
    ("shapes cannot be multiplied", "ShapeError"),
    ("is out of bounds for dimension", "IndexError"),
    ("Index tensor must have the same number of dimensions", "ShapeError"),
    ("Size does not match at dimension", "ShapeError"),
    ("Expected index", "ShapeError"),
    ("Expected dtype int32/int64 for index", "ShapeError"),
    ("Expected self.dtype to be equal to src.dtype", "ShapeError"),
    ("must have the same scalar type", "ShapeError"),
    ("should be equal to source.size", "ShapeError"),
    ("selected index k out of range", "ShapeError"),
    ("input tensor must have at least 2 dimensions", "ShapeError"),
    ("einsum(): ", "ShapeError"),
    ("returned nan values", "AnomalyError"),
    ("non-empty 3D or 4D", "ShapeError"),
    ("Expected 3D or 4D", "ShapeError"),
    ("Output size is too small", "ShapeError"),
    ("pad should be at most half", "ShapeError"),
    ("is invalid for input of size", "ShapeError"),
    ("view size is not compatible", "ShapeError"),
    ("Recomputed values for the following tensors have different metadata", "CheckpointError"),
    ("A different number of tensors was saved during the original forward and recomputation", "CheckpointError"),
    ("marked with @once_differentiable", "AutogradError"),
    ("only Tensors of floating point", "AutogradError"),
    ("Can't call numpy() on Tensor that requires grad", "AutogradError"),
    ("Boolean value of Tensor with more than one value is ambiguous", "AutogradError"),
    ("returned an incorrect number of gradients", "AutogradError"),
    ("you can only change requires_grad flags of leaf", "AutogradError"),
]
"""What PyTorch's messages say, and which of our classes says it."""


def kind_of_error(action: Callable[[], Any]) -> str:
    """The class of the error that the action ends with, in our words; "none" if it does not."""
    try:
        action()
    except eager.PositionError:
        return "IndexError"
    except eager.AutogradError as error:
        return type(error).__name__
    except (RuntimeError, IndexError, TypeError) as error:
        for text, name in ERRORS:
            if text in str(error):
                return name
        return "IndexError" if isinstance(error, IndexError) else f"unknown: {error}"
    return "none"


def graph(tensor: Any) -> Any:
    """The graph of gradients under a tensor, as nested tuples of names and numbers."""

    def node(function: Any, number: int) -> Any:
        if function is None:
            return None
        name = function.name().rpartition(":")[2].replace("ReshapeAlias", "View")
        return (name, number, *(node(f, n) for f, n in function.next_functions))

    return "leaf" if tensor.grad_fn is None else node(tensor.grad_fn, tensor.output_nr)


def plain(value: Any) -> Any:
    """Tensors as arrays, whatever they are nested in."""
    if isinstance(value, torch.Tensor | eager.Tensor):
        return value.detach().numpy().copy()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def compare(actual: Any, expected: Any, tolerance: float, path: str = "result") -> None:
    """Fails with the place where two results differ."""
    if isinstance(expected, np.ndarray | float | np.generic):
        assert np.shape(actual) == np.shape(expected), path
        if isinstance(expected, np.ndarray):
            assert actual.dtype == expected.dtype, path
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance, err_msg=path)
    elif isinstance(expected, list):
        assert len(actual) == len(expected), path
        for i, (f, e) in enumerate(zip(actual, expected, strict=True)):
            compare(f, e, tolerance, f"{path}[{i}]")
    else:
        assert actual == expected, path


def agree(snippet: Callable[[Any], Any], tolerance: float = 1e-6) -> None:
    """Runs a snippet on both and compares."""
    expected = plain(snippet(torch))
    compare(plain(snippet(eager)), expected, tolerance)
