"""``wg.from_torch``: an exported PyTorch module as a program, with the parameters that it was exported with.

exported = torch.export.export(model, (x,))
module = wg.from_torch(exported)
y = module(x)                                        # as model(x), a NumPy array
loss, gradients = training.value_and_grad(x, y)      # gradients["layer.weight"]
module.program.vjp(wrt=module.position("layer.weight"))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wengert.frontends.torch_programs.arrays import is_tensor, to_array
from wengert.frontends.torch_programs.importer import decomposed, import_graph, is_random
from wengert.frontends.torch_programs.library import torch_module
from wengert.frontends.torch_programs.shared_storage import with_owners
from wengert.frontends.torch_programs.signature import RANDOM_STATE, Roles, check_shapes, roles_of
from wengert.ir.diagnostics import did_you_mean
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class TorchModule:
    """A program that was a PyTorch module, with what it was exported with. A value: a step of training makes another one.

    Attributes:
        program: takes parameters, buffers and inputs, in the order and under the names of ``program.signature``; returns the outputs, then
            the new contents of the buffers that a call changes.
        parameters: arrays by the name that ``named_parameters`` gives them.
        buffers: arrays by the name that ``named_buffers`` gives them.
        aliases: the other names of a parameter or buffer that has several (tied weights, shared modules), or whose memory others are views of.
    """

    program: Program
    parameters: Mapping[str, Array]
    buffers: Mapping[str, Array]
    roles: Roles = field(repr=False)
    in_tree: Any = field(repr=False)
    out_tree: Any = field(repr=False)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """Returns what the module computes from these inputs (tensors or arrays), with arrays for tensors. Buffers stay as they are."""
        return self.step(*inputs, **keywords)[0]

    def step(self, *inputs: Any, **keywords: Any) -> tuple[Any, TorchModule]:
        """Returns what the module computes, and the module with the buffers as this call leaves them."""
        results = self.program(*self.arguments(*inputs, **keywords))
        outputs = [constant if number is None else results[number] for number, constant in self.roles.outputs]
        tree = torch_module("torch.utils._pytree").tree_unflatten(outputs, self.out_tree)
        changed = {r.buffer: x for r, x in zip(self.roles.results, results, strict=True) if r.buffer in self.buffers}
        return tree, replace(self, buffers={**self.buffers, **changed}) if changed else self

    def value_and_grad(self, *inputs: Any, **keywords: Any) -> tuple[Array, dict[str, Array]]:
        """A loss and its gradients by all parameters, by name.

        Raises:
            InputError: the module does not return one real number.
        """
        outputs = [r for r in self.roles.results if r.buffer is None]
        loss = self.program.signature.results[0] if outputs else None
        if loss is None or len(outputs) != 1 or loss.shape or loss.dtype.kind == "c" or not loss.differentiable:
            raise InputError(
                f"value_and_grad takes a module that returns one real number; this one returns {', '.join(map(str, self._outputs())) or 'nothing'}"
            )
        moving = zip(self.roles.arguments, self.program.signature.arguments, strict=True)
        names = [a.name for a, parameter in moving if a.kind == "parameter" and parameter.differentiable]
        gradient = self.program.vjp(wrt=[self.position(name) for name in names], of=0)
        results = gradient(*self.arguments(*inputs, **keywords), np.ones((), loss.dtype))
        return results[0], dict(zip(names, results[len(results) - len(names) :], strict=True))

    def arguments(self, *inputs: Any, **keywords: Any) -> list[Array]:
        """The program's arguments for these inputs: parameters and buffers first.

        Raises:
            InputError: the inputs are not nested as those of the export, or a number is not the one it was exported with.
        """
        leaves, tree = torch_module("torch.utils._pytree").tree_flatten((inputs, keywords))
        if tree != self.in_tree:
            raise InputError(f"the module was exported for inputs of the structure {self.in_tree}, found {tree}")
        for position, value in self.roles.fixed.items():
            if type(leaves[position]) is not type(value) or leaves[position] != value:
                raise InputError(f"input {position} was {value!r} at export and is a part of the program, found {leaves[position]!r}")
        state = {"parameter": self.parameters, "buffer": self.buffers, "random": self.buffers}
        return [_array(leaves[a.flat]) if a.kind == "input" else state[a.kind][a.name] for a in self.roles.arguments]

    def position(self, name: str) -> int:
        """The position among the program's arguments of a parameter, buffer or input, by any of its names."""
        names = [a.name for a in self.roles.arguments]
        name = next((owner for owner, others in self.aliases.items() if name in others), name)
        if name not in names:
            raise InputError(f"there is no parameter, buffer or input {name!r}; {did_you_mean(name, names) or 'there are: ' + ', '.join(names)}")
        return names.index(name)

    def _outputs(self) -> list[Any]:
        return [p for p, r in zip(self.program.signature.results, self.roles.results, strict=True) if r.buffer is None]


def _array(x: Any) -> Any:
    return to_array(x) if is_tensor(x) else x


def from_torch(exported: Any, *, inputs: tuple[Any, ...] | None = None, seed: int | None = None, name: str = "torch") -> TorchModule:
    """An exported PyTorch module as a program.

    Args:
        exported: what ``torch.export.export(model, inputs)`` returns. What has no translation is decomposed as far as PyTorch knows how.
        inputs: inputs of the shapes that a module exported with dynamic shapes shall have.
        seed: where the module draws random numbers (dropout in train mode), they come from a generator with this seed, whose state is
            one more buffer; the numbers are others than PyTorch's.
        name: what messages call the program.

    Raises:
        InputError: PyTorch is not installed, this is no exported program, or it takes what is no tensor or has a dynamic shape.
        DiagnosticError: an op has no translation; names the op, the node, and the line of Python.
    """
    torch = torch_module()
    if not isinstance(exported, torch.export.ExportedProgram):
        raise InputError(
            f"from_torch takes what torch.export.export returns, found {type(exported).__name__}; write wg.from_torch(torch.export.export(model, inputs))"
        )
    if inputs is not None:
        exported = torch.export.export(exported.module(), inputs)
    check_shapes(exported)
    owned, aliases = with_owners(exported)
    core = decomposed(owned)
    roles = roles_of(core, random=seed is not None and any(map(is_random, core.graph.nodes)))
    program = Program(import_graph(core, roles), name=name)
    state: dict[str, Any] = {**core.constants, **core.state_dict}
    arrays = {a.name: np.array(to_array(state[a.name]), order="C") for a in roles.arguments if a.kind in ("parameter", "buffer")}
    kinds = {a.name: a.kind for a in roles.arguments}
    parameters, buffers = ({n: x for n, x in arrays.items() if kinds[n] == kind} for kind in ("parameter", "buffer"))
    if roles.arguments and roles.arguments[-1].kind == "random":
        assert seed is not None
        buffers[RANDOM_STATE] = np.array([seed % 2**64, 0], np.uint64)
    return TorchModule(program, parameters, buffers, roles, core.call_spec.in_spec, core.call_spec.out_spec, aliases)
