"""Parameters and buffers that are one memory: they become one argument, so that a derivative by it is the whole one.

An export lists a tensor once for each name that it has (``lm_head.weight`` is ``wte.weight`` in GPT-2), and likewise tensors that overlap in
memory. Of each group of such tensors one stays an argument, the *owner*: the first one that all others lie in. The others are views of it, which are put at the
start of the graph before it is decomposed, so that what is written to one is read through all. Where no tensor of a group holds all of it, the
owner is a new one, the range of memory that they lie in, and is called by all of their names. Tensors that lie in one storage without
sharing elements stay apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.frontends.torch_programs.library import torch_module
from wengert.runtime.errors import InputError


@dataclass
class _Stored:
    """A parameter or buffer of an export: how it is listed, and the elements of its storage that it has."""

    spec: Any
    tensor: Any
    places: range = field(init=False)

    def __post_init__(self) -> None:
        reach = sum((n - 1) * s for n, s in zip(self.tensor.shape, self.tensor.stride(), strict=True))
        start = self.tensor.storage_offset()
        self.places = range(start, start + reach + 1 if self.tensor.numel() else start)

    @property
    def name(self) -> str:
        return self.spec.target

    def is_same_view(self, other: _Stored) -> bool:
        """Whether both have the same elements in the same places."""
        x, y = self.tensor, other.tensor
        return (x.storage_offset(), x.shape, x.stride()) == (y.storage_offset(), y.shape, y.stride())

    def is_dense(self) -> bool:
        """Whether it has every element of its range once."""
        return self.tensor.numel() == len(self.places)

    def elements(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The places of its elements in the storage."""
        torch = torch_module()
        reach = self.tensor.untyped_storage().nbytes() // self.tensor.element_size()
        numbers = torch.arange(reach).as_strided(self.tensor.shape, self.tensor.stride(), self.tensor.storage_offset())
        return numbers.reshape(-1).numpy()

    def overlaps(self, other: _Stored) -> bool:
        """Whether both have an element in common; looks at single ones where neither has all of its range."""
        if max(self.places.start, other.places.start) >= min(self.places.stop, other.places.stop):
            return False
        return self.is_same_view(other) or bool(np.intersect1d(self.elements(), other.elements()).size)


def with_owners(exported: Any) -> tuple[Any, dict[str, tuple[str, ...]]]:
    """The export with one argument for each group of tensors that share elements, and the other names of each such argument.

    Raises:
        InputError: tensors of different dtypes share memory, or what shares it is a view that a decomposed export writes to.
    """
    groups = [group for group in _groups(_stored_tensors(exported)) if len(group) > 1]
    if not groups:
        return exported, {}
    rewriting = _Rewriting(exported)
    aliases = dict(rewriting.unite(group) for group in groups)
    return rewriting.finish(), aliases


def _stored_tensors(exported: Any) -> list[_Stored]:
    kinds = torch_module("torch.export.graph_signature").InputKind
    state: Mapping[str, Any] = {**exported.constants, **exported.state_dict}
    specs = [s for s in exported.graph_signature.input_specs if s.kind in (kinds.PARAMETER, kinds.BUFFER)]
    return [_Stored(s, state[s.target]) for s in specs if state[s.target].layout == torch_module().strided]


def _groups(stored: Sequence[_Stored]) -> list[list[_Stored]]:
    """Tensors that share elements, directly or through others; in the order of the export."""
    by_storage: dict[int, list[_Stored]] = {}
    for x in stored:
        by_storage.setdefault(x.tensor.untyped_storage()._cdata, []).append(x)
    groups: list[list[_Stored]] = []
    for members in by_storage.values():
        own: list[list[_Stored]] = []
        for x in members:
            touched = [g for g in own if any(x.overlaps(y) for y in g)]
            own = [g for g in own if g not in touched] + [[*(y for g in touched for y in g), x]]
        groups.extend(own)
    return groups


