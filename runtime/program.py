"""A program: StableHLO text as a Python value that can be called, differentiated, compiled and printed.

    >>> import wengert as wg
    >>> p = wg.parse('''
    ... func.func public @main(%x: tensor<f64>) -> tensor<f64> {
    ...   %0 = stablehlo.sine %x : tensor<f64>
    ...   return %0 : tensor<f64>
    ... }''')
    >>> y, x_bar = p.vjp()(0.0, 1.0)
    >>> float(x_bar)
    1.0

Programs are values: nothing changes one once it is made. A derivative is again a program, so derivatives nest::

    hvp = p.vjp().jvp(wrt=(0,))
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, overload

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.passes import PASSES
from wengert.ir.stages import stage, staged_property
from wengert.runtime.backends import build
from wengert.runtime.batching import Axes, BatchedProgram, batch_pass, checked_size, chosen_axes
from wengert.runtime.compiled_program import CompiledProgram
from wengert.runtime.derivation import (
    Mode,
    Residuals,
    Strategy,
    apply,
    chosen,
    core_form,
    derive,
    derive_with_dumps,
    optimized_form,
    plain_text,
    transform,
)
from wengert.runtime.dump_folders import DUMP_DIR, PathLike, dump_folder
from wengert.runtime.errors import InputError
from wengert.runtime.jacobians import MODES, JacobianMode, compressed_jacobian_pass, jacobian_pass, seeded_jacobian_pass
from wengert.runtime.labels import name_compressed, name_derivative, name_jacobian
from wengert.runtime.positions import Positions, choose
from wengert.runtime.signature import Parameter, Signature, entry_function, signature_of
from wengert.transforms.shapes.dynamism import is_dynamic

if TYPE_CHECKING:
    from wengert.lab.check import CheckReport
    from wengert.lab.costs import CostReport
    from wengert.lab.draw.drawing import Drawing
    from wengert.lab.strategies.table import StrategyTable
    from wengert.runtime.linear_program import LinearProgram

Array = np.ndarray[Any, np.dtype[Any]]


class Program:
    """A module with an entry function.

    Attributes:
        module: the IR; treat it as read-only (clone it to work on it).
        entry: the name of the entry function.
        name: the file it came from, with what was done to it, for messages.
        signature: types and names of the arguments and results.
        as_given: whether it is compiled and differentiated as it stands, without being optimised first (what :meth:`apply` makes).
    """

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """A program whose module leaves extents open, or computes them, is a :class:`wengert.runtime.dynamic_program.DynamicProgram`."""
        module = args[0] if args else options.get("module")
        if cls is Program and isinstance(module, ModuleOp) and is_dynamic(module):
            from wengert.runtime.dynamic_program import DynamicProgram

            return cast(Self, object.__new__(DynamicProgram))
        return object.__new__(cls)

    def __init__(self, module: ModuleOp, *, entry: str = "main", name: str = "<module>"):
        self.module = module
        self.entry = entry
        self.name = name
        self.as_given = False
        self.origin: tuple[Program, str] | None = None
        """The program that this one was made of to be compiled, and the pipeline in place of its optimisation."""
        self.signature: Signature = signature_of(entry_function(module, entry))
        self._executables: dict[tuple[Any, ...], CompiledProgram] = {}
        self._derivatives: dict[tuple[Any, ...], Program] = {}
        self._linearized: dict[tuple[Any, ...], LinearProgram] = {}

    # -- running

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        """The results as NumPy arrays, computed on the default backend ("cpu"; compiled at the first call).

        Arrays must have exactly the dtype and shape of the arguments; Python numbers and lists are converted
        (``wengert.runtime.arguments`` states the policy). Raises InputError.
        """
        return self.compile()(*inputs)

    def compile(self, backend: str = "cpu", *, pipeline: str | None = None, dump_dir: PathLike | None = None, **options: Any) -> CompiledProgram:
        """A callable of the same signature, kept for the next request with the same options.

        Args:
            backend: "cpu" (LLVM), "interpreter" (NumPy; slow, the definition of the semantics), "opencl" (a device of an OpenCL driver; needs the
                extra of this name) or "ptx-interpreter" (kernels for NVIDIA's devices, interpreted and checked; slow).
            pipeline: passes in place of the optimisation (:data:`wengert.transforms.pipelines.OPTIMIZE`): the program is brought to core level
                (``to-core``), goes through these passes, and what they leave is lowered as it stands. Empty: nothing is optimised. Warns where one of
                these passes undoes what that of a plug-in did.
            dump_dir: a folder for the IR after every stage; compiles anew so that all stages appear.
                With the environment variable WENGERT_DUMP_DIR everything that is differentiated or compiled leaves its
                stages in a numbered folder there.
            options: what the backend understands.

        Raises:
            InputError: there is no such backend or option; or the passes change the type of the program (:meth:`apply` is for those).
            DiagnosticError: the text is no pipeline, or a pass refuses the program.
        """
        if pipeline is not None:
            return self._with_pipeline(pipeline).compile(backend, dump_dir=dump_dir, **options)
        key = (backend, tuple(sorted(options.items())), os.environ.get(DUMP_DIR))
        if dump_dir is None and (made := self._executables.get(key)) is not None:
            return made
        return self._compile(key, backend, dump_dir, options)

    @stage(last=True)
    def _compile(self, key: tuple[Any, ...], backend: str, dump_dir: PathLike | None, options: dict[str, Any]) -> CompiledProgram:
        if dump_dir is None and (made := self._executables.get(key)) is not None:  # another thread was first
            return made
        folder = dump_folder(dump_dir, f"compile-{backend}")
        compiled = self._executables[key] = CompiledProgram(self, backend, build(self, backend, dump_dir=folder, **options))
        return compiled

    # -- passes

    def apply(self, pipeline: str, *, dump_dir: PathLike | None = None) -> Program:
        """The program after a pipeline, as ``wengert-opt -p`` applies it: to the program as it is written, and nothing else.

        What the pipeline leaves is what is compiled and differentiated: it is brought to core level where that is necessary, and not optimised
        (``simplify,cse,dce`` at the end of the pipeline do that), so that nothing undoes what the passes did.

        Args:
            pipeline: passes, as in ``"vjp{wrt=0},simplify,cse"``; those of plug-ins too.
            dump_dir: a folder for the IR after every pass.

        Raises:
            DiagnosticError: the text is no pipeline, or a pass refuses the program; names the place.
            InputError: the pipeline writes text that is no MLIR, or leaves no function of the entry's name.
            PluginError: a pass of a plug-in raised an exception or left invalid IR.
        """
        key = ("apply", pipeline, PASSES.version, os.environ.get(DUMP_DIR))
        if dump_dir is None and (made := self._derivatives.get(key)) is not None:
            return made
        module = apply(self.module, pipeline, dump_folder(dump_dir, "apply"))
        program = Program(module, entry=self.entry, name=f"{pipeline} of {self.name}")
        program.as_given = True
        self._derivatives[key] = program
        return program

    @stage()
    def _with_pipeline(self, pipeline: str) -> Program:
        """The program in core form after a pipeline that takes the place of the optimisation."""
        key = ("compile", pipeline, PASSES.version)
        if (made := self._derivatives.get(key)) is None:
            core = static_program(self.core_module, self.name)
            made = self._derivatives[key] = core.apply(pipeline)
            if [str(p.type) for p in made.signature.arguments + made.signature.results] != [str(p.type) for p in self._parameters]:
                del self._derivatives[key]
                raise InputError(f"the pipeline changes the type of @{self.entry} from {self.signature} to {made.signature}: p.apply(...) gives that program")
            made.name, made.core_module, made.origin = self.name, made.module, (self, pipeline)
        return made

    @property
    def _parameters(self) -> tuple[Parameter, ...]:
        return self.signature.arguments + self.signature.results

    # -- shapes

    def specialize(self, *shapes: Sequence[int] | int | None) -> Program:
        """The static program for arguments of these shapes, made once; the program itself if it leaves nothing open.

        Args:
            shapes: the extents of each argument; None, or nothing at the end, for those whose types leave nothing open.

        Raises:
            InputError: a shape is missing or does not fit.
            DiagnosticError: an op rejects its operands for these shapes, or its shape depends on more than shapes; names it and its place.
        """
        from wengert.runtime.dynamic_program import checked_shapes

        checked_shapes(self.name, self.signature.arguments, shapes, len(self.signature.arguments))
        return self

    def specialized_for(self, inputs: Sequence[Any]) -> Program:
        """The static program for these inputs: the program itself if it leaves nothing open."""
        return self

    # -- differentiating

    def jvp(self, wrt: Positions = None, of: Positions = None, *, strategy: Strategy = "transpose", dump_dir: PathLike | None = None) -> Program:
        """The forward derivative: (inputs, tangents of ``wrt``) -> (outputs, tangents of ``of``).

        Args:
            wrt: positions of the arguments that move; every float or complex one by default.
            of: positions of the results whose tangents are asked; every float or complex one by default.
            strategy: how, by name; ours are the same here, that of a plug-in may differ.
            dump_dir: a folder for the IR after every pass.

        Raises:
            InputError: a position is out of range, named twice, or of an integer type.
            DiagnosticError: an op has no derivative rule; names the op and its place.
        """
        return self._derivative("jvp", wrt, of, dump_dir, strategy)

    def vjp(
        self,
        wrt: Positions = None,
        of: Positions = None,
        *,
        strategy: Strategy = "transpose",
        residuals: Residuals = "auto",
        dump_dir: PathLike | None = None,
    ) -> Program:
        """The reverse derivative: (inputs, cotangents of ``of``) -> (outputs, cotangents of ``wrt``).

        Arguments and errors are those of :meth:`jvp`. Complex cotangents follow JAX: the pairing is
        Re(sum(cotangent * tangent)), without conjugation. ``strategy`` is how, by name: "transpose" (linearize, transpose, join),
        "direct" (the adjoint of every op), or that of a plug-in; the results are the same, the costs may differ.

        ``residuals`` says what the forward part keeps for the reverse part, and what that computes again: "auto" (all that is at hand, and in
        loops and branches what is not cheap), "save-all", "recompute-cheap" or "recompute-all". What is asked to be computed again is not
        shared with the forward part by any later pass. The strategy "direct" takes "auto" only.
        """
        return self._derivative("vjp", wrt, of, dump_dir, strategy, residuals)

    def linearize(self, wrt: Positions = None, of: Positions = None, *, shared: bool = False, residuals: Residuals = "recompute-cheap") -> LinearProgram:
        """The program split at a point: evaluated once, then a linear map and its transpose as often as needed.

        Args:
            wrt: positions of the arguments that move, as for :meth:`jvp`.
            of: positions of the results whose derivatives may be asked for.
            residuals: what is kept and what the linear map computes again, as for :meth:`vjp`.
            shared: residuals that are arguments or results are these arrays, not copies; nobody may change them.

        Raises:
            InputError, DiagnosticError: as :meth:`jvp`.
        """
        from wengert.runtime.linear_program import LinearProgram

        asked = (choose("wrt", wrt, self.signature.arguments), choose("of", of, self.signature.results), shared, residuals)
        key = (*asked, *chosen("transpose", residuals))
        if key not in self._linearized:
            self._linearized[key] = LinearProgram(self, *asked)
        return self._linearized[key]

    # -- Jacobians

    def jacfwd(self, wrt: Positions = None, of: Positions = None, *, holomorphic: bool = False, dump_dir: PathLike | None = None) -> Program:
        """The Jacobian by forward mode: inputs -> one array for each result in ``of`` and each argument in ``wrt``.

        Results come in the order (result 0, argument 0), (result 0, argument 1), ..., each of the shape of the result followed by
        that of the argument. Cheaper than :meth:`jacrev` where the arguments have fewer elements than the results.

        Args:
            wrt: positions of the arguments; every float or complex one by default.
            of: positions of the results; every float or complex one by default.
            holomorphic: says that complex results are holomorphic in complex arguments, so that there is one derivative.
            dump_dir: a folder for the IR after every pass.

        Raises:
            InputError: as :meth:`jvp`; also for complex arguments unless ``holomorphic``.
            DiagnosticError: an op has no derivative rule or cannot be batched; names the op and its place.
        """
        return self._jacobian("jacfwd", wrt, of, holomorphic, dump_dir)

    def jacrev(self, wrt: Positions = None, of: Positions = None, *, holomorphic: bool = False, dump_dir: PathLike | None = None) -> Program:
        """The Jacobian by reverse mode: as :meth:`jacfwd`, cheaper where the results have fewer elements than the arguments.

        Complex results need ``holomorphic``.
        """
        return self._jacobian("jacrev", wrt, of, holomorphic, dump_dir)

    def jacobian(self, wrt: Positions = None, of: Positions = None, *, holomorphic: bool = False, dump_dir: PathLike | None = None) -> Program:
        """The Jacobian by what is predicted to be the fastest: a mode, batched in one of several ways, both modes from a narrow cut, or columns or rows
        compressed. Arguments, results and errors are those of :meth:`jacfwd`, to rounding.

        The candidates are taken down to buffers for the prediction, once for each choice of positions (:func:`wengert.strategies` shows it, with more ways).
        Where it depends on what only a run tells, or the program is complex, the mode with fewer directions is taken.
        """
        return self._jacobian("jacobian", wrt, of, holomorphic, dump_dir)

    def hessian(self, wrt: Positions = None, of: Positions = None, *, holomorphic: bool = False) -> Program:
        """Second derivatives, by the order of modes that is predicted to be the fastest, as for :meth:`jacobian`: one array for each result in ``of`` and each
        pair of arguments in ``wrt``, of the shape of the result followed by those of both arguments. Arguments and errors are those of :meth:`jacfwd`."""
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        key = ("hessian", inputs, outputs, holomorphic)
        if key not in self._derivatives:
            from wengert.lab.strategies.default import hessian_plan

            self._derivatives[key] = self._hessian(hessian_plan(self, inputs, outputs), inputs, outputs, holomorphic)
        return self._derivatives[key]

    def _hessian(self, plan: str, wrt: tuple[int, ...], of: tuple[int, ...], holomorphic: bool) -> Program:
        """The Hessian by a row of the table, such as ``forward over reverse``."""
        second, _, first = plan.partition(" over ")
        gradient = (self.jacfwd if first == "forward" else self.jacrev)(wrt, of, holomorphic=holomorphic)
        if second == "compressed":
            every = tuple(range(len(gradient.signature.results)))
            return gradient._jacobian(seeded_jacobian_pass(wrt, every), wrt, every, holomorphic, None)
        return (gradient.jacfwd if second == "forward" else gradient.jacrev)(wrt, holomorphic=holomorphic)

    def jacobian_mode(self, wrt: Positions = None, of: Positions = None) -> JacobianMode:
        """The one of :meth:`jacfwd` and :meth:`jacrev` that is predicted to be faster, chosen as in :meth:`jacobian`."""
        from wengert.lab.strategies.default import jacobian_mode

        return jacobian_mode(self, *self.resolve(wrt=wrt, of=of))

    def compressed_jacobian(self, wrt: Positions = None, of: Positions = None, *, dump_dir: PathLike | None = None) -> Program:
        """The columns of a Jacobian whose rows do not mix: inputs -> one array for each result in ``of``.

        Column c of an argument moves by one in all its rows (indices of the first dimension) at once. Where every row of a result depends on one
        row of each argument, as in a batch or where rows are gathered, these are all nonzeros of the Jacobian. Each column is differentiated
        on its own, and costs only what depends on it.

        Results have the shape of the result followed by the number of columns, those of all arguments in ``wrt`` in order: an
        argument of shape (n, a, b) has a b of them, one of rank 0 or 1 has one.

        Args:
            wrt: positions of the arguments; every float one by default.
            of: positions of the results; every float or complex one by default.
            dump_dir: a folder for the IR after every pass.

        Raises:
            InputError: as :meth:`jvp`; also for complex arguments.
            DiagnosticError: an op has no derivative rule; names the op and its place.
        """
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        results, text = [self.signature.results[j] for j in outputs], compressed_jacobian_pass(self.signature, inputs, outputs)
        return self._transformed("compressed-jacobian", text, dump_dir, lambda module: name_compressed(module, self.signature, results))

    def _jacobian(self, how: str, wrt: Positions, of: Positions, holomorphic: bool, dump_dir: PathLike | None) -> Program:
        """The Jacobian by ``jacfwd`` or ``jacrev``, by another pass, as text, or (``jacobian``) by what is predicted to be the fastest."""
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        key = ("jacobian", inputs, outputs, holomorphic)
        if how == "jacobian":
            if dump_dir is None and key in self._derivatives:
                return self._derivatives[key]
            from wengert.lab.strategies.default import jacobian_passes

            self._derivatives[key] = self._jacobian(jacobian_passes(self, inputs, outputs), inputs, outputs, holomorphic, dump_dir)
            return self._derivatives[key]
        arguments, results = [self.signature.arguments[i] for i in inputs], [self.signature.results[j] for j in outputs]
        mode = next((mode for mode in MODES if mode == how), None)
        text = how if mode is None else jacobian_pass(mode, self.signature, inputs, outputs, holomorphic=holomorphic)
        return self._transformed(text.partition("{")[0], text, dump_dir, lambda module: name_jacobian(module, self.signature, arguments, results))

    # -- batching

    @overload
    def vmap(self, in_axes: Axes = 0, out_axes: Axes = 0, *, size: int, dump_dir: PathLike | None = None) -> Program: ...
    @overload
    def vmap(self, in_axes: Axes = 0, out_axes: Axes = 0, *, size: None = None, dump_dir: PathLike | None = None) -> BatchedProgram: ...
    def vmap(self, in_axes: Axes = 0, out_axes: Axes = 0, *, size: int | None = None, dump_dir: PathLike | None = None) -> Program | BatchedProgram:
        """The program for many batch elements at once.

        Args:
            in_axes: the dimension of each argument that holds the batch elements (one number for all arguments, or one for each);
                None for an argument that is the same for all batch elements. Negative dimensions count from the end.
            out_axes: the same for the results; None only for a result that does not depend on the batch element.
            size: the number of batch elements. Without it the result is a :class:`BatchedProgram`, which finds the number in its
                arguments when it is called.
            dump_dir: a folder for the IR after every pass.

        Raises:
            InputError: the axes do not fit the program.
            DiagnosticError: an op cannot be batched, or a result depends on the batch element whose axis is None.
        """
        starts = chosen_axes("in_axes", in_axes, self.signature.arguments)
        ends = chosen_axes("out_axes", out_axes, self.signature.results)
        if size is None:
            return BatchedProgram(lambda n: self.vmap(starts, ends, size=n, dump_dir=dump_dir), self.signature, starts, f"vmap of {self.name}")
        return self._transformed("vmap", batch_pass(checked_size(size), starts, ends), dump_dir)

    @stage()
    def _transformed(self, label: str, text: str, dump_dir: PathLike | None, finish: Callable[[ModuleOp], None] | None = None) -> Program:
        """The program after a pass, written as text, and optimisation."""
        key = (text, os.environ.get(DUMP_DIR))
        if dump_dir is None and (made := self._derivatives.get(key)) is not None:
            return made
        module = transform(self.optimized_module, text, dump_folder(dump_dir, label))
        if finish is not None:
            finish(module)
        program = static_program(module, f"{label} of {self.name}")
        program.core_module = program.optimized_module = module
        self._derivatives[key] = program
        return program

    @stage()
    def _derivative(
        self, mode: Mode, wrt: Positions, of: Positions, dump_dir: PathLike | None, strategy: Strategy = "transpose", residuals: Residuals = "auto"
    ) -> Program:
        inputs = choose("wrt", wrt, self.signature.arguments)
        outputs = choose("of", of, self.signature.results)
        key = (mode, *chosen(strategy, residuals), inputs, outputs, os.environ.get(DUMP_DIR))
        if dump_dir is None and (made := self._derivatives.get(key)) is not None:
            return made
        folder = dump_folder(dump_dir, mode)
        if folder is None:
            module = derive(self.optimized_module, mode, inputs, outputs, strategy, residuals)
        else:
            from wengert.ir.dumps import Dumper

            module = derive_with_dumps(self.module, self.entry, mode, inputs, outputs, Dumper(folder), strategy, residuals)
        name_derivative(module, self.signature, mode, inputs, outputs)
        derivative = static_program(module, f"{mode} of {self.name}")
        derivative.core_module = derivative.optimized_module = module
        self._derivatives[key] = derivative
        return derivative

    def resolve(self, *, wrt: Positions = None, of: Positions = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The positions that :meth:`jvp` and :meth:`vjp` take these to mean."""
        return choose("wrt", wrt, self.signature.arguments), choose("of", of, self.signature.results)

    # -- analysing

    def costs(self, **options: Any) -> CostReport:
        """The costs of the program and its derivatives, and the mode to use: see :func:`wengert.lab.costs.report`."""
        from wengert.lab.costs import report

        return report(self, **options)

    def strategies(self, inputs: Sequence[Any] | None = None, **options: Any) -> StrategyTable:
        """Every way to compute a derivative of the program, with costs and the one to use: see :func:`wengert.strategies`."""
        from wengert.lab.strategies.table import strategies

        return strategies(self, inputs, **options)

    def check(self, *inputs: Any, **options: Any) -> CheckReport:
        """Compares the derivatives with differences and with each other: see :func:`wengert.lab.check.check`."""
        from wengert.lab.check import check

        return check(self, inputs or None, **options)

    # -- other front ends

    def to_jax(self) -> Callable[..., tuple[Any, ...]]:
        """The program as a JAX function, for ``jax.jit`` and JAX's transforms: what they derive is derived by our passes.

        Returns:
            A function of JAX arrays, one for each argument, that returns a tuple of JAX arrays.

        Raises:
            InputError: JAX is not there; when called, arguments of other types (64 bits need ``jax_enable_x64``).
        """
        from wengert.frontends.jax_programs import to_jax

        return to_jax(self)

    def draw(self, **options: Any) -> Drawing:
        """The computation graph as DOT and SVG: see :func:`wengert.draw`."""
        from wengert.lab.draw.drawing import draw

        return draw(self, **options)

    def to_torch(self) -> Callable[..., tuple[Any, ...]]:
        """The program as a function of PyTorch tensors that autograd differentiates, to any order, without copies of tensors.

        Where an argument requires grad, the forward pass also keeps what the backward pass needs (:meth:`linearize`).
        Raises InputError where PyTorch is not installed.
        """
        from wengert.frontends.torch_programs.functions import to_torch

        return to_torch(self)

    # -- printing

    @staged_property
    def core_module(self) -> ModuleOp:
        """The program in core form, as ``@main``: calls inlined, known regions recognised. Treat it as read-only."""
        return core_form(self.module, self.entry)

    @staged_property
    def optimized_module(self) -> ModuleOp:
        """The core form with fewer ops: what is differentiated, compiled and counted. Treat it as read-only. The core form itself of a program that is
        :attr:`as_given`."""
        return self.core_module if self.as_given else optimized_form(self.module, self.entry)

    def text(self, *, locations: bool = False, generic: bool = False) -> str:
        """The program as plain StableHLO text that JAX reads, with or without locations, pretty or generic."""
        return plain_text(self.module, locations=locations, generic=generic)

    def save(self, path: PathLike, *, locations: bool = False) -> None:
        """Writes :meth:`text` to a file."""
        Path(path).write_text(self.text(locations=locations))

    @staged_property
    def _text(self) -> str:
        return self.text()

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        ops = sum(1 for _ in self.module.walk()) - 1
        return f"<Program @{self.entry} {self.signature}; {ops} ops; {self.name}>"

    def _repr_html_(self) -> str:
        """For notebooks: signature, op counts, and the text behind a fold."""
        from wengert.lab.draw.summary import html_of

        return html_of(self)

    # -- copying: a program is a value

    def __copy__(self) -> Program:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        return self

    def __reduce__(self) -> tuple[Callable[..., Program], tuple[Any, ...]]:
        from wengert.ir.printing.printer import print_module
        from wengert.runtime.loading import restore

        return restore, (print_module(self.module, locations=True), self.entry, self.name)


def static_program(module: ModuleOp, name: str) -> Program:
    """A program of a module that is known to leave nothing open, which is not looked at again."""
    program = object.__new__(Program)
    program.__init__(module, name=name)
    return program
