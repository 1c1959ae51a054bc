"""Programs that leave extents open (``tensor<?xf64>``): for every choice of shapes there is a static program, made when it is asked for.

    >>> import wengert as wg
    >>> p = wg.parse('''
    ... func.func public @main(%x: tensor<?xf64>) -> tensor<?xf64> {
    ...   %0 = stablehlo.sine %x : tensor<?xf64>
    ...   return %0 : tensor<?xf64>
    ... }''')
    >>> y, x_bar = p.vjp()([0.0, 0.0], [1.0, 2.0])
    >>> x_bar
    array([1., 2.])
    >>> print(p.specialize((3,)).signature)
    (tensor<3xf64>) -> (tensor<3xf64>)

A call finds the shapes in its inputs. A derivative, a Jacobian or a batch of such a program leaves extents open too: it is the
derivative of whichever static program its inputs ask for. All are made by the pass ``refine-shapes``
(:mod:`wengert.transforms.shapes.refine`), once for each choice of shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType

from wengert.ir.pipeline.stages import stage
from wengert.ir.tensor_types import DYNAMIC, tensor
from wengert.runtime.arguments import as_argument, bind
from wengert.runtime.backends import BACKENDS, unknown_backend
from wengert.runtime.compiled_program import CompiledProgram
from wengert.runtime.derived.batching import Axes, checked_size, chosen_axes
from wengert.runtime.derived.derivation import specialized_form
from wengert.runtime.derived.positions import Positions
from wengert.runtime.derived.requests import Mode, Residuals, Strategy
from wengert.runtime.dump_folders import PathLike
from wengert.runtime.errors import InputError
from wengert.runtime.program import Array, Program, static_program
from wengert.runtime.signature import Parameter, Signature
from wengert.transforms.shapes.argument_shapes import shape_text

if TYPE_CHECKING:
    from wengert.runtime.derived.linear_program import LinearProgram
    from wengert.runtime.derived.sparsity import SparseJacobian
    from wengert.transforms.ad.jacobians.compression import Colouring

Shape = tuple[int, ...]
Shapes = tuple[Shape | None, ...]
"""The shape of each argument, None for those whose types leave nothing open."""


class DynamicProgram(Program):
    """A program that leaves extents open; see the module. Otherwise it is used as any program is."""

    def __init__(self, module: ModuleOp, *, entry: str = "main", name: str = "<module>"):
        super().__init__(module, entry=entry, name=name)
        self._specialized: dict[Shapes, Program] = {}

    # -- static programs

    @property
    def is_closed(self) -> bool:
        """Whether the arguments leave nothing open, so that there is one static program."""
        return all(p.is_static or not isinstance(p.type, TensorType) for p in self.signature.arguments)

    @property
    def needed(self) -> int:
        """The number of arguments, from the first on, that decide all shapes."""
        return len(self.signature.arguments)

    def specialize(self, *shapes: Sequence[int] | int | None) -> Program:
        """The static program for arguments of these shapes; see :meth:`Program.specialize`."""
        checked = checked_shapes(self.name, self.signature.arguments, shapes, self.needed)
        made = self._of(checked[: self.needed])
        for given, parameter in zip(checked[self.needed :], made.signature.arguments[self.needed :], strict=False):
            if given is not None and given != parameter.shape:
                raise InputError(f"{parameter} cannot have the shape {given}")
        return made

    def specialized_for(self, inputs: Sequence[Any]) -> Program:
        """The static program for these inputs."""
        return self._of(shapes_of(self.signature, inputs)[: self.needed])

    def at(self, shapes: Shapes) -> Program:
        """The static program for these shapes of the arguments that decide them all, whether they are needed or not."""
        arguments = self.signature.arguments
        return self._of(tuple(None if p.is_static else s for p, s in zip(arguments, shapes[: self.needed], strict=False)))

    def _of(self, shapes: Shapes) -> Program:
        made = self._specialized.get(shapes)
        return self._made(shapes) if made is None else made

    @stage()
    def _made(self, shapes: Shapes) -> Program:
        if shapes not in self._specialized:  # else another thread was first
            self._specialized[shapes] = self._make(shapes)
        return self._specialized[shapes]

    def _make(self, shapes: Shapes) -> Program:
        return static_program(specialized_form(self.module, self.entry, shapes), self.name)

    @property
    def _closed(self) -> Program:
        """The only static program."""
        if self.is_closed:
            return self.specialize()
        raise InputError(self.what_is_open)

    @property
    def what_is_open(self) -> str:
        """Which arguments leave extents open, and how their shapes are given."""
        needed = self.signature.arguments[: self.needed]
        opened = "; ".join(str(p) for p in needed if not p.is_static)
        return f"{self.name} leaves extents open ({opened}): give the shapes of its arguments, as in {_how(needed)}"

    # -- running

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        """The results for the shapes that the inputs have, as :meth:`Program.__call__`."""
        return self.specialized_for(inputs)(*inputs)

    def compile(self, backend: str = "cpu", *, pipeline: str | None = None, dump_dir: PathLike | None = None, **options: Any) -> CompiledProgram:
        """A callable that compiles for the shapes of its inputs when they come for the first time."""
        if self.is_closed:
            return self.specialize().compile(backend, pipeline=pipeline, dump_dir=dump_dir, **options)
        if backend not in BACKENDS:
            raise unknown_backend(backend)
        return CompiledProgram(self, backend, _CompiledForShapes(self, lambda p: p.compile(backend, pipeline=pipeline, dump_dir=dump_dir, **options)))

    # -- derivatives and batches

    def _derivative(
        self, mode: Mode, wrt: Positions, of: Positions, dump_dir: PathLike | None, strategy: Strategy = "transpose", residuals: Residuals = "auto"
    ) -> Program:
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        arguments, results = [self.signature.arguments[i] for i in inputs], [self.signature.results[j] for j in outputs]
        given, derived, noun = (arguments, results, "tangent") if mode == "jvp" else (results, arguments, "cotangent")
        signature = Signature(
            _extended("argument", self.signature.arguments, [(p.type, f"{noun} of {_shown(p)}") for p in given]),
            _extended("result", self.signature.results, [(p.type, f"{noun} of {_shown(p)}") for p in derived]),
        )
        options: dict[str, Any] = {"wrt": inputs, "of": outputs, "dump_dir": dump_dir}
        return self._derived_for_shapes(mode, {**options, "strategy": strategy, **({"residuals": residuals} if mode == "vjp" else {})}, signature)

    def jacobian(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        wrt: Positions = None,
        of: Positions = None,
        *,
        measure: bool | None = None,
        holomorphic: bool = False,
        dump_dir: PathLike | None = None,
        sparse: bool = False,
    ) -> Program:
        """As :meth:`Program.jacobian`, chosen for each choice of shapes. Raises InputError for ``sparse=True``."""
        if sparse:
            raise self._no_pattern()
        return self._jacobian("jacobian", wrt, of, holomorphic, dump_dir, measure=measure)

    def hessian(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, wrt: Positions = None, of: Positions = None, *, measure: bool | None = None, holomorphic: bool = False, sparse: bool = False
    ) -> Program:
        """As :meth:`Program.hessian`, in the order of modes that does for all shapes: forward over reverse. Raises InputError for ``sparse=True``."""
        if sparse:
            raise self._no_pattern()
        return self._hessian("forward over reverse", *self.resolve(wrt=wrt, of=of), holomorphic)

    def sparsity(self, wrt: Positions = None, of: Positions = None, *, at: Sequence[Any] | None = None) -> Any:
        """The pattern at arguments, which say the shapes; InputError without them."""
        if at is None:
            raise self._no_pattern()
        return self.specialized_for(at).sparsity(wrt, of, at=at)

    def sparse_jacobian(self, wrt: Positions = None, of: Positions = None, *, colouring: Colouring = "best") -> SparseJacobian:
        """Raises InputError: a pattern is that of a program of one size."""
        raise self._no_pattern()

    def sparse_hessian(self, wrt: Positions = None, of: Positions = None, *, colouring: Colouring = "best") -> SparseJacobian:
        """Raises InputError, as :meth:`sparse_jacobian`."""
        raise self._no_pattern()

    def _no_pattern(self) -> InputError:
        return InputError(f"{self.name} leaves extents open, and a sparse derivative has the pattern of one size: take p.specialize(...) first")

    def _jacobian(self, how: str, wrt: Positions, of: Positions, holomorphic: bool, dump_dir: PathLike | None, **more: Any) -> Program:
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        pairs = [(self.signature.results[j], self.signature.arguments[i]) for j in outputs for i in inputs]
        results = [(_spread(y.type, x.shape), f"derivative of {_shown(y)} by {_shown(x)}") for y, x in pairs]
        options = {"wrt": inputs, "of": outputs, "holomorphic": holomorphic, "dump_dir": dump_dir, **more}
        return self._derived_for_shapes(how, options, Signature(self.signature.arguments, _extended("result", (), results)))

    def compressed_jacobian(self, wrt: Positions = None, of: Positions = None, *, dump_dir: PathLike | None = None) -> Program:
        """As :meth:`Program.compressed_jacobian`."""
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        results = [(_spread(y.type, (DYNAMIC,)), f"columns of {_shown(y)}") for y in (self.signature.results[j] for j in outputs)]
        options = {"wrt": inputs, "of": outputs, "dump_dir": dump_dir}
        return self._derived_for_shapes("compressed_jacobian", options, Signature(self.signature.arguments, _extended("result", (), results)))

    def vmap(self, in_axes: Axes = 0, out_axes: Axes = 0, *, size: int | None = None, dump_dir: PathLike | None = None) -> Program:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As :meth:`Program.vmap`; without ``size`` the number of batch elements is one more extent that is left open."""
        starts = chosen_axes("in_axes", in_axes, self.signature.arguments)
        ends = chosen_axes("out_axes", out_axes, self.signature.results)
        if size is None and all(axis is None for axis in starts):
            raise InputError("in_axes names no batched argument; give size= to say how many batch elements there are")
        extent = DYNAMIC if size is None else checked_size(size)
        signature = Signature(_batched(self.signature.arguments, starts, extent), _batched(self.signature.results, ends, extent))
        return self._derived_for_shapes("vmap", {"in_axes": starts, "out_axes": ends, "size": size, "dump_dir": dump_dir}, signature)

    def _derived_for_shapes(self, method: str, options: dict[str, Any], signature: Signature) -> Program:
        """The program that the method derives from this one."""
        if self.is_closed and (method != "vmap" or options["size"] is not None):
            return getattr(self.specialize(), method)(**options)
        key = (method, *options.items())
        if key not in self._derivatives:
            self._derivatives[key] = DerivedProgram(self, method, options, signature)
        return self._derivatives[key]

    def linearize(self, wrt: Positions = None, of: Positions = None, *, shared: bool = False, residuals: Residuals = "recompute-cheap") -> LinearProgram:
        """As :meth:`Program.linearize`; residuals have types, so the shapes of the arguments must be given first: ``p.specialize(...).linearize()``."""
        return self._closed.linearize(wrt, of, shared=shared, residuals=residuals)

    # -- what needs all shapes

    @property
    def core_module(self) -> ModuleOp:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The core form of the only static program; an InputError where the arguments leave extents open."""
        return self._closed.core_module

    @property
    def optimized_module(self) -> ModuleOp:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The same with fewer ops."""
        return self._closed.optimized_module

    def to_jax(self) -> Callable[..., tuple[Any, ...]]:
        """As :meth:`Program.to_jax`, for arrays of any shapes."""
        return lambda *inputs: self.specialized_for(inputs).to_jax()(*inputs)

    def to_torch(self) -> Callable[..., tuple[Any, ...]]:
        """As :meth:`Program.to_torch`, for tensors of any shapes."""
        return lambda *inputs: self.specialized_for(inputs).to_torch()(*inputs)


