"""Recurrent networks with dropout between their layers.

PyTorch's decomposition of a network of several layers leaves the dropout out. So before it, such a network is written as its layers, one
after another, with a dropout of its own between each two, as :class:`torch.nn.LSTM` describes it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, cast

from wengert.frontends.torch_programs.library import torch_module

_NETWORKS = ("aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input")


def by_name(node: Any) -> dict[str, Any]:
    """The arguments of a call of an op by their names; those that are left out have their defaults."""
    schema = node.target._schema.arguments
    defaults = {a.name: a.default_value for a in schema if a.has_default_value()}
    return {**defaults, **dict(zip([a.name for a in schema], node.args, strict=False)), **node.kwargs}


def drops_between_layers(node: Any, networks: str | tuple[str, ...] = _NETWORKS) -> bool:
    """Whether a node is a recurrent network with dropout between its layers."""
    if node.op != "call_function" or not str(node.target).startswith(networks):
        return False
    given = by_name(node)
    return bool(given["dropout"] and given["train"] and given["num_layers"] > 1)


def with_layers_apart(exported: Any) -> Any:
    """The export with such networks as single layers and dropout; the same export where there is none."""
    if not any(map(drops_between_layers, exported.graph.nodes)):
        return exported
    copied = deepcopy(exported.graph_module)
    for node in list(copied.graph.nodes):
        if drops_between_layers(node):
            _Network(copied.graph, node).take_apart()
    copied.recompile()
    return exported._update(copied, exported.graph_signature)


class _Network:
    def __init__(self, graph: Any, node: Any):
        self.graph = graph
        self.node = node
        self.aten = torch_module().ops.aten

    def take_apart(self) -> None:
        """Puts the layers in the place of the node."""
        given = by_name(self.node)
        layers, x = given["num_layers"], given["input"]
        hidden: Any = given["hx"]
        states: Sequence[Any] = cast("Sequence[Any]", hidden) if isinstance(hidden, list | tuple) else [hidden]
        size, ways = len(given["params"]) // layers, 2 if given["bidirectional"] else 1
        last: list[list[Any]] = [[] for _ in states]
        with self.graph.inserting_before(self.node):
            for k in range(layers):
                own = [self._call(self.aten.slice.Tensor, h, 0, k * ways, (k + 1) * ways) for h in states]
                hx = own if isinstance(hidden, list | tuple) else own[0]
                rest = (given["has_biases"], 1, 0.0, given["train"], given["bidirectional"], given["batch_first"])
                made = self._call(self.node.target, x, hx, list(given["params"][k * size : (k + 1) * size]), *rest)
                x = self._call(operator.getitem, made, 0)
                for i, kept in enumerate(last):
                    kept.append(self._call(operator.getitem, made, 1 + i))
                if k < layers - 1:
                    x = self._call(self.aten.dropout.default, x, given["dropout"], True)
            results = [x, *(self._call(self.aten.cat.default, kept, 0) for kept in last)]
        for user in list(self.node.users):
            user.replace_all_uses_with(results[user.args[1]])
            self.graph.erase_node(user)
        self.graph.erase_node(self.node)

    def _call(self, target: Any, *args: Any) -> Any:
        made = self.graph.call_function(target, args)
        made.meta = {key: value for key, value in self.node.meta.items() if key in ("stack_trace", "nn_module_stack", "source_fn_stack")}
        made.meta["val"] = target(*torch_module("torch.fx").map_arg(args, _known))
        return made


def _known(node: Any) -> Any:
    """The type of a node's result: a tensor without elements."""
    return node.meta["val"]