class _Rewriting:
    """A copy of an export in which names become views."""

    def __init__(self, exported: Any):
        self.exported = exported
        self.module = deepcopy(exported.graph_module)
        self.graph = self.module.graph
        self.nodes = {node.name: node for node in self.graph.nodes if node.op == "placeholder"}
        self.inputs: list[Any] = list(exported.graph_signature.input_specs)
        self.outputs: list[Any] = list(exported.graph_signature.output_specs)
        self.state = dict(exported.state_dict)

    def unite(self, group: list[_Stored]) -> tuple[str, tuple[str, ...]]:
        """Makes all but one views of it; its name, and the other ones."""
        if len({x.tensor.dtype for x in group}) > 1:
            raise InputError(f"{' and '.join(x.name for x in group)} share memory with different dtypes; copy one of them before the export: x.clone()")
        group.sort(key=lambda x: self.inputs.index(x.spec))
        first, last = min(x.places.start for x in group), max(x.places.stop for x in group)
        covering = [x for x in group if x.is_dense() and (x.places.start, x.places.stop) == (first, last)]
        owner = next((x for x in covering if x.tensor.is_contiguous()), None) or next(iter(covering), None) or self._owner_of(group, first, last)
        for x in group:
            if x is not owner:
                self._replace(x, owner)
        return owner.name, tuple(x.name for x in group if x is not owner)

    def _owner_of(self, group: Sequence[_Stored], first: int, last: int) -> _Stored:
        """A new argument: the range of memory that a group lies in."""
        kinds, (spec, tensor) = torch_module("torch.export.graph_signature").InputKind, (group[0].spec, group[0].tensor)
        name = " + ".join(x.name for x in group)
        memory = torch_module().as_strided(tensor.detach(), (last - first,), (1,), first)
        kind = kinds.PARAMETER if any(x.spec.kind == kinds.PARAMETER for x in group) else kinds.BUFFER
        if kind == kinds.PARAMETER:
            memory = torch_module("torch.nn").Parameter(memory, requires_grad=memory.is_floating_point() or memory.is_complex())
        node_of_first = self.nodes[spec.arg.name]
        with self.graph.inserting_before(node_of_first):
            node = self.graph.placeholder(f"{node_of_first.name}_owner")
        node.meta["val"] = node_of_first.meta["val"].fake_mode.from_tensor(memory.detach().clone(), static_shapes=True)
        self.nodes[node.name] = node
        made = type(spec)(kind, type(spec.arg)(node.name), name, True if kind == kinds.BUFFER else None)
        self.inputs.insert(self.inputs.index(spec), made)
        self.state[name] = memory
        return _Stored(made, memory)

    def _replace(self, x: _Stored, owner: _Stored) -> None:
        """Reads a tensor through its owner."""
        node, own = self.nodes[x.spec.arg.name], self.nodes[owner.spec.arg.name]
        same = x.is_same_view(owner)
        for i, output in enumerate(self.outputs):
            if output.target == x.name:
                if not same:
                    raise InputError(f"{x.name} is a view of {owner.name} that the decomposed export writes to; pass what torch.export.export returned")
                self.outputs[i] = type(output)(output.kind, output.arg, owner.name)
        node.replace_all_uses_with(own if same else self._view(x, owner, own))
        self.graph.erase_node(node)
        self.inputs.remove(x.spec)
        self.state.pop(x.name, None)

    def _view(self, x: _Stored, owner: _Stored, own: Any) -> Any:
        aten, value = torch_module().ops.aten, own.meta["val"]
        given = list(x.tensor.shape), list(x.tensor.stride()), x.places.start - owner.places.start + value.storage_offset()
        last = [node for node in self.graph.nodes if node.op == "placeholder"][-1]
        with self.graph.inserting_after(last):
            node = self.graph.call_function(aten.as_strided.default, (own, *given))
        node.meta["val"] = torch_module().as_strided(value, *given)
        return node

    def finish(self) -> Any:
        """The export that was made."""
        self.module.recompile()
        signature = torch_module("torch.export.graph_signature").ExportGraphSignature(self.inputs, self.outputs)
        return self.exported._update(self.module, signature, state_dict=self.state)