class DerivedProgram(DynamicProgram):
    """A derivative, Jacobian or batch of a program that leaves extents open.

    It has no text before shapes are given: what it computes is what ``method`` makes of the static program for them. Its first
    arguments are those of the program that it is of, and their shapes decide all others.
    """

    def __init__(self, base: DynamicProgram, method: str, options: dict[str, Any], signature: Signature):
        self._base, self._method, self._options = base, method, options
        self.entry, self.name, self.signature = "main", f"{method} of {base.name}", signature
        self._executables, self._derivatives, self._linearized, self._specialized = {}, {}, {}, {}

    @property
    def module(self) -> ModuleOp:  # pyright: ignore[reportIncompatibleVariableOverride]
        """There is none before shapes are given: an InputError says how."""
        return self._closed.module

    def text(self, *, locations: bool = False, generic: bool = False) -> str:
        """An InputError where arguments leave extents open: ``specialize(...)`` gives what has a text."""
        return self._closed.text(locations=locations, generic=generic)

    @property
    def needed(self) -> int:
        """As many as the program needs that it is derived from, if these hold the number of batch elements where that is open; else all."""
        count = self._base.needed
        if self._method == "vmap" and self._options["size"] is None and all(axis is None for axis in self._options["in_axes"][:count]):
            return len(self.signature.arguments)
        return count

    def _make(self, shapes: Shapes) -> Program:
        options, first = dict(self._options), list(shapes)
        if self._method == "vmap":
            axes: Sequence[int | None] = options["in_axes"][: len(shapes)]
            if options["size"] is None:
                options["size"] = _batch_size(self.signature.arguments, axes, shapes)
            first = [s if axis is None or s is None else s[:axis] + s[axis + 1 :] for s, axis in zip(shapes, axes, strict=True)]
        return getattr(self._base.at(tuple(first)), self._method)(**options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.signature}; {self.name}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"

    def __reduce__(self) -> tuple[Callable[..., Program], tuple[Any, ...]]:
        return DerivedProgram, (self._base, self._method, {**self._options, "dump_dir": None}, self.signature)


