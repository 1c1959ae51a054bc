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
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from wengert.ir.pipeline.stages import stage, staged_property
from wengert.runtime.backends import build
from wengert.runtime.compiled_program import CompiledProgram
from wengert.runtime.derived.derivable import Derivable
from wengert.runtime.dump_folders import DUMP_DIR, PathLike, dump_folder
from wengert.runtime.errors import InputError
from wengert.runtime.identity import of_derived
from wengert.runtime.known_programs import Identified, Lineage, known_signature
from wengert.runtime.signature import Parameter

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from wengert.lab.check import CheckReport
    from wengert.lab.costs import CostReport
    from wengert.lab.draw.drawing import Drawing
    from wengert.lab.kept.kept import Kept
    from wengert.lab.memory.memory import MemoryReport
    from wengert.lab.profile.profile import Profile
    from wengert.lab.provenance.explain import Explanations
    from wengert.lab.strategies.table import StrategyTable
    from wengert.lab.trace.trace import Trace
    from wengert.runtime.derived.positions import Positions
    from wengert.runtime.spmd.distributed import Distributed

Array = np.ndarray[Any, np.dtype[Any]]


class Program(Derivable):
    """A module with an entry function. Its derivatives are methods of :class:`wengert.runtime.derived.derivable.Derivable`.

    Attributes:
        entry: the name of the entry function.
        name: the file it came from, with what was done to it, for messages.
        signature: types and names of the arguments and results.
        is_optimized: whether the module is in core form and optimised already.
        as_given: whether it is compiled and differentiated as it stands, without being optimised first (what :meth:`apply` makes).
    """

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """A program whose module leaves extents open, or computes them, is a :class:`wengert.runtime.dynamic_program.DynamicProgram`."""
        module = args[0] if args else options.get("module")
        if cls is Program and module is not None:
            from wengert.transforms.shapes.dynamism import is_dynamic

            if is_dynamic(module):
                from wengert.runtime.dynamic_program import DynamicProgram

                return cast(Self, object.__new__(DynamicProgram))
        return object.__new__(cls)

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

    def distribute(self, devices: int | None = None, *, engine: str = "threads", backend: str = "cpu", comm: Any = None) -> Distributed:
        """The program on many devices, each of which runs it on its own arrays; they meet in collectives.

        Derivatives are of all devices together: the n programs are one map, ``p.vjp().distribute(n)`` is its transpose.

        Args:
            devices: how many; by default as many as the program names (``mhlo.num_partitions``, or the groups of its collectives).
            engine: "threads" (all devices in this process; arrays have the devices in front, ``(n, *shape)``), or "mpi" (this process is one of n
                that ``mpiexec`` started; arrays are those of its device).
            backend: "cpu" or "interpreter".
            comm: a communicator of mpi4py in place of ``MPI.COMM_WORLD``.

        Raises:
            InputError: there is no such engine or backend, or the program is for another number of devices.
            DiagnosticError: a collective stands under a condition that differs between its devices.
        """
        from wengert.runtime.spmd.distributed import distribute

        return distribute(self, devices, engine=engine, backend=backend, comm=comm)

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
        from wengert.ir.pipeline.passes import PASSES
        from wengert.runtime.derived.derivation import apply

        key = ("apply", pipeline, PASSES.version, os.environ.get(DUMP_DIR))
        if dump_dir is None and (made := self._derivatives.get(key)) is not None:
            return made
        folder = dump_folder(dump_dir, "apply")
        identity = of_derived(self.identity, "apply", f"{self.entry} {pipeline}")
        name = f"{pipeline} of {self.name}"
        program = program_of(lambda: apply(self.module, pipeline, folder), identity, self.lineage, entry=self.entry, name=name, now=folder is not None)
        program.as_given = True
        self._derivatives[key] = program
        return program

    @stage()
    def _with_pipeline(self, pipeline: str) -> Program:
        """The program in core form after a pipeline that takes the place of the optimisation."""
        from wengert.ir.pipeline.passes import PASSES

        key = ("compile", pipeline, PASSES.version)
        if (made := self._derivatives.get(key)) is None:
            core = static_program(self.core_module, self.name)
            made = self._derivatives[key] = core.apply(pipeline)
            if [str(p.type) for p in made.signature.arguments + made.signature.results] != [str(p.type) for p in self._parameters]:
                del self._derivatives[key]
                raise InputError(f"the pipeline changes the type of @{self.entry} from {self.signature} to {made.signature}: p.apply(...) gives that program")
            made.name, made.core_module, made.origin, made.lineage = self.name, made.module, (self, pipeline), ()
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

    # -- analysing

    def costs(self, **options: Any) -> CostReport:
        """The costs of the program and its derivatives, and the mode to use: see :func:`wengert.lab.costs.report`."""
        from wengert.lab.costs import report

        return report(self, **options)

    def strategies(self, inputs: Sequence[Any] | None = None, **options: Any) -> StrategyTable:
        """Every way to compute a derivative of the program, with costs and the one to use: see :func:`wengert.strategies`."""
        from wengert.lab.strategies.table import strategies

        return strategies(self, inputs, **options)

    def trace(self, inputs: Sequence[Any] | None = None, *selectors: str, **options: Any) -> Trace:
        """The values of a run by name, and where NaN and infinity begin: see :func:`wengert.lab.trace.trace.trace`."""
        from wengert.lab.trace.trace import trace

        return trace(self, inputs, *selectors, **options)

    def check(self, *inputs: Any, **options: Any) -> CheckReport:
        """Compares the derivatives with differences and with each other: see :func:`wengert.lab.check.check`."""
        from wengert.lab.check import check

        return check(self, inputs or None, **options)

    def explain(self, *selectors: str, **options: Any) -> Explanations:
        """Why ops of the program, or of a derivative of it (``vjp=True``), are there: see :func:`wengert.lab.provenance.explain.explain`."""
        from wengert.lab.provenance.explain import explain

        return explain(self, *selectors, **options)

    def kept(self, wrt: Positions = None, of: Positions = None, **options: Any) -> Kept:
        """What the reverse derivative keeps, who needs it, and what computing it again would cost: see :func:`wengert.lab.kept.kept`."""
        from wengert.lab.kept.kept import kept

        return kept(self, wrt, of, **options)

    def memory(self, **options: Any) -> MemoryReport:
        """The memory of the program over a run, or of a derivative of it (``vjp=True``): see :func:`wengert.lab.memory.memory.memory`."""
        from wengert.lab.memory.memory import memory

        return memory(self, **options)

    def profile(self, inputs: Sequence[Any] | None = None, **options: Any) -> Profile:
        """The time of each kernel of a compiled run, or of a derivative of it (``vjp=True``): see :func:`wengert.lab.profile.profile.profile`."""
        from wengert.lab.profile.profile import profile

        return profile(self, inputs, **options)

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

    def text(self, *, locations: bool = False, generic: bool = False) -> str:
        """The program as plain StableHLO text that JAX reads, with or without locations, pretty or generic."""
        from wengert.runtime.derived.derivation import plain_text

        return plain_text(self.module, locations=locations, generic=generic)

    def to_bytes(self, *, portable: str | None = None, version: int | None = None, locations: bool = True) -> bytes:
        """The program as plain StableHLO in MLIR bytecode, which ``mlir-opt`` and JAX read.

        Args:
            portable: the version of StableHLO to write a portable artifact for, from ``"0.9.0"`` on, or ``"current"``: what ``jax.export`` and
                ``stablehlo-translate --serialize`` write. None for plain bytecode.
            version: the version of plain bytecode, 0 to 6 (default).
            locations: whether to write where ops come from.

        Raises:
            ValueError: there is no such version of bytecode.
            InputError: there is no such version of StableHLO.
            DiagnosticError: it lacks what the program has; names the op.
        """
        from wengert.runtime.bytecode import write
        from wengert.runtime.derived.derivation import plain_module

        return write(plain_module(self.module), version=version, portable=portable, locations=locations)

    def save(self, path: PathLike, *, locations: bool | None = None, portable: str | None = None) -> None:
        """Writes :meth:`text` to a file; :meth:`to_bytes` to one that is called ``.mlirbc``, or for a version of StableHLO that a portable artifact is for.

        ``locations`` says whether to write where ops come from: bytes have that if nothing is said, text has not.
        """
        if portable is not None or Path(path).suffix == ".mlirbc":
            Path(path).write_bytes(self.to_bytes(portable=portable, locations=locations is not False))
        else:
            Path(path).write_text(self.text(locations=bool(locations)))

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

    # -- what is made of it

    def _derived_program(self, what: str, request: str, make: Callable[[], ModuleOp], *, now: bool) -> Program:
        identity = of_derived(self.identity, what, request)
        program = program_of(make, identity, self.lineage, name=f"{what} of {self.name}", now=now, static=True)
        program.is_optimized = True
        return program


