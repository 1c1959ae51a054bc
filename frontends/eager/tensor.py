"""The tensor of define-by-run code: an array, and its place on the tape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from wengert.eager import contraction, dispatch, elementwise, indexing, inplace, joining, reduction, views
from wengert.eager.containers import extents
from wengert.eager.errors import AutogradError
from wengert.eager.modes import STATE
from wengert.eager.program import Array
from wengert.eager.promotion import category
from wengert.eager.record import Output, Record, Storage, edge

if TYPE_CHECKING:
    from wengert.eager.hooks import Hook, RemovableHandle

Number = bool | int | float


class Tensor:
    """An array that remembers how it was computed.

    Tensors are made by :func:`tensor` and by operations on tensors. Attributes:

    Attributes:
        array: the elements, as NumPy sees them. Writing to it escapes the tape's notice.
        requires_grad: whether gradients flow to it.
    """

    array: Array
    _grad: Tensor | None = None
    requires_grad: bool = False
    source: Record | Output | None = None
    """Its place on the tape; None for leaves."""
    storage: Storage | None = None
    view_of: views.View | None = None
    views: list[ref[Tensor]] | None = None
    is_inference_tensor: bool = False
    leaf_hooks: list[Hook] | None = None
    accumulate_hooks: list[Callable[[Tensor], Any]] | None = None
    __array_ufunc__ = None
    """Arithmetic with NumPy arrays is that of tensors, on either side."""

    @property
    def grad(self) -> Tensor | None:
        """What backward passes have added up."""
        if STATE.tape is not None:
            STATE.tape.gradient_read(self, self._grad)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if STATE.tape is not None:
            STATE.tape.gradient_set(self)
        self._grad = value

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
        if self.source is None or not self.requires_grad:
            return None
        node, _ = edge(self.source)
        return node  # pyright: ignore[reportReturnType]

    @property
    def output_nr(self) -> int:
        """Which result of :attr:`grad_fn` it is."""
        return self.source.number if type(self.source) is Output else 0

    @property
    def _version(self) -> int:
        """How often its memory was changed in place."""
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

    def is_contiguous(self) -> bool:
        """Whether its elements lie in memory in row-major order."""
        return self.array.flags.c_contiguous

    # -- its values

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self.array.size != 1:
            raise AutogradError(f"a tensor with {self.array.size} elements is not a number")
        value = self.array.item()
        if STATE.tape is not None:
            STATE.tape.concretized(self, value)
        return value

    def tolist(self) -> Any:
        """The elements as nested lists."""
        self._look()
        return self.array.tolist()

    def numpy(self) -> Array:
        """The elements as an array that shares the tensor's memory; an error where that would lose a gradient, which without gradients is nowhere."""
        if self.requires_grad and STATE.recording:
            raise AutogradError("numpy() of a tensor that requires a gradient would lose it; use detach().numpy()")
        self._look()
        return self.array

    def _look(self) -> None:
        if STATE.tape is not None:
            STATE.tape.concretized(self, self.array.copy())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.numpy()
        return array if dtype is None and not copy else np.array(array, dtype)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.array.dtype.kind not in "iu":
            raise TypeError(f"only tensors of integers can be indices, found {self.array.dtype.name}")
        return self.item()

    def __bool__(self) -> bool:
        if self.array.size != 1:
            raise AutogradError(f"the truth of a tensor with {self.array.size} elements is ambiguous; use any() or all()")
        return bool(self.item())

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise TypeError("a tensor without dimensions has no length")
        return self.array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if self.array.ndim == 0:
            raise TypeError("a tensor without dimensions cannot be iterated over")
        return iter(self.unbind())

    def __repr__(self) -> str:
        shown = np.array2string(self.array, separator=", ", prefix="tensor(")
        suffix = "" if self.array.dtype.name in ("float32", "int64", "bool") else f", dtype={self.array.dtype.name}"
        node = self.grad_fn
        return f"tensor({shown}{suffix}{f', grad_fn=<{node.name()}>' if node else ', requires_grad=True' if self.requires_grad else ''})"

    __hash__ = object.__hash__

    def draw(self, **options: Any) -> Any:
        """The graph of what was recorded on the way to this tensor, as DOT and SVG: see :func:`wengert.draw`."""
        from wengert.eager.tape import tape_of

        return tape_of(self).program().draw(**options)

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
        from wengert.eager.gradient import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Says whether gradients flow to this leaf."""
        if not self.is_leaf and not requires_grad:
            raise AutogradError("only leaves can be told not to require a gradient; use detach()")
        if requires_grad and not self.is_floating_point():
            raise AutogradError(f"only tensors of floats can require gradients, found {self.array.dtype.name}")
        if requires_grad and self.is_inference_tensor:
            raise AutogradError("a tensor made in inference mode cannot require a gradient outside of it; clone() it first")
        self.requires_grad = requires_grad
        return self

    def retain_grad(self) -> None:
        """Keeps the gradient of this tensor in ``grad`` though it is not a leaf."""
        from wengert.eager.hooks import retain_grad

        retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        """Whether :meth:`retain_grad` was called."""
        from wengert.eager.hooks import retains_grad

        return retains_grad(self)

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Calls ``hook(gradient)`` when this tensor's gradient is known; it may return another in its place."""
        from wengert.eager.hooks import register_hook

        return register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Calls ``hook(leaf)`` after a backward pass has added to this leaf's ``grad``."""
        from wengert.eager.hooks import register_post_accumulate_grad_hook

        return register_post_accumulate_grad_hook(self, hook)

    def detach(self) -> Tensor:
        """The same memory, off the tape."""
        made = dispatch.new(self.array)
        made.storage = dispatch.storage_of(self)
        if STATE.tape is not None:
            STATE.tape.note(inplace.DETACH, None, (self,), (made,))
        return made

    def detach_(self) -> Tensor:
        """Takes this tensor itself off the tape."""
        if self.view_of is not None:
            raise AutogradError("detach_() of a view would leave it tied to its base; use detach()")
        self.source, self.requires_grad = None, False
        return self

    @property
    def data(self) -> Tensor:
        """The same memory, off the tape and without its version counter."""
        if STATE.tape is not None:
            STATE.tape.refuse("data is used, which shares memory without a trace")
        return dispatch.new(self.array)

    @data.setter
    def data(self, value: Tensor) -> None:
        if STATE.tape is not None:
            STATE.tape.refuse("data is set, which leaves no trace")
        self.array = value.array

    # -- arithmetic

    def __add__(self, other: Tensor | Number) -> Tensor:
        return dispatch.binary(elementwise.ADD, self, other)

    def __sub__(self, other: Tensor | Number) -> Tensor:
        return dispatch.binary(elementwise.SUB, self, other)

    def __mul__(self, other: Tensor | Number) -> Tensor:
        return dispatch.binary(elementwise.MUL, self, other)

    __radd__ = __add__
    __rmul__ = __mul__
    add = __add__
    sub = __sub__
    mul = __mul__

    def __rsub__(self, other: Number) -> Tensor:
        x = self.to(dispatch.default_dtype()) if isinstance(other, float) and not self.is_floating_point() else self
        return dispatch.apply(elementwise.RSUB, (x,), other)

    def __truediv__(self, other: Tensor | Number) -> Tensor:
        return elementwise.divide(self, other)

    div = __truediv__

    def __rtruediv__(self, other: Number) -> Tensor:
        return self.reciprocal() * other

    def __pow__(self, other: Tensor | Number) -> Tensor:
        return elementwise.power(self, other)

    pow = __pow__

    def __rpow__(self, other: Number) -> Tensor:
        return dispatch.apply(elementwise.NUMBER_POW, (self,), other)

    def __mod__(self, other: Tensor | Number) -> Tensor:
        return elementwise.remainder(self, other)

    remainder = __mod__

    def __neg__(self) -> Tensor:
        return dispatch.apply(elementwise.NEG, (self,)) if self.array.dtype.kind in "iu" else dispatch.unary(elementwise.NEG, self)

    neg = __neg__

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return dispatch.apply(elementwise.ABS, (self,)) if self.array.dtype.kind in "iu" else dispatch.unary(elementwise.ABS, self)

    abs = __abs__

    def __matmul__(self, other: Tensor) -> Tensor:
        return contraction.matmul(self, other)

    matmul = __matmul__

    def __invert__(self) -> Tensor:
        return dispatch.apply(elementwise.NOT, (self,))

    def __and__(self, other: Tensor) -> Tensor:
        return dispatch.apply(elementwise.AND, (self, other), converted=True)

    def __or__(self, other: Tensor) -> Tensor:
        return dispatch.apply(elementwise.OR, (self, other), converted=True)

    # -- comparisons

    def __eq__(self, other: object) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return dispatch.apply(elementwise.EQ, (self, other), converted=True)  # pyright: ignore[reportArgumentType]

    def __ne__(self, other: object) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return dispatch.apply(elementwise.NE, (self, other), converted=True)  # pyright: ignore[reportArgumentType]

    def __lt__(self, other: Tensor | Number) -> Tensor:
        return dispatch.apply(elementwise.LT, (self, other), converted=True)

    def __le__(self, other: Tensor | Number) -> Tensor:
        return dispatch.apply(elementwise.LE, (self, other), converted=True)

    def __gt__(self, other: Tensor | Number) -> Tensor:
        return dispatch.apply(elementwise.GT, (self, other), converted=True)

    def __ge__(self, other: Tensor | Number) -> Tensor:
        return dispatch.apply(elementwise.GE, (self, other), converted=True)

    eq, ne, lt, le, gt, ge = __eq__, __ne__, __lt__, __le__, __gt__, __ge__

    # -- functions of one variable

    def exp(self) -> Tensor:
        """e to the power of each element."""
        return dispatch.unary(elementwise.EXP, self)

    def expm1(self) -> Tensor:
        """exp(x) - 1, exact near 0."""
        return dispatch.unary(elementwise.EXPM1, self)

    def log(self) -> Tensor:
        """The natural logarithm."""
        return dispatch.unary(elementwise.LOG, self)

    def log1p(self) -> Tensor:
        """log(1 + x), exact near 0."""
        return dispatch.unary(elementwise.LOG1P, self)

    def sin(self) -> Tensor:
        """The sine."""
        return dispatch.unary(elementwise.SIN, self)

    def cos(self) -> Tensor:
        """The cosine."""
        return dispatch.unary(elementwise.COS, self)

    def tan(self) -> Tensor:
        """The tangent."""
        return dispatch.unary(elementwise.TAN, self)

    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""
        return dispatch.unary(elementwise.TANH, self)

    def asin(self) -> Tensor:
        """The inverse sine."""
        return dispatch.unary(elementwise.ASIN, self)

    def acos(self) -> Tensor:
        """The inverse cosine."""
        return dispatch.unary(elementwise.ACOS, self)

    def atan(self) -> Tensor:
        """The inverse tangent."""
        return dispatch.unary(elementwise.ATAN, self)

    def sinh(self) -> Tensor:
        """The hyperbolic sine."""
        return dispatch.unary(elementwise.SINH, self)

    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""
        return dispatch.unary(elementwise.COSH, self)

    def erf(self) -> Tensor:
        """The error function."""
        return dispatch.unary(elementwise.ERF, self)

    def sqrt(self) -> Tensor:
        """The square root."""
        return dispatch.unary(elementwise.SQRT, self)

    def rsqrt(self) -> Tensor:
        """1 / sqrt(x)."""
        return dispatch.unary(elementwise.RSQRT, self)

    def reciprocal(self) -> Tensor:
        """1 / x."""
        return dispatch.unary(elementwise.RECIPROCAL, self)

    def square(self) -> Tensor:
        """x squared."""
        return dispatch.apply(elementwise.POW_NUMBER, (self,), 2)

    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x))."""
        return dispatch.unary(elementwise.SIGMOID, self)

    def relu(self) -> Tensor:
        """max(x, 0), with derivative 0 at 0."""
        return dispatch.unary(elementwise.RELU, self)

    def sign(self) -> Tensor:
        """-1, 0 or 1."""
        return dispatch.unary(elementwise.SIGN, self)

    def floor(self) -> Tensor:
        """The largest integer that is not larger."""
        return dispatch.unary(elementwise.FLOOR, self)

    def ceil(self) -> Tensor:
        """The smallest integer that is not smaller."""
        return dispatch.unary(elementwise.CEIL, self)

    def round(self) -> Tensor:
        """The nearest integer, ties to even."""
        return dispatch.unary(elementwise.ROUND, self)

    def clamp(self, min: float | None = None, max: float | None = None) -> Tensor:
        """Each element limited to an interval."""
        return elementwise.clamp(self, min, max)

    def maximum(self, other: Tensor) -> Tensor:
        """The larger of two elements."""
        return dispatch.binary(elementwise.MAXIMUM, self, other)

    def minimum(self, other: Tensor) -> Tensor:
        """The smaller of two elements."""
        return dispatch.binary(elementwise.MINIMUM, self, other)

    def masked_fill(self, mask: Tensor, value: float) -> Tensor:
        """A number where the mask holds, else the element."""
        return dispatch.apply(elementwise.MASKED_FILL, (self, mask), value)

    def where(self, condition: Tensor, other: Tensor | Number) -> Tensor:
        """The element where the condition holds, else the other."""
        return elementwise.where(condition, self, other)

    # -- dtypes and copies

    def to(self, dtype: Any) -> Tensor:
        """The tensor in another dtype; itself if it has it."""
        dtype = np.dtype(dtype)
        return self if dtype == self.array.dtype else dispatch.apply(elementwise.CONVERT, (self,), dtype)

    def float(self) -> Tensor:
        """In float32."""
        return self.to(np.float32)

    def double(self) -> Tensor:
        """In float64."""
        return self.to(np.float64)

    def long(self) -> Tensor:
        """In int64."""
        return self.to(np.int64)

    def bool(self) -> Tensor:
        """Whether elements differ from zero."""
        return self.to(np.bool_)

    def clone(self) -> Tensor:
        """A copy, which gradients flow through."""
        return dispatch.apply(elementwise.CLONE, (self,))

    def contiguous(self) -> Tensor:
        """Itself if its elements lie in order, else a copy."""
        return self if self.array.flags.c_contiguous else self.clone()

    # -- reductions

    def sum(self, dim: int | Sequence[int] | None = None, keepdim: Any = False) -> Tensor:
        """The sum of all elements, or along dimensions."""
        return reduction.sum(self, dim, keepdim)

    def mean(self, dim: int | Sequence[int] | None = None, keepdim: Any = False) -> Tensor:
        """The mean of all elements, or along dimensions."""
        return reduction.mean(self, dim, keepdim)

    def prod(self, dim: int | None = None, keepdim: Any = False) -> Tensor:
        """The product of all elements, or along a dimension."""
        return reduction.prod(self, dim, keepdim)

    def var(self, dim: int | Sequence[int] | None = None, correction: int = 1, keepdim: Any = False) -> Tensor:
        """The variance, with the sum of squares divided by n - correction."""
        return reduction.var(self, dim, correction, keepdim)

    def std(self, dim: int | Sequence[int] | None = None, correction: int = 1, keepdim: Any = False) -> Tensor:
        """The square root of the variance."""
        return reduction.std(self, dim, correction, keepdim)

    def norm(self) -> Tensor:
        """The square root of the sum of squares."""
        return reduction.norm(self)

    def max(self, dim: Any = None, keepdim: Any = False) -> Any:
        """The largest element; along a dimension, (the largest, its lowest position); of two tensors, the larger."""
        return dispatch.binary(elementwise.MAXIMUM, self, dim) if isinstance(dim, Tensor) else reduction.maximum(self, dim, keepdim)

    def min(self, dim: Any = None, keepdim: Any = False) -> Any:
        """As :meth:`max`, for the smallest."""
        return dispatch.binary(elementwise.MINIMUM, self, dim) if isinstance(dim, Tensor) else reduction.minimum(self, dim, keepdim)

    def amax(self, dim: int | Sequence[int] | None = None, keepdim: Any = False) -> Tensor:
        """The largest element; ties share the gradient."""
        return reduction.amax(self, dim, keepdim)

    def amin(self, dim: int | Sequence[int] | None = None, keepdim: Any = False) -> Tensor:
        """The smallest element; ties share the gradient."""
        return reduction.amin(self, dim, keepdim)

    def argmax(self, dim: int | None = None, keepdim: Any = False) -> Tensor:
        """The position of the largest element."""
        return reduction.argmax(self, dim, keepdim)

    def all(self) -> Tensor:
        """Whether every element holds."""
        return dispatch.new(self._seen().all())

    def any(self) -> Tensor:
        """Whether some element holds."""
        return dispatch.new(self._seen().any())

    def _seen(self) -> Array:
        self._look()
        return self.array

    def logsumexp(self, dim: int, keepdim: Any = False) -> Tensor:
        """log(sum(exp(x))) along a dimension."""
        return reduction.logsumexp(self, dim, keepdim)

    def softmax(self, dim: int) -> Tensor:
        """exp(x) / sum(exp(x)) along a dimension."""
        return reduction.softmax(self, dim)

    def log_softmax(self, dim: int) -> Tensor:
        """The logarithm of the softmax."""
        return reduction.log_softmax(self, dim)

    def cumsum(self, dim: int) -> Tensor:
        """Running sums along a dimension."""
        return reduction.cumsum(self, dim)

    # -- contractions

    def dot(self, other: Tensor) -> Tensor:
        """The inner product of two vectors."""
        return contraction.matmul(self, other)

    mm = mv = bmm = dot

    # -- shapes

    def view(self, *shape: Any) -> Tensor:
        """Another shape of the same memory."""
        return views.view(self, extents(shape))

    def view_as(self, other: Tensor) -> Tensor:
        """The shape of another tensor, of the same memory."""
        return views.view(self, other.shape)

    def reshape(self, *shape: Any) -> Tensor:
        """Another shape: a view where possible, else a copy."""
        return views.reshape(self, extents(shape))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Neighbouring dimensions as one."""
        return joining.flatten(self, start_dim, end_dim)

    def permute(self, *order: Any) -> Tensor:
        """Dimensions in another order."""
        return views.permute(self, extents(order))

    def transpose(self, first: int, second: int) -> Tensor:
        """Two dimensions exchanged."""
        return views.transpose(self, first, second)

    def t(self) -> Tensor:
        """The transpose of a matrix."""
        return views.transpose(self, 0, min(1, self.array.ndim - 1), views.T)

    @property
    def T(self) -> Tensor:  # noqa: N802
        """All dimensions in reverse."""
        return views.permute(self, tuple(reversed(range(self.array.ndim))))

    @property
    def mT(self) -> Tensor:  # noqa: N802
        """The last two dimensions exchanged."""
        return views.transpose(self, -2, -1)

    def expand(self, *shape: Any) -> Tensor:
        """Repeated without copying."""
        return views.expand(self, extents(shape))

    def expand_as(self, other: Tensor) -> Tensor:
        """Repeated to the shape of another tensor."""
        return views.expand(self, other.shape)

    def squeeze(self, dim: int | None = None) -> Tensor:
        """Without dimensions of extent 1."""
        return views.squeeze(self, dim)

    def unsqueeze(self, dim: int) -> Tensor:
        """With a new dimension of extent 1."""
        return views.unsqueeze(self, dim)

    def select(self, dim: int, index: int) -> Tensor:
        """One position along a dimension."""
        return views.select(self, dim, index)

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        """Some positions along a dimension."""
        return views.narrow(self, dim, start, length)

    def split(self, size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Pieces along a dimension."""
        return joining.split(self, size, dim)

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """So many pieces along a dimension."""
        return joining.chunk(self, chunks, dim)

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """All positions along a dimension."""
        return joining.unbind(self, dim)

    def flip(self, *dims: Any) -> Tensor:
        """Dimensions in reverse."""
        return joining.flip(self, extents(dims))

    def __getitem__(self, index: Any) -> Tensor:
        return indexing.get(self, index)

    def __setitem__(self, index: Any, value: Tensor | Number) -> None:
        indexing.put(self, index, value)

    def index_select(self, dim: int, index: Tensor) -> Tensor:
        """The positions of an index along a dimension."""
        return indexing.index_select(self, dim, index)

    def gather(self, dim: int, index: Tensor) -> Tensor:
        """For each element of the index, the element at that position along the dimension."""
        return indexing.gather(self, dim, index)

    # -- in place

    def add_(self, other: Tensor | Number, alpha: Number = 1) -> Tensor:
        """Adds in place."""
        return inplace.change(elementwise.ADD, self, other if alpha == 1 else other * alpha)

    def sub_(self, other: Tensor | Number, alpha: Number = 1) -> Tensor:
        """Subtracts in place."""
        return inplace.change(elementwise.SUB, self, other if alpha == 1 else other * alpha)

    def mul_(self, other: Tensor | Number) -> Tensor:
        """Multiplies in place."""
        return inplace.change(elementwise.MUL, self, other)

    def div_(self, other: Tensor | Number) -> Tensor:
        """Divides in place."""
        return inplace.change(elementwise.DIV, self, other)

    __iadd__, __isub__, __imul__, __itruediv__ = add_, sub_, mul_, div_

    def pow_(self, exponent: Number) -> Tensor:
        """To a power in place."""
        return inplace.change(elementwise.POW_NUMBER, self, params=exponent)

    def clamp_(self, min: Any = None, max: Any = None) -> Tensor:
        """Limited in place."""
        return inplace.change(elementwise.CLAMP, self, params=(min, max))

    def exp_(self) -> Tensor:
        """exp in place."""
        return inplace.change(elementwise.EXP, self)

    def sin_(self) -> Tensor:
        """sin in place."""
        return inplace.change(elementwise.SIN, self)

    def neg_(self) -> Tensor:
        """Negated in place."""
        return inplace.change(elementwise.NEG, self)

    def sqrt_(self) -> Tensor:
        """The square root in place."""
        return inplace.change(elementwise.SQRT, self)

    def tanh_(self) -> Tensor:
        """tanh in place."""
        return inplace.change(elementwise.TANH, self)

    def sigmoid_(self) -> Tensor:
        """sigmoid in place."""
        return inplace.change(elementwise.SIGMOID, self)

    def relu_(self) -> Tensor:
        """relu in place."""
        return inplace.change(elementwise.RELU, self)

    def zero_(self) -> Tensor:
        """Filled with zeros."""
        return inplace.change(inplace.ZERO, self, params=0)

    def fill_(self, value: Number) -> Tensor:
        """Filled with a number."""
        return inplace.change(inplace.FILL, self, params=value)

    def copy_(self, other: Tensor) -> Tensor:
        """The elements of another tensor, which may be broadcast."""
        return inplace.change(inplace.COPY, self, other)


dispatch.results_are(Tensor)
