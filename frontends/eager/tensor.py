"""The tensor of define-by-run code: an array, and its place on the tape.

What has to do with gradients is here. All other methods are functions in files by family, and the end of the class is the list of them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from wengert.eager import library
from wengert.eager.errors import AutogradError, missing
from wengert.eager.gradients import attributes
from wengert.eager.operations import (
    contraction,
    conversion,
    diagonals,
    elementary,
    elementwise,
    indexing,
    joining,
    operators,
    ordering,
    reading,
    reduction,
    scattering,
    shapes,
    tensor_classes,
)
from wengert.eager.operations.memory import complex_views, inplace, layout, updates, views
from wengert.eager.operations.promotion import category
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.program import Array
from wengert.eager.recording.record import AccumulateGrad, Output, Record, Storage, edge

if TYPE_CHECKING:
    from wengert.eager.gradients.hooks import Hook, RemovableHandle


class Tensor:
    """An array that remembers how it was computed.

    Tensors are made by :func:`tensor` and by operations on tensors.

    Attributes:
        array: the elements, as NumPy sees them. Writing to it escapes the tape's notice.
        tracked: whether gradients flow to it, as operations ask; users say :attr:`requires_grad`.
    """

    array: Array
    _grad: Tensor | None = None
    tracked: bool = False
    source: Record | Output | None = None
    """Its place on the tape; None for leaves."""
    storage: Storage | None = None
    view_of: views.View | None = None
    viewers: list[ref[Tensor]] | None = None
    """The views of it."""
    is_inference_tensor: bool = False
    is_parameter: bool = False
    """Whether a module takes it for its parameter."""
    leaf_hooks: list[Hook] | None = None
    accumulate_hooks: list[Callable[[Tensor], Any]] | None = None
    accumulator: AccumulateGrad | ref[AccumulateGrad] | None = None
    """Its node, once somebody has asked for it; weakly unless there are hooks on it."""
    __array_ufunc__ = None
    """Arithmetic with NumPy arrays is that of tensors, on either side."""

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have added up."""
        if STATE.tape is not None:
            STATE.tape.gradient_read(self, self._grad)
        if self._grad is None and self.source is not None:
            attributes.warn_of_nothing(self)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            attributes.check_gradient(self, value)
        if STATE.tape is not None:
            STATE.tape.gradient_set(self)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    gradient_dtype: np.dtype[Any] | None = attributes.OWN
    """The dtype that its gradient is converted to: its own, another, or None for whichever arrives."""
    grad_dtype = property(attributes.grad_dtype, attributes.set_grad_dtype, attributes.refuse_deletion, "The dtype of its gradient.")
    volatile = property(attributes.volatile, doc="False; what switched gradients off before version 0.4 of PyTorch.")
    requires_grad = property(attrgetter("tracked"), lambda x, value: x.requires_grad_(value), attributes.refuse_deletion, "Whether gradients flow to it.")
    _grad_fn = _backward_hooks = property(fdel=attributes.refuse_deletion)

    # -- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self.array.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.array.ndim

    def dim(self) -> int:
        """The number of dimensions."""
        return self.array.ndim

    def size(self, dim: int | None = None) -> Any:
        """The extents, or one of them."""
        return self.array.shape if dim is None else self.array.shape[dim]

    def numel(self) -> int:
        """The number of elements."""
        return self.array.size

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by the user rather than by a recorded operation."""
        return self.grad_fn is None

    @property
    def grad_fn(self) -> Record | None:
        """The node of the graph of gradients that it comes from; None for leaves."""
        if self.view_of is not None:
            self.view_of.refresh(self)
        if self.source is None or not self.tracked:
            return None
        node, _ = edge(self.source)
        return node  # pyright: ignore[reportReturnType]

    @property
    def output_nr(self) -> int:
        """The number of the result of :attr:`grad_fn` that it is."""
        return self.source.number if type(self.source) is Output else 0

    @property
    def _version(self) -> int:
        """The number of times that its memory was changed in place."""
        if self.is_inference_tensor:
            raise AutogradError("tensors made in inference mode have no version counter")
        return 0 if self.storage is None else self.storage.version

    @property
    def _base(self) -> Tensor | None:
        """The tensor that it is a view of."""
        return None if self.view_of is None else self.view_of.base

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self.is_inference_tensor

    def is_floating_point(self) -> bool:
        """Whether its elements are floats."""
        return category(self.array.dtype) == 2 and self.array.dtype.kind != "c"

    def is_complex(self) -> bool:
        """Whether its elements are complex."""
        return self.array.dtype.kind == "c"

    is_contiguous, stride, storage_offset = layout.is_contiguous, layout.stride, layout.storage_offset
    data_ptr, element_size = layout.data_ptr, layout.element_size
    device, layout = layout.CPU, layout.strided
    is_sparse = is_cuda = is_quantized = is_meta = is_mkldnn = False

    def _is_view(self) -> builtins.bool:
        """Whether it shares the memory of another tensor."""
        return self.view_of is not None

    # -- gradients

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        """Adds the gradient of this tensor to ``grad`` of the leaves that it depends on.

        Args:
            gradient: the cotangent of this tensor; may be left out where it has one element.
            retain_graph: keeps what the tape kept, so that it can be run backwards again; by default as ``create_graph``.
            create_graph: records the backward pass itself, so that gradients can be differentiated.
            inputs: the tensors whose ``grad`` is added to; every leaf by default.

        Raises:
            NotTrackedError: nothing that it depends on requires a gradient.
            NonScalarError: it has more than one element, and ``gradient`` was left out.
            FreedTapeError, ModifiedError: what the derivative needs is no longer there, or no longer what it was.
        """
        from wengert.eager.gradients.gradient import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Says whether gradients flow to this leaf."""
        if not self.is_leaf and not requires_grad:
            raise AutogradError("only leaves can be told not to require a gradient; use detach()")
        if requires_grad and not (self.is_floating_point() or self.is_complex()):
            raise AutogradError(f"only Tensors of floating point and complex dtype can require gradients, found {self.array.dtype.name}")
        if requires_grad and self.is_inference_tensor and not STATE.inference:
            raise AutogradError("a tensor made in inference mode cannot require a gradient outside of it; clone() it first")
        self.tracked = bool(requires_grad)
        return self

    def retain_grad(self) -> None:
        """Keeps the gradient of this tensor in ``grad`` though it is not a leaf."""
        from wengert.eager.gradients.hooks import retain_grad

        retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        """Whether :meth:`retain_grad` was called."""
        from wengert.eager.gradients.hooks import retains_grad

        return retains_grad(self)

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Calls ``hook(gradient)`` when this tensor's gradient is known; it may return another in its place."""
        from wengert.eager.gradients.hooks import register_hook

        return register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Calls ``hook(leaf)`` after a backward pass has added to this leaf's ``grad``."""
        from wengert.eager.gradients.hooks import register_post_accumulate_grad_hook

        return register_post_accumulate_grad_hook(self, hook)

    @property
    def data(self) -> Tensor:
        """The same memory, off the tape and without its version counter."""
        if STATE.tape is not None:
            STATE.tape.refuse("data is used, which shares memory without a trace")
        made = dispatch.new(self.array)
        made.storage = dispatch.leave_books(self, Storage())
        return made

    @data.setter
    def data(self, value: Tensor) -> None:
        if STATE.tape is not None:
            STATE.tape.refuse("data is set, which leaves no trace")
        attributes.check_data(self, value)
        self.array = value.array

    @data.deleter
    def data(self) -> None:
        attributes.refuse_deletion(self)

    def draw(self, **options: Any) -> Any:
        """The graph of what was recorded on the way to this tensor, as DOT and SVG: see :func:`wengert.draw`."""
        from wengert.eager.recording.tape import tape_of

        return tape_of(self).program().draw(**options)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            functions = library.functions()
            if name in functions:
                return partial(functions[name], self)
            if name in updates.SEEN_OTHERWISE:
                return partial(updates.see_otherwise, self, getattr(Tensor, name[:-1], None) or functions[name[:-1]])
            function = functions.get(name[:-1]) or getattr(Tensor, name[:-1], None) if name.endswith("_") and not name.startswith("_") else None
            if callable(function):
                return partial(self._changed_by, function)
        raise missing(f"tensors have no {name!r}", name, dir(Tensor))

    def _changed_by(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> Tensor:
        """Writes what a function makes of this tensor to it; of a clone, because derivatives may keep what it was."""
        made = function(self.clone(), *args, **keywords)
        inplace.check_result(getattr(function, "__name__", "this"), self, made.array.dtype)
        return self.copy_(made)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.array.ndim == 0 and spec else format(repr(self), spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise AutogradError("only leaves can be copied deeply, because the tape would have to be copied too; use detach().clone()")
        made = memo[id(self)] = _restored(self.array.copy(), self.tracked, self.is_parameter)
        if self._grad is not None:
            made._grad = self._grad.__deepcopy__(memo)
        return made

    def __reduce__(self) -> Any:
        return _restored, (self.array, self.tracked, self.is_parameter)

    # -- reading it from Python

    item, tolist, numpy = reading.item, reading.tolist, reading.numpy
    __array__, __float__, __int__, __index__, __bool__ = reading.as_array, reading.as_float, reading.as_int, reading.as_index, reading.as_bool
    __len__, __iter__ = reading.length, reading.rows
    all, any = reading.all, reading.any
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return reading.shown(self)

    # -- operators

    __add__ = __radd__ = add = operators.add
    __sub__ = sub = operators.sub
    __rsub__ = operators.rsub
    __mul__ = __rmul__ = mul = operators.mul
    __truediv__ = div = elementwise.divide
    __rtruediv__ = operators.rdiv
    __pow__ = pow = elementwise.power
    __rpow__ = operators.rpow
    __mod__ = remainder = elementwise.remainder
    __matmul__ = matmul = dot = mm = mv = bmm = contraction.matmul
    __neg__ = neg = operators.neg
    __pos__ = operators.pos
    __abs__ = abs = operators.abs
    __invert__, __and__, __or__ = operators.invert, operators.and_, operators.or_
    eq, ne = operators.eq, operators.ne
    __lt__ = lt = operators.lt
    __le__ = le = operators.le
    __gt__ = gt = operators.gt
    __ge__ = ge = operators.ge
    maximum, minimum, where, masked_fill = operators.maximum, operators.minimum, operators.where, operators.masked_fill
    clamp = elementwise.clamp

    def __eq__(self, other: object) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return operators.eq(self, other)

    def __ne__(self, other: object) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return operators.ne(self, other)

    # -- functions of one variable

    exp, expm1, log, log1p = elementary.exp, elementary.expm1, elementary.log, elementary.log1p
    sin, cos, tan, asin, acos, atan = elementary.sin, elementary.cos, elementary.tan, elementary.asin, elementary.acos, elementary.atan
    sinh, cosh, tanh, erf = elementary.sinh, elementary.cosh, elementary.tanh, elementary.erf
    sqrt, rsqrt, square, reciprocal = elementary.sqrt, elementary.rsqrt, elementary.square, elementary.reciprocal
    sigmoid, relu = elementary.sigmoid, elementary.relu
    sign, floor, ceil, round = elementary.sign, elementary.floor, elementary.ceil, elementary.round

    # -- reductions and running sums

    sum, mean, prod, var, std, norm = reduction.sum, reduction.mean, reduction.prod, reduction.var, reduction.std, reduction.norm
    amax, amin, argmax = reduction.amax, reduction.amin, reduction.argmax
    logsumexp, softmax, log_softmax, cumsum = reduction.logsumexp, reduction.softmax, reduction.log_softmax, reduction.cumsum

    def max(self, dim: Any = None, keepdim: Any = False) -> Any:
        """The largest element; along a dimension, (the largest, its lowest position); of two tensors, the larger."""
        return operators.maximum(self, dim) if isinstance(dim, Tensor) else reduction.maximum(self, dim, keepdim)

    def min(self, dim: Any = None, keepdim: Any = False) -> Any:
        """As :meth:`max`, for the smallest."""
        return operators.minimum(self, dim) if isinstance(dim, Tensor) else reduction.minimum(self, dim, keepdim)

    # -- shapes, pieces and positions

    view, view_as, reshape, expand, expand_as = shapes.view, shapes.view_as, shapes.reshape, shapes.expand, shapes.expand_as
    permute, transpose, t, flip = shapes.permute, shapes.transpose, shapes.t, shapes.flip
    real, imag = property(complex_views.real, complex_views.write_real), property(complex_views.imag, complex_views.write_imag)
    T, mT = property(shapes.reversed_dimensions), property(shapes.transposed_matrices)  # noqa: N815  (the names under which they are known)
    H = mH = property(shapes.adjoint)  # noqa: N815
    squeeze, unsqueeze, select, narrow = views.squeeze, views.unsqueeze, views.select, views.narrow
    flatten, split, chunk, unbind = joining.flatten, joining.split, joining.chunk, joining.unbind
    __getitem__, __setitem__, index_select, gather = indexing.get, indexing.put, indexing.index_select, indexing.gather
    scatter, scatter_add = scattering.scatter, scattering.scatter_add
    index_add, index_copy, index_fill = scattering.index_add, scattering.index_copy, scattering.index_fill
    diagonal, tril, triu = diagonals.diagonal, diagonals.tril, diagonals.triu
    sort, argsort, topk = ordering.sort, ordering.argsort, ordering.topk

    # -- changes in place

    add_ = __iadd__ = updates.add_
    sub_ = __isub__ = updates.sub_
    mul_ = __imul__ = updates.mul_
    div_ = __itruediv__ = updates.div_
    pow_, clamp_, exp_, sin_, neg_, sqrt_ = updates.pow_, updates.clamp_, updates.exp_, updates.sin_, updates.neg_, updates.sqrt_
    tanh_, sigmoid_, relu_ = updates.tanh_, updates.sigmoid_, updates.relu_
    scatter_, scatter_add_ = scattering.scatter_, scattering.scatter_add_
    index_add_, index_copy_, index_fill_ = scattering.index_add_, scattering.index_copy_, scattering.index_fill_
    tril_, triu_ = diagonals.tril_, diagonals.triu_
    zero_, fill_, copy_ = updates.zero_, updates.fill_, updates.copy_

    # -- dtypes and copies; last, because some are called as Python's own types are

    detach, detach_, clone, contiguous, to = conversion.detach, conversion.detach_in_place, conversion.clone, conversion.contiguous, conversion.to
    half, cfloat, cdouble = conversion.into("float16"), conversion.into("complex64"), conversion.into("complex128")
    byte, char, short, int = conversion.into("uint8"), conversion.into("int8"), conversion.into("int16"), conversion.into("int32")
    float, double, long, bool = conversion.to_float32, conversion.to_float64, conversion.to_int64, conversion.to_bool
    type = tensor_classes.type_of


def _restored(array: Array, tracked: bool, is_parameter: bool) -> Tensor:
    """A leaf again, from what was copied or stored of it."""
    made = dispatch.new(array)
    made.tracked, made.is_parameter = tracked, is_parameter
    return made


dispatch.results_are(Tensor)