def static_program(module: ModuleOp, name: str) -> Program:
    """A program of a module that is known to leave nothing open, which is not looked at again."""
    program = object.__new__(Program)
    program.__init__(module, name=name)
    return program


def program_of(
    make: Callable[[], ModuleOp], identity: str | None, origin: Lineage = (), *, entry: str = "main", name: str, now: bool = False, static: bool = False
) -> Program:
    """The program of a module that ``make`` makes: when it is looked at if the program is known, else at once.

    Args:
        make: makes the module.
        identity: the identity of the program, if it has one.
        origin: the lineage of the program that it is derived from.
        entry: the name of the entry function.
        name: as of :class:`Program`.
        now: makes the module at once in any case.
        static: says that the module leaves nothing open, so that it is not looked at for that.
    """
    signature = None if now else known_signature(identity)
    if signature is None:
        program = static_program(make(), name) if static else Program(make(), entry=entry, name=name)
    else:
        program = object.__new__(Program)
        program._start(signature, entry, name)  # pyright: ignore[reportPrivateUsage]
        program._unread = make  # pyright: ignore[reportPrivateUsage]
    program.lineage = (*origin, Identified(identity, program.signature, signature is not None)) if identity is not None else ()
    return program


def own_program(value: Any) -> Any:
    """The program of what has one, such as a function that was imported from JAX or a compiled program; other values as they are."""
    own = getattr(value, "program", None)
    return own if isinstance(own, Program) and not isinstance(value, Program) else value