class _CompiledForShapes:
    """Compiles a program for the shapes of its inputs, and runs it; ``stats`` are those of the last run."""

    def __init__(self, program: DynamicProgram, compiled: Callable[[Program], CompiledProgram]):
        self._program = program
        self._compiled = compiled
        self.stats: Any = None

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        executable = self._compiled(self._program.specialized_for(inputs))
        results = executable(*inputs)
        self.stats = executable.stats
        return results


# -- shapes


def checked_shapes(name: str, parameters: Sequence[Parameter], shapes: Sequence[Any], needed: int) -> Shapes:
    """The shapes as they are kept: one for each argument, None where its type says it, or where it is not needed and not given;
    an InputError for what does not fit."""
    if len(shapes) > len(parameters):
        raise InputError(f"{name} has {len(parameters)} arguments, but {len(shapes)} shapes are given")
    checked: list[Shape | None] = []
    for i, parameter in enumerate(parameters):
        given = _as_shape(parameter, shapes[i]) if i < len(shapes) and shapes[i] is not None else None
        if given is None and i < needed and not parameter.is_static and isinstance(parameter.type, TensorType):
            raise InputError(f"the shape of {parameter} is not given; give the shapes as in {_how(parameters[:needed])}")
        if given is not None and not _fits(given, parameter.shape):
            raise InputError(f"{parameter} cannot have the shape {given}")
        checked.append(None if parameter.is_static else given)
    return tuple(checked)


