"""Functions of ``torch.autograd.graph``: nodes and edges of the graph of gradients, hooks on what a tape keeps and on several tensors."""

from wengert.eager.gradients.edges import GradientEdge, get_gradient_edge
from wengert.eager.gradients.several_hooks import register_multi_grad_hook
from wengert.eager.recording.mutation import allow_mutation_on_saved_tensors
from wengert.eager.recording.nodes import Node
from wengert.eager.recording.record import increment_version
from wengert.eager.recording.saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
