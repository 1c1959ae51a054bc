"""What is about gradients alone: ``grad``, ``backward``, functions with derivatives of their own."""

from wengert.eager.function import Context, Function, once_differentiable
from wengert.eager.gradient import backward, grad

__all__ = ["Context", "Function", "backward", "grad", "once_differentiable"]