def _as_shape(parameter: Parameter, given: Any) -> Shape:
    extents: list[Any] = [*cast("Sequence[Any]", given)] if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not all(hasattr(n, "__index__") and not isinstance(n, bool | np.bool_) and 0 <= int(n) < 2**63 for n in extents):
        raise InputError(f"{parameter}: a shape is a tuple of extents, found {given!r}")
    return tuple(int(n) for n in extents)


def shapes_of(signature: Signature, inputs: Sequence[Any]) -> Shapes:
    """The shapes of the inputs for arguments that leave extents open; an InputError for inputs that fit no choice of them."""
    if len(inputs) != len(signature.arguments):
        bind(signature, inputs)  # says what is missing
    return tuple(_shape_of(p, x) for p, x in zip(signature.arguments, inputs, strict=True))


def _shape_of(parameter: Parameter, value: Any) -> Shape | None:
    if parameter.is_static or not isinstance(parameter.type, TensorType):
        return None
    shape: Any = getattr(value, "shape", None)
    given: Shape = tuple(cast("Sequence[int]", shape)) if isinstance(shape, Sequence) else as_argument(parameter, value).shape
    if not _fits(given, parameter.shape):
        as_argument(parameter, value)  # says what is wrong
        raise InputError(f"{parameter} cannot have the shape {given}")
    return tuple(int(n) for n in given)


def _fits(given: Shape, expected: Shape) -> bool:
    return len(given) == len(expected) and all(m in (n, DYNAMIC) for m, n in zip(expected, given, strict=True))


def _batch_size(parameters: Sequence[Parameter], axes: Sequence[int | None], shapes: Sequence[Any]) -> int:
    """The number of batch elements that batched arguments hold."""
    told = {s[axis]: p for p, axis, s in zip(parameters, axes, shapes, strict=False) if axis is not None and s is not None}
    if len(told) != 1:
        listed = ", ".join(f"{size} by {p.label}" for size, p in told.items())
        raise InputError(f"the arguments do not hold one number of batch elements: {listed or 'no shape is given'}")
    return next(iter(told))


def _how(parameters: Sequence[Parameter]) -> str:
    """An example of the shapes of these arguments, for messages."""
    shapes = [None if p.is_static else tuple(3 if n == DYNAMIC else n for n in p.shape) for p in parameters]
    while shapes and shapes[-1] is None:
        shapes.pop()
    return f"specialize({', '.join(map(str, shapes))}), or --shapes {','.join(map(shape_text, shapes))} on the command line"


# -- signatures


def _shown(p: Parameter) -> str:
    return p.name or f"{p.role} {p.position}"


def _extended(role: Any, known: Sequence[Parameter], more: Sequence[tuple[Any, str]]) -> tuple[Parameter, ...]:
    return (*known, *(Parameter(role, len(known) + i, type, name) for i, (type, name) in enumerate(more)))


def _spread(type: Any, extents: Sequence[int]) -> Any:
    """A tensor type with dimensions behind its own."""
    tensor_type = cast("TensorType[Any]", type)
    return tensor([*tensor_type.get_shape(), *extents], tensor_type.element_type)


def _batched(parameters: Sequence[Parameter], axes: Sequence[int | None], size: int) -> tuple[Parameter, ...]:
    return tuple(p if axis is None else _with_dimension(p, axis, size) for p, axis in zip(parameters, axes, strict=True))


def _with_dimension(p: Parameter, axis: int, size: int) -> Parameter:
    tensor_type = cast("TensorType[Any]", p.type)
    return Parameter(p.role, p.position, tensor([*p.shape[:axis], size, *p.shape[axis:]], tensor_type.element_type), p.name)
