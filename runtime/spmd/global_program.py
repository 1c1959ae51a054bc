"""Programs on whole tensors that run on the blocks of many devices: what JAX calls ``shard_map``, and programs with ``sdy.manual_computation``.

    >>> import wengert as wg
    >>> p = wg.load("loss_of_a_block.mlir")                                                                      # doctest: +SKIP
    >>> f = wg.spmd(p, {"x": 4}, in_specs=[None, ("x",)], out_specs=[None])                                      # doctest: +SKIP
    >>> f(w, batch)                    # whole arrays; each of 4 devices gets all of w and a quarter of the batch  # doctest: +SKIP
    >>> f.vjp(wrt=0)(w, batch, 1.0)    # the gradient of the whole loss                                           # doctest: +SKIP

A derivative is again such a program: that of what each device runs, with the boundary rule of :mod:`wengert.transforms.spmd.boundary`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from wengert.dialects.sdy_shardings import Axis, Mesh, ShardingError, Spec
from wengert.dialects.stablehlo.process_groups import Grid
from wengert.ir.attributes import int_attr
from wengert.ir.construction import copy_module
from wengert.ir.traversal import ops_of
from wengert.runtime.arguments import describe
from wengert.runtime.derived.positions import Positions
from wengert.runtime.derived.requests import Strategy
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.runtime.signature import Parameter
from wengert.runtime.spmd.device import Array
from wengert.runtime.spmd.distributed import Distributed, MpiProgram, ThreadedProgram, distribute
from wengert.transforms.ad.requests.custom import CUSTOM_JVP, CUSTOM_VJP
from wengert.transforms.spmd.blocks import holders, parts, slices
from wengert.transforms.spmd.boundary import argument_knowledge, cross_boundary

SpecLike = Any
"""How one value is split: None for not at all, or for each dimension None, the name of an axis, or several names; dimensions at the end may be left out."""


class SpmdProgram:
    """A program on whole tensors, each device of a mesh running a program on blocks of them.

    Attributes:
        local: what each device runs.
        mesh: the devices.
        in_specs, out_specs: how whole arguments and results are split into blocks.
        lost: functions whose own rules of differentiation partitioning has not kept, with the attribute that declares them.
    """

    def __init__(self, local: Program, mesh: Mesh, in_specs: Sequence[Spec], out_specs: Sequence[Spec], name: str = "", lost: Mapping[str, str] | None = None):
        self.local, self.mesh, self.in_specs, self.out_specs = local, mesh, tuple(in_specs), tuple(out_specs)
        self.lost = dict(lost or {})
        self.name = name or local.name
        self._ready: dict[tuple[str, str, int], DistributedOnBlocks] = {}

    # -- running

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        """The whole results for whole arguments, on threads. Raises as :meth:`distribute`, and InputError for arguments that do not fit."""
        return self.distribute()(*inputs)

    def distribute(self, *, engine: str = "threads", backend: str = "cpu", comm: Any = None) -> DistributedOnBlocks:
        """The program on the devices of an engine, as :meth:`wengert.Program.distribute`; takes and gives whole arrays on every process.

        Raises:
            InputError: there is no such engine or backend, or it has another number of devices than the mesh.
            DiagnosticError: a collective stands under a condition that differs between its devices.
        """
        key = (engine, backend, id(comm))
        if key not in self._ready:
            known = argument_knowledge(self.in_specs, self.mesh)
            made = distribute(self.local, self.mesh.size, engine=engine, backend=backend, comm=comm, arguments=known)
            self._ready[key] = DistributedOnBlocks(self, made)
        return self._ready[key]

    # -- derivatives

    def jvp(self, wrt: Positions = None, of: Positions = None) -> SpmdProgram:
        """The forward derivative: takes the inputs and a tangent for each argument in ``wrt``; gives the results and a tangent for each in ``of``."""
        self._check_rules()
        inputs, outputs = self.local.resolve(wrt=wrt, of=of)
        derived = self.local.jvp(wrt=inputs, of=outputs)
        in_specs = [*self.in_specs, *(self.in_specs[i] for i in inputs)]
        out_specs = [*self.out_specs, *(self.out_specs[j] for j in outputs)]
        return self._with(copy_module(derived.module), in_specs, out_specs, f"jvp of {self.name}")

    def vjp(self, wrt: Positions = None, of: Positions = None, *, strategy: Strategy = "transpose") -> SpmdProgram:
        """The reverse derivative: takes the inputs and a cotangent for each result in ``of``; gives the results and a cotangent for each in ``wrt``."""
        self._check_rules()
        inputs, outputs = self.local.resolve(wrt=wrt, of=of)
        module = copy_module(self.local.vjp(wrt=inputs, of=outputs, strategy=strategy).module)
        in_specs = [*self.in_specs, *(self.out_specs[j] for j in outputs)]
        out_specs = [*self.out_specs, *(self.in_specs[i] for i in inputs)]
        first_bar, first_derived = len(self.in_specs), len(self.out_specs)
        cross_boundary(module, self.mesh, dict(enumerate(in_specs[first_bar:], first_bar)), dict(enumerate(out_specs[first_derived:], first_derived)))
        return self._with(module, in_specs, out_specs, f"vjp of {self.name}")

    def _check_rules(self) -> None:
        """Refuses a derivative that a ``jax.custom_vjp`` says otherwise than the text; warns of one that a ``jax.custom_jvp`` may say otherwise."""
        for kind, names in ((kind, ", ".join(name for name, own in self.lost.items() if own == kind)) for kind in (CUSTOM_VJP, CUSTOM_JVP)):
            if names and kind == CUSTOM_VJP:
                hint = "p.vjp() on one device keeps them, and so does jax.shard_map"
                raise InputError(f"{self.name}: Shardy's passes do not keep the rules of {names}, so there are no derivatives on devices ({hint})")
            if names:
                warnings.warn(f"{self.name}: Shardy's passes do not keep the rules of {names}: derivatives are those of the text", stacklevel=3)

    def _with(self, module: ModuleOp, in_specs: Sequence[Spec], out_specs: Sequence[Spec], name: str) -> SpmdProgram:
        """A derivative: what each device runs, with no more collectives than it needs."""
        from wengert.transforms.core.inline import inline
        from wengert.transforms.spmd.needless import drop_needless
        from wengert.transforms.spmd.place_sums import place_sums

        _declare(module, self.mesh)
        inline(module, keep_custom=True)
        main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
        grid, known = Grid(1, self.mesh.size), argument_knowledge(in_specs, self.mesh)
        drop_needless(main, grid, known)
        place_sums(main, grid, known, kept=len(self.out_specs))
        return SpmdProgram(Program(module, name=name), self.mesh, in_specs, out_specs, name)

    # -- printing

    def text(self) -> str:
        """The program on whole tensors: one ``sdy.manual_computation`` around what each device runs, as JAX writes a ``shard_map``."""
        from wengert.runtime.spmd.global_text import global_text

        return global_text(cast("Any", self))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<SpmdProgram on {self.mesh.size} devices <{self.mesh.text()}>, each runs @{self.local.entry} {self.local.signature}; {self.name}>"

    # -- whole arrays and blocks

    def whole_shape(self, parameter: Parameter, spec: Spec) -> tuple[int, ...]:
        """The shape of a whole argument or result."""
        return tuple(n * count for n, count in zip(parameter.shape, parts(spec, self.mesh), strict=True))

    def blocks(self, inputs: Sequence[Any]) -> list[list[Array]]:
        """The blocks of whole arguments, device by device. Raises InputError for an argument that does not fit."""
        arguments = self.local.signature.arguments
        if len(inputs) != len(arguments):
            raise InputError(f"{self.name} takes {len(arguments)} arguments, found {len(inputs)}")
        wholes = [self._whole(*given) for given in zip(arguments, self.in_specs, inputs, strict=True)]
        cuts = [slices(whole.shape, spec, self.mesh) for whole, spec in zip(wholes, self.in_specs, strict=True)]
        return [[np.array(whole[cut[device]], order="C") for whole, cut in zip(wholes, cuts, strict=True)] for device in range(self.mesh.size)]

    def _whole(self, parameter: Parameter, spec: Spec, given: Any) -> Array:
        shape = self.whole_shape(parameter, spec)
        array: Array = np.asarray(given, None if hasattr(given, "dtype") else parameter.dtype)
        if array.shape != shape or array.dtype != parameter.dtype:
            raise InputError(f"{parameter.label}: expected {describe(shape, parameter.dtype)}, found {describe(array.shape, array.dtype)}")
        return array

    def assembled(self, results: Sequence[Sequence[Array]]) -> tuple[Array, ...]:
        """The whole results of those of the devices; of blocks that several devices have, the first one's."""
        wholes = list[Array]()
        for j, (parameter, spec) in enumerate(zip(self.local.signature.results, self.out_specs, strict=True)):
            whole = np.empty(self.whole_shape(parameter, spec), parameter.dtype)
            cuts = slices(whole.shape, spec, self.mesh)
            for device in (group[0] for group in holders(spec, self.mesh)):
                whole[cuts[device]] = results[device][j]
            wholes.append(whole)
        return tuple(wholes)


