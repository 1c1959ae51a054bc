"""``vmap``: a function of one batch element for many, as ``ad.batch`` of it written privately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.dialects import ad
from wengert.frontends.pytrees import flatten, spread
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.function import Call, name_of, write_function
from wengert.frontends.tracing.operands import listed
from wengert.frontends.tracing.signatures import ArraySpec
from wengert.frontends.transforms.derivatives import Transform
from wengert.frontends.transforms.emission import for_user, request
from wengert.frontends.transforms.jit import Function
from wengert.ir.tensor_types import element_of, tensor


def vmap(function: Function, in_axes: Any = 0, out_axes: Any = 0, *, axis_size: int | None = None) -> Transform:
    """A function of many batch elements: it is applied to each, but batched operations are made, no loop.

    Args:
        function: takes and returns trees of arrays.
        in_axes: the dimension of the arguments that holds the batch elements: one for all, or a tuple with one for each argument, which may
            be a tree itself; None for an argument that is the same for all. Arguments passed by name hold them in dimension 0.
        out_axes: the same for the result; None only for what does not depend on the batch element.
        axis_size: the number of batch elements, where no argument holds them.

    Raises (when called):
        TracedValueError: the axes do not fit the arguments, or these hold different numbers of batch elements.
    """

    def batched(*args: Any, **kwargs: Any) -> Any:
        axes = _in_axes(function, in_axes, args) + [0] * len(flatten(kwargs)[0])
        call = Call(function, args, kwargs)
        starts = [_axis(axes[i], call.specs[p]) for p, i in enumerate(call.positions)]
        size = _size(function, call, starts, axis_size)
        inner = [
            spec if a is None else ArraySpec(spec.shape[:a] + spec.shape[a + 1 :], spec.dtype, spec.weak) for spec, a in zip(call.specs, starts, strict=True)
        ]
        written = write_function(call.body, name_of(function), inner)
        assert call.out_spec is not None
        ends = [_out_axis(a, spec) for a, spec in zip(_out_axes(out_axes, call), call.results, strict=True)]
        types = [
            tensor((*spec.shape[:a], size, *spec.shape[a:]) if a is not None else spec.shape, element_of(spec.dtype))
            for spec, a in zip(call.results, ends, strict=True)
        ]
        signed = [-1 if a is None else a for a in starts]
        operands = call.operands()
        if all(a is None for a in starts) and all(a is None for a in ends):
            raise value_error(f"vmap of {name_of(function)}: neither an argument nor a result holds batch elements")
        batched_results = request(
            ad.BatchOp,
            written,
            [*operands, *written.captures],
            types,
            in_axes=[*signed, *[-1] * len(written.captures)],
            out_axes=[-1 if a is None else a for a in ends],
        )
        return call.result(for_user(batched_results))

    batched.__name__, batched.__doc__ = f"batch_of_{name_of(function)}", f"{name_of(function)} for many batch elements."
    batched.__wrapped__ = function  # pyright: ignore[reportFunctionMemberAccess]
    return Transform(batched)


def _in_axes(function: Function, in_axes: Any, args: tuple[Any, ...]) -> list[int | None]:
    """The dimension for each leaf of the arguments."""
    prefix: Any = listed(in_axes) if isinstance(in_axes, Sequence) else in_axes
    if isinstance(in_axes, Sequence) and len(listed(prefix)) != len(args):
        raise value_error(f"vmap of {name_of(function)}: in_axes has {len(listed(prefix))} entries for {len(args)} arguments")
    try:
        return spread(prefix, args)
    except ValueError as error:
        raise value_error(f"vmap of {name_of(function)}: in_axes must be a prefix of the arguments: {error}") from None


def _out_axes(out_axes: Any, call: Call) -> list[int | None]:
    try:
        return spread(out_axes, call.result(call.results))
    except ValueError as error:
        raise value_error(f"vmap of {name_of(call.function)}: out_axes must be a prefix of the result: {error}") from None


def _axis(axis: Any, spec: ArraySpec) -> int | None:
    if axis is None:
        return None
    if not isinstance(axis, int):
        raise type_error(f"in_axes holds dimensions or None, found {axis!r}")
    if not -len(spec.shape) <= axis < len(spec.shape):
        raise value_error(
            f"in_axes: axis {axis} is out of range for rank {len(spec.shape)} of an argument of {spec}", "use None in in_axes for what is the same for all"
        )
    return axis % len(spec.shape)


def _out_axis(axis: Any, spec: ArraySpec) -> int | None:
    if axis is None:
        return None
    rank = len(spec.shape) + 1
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise value_error(f"out_axes: axis {axis!r} is out of range for rank {rank} of a result of {spec} with its batch dimension")
    return axis % rank


def _size(function: Function, call: Call, starts: Sequence[int | None], axis_size: int | None) -> int:
    sizes = {spec.shape[a] for spec, a in zip(call.specs, starts, strict=True) if a is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) != 1:
        told = f"found {' and '.join(map(str, sorted(sizes)))}" if sizes else "no argument holds any; say axis_size="
        raise value_error(f"vmap of {name_of(function)} needs one number of batch elements: {told}")
    return sizes.pop()
