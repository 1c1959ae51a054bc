"""The signature of an exported program: what becomes arguments and results, in which order, and under which names.

Arguments: parameters, buffers, inputs, in the order in which ``torch.export`` lists them (that of ``named_parameters``,
``named_buffers`` and the call). Results: the outputs, then every buffer that a call changes, with its new contents. Tensors that the
module holds without having registered them are constants of the program; ``None`` and Python numbers are no arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from wengert.frontends.torch_programs.library import torch_module
from wengert.runtime.errors import InputError

RANDOM_STATE = "random state"
"""The name of the buffer that is the state of the random generator."""


@dataclass(frozen=True)
class Argument:
    """An argument: the placeholder that it is in the graph, its name for people, and what it is."""

    placeholder: str
    name: str
    kind: str
    """``parameter``, ``buffer``, ``input``, or ``random`` for the state of the random generator."""
    flat: int = -1
    """For an input: its position among the leaves of the call."""


@dataclass(frozen=True)
class Result:
    """A result: the node that computes it, and its name; ``buffer`` where it is the new contents of one."""

    node: str
    name: str
    buffer: str | None = None


@dataclass(frozen=True)
class Roles:
    """The roles of all placeholders and outputs.

    Attributes:
        arguments: in the order of the program's arguments.
        constants: tensors by placeholder.
        fixed: leaves of the call that are no tensors, by position, with what they were at export.
        results: in the order of the program's results.
        outputs: the leaves of what the module returns: the number of a result, or what is no tensor.
    """

    arguments: list[Argument] = field(default_factory=list[Argument])
    constants: dict[str, Any] = field(default_factory=dict[str, Any])
    fixed: dict[int, Any] = field(default_factory=dict[int, Any])
    results: list[Result] = field(default_factory=list[Result])
    outputs: list[tuple[int | None, Any]] = field(default_factory=list[tuple[int | None, Any]])


def roles_of(exported: Any, random: bool = False) -> Roles:
    """The roles in an exported program, which has the state of a random generator as its last argument and result if it is ``random``.

    Raises:
        InputError: an input is neither a tensor nor a number, or of a dynamic shape.
    """
    roles = Roles()
    _read_inputs(exported, roles)
    _read_outputs(exported, roles)
    if random:
        roles.arguments.append(Argument("", RANDOM_STATE, "random"))
        roles.results.append(Result(RANDOM_STATE, RANDOM_STATE, RANDOM_STATE))
    return roles


def check_shapes(exported: Any) -> None:
    """Refuses dynamic shapes; names the input and the dimension."""
    for node in exported.graph.nodes:
        if node.op != "placeholder":
            return
        extents: Sequence[Any] = getattr(node.meta.get("val"), "shape", ())
        for d, extent in enumerate(extents):
            if not isinstance(extent, int):
                span = exported.range_constraints.get(extent.node.expr)
                between = "" if span is None else f", from {span.lower} to {span.upper}"
                raise InputError(
                    f"dimension {d} of the input {node.name} is dynamic ({extent}{between}), and programs have static shapes: export without "
                    "dynamic_shapes, or name inputs of the shapes that you want: wg.from_torch(exported, inputs=(x,))"
                )


def _read_inputs(exported: Any, roles: Roles) -> None:
    kinds = torch_module("torch.export.graph_signature").InputKind
    flat = 0
    for spec in exported.graph_signature.input_specs:
        argument, tensor = spec.arg, type(spec.arg).__name__ == "TensorArgument"
        if spec.kind == kinds.USER_INPUT:
            if tensor:
                roles.arguments.append(Argument(argument.name, argument.name, "input", flat))
            elif type(argument).__name__ == "ConstantArgument":
                roles.fixed[flat] = argument.value
            else:
                raise InputError(f"the input {argument.name} is a {type(argument).__name__}; programs take tensors of static shape")
            flat += 1
        elif spec.kind in (kinds.PARAMETER, kinds.BUFFER):
            roles.arguments.append(Argument(argument.name, spec.target, "parameter" if spec.kind == kinds.PARAMETER else "buffer"))
        elif spec.kind == kinds.CONSTANT_TENSOR:
            roles.constants[argument.name] = exported.constants[spec.target]
        elif spec.kind != kinds.TOKEN:  # tokens order effects; the ops that have them have no translation
            raise InputError(f"the input {argument.name} is of the kind {spec.kind.name}, which has no translation")


def _read_outputs(exported: Any, roles: Roles) -> None:
    kinds = torch_module("torch.export.graph_signature").OutputKind
    changed: list[Result] = []
    inputs = {a.placeholder: a.name for a in roles.arguments}
    for spec in exported.graph_signature.output_specs:
        argument, tensor = spec.arg, type(spec.arg).__name__ == "TensorArgument"
        if spec.kind in (kinds.USER_OUTPUT, kinds.LOSS_OUTPUT):
            if tensor:
                roles.outputs.append((len(roles.results), None))
                roles.results.append(Result(argument.name, f"output {len(roles.results)}"))
            elif type(argument).__name__ == "ConstantArgument":
                roles.outputs.append((None, argument.value))
            else:
                raise InputError(f"the output {argument.name} is a {type(argument).__name__}; programs return tensors of static shape")
        elif spec.kind == kinds.BUFFER_MUTATION:
            changed.append(Result(argument.name, spec.target, spec.target))
        elif spec.kind == kinds.USER_INPUT_MUTATION:
            name = inputs[spec.target]
            changed.append(Result(argument.name, name, name))
        elif spec.kind != kinds.TOKEN:
            raise InputError(f"the output {argument.name} is of the kind {spec.kind.name}, which has no translation")
    roles.results.extend(changed)