class DistributedOnBlocks:
    """A program on whole tensors, ready to be called with whole arrays."""

    def __init__(self, program: SpmdProgram, made: Distributed):
        self.program, self.made = program, made

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        """The whole results, on every process."""
        blocks = self.program.blocks(inputs)
        if isinstance(self.made, MpiProgram):
            own = self.made(*blocks[self.made.device.number])
            return self.program.assembled(self.made.device.everybody(own))
        assert isinstance(self.made, ThreadedProgram)
        return self.program.assembled(self.made.on_devices(blocks))


def _declare(module: ModuleOp, mesh: Mesh) -> None:
    module.attributes["mhlo.num_partitions"], module.attributes["mhlo.num_replicas"] = int_attr(mesh.size, 32), int_attr(1, 32)


def spmd(
    program: Any,
    mesh: Mapping[str, int] | None = None,
    in_specs: Sequence[SpecLike] | SpecLike = None,
    out_specs: Sequence[SpecLike] | SpecLike = None,
) -> SpmdProgram:
    """A program on whole tensors from what each device of a mesh runs, or from a text that has the mesh in it.

    Args:
        program: with a mesh, the program that each device runs on its blocks. Without one, a program with ``sdy.manual_computation``, or with sharding
            annotations, which Shardy's passes then turn into what each device runs (in a process of their own; they come with jaxlib).
        mesh: the names of its axes, with the number of devices along each; devices are numbered in row-major order.
        in_specs: how each whole argument is split, one entry for each: None (every device has all of it), or for each dimension None, the name of an
            axis, or a tuple of names.
        out_specs: the same for results.

    Raises:
        InputError: the specs do not fit the program or the mesh; or a program without a mesh says of none.
        DiagnosticError: the shardings of the program cannot be; names the place.

    >>> import wengert as wg
    >>> f = wg.spmd(wg.load("examples/data_parallel_loss.mlir"), {"x": 2}, in_specs=[None, "x", "x"], out_specs=[None])    # doctest: +SKIP
    """
    from wengert.runtime.program import own_program

    own: Any = own_program(program)
    if not isinstance(own, Program):
        raise InputError(f"wg.spmd takes a program, found {type(program).__name__}")
    if mesh is None:
        return _from_text(own)
    devices = Mesh(tuple((str(name), int(size)) for name, size in mesh.items()))
    if not devices.axes or any(size < 1 for _, size in devices.axes):
        raise InputError(f"a mesh has axes of one device or more, found {dict(mesh)}")
    signature = own.signature
    ins = _specs("in_specs", in_specs, signature.arguments, devices)
    outs = _specs("out_specs", out_specs, signature.results, devices)
    return SpmdProgram(own, devices, ins, outs)


