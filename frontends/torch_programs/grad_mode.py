"""Blocks under ``torch.no_grad``: an export keeps them as calls of subgraphs, and decomposing it inlines these and forgets what they were.

So before that, what such a block returns is detached inside of it.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from wengert.frontends.torch_programs.library import torch_module

_BLOCK = "wrap_with_set_grad_enabled"


def with_detached_blocks(exported: Any) -> Any:
    """The export with a detach of every tensor that a block without gradients returns; the same export where there is no such block."""
    if not any(map(_is_block, exported.graph.nodes)):
        return exported
    copied = deepcopy(exported.graph_module)
    for node in copied.graph.nodes:
        if _is_block(node):
            _detach_results(getattr(copied, node.args[1].target))
    return exported._update(copied, exported.graph_signature)


def _is_block(node: Any) -> bool:
    return node.op == "call_function" and getattr(node.target, "__name__", "") == _BLOCK and node.args[0] is False


def _detach_results(block: Any) -> None:
    """Detaches what a graph module returns."""
    torch = torch_module()
    graph = block.graph
    output = next(node for node in graph.nodes if node.op == "output")

    def detached(value: Any) -> Any:
        if not isinstance(value.meta.get("val"), torch.Tensor):
            return value
        with graph.inserting_before(output):
            made = graph.call_function(torch.ops.aten.detach.default, (value,))
        made.meta = dict(value.meta)
        return made

    output.args = torch.fx.map_arg(output.args, detached)
    block.recompile()