def _specs(option: str, given: Any, parameters: Sequence[Parameter], mesh: Mesh) -> list[Spec]:
    """One spec for each argument or result."""
    listed: Sequence[Any] = [None] * len(parameters) if given is None else given
    if isinstance(given, str) or len(listed) != len(parameters):
        count = "a text" if isinstance(given, str) else len(listed)
        raise InputError(f"{option} needs an entry for each of {len(parameters)} {parameters[0].role if parameters else 'value'}s, found {count}")
    return [_spec(f"{option}[{i}]", spec, parameter, mesh) for i, (spec, parameter) in enumerate(zip(listed, parameters, strict=True))]


def _spec(where: str, given: SpecLike, parameter: Parameter, mesh: Mesh) -> Spec:
    rank, sizes = len(parameter.shape), dict(mesh.axes)
    dims: Sequence[Any] = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    if len(dims) > rank:
        raise InputError(f"{where} has {len(dims)} dimensions, and {parameter} has {rank}")
    spec = [() if d is None else (d,) if isinstance(d, str) else tuple(d) for d in dims] + [()] * (rank - len(dims))
    names = [name for split in spec for name in split]
    for name in names:
        if name not in sizes:
            raise InputError(f"{where} names an axis {name!r} that the mesh does not have (it has {', '.join(sizes)})")
        if names.count(name) > 1:
            raise InputError(f"{where} names the axis {name!r} twice")
    return tuple(tuple(Axis(name) for name in split) for split in spec)


def _from_text(program: Program) -> SpmdProgram:
    """A program that has its mesh in its text."""
    from wengert.runtime.derived.derivation import with_main
    from wengert.transforms.spmd.localize import has_manual_computations, localized

    module, lost = with_main(program.module, program.entry), dict[str, str]()
    try:
        if has_manual_computations(module):
            local = localized(module)
        else:
            from wengert.runtime.spmd.shardy import partitioned

            local = partitioned(module, program.name)
            lost = {op.sym_name.data: kind for op in ops_of(module, FuncOp) for kind in (CUSTOM_JVP, CUSTOM_VJP) if kind in op.attributes}
    except ShardingError as error:
        raise InputError(f"{program.name}: {error}") from None
    return SpmdProgram(Program(local.module, name=program.name), local.mesh, local.in_specs, local.out_specs, lost=lost)
